# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where two records of one thing differ first, by the path of the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
import math

from boundary_env_ros.core.records.decision import GateDecision, RuleResult
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.frozen import frozen


@frozen(kw_only=False)
class Mismatch:
    """
    One place where a record is not what it ought to be.

    Attributes
    ----------
    field
        Where in the record, for example ``decisions[0].command[1]``.
    expected, actual
        What a rule asks for there, or what was computed again, in words; and what came.

    """

    field: str
    expected: str
    actual: str


def first_difference(
    recorded: object, again: object, names: Sequence[str] = ()
) -> Mismatch | None:
    """
    Return where two records differ first; None if they do not.

    Numbers are alike within rounding: relative to the greater of them and 1, a billionth.

    Parameters
    ----------
    recorded, again
        Two records of one kind.
    names
        Fields to compare, in the order of the search; empty: all of them.

    """
    for name in names or [f.name for f in fields(recorded)]:  # type: ignore[arg-type]
        found = apart(getattr(recorded, name), getattr(again, name), name)
        if found is not None:
            place, then, now = found
            return Mismatch(place, format_value(now), format_value(then))
    return None


def decided(decision: GateDecision) -> str:
    """Return a decision in words: verdict, and why."""
    why = ', '.join(dict.fromkeys(r.reason.name.lower() for r in decision.rules))
    return decision.verdict.name + (f' ({why})' if why else '')


#: Numbers that went through a sum or a difference in another order may differ by this.
ROUNDING = 1e-9


def number(value: float | None) -> str:
    """Return a number as text for a person, exact enough to see a difference."""
    return 'unknown' if value is None else f'{value:.9g}'


def vector(values: Sequence[float]) -> str:
    """Return numbers as text for a person."""
    return f'[{", ".join(map(number, values))}]' if values else 'nothing'


def close(one: float, other: float, tolerance: float = ROUNDING) -> bool:
    """Return whether two numbers are the same but for rounding."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))


def format_value(value: object) -> str:
    """Return what a record says as text for a person."""
    if isinstance(value, tuple):
        if value and all(isinstance(item, (int, float)) for item in value):
            return vector(value)
        return ', '.join(map(format_value, value)) or 'nothing'
    if isinstance(value, Enum):
        return str(value.name)
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, ClockReading):
        return f'{value.ros.nanoseconds} ns'
    if isinstance(value, Stamp):
        return f'{value.nanoseconds} ns'
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, RuleResult):
        return f'{value.rule} ({value.reason.name.lower()})'
    if value is None or isinstance(value, float):
        return number(value)
    name = getattr(value, 'name', None)
    return name if isinstance(name, str) else repr(value)


def same(one: object, other: object) -> bool:
    """Return whether two records are the same, bit by bit, NaN being the same as NaN."""
    return apart(one, other, tolerance=0.0) is None


def apart(
    one: object, other: object, place: str = '', tolerance: float = ROUNDING
) -> tuple[str, object, object] | None:
    """Return where two records differ first, and what stands there; None if they do not."""
    if one is other or one == other:
        return None
    if isinstance(one, float) and isinstance(other, float):
        return None if close(one, other, tolerance) else (place, one, other)
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            name = getattr(a, 'name', None)
            named = isinstance(name, str) and name == getattr(b, 'name', None)
            found = apart(a, b, f'{place}.{name}' if named else f'{place}[{index}]', tolerance)
            if found is not None:
                # A vector is read as a whole.
                return (place, one, other) if isinstance(a, float) else found
        return None
    if type(one) is type(other) and is_dataclass(one):
        pairs = ((f.name, getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
        below = (apart(a, b, f'{place}.{name}', tolerance) for name, a, b in pairs)
        return next(filter(None, below), None)
    return place, one, other
