# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reset procedures: their steps in order, their deadlines by name, and nothing by accident."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import CallStep, ConfirmStep, Contract, PublishStep
from boundary_env_ros.core.environment.environment_events import (
    ConfirmReset,
    DeadlinesDue,
    ServiceAnswered,
    WorldAnswered,
)
from boundary_env_ros.core.environment.reset import out_of_tolerance, ResetWorld, WorldReset
from boundary_env_ros.core.records.decision import GateState
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.evidence.audit.audit import audit
from support.core_world import shipped
from support.episode_world import EpisodeWorld, FAR_GOAL, PointRobot, START

WORLD: dict[str, Any] = {'world': 'reset_world', 'deadline': 3.0}
CALL: dict[str, Any] = {
    'call': 'brakes/release', 'type': 'std_srvs/srv/SetBool', 'request': {'data': True},
    'deadline': 2.0,
}  # fmt: skip
PUBLISH: dict[str, Any] = {
    'publish': 'lamp', 'type': 'std_msgs/msg/Bool', 'message': {'data': True},
}  # fmt: skip
WAIT: dict[str, Any] = {
    'wait': 'pose', 'sampled': 'start', 'tolerance': [0.1, 0.1, 0.1], 'deadline': 4.0,
}  # fmt: skip
CONFIRM: dict[str, Any] = {'confirm': 'Put the box on the mark.', 'deadline': 5.0}

CALLED = CallStep(
    service='brakes/release', type='std_srvs/srv/SetBool', request={'data': True}, deadline=2.0
)
PUBLISHED = PublishStep(topic='lamp', type='std_msgs/msg/Bool', message={'data': True})
ASKED = ConfirmStep(prompt='Put the box on the mark.', deadline=5.0)


def contract(*steps: dict[str, Any], tolerance: object = None, settle: float = 0.3) -> Contract:
    reset = {
        'settle': settle, 'deadline': 8.0, 'tolerance': tolerance or {}, 'procedure': list(steps),
    }  # fmt: skip
    return shipped({('episode', 'reset'): reset})


def begun(*steps: dict[str, Any], **changes: Any) -> EpisodeWorld:
    return EpisodeWorld(contract=contract(*steps, **changes)).begin()


def answer(world: EpisodeWorld, service: str = 'brakes/release', error: str = '') -> None:
    world.apply(ServiceAnswered(service=service, error=error, now=world.now))


def confirm(world: EpisodeWorld, user: str = 'Ada', confirmed: bool = True, why: str = '') -> None:
    world.apply(ConfirmReset(user=user, confirmed=confirmed, message=why, now=world.now))


def failure(world: EpisodeWorld) -> str:
    """Return what a failed reset says of itself, told alike everywhere."""
    told = world.environment.status(world.now)
    assert (told.state, told.ending) == (EpisodeState.TRUNCATED, 'reset_failed')
    last = world.transitions[-1]
    assert (last.kind, last.ending, last.truncated) == (Kind.RESET, 'reset_failed', True)
    return told.message


# Order -------------------------------------------------------------------------------------------


def test_the_steps_are_done_one_after_the_other() -> None:
    world = begun(PUBLISH, WORLD, CALL, WAIT, CONFIRM)
    reset = world.environment.state.reset
    start = ResetWorld(seed=7, target=reset.sampled, options=reset.options)
    assert '"goal"' in start.options
    assert world.asked == [PUBLISHED, start, CALLED]
    world.run(1.0)
    assert world.asked == [PUBLISHED, start, CALLED], 'it went on without an answer'
    world.robot.pose[0] += 1.0
    world.run(0.5)
    answer(world)
    world.run(0.5)
    assert world.asked[-1] == CALLED, 'it did not wait for the field'
    world.robot.pose = list(START)
    world.run_until(lambda: len(world.asked) > 3)
    assert world.asked[3:] == [ASKED]
    assert world.environment.status(world.now).message == 'Put the box on the mark.'
    world.run(1.0)
    assert world.state is EpisodeState.RESETTING
    confirm(world)
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    record = world.transitions[-1].reset
    assert record is not None
    assert record.confirmed_by == 'point robot, brakes/release, field pose, Ada'
    assert record.within_tolerance


