# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A rosbag2 folder of MCAP files, written from raw messages so that a crash costs little.

What is lost, and when
----------------------
``close()``
    Nothing; every file has its index and is on the disk.
``kill -9`` of the process
    The open chunk: what was written since the last :meth:`McapLog.flush`, at most ``chunk_size``
    bytes. All chunks before it are with the kernel.
Power loss, or a crash of the kernel
    What the kernel had not yet brought to the disk when the last :func:`sync` was through. Without
    such calls that is some 30 s with the usual settings.

The last file of a bag without ``close()`` has no index.
:func:`boundary_env_ros.storage.record_reader.open_records` reads it up to where it ends; tools
that begin at the index do not, until ``boundary-env bag recover`` has made it whole.

Splits
------
Each file is a bag's worth by itself: it has the definitions of all topics, and begins with what
:meth:`McapLog.keep` was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
import os
from pathlib import Path
import time
from typing import NoReturn

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.atomic import Closing, making, sync_folder, write_atomically
from boundary_env_ros.storage.bag_metadata import (
    folder_text,
    METADATA,
    metadata_text,
    QOS,
    Qos,
    qos_text,
    TYPE_HASH,
)
from boundary_env_ros.storage.channel import Channel, Contents
from boundary_env_ros.storage.disk_errors import reason, way_out
from boundary_env_ros.storage.mcap_file import McapFile
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC, CHAIN_TYPE, INTERVAL, RecordChain

# Complete files that are held open until the disk has them.
_MOST_UNSYNCED = 8


