# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env compare``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    json_option,
    Number,
    option,
    output_option,
    print_json,
    Progress,
    record_argument,
)

_WHAT = 'What is compared'
_TESTS = 'What counts as a difference'


@click.command(cls=Command)
@record_argument('a', 'A')
@record_argument('b', 'B')
@output_option('HTML page to write')
@json_option
@option('--agent', group=_WHAT, default='', metavar='NAME', help='one agent of several')
@option(
    '--clients',
    group=_WHAT,
    nargs=2,
    default=('', ''),
    show_default=False,
    metavar='OF_A OF_B',
    help='only the episodes of these clients: policy against policy, also in one run',
)
@option(
    '--simulation',
    group=_WHAT,
    default='',
    metavar='ROBOT',
    help='installed robot in which the recorded commands are replayed (default: the one with the '
    "name of A's contract); none: no replay",
)
@option(
    '--alpha',
    group=_TESTS,
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.05,
    metavar='P',
    help='chance of any false alarm, over all tests together',
)
@option(
    '--min-effect',
    group=_TESTS,
    type=Number(0, 1, max_open=True),
    default=1e-4,
    metavar='SHARE',
    help="smallest difference that counts, as a share of the quantity's range in the contract",
)
def compare(
    a: Path,
    b: Path,
    output: Path | None,
    as_json: bool,
    agent: str,
    clients: tuple[str, str],
    simulation: str,
    alpha: float,
    min_effect: float,
) -> int:
    """
    Compare two runs: simulation and reality, or two policies.

    First what differs between the contracts. Then resets, observations, latency, interventions,
    endings, success both ways, return, how far each side departs from a simulation under its own
    recorded commands, and how the robot answers commands: delay, settling, gain.

    The episode is the unit of every test. Permutation tests, corrected for their number; each
    difference has its size, interval and p value. doc/compare.md explains them.

      boundary-env compare runs/simulation runs/robot -o gap.html
      boundary-env compare runs/week-46 runs/week-47 --json || echo 'something changed'
      boundary-env compare runs/both runs/both --clients baseline candidate

    Exit codes:
      0  no difference beyond chance, and contracts that mean the same
      1  a difference, measured or of the contracts
      2  wrong arguments, an unreadable record, or runs that cannot be compared, for example for
         too few episodes
    """
    from boundary_env_ros.evidence.compare.compare import compare_paths
    from boundary_env_ros.evidence.compare.page import render
    from boundary_env_ros.evidence.compare.text import format_comparison
    from boundary_env_ros.storage.atomic import check_new, write_new

    if output is not None:
        check_new(output)
    progress = Progress()
    try:
        comparison = compare_paths(
            a,
            b,
            agent=agent,
            clients=clients,
            simulation=simulation,
            alpha=alpha,
            relevance=min_effect,
            told=lambda name, count: progress(f'{name}: {count} records'),
        )
    finally:
        progress.done()
    if output is not None:
        write_new(output, ''.join(render(comparison)).encode('utf-8'))
    if as_json:
        print_json(comparison.to_json())
    else:
        print(format_comparison(comparison))
        if output is not None:
            print(f'\nPage: {output}')
    return comparison.exit_code
