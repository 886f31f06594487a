# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The second reading of a record: the time lines of the episodes that are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import StepId
from boundary_env_ros.core.episode import EpisodeStatus
from boundary_env_ros.core.events import EventKind, Events
from boundary_env_ros.core.imported import imported_from
from boundary_env_ros.core.mark import EpisodeMark
from boundary_env_ros.core.transition import ActuationEvidence, EvaluatorRecord, Transition
from boundary_env_ros.evidence.late import late_stages, Waiting
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.labels import Labels
from boundary_env_ros.evidence.report.report import EpisodeRow, Key
from boundary_env_ros.evidence.report.timeline import Picture, Timeline
from boundary_env_ros.evidence.run_story import Places


class Drawing:
    """
    Draws the episodes whose rows say so.

    Parameters
    ----------
    rows, marks
        What the first reading found.
    contract
        None if it is not known.
    places
        Fields that are places in the plane.
    columns
        Most columns of an episode.

    Attributes
    ----------
    details
        Time line of each drawn episode, by its number, as plain data.
    pictures
        The camera images that its steps saw.

    """

    def __init__(
        self,
        rows: Mapping[Key, EpisodeRow],
        marks: Mapping[Key, Sequence[EpisodeMark]],
        contract: Contract | None,
        places: Places,
        columns: int,
    ) -> None:
        self.details: dict[int, dict[str, Json]] = {}
        self.pictures: dict[int, list[Picture]] = {}
        self._rows, self._marks = rows, marks
        self._contract, self._places = contract, places
        self._labels = Labels(contract)
        self._columns = columns
        self._running: dict[str, tuple[Key, Timeline]] = {}
        self._waiting: Waiting[tuple[Timeline, int]] = Waiting()
        self._truth: dict[str, EvaluatorRecord] = {}
        self._events: dict[str, Events] = {}

    def add(self, record: object) -> None:
        """Take the next record."""
        if isinstance(record, Transition):
            self._step(record)
        elif isinstance(record, EvaluatorRecord):
            self._see(record)
        elif isinstance(record, ActuationEvidence):
            found = self._waiting.take(record)
            if found is not None:
                step, (timeline, column) = found
                timeline.late(column, late_stages(step, record, self._budget))
        elif isinstance(record, EpisodeStatus):
            self._tell(self._events_of(record.id), record)

    def finish(self) -> None:
        """Close the episodes that have not ended."""
        for agent in tuple(self._running):
            self._close(agent)

    @property
    def _budget(self) -> dict[str, float]:
        return dict(self._contract.latency_budget) if self._contract else {}

    def _step(self, now: Transition) -> None:
        agent, key = now.id.agent, (now.id.agent, now.id.episode_id)
        if agent in self._running and self._running[agent][0] != key:
            self._close(agent)
        row = self._rows.get(key)
        if row is None or not row.drawn:
            return
        if agent not in self._running:
            timeline = Timeline(row.records, self._columns, self._labels, self._places)
            self._running[agent] = (key, timeline)
        timeline = self._running[agent][1]
        timeline.add(now)
        self._waiting.add(now, (timeline, timeline.column))
        if now.reset is not None:
            reset = now.reset
            within = 'within' if reset.within_tolerance else 'NOT within'
            told = f'reset with seed {reset.seed}, {within} tolerance'
            told += f', confirmed by {reset.confirmed_by}' if reset.confirmed_by else ''
            if imported_from(now):
                told = 'begun by the import; the bag has no reset'
            timeline.event(now.id.step, 'reset', told)
        early = self._truth.pop(agent, None)
        if early is not None and early.id == now.id:
            timeline.truth(early)
        self._tell(self._events_of(now.id), now)

    def _see(self, record: EvaluatorRecord) -> None:
        running = self._running.get(record.id.agent)
        timeline = running[1] if running and running[0][1] == record.id.episode_id else None
        if timeline is not None and timeline.step >= record.id.step:
            timeline.truth(record)
        else:
            # It may come just before the step that it is about.
            self._truth[record.id.agent] = record

    def _events_of(self, id_: StepId) -> Events | None:
        if self._contract is None:
            return None
        if id_.agent not in self._events:
            self._events[id_.agent] = Events(self._contract, id_.digest)
        return self._events[id_.agent]

    def _tell(self, events: Events | None, record: Transition | EpisodeStatus) -> None:
        if events is None:
            return
        found = (
            events.transition(record) if isinstance(record, Transition) else events.status(record)
        )
        for event in found:
            running = self._running.get(event.id.agent or record.id.agent)
            if running is None or running[0][1] != event.id.episode_id:
                continue
            if event.kind is EventKind.OPERATOR:
                running[1].event(event.id.step, 'operator', event.reason)
            elif event.kind is EventKind.TERMINATION:
                kind = 'truncation' if event.truncated else 'termination'
                why = self._rows[running[0]].message
                running[1].event(event.id.step, kind, event.reason + (f': {why}' if why else ''))

    def _close(self, agent: str) -> None:
        key, timeline = self._running.pop(agent)
        row = self._rows[key]
        for mark in self._marks.get(key, ()):
            timeline.event(mark.id.step, 'mark', f'{mark.verdict.name.lower()} by {mark.who}')
        self.details[row.number] = timeline.to_json()
        self.pictures[row.number] = sorted(timeline.pictures, key=lambda picture: picture.step)
