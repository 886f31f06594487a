# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an audit found, its outcome, and both as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from enum import Enum
from itertools import chain

from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.evidence.audit.rules.audit_rule import NotChecked, RULE, Severity
from boundary_env_ros.frozen import frozen
from boundary_env_ros.terminal import many, one_line

Plain = dict[str, object]

#: Share of the checks of one kind that may be excused in a record whose claims are supported.
EXCUSED_SHARE = 0.05

#: The kinds of checks that are of records of the boundary itself: without them it is incomplete.
OWN = frozenset({'requests', 'privileged'})

#: Why there is no contract to judge a record by.
NO_CONTRACT = 'the contract is not known: give the run folder, or the contract file'

#: Why one transition shows nothing of the gate.
UNDECIDED = (
    'no decision of the gate is in it, so that it is unknown whether an action was limited: audit '
    'the run, or another step'
)

#: Why one transition cannot be compared with more than itself and the contract.
ALONE = (
    'what only a run shows: the steps before and after, the reward by the task, the raw messages '
    'and their chain; audit the run'
)

#: Why a rule that a record breaks is not judged.
UNKNOWN = 'fields are unknown, since the record lacks them: it may be broken for that alone'

#: The rules about the bag, not about what the fields of its records say.
OF_THE_BAG = frozenset({'record-complete', 'record-closed', 'record-unchanged'})

#: Why a check was excused, by the name of the excuse.
EXCUSES: Mapping[str, str] = {
    'early': 'the message is from before the recorder heard the topic',
    'damaged': 'the message was where the record is damaged or cut',
    'gap': 'another recorder, which keeps no chain, has no such message',
    'lost': 'the recorder says that it lost messages, or could not say whether it did',
    'torn': 'the record ends before it came',
}


class AuditOutcome(Enum):
    """
    What a record can be relied on for.

    ``PASSED``: one transition, without a run around it, in which nothing is wrong or missing; what
    only a run shows was not judged.
    ``SUPPORTED``: no rule is broken, every rule was checked, and what was excused is below
    :data:`EXCUSED_SHARE`.
    ``CONSISTENT``: nothing is contradicted, but something is suspicious, or not all was checked.
    ``INCOMPLETE``: no rule is broken, but the contract or the end of the record is missing, or a
    part of it was damaged, or records of the boundary itself are lost.
    ``CONTRADICTED``: the record contradicts itself, its contract or its sensors.
    """

    PASSED = 'passed'
    SUPPORTED = 'supported'
    CONSISTENT = 'consistent'
    INCOMPLETE = 'incomplete'
    CONTRADICTED = 'contradicted'


@frozen
class Finding:
    """
    One place where a record does not keep one rule.

    Attributes
    ----------
    rule
        Id of the rule.
    agent, episode, step
        Step that it was found in; empty and None if it is about the record as a whole.
    field
        Where in the step, for example ``decisions[0].command[1]``; for a record that cannot be
        read, its line or topic.
    expected, actual
        What the rule asks for there, and what came.

    """

    rule: str
    agent: str = ''
    episode: str = ''
    step: int | None = None
    field: str = ''
    expected: str
    actual: str

    @property
    def severity(self) -> Severity:
        """Return the severity of its rule."""
        return RULE[self.rule].severity

    def __str__(self) -> str:
        return f'{self.severity.value} {self.rule}: {self.text}'

    @property
    def text(self) -> str:
        """Return place, expectation and what came, as one line."""
        place = [
            f'episode {self.episode}' if self.episode else '',
            f'step {self.step}' if self.step is not None else '',
            self.field,
        ]
        where = ', '.join(part for part in place if part)
        return one_line(f'{where}: expected {self.expected}, got {self.actual}')

    def to_json(self) -> Plain:
        """Return the finding as plain data."""
        rule = RULE[self.rule]
        return {**asdict(self), 'severity': rule.severity.value, 'page': rule.page}


