# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the boundary costs a simulation: processor time of an embedded step, against the bare cart.

The bare thing is :mod:`bench.bare_cart`, at the same start, since what rays cost depends on what
they meet. Rounds take turns, so that what else the machine does meets all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
import tempfile
import time
from typing import Any

import gymnasium
import numpy as np

from bench.bare_cart import BareCart
from bench.table import Figure, show
from boundary_env_ros.facade.env import BoundaryEnv

ROUNDS = 12
STEPS = 50


def _action(step: int) -> np.ndarray[Any, Any]:
    return np.array([0.3, 0.1 * math.sin(step / 20.0)], dtype=np.float32)


def _round(env: gymnasium.Env[Any, Any], **reset: Any) -> float:
    """Return the milliseconds of processor time that a step takes."""
    env.reset(seed=1, **reset)
    begun = time.process_time()
    for step in range(STEPS):
        _, _, terminated, truncated, _ = env.step(_action(step))
        if truncated or (terminated and step < STEPS // 2):
            raise SystemExit(f'The episode ended too soon (expected {STEPS} steps, got {step}).')
        if terminated:
            return 1e3 * (time.process_time() - begun) / (step + 1)
    return 1e3 * (time.process_time() - begun) / STEPS


def measure() -> Sequence[Figure]:
    """Return the figures."""
    options = {'scenario': 'far'}
    with tempfile.TemporaryDirectory() as folder:
        bare = BareCart()
        unrecorded = BoundaryEnv(world='embedded')
        recorded = BoundaryEnv(world='embedded', record=Path(folder) / 'run')
        unrecorded.reset(seed=1, options=options)
        assert unrecorded.last is not None
        reset = unrecorded.last.transition.reset
        assert reset is not None
        same = {each.name: each.values for each in reset.achieved}
        rounds = [
            (
                _round(bare, options=same),
                _round(unrecorded, options=options),
                _round(recorded, options=options),
            )
            for _ in range(ROUNDS)
        ]
        unrecorded.close()
        recorded.close()
    bares, without, with_record = zip(*rounds, strict=True)
    return [
        Figure(
            name=f'embedded step, {what}',
            unit='ms CPU',
            values=values,
            bare=bares,
            ratio='bare/ours',
            budget=f'>= {budget}',
        )
        for what, values, budget in (
            ('unrecorded', without, 0.6),
            ('recorded', with_record, 0.5),
        )
    ]


if __name__ == '__main__':
    print(show(measure()))
