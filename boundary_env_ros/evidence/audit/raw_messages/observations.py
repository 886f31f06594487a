# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations, held against what the sensors said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.environment.endings import TIME_LIMIT
from boundary_env_ros.core.environment.observation import (
    bring_inside,
    FieldStatus,
    ImageReference,
    ObservationField,
)
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.inputs import TF
from boundary_env_ros.core.sources.readers import reader, Reading
from boundary_env_ros.core.sources.transforms import as_message
from boundary_env_ros.core.timebase import ClockReading, to_nanoseconds
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.support import (
    Claim,
    format_message,
    nanoseconds,
    newest_in_lockstep,
    supporting,
)
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, Use
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    Mismatch,
    Rule,
    same,
    unlike,
    vector,
)

#: Bytes of the largest message that goes over UDP in one piece.
_DATAGRAM = 65_507

#: Nanoseconds by which two clocks of one host may be read apart.
_READING = 2_000_000


@dataclass(slots=True, kw_only=True)
class _Frozen:
    """
    What the checks of one observation need to know of it.

    Attributes
    ----------
    id, closed
        The step, and when it was frozen.
    late
        Nanoseconds by which it was frozen late.
    listened
        Log time up to which the environment surely received; None if that is not known. While what
        receives gets no processor, nothing comes from anybody.
    log_time
        When the recorder had the record.
    where
        What its fields are called in findings.
    begun
        Log time from which on the episode runs; None if that is not known.
    cut_short
        Whether an ending from outside, which waits for no advance of the world, closed the step.

    """

    id: StepId
    closed: ClockReading
    late: int
    listened: int | None
    log_time: int
    where: str
    begun: int | None
    cut_short: bool


