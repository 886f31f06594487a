# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The raw messages of any bag of ROS 2, one at a time.

MCAP files are read up to where they are torn, SQLite files whole, and either as rosbag2 compresses
whole files. All come in the same form, file by file, so that a bag that was split is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
import shutil
from tempfile import TemporaryDirectory
from typing import TypeAlias
from weakref import finalize

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import limits
from boundary_env_ros.storage.bag_metadata import (
    files_of_bag,
    in_order,
    information_of,
    METADATA,
)
from boundary_env_ros.storage.mcap_scan import Channel, MAGIC, McapScan
from boundary_env_ros.storage.sqlite_bag import SQLITE, SqliteFile
from boundary_env_ros.storage.unpacking import unpacked

_WAY_OUT = 'Name a rosbag2 folder, an .mcap file, a .db3 file or a run folder.'
_ZSTD = b'\x28\xb5\x2f\xfd'
_ROS_1 = b'#ROSBAG'

BagFile: TypeAlias = McapScan | SqliteFile
Wanted = Callable[[Channel], bool]

#: Channel, log time and publish time (nanoseconds; the same where the bag has but one), bytes.
Raw = tuple[Channel, int, int, bytes]


@dataclass(frozen=True, slots=True)
class Bag:
    """
    A bag, to be read as often as one likes. Made by :func:`open_bag`.

    Attributes
    ----------
    path
        What was opened.
    files
        Its files in their order.

    """

    path: Path
    files: tuple[BagFile, ...]

    @property
    def count(self) -> int | None:
        """Return how many messages it has; None if only reading it through can tell."""
        if not all(file.complete for file in self.files):
            return None
        return sum(sum(file.contents().counts.values()) for file in self.files)

    @property
    def tear(self) -> str:
        """Return where it is torn, known when it was read through; empty if it is whole."""
        return '; '.join(file.tear for file in self.files if file.tear)

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Return the log times between which messages were damaged, nanoseconds."""
        return tuple(hole for file in self.files for hole in file.holes)

    @property
    def start(self) -> int | None:
        """Return its least log time, nanoseconds; None if there is no message."""
        starts = (file.contents().start for file in self.files)
        return min((start for start in starts if start is not None), default=None)

    def channels(self) -> tuple[Channel, ...]:
        """
        Return every topic, one that has no message too; two that differ in their type are two.

        Immediate for a bag that was closed; else it is read through.
        """
        found = {channel: None for file in self.files for channel in file.contents().counts}
        return tuple(found)

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        """
        Yield the messages of some topics, one file after the other.

        Parameters
        ----------
        wanted
            Whether those of a channel are wanted; asked for every one, with messages or without.

        Raises
        ------
        RecordError
            If it cannot be read.

        """
        return chain.from_iterable(file.messages(wanted) for file in self.files)


def open_bag(path: Path) -> Bag:
    """
    Open a bag.

    Parameters
    ----------
    path
        A rosbag2 folder, a run folder with one in it, an ``.mcap`` file or a ``.db3`` file.

    Raises
    ------
    RecordError
        If it is none of them, or cannot be read.

    """
    try:
        return _folder(path, path) if path.is_dir() else Bag(path, (_file(path),))
    except OSError as error:
        raise RecordError(
            f'{path} cannot be read: {error.strerror or error}. {_WAY_OUT}'
        ) from error


def _folder(path: Path, folder: Path) -> Bag:
    if (folder / METADATA).exists():
        if str(information_of(folder).get('compression_mode')).lower() == 'message':
            raise RecordError(
                f'{folder} cannot be read (expected compressed files or none, got messages that '
                'are compressed one by one). Convert it with `ros2 bag convert`.'
            )
        return Bag(path, tuple(map(_file, files_of_bag(folder))))
    # Without its metadata a bag was not closed; its files are there nevertheless.
    for pattern in ('*.mcap', '*.db3'):
        found = sorted(folder.glob(pattern), key=in_order)
        if found:
            return Bag(path, tuple(map(_file, found)))
    if (folder / 'bag').is_dir():
        return _folder(path, folder / 'bag')
    raise RecordError(f'{folder} holds no bag. {_WAY_OUT}')


def _file(path: Path) -> BagFile:
    with path.open('rb') as file:
        head = file.read(len(SQLITE))
    if head.startswith(MAGIC) or path.suffix == '.mcap':
        return McapScan(path)
    if head.startswith(SQLITE):
        return SqliteFile(path)
    if head.startswith(_ZSTD):
        return _unpacked(path)
    if head.startswith(_ROS_1):
        raise RecordError(
            f'{path} is a bag of ROS 1, not of ROS 2. '
            'Convert it with `rosbags-convert`, which comes with rosbags.'
        )
    raise RecordError(f'{path} is not a ROS 2 bag. {_WAY_OUT}')


def _unpacked(path: Path) -> BagFile:
    """Return what is in a file that is compressed as a whole, decompressed into another."""
    folder = TemporaryDirectory(prefix='boundary_env_bag_')
    inner = Path(folder.name) / path.stem
    size = path.stat().st_size
    most = min(
        max(limits.UNPACKED, limits.UNPACKED_TIMES * size),
        shutil.disk_usage(inner.parent).free // 2,
    )
    with path.open('rb') as packed, inner.open('wb') as out:
        for block in unpacked('zstd', packed, most, path):
            out.write(block)
    file = _file(inner)
    finalize(file, folder.cleanup)  # when nothing reads it any more
    return file
