# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Simulated robots as plain objects that know time only as an argument.

``warehouse_cart.WarehouseCart`` is the cart, ``door_arm.arm.DoorArm`` the arm that opens a door;
``engine`` imports MuJoCo, for the two ``physics`` alone.
"""
