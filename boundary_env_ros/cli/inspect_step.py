# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env inspect``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, DONE, print_json, RECORD
from boundary_env_ros.cli.progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'path',
        type=Path,
        metavar='RUN',
        help=RECORD,
    )
    parser.add_argument(
        '--episode',
        default='last',
        metavar='N',
        help='its number in the order of the record, from 1, or the first digits of its id, four '
        'or more (default: the last)',
    )
    parser.add_argument(
        '--step',
        default='last',
        metavar='K',
        help='number of the step; 0 is the reset (default: the last)',
    )
    parser.add_argument('--json', action='store_true', help='print the records of it as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.report.one_step import find_step
    from boundary_env_ros.evidence.report.step_text import tell_step

    show = Progress()
    try:
        found = find_step(options.path, options.episode, options.step, show)
    finally:
        show.done()
    if options.json:
        print_json(found.to_json())
    else:
        print(tell_step(found))
    return DONE


COMMAND = Command(
    name='inspect',
    summary='show everything that is recorded of one step',
    text="""\
Tell everything that a record says of one step.

Its instants and stages; the observation before and after, with ages; the action as requested,
admitted, commanded and measured; every decision of the gate with every rule and its numbers; the
terms of the reward, the ending, events, and what people say of the episode. Evidence that came
later stands where it belongs.

  boundary-env inspect runs/demo-20261122-024000 --episode 3 --step 17
  boundary-env inspect bag/ --episode 3f2a --step last --json""",
    exit_codes="""\
  0  done
  2  wrong arguments, the record cannot be read, or it has no such step""",
    arguments=_arguments,
    run=_run,
)
