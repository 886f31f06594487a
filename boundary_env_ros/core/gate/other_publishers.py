# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who else publishes on the command topics of the gate, and on the topics it relies on."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import OPERATOR
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.frozen import frozen

#: Node of each publisher of a topic, by the identity of the publisher.
NodesByPublisher = Mapping[bytes, str]

# Seconds after which discovery has forgotten a process that was killed: 20 with Fast DDS.
_LINGERS = 30.0
# Own commands that are remembered, to tell those of another apart.
_SENT = 64
# Answers within a span, ns, beyond which another gate is suspected; commands of another, without
# one of the gate between them, that refute it; and for how long they do, ns.
_ANSWERS, _SPAN, _UNPROMPTED, _REFUTED = 10, NANOSECONDS // 10, 4, 2 * NANOSECONDS


@frozen
class Silence:
    """
    When a topic fell silent last, on the steady clock, ns, and who published on it then.

    ``replaced`` are those that were there when it fell silent ``before`` that, and were replaced.
    """

    since: int = 0
    publishers: frozenset[bytes] = frozenset()
    before: int = 0
    replaced: frozenset[bytes] = frozenset()


def after_silence(
    silence: Silence, found: NodesByPublisher, *, received: int | None, now: int, patience: float
) -> Silence:
    """
    Return when a topic fell silent last.

    Parameters
    ----------
    silence
        What was known of that so far.
    found
        Who publishes on it now.
    received
        When a message last came, on the steady clock, ns; None: never.
    now
        The same clock now.
    patience
        Seconds without a message after which it is silent.

    """
    if received is None or received <= silence.since or (now - received) / NANOSECONDS <= patience:
        return silence
    there = frozenset(found)
    replaced = silence.publishers if there - silence.publishers else frozenset()
    return Silence(since=now, publishers=there, before=silence.since, replaced=replaced)


def _lingers(since: int, now: int) -> bool:
    return (now - since) / NANOSECONDS < _LINGERS


def possible_publishers(found: NodesByPublisher, silence: Silence, now: int) -> tuple[str, ...]:
    """
    Return the nodes that may be publishing on a topic.

    A process that was killed stays in discovery for a while. Those that were there when the topic
    fell silent count no more then, beside others: the robot has been stopped for the silence, and
    what was killed can be replaced.
    """
    if _lingers(silence.before, now):
        found = {gid: name for gid, name in found.items() if gid not in silence.replaced}
    others = tuple(name for gid, name in found.items() if gid not in silence.publishers)
    return others if others and _lingers(silence.since, now) else tuple(found.values())


def foreign_publishers(
    found: Sequence[str], own_name: str, *, duplicate: bool, foreign_command: bool
) -> tuple[str, ...]:
    """
    Return the nodes besides the gate that publish on a topic of its commands.

    Parameters
    ----------
    found
        The node of each publisher there, the gate's own among them.
    own_name
        The name of the gate. One publisher of that name is its own; which is unknown. A gate
        that was killed before this one began is not among them: it announces itself no more.
    duplicate
        Whether another gate of this name was seen lately.
    foreign_command
        Whether a command of another node was received there lately: that of a publisher which
        did not stay long enough to be found.

    """
    others = tuple(name for name in found if name != own_name)
    duplicates = max(len(found) - len(others) - 1, int(duplicate))
    others += (f'a second {own_name}',) * duplicates
    return others or ('one that did not stay',) * foreign_command


class Echoes:
    """The gate's own commands, as they come back to one of its subscriptions."""

    def __init__(self) -> None:
        self._sent: deque[object] = deque(maxlen=_SENT)

    def sent(self, command: object) -> None:
        """Take note of a command that went out."""
        self._sent.append(command)

    def is_own(self, command: object) -> bool:
        """Return whether a command that came is one that went out; each comes once."""
        if command not in self._sent:
            return False
        # Those before it got lost; none of them counts twice.
        while self._sent.popleft() != command:
            pass
        return True


class Replies:
    """
    When a command of another is answered at once.

    Another gate would answer each answer, for ever. So a publisher that sends only after a
    command of the gate gets 100 answers a second at most; one that does not wait gets one each
    time.
    """

    def __init__(self) -> None:
        self._answered: deque[int] = deque(maxlen=_ANSWERS)
        self._unprompted: Counter[int] = Counter()
        self._refuted = 0

    def commanded(self) -> None:
        """Take note of a command of the gate."""
        self._unprompted.clear()

    def received(self, subscription: int) -> None:
        """Take note of a command of another, which comes to each subscription."""
        self._unprompted[subscription] += 1

    def due(self, now: int) -> bool:
        """Return whether to answer what was received now, on the steady clock, ns."""
        if max(self._unprompted.values(), default=0) >= _UNPROMPTED:
            self._refuted = now + _REFUTED
        full = len(self._answered) == _ANSWERS and now - self._answered[0] < _SPAN
        if full and now >= self._refuted:
            return False
        self._answered.append(now)
        return True


