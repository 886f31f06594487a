# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What stands between all that the commands print and the terminal that shows it.

A record is text from elsewhere: its strings may steer a terminal, turn the direction of
a line around, or not be encodable at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
import re
import sys
from typing import Any, cast, TextIO

#: Steering codes (C0 but for tab and line end, DEL, C1), other line ends, and marks of direction.
_STEERING = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')


def printable(text: str, encoding: str = 'utf-8') -> str:
    """Return a text with what a terminal would not show as it is written out."""
    text = _STEERING.sub(lambda found: found[0].encode('unicode_escape').decode(), text)
    return text.encode(encoding, 'backslashreplace').decode(encoding)


def one_line(text: str) -> str:
    """Return a text that cannot begin a line of its own, for a cell or a sentence."""
    return printable(text).replace('\n', '\\n').replace('\t', '\\t')


def many(count: int, noun: str) -> str:
    """Return how many of something there are."""
    return f'{count} {noun}' + ('' if count == 1 else 's')


def table(
    rows: Iterable[Sequence[str]], *, right: Collection[int] = (), indent: int = 0
) -> list[str]:
    """
    Return rows as lines with aligned columns.

    Parameters
    ----------
    rows
        Cells, in every row as many.
    right
        Columns that are aligned to the right, as numbers are.
    indent
        Spaces before each line.

    """
    found = list(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    return [
        (
            ' ' * indent
            + '  '.join(
                cell.rjust(width) if i in right else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        ).rstrip()
        for row in found
    ]


class Printable:
    """A stream that shows what is written to it, and never does what it says."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; what would steer the terminal is written out."""
        return self.stream.write(printable(text, self.stream.encoding or 'utf-8'))

    def __getattr__(self, name: str) -> Any:
        """Return anything else of the stream itself."""
        return getattr(self.stream, name)


def steer(stream: TextIO, codes: str) -> None:
    """Write steering codes of our own; never a text that has another source."""
    target = stream.stream if isinstance(stream, Printable) else stream
    target.write(codes)


@contextmanager
def printing() -> Iterator[None]:
    """Let everything that is printed meanwhile be printable."""
    output = cast(TextIO, Printable(sys.stdout))
    errors = cast(TextIO, Printable(sys.stderr))
    with redirect_stdout(output), redirect_stderr(errors):
        yield
