# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The run that an import leaves: raw messages as they are, records as messages of their own."""

from __future__ import annotations

from collections import Counter
import math
from pathlib import Path
import time

from boundary_env_ros import __version__
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.importing.agent import DECLARER, Made
from boundary_env_ros.evidence.importing.timeline import TimeLine
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.decoding import definition_text
from boundary_env_ros.storage.definitions import known_hash
from boundary_env_ros.storage.records import Message
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_writer import RunWriter


class ImportWriter(RunWriter):
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
        self._line, self._sim_time = line, loaded.contract.sim_time
        definitions = {}
        for channel in channels:
            text = definition_text(channel)
            definitions[channel.type] = (text, known_hash(channel.type, text))
        self.messages = self.unjudged = 0
        self.endings: Counter[str] = Counter()
        super().__init__(
            RunFolder(out),
            loaded,
            node=DECLARER,
            definitions=definitions,
            custom_data={
                'imported_from': source,
                'imported_by': f'boundary_env_ros {__version__}',
            },
            system_time=self._system_time,
        )

    def _system_time(self) -> int:
        now = self._line.now
        return time.time_ns() if self._sim_time or now is None else now

    def copy(self, message: Message, now: int) -> None:
        """Write a message of the bag as it is, at a moment of the time line."""
        self._declare(message.topic, message.type)
        # What was logged before its turn stands in the run where it was taken.
        logged, instant = max(message.log_time, now), self._line.instant(now)
        # MCAP repeats the log time where a publish time is not known.
        published = message.publish_time or logged
        self.recording.write(message.topic, message.data, logged, published, instant)
        self.messages += 1

    def keep(self, made: tuple[Made, ...]) -> None:
        """Write what was made, each record at its own moment."""
        closed = {record.id: record.closed for record in made if isinstance(record, Transition)}
        for record in made:
            if isinstance(record, Transition):
                self.unjudged += math.isnan(record.reward)
                if record.ending:
                    self.endings[record.ending] += 1
            at = record.stamp if isinstance(record, EpisodeStatus) else closed[record.id]
            assert at is not None  # what is made here is stamped
            self.add(record, at)
