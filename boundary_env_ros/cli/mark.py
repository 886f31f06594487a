# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env mark``."""

from __future__ import annotations

import argparse
from pathlib import Path
import socket
import time

from boundary_env_ros.cli.command import Command, DONE
from boundary_env_ros.errors import BoundaryError, RecordError

VERDICTS = ('success', 'failure', 'unclear')


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', type=Path, metavar='RUN', help='run folder')
    parser.add_argument(
        'episode',
        metavar='EPISODE',
        help='the first digits of its id, as many as tell it from the others; or `last`',
    )
    parser.add_argument('verdict', choices=VERDICTS, help='what you make of it')
    parser.add_argument('--who', required=True, metavar='NAME', help='who says so')
    parser.add_argument('--note', default='', metavar='TEXT', help='why, or anything else')
    parser.add_argument(
        '--agent',
        default='',
        metavar='NAME',
        help='for this one alone of several agents that share the episode',
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.core.environment.episode_label import EpisodeMark, MarkVerdict
    from boundary_env_ros.core.gate.decision import StepId
    from boundary_env_ros.core.timebase import Clock, Instant, Stamp
    from boundary_env_ros.storage.episode_search import episodes_in, indexes_at, named, SHORT
    from boundary_env_ros.storage.episode_store import EpisodeStore

    if not options.who.strip():
        raise BoundaryError(
            '--who is empty (expected the name of the person who labels). Name yourself.'
        )
    indexes = indexes_at(options.path)
    if len(indexes) > 1:
        raise RecordError(
            f'{options.path} holds several runs (expected one, got {len(indexes)}). '
            'Name one of them.'
        )
    rows = [found.row for found in named(episodes_in(indexes[0]), options.episode, options.agent)]
    now = time.time_ns()
    stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=now, host=socket.gethostname())
    with EpisodeStore.open(indexes[0], to_mark=True) as store:
        for row in rows:
            mark = EpisodeMark(
                id=StepId(
                    digest=row.digest,
                    agent=row.agent,
                    episode_id=row.episode_id,
                    step=row.step_count,
                ),
                verdict=MarkVerdict[options.verdict.upper()],
                who=options.who.strip(),
                note=options.note,
                taken=Instant(ros=stamp, steady=time.monotonic_ns()),
            )
            store.mark(mark, now=now)
            print(
                f'{row.episode_id[:SHORT]} of {row.agent} ({row.cause or "no ending yet"}): '
                f'{options.verdict} by {mark.who}'
            )
    return DONE


COMMAND = Command(
    name='mark',
    summary='label an episode as success, failure or unclear',
    text="""\
Say of an episode whether you count it a success, a failure, or cannot tell.

The mark goes to the index of the run, also while it is still recorded, and needs no ROS. It
changes nothing: the verdict of the environment stands beside it in `boundary-env episodes` and
`boundary-env summary`, which show where the two differ. Several people may mark one episode; who
marks it again has thought again. At the robot, `boundary-env confirm --mark` asks after each
episode.

  boundary-env mark runs/demo-20261122-024000 3f2a failure --who ada --note 'scratched the door'
  boundary-env mark runs/demo-20261122-024000 last success --who ada""",
    exit_codes="""\
  0  done
  2  wrong arguments, no index, no such episode, or it cannot be written""",
    arguments=_arguments,
    run=_run,
)
