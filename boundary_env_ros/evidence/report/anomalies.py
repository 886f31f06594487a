# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What one step shows that may be wrong: anomalies, each kind with a weight.

An anomaly is a reason to look, never a verdict: that is what the audit is for. The weights stand
in one table, :data:`KINDS`, and in ``doc/report.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import NamedTuple

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.gate.explain import details, sentence, worst_of
from boundary_env_ros.core.gate.rules.causes import cause_of
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateDecision, RuleResult, Trigger, Verdict
from boundary_env_ros.core.records.imported import is_unknown
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.vectors import Vector

#: Least difference between requested and admitted action, as a share of the range, that counts.
LARGE = 0.25

#: Least difference between commanded and measured action, as a share of the range, that counts.
FAR = 0.5


class AnomalyKind(NamedTuple):
    """
    A kind of anomaly.

    Attributes
    ----------
    weight
        How suspicious one step with it is, from 0 to 100.
    sentence
        What it is.

    """

    weight: float
    sentence: str


#: Every kind of anomaly, the most suspicious first.
KINDS: Mapping[str, AnomalyKind] = {
    'emergency_stop': AnomalyKind(100, 'the emergency stop was pressed'),
    'foreign_publisher': AnomalyKind(95, 'another node published on a command topic'),
    'machinery_lost': AnomalyKind(90, 'the episode ended because a part of the boundary failed'),
    'reset_failed': AnomalyKind(90, 'a reset was refused, or failed'),
    'not_finite': AnomalyKind(
        88, 'a reward, an observation or a request held a number that is not finite'
    ),
    'impossible_time': AnomalyKind(
        85,
        'a value was captured after it was used, a stage took less than no time, '
        'or a clock jumped',
    ),
    'gap': AnomalyKind(80, 'steps are missing in the record'),
    'silence': AnomalyKind(75, 'the gate stopped because a node or sensor was silent or late'),
    'stopped': AnomalyKind(70, 'the gate stopped the robot'),
    'rejected': AnomalyKind(65, 'the gate rejected an action'),
    'judged_otherwise': AnomalyKind(60, "a person's label contradicts the environment"),
    'takeover': AnomalyKind(50, 'a person had the robot'),
    'missing': AnomalyKind(45, 'a field of the observation had never come'),
    'overrun': AnomalyKind(40, 'the tick came before an action'),
    'held': AnomalyKind(38, 'the gate repeated the last command'),
    'stale': AnomalyKind(35, 'a field of the observation was too old'),
    'bad_ending': AnomalyKind(30, 'the episode did not end as it should'),
    'changed': AnomalyKind(28, 'the admitted action lies far from the requested one'),
    'not_followed': AnomalyKind(24, 'the robot did something far from the command'),
    'over_budget': AnomalyKind(18, 'a stage took longer than its budget'),
    'out_of_range': AnomalyKind(15, 'a value of the observation lay outside its bounds'),
}


class Anomaly(NamedTuple):
    """
    One anomaly in one step.

    Attributes
    ----------
    kind
        A key of :data:`KINDS`.
    why
        What was seen, with its numbers.
    extent
        How much of it, 1 for the weight of the kind as it stands.
    ending
        Which one, of an ending: those of different causes are different findings.

    """

    kind: str
    why: str
    extent: float = 1.0
    ending: str = ''

    @property
    def finding(self) -> tuple[str, str]:
        """Return what it has in common with others like it."""
        return self.kind, self.ending

    @property
    def weight(self) -> float:
        """Return how suspicious it is."""
        return KINDS[self.kind].weight * self.extent


def anomalies_of(now: Transition, contract: Contract | None = None) -> tuple[Anomaly, ...]:
    """
    Return the anomalies that one step shows by itself, each kind at most once.

    Parameters
    ----------
    now
        The step.
    contract
        For the ranges and names of the action; without it differences are no anomaly.

    """
    best: dict[str, Anomaly] = {}
    for anomaly in _anomalies(now, contract):
        if anomaly.kind not in best or anomaly.weight > best[anomaly.kind].weight:
            best[anomaly.kind] = anomaly
    return tuple(sorted(best.values(), key=lambda anomaly: -anomaly.weight))


def _anomalies(now: Transition, contract: Contract | None) -> Iterator[Anomaly]:
    for decision in now.decisions:
        yield from _anomalies_of_decision(decision, contract)
    yield from _anomalies_of_fields(now)
    yield from _anomalies_of_time(now)
    # What an import could not judge is unknown, and wrong nowhere.
    if not math.isfinite(now.reward) and not is_unknown(now, 'reward'):
        yield Anomaly('not_finite', f'the reward is {now.reward:g}')
    if now.overrun:
        yield Anomaly('overrun', f'no action in time, held by the {now.held_by}')
    if now.ending == endings.RESET_FAILED:
        yield Anomaly('reset_failed', _ended(now, contract), ending=now.ending)
    elif now.ending in endings.OF_MACHINERY:
        yield Anomaly('machinery_lost', _ended(now, contract), ending=now.ending)
    elif now.ending == endings.TIME_LIMIT:
        # The mildest of them; without a task it is how an episode ends.
        if contract is None or contract.task.name:
            yield Anomaly('bad_ending', _ended(now, contract), extent=0.5, ending=now.ending)
    elif now.ending and (now.truncated or now.ending != endings.SUCCESS):
        yield Anomaly('bad_ending', _ended(now, contract), ending=now.ending)
    if contract is not None and now.kind is Kind.STEP:
        yield from _differences(now, contract)


