# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the type hint of a field says, for whatever is made of it: text, bytes, columns, a schema.

A type is optional (``X | None``), a sequence (``tuple[X, ...]``), a record (a dataclass), an enum
or plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
import typing
from typing import Any, TypeVar, Union

from boundary_env_ros.core.timebase import RosTime

T = TypeVar('T')


@cache
def hints_of(cls: Any) -> Mapping[str, Any]:
    """Return the type hint of each field of a record class, by its name."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def optional_of(hint: Any) -> Any:
    """Return X of ``X | None``, else None."""
    if typing.get_origin(hint) in (Union, UnionType):
        arguments = typing.get_args(hint)
        if NoneType in arguments:
            return Union[tuple(each for each in arguments if each is not NoneType)]  # noqa: UP007
    return None


def element_of(hint: Any) -> Any:
    """Return X of ``tuple[X, ...]``, else None."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None


def is_record(hint: Any) -> bool:
    """Return whether a type is a record."""
    return is_dataclass(hint)


def is_enum(hint: Any) -> bool:
    """Return whether a type is an enum."""
    return isinstance(hint, type) and issubclass(hint, Enum)


def walker(
    *,
    optional: Callable[[T], T],
    sequence: Callable[[T], T],
    record: Callable[[Any, Mapping[str, T]], T],
    enum: Callable[[Any], T],
    plain: Callable[[Any], T],
) -> Callable[[Any], T]:
    """
    Return what makes one thing of a type, once, by what is made of the types in it.

    Parameters
    ----------
    optional, sequence
        From what is made of X to what is made of ``X | None`` and of ``tuple[X, ...]``.
    record
        From a record class, and what is made of each of its fields.
    enum, plain
        From the type itself; that of a ``RosTime`` is a number of nanoseconds.

    """

    @cache
    def walk(hint: Any) -> T:
        if (inner := optional_of(hint)) is not None:
            return optional(walk(inner))
        if (element := element_of(hint)) is not None:
            return sequence(walk(element))
        if is_record(hint):
            return record(hint, {name: walk(each) for name, each in hints_of(hint).items()})
        return enum(hint) if is_enum(hint) else plain(int if hint is RosTime else hint)

    return walk
