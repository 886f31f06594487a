# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which nodes count as publishing on the topics that the gate commands by, and goes by."""

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
Found = Mapping[bytes, str]

# Seconds after which discovery has forgotten a process that was killed: 20 with Fast DDS.
_LINGERS = 30.0
# Own commands that are remembered, to tell those of another apart.
_SENT = 64
# Answers within a span, ns, beyond which another gate is suspected; commands of another, without
# one of the gate between them, that refute it; and for how long they do, ns.
_ANSWERS, _SPAN, _UNASKED, _REFUTED = 10, NANOSECONDS // 10, 4, 2 * NANOSECONDS


@frozen
class Silence:
    """
    When a topic fell silent last, on the steady clock, ns, and who published on it then.

    ``gone`` are those that were there when it fell silent ``before`` that, and were replaced.
    """

    since: int = 0
    publishers: frozenset[bytes] = frozenset()
    before: int = 0
    gone: frozenset[bytes] = frozenset()


def after_silence(
    silence: Silence, found: Found, *, heard: int | None, now: int, patience: float
) -> Silence:
    """
    Return when a topic fell silent last.

    Parameters
    ----------
    silence
        What was known of that so far.
    found
        Who publishes on it now.
    heard
        When it was last heard, on the steady clock, ns; None: never.
    now
        The same clock now.
    patience
        Seconds without a message after which it is silent.

    """
    if heard is None or heard <= silence.since or (now - heard) / NANOSECONDS <= patience:
        return silence
    there = frozenset(found)
    gone = silence.publishers if there - silence.publishers else frozenset()
    return Silence(since=now, publishers=there, before=silence.since, gone=gone)


def _lingers(since: int, now: int) -> bool:
    return (now - since) / NANOSECONDS < _LINGERS


def speakers(found: Found, silence: Silence, now: int) -> tuple[str, ...]:
    """
    Return the nodes that may be speaking on a topic.

    A process that was killed stays in discovery for a while. Those that were there when the topic
    fell silent count no more then, beside others: the robot has been stopped for the silence, and
    what was killed can be replaced.
    """
    if _lingers(silence.before, now):
        found = {gid: name for gid, name in found.items() if gid not in silence.gone}
    others = tuple(name for gid, name in found.items() if gid not in silence.publishers)
    return others if others and _lingers(silence.since, now) else tuple(found.values())


