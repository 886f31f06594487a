# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records as plain data and back, from the type hints of their dataclasses.

There is one rule for each kind of value, the same for every record:

===================  =========================================  ===============================
Python               JSON form                                  message
===================  =========================================  ===============================
``float``            number, or ``"nan"`` ``"inf"`` ``"-inf"``  float64
``float | None``     number or null                             float64, NaN for None
``Stamp | None``     object or null                             CLOCK_UNKNOWN for None
``ClockReading | None``   object or null                             CLOCK_UNKNOWN for None
other ``X | None``   object or null                             array of at most one
enum                 its name                                   its number, 0 for None
``bytes``            hexadecimal                                uint8[]
``RosTime``          number (nanoseconds)                       builtin_interfaces/Time
``tuple[X, ...]``    list                                       array
===================  =========================================  ===============================

JSON is read and written here; messages, from and to their bytes, by ``storage.cdr`` and
``storage.cdr_writer``, which compile the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
import math
from types import UnionType
import typing
from typing import Any, TypeVar, Union

from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.errors import RecordError

T = TypeVar('T')
Json = Any  # what json.loads gives: recursive, which the type checker does not follow


# JSON --------------------------------------------------------------------------------------------


def to_json(value: object) -> Json:
    """Return a record as what ``json.dumps(..., allow_nan=False)`` takes."""
    return plain_writer(_any(type(value)), as_json=True)(value)


def from_json(cls: type[T], data: Json, where: str = '') -> T:
    """
    Return the record that plain data holds.

    Raises
    ------
    RecordError
        Naming the place, if a key is missing or unknown, or a value has the wrong type.

    """
    return typing.cast(T, _json_reader(_any(cls))(data, where or cls.__name__))


def json_schema(cls: type) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of what :func:`to_json` makes of a record."""
    definitions: dict[str, Json] = {}

    def of(hint: Any) -> Json:
        inner = optional_of(hint)
        if inner is not None:
            return {'anyOf': [of(inner), {'type': 'null'}]}
        element = element_of(hint)
        if element is not None:
            return {'type': 'array', 'items': of(element)}
        if is_dataclass(hint):
            name = _any(hint).__name__
            if name not in definitions:
                definitions[name] = {}  # it may hold one of its own kind
                keys = {key: of(each) for key, each in hints_of(_any(hint))}
                definitions[name] = {
                    'type': 'object',
                    'properties': keys,
                    'required': list(keys),
                    'additionalProperties': False,
                }
            return {'$ref': f'#/$defs/{name}'}
        if isinstance(hint, type) and issubclass(hint, IntEnum):
            return {'enum': [member.name for member in hint]}
        return _PLAIN_SCHEMAS[int if hint is RosTime else hint]

    top = of(cls)
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': cls.__name__,
        **top,
        '$defs': definitions,
    }


_PLAIN_SCHEMAS: dict[Any, Json] = {
    float: {'anyOf': [{'type': 'number'}, {'enum': ['nan', 'inf', '-inf']}]},
    int: {'type': 'integer'},
    bool: {'type': 'boolean'},
    str: {'type': 'string'},
    bytes: {'type': 'string', 'pattern': '^([0-9a-f]{2})*$'},
}


def _float_to_json(value: float) -> Json:
    if math.isfinite(value):
        return value
    return 'nan' if math.isnan(value) else ('inf' if value > 0 else '-inf')


def _float_from_json(data: Json, where: str) -> float:
    if type(data) is float:
        return data
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise _wrong(where, 'a number that a float64 can hold', data) from None
    if data in ('nan', 'inf', '-inf'):
        return float(data)
    raise _wrong(where, 'a number, "nan", "inf" or "-inf"', data)


@cache
def plain_writer(hint: Any, *, as_json: bool) -> Callable[[Any], Any]:
    """
    Return what makes dictionaries, lists and plain values of the values of a type.

    As JSON, a number that is not finite is a text, and bytes are hexadecimal digits.
    """
    inner = optional_of(hint)
    if inner is not None:
        write = plain_writer(inner, as_json=as_json)
        return lambda value: None if value is None else write(value)
    element = element_of(hint)
    if element is not None:
        write = plain_writer(element, as_json=as_json)
        return lambda value: [write(item) for item in value]
    if is_dataclass(hint):
        parts = hints_of(_any(hint))
        writers = tuple((name, plain_writer(h, as_json=as_json)) for name, h in parts)
        return lambda value: {name: write(getattr(value, name)) for name, write in writers}
    if as_json and hint is float:
        return _float_to_json
    if as_json and hint is bytes:
        return bytes.hex
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return lambda value: value.name
    return lambda value: value


@cache
def _json_reader(hint: Any) -> Callable[[Json, str], Any]:
    inner = optional_of(hint)
    if inner is not None:
        read = _json_reader(inner)
        return lambda data, where: None if data is None else read(data, where)
    element = element_of(hint)
    if element is not None:
        read = _json_reader(element)

        def read_list(data: Json, where: str) -> Any:
            if not isinstance(data, list):
                raise _wrong(where, 'a list', data)
            return tuple(read(item, f'{where}[{i}]') for i, item in enumerate(data))

        return read_list
    if is_dataclass(hint):
        return _json_record_reader(hint)
    if hint is float:
        return _float_from_json
    if hint is bytes:
        return _bytes_from_json
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        names = {member.name: member for member in hint}

        def read_enum(data: Json, where: str) -> Any:
            if not isinstance(data, str) or data not in names:
                raise _wrong(where, f'one of {", ".join(names)}', data)
            return names[data]

        return read_enum

    plain = int if hint is RosTime else hint

    def read_plain(data: Json, where: str) -> Any:
        if type(data) is not plain:
            raise _wrong(where, f'a value of type {plain.__name__}', data)
        return data

    return read_plain


def _json_record_reader(cls: Any) -> Callable[[Json, str], Any]:
    readers = {name: _json_reader(hint) for name, hint in hints_of(cls)}

    def read(data: Json, where: str) -> Any:
        if not isinstance(data, dict):
            raise _wrong(where, f'an object ({cls.__name__})', data)
        if data.keys() != readers.keys():
            for name in readers:
                if name not in data:
                    raise RecordError(f'{where}: the key {name!r} is missing.')
            unknown = next(key for key in data if key not in readers)
            raise RecordError(f'{where}: unknown key {unknown!r}.')
        return cls(**{name: read(data[name], f'{where}.{name}') for name, read in readers.items()})

    return read


def _bytes_from_json(data: Json, where: str) -> bytes:
    try:
        return bytes.fromhex(data)
    except (TypeError, ValueError):
        raise _wrong(where, 'hexadecimal digits', data) from None


def _wrong(where: str, expected: str, data: Json) -> RecordError:
    shown = repr(data)
    return RecordError(
        f'{where}: expected {expected}, got {shown if len(shown) < 60 else shown[:57] + "..."}.'
    )


def _any(hint: object) -> Any:
    # functools.cache asks for a Hashable, which mypy does not see in a class.
    return hint


# Type hints --------------------------------------------------------------------------------------


@cache
def hints_of(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and type hint of each field of a record class."""
    hints = typing.get_type_hints(cls)
    return tuple((field.name, hints[field.name]) for field in fields(cls))


def optional_of(hint: Any) -> Any:
    """Return X of ``X | None``, else None."""
    if typing.get_origin(hint) in (Union, UnionType):
        arguments = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(arguments) == 1:
            return arguments[0]
    return None


def element_of(hint: Any) -> Any:
    """Return X of ``tuple[X, ...]``, else None."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None
