# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The part of the audit that reads the raw messages of a bag.

It asks only what has an exact answer: a value with a stamp is that of the message with the stamp,
a message on a command topic is a decision's command, what one process says of another is what
that published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter

from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.evidence.audit.raw_messages.decision_messages import (
    CommandChecks,
    MeasurementChecks,
    RequestChecks,
)
from boundary_env_ros.evidence.audit.raw_messages.measured_values import (
    FeedbackChecks,
    ObservationChecks,
)
from boundary_env_ros.evidence.audit.raw_messages.ties import LazyMessage, Ties
from boundary_env_ros.evidence.audit.rules.audit_rule import NotChecked, RULES
from boundary_env_ros.evidence.run_files import STOP
from boundary_env_ros.storage.records import Message as Recorded
from boundary_env_ros.storage.records import Record

_PACKAGE = 'boundary_env_ros/msg/'
_DECISION = f'{_PACKAGE}GateDecision'
_REQUEST = f'{_PACKAGE}ActionRequest'


class RawAuditor:
    """
    Takes the raw messages of a record and its records, and compares them.

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
        self._only_in_steps: set[str] = set()
        self._observations = ObservationChecks(self.ties)
        self._measurements = MeasurementChecks(self.ties)
        self._feedback = FeedbackChecks(self.ties)
        self._commands = CommandChecks(self.ties)
        self._request_checks = RequestChecks(self.ties)
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
                self._listen(uses[STOP], partial(self._measurements.pressed, agent))

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
            self._request_checks.request(recorded.decode(ActionRequest))
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
                self._commands.decided_until(decision)
            if record.decisions and record.id.agent not in self._gates:
                self._only_in_steps.add(record.id.agent)
                for decision in record.decisions:
                    self._decision(decision)
        elif isinstance(record, GateDecision):
            self._gates.add(record.id.agent)
            self._commands.decided(record, log_time)
            self._measurements.check_stop(record, log_time)
            self._decision(record)
        elif isinstance(record, ActuationEvidence):
            self._feedback.evidence(record)

    def _decision(self, decision: GateDecision) -> None:
        self._measurements.check(decision)
        self._request_checks.decision(decision)

    def privileged(self, record: PrivilegedObservation, now: Transition) -> None:
        """Take the record of the privileged fields of a step, once both have come."""
        self.ties.asked['privileged'] += 1
        self._observations.check_privileged(record.fields, now)

    def finish(self) -> None:
        """Judge all that is left, once the record is at its end."""
        self.ties.finish()
        self._observations.look_up()
        self._commands.finish()
        self._request_checks.finish()

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """Return what the record has no topics for."""
        lacking: list[tuple[str, str]] = []  # kinds of topics, each with what is not there
        privileged = {f'field {spec.name}' for spec in self.ties.contract.privileged}
        for agent, uses in self.ties.uses.items():
            whose = f' of {agent}' if len(self.ties.uses) > 1 else ''
            for use in (use for use in uses.values() if not use.at):
                kind = 'privileged' if use.label in privileged else use.label.partition(' ')[0]
                why = f'{use.label}{whose}: no topic {use.topic!r} in the record'
                lacking.append((kind, why))
        if not self._requests:
            lacking.append(('request', f'no topic of type {_REQUEST} in the record'))
        for agent in sorted(self._only_in_steps - self._gates):
            why = f'decisions of {agent}: none on a topic of type {_DECISION} in the record'
            lacking.append(('decision', why))
        return tuple(
            NotChecked(rule=rule.id, why=why)
            for kind, why in lacking
            for rule in RULES
            if kind in rule.topics
        )
