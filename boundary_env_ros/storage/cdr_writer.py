# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records as the bytes of their messages, without ROS: the way back of :mod:`storage.cdr`.

The rules are those of :mod:`boundary_env_ros.core.serialization`; plain little-endian CDR, as
rosbag2 records it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import IntEnum
import math
import struct
from typing import Any, Final

from boundary_env_ros.core.serialization import element_of, hints_of, optional_of
from boundary_env_ros.core.timebase import Instant, NANOSECONDS, RosTime, Stamp
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.definitions import Field, parse_definition, PRIMITIVES

Put = Callable[[bytearray, Any], None]

_HEADER: Final = b'\x00\x01\x00\x00'
_STAMPED: Final = 'std_msgs/Header'
_PACKED: Final = {
    'bool': '?',
    'byte': 'B',
    'char': 'B',
    'int8': 'b',
    'uint8': 'B',
    'int16': 'h',
    'uint16': 'H',
    'int32': 'i',
    'uint32': 'I',
    'int64': 'q',
    'uint64': 'Q',
    'float32': 'f',
    'float64': 'd',
}


class RecordEncoder:
    """
    Makes serialized messages of the records of one class.

    Parameters
    ----------
    cls
        The class of the records, one of those that mirror messages.
    type_name, definition
        Name and definition of the message.

    Raises
    ------
    RecordError
        If the message has not the fields of the record.

    """

    def __init__(self, cls: type, type_name: str, definition: str) -> None:
        self._definitions = parse_definition(type_name, definition)
        self._made: dict[tuple[str, object], Put] = {}
        self._stamp = 0
        package, *_, name = type_name.split('/')
        self._put = self._message(f'{package}/{name}', cls)

    def __call__(self, record: object, stamp: int = 0) -> bytes:
        """
        Return a record as its message.

        Parameters
        ----------
        record
            The record.
        stamp
            What the header is stamped with, if the message has one, nanoseconds.

        """
        self._stamp = stamp
        out = bytearray()
        self._put(out, record)
        return _HEADER + bytes(out)

    def _message(self, type_name: str, cls: Any) -> Put:
        """Return what writes a message of a record; of None an empty one."""
        key = (type_name, cls)
        if key in self._made:
            return self._made[key]
        fields = self._definitions.get(type_name)
        if fields is None:
            raise RecordError(
                f'Expect the definition of {type_name}, actually: it is missing. '
                'Install the package anew.'
            )
        if cls is RosTime:
            self._made[key] = _put_time
            return _put_time
        is_record = is_dataclass(cls)
        hints = dict(hints_of(cls)) if is_record else {}
        lacking = sorted(hints.keys() - {field.name for field in fields})
        if lacking:
            raise RecordError(
                f'Expect a field {lacking[0]!r} in {type_name}, actually: it has none. '
                'Build the messages of this version of the package.'
            )
        puts = tuple(
            (field.name, self._field(field, hints[field.name]))
            if field.name in hints
            else ('', self._left_out(field))
            for field in fields
        )

        def put(out: bytearray, value: Any) -> None:
            for name, write in puts:
                write(out, getattr(value, name) if name and value is not None else None)
            if not puts:
                out.append(0)  # An empty message has one byte on the wire.

        self._made[key] = put
        return put

    def _field(self, field: Field, hint: Any) -> Put:
        """Return what writes a field as its hint says; of None what stands for unknown."""
        inner, element = optional_of(hint), element_of(hint)
        if field.type in PRIMITIVES:
            if hint is bytes:
                return _put_bytes(field)
            if field.array:
                return _put_array(field, _put_primitive(field.type, element))
            return _put_primitive(field.type, hint if inner is None else inner, unknown=inner)
        if field.array:
            one = self._message(field.type, element if element is not None else inner)
            if element is not None:
                return _put_array(field, one)
            put_items = _put_array(field, one)
            return lambda out, value: put_items(out, () if value is None else (value,))
        return self._message(field.type, hint if inner not in (Stamp, Instant) else inner)

    def _left_out(self, field: Field) -> Put:
        """Return what writes a field that the record has not: empty, but for the header's time."""
        if field.array:
            if field.size is None:
                return _put_array(field, _nothing)
            one = (
                _put_primitive(field.type, None)
                if field.type in PRIMITIVES
                else self._message(field.type, None)
            )
            return _put_array(field, one)
        if field.type == _STAMPED:
            rest = self._definitions[_STAMPED][1:]

            def put(out: bytearray, value: Any) -> None:
                _put_time(out, self._stamp)
                for other in rest:
                    self._left_out(other)(out, None)

            return put
        if field.type in PRIMITIVES:
            return _put_primitive(field.type, None)
        return self._message(field.type, None)


def _nothing(out: bytearray, value: Any) -> None:
    """Write nothing: the element of a sequence that is always empty."""


def _align(out: bytearray, size: int) -> None:
    rest = len(out) % size
    if rest:
        out.extend(bytes(size - rest))


def _put_count(out: bytearray, count: int) -> None:
    _align(out, 4)
    out += struct.pack('<I', count)


def _put_time(out: bytearray, nanoseconds: Any) -> None:
    seconds, rest = divmod(nanoseconds or 0, NANOSECONDS)
    _align(out, 4)
    out += struct.pack('<iI', seconds, rest)


def _put_bytes(field: Field) -> Put:
    def put(out: bytearray, value: Any) -> None:
        data = value or b''
        if field.size is None:
            _put_count(out, len(data))
        else:
            data = data.ljust(field.size, b'\0')
        out.extend(data)

    return put


def _put_array(field: Field, one: Put) -> Put:
    def put(out: bytearray, value: Any) -> None:
        items = value if value is not None else (None,) * (field.size or 0)
        if field.size is None:
            _put_count(out, len(items))
        elif len(items) != field.size:
            items = (*items, *(None,) * field.size)[: field.size]
        for item in items:
            one(out, item)

    return put


def _put_primitive(primitive: str, hint: Any, unknown: Any = None) -> Put:
    if primitive == 'string':
        return _put_string
    if primitive not in _PACKED:
        raise RecordError(
            f'Expect numbers and strings in the messages of this package, actually: {primitive}. '
            'Build the messages of this version of the package.'
        )
    packed = struct.Struct(f'<{_PACKED[primitive]}')
    nothing: Mapping[bool, float | int] = {True: math.nan, False: 0}
    default = nothing[unknown is float]
    to_number: Callable[[Any], Any] = (
        int if isinstance(hint, type) and issubclass(hint, IntEnum) else _same
    )

    def put(out: bytearray, value: Any) -> None:
        _align(out, packed.size)
        out.extend(packed.pack(default if value is None else to_number(value)))

    return put


def _same(value: Any) -> Any:
    return value


def _put_string(out: bytearray, value: Any) -> None:
    data = (value or '').encode()
    _put_count(out, len(data) + 1)
    out.extend(data)
    out.append(0)
