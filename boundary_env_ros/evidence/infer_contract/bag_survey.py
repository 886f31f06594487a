# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a robot through a bag, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.draft import draft, is_own
from boundary_env_ros.evidence.infer_contract.survey import Pace, TopicSurvey
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import CDR, definition_text, not_cdr
from boundary_env_ros.storage.definitions import full_name, parse_definition
from boundary_env_ros.storage.message_types import MessageTypes
from boundary_env_ros.storage.record_reader import open_bag

Progress = Callable[[int, int | None], None]
"""Told how many messages were read, and of how many (None: not known)."""


def init_from_bag(path: Path, *, progress: Progress = lambda done, total: None) -> str:
    """
    Return the text of a contract that is drafted from a bag.

    Parameters
    ----------
    path
        A rosbag2 folder (MCAP or SQLite, compressed or not), an ``.mcap`` file, a ``.db3`` file or
        a run folder.
    progress
        Called with each message; see :data:`Progress`.

    Raises
    ------
    RecordError
        If it cannot be read, or nothing in it makes a contract.

    """
    bag = open_bag(path)
    total = bag.count
    topics: dict[tuple[str, str], TopicSurvey] = {}
    flags: list[TopicSurvey] = []
    for channel in bag.channels():
        if not is_own(channel.topic, channel.type):
            topics.setdefault((channel.topic, channel.type), _survey(channel, flags))
    first, last, whole = 0, 0, Pace()
    before: dict[str, bytes] = {}
    for recorded in bag.messages({name for name, _ in topics}):
        topic, logged = topics.get((recorded.topic, recorded.type)), recorded.log_time
        if topic is None:
            continue
        if topic.stamped and recorded.data == before.get(recorded.topic):
            continue  # The same measurement, recorded twice.
        before[recorded.topic] = recorded.data
        whole.count(logged)
        first, last = (min(first, logged) if whole.messages > 1 else logged), max(last, logged)
        topic.on_message(recorded.decode, logged)
        progress(whole.messages, total)
    if not whole.messages:
        none = f'all of its {bag.count} are of the boundary' if bag.count else 'there are none'
        raise RecordError(
            f'The bag {path} has no messages of a robot: {none}'
            f'{f" ({bag.tear})" if bag.tear else ""}. Record while the robot runs.'
        )
    notes = [f'The bag is not whole: {bag.tear}.'] if bag.tear else []
    if jumps := whole.jumps():
        notes.append(
            f'Its time jumps {jumps}: the recording paused, or a clock was set. Rates are '
            'those of the time between.'
        )
    return draft(
        f'the bag {path.resolve().name!r}',
        (last - first) / NANOSECONDS,
        tuple(topics.values()),
        note=' '.join(notes),
    )


def _survey(channel: Channel, flags: list[TopicSurvey]) -> TopicSurvey:
    """Return a survey of a topic that knows the definitions in the bag."""
    try:
        if channel.encoding != CDR:
            raise not_cdr(channel)
        parsed = parse_definition(channel.type, definition_text(channel))
    except RecordError as error:
        topic = TopicSurvey(channel.topic, channel.type, MessageTypes([]), flags)
        topic.trouble = f'its messages cannot be read: {str(error).rstrip(".")}'
        return topic
    fields = {full_name(name): found for name, found in parsed.items()}
    return TopicSurvey(channel.topic, channel.type, MessageTypes([], fields), flags)
