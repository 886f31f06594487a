# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records in which the gate uses all that it has: honest ones are clean, forgeries are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')
import yaml

from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuntimeLimits,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.audit import audit, audit_path
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.rules import decision_checks
from boundary_env_ros.evidence.audit.rules.audit_rule import AuditTerms, link, outside
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.report.anomalies import anomalies_of
from boundary_env_ros.evidence.summary.summary import summarise
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import LoadedContract, loads, make_task
from support.bag_forging import Forge
from support.bag_maker import each, record_of, Tape, write_bag
from support.core_messages import changed_decision
from support.damage import later, put
from support.hand_maker import by_hand, hand_contract, HandBench, JOY
from support.record_maker import chosen_start, seek_goal, transitions_of

Where = Callable[[GateDecision, GateDecision | None], bool]
Change = Callable[[GateDecision], GateDecision]


@pytest.fixture(scope='module')
def by_the_contract() -> LoadedContract:
    """Return the contract with every rule."""
    return hand_contract()


@pytest.fixture(scope='module')
def bench(by_the_contract: LoadedContract) -> HandBench:
    """Return the bench after three episodes."""
    contract = by_the_contract.contract
    made = HandBench(contract, by_the_contract.digest, make_task(contract), seed=1)
    by_hand(made)
    return made


@pytest.fixture(scope='module')
def steps(bench: HandBench) -> list[Transition]:
    """Return the transitions of the first two episodes."""
    found = list(transitions_of(bench.record))
    episodes = list(dict.fromkeys(t.id.episode_id for t in found))
    return [t for t in found if t.id.episode_id in episodes[:2]]


@pytest.fixture(scope='module')
def tape(bench: HandBench, by_the_contract: LoadedContract) -> Tape:
    """Return what an honest recorder had of it."""
    return record_of(bench, by_the_contract)


# Honest ------------------------------------------------------------------------------------------


def test_record_for_these_tests_shows_what_there_is_to_judge(bench: HandBench) -> None:
    decisions = [piece for piece in bench.record if isinstance(piece, GateDecision)]
    assert {d.trigger for d in decisions} == {Trigger.REQUEST, Trigger.TIMER, Trigger.OPERATOR}
    reasons = {result.reason for d in decisions for result in d.rules}
    assert {
        Reason.OPERATOR,
        Reason.REPUBLISHED,
        Reason.TIME_TO_COLLISION,
        Reason.ACCELERATION_LIMIT,
        Reason.COMMAND_TIMEOUT,
        Reason.EMERGENCY_STOP,
    } <= reasons
    assert any(d.runtime_limits != RuntimeLimits() for d in decisions)
    assert any(d.inputs.overruns for d in decisions)


def test_honest_bag_is_clean_and_its_takeovers_are_held_against_their_topic(
    tmp_path: Path, tape: Tape
) -> None:
    write_bag(tmp_path / 'bag', tape)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.not_checked == ()


def test_a_hand_that_falls_silent_with_the_policy_is_followed_by_a_stop_and_accuses_nobody(
    by_the_contract: LoadedContract, tmp_path: Path
) -> None:
    contract = by_the_contract.contract
    made = HandBench(contract, by_the_contract.digest, make_task(contract), seed=1)
    made.stall_at, made.silent = 9, range(9, 15)
    made.episode('goal_seeking', seek_goal, 201, chosen_start('clear'))
    decisions = [piece for piece in made.record if isinstance(piece, GateDecision)]
    stops = [d for d in decisions if Reason.COMMAND_TIMEOUT in {r.reason for r in d.rules}]
    assert stops
    assert stops[0].requested_command != stops[0].inputs.previous_command  # that of when he let go
    write_bag(tmp_path / 'bag', record_of(made, by_the_contract))
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    for step in transitions_of(made.record):
        auditor = Auditor(contract, alone=True)
        auditor.add(step)
        assert auditor.report().counts == {}, f'\n{auditor.report()}'


