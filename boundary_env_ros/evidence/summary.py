# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a run, episode by episode and step by step, apart for each client."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.causes import SUCCESS
from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate_rules.turns import intervenes
from boundary_env_ros.core.imported import is_import, is_unknown
from boundary_env_ros.core.intervention import Hands, Intervention
from boundary_env_ros.core.latency import LatencyStage, STAGES
from boundary_env_ros.core.mark import agreed, EpisodeMark, latest, MarkVerdict
from boundary_env_ros.core.observation import FieldStatus
from boundary_env_ros.core.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.evidence.figures import (
    ClientSummary,
    Difference,
    Disagreement,
    StageSummary,
    Summary,
    Takeover,
)
from boundary_env_ros.evidence.late import late_stages, Waiting
from boundary_env_ros.evidence.statistics import Proportion, Quantiles

#: Stages of the action that are held against each other.
PAIRS = (('requested', 'admitted'), ('admitted', 'commanded'), ('commanded', 'measured'))

#: Those of an imported step, whose action was worked out from the command.
OF_IMPORT = PAIRS[-1:]

#: Steps of an episode that wait for its first request, which names the client.
UNNAMED = 100

#: Takeovers of one client that are told one by one; those after them are only counted.
TAKEOVERS = 32

#: Ended episodes that are remembered for the marks on them.
ENDED = 65_536

#: Verdict of a step without a decision.
NONE = 'NONE'


def summarise(
    records: Iterable[object],
    contract: Contract | None = None,
) -> Summary:
    """
    Summarise a record, in memory that does not grow with it.

    Parameters
    ----------
    records
        Transitions, in the order in which they were recorded. Among them may be late
        ``ActuationEvidence``, which completes the stages of its step, ``EpisodeStatus``, which
        tells the ending of an episode whose environment died, and ``EpisodeMark``, also behind
        the steps of its episode; anything else is passed over.
    contract
        For budgets and names of the dimensions.

    """
    summariser = Summariser(contract)
    for record in records:
        summariser.add(record)
    return summariser.summary()


# Collecting --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Gap:
    steps: int = 0
    differing: int = 0
    total: float = 0.0
    greatest: float = 0.0

    def add(self, one: float, other: float) -> None:
        if not (math.isfinite(one) and math.isfinite(other)):
            return
        gap = abs(one - other)
        self.steps += 1
        self.differing += gap > 0.0
        self.total += gap
        self.greatest = max(self.greatest, gap)


@dataclass(slots=True)
class _Stage:
    quantiles: Quantiles = field(default_factory=Quantiles)
    over: int = 0


@dataclass(slots=True)
class _Client:
    endings: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    unfinished: int = 0
    judged: int = 0
    judged_terminated: int = 0
    successes: int = 0
    truncated: int = 0
    returns: float = 0.0
    ended_steps: int = 0
    steps: int = 0
    imported: int = 0
    unjudged: int = 0
    clipped: int = 0
    intervened: int = 0
    by_hand: int = 0
    taken_over: int = 0
    hands: list[Intervention] = field(default_factory=list)
    marked: int = 0
    marked_decided: int = 0
    marked_success: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    stops: Counter[str] = field(default_factory=Counter)
    overruns: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    stages: dict[str, _Stage] = field(default_factory=lambda: {s: _Stage() for s in STAGES})
    stale: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    gaps: dict[tuple[str, int], _Gap] = field(default_factory=dict)


@dataclass(slots=True)
class _Episode:
    """The episode that runs, and its first steps, which wait until its client is known."""

    episode_id: str
    client: str = ''
    steps: int = 0
    reward: float = 0.0
    cause: str = ''
    truncated: bool = False
    judged: bool = True
    named: bool = False
    stopping: frozenset[str] = frozenset()
    unnamed: list[Transition] = field(default_factory=list)


