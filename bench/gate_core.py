# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the gate itself computes: processor time of a tick and of a decision, without any ROS.

The guarded cart has every rule there is, the ordinary one what most robots have. Each drives about
at random; its place is measured 25 times a second.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import random
import time

from bench.table import Figure, show
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EpisodeStatusReceived,
    Measured,
    ProbeDrivers,
    Request,
    Tick,
)
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract_file import load

ROUNDS, TICKS = 8, 600
EPISODE = '00000000-0000-4000-8000-000000000000'


class _Drive:
    """A gate, and a cart that does what it is told."""

    def __init__(self, name: str, seed: int) -> None:
        loaded = load(name)
        self.contract: Contract = loaded.contract
        self.inputs = gate_inputs(self.contract)
        agent = self.contract.agents[0]
        self.gate = Gate(
            self.contract,
            digest=loaded.digest,
            agent=agent,
            topics={item.name: item.topic for item in self.inputs},
        )
        self.id = StepId(digest=loaded.digest, agent=agent, episode_id=EPISODE, step=0)
        self.random = random.Random(seed)
        self.steady = NANOSECONDS
        self.pose = (-2.0, -2.5, 0.0)
        self.command: Vector = (0.0, 0.0)
        self.sequence = 0
        self.wanted: Vector = (0.3, 0.0)
        self.say(EpisodeState.RESETTING)
        self.sense()
        if self.gate.to_probe:
            self.gate.apply(ProbeDrivers(now=self.now))
            while self.gate.state.probing:
                self.move()
                self.sense()
                self.take(self.gate.apply(Tick(now=self.now)))
        self.gate.apply(
            Arm(
                digest=loaded.digest,
                agent=agent,
                episode_id=EPISODE,
                client='bench',
                lease_id='lease',
                now=self.now,
            )
        )

    @property
    def now(self) -> ClockReading:
        stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=self.steady, host='bench')
        return ClockReading(ros=stamp, steady=self.steady)

    def say(self, state: EpisodeState) -> None:
        pacing = self.contract.pacing
        status = EpisodeStatus(id=self.id, state=state, pacing=pacing, stamp=self.now)
        self.take(self.gate.apply(EpisodeStatusReceived(status=status, now=self.now)))

    def take(self, decisions: Sequence[GateDecision]) -> None:
        for decision in decisions:
            if decision.command:
                self.command, self.commanded = decision.command, self.steady

    commanded = 0

    def move(self) -> None:
        """Let a period of the gate pass."""
        seconds = self.contract.safety.gate_period
        self.steady += round(seconds * NANOSECONDS)
        timeout = self.contract.action[0].driver_timeout or math.inf
        if self.steady - self.commanded > timeout * NANOSECONDS:
            self.command = (0.0, 0.0)
        x, y, yaw = self.pose
        forward, turn = self.command
        self.pose = (
            x + forward * math.cos(yaw) * seconds,
            y + forward * math.sin(yaw) * seconds,
            math.remainder(yaw + turn * seconds, 2.0 * math.pi),
        )

    def sense(self, *, place: bool = True) -> None:
        for item in self.inputs:
            values: Vector = (1.0,)
            if item.name.startswith('feedback'):
                values = self.command
            elif item.name.startswith('obstacle'):
                values = (5.0, 5.0, 1.0, 1.0)
            elif item.name.startswith('workspace'):
                values = self.pose
                if not place:
                    continue
            elif item.name == 'operator':
                continue
            self.take(
                self.gate.apply(
                    Measured(name=item.name, values=values, captured=self.now.ros, now=self.now)
                )
            )

    def request(self) -> ActionRequest:
        if self.random.random() < 0.2:
            bounds = zip(self.contract.flat('low'), self.contract.flat('high'), strict=True)
            self.wanted = tuple(self.random.uniform(low, high) for low, high in bounds)
        self.sequence += 1
        step = StepId(
            digest=self.id.digest,
            agent=self.id.agent,
            episode_id=EPISODE,
            step=self.sequence,
        )
        return ActionRequest(
            id=step,
            lease_id='lease',
            sequence=self.sequence,
            action=self.wanted,
            observed=self.now,
            delivered=self.now,
            requested=self.now,
            client='bench',
        )


def _round(name: str, seed: int) -> tuple[float, float]:
    """Return the milliseconds of a tick and of a decision, medians."""
    drive = _Drive(name, seed)
    each = round(drive.contract.period / drive.contract.safety.gate_period)
    ticks, decisions = [], []
    for number in range(TICKS):
        drive.move()
        drive.say(EpisodeState.RUNNING)
        drive.sense(place=number % 2 == 0)
        asks = number % each == 0
        request, now = drive.request() if asks else None, drive.now
        begun = time.process_time_ns()
        made = (
            drive.gate.apply(Tick(now=now))
            if request is None
            else drive.gate.apply(Request(request=request, now=now))
        )
        (decisions if asks else ticks).append((time.process_time_ns() - begun) / 1e6)
        drive.take(made)
    return sorted(ticks)[len(ticks) // 2], sorted(decisions)[len(decisions) // 2]


def measure() -> Sequence[Figure]:
    """Return the figures."""
    figures = []
    for name, tick, decision in (('guarded_cart', 0.2, 0.4), ('warehouse_cart', 0.3, 0.3)):
        ticks, decisions = zip(*(_round(name, seed) for seed in range(ROUNDS)), strict=True)
        figures += [
            Figure(
                name=f'gate, {what} of {name}',
                unit='ms CPU',
                values=values,
                budget=f'<= {budget}',
            )
            for what, values, budget in (
                ('tick', ticks, tick),
                ('decision', decisions, decision),
            )
        ]
    return figures


if __name__ == '__main__':
    print(show(measure()))
