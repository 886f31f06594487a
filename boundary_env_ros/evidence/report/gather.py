# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The facts of a report, gathered from a record in memory that does not grow with it.

The record is read twice, once for the figures and once for what the first reading chose, and the
camera topics of its bag a third time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.timebase import Clock, NANOSECONDS, Stamp
from boundary_env_ros.evidence.episodes import Episodes, Key
from boundary_env_ros.evidence.report.anomalies import over_time
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.report.facts import MOMENTS, PageLimits, Report, ReportRow
from boundary_env_ros.evidence.report.frames import choose, Frame, frames_of, pillow_is_there
from boundary_env_ros.evidence.report.labels import Labels
from boundary_env_ros.evidence.report.suspicion import Moment, Suspects
from boundary_env_ros.evidence.report.timeline import Timeline, TimelinePicture
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.evidence.summary.summary import Summariser


def gather(
    path: Path, limits: PageLimits | None = None, progress: Progress | None = None
) -> Report:
    """
    Gather what a page shows of a run.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` file.
    limits
        How much of it is shown.
    progress
        Called with the number of records that were read, and of how many, in each of the two
        readings.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    limits = limits or PageLimits()
    run = Run(path, progress)
    terms = run.terms()
    contract = terms.contract
    summariser, suspects = Summariser(contract), Suspects(contract)
    known: dict[Key, ReportRow] = {}
    begun = ''
    steps = run.episodes()
    for step in steps:
        summariser.add(step)
        row = known.setdefault(step.episode.key, ReportRow(episode=step.episode))
        row.episode = step.episode
        row.suspicion = max(row.suspicion, suspects.add(step.transition))
        if step.episode.number == 1 and not begun:
            begun = _begun(step.transition.closed.ros)
    summary = summariser.summary(steps.labels)
    for key, row in known.items():
        status, ending = row.episode.status, row.episode.ending
        row.message = over_time(ending, contract) or ('' if status is None else status.message)
        for label in steps.labels.get(key, ()):
            note = f': {label.note}' if label.note else ''
            row.labels.append(f'{label.label.name.lower()} by {label.user}{note}')
    for group in summary.groups:
        for one in group.disagreements:
            row = next(row for key, row in known.items() if key[1] == one.episode_id)
            why = f'ended: {one.ending}; people say: {"; ".join(one.labels)}'
            suspects.disagreement(*row.episode.key, row.episode.last_step, why)
    moments = suspects.foremost(MOMENTS)
    rows = tuple(sorted(known.values(), key=lambda row: row.episode.number))
    for row in _drawn(rows, moments, limits.episodes):
        row.drawn = True
    notes = [*_trouble(run, terms.problem), *_left_out(rows, limits)]
    details: dict[int, dict[str, Json]] = {}
    pictures: dict[int, list[TimelinePicture]] = {}
    for row, timeline in _timelines(run.episodes(contract), known, contract, limits.columns):
        for label in steps.labels.get(row.episode.key, ()):
            timeline.event(label.id.step, 'label', f'{label.label.name.lower()} by {label.user}')
        details[row.episode.number] = timeline.to_json()
        pictures[row.episode.number] = sorted(timeline.pictures, key=lambda picture: picture.step)
    frames = _frames(run, contract, pictures, _steps(moments, known), limits, notes)
    return Report(
        name=path.resolve().name,
        path=str(path),
        begun=begun,
        summary=summary,
        moments=moments,
        rows=rows,
        details=details,
        frames=frames,
        notes=tuple(notes),
    )


def _begun(stamp: Stamp) -> str:
    """Return when the first step was closed; empty under simulated time."""
    if stamp.clock is not Clock.SYSTEM:
        return ''
    moment = datetime.fromtimestamp(stamp.nanoseconds / NANOSECONDS, timezone.utc)
    return moment.isoformat(sep=' ', timespec='seconds')


def _timelines(
    steps: Episodes,
    rows: Mapping[Key, ReportRow],
    contract: Contract | None,
    columns: int,
) -> Iterator[tuple[ReportRow, Timeline]]:
    """Read the record again, and yield each drawn episode with its time line when it is over."""
    labels = Labels(contract)
    running: dict[Key, Timeline] = {}
    for step in steps:
        key = step.episode.key
        row = rows[key]
        if not row.drawn:
            continue
        if key not in running:
            running[key] = Timeline(row.episode.records, columns, labels, row.message)
        running[key].add(step)
        if step.last:
            yield row, running.pop(key)


def _drawn(
    rows: tuple[ReportRow, ...], moments: Iterable[Moment], count: int
) -> tuple[ReportRow, ...]:
    """Return the episodes to draw: those of the moments, then the most suspicious ones."""
    keys = [(moment.agent, moment.episode_id) for moment in moments]

    def rank(row: ReportRow) -> tuple[bool, float]:
        return (row.episode.key not in keys, -row.suspicion)

    return tuple(sorted(rows, key=rank)[:count])


def _steps(moments: Iterable[Moment], rows: dict[Key, ReportRow]) -> dict[int, list[int]]:
    steps: dict[int, list[int]] = {}
    for moment in moments:
        row = rows[moment.agent, moment.episode_id]
        steps.setdefault(row.episode.number, []).append(moment.step)
    return steps


def _frames(
    run: Run,
    contract: Contract | None,
    pictures: dict[int, list[TimelinePicture]],
    steps: dict[int, list[int]],
    limits: PageLimits,
    notes: list[str],
) -> dict[int, list[Frame]]:
    """Return the camera images that the page shows, and note those that it does not."""
    there = sum(map(len, pictures.values()))
    if not there or not limits.frames:
        return {}
    if contract is None:
        notes.append('No camera images: the contract is not known.')
        return {}
    if not pillow_is_there():
        notes.append('No camera images: Pillow is not installed (pip install Pillow).')
        return {}
    wanted = choose(pictures, steps, limits.frames)
    fields = {spec.name: spec for spec in contract.fields}
    found, lost = frames_of(wanted, fields, run.source)
    if not found:
        notes.append('No camera images: the record holds only references to them; a bag has them.')
        return {}
    if len(wanted) < there:
        notes.append(
            f'{len(wanted)} of {there} camera images of the drawn episodes were chosen, those of '
            'the suspicious moments first, the others evenly.'
        )
    notes.extend(f'{count} camera images are not shown: {why}.' for why, count in lost.items())
    return found


# What is to be known about the page --------------------------------------------------------------


def _trouble(run: Run, problem: str) -> Iterator[str]:
    if problem:
        yield f'The contract in the record cannot be used: {problem}'
    if run.source.tear:
        yield f'The record is torn: {run.source.tear}.'
    if run.not_read:
        yield f'{run.not_read} records cannot be read: {"; ".join(run.unreadable)}'
    yield from run.source.unlike.sentences()


def _left_out(rows: tuple[ReportRow, ...], limits: PageLimits) -> Iterator[str]:
    drawn = sum(row.drawn for row in rows)
    if drawn < len(rows):
        yield (
            f'{drawn} of {len(rows)} episodes are drawn, the most suspicious; all are listed and '
            'counted.'
        )
    long = sum(row.drawn and row.episode.records > limits.columns for row in rows)
    if long:
        yield (
            f'{long} episodes have more than {limits.columns} steps: some share a column, of '
            'which least and greatest value are drawn.'
        )
