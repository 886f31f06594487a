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

A record of another version may lack a field, or have one more: see :class:`Unlike`.

JSON is read and written here; messages, from and to their bytes, by ``storage.cdr`` and
``storage.cdr_writer``, which compile the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, MISSING
import json
import math
import typing
from typing import Any, TypeVar

from boundary_env_ros.core.type_hints import hints_of, walker
from boundary_env_ros.errors import RecordError
from boundary_env_ros.terminal import one_line

T = TypeVar('T')
Json = Any  # what json.loads gives: recursive, which the type checker does not follow


# Records of other versions ----------------------------------------------------------------------

# Fields whose lack says something: who wrote a record without them had no key.
_NEVER_MISSING = frozenset({'authentication'})


@dataclass(slots=True)
class Unlike:
    """
    What records of another version have otherwise than their classes here.

    Attributes
    ----------
    exact
        Whether they are of the format of this version, which has all of its fields and no others.
    unknown, passed_over
        Fields that they lack, and fields that only they have, as ``Class.field``, each with the
        number of messages that are so; in JSON of the objects.

    """

    exact: bool = False
    unknown: dict[str, int] = field(default_factory=dict)
    passed_over: dict[str, int] = field(default_factory=dict)

    def add(self, unknown: Iterable[str], passed_over: Iterable[str], times: int = 1) -> None:
        """Count fields."""
        for counts, names in ((self.unknown, unknown), (self.passed_over, passed_over)):
            counts.update({name: counts.get(name, 0) + times for name in names})

    def match(self, cls: Any, present: Collection[str], where: str) -> dict[str, Any]:
        """
        Count in what the fields of a record are unlike, and return those that it lacks: unknown.

        A field may be lacking if it is declared with a default, and its type can say that it is
        unknown: None, NaN, an empty text or array; never a number, true or false, or a constant.

        Raises
        ------
        RecordError
            If one is lacking without which a record means nothing; in what is exact, if any is
            lacking or too many.

        """
        hints = hints_of(cls)
        unknown = {name: _unknown(hint) for name, hint in hints.items() if name not in present}
        for each in fields(cls):
            has_default = (each.default, each.default_factory) != (MISSING, MISSING)
            known = has_default and unknown.get(each.name) is not MISSING
            lacks = each.name in unknown and each.name not in _NEVER_MISSING
            if lacks and (self.exact or not known):
                why = 'which its format has' if known else 'without which it means nothing'
                raise RecordError(
                    f'{where} cannot be read (expected the field {each.name!r}, {why}, got none). '
                    'Read it with the version of this package that made it.'
                )
        only = [name for name in present if name not in hints]
        if self.exact and only:
            raise RecordError(
                f'{where} cannot be read (expected the fields of this format, got {only[0]!r}). '
                'Look for an edit.'
            )
        counted = [name for name in unknown if name not in _NEVER_MISSING]
        lacking, passed = ([f'{cls.__name__}.{n}' for n in names] for names in (counted, only))
        self.add(lacking, passed)
        return unknown

    def sentences(self) -> Iterator[str]:
        """Yield what a person is to know of it."""
        for what, counts in (('lack', self.unknown), ('have, unknown here', self.passed_over)):
            if counts:
                named = [f'{name} ({count} times)' for name, count in sorted(counts.items())]
                yield one_line(f'The records {what}: {", ".join(named)}.')


def _of_parts(cls: Any, parts: Mapping[str, Any]) -> Any:
    return MISSING if MISSING in parts.values() else cls(**parts)


#: From a type to what a value of it is that is not known; MISSING if the type has none.
_unknown = walker(
    optional=lambda _: None,
    sequence=lambda _: (),
    record=_of_parts,
    enum=lambda _: MISSING,
    plain=lambda kind: {float: math.nan, str: '', bytes: b''}.get(kind, MISSING),
)


# JSON --------------------------------------------------------------------------------------------


def to_json(value: object) -> Json:
    """Return a record as what ``json.dumps(..., allow_nan=False)`` takes."""
    return _json_writer(type(value))(value)


def from_json(cls: type[T], data: Json, where: str = '', unlike: Unlike | None = None) -> T:
    """
    Return the record that plain data holds; where it may be unlike its class, count in what.

    Raises
    ------
    RecordError
        Naming the place, if a key is missing without which a record means nothing, or a value
        has the wrong type.

    """
    read = _json_reader(cls)
    return typing.cast(T, read(data, where or cls.__name__, unlike or Unlike(exact=True)))


