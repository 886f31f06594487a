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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.evidence.audit.raw_messages.window import KEEP, Key, RawMessage, Window
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use, wired
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.records import Message as Recorded

Find: TypeAlias = Callable[[str, Mismatch, StepId | None], None]

#: Nanoseconds before the end of a record in which what belongs together may be torn apart.
LATE = NANOSECONDS // 10

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
        When a message without a stamp was sent at the latest, nanoseconds; None if not known.
    made
        ROS time at which the record was made that says so, nanoseconds.
    before
        Whether the record came before any message of its topics.
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
    uses: Sequence[Use]
    key: Key | None
    sent: int | None = None
    made: int
    before: bool = False
    differences: Callable[[Use, RawMessage], Sequence[Mismatch]]
    besides: Callable[[Use, RawMessage], Iterable[tuple[str, Mismatch]]] = lambda use, message: ()
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
        The log times between which messages were damaged.

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
        How many messages the recorder says that it lost.
    newest
        The last instant at which steps, decisions and observations were made, ns.
    ended, torn
        Whether all of the record was read, and whether its end is missing.

    """

    def __init__(
        self,
        contract: Contract,
        topics: Mapping[str, str],
        find: Find,
        holes: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.contract = contract
        self.find = find
        self._holes = holes
        self._has_chain = CHAIN_TYPE in topics.values()
        self.transforms = TransformFields(contract, keep=KEEP)
        self.groups = tuple(slices_of(contract.action))
        self.uses: Mapping[str, Mapping[str, Use]] = {
            agent: wired(contract, agent, topics, self.transforms) for agent in contract.agents
        }
        self.checked: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.excused: dict[str, Counter[str]] = {}
        self.ended = self.torn = False
        self.newest = 0
        self._windows: dict[str, Window] = {}
        self._by_topic: dict[str, list[Use]] = {}
        for uses in self.uses.values():
            for use in uses.values():
                if use.topic:
                    self._by_topic.setdefault(use.topic, []).append(use)
                    self._windows.setdefault(use.topic, Window())
        self.listened = frozenset(self._by_topic)
        self.lost = 0
        self._waiting: dict[Tie, None] = {}  # in the order in which they came
        self._wanted: dict[tuple[str, Key | None], list[Tie]] = {}

    def use(self, agent: str, name: str) -> Use | None:
        """Return a use that the record has a topic for."""
        use = self.uses.get(agent, {}).get(name)
        return use if use is not None and use.topic else None

    # Messages and values -------------------------------------------------------------------------

    def message(self, recorded: Recorded) -> RawMessage:
        """Take a message of a topic that is used, and tie to it what waits for it."""
        topic = recorded.topic
        message = self._windows[topic].add(recorded, self._by_topic[topic])
        wanted = self._wanted
        if wanted:
            for key in (message.key, None) if not message.key[0] else (message.key,):
                for tie in tuple(wanted.get((topic, key), ())):
                    if any(
                        use.topic == topic and self._is_of(tie, use, message) for use in tie.uses
                    ):
                        self._no_longer(tie)
        return message

    def tie(self, tie: Tie) -> None:
        """Tie a value to its message, which may still come."""
        tie.before = all(self._windows[use.topic].first is None for use in tie.uses)
        for use in tie.uses:
            for message in self._windows[use.topic].at(tie.key):
                if self._is_of(tie, use, message):
                    return
        self._waiting[tie] = None
        for topic in {use.topic for use in tie.uses}:
            self._wanted.setdefault((topic, tie.key), []).append(tie)
        if len(self._waiting) > MOST_WAITING:
            self._give_up(next(iter(self._waiting)))

    def _is_of(self, tie: Tie, use: Use, message: RawMessage) -> bool:
        """Return whether a message says a value; then it is tied to it."""
        if use.name not in message.readings:
            return False
        differences = tie.differences(use, message)
        if differences:
            tie.wrong = tie.wrong or differences
            return False
        self.took(tie.kind, use.name)
        for rule, mismatch in tie.besides(use, message):
            self.find(rule, mismatch, tie.of)
        return True

    def _no_longer(self, tie: Tie) -> None:
        del self._waiting[tie]
        for topic in {use.topic for use in tie.uses}:
            wanted = self._wanted[topic, tie.key]
            wanted.remove(tie)
            if not wanted:
                del self._wanted[topic, tie.key]

    def _give_up(self, tie: Tie) -> None:
        """Judge a value whose message did not come."""
        self._no_longer(tie)
        if tie.wrong and tie.key is not None and not self._is_another(tie):
            self.contradict(tie, *tie.wrong)
        elif not self._lacks_message_of(tie):
            self.contradict(tie, tie.none)

    def contradict(self, tie: Tie, *mismatches: Mismatch) -> None:
        """Note where a value is not what its message says."""
        self.asked[tie.uses[0].name] += 1
        for mismatch in mismatches:
            self.find(tie.rule, mismatch, tie.of)

    def _is_another(self, tie: Tie) -> bool:
        """
        Return whether a value may be of a message that is missing, and has the stamp of another.

        Some sensors repeat a stamp, and a time of simulation stands still while the world is
        reset.
        """
        several = any(len(self._windows[use.topic].at(tie.key)) > 1 for use in tie.uses)
        missing = self.lack() or self.ends_at(tie.made)
        return bool(missing) and (several or self.contract.sim_time)

    def _lacks_message_of(self, tie: Tie) -> bool:
        """Return whether the message of a value may honestly be missing, and count it then."""
        if tie.key is not None or tie.sent is not None:
            return self.lacks(tie.uses, tie.key or (False, tie.sent or 0))
        why = self.lack() or (tie.before and 'early') or (self.ends_at(tie.made) and 'torn')
        if why:
            self.excuse(why, tie.uses[0].name)
        return bool(why)

    def finish(self, *, torn: bool) -> None:
        """Judge what still waits, once the record is at its end."""
        self.ended, self.torn = True, torn
        for tie in tuple(self._waiting):
            self._give_up(tie)

    # What may be missing -------------------------------------------------------------------------

    def came(self, instant: ClockReading | None) -> None:
        """Take note of the instant at which something was made."""
        if instant is not None:
            self.newest = max(self.newest, instant.ros.nanoseconds)

    def took(self, kind: str, name: str) -> None:
        """Take note of a check that was made."""
        self.checked[kind] += 1
        self.asked[name] += 1

    def excuse(self, reason: str, name: str) -> None:
        """Take note of a check that could not be made; the report bounds how many may be."""
        self.asked[name] += 1
        self.excused.setdefault(reason, Counter())[name] += 1

    def ends_at(self, at: int) -> bool:
        """Return whether what belongs to an instant need not have come before the record ended."""
        # A recorder that is told to stop had what came until then.
        return self.torn or (self.ended and abs(self.newest - at) < LATE)

    def lack(self) -> str:
        """Return why messages may be missing in the middle; empty if none may be."""
        if not self._has_chain:
            return 'gap'
        if self._holes:
            return 'damaged'
        return 'lost' if self.lost else ''

    def lacks(self, uses: Sequence[Use], key: Key) -> bool:
        """Return whether the message of a key may honestly be missing, and count it then."""
        why, windows = self.lack(), [self._windows[use.topic] for use in uses]
        if not why and any(w.first is None or key[1] < w.first[1] for w in windows):
            why = 'early'
        # Which got lost is known, and counted by the recorder, when the next one comes.
        if not why and not any(window.comes_after(key) for window in windows):
            why = 'torn'
        if why:
            self.excuse(why, uses[0].name)
        return bool(why)
