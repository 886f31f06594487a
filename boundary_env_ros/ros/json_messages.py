# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
ROS messages as JSON and back, from what their classes say of themselves.

The rules are those of :mod:`boundary_env_ros.core.serialization`: a number that JSON has not is
``"nan"``, ``"inf"`` or ``"-inf"``, bytes are hexadecimal digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
import math
import re
from typing import Any, NamedTuple

from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.ros.conversions import nested_class
from boundary_env_ros.storage.message_types import INTEGERS

Json = Any
Message = Any

_ARRAY = re.compile(
    r'sequence<(?P<element>.+?)(?:, (?P<most>\d+))?>$|(?P<fixed>.+)\[(?P<size>\d+)\]$'
)
_WORDS: Mapping[str, float] = {'nan': math.nan, 'inf': math.inf, '-inf': -math.inf}
_REALS = ('float', 'double')
_BYTES = ('uint8', 'octet')


class _Type(NamedTuple):
    """Type of a field: of its elements, and of an array how many there are at least and most."""

    name: str
    array: bool = False
    least: int = 0
    most: int | None = None


@cache
def _type(declared: str) -> _Type:
    found = _ARRAY.match(declared)
    if found is None:
        return _Type(declared)
    if found['fixed']:
        return _Type(found['fixed'], True, int(found['size']), int(found['size']))
    return _Type(found['element'], True, 0, int(found['most']) if found['most'] else None)


def _fields(kind: Any) -> Mapping[str, _Type]:
    return {name: _type(text) for name, text in kind.get_fields_and_field_types().items()}


# To JSON -----------------------------------------------------------------------------------------


def to_json(message: Message) -> Json:
    """Return a message as what ``json.dumps(..., allow_nan=False)`` takes."""
    return {name: _value(getattr(message, name), of) for name, of in _fields(message).items()}


def _value(value: Any, of: _Type) -> Json:
    if not of.array:
        return _one(value, of.name)
    if of.name in _BYTES:
        return bytes(value).hex()
    return [_one(item, of.name) for item in value]


def _one(value: Any, name: str) -> Json:
    if '/' in name:
        return to_json(value)
    if name in _REALS:
        number = float(value)
        if math.isfinite(number):
            return number
        return 'nan' if math.isnan(number) else ('inf' if number > 0 else '-inf')
    if name == 'boolean':
        return bool(value)
    return str(value) if name.startswith(('string', 'wstring')) else int(value)


# From JSON ---------------------------------------------------------------------------------------


def from_json(kind: Any, data: Json, where: str = '') -> Message:
    """
    Return the message that plain data holds; what is left out is as in an empty message.

    Raises
    ------
    RequestRejected
        Naming the place, if a key is unknown or a value has the wrong type.

    """
    if not isinstance(data, Mapping):
        raise _wrong(where, 'an object', data)
    message, fields = kind(), _fields(kind)
    for name, value in data.items():
        if name not in fields:
            raise RequestRejected(
                f'{where or "The request"}: unknown key {name!r} (expected {", ".join(fields)}).'
            )
        place = f'{where}.{name}' if where else name
        setattr(message, name, _read(value, fields[name], place))
    return message


def _read(data: Json, of: _Type, where: str) -> Any:
    if not of.array:
        return _read_one(data, of.name, where)
    if of.name in _BYTES:
        try:
            found: Any = bytes.fromhex(data)
        except (TypeError, ValueError):
            raise _wrong(where, 'hexadecimal digits', data) from None
    elif isinstance(data, list):
        found = [_read_one(item, of.name, f'{where}[{i}]') for i, item in enumerate(data)]
    else:
        raise _wrong(where, 'a list', data)
    if len(found) < of.least or (of.most is not None and len(found) > of.most):
        raise _wrong(where, f'{of.least} to {of.most} elements', data)
    return list(found)


def _read_one(data: Json, name: str, where: str) -> Any:
    if '/' in name:
        return from_json(nested_class(name), data, where)
    if name in _REALS:
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            try:
                return float(data)
            except OverflowError:
                pass
        elif isinstance(data, str) and data in _WORDS:
            return _WORDS[data]
        raise _wrong(where, 'a number, "nan", "inf" or "-inf"', data)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        if type(data) is int and low <= data <= high:
            return data
        raise _wrong(where, f'a whole number from {low} to {high}', data)
    wanted: type = bool if name == 'boolean' else str
    if type(data) is not wanted:
        raise _wrong(where, 'true or false' if wanted is bool else 'a text', data)
    if wanted is str and '\0' in str(data):
        raise _wrong(where, 'a text without zero bytes', data)
    return data


def _wrong(where: str, expected: str, data: Json) -> RequestRejected:
    shown = repr(data)
    return RequestRejected(
        f'{where or "The request"}: expected {expected}, '
        f'got {shown if len(shown) < 60 else shown[:57] + "..."}.'
    )
