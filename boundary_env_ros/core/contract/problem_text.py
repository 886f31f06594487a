# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a contract: its place, what was expected, what is there, the way out."""

from __future__ import annotations

from collections.abc import Collection
import difflib

from boundary_env_ros.errors import Problem

Path = tuple[str | int, ...]
#: What is wrong: its place, what was expected, what is there, and the way out where there is one.
Fault = tuple[Path, str, object] | tuple[Path, str, object, str]


class Text(str):
    """A text that describes what was found, rather than being it; it is shown without quotes."""

    __slots__ = ()


def printable(text: str) -> str:
    """Return a text with what would steer a terminal written out."""
    return text if text.isprintable() else repr(text)[1:-1]


def problem_at(
    path: Path, line: int | None, expected: str, actual: str, hint: str = ''
) -> Problem:
    """Return the problem of a place, with what would steer a terminal written out."""
    keys = tuple(printable(key) if isinstance(key, str) else key for key in path)
    expected, actual, hint = map(printable, (expected, actual, hint))
    return Problem(path=keys, line=line, expected=expected, actual=actual, hint=hint)


def nearest(word: str, choices: Collection[str]) -> str:
    """Return a sentence that suggests the nearest of some words; empty if none is near."""
    near = difflib.get_close_matches(word, list(choices), n=1)
    return f'Did you mean {near[0]!r}?' if near else ''