def test_stops_for_a_battery_and_a_door_are_recomputed_told_and_forged_in_vain(
    by_the_contract: LoadedContract, tmp_path: Path
) -> None:
    contract = by_the_contract.contract
    made = HandBench(contract, by_the_contract.digest, make_task(contract), seed=1)
    made.takes, made.empty, made.open = 99, range(12, 16), range(20, 24)
    made.episode('goal_seeking', seek_goal, 201, chosen_start('clear'))
    tape = record_of(made, by_the_contract)
    write_bag(tmp_path / 'bag', tape)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    told = {
        anomaly.why
        for step in transitions_of(made.record)
        for anomaly in anomalies_of(step, contract)
        if anomaly.kind == 'stopped'
    }
    assert told == {
        'STOPPED by battery.main: the battery is too low (0.125, limit 0.25)',
        'STOPPED by interlock.door: a value is outside of its range (0, limit 1)',
    }
    again = Rerun(contract, make_task(contract), digest=by_the_contract.digest)
    for sent in tape:
        if isinstance(sent.what, (Transition, GateDecision)):
            again.add(sent.what, sent.topic)
    assert all(episode.same for episode in again.finish())

    def charged(decision: Any) -> Any:
        if type(decision) is not GateDecision:
            return decision
        seen = decision.inputs.measurements
        full = tuple(replace(m, values=(0.75,)) if 'battery' in m.name else m for m in seen)
        return replace(decision, inputs=replace(decision.inputs, measurements=full))

    write_bag(tmp_path / 'forged', each(tape, charged))
    forged = audit_path(tmp_path / 'forged')
    assert set(forged.counts) == {'decision-recomputed', 'values-from-sensors'}


def test_without_the_topic_of_the_operator_the_audit_says_what_it_cannot_hold_against_it(
    tmp_path: Path, tape: Tape
) -> None:
    write_bag(tmp_path / 'bag', [sent for sent in tape if sent.topic != JOY])
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert any('no topic' in item.why and 'joy' in item.why for item in report.not_checked)


# Forged ------------------------------------------------------------------------------------------


def republished(decision: GateDecision, before: GateDecision | None) -> bool:
    return any(result.reason is Reason.REPUBLISHED for result in decision.rules) and (
        before is not None and before.verdict is not Verdict.REJECTED
    )


def of_operator(decision: GateDecision, before: GateDecision | None) -> bool:
    return decision.trigger is Trigger.OPERATOR and before is not None


def goes_on_by_hand(decision: GateDecision, before: GateDecision | None) -> bool:
    return of_operator(decision, before) and before is not None and of_operator(before, before)


def takes_over(decision: GateDecision, before: GateDecision | None) -> bool:
    after_another = before is not None and not of_operator(before, before)
    return decision.trigger is Trigger.OPERATOR and after_another and bool(before.command)


def refused_for_him(decision: GateDecision, before: GateDecision | None) -> bool:
    return any(result.rule == 'operator' for result in decision.rules) and (
        decision.verdict is Verdict.REJECTED
    )


def overran(decision: GateDecision, before: GateDecision | None) -> bool:
    return decision.inputs.overruns > 0


def heard(decision: GateDecision, before: GateDecision | None) -> bool:
    return (
        decision.trigger is Trigger.REQUEST
        and decision.verdict is Verdict.LIMITED
        and before is not None
        and before.id.step > 1
        and before.published
        and before.verdict is not Verdict.STOPPED
    )


def tightened(decision: GateDecision, before: GateDecision | None) -> bool:
    return (
        decision.runtime_limits != RuntimeLimits()
        and heard(decision, before)
        and before is not None
        and before.id.episode_id == decision.id.episode_id
    )


def after_a_stop(decision: GateDecision, before: GateDecision | None) -> bool:
    return (
        decision.trigger is Trigger.TIMER
        and before is not None
        and decision.verdict is before.verdict is Verdict.STOPPED
        and decision.id.episode_id == before.id.episode_id
    )


def hand(**changes: Any) -> Change:
    """Return a change of what the gate had from the operator."""

    def changed(decision: GateDecision) -> GateDecision:
        return changed_decision(
            decision,
            measurements=tuple(
                replace(m, **changes) if m.name == 'operator' else m
                for m in decision.inputs.measurements
            ),
        )

    return changed


def other(**changes: Any) -> Change:
    """Return a change of some fields of a decision."""
    return lambda decision: changed_decision(decision, **changes)


def nudged(name: str, by: float) -> Change:
    """Return a change of the first dimension of a command."""

    def change(decision: GateDecision) -> GateDecision:
        first, *rest = getattr(decision, name)
        return replace(decision, **{name: (first + by, *rest)})

    return change


@dataclass(frozen=True)
class Damage:
    """One change of one decision, and the rule that must name it."""

    name: str
    rule: str
    where: Where
    change: Change


LOOSER = RuntimeLimits(high=(2.0, 2.0))

