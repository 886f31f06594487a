# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields that are places in the plane, where the page draws the ways of a robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.environment.observation import ObservationField

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """
    Names of the fields whose first two values are a position in the plane.

    Attributes
    ----------
    position, goal
        Of the observation; empty if there is none.
    truth
        Privileged; empty if there is none.
    unit, frame
        Of all three.

    """

    position: str = ''
    goal: str = ''
    truth: str = ''
    unit: str = 'm'
    frame: str = ''


#: What is drawn without a contract.
UNKNOWN_PLACES = Places(position='pose', goal='goal', truth='true_pose')


def places_of(contract: Contract) -> Places:
    """
    Return the fields to draw in the plane, found by their units and frames.

    The position is the first field that a topic gives and whose values begin with two lengths; the
    goal is a field of the task like that in the same frame, and the truth a privileged field.
    """

    def planar(spec: FieldSpec) -> bool:
        return len(spec.unit) >= 2 and tuple(spec.unit[:2]) == ('m', 'm') and len(spec.shape) == 1

    position = next((s for s in contract.observation if planar(s) and s.topic), None)
    if position is None:
        return Places()

    def alike(specs: Sequence[FieldSpec]) -> str:
        return next((s.name for s in specs if planar(s) and s.frame == position.frame), '')

    return Places(
        position=position.name,
        goal=alike([spec for spec in contract.observation if spec.task]),
        truth=alike(contract.privileged),
        frame=position.frame,
    )


def point_in(fields: Iterable[ObservationField], name: str) -> Point | None:
    """Return the place in the plane that a field tells; None if there is none."""
    for found in fields:
        if found.name == name and len(found.values) >= 2:
            x, y = found.values[:2]
            return (x, y) if math.isfinite(x) and math.isfinite(y) else None
    return None
