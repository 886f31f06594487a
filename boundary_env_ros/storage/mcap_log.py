# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A rosbag2 folder with one MCAP file, written from raw messages so that a crash costs little.

What is lost, and when
----------------------
``close()``
    Nothing; the file has its index and is on the disk.
``kill -9`` of the process
    The open chunk: what was written since the last flush, so at most ``flush_interval`` seconds or
    ``chunk_size`` bytes, whichever comes first. All chunks before it are with the kernel.
Power loss, or a crash of the kernel
    What the kernel had not yet brought to the disk, some 30 s with the usual settings. To wait for
    the disk at each flush would stall the recorder for as long as the disk likes, and lose
    messages for it.

A file without ``close()`` has no index. :func:`boundary_env_ros.storage.reader.open_records` reads
it up to where it ends; tools that begin at the index do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
import os
from pathlib import Path
import time
from types import TracebackType
from typing import NoReturn

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.atomic import sync_folder, write_atomically
from boundary_env_ros.storage.bag_metadata import (
    BagTopic,
    folder_text,
    METADATA,
    metadata_text,
    OfferedQos,
    qos_text,
)
from boundary_env_ros.storage.definitions import definition_of
from boundary_env_ros.storage.mcap_writer import check_compression, open_writer

__all__ = ['McapLog', 'OfferedQos', 'definition_of']


@dataclass(slots=True)
class _Channel:
    id: int
    type: str
    type_hash: str
    qos: tuple[OfferedQos, ...]
    messages: int = 0


