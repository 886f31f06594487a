# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the type hints of a record say of its fields."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import UnionType
import typing
from typing import Any, Union


@cache
def hints_of(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and type of each field of a dataclass."""
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
