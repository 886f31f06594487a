# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records, and fields of any message, as bytes, without ROS: the way back of :mod:`storage.cdr`.

The rules are those of :mod:`boundary_env_ros.core.serialization`; plain little-endian CDR, as
rosbag2 records it. For each record class and message definition functions are generated, once.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
import struct
from typing import Any, Final

from boundary_env_ros.core.timebase import FIRST_TIME, LAST_TIME, NANOSECONDS, RosTime
from boundary_env_ros.core.type_hints import element_of, hints_of, is_record, optional_of
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import any_hint, CODES, compiled, HEADER, UNKNOWN_BY
from boundary_env_ros.storage.definitions import Field, parse_definition, PRIMITIVES

_HEADER: Final = b'\x00\x01\x00\x00'
_PACKED: Final[Mapping[str, str]] = {name: code for name, (code, *_) in CODES.items()}
# No alignment is greater.
_MOST: Final = 8


class RecordEncoder:
    """
    Makes serialized messages of the records of one class.

    Parameters
    ----------
    cls
        The class of the records, one of those that mirror messages; ``Mapping``: nested mappings
        of the fields of any message. What is left out has its default; a key that is no field of
        the message is not written.
    type_name, definition
        Name and definition of the message.

    Raises
    ------
    RecordError
        If the message has not the fields of the record, or has one that cannot be written.

    """

    def __init__(self, cls: type, type_name: str, definition: str) -> None:
        package, *_, name = type_name.split('/')
        source = _WriterSource(parse_definition(type_name, definition))
        self._put = compiled(source.writer(f'{package}/{name}', cls), source.lines, source.names)

    def __call__(self, record: object, stamp: int = 0) -> bytes:
        """
        Return a record as its message.

        Parameters
        ----------
        record
            The record.
        stamp
            What the header is stamped with, if the message has one, nanoseconds; those of
            messages within it are not.

        """
        out = bytearray()
        self._put(out, record, stamp)
        return _HEADER + out


class _WriterSource:
    """
    Source text of functions ``w0, w1, ...``, which append a value ``v`` to the bytes ``b``.

    Names in the text are our own and those of the fields of record classes.
    """

    def __init__(self, definitions: Mapping[str, tuple[Field, ...]]) -> None:
        self._definitions = definitions
        self.lines: list[str] = []
        self.names: dict[str, object] = {'nan': math.nan, 'pack': struct.pack}
        self._writers: dict[tuple[str, object], str] = {}

    def writer(self, type_name: str, cls: Any) -> str:
        """Return the name of the function for a message of a record class; None: an empty one."""
        key = (type_name, cls)
        if key not in self._writers:
            name = self._writers[key] = f'w{len(self._writers)}'
            body = _Body(self)
            body.message(type_name, cls, 'v' if cls is not None else None, 's')
            body.flush()
            self.lines += [f'def {name}(b, v, s):', *(f'    {line}' for line in body.lines)]
        return self._writers[key]

    def fields(self, type_name: str, cls: Any) -> tuple[tuple[Field, Any], ...]:
        """Return the fields of a message with their hints; None for what the record has not."""
        fields = self._definitions.get(type_name)
        if fields is None:
            raise RecordError(f'The definition of {type_name} is missing. Reinstall the package.')
        hints = hints_of(cls) if is_record(cls) else {}
        lacking = sorted(hints.keys() - {field.name for field in fields})
        if lacking:
            raise RecordError(
                f'{type_name} has no field {lacking[0]!r}. '
                'Build the messages of this version of the package.'
            )
        return tuple((field, hints.get(field.name)) for field in fields)

    def packer(self, codes: str) -> str:
        """Return the name of functions that pack numbers, by where they begin, modulo 8."""
        name = f'p_{codes.replace("?", "0")}'
        if name not in self.names:
            self.names[name] = tuple(_padded(codes, start).pack for start in range(_MOST))
        return name


def _padded(codes: str, at: int) -> struct.Struct:
    """Return what packs numbers that begin somewhere, each aligned to its size."""
    text = '<'
    for code in codes:
        size = struct.calcsize(f'<{code}')
        text += 'x' * (-at % size) + code
        at += -at % size + size
    return struct.Struct(text)


