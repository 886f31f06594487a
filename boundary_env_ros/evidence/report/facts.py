# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The facts of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from boundary_env_ros.evidence.episodes import Episode
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.frames import Frame
from boundary_env_ros.evidence.report.suspicion import Moment
from boundary_env_ros.evidence.summary.figures import Summary
from boundary_env_ros.frozen import frozen

#: Moments that are shown.
MOMENTS = 5


@frozen
class PageLimits:
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
    frames: int = 400


@dataclass(slots=True, kw_only=True)
class ReportRow:
    """
    One episode in the list.

    Attributes
    ----------
    episode
        The episode; its number is what ``boundary-env inspect --episode`` takes.
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
    suspicion: float = 0.0
    message: str = ''
    labels: list[str] = field(default_factory=list)
    drawn: bool = False


@dataclass(slots=True, kw_only=True)
class Report:
    """
    What a page shows.

    Attributes
    ----------
    name, path
        Name of the run, and how it was named.
    begun
        When the first step was closed, ISO 8601; empty under simulated time.
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
    summary: Summary
    moments: tuple[Moment, ...]
    rows: tuple[ReportRow, ...]
    details: Mapping[int, Mapping[str, Json]]
    frames: Mapping[int, list[Frame]]
    notes: tuple[str, ...]

    def number_of(self, moment: Moment) -> int:
        """Return the number of the episode that a moment lies in; 0 if it is not listed."""
        key = (moment.agent, moment.episode_id)
        return next((r.episode.number for r in self.rows if r.episode.key == key), 0)
