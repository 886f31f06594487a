# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What would have been under another contract, where that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml

from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.replay.recompute import in_the_way
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.replay.verdict_report import EpisodeVerdict, VerdictReport
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract, loads, make_task
from support.lockstep_maker import LockstepBench
from support.record_maker import Bench, chosen_start, seek_goal

Change = Callable[[Any], object]

#: What is asked for in each step, m/s; the rate of the contract, 0.1 m/s a step, allows it.
SPEEDS = (0.05, 0.12, 0.2, 0.28, 0.35, 0.4, 0.4, 0.35, 0.28, 0.2, 0.12, 0.05, 0.0)


def contract_with(*changes: Change, pacing: Pacing = Pacing.LOCKSTEP) -> LoadedContract:
    data: Any = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    for change in changes:
        change(data)
    return loads(yaml.safe_dump(data, sort_keys=False), pacing=pacing)


def place(data: Any) -> None:
    """Give the cart a place that it must keep out of, three metres ahead of where it starts."""
    data['safety']['workspace'] = {
        'hall': {
            'topic': 'ground_truth',
            'type': 'nav_msgs/msg/Odometry',
            'fields': [
                'pose.pose.position.x',
                'pose.pose.position.y',
                'yaw(pose.pose.orientation)',
            ],
            'unit': ['m', 'm', 'rad'],
            'frame': 'hall',
            'moves': 'body',
            'dimensions': ['base/linear.x'],
            'turn': 'base/angular.z',
            'keep_out': {'pit': box(-2.6)},
            'margin': 0.1,
            'delay': 0.1,
            'braking': [0.6, 2.0],
        }
    }
    data['episode']['on_stop']['workspace'] = 'safety_stop'


def box(x: float) -> list[list[float]]:
    return [[x, -4.0], [x + 0.3, -4.0], [x + 0.3, -2.0], [x, -2.0]]


def pit_at(x: float) -> Change:
    def change(data: Any) -> None:
        data['safety']['workspace']['hall']['keep_out']['pit'] = box(x)

    return change


def ahead(observation: Observation) -> tuple[float, float]:
    """Drive straight ahead, faster and slower."""
    step = observation.id.step
    return (SPEEDS[step] if step < len(SPEEDS) else 0.0), 0.0


def record_of(
    loaded: LoadedContract, policy: Callable[[Observation], tuple[float, float]], start: str
) -> list[object]:
    maker = LockstepBench if loaded.contract.pacing is Pacing.LOCKSTEP else Bench
    bench = maker(loaded.contract, loaded.digest, make_task(loaded.contract), 5)
    bench.episode('driver', policy, 11, start)
    return list(bench.record)


def judged(
    recorded: LoadedContract, other: LoadedContract, pieces: Sequence[object]
) -> EpisodeVerdict:
    """Run a record of one episode under another contract."""
    assert in_the_way(recorded.contract, other.contract) == ()
    again = Rerun(
        other.contract,
        make_task(other.contract),
        digest=recorded.digest,
        counterfactual=True,
    )
    for piece in pieces:
        if isinstance(piece, (Transition, GateDecision)):
            again.add(piece, f'/{type(piece).__name__}')
    (episode,) = again.finish()
    return episode


def actions_of(pieces: Sequence[object]) -> dict[int, Transition]:
    return {p.id.step: p for p in pieces if isinstance(p, Transition) and p.id.step}


# Another contract --------------------------------------------------------------------------------


def test_a_stricter_limit_limits_exactly_the_steps_above_it() -> None:
    recorded = contract_with()
    other = contract_with(lambda data: data['action']['base'].update(high=[0.3, 1.5]))
    pieces = record_of(recorded, ahead, chosen_start('far'))
    steps = actions_of(pieces)
    for step, speed in enumerate(SPEEDS, start=1):
        assert steps[step].commanded_action == (speed, 0.0)
        assert steps[step].verdict is Verdict.ADMITTED
    episode = judged(recorded, other, pieces)
    found = {d.step: d for d in episode.differences}
    above = {step: speed for step, speed in enumerate(SPEEDS, start=1) if speed > 0.3}
    assert set(found) == set(above)
    assert episode.places == [(5, 8)]
    assert episode.decisions_unlike == len(above)
    assert episode.steps_unlike == 0  # the cart turns no more, so every reward is as it was
    assert dict(episode.by_reason) == {'out_of_bounds': len(above)}
    for step, speed in above.items():
        assert found[step].dimension == 'base/linear.x (m/s)'
        assert found[step].by == pytest.approx(0.3 - speed)
        assert found[step].recorded == 'ADMITTED'
        assert found[step].recomputed == 'LIMITED (out_of_bounds)'
    assert episode.ending == episode.ending_again


def test_a_looser_limit_gives_what_was_asked_for() -> None:
    recorded = contract_with(lambda data: data['action']['base'].update(high=[0.3, 1.5]))
    other = contract_with()
    pieces = record_of(recorded, ahead, chosen_start('far'))
    episode = judged(recorded, other, pieces)
    assert {d.step for d in episode.differences} == {5, 6, 7, 8}
    assert dict(episode.by_reason) == {'no out_of_bounds': 4}
    assert [d.by for d in episode.differences] == pytest.approx([0.05, 0.1, 0.1, 0.05])


