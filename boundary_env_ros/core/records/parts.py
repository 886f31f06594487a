# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What records of all kinds have: the step that they are of, named numbers, words, pacing."""

from __future__ import annotations

from enum import IntEnum

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


@frozen
class StepId:
    """Which step of which episode of which agent, under which contract."""

    digest: str
    agent: str
    episode_id: str
    step: int = 0


@frozen
class KeyValue:
    """One thing worth keeping, in words."""

    key: str
    value: str


@frozen
class NamedValues:
    """Numbers that a task or a reset procedure declares, with their units."""

    name: str
    values: Vector
    unit: tuple[str, ...] = ()


class Pacing(IntEnum):
    """
    Who waits for whom.

    ``REALTIME``: no one; the environment ticks at the contract's period. ``LOCKSTEP``: the world,
    for the gate's decision.
    """

    REALTIME = 1
    LOCKSTEP = 2
