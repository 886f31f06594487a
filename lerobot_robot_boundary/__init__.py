# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Any contract as a robot of LeRobot, which finds these classes beside their configurations."""

from importlib.util import find_spec

# What a session does is tested where LeRobot and PyTorch are not.
if find_spec('lerobot') is not None:
    from lerobot_robot_boundary.robot import BoundaryRobot, BoundaryRobotConfig
    from lerobot_robot_boundary.teleoperators import (
        BoundaryLeader,
        BoundaryLeaderConfig,
        BoundaryOperator,
        BoundaryOperatorConfig,
    )

    __all__ = [
        'BoundaryLeader',
        'BoundaryLeaderConfig',
        'BoundaryOperator',
        'BoundaryOperatorConfig',
        'BoundaryRobot',
        'BoundaryRobotConfig',
    ]
