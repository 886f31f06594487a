# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Very many requests, each checked against bounds and rates that this file computes itself.

A hundred thousand in the ordinary run, a million with ``BOUNDARY_ENV_LONG=1``.
"""

from __future__ import annotations

from collections import Counter
import os

from core_world import AGENT, DIGEST, EPISODE, request_for, rich, shipped, status, Timepiece
from gate_bench import meaning
import numpy as np
import pytest

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.core.gate import Gate
from boundary_env_ros.core.inputs import gate_inputs
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import Instant, NANOSECONDS

TOTAL = 1_000_000 if os.environ.get('BOUNDARY_ENV_LONG') == '1' else 100_000
CHUNK = 20_000
SPECIAL = np.array([np.nan, np.inf, -np.inf, 5e-324, -1e308, 1e308, 0.0, -0.0])


def actions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return requested actions: sensible, wild, and beyond numbers. Shape (count, 2)."""
    values = rng.normal(scale=0.6, size=(count, 2))
    return disturbed(rng, values, wild=0.1, special=0.03)


def disturbed(
    rng: np.random.Generator, values: np.ndarray, wild: float, special: float
) -> np.ndarray:
    """Return values of which some are of any size, and some no numbers."""
    some = rng.random(values.shape) < wild
    values[some] *= 10.0 ** rng.integers(-320, 300, size=int(some.sum()))
    some = rng.random(values.shape) < special
    values[some] = rng.choice(SPECIAL, size=int(some.sum()))
    return values


