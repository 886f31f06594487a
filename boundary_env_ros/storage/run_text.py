# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run without middleware: contract, transitions as text, index; no bag."""

from __future__ import annotations

import time

from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.reset import SavedState
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.jsonl import TransitionJsonl
from boundary_env_ros.storage.run_folder import RunFolder


class RunText:
    """
    Writes the files of a run in one process; to be called with every record as it is made.

    Parameters
    ----------
    run
        Folder of the run, made just before.
    contract
        The contract of the run, which is copied to it.

    Raises
    ------
    RecordError
        If a file cannot be made.

    """

    def __init__(self, run: RunFolder, contract: LoadedContract) -> None:
        self._run = run
        write_atomically(run.contract, contract.text.encode())
        self._transitions = TransitionJsonl(run.transitions)
        self._first_kept = False
        self._contract = contract.contract
        self._episodes = EpisodeStore.create(run.episodes)

    def __call__(self, record: object) -> None:
        """
        Write a record, if it is one that has a place here.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        now, bag, index = time.time_ns(), self._run.transitions.name, self._episodes.index
        if isinstance(record, Transition):
            self._transitions.append(record)
            if not self._first_kept:
                self._first_kept = self._run.write_first_transition(record)
            index.add_step(record, now=now, bag=bag)
        elif isinstance(record, EpisodeStatus):
            index.update(record, environment=self._contract.name, now=now, bag=bag)
            self._episodes.flush()
        elif isinstance(record, SavedState):
            self._episodes.keep_state(record, now=now)

    def close(self) -> None:
        """
        Complete and close the files.

        Raises
        ------
        RecordError
            If one could not be completed.

        """
        try:
            self._transitions.close()
        finally:
            self._episodes.close()
