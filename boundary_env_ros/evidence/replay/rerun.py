# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A record run again, piece by piece in its order: gate, environment and task on what was recorded.

It streams: of each agent the decisions of a few steps are kept, and a line for each episode.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import first_difference, same
from boundary_env_ros.evidence.replay.decisions_again import (
    DecidedAgain,
    DecisionsAgain,
    DecisionsInstead,
    key_of,
)
from boundary_env_ros.evidence.replay.steps_again import step_difference, StepsAgain
from boundary_env_ros.evidence.replay.verdict_report import (
    differing,
    EpisodeVerdict,
    ReplayDifference,
)
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.records import Record

#: Decisions that wait for the step that carries them; more, and they are run without it.
WAITING = 1024

#: What is compared of a step that would have been.
_OF_OTHER_STEP = ('reward', 'terminated', 'truncated', 'ending', 'declared_by')

Key = tuple[int, int]


@frozen(kw_only=False)
class _Decided:
    """A decision once more, how many before it are missing, and why it could not be decided."""

    recorded: GateDecision
    again: DecidedAgain
    missing: int = 0
    counts: bool = True
    wrong: str = ''


@dataclass(slots=True)
class _RerunAgent:
    """
    What is remembered of one agent.

    ``waiting`` are decisions of the gate's own topic for which no step has come yet, each as it
    came out; ``done`` those that steps carry.
    """

    name: str
    steps: StepsAgain
    decisions: DecisionsAgain | DecisionsInstead
    waiting: Bounded[Key, _Decided] = field(default_factory=Bounded)
    done: Bounded[Key, _Decided] = field(default_factory=Bounded)
    last: GateDecision | None = None
    now: EpisodeVerdict | None = None
    over: bool = False
    status: EpisodeStatus | None = None