def test_the_world_settles_after_the_last_step() -> None:
    world = begun(CALL, settle=1.0)
    world.run(1.5)
    answer(world)
    world.run(0.9)
    assert world.state is EpisodeState.RESETTING
    world.run(0.2)
    assert world.state is EpisodeState.RUNNING


def test_the_first_observation_is_of_the_world_after_the_last_step() -> None:
    world = begun(CALL, settle=0.0)
    world.run(1.0)
    done = world.time.ros
    answer(world)
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    for field in world.observations[0].fields:
        assert field.captured is not None
        assert field.captured.nanoseconds >= done, f'{field.name} is of the old world'


def test_a_procedure_that_only_publishes_takes_no_time() -> None:
    world = begun(PUBLISH, {**PUBLISH, 'publish': 'horn'})
    assert [effect.topic for effect in world.asked] == ['lamp', 'horn']
    world.run_until(lambda: world.state is EpisodeState.RUNNING, within=1.0)
    record = world.transitions[0].reset
    assert record is not None
    assert (record.achieved, record.confirmed_by, record.within_tolerance) == ((), '', True)
    assert {item.name: item.values for item in record.sampled} == {
        'start': START,
        'goal': FAR_GOAL,
    }


def test_published_messages_between_two_steps_are_published_in_between() -> None:
    world = begun(CALL, PUBLISH, CONFIRM, {**PUBLISH, 'publish': 'horn'})
    assert world.asked == [CALLED]
    answer(world)
    assert world.asked == [CALLED, PUBLISHED, ASKED]
    confirm(world)
    assert world.asked[-1] == replace(PUBLISHED, topic='horn')


@pytest.mark.parametrize('steps', [(CALL,), (CALL, WAIT), (WAIT,), (PUBLISH,), (WORLD,)])
def test_what_answered_or_was_seen_confirms_the_reset(steps: tuple[dict[str, Any], ...]) -> None:
    world = begun(*steps)
    world.robot.pose = list(START)
    world.run(0.5)
    answer(world)
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    found = audit(world.transitions[:1], contract=world.contract).counts
    assert not {'reset-as-contract'} & set(found)


@pytest.mark.parametrize(
    ('step', 'tolerance'), [(WORLD, {}), (WORLD, {'start': [0.1, 0.1, 0.1]}), (CALL, {})]
)
def test_the_record_of_a_reset_that_nobody_answered_contradicts_nothing(
    step: dict[str, Any], tolerance: dict[str, Any]
) -> None:
    world = EpisodeWorld(contract=contract(step, tolerance=tolerance))
    world.reset_world = lambda asked: None  # type: ignore[method-assign]
    world.begin()
    world.run(step['deadline'] + 0.2)
    failure(world)
    found = audit(world.transitions[:1], contract=world.contract)
    assert 'reset-as-contract' not in found.counts, f'\n{found}'


# Deadlines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('step', 'sentence'),
    [
        (CALL, 'after 2 s (expected the answer of the service brakes/release)'),
        (
            {**WAIT, 'wait': 'true_pose', 'tolerance': [0.0, 0.0, 9.0]},
            'after 4 s (expected true_pose[0] within 0 of -4, which is ',
        ),
        (
            {'wait': 'velocity', 'target': [1, 0], 'tolerance': 0.5, 'deadline': 1.5},
            'after 1.5 s (expected velocity[0] within 0.5 of 1, which is ',
        ),
        (
            {'wait': 'velocity', 'target': [1, 0], 'tolerance': [0.5, 0.5], 'deadline': 1.5},
            'after 1.5 s (expected velocity[0] within 0.5 of 1, which is ',
        ),
        (CONFIRM, 'after 5 s (expected a person to confirm: Put the box on the mark.)'),
    ],
    ids=['call', 'wait for what was sampled', 'one tolerance', 'wait for a value', 'confirm'],
)
def test_a_step_that_takes_too_long_fails_the_reset_by_its_name(
    step: dict[str, Any], sentence: str
) -> None:
    world = EpisodeWorld(contract=contract(PUBLISH, step))
    world.robot.pose[0] = 1.0
    world.begin()
    world.run(step['deadline'] - 0.1)
    assert world.state is EpisodeState.RESETTING
    world.run(0.2)
    assert failure(world).startswith(f'A step of the reset timed out {sentence}')


