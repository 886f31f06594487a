# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env init``: a draft of a contract, from a bag or a live robot."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
import sys

from boundary_env_ros.cli.command import Command, DONE, FOUND
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.errors import (
    BoundaryError,
    ContractError,
    INSTALL_ROS,
    MissingDependency,
    RecordError,
)

_GROUP, _NAME = 'boundary_env_ros.commands', 'init'


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('out', type=Path, metavar='FILE', help='contract to write; must not exist')
    parser.add_argument(
        '--bag',
        type=Path,
        metavar='PATH',
        help='bag to look at: rosbag2 folder, .mcap, .db3 or run folder (default: the live robot)',
    )
    parser.add_argument(
        '--seconds',
        type=_seconds,
        default=10.0,
        metavar='S',
        help='how long to look at the live robot (default: %(default)g)',
    )
    parser.add_argument(
        '--domain-id',
        type=_domain,
        metavar='N',
        help='ROS domain of the live robot (default: that of ROS_DOMAIN_ID)',
    )


def _run(options: argparse.Namespace) -> int:
    out: Path = options.out
    # Before the work, and again when it is written.
    _refuse_to_overwrite(out)
    text = _of_bag(options.bag) if options.bag is not None else _of_robot(options)
    _write(out, text)
    guesses, decisions = text.count('GUESS:'), text.count('DECIDE:')
    print(f'Draft: {out}, with {guesses} guesses (GUESS) and {decisions} decisions to be taken')
    print('(DECIDE). Go through it from top to bottom; then look what a machine can check:')
    print(f'  boundary-env check {out}')
    return _checked(text, out)


def _checked(text: str, out: Path) -> int:
    from boundary_env_ros.storage.contract_file import loads

    try:
        loads(text, source=str(out))
    except ContractError as error:
        print(f'The draft is not a contract yet; fill in first: {error}', file=sys.stderr)
        return FOUND
    return DONE


# Where it comes from -----------------------------------------------------------------------------


def _of_bag(bag: Path) -> str:
    from boundary_env_ros.evidence.drafting.bag_survey import init_from_bag

    show = Progress()

    def progress(done: int, total: int | None) -> None:
        show(f'{done} messages' if total is None else f'{done} of {total} messages')

    try:
        return init_from_bag(bag, progress=progress)
    finally:
        show.done()


def _of_robot(options: argparse.Namespace) -> str:
    look = _live()
    show = Progress()
    whole: float = options.seconds

    def progress(elapsed: float, topics: int, messages: int) -> None:
        show(f'{elapsed:.1f} of {whole:g} s: {messages} messages on {topics} topics')

    try:
        return look(seconds=whole, domain_id=options.domain_id, progress=progress)
    finally:
        show.done()


def _live() -> Callable[..., str]:
    """Return what looks at a live robot; it needs ROS and is reached by its entry point."""
    for entry in entry_points(group=_GROUP, name=_NAME):
        try:
            look: Callable[..., str] = entry.load()
        except MissingDependency:
            raise
        except ImportError as error:
            raise MissingDependency(
                f'ROS 2 is needed to look at a live robot: {error}. '
                f'{INSTALL_ROS}; or look at a bag with --bag.'
            ) from error
        return look
    raise BoundaryError(
        f'The command {_NAME!r} is not installed: it has no entry point. '
        'Reinstall the package, or look at a bag with --bag.'
    )


# Writing -----------------------------------------------------------------------------------------


def _refuse_to_overwrite(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise RecordError(
            f'{out} exists already, and a draft overwrites nothing. Choose another one.'
        )


def _write(out: Path, text: str) -> None:
    try:
        with out.open('x', encoding='utf-8') as file:
            file.write(text)
    except FileExistsError:
        _refuse_to_overwrite(out)
        raise
    except OSError as error:
        raise RecordError(
            f'{out} cannot be written: {error.strerror or error}. Choose another place.'
        ) from error


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number <= 3600.0:
        raise argparse.ArgumentTypeError(
            f'expected seconds, more than 0 and not more than 3600, got {text!r}'
        )
    return number


def _domain(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1
    if not 0 <= number <= 232:
        raise argparse.ArgumentTypeError(f'expected a ROS domain, 0 to 232, got {text!r}')
    return number


COMMAND = Command(
    name=_NAME,
    summary='draft a contract from a bag or a live robot',
    text="""\
Draft a contract for a robot, from a bag of it or from looking at it while it runs.

Topics, types, rates and observed ranges come from what was seen, every guess with the mark GUESS
and its reason; what only a person can know has the mark DECIDE, and is blank where nothing was
seen. It is a form to be filled in: its limits are narrow, its rates slow, and no file is ever
overwritten.

  boundary-env init mine.yaml --bag recording/
  boundary-env init mine.yaml --seconds 30""",
    exit_codes="""\
  0  done
  1  the draft is written, and has blanks or problems that a person has to mend first
  2  wrong arguments, the file exists, or nothing can be drafted""",
    arguments=_arguments,
    run=_run,
)
