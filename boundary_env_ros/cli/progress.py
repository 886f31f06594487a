# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work."""

from __future__ import annotations

import sys

from boundary_env_ros.terminal import steer


class Progress:
    """One line that changes, on the terminal of the error output only."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Show a text instead of the one before."""
        if self._live:
            steer(sys.stderr, '\r\x1b[K')
            print(text, end='', file=sys.stderr, flush=True)

    def done(self) -> None:
        """Take the line away."""
        self('')