def strangers(found: Sequence[str], mine: str, *, twin: bool, overheard: bool) -> tuple[str, ...]:
    """
    Return the nodes besides the gate that publish on a topic of its commands.

    Parameters
    ----------
    found
        The node of each publisher there, the gate's own among them.
    mine
        The name of the gate. One publisher of that name is its own; which is unknown. A gate
        that was killed before this one began is not among them: it announces itself no more.
    twin
        Whether another gate of this name was heard lately.
    overheard
        Whether a command of another was heard there lately: that of a publisher which did not
        stay long enough to be found.

    """
    others = tuple(name for name in found if name != mine)
    twins = max(len(found) - len(others) - 1, int(twin))
    others += (f'a second {mine}',) * twins
    return others or ('one that did not stay',) * overheard


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

    Another gate would answer each answer, for ever. So who speaks only when spoken to gets 100
    answers a second at most; who does not wait for an answer gets one each time.
    """

    def __init__(self) -> None:
        self._given: deque[int] = deque(maxlen=_ANSWERS)
        self._unasked: Counter[int] = Counter()
        self._refuted = 0

    def spoke(self) -> None:
        """Take note of a command of the gate."""
        self._unasked.clear()

    def heard(self, subscription: int) -> None:
        """Take note of a command of another, which comes to each subscription."""
        self._unasked[subscription] += 1

    def due(self, now: int) -> bool:
        """Return whether to answer what was heard now, on the steady clock, ns."""
        if max(self._unasked.values(), default=0) >= _UNASKED:
            self._refuted = now + _REFUTED
        full = len(self._given) == _ANSWERS and now - self._given[0] < _SPAN
        if full and now >= self._refuted:
            return False
        self._given.append(now)
        return True


@frozen
class ReliedOn:
    """
    A topic that the gate goes by.

    Attributes
    ----------
    most
        How many nodes may publish it.
    patience
        Seconds without a message after which it is silent; None: silence tells nothing.
    beside
        Name of a node that may publish it besides, in whatever namespace.

    """

    most: int = 1
    patience: float | None = None
    beside: str = ''


def relied_on(contract: Contract) -> dict[str, ReliedOn]:
    """Return the topics that the rules of the gate go by; their silence stops the robot."""
    realtime = not contract.is_lockstep
    limits: dict[str, float] = {n: need.most for n, need in Limits(contract).needs.items()}
    if contract.safety.operator is not None:
        limits[OPERATOR] = contract.safety.operator.timeout
    found: dict[str, ReliedOn] = {}
    for item in gate_inputs(contract):
        patience = limits[item.name]
        before = found.get(item.topic, ReliedOn()).patience
        found[item.topic] = ReliedOn(
            most=item.publishers,
            patience=max(patience, before or 0.0) if realtime else None,
        )
    return found


@frozen
class Intruders:
    """
    Publishers that there must not be.

    Attributes
    ----------
    commands
        Topic and node of each on a topic of the commands.
    relied_on
        All nodes on each topic that the gate goes by and that has too many.
    beyond
        How many there are too many on each of these.

    """

    commands: tuple[tuple[str, str], ...]
    relied_on: Mapping[str, tuple[str, ...]]
    beyond: Mapping[str, int]


class Publishers:
    """
    What the gate knows of the publishers on its topics.

    Parameters
    ----------
    mine
        Fully qualified name of the gate.
    commands
        The topics of its commands.
    relied_on
        The topics that it goes by.
    patience
        Seconds for which a command of another, or another gate of this name, counts as there.

    """

    def __init__(
        self,
        mine: str,
        *,
        commands: Iterable[str],
        relied_on: Mapping[str, ReliedOn],
        patience: float,
    ) -> None:
        self._mine = mine
        self._relied_on = relied_on
        self._patience = patience
        self._overheard: dict[str, int | None] = dict.fromkeys(commands)
        self._twin: int | None = None
        self._heard: dict[str, int] = {}
        self._silences: dict[str, Silence] = {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics whose publishers are to be looked up."""
        return (*self._overheard, *self._relied_on)

    def heard(self, topic: str, now: int) -> None:
        """Take note of a message on a topic that the gate goes by."""
        self._heard[topic] = now

    def overheard(self, topic: str, now: int) -> bool:
        """Take note of a command of another; return whether that is news."""
        news = not self._lately(self._overheard[topic], now)
        self._overheard[topic] = now
        return news

    def met_twin(self, now: int) -> None:
        """Take note of another gate of this name that is active."""
        self._twin = now

    def intruders(self, found: Mapping[str, Found], now: int) -> Intruders:
        """Return the publishers that there must not be, of those found on each topic."""
        twin = self._lately(self._twin, now)
        commands = tuple(
            (topic, name)
            for topic, heard in self._overheard.items()
            for name in strangers(
                tuple(found[topic].values()),
                self._mine,
                twin=twin,
                overheard=self._lately(heard, now),
            )
        )
        crowds = {
            topic: names
            for topic, relied_on in self._relied_on.items()
            if len(names := self._speakers(topic, relied_on, found[topic], now)) > relied_on.most
        }
        beyond = {t: len(names) - self._relied_on[t].most for t, names in crowds.items()}
        return Intruders(commands=commands, relied_on=crowds, beyond=beyond)

    def _speakers(
        self, topic: str, relied_on: ReliedOn, found: Found, now: int
    ) -> tuple[str, ...]:
        if relied_on.beside:
            found = {g: n for g, n in found.items() if n.rpartition('/')[2] != relied_on.beside}
        silence = self._silences.get(topic, Silence())
        if relied_on.patience is not None:
            silence = self._silences[topic] = after_silence(
                silence,
                found,
                heard=self._heard.get(topic),
                now=now,
                patience=relied_on.patience,
            )
        return speakers(found, silence, now)

    def _lately(self, heard: int | None, now: int) -> bool:
        return heard is not None and (now - heard) / NANOSECONDS < self._patience
