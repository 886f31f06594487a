# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How much of this machine a file may take: the limits that all readers share.

What a file says of itself is never believed. Each limit is far above what robots record, and
low enough for any machine that this package runs on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, Final

import yaml

from boundary_env_ros.errors import RecordError

#: Bytes of one message.
MESSAGE: Final = 128 << 20
#: Bytes of one chunk of an MCAP file, compressed or not.
CHUNK: Final = 256 << 20
#: Bytes of the chunks that are open at once, because their times overlap.
OPEN: Final = 1 << 30
#: How often a clock is set back in one file; beyond it its log times are chaos, and sorted.
ERAS: Final = 1000
#: Bytes of a file that was compressed as a whole: so many, or so many times what it has.
UNPACKED: Final = 1 << 30
UNPACKED_TIMES: Final = 64
#: Bytes of ``metadata.yaml``, of a manifest, or of the copy of one transition.
TEXT: Final = 8 << 20
#: Values of one YAML text; each becomes several objects. Levels of it.
VALUES: Final = 1 << 18
LEVELS: Final = 32
#: Elements of one array of messages or texts; each becomes an object.
ELEMENTS: Final = 1 << 20
#: The same where a node waits until it is read: less than 0.1 s.
ELEMENTS_AT_ONCE: Final = 1 << 14
#: Bytes of one message definition with those inside it, and of all definitions of a file.
DEFINITION: Final = 1 << 20
DEFINITIONS: Final = 64 << 20
#: Topics of one file.
TOPICS: Final = 2000
#: Levels of messages inside messages.
NESTING: Final = 32

_FIX: Final = 'take another copy of it, or record it in smaller parts'

# Only the C parser is fast enough for a bag of many topics; without libyaml there is the other.
_Loader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


def exceeded(where: object, what: str, most: int, got: str = 'more') -> RecordError:
    """
    Return the error for what is beyond a limit.

    Parameters
    ----------
    where
        File or place.
    what
        What there is too much of, with its unit.
    most
        The limit.
    got
        How much there is, if that is known.

    """
    return RecordError(f'{where} is too large (expected at most {most} {what}, got {got}); {_FIX}')


def open_file(path: Path) -> BinaryIO:
    """
    Open a regular file; a device may have no end, and a pipe no beginning.

    Raises
    ------
    OSError
        If it cannot be read.
    RecordError
        If it is no regular file.

    """
    if path.exists() and not path.is_file():
        raise RecordError(
            f'{path} cannot be read (expected a regular file, got a folder, pipe or device); put '
            'the file itself in its place'
        )
    return path.open('rb')


def read_file(path: Path, most: int) -> bytes:
    """
    Return the content of a regular file.

    Raises
    ------
    OSError
        If it cannot be read.
    RecordError
        If it is no regular file, or has more bytes than the limit.

    """
    with open_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise exceeded(path, 'bytes', most)
    return data


def load_yaml(text: bytes | str, where: object) -> object:
    """
    Return the plain data of a YAML text of a bag.

    Raises
    ------
    RecordError
        If it is no YAML, has too many levels, or aliases, which nothing that writes bags uses and
        which can be nested to grow without end.

    """
    level = 0
    try:
        for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
            if number > VALUES:
                raise exceeded(where, 'values of YAML', VALUES)
            if isinstance(event, yaml.AliasEvent):
                raise RecordError(
                    f'{where} has an alias (expected plain data, got *{event.anchor}); '
                    'write it out'
                )
            level += isinstance(event, yaml.CollectionStartEvent)
            level -= isinstance(event, yaml.CollectionEndEvent)
            if level > LEVELS:
                raise exceeded(where, 'levels of YAML', LEVELS)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe one
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        # Newer versions of libyaml and of PyYAML look ahead, and have a bound of their own.
        if 'nesting depth' in reason:
            raise exceeded(where, 'levels of YAML', LEVELS) from error
        raise RecordError(f'{where} cannot be read (expected YAML, got {reason})') from error
