# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The rules between records and messages once more, attribute by attribute: a second opinion.

The package compiles functions from and to bytes; this goes through objects that others decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from enum import IntEnum
from functools import cache
import math
import typing
from typing import Any, TypeVar

from boundary_env_ros.core.timebase import (
    ClockReading,
    FIRST_TIME,
    LAST_TIME,
    NANOSECONDS,
    RosTime,
    Stamp,
)
from boundary_env_ros.core.type_hints import element_of, hints_of, optional_of
from boundary_env_ros.errors import RecordError

T = TypeVar('T')
Message = Any  # anything with the attributes of the message


def from_message(cls: type[T], message: Message) -> T:
    """
    Return the record that a message holds.

    Its ``header``, which repeats an instant, is passed over.

    Raises
    ------
    RecordError
        If the message has not the fields of the record, or an unknown constant.

    """
    try:
        return typing.cast(T, _message_reader(_any(cls))(message))
    except (AttributeError, ValueError, TypeError) as error:
        raise RecordError(
            f'The message does not have the fields of {cls.__name__}: {error}. '
            'Was it written by another version of this package?'
        ) from error


def to_message(value: object, factory: Callable[[type], Message]) -> Message:
    """
    Return a record as a message.

    Parameters
    ----------
    value
        The record.
    factory
        Gives a new, empty message for a record class; for ``RosTime``, a
        ``builtin_interfaces/Time``.

    """
    message = factory(type(value))
    for name, hint in hints_of(type(value)).items():
        _set(message, name, getattr(value, name), hint, factory)
    return message


def _set(
    message: Message, name: str, value: Any, hint: Any, factory: Callable[[type], Message]
) -> None:
    kind = _kind(hint)
    if kind == 'number':
        setattr(message, name, value)
    elif kind == 'time':
        set_time(getattr(message, name), value)
    elif kind == 'times':
        times = [factory(_any(RosTime)) for _ in value]
        for time, nanoseconds in zip(times, value, strict=True):
            set_time(time, nanoseconds)
        setattr(message, name, times)
    elif kind == 'optional number':
        setattr(message, name, math.nan if value is None else value)
    elif kind == 'enum':
        setattr(message, name, 0 if value is None else int(value))
    elif kind == 'record':
        setattr(message, name, to_message(value, factory))
    elif kind == 'optional stamp':
        if value is not None:
            setattr(message, name, to_message(value, factory))
    elif kind == 'optional record':
        setattr(message, name, [] if value is None else [to_message(value, factory)])
    elif kind == 'records':
        setattr(message, name, [to_message(item, factory) for item in value])
    elif kind == 'bytes':
        present = getattr(message, name)
        # Fixed-size arrays are NumPy arrays in ROS messages, the others array.array.
        if hasattr(present, 'dtype'):
            present[:] = list(value)
        else:
            setattr(message, name, list(value))
    else:
        setattr(message, name, list(value))


def set_time(time: Message, nanoseconds: int) -> None:
    """Write nanoseconds to a ``builtin_interfaces/Time``, or what it can hold next to it."""
    nanoseconds = min(max(nanoseconds, FIRST_TIME), LAST_TIME)
    time.sec, time.nanosec = divmod(nanoseconds, NANOSECONDS)


@cache
def _kind(hint: Any) -> str:
    inner = optional_of(hint)
    if inner is not None:
        if inner in (Stamp, ClockReading):
            return 'optional stamp'
        if is_dataclass(inner):
            return 'optional record'
        return (
            'enum' if isinstance(inner, type) and issubclass(inner, IntEnum) else 'optional number'
        )
    element = element_of(hint)
    if element is not None:
        if element is RosTime:
            return 'times'
        return 'records' if is_dataclass(element) else 'numbers'
    if is_dataclass(hint):
        return 'record'
    if hint is bytes:
        return 'bytes'
    if hint is RosTime:
        return 'time'
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return 'enum'
    return 'number'


@cache
def _message_reader(hint: Any) -> Callable[[Message], Any]:
    inner = optional_of(hint)
    if inner is Stamp:
        read = _message_reader(inner)
        return lambda m: read(m) if m.clock else None
    if inner is ClockReading:
        read = _message_reader(inner)
        return lambda m: read(m) if m.ros.clock else None
    if inner is not None and is_dataclass(inner):
        read = _message_reader(_any(inner))
        return lambda m: read(m[0]) if len(m) else None
    if inner is float:
        return lambda m: None if math.isnan(m) else float(m)
    if inner is not None:
        read = _message_reader(_any(inner))
        return lambda m: read(m) if m else None
    element = element_of(hint)
    if element is float:
        return lambda m: tuple(map(float, m))
    if element is not None:
        read = _message_reader(element)
        return lambda m: tuple(map(read, m))
    if is_dataclass(hint):
        readers = tuple((name, _message_reader(h)) for name, h in hints_of(hint).items())
        cls: Any = hint
        return lambda m: cls(**{name: read(getattr(m, name)) for name, read in readers})
    if hint is bytes:
        return lambda m: bytes(bytearray(m))
    if hint is RosTime:
        return lambda m: RosTime(m.sec * NANOSECONDS + m.nanosec)
    return typing.cast(Callable[[Message], Any], hint)


def _any(hint: object) -> Any:
    return hint
