# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env compare``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, print_json, RECORD
from boundary_env_ros.cli.progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    for name in ('a', 'b'):
        parser.add_argument(
            name,
            type=Path,
            metavar=name.upper(),
            help=RECORD,
        )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='PAGE.html', help='write a page there; must not exist'
    )
    parser.add_argument('--json', action='store_true', help='print everything as JSON')
    what = parser.add_argument_group('what is compared')
    what.add_argument(
        '--agent',
        default='',
        metavar='NAME',
        help='whose episodes, where there are several agents',
    )
    what.add_argument(
        '--clients',
        nargs=2,
        default=('', ''),
        metavar=('OF_A', 'OF_B'),
        help='only the episodes of these clients, as summary names them: policy against policy, '
        'also in one run',
    )
    what.add_argument(
        '--simulation',
        default='',
        metavar='ROBOT',
        help='installed robot that the recorded commands are replayed in (default: the one with '
        "the name of A's contract); none: in none",
    )
    tests = parser.add_argument_group('when a difference is one')
    tests.add_argument(
        '--alpha',
        type=_share,
        default=0.05,
        metavar='P',
        help='chance of any false alarm, over all tests together (default: %(default)s)',
    )
    tests.add_argument(
        '--relevance',
        type=_share_or_none,
        default=1e-4,
        metavar='SHARE',
        help='share of what the contract lets a quantity reach that a difference must be greater '
        'than; 0: whatever is beyond chance counts (default: %(default)s)',
    )


def _share(text: str) -> float:
    share = _share_or_none(text)
    if share == 0.0:
        raise argparse.ArgumentTypeError(f'expected a number above 0 and below 1, got {text!r}')
    return share


def _share_or_none(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise argparse.ArgumentTypeError(f'expected a number from 0 to below 1, got {text!r}')
    return share


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.comparing.compare import compare_paths
    from boundary_env_ros.evidence.comparing.page import render
    from boundary_env_ros.evidence.comparing.words import told
    from boundary_env_ros.storage.atomic import check_new, write_new

    if options.output is not None:
        check_new(options.output)
    progress = Progress()
    try:
        comparison = compare_paths(
            options.a,
            options.b,
            agent=options.agent,
            clients=tuple(options.clients),
            simulation=options.simulation,
            alpha=options.alpha,
            relevance=options.relevance,
            told=lambda name, count: progress(f'{name}: {count} records'),
        )
    finally:
        progress.done()
    if options.output is not None:
        write_new(options.output, ''.join(render(comparison)).encode('utf-8'))
    if options.json:
        print_json(comparison.to_json())
    else:
        print(told(comparison))
        if options.output is not None:
            print(f'\nPage: {options.output}')
    return comparison.exit_code


COMMAND = Command(
    name='compare',
    summary='compare two runs: simulation and reality, two policies',
    text="""\
Hold two runs against each other: simulation and reality, two policies, before and after.

What differs between the contracts comes first, and with it what a policy sees on one side only.
Then resets, observations by field, latency by stage, clips and interventions, endings, success
both ways, return, how far each side goes off a simulation under its own recorded commands, and
how the robot answers commands: delay, settling, gain.

Steps of one episode depend on each other, so the episode is the unit of every test. The tests
deal episodes anew between the sides and are corrected for their number; whatever is called a
difference comes with its size, its interval and its p. doc/compare.md explains all of it.

  boundary-env compare runs/simulation runs/robot -o gap.html
  boundary-env compare runs/week-46 runs/week-47 --json || echo 'something changed'
  boundary-env compare runs/both runs/both --clients baseline candidate""",
    exit_codes="""\
  0  no difference beyond chance, and contracts that mean the same
  1  a difference, measured or of the contracts
  2  wrong arguments, a record that cannot be read, or runs that are not comparable: it says why,
     too few episodes to show anything among it""",
    arguments=_arguments,
    run=_run,
)
