# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Message definitions, wherever they are known from.

What is installed comes first; then what ``rosbags`` knows of ROS 2 Jazzy, with the ``.msg`` files
of this package, whose messages are written where no ROS is installed too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.resources import share_directory
from boundary_env_ros.storage.definitions import definition_of, parse_definition

_OWN = 'boundary_env_ros'


def known_definition(type_name: str) -> tuple[str, str]:
    """
    Return the definition and the hash of a message type, wherever it is known from.

    Parameters
    ----------
    type_name
        For example ``sensor_msgs/msg/LaserScan``.

    Returns
    -------
    tuple of str
        As :func:`boundary_env_ros.storage.definitions.definition_of` returns them.

    Raises
    ------
    RecordError
        If it is unknown here.

    """
    try:
        return definition_of(type_name)
    except RecordError as error:
        try:
            store = jazzy()
            return store.generate_msgdef(type_name, ros_version=2)[0], store.hash_rihs01(type_name)
        except Exception as unknown:  # It raises what it likes for what it does not know.
            raise error from unknown


@cache
def jazzy() -> Any:
    """Return what rosbags knows of ROS 2 Jazzy, with the messages of this package."""
    # A node finds all it needs installed, and does not load this.
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores

    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        folder = share_directory() / 'msg'
    except BoundaryError:
        return store
    types: dict[str, Any] = {}
    for file in sorted(folder.glob('*.msg')):
        text = file.read_text(encoding='utf-8')
        types.update(get_types_from_msg(text, f'{_OWN}/msg/{file.stem}'))
    if types:
        store.register(types)
    return store


def known_hash(type_name: str, text: str) -> str:
    """Return the hash of a type by its definition; empty if just that one is unknown here."""
    try:
        known, type_hash = known_definition(type_name)
        same = parse_definition(type_name, known) == parse_definition(type_name, text)
    except RecordError:
        return ''
    return type_hash if same else ''
