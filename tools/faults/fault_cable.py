# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A network cable between two interfaces that can be cut, made lossy or slow, in user space.

Arguments: the names of two TAP interfaces, which it makes and which live as long as it does. A
line on standard input sets what it does from then on: ``loss 0.9`` (probability that a frame is
lost), ``delay 1.0`` (seconds each way), ``good``. Each is answered with the steady clock, ns. The
end of the input ends it.
"""

from __future__ import annotations

from collections import deque
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
        self._to = {one: other, other: one}
        self._loss, self._delay = 0.0, 0.0
        self._under_way: deque[tuple[float, int, bytes]] = deque()

    def set(self, what: str, value: float) -> None:
        """Be good, or have a loss or a delay; what is on the way already arrives as it would."""
        self._loss = value if what == 'loss' else 0.0
        self._delay = value if what == 'delay' else 0.0

    def carry(self, ready: list[int]) -> None:
        """Take frames from the ends that have some, and hand out those whose time has come."""
        now = time.monotonic()
        for end in ready:
            while True:
                try:
                    frame = os.read(end, _LONGEST)
                except OSError:
                    break
                if random.random() >= self._loss:
                    self._under_way.append((now + self._delay, self._to[end], frame))
        # A delay that shrank lets nothing overtake: a cable keeps the order.
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _, end, frame = self._under_way.popleft()
            try:
                os.write(end, frame)
            except OSError:
                continue  # that end is down: the frame is lost

    @property
    def wait(self) -> float:
        """Seconds until the next frame is due."""
        if not self._under_way:
            return 1.0
        return max(0.0, self._under_way[0][0] - time.monotonic())


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
            cable.set(words[0], float(words[1]) if len(words) > 1 else 0.0)
            print(time.monotonic_ns(), flush=True)
        cable.carry([end for end in ends if end in ready])


if __name__ == '__main__':
    main()
