# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Between records of the core and ROS messages.

The rules are those of :mod:`boundary_env_ros.core.serialization`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from struct import unpack_from
from typing import Any, cast, TypeVar

from rclpy.serialization import deserialize_message, serialize_message

from boundary_env_ros.core.contract.model import ActionSpec
from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.core.contract.sources import Array, Paths
from boundary_env_ros.core.records.lockstep import Advanced, SimStepResponse
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.timebase import ClockReading, FIRST_TIME, LAST_TIME, NANOSECONDS
from boundary_env_ros.errors import ContractError, Problem, RecordError
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.cdr import DecodedMessage as Plain
from boundary_env_ros.storage.cdr import Decoder, record_decoder
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.definitions import known_definition

T = TypeVar('T')
Message = Any

# Bytes of the encapsulation, which begins every message; those up to the end of the stamp of a
# header: seconds, nanoseconds.
_ENCAPSULATION = 4
_STAMPED = _ENCAPSULATION + 4 + 4


def to_msg(record: object, now: ClockReading | None = None) -> Message:
    """
    Return a record as the ROS message of the same name.

    Parameters
    ----------
    record
        A record of the core.
    now
        What the header is stamped with, if the message has one.

    """
    data = to_bytes(record, 0 if now is None else now.ros.nanoseconds)
    return deserialize_message(data, message_class(_type_of(type(record))))


def from_msg(cls: type[T], message: Message) -> T:
    """
    Return the record that a message holds.

    Raises
    ------
    RecordError
        If it has not the fields of the record, or an unknown constant.

    """
    return from_bytes(cls, serialize_message(message))


def time_fields(nanoseconds: int) -> dict[str, int]:
    """Return the fields of a ``builtin_interfaces/Time``, or those it can hold next to it."""
    seconds, rest = divmod(min(max(nanoseconds, FIRST_TIME), LAST_TIME), NANOSECONDS)
    return {'sec': seconds, 'nanosec': rest}


def set_time(time: Message, nanoseconds: int) -> None:
    """Write nanoseconds to a ``builtin_interfaces/Time``."""
    fill(time, time_fields(nanoseconds))


def _type_of(cls: type) -> str:
    package = 'diagnostic_msgs' if cls is KeyValue else 'boundary_env_ros'
    return f'{package}/msg/{cls.__name__}'


def to_bytes(record: object, stamp: int = 0) -> bytes:
    """
    Return a record as the bytes of its message, which a publisher takes as well.

    ``stamp`` is that of the header, if the message has one, ns.
    """
    return _encoder(_any(type(record)))(record, stamp)


def from_bytes(cls: type[T], data: bytes) -> T:
    """
    Return the record that the bytes of a message hold.

    Raises
    ------
    RecordError
        If they hold none.

    """
    return cast(T, _decoder(_any(cls))(data))


def _any(cls: type) -> Any:
    # functools.cache asks for a Hashable, which mypy does not see in a class.
    return cls


@cache
def _encoder(cls: type) -> RecordEncoder:
    kind = _type_of(cls)
    return RecordEncoder(cls, kind, known_definition(kind)[0])


@cache
def _decoder(cls: type) -> Decoder[Any]:
    kind = _type_of(cls)
    return record_decoder(cls, kind, known_definition(kind)[0])


def advanced_from(data: bytes) -> Advanced:
    """Return the world's answer with the time in its header."""
    report = from_bytes(SimStepResponse, data)
    return Advanced(report=report, now=_stamp_of_advanced(data) or 0)


def decoded(kind: Any, data: bytes) -> Message:
    """
    Return values with the fields of a message of some class that these bytes hold, to be read.

    Raises
    ------
    RecordError
        If they hold none, or an array of messages or texts that takes too long to read.

    """
    return _plain_decoder(kind)(data)


@cache
def _plain_decoder(kind: Any) -> Decoder[Any]:
    try:
        return record_decoder(Plain, *_defined(kind), most=size_limits.ELEMENTS_AT_ONCE)
    except RecordError:
        pass  # its definition is not installed, or has a field that only rclpy reads

    return partial(message_of, kind)


