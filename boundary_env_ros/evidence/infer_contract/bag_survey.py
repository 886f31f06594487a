# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a robot through a bag, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.draft import draft, is_own
from boundary_env_ros.evidence.infer_contract.observer import TopicObserver
from boundary_env_ros.evidence.infer_contract.survey import Survey
from boundary_env_ros.storage.decoding import definition_text, message_decoder
from boundary_env_ros.storage.definitions import parse_definition
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.message_paths import full_name
from boundary_env_ros.storage.message_types import MessageTypes
from boundary_env_ros.storage.rosbag2 import offers_of_bag, open_bag

Progress = Callable[[int, int | None], None]
"""Told how many messages were read, and of how many (None: not known)."""

_OFTEN = 500


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

    """
    return draft(survey_bag(path, progress=progress))


def survey_bag(path: Path, *, progress: Progress | None = None) -> Survey:
    """Return what is to be seen of a robot in a bag; see :func:`init_from_bag`."""
    bag = open_bag(path)
    total = bag.count
    observers: dict[tuple[str, str], TopicObserver] = {}
    decoders: dict[Channel, Callable[[bytes], object]] = {}

    def wanted(channel: Channel) -> bool:
        if is_own(channel.topic, channel.type):
            return False
        key = (channel.topic, channel.type)
        if key not in observers:
            observers[key] = _observer(channel)
        decoders[channel] = message_decoder(channel)
        return True

    first, last, number = 0, 0, 0
    for number, (channel, logged, _, data) in enumerate(bag.messages(wanted), 1):
        first, last = (min(first, logged) if number > 1 else logged), max(last, logged)
        observer = observers[(channel.topic, channel.type)]
        try:
            message = decoders[channel](data) if observer.is_readable else None
        except RecordError as error:
            observer.give_up(f'a message could not be decoded: {str(error).rstrip(".")}')
            message = None
        if message is None:
            observer.count(logged)
        else:
            observer.see(message, logged)
        if progress is not None and number % _OFTEN == 0:
            progress(number, total)
    if progress is not None:
        progress(number, total)
    if not number:
        none = f'all of its {bag.count} are of the boundary' if bag.count else 'there are none'
        raise RecordError(
            f'The bag {path} has no messages of a robot: {none}'
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


def _observer(channel: Channel) -> TopicObserver:
    """Return an observer for a topic that knows the definitions in the bag."""
    try:
        parsed = parse_definition(channel.type, definition_text(channel))
    except RecordError as error:
        observer = TopicObserver(channel.topic, channel.type, MessageTypes([]))
        observer.give_up(f'its definition cannot be read: {str(error).rstrip(".")}')
        return observer
    fields = {full_name(name): found for name, found in parsed.items()}
    return TopicObserver(channel.topic, channel.type, MessageTypes([], lambda: fields))
