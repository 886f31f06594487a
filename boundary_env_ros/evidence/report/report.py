# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The facts of a report as values, and as plain data for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from boundary_env_ros.evidence.episodes import Episode
from boundary_env_ros.evidence.plain import fields_of, plain
from boundary_env_ros.evidence.report.anomalies import Anomaly, KINDS
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.frames import Frame, FrameBudget
from boundary_env_ros.evidence.report.suspicion import Moment
from boundary_env_ros.evidence.summary.figures import Summary

#: Version of the plain data.
FORMAT = 1

#: Moments that are told.
MOMENTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    How much of a run a page shows.

    Attributes
    ----------
    episodes
        Episodes that are drawn, the most suspicious first; all are listed.
    columns
        Columns of one episode; steps share one if there are more.
    frames
        Camera images.

    """

    episodes: int = 100
    columns: int = 800
    frames: FrameBudget = FrameBudget()


@dataclass(slots=True, kw_only=True)
class EpisodeRow:
    """
    One episode in the list.

    Attributes
    ----------
    episode
        The episode; its number is what ``boundary-env inspect --episode`` takes.
    seconds
        From the first to the last of its transitions.
    suspicion
        Greatest weight of an anomaly in one of its steps.
    message
        Why it ended, besides the name of its ending.
    labels
        What people say.
    drawn
        Whether the page draws it.

    """

    episode: Episode
    seconds: float = 0.0
    suspicion: float = 0.0
    message: str = ''
    labels: list[str] = field(default_factory=list)
    drawn: bool = False

    def to_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {**self.episode.to_json(), **fields_of(self, without=('episode',))}


@dataclass(slots=True, kw_only=True)
class Report:
    """
    What a page tells.

    Attributes
    ----------
    name, path
        Name of the run, and how it was named.
    begun
        When the first step was closed, ISO 8601; empty under simulated time.
    period
        As in the contract; None if it is not known.
    summary
        The figures.
    moments
        The most suspicious, the first first.
    rows
        All episodes.
    details
        The drawn episodes by number; see :class:`~.timeline.Timeline`.
    frames
        Their camera images.
    notes
        What is not as it should be with the record, and what the page leaves out.

    """

    name: str
    path: str
    begun: str
    period: float | None
    summary: Summary
    moments: tuple[Moment, ...]
    rows: tuple[EpisodeRow, ...]
    details: Mapping[int, Mapping[str, Json]]
    frames: Mapping[int, list[Frame]]
    notes: tuple[str, ...]

    def number_of(self, moment: Moment) -> int:
        """Return the number of the episode that a moment lies in; 0 if it is not listed."""
        key = (moment.agent, moment.episode_id)
        return next((r.episode.number for r in self.rows if r.episode.key == key), 0)

    def to_json(self) -> dict[str, Json]:
        """Return all facts as plain data; ``doc/report.md`` explains them."""
        return {
            'format': FORMAT,
            'run': self.name,
            'begun': self.begun,
            'period': self.period,
            'notes': list(self.notes),
            'summary': self.summary.to_json(),
            'moments': [
                {
                    'episode': self.number_of(moment),
                    **fields_of(moment, without=('anomaly', 'also')),
                    'score': round(moment.score, 1),
                    **_anomaly(moment.anomaly),
                    'also': [_anomaly(anomaly) for anomaly in moment.also],
                }
                for moment in self.moments
            ],
            'episodes': [
                {
                    **row.to_json(),
                    'timeline': self.details.get(row.episode.number),
                    'frames': plain(self.frames.get(row.episode.number, ())),
                }
                for row in self.rows
            ],
        }


def _anomaly(anomaly: Anomaly) -> dict[str, Json]:
    return {'kind': anomaly.kind, 'meaning': KINDS[anomaly.kind].sentence, 'why': anomaly.why}
