# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A frozen value is a frozen dataclass of the standard library in all but its price."""

from __future__ import annotations

from collections.abc import Callable
import copy
import dataclasses
from dataclasses import field
import inspect
import math
from pathlib import Path
import pickle
from typing import Any, Generic, TypeVar

import pytest

import boundary_env_ros
from boundary_env_ros.frozen import frozen, replace

S = TypeVar('S')

#: What frozen values are compared with, by the same parameters.
usual = dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
by_place = dataclasses.dataclass(frozen=True, slots=True, order=True)


def _classes(value: Any, ordered: Any) -> dict[str, type]:
    """Return classes of every kind, as two decorators make them."""

    @value
    class Plain:
        name: str
        values: tuple[float, ...] = ()
        numbers: dict[str, int] = field(default_factory=dict)

    @value
    class Derived(Plain):
        age: float | None = None
        late: bool

    @value
    class Empty:
        """Has no field."""

    @value
    class Some(Generic[S]):
        it: S

    @ordered
    class Placed:
        spare: float
        kept: float = 0.0

    @value
    class Checked:
        rate: float
        period: float = field(init=False, compare=False)

        def __post_init__(self) -> None:
            if not self.rate > 0.0:
                raise ValueError(f'Expected a rate above 0, got {self.rate}.')
            object.__setattr__(self, 'period', 1.0 / self.rate)

    class Loose(Plain):
        """No value of its own: it has a dictionary."""

    found = (Plain, Derived, Empty, Some, Placed, Checked, Loose)
    for cls in found:
        cls.__qualname__ = cls.__name__
    return {cls.__name__: cls for cls in found}


OURS, USUAL = _classes(frozen, frozen(kw_only=False, order=True)), _classes(usual, by_place)
globals().update(OURS)  # pickle finds them here

MADE: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ('Plain', (), {'name': 'a'}),
    ('Plain', (), {'name': 'a', 'values': (1.0, math.inf), 'numbers': {'b': 1}}),
    ('Plain', (), {}),
    ('Plain', ('a',), {}),
    ('Plain', (), {'name': 'a', 'nmae': 'b'}),
    ('Derived', (), {'name': 'a', 'late': True}),
    ('Derived', (), {'name': 'a'}),
    ('Empty', (), {}),
    ('Some', (), {'it': 'x'}),
    ('Placed', (1.0,), {}),
    ('Placed', (1.0, 2.0), {}),
    ('Placed', (1.0, 2.0, 3.0), {}),
    ('Placed', (), {'kept': 2.0, 'spare': 1.0}),
    ('Checked', (), {'rate': 4.0}),
    ('Checked', (), {'rate': 0.0}),
    ('Checked', (), {'rate': 1.0, 'period': 1.0}),
    ('Loose', (), {'name': 'a'}),
)


def _told(act: Callable[[], Any]) -> str:
    """Return what an action gives, or how it fails, in words."""
    try:
        return repr(act())
    except (TypeError, ValueError) as error:
        return f'{type(error).__name__}: {error}'


@pytest.mark.parametrize(('name', 'places', 'names'), MADE)
def test_a_value_is_made_as_the_standard_library_makes_it(
    name: str, places: tuple[Any, ...], names: dict[str, Any]
) -> None:
    ours, theirs = OURS[name], USUAL[name]
    assert _told(lambda: ours(*places, **names)) == _told(lambda: theirs(*places, **names))
    assert inspect.signature(ours) == inspect.signature(theirs)


CHANGES: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ('Plain', {'name': 'a'}, {'name': 'b'}),
    ('Plain', {'name': 'a'}, {}),
    ('Plain', {'name': 'a'}, {'nmae': 'b'}),
    ('Derived', {'name': 'a', 'late': True}, {'age': 1.0, 'values': (2.0,)}),
    ('Empty', {}, {}),
    ('Placed', {'spare': 1.0}, {'kept': 3.0}),
    ('Checked', {'rate': 2.0}, {'rate': 4.0}),
    ('Checked', {'rate': 2.0}, {'rate': -1.0}),
    ('Checked', {'rate': 2.0}, {'period': 1.0}),
    ('Loose', {'name': 'a'}, {'name': 'b'}),
)


@pytest.mark.parametrize(('name', 'given', 'changes'), CHANGES)
def test_a_value_is_replaced_as_the_standard_library_replaces_it(
    name: str, given: dict[str, Any], changes: dict[str, Any]
) -> None:
    ours, theirs = OURS[name](**given), USUAL[name](**given)
    was = repr(ours)
    told = _told(lambda: replace(ours, **changes))
    expected = _told(lambda: dataclasses.replace(theirs, **changes))
    if 'unexpected keyword' in expected:
        assert told == "TypeError: replace() got an unexpected keyword argument 'nmae'"
    else:
        assert told == expected
    assert repr(ours) == was


def test_what_another_decorator_derives_from_a_value_is_replaced_whole() -> None:
    derived = usual(type('Derived', (OURS['Plain'],), {'__annotations__': {'more': 'int'}}))
    assert replace(derived(name='a', more=3), name='b') == derived(name='b', more=3)


def test_nothing_changes_a_value() -> None:
    for made in (
        OURS['Plain'](name='a'),
        replace(OURS['Plain'](name='b'), name='a'),
        copy.copy(OURS['Plain'](name='a')),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.name = 'c'
        with pytest.raises(dataclasses.FrozenInstanceError):
            del made.name
        with pytest.raises((AttributeError, TypeError)):
            made.other = 1
        assert made == OURS['Plain'](name='a')


def test_values_are_compared_hashed_and_ordered_as_the_standard_library_does() -> None:
    nan = math.nan
    cases = ((1.0, nan), (1.0, nan), (1.0, float('nan')), (1, 0.0), (1.0, -0.0), (0.5, 3.0))
    for one in cases:
        for other in cases:
            a, b = OURS['Placed'](*one), OURS['Placed'](*other)
            c, d = USUAL['Placed'](*one), USUAL['Placed'](*other)
            assert (a == b, a < b, a >= b) == (c == d, c < d, c >= d)
            assert (hash(a) == hash(b)) == (hash(c) == hash(d))
    assert OURS['Plain'](name='a') != OURS['Loose'](name='a')


def test_every_frozen_value_of_the_package_is_made_so() -> None:
    for path in Path(boundary_env_ros.__file__).parent.rglob('*.py'):
        assert path.name == 'frozen.py' or 'frozen=True' not in path.read_text('utf-8'), path


def test_a_default_that_is_made_is_made_for_each_value() -> None:
    plain = OURS['Plain']
    assert plain(name='a').numbers is not plain(name='a').numbers
    numbers = {'b': 1}
    made = plain(name='a', numbers=numbers)
    assert made.numbers is replace(made, name='b').numbers is numbers


@pytest.mark.parametrize('protocol', range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_value_is_copied_and_pickled(protocol: int) -> None:
    for name, given in (
        ('Derived', {'name': 'a', 'numbers': {'b': 1}, 'late': False}),
        ('Empty', {}),
        ('Checked', {'rate': 2.0}),
    ):
        made = OURS[name](**given)
        for again in (
            copy.copy(made),
            copy.deepcopy(made),
            pickle.loads(pickle.dumps(made, protocol)),  # noqa: S301 - our own
        ):
            assert again == made
            assert repr(again) == repr(made)
    deep = copy.deepcopy(OURS['Plain'](name='a', numbers={'b': 1}))
    assert deep.numbers == {'b': 1}
