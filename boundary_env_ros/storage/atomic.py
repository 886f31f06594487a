# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole files and folders or none, and their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import shutil
from typing import BinaryIO, Final, TypeVar

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.disk_errors import disk_error

T = TypeVar('T')

_FREE: Final = 'Free space or choose another place.'


class Closing(ABC):
    """What a ``with`` block closes at its end."""

    @abstractmethod
    def close(self) -> None:
        """Complete and close it; a second time does nothing."""

    def __enter__(self: T) -> T:
        """Return it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close it."""
        self.close()


def open_draft(path: Path) -> BinaryIO:
    """
    Open a new file that takes the place of another later.

    What has its name goes away: what a run that was ended left, or a link in a folder of another
    user, through which a file elsewhere would be overwritten.

    Raises
    ------
    OSError
        If it cannot be made.

    """
    path.unlink(missing_ok=True)
    return path.open('xb')


def write_atomically(path: Path, data: bytes) -> None:
    """
    Write a file whole: a reader, after a power loss too, finds the old or the new one.

    Raises
    ------
    RecordError
        If it cannot be written; what was there before is untouched.

    """
    draft = path.with_name(f'.{path.name}.{os.getpid()}.tmp')
    try:
        with disk_error(f'{path} cannot be written', _FREE):
            with open_draft(draft) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):  # A place that cannot be written has none.
            draft.unlink(missing_ok=True)


def taken(path: Path, what: str, place: str = 'place') -> RecordError:
    """Return the error for a place where something is already."""
    return RecordError(
        f'{path} exists already, not overwritten. '
        f'Choose another {place} for {what}, or move the old one away.'
    )


@contextmanager
def making(path: Path, what: str, place: str = 'place') -> Iterator[None]:
    """
    Say in our own words why something new cannot be made.

    Parameters
    ----------
    path
        Where it is made.
    what
        What it is, with its article.
    place
        What to choose another of.

    Raises
    ------
    RecordError
        If something is there already, or it cannot be made.

    """
    with disk_error(f'{path} cannot be made', 'Choose another place.'):
        try:
            yield
        except FileExistsError:
            raise taken(path, what, place) from None


def check_new(path: Path) -> None:
    """
    Refuse a place for a new file where something is already; before long work, not after it.

    Raises
    ------
    RecordError
        If something is there, or the folder around it is not.

    """
    if path.exists() or path.is_symlink():
        raise taken(path, 'a new file')
    if not path.parent.is_dir():
        raise RecordError(f'{path} cannot be written: there is no folder {path.parent}. Make it.')


def write_new(path: Path, data: bytes) -> None:
    """
    Write a new file whole, and nothing over what is there.

    Raises
    ------
    RecordError
        If something is there, or it cannot be written.

    """
    check_new(path)
    write_atomically(path, data)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    _sync(folder, os.O_DIRECTORY)


def _sync(path: Path, flags: int = 0) -> None:
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Folders ---------------------------------------------------------------------------------------


@contextmanager
def new_folder(path: Path, what: str) -> Iterator[Path]:
    """
    Give a folder to write into, which takes its place when everything is written.

    Whatever ends the writing before, nothing is at the place. After a kill or a power loss a
    hidden draft may lie beside it, which the next attempt takes away.

    Parameters
    ----------
    path
        A place where nothing is.
    what
        What it will be, with its article, for the errors.

    Raises
    ------
    RecordError
        If something is at the path already, or it cannot be written.

    """
    if path.exists() or path.is_symlink():
        raise taken(path, what, 'folder')
    around = [parent for parent in path.parents if not parent.exists()]
    draft = path.with_name(f'.{path.name}.tmp')
    try:
        with disk_error(f'{path} cannot be written', _FREE):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            yield draft
            _sync_all(draft)
            draft.rename(path)
            sync_folder(path.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if not path.exists():
            for parent in around:
                with suppress(OSError):
                    parent.rmdir()


def _sync_all(folder: Path) -> None:
    """Bring all files of a folder to the disk, which a power loss must find behind its name."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(Path(place, name))
        sync_folder(Path(place))