def _ended(now: Transition, contract: Contract | None) -> str:
    how = 'truncated' if now.truncated else 'terminated'
    why = over_time(now.ending, contract)
    text = f'ended: {now.ending} ({how}), declared by {now.declared_by or "no node"}'
    return f'{text}: {why}' if why else text


def over_time(ending: str, contract: Contract | None) -> str:
    """Return why an episode ended by its time limit, as the environment says it; else empty."""
    if ending != endings.TIME_LIMIT or contract is None:
        return ''
    return endings.time_is_over(contract.episode.time_limit)


def _anomalies_of_decision(decision: GateDecision, contract: Contract | None) -> Iterator[Anomaly]:
    names = contract.command_dimensions if contract else ()
    for result, others in worst_of(decision.rules):
        kind = _kind_of(decision, result)
        if kind:
            yield Anomaly(
                kind, sentence(result, names, others, details(result, decision, contract))
            )
    if decision.inputs.foreign > 0:
        text = f'{decision.inputs.foreign} other publishers of commands'
        yield Anomaly('foreign_publisher', text)
    if decision.verdict is Verdict.REJECTED and not decision.rules:
        yield Anomaly('rejected', 'rejected without a reason')
    if decision.trigger is Trigger.OPERATOR and decision.published:
        yield Anomaly('takeover', 'a command of an operator went out')


#: What it is that a rule steps in, where its cause says nothing else.
_BY_OUTCOME = {Verdict.REJECTED: 'rejected', Verdict.STOPPED: 'stopped'}


def _kind_of(decision: GateDecision, result: RuleResult) -> str:
    kind, outcome = cause_of(result).anomaly, result.outcome
    # Between two requests the gate's timer repeats the command by design.
    if outcome is Verdict.HELD and decision.verdict is not Verdict.HELD:
        return ''
    return _BY_OUTCOME.get(outcome, '') if kind == '' else kind or ''


def _anomalies_of_fields(now: Transition) -> Iterator[Anomaly]:
    for found in now.after:
        if found.status is FieldStatus.MISSING:
            yield Anomaly('missing', f'{found.name} has never come')
        elif found.status is FieldStatus.STALE:
            age = '' if found.age is None else f', {found.age:.3g} s old'
            yield Anomaly('stale', f'{found.name} is stale{age}')
        if found.age is not None and found.age < 0.0:
            late = f'{-found.age:.3g} s after it was observed'
            yield Anomaly('impossible_time', f'{found.name} was captured {late}')
        if not all(map(math.isfinite, found.values)):
            yield Anomaly('not_finite', f'{found.name} holds a number that is not finite')
        if found.clipped:
            yield Anomaly('out_of_range', f'{found.name} was brought inside its bounds')


def _anomalies_of_time(now: Transition) -> Iterator[Anomaly]:
    for name in STAGES:
        stage = getattr(now.latency, name)
        if stage.impossible:
            yield Anomaly('impossible_time', f'{name} took {1000 * stage.duration:.3g} ms')
        elif stage.over_budget:
            ratio = stage.duration / stage.budget if stage.budget else 2.0
            yield Anomaly(
                'over_budget',
                f'{name} took {1000 * stage.duration:.3g} ms, budget {1000 * stage.budget:.3g} ms',
                # Twice the budget is the weight as it stands; more than four times is no more.
                extent=min(ratio, 4.0) / 2.0,
            )


def _differences(now: Transition, contract: Contract) -> Iterator[Anomaly]:
    # An action that is a choice or a difference has no distance in the range of the command.
    direct = all(group.kind is ActionKind.CONTINUOUS for group in contract.action)
    low, high = contract.flat('low'), contract.flat('high')
    for kind, least, one, other in (
        ('changed', LARGE, now.requested_action, now.admitted_action),
        ('not_followed', FAR, now.commanded_action, now.measured_action),
    ):
        found = _greatest_share(one, other, low, high) if direct or kind != 'changed' else None
        if found is not None and found[1] >= least:
            index, share = found
            words = ('requested', 'admitted') if kind == 'changed' else ('commanded', 'measured')
            yield Anomaly(
                kind=kind,
                why=f'{contract.command_dimensions[index]}: {words[0]} {one[index]:.4g}, '
                f'{words[1]} {other[index]:.4g} {contract.command_unit[index]}'.rstrip(),
                extent=min(0.5 + share, 2.0),
            )


def _greatest_share(
    one: Vector, other: Vector, low: Vector, high: Vector
) -> tuple[int, float] | None:
    """Return the dimension that differs most, and by which share of its range."""
    if not len(one) == len(other) == len(low) == len(high) or not one:
        return None
    with np.errstate(all='ignore'):
        shares = np.abs(np.subtract(one, other)) / np.subtract(high, low)
    shares = np.nan_to_num(shares, posinf=0.0)  # of what is not finite, or has no range
    index = int(shares.argmax())
    return index, float(shares[index])
