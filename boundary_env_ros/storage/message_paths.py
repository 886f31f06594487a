# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is at a field path of a message type, found from the definition alone.

The paths are those of :mod:`boundary_env_ros.core.sources.readers`: names and indices,
``pose.covariance[0]``, or a function of a path, ``yaw(pose.pose.orientation)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
import re

from boundary_env_ros.core.contract.problem_text import nearest
from boundary_env_ros.storage.definitions import Field, PRIMITIVES
from boundary_env_ros.storage.message_types import (
    listing,
    MessageTypes,
    Mismatch,
    TEXTS,
)

_CALL = re.compile(r'(\w+)\((.*)\)')
_PART = re.compile(r'([A-Za-z_]\w*)((?:\[\d+\])*)', re.ASCII)
_QUATERNION = ('x', 'y', 'z', 'w')


class Kind(Enum):
    """What a field of a message is, or each element of it if it is an array."""

    NUMBER = 'a number'
    FLAG = 'true or false'
    TEXT = 'a text'
    MESSAGE = 'a message'


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """
    What is at a path.

    Attributes
    ----------
    kind
        What it is; of an array, what each element is.
    type
        A primitive, or ``package/msg/Name``.
    array
        Whether it is an array or a sequence.
    size
        Number of elements of an array of fixed size; None for a sequence, and for no array.
    most
        Greatest number of elements of a sequence; None if it has no bound, and for no array.

    """

    kind: Kind
    type: str
    array: bool = False
    size: int | None = None
    most: int | None = None

    @property
    def is_number(self) -> bool:
        """Return whether one number can be read there; that of true and false is 1 and 0."""
        return not self.array and self.kind in (Kind.NUMBER, Kind.FLAG)

    @property
    def is_numbers(self) -> bool:
        """Return whether it is a sequence of numbers."""
        return self.array and self.kind in (Kind.NUMBER, Kind.FLAG)

    def __str__(self) -> str:
        """Describe it, for the `actually` of an error."""
        if not self.array:
            return self.kind.value if self.kind is not Kind.MESSAGE else f'a message ({self.type})'
        item = {
            Kind.NUMBER: 'numbers',
            Kind.FLAG: 'flags',
            Kind.TEXT: 'texts',
            Kind.MESSAGE: f'messages ({self.type})',
        }[self.kind]
        if self.size is not None:
            return f'an array of {self.size} {item}'
        return f'a sequence of {item}' + (f', {self.most} at most' if self.most else '')


def resolve(type_name: str, path: str, types: MessageTypes) -> Found | Mismatch:
    """
    Return what is at a field path of a type, or why there is nothing.

    Parameters
    ----------
    type_name
        ``package/msg/Name``; of a service, ``package/srv/Name``, the request is looked at.
    path
        Field path.
    types
        What is known about types.

    """
    call = _CALL.fullmatch(path)
    if call is None:
        return _walk(type_name, path, types)
    inner = _walk(type_name, call[2], types)
    return inner if isinstance(inner, Mismatch) else _rotation(call[1], call[2], inner, types)


def number_at(type_name: str, path: str, types: MessageTypes) -> Found | Mismatch:
    """Return what is at a path, or why no number can be read there; see :func:`resolve`."""
    found = resolve(type_name, path, types)
    if isinstance(found, Mismatch) or found.is_number:
        return found
    return Mismatch(
        expected=f'a number at {path!r} in {type_name}',
        actual=str(found),
        hint=_into(path, found, types),
    )


def numbers_at(type_name: str, path: str, length: int, types: MessageTypes) -> Found | Mismatch:
    """
    Return what is at a path, or why no sequence of numbers can be read there.

    Parameters
    ----------
    type_name, path, types
        See :func:`resolve`.
    length
        How many numbers it is to have.

    """
    found = resolve(type_name, path, types)
    if isinstance(found, Mismatch):
        return found
    short = found.size not in (None, length) or (found.most is not None and length > found.most)
    if found.is_numbers and not short:
        return found
    return Mismatch(
        expected=f'a sequence of {length} numbers at {path!r} in {type_name}',
        actual=str(found),
        hint='' if found.is_numbers else _into(path, found, types, numbers=True),
    )