class McapLog(Closing):
    """
    A bag that is being written: ``<folder>/<folder>_0.mcap``, ... and ``<folder>/metadata.yaml``.

    For one thread at a time. See the module for what a crash costs.

    Parameters
    ----------
    folder
        Folder of the bag, for example ``<run>/bag``; made here.
    chunk_size
        Bytes (before compression) at which a chunk is closed.
    compress
        Whether chunks are compressed (zstd).
    split_size
        Bytes on the disk at which a file is completed and another begun, which it exceeds by a
        chunk and its index at most; 0: never.
    ros_distro
        ROS distribution of the messages.
    custom_data
        Anything else to keep in ``metadata.yaml``.
    chain
        The chain over its messages, of which a link is written every few seconds and at the end.

    Raises
    ------
    RecordError
        If the folder exists already, or cannot be made.

    """

    def __init__(
        self,
        folder: Path,
        *,
        chunk_size: int = 256 * 1024,
        compress: bool = True,
        split_size: int = 0,
        ros_distro: str = '',
        custom_data: Mapping[str, str] | None = None,
        chain: RecordChain | None = None,
    ) -> None:
        self.folder = folder
        self._chain = chain
        self._link_due = time.monotonic() + INTERVAL
        self._chunk_size = chunk_size
        self._compress = compress
        self._split_size = split_size
        self._ros_distro = ros_distro
        self._custom_data = dict(custom_data or {})
        self._topics: dict[str, Channel] = {}
        self._kept: dict[tuple[str, str], tuple[bytes, int]] = {}
        self._unsynced: list[int] = []
        # Links of the chain, and messages that a split repeated: they did not come by `write`.
        self._added = 0
        self._metadata_changed = False
        self._closed = False
        self._failure = ''

        with making(folder, 'a new bag', 'folder'):
            folder.mkdir(parents=True)
        with making(self._path(0), 'a new file'):
            # The last of them is being written.
            self._files = [self._open(0)]
        try:
            self._write_metadata(finished=False)
        except (OSError, RecordError) as error:
            try:
                self._fail(error)
            finally:
                self._file.close()

    @property
    def path(self) -> Path:
        """Return the file that is being written."""
        return self._file.path

    @property
    def files(self) -> int:
        """Return the number of files."""
        return len(self._files)

    @property
    def messages(self) -> int:
        """Return the number of messages that were given to :meth:`write`."""
        return sum(file.messages for file in self._files) - self._added

    @property
    def saved_messages(self) -> int:
        """Return how many of them only a power loss can take: they have left this process."""
        return max(0, self.messages - self._file.messages + self._file.saved_messages)

    @property
    def lost(self) -> int:
        """Return how many of them a failure has taken: those that had not left this process."""
        return self.messages - self.saved_messages if self._failure else 0

    @property
    def size(self) -> int:
        """Return the size of all files as they are now, bytes."""
        return sum(file.size for file in self._files)

    @property
    def _file(self) -> McapFile:
        return self._files[-1]

    def note(self, key: str, text: str) -> None:
        """Keep something else in ``metadata.yaml``, with the next change of it, or at the end."""
        self._custom_data[key] = text

    def add_topic(
        self,
        name: str,
        type_name: str,
        definition_text: str,
        type_hash: str,
        qos: Sequence[Qos] = (),
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
            What :func:`boundary_env_ros.storage.definitions.definition_of` returns for the type.
        qos
            What its publishers offer.

        Raises
        ------
        RecordError
            If the topic is there already, or the log is closed or broken.

        """
        self._check_usable()
        if name in self._topics:
            raise RecordError(
                f'Expected a topic to be added once, got {name} ({self._topics[name].type}) '
                f'is in {self.path}.'
            )
        topic = Channel(
            topic=name,
            type=type_name,
            encoding='cdr',
            definition_encoding='ros2msg',
            definition=definition_text.encode(),
            metadata={QOS: qos_text(qos), TYPE_HASH: type_hash},
        )
        try:
            self._file.add_topic(topic)
        except OSError as error:
            self._fail(error)
        self._topics[name] = topic
        self._metadata_changed = True
        if self._chain is not None and type_name != CHAIN_TYPE:
            self._chain.add_topic(name, type_name, definition_text)

    def keep(self, topic: str, key: str, data: bytes, publish_time_ns: int) -> None:
        """
        Repeat a message at the beginning of each further file, where its reader looks for it.

        Parameters
        ----------
        topic
            A topic that was added.
        key
            What distinguishes it from others of the topic; the last of each key is repeated.
        data, publish_time_ns
            As for :meth:`write`. Its log time is that of the message that comes after it.

        """
        self._kept[topic, key] = (data, publish_time_ns)

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
        if topic not in self._topics:
            raise RecordError(
                f'Expected a topic that was added to {self.path}, got {topic!r}. '
                'Call add_topic first.'
            )
        if log_time_ns < 0 or publish_time_ns < 0:
            raise RecordError(
                f'Expected times of {topic} that are not negative, got {log_time_ns}, '
                f'{publish_time_ns}.'
            )
        try:
            if self._split_size and self._file.messages and self._file.size >= self._split_size:
                self._split(log_time_ns)
            self._write(topic, data, log_time_ns, publish_time_ns)
        except (OSError, RecordError) as error:
            self._fail(error)

    def flush(self) -> None:
        """
        Close the open chunk and hand it to the kernel, where ``kill -9`` cannot take it.

        Raises
        ------
        RecordError
            If the log is closed or broken.

        """
        self._check_usable()
        chain = self._chain
        try:
            if self._metadata_changed:
                self._write_metadata(finished=False)
            if chain is not None and chain.is_new and time.monotonic() >= self._link_due:
                self._write_link(chain, closed=False)
            self._file.flush()
        except (OSError, RecordError) as error:
            self._fail(error)

    def unsynced(self) -> list[int]:
        """
        Return what :func:`sync` is to be given, once, so that all that was flushed is on the disk.

        Raises
        ------
        RecordError
            If the log is closed or broken.

        """
        self._check_usable()
        descriptors, self._unsynced = [*self._unsynced, self._file.descriptor()], []
        return descriptors

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
            for descriptor in self._unsynced:
                os.close(descriptor)
            self._custom_data['over'] = self._failure
            with suppress(OSError, RecordError):
                # Where a full disk has room for as little as that.
                self._write_metadata(finished=False)
            return
        try:
            if self._chain is not None:
                self._write_link(self._chain, closed=True)
            self._file.finish(self._metadata({self.path.name: self._file.contents}))
            self._unsynced.append(self._file.descriptor())
            descriptors, self._unsynced = self._unsynced, []
            sync(descriptors)
            self._write_metadata(finished=True)
            sync_folder(self.folder)
        except (OSError, RecordError) as error:
            self._fail(error)
        finally:
            self._closed = True
            self._file.close()

    def _check_usable(self) -> None:
        if self._failure:
            raise RecordError(self._failure)
        if self._closed:
            raise RecordError(f'{self.path} is closed, with {self.messages} messages.')

    def _write(self, topic: str, data: bytes, log_time: int, publish_time: int) -> None:
        self._file.write(topic, data, log_time, publish_time)
        if self._chain is not None:
            self._chain.add(topic, data, log_time)

    def _write_link(self, chain: RecordChain, *, closed: bool) -> None:
        """Write what the chain has come to, and keep its head in the metadata at the end."""
        if CHAIN_TOPIC not in self._topics:
            self.add_topic(CHAIN_TOPIC, CHAIN_TYPE, chain.definition, chain.type_hash)
        data, log_time = chain.link(closed=closed)
        self._file.write(CHAIN_TOPIC, data, log_time, log_time)
        self._added += 1
        self._link_due = time.monotonic() + INTERVAL
        if closed:
            self.note('chain_head', chain.head.hex())

    # Files ---------------------------------------------------------------------------------------

    def _path(self, number: int) -> Path:
        return self.folder / f'{self.folder.name}_{number}.mcap'

    def _open(self, number: int) -> McapFile:
        return McapFile(self._path(number), chunk_size=self._chunk_size, compress=self._compress)

    def _split(self, log_time: int) -> None:
        """
        Complete the file and begin the next.

        The disk is not waited for: the next :func:`sync` does that. The name of
        the new file comes into the metadata when the file is there.
        """
        done = self._file
        done.finish(self._metadata({done.path.name: done.contents}))
        if len(self._unsynced) >= _MOST_UNSYNCED:
            # It is never synced.
            sync([self._unsynced.pop(0)])
        self._unsynced.append(done.descriptor())
        self._files.append(self._open(len(self._files)))
        done.close()
        for topic in self._topics.values():
            self._file.add_topic(topic)
        for (name, _), (data, publish_time) in self._kept.items():
            self._write(name, data, log_time, publish_time)
            self._added += 1
        self._write_metadata(finished=False)

    def _fail(self, error: Exception) -> NoReturn:
        size = self.size - self._file.size + self._file.saved_bytes
        self._failure = (
            f'{self.path} cannot be written: {reason(error)}. '
            f'{self.saved_messages} messages ({size} '
            f'bytes) before it are saved and can be read, '
            f'{self.messages - self.saved_messages} are lost. {way_out(error)}'
        )
        self._file.cut_off()
        raise RecordError(self._failure) from error

    # Metadata ------------------------------------------------------------------------------------

    def _metadata(self, contents: Mapping[str, Contents]) -> str:
        return metadata_text(contents, self._custom_data, self._ros_distro)

    def _write_metadata(self, *, finished: bool) -> None:
        """Describe the bag; of a file that is not complete the contents are not known yet."""
        contents = {file.path.name: file.contents for file in self._files}
        if not finished:
            contents[self.path.name] = Contents(counts=dict.fromkeys(self._topics.values(), 0))
        text = folder_text(self._metadata(contents))
        write_atomically(self.folder / METADATA, text.encode())
        self._metadata_changed = False


def sync(descriptors: Sequence[int]) -> None:
    """
    Wait until files are on the disk, and close their descriptors whatever becomes of it.

    From any thread, also while another goes on to write them.

    Raises
    ------
    OSError
        If the disk cannot keep them.

    """
    failure: OSError | None = None
    for descriptor in descriptors:
        try:
            os.fsync(descriptor)
        except OSError as error:
            failure = failure or error
        finally:
            os.close(descriptor)
    if failure is not None:
        raise failure
