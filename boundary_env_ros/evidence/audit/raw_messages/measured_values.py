# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields and evidence of execution, compared with the messages that they are of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
import math

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.environment.actuation import same_on_wire
from boundary_env_ros.core.environment.freezing import bring_inside
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import ActuationEvidence, Transition
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT, Input, TF
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import is_measured, Reading
from boundary_env_ros.core.sources.transforms import as_message
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.ties import LazyMessage, of_no_message, Tie, Ties
from boundary_env_ros.evidence.audit.rules.audit_rule import unlike
from boundary_env_ros.evidence.record_difference import Mismatch, same, vector
from boundary_env_ros.evidence.run_files import same_topic

#: Nanoseconds of log time in which all transforms have come that a field was looked up in; more
#: than they take, and less than they are kept.
DELAY = 10 * NANOSECONDS


class ObservationChecks:
    """
    Compares steps with the sensor topics.

    Parameters
    ----------
    ties
        Ties values to messages.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        contract = ties.contract
        self._seen = (*contract.observation, *contract.state)
        self._lookups: deque[tuple[Tie, Lookup, FieldSpec, ObservationField]] = deque()

    def check(self, now: Transition) -> None:
        """Tie the fields of a step to their messages."""
        self._check('after', self._seen, (*now.after, *now.state), now)

    def check_privileged(self, fields: Sequence[ObservationField], now: Transition) -> None:
        """Tie the privileged fields of a step to their messages."""
        self._check('privileged', self._ties.contract.privileged, fields, now)

    def _check(
        self,
        where: str,
        specs: Sequence[FieldSpec],
        fields: Sequence[ObservationField],
        now: Transition,
    ) -> None:
        if [field.name for field in fields] != [spec.name for spec in specs]:
            return  # named by the rule about fields
        for spec, field in zip(specs, fields, strict=True):
            source = spec.source
            looked_up = isinstance(source, Lookup)
            use = self._ties.use(
                now.id.agent, f'environment {TF}' if looked_up else f'field {spec.name}'
            )
            if use is None or field.status is FieldStatus.MISSING:
                continue
            place = f'{where}.{field.name}'
            # A field goes by one message until it measures something else.
            if not looked_up and self._ties.is_repeated(now.id.agent, place, _of_message(field)):
                continue
            tie = Tie(
                of=now.id,
                log_time=self._ties.now,
                kind='fields',
                uses=[use],
                key=None if field.captured is None else (True, field.captured.nanoseconds),
                sent=self._sent(field),
                differences=partial(self._differences, place, spec, field),
                besides=partial(self._besides, place, field),
                none=partial(of_no_message, place, use, field.values, ' of that stamp'),
            )
            if not isinstance(source, Lookup):
                self._ties.tie(tie)
            elif field.captured is not None and self._looked_up(tie, source, spec, field)[0]:
                self._lookups.append((tie, source, spec, field))

    def _differences(
        self,
        place: str,
        spec: FieldSpec,
        field: ObservationField,
        use: Input,
        message: LazyMessage,
    ) -> Sequence[Mismatch]:
        """Return where a field says something else than it would of a message."""
        found = _of_field(place, spec, field, use, message)
        # A sensor that hangs repeats one message, stamp and all: it is the one that was sent then.
        return found or self._sent_otherwise(place, field, use, message)

    def _sent_otherwise(
        self, place: str, field: ObservationField, use: Input, message: LazyMessage
    ) -> Sequence[Mismatch]:
        """Return a mismatch unless a message was sent when a field says."""
        sent, at = self._sent(field), message.publish_time
        # A bag that has log times only repeats them.
        if sent in (None, at) or at == message.log_time:
            return ()
        return (Mismatch(f'{place}.published', f'{at} as on {use.at}', str(sent)),)

    def _sent(self, field: ObservationField) -> int | None:
        """Return when the message of a field was sent, ns; None if no clock of the record says."""
        stamp = field.published
        if stamp is None or self._ties.contract.sim_time or stamp.clock is not Clock.SYSTEM:
            return None
        return stamp.nanoseconds

    def _besides(
        self, place: str, field: ObservationField, use: Input, message: LazyMessage
    ) -> Iterator[tuple[str, Mismatch]]:
        if not same_topic(use.at, field.source):
            topic = Mismatch(f'{place}.topic', repr(use.at), repr(field.source))
            yield 'values-from-sensors', topic
        reading = message.readings[use]
        if reading.frame and is_measured(reading.values, infinite=use.infinite):
            expected = f'the frame of the contract in the header on {use.at}'
            frame = Mismatch(f'{place}.frame_id', expected, repr(reading.frame))
            yield 'frame-as-contract', frame

    # Transforms ----------------------------------------------------------------------------------

    def look_up(self, now: float = math.inf) -> None:
        """Look fields up again, at the instant that they are of, whose transforms have come."""
        while self._lookups and abs(now - self._lookups[0][0].log_time) >= DELAY:
            tie, source, spec, field = self._lookups.popleft()
            expected, there = self._looked_up(tie, source, spec, field)
            if expected and not self._ties.may_be_missing(tie, there=there):
                self._ties.contradict(
                    tie, Mismatch(tie.none().field, expected, vector(field.values))
                )

    def _looked_up(
        self, tie: Tie, source: Lookup, spec: FieldSpec, field: ObservationField
    ) -> tuple[str, bool]:
        """
        Return what a field ought to say by the transforms that came; empty: what it says.

        And whether it is known: there are transforms before and behind it.
        """
        ties, use = self._ties, tie.uses[0]
        assert tie.key is not None  # it was captured
        try:
            link = ties.transforms.buffer.look_up(source.target, source.source, tie.key[1])
        except RecordError as error:
            return str(error), False
        again = bring_inside(reader(source)(as_message(link, tie.key[1])), spec)[0]
        if not same(again, field.values):
            return f'{vector(again)}, as {" and ".join(ties.contract.tf_topics)} say', True
        ties.count('fields', use.label)
        return '', True


def _of_field(
    place: str, spec: FieldSpec, field: ObservationField, use: Input, message: LazyMessage
) -> tuple[Mismatch, ...]:
    """Return where a field says something else than it would of a message."""
    reading = message.readings[use]
    values: object = reading.values
    clipped = False
    try:
        if not spec.is_image:
            values, clipped = bring_inside(reading.values, spec)
    except WRONG_INPUT as error:
        values = f'{type(error).__name__}: {error}'
    made = values, reading.document, _hash(reading), clipped, reading.confidence
    recorded = field.values, field.document, _hash(field), field.clipped, field.confidence
    if same(made, recorded):
        return ()
    names = 'values', 'document', 'image', 'clipped', 'confidence'
    why = f'of that message on {use.at}'
    return tuple(
        found
        for name, one, other in zip(names, made, recorded, strict=True)
        for found in unlike(f'{place}.{name}', one, other, why)
    )


def _of_message(field: ObservationField) -> tuple[object, ...]:
    """Return all that a field says of its message."""
    return (
        *(field.captured, field.published, field.source, field.values, field.document),
        *(_hash(field), field.clipped, field.confidence),
    )


def _hash(found: ObservationField | Reading) -> bytes | None:
    return None if found.image is None else found.image.sha256


class FeedbackChecks:
    """
    Compares measured actions and evidence of execution with the feedback.

    Parameters
    ----------
    ties
        Ties values to messages.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties

    def check(self, now: Transition) -> None:
        """Compare the measured action of a step, and the evidence in it, with the feedback."""
        if now.measured_at is not None and now.measured_action:
            self._measured(
                now.id, 'measured_action', now.measured_at.nanoseconds, now.measured_action
            )
        if now.actuated is not None and now.commanded is not None:
            at, source = now.actuated.nanoseconds, now.actuated_source
            sampled = _before(at, now.actuated_quantum), now.commanded.ros.nanoseconds
            if not self._acknowledged(now.id, at, source, now.commanded_action, sampled):
                self._measured(now.id, 'actuated', at, None)
                self._sampled(now.id, 'actuated', at, source, sampled[0])

    def evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence of execution that came late."""
        place = f'evidence for decision {evidence.decision_sequence}'
        at, source = evidence.actuated.nanoseconds, evidence.source
        sampled = _before(at, evidence.quantum), evidence.commanded.ros.nanoseconds
        if not self._acknowledged(evidence.id, at, source, evidence.measured, sampled):
            self._measured(evidence.id, place, at, evidence.measured)
            self._sampled(evidence.id, place, at, source, sampled[0])

    def _feedback(self, of: StepId) -> Sequence[Input]:
        """Return the topics of the feedback; empty if the record lacks one, which is reported."""
        uses = [self._ties.use(of.agent, f'feedback {g.name}') for g, _ in self._ties.groups]
        known = [use for use in uses if use is not None]
        return known if len(known) == len(uses) else ()

    def _sampled(self, of: StepId, place: str, at: int, source: str, before: int) -> None:
        """Compare source and quantum of what was seen in the feedback with its topics."""
        uses = self._feedback(of)
        if not uses:
            return
        topics = list(dict.fromkeys(use.at for use in uses))
        recorded = source.split()
        if len(recorded) != len(topics) or not all(map(same_topic, topics, recorded)):
            found = Mismatch(f'{place}.source', repr(' '.join(topics)), repr(source))
            self._ties.find('execution-measured', found, of)
        self._quantum(of, place, before if before < at else at + 1, uses)

    def _quantum(self, of: StepId, place: str, before: int, uses: Sequence[Input]) -> None:
        """Ask for the message before the one that shows a command, which is a quantum ago."""
        expected, actual = 'the time since a message before', f'none is stamped {before} ns'
        none = Mismatch(f'{place}.quantum', expected, actual)
        self._any(of, 'feedback', uses, before, none, rule='execution-measured')

    def _acknowledged(
        self, of: StepId, stamp: int, source: str, values: Vector, sampled: tuple[int, int]
    ) -> bool:
        """
        Look for a driver's message with a stamp and the values of a command, or of its group.

        The quantum begins at the message before, or at the command: those are ``sampled``.
        Return whether the evidence is no measurement.
        """
        ties = self._ties
        parts: dict[str, Vector] = {}
        uses: list[Input] = []
        for group, own in ties.groups:
            use = ties.uses.get(of.agent, {}).get(f'environment {ACKNOWLEDGEMENT}.{group.name}')
            if use is None or not same_topic(source, use.topic):
                continue
            if not use.at:
                return True  # reported as a topic that is missing
            uses.append(use)
            parts[use.label] = values if len(values) == group.size else values[own]
        if not uses or any(same_topic(source, g.feedback.topic) for g, _ in ties.groups):
            return False
        expected = f'a message on {source} at {stamp} ns with {vector(values)}'
        none = Mismatch('actuated', expected, 'none')

        def differences(use: Input, message: LazyMessage) -> tuple[Mismatch, ...]:
            again, part = message.readings[use].values, parts[use.label]
            is_same = len(again) == len(part) and all(map(same_on_wire, again, part))
            return () if is_same else (none,)

        self._any(of, 'environment', uses, stamp, none, differences)
        before, commanded = sampled
        if before != commanded:
            self._quantum(of, 'actuated', before, uses)
        return True

    def _measured(self, of: StepId, place: str, stamp: int, values: Vector | None) -> None:
        """Ask for a message of some feedback with a stamp, and with its part of the values."""
        uses = self._feedback(of)
        if not uses:
            return
        parts = {
            use.label: None if values is None else values[own]
            for use, (_, own) in zip(uses, self._ties.groups, strict=True)
        }
        topics = ' or '.join(use.at for use in uses)
        none = Mismatch(place, f'a message of that stamp on {topics}', f'none of {stamp} ns')
        self._any(of, 'feedback', uses, stamp, none, partial(_of_feedback, place, parts))

    def _any(
        self,
        of: StepId,
        kind: str,
        uses: Sequence[Input],
        stamp: int,
        none: Mismatch,
        differences: Callable[[Input, LazyMessage], Sequence[Mismatch]] = lambda use, message: (),
        rule: str = 'values-from-sensors',
    ) -> None:
        """Tie something to a message with a stamp; of several groups only one need have come."""
        self._ties.tie(
            Tie(
                of=of,
                log_time=self._ties.now,
                kind=kind,
                uses=uses,
                key=(True, stamp),
                differences=differences,
                none=lambda: none,
                rule=rule,
            )
        )


def _before(at: int, quantum: float | None) -> int:
    """Return the stamp that a quantum says the message before had; one behind if nothing."""
    if quantum is None or not 0.0 <= quantum <= at / NANOSECONDS:
        return at + 1
    return at - round(quantum * NANOSECONDS)


def _of_feedback(
    place: str, parts: dict[str, Vector | None], use: Input, message: LazyMessage
) -> tuple[Mismatch, ...]:
    again, part = message.readings[use].values, parts[use.label]
    if part is None or same(again, part):
        return ()
    return (Mismatch(place, f'{vector(again)} on {use.at}', vector(part)),)