def found_at(field: Field) -> Found:
    """Return what a field of a definition is."""
    if field.type not in PRIMITIVES:
        kind, name = Kind.MESSAGE, full_name(field.type)
    elif field.type in TEXTS:
        kind, name = Kind.TEXT, field.type
    else:
        kind, name = (Kind.FLAG if field.type == 'bool' else Kind.NUMBER), field.type
    return Found(kind=kind, type=name, array=field.array, size=field.size, most=field.most)


def full_name(name: str) -> str:
    """Return ``package/msg/Name`` of the ``package/Name`` that stands in a definition."""
    package, _, last = name.partition('/')
    return f'{package}/msg/{last}'


def _walk(type_name: str, path: str, types: MessageTypes) -> Found | Mismatch:
    here = Found(kind=Kind.MESSAGE, type=type_name)
    so_far = ''
    for part in path.split('.'):
        match = _PART.fullmatch(part)
        if match is None:
            return Mismatch(
                expected='a field path, for example pose.covariance[0] or yaw(pose.orientation)',
                actual=repr(path),
            )
        step = _enter(here, so_far, match[1], type_name, types)
        if isinstance(step, Mismatch):
            return step
        here, so_far = step, f'{so_far}.{match[1]}' if so_far else match[1]
        for index in re.findall(r'\d+', match[2]):
            item = _item(here, so_far, int(index), type_name)
            if isinstance(item, Mismatch):
                return item
            here, so_far = item, f'{so_far}[{index}]'
    return here


def _enter(
    here: Found, so_far: str, name: str, type_name: str, types: MessageTypes
) -> Found | Mismatch:
    if here.array and here.kind is Kind.MESSAGE:
        return Mismatch(
            expected=f'an index after {so_far!r} in {type_name}',
            actual=str(here),
            hint=f'Write {so_far}[0].{name}, for example.',
        )
    if here.array or here.kind is not Kind.MESSAGE:
        return Mismatch(
            expected=f'a message at {so_far!r} in {type_name}, to find {name!r} in it',
            actual=str(here),
            hint=f'Let the path end with {so_far!r}.' if here.is_number else '',
        )
    fields = types.fields(here.type)
    if isinstance(fields, Mismatch):
        if here.type == type_name:
            return fields
        return replace(fields, actual=f'{fields.actual} (inside {type_name})')
    for field in fields:
        if field.name == name:
            return found_at(field)
    names = [field.name for field in fields]
    inside = f' (at {so_far!r} of {type_name})' if so_far else ''
    return Mismatch(
        expected='',
        actual=f'no field {name!r} in {here.type}{inside}',
        hint=nearest(name, names) or f'It has: {listing(names)}.',
    )


def _item(here: Found, so_far: str, index: int, type_name: str) -> Found | Mismatch:
    if not here.array:
        return Mismatch(
            expected=f'an array at {so_far!r} in {type_name}, to take element {index} of it',
            actual=str(here),
            hint=f'Write {so_far} without an index.' if here.is_number else '',
        )
    most = here.size if here.size is not None else here.most
    if most is not None and index >= most:
        return Mismatch(
            expected=f'an index below {most} for {so_far!r} in {type_name}', actual=str(index)
        )
    return replace(here, array=False, size=None, most=None)


def _rotation(function: str, path: str, inner: Found, types: MessageTypes) -> Found | Mismatch:
    result = Found(kind=Kind.NUMBER, type='float64')
    if not inner.array and inner.kind is Kind.MESSAGE:
        fields = types.fields(inner.type)
        if isinstance(fields, Mismatch):
            return fields
        numbers = {field.name for field in fields if found_at(field).is_number}
        if numbers.issuperset(_QUATERNION):
            return result
    return Mismatch(
        expected=f'a quaternion (a message with x, y, z and w) in {function}({path})',
        actual=str(inner),
    )


def _into(path: str, found: Found, types: MessageTypes, *, numbers: bool = False) -> str:
    """Return the way from what a path finds to numbers."""
    if found.array:
        return '' if found.kind is Kind.TEXT else f'Name one of them, for example {path}[0].'
    if found.kind is not Kind.MESSAGE:
        return f'List it under `fields`: [{path}].' if numbers and found.is_number else ''
    fields = types.fields(found.type)
    if isinstance(fields, Mismatch):
        return ''
    return f'Go on into it: {listing(f"{path}.{field.name}" for field in fields)}.'
