# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env episodes``."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from pathlib import Path
import re
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import Command, complain, DONE, print_json
from boundary_env_ros.errors import RecordError

if TYPE_CHECKING:
    from boundary_env_ros.storage.episode_search import FoundEpisode

_NANOSECONDS = 1_000_000_000
_AGO = re.compile(r'(\d+)([smhdw])')
_UNITS = {'s': 'seconds', 'm': 'minutes', 'h': 'hours', 'd': 'days', 'w': 'weeks'}


def since(text: str) -> int:
    """Return the system time, nanoseconds, that a date or a time ago is."""
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            moment = datetime.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            moment = datetime.fromisoformat(text)
        return int(moment.timestamp() * _NANOSECONDS)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f'expected a date, a date with a time, or how long ago (30m, 2h, 3d), got {text!r}'
        ) from None


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'paths', type=Path, nargs='+', metavar='RUN', help='run folder, or folder of run folders'
    )
    parser.add_argument(
        '--show',
        metavar='ID',
        help='show one episode whole, by the first digits of its id, or the last one (`last`)',
    )
    parser.add_argument(
        '--json', action='store_true', help='print as JSON, with all that is known'
    )
    which = parser.add_argument_group('which episodes')
    which.add_argument(
        '--cause', action='append', default=[], metavar='NAME', help='ended by it; repeatable'
    )
    done = which.add_mutually_exclusive_group()
    done.add_argument('--done', action='store_const', const=True, help='have ended')
    done.add_argument(
        '--running', action='store_const', const=False, dest='done', help='have not ended'
    )
    success = which.add_mutually_exclusive_group()
    success.add_argument(
        '--success',
        action='store_const',
        const=True,
        help='ended in success, the environment says',
    )
    success.add_argument(
        '--failure',
        action='store_const',
        const=False,
        dest='success',
        help='ended in anything else; a truncation counts',
    )
    which.add_argument('--marked', action='store_true', help='people have marked')
    which.add_argument('--environment', default='', metavar='NAME', help='of this contract')
    which.add_argument('--agent', default='', metavar='NAME', help='of this agent')
    which.add_argument('--client', default='', metavar='NAME', help='of this policy')
    which.add_argument(
        '--since',
        type=since,
        metavar='WHEN',
        help='begun since: 2026-11-22, 2026-11-22T14:30, or 30m, 2h, 3d ago',
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.cli import episode_text
    from boundary_env_ros.storage.episode_search import EpisodeFilter, named

    wanted = EpisodeFilter(
        causes=tuple(options.cause),
        done=options.done,
        success=options.success,
        environment=options.environment,
        agent=options.agent,
        client=options.client,
        since=options.since,
        marked=options.marked,
    )
    episodes = [found for found in _all(options.paths) if wanted.takes(found.row)]
    if options.show is not None:
        shown = named(episodes, options.show)
        if options.json:
            print_json([episode_text.plain(found) for found in shown])
        else:
            print('\n\n'.join(map(episode_text.whole, shown)))
    elif options.json:
        print_json([episode_text.plain(found) for found in episodes])
    else:
        print(episode_text.table(episodes))
    return DONE


def _all(paths: list[Path]) -> list[FoundEpisode]:
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


COMMAND = Command(
    name='episodes',
    summary='list, filter and show the episodes of runs',
    text="""\
List the episodes of one run or of many, while they are recorded or afterwards.

Reads the index that the recorder keeps (episodes.sqlite); no bag is opened, and no ROS is needed.
What the environment says of an episode and what people say of it (boundary-env mark) stand in
columns of their own.

  boundary-env episodes runs/demo-20261122-024000
  boundary-env episodes runs/ --failure --since 2d
  boundary-env episodes runs/ --cause safety_stop --json
  boundary-env episodes runs/demo-20261122-024000 --show 3f2a""",
    exit_codes="""\
  0  done, also if no episode is like that
  2  wrong arguments, no index, or no such episode to show""",
    arguments=_arguments,
    run=_run,
)
