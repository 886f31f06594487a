# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Says how late this machine's scheduler is, until its input ends.

It sleeps for two milliseconds, over and over, and tells each time that it overslept by more than
one: the steady clock after it, and the overshoot, both ns.
"""

from __future__ import annotations

import select
import sys
import time

SLEEP = 2_000_000
WORTH_TELLING = 1_000_000


def main() -> None:
    """Sleep and tell."""
    before = time.monotonic_ns()
    while not select.select([sys.stdin], [], [], SLEEP / 1e9)[0]:
        now = time.monotonic_ns()
        late = now - before - SLEEP
        if late > WORTH_TELLING:
            print(now, late, flush=True)
        before = time.monotonic_ns()


if __name__ == '__main__':
    main()
