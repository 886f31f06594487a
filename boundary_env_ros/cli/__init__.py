# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: arguments in, exit code out."""

from __future__ import annotations

import signal


def boundary_env() -> int:
    """Import the command, and run it; an interrupt before it runs ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from boundary_env_ros.cli.main import main

    return main()