def mixed_actions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return the same of every kind: places, differences, choice, levels. Shape (count, 7)."""
    # A policy changes its mind now and then.
    minds = np.repeat(np.arange(count // 20 + 1), 20)[:count]
    values = np.column_stack(
        [
            rng.normal(scale=1.5, size=(count, 2))[minds],
            rng.uniform(-0.0005, 0.0005, size=(count, 2)),
            rng.integers(0, 3, size=count)[minds],
            rng.integers(0, 2, size=count)[minds],
            rng.integers(0, 3, size=count)[minds],
        ]
    ).astype(float)
    values[rng.random(count) < 0.02, 4] = 3.0
    return disturbed(rng, values, wild=0.01, special=0.005)


class Flood:
    """One gate, one lease, and a long row of requests in between ticks of the timer."""

    def __init__(self, seed: int, contract: Contract) -> None:
        self.rng = np.random.default_rng(seed)
        self.contract = contract
        self.time = Timepiece()
        self.inputs = gate_inputs(contract)
        topics = {item.name: f'/{item.topic}' for item in self.inputs}
        self.gate = Gate(contract, digest=DIGEST, agent=AGENT, topics=topics)
        self.commands: list[Vector] = []
        self.emitted: list[int] = []
        self.stopped: list[bool] = []
        self.verdicts: Counter[Verdict] = Counter()
        self.unexplained = 0
        self.gate.heard(status(EpisodeState.RESETTING, self.time.now), self.time.now)
        self.gate.arm(
            digest=DIGEST, agent=AGENT, episode_id=EPISODE, client='policy', lease_id='lease-1',
            now=self.time.now,
        )  # fmt: skip
        self.live(0.0, 8.0)

    def live(self, speed: float, ahead: float) -> None:
        """Let environment and sensors speak."""
        now, captured = self.time.now, self.time.stamp(ago=0.01)
        self.gate.heard(status(EpisodeState.RUNNING, now), now)
        # The robot is where it was told to be; only its first speed is anything at all.
        there = (*self.commands[-1],) if self.commands else (0.0,) * self.contract.command_size
        motion = (speed, *there[1:])
        start = 0
        for group in self.contract.action:
            part = motion[start : start + group.size]
            self.gate.measure(f'feedback.{group.name}', part, captured, now)
            start += group.size
        for item in self.inputs:
            if item.name.startswith('alive'):
                self.gate.measure(item.name, (), captured, now)
        self.gate.measure('obstacle', (ahead, 8.0, 1.0, 1.0), captured, now)

    def run(self, asked: list[list[float]]) -> None:
        """Send requests, at random times and of random ages, some twice or out of order."""
        rng, count = self.rng, len(asked)
        waits = rng.choice(
            [0.0, 0.002, 0.02, 0.1, 0.35], p=[0.1, 0.3, 0.3, 0.28, 0.02], size=count
        )
        ages = rng.choice([0.01, 0.1, 0.5], p=[0.6, 0.38, 0.02], size=count)
        back = rng.choice([0, 0, 0, 0, 1, 5], size=count)
        ahead = rng.choice([8.0, 0.7, 0.3], p=[0.8, 0.15, 0.05], size=count)
        live = rng.random(count) < 0.9
        for i in range(count):
            self.time.wait(waits[i])
            if live[i]:
                self.live(asked[i][0], ahead[i])
            now = self.time.now
            observed = Instant(ros=now.ros, steady=now.steady - round(ages[i] * NANOSECONDS))
            sequence = max(0, i + 1 - int(back[i]))
            request = request_for(tuple(asked[i]), sequence, observed, now)
            for decision in (*self.gate.request(request, now), *self.gate.tick(now)):
                self.note(decision, now)

    @property
    def stays(self) -> np.ndarray:
        """Which dimensions stay where they are when the robot stops."""
        return np.isnan(self.contract.flat('safe'))

    def meant(self, decision: GateDecision) -> Vector | None:
        """Return the command that was asked for."""
        asked = decision.requested_action
        if len(asked) != self.contract.action_size or not np.isfinite(asked).all():
            return None
        return meaning(self.contract.action, asked, decision.previous_command or None)

    def note(self, decision: GateDecision, now: Instant) -> None:
        """Keep what was published, and count what is not explained."""
        self.verdicts[decision.verdict] += 1
        before = decision.previous_command or None
        changed = decision.trigger is Trigger.REQUEST and decision.command != self.meant(decision)
        if decision.verdict is Verdict.ADMITTED:
            self.unexplained += changed or bool(decision.rules)
        else:
            self.unexplained += not decision.rules
        stayed = before is None and self.stays.any()
        self.unexplained += decision.published is (decision.verdict is Verdict.REJECTED or stayed)
        if decision.command:
            self.commands.append(decision.command)
            self.emitted.append(now.steady)
            self.stopped.append(decision.verdict is Verdict.STOPPED)


SEEDS = range(max(1, TOTAL // CHUNK))


@pytest.mark.parametrize('seed', SEEDS)
def test_no_request_of_very_many_gets_past_bounds_or_rates(seed: int) -> None:
    flood = Flood(seed, shipped())
    flood.run(actions(flood.rng, CHUNK).tolist())
    check(flood)


@pytest.mark.parametrize('seed', SEEDS[: len(SEEDS) // 5 or 1])
def test_no_action_of_any_kind_gets_past_bounds_or_rates(seed: int) -> None:
    flood = Flood(seed, rich())
    flood.run(mixed_actions(flood.rng, CHUNK).tolist())
    check(flood)


def check(flood: Flood) -> None:
    """Check all that was published, as one sequence."""
    contract = flood.contract
    command = np.array(flood.commands)
    assert np.isfinite(command).all()
    assert (command >= contract.flat('low')).all()
    assert (command <= contract.flat('high')).all()
    silence = np.diff(flood.emitted) / NANOSECONDS
    seconds = np.minimum(silence, contract.period)[:, None]
    stopped = np.array(flood.stopped[1:])[:, None]
    braked = np.where(flood.stays, 0.0, contract.flat('stop'))
    most = np.where(stopped, braked, contract.flat('rate')) * seconds
    excess = np.abs(np.diff(command, axis=0)) - most
    # After a longer silence the driver has taken over: the sequence starts anew, from the
    # measured state.
    timeout = min(g.driver_timeout for g in contract.action if g.driver_timeout is not None)
    assert excess[silence <= timeout].max() <= 1e-9
    assert flood.unexplained == 0
    # The flood is one only if it runs through every outcome, and often.
    assert min(flood.verdicts[verdict] for verdict in Verdict) > CHUNK // 1000, flood.verdicts
