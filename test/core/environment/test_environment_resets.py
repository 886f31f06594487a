# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How episodes begin: resets, refusals, deadlines that name what is missing."""

from __future__ import annotations

import math
import re

import pytest

from boundary_env_ros.core.environment.environment_events import FieldRead, WorldAnswered
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.starting import lacking
from boundary_env_ros.core.gate.gate_events import Tick
from boundary_env_ros.core.records.decision import GateState
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.sources.inputs import field_inputs, sensor_topics
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.errors import RequestRejected
from support.episode_checks import check_one_ending, CONTRACT, steps
from support.episode_world import EpisodeWorld, FAR_GOAL, NEAR_GOAL, START


def test_the_reset_is_recorded_like_a_step() -> None:
    world = EpisodeWorld().start()
    [reset] = world.transitions
    assert (reset.kind, reset.id.step, reset.reward) == (Kind.RESET, 0, 0.0)
    assert not reset.terminated
    assert not reset.truncated
    assert reset.before == ()
    assert reset.after == world.observations[0].fields
    record = reset.reset
    assert record is not None
    assert (reset.seed, record.seed_given, record.within_tolerance) == (7, True, True)
    sampled = {item.name: item.values for item in record.sampled}
    assert sampled == {'start': START, 'goal': FAR_GOAL}
    assert [item.values for item in record.achieved] == [START]
    assert record.confirmed_by == 'point robot'
    assert record.duration is not None
    assert record.duration >= CONTRACT.episode.reset.settle


def test_a_seed_that_nobody_gave_is_drawn_and_recorded_as_drawn() -> None:
    world = EpisodeWorld().start(seed=None)
    record = world.transitions[0].reset
    assert record is not None
    assert not record.seed_given
    assert world.transitions[0].seed == 99


