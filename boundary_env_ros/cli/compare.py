# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env compare``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    counting,
    json_option,
    option,
    print_result,
    record_argument,
)


@click.command(cls=Command)
@record_argument('a', 'A')
@record_argument('b', 'B')
@option('--agent', default='', metavar='NAME', help='one agent of several')
@option(
    '--clients',
    nargs=2,
    default=('', ''),
    show_default=False,
    metavar='OF_A OF_B',
    help='only the episodes of these clients: policy against policy, also in one run',
)
@json_option
def compare(
    a: Path,
    b: Path,
    as_json: bool,
    agent: str,
    clients: tuple[str, str],
) -> int:
    """
    Compare two runs: simulation and reality, or two policies.

    First what differs between the contracts. Then observations, latency, interventions, endings,
    success both ways, return, and how the robot answers commands: delay, gain.

    The episode is the unit of every test: record at least six whole ones of each side, better a
    dozen. Permutation tests, corrected for their number; each difference has its size, interval
    and p value. doc/compare.md explains them.

      boundary-env compare runs/simulation runs/robot
      boundary-env compare runs/week-46 runs/week-47 --json || echo 'something changed'
      boundary-env compare runs/both runs/both --clients baseline candidate

    Exit codes:
      0  no difference beyond chance, and contracts that mean the same
      1  a difference, measured or of the contracts
      2  wrong arguments, an unreadable record, or runs that cannot be compared, for example for
         too few episodes
    """
    from boundary_env_ros.evidence.compare.compare import compare_paths
    from boundary_env_ros.evidence.compare.text import format_comparison

    with counting('records') as progress:
        comparison = compare_paths(a, b, agent=agent, clients=clients, progress=progress)
    print_result(comparison, as_json=as_json, text=format_comparison)
    return comparison.exit_code
