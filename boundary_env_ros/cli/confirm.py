# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env confirm``."""

from __future__ import annotations

import argparse

from boundary_env_ros.cli.command import Command, count
from boundary_env_ros.cli.demo import ros_command
from boundary_env_ros.errors import BoundaryError


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--who', required=True, metavar='NAME', help='who answers; it stands in the record'
    )
    parser.add_argument(
        '--yes',
        action='store_true',
        help='ask nobody: whatever a reset asks for is done already (for scripts)',
    )
    parser.add_argument(
        '--mark',
        action='store_true',
        help='ask after each episode what you make of it, too; the recorder keeps it',
    )
    parser.add_argument('--namespace', default='', metavar='NS', help='namespace of the nodes')
    parser.add_argument(
        '--domain-id',
        type=count,
        metavar='N',
        help='ROS domain (default: that of ROS_DOMAIN_ID)',
    )


def _run(options: argparse.Namespace) -> int:
    who = options.who.strip()
    if not who:
        raise BoundaryError(
            '--who is empty (expected the name of the person who answers). Name yourself.'
        )
    return ros_command('confirm')(
        who=who,
        yes=options.yes,
        mark=options.mark,
        namespace=options.namespace,
        domain_id=options.domain_id,
        say=_say,
    )


def _say(line: str) -> None:
    print(line, flush=True)


COMMAND = Command(
    name='confirm',
    summary='confirm reset steps at the terminal',
    text="""\
Sit at the robot and confirm what its resets ask for: `confirm` steps of the contract.

Shows what is asked for and how long it is waited for, and takes y, or n and why. Only what is
typed after the question is an answer. When the time is over the episode ends as reset_failed, and
the next question is waited for. With --mark it asks after each episode for your verdict as well,
which is kept beside that of the environment (doc/people.md). Ctrl-C ends it.

  boundary-env confirm --who ada
  boundary-env confirm --who ada --mark
  boundary-env confirm --who night-run --yes""",
    exit_codes="""\
  0  ended by Ctrl-C
  2  wrong arguments, no ROS, no terminal, or no boundary to attend""",
    arguments=_arguments,
    run=_run,
)
