# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The package's own messages and services.

They are built by rosidl and have no type hints, so they are imported from here only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from boundary_env_ros.errors import INSTALL_ROS, MissingDependency

try:
    msg: Any = import_module('boundary_env_ros.msg')
    srv: Any = import_module('boundary_env_ros.srv')
except ImportError as error:
    raise MissingDependency(
        f'The ROS messages of boundary_env_ros are not built: {error}. {INSTALL_ROS}.'
    ) from error