def test_the_deadline_of_a_step_runs_from_its_own_beginning() -> None:
    world = begun(CALL, {**CALL, 'call': 'brakes/check'})
    world.run(1.9)
    answer(world)
    world.run(1.9)
    assert world.state is EpisodeState.RESETTING
    answer(world, 'brakes/check')
    world.run_until(lambda: world.state is EpisodeState.RUNNING)


def test_the_deadline_of_the_whole_is_over_all_of_its_steps() -> None:
    world = begun(CONFIRM, CONFIRM)
    world.run(4.9)
    confirm(world)
    world.run(3.0)
    assert world.state is EpisodeState.RESETTING
    world.run(0.2)
    assert failure(world) == (
        'The reset timed out after 8 s (still missing: a person to confirm: '
        'Put the box on the mark.)'
    )


# Answers -----------------------------------------------------------------------------------------


def test_a_service_that_fails_fails_the_reset_by_its_name() -> None:
    world = begun(CALL, CONFIRM)
    answer(world, error='the brakes are stuck')
    assert failure(world) == 'brakes/release: the brakes are stuck'
    assert ASKED not in world.asked


@pytest.mark.parametrize('error', ['', 'no such service'])
def test_the_answer_of_another_service_is_passed_over(error: str) -> None:
    world = begun(CALL, CONFIRM)
    answer(world, 'brakes/check', error)
    assert world.state is EpisodeState.RESETTING
    assert world.asked == [CALLED]
    answer(world)
    # The same answer once more, which nobody waits for by now.
    answer(world, error='too late')
    assert world.state is EpisodeState.RESETTING


@pytest.mark.parametrize(
    'late', [WorldReset(error='the hoist is stuck'), WorldReset(completed=1), WorldReset()]
)
def test_the_world_s_answer_to_a_reset_that_was_given_up_is_passed_over(late: WorldReset) -> None:
    world = begun(CALL, WORLD, tolerance={'start': [0.1, 0.1, 0.1]})
    world.apply(WorldAnswered(answer=late, now=world.now))
    assert world.state is EpisodeState.RESETTING
    assert world.asked == [CALLED]
    answer(world)
    world.run_until(lambda: world.state is EpisodeState.RUNNING)


def test_another_episode_begins_the_procedure_anew() -> None:
    world = begun(CALL, CONFIRM)
    answer(world)
    world.begin()
    assert world.asked == [CALLED, ASKED, CALLED]
    with pytest.raises(RequestRejected, match='No reset asks for a confirmation'):
        confirm(world)


def test_a_step_without_a_wait_is_not_done_by_a_field() -> None:
    world = begun(CONFIRM)
    world.run(2.0)
    assert world.state is EpisodeState.RESETTING


# Confirmation ------------------------------------------------------------------------------------


def test_a_confirmation_that_nobody_asked_for_is_refused() -> None:
    world = EpisodeWorld(contract=contract(CALL, CONFIRM))
    with pytest.raises(RequestRejected, match='No reset asks'):
        confirm(world)
    world.begin()
    with pytest.raises(RequestRejected, match='No reset asks'):
        confirm(world)
    answer(world)
    confirm(world)
    with pytest.raises(RequestRejected, match='No reset asks') as caught:
        confirm(world)
    assert caught.value.code is ResultCode.INVALID_ARGUMENT
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    with pytest.raises(RequestRejected, match='No reset asks'):
        confirm(world)


