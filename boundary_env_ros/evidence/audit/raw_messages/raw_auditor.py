# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The part of the audit that reads the raw messages of a bag.

It asks only what has an exact answer: a value with a stamp is that of the message with the stamp,
a message on a command topic is a decision's command, what one process says of another is what
that published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Verdict
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.evidence.audit.raw_messages.command_topics import CommandChecks
from boundary_env_ros.evidence.audit.raw_messages.measured_values import (
    DecisionChecks,
    FeedbackChecks,
    ObservationChecks,
)
from boundary_env_ros.evidence.audit.raw_messages.ties import LazyMessage, Ties
from boundary_env_ros.evidence.audit.rules.audit_rule import NotChecked
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import Mismatch, same, vector
from boundary_env_ros.evidence.wiring import STOP
from boundary_env_ros.storage.records import Message as Recorded
from boundary_env_ros.storage.records import Record

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
