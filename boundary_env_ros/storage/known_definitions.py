# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Message definitions for what a bag tells only in part, or not at all.

Bags from before Iron have no definitions, some have them as IDL, and the messages of this package
are written where no ROS is installed too. What is installed comes first; then what ``rosbags``
knows of ROS 2 Jazzy, with the ``.msg`` files of this package.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
import os
from pathlib import Path
import re
import sys
from typing import Any

from boundary_env_ros.errors import BoundaryError, MissingDependency, RecordError
from boundary_env_ros.resources import share_directory
from boundary_env_ros.storage.definitions import definition_of, parse_definition, SEPARATOR
from boundary_env_ros.storage.mcap_scan import Channel

MSG, IDL = 'ros2msg', 'ros2idl'

_OWN = 'boundary_env_ros'
_DIRECTIVE = re.compile(
    r'^[ \t]*#[ \t]*(?:include|pragma|define|if|ifdef|ifndef|endif)\b.*$', re.M
)


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
        If nobody here knows it.
    MissingDependency
        If it is not installed, and ``rosbags``, which may know it, is not either.

    """
    return _known_definition(type_name, os.environ.get('AMENT_PREFIX_PATH', ''), sys.prefix)


@cache
def _known_definition(type_name: str, ament: str, own: str) -> tuple[str, str]:
    # Wheels put the packages of ROS under the prefix of the interpreter.
    prefixes = [*(Path(entry) for entry in ament.split(os.pathsep) if entry), Path(own)]
    try:
        return definition_of(type_name, prefixes)
    except RecordError as error:
        try:
            store = _jazzy()
            return store.generate_msgdef(type_name, ros_version=2)[0], store.hash_rihs01(type_name)
        except MissingDependency as missing:
            raise missing from error
        except Exception as unknown:  # It raises what it likes for what it does not know.
            raise error from unknown


@cache
def _jazzy() -> Any:
    """Return what rosbags knows of ROS 2 Jazzy, with the messages of this package."""
    typesys = typesys_of_rosbags()
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    try:
        folder = share_directory() / 'msg'
    except BoundaryError:
        return store
    types: dict[str, Any] = {}
    for file in sorted(folder.glob('*.msg')):
        text = file.read_text(encoding='utf-8')
        types.update(typesys.get_types_from_msg(text, f'{_OWN}/msg/{file.stem}'))
    if types:
        store.register(types)
    return store


def known_hash(type_name: str, text: str) -> str:
    """Return the hash of a type by its definition; empty if nobody here knows just that one."""
    try:
        known, type_hash = known_definition(type_name)
        same = parse_definition(type_name, known) == parse_definition(type_name, text)
    except (RecordError, MissingDependency):
        return ''
    return type_hash if same else ''


def described(channel: Channel) -> Channel:
    """
    Return a channel with a definition as ``.msg`` text, whatever the bag has.

    Raises
    ------
    RecordError
        If it has none and nobody here knows the type, or its IDL cannot be read.
    MissingDependency
        If it takes ``rosbags`` to know it, which is not installed.

    """
    if channel.definition_encoding == MSG:
        return channel
    if channel.definition_encoding == IDL:
        text = _from_idl(channel)
    else:
        text = known_definition(channel.type)[0]
    return replace(channel, definition_encoding=MSG, definition=text.encode())


def _from_idl(channel: Channel) -> str:
    typesys = typesys_of_rosbags()
    types: dict[str, Any] = {}
    try:
        for part in channel.definition.decode().split(f'{SEPARATOR}\n'):
            head, _, rest = part.partition('\n')
            idl = rest if head.startswith('IDL: ') else part
            if idl.strip():
                # What it includes is another part; rosbags does not know the directive.
                types.update(typesys.get_types_from_idl(_DIRECTIVE.sub('', idl)))
        store = typesys.get_typestore(typesys.Stores.EMPTY)
        store.register(types)
        text: str = store.generate_msgdef(channel.type, ros_version=2)[0]
    except Exception as error:  # It raises what it likes for what it cannot read.
        told = str(error).rstrip('.') or type(error).__name__
        raise RecordError(
            f'Expect a readable definition of {channel.type} on {channel.topic}, '
            f'actually: {told}. Record it anew.'
        ) from error
    return text


def typesys_of_rosbags() -> Any:
    """
    Return what reads message definitions in ``rosbags``.

    Raises
    ------
    MissingDependency
        If it is not installed.

    """
    try:
        from rosbags import typesys
    except ImportError as error:
        raise MissingDependency(
            f'Expect rosbags, which knows messages, actually: {error}. '
            'Install it with `pip install rosbags`.'
        ) from error
    return typesys
