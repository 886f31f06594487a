# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Transitions as text: one line of strict JSON for each.

A crash of the process, ``kill -9`` included, costs at most the line that was being written; a
power loss, what the kernel had not yet brought to the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from pathlib import Path
from typing import NoReturn

from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import limits
from boundary_env_ros.storage.atomic import Closing, making

#: How files of transitions are called: a line for each, or one alone.
LINES = ('.jsonl', '.json')


class TransitionJsonl(Closing):
    """
    A file of transitions that is being written.

    Parameters
    ----------
    path
        The file; made here.

    Raises
    ------
    RecordError
        If it exists already, or cannot be made.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = 0
        self._failure = ''
        with making(path, 'a new file'):
            # Without a buffer each line is with the kernel when `append` returns.
            self._file = path.open('xb', buffering=0)

    @property
    def lines(self) -> int:
        """Return the number of transitions written."""
        return self._lines

    def append(self, transition: Transition) -> None:
        """
        Write one transition.

        Raises
        ------
        RecordError
            If it cannot be written (disk full), from then on at every call; or if the file is
            closed.

        """
        if self._failure:
            raise RecordError(self._failure)
        if self._file.closed:
            raise RecordError(f'{self.path} is closed, after {self._lines} lines.')
        line = memoryview(dump_line(transition))
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            self._fail(error)
        self._lines += 1

    def close(self) -> None:
        """Wait for the disk and close the file."""
        if self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._fail(error)
        finally:
            self._file.close()

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = (
            f'{self.path} cannot be written: {error.strerror or error}. '
            f'{self._lines} whole lines before it can be read. Free space and record again.'
        )
        raise RecordError(self._failure) from error


def read_lines(path: Path) -> Iterator[tuple[int, Transition | RecordError | None]]:
    """
    Yield the number (from 1) of each line and its transition, or why it is none.

    None stands for a torn last line: without its line end, and no whole record, as a crash leaves
    it.

    Raises
    ------
    RecordError
        If the file cannot be read.

    """
    try:
        for number, line in enumerate(_lines_of(path), 1):
            found: Transition | RecordError | None = None
            if line.endswith(b'\n') or _is_json(line):
                try:
                    found = load_line(line, f'{path}:{number}')
                except RecordError as error:
                    found = error
            yield number, found
    except OSError as error:
        raise _unreadable(path, error) from error


def read_jsonl(path: Path) -> Iterator[Transition]:
    """
    Yield the transitions of a file; see :func:`read_lines`.

    Raises
    ------
    RecordError
        If the file cannot be read or a line is no transition; it names file and line.

    """
    for _, found in read_lines(path):
        if isinstance(found, RecordError):
            raise found
        if found is not None:
            yield found


def _lines_of(path: Path) -> Iterator[bytes]:
    # A `.json` file is one line, however it is laid out.
    if path.suffix == '.json':
        yield limits.read_file(path, limits.LINE)
    else:
        yield from limits.read_lines(path)


def dump_line(transition: Transition) -> bytes:
    """Return a transition as one line of strict JSON, with its line end."""
    text = json.dumps(to_json(transition), allow_nan=False, separators=(',', ':'))
    return text.encode('ascii') + b'\n'


def load_line(line: bytes, where: str) -> Transition:
    """
    Return the transition of one line.

    Parameters
    ----------
    line
        The line.
    where
        What errors call it.

    Raises
    ------
    RecordError
        If it is not strict JSON (a number that is not finite, a key twice), or not a transition.

    """
    try:
        data = json.loads(
            line, object_pairs_hook=_object, parse_constant=_not_json, parse_float=_finite
        )
        return from_json(Transition, data, where)
    except (ValueError, OverflowError, RecursionError) as error:
        raise RecordError(f'{where}: expected one line of strict JSON, got {error}.') from error


def _unreadable(path: Path, error: OSError) -> RecordError:
    return RecordError(f'Expected a file of transitions, got {path}: {error.strerror or error}.')


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key {twice!r} is there twice')
    return found


def _not_json(word: str) -> NoReturn:
    raise ValueError(f'{word} is not JSON')


def _finite(text: str) -> float:
    value = float(text)
    if value in (float('inf'), float('-inf')):
        raise ValueError(f'{text} is not a number of 64 bits')
    return value
