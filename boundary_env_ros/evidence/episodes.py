# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of a record, each with everything that the record says of it, sooner or later.

What belongs to a step does not come at once: the evidence of its execution, its privileged fields
and an ending that another node declared come as records of their own. Here they are put
together, for all who read episodes. The last few steps of each agent are held back for that, so
memory does not grow with the record.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import re
from typing import NamedTuple

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.episode_events import Events
from boundary_env_ros.core.gate.rules.agent_order import intervenes
from boundary_env_ros.core.records.decision import Trigger, Verdict
from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.environment_event import EnvironmentEvent
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.imported import is_import, is_unknown
from boundary_env_ros.core.records.instants import measure
from boundary_env_ros.core.records.latency import LatencyStage
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    Kind,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.records import Entry

#: Steps of an agent that are held back until what belongs to them has come.
HELD = 256

#: Records of privileged fields of an agent that wait for the step that they are about.
EARLY = 16

#: The stages of the latency that the evidence of the execution completes.
LATE_STAGES = ('actuation', 'reaction')

Key = tuple[str, str]


def without_process(client: str) -> str:
    """Return the name of a client without the process that ``run`` adds to it over ROS."""
    return re.sub(r'-pid[0-9]+$', '', client)


class Origin(NamedTuple):
    """
    What made an episode: a figure is of episodes of one origin, never of several.

    Attributes
    ----------
    client
        Name of the policy, as its requests give it, without the process that `run` adds over ROS;
        empty if it never sent one.
    contract, digest, pacing
        Name and version of the contract, its digest, and how the steps were paced.
    software_version, client_version
        Version of this software in the environment, and in the process of the policy.
    wrappers
        The wrappers around the environment, the outermost first.

    """

    client: str
    contract: str
    digest: str
    pacing: str
    software_version: str
    client_version: str
    wrappers: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Episode:
    """
    One episode; client and ending are known once its last step was yielded.

    Attributes
    ----------
    number
        Its number, from 1, in the order in which the episodes of all agents begin.
    first
        Its first transition that the record has.
    client
        The client that acted in it; empty if none is named.
    ending, truncated, declared_by
        Its ending, as its last step has it or another node announced it; empty without one.
    judged
        Whether every step of it has a reward; an import may lack what its task needs.
    records, steps, total
        Its transitions so far, its steps without the reset, and the sum of their rewards.
    counts
        In how many of them was what :func:`facts_of` yields.
    last, last_step
        Its last transition, and the greatest number of a step: a record may go back.
    status
        The state that announced its ending; None if none did.

    """

    number: int
    first: Transition
    client: str = ''
    ending: str = ''
    truncated: bool = False
    declared_by: str = ''
    judged: bool = True
    records: int = 0
    steps: int = 0
    total: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    last: Transition
    last_step: int = 0
    status: EpisodeStatus | None = None

    @property
    def key(self) -> Key:
        """Return its agent and its id."""
        return self.first.id.agent, self.first.id.episode_id

    @property
    def origin(self) -> Origin:
        """Return what made it."""
        first = self.first
        return Origin(
            client=without_process(self.client),
            contract=f'{first.contract} {first.contract_version}',
            digest=first.id.digest,
            pacing=first.pacing.name.lower(),
            software_version=first.software_version,
            client_version=first.client_version,
            wrappers=first.wrappers,
        )

    @property
    def how(self) -> str:
        """Return how it ended: ``truncated``, ``terminated``, or nothing."""
        return ('truncated' if self.truncated else 'terminated') if self.ending else ''

    @property
    def is_success(self) -> bool:
        """Return whether it succeeded: a truncation never does."""
        return self.ending == SUCCESS and not self.truncated

    def add(self, now: Transition) -> None:
        """Take its next transition."""
        for decision in now.decisions:
            if decision.request is not None and not self.client:
                self.client = decision.request.client
        self.last, self.last_step = now, max(self.last_step, now.id.step)
        self.records += 1
        if now.kind is Kind.STEP:
            self.counts.update(facts_of(now))
            self.steps += 1
        self.total += now.reward
        self.judged = self.judged and not is_unjudged(now)
        if now.ending and not self.ending:
            self.ending, self.truncated = now.ending, now.truncated
            self.declared_by = now.declared_by

    def close(self) -> None:
        """Take the ending that was announced, where no step has one."""
        status = self.status
        if status is not None and not self.ending:
            self.ending, self.declared_by = status.ending, status.declared_by
            self.truncated = status.state is EpisodeState.TRUNCATED


