# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder looks at in messages that it otherwise only carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory

from boundary_env_ros.errors import RecordError
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
    return record_decoder(cls, type_name, definition, _other_decoder(type_name, definition))


def _other_decoder(type_name: str, definition: str) -> Callable[[bytes], object]:
    """Return a decoder for whatever is not plain little-endian CDR; made when it is needed."""

    def decode(data: bytes) -> object:
        schema = Schema(id=1, name=type_name, encoding='ros2msg', data=definition.encode())
        decoder = DecoderFactory().decoder_for('cdr', schema)
        if decoder is None:
            raise RecordError(f'Expect a readable definition of {type_name}, actually: it is not.')
        return decoder(data)

    return decode
