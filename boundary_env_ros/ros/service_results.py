# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Answers of the services as values, for who works with records and not with messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.contract.space_fields import SpaceField
from boundary_env_ros.core.environment.observation import Observation, ObservationField
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError, error_of
from boundary_env_ros.ros.conversions import from_msg

Picture = npt.NDArray[np.uint8]
Answer = Any  # of a service, without an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """
    An episode that was begun.

    Attributes
    ----------
    episode_id
        Its id, as in the record.
    observation
        The first one.
    transition
        The reset, as recorded.

    """

    episode_id: str
    observation: Observation
    transition: Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """
    What came of an action.

    Attributes
    ----------
    observation
        The one that the action led to.
    transitions
        Steps that were closed since the last call without an action, oldest first, and then the
        one that this action closed, or those of a chunk.
    done
        Whether the episode is over: the last transition says how.

    """

    observation: Observation
    transitions: tuple[Transition, ...]
    done: bool

    @property
    def transition(self) -> Transition:
        """The last one: that of the action."""
        return self.transitions[-1]

    @property
    def reward(self) -> float:
        """What the action was worth; the steps of a chunk together."""
        last = self.transition
        return sum(t.reward for t in self.transitions if t is last or not t.overrun)

    @property
    def terminated(self) -> bool:
        """Whether the task ended the episode."""
        return self.transition.terminated

    @property
    def truncated(self) -> bool:
        """Whether something outside the task did."""
        return self.transition.truncated

    @property
    def ending(self) -> str:
        """Why the episode is over; empty while it runs."""
        return self.transition.ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Stepped):
    """
    What came of several actions.

    Attributes
    ----------
    completed
        How many of them were carried out.
    error
        What kept the next one from being carried out; None if nothing did, or the episode ended.

    """

    completed: int
    error: BoundaryError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    """The spaces of the environment, and the first readings; as ``Spaces.srv`` has them."""

    contract: str
    contract_version: str
    digest: str
    agents: tuple[str, ...]
    period: float
    observation: tuple[SpaceField, ...]
    action: tuple[SpaceField, ...]
    privileged: tuple[SpaceField, ...]
    observation_schema: Mapping[str, Any]
    action_schema: Mapping[str, Any]
    baseline: tuple[ObservationField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedActions:
    """
    What the gate would do now.

    Attributes
    ----------
    decisions
        One for each candidate; nothing was published.
    low, high
        The least and the greatest command that bounds and rate allow now.

    """

    decisions: tuple[GateDecision, ...]
    low: Vector
    high: Vector


def began_from(answer: Answer) -> Began:
    """Return an answer of ``Reset``."""
    return Began(
        episode_id=answer.episode_id,
        observation=from_msg(Observation, answer.observation),
        transition=from_msg(Transition, answer.transition[0]),
    )


def batch_from(answer: Answer) -> Batch:
    """Return an answer of ``BatchStep``, with the error that ended it early."""
    code = answer.result.code
    return Batch(
        observation=from_msg(Observation, answer.observation),
        transitions=tuple(from_msg(Transition, each) for each in answer.transitions),
        done=answer.done,
        completed=answer.completed,
        error=error_of(code, answer.result.message) if code else None,
    )


def spaces_from(answer: Answer) -> Spaces:
    """Return an answer of ``Spaces``."""
    return Spaces(
        contract=answer.contract,
        contract_version=answer.contract_version,
        digest=answer.digest,
        agents=tuple(answer.agents),
        period=answer.period,
        observation=tuple(from_msg(SpaceField, each) for each in answer.observation),
        action=tuple(from_msg(SpaceField, each) for each in answer.action),
        privileged=tuple(from_msg(SpaceField, each) for each in answer.privileged),
        observation_schema=json.loads(answer.observation_schema),
        action_schema=json.loads(answer.action_schema),
        baseline=tuple(from_msg(ObservationField, each) for each in answer.baseline),
    )


def picture_from(answer: Answer) -> Picture:
    """Return an answer of ``Render``, shape (height, width, 3), RGB, uint8."""
    image = answer.image
    shape = (image.height, image.width, 3)
    picture: Picture = np.frombuffer(image.data, dtype=np.uint8).reshape(shape).copy()
    return picture
