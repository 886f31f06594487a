# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a type hint says, and what is made of it by the types in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Optional, Union

import pytest

from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.core.type_hints import element_of, is_enum, optional_of, walker


class Colour(IntEnum):
    """A number with a name."""

    RED = 1


class Word(Enum):
    """A text with a name."""

    YES = 'yes'


@dataclass
class Inner:
    """A record within a record."""

    at: RosTime
    colour: Colour | None


@dataclass
class Outer:
    """A record of every kind of field."""

    name: str
    inner: Inner
    more: tuple[Inner, ...]
    data: Optional[bytes]  # noqa: UP045 - as it is also written
    rows: tuple[tuple[float, ...], ...]


@pytest.mark.parametrize(
    ('hint', 'inner'),
    [
        (int | None, int),
        (None | int, int),
        (Union[str, int, None], Union[str, int]),  # noqa: UP007
        (tuple[int, ...] | None, tuple[int, ...]),
        (int | str, None),
        (int, None),
    ],
)
def test_what_may_be_none_is_optional(hint: Any, inner: Any) -> None:
    assert optional_of(hint) == inner


def test_a_sequence_has_an_element_and_a_mapping_has_none() -> None:
    assert element_of(tuple[Colour, ...]) is Colour
    assert element_of(dict[str, int]) is None


def test_a_class_of_names_is_an_enum_and_its_member_is_none() -> None:
    assert is_enum(Colour)
    assert is_enum(Word)
    assert not is_enum(Colour.RED)
    assert not is_enum(int)


def test_one_thing_is_made_of_each_type_by_the_types_in_it() -> None:
    made: list[type] = []

    def record(cls: type, parts: Any) -> str:
        made.append(cls)
        return f'{cls.__name__}({", ".join(f"{name}: {of}" for name, of in parts.items())})'

    spelt = walker(
        optional=lambda inner: f'{inner}?',
        sequence=lambda element: f'[{element}]',
        record=record,
        enum=lambda cls: f'one of {", ".join(cls.__members__)}',
        plain=lambda cls: cls.__name__,
    )
    inner = 'Inner(at: int, colour: one of RED?)'
    expected = f'Outer(name: str, inner: {inner}, more: [{inner}], data: bytes?, rows: [[float]])'
    assert spelt(Outer) == spelt(Outer) == expected
    assert made == [Inner, Outer], 'each type is walked once'
