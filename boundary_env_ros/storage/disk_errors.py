# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an error of the disk means for whoever records."""

from __future__ import annotations

import errno
from typing import Final

_NO_SPACE: Final = 'Free space and record anew.'
_WAYS_OUT: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: 'Let files be larger (`ulimit -f`), or split them, and record anew.',
    errno.EROFS: (
        'Choose a place that can be written and record anew; if it could be until now, the kernel '
        'has taken it away after a fault of the disk (`dmesg`).'
    ),
    errno.EACCES: 'Choose a place that you may write to, and record anew.',
    errno.EPERM: 'Choose a place that you may write to, and record anew.',
    errno.EIO: 'The disk has failed (`dmesg`): record anew on another.',
}


def reason(error: Exception) -> str:
    """Return what went wrong, without a full stop."""
    told = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return told.rstrip('.')


def way_out(error: Exception) -> str:
    """Return what to do about it, in one sentence."""
    number = error.errno if isinstance(error, OSError) else None
    return _WAYS_OUT.get(number or 0, 'Record anew in another place.')
