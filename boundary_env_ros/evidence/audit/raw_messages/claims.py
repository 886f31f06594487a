# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Values that a record says were measured: each is tied to the message that it is of.

Then it is asked whether that was the newest one which could be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.core.timebase import NANOSECONDS, Stamp
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard, measured
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, Use
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, unlike, vector

#: Messages without a stamp among which the one that a value is of is looked for.
_NEAR = 512

#: Nanoseconds by which two clocks of one host may be read apart.
READING = 2_000_000

Said = Mapping[str, object]


@dataclass(slots=True, kw_only=True)
class Claim:
    """
    What a record says was measured.

    Attributes
    ----------
    id
        The step that says so.
    kind, place
        What such claims are called in the report, and this one in findings.
    use, topic
        Where it comes from, and what the record says of that.
    captured, published
        Its stamps, as far as it has them.
    said, made
        What the record says, by name, and what it would say of a reading.
    now, got
        When it was gone by, and when its listener had the message, as log times; None if that is
        on no clock of the record.
    log_time
        When the recorder had the record.
    heard
        The message that it is of, once it is tied to one.

    """

    id: StepId
    kind: str
    place: str
    use: Use
    topic: str
    captured: Stamp | None
    published: Stamp | None = None
    said: Said
    made: Callable[[Reading], Said]
    now: int | None
    got: int | None
    log_time: int
    heard: Heard | None = None

    @property
    def who(self) -> str:
        """Return whose delays may excuse it."""
        return f'{self.id.agent} {self.use.name}'

    @property
    def delay(self) -> int:
        """Return by how much later than the recorder its listener had the message, ns."""
        return 0 if self.got is None or self.heard is None else self.got - self.heard.log_time

    def fits(self, heard: Heard) -> bool:
        """Return whether a message says the same."""
        return same(
            tuple(self.said.values()), tuple(self.made(heard.readings[self.use.name]).values())
        )


