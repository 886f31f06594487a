# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The part of the audit that reads the raw messages of a bag.

It asks only what has an exact answer: a value with a stamp is that of the message with the stamp,
a message on a command topic is a decision's command, what one process says of another is what
that published.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from boundary_env_ros.core.gate.rules.document_rules import published
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Reason, Verdict
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.measured_values import (
    DecisionChecks,
    FeedbackChecks,
    ObservationChecks,
)
from boundary_env_ros.evidence.audit.raw_messages.ties import LazyMessage, REACH, Ties
from boundary_env_ros.evidence.audit.rules.audit_rule import NotChecked
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import Mismatch, same, vector
from boundary_env_ros.evidence.wiring import STOP
from boundary_env_ros.storage.records import Message as Recorded
from boundary_env_ros.storage.records import Record

# Requests ----------------------------------------------------------------------------------------


#: Requests and decisions that are remembered, or wait for their other half.
_MOST = 2048

#: Different requests, or decisions, of one number that are remembered.
_ALIKE = 256

_Number: TypeAlias = tuple[str, int]


class PublishedChecks:
    """
    Holds requests against decisions.

    Parameters
    ----------
    ties
        What may be missing from the record.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        # By lease and number.
        self._requests: Bounded[_Number, list[ActionRequest]] = Bounded()
        # Each with its log time.
        self._unasked: Bounded[_Number, list[tuple[GateDecision, int]]] = Bounded()
        # Requests under the number of another one, and the leases under which one was admitted.
        self._others: Bounded[_Number, ActionRequest] = Bounded()
        self._granted: Bounded[str, None] = Bounded()
        # Numbers of the first and the last request of each lease.
        self._numbers: Bounded[str, tuple[int, int]] = Bounded()

    def request(self, request: ActionRequest) -> None:
        """Take a request as the policy published it."""
        key = request.lease_id, request.sequence
        known = self._requests.known(key, list, _MOST)
        if any(same(one, request) for one in known):
            return  # sent again
        if known:
            self._others.put(key, request, _MOST)
        if len(known) < _ALIKE:
            known.append(request)
        number = request.sequence
        first, last = self._numbers.get(request.lease_id, (number, number))
        ends = min(first, number), max(last, number)
        self._numbers.put(request.lease_id, ends, _MOST)
        for decision, _ in self._unasked.pop(key, []):
            self.decision(decision)

    def decision(self, decision: GateDecision) -> None:
        """Hold the request that a decision carries against the one that was published."""
        request = decision.request
        if request is None:
            return
        if decision.verdict is not Verdict.REJECTED:
            self._granted.put(request.lease_id, None, _MOST)
        key = request.lease_id, request.sequence
        if any(same(one, request) for one in self._requests.get(key, ())):
            self._ties.took('requests', 'requests')
            return
        waiting = self._unasked.get(key, [])
        if len(waiting) < _ALIKE:
            waiting = [*waiting, (decision, self._ties.now)]
            for forgotten in self._unasked.put(key, waiting, _MOST) or ():
                self._not_asked(*forgotten)

    def _not_asked(self, decision: GateDecision, log_time: int) -> None:
        """Judge a decision whose request was not published."""
        request, ties = decision.request, self._ties
        assert request is not None  # it waited for it
        published = self._requests.get((request.lease_id, request.sequence), [])
        # A client with a new lease may be a new process, which the gate knows before the recorder.
        number = request.sequence
        first, last = self._numbers.get(request.lease_id, (number + 1, 0))
        outside = 'early' if number < first else 'torn' if number > last else ''
        if not published and (why := ties.lack() or outside or ties.lack(log_time)):
            ties.excuse(why, 'requests')
            return
        expected, actual = 'a request that was published', vector(request.action)
        if published:
            expected = f'{vector(published[0].action)} as published'
            equal = published[0].action == request.action
            actual += ' with other instants or names' if equal else ''
        place = f'decision {decision.sequence}.request'
        ties.find('as-published', Mismatch(place, expected, actual), decision.id)

    def finish(self) -> None:
        """Judge what still waits, once the record is at its end."""
        for (lease, number), request in self._others.items():
            if lease in self._granted:
                place = f'request {number} of lease {lease}'
                another = Mismatch(place, 'one request of each number', 'another one of it')
                self._ties.find('request-answered', another, request.id)
        for waiting in chain.from_iterable(self._unasked.values()) if self._numbers else ():
            self._not_asked(*waiting)


# Commands and documents --------------------------------------------------------------------------


#: How many commands may be without their decisions in a record that is supported.
_ON_THEIR_WAY = 3

#: Halves that wait for their other ones; the first ones are given up for more.
_MOST_WAITING = 4096

_LONGEST = 60

#: What is sent to a group: numbers, or a document.
Content = Vector | str


@dataclass(slots=True, eq=False)
class _Half:
    """One command or document that is still without its other half."""

    content: Content
    stamp: int | None
    log_time: int
    decision: GateDecision | None = None
    besides: str = ''
    number: int = 0  # in the order of its topic

    def is_of(self, other: _Half) -> bool:
        """Return whether another may be the other half: their stamps are one, if both have one."""
        return self.stamp is None or other.stamp is None or self.stamp == other.stamp


@dataclass(slots=True)
class _Pairs:
    """
    What waits for its other half on the topic of one group; ``bounds`` are those of numbers.

    ``answers`` are the stops at a command of another, which the gate may have said again.
    ``last`` is the last decision, ``missing`` how many of their numbers are not in the record,
    ``carried`` when the last one of a step was decided, and ``undecided`` how many commands were
    excused without one. ``decisions`` and ``messages`` are how many came; ``first_pair`` and
    ``last_pair`` are the first and the last message that was paired, each with what was decided.
    """

    agent: str
    use: Input
    start: int = 0
    bounds: tuple[Vector, Vector] | None = None
    decided: deque[_Half] = field(default_factory=deque)
    sent: deque[_Half] = field(default_factory=deque)
    answers: deque[_Half] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    last: GateDecision | None = None
    missing: int = 0
    carried: int = 0
    undecided: int = 0
    decisions: int = 0
    messages: int = 0
    first_pair: tuple[_Half, _Half] | None = None
    last_pair: tuple[_Half, _Half] | None = None

    @property
    def goes_on(self) -> bool:
        """Return whether the gate decided more than is on its topic, whose rest got lost."""
        return self.last is not None and self.carried > self.last.decided.steady

    def content_of(self, decision: GateDecision, documents: Mapping[str, str]) -> Content | None:
        """Return what a decision sends here; None: nothing."""
        if self.bounds is None:
            return documents.get(self.use.label.removeprefix('document '))
        end = self.start + len(self.bounds[0])
        return decision.command[self.start : end] if decision.published else None

    def is_in_bounds(self, content: Content) -> bool:
        """Return whether the gate could have sent this: numbers within the bounds of the group."""
        if self.bounds is None or isinstance(content, str):
            return self.bounds is None
        low, high = self.bounds
        return len(content) == len(low) and all(
            np.float32(least) <= np.float32(value) <= np.float32(most)
            for least, value, most in zip(low, content, high, strict=True)
        )


class CommandChecks:
    """
    Pairs the messages with the decisions.

    Where messages have stamps, a pair has one stamp; where they have none, one content. Each topic
    has one publisher and keeps its order.

    Parameters
    ----------
    ties
        What each agent reads of the record, and what may be missing from it.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        #: By agent and use.
        self.pairs: dict[tuple[str, str], _Pairs] = {}
        for agent, uses in ties.uses.items():
            for group, own in ties.groups:
                use = uses[f'command {group.name}']
                bounds = group.low, group.high
                self.pairs[agent, use.label] = _Pairs(agent, use, own.start, bounds)
            for each in ties.contract.documents:
                use = uses[f'document {each.name}']
                self.pairs[agent, use.label] = _Pairs(agent, use)

    def decided(self, decision: GateDecision, log_time: int) -> None:
        """Take a decision as the gate published it."""
        documents = self._documents(decision)
        instant = decision.commanded
        stamp = None if instant is None else instant.ros.nanoseconds
        for pairs in self.pairs.values():
            if pairs.agent != decision.id.agent or not pairs.use.at:
                continue
            if pairs.last is not None:
                pairs.missing += max(decision.sequence - pairs.last.sequence - 1, 0)
            pairs.last = decision
            content = pairs.content_of(decision, documents)
            if content is not None:
                pairs.decisions += 1
                half = _Half(content, stamp, log_time, decision, number=pairs.decisions)
                partner = _taken(pairs.sent, half)
                if partner is not None:
                    self._pair(half, partner, pairs)
                    continue
                pairs.decided.append(half)
                if len(pairs.decided) > _MOST_WAITING:
                    self._not_sent(pairs.decided[0], pairs)

    def carried(self, decision: GateDecision) -> None:
        """Take a decision of a step."""
        for pairs in self.pairs.values():
            if pairs.agent == decision.id.agent:
                pairs.carried = decision.decided.steady

    def _documents(self, decision: GateDecision) -> Mapping[str, str]:
        """Return the documents of a decision; a payload that holds none is a finding."""
        try:
            return published(decision)
        except (BoundaryError, *WRONG_INPUT) as error:
            place = f'decision {decision.sequence}.request.payload'
            found = Mismatch(place, 'an object with documents', f'{error}')
            self._ties.find('record-complete', found, decision.id)
            return {}

    def sent(self, pairs: _Pairs, message: LazyMessage) -> None:
        """Take a message of a topic."""
        reading = message.readings.get(pairs.use)
        pairs.messages += 1
        half = _Half((), message.stamp, message.log_time, number=pairs.messages)
        if reading is not None:
            half.besides = reading.problem
            half.content = reading.document if pairs.bounds is None else reading.values
        partner = _taken(pairs.decided, half)
        if partner is not None:
            self._pair(partner, half, pairs)
            return
        pairs.sent.append(half)
        if len(pairs.sent) > _MOST_WAITING:
            self._not_decided(pairs.sent[0], pairs)

    def finish(self) -> None:
        """Judge all that is left; before the first pair and behind the last one may be missing."""
        for pairs in self.pairs.values():
            while pairs.decided:
                self._not_sent(pairs.decided[0], pairs)
            while pairs.sent:
                self._not_decided(pairs.sent[0], pairs)

    def _pair(self, decided: _Half, sent: _Half, pairs: _Pairs) -> None:
        """Hold the halves of a pair against each other."""
        decision, use = decided.decision, pairs.use
        assert decision is not None  # what was decided was by a decision
        place = f'decision {decision.sequence}.command'
        self._ties.took('commands', use.label)
        pair = sent, decided
        first, last = pairs.first_pair or pair, pairs.last_pair or pair
        pairs.first_pair = pair if sent.number < first[0].number else first
        pairs.last_pair = pair if sent.number > last[0].number else last
        if any(result.reason is Reason.FOREIGN_PUBLISHER for result in decision.rules):
            pairs.answers.append(sent)
        self._give_up(pairs, sent, decided)
        if not _equal(decided.content, sent.content):
            expected = f'{_told(sent.content)} as on {use.at}'
            found = Mismatch(place, expected, _told(decided.content))
        elif sent.besides:
            expected = 'a message that says the command and nothing else'
            found = Mismatch(place, expected, f'{sent.besides} on {use.at}')
        else:
            return
        self._ties.find('command-on-topic', found, decision.id)

    def _give_up(self, pairs: _Pairs, sent: _Half, decided: _Half) -> None:
        """Judge what waits in vain: a later one is paired, and topics are not so late."""
        until = max(sent.log_time, decided.log_time) - REACH
        sides = (pairs.sent, sent, self._not_decided), (pairs.decided, decided, self._not_sent)
        for waiting, last, judge in sides:
            while waiting and waiting[0].number < last.number and waiting[0].log_time < until:
                judge(waiting[0], pairs)

    def _not_sent(self, half: _Half, pairs: _Pairs) -> None:
        """Judge a decision for whose command there is no such message."""
        decision, use, ties = half.decision, pairs.use, self._ties
        assert decision is not None  # what was decided was by a decision
        pairs.decided.remove(half)
        first, last, outside = pairs.first_pair, pairs.last_pair, ''
        if first is None or half.number < first[1].number:
            outside = 'early'
        elif last is None or half.number > last[1].number:
            outside = 'torn'
        # A changed command has the stamp, or where there are none the place, of what was sent.
        others = (other for other in pairs.sent if half.is_of(other))
        changed = next((o for o in others if (half.stamp and o.stamp) or not outside), None)
        if changed is not None and (changed.stamp or not ties.lack(half.log_time)):
            pairs.sent.remove(changed)
            self._pair(half, changed, pairs)
            return
        why = outside or ties.lack(half.log_time)
        if why:
            ties.excuse(why, use.label)
            return
        place = f'decision {decision.sequence}.command'
        expected = f'a message on {use.at} with the stamp of `commanded`'
        found = Mismatch(place, expected, f'none of {_told(half.content)}')
        ties.find('command-on-topic', found, decision.id)

    def _not_decided(self, half: _Half, pairs: _Pairs) -> None:
        """Judge a message that is no decision's command."""
        pairs.sent.remove(half)
        answer = next((s for s in reversed(pairs.answers) if s.number < half.number), None)
        if answer is not None and half.is_of(answer) and _equal(answer.content, half.content):
            return  # said again, as it is at each command of another
        why = ''
        if pairs.is_in_bounds(half.content):
            first, last = pairs.first_pair, pairs.last_pair
            if first is None or last is None:
                why = 'early'  # The recorder heard of this gate only later.
            elif half.number < first[0].number:
                why = 'early' if first[0].log_time - half.log_time < REACH else ''
            elif half.number > last[0].number:
                near = half.log_time - last[0].log_time < REACH
                why = 'torn' if near or pairs.goes_on else ''
            if not why and pairs.missing:
                pairs.missing -= 1
                why = self._ties.lack(half.log_time)
        if why:
            pairs.undecided += 1
            # Of more than are ever on their way each one counts.
            name = pairs.use.label
            few = pairs.undecided <= _ON_THEIR_WAY
            self._ties.excuse(why, name if few else f'{name} without a decision')
            return
        actual = f'none for {_told(half.content)} at {half.log_time} ns'
        expected = 'a decision of the gate for each message'
        found = Mismatch(f'{pairs.use.at} of {pairs.agent}', expected, actual)
        self._ties.find('command-on-topic', found, None)


