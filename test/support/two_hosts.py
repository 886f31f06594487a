# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two machines on this one: network namespaces, a bad link between them, a clock that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack, suppress
import ctypes
import fcntl
import heapq
import os
from pathlib import Path
import random
import select
import struct
import subprocess
import threading
import time

MILLISECOND = 1_000_000

_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long long parameter(const char *name) {
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

static long long ahead(long long now) {
    static long long start, by, ppm;
    if (!start) {
        by = parameter("CLOCK_AHEAD");
        ppm = parameter("CLOCK_PPM");
        start = parameter("CLOCK_START");
    }
    return by + (now - start) / 1000000 * ppm;
}

static void shift(struct timespec *at, long long by) {
    long long now = at->tv_sec * 1000000000LL + at->tv_nsec + by;
    at->tv_sec = now / 1000000000LL;
    at->tv_nsec = now % 1000000000LL;
}

static long long nanoseconds(const struct timespec *at) {
    return at->tv_sec * 1000000000LL + at->tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, at);
    if (!result && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        shift(at, ahead(nanoseconds(at)));
    return result;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* The kernel waits by its own clock. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec at = *until;
    if (at.tv_sec > 1000000000) shift(&at, -ahead(nanoseconds(&at)));
    return real(cond, mutex, &at);
}
"""

_TUNSETIFF, _TAP, _NO_HEADER = 0x400454CA, 0x0002, 0x1000
_NEW_NET = 0x40000000
_MOST_FRAME = 65536


class Link(threading.Thread):
    """
    A cable between two network namespaces that delays, jitters and loses what goes through it.

    Parameters
    ----------
    there, back
        Names of the hosts.

    Attributes
    ----------
    delays
        Least delay of each direction, ns.
    jitter
        Mean of what comes on top of it, ns; nothing overtakes.
    loss
        Share of the frames that is lost.
    carried
        Bytes that were given to each direction.

    """

    def __init__(self, there: str, back: str) -> None:
        super().__init__(daemon=True)
        self._names = there, back
        self._ends: list[int] = []
        self._over = threading.Event()
        self._ready = threading.Event()
        self._chance = random.Random(1)
        self.delays, self.jitter, self.loss = (0, 0), 0, 0.0
        self.carried = [0, 0]

    def __enter__(self) -> Link:
        self.start()
        if not self._ready.wait(10.0):
            raise OSError('no cable')
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(10.0)

    def run(self) -> None:
        """Carry frames until the end."""
        libc = ctypes.CDLL(None, use_errno=True)
        for name in self._names:
            with Path(f'/run/netns/{_namespace(name)}').open() as namespace:
                if libc.setns(namespace.fileno(), _NEW_NET):
                    return
            end = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(end, _TUNSETIFF, struct.pack('16sH', b'cable', _TAP | _NO_HEADER))
            self._ends.append(end)
        self._ready.set()
        waiting: list[tuple[int, int, int, bytes]] = []
        last, number = [0, 0], 0
        while not self._over.is_set():
            now = time.monotonic_ns()
            while waiting and waiting[0][0] <= now:
                _, _, to, frame = heapq.heappop(waiting)
                with suppress(OSError):
                    os.write(self._ends[to], frame)
            pause = (waiting[0][0] - now) / 1e9 if waiting else 0.05
            for end in select.select(self._ends, [], [], max(0.0, min(pause, 0.05)))[0]:
                source = self._ends.index(end)
                with suppress(OSError):
                    frame = os.read(end, _MOST_FRAME)
                    self.carried[source] += len(frame)
                    if self._chance.random() < self.loss:
                        continue
                    more = self._chance.expovariate(1 / self.jitter) if self.jitter else 0.0
                    due = time.monotonic_ns() + self.delays[source] + int(more)
                    last[source] = max(last[source], due)
                    number += 1
                    heapq.heappush(waiting, (last[source], number, 1 - source, frame))
        for end in self._ends:
            os.close(end)


@contextmanager
def linked(*hosts: str) -> Iterator[Link]:
    """
    Join two hosts of these names.

    Raises
    ------
    PermissionError
        If this user may not make them.

    """
    with ExitStack() as stack:
        for host in hosts:
            _ip('netns', 'add', _namespace(host))
            stack.callback(_ip, 'netns', 'delete', _namespace(host))
        link = stack.enter_context(Link(*hosts))
        for number, namespace in enumerate(map(_namespace, hosts), 1):
            _ip('-n', namespace, 'addr', 'add', f'10.77.0.{number}/24', 'dev', 'cable')
            for name in ('lo', 'cable'):
                _ip('-n', namespace, 'link', 'set', name, 'up')
            _ip('-n', namespace, 'link', 'set', 'cable', 'txqueuelen', '10000')
            _ip('-n', namespace, 'route', 'add', '224.0.0.0/4', 'dev', 'cable')
        yield link


def _namespace(host: str) -> str:
    """Return the name of the namespace of a host: not that of another run of the tests."""
    return f'{host}-{os.getpid()}'


def _ip(*words: str) -> None:
    found = subprocess.run(['ip', *words], capture_output=True, text=True, check=False)
    if found.returncode:
        refused = 'not permitted' in found.stderr or 'denied' in found.stderr
        raise (PermissionError if refused else OSError)(found.stderr.strip())


def on_host(host: str, command: Sequence[str]) -> list[str]:
    """Return a command as it runs on a host, by its name."""
    script = f'hostname {host} && exec "$@"'
    return [
        'ip',
        'netns',
        'exec',
        _namespace(host),
        'unshare',
        '--uts',
        'sh',
        '-c',
        script,
        'sh',
        *command,
    ]


class WrongClock:
    """
    The system clock of a host that is set wrongly, and runs wrongly.

    Parameters
    ----------
    folder
        Where what intercepts the clock is built.
    ahead, ppm
        How far it is ahead now, ns, and how many millionths it gains.

    """

    def __init__(self, folder: Path, ahead: int, ppm: int) -> None:
        self.ppm = ppm
        self._ahead, self._start = ahead, time.time_ns()
        source, self._library = folder / 'clock.c', folder / 'clock.so'
        source.write_text(_CLOCK)
        build = ['cc', '-shared', '-fPIC', '-O1', '-o', self._library, source, '-ldl']
        subprocess.run(build, check=True)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables under which a process has this clock."""
        return {
            'LD_PRELOAD': str(self._library),
            'CLOCK_AHEAD': str(self._ahead),
            'CLOCK_PPM': str(self.ppm),
            'CLOCK_START': str(self._start),
        }

    def ahead(self, true: int) -> int:
        """Return how far it is ahead at a true time, ns."""
        return self._ahead + (true - self._start) // 1_000_000 * self.ppm
