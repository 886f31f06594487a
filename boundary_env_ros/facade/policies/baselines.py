# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies without learning: what a learned one has to beat, and what a boundary is tried with."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract
from boundary_env_ros.core.contract.sources import Joints, Paths, Source
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.storage.contract_spaces import action_space


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

    A position is held where the first observation of the episode shows it, if a field is read as
    the feedback is.

    Parameters
    ----------
    contract
        The contract, for its safe command.

    """

    def __init__(self, contract: Contract) -> None:
        action: list[float] = []
        self._absolute: list[tuple[str, list[int], int, Vector]] = []
        for group in contract.action:
            if group.kind is ActionKind.DELTA:
                action += [0.0] * group.size
                continue
            if any(map(math.isnan, group.safe)):
                self._absolute.append((*_place_of(group, contract), len(action), group.safe))
                action += [0.0 if math.isnan(value) else value for value in group.safe]
                continue
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
                'The policy no-op gives one vector (expected groups of numbers alone, or of '
                f'choices alone, got {space}). Choose another policy.'
            )
        self._shape = space.shape
        self._row: Array = np.array(action, dtype=space.dtype)
        self._begins = True

    def reset(self, seed: int) -> None:
        """Hold positions where the next observation shows them."""
        self._begins = True

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return the safe command."""
        if self._begins:
            self._begins = False
            for field, places, first, safe in self._absolute:
                row = self._row[first : first + len(safe)]
                shown = observation[field].reshape(-1)[places]
                np.copyto(row, shown, where=np.isnan(safe), casting='same_kind')
        # Of a chunk, every action is the same.
        row = self._row if self._shape else self._row[0]
        return np.array(np.broadcast_to(row, self._shape))


def _place_of(group: ActionSpec, contract: Contract) -> tuple[str, list[int]]:
    """Return the field that shows what the feedback of a group measures, and where in it."""
    measured = _values(group.feedback.source, group.size)
    for field in contract.observation:
        shown = _values(field.source, field.size) if field.topic == group.feedback.topic else ()
        if set(measured) <= set(shown):
            return field.name, [shown.index(value) for value in measured]
    raise BoundaryError(
        'The policy no-op knows no action that holds the robot where it is (expected a field of '
        f'the observation with what the feedback of the action {group.name!r} measures, got '
        'none); add it, choose another policy, or make the action `kind: delta`.'
    )


def _values(source: Source | None, size: int) -> tuple[object, ...]:
    """Return what tells each value of a source from the others of its topic."""
    match source:
        case Paths(paths=paths):
            return paths
        case Joints(names=names, quantities=quantities):
            return tuple((name, quantity) for quantity in quantities for name in names)
    return tuple((source, index) for index in range(size))


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


# The arm, m: shoulder above the foot, upper arm, forearm, wrist to the point between the fingers.
SHOULDER, UPPER_ARM, FOREARM, HAND = 0.15, 0.45, 0.40, 0.18
OPEN, CLOSED = 0.08, 0.0


def joint_angles(tool: Array, yaw: float) -> list[float]:
    """Return the angles, rad, which bring the level tool to a point, m, heading yaw, rad."""
    x, y, z = tool - HAND * np.array([math.cos(yaw), math.sin(yaw), 0.0])
    out, up = math.hypot(x, y), z - SHOULDER
    square = out**2 + up**2
    cosine = (square - UPPER_ARM**2 - FOREARM**2) / (2.0 * UPPER_ARM * FOREARM)
    elbow = math.acos(min(1.0, max(-1.0, cosine)))
    inner = math.atan2(FOREARM * math.sin(elbow), UPPER_ARM + FOREARM * math.cos(elbow))
    pan, lift = math.atan2(y, x), -(math.atan2(up, out) + inner)
    return [pan, lift, elbow, -(lift + elbow), yaw - pan, 0.0]


class OpenDoorPolicy:
    """
    Grasps the handle where it is seen, and pulls it along its arc.

    Parameters
    ----------
    speed
        How fast the tool goes to the handle, m/s.
    ahead
        How far before the handle, as it is seen, the tool is sent while it pulls, m: the arm
        gives like a spring, so this is how hard it pulls.
    period
        Of a step, s.

    """

    def __init__(self, *, speed: float = 0.25, ahead: float = 0.03, period: float = 0.1) -> None:
        self._speed, self._period = speed, period
        self._ahead = ahead
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Begin again; nothing is drawn."""
        self._phase = 'look'
        self._waited = 0.0
        self._tool, self._yaw = np.zeros(3), 0.0
        self._handle, self._handle_yaw = np.zeros(3), 0.0

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return six joint angles, rad, and the opening of the gripper, m."""
        self._observe(
            observation['handle'], float(observation['handle_yaw'][0]), observation['tool']
        )
        into = np.array([math.cos(self._handle_yaw), math.sin(self._handle_yaw), 0.0])
        if self._phase == 'approach':
            before = self._handle - 0.12 * into
            self._go(before)
            if math.dist(self._tool, before) < 0.005:
                self._phase = 'reach'
        elif self._phase == 'reach':
            self._go(self._handle)
            if math.dist(observation['tool'], self._handle) < 0.012:
                self._phase = 'grasp'
        elif self._phase == 'grasp':
            self._waited += self._period
            if self._waited > 0.6:
                self._phase = 'pull'
        else:
            self._tool, self._yaw = self._handle - self._ahead * into, self._handle_yaw
        opening = OPEN if self._phase in ('approach', 'reach') else CLOSED
        return np.array([*joint_angles(self._tool, self._yaw), opening], dtype=np.float32)

    def _observe(self, handle: Array, handle_yaw: float, tool: Array) -> None:
        """Take in where the handle is; what hardly moves is seen better over some pictures."""
        if self._phase == 'look':
            self._tool, self._yaw = tool.astype(float), 0.0
            self._handle, self._handle_yaw = handle.astype(float), handle_yaw
            self._phase = 'approach'
        trust = 0.5 if self._phase == 'pull' else 0.3
        self._handle = self._handle + trust * (handle - self._handle)
        self._handle_yaw += trust * (handle_yaw - self._handle_yaw)

    def _go(self, target: Array) -> None:
        """Move where the tool is to be towards a point, and its heading to the handle's."""
        offset = target - self._tool
        length = float(np.linalg.norm(offset))
        self._tool = self._tool + offset * min(1.0, self._speed * self._period / max(length, 1e-9))
        self._yaw += min(0.1, max(-0.1, self._handle_yaw - self._yaw))