DAMAGES = (
    Damage(
        'faster again than was asked for',
        'decision-recomputed',
        republished,
        nudged('requested_command', 0.1),
    ),
    Damage(
        'another command of the operator',
        'decision-recomputed',
        of_operator,
        nudged('requested_command', 0.1),
    ),
    Damage(
        'another meaning of an action',
        'decision-recomputed',
        heard,
        nudged('requested_command', -0.1),
    ),
    Damage('going on by itself', 'allowed-to-move', after_a_stop, other(verdict=Verdict.HELD)),
    Damage(
        'an operator who does not hold his switch',
        'decision-recomputed',
        of_operator,
        hand(values=(0.375, 0.75, 0.0)),
    ),
    Damage('an operator of a while ago', 'inputs-recomputed', of_operator, hand(age=0.5)),
    Damage(
        'a policy that went before the operator',
        'decision-recomputed',
        refused_for_him,
        other(verdict=Verdict.ADMITTED, rules=()),
    ),
    Damage(
        'a refusal for nobody',
        'decision-recomputed',
        refused_for_him,
        hand(values=(0.0, 0.0, 0.0)),
    ),
    Damage(
        'a takeover that begins with what the robot does',
        'decision-recomputed',
        takes_over,
        other(seeded=True),
    ),
    Damage(
        'a seed where nobody took over', 'decision-recomputed', republished, other(seeded=True)
    ),
    Damage('a request in his name', 'allowed-to-move', of_operator, other(lease_id='')),
    Damage('looser limits', 'runtime-limits-stricter', heard, other(runtime_limits=LOOSER)),
    Damage(
        'limits as in the contract again',
        'runtime-limits-stricter',
        tightened,
        other(runtime_limits=RuntimeLimits()),
    ),
    Damage('more overruns', 'decision-recomputed', heard, other(overruns=99)),
    Damage('no overruns', 'decision-recomputed', overran, other(overruns=0)),
    Damage('a younger heartbeat', 'inputs-recomputed', heard, other(since_environment=0.0)),
    Damage('somebody else', 'allowed-to-move', heard, other(foreign_commands=1)),
    Damage('an unknown tick', 'inputs-recomputed', heard, other(since_tick=None)),
    Damage('a tick of long ago', 'inputs-recomputed', heard, other(since_tick=9.0)),
    Damage('a tick to come', 'inputs-recomputed', heard, other(since_tick=-0.01)),
    Damage(
        'a clock that jumped',
        'allowed-to-move',
        heard,
        lambda d: replace(
            d,
            received=replace(d.decided, ros=later(d.decided, 2_000).ros),
            decided=replace(d.decided, ros=later(d.decided, 2_000).ros),
        ),
    ),
    Damage('sent again too soon', 'decision-recomputed', republished, other(time_step=0.004)),
    Damage('a jerk', 'command-motion', heard, nudged('command', 0.02)),
    Damage('a jerk by hand', 'command-motion', goes_on_by_hand, nudged('command', -0.02)),
    Damage(
        'an acceleration before',
        'decision-recomputed',
        heard,
        other(previous_acceleration=(0.5, 0.5)),
    ),
)


def damaged(steps: list[Transition], damage: Damage) -> list[Transition]:
    """Return steps with one decision changed."""
    before: GateDecision | None = None
    for place, step in enumerate(steps):
        for index, decision in enumerate(step.decisions):
            if damage.where(decision, before):
                changed = put(step, f'decisions[{index}]', damage.change(decision))
                return [*steps[:place], changed, *steps[place + 1 :]]
            before = decision
    raise AssertionError('no such decision')


@pytest.mark.parametrize('damage', DAMAGES, ids=lambda damage: damage.name)
def test_damage_is_named_by_its_rule(
    damage: Damage, steps: list[Transition], by_the_contract: LoadedContract
) -> None:
    report = audit(damaged(steps, damage), contract=by_the_contract.contract)
    assert damage.rule in report.counts, f'\n{report}'


def test_what_the_contract_does_not_send_again_is_not_sent_again(
    steps: list[Transition], by_the_contract: LoadedContract
) -> None:
    contract = by_the_contract.contract
    other = replace(
        contract, safety=replace(contract.safety, republish_period=None, operator=None)
    )
    report = audit(steps, contract=other)
    assert {'decision-recomputed'} <= set(report.counts), f'\n{report}'


def test_switch_that_was_never_held_on_its_topic_is_named(
    tmp_path: Path, tape: Tape, by_the_contract: LoadedContract
) -> None:
    contract = by_the_contract.contract
    forge = Forge(list(tape), contract, make_task(contract))
    forge.raw(JOY, lambda sent: replace(sent, what={**sent.what, 'buttons': [0] * 5}))
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    assert {'values-from-sensors'} <= set(report.counts), f'\n{report}'


