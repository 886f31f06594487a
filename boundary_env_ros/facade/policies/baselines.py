# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies without learning: what a learned one has to beat, and what a boundary is tried with."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.facade.spaces import action_space


class GoToGoalPolicy:
    """
    Turns towards the goal and drives at it, blind to what stands between.

    It asks for more speed than the contract allows, as learned policies do, so that there is
    something to limit.

    Parameters
    ----------
    speed
        Speed that it asks for when it faces the goal, m/s.
    gain
        Turn rate for each radian of error in heading, 1/s.

    """

    def __init__(self, *, speed: float = 1.0, gain: float = 2.5) -> None:
        self._speed = speed
        self._gain = gain

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return (forward m/s, turn rad/s) for an observation with ``pose`` and ``goal``."""
        x, y, yaw = (float(value) for value in observation['pose'])
        goal_x, goal_y = (float(value) for value in observation['goal'])
        error = math.atan2(goal_y - y, goal_x - x) - yaw
        error = math.atan2(math.sin(error), math.cos(error))
        forward = self._speed * max(0.0, math.cos(error))
        return np.array([forward, self._gain * error], dtype=np.float32)


class NoOpPolicy:
    """
    Always asks for the safe command: the baseline that shows what the world does by itself.

    Parameters
    ----------
    contract
        The contract, for its safe command.

    """

    def __init__(self, contract: Contract) -> None:
        action: list[float] = []
        for group in contract.action:
            if group.kind is ActionKind.DELTA:
                action += [0.0] * group.size
                continue
            if any(map(math.isnan, group.safe)):
                raise BoundaryError(
                    f'The policy no-op knows no action that holds the robot where it is (expected '
                    f'numbers as `safe` of the action {group.name!r}, got `hold_position`); '
                    'choose another policy, or make the action `kind: delta`.'
                )
            chosen = as_action((group,), group.safe, None)
            if any(map(math.isnan, chosen)):
                raise BoundaryError(
                    f'The policy no-op knows no action that means the safe command (expected '
                    f'{list(group.safe)} among the choices of {group.name!r}, got none); add it, '
                    'or choose another policy.'
                )
            action += chosen
        space = action_space(contract)
        if space.shape is None:
            raise BoundaryError(
                'Numbers and choices are mixed (expected groups of numbers '
                'alone, or of choices alone, got both).'
            )
        row: Array = np.array(action, dtype=space.dtype)
        # Of a chunk, every action is the same.
        self._action = np.broadcast_to(row if space.shape else row[0], space.shape)

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return the safe command, whatever is seen."""
        return np.array(self._action)


class RandomPolicy:
    """
    Draws from the action space: the same actions for the same seed.

    Parameters
    ----------
    contract
        The contract, for the space. Where it allows chunks, whole ones are drawn.

    """

    def __init__(self, contract: Contract) -> None:
        self._space = action_space(contract)

    def reset(self, seed: int) -> None:
        """Draw as this seed does from here on."""
        self._space.seed(seed)

    def __call__(self, observation: Mapping[str, Array]) -> Any:
        """Return any action."""
        return self._space.sample()
