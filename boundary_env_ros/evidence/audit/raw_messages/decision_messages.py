# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What decisions of a gate say, compared with messages: requests, measurements and commands."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np

from boundary_env_ros.core.gate.rules.document_rules import published_documents
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Measurement,
    Reason,
    Verdict,
)
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.ties import (
    LazyMessage,
    of_no_message,
    REACH,
    Tie,
    Ties,
)
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import Mismatch, same, vector
from boundary_env_ros.evidence.run_files import same_topic, STOP

# Requests ----------------------------------------------------------------------------------------


#: Requests and decisions that are remembered, or wait for each other.
_MOST = 2048

#: Different requests, or decisions, of one number that are remembered.
_ALIKE = 256

_Number: TypeAlias = tuple[str, int]


class RequestChecks:
    """
    Compares the requests of decisions with those that were published.

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
        """Compare the request of a decision with the one that was published."""
        request = decision.request
        if request is None:
            return
        if decision.verdict is not Verdict.REJECTED:
            self._granted.put(request.lease_id, None, _MOST)
        key = request.lease_id, request.sequence
        if any(same(one, request) for one in self._requests.get(key, ())):
            self._ties.count('requests', 'requests')
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
        if not published and (why := ties.why_missing() or outside or ties.why_missing(log_time)):
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


# Measurements and the emergency stop -------------------------------------------------------------


#: Nanoseconds after which a press has come to a gate that runs, be it sent once more: what got
#: lost is sent again with a heartbeat, of which Fast DDS makes one in 3 s.
SENT_AGAIN = 3 * NANOSECONDS


@dataclass(slots=True)
class _Stop:
    """
    When an emergency stop was pressed that no decision has named yet, and in which episode.

    ``sent`` is when its message was sent, and ``decided`` whether the gate was there before.
    """

    since: int | None = None
    sent: int = 0
    pressed: bool = False
    episode: str = ''
    decided: bool = False


class MeasurementChecks:
    """
    Compares decisions with the topics of sensors and of the emergency stop.

    Parameters
    ----------
    ties
        Ties values to messages.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        self._most = SENT_AGAIN + to_nanoseconds(ties.contract.safety.sensor_timeout)
        self._stops: defaultdict[str, _Stop] = defaultdict(_Stop)

    def pressed(self, agent: str, message: LazyMessage) -> None:
        """Take a message of the emergency stop."""
        reading = message.readings.get(self._ties.uses[agent][STOP])
        if reading is not None:
            stop, pressed = self._stops[agent], bool(reading.values[0])
            if pressed and not stop.pressed and stop.decided:
                stop.since, stop.sent, stop.episode = message.log_time, message.publish_time, ''
            stop.pressed = pressed

    def check(self, decision: GateDecision) -> None:
        """Tie the measurements of a decision to messages."""
        agent = decision.id.agent
        for measurement in decision.inputs.measurements:
            label = f'gate {measurement.name}'
            use = self._ties.use(agent, label)
            if use is None or not measurement.received_steady:
                continue
            # A gate goes by one message for many decisions.
            recorded = measurement.captured, measurement.topic, measurement.values
            if not self._ties.is_repeated(agent, label, recorded) or measurement.captured is None:
                self._tie(decision, measurement, use)

    def _tie(self, decision: GateDecision, measurement: Measurement, use: Input) -> None:
        place, captured = f'decision {decision.sequence}.{measurement.name}', measurement.captured
        stamped = ' of that stamp' if captured else ''
        self._ties.tie(
            Tie(
                of=decision.id,
                log_time=self._ties.now,
                kind='measurements',
                uses=[use],
                key=None if captured is None else (True, captured.nanoseconds),
                differences=partial(_of_measurement, place, measurement),
                besides=partial(_topic, place, measurement.topic),
                none=partial(of_no_message, place, use, measurement.values, stamped),
            )
        )

    def check_stop(self, decision: GateDecision, log_time: int) -> None:
        """Ask for a decision that an emergency stop was pressed, in the episode that goes on."""
        stop = self._stops[decision.id.agent]
        stop.decided = decision.sequence != 1
        # What was decided before and came later could not know.
        earlier = not self._ties.contract.sim_time and decision.decided.ros.nanoseconds < stop.sent
        if decision.inputs.emergency_stop or decision.sequence == 1:
            stop.since = None
        if earlier or stop.since is None or decision.verdict is Verdict.REJECTED:
            return
        if not stop.episode and log_time >= stop.since:
            stop.episode = decision.id.episode_id
        self._ties.asked[STOP] += 1
        late = log_time - stop.since
        if late > self._most and stop.episode == decision.id.episode_id:
            stop.since = None
            place = f'decision {decision.sequence}.emergency_stop'
            expected = f'True, {late / NANOSECONDS:.3g} s after it was pressed'
            found = Mismatch(place, expected, 'False')
            self._ties.find('emergency-stop-heard', found, decision.id)