@dataclass(slots=True, kw_only=True)
class EpisodeStep:
    """
    One transition and all that belongs to it.

    Attributes
    ----------
    transition
        The transition: a step, or the reset.
    episode
        The episode that it belongs to.
    log_time
        When the recorder had it, nanoseconds; 0 if that is not known.
    truth
        Its privileged fields.
    late
        Evidence of its execution that came after it had been closed.
    statuses
        States of the episode that were announced after it and before the next step, each once.
    events
        What happened in it, if a contract was given.
    last
        Whether it is the last one of its episode.

    """

    transition: Transition
    episode: Episode
    log_time: int = 0
    truth: PrivilegedObservation | None = None
    late: ActuationEvidence | None = None
    statuses: list[EpisodeStatus] = field(default_factory=list)
    events: list[EnvironmentEvent] = field(default_factory=list)
    last: bool = False

    def stage(self, name: str, budget: Mapping[str, float] | None = None) -> LatencyStage:
        """Return a stage of its latency, with the evidence that came late."""
        latency: object = self.transition.latency
        if self.late is not None and name in LATE_STAGES:
            latency = _late(self.transition, self.late, budget or {})
        found: LatencyStage = getattr(latency, name)
        return found

    def waits_for(self, evidence: ActuationEvidence) -> bool:
        """Return whether evidence is about it."""
        now, answer = self.transition, self.transition.answer
        return (
            self.late is None
            and now.actuated is None
            and answer is not None
            and answer.published
            and answer.sequence == evidence.decision_sequence
            and now.commanded == evidence.commanded
        )


@dataclass(slots=True)
class _Agent:
    """What is held back of one agent."""

    held: deque[EpisodeStep] = field(default_factory=deque)
    early: Bounded[tuple[str, int], PrivilegedObservation] = field(default_factory=Bounded)
    announced: EpisodeStatus | None = None
    events: Events | None = None

    def latest(self, id_: StepId) -> EpisodeStep | None:
        """Return the latest step, if it is of this episode."""
        step = self.held[-1] if self.held else None
        same = step is not None and step.transition.id.episode_id == id_.episode_id
        return step if same else None

    def at(self, id_: StepId) -> EpisodeStep | None:
        """Return the step of this number; None if it is not held."""
        for step in reversed(self.held):
            there = step.transition.id
            if there.episode_id == id_.episode_id and there.step <= id_.step:
                return step if there.step == id_.step else None
        return None


