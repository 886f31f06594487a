# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields of observations, held against what the sensors said."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
import math

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.environment.freezing import bring_inside
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.sources.inputs import Input, TF
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import is_measured, Reading
from boundary_env_ros.core.sources.transforms import as_message
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.ties import Tie, Ties
from boundary_env_ros.evidence.audit.raw_messages.window import LazyMessage
from boundary_env_ros.evidence.audit.rules.base import Mismatch, unlike
from boundary_env_ros.evidence.record_difference import same, vector
from boundary_env_ros.evidence.wiring import same_topic

#: Nanoseconds of log time in which all transforms have come that a field was looked up in; more
#: than they take, and less than they are kept.
DELAY = 10 * NANOSECONDS


class ObservationChecks:
    """
    Holds steps against the sensor topics.

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
            if not looked_up and self._ties.is_again(now.id.agent, place, _of_message(field)):
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
                none=Mismatch(
                    place,
                    f'a message on {use.at} of that stamp',
                    f'{vector(field.values)} of no message',
                ),
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
        found = _differences(place, spec, field, use, message)
        if not found and message.stamp is None:
            # Of messages with the same values it is the one that was sent then.
            return self._sent_otherwise(place, field, use, message)
        return found

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
        for sent in self._sent_otherwise(place, field, use, message):
            yield 'values-from-sensors', sent
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
            if expected and not self._ties.lacks(tie, there=there):
                self._ties.contradict(
                    tie, Mismatch(tie.none.field, expected, vector(field.values))
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
        ties.took('fields', use.label)
        return '', True


def _differences(
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
    why = f'of that message on {use.at}'
    pairs = (
        ('values', values, field.values),
        ('document', reading.document, field.document),
        ('image', _hash(reading), _hash(field)),
        ('clipped', clipped, field.clipped),
        ('confidence', reading.confidence, field.confidence),
    )
    return tuple(
        found for name, made, said in pairs for found in unlike(f'{place}.{name}', made, said, why)
    )


def _of_message(field: ObservationField) -> tuple[object, ...]:
    """Return all that a field says of its message."""
    return (
        *(field.captured, field.published, field.source, field.values, field.document),
        *(_hash(field), field.clipped, field.confidence),
    )


def _hash(found: ObservationField | Reading) -> bytes | None:
    return None if found.image is None else found.image.sha256
