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
    parser.add_argument(
        'path',
        type=Path,
        metavar='RUN',
        help='run folder, bag, .mcap, .db3, .jsonl, or another data set',
    )
    parser.add_argument(
        '--format',
        choices=('parquet', 'jsonl', 'lerobot', 'minari', 'rlds'),
        default='parquet',
        help='what to write (default: %(default)s)',
    )
    parser.add_argument(
        '--contract',
        metavar='FILE',
        help='contract that it was made under, file or name (default: the copy in it)',
    )
    parser.add_argument(
        '-o', '--output', type=Path, required=True, metavar='DIR', help='data set; must not exist'
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.export import export_run
    from boundary_env_ros.storage.contract_file import load

    contract = None if options.contract is None else load(options.contract)
    show = Progress()

    def progress(done: int, total: int | None) -> None:
        if done % _EVERY == 0:
            show(f'{done} records' if total is None else f'{done} of {total} records')

    try:
        exported = export_run(
            options.path, options.output, options.format, contract=contract, progress=progress
        )
    finally:
        show.done()
    for kind, number in exported.dataset.counts.items():
        print(f'{number:>8} {kind}')
    if exported.steps:
        print(f'{exported.steps} steps in {exported.episodes} episodes as {options.format}')
    for sentence in exported.left_out:
        print(f'  left out there: {sentence}')
    print(f'Data set: {options.output}')
    for unreadable in exported.unreadable:
        complain(f'not in it, since it cannot be read: {unreadable}')
    return FOUND if exported.unreadable else DONE


COMMAND = Command(
    name='export',
    summary='export a run as a data set',
    text="""\
Write the records of a run as a data set, for others to learn from or to look into.

  parquet   one file for each kind of record (steps, decisions of the gate, what the evaluator saw,
            ...); every field of a record is a column, nested as it is in the record
  jsonl     the same as lines of strict JSON
  lerobot   LeRobotDataset v3.0; images as PNG in its Parquet files
  minari    Minari (HDF5); -o $MINARI_DATASETS_PATH/NAME-v0 is what load_dataset('NAME-v0') finds
  rlds      RLDS as TensorFlow Datasets reads it: tfds.builder_from_directory(DIR)

In the last three, `action` is what was applied; what was asked for, admitted, sent and done stand
beside it, with the instants, the interventions, the ending and its cause. What such a layout
cannot hold is in the folder `records` of the data set: all records, as parquet. So `boundary-env
audit DIR` audits each of them like the run, but for the raw messages, which stay in the bag.

The folder is there whole or not at all, and nothing is overwritten. Long runs stream: memory does
not grow with them. doc/export.md says what each format carries, and what is lost.

  boundary-env export runs/demo-20261122-024000 -o dataset
  boundary-env export --format lerobot bag/ -o cart
  boundary-env export --format minari bag/ -o ~/.minari/datasets/cart-v0
  boundary-env export --format rlds transitions.jsonl --contract warehouse_cart -o cart""",
    exit_codes="""\
  0  done
  1  done, but some records could not be read and are not in it
  2  wrong arguments, no record, something is at DIR already, it cannot be written, or what the
     format needs is not installed""",
    arguments=_arguments,
    run=_run,
)
