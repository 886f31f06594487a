# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What ``ros2 launch`` does, for machines without ros2cli: ``FILE [NAME:=VALUE ...]``."""

from __future__ import annotations

import sys

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource

from launch import LaunchDescription, LaunchService


def main() -> int:
    """Launch, and return the exit code."""
    arguments = [tuple(text.split(':=', 1)) for text in sys.argv[2:]]
    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        LaunchDescription(
            [
                IncludeLaunchDescription(
                    AnyLaunchDescriptionSource(sys.argv[1]), launch_arguments=arguments
                )
            ]
        )
    )
    code: int = service.run()
    return code


if __name__ == '__main__':
    sys.exit(main())
