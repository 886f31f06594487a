# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Extreme messages of any type, made from its definition: every field, every kind of damage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rclpy.serialization import serialize_message
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    NamespacedType,
)

from boundary_env_ros.ros.conversions import message_class

#: What takes the place of every four, or eight, bytes: the ends of whole numbers of any size, no
#: number, infinity, lengths that nothing can have, and text that is none.
PATTERNS = (
    b'\xff' * 4,
    b'\xff\xff\xff\x7f',
    b'\x00\x00\x00\x80',
    b'\x00' * 4,
    b'\xff' * 8,
    b'\xff' * 7 + b'\x7f',
    b'\x00' * 7 + b'\x80',
    b'\x00' * 6 + b'\xf0\x7f',
    b'\x00' * 6 + b'\xf0\xff',
)


def sample(kind: type[Any], known: Mapping[str, str]) -> Any:
    """
    Return a message whose arrays all have an element.

    Parameters
    ----------
    kind
        Class of the message.
    known
        Value of each text field of that name, wherever it stands; other texts are short.

    """
    message = kind()
    for name, declared in zip(message.__slots__, kind.SLOT_TYPES, strict=False):
        name = name.lstrip('_')
        if name != 'check_fields':
            setattr(message, name, _value(declared, getattr(message, name), name, known))
    return message


def _value(declared: Any, present: Any, name: str, known: Mapping[str, str]) -> Any:
    if isinstance(declared, Array):
        return present
    if isinstance(declared, AbstractNestedType):
        return [_value(declared.value_type, None, name, known)]
    if isinstance(declared, NamespacedType):
        return sample(message_class('/'.join(declared.namespaced_name())), known)
    if isinstance(declared, (AbstractString, AbstractWString)):
        return known.get(name, 'text')
    assert isinstance(declared, BasicType)
    if declared.typename == 'boolean':
        return True
    if declared.typename == 'octet':
        return b'\x01'
    return 1.0 if declared.typename in ('float', 'double') else 1


def extremes(kind: type[Any], known: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the bytes of extreme messages of a type; see :func:`sample`."""
    empty, full = serialize_message(kind()), serialize_message(sample(kind, known))
    yield from (b'', b'\x00', b'\xff' * 4, b'\x00\x01\x00\x00', b'\x00\x00\x00\x00' + b'\xff' * 64)
    for whole in (empty, full):
        yield whole
        yield b'\x00\x00' + whole[2:]  # as if the other end came first
        yield whole + b'\xff' * 64
        yield from (whole[:length] for length in range(4, len(whole), 1 + len(whole) // 50))
    for pattern in PATTERNS:
        for begin in range(4, len(full) - len(pattern) + 1, 4):
            yield full[:begin] + pattern + full[begin + len(pattern) :]
