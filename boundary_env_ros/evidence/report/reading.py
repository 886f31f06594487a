# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first reading of a record: figures, list of episodes and suspicious moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode_label import EpisodeLabel
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.evidence.episodes import Episode, Key, Step
from boundary_env_ros.evidence.report.anomalies import over_time
from boundary_env_ros.evidence.report.report import EpisodeRow, MOMENTS
from boundary_env_ros.evidence.report.suspicion import Moment, Suspects
from boundary_env_ros.evidence.summary.figures import Summary
from boundary_env_ros.evidence.summary.summary import Summariser


class Reading:
    """
    Looks at each step of a record.

    Parameters
    ----------
    contract
        None if it is not known.

    Attributes
    ----------
    rows
        The episodes, in the order in which they begin.
    begun
        When the first step was closed; empty if that is not known.
    summary
        The figures; complete after :meth:`finish`.

    """

    def __init__(self, contract: Contract | None) -> None:
        self.rows: dict[Key, EpisodeRow] = {}
        self.begun = ''
        self.summary: Summary
        self._contract = contract
        self._summariser = Summariser(contract)
        self._suspects = Suspects(contract)
        self._suspicion: dict[Key, float] = {}

    def add(self, step: Step) -> None:
        """Take the next step."""
        self._summariser.add(step)
        now, episode = step.transition, step.episode
        if now is episode.first and episode.number == 1 and now.closed.ros.clock is Clock.SYSTEM:
            moment = datetime.fromtimestamp(now.closed.ros.nanoseconds / NANOSECONDS, timezone.utc)
            self.begun = moment.isoformat(sep=' ', timespec='seconds')
        before = self._suspicion.get(episode.key, 0.0)
        self._suspicion[episode.key] = max(before, self._suspects.add(now))
        if step.last:
            self.rows[episode.key] = self._row(episode)

    def finish(self, labels: Mapping[Key, Sequence[EpisodeLabel]]) -> tuple[Moment, ...]:
        """Take what people said of the episodes, and return the moments to look at first."""
        self.rows = dict(sorted(self.rows.items(), key=lambda item: item[1].episode.number))
        for key, row in self.rows.items():
            for label in labels.get(key, ()):
                text = f'{label.label.name.lower()} by {label.user}'
                row.labels.append(text + (f': {label.note}' if label.note else ''))
        self.summary = self._summariser.summary(labels)
        for client in self.summary.groups:
            for one in client.disagreements:
                key = next(key for key in self.rows if key[1] == one.episode_id)
                why = f'ended: {one.ending}; people say: {"; ".join(one.labels)}'
                self._suspects.disagreement(*key, self.rows[key].episode.last_step, why)
        return self._suspects.foremost(MOMENTS)

    def _row(self, episode: Episode) -> EpisodeRow:
        announced = '' if episode.status is None else episode.status.message
        return EpisodeRow(
            episode=episode,
            suspicion=self._suspicion.pop(episode.key),
            message=over_time(episode.ending, self._contract) or announced,
        )
