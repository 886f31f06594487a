# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands ``boundary-env bag``: convert bags into runs, and repair them."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
import json
import math
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundary_env_ros.cli.command import (
    argument,
    CommandGroup,
    complain,
    contract_option,
    counting,
    DONE,
    FOUND,
    option,
    output_option,
    pacing_option,
    PATH,
    Progress,
    SECONDS,
)

if TYPE_CHECKING:
    from boundary_env_ros.core.records.parts import NamedValues
    from boundary_env_ros.evidence.importing.importer import MakeCut

_NANOSECONDS = 1_000_000_000
_MEGABYTE = 1e6


@click.group(cls=CommandGroup)
def bag() -> None:
    """Convert bags into runs, and repair them."""


# Arguments ---------------------------------------------------------------------------------------


def _seconds(text: str) -> int:
    """Return seconds as nanoseconds."""
    number = float(text)
    if not 0 <= number < 1e9:
        raise ValueError(text)
    return round(number * _NANOSECONDS)


def _range(text: str) -> tuple[int, int | None]:
    start, colon, end = text.partition(':')
    with suppress(ValueError):
        first, last = _seconds(start), _seconds(end) if end else None
        if colon and (last is None or first < last):
            return first, last
    raise click.BadParameter(f'expected seconds as A:B or A:, with A before B, got {text!r}')


def _reset(text: str) -> tuple[NamedValues, ...]:
    from boundary_env_ros.core.records.parts import NamedValues

    try:
        data = json.loads(text)
        values = {
            name: tuple(float(v) for v in (item if isinstance(item, list) else [item]))
            for name, item in data.items()
        }
    except (ValueError, TypeError, AttributeError):
        values = {'': (math.nan,)}
    if not all(math.isfinite(v) for numbers in values.values() for v in numbers):
        raise click.BadParameter(
            f'expected an object of numbers as JSON, {{"goal": [2.0, 1.5]}}, got {text!r}'
        )
    return tuple(NamedValues(name=name, values=numbers) for name, numbers in values.items())


# Commands ----------------------------------------------------------------------------------------


@bag.command('import')
@argument('path', 'BAG', 'rosbag2 folder, .mcap, .db3 or run folder', type=PATH)
@contract_option('the contract to read the bag by', required=True)
@output_option('run folder', required=True)
@pacing_option
@option(
    '--gap',
    type=SECONDS,
    metavar='S',
    help='an episode from the first command after S seconds without any, until they cease for S',
)
@option(
    '--range',
    'ranges',
    type=_range,
    multiple=True,
    metavar='A:B',
    help='an episode from A to B, seconds since the bag begins; B may be left out; repeatable',
)
@option(
    '--reset',
    type=_reset,
    metavar='JSON',
    help='what the task sampled, by its names, as far as it is known: {"goal": [2.0, 1.5]}',
)
@option(
    '--host',
    default='',
    metavar='NAME',
    help='host of recorder and sensors (default: unknown, so the ages are uncertain)',
)
def import_(
    path: Path,
    contract: str,
    output: Path,
    pacing: str | None,
    gap: float | None,
    ranges: tuple[tuple[int, int | None], ...],
    reset: tuple[NamedValues, ...] | None,
    host: str,
) -> int:
    """
    Convert a rosbag2 into a run, by a contract.

    Reads MCAP or SQLite, compressed or not, in one file or several, and writes a run folder with
    the raw messages, for every other command. What a bag cannot tell (requests, gate decisions,
    resets) stays unknown. Without --gap or --range it is one episode, from the first command to
    the end of the bag. doc/import.md has the details.

      boundary-env bag import recording/ --contract my_robot.yaml -o runs/imported --gap 3
      boundary-env bag import old.db3 --contract my_robot.yaml -o runs/one --range 12.5:40

    Exit codes:
      0  done
      1  done, and something is unknown, left out or odd, which is said
      2  wrong arguments, no bag, no episode in it, a topic is missing, or the output exists
    """
    from boundary_env_ros.evidence.importing.importer import import_bag, ImportOptions
    from boundary_env_ros.storage.contract_file import load

    if gap and ranges:
        raise click.UsageError('give one of --gap and --range')
    loaded = load(contract, pacing)
    options = ImportOptions(cut=_cut(gap, ranges), reset=reset or (), host=host)
    with counting('messages') as progress:
        imported = import_bag(path, output, loaded, options, progress=progress)
    endings = ', '.join(f'{count} {ending}' for ending, count in sorted(imported.endings.items()))
    print(f'{imported.messages:>8} messages of the contract')
    print(f'{sum(imported.endings.values()):>8} episodes: {endings}')
    print(f'{imported.transitions:>8} transitions')
    print(f'{imported.used:>8} of {imported.commands} commands are in an episode')
    print(f'Run: {output}')
    for note in imported.notes:
        complain(note)
    return FOUND if imported.notes else DONE


def _cut(gap: float | None, ranges: tuple[tuple[int, int | None], ...]) -> MakeCut:
    from boundary_env_ros.evidence.importing.cuts import AtCommands, AtRanges

    if ranges:
        ordered = sorted(ranges, key=itemgetter(0))
        for (_, end), (start, _) in pairwise(ordered):
            if end is None or start < end:
                raise click.UsageError(
                    f'the ranges overlap: one begins at {start / _NANOSECONDS:g} s, '
                    'before another ends; change --range'
                )
        return lambda begin: AtRanges(
            [(begin + start, None if end is None else begin + end) for start, end in ordered]
        )
    return lambda begin: AtCommands(None if gap is None else round(gap * _NANOSECONDS))


@bag.command()
@argument('path', 'RUN', 'run folder, bag or .mcap', type=PATH)
def recover(path: Path) -> int:
    """
    Repair a run or bag after a crash or a bad disk.

    After `kill -9`, a power loss or a full disk: MCAP files get index, summary and footer, so that
    `ros2 bag`, Foxglove and rosbags read them; metadata.yaml is rewritten; the episode
    index gets the steps, states and labels it lacks.

    Messages are copied as they are, and the command says what is lost. A file of which something
    could not be read is kept as NAME.torn. An interrupted recovery can be repeated; it needs the
    space of the largest file. A run that is being recorded is refused.

      boundary-env bag recover runs/demo-20261122-024000
      boundary-env bag recover bag/bag_3.mcap

    Exit codes:
      0  it is whole now; what is lost is said
      2  wrong arguments, no run, still being recorded, or the new files cannot be written
    """
    from boundary_env_ros.storage.recovery import recover as repair

    with Progress() as show:
        recovery = repair(
            path,
            lambda what, done, total: show(
                f'{what}: {done / _MEGABYTE:.0f} of {total / _MEGABYTE:.0f} MB'
            ),
        )
    if not recovery.done:
        print(f'{path} is whole; nothing was changed.')
    for sentence in recovery.done:
        print(f'{sentence}.')
    for sentence in recovery.lost:
        print(f'Lost: {sentence}.')
    return DONE