class Episodes:
    """
    Reads records, and yields the steps in them, those of each agent in their order.

    Parameters
    ----------
    records
        In the order in which they were recorded, with or without their places.
    contract
        For the events of each step; None: they are not wanted.

    Attributes
    ----------
    labels
        What people said of each episode, each label once; complete at the end.

    """

    def __init__(self, records: Iterable[object], contract: Contract | None = None) -> None:
        self._records, self._contract = records, contract
        self._agents: dict[str, _Agent] = {}
        self._numbers: dict[Key, int] = {}
        self.labels: dict[Key, list[EpisodeLabel]] = {}

    @property
    def count(self) -> int:
        """Return the number of episodes so far."""
        return len(self._numbers)

    def __iter__(self) -> Iterator[EpisodeStep]:
        for piece in self._records:
            record = piece.record if isinstance(piece, Entry) else piece
            if isinstance(record, Transition):
                log_time = piece.log_time if isinstance(piece, Entry) else 0
                yield from self._transition(record, log_time)
            elif isinstance(record, ActuationEvidence):
                held = reversed(self._agent(record.id).held)
                step = next((step for step in held if step.waits_for(record)), None)
                if step is not None:
                    step.late = record
            elif isinstance(record, PrivilegedObservation):
                self._truth(self._agent(record.id), record)
            elif isinstance(record, EpisodeStatus):
                self._status(self._agent(record.id), record)
            elif isinstance(record, EpisodeLabel):
                known = self.labels.setdefault((record.id.agent, record.id.episode_id), [])
                if record not in known:
                    known.append(record)
        for agent in self._agents.values():
            yield from self._release(agent, 0)

    def _agent(self, id_: StepId) -> _Agent:
        return self._agents.setdefault(id_.agent, _Agent())

    def _transition(self, now: Transition, log_time: int) -> Iterator[EpisodeStep]:
        agent = self._agent(now.id)
        before = agent.latest(now.id)
        if before is None:
            key = (now.id.agent, now.id.episode_id)
            number = self._numbers.setdefault(key, len(self._numbers) + 1)
            episode = Episode(number=number, first=now, last=now)
            early = agent.announced
            if early is not None and early.id.episode_id == now.id.episode_id:
                episode.status = early
        else:
            episode = before.episode
        episode.add(now)
        step = EpisodeStep(transition=now, episode=episode, log_time=log_time)
        step.truth = agent.early.pop(_place(now.id), None)
        agent.held.append(step)
        if self._contract is not None:
            agent.events = agent.events or Events(self._contract, now.id.digest)
            _emit(agent, agent.events.transition(now))
        # What belongs to the episode before has come by the time that the next one moves.
        yield from self._release(agent, HELD, episode if now.kind is Kind.STEP else None)

    def _release(
        self, agent: _Agent, most: int, episode: Episode | None = None
    ) -> Iterator[EpisodeStep]:
        """Yield the first steps that are held: those before an episode, and those beyond most."""
        held = agent.held
        while held and (
            len(held) > most or (episode is not None and held[0].episode is not episode)
        ):
            step = held.popleft()
            if not held or held[0].episode is not step.episode:
                step.last = True
                step.episode.close()
            yield step

    def _truth(self, agent: _Agent, record: PrivilegedObservation) -> None:
        step = agent.at(record.id)
        if step is not None:
            step.truth = record
            return
        # It may come before the step that it is about.
        agent.early.put(_place(record.id), record, EARLY)

    def _status(self, agent: _Agent, status: EpisodeStatus) -> None:
        if status.state.over:
            agent.announced = status
        step = agent.latest(status.id)
        if step is not None:
            step.episode.client = step.episode.client or status.client
            if status.state.over:
                step.episode.status = status
            known = [(one.state, one.message) for one in step.statuses]
            if (status.state, status.message) not in known:
                step.statuses.append(status)
        if agent.events is not None:
            _emit(agent, agent.events.status(status))


def facts_of(now: Transition) -> Iterator[str]:
    """
    Yield what happened in a step.

    ``overruns``: no action came in time. ``clipped``: it was limited by its bounds. ``stopped``:
    the gate stopped the robot. ``intervened``: it did anything but admit. ``by_hand``: a command
    of an operator went out. ``stale``: a field was too old or missing.
    """
    if now.overrun:
        yield 'overruns'
    if now.answer is not None and now.answer.clipped:
        yield 'clipped'
    if any(decision.verdict is Verdict.STOPPED for decision in now.decisions):
        yield 'stopped'
    if any(map(intervenes, now.decisions)):
        yield 'intervened'
    if any(d.trigger is Trigger.OPERATOR and d.published for d in now.decisions):
        yield 'by_hand'
    if any(found.status is not FieldStatus.FRESH for found in now.after):
        yield 'stale'


def is_unjudged(now: Transition) -> bool:
    """Return whether a step is imported, and its task lacked what it needs to judge it."""
    return is_import(now) and is_unknown(now, 'reward')


def _emit(agent: _Agent, events: Iterable[EnvironmentEvent]) -> None:
    """Give events to their steps; what is not of a step that is held is of the latest one."""
    for event in events:
        step = agent.at(event.id) or agent.latest(event.id)
        if step is not None:
            step.events.append(event)


def _place(id_: StepId) -> tuple[str, int]:
    return id_.episode_id, id_.step


def _late(step: Transition, late: ActuationEvidence, budget: Mapping[str, float]) -> object:
    lockstep = step.pacing is Pacing.LOCKSTEP
    return measure(replace(step, actuated=late.actuated), budget, lockstep=lockstep)