def json_schema(cls: type) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of what :func:`to_json` makes of a record."""
    definitions: dict[str, Json] = {}

    def record(cls: Any, parts: Mapping[str, Json]) -> Json:
        definitions[cls.__name__] = {
            'type': 'object',
            'properties': parts,
            'required': list(parts),
            'additionalProperties': False,
        }
        return {'$ref': f'#/$defs/{cls.__name__}'}

    schema_of = walker(
        optional=lambda inner: {'anyOf': [inner, {'type': 'null'}]},
        sequence=lambda element: {'type': 'array', 'items': element},
        record=record,
        enum=lambda cls: {'enum': [member.name for member in cls]},
        plain=_PLAIN_SCHEMAS.__getitem__,
    )
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': cls.__name__,
        **schema_of(cls),
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


def _float_from_json(data: Json, where: str, _: object = None) -> float:
    if type(data) is float:
        return data
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise wrong_value(where, 'a number that a float64 can hold', data) from None
    if data in ('nan', 'inf', '-inf'):
        return float(data)
    raise wrong_value(where, 'a number, "nan", "inf" or "-inf"', data)


_Write = Callable[[Any], Any]


def _writer(plain: Mapping[Any, _Write]) -> Callable[[Any], _Write]:
    """
    Return what gives for each type what makes plain data of its values.

    Parameters
    ----------
    plain
        How values of plain types are written; others stay as they are.

    """
    return walker(
        optional=lambda write: lambda value: None if value is None else write(value),
        sequence=lambda write: lambda value: [write(item) for item in value],
        record=lambda _, parts: (
            lambda value: {name: write(getattr(value, name)) for name, write in parts.items()}
        ),
        enum=lambda _: lambda value: value.name,
        plain=lambda kind: plain.get(kind, lambda value: value),
    )


#: From a type to what makes dictionaries, lists and plain values of its values.
plain_writer = _writer({})
# As JSON, a number that is not finite is a text, and bytes are hexadecimal digits.
_json_writer = _writer({float: _float_to_json, bytes: bytes.hex})

_Read = Callable[[Json, str, Unlike], Any]


def _read_optional(read: _Read) -> _Read:
    return lambda data, where, unlike: None if data is None else read(data, where, unlike)


def _read_list(read: _Read) -> _Read:
    def read_list(data: Json, where: str, unlike: Unlike) -> Any:
        if not isinstance(data, list):
            raise wrong_value(where, 'a list', data)
        return tuple(read(item, f'{where}[{i}]', unlike) for i, item in enumerate(data))

    return read_list


def _read_record(cls: Any, readers: Mapping[str, _Read]) -> _Read:
    def read_record(data: Json, where: str, unlike: Unlike) -> Any:
        if not isinstance(data, dict):
            raise wrong_value(where, f'an object ({cls.__name__})', data)
        values = {} if data.keys() == readers.keys() else unlike.match(cls, data, where)
        for name, read in readers.items():
            if name in data:
                values[name] = read(data[name], f'{where}.{name}', unlike)
        return cls(**values)

    return read_record


def _read_enum(cls: Any) -> _Read:
    names = {member.name: member for member in cls}

    def read_enum(data: Json, where: str, _: Unlike) -> Any:
        if not isinstance(data, str) or data not in names:
            raise wrong_value(where, f'one of {", ".join(names)}', data)
        return names[data]

    return read_enum


def _read_plain(kind: Any) -> _Read:
    if kind in (float, bytes):
        return _float_from_json if kind is float else _bytes_from_json

    def read_plain(data: Json, where: str, _: Unlike) -> Any:
        if type(data) is not kind:
            raise wrong_value(where, f'a value of type {kind.__name__}', data)
        return data

    return read_plain


def _bytes_from_json(data: Json, where: str, _: Unlike) -> bytes:
    try:
        return bytes.fromhex(data)
    except (TypeError, ValueError):
        raise wrong_value(where, 'hexadecimal digits', data) from None


_json_reader = walker(
    optional=_read_optional,
    sequence=_read_list,
    record=_read_record,
    enum=_read_enum,
    plain=_read_plain,
)


def json_object(text: str) -> dict[str, Json]:
    """
    Return the JSON object that a text holds; an empty text holds an empty one.

    Raises
    ------
    ValueError
        If it holds none, with the reason.

    """
    try:
        found = json.loads(text or '{}')
    except RecursionError:
        raise ValueError('it is nested too deeply') from None
    if not isinstance(found, dict):
        raise ValueError(f'it holds {text[:80]!r}')
    return found


def wrong_value(where: str, expected: str, data: Json) -> RecordError:
    """Return the error of plain data that is not what belongs at its place."""
    shown = repr(data)
    return RecordError(
        f'{where}: expected {expected}, got {shown if len(shown) < 60 else shown[:57] + "..."}.'
    )
