# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages of any type from the bytes of a bag, by the definition in it.

Bags from before Iron have no definitions, and some have them as IDL, which ``rosbags`` reads.
"""

from __future__ import annotations

from functools import cache
import re
from typing import Any, Final

from rosbags.typesys import get_types_from_idl, get_typestore, Stores

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import Decoder, Message, record_decoder
from boundary_env_ros.storage.definitions import SEPARATOR
from boundary_env_ros.storage.known_definitions import known_definition
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.records import MessageDecoder

MSG, IDL = 'ros2msg', 'ros2idl'

# What a part of IDL includes is another part; rosbags does not know the directive.
_DIRECTIVE: Final = re.compile(
    r'^[ \t]*#[ \t]*(?:include|pragma|define|if|ifdef|ifndef|endif)\b.*$', re.M
)


def definition_text(channel: Channel) -> str:
    """
    Return the definition of a channel as ``.msg`` text, whatever the bag has.

    Raises
    ------
    RecordError
        If it has none and the type is unknown here, or its IDL cannot be read.

    """
    if channel.definition_encoding == MSG:
        return channel.definition.decode(errors='replace')
    if channel.definition_encoding != IDL:
        return known_definition(channel.type)[0]
    types: dict[str, Any] = {}
    try:
        for part in channel.definition.decode().split(f'{SEPARATOR}\n'):
            head, _, rest = part.partition('\n')
            idl = rest if head.startswith('IDL: ') else part
            if idl.strip():
                types.update(get_types_from_idl(_DIRECTIVE.sub('', idl)))
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        return store.generate_msgdef(channel.type, ros_version=2)[0]
    except Exception as error:  # It raises what it likes for what it cannot read.
        told = str(error).rstrip('.') or type(error).__name__
        raise RecordError(
            f'The definition cannot be read (expected a readable definition of {channel.type} on '
            f'{channel.topic}, got {told}). Record it again.'
        ) from error


def readable(channel: Channel) -> str:
    """
    Return the definition of a channel whose messages can be read.

    Raises
    ------
    RecordError
        If they are not in CDR, or their type is unknown.

    """
    try:
        if channel.encoding == 'cdr':
            return definition_text(channel)
    except RecordError:
        pass
    raise RecordError(
        'Unknown encoding (expected messages in CDR with a definition as .msg text on '
        f'{channel.topic}, got {channel.encoding or "no encoding"} with '
        f'{channel.definition_encoding or "none"}). Record them with ROS 2 where the package with '
        'the messages is installed.'
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
