# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
import math
from typing import Any


def plain(value: Any) -> Any:
    """
    Return a value as plain data; a number that is not finite as None.

    Parameters
    ----------
    value
        A dataclass, which may have a ``to_json`` of its own; a mapping, a sequence or
        a scalar.

    """
    if hasattr(value, 'to_json'):
        return value.to_json()
    if is_dataclass(value):
        return fields_of(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(getattr(k, 'name', k)): plain(item) for k, item in value.items()}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def fields_of(value: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass as plain data, but for some."""
    names = (f.name for f in fields(value) if f.name not in without)
    return {name: plain(getattr(value, name)) for name in names}
