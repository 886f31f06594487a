# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a rule of the audit is, and what it gets to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.rules.catalogue import RULE
from boundary_env_ros.evidence.record_difference import format_value, number, ROUNDING, same
from boundary_env_ros.frozen import frozen

#: The instants of a step that its own processes took, in the order in which they happen.
IN_ORDER = ('observed', 'delivered', 'requested', 'received', 'commanded')


@frozen(kw_only=False)
class Mismatch:
    """
    One place where a record does not keep a rule.

    Attributes
    ----------
    field
        Where in the record, for example ``decisions[0].command[1]``.
    expected, actual
        What the rule asks for there, and what came.

    """

    field: str
    expected: str
    actual: str


@frozen
class AuditTerms:
    """
    A contract in the form in which the rules use it.

    Attributes
    ----------
    contract, digest
        The contract and its digest.
    judge
        The rules of the gate under the contract.

    """

    contract: Contract
    digest: str
    judge: Judge

    @property
    def limits(self) -> Limits:
        """Return the limits of the contract."""
        return self.judge.limits


@dataclass(slots=True, kw_only=True)
class DecisionLink:
    """
    One decision of the gate in the chain of its decisions.

    Attributes
    ----------
    decision
        The decision.
    place
        Where it stands in the record, for example ``decisions[2]``.
    before
        The decision before it in the record; None for the first one.
    emitted
        The last decisions before it that published a command, the newest last: as many as the
        third derivative of what was published needs.
    heard, seen
        The last request before it that was not refused, and the last one of all.
    obeyed
        The last decision before it by which a policy or an operator was heard.
    ticked
        The last decision before it of the gate's own timer.
    direct
        Whether it must follow ``before`` directly: False where the record holds no decisions
        between two episodes.
    terms
        The contract; None if it is not known.

    """

    decision: GateDecision
    place: str
    before: GateDecision | None = None
    emitted: tuple[GateDecision, ...] = ()
    heard: ActionRequest | None = None
    seen: ActionRequest | None = None
    obeyed: GateDecision | None = None
    ticked: GateDecision | None = None
    direct: bool
    terms: AuditTerms | None

    @property
    def published(self) -> GateDecision | None:
        """Return the last decision before it that published a command."""
        return self.emitted[-1] if self.emitted else None


@dataclass(slots=True, kw_only=True)
class StepContext:
    """
    What a rule gets to see: one transition, and what came before it.

    Attributes
    ----------
    now
        The transition.
    first
        The first transition of the record.
    last
        The transition of the same agent before this one; None for its first.
    start
        The first transition of the episode; ``now`` itself if it is that.
    answered
        The step whose observation the action of this one answers; None if it is not known any
        more.
    reopened
        Whether the episode had been left for another one before.
    alone
        Whether the record is this one transition: what came before it is not known.
    links
        The decisions of the transition, in the chain of the gate.
    terms
        The contract; None if it is not known.

    """

    now: Transition
    first: Transition
    last: Transition | None
    start: Transition
    answered: Transition | None
    reopened: bool
    alone: bool
    links: tuple[DecisionLink, ...]
    terms: AuditTerms | None

    @property
    def earlier(self) -> Transition | None:
        """Return the transition of the same episode before this one."""
        last = self.last
        if last is not None and last.id.episode_id == self.now.id.episode_id:
            return last
        return None


Found = Iterator[Mismatch]


@frozen(kw_only=False)
class Check:
    """
    A function that looks whether one part of a rule is kept.

    Attributes
    ----------
    rule
        Id of the rule.
    look
        Pure function from a step, or a decision of the gate, to what is wrong in it.
    contract
        Whether it can only be applied with the contract at hand.
    near
        Whether it compares with the step or decision before, which may have been where the record
        is damaged.

    """

    rule: str
    look: Callable[..., Found]
    contract: bool = False
    near: bool = False


class StepCheck(Check):
    """A check of a step."""


class DecisionCheck(Check):
    """A check of a decision."""


@frozen
class NotChecked:
    """A rule that could not be applied, at all or to some part of the record, and why."""

    rule: str
    why: str


def of_step(
    rule: str, *, contract: bool = False, near: bool = False
) -> Callable[[Callable[[StepContext], Found]], StepCheck]:
    """Make a check of steps of a function."""
    return lambda look: StepCheck(RULE[rule].id, look, contract, near)


def of_decision(
    rule: str, *, contract: bool = False, near: bool = False
) -> Callable[[Callable[[DecisionLink], Found]], DecisionCheck]:
    """Make a check of decisions of the gate of a function."""
    return lambda look: DecisionCheck(RULE[rule].id, look, contract, near)


def limits_of(decision: GateDecision, terms: AuditTerms) -> Limits:
    """Return the limits that held for a decision; those of the contract if it claims looser."""
    return terms.judge.limits_under(decision.runtime_limits)


def known(terms: AuditTerms | None) -> AuditTerms:
    """Return the terms of a rule that is only applied with the contract."""
    if terms is None:
        raise ValueError('The rule needs a contract (expected one, got none).')
    return terms


def unlike(field: str, expected: object, actual: object, why: str = '') -> tuple[Mismatch, ...]:
    """Return a mismatch unless two values are the same, bit by bit."""
    if expected is actual or same(expected, actual):
        return ()
    return (Mismatch(field, f'{format_value(expected)} {why}'.rstrip(), format_value(actual)),)


def outside(
    field: str, actual: float | None, least: float, most: float, why: str = ''
) -> tuple[Mismatch, ...]:
    """Return a mismatch unless a number is known, and in a range but for rounding."""
    if actual is not None and least <= actual <= most:
        return ()
    low, high = (ROUNDING * max(1.0, abs(end)) for end in (least, most))
    if actual is None or not least - low <= actual <= most + high:
        expected = number(most) if least == most else f'between {number(least)} and {number(most)}'
        return (Mismatch(field, f'{expected} {why}'.rstrip(), number(actual)),)
    return ()