@frozen
class AuditReport:
    """
    Outcome of an audit.

    Attributes
    ----------
    findings
        The first findings of each rule, in the order of the record.
    counts
        How often each rule was broken; rules that were kept are not in it.
    transitions, episodes, decisions
        How many were looked at.
    contract, digest
        Name and version, and digest, of the contract that the record was judged by; empty if
        none was known.
    not_checked
        Rules that could not be applied, or not to all of the record, each with the reason.
    from_topics
        How many measurements, fields, commands ... were compared with a raw message.
    excused
        By the name of the excuse: how many of each kind of check were excused by it.
    asked
        How many of each kind of check there were, excused ones included.
    lacking
        How often each rule could not be applied, for what the record has lost.
    chain
        Of the chain over the messages: ``messages``, how many of them are ``confirmed``, its
        ``head``, and the ``public_key`` of its signature; empty without a chain.
    unlike
        In what the records are unlike those of this version.

    """

    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    transitions: int
    episodes: int
    decisions: int
    contract: str = ''
    digest: str = ''
    not_checked: tuple[NotChecked, ...] = ()
    from_topics: Mapping[str, int] = field(default_factory=dict)
    excused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    lacking: Mapping[str, int] = field(default_factory=dict)
    chain: Mapping[str, object] = field(default_factory=dict)
    unlike: Unlike = field(default_factory=Unlike)

    def count(self, severity: Severity) -> int:
        """Return how many findings of a severity there were."""
        return sum(n for name, n in self.counts.items() if RULE[name].severity is severity)

    @property
    def ok(self) -> bool:
        """Return whether nothing in the record is contradicted: no fatal finding."""
        return self.count(Severity.FATAL) == 0

    @property
    def outcome(self) -> AuditOutcome:
        """Return what the record can be relied on for."""
        if not self.ok:
            return AuditOutcome.CONTRADICTED
        own = OWN.intersection(self.excused.get('lost', ()))
        unknown = any(item.why in (NO_CONTRACT, UNDECIDED) for item in self.not_checked)
        missing = self.lacking or own or 'gap' in self.excused or self.unlike.unknown
        if unknown or missing or 'record-closed' in self.counts:
            return AuditOutcome.INCOMPLETE
        if self.is_all_checked and not self.counts:
            return AuditOutcome.SUPPORTED
        alone = all(item.why == ALONE for item in self.not_checked)
        return (
            AuditOutcome.CONSISTENT
            if self.counts or self.beyond or not alone
            else AuditOutcome.PASSED
        )

    @property
    def is_all_checked(self) -> bool:
        """Return whether every rule was checked on the whole record."""
        return not (self.not_checked or self.beyond)

    @property
    def beyond(self) -> tuple[str, ...]:
        """Return the kinds of checks of which more were excused than may be."""
        found = sum(map(Counter, self.excused.values()), Counter[str]())
        return tuple(
            what
            for what, count in found.items()
            if count > EXCUSED_SHARE * self.asked.get(what, 0)
        )

    @property
    def not_applied(self) -> tuple[str, ...]:
        """Return the rules that were not applied, or not to all of the record."""
        return tuple(dict.fromkeys(item.rule for item in self.not_checked))

    def __str__(self) -> str:
        return '\n'.join(self._lines())

    def _lines(self) -> Iterator[str]:
        size = (
            f'{many(self.transitions, "transition")} of {many(self.episodes, "episode")}, '
            f'{many(self.decisions, "decision")} of the gate'
        )
        outcome = self.outcome
        found = ', '.join(f'{self.count(severity)} {severity.value}' for severity in Severity)
        found = f'{found} in {size}'
        head = f'Audit: {outcome.name}.'
        if outcome is AuditOutcome.PASSED:
            yield f'{head} Nothing in this transition is wrong or missing; {found}.'
        elif outcome is AuditOutcome.SUPPORTED:
            yield f'{head} {size} keep all {len(RULE)} rules.'
        elif outcome is AuditOutcome.CONSISTENT:
            why = 'Something is suspicious' if self.is_all_checked else 'Not all could be checked'
            yield f'{head} {why}; {found}.'
        elif outcome is AuditOutcome.INCOMPLETE:
            yield f'{head} A part of the record is missing; {found}.'
        else:
            yield f'{head} {found}.'
        if self.contract:
            yield f'Contract: {self.contract}, {self.digest[:19]}...'
        if self.chain:
            key = self.chain['public_key']
            signed = f'signed with the key {key}' if key else 'not signed'
            yield (
                f'Chain: {self.chain["confirmed"]} of {self.chain["messages"]} messages '
                f'confirmed, head {self.chain["head"]}, {signed}.'
            )
        if self.from_topics:
            counts = ', '.join(f'{count} {what}' for what, count in self.from_topics.items())
            yield f'Compared with the raw messages: {counts}.'
        for reason, excused in self.excused.items():
            counts = ', '.join(
                f'{count} of {self.asked.get(what, 0)} {what}' for what, count in excused.items()
            )
            yield f'Excused, as {EXCUSES[reason]}: {counts}.'
        if self.beyond:
            yield f'More was excused than may be: {", ".join(self.beyond)}.'
        if self.lacking:
            counts = ', '.join(f'{rule} {count} times' for rule, count in self.lacking.items())
            yield f'Broken only where the record is damaged or cut: {counts}.'
        yield from self.unlike.sentences()
        yield from self._not_checked_lines()
        order = sorted(self.counts, key=lambda name: tuple(Severity).index(RULE[name].severity))
        for name in order:
            yield ''
            shown = [finding for finding in self.findings if finding.rule == name]
            rule, times = RULE[name], self.counts[name]
            yield f'{rule.severity.value} {name}' + (f' ({times} times)' if times > 1 else '')
            yield f'  Rule: {rule.sentence}'
            for finding in shown[:_SHOWN]:
                yield f'  - {finding.text}'
            if times > _SHOWN:
                yield f'  - and {times - min(_SHOWN, len(shown))} more'
            yield f'  Fix: {rule.way_out}'
            yield f'  Page: {rule.page}'

    def _not_checked_lines(self) -> Iterator[str]:
        by_reason: dict[str, list[str]] = {}
        for item in self.not_checked:
            by_reason.setdefault(item.why, []).append(item.rule)
        if alone := by_reason.pop(ALONE, None):
            yield f'Not judged, in whole or in part of {len(alone)} rules: {ALONE}.'
        if by_reason:
            some = len(set(chain.from_iterable(by_reason.values())))
            yield f'Not checked: {some} of {len(RULE)} rules, in whole or in part.'
        for why, rules in by_reason.items():
            names = ', '.join(rules) if len(rules) <= _NAMED else f'{len(rules)} rules'
            yield f'  - {why} ({names})'

    def to_json(self) -> Plain:
        """Return the report as plain data."""
        return {
            'outcome': self.outcome.value,
            **{severity.value: self.count(severity) for severity in Severity},
            **asdict(self),
            'unlike': {'unknown': self.unlike.unknown, 'passed_over': self.unlike.passed_over},
            'not_checked': list(map(asdict, self.not_checked)),
            'rules': len(RULE) - len(self.not_applied),
            'excused_too_often': list(self.beyond),
            'findings': [finding.to_json() for finding in self.findings],
        }


_SHOWN = 3
_NAMED = 16
