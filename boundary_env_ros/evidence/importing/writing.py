# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The run that an import leaves: raw messages as they are, records as messages of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
import math
from pathlib import Path
import time
from typing import Final

from boundary_env_ros import __version__
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.transition import PrivilegedObservation, Transition
from boundary_env_ros.evidence.importing.agent import DECLARER, Made
from boundary_env_ros.evidence.importing.listening import OWN
from boundary_env_ros.evidence.importing.timeline import TimeLine
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.decoding import definition_text
from boundary_env_ros.storage.known_definitions import known_definition, known_hash
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.records import ContractDescription
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording

#: Where each kind of record goes, below the namespace of its agent.
_TOPICS: Final[Mapping[type, str]] = {
    ContractDescription: 'boundary/contract',
    EpisodeStatus: 'boundary/episode_status',
    PrivilegedObservation: 'boundary/privileged_observation',
    Transition: 'boundary/transition',
}


class RunWriter:
    """
    Writes the run of an import.

    Parameters
    ----------
    out
        Its folder, which is empty.
    loaded
        The contract.
    source
        Name of the bag.
    line
        The time line, which everything is written by.
    channels
        Channels of the bag whose messages are copied.

    Attributes
    ----------
    messages
        How many messages were copied.
    endings
        Number of episodes by ending.
    unjudged
        How many steps have no reward.

    Raises
    ------
    RecordError
        If the run cannot be made, or the definition of a message is unknown.

    """

    def __init__(
        self,
        out: Path,
        loaded: LoadedContract,
        *,
        source: str,
        line: TimeLine,
        channels: list[Channel],
    ) -> None:
        self._loaded, self._contract, self._line = loaded, loaded.contract, line
        definitions = {_type_of(cls): known_definition(_type_of(cls)) for cls in _TOPICS}
        self._encoders = {
            cls: RecordEncoder(cls, _type_of(cls), definitions[_type_of(cls)][0])
            for cls in _TOPICS
        }
        for channel in channels:
            if channel.type not in definitions:
                text = definition_text(channel)
                definitions[channel.type] = (text, known_hash(channel.type, text))
        self._topics: set[str] = set()
        self.messages = self.unjudged = 0
        self.endings: Counter[str] = Counter()
        self._recording = RunRecording(
            RunFolder(out),
            contract=loaded,
            definitions=definitions,
            recorder=DECLARER,
            custom_data={
                'imported_from': source,
                'imported_by': f'boundary_env_ros {__version__}',
            },
            system_time=self._system_time,
        )

    def _system_time(self) -> int:
        now = self._line.now
        return time.time_ns() if self._contract.sim_time or now is None else now

    @property
    def transitions(self) -> int:
        """Return how many transitions were written."""
        return self._recording.transitions

    def describe(self, at: int) -> None:
        """Write which contract it is, at a moment of the time line."""
        task = self._contract.task
        self._write(
            ContractDescription(
                node=f'/{DECLARER}',
                role=DECLARER,
                contract=self._contract.name,
                contract_version=self._contract.version,
                digest=self._loaded.digest,
                software_version=__version__,
                task_distribution=task.distribution,
                task_version=task.version,
                text=self._loaded.text,
            ),
            f'/{_TOPICS[ContractDescription]}',
            at,
        )

    def copy(
        self, topic: str, kind: str, data: bytes, *, logged: int, published: int, now: int
    ) -> None:
        """Write a message of the bag as it is."""
        if topic not in self._topics:
            self._topics.add(topic)
            self._recording.add_topic(topic, kind)
        self._recording.write(topic, data, logged, published, self._line.instant(now))
        self.messages += 1

    def keep(self, made: tuple[Made, ...]) -> None:
        """Write what was made, each record at its own moment."""
        closed = {r.id: r.closed.ros.nanoseconds for r in made if isinstance(r, Transition)}
        for record in made:
            if isinstance(record, EpisodeStatus):
                at = 0 if record.stamp is None else record.stamp.ros.nanoseconds
            else:
                at = closed[record.id]
            if isinstance(record, Transition):
                self.unjudged += math.isnan(record.reward)
                if record.ending:
                    self.endings[record.ending] += 1
            topic = self._contract.topic_of(record.id.agent, _TOPICS[type(record)])
            self._write(record, f'/{topic}', at)

    def _write(self, record: Made | ContractDescription, topic: str, at: int) -> None:
        cls = type(record)
        if topic not in self._topics:
            self._topics.add(topic)
            self._recording.add_topic(topic, _type_of(cls))
        data = self._encoders[cls](record, at)
        self._recording.write(topic, data, at, at, self._line.instant(at))

    def close(self) -> None:
        """Complete all files."""
        self._recording.close()


def _type_of(cls: type) -> str:
    return f'{OWN}msg/{cls.__name__}'