def test_second_obstacle_and_place_are_held_against_their_own_topics(
    tmp_path: Path, tape: Tape, by_the_contract: LoadedContract
) -> None:
    contract = by_the_contract.contract
    forge = Forge(list(tape), contract, make_task(contract))
    victim = forge.decisions[30]

    def farther(value: Any) -> Any:
        if isinstance(value, GateDecision) and value.sequence == victim.sequence:
            return changed_decision(
                value,
                measurements=tuple(
                    replace(m, values=tuple(v + 0.25 for v in m.values))
                    if m.name in ('obstacle.behind', 'workspace.hall')
                    else m
                    for m in value.inputs.measurements
                ),
            )
        return value

    forge.everywhere(farther)
    write_bag(tmp_path / 'bag', forge.tape)
    found = [
        f.field for f in audit_path(tmp_path / 'bag').findings if f.rule == 'values-from-sensors'
    ]
    for name in ('obstacle.behind', 'workspace.hall'):
        assert f'decision {victim.sequence}.{name}.values' in found


# Rotations ---------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def turning() -> AuditTerms:
    """Return the terms of a contract whose command is the orientation of a tool."""
    data: Any = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    paths = [f'pose.orientation.{axis}' for axis in 'xyzw']
    data['action']['tool'] = {
        'topic': 'tool', 'type': 'geometry_msgs/msg/PoseStamped', 'fields': paths,
        'unit': '', 'low': -1.0, 'high': 1.0, 'rotation': list('xyzw'),
        'safe': 'hold_position', 'max_velocity': 1.0, 'driver_timeout': 0.25,
        'feedback': {
            'topic': 'tool_state', 'type': 'geometry_msgs/msg/PoseStamped', 'fields': paths,
            'threshold': 0.01,
        },
    }  # fmt: skip
    loaded = loads(yaml.safe_dump(data, sort_keys=False))
    contract = loaded.contract
    return AuditTerms(
        contract=contract, digest=loaded.digest, judge=Judge(contract, digest=loaded.digest)
    )


def about_z(angle: float) -> Vector:
    return (0.0, 0.0, 0.0, 0.0, math.sin(angle / 2.0), math.cos(angle / 2.0))


@pytest.mark.parametrize(
    ('angle', 'verdict', 'found'),
    [
        (0.4, Verdict.ADMITTED, 0),
        (0.5, Verdict.ADMITTED, 0),
        (0.51, Verdict.LIMITED, 1),
        (-0.51 + 2.0 * math.pi, Verdict.LIMITED, 1),
        (0.4, Verdict.STOPPED, 0),
        (0.39, Verdict.STOPPED, 1),
        (0.5, Verdict.STOPPED, 1),
    ],
)
def test_rotation_is_judged_by_its_angle(
    turning: AuditTerms, steps: list[Transition], angle: float, verdict: Verdict, found: int
) -> None:
    decision = changed_decision(
        steps[1].decisions[0],
        verdict=verdict,
        time_step=0.1,
        previous_command=about_z(0.4),
        command=about_z(angle),
    )
    one = link(None, decision, '', turning, direct=True)
    assert len(list(decision_checks.command_rotation.function(one))) == found


def test_command_that_is_no_unit_quaternion_is_named(
    turning: AuditTerms, steps: list[Transition]
) -> None:
    command = (*about_z(0.4)[:-1], 0.5)
    decision = changed_decision(
        steps[1].decisions[0], time_step=0.1, previous_command=about_z(0.4), command=command
    )
    one = link(None, decision, '', turning, direct=True)
    (found,) = decision_checks.command_rotation.function(one)
    assert found.expected == 'a norm of 1'


# Divided differences -----------------------------------------------------------------------------


def test_divided_difference_of_a_cubic_is_its_third_derivative_over_six() -> None:
    nodes = [(t, (2.0 * t**3 - t, 0.0)) for t in (0.0, -0.1, -0.13, -0.4)]
    value, noise = decision_checks.divided_difference(nodes, 0)
    assert value == pytest.approx(2.0)
    assert 0.0 < noise < 1e-6


def test_a_range_without_an_end_is_still_one_at_the_other() -> None:
    assert list(outside('command', -1.0, 0.0, math.inf))
    assert not list(outside('command', 1e9, 0.0, math.inf))
    assert list(outside('command', math.nan, 0.0, math.inf))


# Summed up ---------------------------------------------------------------------------------------


def test_takeovers_and_stops_are_counted(
    bench: HandBench, by_the_contract: LoadedContract
) -> None:
    summary = summarise(bench.record, by_the_contract.contract)
    (client,) = summary.groups
    assert client.taken_over == 3
    assert client.stops['COMMAND_TIMEOUT'] == 1
    assert client.stops['EMERGENCY_STOP'] == 1
    assert 'STILL_STOPPED' not in client.stops
    assert '  command timeout' in str(summary)
