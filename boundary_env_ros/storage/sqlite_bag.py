# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""SQLite files: those of a bag, and what keeps any of them from running a program of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
import sqlite3
import sys
from typing import Final
from urllib.parse import quote

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.channel import Channel, Contents, Stored
from boundary_env_ros.storage.log_order import LogPart, Span, spans_of

#: How a file begins.
SQLITE: Final = b'SQLite format 3\0'

# Steps of the virtual machine: so many, and so many for each byte of the file. To read a row takes
# some twenty; pages that lead back to each other could be read for ever.
_STEPS: Final = 10_000_000
_STEPS_PER_BYTE: Final = 10
_EACH: Final = 100_000

# Bytes before a write-ahead log, and before each page in it.
_LOG_HEAD, _FRAME_HEAD = 32, 24

_COUNTS = """
SELECT topics.id, count(messages.topic_id), min(messages.timestamp), max(messages.timestamp)
FROM topics LEFT JOIN messages ON topics.id = messages.topic_id GROUP BY topics.id
"""
# The length is looked at before the data are read. The plus has the index of the times used.
_MESSAGES = """
SELECT topic_id, timestamp, length(data) > :most, CASE WHEN length(data) <= :most THEN data END
FROM messages WHERE +rowid BETWEEN :first AND :last ORDER BY timestamp, rowid
"""
_TIMES = """
SELECT 0, rowid, topic_id, timestamp FROM messages
WHERE typeof(timestamp) = 'integer' ORDER BY rowid
"""