def test_what_the_gate_would_have_sent_before_is_what_the_next_command_starts_from() -> None:
    def far_sighted(data: Any) -> None:
        data['safety']['obstacles']['scan']['slow_distance'] = 1.3

    def slower(data: Any) -> None:
        data['action']['base']['max_acceleration'][0] = 0.5

    recorded, other = contract_with(far_sighted), contract_with(far_sighted, slower)
    pieces = record_of(recorded, ahead, chosen_start('clear'))
    episode = judged(recorded, other, pieces)
    by = {d.step: d.by or 0.0 for d in episode.differences}
    # At most 0.05 m/s a step: behind at first, and at last slower to brake. It begins at what was
    # measured, which is noisy.
    expected = (0.0, -0.02, -0.05, -0.08, -0.1, -0.1, -0.05, 0.0, 0.02, 0.05, 0.08, 0.1, 0.1)
    for step, change in enumerate(expected, start=1):
        assert by.get(step, 0.0) == pytest.approx(change, abs=0.01), step


def test_a_looser_keep_out_changes_what_was_stopped() -> None:
    recorded, other = contract_with(place), contract_with(place, pit_at(2.0))
    pieces = record_of(recorded, seek_goal, chosen_start('clear'))
    last = max(actions_of(pieces).values(), key=lambda t: t.id.step)
    assert last.ending == 'safety_stop'
    episode = judged(recorded, other, pieces)
    assert (episode.ending, episode.ended_at) == ('safety_stop', last.id.step)
    assert (episode.ending_again, episode.ended_again_at) == ('', None)
    assert set(episode.by_reason) >= {'no workspace'}
    stopped = next(d for d in episode.differences if d.recorded.startswith('STOPPED'))
    assert stopped.step == last.id.step
    assert not stopped.recomputed.startswith('STOPPED')
    assert episode.after_ending == 0


def test_a_nearer_keep_out_would_have_ended_it_before() -> None:
    recorded, other = contract_with(place), contract_with(place, pit_at(-3.0))
    pieces = record_of(recorded, seek_goal, chosen_start('clear'))
    episode = judged(recorded, other, pieces)
    assert episode.ending_again == 'safety_stop'
    assert episode.ended_at is not None
    assert episode.ended_again_at is not None
    assert episode.ended_again_at < episode.ended_at
    assert episode.after_ending == episode.ended_at - episode.ended_again_at
    assert episode.steps == episode.ended_again_at + 1
    assert 'recorded steps come after the recomputed ending' in str(
        VerdictReport(question='Under another', episodes=[episode])
    )


def test_a_shorter_time_limit_ends_it_where_it_says() -> None:
    recorded = contract_with()
    other = contract_with(lambda data: data['episode'].update(time_limit=2.0))
    pieces = record_of(recorded, ahead, chosen_start('far'))
    episode = judged(recorded, other, pieces)
    assert (episode.ending_again, episode.ended_again_at) == ('time_limit', 20)
    assert episode.ended_at == 60
    assert episode.after_ending == 40


def test_another_cost_changes_the_rewards_and_nothing_else() -> None:
    recorded = contract_with()
    other = contract_with(lambda data: data['task']['parameters'].update(time_cost=0.3))
    pieces = record_of(recorded, ahead, chosen_start('far'))
    episode = judged(recorded, other, pieces)
    assert episode.decisions_unlike == 0
    assert episode.steps_unlike == episode.steps - 1  # a reset is worth nothing either way
    # 0.2 a second more, for the steps of one episode of 0.1 s each.
    expected = episode.reward - 0.2 * 0.1 * (episode.steps - 1)
    assert episode.reward_again == pytest.approx(expected)


def test_a_shorter_timeout_of_the_policy_stops_in_realtime() -> None:
    recorded = contract_with(pacing=Pacing.REALTIME)
    bench = Bench(recorded.contract, recorded.digest, make_task(recorded.contract), 5)
    bench.stall_at = 8
    bench.episode('driver', seek_goal, 11, chosen_start('far'))
    other = contract_with(
        lambda data: data['safety'].update(command_timeout=0.4), pacing=Pacing.REALTIME
    )
    before = recorded.contract.safety.command_timeout
    assert before != 0.4
    episode = judged(recorded, other, list(bench.record))
    assert any('command_timeout' in reason for reason in episode.by_reason), episode.by_reason


# What cannot be asked ----------------------------------------------------------------------------


def _without_obstacle(data: Any) -> None:
    del data['safety']['obstacles']
    data['episode']['on_stop'].pop('obstacle_stop')


@pytest.mark.parametrize(
    ('recorded', 'other', 'named'),
    [
        ([], [lambda data: data.update(period=0.05)], 'period: expected 0.1 as in the record'),
        ([], [place], 'safety.workspace.'),
        ([_without_obstacle], [], 'safety.obstacles.scan'),
        (
            [],
            [lambda data: data['observation']['pose'].update(topic='elsewhere')],
            "field pose.topic: expected 'pose_detections' as in the record, got 'elsewhere'",
        ),
        (
            [lambda data: data['observation'].pop('scan')],
            [],
            'field scan: it was not recorded (expected what the record has)',
        ),
        (
            [],
            [lambda data: data['action']['base'].update(kind='delta', max_delta=[0.1, 0.4])],
            'action.base.kind: expected CONTINUOUS as in the record, got DELTA',
        ),
    ],
)
def test_a_contract_that_asks_for_what_was_not_recorded_is_refused_by_name(
    recorded: list[Change], other: list[Change], named: str
) -> None:
    found = in_the_way(contract_with(*recorded).contract, contract_with(*other).contract)
    assert any(named in reason for reason in found), found


def test_what_the_evaluator_alone_saw_is_named() -> None:
    def reveal(data: Any) -> None:
        data['observation']['true_pose'] = data['privileged'].pop('true_pose')

    found = in_the_way(contract_with().contract, contract_with(reveal).contract)
    assert any('true_pose' in reason and 'it is privileged' in reason for reason in found)


def test_fewer_rules_and_fields_are_no_obstacle() -> None:
    def fewer(data: Any) -> None:
        _without_obstacle(data)
        del data['observation']['scan']

    assert in_the_way(contract_with().contract, contract_with(fewer).contract) == ()
