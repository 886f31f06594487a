# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Values that a record says were measured, each tied to the raw message with its stamp.

A tie is exact: the message with that stamp says the value, or no message of that stamp does.
Topics overtake each other on their way to the recorder, so a value waits for its message until
that comes, or the record is at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.evidence.audit.raw_messages.window import (
    KEEP,
    Key,
    LazyMessage,
    REACH,
    Window,
)
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.evidence.record_difference import same
from boundary_env_ros.evidence.wiring import wired
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.records import Message as Recorded

Find: TypeAlias = Callable[[str, Mismatch, StepId | None], None]

#: Values that wait for their messages; the first ones are given up for more.
MOST_WAITING = 16_384


@dataclass(slots=True, kw_only=True, eq=False)
class Tie:
    """
    One value that a record says was measured.

    Attributes
    ----------
    of
        The step that says so.
    kind
        What such values are called in the report.
    uses
        The topics, one of which has its message.
    key
        What that is found by; None: any message without a stamp may be it.
    sent
        When a message without a stamp was sent, nanoseconds; None if not known.
    log_time
        When the recorder had the record that says so, nanoseconds.
    differences
        Returns where a message does not say the value.
    besides
        Returns what else is wrong once the message is found, by rule.
    none
        What is found if there is no such message.
    rule
        The rule that asks for the message.
    wrong
        How the nearest message differs.

    """

    of: StepId
    kind: str
    uses: Sequence[Input]
    key: Key | None
    sent: int | None = None
    log_time: int
    differences: Callable[[Input, LazyMessage], Sequence[Mismatch]]
    besides: Callable[[Input, LazyMessage], Iterable[tuple[str, Mismatch]]] = lambda *_: ()
    none: Mismatch
    rule: str = 'values-from-sensors'
    wrong: Sequence[Mismatch] = field(default=())