class Claims:
    """
    Ties claims to messages.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history

    def tie(self, claim: Claim) -> Heard | None:
        """Find the message that a claim is of, and compare them; None if there is no such one."""
        history, use = self._history, claim.use
        heard, again = self._supporting(claim), claim.said
        stamp = claim.captured or claim.published
        at = claim.log_time if stamp is None else stamp.nanoseconds
        if heard is not None:
            again = claim.made(heard.readings[use.name])
            if not same(tuple(again.values()), tuple(claim.said.values())):
                heard = None if history.is_another(use, heard, at) else heard
        claim.heard = heard
        if heard is None:
            if not history.missing(use, None if stamp is None else at, claim.log_time):
                values = claim.said['values']
                actual = f'{vector(values) if isinstance(values, tuple) else values} of no message'
                self.find(claim, '', f'a message on {use.topic} of that stamp', actual)
            return None
        history.took(claim.kind, use.name)
        if claim.now is not None:
            history.delayed(claim.who, claim.now, claim.delay)
        if not same_topic(use.topic, claim.topic):
            self.find(claim, '.topic', repr(use.topic), repr(claim.topic))
        self._sent(claim, heard)
        reading = heard.readings[use.name]
        if claim.kind == 'fields' and reading.problem and measured(heard, use):
            expected = f'the frame of the contract in the header on {use.topic}'
            self.find(claim, '.frame_id', expected, reading.problem, 'frame-as-contract')
        for name, made in again.items() if again != claim.said else ():
            why = f'of that message on {use.topic}'
            for found in unlike(f'{claim.place}.{name}', made, claim.said[name], why):
                history.find('values-from-sensors', found, claim.id)
        return heard

    def find(
        self,
        claim: Claim,
        place: str,
        expected: str,
        actual: str,
        rule: str = 'values-from-sensors',
    ) -> None:
        """Note what is wrong with a claim."""
        self._history.find(rule, Mismatch(f'{claim.place}{place}', expected, actual), claim.id)

    def _supporting(self, claim: Claim) -> Heard | None:
        """Return the message with the stamps of a claim, or the nearest to it."""
        history, name = self._history, claim.use.name
        window, sent = history.window(claim.use), history.log_time_of(claim.published)
        if claim.captured is not None:
            same_stamp = [
                h for h in window.stamped(claim.captured.nanoseconds) if name in h.readings
            ]
            if len(same_stamp) > 1:
                exact = [heard for heard in same_stamp if heard.publish_time == sent]
                return _fitting(claim, exact or same_stamp)
            return same_stamp[0] if same_stamp else None
        until = history.latest(claim.now)

        def possible(heard: Heard) -> bool:
            # The recorder may have had it later than its receiver: when it was sent tells more.
            at = heard.log_time if sent is None else heard.publish_time
            return heard.stamp is None and (until is None or at <= until)

        near = [] if sent is None else list(filter(possible, window.unstamped(sent)))
        candidates: Iterator[Heard] = iter(near)
        if not near:
            newest = window.newest_first(until if sent is None else None)
            candidates = self._received(claim, islice(filter(possible, newest), _NEAR))
            if sent is not None:
                # A bag that has log times only repeats them.
                candidates = (h for h in candidates if h.publish_time == h.log_time)
        return _fitting(claim, (heard for heard in candidates if measured(heard, claim.use)))

    def _received(self, claim: Claim, newest: Iterator[Heard]) -> Iterator[Heard]:
        """Yield the messages that can have been received; all if none can."""
        # Of what is repeated, as a button is, the newest may be from after it was received.
        later: list[Heard] = []
        received = False
        for heard in newest:
            if self.sent_after(claim, heard):
                later.append(heard)
            else:
                received = True
                yield heard
        if not received:
            yield from later

    def sent_after(self, claim: Claim, heard: Heard) -> int:
        """Return how long after that of a claim was received a message was sent, ns; else 0."""
        # A bag that has log times only repeats them: they tell nothing of when it was sent.
        repeated = heard.publish_time == heard.log_time
        if claim.got is None or repeated or self._history.contract.sim_time:
            return 0
        late = heard.publish_time - claim.got
        return late if late > READING else 0

    def _sent(self, claim: Claim, heard: Heard) -> None:
        """Hold the stamp of the middleware against that of the recorder."""
        sent, at = self._history.log_time_of(claim.published), heard.publish_time
        if sent is None or at == heard.log_time:
            return
        late = claim.now is not None and at > claim.now + READING
        if sent != at or late:
            expected = f'{at} as on {claim.use.topic}, before it was frozen'
            self.find(claim, '.published', expected, str(sent))

    # The newest ----------------------------------------------------------------------------------

    def announced(self, claim: Claim, step: int) -> Heard | None:
        """Return the message that everybody waited for in lockstep; None if that is not known."""
        history, heard, now = self._history, claim.heard, claim.now
        if heard is None or now is None:
            return None
        window = history.window(claim.use)
        last = history.announced(claim.use.topic, claim.id.episode_id, step)
        if last is None:
            # In one process advances are not reported: the order of the record is exact.
            return None if history.reports else window.last_before(now + 1, claim.use)
        found = window.stamped(last)
        if not found:
            return None
        if heard.stamp == last:
            # Simulated time stands still while the world is reset: another may have its stamp.
            return heard
        for heard in window.newest_first():
            if heard.number <= found[-1].number and measured(heard, claim.use):
                return heard
        return None

    def newer(self, claim: Claim, deaf: int, late: int) -> Heard | None:
        """
        Return a message behind that of a claim that its listener must have had.

        Parameters
        ----------
        claim
            The claim, tied to a message, with its instant.
        deaf
            Nanoseconds before the instant in which the listener may have received nothing. What
            receives is not what decides: while it gets no processor, nothing comes from anybody.
        late
            By how much later than the recorder it had what can be compared besides.

        """
        history, use, heard, now = self._history, claim.use, claim.heard, claim.now
        if heard is None or now is None:
            return None
        history.delayed(claim.who, now, late)
        window = history.window(use)
        if window.newer(heard, now, use) is None:
            return None
        slack = history.slack(claim.who, now, claim.delay, late)
        newest = window.newer(heard, now - slack, use)
        if newest is None:
            if window.newer(heard, now - history.floor, use) is not None:
                history.excuse('late', use.name)
        elif window.newer(heard, now - slack - deaf, use) is None:
            history.excuse('starved', use.name)
            return None
        return newest

    def not_newest(self, claim: Claim, newest: Heard, which: str) -> None:
        """Note that another message ought to have been gone by."""
        heard, use = claim.heard, claim.use
        if heard is not None:
            expected = f'{which}, {_told(newest if measured(newest, use) else heard, use)}'
            actual = f'another one, {_told(heard, use)}'
            self.find(claim, '', expected, actual, 'values-newest')


def _fitting(claim: Claim, candidates: Iterable[Heard]) -> Heard | None:
    """Return the first message that gives the value; the first of all if none does."""
    first = None
    for heard in candidates:
        if claim.fits(heard):
            return heard
        first = first or heard
    return first


def _told(heard: Heard, use: Use) -> str:
    """Return what a message says and when it is from, as text for a person."""
    reading = heard.readings[use.name]
    what = 'the image' if reading.image is not None else vector(reading.values)
    at, how = (heard.publish_time, 'sent at') if heard.stamp is None else (heard.stamp, 'stamped')
    return f'{what} {how} {at // NANOSECONDS}.{at % NANOSECONDS:09d} s'
