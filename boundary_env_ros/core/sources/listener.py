# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What arrives on the topics of one agent, and becomes the readings of the inputs of its contract.

A message is kept as it came, and decoded when an input is read from it: of a field and of most
inputs of the gate the newest counts, of all others every one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.sources.inputs import (
    acknowledgement_inputs,
    feedback_inputs,
    field_inputs,
    gate_inputs,
    Input,
    Purpose,
)
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.sources.reading import is_measured, Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.errors import OfAnother
from boundary_env_ros.frozen import replace

#: Messages of which every one counts that are kept while nobody polls.
MOST = 512


def inputs_of(
    contract: Contract, topics: Mapping[str, str], transforms: TransformFields | None = None
) -> tuple[Input, ...]:
    """
    Return all that gate and environment of one agent read, and where.

    Parameters
    ----------
    contract
        The contract.
    topics
        What each sensor topic of the contract is called where it is listened to; the others, such
        as the emergency stop, have the name that they have in the contract.
    transforms
        Takes the transforms; None: they are not read.

    """
    return tuple(
        replace(item, at=topics.get(item.topic, item.topic))
        for item in (
            *gate_inputs(contract),
            *field_inputs(contract, topics),
            *feedback_inputs(contract),
            *acknowledgement_inputs(contract),
            *(() if transforms is None else transforms.inputs),
        )
    )


@dataclass(slots=True, eq=False)
class _Arrival:
    """
    A message as it came, with what the middleware says of it, ns.

    Once it is decoded, the message itself, with its instants.
    """

    came: Any
    published: int | None = None
    arrived: int | None = None
    instants: tuple[Stamp | None, Stamp | None, Stamp | None] | None = None


@dataclass(slots=True, eq=False)
class _Topic:
    """What is read from one topic, and the messages that wait for it."""

    each: list[Input]
    newest: list[Input]
    decode: Callable[[Any], Message] | None
    waiting: deque[_Arrival]


class Listener:
    """
    Keeps what arrives, and reads the inputs from it when it is polled.

    Parameters
    ----------
    inputs
        What is read; of an input that is nowhere nothing comes.
    captured
        From the stamp of a header, ns, to when the sensor measured; None: it has none.
    middleware
        From an instant of the middleware, ns, to its stamp; None: it says nothing.
    robot_host
        Host of those who publish; empty: as ``middleware`` says.
    decoder
        Returns what decodes the messages of a type; None: they come decoded.
    kept
        Messages of a topic that are kept for an input of which the newest counts; None: all.
    transforms
        Looks up the fields that are.
    refuse
        Is told of a message that an input cannot be read from, and why; it may raise.
    on_problem
        Is told why what came last of an input cannot be used, or with nothing that it can, when
        that changes.

    Attributes
    ----------
    inputs
        Those that are somewhere.
    topics
        Where they are.
    problems
        Why what came last of each cannot be used; empty: it can.

    """

    def __init__(
        self,
        inputs: Sequence[Input],
        *,
        captured: Callable[[int | None], Stamp | None],
        middleware: Callable[[int | None], Stamp | None] = lambda nanoseconds: None,
        robot_host: str = '',
        decoder: Callable[[str], Callable[[Any], Message]] | None = None,
        kept: int | None = None,
        transforms: TransformFields | None = None,
        refuse: Callable[[Input, Exception], object],
        on_problem: Callable[[Input, str], object] = lambda item, why: None,
    ) -> None:
        self._captured, self._middleware, self._transforms = captured, middleware, transforms
        self._robot_host = robot_host
        self._refuse, self._on_problem = refuse, on_problem
        self.inputs = tuple(item for item in inputs if item.at)
        self.topics = frozenset(item.at for item in self.inputs)
        self.problems: dict[Input, str] = {}
        self._each: deque[tuple[_Topic, _Arrival]] = deque(maxlen=MOST)
        self._topics: dict[str, _Topic] = {}
        for at in dict.fromkeys(item.at for item in self.inputs):
            own = [item for item in self.inputs if item.at == at]
            each, newest = ([i for i in own if i.is_each is one] for one in (True, False))
            decode = None if decoder is None else decoder(own[0].type)
            self._topics[at] = _Topic(each, newest, decode, deque(maxlen=kept))

    def on_message(
        self, at: str, came: Any, published: int | None = None, arrived: int | None = None
    ) -> None:
        """Keep a message of one of :attr:`topics`, with what the middleware says of it, ns."""
        topic = self._topics[at]
        arrival = _Arrival(came, published, arrived)
        if topic.newest:
            topic.waiting.append(arrival)
        if topic.each:
            self._each.append((topic, arrival))

    @property
    def pending(self) -> bool:
        """Whether messages wait to be read."""
        return bool(self._each) or any(topic.waiting for topic in self._topics.values())

    def poll_each(self) -> Iterator[tuple[Input, Reading]]:
        """Yield what is read from every message, in the order in which they came."""
        while self._each:
            topic, arrival = self._each.popleft()
            for item in topic.each:
                reading = self._read(item, arrival, topic.decode)
                if reading is not None:
                    yield item, reading

    def poll_newest(self) -> Iterator[tuple[Input, Reading]]:
        """
        Yield what is read from the newest message that an input can be read from.

        Of a field one that measured nothing is yielded, too, and then the one before, for it is
        passed over.
        """
        for topic in self._topics.values():
            waiting = tuple(reversed(topic.waiting))
            topic.waiting.clear()
            for item in topic.newest:
                for arrival in waiting:
                    reading = self._read(item, arrival, topic.decode)
                    if reading is None:
                        continue
                    yield item, reading
                    is_field = item.purpose is Purpose.FIELD
                    if not is_field or is_measured(reading.values, infinite=item.infinite):
                        break

    def look_up(self, now: int) -> Iterator[tuple[Input, Reading]]:
        """Yield what fields are looked up as at present, ns, if that is new."""
        if self._transforms is None:
            return
        for item, message in self._transforms.new(now, self.note):
            reading = self._read(item, _Arrival(message), None)
            if reading is not None:
                yield item, reading

    def note(self, item: Input, why: str) -> None:
        """Take note why what came last of an input cannot be used; empty: it can."""
        before = self.problems.get(item)
        if why != before:
            self.problems[item] = why
            if why or before:
                self._on_problem(item, why)

    def _read(
        self, item: Input, arrival: _Arrival, decode: Callable[[Any], Message] | None
    ) -> Reading | None:
        """Return what an input reads from a message; None if it cannot, or is not to."""
        try:
            if arrival.instants is None:
                message = arrival.came if decode is None else decode(arrival.came)
                captured = self._captured(stamp_of(message))
                sent, arrived = map(self._middleware, (arrival.published, arrival.arrived))
                if sent is not None and self._robot_host:
                    sent = replace(sent, host=self._robot_host)
                arrival.came, arrival.instants = message, (captured, sent, arrived)
            reading = item.reading(arrival.came, *arrival.instants)
        except OfAnother:
            return None
        except Exception as error:  # noqa: BLE001 - whatever a message leads to
            self.note(item, str(error))
            self._refuse(item, error)
            return None
        self.note(item, reading.problem)
        return reading
