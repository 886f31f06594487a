# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env export``."""

from __future__ import annotations

import argparse
from pathlib import Path

from boundary_env_ros.cli.command import Command, complain, DONE, FOUND
from boundary_env_ros.cli.progress import Progress

_EVERY = 100


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', type=Path, metavar='RUN', help='run folder, bag, .mcap or .jsonl')
    parser.add_argument(
        '--format',
        choices=('parquet', 'jsonl'),
        default='parquet',
        help='what to write (default: %(default)s)',
    )
    parser.add_argument(
        '-o', '--out', type=Path, required=True, metavar='DIR', help='data set; must not exist'
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.export import export_run

    show = Progress()

    def progress(done: int, total: int | None) -> None:
        if done % _EVERY == 0:
            show(f'{done} records' if total is None else f'{done} of {total} records')

    try:
        exported = export_run(options.path, options.out, options.format, progress=progress)
    finally:
        show.done()
    for kind, number in exported.dataset.counts.items():
        print(f'{number:>8} {kind}')
    print(f'Data set: {options.out}')
    for unreadable in exported.unreadable:
        complain(f'not in it, since it cannot be read: {unreadable}')
    return FOUND if exported.unreadable else DONE


COMMAND = Command(
    name='export',
    summary='write the records of a run as a data set',
    text="""\
Write the records of a run as a data set: a folder with one file for each kind of record (steps,
decisions of the gate, what the evaluator saw, ...), the contract, and dataset.json.

As Parquet every field of a record is a column, nested as it is in the record; nothing is lost but
the raw messages, which stay in the bag. The folder is there whole or not at all.
`boundary-env audit DIR` audits it.

  boundary-env export runs/demo-20261122-024000 -o dataset
  boundary-env export --format jsonl bag/ -o dataset""",
    exit_codes="""\
  0  done
  1  done, but some records could not be read and are not in it
  2  wrong arguments, no record, something is at DIR already, or pyarrow is missing""",
    arguments=_arguments,
    run=_run,
)
