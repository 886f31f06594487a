# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A record run again, piece by piece in its order: gate, environment and task on what was recorded.

It streams: of each agent the decisions of a few steps are kept, and a line for each episode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.replay import Replay
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.memory import key_of
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.replay.differences import (
    FieldDifference,
    first_difference,
    OF_DECISION,
    OF_STEP,
)
from boundary_env_ros.evidence.replay.report import (
    Difference,
    differing,
    EpisodeVerdict,
)
from boundary_env_ros.evidence.replay.steps import StepsAgain
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.records import Record

#: Decisions that wait for the step that carries them; more, and they are run without it.
WAITING = 1024

#: Reasons that are kept why something was not run again.
_REASONS = 20

#: Said where a gate has nothing to decide.
NO_DECISION = 'no decision'

#: What is compared of what would have been.
_OF_OTHER_DECISION = ('verdict', 'command')
_OF_OTHER_STEP = ('reward', 'terminated', 'truncated', 'ending', 'declared_by')

#: Is told where a record differs: in which step or decision (None: the step itself).
Find = Callable[[StepId, GateDecision | None, FieldDifference], None]

Key = tuple[int, int]


@dataclass(slots=True)
class _Agent:
    """What is remembered of one agent."""

    name: str
    steps: StepsAgain
    gate: Replay | None = None
    waiting: Bounded[Key, GateDecision] = field(default_factory=Bounded)
    done: Bounded[Key, tuple[GateDecision | None, bool]] = field(default_factory=Bounded)
    last: GateDecision | None = None
    late: Replay | None = None
    now: EpisodeVerdict | None = None
    before: EpisodeVerdict | None = None
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
    find
        Is told every difference, also where no episode runs; then none is kept with the episodes.

    Attributes
    ----------
    unable
        Why something was not run again that ought to have been.

    """

    def __init__(
        self,
        contract: Contract,
        task: Task | None,
        *,
        digest: str = '',
        counterfactual: bool = False,
        find: Find | None = None,
    ) -> None:
        self._contract, self._task, self._digest = contract, task, digest
        self._find = find
        self.unable: dict[str, None] = {}
        self._other = counterfactual
        self._agents: dict[str, _Agent] = {}
        self._whose: dict[str, str] = {}
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
            self._digest = self._digest or record.id.digest
            self._transition(record)
        elif isinstance(record, GateDecision):
            self._sent(topic, record)
        elif isinstance(record, EpisodeStatus):
            self._agent(record.id.agent).status = record

    def finish(self) -> tuple[EpisodeVerdict, ...]:
        """Return the episodes, once the record is at its end."""
        for agent in self._agents.values():
            self._flush(agent)
            self._close(agent)
        return tuple(self._episodes)

    def _agent(self, name: str) -> _Agent:
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = _Agent(name, StepsAgain(self._contract, self._task, name))
        return agent

    def _new_gate(self, name: str, then: GateDecision) -> Replay:
        return Replay(
            self._contract,
            # Where the record has no step, a decision says the digest as well.
            digest=self._digest or then.id.digest,
            agent=name,
            topics={
                item.name: self._contract.topic_of(name, item.topic)
                for item in gate_inputs(self._contract)
            },
        )

    # Decisions -----------------------------------------------------------------------------------

    def _sent(self, topic: str, then: GateDecision) -> None:
        """Take a decision from the gate's own topic; it waits for the step that carries it."""
        if then.verdict is not Verdict.REJECTED:
            # What was rejected goes by the name that its request gave itself.
            self._whose[topic] = then.id.agent
        agent = self._agent(self._whose.get(topic, then.id.agent))
        key = key_of(then)
        if key in agent.done:
            self._compare_again(agent, then, key)
            return
        first = agent.waiting.put(key, then, WAITING)
        if first is not None:
            self._decide(agent, first)

    def _flush(self, agent: _Agent) -> None:
        while agent.waiting:
            self._decide(agent, agent.waiting.popitem(last=False)[1])

    def _carried(self, agent: _Agent, then: Transition) -> tuple[GateDecision, ...]:
        """Return what becomes of the decisions that a step carries."""
        again = []
        carried = {key_of(decision) for decision in then.decisions}
        for decision in then.decisions:
            key = key_of(decision)
            if key not in agent.done:
                while agent.waiting and key not in agent.done:
                    found, waited = next(iter(agent.waiting.items()))
                    if key not in agent.waiting and _steady(waited) > _steady(decision):
                        break
                    del agent.waiting[found]
                    current = then.id.episode_id if found in carried else ''
                    self._decide(agent, waited, current)
                if key not in agent.done:
                    self._decide(agent, decision, then.id.episode_id)
            else:
                self._compare_again(agent, decision, key)
            result, _ = agent.done[key]
            if result is not None:
                again.append(result)
        return tuple(again)

    def _decide(self, agent: _Agent, then: GateDecision, current: str = '') -> None:
        """Let the gate decide again."""
        gate = self._gate(agent, then)
        again: GateDecision | None = then
        episode, differs = self._of(agent, then), False
        try:
            again = gate.again(
                then,
                current=current,
                begun=agent.steps.begun == (current or then.id.episode_id),
            )
        except (BoundaryError, *WRONG_INPUT) as error:
            gate.adopt(then)
            why, differs = f'{type(error).__name__}: {error}', True
            if self._find is not None:
                self._find(then.id, then, _unable(why))
            self._skip(episode, f'a decision: {why}')
        else:
            if then.trigger is Trigger.PROBE:
                again = then
                gate.adopt(then)
                if episode is not None:
                    episode.skipped("a decision of the probe of a driver's timeout", owed=False)
            else:
                if episode is not None:
                    if gate.missing and gate is agent.gate:
                        why = 'a decision that the record does not have'
                        self._skip(episode, why, gate.missing)
                    episode.decisions += 1
                differs = self._compare(agent, then, again)
                if differs and not self._other:
                    gate.adopt(then)
        agent.done.put(key_of(then), (again, differs), WAITING)

    def _skip(self, episode: EpisodeVerdict | None, why: str, count: int = 1) -> None:
        """Take note of what ought to have been run again, and was not."""
        if len(self.unable) < _REASONS:
            self.unable[why] = None
        if episode is not None:
            episode.skipped(why, count)

    def _gate(self, agent: _Agent, then: GateDecision) -> Replay:
        """Return the gate that is to decide: another one, if this decision is not its next."""
        last, gate = agent.last, agent.gate
        if last is not None and gate is not None and then.sequence > last.sequence:
            agent.last = then
            return gate
        if last is None or _steady(then) > _steady(last):
            # The gate was started, or started again, and counts from the beginning.
            agent.gate, agent.last = self._new_gate(agent.name, then), then
            return agent.gate
        # The recorder had it after others that it precedes: what came before is as recorded.
        if agent.late is None:
            agent.late = self._new_gate(agent.name, then)
        return agent.late

    def _of(self, agent: _Agent, then: GateDecision) -> EpisodeVerdict | None:
        """Return the episode that a decision counts for; None if that is not run."""
        if agent.over:
            return None
        before = agent.before
        if before is not None and then.id.episode_id == before.episode_id:
            return None if before.after_ending else before
        return agent.now

    def _compare_again(self, agent: _Agent, then: GateDecision, key: Key) -> None:
        """Compare another account of a decision, unless it was another one already."""
        again, differs = agent.done[key]
        if not differs:
            agent.done[key] = again, self._compare(agent, then, again)

    def _compare(self, agent: _Agent, then: GateDecision, again: GateDecision | None) -> bool:
        """Note where a decision came out as another; return whether it did."""
        episode = self._of(agent, then)
        if again is None:
            first: FieldDifference | None = FieldDifference(
                field='verdict', recorded=then.verdict.name, recomputed=NO_DECISION
            )
        else:
            names = _OF_OTHER_DECISION if self._other else OF_DECISION
            first = first_difference(then, again, names)
        if first is None:
            return False
        if self._find is not None:
            self._find(then.id, then, first)
        elif episode is not None:
            episode.decisions_unlike += 1
            episode.by_reason.update(_why(then, again))
            episode.differs(differing(then, again, first, self._contract))
        return True

    # Steps ---------------------------------------------------------------------------------------

    def _transition(self, then: Transition) -> None:
        agent = self._agent(then.id.agent)
        episode = agent.now
        if episode is None or then.kind is Kind.RESET or episode.episode_id != then.id.episode_id:
            episode = self._begin(agent, then)
        if agent.over:
            agent.waiting.clear()
            episode.after_ending += 1
            _end(episode, then)
        else:
            self._step(agent, episode, then, self._carried(agent, then))

    def _begin(self, agent: _Agent, then: Transition) -> EpisodeVerdict:
        self._close(agent)
        self._begun += 1
        agent.over = False
        agent.before = agent.now
        agent.now = EpisodeVerdict(
            number=self._begun, agent=then.id.agent, episode_id=then.id.episode_id, seed=then.seed
        )
        if self._find is None:
            self._episodes.append(agent.now)
        return agent.now

    def _close(self, agent: _Agent) -> None:
        """Say of an episode without an ending which node declared one, if one did."""
        episode, status = agent.now, agent.status
        if episode is None or status is None or episode.ending or not status.ending:
            return
        if status.id.episode_id == episode.episode_id:
            why = f'its ending, {status.ending}, declared by {status.declared_by}'
            episode.skipped(why, owed=False)

    def _step(
        self,
        agent: _Agent,
        episode: EpisodeVerdict,
        then: Transition,
        decisions: tuple[GateDecision, ...],
    ) -> None:
        again: Transition | None = None
        try:
            again = agent.steps.again(then, decisions)
        except (BoundaryError, *WRONG_INPUT) as error:
            why = f'{type(error).__name__}: {error}'
            if self._find is not None:
                self._find(then.id, None, _unable(why))
            self._skip(episode, f'a step: {why}')
        if again is not None and agent.steps.lacking:
            # The task goes by the reset and the step before; all else follows without them.
            self._skip(episode, f'a step: {agent.steps.lacking}')
            again = again if self._find is not None else None
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
        first = self._difference(then, again)
        if first is not None:
            episode.steps_unlike += 1
            if self._find is not None:
                self._find(then.id, None, first)
            else:
                episode.differs(Difference(step=then.id.step, sequence=None, first=first))

    def _difference(self, then: Transition, again: Transition) -> FieldDifference | None:
        if self._other:
            return first_difference(then, again, _OF_OTHER_STEP)
        if then.id.digest != self._digest:
            return FieldDifference(
                field='id.digest', recorded=then.id.digest, recomputed=self._digest
            )
        if then.reset is not None and again.reset is not None:
            found = first_difference(
                then.reset, again.reset, ('sampled', 'tolerance', 'within_tolerance')
            )
            if found is not None:
                return replace(found, field=f'reset.{found.field}')
        return first_difference(then, again, OF_STEP)


def _unable(why: str) -> FieldDifference:
    return FieldDifference(field='', recorded=why, recomputed='what can be run again')


def _end(episode: EpisodeVerdict, then: Transition) -> None:
    if then.terminated or then.truncated:
        episode.ending, episode.ended_at = then.ending, then.id.step


def _steady(decision: GateDecision) -> int:
    instant = decision.commanded or decision.received
    return 0 if instant is None else instant.steady


def _why(then: GateDecision, again: GateDecision | None) -> tuple[str, ...]:
    """Return what changed in the reasons; where nothing did, the command before was another."""
    if again is None:
        return ('no decision',)
    was = {result.reason.name.lower(): None for result in then.rules}
    now = {result.reason.name.lower(): None for result in again.rules}
    new = [reason for reason in now if reason not in was]
    gone = [f'no {reason}' for reason in was if reason not in now]
    return (*new, *gone) or ('as recorded, from another command',)
