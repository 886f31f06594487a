# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The raw messages of a record, as far as the checks need them, and what is known of its gaps."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract, Pacing, slices_of
from boundary_env_ros.core.environment.lockstep import SimStepResponse
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.evidence.audit.raw_messages.window import Heard, KEEP, MOST, Window
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use, wired
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.records import Message as Recorded

Find: TypeAlias = Callable[[str, Mismatch, StepId | None], None]

#: Nanoseconds after the first message of a topic in which a record may still speak of one before.
BEGINNING = 2 * NANOSECONDS

#: The same for a record of the boundary itself.
LATE = NANOSECONDS // 10

#: Steps back in which the last message of a topic that was silent since is looked for (lockstep).
_REPORTS = 128

#: Nanoseconds that a message may have taken to the recorder which has no log time any more.
_BEFORE = NANOSECONDS // 2

#: Messages that got lost, of which further records may speak, that are remembered.
_MISSED = 256

#: For how many moments a listener that received nothing from anybody is excused for an emergency
#: stop, and in how many nanoseconds: a machine may be late now and then.
MOST_STARVED, STARVED_IN = 4, 10 * NANOSECONDS

#: Delays of the transport that are remembered.
_DELAYS = 1024

#: Nanoseconds around a moment in which a delay of the transport speaks for it too.
_AROUND = NANOSECONDS

#: Messages of another host by which its clock is placed on that of the record.
_PLACED = 65


@frozen
class RecorderState:
    """What is looked at of a ``RecorderStatus``."""

    lost: int
    stamp: ClockReading


