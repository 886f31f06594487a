# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which of the predicted actions are executed: a part of a chunk, or a mean of several chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.errors import InvalidAction
from boundary_env_ros.facade.spaces import action_vector
from boundary_env_ros.facade.steps import StepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """
    What a policy predicted from one observation.

    Attributes
    ----------
    answers
        The delivery of that observation.
    rows
        One action for each step after it, each of shape ``(n,)``, action space of the contract.

    """

    answers: StepResult
    rows: tuple[Vector, ...]

    @property
    def step(self) -> int:
        """The step of the observation; the first row is for the one after it."""
        return self.answers.transition.id.step

    def at(self, step: int) -> Vector | None:
        """Return the action for a step; None if it was not predicted."""
        index = step - self.step - 1
        return self.rows[index] if 0 <= index < len(self.rows) else None


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


def ensembled(
    predictions: Sequence[Prediction], step: int, decay: float
) -> tuple[Vector, tuple[Prediction, ...]]:
    """
    Return the weighted mean of all that was predicted for a step: temporal ensembling.

    The oldest prediction has the weight 1, the next ``exp(-decay)``, then ``exp(-2 decay)``: the
    smaller the decay, the sooner a new observation counts. T. Z. Zhao, V. Kumar, S. Levine and
    C. Finn (2023), Learning fine-grained bimanual manipulation with low-cost hardware, RSS,
    algorithm 2.

    Parameters
    ----------
    predictions
        The predictions, the oldest first.
    step
        The step.
    decay
        The paper's ``m``: 0 for a plain mean, negative to weigh the newest most.

    Returns
    -------
    tuple
        The action, and the predictions that it is the mean of.

    Raises
    ------
    BoundaryError
        If nothing was predicted for that step.

    """
    found = [(p, row) for p in predictions if (row := p.at(step)) is not None]
    if not found:
        raise BoundaryError(f'There is no prediction for step {step}.')
    # Only their ratios count: the greatest is 1, so that none overflows.
    most = max(0.0, -decay * (len(found) - 1))
    weights = [math.exp(-decay * age - most) for age in range(len(found))]
    total = math.fsum(weights)
    rows = [row for _, row in found]
    mean = tuple(
        # A weighted mean lies between what it is the mean of; its rounding need not.
        min(max(_mean(values, weights, total), min(values)), max(values))
        for values in zip(*rows, strict=True)
    )
    return mean, tuple(p for p, _ in found)


def _mean(values: Sequence[float], weights: Sequence[float], total: float) -> float:
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total


def refuse_no_mean(contract: Contract) -> None:
    """
    Refuse to take a mean of actions that have none.

    Raises
    ------
    BoundaryError
        If a group of the action is a choice, or a rotation.

    """
    for group in contract.action:
        if group.kind not in (ActionKind.CONTINUOUS, ActionKind.DELTA) or group.rotation:
            what = 'a rotation' if group.rotation else 'a choice'
            raise BoundaryError(
                'Temporal ensembling averages actions, and '
                f'{group.name!r} is {what}, which has no mean. Leave it out.'
            )