@frozen
class ReliedOnTopic:
    """
    A topic that the gate relies on.

    Attributes
    ----------
    most
        How many nodes may publish it.
    patience
        Seconds without a message after which it is silent; None: silence means nothing.
    beside
        Name of a node that may publish it besides, in whatever namespace.

    """

    most: int = 1
    patience: float | None = None
    beside: str = ''


def relied_on(contract: Contract) -> dict[str, ReliedOnTopic]:
    """Return the topics that the rules of the gate rely on; their silence stops the robot."""
    realtime = not contract.is_lockstep
    limits: dict[str, float] = {n: need.most for n, need in Limits(contract).needs.items()}
    if contract.safety.operator is not None:
        limits[OPERATOR] = contract.safety.operator.timeout
    found: dict[str, ReliedOnTopic] = {}
    for item in gate_inputs(contract):
        patience = limits[item.name]
        before = found.get(item.topic, ReliedOnTopic()).patience
        found[item.topic] = ReliedOnTopic(
            most=item.publishers,
            patience=max(patience, before or 0.0) if realtime else None,
        )
    return found


@frozen
class UnexpectedPublishers:
    """
    Publishers that there must not be.

    Attributes
    ----------
    commands
        Topic and node of each on a topic of the commands.
    relied_on
        All nodes on each topic that the gate relies on and that has too many.
    beyond
        How many there are too many on each of these.

    """

    commands: tuple[tuple[str, str], ...]
    relied_on: Mapping[str, tuple[str, ...]]
    beyond: Mapping[str, int]


class OtherPublishers:
    """
    The other publishers on the topics of a gate, as far as it knows.

    Parameters
    ----------
    own_name
        Fully qualified name of the gate.
    commands
        The topics of its commands.
    relied_on
        The topics that it relies on.
    patience
        Seconds for which a command of another, or another gate of this name, counts as there.

    """

    def __init__(
        self,
        own_name: str,
        *,
        commands: Iterable[str],
        relied_on: Mapping[str, ReliedOnTopic],
        patience: float,
    ) -> None:
        self._own_name = own_name
        self._relied_on = relied_on
        self._patience = patience
        self._foreign_commands: dict[str, int | None] = dict.fromkeys(commands)
        self._duplicate: int | None = None
        self._received: dict[str, int] = {}
        self._silences: dict[str, Silence] = {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics whose publishers are to be looked up."""
        return (*self._foreign_commands, *self._relied_on)

    def received(self, topic: str, now: int) -> None:
        """Take note of a message on a topic that the gate relies on."""
        self._received[topic] = now

    def foreign_command(self, topic: str, now: int) -> bool:
        """Take note of a command of another; return whether that is news."""
        news = not self._lately(self._foreign_commands[topic], now)
        self._foreign_commands[topic] = now
        return news

    def duplicate_seen(self, now: int) -> None:
        """Take note of another gate of this name that is active."""
        self._duplicate = now

    def unexpected(self, found: Mapping[str, NodesByPublisher], now: int) -> UnexpectedPublishers:
        """Return the publishers that there must not be, of those found on each topic."""
        duplicate = self._lately(self._duplicate, now)
        commands = tuple(
            (topic, name)
            for topic, received in self._foreign_commands.items()
            for name in foreign_publishers(
                tuple(found[topic].values()),
                self._own_name,
                duplicate=duplicate,
                foreign_command=self._lately(received, now),
            )
        )
        crowds = {
            topic: names
            for topic, relied_on in self._relied_on.items()
            if len(names := self._possible_publishers(topic, relied_on, found[topic], now))
            > relied_on.most
        }
        beyond = {t: len(names) - self._relied_on[t].most for t, names in crowds.items()}
        return UnexpectedPublishers(commands=commands, relied_on=crowds, beyond=beyond)

    def _possible_publishers(
        self, topic: str, relied_on: ReliedOnTopic, found: NodesByPublisher, now: int
    ) -> tuple[str, ...]:
        if relied_on.beside:
            found = {g: n for g, n in found.items() if n.rpartition('/')[2] != relied_on.beside}
        silence = self._silences.get(topic, Silence())
        if relied_on.patience is not None:
            silence = self._silences[topic] = after_silence(
                silence,
                found,
                received=self._received.get(topic),
                now=now,
                patience=relied_on.patience,
            )
        return possible_publishers(found, silence, now)

    def _lately(self, received: int | None, now: int) -> bool:
        return received is not None and (now - received) / NANOSECONDS < self._patience