def test_the_same_seed_samples_the_same_start() -> None:
    records = []
    for _ in range(2):
        world = EpisodeWorld()
        world.begin(options='{}')
        records.append(world.environment.state.reset.sampled)
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ('begin', 'message'),
    [
        ({'digest': 'sha256:' + '0' * 64}, 'expected the digest sha256:'),
        ({'digest': ''}, 'got none'),
        ({'options': '{'}, 'The reset options are not a JSON object'),
        ({'options': '[]'}, 'The reset options are not a JSON object'),
        ({'options': '[' * 100_000}, 'The reset options are not a JSON object'),
        ({'options': '{"start": [1]}'}, 'start: expected 3 numbers'),
        ({'options': '{"goal": [1e999, 0]}'}, 'goal: expected 2 numbers'),
        ({'options': '{"goal": [1' + '0' * 400 + ', 0]}'}, 'goal: expected 2 numbers'),
        ({'options': '{"wind": 3}'}, 'expected scenario, start, goal'),
        ({'options': '{"scenario": "maze"}'}, 'Unknown scenario'),
        ({'seed': 2**64}, 'Wrong seed .*, got 18446744073709551616'),
        ({'seed': -1}, 'from 0 to 2\\*\\*64 - 1, got -1'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_a_begin_that_is_refused_changes_nothing(begin: dict[str, object], message: str) -> None:
    world = EpisodeWorld().start()
    with pytest.raises(RequestRejected, match=message):
        world.begin(**begin)  # type: ignore[arg-type]
    world.episodes -= 1
    world.sequence = 1000
    assert world.state is EpisodeState.RUNNING
    world.run(1.0)
    assert world.state is EpisodeState.RUNNING


def test_an_episode_of_another_client_is_not_taken_away(world: EpisodeWorld) -> None:
    with pytest.raises(RequestRejected, match="is running: 'policy' runs episode-1"):
        world.begin(client='other')


def test_a_client_that_begins_another_abandons_the_first(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.begin()
    abandoned = world.transitions[-1]
    assert (abandoned.ending, abandoned.truncated) == ('abandoned', True)
    assert abandoned.id.episode_id == 'episode-1'
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    assert world.transitions[-1].id.episode_id == 'episode-2'


def test_after_an_ending_the_next_episode_runs_on_its_own_lease() -> None:
    world = EpisodeWorld()
    for number in (1, 2, 3):
        world.start(goal=NEAR_GOAL)
        world.finish()
        check_one_ending(world, 'success', terminated=True, by='task:go_to_goal')
        assert world.transitions[-1].id.episode_id == f'episode-{number}'
        assert steps(world)[0].id.step == 1


@pytest.mark.parametrize('pacing', Pacing)
def test_the_world_is_not_reset_while_its_gate_still_brakes(pacing: Pacing) -> None:
    # What the gate sends until then would move what has just been put in its place.
    world = EpisodeWorld(pacing=pacing).start()
    if world.lockstep:
        for _ in range(5):
            world.step(0.4, 0.0)
    else:
        world.run(1.0)
    world.arms = False
    world.begin()
    world.signs_of_life()
    assert world.gate.state.status(world.now).state is GateState.STOPPING
    assert not any(isinstance(asked, ResetWorld) for asked in world.asked[1:])
    waits = lacking(world.environment.state, world.now)
    assert waits == ('the safety gate to bring the robot to rest',)
    while world.gate.state.status(world.now).state is GateState.STOPPING:
        world.time.wait(world.contract.safety.gate_period)
        world.decided(world.gate.apply(Tick(now=world.now)))
    world.signs_of_life()
    assert any(isinstance(asked, ResetWorld) for asked in world.asked[1:])


def test_a_gate_that_never_comes_to_rest_fails_the_reset_by_name(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.alive -= {'gate'}
    world.begin()
    world.run_until(lambda: world.state.over)
    assert world.transitions[-1].ending == 'reset_failed'
    assert 'the safety gate to bring the robot to rest' in world.environment.state.episode.message


def test_the_first_observation_holds_nothing_of_the_world_before_the_reset() -> None:
    world = EpisodeWorld().start()
    world.run(3.0)
    moved = world.robot.pose[0]
    world.begin()
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    [x, y, _] = world.observations[-1]['pose'].values
    assert (x, y) == pytest.approx(START[:2], abs=0.05)
    assert moved > START[0] + 0.5


def test_a_sample_captured_before_the_reset_was_done_does_not_start_the_episode() -> None:
    world = EpisodeWorld()
    world.lag['pose'] = 1.0
    world.begin()
    world.run(0.9)
    assert world.state is EpisodeState.RESETTING
    world.lag['pose'] = 0.08
    world.run(world.slice)
    assert world.state is EpisodeState.RUNNING


def test_the_settling_time_is_waited_for() -> None:
    world = EpisodeWorld().begin()
    world.run(CONTRACT.episode.reset.settle - 2 * world.slice)
    assert world.state is EpisodeState.RESETTING
    world.run(4 * world.slice)
    assert world.state is EpisodeState.RUNNING


def test_what_grew_old_while_the_recorder_was_waited_for_does_not_start_the_episode() -> None:
    world = EpisodeWorld()
    world.alive.discard('recorder')
    world.begin()
    world.run(CONTRACT.episode.reset.settle + 0.5)
    world.alive.discard('pose')
    world.run(0.8)
    world.alive.add('recorder')
    world.run(CONTRACT.episode.reset.deadline)
    told = world.environment.status(world.now)
    assert (told.state, told.ending) == (EpisodeState.TRUNCATED, 'reset_failed')
    lacking = 'a fresh value of pose within its bounds (/pose_detections)'
    assert told.message.endswith(f'still missing: {lacking})')


def test_what_grew_old_starts_the_episode_once_it_has_come_anew() -> None:
    world = EpisodeWorld()
    world.alive.discard('recorder')
    world.begin()
    world.run(CONTRACT.episode.reset.settle + 0.5)
    world.alive.discard('pose')
    world.run(0.8)
    world.alive.add('recorder')
    world.run(0.5)
    assert world.state is EpisodeState.RESETTING
    world.alive.add('pose')
    world.run(0.3)
    assert world.state is EpisodeState.RUNNING
    reset = world.transitions[0]
    assert all(field.status is FieldStatus.FRESH for field in reset.after)


@pytest.mark.parametrize(
    ('part', 'lacking'),
    [
        ('pose', r'pose \(/pose_detections: never heard\)'),
        ('front', r'front \(/camera/image_raw: never heard\)'),
        # Without odometry the gate is not armed either.
        (
            'velocity',
            r'velocity \(/odom: never heard\), feedback \(/odom\), the arming of the safety .*',
        ),
        ('gate', 'the arming of the safety gate for this episode'),
        ('recorder', 'the recorder'),
    ],
)
def test_the_deadline_of_a_reset_names_what_is_missing(part: str, lacking: str) -> None:
    world = EpisodeWorld()
    world.alive.discard(part)
    if part == 'gate':
        world.arms = False
    world.begin()
    deadline = CONTRACT.episode.reset.deadline
    world.run(deadline - 0.1)
    assert world.state is EpisodeState.RESETTING
    world.run(0.2)
    told = world.environment.status(world.now)
    assert (told.state, told.ending) == (EpisodeState.TRUNCATED, 'reset_failed')
    assert told.message.startswith(f'The reset timed out after {deadline:g} s')
    assert re.search(rf'still missing: {lacking}\)$', told.message)


def test_no_episode_begins_after_the_recorder_has_died() -> None:
    world = EpisodeWorld()
    world.run(1.0)
    world.alive.discard('recorder')
    world.run(CONTRACT.safety.recorder_timeout + 0.1)
    world.begin()
    world.run(CONTRACT.episode.reset.deadline + 0.1)
    told = world.environment.status(world.now)
    assert (told.state, told.ending) == (EpisodeState.TRUNCATED, 'reset_failed')
    assert told.message.endswith('still missing: the recorder)')


def test_a_reset_that_lacks_a_sensor_says_why_its_messages_cannot_be_used() -> None:
    world = EpisodeWorld()
    world.alive.discard('pose')
    topics = {topic: f'/{topic}' for topic in sensor_topics(CONTRACT)}
    [pose] = [i for i in field_inputs(CONTRACT, topics) if i.name == 'pose']
    world.environment.on_problem(pose, "The joint 'arm_3_jiont' is missing.")
    world.begin()
    world.run(CONTRACT.episode.reset.deadline + 0.1)
    told = world.environment.status(world.now).message
    assert "pose (/pose_detections: The joint 'arm_3_jiont' is missing.)" in told


def test_a_sensor_whose_value_is_nan_is_not_said_to_be_unheard() -> None:
    world = EpisodeWorld()
    world.alive.discard('pose')
    world.begin()
    world.run(1.0)
    for values, said in (
        ((math.nan, 0.0, math.nan), 'x is nan, and 1 other'),
        ((0.0, math.inf, 0.0), 'y is inf'),
    ):
        reading = Reading(values=values, captured=world.time.stamp())
        world.apply(FieldRead(name='pose', reading=reading))
        assert 'pose' not in world.environment.state.buffer.latest
        world.run(1.1)
        told = world.environment.status(world.now).message
        assert f'pose (/pose_detections: heard, but {said})' in told
    world.alive.add('pose')
    world.run_until(lambda: world.state is EpisodeState.RUNNING)


def test_a_sensor_whose_clock_is_behind_is_not_said_to_be_unheard() -> None:
    world = EpisodeWorld()
    world.lag['pose'] = 100.0
    world.begin()
    world.run(2.1)
    told = world.environment.status(world.now).message
    assert 'pose (/pose_detections: nothing stamped since the reset has come)' in told


def test_a_world_that_does_not_answer_fails_the_reset_by_the_name_of_its_service() -> None:
    world = EpisodeWorld()
    world.alive.discard('robot')
    world.begin()
    deadline = CONTRACT.episode.reset.deadline
    world.run(deadline + 0.1)
    told = world.environment.status(world.now)
    assert (told.state, told.ending) == (EpisodeState.TRUNCATED, 'reset_failed')
    assert told.message == (
        f'A step of the reset timed out after {deadline:g} s '
        '(expected the answer of the service reset_world)'
    )


def test_a_reset_that_takes_long_says_what_it_waits_for() -> None:
    world = EpisodeWorld()
    world.alive.discard('recorder')
    world.begin()
    world.run(1.0)
    assert world.environment.status(world.now).message == ''
    world.run(1.1)
    assert world.environment.status(world.now).message == 'The reset waits for the recorder.'


def test_a_failed_reset_is_recorded_with_its_ending() -> None:
    world = EpisodeWorld()
    world.reset_error = 'the brakes are stuck'
    world.begin()
    [record] = world.transitions
    assert (record.kind, record.truncated, record.terminated) == (Kind.RESET, True, False)
    assert (record.ending, record.declared_by) == ('reset_failed', 'environment')
    assert record.reset is not None
    assert not record.reset.within_tolerance
    assert world.environment.status(world.now).message == 'the brakes are stuck'


def test_a_reset_out_of_tolerance_fails_and_says_by_how_much() -> None:
    world = EpisodeWorld()
    world.reset_answer = lambda start: (start[0] + 0.2, *start[1:])
    world.begin()
    told = world.environment.status(world.now)
    assert told.ending == 'reset_failed'
    assert (
        "'start' is out of tolerance (expected within [0.05, 0.05, 0.05] of [-4.0, -3.0, 0.0]"
        in told.message
    )


def test_after_a_failed_reset_another_may_succeed() -> None:
    world = EpisodeWorld()
    world.reset_error = 'stuck'
    world.begin()
    world.reset_error = ''
    world.start()
    assert world.state is EpisodeState.RUNNING


def test_an_answer_that_nobody_waits_for_is_passed_over(world: EpisodeWorld) -> None:
    assert (
        world.environment.apply(WorldAnswered(answer=WorldReset(error='late'), now=world.now))
        == ()
    )
    assert world.state is EpisodeState.RUNNING
