# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Between records of the core and ROS messages.

The rules are those of :mod:`boundary_env_ros.core.serialization`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from boundary_env_ros.core.fields import stamp_of
from boundary_env_ros.core.lockstep import Advanced, WorldAdvanced
from boundary_env_ros.core.serialization import from_message, to_message
from boundary_env_ros.core.timebase import Instant, NANOSECONDS
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.ros.interfaces import msg

Message = Any


def to_msg(record: object, now: Instant | None = None) -> Message:
    """
    Return a record as the ROS message of the same name.

    Parameters
    ----------
    record
        A record of the core.
    now
        What the header is stamped with, if the message has one.

    """
    message = to_message(record, _new)
    if now is not None and hasattr(message, 'header'):
        set_time(message.header.stamp, now.ros.nanoseconds)
    return message


def _new(cls: type) -> Message:
    if cls.__name__ == 'KeyValue':
        return message_class('diagnostic_msgs/msg/KeyValue')()
    if cls.__name__ == 'RosTime':
        return message_class('builtin_interfaces/msg/Time')()
    return getattr(msg, cls.__name__)()


from_msg = from_message


def advanced_from(message: Message) -> Advanced:
    """Return the world's answer with the time that it carries."""
    return Advanced(report=from_message(WorldAdvanced, message), now=stamp_of(message) or 0)


def set_time(time: Message, nanoseconds: int) -> None:
    """Write nanoseconds to a ``builtin_interfaces/Time``."""
    time.sec, time.nanosec = divmod(nanoseconds, NANOSECONDS)


def fill(message: Message, fields: Mapping[str, Any]) -> Message:
    """Write nested fields to a message, and return it."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            fill(getattr(message, name), value)
        elif isinstance(value, bytes):
            # An array.array is taken as it is; a list of integers would be checked one by one.
            data = getattr(message, name)
            data.frombytes(value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            element = _element_class(message, name)
            setattr(message, name, [fill(element(), item) for item in value])
        else:
            setattr(message, name, value)
    return message


def _element_class(message: Message, name: str) -> Any:
    """Return the class of the messages in a sequence or array."""
    declared = message.get_fields_and_field_types()[name]
    package, kind = (
        declared.removeprefix('sequence<').split('[')[0].rstrip('>').split(',')[0].split('/')
    )
    return message_class(f'{package}/msg/{kind}')


@cache
def message_class(type_name: str) -> Any:
    """
    Return the class of a message or service type, ``package/msg/Name``, ``package/srv/Name``.

    Raises
    ------
    ContractError
        If it is not installed.

    """
    package, kind, name = type_name.split('/')
    try:
        return getattr(import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError) as error:
        problem = Problem(
            path=('type',),
            line=None,
            expected='an installed type',
            actual=type_name,
            hint=f'Install the ROS package {package}, or source the workspace that has it.',
        )
        raise ContractError([problem], type_name) from error
