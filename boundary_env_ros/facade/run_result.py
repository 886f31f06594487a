# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What became of an episode that a policy was run for."""

from __future__ import annotations

from dataclasses import dataclass, field

from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.transition import Transition

#: Why an episode was left that was broken off.
INTERRUPTED, BROKEN_OFF = 'interrupted', 'broken off'


@dataclass(slots=True, kw_only=True)
class EpisodeResult:
    """
    What became of one episode.

    Attributes
    ----------
    seed, episode_id
        Which it is; the id is empty if it was not begun.
    steps
        How many were closed.
    total
        The sum of all rewards.
    ending, declared_by, terminated, truncated
        How it ended; empty if it was left before its end.
    left
        Why it was left, in words; empty if it ended.
    transitions
        Its record, that of the reset first.
    inferences
        Seconds that each took.
    requests
        How many were sent.
    chunks_late, chunks_dropped
        Chunks that were not ready in time, and chunks that were not sent.
    skipped
        Actions that were left out since their step was over.
    compared, other_actions
        Out of a record: requests that were compared with the recorded ones, and how many of them
        asked for something else. Steps, rewards and ending are then those of the record.

    """

    seed: int
    episode_id: str = ''
    steps: int = 0
    total: float = 0.0
    ending: str = ''
    declared_by: str = ''
    terminated: bool = False
    truncated: bool = False
    left: str = ''
    transitions: list[Transition] = field(default_factory=list)
    inferences: list[float] = field(default_factory=list)
    requests: int = 0
    chunks_late: int = 0
    chunks_dropped: int = 0
    skipped: int = 0
    compared: int = 0
    other_actions: int = 0

    @property
    def success(self) -> bool:
        """Whether the task was done."""
        return self.ending == SUCCESS
