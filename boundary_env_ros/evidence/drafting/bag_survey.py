# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a robot through a bag, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import struct
from typing import Any

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.drafting.draft import draft, is_own
from boundary_env_ros.evidence.drafting.observer import TopicObserver
from boundary_env_ros.evidence.drafting.survey import Survey
from boundary_env_ros.storage.bag_metadata import information_of, METADATA
from boundary_env_ros.storage.definitions import parse_definition
from boundary_env_ros.storage.known_definitions import described, typesys_of_rosbags
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.message_types import fields_of_store, MessageTypes
from boundary_env_ros.storage.rosbag2 import Bag, offers_of_bag, open_bag

Progress = Callable[[int, int | None], None]
"""Told how many messages were read, and of how many (None: not known)."""

_OFTEN = 500

#: What a definition, or bytes that are no message of it, make `rosbags` raise.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,
    RecursionError,
    struct.error,
    SyntaxError,
    TypeError,
    ValueError,
)


def init_from_bag(path: Path, *, progress: Progress | None = None) -> str:
    """
    Return the text of a contract that is drafted from a bag.

    Parameters
    ----------
    path
        A rosbag2 folder (MCAP or SQLite, compressed or not), an ``.mcap`` file, a ``.db3`` file or
        a run folder.
    progress
        Called now and then; see :data:`Progress`.

    Raises
    ------
    RecordError
        If it cannot be read, or nothing in it makes a contract.
    MissingDependency
        If ``rosbags`` is not installed.

    """
    return draft(survey_bag(path, progress=progress))


def survey_bag(path: Path, *, progress: Progress | None = None) -> Survey:
    """Return what is to be seen of a robot in a bag; see :func:`init_from_bag`."""
    decoders = _Decoders()
    bag = open_bag(path)
    total = bag.count
    observers: dict[tuple[str, str], TopicObserver] = {}

    def wanted(channel: Channel) -> bool:
        if is_own(channel.topic, channel.type):
            return False
        key = (channel.topic, channel.type)
        if key not in observers:
            observers[key] = decoders.observer(channel)
        return True

    first, last, number = 0, 0, 0
    for number, (channel, logged, _, data) in enumerate(bag.messages(wanted), 1):
        first, last = (min(first, logged) if number > 1 else logged), max(last, logged)
        observer = observers[(channel.topic, channel.type)]
        if not observer.is_readable:
            observer.count(logged)
        else:
            decoders.show(channel, data, logged, observer)
        if progress is not None and number % _OFTEN == 0:
            progress(number, total)
    if progress is not None:
        progress(number, total)
    if not number:
        raise RecordError(
            f'Expect messages of a robot in the bag {path}, actually: {_none(bag)}'
            f'{f" ({bag.tear})" if bag.tear else ""}. Record while the robot runs.'
        )
    offers = offers_of_bag(path)
    return Survey(
        source=f'the bag {path.resolve().name!r}',
        seconds=(last - first) / NANOSECONDS,
        topics=tuple(
            observer.result(
                reliability=offers.get(name, ('', ''))[0],
                durability=offers.get(name, ('', ''))[1],
            )
            for (name, _), observer in observers.items()
        ),
        notes=(f'The bag is not whole: {bag.tear}.',) if bag.tear else (),
    )


def _none(bag: Bag) -> str:
    """Return that there are none, and what there is instead."""
    if bag.count:
        return f'all of its {bag.count} messages are of the boundary itself'
    folder = bag.path if (bag.path / METADATA).is_file() else bag.path / 'bag'
    try:
        counted = information_of(folder).get('message_count')
    except RecordError:
        counted = None
    if not counted:
        return 'there are none'
    return f'its metadata counts {counted} messages, and its files have none'


class _Decoders:
    """A decoder for each definition, made when its first message comes."""

    def __init__(self) -> None:
        typesys = typesys_of_rosbags()
        from rosbags.serde import SerdeError

        self._typesys: Any = typesys
        self._broken = (*_UNREADABLE, SerdeError, typesys.TypesysError)
        self._stores: dict[Channel, Any] = {}

    def observer(self, channel: Channel) -> TopicObserver:
        """Return an observer for a topic that knows the definitions in the bag."""
        try:
            store = self._stores[channel] = self._store(channel)
            fields = fields_of_store(store.fielddefs)
        except (*self._broken, RecordError) as error:
            observer = TopicObserver(channel.topic, channel.type, MessageTypes([]))
            observer.give_up(f'its definition cannot be read: {_text(error)}')
            return observer
        return TopicObserver(channel.topic, channel.type, MessageTypes([], lambda: fields))

    def show(self, channel: Channel, data: bytes, logged: int, observer: TopicObserver) -> None:
        """Decode a message and let the observer see it."""
        try:
            message = self._stores[channel].deserialize_cdr(data, channel.type)
        except self._broken as error:
            observer.count(logged)
            observer.give_up(f'a message could not be decoded: {_text(error)}')
            return
        observer.see(message, logged)

    def _store(self, channel: Channel) -> Any:
        typesys = self._typesys
        store = typesys.get_typestore(typesys.Stores.EMPTY)
        text = described(channel).definition.decode(errors='replace')
        parse_definition(channel.type, text)
        store.register(typesys.get_types_from_msg(text, channel.type))
        return store


def _text(error: Exception) -> str:
    return str(error).rstrip('.') or type(error).__name__