class MessageHistory:
    """
    What the topics of a record said lately.

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
    foreign
        The hosts whose clocks were placed on that of the record by when their messages came.
    of_another
        Whether another recorder wrote the record, which may drop messages without saying so.
    newest
        The last instant at which steps, decisions and observations were made, ns.
    ended, torn
        Whether all of the record was read; and whether its end is missing, and what is looked at
        now is so near to it that what belongs to it may not have come yet.

    """

    def __init__(
        self,
        contract: Contract,
        topics: Mapping[str, str],
        find: Find,
        holes: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.contract = contract
        self.lockstep = contract.pacing is Pacing.LOCKSTEP
        self.topics = topics
        self.find = find
        self._holes = holes
        self._has_chain = CHAIN_TYPE in topics.values()
        # A record is looked at when it is older than tf keeps anything.
        self.transforms = TransformFields(contract, keep=KEEP)
        self.groups = tuple(slices_of(contract.action))
        self.uses: Mapping[str, Mapping[str, Use]] = {
            agent: wired(contract, agent, topics, self.transforms) for agent in contract.agents
        }
        self.checked: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.excused: dict[str, Counter[str]] = {}
        self.foreign: dict[str, None] = {}
        self.now = 0
        self.ended = self.torn = self.of_another = False
        self.newest = 0
        # After the first message of a topic, for so long a node need not have had one.
        self.grace = BEGINNING + to_nanoseconds(contract.safety.sensor_timeout)
        self._number = 0
        self._windows: dict[str, Window] = {}
        self._by_topic: dict[str, list[Use]] = {}
        for uses in self.uses.values():
            for use in uses.values():
                if use.topic:
                    self._by_topic.setdefault(use.topic, []).append(use)
                    self._windows.setdefault(use.topic, Window())
        self.listened = frozenset(self._by_topic)
        self._lost = self._forgiven = 0
        self._missed: deque[tuple[str, int | None]] = deque(maxlen=_MISSED)
        self._host = ''
        self._reports: Bounded[tuple[str, int], dict[str, int]] = Bounded()
        self._delays: dict[str, deque[tuple[int, int]]] = {}
        self._moments: dict[str, deque[int]] = {}
        self._behind: dict[str, deque[int]] = {}

    @property
    def reports(self) -> bool:
        """Return whether the record has reports of advances (lockstep)."""
        return bool(self._reports)

    def use(self, agent: str, name: str) -> Use | None:
        """Return a use that the record has a topic for."""
        use = self.uses.get(agent, {}).get(name)
        return use if use is not None and use.topic else None

    def window(self, use: Use) -> Window:
        """Return the last messages of the topic of a use."""
        return self._windows[use.topic]

    # Messages ------------------------------------------------------------------------------------

    def hear(self, recorded: Recorded) -> Heard:
        """Take a message of a topic that is used."""
        self._number += 1
        uses = self._by_topic[recorded.topic]
        return self._windows[recorded.topic].take(self._number, recorded, uses)

    def recorder(self, state: RecorderState) -> None:
        """Take the state of the recorder."""
        self._lost, self._host = state.lost, state.stamp.ros.host

    def advanced(self, report: SimStepResponse) -> None:
        """Take the world's report of an advance (lockstep)."""
        told = zip(report.topics, report.published, report.last_stamp, strict=False)
        last = {topic: int(stamp) for topic, count, stamp in told if count}
        step = (report.id.episode_id, report.id.step)
        self._reports.put(step, self._reports.get(step, {}) | last, MOST)

    def announced(self, topic: str, episode_id: str, step: int) -> int | None:
        """
        Return the stamp of the last message that was announced on a topic up to a step (lockstep).

        None if no report says so; 0 if its messages have no stamps.
        """
        if (episode_id, step) not in self._reports:
            return None
        for earlier in range(step, max(step - _REPORTS, -1), -1):
            last = self._reports.get((episode_id, earlier), {})
            if topic in last:
                return last[topic]
        return None

    # What may excuse a gap -----------------------------------------------------------------------

    def took(self, kind: str, name: str) -> None:
        """Take note of a check that was made."""
        self.checked[kind] += 1
        self.asked[name] += 1

    def excuse(self, reason: str, name: str) -> None:
        """Take note of a check that is excused; the report bounds how many may be."""
        self.excused.setdefault(reason, Counter())[name] += 1

    def spare(self, reason: str, name: str) -> None:
        """Take note of a check that could not be made, and is excused."""
        self.asked[name] += 1
        self.excuse(reason, name)

    def ends_at(self, at: int) -> bool:
        """Return whether what belongs to an instant need not have come before the record ended."""
        # A recorder that is told to stop had what came until then.
        return self.torn or (self.ended and abs(self.newest - at) < LATE)

    def _forgive(self) -> bool:
        """Return whether one of the messages that got lost is left to excuse by, and use it."""
        left = self._lost > self._forgiven
        self._forgiven += left
        return left

    def missing(self, use: Use, sent: int | None, log_time: int) -> bool:
        """
        Return whether a message of a topic may honestly be missing; each lost one excuses once.

        The recorder may have come late to the topic, or have said that it lost messages.

        Parameters
        ----------
        use
            The use of the topic.
        sent
            Stamp of the message, or when it was sent, nanoseconds; None if neither is known.
        log_time
            When the recorder had what speaks of it.

        """
        why = self._why_missing(use, sent, log_time)
        if why:
            self.spare(why, use.name)
        return bool(why)

    def _why_missing(self, use: Use, sent: int | None, log_time: int) -> str:
        """Return what excuses a missing message; empty if nothing does."""
        at = log_time if sent is None else sent
        if self.damaged(at):
            return 'damaged'
        if self.is_cut_off(use, sent):
            return 'torn'
        if self.has_gap(use, at):
            return 'gap'
        first = self.window(use).first
        if first is None:
            early = True
        elif sent is None:
            early = log_time - first.log_time < BEGINNING
        else:
            early = 0 < (first.stamp or first.publish_time) - sent < BEGINNING
        if early:
            return 'early'
        missing = (use.topic, sent)
        # It is one message, however many speak of it.
        known = sent is not None and missing in self._missed
        if not known and not self._forgive():
            return ''
        if not known:
            self._missed.append(missing)
        return 'lost'

    def is_another(self, use: Use, heard: Heard, at: int) -> bool:
        """
        Return whether a message may be another than the one of a time, which the record lacks.

        Only its time ties one to what is said of it, and simulated time stands still in a reset.
        """
        tied = heard.key[1] == at and not self.contract.sim_time
        return not tied and (self.damaged(at) or self.has_gap(use, at))

    def has_gap(self, use: Use, at: int) -> bool:
        """Return whether a recorder that keeps no chain may have dropped a message."""
        return not self._has_chain and self.window(use).has_gap(at)

    def is_cut_off(self, use: Use, sent: int | None) -> bool:
        """Return whether a message may only have come behind the end: topics keep their order."""
        if sent is None or not self.ends_at(sent):
            return False
        last = next(self.window(use).newest_first(), None)
        if last is None:
            return True
        # The middleware does not stamp in simulated time.
        at = last.log_time if self.contract.sim_time else last.publish_time
        # Simulated time may stand still between two messages.
        return (last.stamp or at) <= sent

    def damaged(self, at: int, since: int | None = None) -> bool:
        """Return whether what was sent at, or since, a time may have been where it is damaged."""
        first = at if since is None else since
        return any(begin - _BEFORE <= at and first <= end for begin, end in self._holes)

    def may_lack(self, name: str, log_time: int, began: int) -> bool:
        """Return whether a record may honestly be missing, the first of its kind having come."""
        if log_time - began < LATE:
            self.spare('early', name)
            return True
        # Of what belongs together, a part may come behind what is damaged.
        return self.lost_one(name, log_time, log_time - BEGINNING)

    def lost_one(self, name: str, log_time: int, since: int | None = None) -> bool:
        """Return whether a record may honestly be missing that has no topic of a sensor."""
        if self.damaged(log_time, since):
            why = 'damaged'
        elif self.of_another:
            why = 'gap'
        elif self._forgive():
            why = 'lost'
        else:
            return False
        self.spare(why, name)
        return True

    # Time ----------------------------------------------------------------------------------------

    def came(self, instant: ClockReading | None, log_time: int) -> None:
        """Take note of when the recorder had a message that was made at an instant."""
        if instant is not None:
            self.newest = max(self.newest, instant.ros.nanoseconds)
        if instant is not None and self._is_foreign(instant.ros):
            behind = self._behind.setdefault(instant.ros.host, deque(maxlen=_PLACED))
            behind.append(log_time - instant.ros.nanoseconds)

    def _is_foreign(self, stamp: Stamp) -> bool:
        # The time of a simulated world is the same on every host.
        return not self.contract.sim_time and bool(self._host) and stamp.host != self._host

    def on_tape(self, instant: ClockReading | None) -> int | None:
        """
        Return an instant as a log time of the record; None if its clock is another.

        The clock of another host is placed by how long its messages took to the recorder: by their
        median, so that none of them alone can move it.
        """
        if instant is None:
            return None
        expected = Clock.ROS if self.contract.sim_time else Clock.SYSTEM
        if instant.ros.clock is not expected:
            return None
        if not self._is_foreign(instant.ros):
            return instant.ros.nanoseconds
        self.foreign[instant.ros.host] = None
        behind = self._behind.get(instant.ros.host)
        if not behind:
            return None
        return instant.ros.nanoseconds + sorted(behind)[len(behind) // 2]

    def latest(self, now: int | None) -> int | None:
        """Return the log time behind which nothing can have been known at another one."""
        if now is None:
            return None
        return now if self.lockstep else now + to_nanoseconds(self.contract.period / 2.0)

    def log_time_of(self, stamp: Stamp | None) -> int | None:
        """Return a stamp of the middleware as a log time; None if its clock is another."""
        if stamp is None or self.contract.sim_time or stamp.clock is not Clock.SYSTEM:
            return None
        if self._is_foreign(stamp):
            self.foreign[stamp.host] = None
            return None
        return stamp.nanoseconds

    def delayed(self, name: str, at: int, delay: int) -> None:
        """Take note of by how much later than the recorder a listener had something."""
        if delay > 0 and not self.lockstep:
            self._delays.setdefault(name, deque(maxlen=_DELAYS)).append((at, delay))

    @property
    def floor(self) -> int:
        """Return the nanoseconds by which any listener may know less than the recorder."""
        floor = to_nanoseconds(max(0.03, self.contract.period / 2.0))
        if self.contract.sim_time and not self.lockstep:
            # The record knows simulated time only as finely as `/clock` told it.
            floor += to_nanoseconds(self.contract.period)
        return floor

    def slack(self, name: str, at: int, *delays: int) -> int:
        """
        Return the nanoseconds by which a listener may know less than the recorder.

        Parameters
        ----------
        name
            The use, whose delays around that moment count too: a thread that gets no processor for
            a while receives nothing, and only what comes next tells of that.
        at
            The moment, as a log time.
        delays
            By how much later than the recorder the listener had what can be compared just now.

        """
        known = self._delays.get(name, deque())
        # What was noted ahead of its time is of a later moment.
        while known and known[0][0] < at - _AROUND:
            known.popleft()
        around = (delay for when, delay in known if abs(when - at) <= _AROUND)
        return self.floor + max(around, default=0) + sum(max(0, delay) for delay in delays)

    # Who received nothing ------------------------------------------------------------------------

    def is_starved(self, who: str, now: int) -> bool:
        """Return whether a listener is excused for an emergency stop that it did not hear of."""
        moments = self._moments.setdefault(who, deque(maxlen=MOST_STARVED))
        if now not in moments:
            if len(moments) == MOST_STARVED and now - moments[0] < STARVED_IN:
                return False
            moments.append(now)
        return True
