# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first reading of a record: figures, list of episodes, ways and suspicious moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode_label import EpisodeLabel
from boundary_env_ros.core.environment.observation import FieldStatus
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.core.gate.rules.agent_order import intervenes
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.episodes import Episode, Key, Step
from boundary_env_ros.evidence.report.anomalies import over_time
from boundary_env_ros.evidence.report.places import Places, point_in
from boundary_env_ros.evidence.report.report import EpisodeRow, MOMENTS, Way
from boundary_env_ros.evidence.report.suspicion import Moment, Suspects
from boundary_env_ros.evidence.summary.figures import Summary
from boundary_env_ros.evidence.summary.summary import Summariser

#: Episodes whose way is drawn; those after them are only counted.
WAYS = 60


class Reading:
    """
    Looks at each step of a record.

    Parameters
    ----------
    contract
        None if it is not known.
    places
        Fields that are places in the plane.

    Attributes
    ----------
    rows
        The episodes, in the order in which they begin.
    ways
        The ways of the first of them.
    begun
        When the first step was closed; empty if that is not known.
    summary
        The figures; complete after :meth:`finish`.

    """

    def __init__(self, contract: Contract | None, places: Places) -> None:
        self.rows: dict[Key, EpisodeRow] = {}
        self.ways: dict[int, Way] = {}
        self.begun = ''
        self.summary: Summary
        self._contract, self._places = contract, places
        self._summariser = Summariser(contract)
        self._suspects = Suspects(contract)

    def add(self, step: Step) -> None:
        """Take the next step."""
        self._summariser.add(step)
        now, episode = step.transition, step.episode
        row = self.rows.get(episode.key)
        if row is None:
            row = self._begin(episode)
        row.records += 1
        row.last_step = max(row.last_step, now.id.step)
        row.seconds = self._seconds(now, row, episode)
        row.overruns += now.overrun
        row.stopped += any(d.verdict is Verdict.STOPPED for d in now.decisions)
        row.intervened += any(map(intervenes, now.decisions))
        row.stale += any(f.status is not FieldStatus.FRESH for f in now.after)
        row.suspicion = max(row.suspicion, self._suspects.add(now))
        if episode.number <= WAYS:
            self._go(self.ways.setdefault(episode.number, Way(number=episode.number)), step)
        if step.last:
            self._end(row, episode)

    def finish(self, labels: Mapping[Key, Sequence[EpisodeLabel]]) -> tuple[Moment, ...]:
        """Take what people said of the episodes, and return the moments to look at first."""
        for key, row in self.rows.items():
            for label in labels.get(key, ()):
                text = f'{label.label.name.lower()} by {label.user}'
                row.labels.append(text + (f': {label.note}' if label.note else ''))
        self.summary = self._summariser.summary(labels)
        by_id = {row.episode_id: row for row in self.rows.values()}
        for client in self.summary.groups:
            for one in client.disagreements:
                row = by_id[one.episode_id]
                why = f'ended: {one.ending}; people say: {"; ".join(one.labels)}'
                self._suspects.disagreement(row.agent, row.episode_id, row.last_step, why)
        return self._suspects.foremost(MOMENTS)

    def _begin(self, episode: Episode) -> EpisodeRow:
        first = episode.first
        if not self.rows:
            closed = first.closed.ros
            if closed.clock is Clock.SYSTEM:
                moment = datetime.fromtimestamp(closed.nanoseconds / NANOSECONDS, timezone.utc)
                self.begun = moment.isoformat(sep=' ', timespec='seconds')
        row = self.rows[episode.key] = EpisodeRow(
            number=episode.number,
            agent=first.id.agent,
            episode_id=first.id.episode_id,
            seed=first.seed,
        )
        return row

    def _end(self, row: EpisodeRow, episode: Episode) -> None:
        row.client, row.steps, row.total = episode.client, episode.steps, episode.total
        row.ending, row.how, row.declared_by = episode.ending, episode.how, episode.declared_by
        announced = '' if episode.status is None else episode.status.message
        row.message = over_time(episode.ending, self._contract) or announced
        if row.number in self.ways:
            self.ways[row.number].ending = episode.ending

    def _seconds(self, now: Transition, row: EpisodeRow, episode: Episode) -> float:
        if now.closed.ros.clock is Clock.ROS and self._contract is not None:
            return round(row.last_step * self._contract.period, 3)
        return round((now.closed.steady - episode.first.closed.steady) / NANOSECONDS, 3)

    def _go(self, way: Way, step: Step) -> None:
        after, truth = step.transition.after, step.truth.fields if step.truth else ()
        where, seen = point_in(after, self._places.position), point_in(truth, self._places.truth)
        way.observed += [] if where is None else [where]
        way.truth += [] if seen is None else [seen]
        way.goal = way.goal or point_in(after, self._places.goal)
