# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where two records of one thing differ first, by the path of the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.evidence.audit.rules.base import close, format_value
from boundary_env_ros.frozen import frozen

#: What of a decision is decided again, what it follows from first.
OF_DECISION = (
    'request',
    'requested_action',
    'previous_command',
    'previous_rate',
    'previous_acceleration',
    'seeded',
    'time_step',
    'overruns',
    'recent_commands',
    'verdict',
    'requested_command',
    'admitted_action',
    'command',
    'rules',
)

#: What of a step is closed again, what it follows from first.
OF_STEP = (
    'before',
    'after',
    'state',
    'decision',
    'requested_action',
    'admitted_action',
    'commanded_action',
    'verdict',
    'overrun',
    'held_by',
    'reward_terms',
    'reward',
    'terminated',
    'truncated',
    'ending',
    'declared_by',
    'payload',
    'captured',
    'observed',
    'delivered',
    'requested',
    'received',
    'commanded',
    'clock_offsets',
    'latency',
)


@frozen
class FieldDifference:
    """
    Where a record and what was computed again differ first.

    Attributes
    ----------
    field
        Path of the field, for example ``rules[0].reason``.
    recorded, recomputed
        What stands there, in words.

    """

    field: str
    recorded: str
    recomputed: str


def first_difference(
    recorded: object, again: object, names: Sequence[str] = (), within: str = ''
) -> FieldDifference | None:
    """
    Return where two records differ first; None if they do not.

    Numbers are alike within rounding: relative to the greater of them and 1, a billionth.

    Parameters
    ----------
    recorded, again
        Two records of one kind.
    names
        Fields to compare, in the order of the search; empty: all of them.
    within
        Path of the records.

    """
    for name in names or [f.name for f in fields(recorded)]:  # type: ignore[arg-type]
        found = _compare(within + name, getattr(recorded, name), getattr(again, name))
        if found is not None:
            return found
    return None


def decided(decision: GateDecision | None) -> str:
    """Return a decision in words: verdict, and why."""
    if decision is None:
        return 'no decision'
    why = ', '.join(dict.fromkeys(r.reason.name.lower() for r in decision.rules))
    return decision.verdict.name + (f' ({why})' if why else '')


def _compare(path: str, recorded: object, again: object) -> FieldDifference | None:
    if recorded is again or recorded == again:
        return None
    if isinstance(recorded, float) and isinstance(again, float):
        alike = close(recorded, again)
        return None if alike else _difference(path, recorded, again)
    if isinstance(recorded, tuple) and isinstance(again, tuple):
        return _compare_items(path, recorded, again)
    if is_dataclass(recorded) and type(recorded) is type(again):
        return first_difference(recorded, again, within=f'{path}.')
    return _difference(path, recorded, again)


def _compare_items(
    path: str, recorded: tuple[object, ...], again: tuple[object, ...]
) -> FieldDifference | None:
    if len(recorded) != len(again):
        return _difference(path, recorded, again)
    for index, (one, other) in enumerate(zip(recorded, again, strict=True)):
        name = getattr(one, 'name', None)
        named = isinstance(name, str) and name == getattr(other, 'name', None)
        found = _compare(f'{path}.{name}' if named else f'{path}[{index}]', one, other)
        if found is not None:
            if isinstance(one, float):
                return _difference(path, recorded, again)  # a vector is read as a whole
            return found
    return None


def _difference(path: str, recorded: object, again: object) -> FieldDifference:
    return FieldDifference(
        field=path, recorded=format_value(recorded), recomputed=format_value(again)
    )