@contextmanager
def bounded(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """
    Let queries take as many steps as a sound file of that size can need.

    Raises
    ------
    RecordError
        If they take more.

    """
    most = _STEPS + _STEPS_PER_BYTE * path.stat().st_size
    steps = count(_EACH, _EACH)
    connection.set_progress_handler(lambda: next(steps) > most, _EACH)
    try:
        yield
    except sqlite3.OperationalError as error:
        if next(steps) <= most:
            raise
        raise size_limits.exceeded(path, 'steps of SQLite for a file of its size', most) from error
    finally:
        connection.set_progress_handler(None, 0)


class SqliteFile:
    """
    One ``.db3`` file of a bag; it knows log times only.

    Parameters
    ----------
    path
        The file.
    ours
        Whether it is a copy that may be written, of a file whose writer died: what stands in the
        logs beside it is brought into it.

    Raises
    ------
    RecordError
        If it cannot be read.

    """

    complete = True
    as_recorded = False
    holes: tuple[tuple[int, int], ...] = ()

    def __init__(self, path: Path, *, ours: bool = False) -> None:
        self.path, self._ours = path, ours
        self.tear = self._brought_in() if ours else ''
        with self._opened() as connection:
            self._channels = _channels(connection, path)
            counts: dict[Channel, int] = {}
            times: list[int] = []
            for number, messages, *some in connection.execute(_COUNTS):
                channel = self._channels[number]
                counts[channel] = counts.get(channel, 0) + messages
                times.extend(time for time in some if isinstance(time, int))
        self._contents = Contents(
            counts=counts, start=min(times, default=None), end=max(times, default=None)
        )

    def contents(self) -> Contents:
        """Return what is in it."""
        return self._contents

    def parts(self, wanted: Callable[[Channel], bool]) -> list[LogPart]:
        """Return what is to be read for the messages of some channels, one for each era."""
        chosen = {number: c for number, c in self._channels.items() if wanted(c)}
        if not chosen:
            return []
        with self._opened() as connection:
            spans = spans_of(connection.execute(_TIMES))
        if not spans or not spans[-1].era:  # The database sorts them.
            spans = [Span(0, 0, self._contents.start or 0, -sys.maxsize)]
        return [
            LogPart(self.path, span.era, span.start, 0, partial(self._messages, chosen, span))
            for span in spans
        ]

    def _messages(self, chosen: Mapping[int, Channel], span: Span) -> Iterator[Stored]:
        """Yield messages; their publish time is 0, as in what rosbag2 converts from it."""
        last = sys.maxsize if span.last is None else span.last - 1
        rows = {'most': size_limits.MESSAGE, 'first': span.first, 'last': last}
        with self._opened() as connection:
            for topic, time, large, data in connection.execute(_MESSAGES, rows):
                channel = chosen.get(topic)
                if channel is None:
                    continue
                if large:
                    where = f'{self.path}: a message of {channel.topic}'
                    raise size_limits.exceeded(where, 'bytes', size_limits.MESSAGE)
                if not (isinstance(time, int) and isinstance(data, bytes)):
                    raise _damaged(self.path, 'a message without a time or bytes')
                yield channel, time, 0, data

    def _brought_in(self) -> str:
        """Bring the write-ahead log into the file; return what of it cannot be read."""
        log = Path(f'{self.path}-wal')
        with self._opened() as connection:
            (page,) = connection.execute('PRAGMA page_size').fetchone()
            heads = _heads(log, page) if log.exists() else []
            _, read, _ = connection.execute('PRAGMA wal_checkpoint(PASSIVE)').fetchone()
            (found,) = connection.execute('PRAGMA quick_check(1)').fetchone()
            (pages,) = connection.execute('PRAGMA page_count').fetchone()
        if len(heads) > 1 and read <= 0:
            return f'nothing of {log.name} can be read ({len(heads) - 1} frames)'
        # A transaction ends with the size of the database.
        if found != 'ok' or (read > 0 and pages != int.from_bytes(heads[read][4:8], 'big')):
            raise _damaged(self.path, f'{log.name} is of another database ({found})')
        # Frames of an earlier log, which the file has, may follow.
        of_log = (number for number, head in enumerate(heads) if head[8:] == heads[0][8:])
        frames = max(of_log, default=0)
        if frames <= max(read, 0):
            return ''
        return f'of {frames} frames of {log.name} only the first {read} can be read'

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        # Immutable: a bag on a disk that cannot be written is read too, nothing comes beside it.
        mode = 'mode=rw' if self._ours else 'mode=ro&immutable=1'
        name = f'file:{quote(str(self.path.absolute()))}?{mode}'
        try:
            with (
                closing(sqlite3.connect(name, uri=True, check_same_thread=False)) as connection,
                bounded(connection, self.path),
            ):
                yield connection
        except (sqlite3.Error, OverflowError, KeyError, OSError) as error:
            raise _damaged(self.path, str(error)) from error


def _heads(log: Path, page: int) -> list[bytes]:
    """Return how a write-ahead log and each of its frames begin, up to what marks their time."""
    with log.open('rb') as file:
        found = []
        for place in (8, *range(_LOG_HEAD, log.stat().st_size, _FRAME_HEAD + page)):
            file.seek(place)
            found.append(file.read(16))
    return found


def _channels(connection: sqlite3.Connection, path: Path) -> dict[int, Channel]:
    tables = {
        name
        for name, sql in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
        )
        # A virtual table, or a column that is computed, is a program.
        if str(sql).upper().startswith('CREATE TABLE')
        and not any(hidden for *_, hidden in connection.execute(f'PRAGMA table_xinfo({name!r})'))
    }
    for table in ('topics', 'messages'):
        if table not in tables:
            raise _damaged(path, f'it has no table {table!r}')
    definitions: dict[str, tuple[str, str]] = {}
    if 'message_definitions' in tables:  # Since Iron.
        definitions = {
            name: (encoding, text)
            for name, encoding, text in connection.execute(
                'SELECT topic_type, encoding, encoded_message_definition '
                'FROM message_definitions WHERE length(encoded_message_definition) <= ?',
                (size_limits.DEFINITION,),
            )
        }
    found: dict[int, Channel] = {}
    for number, topic, kind, encoding in connection.execute(
        'SELECT id, name, type, serialization_format FROM topics ORDER BY id'
    ):
        language, text = definitions.get(kind, ('', ''))
        found[number] = Channel(
            topic=str(topic),
            type=str(kind),
            encoding=str(encoding),
            definition_encoding=str(language),
            definition=str(text).encode(errors='replace'),
        )
    return found


def _damaged(path: Path, got: str) -> RecordError:
    return RecordError(
        f'The bag {path} cannot be read: {got.rstrip(".")}. Take another copy of it.'
    )