def _taken(others: deque[_Half], half: _Half) -> _Half | None:
    """Take the first of the other halves that says the same out of those that wait."""
    for other in others:
        if half.is_of(other) and _equal(other.content, half.content):
            others.remove(other)
            return other
    return None


def _equal(one: Content, other: Content) -> bool:
    """
    Return whether two commands are the same in the precision of the message.

    The gate rounds a float32 inwards, so it may be the one beside the nearest.
    """
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and all(
        a == b or abs(np.float32(a) - np.float32(b)) <= np.spacing(abs(np.float32(b)))
        for a, b in zip(one, other, strict=True)
    )


def _told(content: Content) -> str:
    if not isinstance(content, str):
        return vector(content)
    return content if len(content) < _LONGEST else f'{content[: _LONGEST - 3]}...'


# All of them -------------------------------------------------------------------------------------


_PACKAGE = 'boundary_env_ros/msg/'
_DECISION = f'{_PACKAGE}GateDecision'
_REQUEST = f'{_PACKAGE}ActionRequest'

#: The rules that need each kind of use.
_RULES_OF: Mapping[str, tuple[str, ...]] = {
    'gate': ('values-from-sensors',),
    'field': ('values-from-sensors', 'frame-as-contract'),
    'privileged': ('values-from-sensors', 'frame-as-contract'),
    'feedback': ('values-from-sensors',),
    'environment': ('values-from-sensors',),
    'command': ('command-on-topic',),
    'document': ('command-on-topic',),
    'emergency': ('emergency-stop-heard',),
}

