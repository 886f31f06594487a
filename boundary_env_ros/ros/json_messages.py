# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
ROS messages as JSON and back, from what their classes say of themselves.

The rules are those of :mod:`boundary_env_ros.core.serialization`: a number that JSON has not is
``"nan"``, ``"inf"`` or ``"-inf"``, bytes are hexadecimal digits.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from boundary_env_ros.core import serialization
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.ros.conversions import element_type, nested_class
from boundary_env_ros.storage.message_types import INTEGERS

Json = Any


def to_json(value: Any) -> Json:
    """Return a message, or a value of one, as what ``json.dumps(..., allow_nan=False)`` takes."""
    if hasattr(value, 'get_fields_and_field_types'):
        fields = value.get_fields_and_field_types()
        return {name: to_json(getattr(value, name)) for name in fields}
    if isinstance(value, (array, np.ndarray)):
        return value.tobytes().hex() if value.itemsize == 1 else to_json(value.tolist())
    if isinstance(value, list):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def from_json(kind: Any, data: Json, where: str = '') -> Any:
    """
    Return the request that plain data holds; what is left out is as in an empty message.

    Raises
    ------
    RequestRejected, RecordError
        Naming the place, if a key is unknown or a value has the wrong type.

    """
    if not isinstance(data, Mapping):
        raise serialization.wrong_value(where or 'The request', 'an object', data)
    message, fields = kind(), kind.get_fields_and_field_types()
    for name, value in data.items():
        if name not in fields:
            raise RequestRejected(
                f'{where or "The request"}: unknown key {name!r} (expected {", ".join(fields)}).'
            )
        place, of = f'{where}.{name}' if where else name, element_type(fields[name])
        if of == fields[name]:
            found = _read(value, of, place)
        elif isinstance(value, list):
            found = [_read(item, of, f'{place}[{i}]') for i, item in enumerate(value)]
        else:
            raise serialization.wrong_value(place, 'a list', value)
        setattr(message, name, found)
    return message


def _read(data: Json, name: str, where: str) -> Any:
    if '/' in name:
        return from_json(nested_class(name), data, where)
    if name == 'double':
        return serialization.from_json(float, data, where)
    fits, expected = isinstance(data, str), 'a text'
    if name in INTEGERS:
        low, high = INTEGERS[name]
        fits = type(data) is int and low <= data <= high
        expected = f'a whole number from {low} to {high}'
    elif name == 'boolean':
        fits, expected = isinstance(data, bool), 'true or false'
    elif fits and '\0' in data:
        fits, expected = False, 'a text without zero bytes'
    if not fits:
        raise serialization.wrong_value(where, expected, data)
    return data
