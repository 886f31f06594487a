# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The chain over the messages of a bag, which breaks where one is changed, taken out or put in.

Each topic has a SHA-256 chain of its own, over log time and bytes of its messages, so that a bag
may be split, compressed, sorted and stored anew. Every few seconds the recorder writes a
link (``RecordChain.msg``) with the state of all topics. The head of a link is the hash of the link
and of the head before it; the last head therefore stands for the whole bag. Without a signature,
or a copy of the last head in another place, a forger can make the whole chain anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
import json
import struct
from typing import Final

from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import Decoders, definition_text
from boundary_env_ros.storage.definitions import known_definition, parse_definition

CHAIN_TOPIC: Final = '/boundary/record_chain'
CHAIN_TYPE: Final = 'boundary_env_ros/msg/RecordChain'

#: Seconds between two links: a crash leaves so much without one.
INTERVAL: Final = 5.0

_SIZE: Final = 32
_TIME: Final = struct.Struct('<Q')
# Messages of one topic between two links that are remembered; a recorder writes fewer.
_MOST: Final = 1_000_000
# Breaks that are listed one by one.
_REPORTED: Final = 20


@frozen
class ChainLink:
    """One link; see ``RecordChain.msg``."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    digests: bytes
    closed: bool = False
    episodes: int = 0
    head: bytes
    signature: bytes = b''
    public_key: bytes = b''

    def head_after(self, before: bytes) -> bytes:
        """Return the head of this link behind the head of another one."""
        announced = [self.topics, self.counts, self.digests.hex(), self.closed, self.episodes]
        return sha256(before + json.dumps(announced).encode()).digest()

    def topic_states(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield name, number of messages and digest of each topic."""
        for i, (topic, count) in enumerate(zip(self.topics, self.counts, strict=False)):
            yield topic, count, self.digests[_SIZE * i : _SIZE * (i + 1)]


def first_digest(topic: str, type_name: str, definition: str) -> bytes:
    """
    Return what the chain of a topic begins with.

    Comments and order of the types in a definition do not matter: other tools write them anew.
    """
    try:
        fields: object = sorted(
            (name, [(f.name, f.type, f.array, f.size, f.most) for f in found])
            for name, found in parse_definition(type_name, definition).items()
        )
    except RecordError:
        fields = definition
    return sha256(json.dumps([topic, type_name, fields]).encode()).digest()


def next_digest(digest: bytes, log_time: int, data: bytes) -> bytes:
    """Return the digest of a topic after one more message."""
    state = sha256(digest + _TIME.pack(log_time))
    state.update(data)
    return state.digest()


# Writing -----------------------------------------------------------------------------------------


class RecordChain:
    """
    Follows the messages of a bag that is being written, and makes its links.

    Parameters
    ----------
    sign
        Returns signature and public key for a head; None: the chain is not signed.

    Attributes
    ----------
    head
        Head of the last link.
    episodes
        Number of episodes for the next link.

    """

    def __init__(self, sign: Callable[[bytes], tuple[bytes, bytes]] | None = None) -> None:
        self.definition, self.type_hash = known_definition(CHAIN_TYPE)
        self._encode = RecordEncoder(ChainLink, CHAIN_TYPE, self.definition)
        self._sign = sign
        self._digests: dict[str, bytes] = {}
        self._counts: dict[str, int] = {}
        self._log_time = 0
        self.head = bytes(_SIZE)
        self.episodes = 0
        self.is_new = False

    def add_topic(self, topic: str, type_name: str, definition: str) -> None:
        """Begin the chain of a topic, before its first message."""
        self._digests[topic] = first_digest(topic, type_name, definition)
        self._counts[topic] = 0

    def add(self, topic: str, data: bytes, log_time: int) -> None:
        """Follow a message that is written."""
        self._digests[topic] = next_digest(self._digests[topic], log_time, data)
        self._counts[topic] += 1
        self._log_time = max(self._log_time, log_time)
        self.is_new = True

    def link(self, *, closed: bool) -> tuple[bytes, int]:
        """Return the next link as a message, and its log time: sorted, it stays behind them."""
        link = ChainLink(
            topics=tuple(self._digests),
            counts=tuple(self._counts.values()),
            digests=b''.join(self._digests.values()),
            closed=closed,
            episodes=self.episodes,
            head=b'',
        )
        self.head = link.head_after(self.head)
        signature, public_key = self._sign(self.head) if self._sign and closed else (b'', b'')
        link = replace(link, head=self.head, signature=signature, public_key=public_key)
        self.is_new = False
        return self._encode(link), self._log_time


# Reading -----------------------------------------------------------------------------------------


@frozen(kw_only=False)
class Break:
    """
    A place where a bag is not the one that was recorded.

    Attributes
    ----------
    topic
        The topic; empty for the chain itself.
    expected, actual
        What the chain says, and what came.
    only_missing
        Whether it may be that messages are missing, and nothing else.

    """

    topic: str
    expected: str
    actual: str
    only_missing: bool = False


