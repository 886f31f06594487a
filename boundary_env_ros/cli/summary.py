# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env summary``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, DONE, print_json, RECORD


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', type=Path, metavar='RUN', help=RECORD)
    parser.add_argument('--json', action='store_true', help='print it as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.runs import summarise_path

    summary = summarise_path(options.path)
    if options.json:
        print_json(summary.to_json())
    else:
        print(summary)
    return DONE


COMMAND = Command(
    name='summary',
    summary='summarise a record',
    text="""\
Sum up a record: success both ways, endings by cause, interventions, latency by stage.

Success is counted twice: with every episode that was cut off as a failure, and of those alone that
came to an end by themselves.

  boundary-env summary runs/demo-20261122-024000""",
    exit_codes="""\
  0  done
  2  wrong arguments, or the record cannot be read""",
    arguments=_arguments,
    run=_run,
)