def test_a_person_is_asked_once_the_gate_has_brought_the_robot_to_rest() -> None:
    world = begun(CONFIRM)
    confirm(world)
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    world.run(1.0)
    world.asked.clear()
    world.begin()
    assert (world.asked, world.statuses[-1].message) == ([], '')
    world.run_until(lambda: bool(world.asked))
    assert world.gate.state.status(world.now).state is GateState.ARMED
    assert world.asked == [ASKED]
    assert world.statuses[-1].message == ASKED.prompt


def test_a_confirmation_needs_a_name() -> None:
    world = begun(CONFIRM)
    with pytest.raises(
        RequestRejected, match='The name of the person or program that confirms is missing'
    ):
        confirm(world, user='')
    assert world.state is EpisodeState.RESETTING


@pytest.mark.parametrize(
    ('why', 'message'),
    [
        ('the box is broken', 'Ada did not confirm: the box is broken'),
        ('', 'Ada did not confirm: Put the box on the mark.'),
    ],
)
def test_a_person_may_say_no(why: str, message: str) -> None:
    world = begun(CONFIRM)
    confirm(world, confirmed=False, why=why)
    assert failure(world) == message


def test_the_prompt_is_told_as_long_as_it_is_asked_and_no_longer() -> None:
    world = begun(CALL, CONFIRM)

    def told() -> str:
        return world.environment.status(world.now).message

    assert told() == ''
    answer(world)
    assert told() == 'Put the box on the mark.'
    confirm(world)
    assert told() == ''


# Waiting -----------------------------------------------------------------------------------------


class Rolling(PointRobot):
    """A robot that is still rolling to where it was reset to."""

    per_slice = 0.004

    def move(self, now: int, seconds: float) -> None:
        super().move(now, seconds)
        self.pose[0] = min(START[0], self.pose[0] + self.per_slice * seconds / 0.02)

    def reset(self, target: Vector) -> None:
        super().reset(target)
        self.pose[0] -= 0.49


def test_a_field_is_waited_for_until_it_is_within_its_tolerance() -> None:
    world = EpisodeWorld(contract=contract(WORLD, WAIT, PUBLISH))
    world.robot = Rolling(world.contract)
    world.begin()
    world.run_until(lambda: PUBLISHED in world.asked)
    seen = world.environment.state.buffer.latest['pose'].values
    assert START[0] - 0.1 <= seen[0] < START[0] - 0.05


@pytest.mark.parametrize(
    ('field', 'target', 'wrap', 'come'),
    [
        ('pose', [-4.0, -3.0, 6.28], [], True),
        ('velocity', [6.28, 0.0], [0], True),
        ('velocity', [6.28, 0.0], [], False),
    ],
    ids=['yaw(...)', 'declared', 'not declared'],
)
def test_an_angle_is_waited_for_by_its_direction(
    field: str, target: list[float], wrap: list[int], come: bool
) -> None:
    step = {'wait': field, 'target': target, 'tolerance': 0.1, 'deadline': 4.0, 'wrap': wrap}
    world = begun(WORLD, step, PUBLISH)
    world.run(2.0)
    assert (PUBLISHED in world.asked) is come


def test_in_lockstep_the_world_moves_period_by_period_until_what_is_waited_for_has_come() -> None:
    world = EpisodeWorld(contract=contract(WORLD, WAIT, PUBLISH), pacing=Pacing.LOCKSTEP)
    world.robot = Rolling(world.contract)
    world.begin()
    world.apply(DeadlinesDue(now=world.now))
    assert world.state is EpisodeState.RUNNING, world.environment.status(world.now).message
    assert world.asked[-1] == PUBLISHED
    seconds = [advance.duration / NANOSECONDS for advance in world.advances]
    # 0.39 m at 0.02 m a period, and the settling at the end.
    assert seconds == pytest.approx([0.1] * 20 + [0.3])
    assert {advance.id.step for advance in world.advances} == {0}


