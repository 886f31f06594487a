# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env inspect``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    counting,
    DONE,
    json_option,
    option,
    print_result,
    record_argument,
)


@click.command(cls=Command)
@record_argument()
@option(
    '--episode',
    default='last',
    metavar='N',
    help='its number in the record, from 1, or at least four digits of its id',
)
@option('--step', default='last', metavar='K', help='number of the step; 0 is the reset')
@json_option
def inspect(path: Path, episode: str, step: str, as_json: bool) -> int:
    """
    Show everything that is recorded of one step.

    Its instants and stages; the observation before and after, with ages; the action as requested,
    admitted, commanded and measured; every gate decision with its rules and numbers; the terms of
    the reward, the ending, events, and labels. Evidence that arrived later is included.

      boundary-env inspect runs/demo-20261122-024000 --episode 3 --step 17
      boundary-env inspect bag/ --episode 3f2a --json

    Exit codes:
      0  done
      2  wrong arguments, the record cannot be read, or it has no such step
    """
    from boundary_env_ros.evidence.report.one_step import find_step
    from boundary_env_ros.evidence.report.step_text import tell_step

    with counting('records') as progress:
        found = find_step(path, episode, step, progress)
    print_result(found, as_json=as_json, text=tell_step)
    return DONE
