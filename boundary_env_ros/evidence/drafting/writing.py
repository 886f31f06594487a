# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writing YAML for people: every key on its line, with the reason for its value behind it."""

from __future__ import annotations

from collections.abc import Sequence
import math
import re
import textwrap
from typing import TypeAlias

import yaml

GUESS = 'GUESS'
"""Marks what was made from what was seen."""

DECIDE = 'DECIDE'
"""Marks what only a person can know."""

_WIDTH = 99
_COLUMN = 44
_MOST_PLACES = 300
#: What begins like a number may be one to some reader.
_PLAIN = re.compile(r'[A-Za-z_][\w./ ^-]*|\d+\.\d+\.\d+', re.ASCII)

Scalar: TypeAlias = str | float | int | bool
Value: TypeAlias = Scalar | Sequence[Scalar]


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
        self._line(f'{"  " * depth}{scalar(key)}:', comment, depth)

    def key(self, key: str, value: Value, depth: int = 0, comment: str = '') -> None:
        """Write a key and its value."""
        self._line(f'{"  " * depth}{scalar(key)}: {written(value)}', comment, depth)

    def raw(self, line: str, depth: int = 0, comment: str = '') -> None:
        """Write a line as it is."""
        self._line('  ' * depth + line, comment, depth)

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
    if isinstance(value, (str, float, int)):
        return scalar(value)
    return f'[{", ".join(scalar(item, inside=True) for item in value)}]'


def scalar(value: Scalar, *, inside: bool = False) -> str:
    """
    Return a text or number as YAML.

    Parameters
    ----------
    value
        What is to be read back.
    inside
        Whether it stands in a list in brackets.

    """
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, (int, float)):
        return number(value)
    plain = _PLAIN.fullmatch(value) and value == value.strip() and _reads_back(value)
    # A path with an index would end the list that it stands in.
    if plain or (not inside and re.fullmatch(r'[\w.]+\[\d+\]', value)):
        return value
    if re.fullmatch(r'(roll|pitch|yaw)\([\w.\[\]]+\)', value) and '[' not in value:
        return value
    quoted = value.replace("'", "''")
    return f"'{quoted}'" if value.isprintable() else _escaped(value)


def _escaped(text: str) -> str:
    return '"' + ''.join(c if c.isalnum() else f'\\U{ord(c):08x}' for c in text) + '"'


def _reads_back(text: str) -> bool:
    return bool(yaml.safe_load(text) == text)


def number(value: float) -> str:
    """Return a number as YAML reads it back: ``1.0e-05``, not ``1e-05``, which is a text to it."""
    if isinstance(value, int):
        return str(value)
    text = repr(float(value))
    mantissa, e, exponent = text.partition('e')
    if not e:
        return text
    sign = exponent if exponent.startswith('-') else f'+{exponent.lstrip("+")}'
    return f'{mantissa if "." in mantissa else mantissa + ".0"}e{sign}'


def outward(low: float, high: float, digits: int = 2) -> tuple[float, float]:
    """
    Round bounds away from each other.

    Parameters
    ----------
    low, high
        The bounds.
    digits
        Significant digits, of their distance, or of the greater of them if they are equal.

    """
    size = high - low or max(abs(low), abs(high))
    # Beyond that, a float has no more digits to round.
    if size <= 0.0 or not math.isfinite(size) or size < 1e-12 * max(abs(low), abs(high)):
        return low, high
    places = digits - 1 - math.floor(math.log10(size))
    return 0.0 - _rounded_up(-low, places), _rounded_up(high, places)


def _rounded_up(value: float, places: int) -> float:
    if abs(places) > _MOST_PLACES:
        return value
    unit = 10.0 ** abs(places)
    scaled = value * unit if places >= 0 else value / unit
    # What is a whole number but for the last bit of a float shall stay it, if it is not less.
    for whole in (round(scaled), math.ceil(scaled), math.ceil(scaled) + 1):
        result = whole / unit if places >= 0 else whole * unit
        if result >= value:
            # Never -0.0, which is no number to a reader.
            return result + 0.0
    return value


def inward(low: float, high: float, digits: int = 2) -> tuple[float, float]:
    """Round bounds towards each other, as limits are; see :func:`outward`."""
    size = high - low
    if not math.isfinite(size) or size <= 1e-12 * max(abs(low), abs(high)):
        return low, high
    places = digits - 1 - math.floor(math.log10(size))
    least, most = _rounded_up(low, places), 0.0 - _rounded_up(-high, places)
    return (least, most) if least <= most else (low, high)


def nice(value: float, digits: int = 2) -> float:
    """Return a positive number rounded up to some significant digits."""
    # The last digits of a float are no reason to round up.
    return outward(0.0, float(f'{value:.9g}'), digits)[1]
