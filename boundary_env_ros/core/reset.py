# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Resets: asking the world for a state, and judging whether it was reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from boundary_env_ros.core.contract import ResetProcedure
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.transition import NamedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWorld:
    """Asks the robot, or its simulation, for a state of the world; see ``ResetWorld.srv``."""

    seed: int
    target: tuple[NamedValues, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldReset:
    """
    The answer to :class:`ResetWorld`.

    Attributes
    ----------
    error
        What failed; empty if nothing did.
    achieved
        State by the robot's own account.
    completed
        ROS time in nanoseconds; sensor values captured before it are of the old world.
    confirmed_by
        Who says so.

    """

    error: str = ''
    achieved: tuple[NamedValues, ...] = ()
    completed: int = 0
    confirmed_by: str = ''


def by_name(values: tuple[NamedValues, ...]) -> Mapping[str, Vector]:
    """Return named values as a mapping."""
    return {item.name: item.values for item in values}


def tolerances(procedure: ResetProcedure) -> tuple[NamedValues, ...]:
    """Return the declared tolerances in the form of the record."""
    return tuple(NamedValues(name=n, values=v) for n, v in procedure.tolerance.items())


def out_of_tolerance(
    sampled: tuple[NamedValues, ...],
    achieved: tuple[NamedValues, ...],
    tolerance: tuple[NamedValues, ...],
) -> tuple[str, ...]:
    """Return one sentence for each value that is missing, or farther off than its tolerance."""
    targets, reached = by_name(sampled), by_name(achieved)
    sentences = []
    for item in tolerance:
        target, actual = targets.get(item.name), reached.get(item.name)
        if target is None or actual is None or len(target) != len(actual):
            sentences.append(
                f'Expect {item.name!r} to be achieved, actually: the robot does not say'
            )
            continue
        if len(item.values) not in (1, len(target)):
            sentences.append(
                f'Expect a tolerance of {len(target)} values for {item.name!r}, '
                f'actually: {len(item.values)}'
            )
            continue
        error = np.abs(np.asarray(actual) - np.asarray(target))
        if not bool(np.all(error <= np.asarray(item.values))):
            sentences.append(
                f'Expect {item.name!r} within {list(item.values)} of {list(target)}, '
                f'actually: {list(actual)}'
            )
    return tuple(sentences)
