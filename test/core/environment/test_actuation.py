# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Evidence of execution: planted delays are recovered, and what proves nothing gives none."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.environment.actuation import AcknowledgedGroup, Actuation, MeasuredState
from boundary_env_ros.core.records.decision import GateDecision, RuleInput, Trigger, Verdict
from boundary_env_ros.core.records.transition import ActuationEvidence
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from support.core_world import shipped, step_id, Timepiece

THRESHOLD = shipped().action[0].feedback.threshold
PATIENCE = 0.5
MS = 1_000_000
BEGIN = 1_700_000_000 * NANOSECONDS


def stamp(at: int, clock: Clock = Clock.SYSTEM) -> Stamp:
    return Stamp(clock=clock, nanoseconds=BEGIN + at, host='robot')


def command(
    at: int, values: Vector, previous: Vector = (0.0, 0.0), sequence: int = 1
) -> GateDecision:
    return GateDecision(
        id=step_id(sequence), sequence=sequence, verdict=Verdict.ADMITTED,
        inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1, previous_command=previous),
        command=values,
        decided=ClockReading(ros=stamp(at), steady=at),
        commanded=ClockReading(ros=stamp(at), steady=at),
    )  # fmt: skip


def feedback(at: int, *values: float, clock: Clock = Clock.SYSTEM) -> MeasuredState:
    return MeasuredState(captured=stamp(at, clock), values=values)


def matching(patience: float, **known: Any) -> Actuation:
    return Actuation(threshold=THRESHOLD, patience=to_nanoseconds(patience), **known)


def watch(
    *events: GateDecision | MeasuredState, patience: float = PATIENCE
) -> list[ActuationEvidence]:
    """Return all evidence that a row of commands and feedback gives."""
    actuation = matching(patience)
    found: list[ActuationEvidence] = []
    for event in events:
        if isinstance(event, MeasuredState):
            actuation = actuation.measured(event)
        else:
            actuation = actuation.commanded(event)
        actuation, more = actuation.executions()
        found += more
    return found


def robot(
    at: int, goal: Vector, delay: int, every: int = 10 * MS, until: int = 480 * MS
) -> list[MeasuredState]:
    """Return the feedback of a robot that steps to its goal, some time after it was told at 0."""
    return [
        feedback(t, *(goal if t >= delay else (0.0, 0.0))) for t in range(-every, until, every)
    ]


@given(delay=st.integers(1, 400), period=st.integers(1, 30))
def test_a_planted_delay_is_recovered_within_its_sampling_quantum(delay: int, period: int) -> None:
    goal = (0.4, 0.0)
    [execution] = watch(command(0, goal), *robot(0, goal, delay * MS, period * MS))
    took = (execution.actuated.nanoseconds - BEGIN) // MS
    assert execution.quantum == pytest.approx(period / 1000)
    assert took - period < delay <= took
    assert execution.measured == goal


def test_a_delay_beyond_patience_gives_no_evidence() -> None:
    goal = (0.4, 0.0)
    assert watch(command(0, goal), *robot(0, goal, 450 * MS), patience=0.3) == []


@pytest.mark.parametrize('change', [0.0, 0.5, 0.99])
def test_a_change_that_is_too_small_gives_no_evidence(change: float) -> None:
    goal = tuple(change * least for least in THRESHOLD)
    assert watch(command(0, goal), *robot(0, goal, 50 * MS)) == []


def test_a_robot_that_does_not_move_gives_no_evidence() -> None:
    assert watch(command(0, (0.4, 0.0)), *robot(0, (0.0, 0.0), 50 * MS)) == []


def test_a_robot_that_moves_the_other_way_gives_no_evidence() -> None:
    assert watch(command(0, (0.4, 0.0)), *robot(0, (-0.3, 0.0), 50 * MS)) == []


def test_one_dimension_is_evidence_enough() -> None:
    [found] = watch(command(0, (0.0, -1.0)), *robot(0, (0.0, -1.0), 70 * MS))
    assert found.actuated == stamp(70 * MS)


def test_feedback_captured_before_the_command_is_no_evidence_for_it() -> None:
    moved = [feedback(t, 0.4, 0.0) for t in range(-100 * MS, 0, 10 * MS)]
    assert watch(*moved, command(0, (0.4, 0.0), previous=(0.0, 0.0))) == []


def test_without_feedback_from_before_the_command_there_is_no_evidence() -> None:
    """Nobody can tell a change from a state that was already there."""
    late = [feedback(t, 0.4, 0.0) for t in range(20 * MS, 100 * MS, 10 * MS)]
    assert watch(command(0, (0.4, 0.0)), *late) == []


def test_the_rest_of_an_earlier_motion_is_no_evidence_for_a_later_command() -> None:
    """The robot creeps to the first command while the second, beyond it, is already out."""
    first = command(0, (0.2, 0.0), sequence=1)
    second = command(100 * MS, (0.4, 0.0), previous=(0.2, 0.0), sequence=2)
    creeping = [
        feedback(t, min(0.2, t / 150 / MS * 0.2), 0.0) for t in range(0, 300 * MS, 10 * MS)
    ]
    arriving = [
        feedback(300 * MS + t, 0.2 + t / MS * 0.01, 0.0) for t in range(0, 100 * MS, 10 * MS)
    ]
    found = watch(feedback(-10 * MS, 0.0, 0.0), first, second, *creeping, *arriving)
    by_sequence = {e.decision_sequence: e.actuated.nanoseconds - BEGIN for e in found}
    assert by_sequence[1] < 100 * MS
    assert by_sequence[2] > 300 * MS


