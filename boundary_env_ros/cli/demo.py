# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env demo``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from boundary_env_ros.cli.command import Command, count
from boundary_env_ros.errors import BoundaryError, INSTALL_ROS, MissingDependency

#: Commands that need ROS are reached by entry point, so that this module runs without.
_GROUP = 'boundary_env_ros.commands'


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--run',
        type=Path,
        metavar='FOLDER',
        help='where to leave the record; must not exist (default: runs/demo-DATE-TIME)',
    )
    parser.add_argument(
        '--episodes',
        type=count,
        default=5,
        metavar='N',
        help='episodes of the scripted policy (default: %(default)s)',
    )
    parser.add_argument(
        '--baseline',
        type=count,
        default=1,
        metavar='N',
        help='episodes of a policy that asks for too much, and of one that does nothing '
        '(default: %(default)s)',
    )
    parser.add_argument(
        '--pacing',
        choices=('realtime', 'lockstep'),
        default='realtime',
        help='whether the world waits for the policy (default: %(default)s)',
    )
    parser.add_argument(
        '--seed',
        type=count,
        default=1,
        metavar='N',
        help='seed of the first episode; the others follow (default: %(default)s)',
    )
    parser.add_argument(
        '--domain-id',
        type=count,
        metavar='N',
        help='ROS domain (default: one that nobody uses)',
    )


def _run(options: argparse.Namespace) -> int:
    demo = ros_command('demo')
    return demo(
        run=options.run,
        episodes=options.episodes,
        baseline=options.baseline,
        pacing=options.pacing,
        seed=options.seed,
        domain_id=options.domain_id,
    )


def ros_command(name: str) -> Callable[..., int]:
    """
    Return a command that needs ROS.

    Raises
    ------
    MissingDependency
        If there is no ROS.

    """
    for entry in entry_points(group=_GROUP, name=name):
        try:
            command: Callable[..., int] = entry.load()
        except MissingDependency:
            raise
        except ImportError as error:
            raise MissingDependency(
                f'`boundary-env {name}` needs ROS 2: {error}. {INSTALL_ROS}.'
            ) from error
        return command
    raise BoundaryError(
        f'The command {name!r} is not installed: it has no entry point. Reinstall the package.'
    )


COMMAND = Command(
    name='demo',
    summary='drive a simulated cart through the whole boundary',
    text="""\
Drive a simulated warehouse cart through the whole boundary, on real ROS 2.

Starts environment, safety gate, recorder and simulated robot as processes of their own, on a ROS
domain that nobody else uses, and lets a scripted policy drive: to a goal, at a rack, and to a goal
that is too far; then one that asks for more than the contract allows, and one that does nothing.
It says whether each episode ended as it was to, and leaves a folder with everything that happened:
bag, contract, index of episodes, summary and page. Ctrl-C ends it in order at any moment.

  boundary-env demo --episodes 3 --pacing lockstep""",
    exit_codes="""\
  0  done
  1  something did not work; the last lines say what
  2  wrong arguments, or ROS is missing""",
    arguments=_arguments,
    run=_run,
)
