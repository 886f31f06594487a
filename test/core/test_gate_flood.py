# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Very many requests, each checked against bounds and rates that this file computes itself.

A hundred thousand in the ordinary run, a million with ``BOUNDARY_ENV_LONG=1``.
"""

from __future__ import annotations

from collections import Counter
import os

from core_world import AGENT, DIGEST, EPISODE, request_for, shipped, status, Timepiece
from gate_bench import TOPICS
import numpy as np
import pytest

from boundary_env_ros.core.contract import Vector
from boundary_env_ros.core.decision import GateDecision, Verdict
from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.core.gate import Gate
from boundary_env_ros.core.timebase import Instant, NANOSECONDS

TOTAL = 1_000_000 if os.environ.get('BOUNDARY_ENV_LONG') == '1' else 100_000
CHUNK = 20_000
SPECIAL = np.array([np.nan, np.inf, -np.inf, 5e-324, -1e308, 1e308, 0.0, -0.0])


def actions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return requested actions: sensible, wild, and beyond numbers. Shape (count, 2)."""
    values = rng.normal(scale=0.6, size=(count, 2))
    wild = rng.random((count, 2)) < 0.1
    values[wild] *= 10.0 ** rng.integers(-320, 300, size=int(wild.sum()))
    special = rng.random((count, 2)) < 0.03
    values[special] = rng.choice(SPECIAL, size=int(special.sum()))
    return values


class Flood:
    """One gate, one lease, and a long row of requests in between ticks of the timer."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.contract = shipped()
        self.time = Timepiece()
        self.gate = Gate(self.contract, digest=DIGEST, agent=AGENT, topics=TOPICS)
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
        self.gate.measure('feedback.base', (speed, 0.0), captured, now)
        self.gate.measure('obstacle', (ahead, 8.0, 1.0, 1.0), captured, now)

    def run(self, count: int) -> None:
        """Send requests, at random times and of random ages, some twice or out of order."""
        rng = self.rng
        asked = actions(rng, count).tolist()
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

    def note(self, decision: GateDecision, now: Instant) -> None:
        """Keep what was published, and count what is not explained."""
        self.verdicts[decision.verdict] += 1
        changed = decision.command != decision.requested_action
        if decision.verdict is Verdict.ADMITTED:
            self.unexplained += changed or bool(decision.rules)
        else:
            self.unexplained += not decision.rules
        if decision.command:
            self.commands.append(decision.command)
            self.emitted.append(now.steady)
            self.stopped.append(decision.verdict is Verdict.STOPPED)


@pytest.mark.parametrize('seed', range(max(1, TOTAL // CHUNK)))
def test_no_request_of_very_many_gets_past_bounds_or_rates(seed: int) -> None:
    flood = Flood(seed)
    flood.run(CHUNK)
    contract = flood.contract
    command = np.array(flood.commands)
    assert np.isfinite(command).all()
    assert (command >= contract.flat('low')).all()
    assert (command <= contract.flat('high')).all()
    silence = np.diff(flood.emitted) / NANOSECONDS
    seconds = np.minimum(silence, contract.period)[:, None]
    stopped = np.array(flood.stopped[1:])[:, None]
    most = np.where(stopped, contract.flat('stop'), contract.flat('rate')) * seconds
    excess = np.abs(np.diff(command, axis=0)) - most
    # After a longer silence the driver has taken over: the sequence starts anew, from the
    # measured state.
    timeout = contract.action[0].driver_timeout
    assert timeout is not None
    assert excess[silence <= timeout].max() <= 1e-9
    assert flood.unexplained == 0
    # The flood is one only if it runs through every outcome, and often.
    assert min(flood.verdicts[verdict] for verdict in Verdict) > CHUNK // 1000, flood.verdicts