class Summariser:
    """
    Takes a record piece by piece; :func:`summarise` for a stream that is still running.

    Parameters
    ----------
    contract
        For budgets and names of the dimensions.

    """

    def __init__(self, contract: Contract | None = None) -> None:
        self._contract = contract
        self._clients: dict[str, _Client] = {}
        self._running: dict[str, _Episode] = {}
        self._announced: dict[str, EpisodeStatus] = {}
        self._waiting: Waiting[_Client] = Waiting()
        self._first: Transition | None = None
        self._hands: dict[str, Hands] = {}
        self._ended: OrderedDict[tuple[str, str], tuple[_Client, str, bool | None]] = OrderedDict()
        self._marks: dict[EpisodeMark, None] = {}

    def add(self, record: object) -> None:
        """Take the next piece of the record."""
        if isinstance(record, Transition):
            self._transition(record)
        elif isinstance(record, ActuationEvidence):
            self._evidence(record)
        elif isinstance(record, EpisodeMark):
            self._marks[record] = None
        elif isinstance(record, EpisodeStatus):
            if record.state.over:
                self._announced[record.id.agent] = record
            running = self._running.get(record.id.agent)
            if running is not None and running.episode_id == record.id.episode_id:
                self._name(running, record.client)

    def summary(self) -> Summary:
        """Return the figures up to here; the episodes that still run count as unfinished."""
        for agent in tuple(self._running):
            self._close(agent)
        self._judge_by_marks()
        first = self._first
        return Summary(
            contract=f'{first.contract} {first.contract_version}' if first else '',
            digest=first.id.digest if first else '',
            software_version=first.software_version if first else '',
            clients=tuple(self._told(name, c) for name, c in self._clients.items()),
        )

    # Episodes ------------------------------------------------------------------------------------

    def _transition(self, now: Transition) -> None:
        self._first = self._first or now
        running = self._running.get(now.id.agent)
        if running is None or running.episode_id != now.id.episode_id:
            self._close(now.id.agent)
            running = self._running[now.id.agent] = _Episode(episode_id=now.id.episode_id)
        running.cause = running.cause or now.cause
        running.truncated = running.truncated or now.truncated
        running.reward += now.reward
        running.judged = running.judged and not _is_unjudged(now)
        running.steps += now.kind is Kind.STEP
        running.unnamed.append(now)
        for decision in now.decisions:
            if decision.request is not None:
                self._name(running, decision.request.client)
                break
        if running.named or len(running.unnamed) > UNNAMED:
            self._name(running, running.client)

    def _name(self, running: _Episode, client: str) -> None:
        """Learn whose episode it is, and count what was waiting for that."""
        if not running.named:
            running.client, running.named = client, True
        for waiting in running.unnamed:
            self._step(self._client(running.client), waiting, running)
        running.unnamed.clear()

    def _client(self, name: str) -> _Client:
        return self._clients.setdefault(name, _Client())

    def _close(self, agent: str) -> None:
        running = self._running.pop(agent, None)
        if running is None:
            return
        self._name(running, running.client)
        client = self._client(running.client)
        announced = self._announced.get(agent)
        if not running.cause and announced and announced.id.episode_id == running.episode_id:
            running.cause = announced.cause
            running.truncated = announced.state is EpisodeState.TRUNCATED
        if not running.cause:
            client.unfinished += 1
            return
        client.episodes += 1
        client.endings[running.cause] += 1
        client.truncated += running.truncated
        success = None
        if running.judged:
            success = running.cause == SUCCESS and not running.truncated
            client.judged += 1
            client.judged_terminated += not running.truncated
            client.successes += success
        self._ended[agent, running.episode_id] = (client, running.cause, success)
        if len(self._ended) > ENDED:
            self._ended.popitem(last=False)
        client.returns += running.reward
        client.ended_steps += running.steps

    def _judge_by_marks(self) -> None:
        """Hold what people say of ended episodes beside what the environment says."""
        of: dict[tuple[str, str], list[EpisodeMark]] = {}
        for mark in self._marks:
            of.setdefault((mark.id.agent, mark.id.episode_id), []).append(mark)
        self._marks.clear()
        for key, marks in of.items():
            if key not in self._ended:
                continue
            client, cause, success = self._ended[key]
            verdict = agreed(marks)
            decided = {m.verdict for m in latest(marks)} - {MarkVerdict.UNCLEAR}
            client.marked += 1
            client.marked_decided += len(decided) == 1
            client.marked_success += verdict is MarkVerdict.SUCCESS
            if success is None:
                continue  # nobody is disagreed with
            said = MarkVerdict.SUCCESS if success else MarkVerdict.FAILURE
            if decided - {said}:
                client.disagreements.append(
                    Disagreement(
                        episode_id=key[1],
                        ending=cause,
                        success=success,
                        marks=tuple(map(_mark_told, latest(marks))),
                    )
                )

    # Steps ---------------------------------------------------------------------------------------

    def _step(self, client: _Client, now: Transition, running: _Episode) -> None:
        for found in now.after:
            client.stale[found.name] += found.status is FieldStatus.STALE
            client.missing[found.name] += found.status is FieldStatus.MISSING
        if now.kind is not Kind.STEP:
            return
        client.steps += 1
        client.verdicts[now.verdict.name if now.verdict else NONE] += 1
        client.overruns += now.overrun
        imported = is_import(now)
        client.imported += imported
        client.unjudged += _is_unjudged(now)
        client.intervened += any(map(intervenes, now.decisions))
        answer = now.answer
        client.clipped += answer is not None and answer.clipped
        client.by_hand += any(d.trigger is Trigger.OPERATOR and d.published for d in now.decisions)
        hands = self._hands.setdefault(now.id.agent, Hands(self._contract))
        for hand in hands.follow(now):
            client.taken_over += 1
            if len(client.hands) < TAKEOVERS:
                client.hands.append(hand)
        for decision in now.decisions:
            _stops(client, running, decision)
            client.reasons.update(result.reason.name for result in decision.rules)
        for one, other in OF_IMPORT if imported else PAIRS:
            a, b = getattr(now, f'{one}_action'), getattr(now, f'{other}_action')
            if len(a) == len(b):
                for i, (left, right) in enumerate(zip(a, b, strict=True)):
                    client.gaps.setdefault((f'{one} - {other}', i), _Gap()).add(left, right)
        for name in STAGES:
            self._stage(client, name, getattr(now.latency, name))
        self._waiting.add(now, client)

    def _stage(self, client: _Client, name: str, stage: LatencyStage) -> None:
        if stage.duration is None:
            return
        kept = client.stages[name]
        kept.quantiles.add(stage.duration)
        kept.over += stage.over_budget

    def _evidence(self, evidence: ActuationEvidence) -> None:
        """Complete the step whose execution was not known yet when it was closed."""
        found = self._waiting.take(evidence)
        if found is None:
            return
        step, client = found
        budget = self._contract.latency_budget if self._contract else {}
        for name, stage in late_stages(step, evidence, budget).items():
            self._stage(client, name, stage)

    # Telling -------------------------------------------------------------------------------------

    def _told(self, name: str, client: _Client) -> ClientSummary:
        decided = client.steps - client.imported
        mean_return = client.returns / client.episodes if client.episodes else None
        budget = self._contract.latency_budget if self._contract else {}
        differences: dict[str, dict[str, Difference]] = {}
        for (pair, dimension), gap in client.gaps.items():
            differences.setdefault(pair, {})[self._dimension(dimension)] = Difference(
                steps=gap.steps,
                differing=gap.differing,
                mean=gap.total / gap.steps if gap.steps else None,
                greatest=gap.greatest if gap.steps else None,
            )
        return ClientSummary(
            client=name,
            episodes=client.episodes,
            unfinished=client.unfinished,
            steps=client.steps,
            endings=dict(client.endings),
            success=Proportion(count=client.successes, of=client.judged),
            success_of_terminated=Proportion(count=client.successes, of=client.judged_terminated),
            truncated=client.truncated,
            mean_return=None if mean_return is None or math.isnan(mean_return) else mean_return,
            mean_length=client.ended_steps / client.episodes if client.episodes else None,
            imported=client.imported,
            unjudged=client.unjudged,
            clipped=Proportion(count=client.clipped, of=decided),
            intervened=Proportion(count=client.intervened, of=decided),
            by_hand=Proportion(count=client.by_hand, of=client.steps),
            taken_over=client.taken_over,
            takeovers=tuple(
                Takeover(
                    topic=hand.topic,
                    episode_id=hand.episode_id,
                    first_step=hand.first_step,
                    last_step=hand.last_step,
                    commands=hand.commands,
                    dimensions=tuple(map(self._dimension, sorted(hand.dimensions))),
                )
                for hand in client.hands
            ),
            marked=client.marked,
            success_by_marks=Proportion(count=client.marked_success, of=client.marked_decided),
            disagreements=tuple(client.disagreements),
            stops=dict(client.stops),
            overruns=Proportion(count=client.overruns, of=client.steps),
            verdicts=dict(client.verdicts),
            reasons=dict(client.reasons),
            stages={
                stage: StageSummary(
                    known=kept.quantiles.count,
                    p50=kept.quantiles.at(0.5),
                    p99=kept.quantiles.at(0.99),
                    greatest=kept.quantiles.greatest if kept.quantiles.count else None,
                    budget=budget.get(stage),
                    over=kept.over,
                )
                for stage, kept in client.stages.items()
            },
            stale=dict(client.stale),
            missing=dict(client.missing),
            differences=differences,
        )

    def _dimension(self, index: int) -> str:
        if self._contract is None:
            return str(index)
        names = [
            f'{name} ({unit})'
            for group in self._contract.action
            for name, unit in zip(group.dimensions, group.unit, strict=True)
        ]
        return names[index] if index < len(names) else str(index)


def _is_unjudged(now: Transition) -> bool:
    """Return whether a step is imported, and its task lacked what it needs to judge it."""
    return is_import(now) and is_unknown(now, 'reward')


def _mark_told(mark: EpisodeMark) -> str:
    note = f' ({mark.note})' if mark.note else ''
    return f'{mark.verdict.name.lower()} by {mark.who}{note}'


def _stops(client: _Client, running: _Episode, decision: GateDecision) -> None:
    """Count a stop once for each of its reasons, when it begins."""
    if decision.verdict is Verdict.REJECTED:
        return  # it changes nothing of what the robot does
    reasons = frozenset(
        result.reason.name
        for result in decision.rules
        if result.outcome is Verdict.STOPPED and result.reason is not Reason.STILL_STOPPED
    )
    client.stops.update(sorted(reasons - running.stopping))
    if reasons or decision.verdict is not Verdict.STOPPED:
        running.stopping = reasons
