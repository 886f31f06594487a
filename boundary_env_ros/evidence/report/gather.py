# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The facts of a report, gathered from a record in memory that does not grow with it.

The record is read twice, once for the figures and once for what the first reading chose, and the
camera topics of its bag a third time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import StepId, Verdict
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.events import EventKind, Events
from boundary_env_ros.core.mark import EpisodeMark
from boundary_env_ros.core.observation import FieldStatus
from boundary_env_ros.core.timebase import Clock, NANOSECONDS
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    EvaluatorRecord,
    Kind,
    Transition,
)
from boundary_env_ros.evidence.figures import Summary
from boundary_env_ros.evidence.late import late_stages, Waiting
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.frames import choose, Frame, Frames, pillow_is_there
from boundary_env_ros.evidence.report.labels import Labels
from boundary_env_ros.evidence.report.report import EpisodeRow, Limits, MOMENTS, Report
from boundary_env_ros.evidence.report.suspicion import Moment, Suspects
from boundary_env_ros.evidence.report.timeline import Picture, Timeline
from boundary_env_ros.evidence.run_files import marks_in_index, read_all, Run, Unreadable
from boundary_env_ros.evidence.run_story import Places, places_of, tell
from boundary_env_ros.evidence.summary import Summariser
from boundary_env_ros.storage.reader import open_records

Key = tuple[str, str]
Told = Callable[[str], None]

#: Records between two words about the progress.
_OFTEN = 500

#: Records that cannot be read, of which the page says why.
_NAMED = 3


