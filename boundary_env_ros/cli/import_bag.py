# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env import``."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation
from itertools import pairwise
import json
import math
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import Command, complain, DONE, FOUND
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.errors import RecordError

if TYPE_CHECKING:
    from boundary_env_ros.core.transition import NamedValues
    from boundary_env_ros.evidence.importing.importer import ImportOptions, MakeCut

_NANOSECONDS = 1_000_000_000


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'path', type=Path, metavar='BAG', help='rosbag2 folder, .mcap, .db3 or run folder'
    )
    parser.add_argument(
        '--contract',
        required=True,
        metavar='C',
        help='contract to read the bag by: a file, or the name of a shipped one',
    )
    parser.add_argument(
        '-o',
        '--output',
        type=Path,
        required=True,
        metavar='RUN',
        help='run folder; must not exist',
    )
    parser.add_argument(
        '--pacing',
        choices=[pacing.name.lower() for pacing in Pacing],
        help='pacing, if not that of the contract; lockstep brings simulated time with it',
    )
    where = parser.add_argument_group(
        'where episodes are (default: one, from the first command to the end of the bag)'
    ).add_mutually_exclusive_group()
    where.add_argument(
        '--gap',
        type=_seconds,
        metavar='S',
        help='one from the first command after S seconds without any, until they cease for S',
    )
    where.add_argument(
        '--range',
        type=_range,
        action='append',
        default=[],
        dest='ranges',
        metavar='A:B',
        help='one from A to B, seconds since the bag begins; B may be left out; repeatable',
    )
    where.add_argument(
        '--episode-topic',
        default='',
        metavar='TOPIC',
        help='one from each message of this topic to the next; a Bool that is false only ends',
    )
    what = parser.add_argument_group('what else the bag does not say')
    what.add_argument(
        '--remap',
        type=_remap,
        action='append',
        default=[],
        metavar='OLD:=NEW',
        help='the topic OLD of the bag is NEW in the contract, and in the run; repeatable',
    )
    what.add_argument(
        '--reset',
        type=_reset,
        default=(),
        metavar='JSON',
        help='what the task sampled, by its names, as far as it is known: {"goal": [2.0, 1.5]}',
    )
    what.add_argument(
        '--host',
        default='',
        metavar='NAME',
        help='host of recorder and sensors (default: unknown, so the ages are uncertain)',
    )
    what.add_argument(
        '--client', default='import', metavar='NAME', help='who drove (default: %(default)s)'
    )


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.importing.importer import import_bag
    from boundary_env_ros.storage.contract_file import load

    pacing = None if options.pacing is None else Pacing[options.pacing.upper()]
    loaded = load(options.contract, pacing)
    show = Progress()

    def progress(done: int, total: int | None) -> None:
        show(f'{done} messages' if total is None else f'{done} of {total} messages')

    try:
        imported = import_bag(
            options.path, options.output, loaded, _options(options), progress=progress
        )
    finally:
        show.done()
    endings = ', '.join(f'{count} {cause}' for cause, count in sorted(imported.endings.items()))
    print(f'{imported.messages:>8} messages of the contract')
    print(f'{sum(imported.endings.values()):>8} episodes: {endings}')
    print(f'{imported.transitions:>8} transitions')
    print(f'{imported.used:>8} of {imported.commands} commands are in an episode')
    print(f'Run: {options.output}')
    for note in imported.notes:
        complain(note)
    return FOUND if imported.notes else DONE


def _options(options: argparse.Namespace) -> ImportOptions:
    from boundary_env_ros.evidence.importing.importer import ImportOptions

    return ImportOptions(
        cut=_cut(options),
        cut_topic=options.episode_topic,
        remap=dict(options.remap),
        reset=options.reset,
        host=options.host,
        client=options.client,
    )


def _cut(options: argparse.Namespace) -> MakeCut:
    from boundary_env_ros.evidence.importing.cuts import AtCommands, AtMarks, AtRanges

    if options.episode_topic:
        return lambda begin: AtMarks()
    if options.ranges:
        ranges = sorted(options.ranges, key=itemgetter(0))
        for (_, end), (start, _) in pairwise(ranges):
            if end is None or start < end:
                raise RecordError(
                    'The ranges overlap: one begins at '
                    f'{start / _NANOSECONDS:g} s, before another ends. Change --range.'
                )
        return lambda begin: AtRanges(
            [(begin + start, None if end is None else begin + end) for start, end in ranges]
        )
    gap: int | None = options.gap
    return lambda begin: AtCommands(gap)


# Arguments ---------------------------------------------------------------------------------------


def _nanoseconds(text: str) -> int:
    """Return seconds as nanoseconds, to the last one."""
    number = Decimal(text)
    if not number.is_finite() or not 0 <= number < 10**9:
        raise InvalidOperation
    return int(number * _NANOSECONDS)


def _seconds(text: str) -> int:
    try:
        number = _nanoseconds(text)
    except InvalidOperation:
        number = 0
    if number <= 0:
        raise argparse.ArgumentTypeError(f'expected seconds, more than 0, got {text!r}')
    return number


def _range(text: str) -> tuple[int, int | None]:
    start, colon, end = text.partition(':')
    try:
        found = (_nanoseconds(start), _nanoseconds(end) if end else None)
    except InvalidOperation:
        found = (0, 0)
    if not colon or (found[1] is not None and found[1] <= found[0]):
        raise argparse.ArgumentTypeError(
            f'expected seconds as A:B or A:, with A before B, got {text!r}'
        )
    return found


def _remap(text: str) -> tuple[str, str]:
    old, sign, new = text.partition(':=')
    if not (sign and old and new):
        raise argparse.ArgumentTypeError(f'expected OLD:=NEW, got {text!r}')
    return f'/{old.lstrip("/")}', f'/{new.lstrip("/")}'


def _reset(text: str) -> tuple[NamedValues, ...]:
    from boundary_env_ros.core.transition import NamedValues

    try:
        data = json.loads(text)
        values = {
            name: tuple(float(v) for v in (item if isinstance(item, list) else [item]))
            for name, item in data.items()
        }
    except (ValueError, TypeError, AttributeError):
        values = {'': (math.nan,)}
    if not all(math.isfinite(v) for numbers in values.values() for v in numbers):
        raise argparse.ArgumentTypeError(
            f'expected an object of numbers as JSON, {{"goal": [2.0, 1.5]}}, got {text!r}'
        )
    return tuple(NamedValues(name=name, values=numbers) for name, numbers in values.items())


COMMAND = Command(
    name='import',
    summary='convert a rosbag2 into a run, by a contract',
    text="""\
Make a run of any bag of ROS 2: MCAP or SQLite, compressed or not, in one file or several.

The sensor and command topics of the contract are replayed, at its period, through the objects that
make observations, judge steps and end episodes while a robot runs. What comes of it is a folder
like that of a recorded run, with the raw messages, for audit, summary, episodes and export. What a
bag cannot tell (requests, decisions of a gate, resets) stays unknown, and every transition says
that it was imported, and which of its values were derived. The folder is there whole or not at
all. doc/import.md says what is made of what.

  boundary-env import recording/ --contract mine.yaml -o runs/imported --gap 3
  boundary-env import old.db3 --contract mine.yaml -o runs/one --range 12.5:40
  boundary-env import bag/ --contract mine.yaml -o run --remap /base/odometry:=odom""",
    exit_codes="""\
  0  done
  1  done, and something is unknown, left out or odd, which is said
  2  wrong arguments, no bag, no episode in it, a topic is missing, or something is at RUN""",
    arguments=_arguments,
    run=_run,
)
