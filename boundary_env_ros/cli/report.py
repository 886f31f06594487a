# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env report``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from boundary_env_ros.cli.command import Command, count, DONE, RECORD
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import BoundaryError


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'path',
        type=Path,
        metavar='RUN',
        help=RECORD,
    )
    parser.add_argument(
        '-o',
        '--output',
        type=Path,
        metavar='PAGE.html',
        help='write the page there; must not exist',
    )
    parser.add_argument(
        '--json', action='store_true', help='print the same facts as JSON, one line'
    )
    much = parser.add_argument_group('how much is shown')
    much.add_argument(
        '--episodes',
        type=count,
        default=100,
        metavar='N',
        help='draw so many episodes, the most suspicious; all are listed (default: %(default)s)',
    )
    much.add_argument(
        '--frames',
        type=count,
        default=400,
        metavar='N',
        help='most camera images, those of the suspicious moments first (default: %(default)s)',
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.report.frames import FrameBudget
    from boundary_env_ros.evidence.report.gather import gather
    from boundary_env_ros.evidence.report.page import render
    from boundary_env_ros.evidence.report.report import Limits
    from boundary_env_ros.storage.atomic import check_new, write_new

    if options.output is None and not options.json:
        raise BoundaryError(
            'Nothing to write (expected -o PAGE.html, --json or both, got neither).'
        )
    if options.output is not None:
        check_new(options.output)
    limits = Limits(episodes=options.episodes, frames=FrameBudget(count=options.frames))
    show = Progress()
    try:
        report = gather(options.path, limits, show)
    finally:
        show.done()
    if options.output is not None:
        page = ''.join(render(report)).encode('utf-8')
        write_new(options.output, page)
        if not options.json:
            print(f'Page: {options.output} ({len(page) / 1e6:.1f} MB)')
    if options.json:
        print(json.dumps(report.to_json(), allow_nan=False))
    return DONE


COMMAND = Command(
    name='report',
    summary='explain a run on one HTML page',
    text="""\
Explain a run on one HTML page, which needs no network and no other file.

Where to look first and why; success both ways, endings by cause and latency by stage; and for
each episode a time line: requested, admitted, commanded and measured action, what the gate did and
why, observations and their ages, overruns, events, the way in the plane, and what the cameras saw
at the moment that one points at. doc/report.md explains all of it.

  boundary-env report runs/demo-20261122-024000 -o demo.html
  boundary-env report bag/ --json | jq .moments""",
    exit_codes="""\
  0  done
  2  wrong arguments, the record cannot be read, or the page exists""",
    arguments=_arguments,
    run=_run,
)
