# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations, held against what the sensors said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.environment.endings import TIME_LIMIT
from boundary_env_ros.core.environment.observation import (
    bring_inside,
    FieldStatus,
    ObservationField,
)
from boundary_env_ros.core.gate.rules.limits import FEEDBACK
from boundary_env_ros.core.sources.inputs import TF
from boundary_env_ros.core.sources.readers import reader, Reading
from boundary_env_ros.core.sources.transforms import as_message
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.claims import Claim, Claims, Said
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.evidence.audit.rules.base import same, vector
from boundary_env_ros.frozen import replace

#: Bytes of the largest message that goes over UDP in one piece.
_DATAGRAM = 65_507


class ObservationChecks:
    """
    Holds steps against the sensor topics.

    Parameters
    ----------
    history, claims
        What the topics said, and what ties claims to that.

    """

    def __init__(self, history: MessageHistory, claims: Claims) -> None:
        self._history, self._claims = history, claims
        contract = history.contract
        self._seen = (*contract.observation, *contract.state)
        self._missed: dict[tuple[str, str], int] = {}
        # For longer than that the gate would stop.
        self._most_deaf = to_nanoseconds(contract.safety.sensor_timeout)

    def tie(self, now: Transition, start: Transition, log_time: int) -> list[Claim]:
        """
        Tie the fields of a step to their messages.

        Parameters
        ----------
        now, start
            The step, and the reset that its episode began with.
        log_time
            When the recorder had it, nanoseconds.

        """
        begun = self._history.on_tape(start.closed)
        fields = (*now.after, *now.state)
        tied = list(self._tie('after', self._seen, fields, now, log_time, begun))
        return [*tied, *(each for field in tied[:1] for each in self._measured(now, field))]

    def tie_privileged(
        self, fields: Sequence[ObservationField], now: Transition, log_time: int
    ) -> list[Claim]:
        """Tie the privileged fields of a step to their messages."""
        specs = self._history.contract.privileged
        return list(self._tie('privileged', specs, fields, now, log_time, None))

    def _tie(
        self,
        where: str,
        specs: Sequence[FieldSpec],
        fields: Sequence[ObservationField],
        now: Transition,
        log_time: int,
        begun: int | None,
    ) -> Iterator[Claim]:
        if [field.name for field in fields] != [spec.name for spec in specs]:
            return  # named by the rule about fields
        history = self._history
        at = history.on_tape(now.closed)
        for spec, field in zip(specs, fields, strict=True):
            name = TF if isinstance(spec.source, Lookup) else spec.name
            kind = 'environment' if isinstance(spec.source, Lookup) else 'field'
            use = history.use(now.id.agent, f'{kind} {name}')
            if use is None:
                continue
            claim = Claim(
                id=now.id,
                kind='fields',
                place=f'{where}.{field.name}',
                use=use,
                topic=field.source,
                captured=field.captured,
                published=field.published,
                said=_of_message(field, field.values, clipped=field.clipped),
                made=partial(_made, spec),
                now=at,
                got=history.log_time_of(field.arrived),
                log_time=log_time,
            )
            if field.status is FieldStatus.MISSING:
                self._never_came(claim, now, begun)
            elif isinstance(spec.source, Lookup):
                self._look_up(claim, spec, spec.source)
            elif self._claims.tie(claim) is not None:
                yield claim

    def _measured(self, now: Transition, field: Claim) -> Iterator[Claim]:
        """Yield as claims the newest messages of feedback that the measured action can be of."""
        history, stamp = self._history, now.measured_at
        if stamp is None or field.now is None:
            return
        for number, (group, _) in enumerate(history.groups):
            use = history.use(now.id.agent, f'feedback {group.name}')
            if use is None:
                continue
            at, window = stamp.nanoseconds, history.window(use)
            exact = window.stamped(at)[-1:] if history.lockstep else ()
            heard = window.newest_first(history.latest(field.now))
            # What is not newer is passed over, or of another group.
            older = islice((h for h in heard if (h.stamp or 0) <= at), 1)
            for one in exact or older:
                history.asked[use.name] += number > 0  # the first is counted where it is compared
                claim = replace(field, kind=FEEDBACK, place='measured_action', use=use, heard=one)
                claim.captured, claim.got = stamp, None
                yield claim

    def _look_up(self, claim: Claim, spec: FieldSpec, source: Lookup) -> None:
        """Look a field up again, at the instant that it is of."""
        history, captured = self._history, claim.captured
        if captured is None:
            return
        stamp, values = captured.nanoseconds, claim.said['values']
        try:
            link = history.transforms.buffer.look_up(source.target, source.source, stamp)
        except RecordError as error:
            expected = str(error)
        else:
            again = bring_inside(reader(source)(as_message(link, stamp)), spec)[0]
            if same(again, values):
                history.took('fields', claim.use.name)
                return
            expected = f'{vector(again)}, as {" and ".join(history.contract.tf_topics)} say'
        if not history.missing(claim.use, stamp, claim.log_time) and isinstance(values, tuple):
            self._claims.find(claim, '', expected, vector(values))

    def _never_came(self, claim: Claim, now: Transition, begun: int | None) -> None:
        """Look for a message of a field that is said never to have come in the episode."""
        history, use, at = self._history, claim.use, claim.now
        if at is None or begun is None:
            return
        slack = 0
        if not history.lockstep:
            slack = history.slack(claim.who, at, self._late(now, claim.log_time))
        came = history.window(use).last_before(at - slack, use)
        if came is not None and came.log_time > begun:
            expected = f'{vector(came.readings[use.name].values)} as on {use.topic}'
            actual = 'nothing: it never came'
            self._claims.find(claim, '', expected, actual, 'values-newest')

    def _late(self, now: Transition, log_time: int) -> int:
        """Return by how much the environment was late with a step, or the recorder, ns."""
        closed = self._history.on_tape(now.closed)
        behind = 0 if closed is None else log_time - closed
        return max(behind, round((now.tick_error or 0.0) * 1e9), 0)

    # The newest ----------------------------------------------------------------------------------

    def judge(self, claims: Sequence[Claim], now: Transition, log_time: int) -> None:
        """Hold what the fields of a step are of against the newest that can have been there."""
        history, claiming = self._history, self._claims
        at = history.on_tape(now.closed)
        if at is None:
            for claim in claims:
                history.excuse('unplaced', claim.use.name)
            return
        if history.lockstep:
            for claim in claims:
                newest = claiming.announced(claim, now.id.step)
                if newest is None or newest is claim.heard:
                    continue
                if _cut_short(now):
                    # The world may have been on its way.
                    history.excuse('cut short', claim.use.name)
                else:
                    self._not_newest(claim, newest)
            return
        late = self._late(now, log_time)
        deaf = min(max(at - self._listened(claims, now, at), 0), self._most_deaf)
        # When feedback came is not in the record: not later than the fields, but for what got lost
        # and was sent again.
        waited = max((claim.delay for claim in claims), default=0)
        for claim in claims:
            behind = late
            if claim.kind == FEEDBACK:
                behind += waited + self._most_deaf
            newest = claiming.newer(claim, deaf, behind)
            if newest is None or claim.heard is None:
                continue
            if not self._need_not_have_come(claim.use, claim.heard, newest):
                self._not_newest(claim, newest)
            # It is one message, however many steps go by without it.
            elif self._missed.get((now.id.agent, claim.use.name)) != newest.number:
                self._missed[now.id.agent, claim.use.name] = newest.number
                history.excuse('missed', claim.use.name)

    def _not_newest(self, claim: Claim, newest: Heard) -> None:
        which = f'the newest message on {claim.use.topic} that was there'
        self._claims.not_newest(claim, newest, which)

    def _listened(self, claims: Sequence[Claim], now: Transition, at: int) -> int:
        """Return the log time up to which the environment surely received."""
        had = [self._history.on_tape(decision.decided) for decision in now.decisions]
        had += [claim.got for claim in claims]
        had += [self._history.log_time_of(field.arrived) for field in (*now.after, *now.state)]
        return max((one for one in had if one is not None), default=at)

    def _need_not_have_come(self, use: Use, heard: Heard, newest: Heard) -> bool:
        """
        Return whether a message that the recorder had may honestly not have come to another.

        What is too large for one datagram gets lost with any part of it, to each listener another
        one. The last message of a driver that died is not sent again.
        """
        if not use.reliable and newest.length > _DATAGRAM:
            return True
        window = self._history.window(use)
        if window.behind(heard) is not newest:
            return False
        follows = window.behind(newest)
        until = self._history.now if follows is None else follows.log_time
        return until - newest.log_time > self._most_deaf


def _cut_short(now: Transition) -> bool:
    """Return whether a person or another node ended the episode, not task, time or gate."""
    by_itself = now.ending == TIME_LIMIT or now.declared_by == 'safety_gate'
    return bool(now.ending) and not by_itself and not now.declared_by.startswith('task:')


def _of_message(found: ObservationField | Reading, values: object, *, clipped: bool) -> Said:
    """Return what a field, or a reading, says of its message."""
    return {
        'values': values,
        'document': found.document,
        'image': None if found.image is None else found.image.sha256,
        'clipped': clipped,
        'confidence': found.confidence,
    }


def _made(spec: FieldSpec, reading: Reading) -> Said:
    """Return what a field would say of a reading."""
    values: object = reading.values
    clipped = False
    try:
        if not spec.is_image:
            values, clipped = bring_inside(reading.values, spec)
    except WRONG_INPUT as error:
        values = f'{type(error).__name__}: {error}'
    return _of_message(reading, values, clipped=clipped)