class Rerun:
    """
    Takes a record piece by piece and runs it again.

    Parameters
    ----------
    contract, task
        Under which contract, and its task; None if it is not known.
    digest
        The digest that the record was made under; empty: that of its first step.
    counterfactual
        Whether something else is asked than what was recorded: then what the gate would have sent
        before is what it goes on from, and only what it would have decided is compared.

    """

    def __init__(
        self,
        contract: Contract,
        task: Task | None,
        *,
        digest: str = '',
        counterfactual: bool = False,
    ) -> None:
        self._contract, self._task, self._digest = contract, task, digest
        self._other = counterfactual
        self._agents: dict[str, _RerunAgent] = {}
        self._agent_of_topic: dict[str, str] = {}
        self._episodes: list[EpisodeVerdict] = []
        self._begun = 0

    def add(self, record: Record, topic: str = '') -> None:
        """
        Run the next piece of the record again; of a kind that says nothing, pass over it.

        Parameters
        ----------
        record
            The piece.
        topic
            From where.

        """
        if isinstance(record, Transition):
            self._transition(record)
        elif isinstance(record, GateDecision):
            self._decision(topic, record)
        elif isinstance(record, EpisodeStatus):
            self._agent(record.id.agent, record.id.digest).status = record

    def finish(self) -> tuple[EpisodeVerdict, ...]:
        """Return the episodes, once the record is at its end."""
        for agent in self._agents.values():
            self._close(agent)
        return tuple(self._episodes)

    def _agent(self, name: str, digest: str) -> _RerunAgent:
        agent = self._agents.get(name)
        if agent is None:
            self._digest = self._digest or digest
            judge = Judge(self._contract, digest=self._digest)
            kind = DecisionsInstead if self._other else DecisionsAgain
            steps = StepsAgain(self._contract, self._task, name)
            agent = self._agents[name] = _RerunAgent(name, steps, kind(self._contract, judge))
        return agent

    # Decisions -----------------------------------------------------------------------------------

    def _decision(self, topic: str, then: GateDecision) -> None:
        """Take a decision from the gate's own topic; it counts for the step that carries it."""
        if then.verdict is not Verdict.REJECTED:
            # What was rejected goes by the name that its request gave itself.
            self._agent_of_topic[topic] = then.id.agent
        agent = self._agent(self._agent_of_topic.get(topic, then.id.agent), then.id.digest)
        key = key_of(then)
        decided = agent.done.get(key)
        if decided is not None:
            if not same(decided.recorded, then):
                self._note(agent.now, self._decide(agent, then))
            return
        first = agent.waiting.put(key, self._decide(agent, then), WAITING)
        if first is not None:
            self._note(agent.now, first)

    def _decide_in_step(self, agent: _RerunAgent, then: Transition) -> tuple[GateDecision, ...]:
        """Return what becomes of the decisions that a step carries."""
        again = []
        for decision in then.decisions:
            key = key_of(decision)
            decided = agent.waiting.pop(key, None)
            if decided is not None:
                self._note(agent.now, decided)
            if decided is None or not same(decided.recorded, decision):
                decided = self._decide(agent, decision, counts=decided is None)
                self._note(agent.now, decided)
            agent.done.put(key, decided, WAITING)
            again.append(decided.again.decision)
        return tuple(again)

    def _decide(self, agent: _RerunAgent, then: GateDecision, *, counts: bool = True) -> _Decided:
        """Let the gate decide again."""
        last, missing = agent.last, 0
        if last is None or then.sequence > last.sequence:
            agent.last = then
            if last is not None and last.inputs.lease_id == then.inputs.lease_id:
                missing = then.sequence - last.sequence - 1
        try:
            return _Decided(then, agent.decisions.again(then), missing, counts)
        except (BoundaryError, *WRONG_INPUT) as error:
            why = f'{type(error).__name__}: {error}'
            return _Decided(then, DecidedAgain(decision=then, differs=None), missing, counts, why)

    def _note(self, episode: EpisodeVerdict | None, decided: _Decided) -> None:
        """Note with an episode how a decision of it came out."""
        then, again = decided.recorded, decided.again
        if episode is None or episode.after_ending:
            return
        if decided.wrong:
            episode.skipped(f'a decision: {decided.wrong}')
            return
        if decided.missing:
            episode.skipped('a decision that the record does not have', decided.missing)
        episode.decisions += decided.counts
        first = again.from_before or again.differs
        if first is not None:
            episode.decisions_unlike += 1
            episode.by_reason.update(_why(then, again.decision))
            episode.differs(differing(then, again.decision, first, self._contract))

    # Steps ---------------------------------------------------------------------------------------

    def _transition(self, then: Transition) -> None:
        agent = self._agent(then.id.agent, then.id.digest)
        episode = agent.now
        if episode is None or then.kind is Kind.RESET or episode.episode_id != then.id.episode_id:
            episode = self._begin(agent, then)
        if agent.over:
            agent.waiting.clear()
            episode.after_ending += 1
            _end(episode, then)
        else:
            self._step(agent, episode, then, self._decide_in_step(agent, then))

    def _begin(self, agent: _RerunAgent, then: Transition) -> EpisodeVerdict:
        self._close(agent, then.id.episode_id)
        self._begun += 1
        agent.over = False
        agent.now = EpisodeVerdict(
            number=self._begun, agent=then.id.agent, episode_id=then.id.episode_id, seed=then.seed
        )
        self._episodes.append(agent.now)
        return agent.now

    def _close(self, agent: _RerunAgent, following: str = '') -> None:
        """Note what no step of an episode has carried, and who declared its ending."""
        episode, status = agent.now, agent.status
        for key, decided in tuple(agent.waiting.items()):
            if not following or decided.recorded.id.episode_id != following:
                self._note(episode, agent.waiting.pop(key))
        if episode is None or status is None or episode.ending or not status.ending:
            return
        if status.id.episode_id == episode.episode_id:
            why = f'its ending, {status.ending}, declared by {status.declared_by}'
            episode.skipped(why, owed=False)

    def _step(
        self,
        agent: _RerunAgent,
        episode: EpisodeVerdict,
        then: Transition,
        decisions: tuple[GateDecision, ...],
    ) -> None:
        again: Transition | None = None
        try:
            again = agent.steps.again(then, decisions)
        except (BoundaryError, *WRONG_INPUT) as error:
            episode.skipped(f'a step: {type(error).__name__}: {error}')
        if again is not None and agent.steps.lacking:
            # The task goes by the reset and the step before; all else follows without them.
            episode.skipped(f'a step: {agent.steps.lacking}')
            again = None
        _end(episode, then)
        if not episode.client:
            asked = (d.request.client for d in then.decisions if d.request is not None)
            episode.client = next(asked, '')
        if again is None:
            return
        episode.steps += 1
        episode.reward += then.reward
        episode.reward_again += again.reward
        if again.terminated or again.truncated:
            episode.ending_again, episode.ended_again_at = again.ending, again.id.step
            agent.over = self._other and not (then.terminated or then.truncated)
        if self._other:
            first = first_difference(then, again, _OF_OTHER_STEP)
        else:
            first = step_difference(then, again, self._digest)
        if first is not None:
            episode.steps_unlike += 1
            episode.differs(ReplayDifference(step=then.id.step, sequence=None, first=first))


def _end(episode: EpisodeVerdict, then: Transition) -> None:
    if then.terminated or then.truncated:
        episode.ending, episode.ended_at = then.ending, then.id.step


def _why(then: GateDecision, again: GateDecision) -> tuple[str, ...]:
    """Return what changed in the reasons; where nothing did, the command before was another."""
    was = {result.reason.name.lower(): None for result in then.rules}
    now = {result.reason.name.lower(): None for result in again.rules}
    new = [reason for reason in now if reason not in was]
    removed = [f'no {reason}' for reason in was if reason not in now]
    return (*new, *removed) or ('as recorded, from another command',)
