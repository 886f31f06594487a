# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The run of one process without middleware: its records as messages in a bag, contract, index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time
from typing import Final

from boundary_env_ros.core.environment.reset import SavedState
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.storage.atomic import Closing
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.definitions import known_definition
from boundary_env_ros.storage.records import ContractDescription, TOPICS
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording

_TYPES: Final = {cls: f'boundary_env_ros/msg/{cls.__name__}' for cls in TOPICS}


class RunWriter(Closing):
    """
    Writes the files of a run; to be given every record as it is made.

    Parameters
    ----------
    run
        Folder of the run, made just before.
    loaded
        The contract of the run, which is copied to it.
    node
        What writes, for the record.
    definitions
        Definition and hash of the types of messages that are written as they are.
    custom_data
        Anything else to keep in the metadata of the bag.
    system_time
        Nanoseconds of system time, which the index is stamped with.

    Attributes
    ----------
    recording
        What is written.

    Raises
    ------
    RecordError
        If a file cannot be made.

    """

    def __init__(
        self,
        run: RunFolder,
        loaded: LoadedContract,
        *,
        node: str,
        definitions: Mapping[str, tuple[str, str]] | None = None,
        custom_data: Mapping[str, str] | None = None,
        system_time: Callable[[], int] = time.time_ns,
    ) -> None:
        self._loaded, self._node = loaded, node
        known = {name: known_definition(name) for name in _TYPES.values()}
        self._encoders = {
            cls: RecordEncoder(cls, name, known[name][0]) for cls, name in _TYPES.items()
        }
        self._topics: set[str] = set()
        self.recording = RunRecording(
            run,
            contract=loaded,
            definitions={**(definitions or {}), **known},
            recorder=node,
            custom_data=custom_data,
            system_time=system_time,
        )

    def describe(self, now: ClockReading) -> None:
        """Write which contract it is."""
        described = self._loaded.described(f'/{self._node}', self._node)
        self._write(described, f'/{TOPICS[ContractDescription]}', now)

    def add(self, record: object, now: ClockReading) -> None:
        """
        Write a record, if it is one that has a place here.

        Parameters
        ----------
        record
            The record.
        now
            When it was made, which its message is stamped with.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        if isinstance(record, SavedState):
            self.recording.keep_state(record)
        elif (name := TOPICS.get(type(record))) is not None:
            agent = record.id.agent  # type: ignore[attr-defined]
            self._write(record, f'/{self._loaded.contract.topic_of(agent, name)}', now)

    def _write(self, record: object, topic: str, now: ClockReading) -> None:
        cls, at = type(record), now.ros.nanoseconds
        self._declare(topic, _TYPES[cls])
        data = self._encoders[cls](record, at)
        self.recording.write(topic, data, at, at, now, record)

    def _declare(self, topic: str, type_name: str) -> None:
        """Declare a topic, before its first message."""
        if topic not in self._topics:
            self._topics.add(topic)
            self.recording.add_topic(topic, type_name)

    def close(self) -> None:
        """
        Complete and close the files.

        Raises
        ------
        RecordError
            If one could not be completed.

        """
        self.recording.close()
