# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How names, topics, types and field paths are spelt in a contract."""

from __future__ import annotations

import re

A_NAME = 'a name in lower case (letters, digits, _)'
A_TOPIC = 'a relative topic name, for example odom or camera/image_raw'
A_TYPE = 'a message type, for example nav_msgs/msg/Odometry'
A_SERVICE = 'a relative service name, for example reset_world'
A_SERVICE_TYPE = 'a service type, for example std_srvs/srv/Trigger'
A_PATH = 'a field path, for example twist.linear.x or yaw(pose.pose.orientation)'
A_COMMAND_PATH = 'a field path without index, for example twist.linear.x or yaw(pose.orientation)'
A_UNIT = "a unit, for example m/s, or '' for none; one for all values, or a list of one each"
A_VERSION = 'a version of three numbers, for example 1.0.0'

#: NumPy types that the numbers of a field may have in a space.
FLOATS = ('float32', 'float64')

_NAME = re.compile(r'[a-z][a-z0-9_]*')
_TOPIC = re.compile(r'[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
_TYPE = re.compile(r'[a-z]\w*/msg/[A-Z]\w*', re.ASCII)
_SERVICE_TYPE = re.compile(r'[a-z]\w*/srv/[A-Z]\w*', re.ASCII)
_VERSION = re.compile(r'\d+\.\d+\.\d+', re.ASCII)


def is_name(text: str) -> bool:
    """Return whether a text can name a field, a group, an agent, a cause."""
    return _NAME.fullmatch(text) is not None


def is_topic(text: str) -> bool:
    """Return whether a text is a relative name of a topic or service."""
    return _TOPIC.fullmatch(text) is not None


def is_type(text: str) -> bool:
    """Return whether a text is a message type."""
    return _TYPE.fullmatch(text) is not None


def is_service_type(text: str) -> bool:
    """Return whether a text is a service type."""
    return _SERVICE_TYPE.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Return whether a text is a version."""
    return _VERSION.fullmatch(text) is not None
