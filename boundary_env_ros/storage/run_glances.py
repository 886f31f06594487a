# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder looks at in messages that it otherwise only carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from boundary_env_ros.storage.cdr import record_decoder

T = TypeVar('T')


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """What is looked at of a decision of the gate."""

    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What is looked at of a contract that was latched."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """``builtin_interfaces/Time``."""

    sec: int
    nanosec: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """``rosgraph_msgs/Clock``."""

    clock: _Time


def decoder_of(cls: type[T], type_name: str, definition: str) -> Callable[[bytes], T]:
    """
    Return a function that makes records of some fields from serialized messages.

    Raises
    ------
    RecordError
        If the message has not these fields. The function itself raises it for other bytes.

    """
    return record_decoder(cls, type_name, definition)
