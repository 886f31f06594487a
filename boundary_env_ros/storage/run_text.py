# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run without middleware: contract, transitions as text, index; no bag."""

from __future__ import annotations

from collections.abc import Callable
import time

from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
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
    system_time
        Nanoseconds of system time, which the index is stamped with.

    Raises
    ------
    RecordError
        If a file cannot be made.

    """

    def __init__(
        self,
        run: RunFolder,
        contract: LoadedContract,
        *,
        system_time: Callable[[], int] = time.time_ns,
    ) -> None:
        self._run, self._environment = run, contract.contract.name
        self._system_time = system_time
        write_atomically(run.contract, contract.text.encode())
        self._transitions = TransitionJsonl(run.transitions)
        self._episodes = EpisodeStore.create(run.episodes)
        self._status: tuple[str, EpisodeState] | None = None

    def __call__(self, record: object) -> None:
        """
        Write a record, if it is one that has a place here.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        if isinstance(record, Transition):
            self._transitions.append(record)
            if self._transitions.lines == 1:
                self._run.write_first_transition(record)
            now, bag = self._system_time(), self._run.transitions.name
            self._episodes.add_step(record, now=now, bag=bag)
        elif isinstance(record, EpisodeStatus):
            status = (record.id.episode_id, record.state)
            if status != self._status:
                self._status = status
                self._episodes.update(
                    record,
                    environment=self._environment,
                    now=self._system_time(),
                    bag=self._run.transitions.name,
                )

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
