# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The part of the audit that reads the raw messages of a bag.

A record is looked at a little later than it comes, when every message that it can be of has come:
topics overtake each other on their way to the recorder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
import math
from operator import attrgetter

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.lockstep import SimStepResponse
from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.gate.decision import ActionRequest, GateDecision
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import ActuationEvidence, PrivilegedObservation, Transition
from boundary_env_ros.evidence.audit.raw_messages.claims import Claims
from boundary_env_ros.evidence.audit.raw_messages.commands import CommandChecks
from boundary_env_ros.evidence.audit.raw_messages.decisions import DecisionChecks
from boundary_env_ros.evidence.audit.raw_messages.feedback import FeedbackChecks
from boundary_env_ros.evidence.audit.raw_messages.message_history import (
    Find,
    MessageHistory,
    RecorderState,
)
from boundary_env_ros.evidence.audit.raw_messages.observations import ObservationChecks
from boundary_env_ros.evidence.audit.raw_messages.published import PublishedChecks
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import STOP, Use
from boundary_env_ros.evidence.audit.rules.base import Mismatch, NotChecked
from boundary_env_ros.storage.records import Message as Recorded
from boundary_env_ros.storage.records import Record

#: Nanoseconds of log time after which everything that a record can be of has come. What got lost
#: on its way to the recorder is sent again with a heartbeat, of which Fast DDS makes one in 3 s; a
#: recorder that hung may need three of them until it has all. In lockstep nothing waits for the
#: recorder, and the time of the world may pass several times as fast.
DELAY = 12 * NANOSECONDS

#: Nanoseconds between tying what a record claims to its messages, which tells of the transport,
#: and asking whether those were the newest.
AHEAD = 2 * NANOSECONDS

#: Nanoseconds of log time after which what is due is looked at between two records.
OFTEN = NANOSECONDS // 10

_PACKAGE = 'boundary_env_ros/msg/'
_DECISION = f'{_PACKAGE}GateDecision'
_STATUS = f'{_PACKAGE}EpisodeStatus'
_REQUEST = f'{_PACKAGE}ActionRequest'
_OBSERVATION = f'{_PACKAGE}Observation'
_OWN: Mapping[str, type] = {
    _REQUEST: ActionRequest,
    _OBSERVATION: Observation,
    f'{_PACKAGE}RecorderStatus': RecorderState,
    f'{_PACKAGE}SimStepResponse': SimStepResponse,
}

#: The rules that need each kind of use.
_RULES_OF: Mapping[str, tuple[str, ...]] = {
    'gate': ('values-from-sensors', 'values-newest'),
    'field': ('values-from-sensors', 'values-newest', 'frame-as-contract'),
    'privileged': ('values-from-sensors', 'frame-as-contract'),
    'feedback': ('values-from-sensors', 'values-newest'),
    'environment': ('values-from-sensors',),
    'command': ('command-on-topic',),
    'document': ('command-on-topic',),
    'emergency': ('emergency-stop-heard',),
}

#: The rules that need a topic of some type.
_RULES_OF_TYPE = {_REQUEST: ('as-published', 'request-answered'), _OBSERVATION: ('as-published',)}

#: The rules that need the topic of a gate.
_OF_THE_GATE = ('command-on-topic', 'request-answered', 'as-published')

#: The rules that hold instants against log times.
_OF_CLOCKS = (*_RULES_OF['gate'], 'emergency-stop-heard')


