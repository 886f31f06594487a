# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env export``."""

from __future__ import annotations

from pathlib import Path

import click

from boundary_env_ros.cli.command import (
    argument,
    Command,
    complain,
    counting,
    DONE,
    FOUND,
    option,
    output_option,
    PATH,
)
from boundary_env_ros.core.records.episode import Label
from boundary_env_ros.evidence.export.formats import FORMATS, MOST_REPAIRED


@click.command(cls=Command)
@argument('paths', 'RUN...', 'run folder or bag', nargs=-1, required=True, type=PATH)
@option(
    '--format',
    'format_',
    type=click.Choice(tuple(FORMATS)),
    default='parquet',
    help='what to write',
)
@output_option('folder of the data set', required=True)
@option(
    '--label',
    'labels',
    type=click.Choice([label.name.lower() for label in Label]),
    multiple=True,
    help='only episodes that people labelled so, or that ended so where nobody did; repeatable',
)
@option(
    '--client',
    'clients',
    metavar='NAME',
    multiple=True,
    help='only episodes of this policy or person; repeatable',
)
@option(
    '--episode',
    'episodes',
    metavar='N',
    multiple=True,
    help='only this episode: its number in the run, or the beginning of its id; repeatable',
)
@option(
    '--every-column',
    is_flag=True,
    help='lerobot: all that is known of a step, not only what policies learn from',
)
@option('--images', 'as_images', is_flag=True, help='lerobot: images as PNG, not in videos')
@option(
    '--most-repaired',
    type=click.FloatRange(0.0, 1.0),
    metavar='SHARE',
    default=MOST_REPAIRED,
    help='lerobot, minari: refuse a data set of which more steps were trimmed or filled',
)
@option('--push', metavar='HUB_ID', help='lerobot: upload it there afterwards, by LeRobot')
def export(
    paths: tuple[Path, ...],
    format_: str,
    output: Path,
    labels: tuple[str, ...],
    clients: tuple[str, ...],
    episodes: tuple[str, ...],
    every_column: bool,
    as_images: bool,
    most_repaired: float,
    push: str | None,
) -> int:
    """
    Export runs as a data set.

      parquet   one file for each kind of record; every field is a column, nested as in the record
      jsonl     each record as a line of strict JSON
      lerobot   LeRobotDataset v3.0, to train on; images in videos
      minari    Minari (HDF5); -o $MINARI_DATASETS_PATH/NAME-v0 for load_dataset('NAME-v0')

    The last two, which their own libraries write, take several runs and a choice of episodes.
    Their `action` is what was applied. No step lacks anything: episodes begin once all is known,
    and what a step lacks later is that of the step before; both are counted. Raw messages stay in
    the bag. Long runs are streamed. doc/export.md says what each format carries.

      boundary-env export runs/demo-20261122-024000 -o dataset
      boundary-env export runs/* --format lerobot --label success -o demonstrations
      boundary-env export bag/ --format minari -o ~/.minari/datasets/cart-v0

    Exit codes:
      0  done
      1  done, but some records could not be read and are not in it
      2  wrong arguments, no record or episode, too many steps lack something, the output exists
         or cannot be written, or what the format needs is not installed
    """
    from boundary_env_ros.evidence.export.export import export_runs, Wanted

    is_lerobot = format_ == 'lerobot'
    if not is_lerobot and (every_column or as_images or push):
        raise click.UsageError(
            '--every-column, --images and --push are of lerobot (expected --format lerobot, got '
            f'{format_}).'
        )
    options = {'every_column': every_column, 'as_images': as_images} if is_lerobot else {}
    wanted = Wanted(
        labels=labels,
        clients=clients,
        episodes=episodes,
        options=options,
        most_repaired=most_repaired,
    )
    with counting('records') as progress:
        exported = export_runs(paths, output, format_, wanted=wanted, progress=progress)
    for kind, number in exported.counts.items():
        print(f'{number:>8} {kind}')
    if exported.steps:
        print(f'{exported.steps} steps in {exported.episodes} episodes as {format_}')
    for sentence in exported.left_out:
        print(f'  left out or filled: {sentence}')
    print(f'Data set: {output}')
    for unreadable in exported.unreadable:
        complain(f'not in it, since it cannot be read: {unreadable}')
    if push:
        from boundary_env_ros.evidence.export.lerobot import upload

        upload(output, push)
        print(f'Uploaded: {push}')
    return FOUND if exported.unreadable else DONE
