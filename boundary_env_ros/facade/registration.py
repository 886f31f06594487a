# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The shipped contracts as Gymnasium ids.

Gymnasium 1 asks no entry points: :mod:`boundary_env_ros.facade` registers them when it is
imported, which ``gymnasium.make('boundary_env_ros.facade:boundary_env_ros/...')`` does by itself.
"""

from __future__ import annotations

import gymnasium
from gymnasium.envs.registration import WrapperSpec

#: Those of one agent; several are stepped together, which Gymnasium has no interface for.
IDS = {
    'boundary_env_ros/WarehouseCart-v0': 'warehouse_cart',
    'boundary_env_ros/DoorArm-v0': 'door_arm',
    'boundary_env_ros/GuardedCart-v0': 'guarded_cart',
}


def register() -> None:
    """
    Register the shipped contracts.

    No ``max_episode_steps``: the time limit is the contract's, and a wrapper with another would
    truncate on top of it; the wrapper that is added refuses one that ``make`` is asked for. No
    guard of the order of calls: the environment has its own, which says more.
    """
    for name, contract in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point='boundary_env_ros.facade.env:BoundaryEnv',
                order_enforce=False,
                additional_wrappers=(
                    WrapperSpec(
                        name='RecordWrappers',
                        entry_point='boundary_env_ros.facade.wrapper_chain:RecordWrappers',
                        kwargs={},
                    ),
                ),
                kwargs={'contract': contract},
            )
