# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where two records of one thing differ first, by the path of the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.evidence.audit.rules.base import apart, format_value
from boundary_env_ros.frozen import frozen

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
    'reward_terms',
    'reward',
    'terminated',
    'truncated',
    'ending',
    'declared_by',
    'opened',
    'captured',
    'commanded',
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
    recorded: object, again: object, names: Sequence[str] = ()
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

    """
    for name in names or [f.name for f in fields(recorded)]:  # type: ignore[arg-type]
        found = apart(getattr(recorded, name), getattr(again, name), name)
        if found is not None:
            place, then, now = found
            return FieldDifference(
                field=place, recorded=format_value(then), recomputed=format_value(now)
            )
    return None


def decided(decision: GateDecision) -> str:
    """Return a decision in words: verdict, and why."""
    why = ', '.join(dict.fromkeys(r.reason.name.lower() for r in decision.rules))
    return decision.verdict.name + (f' ({why})' if why else '')