def test_in_lockstep_nothing_moves_while_a_person_is_waited_for() -> None:
    world = EpisodeWorld(contract=contract(CONFIRM, WAIT), pacing=Pacing.LOCKSTEP)
    world.begin()
    for _ in range(10):
        world.time.wait(0.1)
        world.apply(DeadlinesDue(now=world.now))
    assert world.advances == []
    world.robot.pose = list(START)
    world.signs_of_life()
    confirm(world)
    assert world.state is EpisodeState.RUNNING
    assert [advance.duration / NANOSECONDS for advance in world.advances] == [0.1, 0.3]


def test_in_lockstep_a_wait_has_its_deadline_too() -> None:
    world = EpisodeWorld(contract=contract(WAIT), pacing=Pacing.LOCKSTEP)
    world.alive.discard('pose')
    world.robot.pose[0] = 0.0
    held: list[object] = []
    world.advance = held.append  # type: ignore[assignment]
    world.begin()
    assert len(held) == 1
    world.time.wait(4.1)
    world.apply(DeadlinesDue(now=world.now))
    assert '(expected a value of pose (/pose_detections: never heard))' in failure(world)


def test_what_was_seen_before_the_episode_began_is_not_waited_for_in_vain() -> None:
    """A value of the episode before must not end the wait of this one."""
    world = EpisodeWorld(contract=contract(WAIT))
    world.robot.pose = list(START)
    world.run(0.5)
    world.alive.discard('pose')
    world.begin()
    world.run(1.0)
    assert world.state is EpisodeState.RESETTING
    assert world.environment.state.reset.step is not None


# Tolerance ---------------------------------------------------------------------------------------


def test_the_world_is_held_against_the_tolerance_before_the_next_step() -> None:
    world = EpisodeWorld(contract=contract(WORLD, CALL, tolerance={'start': [0.1, 0.1, 0.1]}))
    world.reset_answer = lambda start: (start[0] + 0.2, *start[1:])
    world.begin()
    assert failure(world).startswith(
        "'start' is out of tolerance (expected within [0.1, 0.1, 0.1] of"
    )


@pytest.mark.parametrize('count', [2, 4])
def test_a_tolerance_for_other_values_than_were_sampled_fails_the_reset_in_words(
    count: int,
) -> None:
    world = begun(WORLD, tolerance={'start': [0.1] * count})
    assert failure(world) == f"Wrong tolerance of 'start' (expected 3 values, got {count})"


def test_one_tolerance_stands_for_all_values() -> None:
    world = begun(WORLD, tolerance={'start': 0.1})
    world.run_until(lambda: world.state is EpisodeState.RUNNING)


number = st.floats(-1e6, 1e6)


@given(st.data())
def test_what_is_within_tolerance_is_near_in_every_value(data: st.DataObject) -> None:
    target = data.draw(st.lists(number, min_size=1, max_size=4))
    size = len(target)
    count = data.draw(st.sampled_from([1, size, size, size + 1]))
    tolerance = data.draw(st.lists(st.floats(0.0, 1e3), min_size=count, max_size=count))
    each = tolerance * size if count == 1 else tolerance
    # In parts of the tolerance, so that as many are near as are not.
    part = st.floats(-1.5, 1.5) | st.sampled_from([0.5, math.inf, math.nan])
    error = data.draw(st.lists(part, min_size=size, max_size=size))
    achieved = tuple(a + b * most for a, b, most in zip(target, error, each, strict=False))
    achieved = achieved[: data.draw(st.sampled_from([size, size, size - 1]))]
    wrong = out_of_tolerance(
        (NamedValues(name='start', values=tuple(target)),),
        (NamedValues(name='start', values=achieved),),
        (NamedValues(name='start', values=tuple(tolerance)),),
    )
    near = len(each) == size == len(achieved) and all(
        abs(a - b) <= most for a, b, most in zip(target, achieved, each, strict=True)
    )
    assert bool(wrong) is not near