class Ties:
    """
    Ties values to the raw messages of a record.

    Parameters
    ----------
    contract
        The contract.
    topics
        Type of each topic of the record.
    find
        Takes what is found.
    holes
        Where messages were damaged.

    Attributes
    ----------
    uses
        What each agent reads of the record, by name.
    listened
        The topics that are used.
    groups
        The groups of the action, each with its part of the command.
    checked
        How many measurements, fields, commands ... were held against a raw message.
    asked
        How many checks of each kind there were, by the use of the topic; excused ones included.
    excused
        By the name of the excuse: how many checks of each kind were excused by it.
    lost
        How many messages the recorder says that it lost, or of how many topics it cannot say.
    now
        Log time of the record that is looked at, nanoseconds.

    """

    def __init__(
        self,
        contract: Contract,
        topics: Mapping[str, str],
        find: Find,
        holes: Sized = (),
    ) -> None:
        self.contract = contract
        self.find = find
        self._holes = holes
        self._has_chain = CHAIN_TYPE in topics.values()
        self.transforms = TransformFields(contract, keep=KEEP)
        self.groups = tuple(slices_of(contract.action))
        self.uses: Mapping[str, Mapping[str, Input]] = {
            agent: wired(contract, agent, topics, self.transforms) for agent in contract.agents
        }
        self.checked: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.excused: dict[str, Counter[str]] = {}
        self._windows: dict[str, Window] = {}
        self._by_topic: dict[str, list[Input]] = {}
        for uses in self.uses.values():
            for use in uses.values():
                if use.at:
                    self._by_topic.setdefault(use.at, []).append(use)
                    self._windows.setdefault(use.at, Window())
        self.listened = frozenset(self._by_topic)
        self.lost = self.now = 0
        self._waiting: dict[Tie, None] = {}  # in the order in which they came
        self._wanted: dict[tuple[str, Key | None], list[Tie]] = {}
        self._said: dict[tuple[str, str], object] = {}

    def use(self, agent: str, name: str) -> Input | None:
        """Return a use that the record has a topic for."""
        use = self.uses.get(agent, {}).get(name)
        return use if use is not None and use.at else None

    # Messages and values -------------------------------------------------------------------------

    def message(self, recorded: Recorded) -> LazyMessage:
        """Take a message of a topic that is used, and tie to it what waits for it."""
        topic = recorded.topic
        message = self._windows[topic].add(recorded, self._by_topic[topic])
        for key in (message.key,) if message.key[0] else (message.key, None):
            for tie in tuple(self._wanted.get((topic, key), ())):
                if any(use.at == topic and self._is_of(tie, use, message) for use in tie.uses):
                    self._no_longer(tie)
        return message

    def is_again(self, agent: str, place: str, said: object) -> bool:
        """Return whether a value is of the same message as the last one of its place."""
        before, self._said[agent, place] = self._said.get((agent, place)), said
        return before is not None and same(before, said)

    def tie(self, tie: Tie) -> None:
        """Tie a value to its message, which may still come."""
        for use in tie.uses:
            window = self._windows[use.at]
            for message in window.unstamped if tie.key is None else window.at(tie.key):
                if self._is_of(tie, use, message):
                    return
        self._waiting[tie] = None
        for topic in {use.at for use in tie.uses}:
            self._wanted.setdefault((topic, tie.key), []).append(tie)
        while (first := next(iter(self._waiting))) is not tie and self._is_over(first):
            self._give_up(first)

    def _is_over(self, tie: Tie) -> bool:
        """Return whether a value waits in vain: its topics went on for longer than they may."""
        ends = (self._windows[use.at].end for use in tie.uses)
        return len(self._waiting) > MOST_WAITING or min(ends) > tie.log_time + REACH

    def _is_of(self, tie: Tie, use: Input, message: LazyMessage) -> bool:
        """Return whether a message says a value; then it is tied to it."""
        if use not in message.readings:
            return False
        differences = tie.differences(use, message)
        if differences:
            tie.wrong = tie.wrong or differences
            return False
        self.took(tie.kind, use.label)
        for rule, mismatch in tie.besides(use, message):
            self.find(rule, mismatch, tie.of)
        return True

    def _no_longer(self, tie: Tie) -> None:
        del self._waiting[tie]
        for topic in {use.at for use in tie.uses}:
            wanted = self._wanted[topic, tie.key]
            wanted.remove(tie)
            if not wanted:
                del self._wanted[topic, tie.key]

    def _give_up(self, tie: Tie) -> None:
        """Judge a value whose message did not come."""
        self._no_longer(tie)
        key, wrong = tie.key, () if tie.key is None else tie.wrong
        # Some sensors repeat a stamp, and a time of simulation stands still while the world is
        # reset: then the value may be of a message that is missing, and has the stamp of another.
        repeated = self.contract.sim_time or (
            key is not None and any(len(self._windows[use.at].at(key)) > 1 for use in tie.uses)
        )
        if (wrong and not repeated) or not self.lacks(tie):
            self.contradict(tie, *(wrong or (tie.none,)))

    def contradict(self, tie: Tie, *mismatches: Mismatch) -> None:
        """Note where a value is not what its message says."""
        self.asked[tie.uses[0].label] += 1
        for mismatch in mismatches:
            self.find(tie.rule, mismatch, tie.of)

    def finish(self) -> None:
        """Judge what still waits, once the record is at its end."""
        for tie in tuple(self._waiting):
            self._give_up(tie)

    # What may be missing -------------------------------------------------------------------------

    def took(self, kind: str, name: str) -> None:
        """Take note of a check that was made."""
        self.checked[kind] += 1
        self.asked[name] += 1

    def excuse(self, reason: str, name: str) -> None:
        """Take note of a check that could not be made; the report bounds how many may be."""
        self.asked[name] += 1
        self.excused.setdefault(reason, Counter())[name] += 1

    def lack(self) -> str:
        """Return why messages may be missing in the middle; empty if none may be."""
        if not self._has_chain:
            return 'gap'
        if self._holes:
            return 'damaged'
        return 'lost' if self.lost else ''

    def lacks(self, tie: Tie, *, there: bool = False) -> bool:
        """
        Return whether the message of a value may honestly be missing, and count it then.

        Parameters
        ----------
        tie
            The value.
        there
            Whether there are messages before and behind it, so that none is missing unless one was
            lost.

        """
        why = self.lack()
        if not (why or there):
            key = (False, tie.sent) if tie.key is None and tie.sent is not None else tie.key
            found = [self._windows[use.at].lacks(key, tie.log_time) for use in tie.uses]
            why = 'early' if 'early' in found else 'torn' if all(found) else ''
        if why:
            self.excuse(why, tie.uses[0].label)
        return bool(why)
