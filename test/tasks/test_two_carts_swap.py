# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contract of two carts can be fulfilled: who keeps to the right gets past the other."""

from __future__ import annotations

import math

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.storage.contract_file import load

LANES = {'cart_a': -1.8, 'cart_b': -1.05}
"""Where in the aisle each is on its right, m."""


def keep_right(agent: str, transition: Transition) -> Vector:
    """Drive along the lane, and to the goal at its end, from what the policy sees."""
    seen = {field.name: field.values for field in transition.after}
    (x, y, yaw), (goal_x, goal_y) = seen['pose'], seen['goal']
    if abs(goal_x - x) > 1.2:
        target = (x + math.copysign(0.8, goal_x - x), LANES[agent])
    else:
        target = (goal_x, goal_y)
    error = math.remainder(math.atan2(target[1] - y, target[0] - x) - yaw, 2.0 * math.pi)
    return 0.6 * max(0.0, math.cos(error)), 1.5 * error


@pytest.mark.parametrize('seed', range(3))
def test_carts_that_keep_to_the_right_swap_places_without_touching(seed: int) -> None:
    world = EmbeddedWorld(load('two_carts', Pacing.LOCKSTEP))
    begun = world.reset(seed=seed, options={'scenario': 'aisle'}, wrappers=())
    last = {agent: delivery.transition for agent, delivery in begun.items()}
    while world.running:
        closed = world.step({agent: keep_right(agent, last[agent]) for agent in world.running})
        last |= {agent: deliveries[-1].transition for agent, deliveries in closed.items()}
    assert {agent: transition.ending for agent, transition in last.items()} == {
        'cart_a': 'success',
        'cart_b': 'success',
    }
