# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How long processes that had something to do waited for a core, as the kernel counts it.

What is judged against the wall clock adds ``NOISE`` for every process that must act on the way.
That is an assumption about the machine; here it is measured, beside what is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import threading

from boundary_env_ros.core.timebase import NANOSECONDS
from support.ros_world import NeverHappened, NOISE, processes_of

WINDOW = 0.5
"""Seconds in which a wait for a core is summed up."""

MANY_TIMES = 20.0
"""A wait that is so much longer than the machine was late has another reason to fail."""

#: Threads of all processes, by (process, thread); ns that each waited for a core until now.
Waits = dict[tuple[int, str], int]


class Lateness:
    """
    The longest wait for a core of any thread in any half a second.

    Attributes
    ----------
    worst
        That wait, s; 0 where the kernel does not count it.

    """

    def __init__(self, run: str) -> None:
        self._run = run
        self._last, self._last_stolen = self._waits(), _stolen()
        self.worst = 0.0

    def look(self) -> None:
        """End a window, and begin the next."""
        waits, stolen = self._waits(), _stolen()
        longest = max((waits[key] - self._last.get(key, waits[key]) for key in waits), default=0)
        self.worst = max(self.worst, longest / NANOSECONDS + stolen - self._last_stolen)
        self._last, self._last_stolen = waits, stolen

    def explains(self, failure: BaseException) -> bool:
        """
        Return whether the machine may be why a test failed.

        It was later than the bounds of the tests assume; that something did not happen in many
        times as long is a failure all the same.
        """
        waited = failure.seconds if isinstance(failure, NeverHappened) else 0.0
        return self.worst > max(NOISE, waited / MANY_TIMES)

    def _waits(self) -> Waits:
        found: Waits = {}
        for number in (*processes_of(self._run), os.getpid()):
            with suppress(OSError):  # ended meanwhile
                for thread in Path(f'/proc/{number}/task').iterdir():
                    with suppress(OSError):
                        # Time on a core, time that it waited for one, and how often; ns.
                        counted = (thread / 'schedstat').read_text().split()
                        found[number, thread.name] = int(counted[1])
        return found


def _stolen() -> float:
    """Return the seconds in which another virtual machine had a core of this one."""
    ticks = int(Path('/proc/stat').read_text().split()[8])
    return ticks / os.sysconf('SC_CLK_TCK')


@contextmanager
def lateness(run: str) -> Iterator[Lateness]:
    """Measure while something is judged."""
    found = Lateness(run)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WINDOW):
            found.look()

    thread = threading.Thread(target=watch, name='lateness')
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found.look()
