# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What marks a transition that was not recorded: it was made afterwards, from a bag of sensors.

The marks stand in its diagnostics, under the keys :data:`IMPORTED`, :data:`DERIVED` and
:data:`UNKNOWN`, so that they are seen in a single line of a data set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import Transition

#: Name of the bag that the transition was made from.
IMPORTED: Final = 'imported'

#: Fields whose value was worked out afterwards, separated by commas.
DERIVED: Final = 'derived'

#: Fields that a message cannot leave out, and that are unknown.
UNKNOWN: Final = 'unknown'


def import_marks(
    source: str, *, derived: Iterable[str], unknown: Iterable[str]
) -> tuple[KeyValue, ...]:
    """
    Return the marks of an imported transition.

    Parameters
    ----------
    source
        Name of the bag.
    derived, unknown
        Names of fields of the transition; ``after.arrived`` is that of every field of ``after``.

    """
    return (
        KeyValue(key=IMPORTED, value=source),
        KeyValue(key=DERIVED, value=','.join(derived)),
        KeyValue(key=UNKNOWN, value=','.join(unknown)),
    )


def imported_from(transition: Transition) -> str:
    """Return the name of the bag that a transition was made from; empty if it was recorded."""
    return _value(transition, IMPORTED)


def is_import(transition: Transition) -> bool:
    """
    Return whether a transition was made from a bag.

    What carries decisions of a gate was recorded, whatever it calls itself.
    """
    return not transition.decisions and bool(imported_from(transition))


def is_unknown(transition: Transition, field: str) -> bool:
    """Return whether an imported transition says that one of its fields is unknown."""
    return field in _value(transition, UNKNOWN).split(',')


def _value(transition: Transition, key: str) -> str:
    return next((item.value for item in transition.diagnostics if item.key == key), '')
