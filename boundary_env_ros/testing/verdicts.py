# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a test says what is wrong: what was expected, what came, where, and the way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import NoReturn, TypeGuard, TypeVar
import unittest

import numpy as np

from boundary_env_ros.errors import BoundaryError

T = TypeVar('T')


class Failure(AssertionError):
    """Raised when what is tested does not keep the boundary."""


def fail(expected: str, actual: object, *, where: str = '', way_out: str = '') -> NoReturn:
    """
    Fail the test.

    Parameters
    ----------
    expected, actual
        What must hold, and what came.
    where
        Field, topic, method or step; empty if the sentence needs none.
    way_out
        A sentence that helps.

    """
    __tracebackhide__ = True
    head = f'{where}: expected' if where else 'Expected'
    raise Failure(f'{head} {expected}, got {str(actual).rstrip(".")}. {way_out}'.rstrip())


def skip(why: str) -> NoReturn:
    """Leave the test out, in a way that pytest and unittest both know."""
    raise unittest.SkipTest(why)


def attempt(call: Callable[[], T]) -> T | Exception:
    """Return what a call returns, or what it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - which error comes is what is asked
        return error


def must_return(call: Callable[[], T], expected: str, *, where: str, way_out: str = '') -> T:
    """Return what a call returns; fail, and say what was expected, if it raises."""
    __tracebackhide__ = True
    outcome = attempt(call)
    if isinstance(outcome, Exception):
        fail(expected, described(outcome), where=where, way_out=way_out)
    return outcome


def must_equal(
    one: object, other: object, expected: str, *, where: str, place: str = '', way_out: str = ''
) -> None:
    """Fail with the first difference between two values, within ``place``, if there is one."""
    __tracebackhide__ = True
    found = difference(one, other, place)
    if found:
        fail(expected, found, where=where, way_out=way_out)


def must_refuse(
    call: Callable[[], object],
    what: str,
    *,
    kind: type[BoundaryError] = BoundaryError,
    where: str,
    way_out: str = '',
) -> None:
    """
    Fail unless a call raises an error of the family.

    Parameters
    ----------
    call
        The call.
    what
        What is wrong with it, for the sentence: 'for a step before the first reset'.
    kind
        The error that is right.
    where
        Which method.
    way_out
        A sentence that helps.

    """
    __tracebackhide__ = True
    error = attempt(call)
    if not isinstance(error, kind):
        fail(f'{kind.__name__} {what}', described(error), where=where, way_out=way_out)


def described(outcome: object) -> str:
    """Return in words what a call raised, or that it raised nothing."""
    if isinstance(outcome, Exception):
        return f'{type(outcome).__name__}: {outcome}'
    return 'none was raised'


def difference(one: object, other: object, place: str = '') -> str:
    """
    Return where two nested values differ, and how; empty if they are equal.

    Mappings, sequences, arrays and values of dataclasses are compared by what is in them; NaN is
    equal to itself.
    """
    if is_dataclass(one) and type(one) is type(other):
        one, other = _named(one), _named(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if set(one) != set(other):
            return f'{place or "keys"}: {sorted(map(str, one))} and {sorted(map(str, other))}'
        pairs = [(f'{place}.{key}' if place else str(key), one[key], other[key]) for key in one]
    elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype == other.dtype and one.shape == other.shape:
            equal = np.array_equal(one, other, equal_nan=one.dtype.kind == 'f')
            return '' if equal else f'{place}: arrays of different values'
        return f'{place}: {one.dtype}{one.shape} and {other.dtype}{other.shape}'
    elif _is_sequence(one) and _is_sequence(other):
        if len(one) != len(other):
            return f'{place or "length"}: {len(one)} and {len(other)} values'
        pairs = [(f'{place}[{i}]', a, b) for i, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        equal = bool(one == other) or (one != one and other != other)  # NaN
        return '' if equal else f'{place or "value"}: {_short(one)} and {_short(other)}'
    return next(filter(None, (difference(a, b, where) for where, a, b in pairs)), '')


def _named(value: object) -> Mapping[str, object]:
    return {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'


_LONGEST = 120
