# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a run, episode by episode and step by step, apart for each origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.endings import NO_TASK
from boundary_env_ros.core.records.episode import agreed, EpisodeLabel, Label, latest
from boundary_env_ros.core.records.imported import is_import
from boundary_env_ros.core.records.intervention import InterventionTracker
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.episodes import (
    Episode,
    Episodes,
    EpisodeStep,
    is_unjudged,
    Key,
    Origin,
)
from boundary_env_ros.evidence.response import Fit, Motion
from boundary_env_ros.evidence.run_files import labels_in_index, Run
from boundary_env_ros.evidence.summary.figures import (
    Delay,
    Disagreement,
    Excluded,
    Execution,
    FigureGroup,
    StageSummary,
    Summary,
)
from boundary_env_ros.storage.contract_spaces import action_space, observation_space

#: Ended episodes that are remembered for the labels on them.
ENDED = 65_536

#: Why an episode is in no rate of success.
NO_ENDING, NOT_JUDGED = 'no ending in the record', 'the task could not judge it'

#: Verdict of a step without a decision.
NONE = 'NONE'


def summarise_path(path: Path) -> Summary:
    """
    Sum up a record; what cannot be read is passed over, since it is the audit that names it.

    Parameters
    ----------
    path
        A run folder, a bag, or an MCAP file.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    run = Run(path)
    return summarise(chain(run.entries(), labels_in_index(path)), run.terms().contract)


def summarise(records: Iterable[object], contract: Contract | None = None) -> Summary:
    """
    Summarise a record, in memory that does not grow with it.

    Parameters
    ----------
    records
        In the order in which they were recorded.
    contract
        For budgets and names of the dimensions.

    """
    episodes, summariser = Episodes(records), Summariser(contract)
    for step in episodes:
        summariser.add(step)
    return summariser.summary(episodes.labels)


class Summariser:
    """
    Takes the steps of a record; :func:`summarise` for one that is read for its figures alone.

    Parameters
    ----------
    contract
        For budgets and names of the dimensions.

    """

    def __init__(self, contract: Contract | None = None) -> None:
        self._contract = contract
        self._budget = dict(contract.latency_budget) if contract else {}
        self._groups: dict[Origin, FigureGroup] = {}
        self._hands: dict[str, InterventionTracker] = {}
        self._dimensions = [
            f'{name} ({unit})'
            for group in (contract.action if contract else ())
            for name, unit in zip(group.dimensions, group.unit, strict=True)
        ]
        self._stopping: dict[str, frozenset[str]] = {}
        self._motions: dict[Key, Motion] = {}
        self._fits: dict[Origin, dict[int, Fit]] = {}
        self._unseen: dict[Origin, Counter[tuple[int, ...]]] = {}
        self._ended: Bounded[Key, tuple[FigureGroup, str, bool | None]] = Bounded()

    def summary(self, labels: Mapping[Key, Sequence[EpisodeLabel]]) -> Summary:
        """Return the figures, with what people said of the episodes."""
        for key, (client, ending, success) in self._ended.items():
            if key in labels:
                _judge(client, key[1], ending, success, labels[key])
        for origin, fits in self._fits.items():
            self._estimate(self._groups[origin].execution, fits, self._unseen.get(origin, {}))
        return Summary(groups=tuple(self._groups.values()))

    def add(self, step: EpisodeStep) -> None:
        """Take the next step."""
        now, episode = step.transition, step.episode
        client = self._groups.get(episode.origin) or self._begin(episode.origin)
        if now is episode.first:
            self._stopping[now.id.agent] = frozenset()
            options = now.reset.options if now.reset else ''
            if options not in client.reset_options:
                client.reset_options.append(options)
            client.seeds.append(now.seed)
        self._step(client, step)
        if step.last:
            self._end(client, episode)

    def _begin(self, origin: Origin) -> FigureGroup:
        found = self._groups[origin] = FigureGroup(
            origin=origin,
            stages={name: StageSummary(self._budget.get(name)) for name in STAGES},
        )
        contract = self._contract
        if contract is not None and digest_of(contract) == origin.digest:
            found.action_space = str(action_space(contract))
            found.observation_space = str(observation_space(contract))
            found.reset_distribution = dict(contract.task.parameters)
        return found

    def _execution(self, client: FigureGroup, step: EpisodeStep) -> None:
        """Take whether it is known of a step when its command was executed."""
        now, answer = step.transition, step.transition.answer
        self._motions.setdefault(step.episode.key, Motion()).add(now)
        if answer is None or not answer.published:
            return
        pairs = zip(answer.command, answer.inputs.previous_command, strict=False)
        changed = tuple(i for i, (command, before) in enumerate(pairs) if command != before)
        client.execution.changed += bool(changed)
        if step.stage('actuation', self._budget).duration is not None:
            client.execution.measured += bool(changed)
        elif changed:
            self._unseen.setdefault(step.episode.origin, Counter())[changed] += 1

    def _estimate(
        self, execution: Execution, fits: Mapping[int, Fit], unseen: Mapping[tuple[int, ...], int]
    ) -> None:
        """Take how the robot answered commands, for those whose execution was not seen."""
        execution.estimated, execution.delays = 0, {}
        execution.still = tuple(self._dimension(i) for i, fit in fits.items() if fit.still)
        found = {i: response for i, fit in fits.items() if (response := fit.response())}
        for index, response in found.items():
            execution.delays[self._dimension(index)] = Delay(
                episodes=fits[index].episodes,
                seconds=response.latency,
                uncertainty=response.uncertainty,
            )
        for dimensions, count in unseen.items():
            if not found.keys().isdisjoint(dimensions):
                execution.estimated += count

    def _end(self, client: FigureGroup, episode: Episode) -> None:
        motion = self._motions.pop(episode.key, None)
        if motion is not None and self._contract is not None:
            motion.fit(self._fits.setdefault(episode.origin, {}), self._contract)
        # Where no gate was, nothing is known of what it would have done.
        gated = ('clipped', 'intervened') if not is_import(episode.first) else ()
        for name in ('overruns', 'by_hand', *gated):
            rate = getattr(client, name)
            rate.count += episode.counts[name]
            rate.of += episode.steps
        why = '' if episode.judged else NOT_JUDGED
        if self._contract is not None and not self._contract.task.name:
            why = NO_TASK
        judged = not why
        if not episode.ending:
            why = NO_ENDING
        if why:
            id_ = episode.key[1]
            client.excluded.append(Excluded(episode_id=id_, seed=episode.first.seed, why=why))
        if not episode.ending:
            return
        client.episodes += 1
        client.endings[episode.ending] += 1
        client.truncated += episode.truncated
        success = None
        if judged:
            success = episode.is_success
            client.success.add(success)
            if not episode.truncated:
                client.success_of_terminated.add(success)
        self._ended.put(episode.key, (client, episode.ending, success), ENDED)
        client.total_return += episode.total
        client.total_length += episode.steps

    # Steps ---------------------------------------------------------------------------------------

    def _step(self, client: FigureGroup, step: EpisodeStep) -> None:
        now = step.transition
        for found in now.after:
            client.stale[found.name] += found.status is FieldStatus.STALE
            client.missing[found.name] += found.status is FieldStatus.MISSING
        if now.kind is not Kind.STEP:
            return
        client.steps += 1
        client.verdicts[now.verdict.name if now.verdict else NONE] += 1
        imported = is_import(now)
        client.imported += imported
        client.unjudged += is_unjudged(now)
        hands = self._hands.setdefault(now.id.agent, InterventionTracker())
        client.taken_over += hands.follow(now)
        for decision in now.decisions:
            self._stops(client, now.id.agent, decision)
            client.reasons.update(result.reason.name for result in decision.rules)
        if not imported:
            client.clipped_in.update(
                self._dimension(index) for index, is_so in enumerate(now.clipped) if is_so
            )
        self._execution(client, step)
        for name in STAGES:
            client.stages[name].add(step.stage(name, self._budget))

    def _stops(self, client: FigureGroup, agent: str, decision: GateDecision) -> None:
        """Count a stop once for each of its reasons, when it begins."""
        if decision.verdict is Verdict.REJECTED:
            return  # it changes nothing of what the robot does
        reasons = frozenset(
            result.reason.name
            for result in decision.rules
            if result.outcome is Verdict.STOPPED and result.reason is not Reason.STILL_STOPPED
        )
        client.stops.update(sorted(reasons - self._stopping[agent]))
        if reasons or decision.verdict is not Verdict.STOPPED:
            self._stopping[agent] = reasons

    def _dimension(self, index: int) -> str:
        return self._dimensions[index] if index < len(self._dimensions) else str(index)


def _label_text(label: EpisodeLabel) -> str:
    note = f' ({label.note})' if label.note else ''
    return f'{label.label.name.lower()} by {label.user}{note}'


def _judge(
    client: FigureGroup,
    episode_id: str,
    ending: str,
    success: bool | None,
    labels: Sequence[EpisodeLabel],
) -> None:
    """Hold what people say of an ended episode beside what the environment says."""
    decided = {m.label for m in latest(labels)} - {Label.UNCLEAR}
    client.labelled += 1
    if len(decided) == 1:
        client.success_by_labels.add(agreed(labels) is Label.SUCCESS)
    if success is None:
        return  # there is nothing to disagree with
    if decided - {Label.SUCCESS if success else Label.FAILURE}:
        client.disagreements.append(
            Disagreement(
                episode_id=episode_id,
                ending=ending,
                success=success,
                labels=tuple(map(_label_text, latest(labels))),
            )
        )
