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
from boundary_env_ros.storage.records import MessageDecoder

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


def readable(channel: Channel) -> str:
    """
    Return the definition of a channel whose messages can be read.

    Raises
    ------
    RecordError
        If they are not in CDR, or their type is unknown.

    """
    if channel.encoding == 'cdr':
        return definition_text(channel)
    raise RecordError(
        f'Unknown encoding (expected messages in CDR on {channel.topic}, got '
        f'{channel.encoding or "no encoding"}). Record them with ROS 2.'
    )


def message_decoder(channel: Channel) -> MessageDecoder:
    """
    Return a function that decodes the messages of a channel, as records if their class is given.

    It raises :class:`~boundary_env_ros.errors.RecordError` for what is no such message, or has a
    definition that cannot be read.
    """

    @cache
    def made(cls: type) -> Decoder[Any]:
        return record_decoder(cls, channel.type, readable(channel))

    def decode(data: bytes, cls: type | None = None) -> Any:
        try:
            return made(cls or Message)(data)
        except RecordError as error:
            raise RecordError(
                f'A message cannot be read (expected messages of type {channel.type} on '
                f'{channel.topic}, got {str(error).rstrip(".")}). Record them again.'
            ) from error

    return decode