def message_of(kind: Any, data: bytes) -> Message:
    """
    Return the message of some class that these bytes hold.

    Raises
    ------
    RecordError
        If they hold none.

    """
    try:
        # Not every middleware looks how many there are before it reads them.
        if len(data) >= _ENCAPSULATION:
            return deserialize_message(data, kind)
        fault = f'a message has at least {_ENCAPSULATION}'
    except Exception as error:  # noqa: BLE001 - rclpy raises whatever its C code runs into
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None  # Ctrl-C came while it read
        fault = str(error)
    raise RecordError(f'{len(data)} bytes cannot be read (expected a {kind.__name__}): {fault}.')


def _defined(kind: Any) -> tuple[str, str]:
    """Return the name of the type of a message class, and its definition."""
    name = '/'.join((*kind.__module__.split('.')[:2], kind.__name__))
    return name, known_definition(name)[0]


def header_stamp(kind: Any) -> Callable[[bytes], int | None]:
    """
    Return what reads the stamp of a message of some class, as :func:`stamp_of`, from its bytes.

    A header is the first field wherever ROS has one; it begins with its stamp.
    """
    fields = kind.get_fields_and_field_types()
    if 'transforms' not in fields and 'header' not in fields:
        return lambda data: None

    def read_all(data: bytes) -> int | None:
        try:
            message = decoded(kind, data)
        except RecordError:
            return None
        newest = reversed(getattr(message, 'transforms', (message,)))
        return stamp_of(next(newest, None))

    if next(iter(fields)) != 'header':
        return read_all

    def read(data: bytes) -> int | None:
        if len(data) < _STAMPED:
            return None  # no message, as the decoder will find
        # The second byte says of the rest whether it is little-endian (CDR).
        seconds, nanoseconds = unpack_from('<iI' if data[1] & 1 else '>iI', data, 4)
        return int(seconds * NANOSECONDS + nanoseconds) or None

    return read


_stamp_of_advanced = header_stamp(msg.SimStepResponse)


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
            element = nested_class(message.get_fields_and_field_types()[name])
            setattr(message, name, [fill(element(), item) for item in value])
        else:
            setattr(message, name, value)
    return message


def message_writer(
    kind: Any, example: Mapping[str, Any]
) -> tuple[Callable[[Mapping[str, Any]], bytes], str]:
    """
    Return what makes the bytes of messages of a class from nested fields, and what slows it down.

    Parameters
    ----------
    kind
        The class.
    example
        Fields of one, with all keys that others will have.

    Returns
    -------
    tuple
        A function that makes no message object, if rclpy reads in its bytes what it reads in those
        that it makes itself of the example, and an empty text; else one that has rclpy write them,
        and why.

    """

    def by_rclpy(fields: Mapping[str, Any]) -> bytes:
        return bytes(serialize_message(fill(kind(), fields)))

    expected = deserialize_message(by_rclpy(example), kind)
    try:
        write = RecordEncoder(Mapping, *_defined(kind))
        read = deserialize_message(write(example), kind)
    except Exception as error:  # noqa: BLE001 - of a definition, or from rclpy's C code
        return by_rclpy, f'{type(error).__name__}: {error}'
    if read != expected:
        return by_rclpy, f'its bytes are read as another message (expected {expected}, got {read})'
    return write, ''


def single_precision(kind: Any, group: ActionSpec) -> tuple[bool, ...]:
    """Return which dimensions of a group the message of a class holds as float32."""
    source = group.source
    if isinstance(source, Array):
        return (_is_float32(kind, source.path),) * group.size
    if isinstance(source, Paths):
        return tuple(_is_float32(kind, split_call(path)[1]) for path in source.paths)
    return (False,) * group.size  # joints and trajectories are of float64


def _is_float32(kind: Any, path: str) -> bool:
    *parents, last = path.split('.')
    for name in parents:
        kind = nested_class(kind.get_fields_and_field_types()[name])
    return element_type(kind.get_fields_and_field_types().get(last, '')) == 'float'


def element_type(declared: str) -> str:
    """Return the type of the elements of a sequence or array; of anything else its own."""
    return declared.removeprefix('sequence<').split('[')[0].split(',')[0].rstrip('>')


def nested_class(declared: str) -> Any:
    """Return the class of a field that holds a message, or several."""
    return message_class(element_type(declared).replace('/', '/msg/'))


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
