# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env replay``."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from boundary_env_ros.cli.command import Command, count
from boundary_env_ros.cli.demo import ros_command
from boundary_env_ros.cli.progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'path', type=Path, metavar='BAG', help='run folder, bag, .mcap or .db3 file'
    )
    time = parser.add_argument_group('time')
    time.add_argument(
        '-r',
        '--rate',
        type=_more_than_0,
        default=1.0,
        metavar='X',
        help='seconds of the record in one second (default: %(default)s)',
    )
    time.add_argument(
        '--start',
        type=_seconds,
        default=0.0,
        metavar='S',
        help='begin so many seconds after the beginning of the record',
    )
    time.add_argument(
        '-p', '--paused', action='store_true', help='wait for /replay/resume before it begins'
    )
    topics = parser.add_argument_group('topics')
    topics.add_argument(
        '--topics', nargs='+', default=[], metavar='TOPIC', help='publish only these'
    )
    topics.add_argument(
        '--exclude', nargs='+', default=[], metavar='TOPIC', help='do not publish these'
    )
    topics.add_argument(
        '--commands',
        action='store_true',
        help='publish what can move a robot, too: the command topics of the contract and its '
        "operator's; refused beside a safety gate or another publisher of them",
    )
    topics.add_argument(
        '--contract',
        default='',
        metavar='CONTRACT',
        help='file or name of the contract that says what can move a robot (default: that of the '
        'record)',
    )
    topics.add_argument(
        '--beside',
        action='store_true',
        help='publish beside other publishers of a topic; never on /clock, nor what can move a '
        'robot',
    )
    where = parser.add_argument_group('where')
    where.add_argument(
        '--namespace', default='', metavar='NS', help='put this in front of every topic'
    )
    where.add_argument(
        '--domain-id', type=count, metavar='N', help='ROS domain (default: that of ROS_DOMAIN_ID)'
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f'expected seconds, 0 or more, got {text!r}')
    return seconds


def _more_than_0(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f'expected a number, more than 0, got {text!r}')
    return number


def _run(options: argparse.Namespace) -> int:
    replay = ros_command('replay')
    show = Progress()

    def say(text: str) -> None:
        show.done()
        print(text, flush=True)

    try:
        return replay(
            options.path,
            wish={
                'topics': options.topics,
                'exclude': options.exclude,
                'commands': options.commands,
                'namespace': options.namespace,
            },
            rate=options.rate,
            start=options.start,
            paused=options.paused,
            contract=options.contract,
            beside=options.beside,
            domain_id=options.domain_id,
            say=say,
            show=show,
        )
    finally:
        show.done()


COMMAND = Command(
    name='replay',
    summary='publish a recorded run again, with its timing',
    text="""\
Publish the recorded topics again, byte for byte, on their time line, with /clock.

Nodes with use_sim_time, RViz, Foxglove and `boundary-env audit --live --replayed` see the run as
it was. What can move a robot is not published unless --commands says so, and never beside a safety
gate or another publisher of it; nor is anything beside another /clock. What was latched before
--start is latched again. Services (std_srvs/Trigger): /replay/pause, /replay/resume, and
/replay/step, which pauses and publishes all up to the next transition. Ctrl-C ends it.

  boundary-env replay runs/demo-20261122-024000
  boundary-env replay bag/ --rate 0.5 --start 12
  ros2 service call /replay/pause std_srvs/srv/Trigger""",
    exit_codes="""\
  0  the record is over, or was stopped
  2  wrong arguments, no bag, ROS is missing, or somebody is there beside whom it cannot be""",
    arguments=_arguments,
    run=_run,
)
