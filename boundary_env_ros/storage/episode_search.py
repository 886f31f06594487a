# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Finding episodes: in one run or in many, by what is known of them, or by a part of their id."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.episode_store import EpisodeRow, EpisodeStore
from boundary_env_ros.storage.run_folder import RunFolder

#: In place of an id: the episode that was begun last.
LAST = 'last'

#: Digits of an id that are shown, and usually enough to name it.
SHORT = 8


@frozen(kw_only=False)
class FoundEpisode:
    """An episode, and the index that it stands in."""

    index: Path
    row: EpisodeRow

    @property
    def run(self) -> Path:
        """Return the folder of its run."""
        return self.index.parent


def indexes_at(path: Path) -> tuple[Path, ...]:
    """
    Return the indexes of a run folder, of a folder of runs, or the file itself.

    Raises
    ------
    RecordError
        If there is none.

    """
    if path.is_file():
        return (path,)
    own = RunFolder(path).episodes
    if own.is_file():
        return (own,)
    found = tuple(sorted(path.glob(f'*/{own.name}'))) if path.is_dir() else ()
    if not found:
        there = 'a folder without one' if path.is_dir() else 'nothing'
        raise RecordError(
            f'No run is there (expected a run with {own.name} at {path}, or a folder of such '
            f'runs, got {there}). Name the folder that the run printed.'
        )
    return found


def episodes_in(index: Path) -> tuple[FoundEpisode, ...]:
    """
    Return the episodes of one index, the oldest first.

    Raises
    ------
    RecordError
        If it cannot be read.

    """
    with EpisodeStore.open(index) as store:
        return tuple(FoundEpisode(index, row) for row in store.episodes())


def named(
    episodes: Iterable[FoundEpisode], wanted: str, agent: str = ''
) -> tuple[FoundEpisode, ...]:
    """
    Return the episode that a part of its id names, for each agent that shares it.

    Parameters
    ----------
    episodes
        Where it is looked for.
    wanted
        The first digits of its id, as many as distinguish it from the others; or ``last``.
    agent
        One agent alone; empty: all.

    Raises
    ------
    RecordError
        If it names none, or more than one.

    """
    known = tuple(episodes)
    if wanted == LAST and known:
        newest = max(known, key=lambda found: found.row.created_at)
        wanted = newest.row.episode_id
    found = tuple(
        one
        for one in known
        if one.row.episode_id.lower().startswith(wanted.lower()) and agent in ('', one.row.agent)
    )
    ids = sorted({one.row.episode_id for one in found})
    if not ids:
        raise RecordError(
            'Unknown episode (expected an episode that begins with '
            f'{wanted!r}{f" of agent {agent!r}" if agent else ""}, got none of {len(known)}). '
            '`boundary-env episodes list RUN` lists them.'
        )
    if len(ids) > 1:
        raise RecordError(
            f'Several episodes fit (expected one episode that begins with {wanted!r}, got '
            f'{len(ids)}: {", ".join(ids[:4])}{", ..." if ids[4:] else ""}). Give more of its id.'
        )
    return found