class ObservationChecks:
    """
    Holds steps against the sensor topics.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._tape = history
        self._missed: dict[tuple[str, str], int] = {}
        # For longer than that the gate would stop.
        self._most_deaf = to_nanoseconds(history.contract.safety.sensor_timeout)

    def note(self, now: Transition) -> None:
        """Take note of how late the environment had the fields of a step, for those around it."""
        history = self._tape
        if history.lockstep:
            return
        for field in (*now.after, *now.state):
            use = history.use(now.id.agent, f'field {field.name}')
            if use is None or field.captured is None:
                continue
            for heard in history.window(use).stamped(field.captured.nanoseconds)[:1]:
                at = history.on_tape(now.closed)
                if at is not None:
                    delay = self._delay(field, heard)
                    history.delayed(f'{now.id.agent} {use.name}', at, delay)

    def _delay(self, field: ObservationField, heard: Heard) -> int:
        """Return by how much later than the recorder a field had its message, ns, if known."""
        arrived = field.arrived
        if arrived is None or not self._tape.same_clock(arrived):
            return 0
        return arrived.nanoseconds - heard.log_time

    def check(self, now: Transition, start: Transition, log_time: int) -> None:
        """
        Look at a step.

        Parameters
        ----------
        now, start
            The step, and the reset that its episode began with.
        log_time
            When the recorder had it, nanoseconds.

        """
        contract, fields = self._tape.contract, (*now.after, *now.state)
        begun = self._tape.on_tape(start.closed)
        frozen = self._frozen('after', fields, now, log_time, begun)
        self._fields((*contract.observation, *contract.state), fields, frozen)

    def privileged(
        self, fields: Sequence[ObservationField], now: Transition, log_time: int
    ) -> None:
        """Look at the privileged fields of a step."""
        frozen = self._frozen('privileged', fields, now, log_time, None)
        self._fields(self._tape.contract.privileged, fields, frozen)

    def _frozen(
        self,
        where: str,
        fields: Sequence[ObservationField],
        now: Transition,
        log_time: int,
        begun: int | None,
    ) -> _Frozen:
        lockstep = self._tape.lockstep  # In which the newest message is known exactly.
        return _Frozen(
            id=now.id,
            closed=now.closed,
            late=0 if lockstep else self._late(now, log_time),
            listened=None if lockstep else self._listened(now, fields),
            log_time=log_time,
            where=where,
            begun=begun,
            cut_short=_cut_short(now),
        )

    def _find(self, rule: Rule, frozen: _Frozen, place: str, expected: str, actual: str) -> None:
        found = Mismatch(f'{frozen.where}{place}', expected, actual)
        self._tape.find(rule, found, frozen.id)

    def _late(self, now: Transition, log_time: int) -> int:
        """Return by how much the environment was late with a step, or the recorder, ns."""
        closed = self._tape.on_tape(now.closed)
        behind = 0 if closed is None else log_time - closed
        return max(behind, round((now.tick_error or 0.0) * 1e9), 0)

    def _listened(self, now: Transition, fields: Sequence[ObservationField]) -> int | None:
        """Return until when the environment surely received, as what it had tells."""
        decided = [decision.decided or decision.commanded for decision in now.decisions]
        had = [self._tape.on_tape(instant) for instant in decided]
        had += [
            field.arrived.nanoseconds
            for field in (*fields, *now.after, *now.state)
            if field.arrived is not None and self._tape.same_clock(field.arrived)
        ]
        return max((at for at in had if at is not None), default=None)

    # Fields --------------------------------------------------------------------------------------

    def _fields(
        self,
        specs: Sequence[FieldSpec],
        fields: Sequence[ObservationField],
        frozen: _Frozen,
    ) -> None:
        """Hold fields against the messages that they are of."""
        if [field.name for field in fields] != [spec.name for spec in specs]:
            return  # named by the rule about fields
        for spec, field in zip(specs, fields, strict=True):
            if isinstance(spec.source, Lookup):
                self._look_up(spec, spec.source, field, frozen)
                continue
            use = self._tape.use(frozen.id.agent, f'field {spec.name}')
            heard = None if use is None else self._support(spec, field, use, frozen)
            if use is not None and heard is not None:
                self._compare(spec, field, heard.readings[use.name], frozen)
                self._newest(field, use, heard, frozen)

    def _look_up(
        self, spec: FieldSpec, source: Lookup, field: ObservationField, frozen: _Frozen
    ) -> None:
        """Look a field up again, at the instant that it is of."""
        history, captured = self._tape, field.captured
        use = history.use(frozen.id.agent, f'environment {TF}')
        if use is None or captured is None or field.status is FieldStatus.MISSING:
            return
        stamp = captured.nanoseconds
        try:
            link = history.transforms.buffer.look_up(source.target, source.source, stamp)
        except RecordError as error:
            expected = str(error)
        else:
            values = bring_inside(reader(source)(as_message(link, stamp)), spec)[0]
            if same(values, field.values):
                history.took('fields', use.name)
                return
            expected = f'{vector(values)}, as /tf and /tf_static say'
        if not history.missing(use, stamp, frozen.log_time):
            actual = vector(field.values)
            self._find(catalogue.VALUES_FROM_SENSORS, frozen, f'.{field.name}', expected, actual)

    def _support(
        self, spec: FieldSpec, field: ObservationField, use: Use, frozen: _Frozen
    ) -> Heard | None:
        history, rule = self._tape, catalogue.VALUES_FROM_SENSORS
        if field.status is FieldStatus.MISSING:
            self._never_came(field, use, frozen)
            return None
        claim = Claim(
            use=use,
            captured=field.captured,
            published=field.published,
            fits=lambda heard: _fits(spec, field, heard.readings[use.name]),
            until=self._tape.latest(frozen.closed),
        )
        heard = supporting(history, claim)
        if heard is None:
            sent = nanoseconds(field.captured, field.published)
            if not history.missing(use, sent, frozen.log_time):
                expected = f'a message on {use.topic} of that stamp'
                actual = f'{vector(field.values)} of no message'
                self._find(rule, frozen, f'.{field.name}', expected, actual)
            return None
        history.took('fields', use.name)
        if not same_topic(use.topic, field.source):
            place = f'.{field.name}.source'
            self._find(rule, frozen, place, repr(use.topic), repr(field.source))
        self._sent(field, use, heard, frozen)
        return heard

    def _never_came(self, field: ObservationField, use: Use, frozen: _Frozen) -> None:
        """Look for a message of a field that is said never to have come in the episode."""
        history, now = self._tape, self._tape.on_tape(frozen.closed)
        if now is None or frozen.begun is None:
            return
        slack = (
            0
            if history.lockstep
            else history.slack(f'{frozen.id.agent} {use.name}', now, frozen.late)
        )
        came = history.window(use).last_before(now - slack, use.name)
        if came is not None and came.log_time > frozen.begun:
            expected = f'{vector(came.readings[use.name].values)} as on {use.topic}'
            actual = 'nothing: it never came'
            self._find(catalogue.VALUES_NEWEST, frozen, f'.{field.name}', expected, actual)

    def _sent(self, field: ObservationField, use: Use, heard: Heard, frozen: _Frozen) -> None:
        """Hold the stamps of the middleware against those of the recorder."""
        history, sent = self._tape, field.published
        if sent is None or not history.same_clock(sent) or heard.publish_time == heard.log_time:
            return
        frozen_at = history.on_tape(frozen.closed)
        if sent.nanoseconds != heard.publish_time or (
            frozen_at is not None and heard.publish_time > frozen_at + _READING
        ):
            place, actual = f'.{field.name}.published', str(sent.nanoseconds)
            expected = f'{heard.publish_time} as on {use.topic}, before it was frozen'
            self._find(catalogue.VALUES_FROM_SENSORS, frozen, place, expected, actual)

    def _compare(
        self, spec: FieldSpec, field: ObservationField, reading: Reading, frozen: _Frozen
    ) -> None:
        """Hold what was measured of a field against its message; the rest follows from that."""
        try:
            values, clipped = (
                (reading.values, False) if spec.is_image else bring_inside(reading.values, spec)
            )
        except WRONG_INPUT as error:
            actual = f'{type(error).__name__}: {error}'
            expected = 'a field that can be made of its message'
            self._find(catalogue.VALUES_FROM_SENSORS, frozen, f'.{field.name}', expected, actual)
            return
        for name, ours, theirs in (
            ('values', values, field.values),
            ('clipped', clipped, field.clipped),
            ('confidence', reading.confidence, field.confidence),
            ('image', _hash(reading.image), _hash(field.image)),
            ('document', reading.document, field.document),
        ):
            if ours != theirs:
                place, why = f'{frozen.where}.{field.name}.{name}', f'from {field.source}'
                for found in unlike(place, ours, theirs, why):
                    self._tape.find(catalogue.VALUES_FROM_SENSORS, found, frozen.id)

    def _newest(self, field: ObservationField, use: Use, heard: Heard, frozen: _Frozen) -> None:
        """Hold a message against the newest that can have been there."""
        history, newest = self._tape, None
        now = history.on_tape(frozen.closed)
        if now is None:
            history.excuse('unplaced', use.name)
            return
        if history.lockstep:
            newest = newest_in_lockstep(
                history,
                use,
                heard,
                episode_id=frozen.id.episode_id,
                step=frozen.id.step,
                world_time=now,
            )
        else:
            delay = self._delay(field, heard)
            slack = history.slack(f'{frozen.id.agent} {use.name}', now, delay, frozen.late)
            listened = now if frozen.listened is None else min(now, frozen.listened)
            deaf = min(now - listened, self._most_deaf)
            newest = history.newest_had(
                use,
                heard,
                now=now,
                until=now - slack,
                listened=now - deaf - slack,
            )
        if newest is None or newest.number == heard.number:
            return
        if newest.number < heard.number and not history.lockstep:
            return
        if history.lockstep and frozen.cut_short:
            history.excuse('cut short', use.name)  # the world may have been on its way
            return
        if not history.lockstep and self._need_not_have_come(use, heard, newest):
            # It is one message, however many steps go by without it.
            if self._missed.get((frozen.id.agent, use.name)) != newest.number:
                self._missed[frozen.id.agent, use.name] = newest.number
                history.excuse('missed', use.name)
            return
        expected = (
            f'the newest message on {use.topic} that was there, {format_message(newest, use)}'
        )
        actual = f'another one, {format_message(heard, use)}'
        self._find(catalogue.VALUES_NEWEST, frozen, f'.{field.name}', expected, actual)

    def _need_not_have_come(self, use: Use, heard: Heard, newest: Heard) -> bool:
        """
        Return whether a message that the recorder had may honestly not have come to another.

        What is too large for one datagram gets lost with any part of it, to each listener another
        one. The last message of a driver that died is not sent again.
        """
        history = self._tape
        if not use.reliable and newest.length > _DATAGRAM:
            return True
        window = history.window(use)
        if window.behind(heard) is not newest:
            return False
        follows = window.behind(newest)
        silent = (history.now if follows is None else follows.log_time) - newest.log_time
        return silent > self._most_deaf


def _cut_short(now: Transition) -> bool:
    """Return whether a person or another node ended the episode, not task, time or gate."""
    by_itself = now.ending == TIME_LIMIT or now.declared_by == 'safety_gate'
    return bool(now.ending) and not by_itself and not now.declared_by.startswith('task:')


def _fits(spec: FieldSpec, field: ObservationField, reading: Reading) -> bool:
    if spec.is_image:
        return (
            reading.image is not None
            and field.image is not None
            and (reading.image.sha256 == field.image.sha256)
        )
    return reading.document == field.document and same(
        bring_inside(reading.values, spec)[0], field.values
    )


def _hash(image: ImageReference | None) -> bytes | None:
    return None if image is None else image.sha256