def _of_measurement(
    place: str, measurement: Measurement, use: Input, message: LazyMessage
) -> tuple[Mismatch, ...]:
    again = message.readings[use].values
    if same(again, measurement.values):
        return ()
    why = f'{vector(again)}, of that message on {use.at}'
    return (Mismatch(f'{place}.values', why, vector(measurement.values)),)


def _topic(place: str, topic: str, use: Input, _: LazyMessage) -> tuple[tuple[str, Mismatch], ...]:
    if same_topic(use.at, topic):
        return ()
    return (('values-from-sensors', Mismatch(f'{place}.topic', repr(use.at), repr(topic))),)


# Commands and documents --------------------------------------------------------------------------


#: How many commands may be without their decisions in a record that is supported.
_ON_THEIR_WAY = 3

#: Commands and messages that wait for each other; the first ones are given up for more.
_MOST_WAITING = 4096

_LONGEST = 60

#: What is sent to a group: numbers, or a document.
Content = Vector | str


@dataclass(slots=True, eq=False)
class _Unmatched:
    """One command or document that is still without its counterpart."""

    content: Content
    stamp: int | None
    log_time: int
    decision: GateDecision | None = None
    besides: str = ''
    number: int = 0  # in the order of its topic

    def is_of(self, other: _Unmatched) -> bool:
        """Return whether another may be its counterpart: with the same stamp, if both have one."""
        return self.stamp is None or other.stamp is None or self.stamp == other.stamp


