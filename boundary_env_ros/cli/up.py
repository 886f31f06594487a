# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env up``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, count
from boundary_env_ros.cli.demo import ros_command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('contract', metavar='CONTRACT', help='file, or name of a shipped contract')
    parser.add_argument(
        '--simulated', action='store_true', help='start the simulated robot of that name, too'
    )
    parser.add_argument(
        '--pacing',
        choices=('realtime', 'lockstep'),
        default='',
        help='whether the world waits for the policy (default: as in the contract)',
    )
    parser.add_argument(
        '--run',
        type=Path,
        metavar='FOLDER',
        help='where to leave the record; must not exist (default: runs/CONTRACT-DATE-TIME)',
    )
    parser.add_argument(
        '--no-record',
        action='store_true',
        help='start no recorder; only if the contract does not require one',
    )
    parser.add_argument(
        '--services', action='store_true', help='serve the conversation to any ROS client, too'
    )
    parser.add_argument('--namespace', default='', metavar='NS', help='namespace of the nodes')
    parser.add_argument(
        '--domain-id',
        type=count,
        metavar='N',
        help='ROS domain (default: that of ROS_DOMAIN_ID, or 0)',
    )


def _run(options: argparse.Namespace) -> int:
    return ros_command('up')(
        contract=options.contract,
        pacing=options.pacing,
        simulated=options.simulated,
        record=not options.no_record,
        run=options.run,
        services=options.services,
        namespace=options.namespace,
        domain_id=options.domain_id,
    )


COMMAND = Command(
    name='up',
    summary='start the nodes of a boundary, show their state, stop robot and nodes on Ctrl-C',
    text="""\
Start recorder, safety gate and environment of a contract, on the robot or beside it,
and with --simulated the robot as well. The state of gate, episode and recorder is shown
until Ctrl-C: then the episode ends, the gate stops the robot, and the nodes end in
order. A policy steps them from another terminal. It needs ROS 2.

  boundary-env up warehouse_cart --simulated
  boundary-env up my_robot.yaml""",
    exit_codes="""\
  0  stopped by Ctrl-C, SIGTERM or SIGHUP
  1  a node ended by itself; its last words are printed
  2  wrong arguments, a contract that is not valid, or a node that did not come up""",
    arguments=_arguments,
    run=_run,
)
