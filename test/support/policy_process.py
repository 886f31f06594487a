# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A policy in a process of its own, to be killed: drives ahead and says each step that it made.

Arguments: contract file, domain, seed.
"""

from __future__ import annotations

import sys

import numpy as np

from boundary_env_ros.facade.env import BoundaryEnv


def main(file: str, domain_id: int, seed: int) -> None:
    """Drive until the episode ends."""
    env = BoundaryEnv(file, world='ros', pacing='realtime', domain_id=domain_id)
    try:
        env.reset(seed=seed, options={'scenario': 'far'})
        print('episode', env.episode_id, flush=True)
        ended = False
        while not ended:
            *_, terminated, truncated, info = env.step(np.array([0.8, 0.0], dtype=np.float32))
            print('step', info['step'], info['ending'], flush=True)
            ended = terminated or truncated
    finally:
        env.close()


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