class RawAuditor:
    """
    Takes the raw messages of a record and its records, and holds these against those.

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

    """

    def __init__(
        self,
        contract: Contract,
        topics: Mapping[str, str],
        find: Find,
        holes: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.history = MessageHistory(contract, topics, find, holes)
        self._looks = 0  # log time from which what is due is looked at
        self._own = {name: kind for name, kind in topics.items() if kind in _OWN}
        # The agents whose gate is heard itself, and those whose decisions only the steps carry.
        self._gate_speaks: set[str] = set()
        self._only_carried: set[str] = set()
        claims = Claims(self.history)
        self._observations = ObservationChecks(self.history, claims)
        self._decisions = DecisionChecks(self.history, claims, Limits(contract))
        self._feedback = FeedbackChecks(self.history)
        self._commands = CommandChecks(self.history)
        self.published = PublishedChecks(self.history)
        self._start: dict[str, Transition] = {}
        self._late: set[str] = set()  # topics with a message far from its place
        # What is looked at from a log time on, and what of that is judged from a later one on.
        self._pending: deque[tuple[int, Iterator[None]]] = deque()
        self._tied: deque[tuple[int, Iterator[None]]] = deque()
        # What is done with the messages of a topic besides keeping them.
        self._taken: dict[str, list[Callable[[Heard], None]]] = {}
        for pairs in self._commands.pairs.values():
            self._take(pairs.use, partial(self._commands.sent, pairs))
        for agent, uses in self.history.uses.items():
            for item in self.history.transforms.inputs:
                # In the order in which they came.
                self._take(uses[f'environment {item.name}'], attrgetter('readings'))
            if STOP in uses:
                self._take(uses[STOP], partial(self._decisions.pressed, agent))

    def _take(self, use: Use, what: Callable[[Heard], None]) -> None:
        self._taken.setdefault(use.topic, []).append(what)

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics whose messages are wanted."""
        return self.history.listened | frozenset(self._own)

    # Taking --------------------------------------------------------------------------------------

    def message(self, recorded: Recorded) -> None:
        """
        Take the next raw message.

        Raises
        ------
        RecordError
            If it is not what its topic says.

        """
        topic, log_time = recorded.topic, recorded.log_time
        kind = self._own.get(topic)
        if kind is not None:
            self._own_message(recorded, _OWN[kind])
        if log_time < self.history.now - DELAY:
            self._moved(topic, log_time)
        if topic in self.history.listened:
            heard = self.history.hear(recorded)
            for what in self._taken.get(topic, ()):
                what(heard)
        self._passed(log_time)

    def _moved(self, topic: str, log_time: int) -> None:
        """
        Note a message that comes when what it belongs to was looked at; once for a topic.

        The file was changed, or the clock set back: either way something was judged without it.
        """
        if topic in self._late:
            return
        self._late.add(topic)
        behind = (self.history.now - log_time) / NANOSECONDS
        expected = f'messages within {DELAY // NANOSECONDS} s of the order of their log times'
        found = Mismatch(topic, expected, f'one that is {behind:.6g} s behind others')
        self.history.find('record-closed', found, None)

    def _own_message(self, recorded: Recorded, kind: type) -> None:
        log_time, message = recorded.log_time, recorded.decode(kind)
        if isinstance(message, ActionRequest):
            self.published.request(message, log_time)
            self._later(log_time, self._request(message, log_time))
        elif isinstance(message, Observation):
            self.history.came(message.observed, log_time)
            self.published.observation(message, log_time)
        elif isinstance(message, RecorderState):
            self.history.recorder(message)
        else:
            self.history.advanced(message)

    def add(self, record: Record, log_time: int) -> None:
        """Take the next record; it is looked at when what it speaks of has come."""
        if isinstance(record, Transition):
            if record.id.agent not in self._start or record.reset is not None:
                self._start[record.id.agent] = record
            start = self._start[record.id.agent]
            self.history.came(record.closed, log_time)
            self._later(log_time, self._transition(record, start, log_time))
        elif isinstance(record, GateDecision):
            self._gate_speaks.add(record.id.agent)
            self.history.came(record.decided, log_time)
            self.published.answered(record, log_time)
            self._commands.decided(record, log_time)
            self._later(log_time, self._decision(record, log_time))
        elif isinstance(record, EpisodeStatus):
            self._decisions.told(record)
        elif isinstance(record, ActuationEvidence):
            self._later(log_time, self._evidence(record))
        self._passed(log_time)

    def privileged(self, record: PrivilegedObservation, now: Transition, log_time: int) -> None:
        """Take the record of the privileged fields of a step, once both have come."""
        self._later(log_time, self._privileged(record, now, log_time))

    def finish(self, *, torn: bool) -> None:
        """Look at all that is left, once the record is at its end."""
        self.history.ended, self.history.torn = True, torn
        self._look(math.inf)
        self._commands.finish(self.history.now)

    # Looking -------------------------------------------------------------------------------------

    def _later(self, log_time: int, look: Iterator[None]) -> None:
        self._pending.append((log_time + DELAY - AHEAD, look))

    def _look(self, now: float) -> None:
        """Look at what is due: first tie what it claims, and 2 s later judge that."""
        while self._pending and self._pending[0][0] <= now:
            due, look = self._pending.popleft()
            if next(look, look) is None:
                self._tied.append((due + AHEAD, look))
        while self._tied and self._tied[0][0] <= now:
            next(self._tied.popleft()[1], None)

    def _passed(self, log_time: int) -> None:
        """Look at what is due at a log time, now and then."""
        self.history.now = now = max(self.history.now, log_time)
        if log_time >= self._looks:
            self._looks = log_time + OFTEN
            self._look(now)
            self._commands.check(now - DELAY)

    def _transition(self, now: Transition, start: Transition, log_time: int) -> Iterator[None]:
        agent = now.id.agent
        seen = self._observations.tie(now, start, log_time)
        carried = []
        if now.decisions and agent not in self._gate_speaks:
            self._only_carried.add(agent)
            carried = [self._decision(decision, log_time) for decision in now.decisions]
        for decision in carried:
            next(decision)
        yield
        self._observations.judge(seen, now, log_time)
        self._feedback.check(now)
        self.published.check_observation(now, log_time)
        for decision in carried:
            next(decision, None)

    def _privileged(
        self, record: PrivilegedObservation, now: Transition, log_time: int
    ) -> Iterator[None]:
        hidden = self._observations.tie_privileged(record.fields, now, log_time)
        yield
        self._observations.judge(hidden, now, log_time)

    def _request(self, request: ActionRequest, log_time: int) -> Iterator[None]:
        yield
        if request.id.agent in self._gate_speaks:
            self.published.check_answered(request, log_time)

    def _evidence(self, evidence: ActuationEvidence) -> Iterator[None]:
        yield
        self._feedback.evidence(evidence)

    def _decision(self, decision: GateDecision, log_time: int) -> Iterator[None]:
        claims = self._decisions.tie(decision, log_time)
        yield
        asked = self.published.asked(decision)
        self._decisions.judge(claims, decision, asked)
        self.published.check_request(decision, log_time)

    # Saying --------------------------------------------------------------------------------------

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """Return what the record has no topics for."""
        found: list[NotChecked] = []

        def note(why: str, rules: Iterable[str]) -> None:
            found.extend(NotChecked(rule=rule, why=why) for rule in rules)

        privileged = {f'field {spec.name}' for spec in self.history.contract.privileged}
        several = len(self.history.uses) > 1
        for agent, uses in self.history.uses.items():
            for use in (use for use in uses.values() if not use.topic):
                kind = 'privileged' if use.name in privileged else use.name.partition(' ')[0]
                whose = f' of {agent}' if several else ''
                why = f'{use.name}{whose}: no topic {use.wanted!r} in the record'
                note(why, _RULES_OF[kind])
        for kind, rules in _RULES_OF_TYPE.items():
            if kind not in self._own.values():
                note(f'no topic of type {kind} in the record', rules)
        for agent in sorted(self._only_carried):
            why = f'decisions of {agent}: none on a topic of type {_DECISION} in the record'
            note(why, _OF_THE_GATE)
        for agent in self._decisions.untold:
            why = f'no topic of type {_STATUS} in the record with a status of {agent}'
            note(why, ['inputs-recomputed'])
        for host in self.history.foreign:
            why = (
                f'instants of host {host!r}: not on the clock of the record, and placed by how '
                'long its messages took to the recorder'
            )
            note(why, _OF_CLOCKS)
        for item in self.history.transforms.inputs[:1]:
            why = f'fields that are looked up in {item.name}: whether a newer transform was there'
            note(why, ['values-newest'])
        return tuple(found)
