# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a rule of the audit is: its page, its checks, and what these get to see.

What an honest record keeps, and where to look when one does not, stands in ``rules.md`` beside
this module, which is the end of ``doc/audit.md``, too. The functions that check a rule stand in
the other modules, and in :mod:`boundary_env_ros.evidence.audit.raw_messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
import re

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Trigger, Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.record_difference import (
    close,
    format_value,
    Mismatch,
    number,
    ROUNDING,
    same,
)
from boundary_env_ros.frozen import frozen


class Severity(Enum):
    """
    How bad a finding is.

    ``FATAL``: the record contradicts itself, its contract or its sensors: no claim may rest on it.
    ``SUSPICIOUS``: the record is true as far as can be seen, but something is missing from it or
    looks odd: look before a claim rests on it.
    """

    FATAL = 'fatal'
    SUSPICIOUS = 'suspicious'


@frozen(kw_only=False)
class AuditRule:
    """
    One rule of the audit.

    Attributes
    ----------
    id
        Its name in reports.
    sentence
        What an honest record keeps.
    way_out
        Where to look when one does not.
    severity
        See :class:`Severity`.
    topics
        The kinds of topics without whose raw messages it is listed as not checked: values of
        :class:`~boundary_env_ros.core.sources.inputs.Purpose`, ``privileged``, ``request`` and
        ``decision``.
    near
        Whether it compares with another record, which may have been where the record is damaged.
    run
        Whether only a run shows, in whole or in part, that it is kept.

    """

    id: str
    sentence: str
    way_out: str
    severity: Severity = Severity.FATAL
    topics: tuple[str, ...] = ()
    near: bool = False
    run: bool = False

    @property
    def page(self) -> str:
        """Return where it is explained."""
        return f'doc/audit.md#{self.id}'


#: All rules as text, by what they are about.
PAGES = Path(__file__).with_name('rules.md').read_text(encoding='utf-8')

_PAGE = re.compile(
    r'`(.*)`\n\n(\w+)(, (?:in part )?for a run)?(, across records)?\. (.*)\n\n'
    r'\*Fix:\* (.*)\n(?:\n\*Topics:\* ([\w, ]+)\.\n)?(?:\n###? .*\n)*\s*'
)


def _rules(pages: str) -> tuple[AuditRule, ...]:
    found = [_PAGE.fullmatch(page) for page in pages.split('#### ')[1:]]
    # A line that is not read would be a need that nobody knows of.
    assert all(found), pages.split('#### ')[1:][found.index(None)]
    return tuple(
        AuditRule(
            id=name,
            sentence=sentence,
            way_out=way_out,
            severity=Severity(severity.lower()),
            topics=tuple(filter(None, topics.split(', '))),
            near=bool(near),
            run=bool(run),
        )
        for name, severity, run, near, sentence, way_out, topics in (
            page.groups('') for page in found if page is not None
        )
    )


#: The rules in the order of reports.
RULES = _rules(PAGES)

RULE: Mapping[str, AuditRule] = {rule.id: rule for rule in RULES}

#: The rules that run gate, environment and task again.
RECOMPUTED = ('step-recomputed', 'decision-recomputed')


#: The instants of a step that its own processes took, in the order in which they happen.
IN_ORDER = ('observed', 'delivered', 'requested', 'received', 'commanded')


@frozen(eq=False)
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
    admitted, last_request
        The last request before it that was not refused, and the last one of all.
    obeyed
        The last decision before it that answers a policy or an operator.
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
    admitted: ActionRequest | None = None
    last_request: ActionRequest | None = None
    obeyed: GateDecision | None = None
    ticked: GateDecision | None = None
    direct: bool
    terms: AuditTerms | None

    @property
    def published(self) -> GateDecision | None:
        """Return the last decision before it that published a command."""
        return self.emitted[-1] if self.emitted else None


#: Published decisions that are remembered: a third derivative is of four.
EMITTED = 3


def link(
    last: DecisionLink | None,
    decision: GateDecision,
    place: str,
    terms: AuditTerms | None,
    *,
    direct: bool,
) -> DecisionLink:
    """Return the next decision of a gate in the chain of its decisions."""
    if last is None:
        return DecisionLink(decision=decision, place=place, direct=direct, terms=terms)
    before = last.decision
    request, trigger = before.request, before.trigger
    refused = before.verdict is Verdict.REJECTED
    emitted, ticked, obeyed = last.emitted, last.ticked, last.obeyed
    admitted = request if request is not None and not refused else last.admitted
    if direct and decision.sequence > before.sequence + 1:
        emitted, admitted = (), None  # Which were the last ones is not in the record.
    elif before.published:
        emitted = (*emitted[1 - EMITTED :], before)
        ticked = before if trigger in (Trigger.TIMER, Trigger.PROBE) else ticked
    if not refused and trigger in (Trigger.REQUEST, Trigger.CHUNK, Trigger.OPERATOR):
        obeyed = before
    return DecisionLink(
        decision=decision,
        place=place,
        before=before,
        emitted=emitted,
        admitted=admitted,
        last_request=request or last.last_request,
        obeyed=obeyed,
        ticked=ticked,
        direct=direct,
        terms=terms,
    )


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
    function
        Pure function from a step, or a decision of the gate, to what is wrong in it.
    contract
        Whether it can only be applied with the contract at hand.
    near
        Whether it compares with the step or decision before, which may have been where the record
        is damaged.

    """

    rule: str
    function: Callable[..., Found]
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
    return lambda function: StepCheck(RULE[rule].id, function, contract, near)


def of_decision(
    rule: str, *, contract: bool = False, near: bool = False
) -> Callable[[Callable[[DecisionLink], Found]], DecisionCheck]:
    """Make a check of decisions of the gate of a function."""
    return lambda function: DecisionCheck(RULE[rule].id, function, contract, near)


def limits_of(decision: GateDecision, terms: AuditTerms) -> Limits:
    """Return the limits that held for a decision; those of the contract if its own are looser."""
    return terms.judge.limits_under(decision.runtime_limits)


def known(terms: AuditTerms | None) -> AuditTerms:
    """Return the terms of a rule that is only applied with the contract."""
    if terms is None:
        raise ValueError('The rule needs a contract (expected one, got none).')
    return terms


def unlike(field: str, expected: object, actual: object, why: str = '') -> tuple[Mismatch, ...]:
    """Return a mismatch unless two values are the same, bit by bit."""
    if expected is actual or expected == actual or same(expected, actual):
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


def same_numbers(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether two vectors are the same but for rounding."""
    return len(one) == len(other) and all(map(close, one, other))
