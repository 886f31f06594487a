# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env check``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import Command, complain, DONE, FOUND, print_json, UNUSABLE

if TYPE_CHECKING:
    from boundary_env_ros.storage.contract_check import ContractCheck


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'files',
        nargs='+',
        metavar='FILE',
        help='contract, or the name of a shipped one, for example warehouse_cart',
    )
    parser.add_argument('--json', action='store_true', help='print the problems as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.errors import BoundaryError
    from boundary_env_ros.storage.contract_check import check_text
    from boundary_env_ros.storage.contract_file import read_text

    checks: list[ContractCheck] = []
    unreadable = 0
    for file in options.files:
        try:
            source, text = read_text(file)
        except BoundaryError as error:
            complain(error)
            unreadable += 1
            continue
        check = check_text(text, source)
        checks.append(check)
        if not options.json:
            print(_told(check))
    if options.json:
        print_json([_json(check) for check in checks])
    if unreadable:
        return UNUSABLE
    return FOUND if any(check.problems for check in checks) else DONE


def _told(check: ContractCheck) -> str:
    count = len(check.problems)
    if count:
        head = f'{check.source}: {count} problem{"s" if count > 1 else ""}'
    else:
        head = f'{check.source}: no problem. {check.name} {check.version}, {check.digest}'
    return '\n  '.join([head, *map(str, check.problems), *check.notes])


def _json(check: ContractCheck) -> dict[str, object]:
    return {
        **asdict(check),
        'problems': [
            {**asdict(problem), 'path': list(problem.path)} for problem in check.problems
        ],
        'ok': not check.problems,
    }


COMMAND = Command(
    name='check',
    summary='report every problem of a contract, with line and fix',
    text="""\
Say everything that is wrong with a contract: where, what was expected, what is there instead.

Three things are looked at. First the language: unknown and missing keys, units, bounds, sections
that contradict one another. If it holds, the message types: is every type installed, is every
field path in its message? And the task: is it installed, does it take its parameters, does it
sample and supply what the contract says? Every problem has its key path and line. What cannot be
looked at here, because ROS is not there, is said in a sentence, and is no problem. Nor is what is
allowed but unwise, a note: a timeout of a driver that is taken on trust, since no `probe` is
declared by which the gate could measure it.

Nothing in a contract executes code; the task is found among the installed ones by its name.

  boundary-env check mine.yaml
  boundary-env check warehouse_cart door_arm --json""",
    exit_codes="""\
  0  no problem
  1  at least one problem
  2  wrong arguments, or a file that cannot be read""",
    arguments=_arguments,
    run=_run,
)
