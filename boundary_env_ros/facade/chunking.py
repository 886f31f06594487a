# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which of the predicted actions are executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade.gymnasium_errors import InvalidAction
from boundary_env_ros.facade.spaces import action_vector
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.frozen import frozen


@frozen
class Prediction:
    """
    What a policy predicted from one observation.

    Attributes
    ----------
    answers
        The result whose observation that is.
    rows
        One action for each step after it, each of shape ``(n,)``, action space of the contract.
    seconds
        How long the policy took.
    metadata
        What the policy says of it, for the record.

    """

    answers: StepResult
    rows: tuple[Vector, ...]
    seconds: float = 0.0
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """The step of the observation; the first row is for the one after it."""
        return self.answers.transition.id.step


def rows_of(contract: Contract, action: object) -> tuple[Vector, ...]:
    """
    Return what a policy answered, one row a step.

    Parameters
    ----------
    contract
        The contract, for the shape of one action.
    action
        One action as in the action space without chunks, or an array of shape ``(k, n)``: as many
        as the policy predicts, which may be more than the contract lets be sent at once.

    Raises
    ------
    InvalidAction
        If it is neither.

    """
    if isinstance(action, dict):
        return (action_vector(contract, action),)
    try:
        array = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _no_action(contract, repr(action)) from error
    size = contract.action_size
    if array.shape in ((), (size,)) and array.size == size:
        array = array.reshape(1, size)
    if array.ndim != 2 or array.shape[1] != size or not len(array):
        raise _no_action(contract, f'shape {array.shape}')
    if not np.all(np.isfinite(array)):
        raise _no_action(contract, str(array.tolist()))
    return tuple(tuple(row) for row in array.tolist())


def _no_action(contract: Contract, got: str) -> InvalidAction:
    size = contract.action_size
    return InvalidAction(
        f'Invalid action (expected shape ({size},), or a chunk of shape (k, {size}), all finite, '
        f'got {got}).'
    )


def spliced(prediction: Prediction, step: int, most: int) -> tuple[tuple[Vector, ...], int]:
    """
    Return what of a prediction is left to be executed from a step on.

    Parameters
    ----------
    prediction
        The prediction.
    step
        The next step. The actions that were predicted for steps before it are left out.
    most
        How many actions are executed before the next prediction.

    Returns
    -------
    tuple
        The actions, none if all are over; and how many were left out before them.

    """
    skipped = max(0, step - prediction.step - 1)
    return prediction.rows[skipped : skipped + most], min(skipped, len(prediction.rows))
