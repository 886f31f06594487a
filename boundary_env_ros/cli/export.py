# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env export``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    Command,
    complain,
    counting,
    DONE,
    FOUND,
    option,
    output_option,
    record_argument,
)
from boundary_env_ros.evidence.export.formats import FORMATS


@click.command(cls=Command)
@record_argument()
@option(
    '--format',
    'format_',
    type=click.Choice(tuple(FORMATS)),
    default='parquet',
    help='what to write',
)
@output_option('folder of the data set', required=True)
def export(path: Path, format_: str, output: Path) -> int:
    """
    Export a run as a data set.

      parquet   one file for each kind of record; every field is a column, nested as in the record
      jsonl     each record as a line of strict JSON
      lerobot   LeRobotDataset v3.0; images as PNG in its Parquet files
      minari    Minari (HDF5); -o $MINARI_DATASETS_PATH/NAME-v0 for load_dataset('NAME-v0')

    In the last two, which their own libraries write, `action` is what was applied; requested,
    admitted, commanded and measured actions stand beside it, with instants, interventions and
    endings. Raw messages stay in the bag. Long runs are streamed. doc/export.md says what each
    format carries.

      boundary-env export runs/demo-20261122-024000 -o dataset
      boundary-env export bag/ --format lerobot -o cart
      boundary-env export bag/ --format minari -o ~/.minari/datasets/cart-v0

    Exit codes:
      0  done
      1  done, but some records could not be read and are not in it
      2  wrong arguments, no record, the output exists or cannot be written, or what the format
         needs is not installed
    """
    from boundary_env_ros.evidence.export.export import export_run

    with counting('records') as progress:
        exported = export_run(path, output, format_, progress=progress)
    for kind, number in exported.counts.items():
        print(f'{number:>8} {kind}')
    if exported.steps:
        print(f'{exported.steps} steps in {exported.episodes} episodes as {format_}')
    for sentence in exported.left_out:
        print(f'  left out there: {sentence}')
    print(f'Data set: {output}')
    for unreadable in exported.unreadable:
        complain(f'not in it, since it cannot be read: {unreadable}')
    return FOUND if exported.unreadable else DONE
