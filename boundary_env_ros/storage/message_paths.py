# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is at a field path of a message type, found from the definition alone.

The paths are those of :mod:`boundary_env_ros.core.sources.readers`: names and indices,
``pose.covariance[0]``, or a function of a path, ``yaw(pose.pose.orientation)``.
"""

from __future__ import annotations

import re

from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.core.contract.problem_text import nearest
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.definitions import Field, full_name
from boundary_env_ros.storage.message_types import listing, MessageTypes, TypeMismatch

_PART = re.compile(r'([A-Za-z_]\w*)((?:\[\d+\])*)', re.ASCII)
_QUATERNION = ('x', 'y', 'z', 'w')


def resolve(type_name: str, path: str, types: MessageTypes) -> Field:
    """
    Return the field, or the element of one, at a field path of a type.

    Parameters
    ----------
    type_name
        ``package/msg/Name``; of a service, ``package/srv/Name``, the request is looked at.
    path
        Field path.
    types
        What is known about types.

    Raises
    ------
    Mismatch
        If there is nothing, and why.

    """
    function, place = split_call(path)
    inner = _walk(type_name, place, types)
    if not function:
        return inner
    if inner.is_message and not inner.array:
        fields = types.fields(full_name(inner.type))
        if {field.name for field in fields if field.is_number}.issuperset(_QUATERNION):
            return Field(name=function, type='float64')
    raise TypeMismatch(
        expected=f'a quaternion (a message with x, y, z and w) in {path}', actual=str(inner)
    )


def number_at(type_name: str, path: str, types: MessageTypes) -> Field:
    """Return what is at a path; raise why no number can be read there: :func:`resolve`."""
    found = resolve(type_name, path, types)
    if found.is_number:
        return found
    raise TypeMismatch(
        expected=f'a number at {path!r} in {type_name}',
        actual=str(found),
        hint=_into(path, found, types),
    )


def numbers_at(type_name: str, path: str, length: int, types: MessageTypes) -> Field:
    """
    Return what is at a path; raise why no sequence of numbers can be read there.

    Parameters
    ----------
    type_name, path, types
        See :func:`resolve`.
    length
        How many numbers it is to have.

    """
    found = resolve(type_name, path, types)
    short = found.size not in (None, length) or (found.most is not None and length > found.most)
    if found.is_numbers and not short:
        return found
    hint = '' if found.is_numbers else _into(path, found, types)
    if found.is_number:
        hint = f'List it under `fields`: [{path}].'
    raise TypeMismatch(
        expected=f'a sequence of {length} numbers at {path!r} in {type_name}',
        actual=str(found),
        hint=hint,
    )


def _walk(type_name: str, path: str, types: MessageTypes) -> Field:
    here = Field(name='', type=type_name)
    so_far = ''
    for part in path.split('.'):
        match = _PART.fullmatch(part)
        if match is None:
            raise TypeMismatch(
                expected='a field path, for example pose.covariance[0] or yaw(pose.orientation)',
                actual=repr(path),
            )
        here = _enter(here, so_far, match[1], type_name, types)
        so_far = f'{so_far}.{match[1]}' if so_far else match[1]
        for index in re.findall(r'\d+', match[2]):
            here = _item(here, so_far, int(index), type_name)
            so_far = f'{so_far}[{index}]'
    return here


def _enter(here: Field, so_far: str, name: str, type_name: str, types: MessageTypes) -> Field:
    if here.array and here.is_message:
        raise TypeMismatch(
            expected=f'an index after {so_far!r} in {type_name}',
            actual=str(here),
            hint=f'Write {so_far}[0].{name}, for example.',
        )
    if here.array or not here.is_message:
        raise TypeMismatch(
            expected=f'a message at {so_far!r} in {type_name}, to find {name!r} in it',
            actual=str(here),
            hint=f'Let the path end with {so_far!r}.' if here.is_number else '',
        )
    whole = full_name(here.type)
    fields = types.fields(whole)
    for field in fields:
        if field.name == name:
            return field
    names = [field.name for field in fields]
    inside = f' (at {so_far!r} of {type_name})' if so_far else ''
    raise TypeMismatch(
        expected='',
        actual=f'no field {name!r} in {whole}{inside}',
        hint=nearest(name, names) or f'It has: {listing(names)}.',
    )


def _item(here: Field, so_far: str, index: int, type_name: str) -> Field:
    if not here.array:
        raise TypeMismatch(
            expected=f'an array at {so_far!r} in {type_name}, to take element {index} of it',
            actual=str(here),
            hint=f'Write {so_far} without an index.' if here.is_number else '',
        )
    most = here.size if here.size is not None else here.most
    if most is not None and index >= most:
        raise TypeMismatch(
            expected=f'an index below {most} for {so_far!r} in {type_name}', actual=str(index)
        )
    return replace(here, array=False, size=None, most=None)


def _into(path: str, found: Field, types: MessageTypes) -> str:
    """Return the way from what a path finds to numbers."""
    if found.array:
        return '' if found.is_text else f'Name one of them, for example {path}[0].'
    if not found.is_message:
        return ''
    fields = types.fields(full_name(found.type))
    return f'Go on into it: {listing(f"{path}.{field.name}" for field in fields)}.'
