# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The index of episodes of a world in this process, as the recorder keeps it over ROS."""

from __future__ import annotations

from pathlib import Path
import time

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.storage.episode_store import EpisodeStore


class EpisodeSink:
    """
    Takes the records of an embedded world, as its ``sink``, and keeps the index of its episodes.

    Parameters
    ----------
    path
        The index; made here. ``boundary-env episodes list`` finds it as ``episodes.sqlite``.
    contract
        The contract of the world.
    bag
        Where its records are, relative to the index.

    Raises
    ------
    RecordError
        If the file exists already, or cannot be made.

    """

    def __init__(self, path: Path, contract: Contract, *, bag: str = 'transitions.jsonl') -> None:
        self._environment = contract.name
        self._bag = bag
        self._store = EpisodeStore.create(path)

    def __call__(self, record: object) -> None:
        """Take one record; what says nothing of an episode is passed over."""
        if isinstance(record, EpisodeStatus):
            self._store.update(
                record, environment=self._environment, now=time.time_ns(), bag=self._bag
            )
        elif isinstance(record, Transition):
            self._store.add_step(record, now=time.time_ns(), bag=self._bag)

    def close(self) -> None:
        """Close the index."""
        self._store.close()
