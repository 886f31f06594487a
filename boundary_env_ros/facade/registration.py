# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The shipped contracts as Gymnasium ids.

Gymnasium 1 asks no entry points: :mod:`boundary_env_ros.facade` registers them when it is
imported.
"""

from __future__ import annotations

import gymnasium

IDS = {
    'boundary_env_ros/WarehouseCart-v0': 'warehouse_cart',
    'boundary_env_ros/DoorArm-v0': 'door_arm',
}


def register() -> None:
    """
    Register the shipped contracts.

    No ``max_episode_steps``: the time limit is the contract's, and a wrapper with another would
    truncate on top of it.
    """
    for name, contract in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point='boundary_env_ros.facade.env:BoundaryEnv',
                kwargs={'contract': contract},
            )
