# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages of any type from the bytes of a bag, by the definition in it.

Bags from before Iron have no definitions; those of installed packages are taken then, and where
one lacks a type inside it, or is a mere name.
"""

from __future__ import annotations

from typing import Any

from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import DecodedMessage, Decoder, matched_decoder
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.definitions import known_definition, parse_definition
from boundary_env_ros.storage.records import As

#: How messages and definitions are written that are read here, and a language of other ones.
CDR, MSG, IDL = 'cdr', 'ros2msg', 'ros2idl'


def definition_text(channel: Channel) -> str:
    """
    Return the definition of a channel as ``.msg`` text: that of the bag, else the known one.

    Raises
    ------
    RecordError
        If it has none and the type is unknown here, or it is IDL.

    """
    if channel.definition_encoding == MSG:
        return _completed(channel.type, channel.definition.decode(errors='replace'))
    if channel.definition_encoding != IDL:
        return known_definition(channel.type)[0]
    raise RecordError(
        f'The definition cannot be read (expected .msg text of {channel.type} on {channel.topic}, '
        'got IDL). Convert the bag with `ros2 bag convert` where the .msg file is installed.'
    )


def _completed(type_name: str, text: str) -> str:
    """Return a definition, or the known one if that says all that it says, and what it lacks."""
    names = {type_name, type_name.replace('/msg/', '/')}
    try:
        defined = parse_definition(type_name, '' if text.strip() in names else text)
        inside = {
            field.type for fields in defined.values() for field in fields if field.is_message
        }
        if inside <= defined.keys() and any(defined.values()):
            return text
        known = known_definition(type_name)[0]
        there = parse_definition(type_name, known)
    except RecordError:
        return text
    agrees = all(there.get(name) == fields for name, fields in defined.items() if fields)
    return known if agrees else text


def not_cdr(channel: Channel) -> RecordError:
    """Return the error for messages that are written in another way than those of ROS 2."""
    got, fix = channel.encoding or 'no encoding', 'Record them with ROS 2.'
    if got == 'ros1':
        got, fix = 'those of ROS 1', 'Convert the bag with `rosbags-convert`, of rosbags.'
    return RecordError(
        f'Unknown encoding (expected messages in CDR on {channel.topic}, got {got}). {fix}'
    )


class Decoders(dict[As, Decoder[Any]]):
    """
    What makes records and other objects of the messages of a channel, by class; each made once.

    Both raise :class:`~boundary_env_ros.errors.RecordError`: for messages that are not in CDR or a
    definition that cannot be read, and for what is no such message.

    Attributes
    ----------
    unlike
        In what the definition is unlike the classes.
    messages
        How many messages there were.

    """

    def __init__(self, channel: Channel) -> None:
        self._channel, self.unlike, self.messages = channel, Unlike(), 0

    def __missing__(self, cls: As) -> Decoder[Any]:
        channel = self._channel
        if channel.encoding != CDR:
            raise not_cdr(channel)
        text = definition_text(channel)
        self[cls], unlike = matched_decoder(
            cls or DecodedMessage, channel.type, text, self.unlike.exact
        )
        self.unlike.add(unlike.unknown, unlike.passed_over)
        return self[cls]
