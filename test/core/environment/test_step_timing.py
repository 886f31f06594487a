# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Overrun, late and missed are told apart, whatever the policy takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.environment.step_timing import over_budget, StepTiming
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.observation import Observation
from support.episode_checks import PERIOD, steps
from support.episode_world import EpisodeWorld, forward


def a_world_with_a_policy_that_takes(periods: float, seconds: float = 3.0) -> EpisodeWorld:
    """Return a world after an episode of a policy that thinks of one observation at a time."""
    world = EpisodeWorld()
    world.think = periods * PERIOD
    go_on, free = forward(0.1), 0

    def policy(observation: Observation) -> tuple[float, ...] | None:
        nonlocal free
        if world.now.steady < free:
            return None
        free = world.now.steady + round((world.think - 0.1 * PERIOD) * 1e9)
        return go_on(observation)

    world.policy = policy
    world.start()
    world.run(seconds)
    return world


@pytest.mark.parametrize(
    ('periods', 'overruns', 'verdicts'),
    [
        (0.3, (0.0, 0.0), {Verdict.ADMITTED, Verdict.LIMITED}),
        # One action in two periods: every other step has none.
        (1.5, (0.4, 0.6), {Verdict.ADMITTED, Verdict.LIMITED}),
        # An action that answers an observation of five periods ago is too old for the contract.
        (5.0, (0.7, 0.9), {Verdict.REJECTED}),
    ],
)
def test_a_policy_that_is_late_makes_overruns_and_no_late_tick(
    periods: float, overruns: tuple[float, float], verdicts: set[Verdict]
) -> None:
    world = a_world_with_a_policy_that_takes(periods)
    timing = StepTiming(world.contract)
    for transition in world.transitions:
        timing.add(transition)
    assert ('without an action' in timing.trouble) == (periods > 1.0)
    low, high = overruns
    assert low <= timing.overruns / timing.steps <= high
    assert (timing.late, timing.missed) == (0, 0)
    assert timing.rate == pytest.approx(1.0 / PERIOD, rel=0.1)
    answered = [t for t in steps(world) if not t.overrun]
    assert {t.verdict for t in answered} <= verdicts
    # Only what was answered has an inference, and it is told as slow where it was.
    slow = periods * PERIOD > world.contract.latency_budget['inference']
    assert timing.over_budget['inference'] == (len(answered) if slow else 0)
    assert all(('inference' in over_budget(t)) == slow for t in answered)


def test_an_environment_that_is_late_has_late_ticks_and_missed_periods() -> None:
    world = a_world_with_a_policy_that_takes(0.3, 1.0)
    timing = StepTiming(world.contract)
    for transition, periods in zip(steps(world), (0.05, 0.3, 2.1), strict=False):
        timing.add(replace(transition, tick_error=periods * PERIOD))
    assert (timing.steps, timing.overruns, timing.late, timing.missed) == (3, 0, 2, 2)
    assert timing.worst == pytest.approx(2.1 * PERIOD)
    assert timing.trouble == 'of the last 3 steps 2 with a late tick'
