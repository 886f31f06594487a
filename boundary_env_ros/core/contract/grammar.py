# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How names, topics, types and field paths are spelt in a contract."""

from __future__ import annotations

import re

from boundary_env_ros.frozen import frozen


@frozen(kw_only=False)
class Grammar:
    """
    How a kind of text is spelt.

    Attributes
    ----------
    name
        What the reference calls it.
    expected
        What an error asks for.
    pattern
        Regular expression of the whole text, as Python and JSON Schema read it.

    """

    name: str
    expected: str
    pattern: str

    def fits(self, text: str) -> bool:
        """Return whether a text is spelt so."""
        return re.fullmatch(self.pattern, text) is not None


_WORD = '[A-Za-z_][A-Za-z0-9_]*'
_STEPS = rf'{_WORD}(\[[0-9]{{1,9}}\])*(\.{_WORD}(\[[0-9]{{1,9}}\])*)*'
_NAMES = rf'{_WORD}(\.{_WORD})*'
_ROTATION = '(roll|pitch|yaw)'

#: Of a field, a group, an agent, an ending.
NAME = Grammar('name', 'a name in lower case (letters, digits, _)', '[a-z][a-z0-9_]*')
VERSION = Grammar(
    'version', 'a version of three numbers, for example 1.0.0', r'[0-9]+\.[0-9]+\.[0-9]+'
)
TOPIC = Grammar(
    'topic', 'a relative topic name, for example odom or camera/image_raw', f'{_WORD}(/{_WORD})*'
)
SERVICE = Grammar(
    'relative service name', 'a relative service name, for example reset_world', TOPIC.pattern
)
TYPE = Grammar(
    'message type',
    'a message type, for example nav_msgs/msg/Odometry',
    '[a-z][A-Za-z0-9_]*/msg/[A-Z][A-Za-z0-9_]*',
)
SERVICE_TYPE = Grammar(
    'service type',
    'a service type, for example std_srvs/srv/Trigger',
    '[a-z][A-Za-z0-9_]*/srv/[A-Z][A-Za-z0-9_]*',
)
PATH = Grammar(
    'field path',
    'a field path, for example twist.linear.x or yaw(pose.pose.orientation)',
    rf'({_STEPS}|{_ROTATION}\({_STEPS}\))',
)
#: A path that can be written to.
COMMAND_PATH = Grammar(
    'field path',
    'a field path without index, for example twist.linear.x or yaw(pose.orientation)',
    rf'({_NAMES}|{_ROTATION}\({_NAMES}\))',
)
TEXT = Grammar('text', 'a text', r'[\s\S]*')
WORD = Grammar('name', 'a text', r'\s*\S[\s\S]*')
UNIT = Grammar(
    'text',
    "a unit, for example m/s, or '' for none; one for all values, or a list of one each",
    TEXT.pattern,
)

#: NumPy types that the numbers of a field may have in a space.
FLOATS = ('float32', 'float64')
