# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where an episode stands, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.frozen import frozen

S = TypeVar('S')


@frozen
class Snapshot(Generic[S]):
    """
    What ``reset``, ``step`` and ``observe`` all return, in one process and over ROS.

    Attributes
    ----------
    episode_id, step
        Which episode, and its last step; 0 after the reset.
    observation
        By field: contract units and shape; over ROS flat.
    reward
        Of the step; 0.0 after a reset.
    status
        ``RUNNING``, ``TERMINATED`` (the task ended) or ``TRUNCATED`` (something else ended it).
    state
        What a plugin says of its world in ``info['world']``, as the type that was asked for.
    info
        As Gymnasium's; over ROS ``world`` alone: the transitions of the answer have the rest.

    """

    episode_id: str
    step: int
    observation: Mapping[str, npt.NDArray[np.generic]]
    reward: float
    status: EpisodeState
    state: S
    info: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether the episode is over: begin another."""
        return self.status.over


def status_by(*, terminated: bool, truncated: bool) -> EpisodeState:
    """Return the status that the two flags stand for."""
    if terminated:
        return EpisodeState.TERMINATED
    return EpisodeState.TRUNCATED if truncated else EpisodeState.RUNNING