@dataclass(slots=True)
class _Pairs:
    """
    What waits for its counterpart on the topic of one group.

    Attributes
    ----------
    agent, use, start
        Whose group it is, its topic, and where it begins in the command.
    bounds
        Those of a group of numbers.
    decided, sent
        Decisions without a message, and messages without a decision.
    answers
        The stops at a command of another, which the gate may have sent again.
    last, missing
        The last decision, and how many of their numbers are not in the record.
    decided_until
        When the last decision of a step was made.
    undecided
        How many commands were excused without a decision.
    decisions, messages
        How many came.
    first_pair, last_pair
        The first and the last message that was paired, each with what was decided.

    """

    agent: str
    use: Input
    start: int = 0
    bounds: tuple[Vector, Vector] | None = None
    decided: deque[_Unmatched] = field(default_factory=deque)
    sent: deque[_Unmatched] = field(default_factory=deque)
    answers: deque[_Unmatched] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    last: GateDecision | None = None
    missing: int = 0
    decided_until: int = 0
    undecided: int = 0
    decisions: int = 0
    messages: int = 0
    first_pair: tuple[_Unmatched, _Unmatched] | None = None
    last_pair: tuple[_Unmatched, _Unmatched] | None = None

    @property
    def goes_on(self) -> bool:
        """Return whether the gate decided more than is on its topic, whose rest got lost."""
        return self.last is not None and self.decided_until > self.last.decided.steady

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
                item = _Unmatched(content, stamp, log_time, decision, number=pairs.decisions)
                partner = _pop_match(pairs.sent, item)
                if partner is not None:
                    self._pair(item, partner, pairs)
                    continue
                pairs.decided.append(item)
                if len(pairs.decided) > _MOST_WAITING:
                    self._not_sent(pairs.decided[0], pairs)

    def decided_until(self, decision: GateDecision) -> None:
        """Take a decision of a step."""
        for pairs in self.pairs.values():
            if pairs.agent == decision.id.agent:
                pairs.decided_until = decision.decided.steady

    def _documents(self, decision: GateDecision) -> Mapping[str, str]:
        """Return the documents of a decision; a payload that holds none is a finding."""
        try:
            return published_documents(decision)
        except (BoundaryError, *WRONG_INPUT) as error:
            place = f'decision {decision.sequence}.request.payload'
            found = Mismatch(place, 'an object with documents', f'{error}')
            self._ties.find('record-complete', found, decision.id)
            return {}

    def sent(self, pairs: _Pairs, message: LazyMessage) -> None:
        """Take a message of a topic."""
        reading = message.readings.get(pairs.use)
        pairs.messages += 1
        item = _Unmatched((), message.stamp, message.log_time, number=pairs.messages)
        if reading is not None:
            item.besides = reading.problem
            item.content = reading.document if pairs.bounds is None else reading.values
        partner = _pop_match(pairs.decided, item)
        if partner is not None:
            self._pair(partner, item, pairs)
            return
        pairs.sent.append(item)
        if len(pairs.sent) > _MOST_WAITING:
            self._not_decided(pairs.sent[0], pairs)

    def finish(self) -> None:
        """Judge all that is left; before the first pair and behind the last one may be missing."""
        for pairs in self.pairs.values():
            while pairs.decided:
                self._not_sent(pairs.decided[0], pairs)
            while pairs.sent:
                self._not_decided(pairs.sent[0], pairs)

    def _pair(self, decided: _Unmatched, sent: _Unmatched, pairs: _Pairs) -> None:
        """Compare what was decided with what was sent."""
        decision, use = decided.decision, pairs.use
        assert decision is not None  # what was decided was by a decision
        place = f'decision {decision.sequence}.command'
        self._ties.count('commands', use.label)
        pair = sent, decided
        first, last = pairs.first_pair or pair, pairs.last_pair or pair
        pairs.first_pair = pair if sent.number < first[0].number else first
        pairs.last_pair = pair if sent.number > last[0].number else last
        if any(result.reason is Reason.FOREIGN_PUBLISHER for result in decision.rules):
            pairs.answers.append(sent)
        self._give_up(pairs, sent, decided)
        if not _equal(decided.content, sent.content):
            expected = f'{_shown(sent.content)} as on {use.at}'
            found = Mismatch(place, expected, _shown(decided.content))
        elif sent.besides:
            expected = 'a message that says the command and nothing else'
            found = Mismatch(place, expected, f'{sent.besides} on {use.at}')
        else:
            return
        self._ties.find('command-on-topic', found, decision.id)

    def _give_up(self, pairs: _Pairs, sent: _Unmatched, decided: _Unmatched) -> None:
        """Judge what waits in vain: a later one is paired, and topics are not so late."""
        until = max(sent.log_time, decided.log_time) - REACH
        sides = (pairs.sent, sent, self._not_decided), (pairs.decided, decided, self._not_sent)
        for waiting, last, judge in sides:
            while waiting and waiting[0].number < last.number and waiting[0].log_time < until:
                judge(waiting[0], pairs)

    def _not_sent(self, item: _Unmatched, pairs: _Pairs) -> None:
        """Judge a decision for whose command there is no such message."""
        decision, use, ties = item.decision, pairs.use, self._ties
        assert decision is not None  # what was decided was by a decision
        pairs.decided.remove(item)
        first, last, outside = pairs.first_pair, pairs.last_pair, ''
        if first is None or item.number < first[1].number:
            outside = 'early'
        elif last is None or item.number > last[1].number:
            outside = 'torn'
        # A changed command has the stamp, or where there are none the place, of what was sent.
        others = (other for other in pairs.sent if item.is_of(other))
        changed = next((o for o in others if (item.stamp and o.stamp) or not outside), None)
        if changed is not None and (changed.stamp or not ties.why_missing(item.log_time)):
            pairs.sent.remove(changed)
            self._pair(item, changed, pairs)
            return
        why = outside or ties.why_missing(item.log_time)
        if why:
            ties.excuse(why, use.label)
            return
        place = f'decision {decision.sequence}.command'
        expected = f'a message on {use.at} with the stamp of `commanded`'
        found = Mismatch(place, expected, f'none of {_shown(item.content)}')
        ties.find('command-on-topic', found, decision.id)

    def _not_decided(self, item: _Unmatched, pairs: _Pairs) -> None:
        """Judge a message that is no decision's command."""
        pairs.sent.remove(item)
        answer = next((s for s in reversed(pairs.answers) if s.number < item.number), None)
        if answer is not None and item.is_of(answer) and _equal(answer.content, item.content):
            return  # said again, as it is at each command of another
        why = ''
        if pairs.is_in_bounds(item.content):
            first, last = pairs.first_pair, pairs.last_pair
            if first is None or last is None:
                why = 'early'  # The recorder knew this gate only later.
            elif item.number < first[0].number:
                why = 'early' if first[0].log_time - item.log_time < REACH else ''
            elif item.number > last[0].number:
                near = item.log_time - last[0].log_time < REACH
                why = 'torn' if near or pairs.goes_on else ''
            if not why and pairs.missing:
                pairs.missing -= 1
                why = self._ties.why_missing(item.log_time)
        if why:
            pairs.undecided += 1
            # Of more than are ever on their way each one counts.
            name = pairs.use.label
            few = pairs.undecided <= _ON_THEIR_WAY
            self._ties.excuse(why, name if few else f'{name} without a decision')
            return
        actual = f'none for {_shown(item.content)} at {item.log_time} ns'
        expected = 'a decision of the gate for each message'
        found = Mismatch(f'{pairs.use.at} of {pairs.agent}', expected, actual)
        self._ties.find('command-on-topic', found, None)


def _pop_match(others: deque[_Unmatched], item: _Unmatched) -> _Unmatched | None:
    """Take the first that has the same content out of those that wait."""
    for other in others:
        if item.is_of(other) and _equal(other.content, item.content):
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


def _shown(content: Content) -> str:
    if not isinstance(content, str):
        return vector(content)
    return content if len(content) < _LONGEST else f'{content[: _LONGEST - 3]}...'
