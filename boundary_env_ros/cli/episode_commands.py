# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands ``boundary-env episodes``: list and label the episodes of runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
import socket
import time
from typing import TYPE_CHECKING

import click

from boundary_env_ros.cli.command import (
    argument,
    CommandGroup,
    complain,
    DONE,
    json_option,
    option,
    PATH,
    print_json,
    user_option,
)
from boundary_env_ros.errors import RecordError

if TYPE_CHECKING:
    from boundary_env_ros.storage.episode_search import FoundEpisode

_EPISODE = 'first digits of its id, as many as tell it from the others; or last'


@click.group(cls=CommandGroup)
def episodes() -> None:
    """
    List and label the episodes of runs.

    Reads the episode index of a run folder (episodes.sqlite), while it is recorded or afterwards.
    No bag is opened, and no ROS is needed.
    """


@episodes.command('list')
@argument(
    'paths', 'RUN...', 'run folder, or folder of run folders', nargs=-1, required=True,
    type=PATH,
)  # fmt: skip
@json_option
@option('--ending', multiple=True, metavar='NAME', help='only episodes ended by it; repeatable')
@option(
    '--success/--failure',
    default=None,
    help='only episodes ended in success, as the environment says, or in anything else (a '
    'truncation counts)',
)
def list_(
    paths: tuple[Path, ...],
    as_json: bool,
    ending: tuple[str, ...],
    success: bool | None,
) -> int:
    """
    List the episodes of runs.

    The environment's ending and people's labels stand in columns of their own; (!) marks a label
    that contradicts the environment. `boundary-env inspect RUN --episode ID` shows one of them.

      boundary-env episodes list runs/demo-20261122-024000
      boundary-env episodes list runs/ --failure
      boundary-env episodes list runs/ --json | jq '.[] | select(.client == "no_op")'

    Exit codes:
      0  done, also if no episode matches
      2  wrong arguments, or no index
    """
    from boundary_env_ros.cli import episode_text

    found = [
        one
        for one in _all(paths)
        if (not ending or one.row.ending in ending) and success in (None, one.row.success)
    ]
    if as_json:
        print_json([episode_text.plain(episode) for episode in found])
    else:
        print(episode_text.table(found))
    return DONE


def _all(paths: Iterable[Path]) -> list[FoundEpisode]:
    from boundary_env_ros.storage.episode_search import episodes_in, indexes_at

    found: list[FoundEpisode] = []
    for path in paths:
        indexes = indexes_at(path)
        for index in indexes:
            try:
                found += episodes_in(index)
            except RecordError as error:
                if len(indexes) == 1:
                    raise
                # Of many runs one that cannot be read hides no other.
                complain(error)
    return sorted(found, key=lambda one: one.row.created_at)


@episodes.command()
@argument('path', 'RUN', 'run folder', type=PATH)
@argument('episode', 'EPISODE', _EPISODE)
@argument(
    'label',
    'LABEL',
    'success, failure or unclear',
    type=click.Choice(('success', 'failure', 'unclear')),
)
@user_option
@option('--note', default='', metavar='TEXT', help='why, or anything else')
@option('--agent', default='', metavar='NAME', help='for one agent of several')
def label(path: Path, episode: str, label: str, user: str, note: str, agent: str) -> int:
    """
    Label an episode as success, failure or unclear.

    Labels go to the index of the run, also while it is recorded. The environment's ending stays as
    it is; `boundary-env episodes list` and `boundary-env report --text` show where the two differ.
    Several people may label one episode; the latest label of each person counts. At the robot,
    `boundary-env operator --label` asks after each episode.

      boundary-env episodes label runs/demo 3f2a failure --user ada --note 'scratched the door'
      boundary-env episodes label runs/demo last success --user ada

    Exit codes:
      0  done
      2  wrong arguments, no index, no such episode, or it cannot be written
    """
    from boundary_env_ros.core.records.episode import Label
    from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
    from boundary_env_ros.storage.episode_index import labels_of
    from boundary_env_ros.storage.episode_search import episodes_in, indexes_at, named, SHORT
    from boundary_env_ros.storage.episode_store import EpisodeStore

    indexes = indexes_at(path)
    if len(indexes) > 1:
        raise RecordError(
            f'{path} holds several runs (expected one, got {len(indexes)}). Name one of them.'
        )
    rows = [found.row for found in named(episodes_in(indexes[0]), episode, agent)]
    now = time.time_ns()
    stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=now, host=socket.gethostname())
    reading = ClockReading(ros=stamp, steady=time.monotonic_ns())
    with EpisodeStore.open(indexes[0], to_label=True) as store:
        for row, record in zip(
            rows, labels_of(rows, Label[label.upper()], user, note, reading), strict=True
        ):
            store.label(record, now=now)
            print(
                f'{row.episode_id[:SHORT]} of {row.agent} ({row.ending or "no ending yet"}): '
                f'{label} by {user}'
            )
    return DONE
