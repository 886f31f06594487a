# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether plain data, as a contract holds it, can become a message of some type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
import math

from boundary_env_ros.core.contract.problem_text import nearest
from boundary_env_ros.errors import Problem
from boundary_env_ros.storage.message_paths import Found, found_at, Kind
from boundary_env_ros.storage.message_types import INTEGERS, listing, MessageTypes, Mismatch

KeyPath = tuple[str | int, ...]

_SHOWN = 60


def value_problems(
    type_name: str, data: Mapping[str, object], types: MessageTypes, path: KeyPath
) -> Iterator[Problem]:
    """
    Yield what keeps plain data from being a message.

    Parameters
    ----------
    type_name
        ``package/msg/Name``, or ``package/srv/Name`` for the request of a service.
    data
        Fields by name, nested; those that are missing keep their defaults.
    types
        What is known about types.
    path
        Keys that lead to the data.

    """
    fields = types.fields(type_name)
    if isinstance(fields, Mismatch):
        if fields.sure:
            yield fields.at(*path)
        return
    known = {field.name: field for field in fields}
    for name, value in data.items():
        if name in known:
            yield from _check(found_at(known[name]), value, types, (*path, name))
            continue
        what = f'the request of {type_name}' if '/srv/' in type_name else type_name
        yield Mismatch(
            expected='',
            actual=f'no field {name!r} in {what}',
            hint=nearest(name, known) or (f'It has: {listing(known)}.' if known else ''),
        ).at(*path, name)


def _check(found: Found, value: object, types: MessageTypes, path: KeyPath) -> Iterator[Problem]:
    if found.array:
        yield from _check_items(found, value, types, path)
    elif found.kind is Kind.MESSAGE:
        if isinstance(value, Mapping):
            inner = {str(name): item for name, item in value.items()}
            yield from value_problems(found.type, inner, types, path)
        else:
            yield _problem(f'the fields of a {found.type}, as a mapping', value, path)
    elif not _fits(found, value):
        yield _problem(_wanted(found), value, path)


def _check_items(
    found: Found, value: object, types: MessageTypes, path: KeyPath
) -> Iterator[Problem]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        yield _problem(str(found), value, path)
        return
    wrong_size = found.size is not None and len(value) != found.size
    if wrong_size or (found.most is not None and len(value) > found.most):
        yield Mismatch(expected=str(found), actual=f'a list of {len(value)}').at(*path)
        return
    item = replace(found, array=False, size=None, most=None)
    for index, element in enumerate(value):
        yield from _check(item, element, types, (*path, index))


def _fits(found: Found, value: object) -> bool:
    if found.kind is Kind.TEXT:
        return isinstance(value, str)
    if found.kind is Kind.FLAG or isinstance(value, bool):
        return found.kind is Kind.FLAG and isinstance(value, bool)
    if found.type in INTEGERS:
        least, most = INTEGERS[found.type]
        return isinstance(value, int) and least <= value <= most
    return isinstance(value, (int, float)) and math.isfinite(value)


def _wanted(found: Found) -> str:
    if found.type in INTEGERS:
        least, most = INTEGERS[found.type]
        return f'a whole number from {least} to {most} ({found.type})'
    return f'{found.kind.value} ({found.type})'


def _problem(expected: str, value: object, path: KeyPath) -> Problem:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}...'
    return Mismatch(expected=expected, actual=shown).at(*path)
