# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Resets: asking the world for a state, and judging whether it was reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from boundary_env_ros.core.angles import all_near
from boundary_env_ros.core.contract.model import ResetProcedure
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.transition import NamedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWorld:
    """
    Asks the robot, or its simulation, for a state of the world; see ``ResetWorld.srv``.

    Attributes
    ----------
    target
        The state to reach, as the task sampled it.
    options
        Reset options of the client, a JSON object or empty.

    """

    seed: int
    target: tuple[NamedValues, ...]
    options: str = ''


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
    info
        What the world says of itself, a JSON object or empty; of several agents by agent.

    """

    error: str = ''
    achieved: tuple[NamedValues, ...] = ()
    completed: int = 0
    confirmed_by: str = ''
    info: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """
    The state of a world as a plugin gave it, from which a reset can begin it again.

    Attributes
    ----------
    id
        The last step before.
    state
        A JSON object.

    """

    id: StepId
    state: str


def by_name(values: tuple[NamedValues, ...]) -> Mapping[str, Vector]:
    """Return named values as a mapping."""
    return {item.name: item.values for item in values}


def tolerances(procedure: ResetProcedure) -> tuple[NamedValues, ...]:
    """Return the declared tolerances in the form of the record."""
    return tuple(NamedValues(name=n, values=v) for n, v in procedure.tolerance.items())


def outside(
    actual: Vector, target: Vector, tolerance: Vector, wrap: Collection[int] = ()
) -> tuple[int, ...]:
    """Return which values are farther off than their tolerance; one may stand for all."""
    each = tolerance * len(target) if len(tolerance) == 1 else tolerance
    pairs = zip(all_near(actual, target, wrap), target, each, strict=True)
    return tuple(i for i, (a, b, most) in enumerate(pairs) if not abs(a - b) <= most)


def out_of_tolerance(
    sampled: tuple[NamedValues, ...],
    achieved: tuple[NamedValues, ...],
    tolerance: tuple[NamedValues, ...],
    wrap: Mapping[str, Collection[int]] | None = None,
) -> tuple[str, ...]:
    """
    Return one sentence for each value that is missing, or farther off than its tolerance.

    Parameters
    ----------
    sampled, achieved, tolerance
        What was asked for, what came of it, and how far they may differ.
    wrap
        By name, which values are angles; see ``ResetProcedure``.

    """
    targets, reached = by_name(sampled), by_name(achieved)
    sentences = []
    for item in tolerance:
        target, actual = targets.get(item.name), reached.get(item.name)
        if target is None or actual is None or len(target) != len(actual):
            sentences.append(f'The robot does not say what it achieved of {item.name!r}')
            continue
        if len(item.values) not in (1, len(target)):
            sentences.append(
                f'Wrong tolerance of {item.name!r} '
                f'(expected {len(target)} values, got {len(item.values)})'
            )
            continue
        if outside(actual, target, item.values, (wrap or {}).get(item.name, ())):
            sentences.append(
                f'{item.name!r} is out of tolerance (expected within {list(item.values)} of '
                f'{list(target)}, got {list(actual)})'
            )
    return tuple(sentences)
