# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The SO-101 of the tutorial, and who demonstrates on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.testing import RobotTests

PICK_UP = Path(__file__).parents[2] / 'examples' / 'so101' / 'pick_up.py'


class TestSo101(RobotTests):
    seconds = 1.0

    def contract(self) -> str:
        return 'so101'


@pytest.mark.parametrize('place', [[0.22, -0.05, 0.0], [0.26, 0.06, 0.2]])
def test_the_demonstrator_sees_the_cube_and_lifts_it_within_all_limits(place: list[float]) -> None:
    env = BoundaryEnv('so101', world='embedded')
    policy = make_policy(f'{PICK_UP}:PickUp', load('so101'), {})
    policy.reset(1)  # type: ignore[attr-defined]
    observation, info = env.reset(seed=1, options={'cube': place})
    ended = False
    while not ended:
        observation, _, terminated, truncated, info = env.step(policy(observation))
        assert info['verdict'] == Verdict.ADMITTED.name
        ended = terminated or truncated
    env.close()
    assert info['ending'] == 'success'
