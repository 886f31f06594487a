# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Gymnasium spaces of a contract, and values in them.

They follow from the contract alone; no robot is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract import Contract, FieldSpec, Vector
from boundary_env_ros.core.observation import ObservationField
from boundary_env_ros.errors import InvalidAction, LinkError

Array = npt.NDArray[Any]


def field_space(spec: FieldSpec) -> spaces.Box:
    """Return the space of one field, shape and dtype of the contract."""
    if spec.is_image:
        return spaces.Box(0, 255, shape=spec.shape, dtype=np.uint8)
    dtype = np.dtype(spec.dtype).type
    return spaces.Box(
        np.asarray(spec.low, dtype=dtype), np.asarray(spec.high, dtype=dtype), dtype=dtype
    )


def observation_space(contract: Contract) -> spaces.Dict:
    """Return the space of the policy's observation: one Box a field, in contract order."""
    # Gymnasium sorts the keys of a plain dictionary by name.
    return spaces.Dict(
        OrderedDict((spec.name, field_space(spec)) for spec in contract.observation)
    )


def action_space(contract: Contract) -> spaces.Box:
    """Return the space of the action: all groups one after the other, contract units, float32."""
    return spaces.Box(
        np.asarray(contract.flat('low'), dtype=np.float32),
        np.asarray(contract.flat('high'), dtype=np.float32),
        dtype=np.float32,
    )


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
            found = np.asarray(field.values, dtype=spec.dtype) if field.values else None
        if found is None:
            raise LinkError(
                f'Expect a value of the field {spec.name!r}, actually: {field.status.name} from '
                f'{field.source}. Is its sensor running?'
            )
        values[spec.name] = found
    return values


def action_vector(contract: Contract, action: object) -> Vector:
    """
    Return an action as numbers for the gate.

    A value out of bounds is passed on: limiting it, and saying so, is the gate's business.

    Raises
    ------
    InvalidAction
        If it has another shape, is not numeric, or holds a number that is not finite.

    """
    expected = f'an action of shape ({contract.action_size},), {", ".join(contract.action_unit)}'
    try:
        array = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidAction(f'Expect {expected}, actually: {action!r}.') from error
    if array.shape != (contract.action_size,):
        raise InvalidAction(f'Expect {expected}, actually: shape {array.shape}.')
    if not np.all(np.isfinite(array)):
        raise InvalidAction(f'Expect {expected}, all finite, actually: {array.tolist()}.')
    return tuple(array.tolist())
