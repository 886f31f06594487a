# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a command of ``boundary-env`` is, and what commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
import json
from pathlib import Path
import sys
from typing import Any, NoReturn

import yaml

DONE = 0
FOUND = 1
UNUSABLE = 2

#: What a record can be, for the help of each command that reads one.
RECORD = 'run folder, bag, .mcap, .db3, .jsonl, or folder of an exported data set'


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """
    One command.

    Attributes
    ----------
    name
        The word after ``boundary-env``.
    summary
        One line for the list of commands.
    text
        What it does, for its own help.
    exit_codes
        What its exit codes mean, for its own help.
    arguments
        Declares its arguments.
    run
        Runs it with the parsed arguments and returns the exit code. What needs long to be
        imported is imported there.
    unusable
        Exit code for wrong arguments, unreadable input, or something missing.

    """

    name: str
    summary: str
    text: str
    exit_codes: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    unusable: int = UNUSABLE


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations, and has an exit code of its own for what is wrong."""

    def __init__(self, *, unusable: int = UNUSABLE, **options: Any) -> None:
        options['allow_abbrev'] = False
        options['formatter_class'] = argparse.RawDescriptionHelpFormatter
        super().__init__(**options)
        self.unusable = unusable

    def error(self, message: str) -> NoReturn:
        """Say how the command is used and what was wrong with it, and exit."""
        self.print_usage(sys.stderr)
        self.exit(self.unusable, f'{self.prog}: {message}\n')


def complain(error: object) -> None:
    """Print what went wrong, where it does not mix with what was asked for."""
    print(f'boundary-env: {error}', file=sys.stderr)


def look_here() -> None:
    """Let modules be found where the command is given, as with ``python -m``."""
    here = Path.cwd().as_posix()
    if here not in sys.path:
        sys.path.insert(0, here)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def count(text: str) -> int:
    """Return the whole number, 0 or more, that an argument is."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f'expected a whole number, 0 or more, got {text!r}')
    return number


def name_value(text: str) -> tuple[str, Any]:
    """Return the name and the value, read as YAML, that an argument ``NAME=VALUE`` is."""
    name, sign, value = text.partition('=')
    if not (name.isidentifier() and sign):
        raise argparse.ArgumentTypeError(f'expected NAME=VALUE, got {text!r}')
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise argparse.ArgumentTypeError(f'expected a value in YAML, got {value!r}') from error