#: The rules that need the topic of a gate.
_OF_THE_GATE = ('command-on-topic', 'as-published', 'emergency-stop-heard')


class RawAuditor:
    """
    Takes the raw messages of a record and its records, and holds these against those.

    Parameters
    ----------
    ties
        Ties values to messages, and knows which may be missing.
    topics
        Type of each topic of the record.

    """

    def __init__(self, ties: Ties, topics: Mapping[str, str]) -> None:
        self.ties = ties
        # The agents whose gate is recorded itself, and those whose decisions only the steps carry.
        self._gates: set[str] = set()
        self._only_carried: set[str] = set()
        self._observations = ObservationChecks(self.ties)
        self._decisions = DecisionChecks(self.ties)
        self._feedback = FeedbackChecks(self.ties)
        self._commands = CommandChecks(self.ties)
        self._published = PublishedChecks(self.ties)
        self._requests = {name for name, kind in topics.items() if kind == _REQUEST}
        # What is done with the messages of a topic besides keeping them.
        self._on_message: dict[str, list[Callable[[LazyMessage], None]]] = {}
        for pairs in self._commands.pairs.values():
            self._listen(pairs.use, partial(self._commands.sent, pairs))
        for agent, uses in self.ties.uses.items():
            for item in self.ties.transforms.inputs:
                # In the order in which they came.
                self._listen(uses[f'environment {item.name}'], attrgetter('readings'))
            if STOP in uses:
                self._listen(uses[STOP], partial(self._decisions.pressed, agent))

    def _listen(self, use: Input, on_message: Callable[[LazyMessage], None]) -> None:
        self._on_message.setdefault(use.at, []).append(on_message)

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics whose messages are wanted."""
        return self.ties.listened | frozenset(self._requests)

    def message(self, recorded: Recorded) -> None:
        """
        Take the next raw message.

        Raises
        ------
        RecordError
            If it is not what its topic says.

        """
        if recorded.topic in self._requests:
            self._published.request(recorded.decode(ActionRequest))
        if recorded.topic in self.ties.listened:
            raw = self.ties.message(recorded)
            for on_message in self._on_message.get(recorded.topic, ()):
                on_message(raw)

    def add(self, record: Record, log_time: int) -> None:
        """Take the next record."""
        self.ties.now = log_time
        if isinstance(record, Transition):
            self._observations.look_up(log_time)
            self._observations.check(record)
            self._feedback.check(record)
            for decision in record.decisions[-1:]:
                self._commands.carried(decision)
            if record.decisions and record.id.agent not in self._gates:
                self._only_carried.add(record.id.agent)
                for decision in record.decisions:
                    self._decision(decision)
        elif isinstance(record, GateDecision):
            self._gates.add(record.id.agent)
            self._commands.decided(record, log_time)
            self._decisions.check_stop(record, log_time)
            self._decision(record)
        elif isinstance(record, ActuationEvidence):
            self._feedback.evidence(record)

    def _decision(self, decision: GateDecision) -> None:
        self._decisions.check(decision)
        self._published.decision(decision)

    def privileged(self, record: PrivilegedObservation, now: Transition) -> None:
        """Take the record of the privileged fields of a step, once both have come."""
        self.ties.asked['privileged'] += 1
        self._observations.check_privileged(record.fields, now)

    def finish(self) -> None:
        """Judge all that is left, once the record is at its end."""
        self.ties.finish()
        self._observations.look_up()
        self._commands.finish()
        self._published.finish()

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """Return what the record has no topics for."""
        found: list[NotChecked] = []

        def note(why: str, rules: Iterable[str]) -> None:
            found.extend(NotChecked(rule=rule, why=why) for rule in rules)

        privileged = {f'field {spec.name}' for spec in self.ties.contract.privileged}
        for agent, uses in self.ties.uses.items():
            for use in (use for use in uses.values() if not use.at):
                kind = 'privileged' if use.label in privileged else use.label.partition(' ')[0]
                whose = f' of {agent}' if len(self.ties.uses) > 1 else ''
                why = f'{use.label}{whose}: no topic {use.topic!r} in the record'
                note(why, _RULES_OF[kind])
        if not self._requests:
            why = f'no topic of type {_REQUEST} in the record'
            note(why, ('as-published', 'request-answered'))
        for agent in sorted(self._only_carried - self._gates):
            why = f'decisions of {agent}: none on a topic of type {_DECISION} in the record'
            note(why, _OF_THE_GATE)
        return tuple(found)
