# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Simulated robots as plain objects that know time only as an argument.

``warehouse.Warehouse`` has the carts, ``door_arm.arm.DoorArm`` the arm that opens a door;
``engine`` imports MuJoCo, for what is simulated alone.
"""
