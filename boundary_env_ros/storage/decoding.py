# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages of any type from the bytes of a bag, by the definition in it.

Bags from before Iron have no definitions; those of installed packages are taken then.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import Decoder, Message, record_decoder
from boundary_env_ros.storage.known_definitions import known_definition
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.records import DecoderFor

MSG, IDL = 'ros2msg', 'ros2idl'


def definition_text(channel: Channel) -> str:
    """
    Return the definition of a channel as ``.msg`` text: that of the bag, else the known one.

    Raises
    ------
    RecordError
        If it has none and the type is unknown here, or it is IDL.

    """
    if channel.definition_encoding == MSG:
        return channel.definition.decode(errors='replace')
    if channel.definition_encoding != IDL:
        return known_definition(channel.type)[0]
    raise RecordError(
        f'The definition cannot be read (expected .msg text of {channel.type} on {channel.topic}, '
        'got IDL). Convert the bag with `ros2 bag convert` where the .msg file is installed.'
    )


def decoders_of(channel: Channel) -> DecoderFor:
    """
    Return a function that makes decoders of the messages of a channel, each of them once.

    Both raise :class:`~boundary_env_ros.errors.RecordError`: for messages that are not in CDR or a
    definition that cannot be read, and for what is no such message.
    """

    @cache
    def decoder(cls: type | None) -> Decoder[Any]:
        if channel.encoding != 'cdr':
            raise RecordError(
                f'Unknown encoding (expected messages in CDR on {channel.topic}, got '
                f'{channel.encoding or "no encoding"}). Record them with ROS 2.'
            )
        return record_decoder(cls or Message, channel.type, definition_text(channel))

    return decoder
