# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writing YAML for people: every key on its line, with the reason for its value behind it."""

from __future__ import annotations

from collections.abc import Sequence
import math
import textwrap
from typing import TypeAlias

import yaml

from boundary_env_ros.storage.contract_check import DECIDE, GUESS
from boundary_env_ros.storage.yaml_text import is_text

_WIDTH = 99
_COLUMN = 44
Scalar: TypeAlias = str | float | int | bool
Value: TypeAlias = Scalar | Sequence[Scalar]

#: Key, value and comment; an empty value is for a person to fill in.
Line: TypeAlias = tuple[str, Value, str]
Lines: TypeAlias = Sequence[Line]


def guess(why: str) -> str:
    """Return the comment of a value that was made from what was seen."""
    return f'{GUESS}: {why}'


def decide(what: str) -> str:
    """Return the comment of a value that only a person can know."""
    return f'{DECIDE}: {what}'


class Page:
    """Lines of YAML, indented by sections."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def text(self) -> str:
        """Return the whole."""
        return '\n'.join(self._lines) + '\n'

    def note(self, text: str, depth: int = 0) -> None:
        """Write a comment of its own."""
        margin = '  ' * depth + '# '
        self._lines += textwrap.wrap(
            _clean(text),
            _WIDTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def blank(self) -> None:
        """Write an empty line."""
        self._lines.append('')

    def section(self, key: str, depth: int = 0, comment: str = '') -> None:
        """Write a key that has keys below it."""
        self._line(f'{"  " * depth}{written(key)}:', comment, depth)

    def key(self, key: str, value: Value, depth: int = 0, comment: str = '') -> None:
        """Write a key and its value."""
        self._line(f'{"  " * depth}{written(key)}: {written(value)}', comment, depth)

    def form(self, lines: Lines, depth: int) -> None:
        """Write keys and their values; what is empty is for a person to fill in."""
        for key, value, comment in lines:
            if value in ('', ()):
                self.section(key, depth, comment)
            else:
                self.key(key, value, depth, comment)

    def raw(self, line: str, depth: int) -> None:
        """Write a line as it is."""
        self._lines.append('  ' * depth + line)

    def _line(self, line: str, comment: str, depth: int) -> None:
        if not comment:
            self._lines.append(line)
            return
        beside = f'{line:<{_COLUMN}}  # {_clean(comment)}'
        if len(beside) <= _WIDTH:
            self._lines.append(beside)
        else:
            self.note(comment, depth)
            self._lines.append(line)


def _clean(text: str) -> str:
    """Return a text without what would end a comment, or hide in it."""
    return ''.join(c if c.isprintable() else '?' for c in ' '.join(text.split()))


def written(value: Value) -> str:
    """Return a value as YAML on one line."""
    if not isinstance(value, (str, float, int)):
        return f'[{", ".join(map(written, value))}]'
    # A line end in quotes would be one of the file, unless it is escaped.
    plain = not isinstance(value, str) or (value.isprintable() and is_text(value))
    style = None if plain else '"'
    line = yaml.safe_dump([value], default_flow_style=True, default_style=style, width=math.inf)
    return str(line).rstrip()[1:-1]