class _Body:
    """Lines of one function; numbers that follow each other are packed together."""

    def __init__(self, source: _WriterSource) -> None:
        self.lines: list[str] = []
        self._source = source
        self._run: list[tuple[str, str]] = []
        self._variables = 0

    def message(self, type_name: str, cls: Any, value: str | None, stamp: str = '0') -> None:
        """Write a message of a record; of None what stands for unknown."""
        if cls is RosTime:
            self._time(f'({value} or 0)' if value else '0')
            return
        fields = self._source.fields(type_name, cls)
        if cls is Mapping:
            value = self._kept(f'{value}')
        for field, hint in fields:
            if cls is Mapping:
                given = f'{value}.get({field.name!r}, {_absent(field)})'
                self._field(field, any_hint(field, Mapping), given)
            elif field.type == HEADER and hint is None and not field.array:
                self._time(stamp)
                for other, _ in self._source.fields(HEADER, None)[1:]:
                    self._field(other, None, None)
            else:
                known = value is not None and hint is not None
                self._field(field, hint, f'{value}.{field.name}' if known else None)
        if not fields:
            self._run.append(('B', '0'))  # An empty message has one byte on the wire.

    def _field(self, field: Field, hint: Any, value: str | None) -> None:
        inner, element = optional_of(hint), element_of(hint)
        if field.type == 'wstring' or (
            field.size is not None and hint is not bytes and not field.is_numbers
        ):
            raise RecordError(
                'Unknown type in a message (expected numbers, strings, sequences and arrays of '
                f'numbers, got {field}). Build the messages of this version of the package.'
            )
        if hint is bytes:
            self._bytes(field, value)
        elif field.array:
            self._array(field, inner if element is None else element, inner is not None, value)
        elif field.type == 'string':
            self._string(value)
        elif field.type in PRIMITIVES:
            unknown = 'nan' if inner is float else '0'
            if value is not None and inner is not None:
                value = f'({unknown} if (o := {value}) is None else o)'
            self._run.append((_PACKED[field.type], unknown if value is None else value))
        elif inner in UNKNOWN_BY and value is not None:
            self.flush()
            known = self._source.writer(field.type, inner)
            kept = self._kept(value)
            self.lines.append(f'if {kept} is not None: {known}(b, {kept}, 0)')
            self.lines.append(f'else: {self._source.writer(field.type, None)}(b, None, 0)')
        else:
            self.message(field.type, hint if inner is None else inner, value)

    def _bytes(self, field: Field, value: str | None) -> None:
        data = self._kept(value or "b''")
        if field.size is None:
            self._run.append(('I', f'len({data})'))
        self.flush()
        self.lines.append(f'b += {data}' + (f".ljust({field.size}, b'\\0')" if field.size else ''))

    def _string(self, value: str | None) -> None:
        if value is None:
            self._run += [('I', '1'), ('B', '0')]
            return
        data = self._kept(f"({value} or '').encode() + b'\\0'")
        self._run.append(('I', f'len({data})'))
        self.flush()
        self.lines.append(f'b += {data}')

    def _array(self, field: Field, element: Any, at_most_one: bool, value: str | None) -> None:
        if value is None and field.size is None:
            self._run.append(('I', '0'))
            return
        number, items = _PACKED.get(field.type), self._kept(value or _absent(field))
        if at_most_one:
            self.lines.append(f'{items} = () if {items} is None else ({items},)')
        if field.size is None:
            self._run.append(('I', f'len({items})'))
        self.flush()
        if number is not None:
            size = struct.calcsize(f'<{number}')
            if size > 1:
                self.lines.append(f'if len({items}): b += bytes(-len(b) % {size})')
            count = f'{{len({items})}}' if field.size is None else field.size
            self.lines.append(f"b += pack(f'<{count}{number}', *{items})")
            return
        one = _Body(self._source)
        one._variables = self._variables
        if field.type == 'string':
            one._string('i')
        elif element is RosTime:
            one._time('i')
        else:
            one.lines.append(f'{self._source.writer(field.type, element)}(b, i, 0)')
        one.flush()
        self.lines += [f'for i in {items}:', *(f'    {line}' for line in one.lines)]

    def _time(self, nanoseconds: str) -> None:
        time = self._kept(f'min(max({nanoseconds}, {FIRST_TIME}), {LAST_TIME})')
        self._run += [('i', f'{time} // {NANOSECONDS}'), ('I', f'{time} % {NANOSECONDS}')]

    def _kept(self, value: str) -> str:
        """Return a variable with a value."""
        self._variables += 1
        self.lines.append(f't{self._variables} = {value}')
        return f't{self._variables}'

    def flush(self) -> None:
        """Write the numbers that were put off."""
        if self._run:
            packer = self._source.packer(''.join(code for code, _ in self._run))
            values = ', '.join(value for _, value in self._run)
            self.lines.append(f'b += {packer}[len(b) & {_MOST - 1}]({values})')
            self._run.clear()


def _absent(field: Field) -> str:
    """Return the source text of what a field is that a mapping leaves out."""
    if field.array:
        zero = "b'\\0'" if field.type in ('uint8', 'byte') else '(0,)'
        return f'{zero} * {field.size or 0}'
    return '{}' if field.is_message else "''" if field.is_text else field.default or '0'