def test_each_command_is_evidenced_once() -> None:
    goal = (0.4, 0.0)
    found = watch(command(0, goal), *robot(0, goal, 50 * MS), *robot(0, goal, 50 * MS))
    assert len(found) == 1


def test_a_decision_that_published_nothing_is_not_looked_for() -> None:
    rejected = replace(command(0, (0.4, 0.0)), command=(), verdict=Verdict.REJECTED)
    unsent = replace(command(0, (0.4, 0.0)), commanded=None)
    assert watch(rejected, unsent, *robot(0, (0.4, 0.0), 50 * MS)) == []


@pytest.mark.parametrize('clock', [Clock.ROS, Clock.STEADY])
def test_feedback_of_another_clock_is_no_evidence(clock: Clock) -> None:
    other = [feedback(t, 0.4, 0.0, clock=clock) for t in range(-10 * MS, 100 * MS, 10 * MS)]
    assert watch(command(0, (0.4, 0.0)), *other) == []


def test_feedback_that_comes_late_and_out_of_order_is_passed_over() -> None:
    actuation = matching(PATIENCE)
    actuation = actuation.measured(feedback(20 * MS, 0.1, 0.0))
    actuation = actuation.measured(feedback(10 * MS, 0.9, 0.0))
    assert actuation.latest == feedback(20 * MS, 0.1, 0.0)


def test_groups_read_from_one_message_are_all_of_its_instant() -> None:
    actuation = matching(PATIENCE)
    for event in (feedback(0, 0.0, 0.0), feedback(MS, 0.3, 0.0), feedback(MS, 0.3, 0.7)):
        actuation = actuation.measured(event)
    assert actuation.latest == feedback(MS, 0.3, 0.7)


@pytest.mark.parametrize('seed', range(20))
def test_noise_below_the_threshold_is_never_taken_for_a_robot_that_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.uniform(-0.99, 0.99, size=(60, 2)) * np.array(THRESHOLD)
    still = [feedback((i - 5) * 10 * MS, *map(float, noise[i])) for i in range(60)]
    assert watch(command(0, (0.4, 0.0)), *still) == []


@pytest.mark.parametrize('seed', range(20))
def test_with_noise_a_planted_delay_is_recovered_within_quantum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    delay = int(rng.integers(20, 300)) * MS
    noisy = [
        replace(f, values=tuple(np.array(f.values) + rng.normal(0.0, 0.2, 2) * THRESHOLD))
        for f in robot(0, (0.4, 0.0), delay)
    ]
    [found] = watch(command(0, (0.4, 0.0)), *noisy)
    took = found.actuated.nanoseconds - BEGIN
    assert delay <= took <= delay + 10 * MS


def test_time_is_the_sensors_own_not_that_of_its_arrival() -> None:
    """The feedback is handed over long after it was captured: only its stamp counts."""
    time = Timepiece()
    actuation = matching(PATIENCE)
    actuation = actuation.commanded(command(0, (0.4, 0.0)))
    for event in robot(0, (0.4, 0.0), 60 * MS):
        time.wait(10.0)
        actuation = actuation.measured(event)
    actuation, [found] = actuation.executions()
    assert found.actuated == stamp(60 * MS)


def test_feedback_that_wraps_is_evidence_only_of_where_the_angle_went() -> None:
    def seen(angles: tuple[int, ...], sign: float) -> int:
        actuation = matching(PATIENCE, angles=angles)
        actuation = actuation.measured(feedback(-10 * MS, 3.12, 0.0))
        actuation = actuation.commanded(command(0, (3.12 + sign * 0.3, 0.0), (3.12, 0.0)))
        actuation = actuation.measured(feedback(10 * MS, 3.42 - math.tau, 0.0))
        return len(actuation.executions()[1])

    assert (seen((0,), 1.0), seen((), 1.0)) == (1, 0)
    assert (seen((0,), -1.0), seen((), -1.0)) == (0, 1)


def test_what_a_driver_says_that_it_applied_goes_before_what_moved() -> None:
    motor, gripper = AcknowledgedGroup('/applied', 0), AcknowledgedGroup('/gripper', 1)
    actuation = matching(PATIENCE, places={'motor': motor, 'gripper': gripper})
    actuation = actuation.measured(feedback(-10 * MS, 0.0, 0.0))
    actuation = actuation.commanded(command(0, (0.4, 0.001), (0.1, 0.001)))  # 0.001 is as it was
    actuation = actuation.commanded(command(5 * MS, (0.401, 0.001), (0.4, 0.001), sequence=2))
    actuation = actuation.measured(feedback(90 * MS, 0.4, 0.0))  # would show the first one
    for at, value in ((-5, 0.4), (20, 0.1), (31, float(np.float32(0.4))), (41, 0.401)):
        actuation = actuation.after('motor', (value,), stamp(at * MS))
        actuation = actuation.after('gripper', (0.001,), stamp(at * MS))
    actuation, (first, second) = actuation.executions()
    assert (first.source, first.actuated, first.quantum) == ('/applied', stamp(31 * MS), 0.011)
    assert first.measured == pytest.approx((0.4,))
    assert (second.decision_sequence, second.actuated) == (2, stamp(41 * MS))
    assert second.measured == (0.401,)
    # One that never comes, or too late, leaves it to the feedback.
    actuation = actuation.commanded(command(100 * MS, (0.0, 0.001), (0.4, 0.001), sequence=3))
    actuation = actuation.after('motor', (0.0,), stamp(700 * MS))
    actuation = actuation.measured(feedback(150 * MS, 0.0, 0.0))
    actuation, [third] = actuation.executions()
    assert (third.source, third.actuated) == ('', stamp(150 * MS))
