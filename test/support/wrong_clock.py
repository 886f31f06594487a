# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A machine within this one that has a name and a clock of its own, and the clock is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import subprocess
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


def on_host(space: str, name: str, command: Sequence[str]) -> list[str]:
    """Return a command as it runs in a network namespace, on a host of this name."""
    script = f'hostname {name} && exec "$@"'
    return ['ip', 'netns', 'exec', space, 'unshare', '--uts', 'sh', '-c', script, 'sh', *command]


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
