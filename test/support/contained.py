# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work on hostile files in a process that may take only so much memory and time."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import resource
import signal
import traceback

MEMORY = 256 << 20
SECONDS = 20


def contained(work: Callable[[], object], memory: int = MEMORY, seconds: int = SECONDS) -> str:
    """
    Return what some work returned, as text, or raised, as ``ERROR: text``.

    A bomb ends the child with a MemoryError, or by the alarm; neither is a RecordError.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            os.close(reading)
            pages = int(Path('/proc/self/statm').read_text().split()[0])
            most = pages * resource.getpagesize() + memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            try:
                said = str(work())
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
                frames = traceback.extract_tb(error.__traceback__)
                at = f' at {Path(frames[-1].filename).name}:{frames[-1].lineno}'
                known = type(error).__name__ == 'RecordError'
                said = f'{type(error).__name__}{"" if known else at}: {error}'
            os.write(writing, said.encode(errors='replace')[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, 'rb') as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f'killed by {signal.Signals(os.WTERMSIG(status)).name}'
    return said
