# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env describe``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from boundary_env_ros.cli.command import Command, DONE, print_json
from boundary_env_ros.terminal import steer

_NARROWEST, _WIDEST = 80, 100
_BOLD, _PLAIN = '\x1b[1m', '\x1b[0m'


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'file',
        metavar='FILE',
        help='contract, or the name of a shipped one, for example warehouse_cart',
    )
    parser.add_argument('--json', action='store_true', help='print it as JSON')


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.evidence.describe import as_data, describe
    from boundary_env_ros.storage.contract_file import load

    loaded = load(options.file)
    if options.json:
        print_json(as_data(loaded.contract, loaded.digest))
        return DONE
    columns = shutil.get_terminal_size((_NARROWEST + 12, 24)).columns
    width = max(_NARROWEST, min(_WIDEST, columns))
    sections = describe(loaded.contract, loaded.digest, written=loaded.lines, width=width)
    can_bold = sys.stdout.isatty() and os.environ.get('TERM') != 'dumb'
    on, off = (_BOLD, _PLAIN) if can_bold else ('', '')
    for number, section in enumerate(sections):
        print('\n' * (number > 0), end='')
        steer(sys.stdout, on)
        print(section.title, end='')
        steer(sys.stdout, off)
        print()
        for line in section.lines:
            print(line)
    return DONE


COMMAND = Command(
    name='describe',
    summary='print a contract with its defaults and what each key means',
    text="""\
Draw a contract for a reader.

First the four questions of ownership are answered: which process owns the observation, which the
choice of action, which the ending, and which field records the timing. Then every key with the
value that holds, its unit and what it means; where the file does not say it, that it is the
default. At last the topics, and what reads or writes them.

  boundary-env describe warehouse_cart
  boundary-env describe mine.yaml --json | jq .owners""",
    exit_codes="""\
  0  done
  2  wrong arguments, or no valid contract; `boundary-env check` says what is wrong with it""",
    arguments=_arguments,
    run=_run,
)
