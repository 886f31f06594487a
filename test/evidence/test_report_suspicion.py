# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which moments of a run are shown first: planted oddities do, honest steps do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.causes import CAUSES
from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.records.latency import Latency, LatencyStage
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.evidence.report.anomalies import anomalies_of, KINDS
from boundary_env_ros.evidence.report.suspicion import GAP, KEPT, Moment, Suspects
from support.core_messages import changed_decision

Change = Callable[[Transition], Transition]


@pytest.fixture(scope='module')
def calm(transitions: list[Transition], contract: Contract) -> Transition:
    """Return a step with nothing to see."""
    return next(t for t in transitions if t.kind is Kind.STEP and not anomalies_of(t, contract))


def ruled(reason: Reason, outcome: Verdict, **more: object) -> Change:
    """Return what makes a rule of the gate do something in a step."""
    [cause, *_] = (c for c in CAUSES if (c.reason, c.outcome) == (reason, outcome))

    def change(step: Transition) -> Transition:
        result = cause.result('', 0.4, 0.5)
        last = replace(step.decisions[-1], rules=(result,), verdict=outcome, **more)  # type: ignore[arg-type]
        return replace(step, decisions=(*step.decisions[:-1], last))

    return change


def seen(**changes: object) -> Change:
    """Return what changes the first field of the observation after a step."""

    def change(step: Transition) -> Transition:
        first = replace(step.after[0], **changes)  # type: ignore[arg-type]
        return replace(step, after=(first, *step.after[1:]))

    return change


def took(seconds: float) -> Change:
    stage = LatencyStage(duration=seconds, budget=0.05)
    return lambda step: replace(step, latency=Latency(inference=stage))


def decided(**changes: object) -> Change:
    def change(step: Transition) -> Transition:
        last: GateDecision = changed_decision(step.decisions[-1], **changes)
        return replace(step, decisions=(*step.decisions[:-1], last))

    return change


PLANTED: dict[str, tuple[str, Change]] = {
    'emergency stop': ('emergency_stop', ruled(Reason.EMERGENCY_STOP, Verdict.STOPPED)),
    'another publisher': ('foreign_publisher', decided(foreign_commands=1)),
    'robot lost': ('machinery_lost', lambda t: replace(t, truncated=True, ending='robot_lost')),
    'no reset': ('reset_failed', lambda t: replace(t, truncated=True, ending='reset_failed')),
    'reward not finite': ('not_finite', lambda t: replace(t, reward=math.nan)),
    'value not finite': ('not_finite', seen(values=(math.inf, 0.0, 0.0))),
    'value from the future': ('impossible_time', seen(age=-0.01)),
    'stage before it began': ('impossible_time', took(-0.001)),
    'clock that jumped': ('impossible_time', ruled(Reason.CLOCK, Verdict.STOPPED)),
    'sensor silent': ('silence', ruled(Reason.OBSERVATION_TIMEOUT, Verdict.STOPPED)),
    'obstacle': ('stopped', ruled(Reason.OBSTACLE_STOP, Verdict.STOPPED)),
    'refused': ('rejected', ruled(Reason.WRONG_LEASE, Verdict.REJECTED)),
    'by hand': ('takeover', decided(trigger=Trigger.OPERATOR)),
    'field missing': ('missing', seen(status=FieldStatus.MISSING)),
    'field too old': ('stale', seen(status=FieldStatus.STALE, age=0.7)),
    'overrun': ('overrun', lambda t: replace(t, overrun=True)),
    'late action': ('held', ruled(Reason.COMMAND_LATE, Verdict.HELD)),
    'failure': ('bad_ending', lambda t: replace(t, terminated=True, ending='failure')),
    'far from the request': (
        'changed',
        lambda t: replace(t, requested_action=(0.8, 0.0), admitted_action=(0.1, 0.0)),
    ),
    'far from the command': (
        'not_followed',
        lambda t: replace(t, commanded_action=(0.8, 0.0), measured_action=(0.0, 0.0)),
    ),
    'slow policy': ('over_budget', took(0.06)),
    'value out of range': ('out_of_range', seen(clipped=True)),
}


@pytest.mark.parametrize('name', PLANTED)
def test_planted_oddity_is_a_sign_and_says_why(
    name: str, calm: Transition, contract: Contract
) -> None:
    kind, change = PLANTED[name]
    anomalies = {anomaly.kind: anomaly for anomaly in anomalies_of(change(calm), contract)}
    assert kind in anomalies, anomalies
    assert anomalies[kind].why
    assert set(anomalies) <= KINDS.keys()


def test_every_kind_of_sign_can_be_seen() -> None:
    of_many_steps = {'gap', 'judged_otherwise'}
    assert {kind for kind, _ in PLANTED.values()} | of_many_steps == KINDS.keys()


def test_success_the_stop_after_the_end_and_a_repeated_command_are_no_signs(
    calm: Transition, contract: Contract
) -> None:
    for change in (
        lambda t: replace(t, terminated=True, ending='success'),
        ruled(Reason.EPISODE_OVER, Verdict.STOPPED),
        ruled(Reason.STILL_STOPPED, Verdict.STOPPED),
        ruled(Reason.REPUBLISHED, Verdict.HELD),
        ruled(Reason.RATE_LIMIT, Verdict.LIMITED),
    ):
        assert anomalies_of(change(calm), contract) == ()