class McapLog:
    """
    A bag that is being written: ``<folder>/<folder>_0.mcap`` and ``<folder>/metadata.yaml``.

    For one thread at a time. See the module for what a crash costs.

    Parameters
    ----------
    folder
        Folder of the bag, for example ``<run>/bag``; made here.
    flush_interval
        Seconds on the steady clock after which :meth:`write` flushes by itself. When messages may
        cease, call :meth:`flush` from a timer as well.
    chunk_size
        Bytes (before compression) at which a chunk is closed.
    compression
        ``zstd``, ``lz4`` or ``none``.
    ros_distro
        ROS distribution of the messages.
    custom_data
        Anything else to keep in ``metadata.yaml``.
    clock
        Steady clock, seconds.

    Raises
    ------
    RecordError
        If the folder exists already, or cannot be made.

    """

    def __init__(
        self,
        folder: Path,
        *,
        flush_interval: float = 0.5,
        chunk_size: int = 256 * 1024,
        compression: str = 'zstd',
        ros_distro: str = '',
        custom_data: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_compression(compression)
        self.folder = folder
        self.path = folder / f'{folder.name}_0.mcap'
        self._flush_interval = flush_interval
        self._ros_distro = ros_distro
        self._custom_data = dict(custom_data or {})
        self._clock = clock
        self._channels: dict[str, _Channel] = {}
        self._schemas: dict[tuple[str, str], int] = {}
        self._messages = 0
        self._saved_messages = 0
        self._saved_bytes = 0
        self._start = 0
        self._end = 0
        self._chunk_begun: float | None = None
        self._topics_changed = False
        self._closed = False
        self._failure = ''

        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise RecordError(
                f'Expect a place for a new bag, actually: {folder} exists already, not '
                'overwritten. Choose another folder, or move the old one away.'
            ) from None
        except OSError as error:
            raise RecordError(
                f'Expect to make the folder {folder}, actually: {error.strerror or error}. '
                'Choose another place.'
            ) from error
        try:
            self._writer, self._file = open_writer(
                self.path, chunk_size=chunk_size, compression=compression
            )
        except OSError as error:
            raise RecordError(
                f'Expect to make {self.path}, actually: {error.strerror or error}. '
                'Choose another place.'
            ) from error
        try:
            self._writer.start(profile='ros2', library='boundary_env_ros')
            self._write_metadata(finished=False)
        except (OSError, RecordError) as error:
            try:
                self._fail(error)
            finally:
                self._file.close()

    @property
    def messages(self) -> int:
        """Return the number of messages that were given to :meth:`write`."""
        return self._messages

    @property
    def saved_messages(self) -> int:
        """Return how many of them only a power loss can take: they have left this process."""
        return self._saved_messages

    @property
    def size(self) -> int:
        """Return the size of the file as it is now, bytes."""
        return self._file.position

    def add_topic(
        self,
        name: str,
        type_name: str,
        definition_text: str,
        type_hash: str,
        qos: Sequence[OfferedQos] = (),
    ) -> None:
        """
        Declare a topic; to be done once, before the first message of it.

        Parameters
        ----------
        name
            Fully qualified name.
        type_name
            For example ``sensor_msgs/msg/LaserScan``.
        definition_text, type_hash
            What :func:`definition_of` returns for the type.
        qos
            What its publishers offer.

        Raises
        ------
        RecordError
            If the topic is there already, or the log is closed or broken.

        """
        self._check_usable()
        if name in self._channels:
            raise RecordError(
                f'Expect a topic to be added once, actually: {name} ({self._channels[name].type}) '
                f'is in {self.path}.'
            )
        try:
            schema = self._schemas.get((type_name, definition_text))
            if schema is None:
                schema = self._writer.register_schema(
                    type_name, 'ros2msg', definition_text.encode()
                )
                self._schemas[type_name, definition_text] = schema
            channel = self._writer.register_channel(
                name,
                'cdr',
                schema,
                {'offered_qos_profiles': qos_text(qos), 'topic_type_hash': type_hash},
            )
        except OSError as error:
            self._fail(error)
        self._channels[name] = _Channel(channel, type_name, type_hash, tuple(qos))
        self._topics_changed = True

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        """
        Write one message.

        Parameters
        ----------
        topic
            A topic that was added.
        data
            The message as it was on the wire: CDR with its header of four bytes.
        log_time_ns, publish_time_ns
            When it was received and published, nanoseconds, on the clock of the run.

        Raises
        ------
        RecordError
            If the topic was not added, a time is negative, or the log is closed or broken (disk
            full); a broken log stays broken and says so at every call.

        """
        self._check_usable()
        channel = self._channels.get(topic)
        if channel is None:
            raise RecordError(
                f'Expect a topic that was added to {self.path}, actually: {topic!r}. '
                'Call add_topic first.'
            )
        if log_time_ns < 0 or publish_time_ns < 0:
            raise RecordError(
                f'Expect times of {topic} that are not negative, actually: {log_time_ns}, '
                f'{publish_time_ns}.'
            )
        before = self._file.position
        try:
            self._writer.add_message(
                channel.id, log_time=log_time_ns, data=data, publish_time=publish_time_ns
            )
        except OSError as error:
            self._fail(error)
        channel.messages += 1
        self._start = min(self._start, log_time_ns) if self._messages else log_time_ns
        self._end = max(self._end, log_time_ns)
        self._messages += 1
        if self._file.position != before:
            # The message filled the chunk, which has been written with it.
            self._note_saved()
            return
        now = self._clock()
        if self._chunk_begun is None:
            self._chunk_begun = now
        elif now - self._chunk_begun >= self._flush_interval:
            self.flush()

    def flush(self) -> None:
        """
        Close the open chunk and hand it to the kernel, where ``kill -9`` cannot take it.

        Raises
        ------
        RecordError
            If the log is closed or broken.

        """
        self._check_usable()
        try:
            if self._topics_changed:
                self._write_metadata(finished=False)
            self._writer.flush()
        except (OSError, RecordError) as error:
            self._fail(error)
        self._note_saved()

    def close(self) -> None:
        """
        Write index and metadata, and wait for the disk.

        A broken log is only closed: it stays readable up to where it broke.

        Raises
        ------
        RecordError
            If the end could not be written.

        """
        if self._closed:
            return
        if self._failure:
            self._closed = True
            self._file.close()
            return
        try:
            self._writer.flush()
            self._note_saved()
            self._writer.add_metadata('rosbag2', {'serialized_metadata': self._metadata(True)})
            self._writer.finish()
            os.fsync(self._file.raw.fileno())
            self._write_metadata(finished=True)
            sync_folder(self.folder)
        except (OSError, RecordError) as error:
            self._fail(error)
        finally:
            self._closed = True
            self._file.close()

    def __enter__(self) -> McapLog:
        """Return the log."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the log."""
        self.close()

    def _check_usable(self) -> None:
        if self._failure:
            raise RecordError(self._failure)
        if self._closed:
            raise RecordError(
                f'Expect an open log, actually: {self.path} was closed with {self._messages} '
                'messages.'
            )

    def _note_saved(self) -> None:
        self._saved_messages = self._messages
        self._saved_bytes = self._file.position
        self._chunk_begun = None

    def _fail(self, error: Exception) -> NoReturn:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        self._failure = (
            f'Expect to write {self.path}, actually: {reason.rstrip(".")}. '
            f'{self._saved_messages} messages ({self._saved_bytes} bytes) before it are saved and '
            f'can be read, {self._messages - self._saved_messages} are lost. '
            'Free space and record anew.'
        )
        # What is torn is cut off: the file then ends with a whole chunk. If that fails too, it
        # ends torn, and readers see that.
        with suppress(OSError):
            self._file.raw.truncate(self._saved_bytes)
        raise RecordError(self._failure) from error

    def _metadata(self, finished: bool) -> str:
        return metadata_text(
            file=self.path.name,
            topics=[
                BagTopic(
                    name=name,
                    type=channel.type,
                    type_hash=channel.type_hash,
                    qos=channel.qos,
                    messages=channel.messages if finished else 0,
                )
                for name, channel in self._channels.items()
            ],
            start=self._start,
            end=self._end,
            custom_data=self._custom_data,
            ros_distro=self._ros_distro,
        )

    def _write_metadata(self, *, finished: bool) -> None:
        write_atomically(self.folder / METADATA, folder_text(self._metadata(finished)).encode())
        self._topics_changed = False