@dataclass(slots=True)
class _ChainedTopic:
    """
    Where the chain of a topic is: at the last link, and at each message behind it.

    All its messages have to be of one type, whatever channel they are in.
    """

    digest: bytes
    confirmed: bytes
    count: int = 0
    pending: deque[bytes] = field(default_factory=lambda: deque(maxlen=_MOST))
    first: bytes = b''
    channel: Channel | None = None

    def restart(self, count: int, digest: bytes) -> None:
        """Go on from what a link says."""
        self.count, self.digest, self.confirmed = count, digest, digest
        self.pending.clear()


class ChainCheck:
    """
    Follows the chain through the messages of a bag, in its order.

    Attributes
    ----------
    messages, confirmed
        How many messages there are, and how many of them a link confirms.
    last
        The last link; None if there is none.
    breaks
        Where the chain breaks, the first ones.
    before
        How many messages each topic lacks before the first link, where those are the ones before
        the first message of the bag: it is a slice, or a later file alone.
    absent
        Topics of the last link that the bag does not have, and how many messages each had.

    """

    def __init__(self) -> None:
        self._topics: dict[str, _ChainedTopic] = {}
        self.messages = self.confirmed = 0
        self.last: ChainLink | None = None
        self.breaks: list[Break] = []
        self.before: dict[str, int] = {}
        self.absent: dict[str, int] = {}

    def add(self, channel: Channel, log_time: int, publish_time: int, data: bytes) -> None:
        """Follow the next message."""
        if channel.type == CHAIN_TYPE:
            self._follow(channel, data)
            return
        topic = self._topics.get(channel.topic)
        if topic is None or (topic.channel is not channel and topic.channel != channel):
            try:
                text = definition_text(channel)
            except RecordError:
                text = ''
            first = first_digest(channel.topic, channel.type, text)
            if topic is None:
                topic = self._topics[channel.topic] = _ChainedTopic(first, first)
            # That of a topic which only a link has named is not known yet.
            if topic.first not in (b'', first):
                self._break(Break(channel.topic, 'one type and definition', 'another'))
            topic.channel, topic.first = channel, first
        topic.digest = next_digest(topic.digest, log_time, data)
        topic.pending.append(topic.digest)
        self.messages += 1

    @property
    def types(self) -> Mapping[str, str]:
        """Return the type of each topic that has messages."""
        channels = (topic.channel for topic in self._topics.values())
        return {channel.topic: channel.type for channel in channels if channel is not None}

    def finish(self) -> None:
        """Look at what the last link says of the whole bag."""
        if self.last is None:
            return
        for name, count, _ in self.last.topic_states():
            if count and name not in self._topics:
                self.absent[name] = count
        for name, topic in self._topics.items() if self.last.closed else ():
            if topic.pending:
                more = f'{topic.count + len(topic.pending)}'
                self._break(Break(name, f'{topic.count} messages', more))

    def _follow(self, channel: Channel, data: bytes) -> None:
        try:
            link = Decoders(channel)[ChainLink](data)
        except RecordError as error:
            self._break(Break('', 'a link of the chain', str(error)))
            return
        if self.last is not None and self.last.closed:
            self._break(Break('', 'nothing behind the last link', 'another link'))
        before = None if self.last is None else self.last.head
        goes_on = link.head_after(before or bytes(_SIZE)) == link.head
        if before is None:
            self._begin(link)
        if not goes_on and not (before is None and self.before):
            self._break(Break('', 'a link behind the one before it', 'another', only_missing=True))
        for name, count, digest in link.topic_states():
            topic = self._topics.get(name)
            if topic is not None:
                self._confirm(name, topic, count, digest)
        self.last = link

    def _begin(self, link: ChainLink) -> None:
        """
        Go on from the first link for the topics that a slice of a bag has cut.

        A slice lacks the first messages of every topic that had begun. Topics stand in the order
        in which they began: what is missing behind one that is whole was in the middle.
        """
        for name, count, digest in link.topic_states():
            topic = self._topics.get(name)
            lacking = count - (len(topic.pending) if topic is not None else 0)
            if lacking > 0:
                self.before[name] = lacking
                self._topics.setdefault(name, _ChainedTopic(digest, digest)).restart(count, digest)
            elif count:
                return

    def _confirm(self, name: str, topic: _ChainedTopic, count: int, digest: bytes) -> None:
        """Look for what a link says of a topic among the messages since the link before."""
        announced, got = count - topic.count, len(topic.pending)
        if digest in topic.pending:
            while topic.confirmed != digest:
                topic.confirmed = topic.pending.popleft()
                self.confirmed += 1
        elif digest != topic.confirmed:
            actual = f'{got}' if got != announced else 'others'
            expected = f'{announced} messages behind the {topic.count} before'
            self._break(Break(name, expected, actual, only_missing=got < announced))
            topic.restart(count, digest)
        topic.count = count

    def _break(self, found: Break) -> None:
        if len(self.breaks) < _REPORTED:
            self.breaks.append(found)