def test_more_of_it_is_more_suspicious_up_to_a_point(calm: Transition) -> None:
    weights = [anomalies_of(took(s)(calm))[0].weight for s in (0.06, 0.1, 0.2, 20.0)]
    assert weights[0] < weights[1] < weights[2] == weights[3]


# Moments -----------------------------------------------------------------------------------------


def moments(
    steps: Sequence[tuple[str, int, Change | None]],
    calm: Transition,
    contract: Contract,
    count: int = 5,
) -> tuple[Moment, ...]:
    suspects = Suspects(contract)
    for episode, number, change in steps:
        now = replace(calm, id=replace(calm.id, episode_id=episode, step=number))
        suspects.add(change(now) if change else now)
    return suspects.foremost(count)


STALE, STOP = PLANTED['field too old'][1], PLANTED['obstacle'][1]


def test_steps_one_after_the_other_are_one_moment_that_shows_its_worst_step(
    calm: Transition, contract: Contract
) -> None:
    slow: list[tuple[str, int, Change | None]] = [
        ('a', 1, None),
        ('a', 2, took(0.06)),
        ('a', 3, took(0.15)),
        ('a', 4, None),
        ('a', 5, took(0.07)),
        ('a', 6, None),
    ]
    (found,) = moments(slow, calm, contract)
    assert (found.first_step, found.last_step, found.step) == (2, 5, 3)
    assert 'inference took 150 ms, budget 50 ms' in found.anomaly.why


def test_pause_and_a_new_episode_begin_another_moment(
    calm: Transition, contract: Contract
) -> None:
    steps = [('a', i, STALE if i in (1, 2 + GAP + 1) else None) for i in range(1, 9)]
    assert [m.first_step for m in moments(steps, calm, contract)] == [1, 6]
    two = [('a', 1, STALE), ('b', 1, STALE)]
    assert [m.episode_id for m in moments(two, calm, contract)] == ['a', 'b']


def test_steps_that_go_back_are_one_moment(calm: Transition, contract: Contract) -> None:
    suspects = Suspects(contract)
    for step in (9, 7, 8):
        suspects.add(replace(calm, id=replace(calm.id, step=step), reward=math.nan))
    (moment,) = suspects.foremost(1)
    assert (moment.first_step, moment.last_step) == (7, 9)


def test_missing_steps_are_a_moment(calm: Transition, contract: Contract) -> None:
    (found,) = moments([('a', 1, None), ('a', 5, None)], calm, contract)
    assert (found.anomaly.kind, found.step) == ('gap', 5)
    assert found.anomaly.why == '3 steps before this one are missing'


def test_worst_comes_first_and_one_fault_in_a_thousand_places_does_not_hide_another(
    calm: Transition, contract: Contract
) -> None:
    many: list[tuple[str, int, Change | None]] = [(f'e{i}', 1, STOP) for i in range(1000)]
    found = moments([*many, ('slow', 1, took(0.2)), ('old', 1, STALE)], calm, contract)
    kinds = [moment.anomaly.kind for moment in found]
    assert kinds[0] == 'stopped'
    assert {'stopped', 'stale', 'over_budget'} == set(kinds)
    assert found[0].alike == 1000


def test_endings_of_different_causes_are_different_findings(
    calm: Transition, contract: Contract
) -> None:
    def lost(who: str) -> Change:
        return lambda t: replace(t, truncated=True, ending=f'{who}_lost')

    policy = [(f'e{i}', 1, lost('policy')) for i in range(9)]
    found = moments([*policy, ('last', 1, lost('robot'))], calm, contract, count=2)
    assert [(m.anomaly.ending, m.alike) for m in found] == [('policy_lost', 9), ('robot_lost', 1)]


def test_what_happens_at_once_is_one_moment(calm: Transition, contract: Contract) -> None:
    def both(step: Transition) -> Transition:
        return STOP(STALE(step))

    (found,) = moments([('a', 7, both)], calm, contract)
    assert found.anomaly.kind == 'stopped'
    assert [anomaly.kind for anomaly in found.also] == ['stale']


def test_disagreement_of_people_is_a_moment(calm: Transition, contract: Contract) -> None:
    suspects = Suspects(contract)
    suspects.add(calm)
    suspects.disagreement('cart', 'a', 12, 'people say: failure by ada')
    (found,) = suspects.foremost(5)
    assert (found.anomaly.kind, found.step) == ('judged_otherwise', 12)


def test_memory_does_not_grow_with_the_run(calm: Transition, contract: Contract) -> None:
    suspects = Suspects(contract)
    for number in range(500):
        now = replace(calm, id=replace(calm.id, episode_id=f'e{number}', step=1))
        suspects.add(STOP(STALE(now)))
    assert all(len(kept) <= KEPT for kept in suspects._kept.values())
    assert len(suspects._places) == 1
