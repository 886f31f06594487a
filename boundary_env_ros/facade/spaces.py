# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Gymnasium spaces of a contract, and values in them.

They follow from the contract alone; no robot is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.observation import ObservationField
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade.errors import InvalidAction

Array = npt.NDArray[Any]


def field_space(spec: FieldSpec) -> spaces.Box:
    """Return the space of one field, shape and dtype of the contract."""
    dtype = np.dtype(spec.dtype).type
    if not spec.low:
        most = np.iinfo(spec.dtype).max
        return spaces.Box(0, most, shape=spec.shape, dtype=dtype)
    low, high = (
        np.broadcast_to(np.asarray(bound, dtype=dtype), spec.shape)
        if len(bound) == 1
        else np.asarray(bound, dtype=dtype).reshape(spec.shape)
        for bound in (spec.low, spec.high)
    )
    return spaces.Box(low, high, dtype=dtype)


def observation_space(contract: Contract) -> spaces.Dict:
    """Return the space of the policy's observation: one Box a field, in contract order."""
    # Gymnasium sorts the keys of a plain dictionary by name.
    return spaces.Dict(
        OrderedDict((spec.name, field_space(spec)) for spec in contract.observation)
    )


def action_space(contract: Contract) -> spaces.Space[Any]:
    """
    Return the space of the action.

    Numbers of all groups one after the other are a Box (contract units, float32; bounds of the
    command, or of the difference), shape (n,), or (horizon, n) for chunks. One choice is a
    Discrete, several are a MultiDiscrete. Groups of both sorts are a Dict, by name.
    """
    groups = contract.action
    if all(group.kind in _NUMBERS for group in groups):
        return _box(groups, contract.horizon)
    if not any(group.kind in _NUMBERS for group in groups):
        counts = [count for group in groups for count in _counts(group)]
        if len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE:
            return spaces.Discrete(counts[0])
        return spaces.MultiDiscrete(counts)
    return spaces.Dict(OrderedDict((group.name, _group_space(group)) for group in groups))


_NUMBERS = (ActionKind.CONTINUOUS, ActionKind.DELTA)


def _group_space(group: ActionSpec) -> spaces.Space[Any]:
    if group.kind in _NUMBERS:
        return _box((group,), 1)
    counts = _counts(group)
    if group.kind is ActionKind.DISCRETE:
        return spaces.Discrete(counts[0])
    return spaces.MultiDiscrete(counts)


def _box(groups: Sequence[ActionSpec], horizon: int) -> spaces.Box:
    low: list[float] = []
    high: list[float] = []
    for group in groups:
        delta = group.kind is ActionKind.DELTA
        low += (-most for most in group.max_delta) if delta else group.low
        high += group.max_delta if delta else group.high
    shape = (len(low),) if horizon == 1 else (horizon, len(low))
    least, most = _rounded_inwards(np.asarray(low), np.asarray(high))
    return spaces.Box(
        np.broadcast_to(least, shape), np.broadcast_to(most, shape), dtype=np.float32
    )


def _rounded_inwards(low: Array, high: Array) -> tuple[Array, Array]:
    """
    Return bounds as singles that are not beyond the doubles of the contract.

    A policy at its limit would else be limited by the gate, or refused, for a rounding of numpy.
    """
    least, most = low.astype(np.float32), high.astype(np.float32)
    least = np.where(least < low, np.nextafter(least, np.float32(np.inf)), least)
    most = np.where(most > high, np.nextafter(most, np.float32(-np.inf)), most)
    none_between = least > most
    nearest = low.astype(np.float32)
    return np.where(none_between, nearest, least), np.where(none_between, nearest, most)


def _counts(group: ActionSpec) -> list[int]:
    """Return how many choices there are in each dimension of a group's action."""
    return [len(options) for options in group.options]


def observation_values(
    contract: Contract, fields: tuple[ObservationField, ...], images: Mapping[str, Array]
) -> dict[str, Array]:
    """
    Return an observation as a member of :func:`observation_space`.

    Raises
    ------
    LinkError
        If a field has no value, which no running episode has.

    """
    values: dict[str, Array] = {}
    for spec, field in zip(contract.observation, fields, strict=True):
        if spec.is_image:
            image = images.get(spec.name)
            # A copy: an image that is shown again must not be the same object in two observations.
            found = None if image is None else image.copy()
        else:
            found = (
                np.asarray(field.values, dtype=spec.dtype).reshape(spec.shape)
                if field.values
                else None
            )
        if found is None:
            raise LinkError(
                f'The field {spec.name!r} has no value: it is {field.status.name}, from '
                f'{field.source}. Is its sensor running?'
            )
        values[spec.name] = found
    return values


def action_vector(contract: Contract, action: object) -> Vector:
    """
    Return an action as numbers for the gate; a choice is its index.

    A value out of bounds is passed on: limiting or refusing it, and saying so, is the gate's
    business.

    Raises
    ------
    InvalidAction
        If it has another shape, is not numeric, or holds a number that is not finite.

    """
    numbers = [group.kind in _NUMBERS for group in contract.action]
    if all(numbers) or not any(numbers):
        units = ', '.join(contract.command_unit) if all(numbers) else 'indices'
        shape: tuple[int, ...] = (contract.action_size,)
        if [group.kind for group in contract.action] == [ActionKind.DISCRETE]:
            shape = ()
        if contract.horizon > 1:
            shape = _chunk_shape(contract, action)
        return _numbers(action, shape, f'an action of shape {shape}, {units}')
    names = [group.name for group in contract.action]
    if not isinstance(action, Mapping) or set(action) != set(names):
        raise InvalidAction(
            f'Wrong groups of the action (expected an action with the groups {", ".join(names)}, '
            f'got {action!r}).'
        )
    values: list[float] = []
    for group in contract.action:
        shape = () if group.kind is ActionKind.DISCRETE else (group.action_size,)
        values += _numbers(
            action[group.name], shape, f'an action of shape {shape} for {group.name!r}'
        )
    return tuple(values)


def _chunk_shape(contract: Contract, action: object) -> tuple[int, ...]:
    """Return the shape that a chunk must have: as many rows as it has, up to the horizon."""
    try:
        rows = len(action)  # type: ignore[arg-type]
    except TypeError:
        rows = contract.horizon
    return (min(max(rows, 1), contract.horizon), contract.action_size)


def _numbers(action: object, shape: tuple[int, ...], expected: str) -> Vector:
    try:
        array = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidAction(
            f'The action is not made of numbers (expected {expected}, got {action!r}).'
        ) from error
    if array.shape != shape:
        raise InvalidAction(
            f'Wrong shape of the action (expected {expected}, got shape {array.shape}).'
        )
    if not np.all(np.isfinite(array)):
        raise InvalidAction(
            f'The action is not finite (expected {expected}, all finite, got {array.tolist()}).'
        )
    return tuple(array.ravel().tolist())
