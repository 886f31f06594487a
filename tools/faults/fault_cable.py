# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A network cable between two interfaces that can be cut, made lossy or slow, in user space.

Arguments: the names of two TAP interfaces, which it makes and which live as long as it does. A
line on standard input sets what it does from then on, one or several of ``loss 0.9`` (probability
that a frame is lost), ``delay 1.0`` (seconds each way), ``back 0.5`` (seconds from the second
interface, where that is another delay) and ``jitter 0.1`` (mean of what is added at random,
seconds), or ``good``. Each line is answered with the steady clock, ns. The end of the input ends
it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
import fcntl
import os
import random
import select
import struct
import sys
import time

_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
_LONGEST = 65536


def tap(name: str) -> int:
    """Make a TAP interface and return its descriptor; a frame a read, a frame a write."""
    descriptor = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack('16sH', name.encode(), _TAP_WITHOUT_HEADER))
    return descriptor


class Cable:
    """
    Two ends, and what is on the way between them.

    Parameters
    ----------
    one, other
        Descriptors of its ends.

    """

    def __init__(self, one: int, other: int) -> None:
        self._to, self._other = {one: other, other: one}, other
        self._set: Mapping[str, float] = {}
        # Behind each end, what is on the way to it, with the time at which it is there.
        self._under_way: dict[int, deque[tuple[float, bytes]]] = {one: deque(), other: deque()}

    def set(self, values: Mapping[str, float]) -> None:
        """Be good, or as said; what is on the way already arrives as it would."""
        self._set = values

    def _takes(self, end: int) -> float:
        """Return how long the next frame from an end takes, seconds."""
        delay, jitter = self._set.get('delay', 0.0), self._set.get('jitter', 0.0)
        if end == self._other:
            delay = self._set.get('back', delay)
        return delay + (random.expovariate(1.0 / jitter) if jitter else 0.0)

    def carry(self, ready: list[int]) -> None:
        """Take frames from the ends that have some, and hand out those whose time has come."""
        now = time.monotonic()
        for end in ready:
            while True:
                try:
                    frame = os.read(end, _LONGEST)
                except OSError:
                    break
                if random.random() >= self._set.get('loss', 0.0):
                    self._under_way[self._to[end]].append((now + self._takes(end), frame))
        # A delay that shrank lets nothing overtake: a cable keeps the order.
        for end, frames in self._under_way.items():
            while frames and frames[0][0] <= time.monotonic():
                _, frame = frames.popleft()
                try:
                    os.write(end, frame)
                except OSError:
                    continue  # that end is down: the frame is lost

    @property
    def wait(self) -> float:
        """Seconds until the next frame is due."""
        due = [frames[0][0] for frames in self._under_way.values() if frames]
        return max(0.0, min(due) - time.monotonic()) if due else 1.0


def main() -> None:
    """Carry frames until the input ends."""
    ends = [tap(name) for name in sys.argv[1:3]]
    cable = Cable(*ends)
    print(time.monotonic_ns(), flush=True)
    while True:
        ready = select.select([*ends, sys.stdin], [], [], cable.wait)[0]
        if sys.stdin in ready:
            words = sys.stdin.readline().split()
            if not words:
                return
            cable.set(dict(zip(words[::2], map(float, words[1::2]), strict=False)))
            print(time.monotonic_ns(), flush=True)
        cable.carry([end for end in ends if end in ready])


if __name__ == '__main__':
    main()
