# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A door-opening arm: six joints, a parallel gripper, a wrist that feels, two cameras.

``arm.DoorArm`` is the arm in front of its door, ``robot.DoorArmRobot`` what a contract is run
with; only ``physics`` has its model.
"""
