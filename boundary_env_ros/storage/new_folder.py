# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole folders or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import shutil

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.atomic import sync_folder, taken


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
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        yield draft
        _sync(draft)
        draft.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RecordError(
            f'{path} cannot be written: {error.strerror or error}. '
            'Free space or choose another place.'
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if not path.exists():
            for parent in around:
                with suppress(OSError):
                    parent.rmdir()


def _sync(folder: Path) -> None:
    """Bring all files of a folder to the disk, which a power loss must find behind its name."""
    for place, folders, names in os.walk(folder):
        for name in names:
            descriptor = os.open(Path(place, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        for name in folders:
            sync_folder(Path(place, name))
    sync_folder(folder)
