# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env diff``."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import Command, print_json

if TYPE_CHECKING:
    from boundary_env_ros.evidence.difference import Difference

_UNUSABLE = 3


def _arguments(parser: argparse.ArgumentParser) -> None:
    for name, what in (('before', 'the contract that was'), ('after', 'the contract that is')):
        parser.add_argument(
            name, metavar=name.upper(), help=f'{what}: a file, or the name of a shipped one'
        )
    parser.add_argument('--json', action='store_true', help='print the changes as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.difference import difference
    from boundary_env_ros.storage.contract_file import load

    before, after = load(options.before), load(options.after)
    found = difference(before.contract, after.contract)
    same_text = before.text == after.text
    if options.json:
        print_json(_json(found, same_text=same_text))
    else:
        print(_told(found, same_text=same_text))
    return int(found.meaning)


def _told(found: Difference, *, same_text: bool) -> str:
    if found.before == found.after:
        text = 'the same text' if same_text else 'the texts differ, and mean the same'
        return f'No change: {text} ({found.after}).'
    counts = Counter(change.meaning.name.lower() for change in found.changes)
    kinds = ', '.join(f'{count} {name}' for name, count in counts.items())
    lines = [
        f'{kinds} change{"s" if len(found.changes) > 1 else ""}',
        f'from {found.before}',
        f'to   {found.after}',
    ]
    for change in found.changes:
        lines += [
            '',
            f'{change.meaning.name.lower():<12} {change.path}',
            f'    before   {change.before}',
            f'    after    {change.after}',
            f'    {change.why}',
        ]
    if not found.meaning:
        lines += [
            '',
            'Results are comparable; but nodes of different digests do not work together.',
        ]
    return '\n'.join(lines)


def _json(found: Difference, *, same_text: bool) -> dict[str, object]:
    return {
        'meaning': found.meaning.name.lower(),
        'before': found.before,
        'after': found.after,
        'same_text': same_text,
        'changes': [
            {
                'path': change.path,
                'meaning': change.meaning.name.lower(),
                'before': change.before,
                'after': change.after,
                'why': change.why,
            }
            for change in found.changes
        ],
    }


COMMAND = Command(
    name='diff',
    summary='compare two contracts, and say what that means for results',
    text="""\
Say what changed between two contracts, and what that means for results made under them.

  breaking      numbers mean something else, or fit no more: neither policies nor records of the
                one go with the other (spaces, units, frames, order, agents, the meaning of
                actions, causes)
  behavioural   numbers mean what they meant, but robot, world or task may behave otherwise:
                results are not of the same experiment (limits, timeouts, rates, pacing, latency
                budget, task version and parameters, reset)
  cosmetic      nothing (the text of the version; comments, layout and defaults that are written
                out do not even change the digest)

Every change has its key path, what was there and what is there now, and the reason of its class.
The exit code is the gravest of them, for CI:

  boundary-env diff released.yaml mine.yaml || echo 'not comparable'""",
    exit_codes="""\
  0  the same meaning: cosmetic changes at most
  1  behavioural changes at most
  2  at least one breaking change
  3  wrong arguments, or no valid contract; `boundary-env check` says what is wrong with it""",
    arguments=_arguments,
    run=_run,
    unusable=_UNUSABLE,
)
