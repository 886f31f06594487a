# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Episodes of the index as text: a table, and plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from boundary_env_ros.core.records.endings import NO_TASK
from boundary_env_ros.core.records.episode import agreed, Label, latest
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.errors import ContractError
from boundary_env_ros.evidence.episodes import without_process
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_search import FoundEpisode, SHORT
from boundary_env_ros.storage.episode_store import EpisodeRow
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.terminal import one_line
from boundary_env_ros.terminal import table as aligned

_NANOSECONDS = 1_000_000_000

_Cell = Callable[[FoundEpisode], str]


def table(episodes: Sequence[FoundEpisode]) -> str:
    """Return a table, one line for each; columns that tell nothing apart are left out."""
    if not episodes:
        return 'No such episode.'
    columns = list(_columns(episodes))
    rows = [[name for name, _, _ in columns]]
    rows += [[one_line(cell(found)) for _, cell, _ in columns] for found in episodes]
    rows.insert(1, ['─' * max(map(len, column)) for column in zip(*rows, strict=True)])
    right = [i for i, (_, _, is_number) in enumerate(columns) if is_number]
    return '\n'.join([*aligned(rows, right=right), '', *_counts(episodes)])


def _columns(episodes: Sequence[FoundEpisode]) -> Iterator[tuple[str, _Cell, bool]]:
    """Yield name, content and whether it is a number, of each column."""
    rows = [found.row for found in episodes]
    yield 'EPISODE', lambda f: f.row.episode_id[:SHORT], False
    if len({found.run for found in episodes}) > 1:
        yield 'RUN', lambda f: f.run.name, False
    if len({row.environment for row in rows}) > 1:
        yield 'ENVIRONMENT', lambda f: f.row.environment, False
    if len({row.agent for row in rows}) > 1:
        yield 'AGENT', lambda f: f.row.agent, False
    yield 'BEGUN', lambda f: _time(f.row.created_at), False
    if any(row.state.client for row in rows):
        yield 'CLIENT', lambda f: f.row.state.client or '-', False
    yield 'STEPS', lambda f: str(f.row.step_count), True
    yield 'RETURN', lambda f: _return(f.row), True
    yield 'STATE', lambda f: _state(f.row), False
    yield 'ENDING', lambda f: f.row.ending or '-', False
    if any(row.interventions for row in rows):
        yield 'BY HAND', lambda f: str(f.row.interventions or '-'), True
    if any(row.labels for row in rows):
        yield 'LABEL', lambda f: _labelled(f.row), False


def _counts(episodes: Sequence[FoundEpisode]) -> Iterator[str]:
    """Yield the lines under the table: what another policy or contract did is never one figure."""
    groups: dict[tuple[str, ...], list[FoundEpisode]] = {}
    for found in episodes:
        row = found.row
        pacing = row.state.pacing.name.lower()
        origin = (row.environment, row.digest, pacing, row.software_version)
        groups.setdefault((without_process(row.state.client) or '-', *origin), []).append(found)
    contracts = {key[1:] for key in groups}
    for (client, environment, digest, pacing, software), members in groups.items():
        short = digest[: len('sha256:') + SHORT]
        made = f' on {environment} {short}, {pacing}, software {software or "unknown"}'
        of = made if len(contracts) > 1 else ''
        yield one_line((f'{client}{of}: ' if len(groups) > 1 else '') + _count(members))


def _count(episodes: Sequence[FoundEpisode]) -> str:
    """Return success both ways, as everywhere."""
    ended = [found.row for found in episodes if found.row.done]
    success = sum(1 for row in ended if row.success)
    truncated = sum(1 for row in ended if row.ending_kind == 'TRUNCATED')
    parts = [f'{len(episodes)} episode{"s" if len(episodes) != 1 else ""}']
    if len(ended) < len(episodes):
        parts.append(f'{len(episodes) - len(ended)} without an ending')
    if ended and not _has_task(episodes[0]):
        parts.append(NO_TASK)
    elif ended:
        parts.append(f'success {success} of {len(ended)} ended')
    if truncated and NO_TASK not in parts:
        parts.append(f'{success} of {len(ended) - truncated} without the {truncated} truncated')
    return ', '.join(parts) + '.'


def _has_task(found: FoundEpisode) -> bool:
    """Return whether its contract has a task, as far as the run has its contract."""
    try:
        return bool(load(RunFolder(found.run).contract).contract.task.name)
    except ContractError:
        return True


def plain(found: FoundEpisode) -> dict[str, object]:
    """Return one episode as plain data; times are nanoseconds of system time."""
    row = found.row
    verdict = agreed(row.labels)
    return {
        'run': str(found.run),
        'episode_id': row.episode_id,
        'agent': row.agent,
        'environment': row.environment,
        'digest': row.digest,
        'client': row.state.client,
        'seed': row.seed,
        'created_at': row.created_at,
        'updated_at': row.updated_at,
        'done': row.done,
        'ending_kind': row.ending_kind,
        'ending': row.ending,
        'declared_by': row.declared_by,
        'success': row.success,
        'step_count': row.step_count,
        'return': row.episode_return,
        'interventions': row.interventions,
        'state': to_json(row.state),
        'label': verdict.name if verdict else None,
        'labels': [to_json(label) for label in row.labels],
    }


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / _NANOSECONDS).isoformat(
        sep=' ', timespec='seconds'
    )


def _return(row: EpisodeRow) -> str:
    return 'unknown' if row.episode_return is None else f'{row.episode_return:+.2f}'


def _state(row: EpisodeRow) -> str:
    return (row.ending_kind or row.state.state.name).lower()


def _labelled(row: EpisodeRow) -> str:
    """Return what people agree on, and (!) if it is not what the environment says."""
    verdict, labels = agreed(row.labels), latest(row.labels)
    if verdict is None:
        return '-'
    if verdict is Label.UNCLEAR:
        return ', '.join(f'{label.label.name.lower()} by {label.user}' for label in labels)
    people = ', '.join(label.user for label in labels if label.label is verdict)
    against = row.success is not None and row.success is not (verdict is Label.SUCCESS)
    return f'{verdict.name.lower()}{" (!)" if against else ""} by {people}'