def gather(path: Path, limits: Limits | None = None, told: Told = lambda text: None) -> Report:
    """
    Gather what a page tells of a run.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.jsonl`` file, or folder of an exported data set.
    limits
        How much of it is shown.
    told
        Is told how far it is, now and then.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    limits = limits or Limits()
    run = Run(path)
    terms = run.terms()
    contract = terms.contract
    places = places_of(contract) if contract else Places(position='pose', goal='goal')
    first = _Reading(contract)
    marks = marks_in_index(path)
    story = tell(first.through(chain(_counted(read_all(run), 'reading', told), marks)), places)
    moments = first.finish()
    rows = tuple(first.rows.values())
    for row in _drawn(rows, moments, limits.episodes):
        row.drawn = True
    notes = [*_trouble(run, first, terms.problem), *_left_out(rows, limits)]
    second = _Drawing(first.rows, first.marks, contract, places, limits.columns)
    for record in _counted(read_all(run), 'drawing', told):
        second.add(record)
    second.finish()
    frames = _frames(run, contract, second.pictures, _steps(moments, first.rows), limits, notes)
    return Report(
        name=path.resolve().name,
        path=str(path),
        begun=first.begun,
        pacing=first.pacing,
        period=contract.period if contract else None,
        summary=first.summary,
        story=story,
        moments=moments,
        rows=rows,
        details=second.details,
        frames=frames,
        notes=tuple(notes),
    )


def _counted(records: Iterable[object], doing: str, told: Told) -> Iterator[object]:
    for number, record in enumerate(records):
        if number % _OFTEN == 0:
            told(f'{doing}: {number} records')
        yield record


# The first reading: figures and suspicion --------------------------------------------------------


class _Reading:
    def __init__(self, contract: Contract | None) -> None:
        self.rows: dict[Key, EpisodeRow] = {}
        self.begun = ''
        self.pacing = ''
        self.marks: dict[Key, list[EpisodeMark]] = {}
        self.unreadable: list[Unreadable] = []
        self.not_read = 0
        self._contract = contract
        self._summariser = Summariser(contract)
        self._suspects = Suspects(contract)
        self._began: dict[Key, int] = {}
        self.summary: Summary

    def through(self, records: Iterable[object]) -> Iterator[object]:
        """Yield the records on, having looked at each."""
        for record in records:
            self._summariser.add(record)
            if isinstance(record, Transition):
                self._step(record)
            elif isinstance(record, EpisodeStatus):
                self._status(record)
            elif isinstance(record, EpisodeMark):
                self._mark(record)
            elif isinstance(record, Unreadable):
                self.not_read += 1
                if len(self.unreadable) < _NAMED:
                    self.unreadable.append(record)
            yield record

    def finish(self) -> tuple[Moment, ...]:
        """Return the moments; the summary is complete then."""
        self.summary = self._summariser.summary()
        by_id = {row.episode_id: row for row in self.rows.values()}
        for client in self.summary.clients:
            for one in client.disagreements:
                row = by_id.get(one.episode_id)
                if row is not None:
                    why = f'ended: {one.ending}; people say: {"; ".join(one.marks)}'
                    self._suspects.disagreement(row.agent, row.episode_id, row.last_step, why)
        return self._suspects.foremost(MOMENTS)

    def _step(self, now: Transition) -> None:
        key = (now.id.agent, now.id.episode_id)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = EpisodeRow(
                number=len(self.rows) + 1,
                agent=now.id.agent,
                episode_id=now.id.episode_id,
                seed=now.seed,
            )
            self._began[key] = now.closed.steady
            self._first(now)
        for decision in now.decisions:
            if decision.request is not None and not row.client:
                row.client = decision.request.client
        row.records += 1
        row.steps += now.kind is Kind.STEP
        row.last_step = max(row.last_step, now.id.step)
        row.seconds = self._seconds(now, row, self._began[key])
        row.total += now.reward
        row.overruns += now.overrun
        row.stopped += any(d.verdict is Verdict.STOPPED for d in now.decisions)
        row.intervened += any(d.verdict is not Verdict.ADMITTED for d in now.decisions)
        row.stale += any(f.status is not FieldStatus.FRESH for f in now.after)
        if now.cause and not row.cause:
            row.cause, row.declared_by = now.cause, now.declared_by
            row.how = 'truncated' if now.truncated else 'terminated'
        row.suspicion = max(row.suspicion, self._suspects.add(now))

    def _first(self, now: Transition) -> None:
        if len(self.rows) > 1:
            return
        self.pacing = now.pacing.name.lower()
        if now.closed.ros.clock is Clock.SYSTEM:
            moment = datetime.fromtimestamp(now.closed.ros.nanoseconds / NANOSECONDS, timezone.utc)
            self.begun = moment.isoformat(sep=' ', timespec='seconds')

    def _seconds(self, now: Transition, row: EpisodeRow, began: int) -> float:
        if now.closed.ros.clock is Clock.ROS and self._contract is not None:
            return round(row.last_step * self._contract.period, 3)
        return round((now.closed.steady - began) / NANOSECONDS, 3)

    def _status(self, status: EpisodeStatus) -> None:
        row = self.rows.get((status.id.agent, status.id.episode_id))
        if row is None:
            return
        row.client = row.client or status.client
        if status.state.over:
            row.message = row.message or status.message
            if not row.cause:
                row.cause, row.declared_by = status.cause, status.declared_by
                truncated = status.state is EpisodeState.TRUNCATED
                row.how = 'truncated' if truncated else 'terminated'

    def _mark(self, mark: EpisodeMark) -> None:
        key = (mark.id.agent, mark.id.episode_id)
        row, marks = self.rows.get(key), self.marks.setdefault(key, [])
        if row is None or mark in marks:
            return
        marks.append(mark)
        text = f'{mark.verdict.name.lower()} by {mark.who}'
        text += f': {mark.note}' if mark.note else ''
        row.marks.append(text)


def _drawn(
    rows: tuple[EpisodeRow, ...], moments: Iterable[Moment], count: int
) -> tuple[EpisodeRow, ...]:
    """Return the episodes to draw: those of the moments, then the most suspicious ones."""
    keys = [(moment.agent, moment.episode_id) for moment in moments]

    def rank(row: EpisodeRow) -> tuple[bool, float]:
        return ((row.agent, row.episode_id) not in keys, -row.suspicion)

    return tuple(sorted(rows, key=rank)[:count])


def _steps(moments: Iterable[Moment], rows: dict[Key, EpisodeRow]) -> dict[int, list[int]]:
    steps: dict[int, list[int]] = {}
    for moment in moments:
        steps.setdefault(rows[moment.agent, moment.episode_id].number, []).append(moment.step)
    return steps


# The second reading: what is drawn ---------------------------------------------------------------


class _Drawing:
    def __init__(
        self,
        rows: dict[Key, EpisodeRow],
        marks: dict[Key, list[EpisodeMark]],
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
            if event.kind in (EventKind.OPERATOR, EventKind.TERMINATION):
                running[1].event(event.id.step, event.kind.name.lower(), event.reason)

    def _close(self, agent: str) -> None:
        key, timeline = self._running.pop(agent)
        row = self._rows[key]
        for mark in self._marks.get(key, ()):
            timeline.event(mark.id.step, 'mark', f'{mark.verdict.name.lower()} by {mark.who}')
        self.details[row.number] = timeline.to_json()
        self.pictures[row.number] = sorted(timeline.pictures, key=lambda picture: picture.step)


def _frames(
    run: Run,
    contract: Contract | None,
    pictures: dict[int, list[Picture]],
    steps: dict[int, list[int]],
    limits: Limits,
    notes: list[str],
) -> dict[int, list[Frame]]:
    """Return the camera images that the page shows, and note those that it does not."""
    there = sum(map(len, pictures.values()))
    if not there or not limits.frames.count:
        return {}
    if contract is None or not pillow_is_there():
        why = (
            'the contract is not known'
            if contract is None
            else "Pillow is not installed (pip install 'boundary_env_ros[images]')"
        )
        notes.append(f'No camera images: {why}.')
        return {}
    wanted = choose(pictures, steps, limits.frames)
    frames = Frames(wanted, {spec.name: spec for spec in contract.fields}, limits.frames)
    topics = frames.topics & run.topics.keys()
    if topics:
        for message in open_records(run.path).messages(topics):
            frames.take(message)
    frames.finish()
    if not frames.found:
        notes.append('No camera images: the record holds only references to them; a bag has them.')
        return {}
    if len(wanted) < there:
        notes.append(
            f'{len(wanted)} of {there} camera images of the drawn episodes were chosen, those of '
            'the suspicious moments first, the others evenly.'
        )
    notes.extend(
        f'{count} camera images are not shown: {why}.' for why, count in frames.lost.items()
    )
    return frames.found


# What is to be known about the page --------------------------------------------------------------


def _trouble(run: Run, reading: _Reading, problem: str) -> Iterator[str]:
    if problem:
        yield f'The contract in the record cannot be used: {problem}'
    if run.tear:
        yield f'The record is torn: {run.tear}.'
    if reading.not_read:
        named = '; '.join(f'{one.place}: {one.why}' for one in reading.unreadable)
        yield f'{reading.not_read} records cannot be read: {named}'


def _left_out(rows: tuple[EpisodeRow, ...], limits: Limits) -> Iterator[str]:
    drawn = sum(row.drawn for row in rows)
    if drawn < len(rows):
        yield (
            f'{drawn} of {len(rows)} episodes are drawn, the most suspicious; all are listed and '
            'counted.'
        )
    long = sum(row.drawn and row.records > limits.columns for row in rows)
    if long:
        yield (
            f'{long} episodes have more than {limits.columns} steps: some share a column, of '
            'which least and greatest value are drawn.'
        )
