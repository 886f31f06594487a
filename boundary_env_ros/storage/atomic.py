# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole files or none, and their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
from typing import BinaryIO, TypeVar

from boundary_env_ros.errors import RecordError

T = TypeVar('T')


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
        with open_draft(draft) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # A place that cannot be written has none.
            draft.unlink(missing_ok=True)
        raise RecordError(
            f'{path} cannot be written: {error.strerror or error}. '
            'Free space or choose another place.'
        ) from error


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
    try:
        yield
    except FileExistsError:
        raise taken(path, what, place) from None
    except OSError as error:
        raise RecordError(
            f'{path} cannot be made: {error.strerror or error}. Choose another place.'
        ) from error


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
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
