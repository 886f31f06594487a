# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keyboard of a replay, one key at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import os
import select
import sys
import termios
import tty

#: What a terminal sends for each key, and what it means.
KEYS: Mapping[str, str] = {
    ' ': 'toggle',
    '\x1b[C': 'message',
    's': 'step',
    '\x1b[A': 'faster',
    '\x1b[B': 'slower',
    '.': 'forward',
    ',': 'back',
    '\x1b[6~': 'far forward',
    '\x1b[5~': 'far back',
    'r': 'restart',
    'q': 'quit',
}

HELP = (
    'space pause/resume · right next message · s next step of an episode · up/down rate · '
    ', and . back/forward 1 s · page up/down 10 s · r restart · q quit'
)


class Keyboard:
    """
    Keys that were pressed at the terminal of this process.

    Parameters
    ----------
    file
        Number of the file that is read.

    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._rest = ''

    def pressed(self) -> list[str]:
        """Return what the keys mean that were pressed since the last time; it does not wait."""
        while select.select([self._file], [], [], 0.0)[0]:
            data = os.read(self._file, 64)
            if not data:
                break
            self._rest += data.decode(errors='replace')
        found = []
        while self._rest:
            key = next((key for key in KEYS if self._rest.startswith(key)), '')
            if key:
                found.append(KEYS[key])
            # A key that means nothing is passed over, one character at a time.
            self._rest = self._rest[len(key) or 1 :]
        return found


@contextmanager
def keyboard() -> Iterator[Keyboard | None]:
    """Take the terminal key by key, and give it back as it was; None if the input is none."""
    file = sys.stdin.fileno() if sys.stdin.isatty() else -1
    # In the background the terminal is somebody else's.
    if file < 0 or os.tcgetpgrp(file) != os.getpgrp():
        yield None
        return
    before = termios.tcgetattr(file)
    try:
        # Signals stay signals: Ctrl-C ends the replay.
        tty.setcbreak(file)
        yield Keyboard(file)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
