# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a task is to the environment: it samples resets, supplies fields, and judges steps.

A task is a pure judge. It sees the environment's state, never a clock, a robot or a field of the
evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.transition import NamedValues, RewardTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """
    What a task may judge a step by.

    Attributes
    ----------
    agent
        Whose step it is.
    before, after
        Values of each low-dimensional field of observation and state before and after the step,
        contract units.
    commanded
        Command that the gate published for the step's action, whatever was chosen and asked for;
        empty if it published none.
    reset
        What the reset sampled, by name.
    step, period
        Number of the step, and seconds of one.

    """

    agent: str
    before: Mapping[str, Vector]
    after: Mapping[str, Vector]
    commanded: Vector
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

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return the fields that the task supplies to an agent, by name in the ``task:`` key."""
        ...

    def judge(self, step: StepView) -> Outcome:
        """Return reward and ending of one step."""
        ...
