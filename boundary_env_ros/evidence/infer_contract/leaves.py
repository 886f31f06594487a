# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which numbers a message type has, and running minima and maxima of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.sources import MOST_VALUES
from boundary_env_ros.core.sources.paths import FUNCTIONS, getter
from boundary_env_ros.evidence.infer_contract.survey import Lengths, Span
from boundary_env_ros.storage.message_paths import found_at, Kind
from boundary_env_ros.storage.message_types import MessageTypes, Mismatch

Message = Any
Array = npt.NDArray[np.float64]

_DEEPEST = 8
_MOST_LEAVES = 256
#: A longer sequence has one span for all its elements.
_LONGEST = 64
_QUATERNION = 'geometry_msgs/msg/Quaternion'
#: What says when, not what; and the header, which is looked at by itself.
_TIMES = frozenset(
    ['builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration', 'std_msgs/msg/Header']
)


@dataclass(frozen=True, slots=True)
class Leaves:
    """
    The numbers of a message type.

    Attributes
    ----------
    scalars
        Field paths of single numbers, in the order of the message, rotations about each axis of a
        quaternion behind it.
    sequences
        Field paths of arrays and sequences of numbers.

    """

    scalars: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()


def leaves_of(type_name: str, types: MessageTypes) -> Leaves:
    """Return the numbers of a type; those inside sequences of messages are left out."""
    scalars: list[str] = []
    sequences: list[str] = []

    def collect(name: str, prefix: str, depth: int) -> None:
        fields = types.fields(name)
        if isinstance(fields, Mismatch) or depth > _DEEPEST:
            return
        for member in fields:
            path, found = f'{prefix}{member.name}', found_at(member)
            if found.kind is Kind.TEXT or found.type in _TIMES:
                continue
            if found.kind is Kind.MESSAGE:
                if not found.array:
                    collect(found.type, f'{path}.', depth + 1)
                    if found.type == _QUATERNION:
                        scalars.extend(f'{function}({path})' for function in FUNCTIONS)
            elif found.array:
                sequences.append(path)
            else:
                scalars.append(path)

    collect(type_name, '', 0)
    return Leaves(tuple(scalars[:_MOST_LEAVES]), tuple(sequences[:_MOST_LEAVES]))


@dataclass(slots=True)
class Running:
    """Running least and greatest value of one number, and how often it was not finite."""

    low: float = math.inf
    high: float = -math.inf
    odd: int = 0

    def see(self, value: float) -> None:
        """Take one more value."""
        if not math.isfinite(value):
            self.odd += 1
            return
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value

    def see_all(self, values: npt.ArrayLike) -> None:
        """Take many more values."""
        array = np.asarray(values, dtype=np.float64)
        finite = array[np.isfinite(array)]
        self.odd += int(array.size - finite.size)
        if finite.size:
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))

    def span(self) -> Span | None:
        """Return what was seen; None if no finite value was."""
        if self.low > self.high:
            return None
        return Span(low=self.low, high=self.high, odd=self.odd)


def spans_of(running: Mapping[str, Running]) -> dict[str, Span]:
    """Return the spans of those that had a finite value."""
    return {name: span for name, each in running.items() if (span := each.span()) is not None}


@dataclass(slots=True)
class _Sequence:
    """Running values of a sequence, element by element while its length is constant and small."""

    least: int = 2**62
    most: int = 0
    elements: list[Running] = field(default_factory=list)
    whole: Running = field(default_factory=Running)

    def see(self, values: Collection[Any]) -> None:
        size = len(values)
        self.least, self.most = min(self.least, size), max(self.most, size)
        if size > MOST_VALUES:
            return
        if self.least != self.most or size > _LONGEST:
            self.elements = []
            self.whole.see_all(numbers(values))
            return
        if not self.elements:
            self.elements = [Running() for _ in range(size)]
        for each, value in zip(self.elements, numbers(values).tolist(), strict=True):
            each.see(value)


class NumberWatch:
    """Running values of all numbers of the messages of one type, in memory that does not grow."""

    def __init__(self, leaves: Leaves) -> None:
        self._scalars = [(path, getter(path), Running()) for path in leaves.scalars]
        self._sequences = [(path, getter(path), _Sequence()) for path in leaves.sequences]

    def see(self, message: Message) -> None:
        """
        Take one more message.

        Raises
        ------
        RecordError
            If the message is not of the type.

        """
        for _, get, running in self._scalars:
            running.see(number(get(message)))
        for _, get, sequence in self._sequences:
            sequence.see(get(message))

    def spans(self) -> dict[str, Span]:
        """
        Return the spans of all numbers, by field path.

        Those of a sequence of constant length are there element by element, or, if it is long,
        one for all.
        """
        found = spans_of({path: running for path, _, running in self._scalars})
        for path, _, sequence in self._sequences:
            if sequence.least == sequence.most > _LONGEST:
                found.update(spans_of({path: sequence.whole}))
            found.update(
                spans_of({f'{path}[{i}]': each for i, each in enumerate(sequence.elements)})
            )
        return found

    def lengths(self) -> dict[str, Lengths]:
        """Return the lengths of all sequences, by field path."""
        return {
            path: Lengths(least=sequence.least, most=sequence.most)
            for path, _, sequence in self._sequences
            if sequence.least <= sequence.most
        }


def number(value: Any) -> float:
    """Return a number as a float; that of a ``byte`` is what its one byte is."""
    return float(value[0] if isinstance(value, (bytes, bytearray)) else value)


def numbers(values: Iterable[Any]) -> Array:
    """Return a sequence of numbers as an array, however the message holds it."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return np.frombuffer(values, np.uint8).astype(np.float64)
    if isinstance(values, list):
        return np.array([number(value) for value in values], dtype=np.float64)
    return np.asarray(values, dtype=np.float64)


def names(values: Iterable[Any], most: int) -> list[str]:
    """Return the first of some texts."""
    return [str(value) for value in islice(values, most)]
