# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values in the Gymnasium spaces of a contract, and these spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.observation import ObservationField
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade.errors import InvalidAction
from boundary_env_ros.storage.contract_spaces import (
    action_space,
    field_space,
    NUMBERS,
    observation_space,
)

__all__ = [
    'action_space',
    'action_vector',
    'field_space',
    'observation_space',
    'observation_values',
]

Array = npt.NDArray[Any]


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
    numbers = [group.kind in NUMBERS for group in contract.action]
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
