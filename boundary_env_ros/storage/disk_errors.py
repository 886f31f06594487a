# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the disk says, and what it means for what is read or written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import errno
from pathlib import Path
import shutil
from typing import Final

from boundary_env_ros.errors import RecordError

_MEGABYTE: Final = 1e6

_NO_SPACE: Final = 'Free space and record again.'
_WAYS_OUT: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: 'Let files be larger (`ulimit -f`), or split them, and record again.',
    errno.EROFS: (
        'Choose a writable place and record again; if it was writable until now, the kernel '
        'has taken it away after a fault of the disk (`dmesg`).'
    ),
    errno.EACCES: 'Choose a place that you may write to, and record again.',
    errno.EPERM: 'Choose a place that you may write to, and record again.',
    errno.EIO: 'The disk has failed (`dmesg`): record again on another.',
}


@contextmanager
def disk_error(problem: str, way_out: str = '') -> Iterator[None]:
    """
    Say in our own words what the disk refuses.

    Parameters
    ----------
    problem
        What cannot be done, for example ``x.mcap cannot be read``.
    way_out
        What the error advises.

    Raises
    ------
    RecordError
        In place of an ``OSError``.

    """
    try:
        yield
    except OSError as error:
        raise RecordError(f'{problem}: {reason(error)}. {way_out}'.rstrip()) from error


def reason(error: BaseException) -> str:
    """Return what went wrong, without a full stop."""
    cause = _cause(error)
    reason = str(error) if cause is None else cause.strerror or str(cause)
    return reason.rstrip('.')


def way_out(error: BaseException) -> str:
    """Return what to do about it, in one sentence."""
    cause = _cause(error)
    number = None if cause is None else cause.errno
    return _WAYS_OUT.get(number or 0, 'Record again in another place.')


def check_free_space(place: Path, least: int, way_out: str) -> None:
    """
    Refuse a place on a disk that has fewer bytes left than it should.

    Parameters
    ----------
    place
        Where something is written.
    least
        Bytes; 0: whatever there is.
    way_out
        What the error advises.

    Raises
    ------
    RecordError
        Naming both numbers.

    """
    try:
        free = shutil.disk_usage(place).free if least else 0
    except OSError:
        return  # The next write will fail.
    if free < least:
        raise RecordError(
            f'The disk is almost full (expected at least {least / _MEGABYTE:.1f} MB free for '
            f'{place} (min_free_space), got {free / _MEGABYTE:.1f} MB). {way_out}'
        )


def _cause(error: BaseException) -> OSError | None:
    """Return the error of the disk that an error was raised from; None if there is none."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, OSError):
        found = found.__cause__
    return found
