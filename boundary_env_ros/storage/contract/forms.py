# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a single value of a contract may be, made from what its key says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import math
import sys
from typing import Any, TypeGuard

from boundary_env_ros.core.contract.grammar import Grammar, TEXT
from boundary_env_ros.core.contract.key import Key, Part, spelt
from boundary_env_ros.core.type_hints import element_of, is_enum
from boundary_env_ros.frozen import frozen, replace


@frozen
class Form:
    """
    What a single value may be.

    Attributes
    ----------
    expected
        What an error asks for.
    read
        From what the file holds to the value; None if it is none.
    unfit
        What stands for a value that is none, so that reading goes on.
    words
        What it may be, where these are some words.
    is_time
        Whether it is a time (s), which is kept in whole nanoseconds, of 64 bits.

    """

    expected: str
    read: Callable[[Any], Any]
    unfit: Any = ''
    words: Collection[str] = ()
    is_time: bool = False


def form_of(part: Part) -> Form:
    """Return the form of a key, or of each item of a list of them."""
    key, kind = part.key, element_of(part.type) or part.type
    assert key is not None
    if kind is bool and key.words:
        return word_form({word: word == key.words[1] for word in key.words}, unfit=False)
    if kind is bool:
        expected = 'true or false'
        return Form(expected=expected, read=lambda v: v if isinstance(v, bool) else None, unfit=0)
    if is_enum(kind):
        members = {spelt(one): one for one in kind}
        known = {word: members[word] for word in key.choices or members}
        return word_form(known, unfit=next(iter(known.values())))
    if kind is str and key.choices:
        return word_form({word: word for word in key.choices})
    if kind is str:
        return text_form(key.spelt or TEXT, key.expected)
    if kind is int:
        return integer_form(max(key.least, 0.0), key.most)
    return number_form(key)


def text_form(grammar: Grammar, expected: str = '') -> Form:
    """Return the form of a text."""
    return Form(
        expected=expected or grammar.expected,
        read=lambda value: value if isinstance(value, str) and grammar.fits(value) else None,
    )


def word_form(meanings: Mapping[str, object], unfit: object = '') -> Form:
    """Return the form of one of some words, each with its meaning."""
    return Form(
        expected=f'one of {", ".join(meanings)}',
        read=lambda value: meanings.get(value) if isinstance(value, str) else None,
        unfit=unfit,
        words=tuple(meanings),
    )


def integer_form(least: float, most: float) -> Form:
    """Return the form of a whole number in bounds."""
    expected = f'a whole number, {least:g} or more'
    if not math.isinf(most):
        expected = f'a whole number from {int(least)} to {int(most)}'
    return Form(
        expected=expected,
        read=lambda value: value if type(value) is int and least <= value <= most else None,
        unfit=int(least),
    )


def dimension_form(names: Mapping[str, int]) -> Form:
    """Return the form of a dimension of the command by its name, read as where it is."""
    if not names:  # they are unknown, and nothing is to be said of any
        return Form(expected='the name of a dimension', read=lambda _: 0, unfit=0)
    return replace(
        word_form(names, unfit=0), expected=f'the name of a dimension ({", ".join(names)})'
    )


def number_form(key: Key) -> Form:
    """Return the form of a finite number in bounds, or of one of the words that stand for none."""
    least, above, most = key.least, key.above, key.most
    parts = ['a finite number']
    if key.unit:
        parts.append(f'({", or ".join([key.unit, *key.words])})')
    if above > -math.inf:
        parts.append(f'greater than {above:g}')
    if least > -math.inf:
        parts.append(f'not less than {least:g}')
    if most < math.inf:
        parts.append(f'not more than {most:g}')

    def read(value: object) -> float | None:
        if isinstance(value, str) and value in key.words:
            return math.nan
        fits = is_number(value) and least <= float(value) <= most and float(value) > above
        return float(value) if fits and is_number(value) else None

    return Form(expected=' '.join(parts), read=read, unfit=math.nan, is_time=key.unit == 's')


def list_form(unit: str, length: int | None = None) -> Form:
    """Return the form of a list of finite numbers, for example of the corners of an area."""
    what = 'a list of finite numbers' if length is None else 'two finite numbers [x, y]'

    def read(value: object) -> tuple[float, ...] | None:
        right = isinstance(value, (list, tuple)) and length in (None, len(value))
        if not right or not all(map(is_number, value)):  # type: ignore[call-overload]
            return None
        return tuple(map(float, value))  # type: ignore[call-overload]

    return Form(expected=f'{what} ({unit})', read=read, unfit=())


def is_number(value: object) -> TypeGuard[float]:
    """Return whether it is a number that is finite as a float."""
    # Compared, not converted: an integer may be too large to be a float.
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and -sys.float_info.max <= value <= sys.float_info.max
    )
