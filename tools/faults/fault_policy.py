# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A policy in a process of its own that drives ahead, episode after episode, when it is told to.

Arguments: contract file, domain. A line ``drive SEED`` on standard input begins an episode, and
ends the one that runs; the end of the input ends the process. What happens is told on standard
output, an object of JSON a line: ``running`` with seed and episode, ``ended`` with ending and
declarer, or ``error``.
"""

from __future__ import annotations

import ctypes
import json
import select
import signal
import sys
import time

import numpy as np

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.env import BoundaryEnv

_PDEATHSIG = 1  # linux/prctl.h

AHEAD = np.array([0.8, 0.0], dtype=np.float32)


def told(event: str, **values: object) -> None:
    """Say what happened."""
    print(json.dumps({'event': event, 'steady': time.monotonic_ns(), **values}), flush=True)


def spoken_to() -> bool:
    """Return whether a line, or the end of the input, waits to be read."""
    return bool(select.select([sys.stdin], [], [], 0.0)[0])


def drive(env: BoundaryEnv, seed: int) -> None:
    """Drive one episode, until it ends or the next word comes."""
    env.reset(seed=seed, options={'scenario': 'far'})
    told('running', seed=seed, episode=env.episode_id)
    while not spoken_to():
        *_, terminated, truncated, info = env.step(AHEAD)
        if terminated or truncated:
            told('ended', ending=info['ending'], declared_by=info['declared_by'])
            return


def main(file: str, domain_id: int) -> None:
    """Obey until the input ends."""
    # One that hangs would outlive a campaign that was killed.
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    env: BoundaryEnv | None = None
    told('ready')
    try:
        # Not an iteration over the file: that would read ahead of what select sees.
        while line := sys.stdin.readline():
            seed = int(line.split()[1])
            try:
                env = env or BoundaryEnv(file, world='ros', domain_id=domain_id)
                drive(env, seed)
            except BoundaryError as error:
                # A link that lost a peer is not trusted again.
                told('error', seed=seed, kind=type(error).__name__, message=str(error))
                if env is not None:
                    env.close()
                env = None
    finally:
        if env is not None:
            env.close()


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
