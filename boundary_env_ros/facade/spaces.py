# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values in the Gymnasium spaces of a contract, and these spaces."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.sources.json_documents import text_of
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade.gymnasium_errors import InvalidAction
from boundary_env_ros.facade.steps import StepRequest
from boundary_env_ros.storage.contract_spaces import NUMBERS

Array = npt.NDArray[Any]


def observation_values(
    contract: Contract, fields: tuple[ObservationField, ...], images: Mapping[str, Array]
) -> dict[str, Any]:
    """
    Return an observation as a member of :func:`observation_space`.

    Raises
    ------
    LinkError
        If a field has no value, which no running episode has.

    """
    values: dict[str, Any] = {}
    found: Any
    for spec, field in zip(contract.observation, fields, strict=True):
        if spec.is_document:
            found = json.loads(field.document) if field.document else None
        elif spec.is_image:
            image = images.get(spec.name)
            # A copy: an image that is shown again must not be the same object in two observations.
            found = None if image is None else image.copy()
        else:
            found = (
                np.asarray(field.values, dtype=spec.dtype).reshape(spec.shape)
                if field.values
                else None
            )
        if found is None and spec.is_image:
            raise LinkError(
                f'No image of the field {spec.name!r} came to this process (expected one of '
                f'{field.source}, got none). Is its sensor running, and for long enough?'
            )
        if found is None:
            raise LinkError(
                f'The field {spec.name!r} has no value: it is {field.status.name}, from '
                f'{field.source}. Is its sensor running?'
            )
        values[spec.name] = found
    return values


def action_request_of(contract: Contract, action: Any) -> Vector | StepRequest:
    """
    Return an action as a world takes it: numbers, and of a contract with documents those too.

    Such an action is a mapping with every group of numbers, and each document that is to be sent;
    None, or to leave it out, sends none.

    Raises
    ------
    InvalidAction
        As :func:`action_vector`; or if it has another group, or a document is no JSON. Whether its
        schema admits it is the gate's business.

    """
    if not contract.documents:
        return action_vector(contract, action)
    documents = {group.name for group in contract.documents}
    numbers = {group.name for group in contract.action}
    if not isinstance(action, Mapping) or not numbers <= set(action) <= numbers | documents:
        raise InvalidAction(
            f'Wrong groups of the action (expected {", ".join(sorted(numbers)) or "none"}, and if '
            f'they are to be sent {", ".join(sorted(documents))}, got {action!r}).'
        )
    sent = {name: action[name] for name in action if name in documents}
    sent = {name: document for name, document in sent.items() if document is not None}
    vector = _by_group(contract, action)
    try:
        return StepRequest(action=vector, payload=text_of(sent) if sent else '')
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidAction(f'A document is no JSON: {error}.') from error


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
    return _by_group(contract, action)


def _by_group(contract: Contract, action: Mapping[str, Any]) -> Vector:
    """Return the numbers of all groups of an action that has each by its name."""
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
