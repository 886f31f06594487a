# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a task is to the environment: it samples resets, supplies fields, and judges steps.

A task is a pure judge. It sees what the policy sees, never a clock, a robot or a privileged field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from boundary_env_ros.core.contract import Vector
from boundary_env_ros.core.transition import NamedValues, RewardTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """
    What a task may judge a step by.

    Attributes
    ----------
    before, after
        Values of each low-dimensional field of the two observations, contract units.
    admitted
        Action after the gate's rules; empty if there was none.
    reset
        What the reset sampled, by name.
    step, period
        Number of the step, and seconds of one.

    """

    before: Mapping[str, Vector]
    after: Mapping[str, Vector]
    admitted: Vector
    reset: Mapping[str, Vector]
    step: int
    period: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What a task makes of a step.

    Attributes
    ----------
    terms
        Terms of the reward, which is their sum.
    cause
        Cause of an ending, one of the contract's; empty while the task goes on.

    """

    terms: tuple[RewardTerm, ...] = ()
    cause: str = ''


class Task(Protocol):
    """The protocol of a task; see :mod:`boundary_env_ros.tasks` for the shipped ones."""

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """
        Return a start state (and whatever else the episode needs), from the generator alone.

        Raises
        ------
        BoundaryError
            If an option is unknown or has a wrong value.

        """
        ...

    def observe(self, reset: Mapping[str, Vector]) -> Mapping[str, Vector]:
        """Return the fields that the task supplies, by the name in the ``task:`` key."""
        ...

    def judge(self, step: StepView) -> Outcome:
        """Return reward and ending of one step."""
        ...
