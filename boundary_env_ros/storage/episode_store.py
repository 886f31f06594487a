# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The index of episodes in one SQLite file, written at each flush while the run goes on.

People's labels on episodes are in a table of their own.

The file is in WAL mode while it is written: readers never wait for the writer, nor it for them.
After ``kill -9`` each row is as the last flush left it; a power loss may take the flushes since
the last sync of :meth:`EpisodeStore.descriptor`, never the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
import json
import os
from pathlib import Path
import sqlite3
from threading import Lock
from typing import Final, TypeVar
from urllib.parse import quote

from boundary_env_ros.core.environment.reset import SavedState
from boundary_env_ros.core.records.episode import EpisodeLabel
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.atomic import Closing, making
from boundary_env_ros.storage.episode_index import EpisodeIndex, EpisodeRow
from boundary_env_ros.storage.sqlite_bag import bounded
from boundary_env_ros.storage.transition_json import each_key_once

__all__ = ['AnotherDatabase', 'EpisodeRow', 'EpisodeStore']

T = TypeVar('T')

SCHEMA_VERSION: Final = 3

#: Marks a file as ours ("BErE"), so that another database is never written to.
APPLICATION_ID: Final = 0x42457245

TABLES = (
    """
CREATE TABLE episodes (
    episode_id  TEXT NOT NULL,
    agent       TEXT NOT NULL,
    record      TEXT NOT NULL,      -- the whole EpisodeRow, JSON; its labels are below
    PRIMARY KEY (episode_id, agent)
)
""",
    # What people say, apart from what the environment says. Rows are added, never changed.
    """
CREATE TABLE labels (
    episode_id  TEXT NOT NULL,
    agent       TEXT NOT NULL,
    label       TEXT NOT NULL,      -- SUCCESS, FAILURE or UNCLEAR
    user        TEXT NOT NULL,
    note        TEXT NOT NULL,
    record      TEXT NOT NULL,      -- the whole EpisodeLabel, JSON
    labelled_at  INTEGER NOT NULL    -- nanoseconds of system time
)
""",
    # What a world gave of itself, to go on from later. Rows are added, never changed.
    """
CREATE TABLE states (
    episode_id  TEXT NOT NULL,
    agent       TEXT NOT NULL,
    step        INTEGER NOT NULL,
    state       TEXT NOT NULL,      -- JSON
    saved_at    INTEGER NOT NULL    -- nanoseconds of system time
)
""",
)

_PUT = """
INSERT INTO episodes VALUES (?, ?, ?)
ON CONFLICT (episode_id, agent) DO UPDATE SET record = excluded.record
"""

_EPISODES = 'SELECT episode_id, agent, record FROM episodes ORDER BY rowid'

_LABEL = """
INSERT INTO labels (episode_id, agent, label, user, note, record, labelled_at)
SELECT :episode_id, :agent, :label, :user, :note, :record, :now
WHERE NOT EXISTS (SELECT 1 FROM labels WHERE record = :record)
"""

_REPAIR = '`boundary-env bag recover` makes a new index.'

_STATES = 'SELECT agent, step, state FROM states WHERE episode_id = ? ORDER BY saved_at, rowid'

_LABELS = """
SELECT episode_id, agent, label, user, note, record FROM labels ORDER BY labelled_at, rowid
"""


class AnotherDatabase(RecordError):
    """Raised when a file is a sound database, but no index that this version reads."""


class EpisodeStore(Closing):
    """
    The index of the episodes of a run. Made by :meth:`create`, read through :meth:`open`.

    Their steps are in the records beside it, where each row says.

    Attributes
    ----------
    path
        The file.
    index
        What its writer knows of the episodes; :meth:`flush` writes down what is new of it.

    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool) -> None:
        self.path = path
        self._connection = connection
        self._writable = writable
        self._lock = Lock()
        self._closed = False
        self.index = EpisodeIndex()

    @classmethod
    def create(cls, path: Path, rows: Iterable[EpisodeRow] = ()) -> EpisodeStore:
        """
        Make a new index.

        Parameters
        ----------
        path
            The file.
        rows
            What is known already; of people's labels nothing.

        Raises
        ------
        RecordError
            If the file exists already, or cannot be made.

        """
        with making(path, 'a new index'):
            path.open('xb').close()
        store = cls(path, _connect(path, 'rw'), writable=True)
        store.index = EpisodeIndex(rows)
        try:
            with store._used() as connection:
                connection.execute('PRAGMA journal_mode = WAL')
                connection.execute('PRAGMA synchronous = NORMAL')
                connection.execute('BEGIN IMMEDIATE')
                for table in TABLES:
                    connection.execute(table)
                connection.execute(f'PRAGMA application_id = {APPLICATION_ID}')
                connection.execute(f'PRAGMA user_version = {SCHEMA_VERSION}')
                connection.execute('COMMIT')
        except RecordError:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path, *, to_label: bool = False) -> EpisodeStore:
        """
        Open an index to read it, while it is being written or afterwards.

        Parameters
        ----------
        path
            The file.
        to_label
            Open it for :meth:`label` too; a recorder that writes it meanwhile is not disturbed.

        Raises
        ------
        RecordError
            If there is none, or the file is something else, or of a newer version.

        """
        if not path.is_file():
            raise RecordError(
                f'No index of episodes: {path} does not exist. '
                'A run writes it as soon as its recorder starts.'
            )
        store = cls(path, _connect(path, 'rw' if to_label else 'ro'), writable=False)
        try:
            store._check_schema()
        except RecordError:
            store.close()
            raise
        return store

    def flush(self) -> None:
        """
        Write what is new of the index; readers see all of it or nothing.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        changed = self.index.changed
        if not changed:
            return
        rows = [(*key, json.dumps(to_json(row), allow_nan=False)) for key, row in changed.items()]
        with self._used() as connection, connection:
            connection.execute('BEGIN IMMEDIATE')
            connection.executemany(_PUT, rows)
        changed.clear()

    def label(self, label: EpisodeLabel, *, now: int) -> bool:
        """
        Add what a person says of an episode.

        It changes nothing of the row of the episode. The same label again is passed over.

        Parameters
        ----------
        label
            The label.
        now
            System time, nanoseconds.

        Returns
        -------
        bool
            Whether it was added.

        Raises
        ------
        RecordError
            If there is no such episode.

        """
        self.flush()
        step = label.id
        values = {
            'episode_id': step.episode_id,
            'agent': step.agent,
            'label': label.label.name,
            'user': label.user,
            'note': label.note,
            'record': json.dumps(to_json(label), allow_nan=False),
            'now': now,
        }
        with self._used() as connection:
            known = connection.execute(
                'SELECT 1 FROM episodes WHERE episode_id = ? AND agent = ?',
                (step.episode_id, step.agent),
            ).fetchone()
            if known is not None:
                return connection.execute(_LABEL, values).rowcount > 0
        raise RecordError(
            f'The episode {step.episode_id!r} of agent {step.agent!r} is not in the index. '
            '`boundary-env episodes list RUN` lists them.'
        )

    def episodes(self) -> tuple[EpisodeRow, ...]:
        """
        Return all episodes with their labels, the oldest first.

        Raises
        ------
        RecordError
            If one cannot be read; it names the file and the episode.

        """
        self.flush()
        with self._used() as connection, bounded(connection, self.path):
            rows = connection.execute(_EPISODES).fetchall()
            labels = connection.execute(_LABELS).fetchall()
        of: dict[object, list[EpisodeLabel]] = {}
        for row in labels:
            of.setdefault((row['episode_id'], row['agent']), []).append(_label_of(row, self.path))
        return tuple(
            _row_of(row, self.path, tuple(of.get((row['episode_id'], row['agent']), ())))
            for row in rows
        )

    def keep_state(self, saved: SavedState, *, now: int) -> None:
        """
        Add the state of a world.

        Parameters
        ----------
        saved
            The state.
        now
            System time, nanoseconds.

        Raises
        ------
        RecordError
            If it cannot be written.

        """
        step = saved.id
        values = (step.episode_id, step.agent, step.step, saved.state, now)
        with self._used() as connection:
            connection.execute('INSERT INTO states VALUES (?, ?, ?, ?, ?)', values)

    def states(self, episode_id: str) -> tuple[SavedState, ...]:
        """
        Return the states that were kept of an episode, the oldest first.

        Raises
        ------
        RecordError
            If they cannot be read.

        """
        with self._used() as connection, bounded(connection, self.path):
            rows = connection.execute(_STATES, (episode_id,)).fetchall()
        return tuple(
            SavedState(
                id=StepId(digest='', agent=row['agent'], episode_id=episode_id, step=row['step']),
                state=row['state'],
            )
            for row in rows
        )

    def descriptor(self) -> int:
        """
        Return a file descriptor with which to wait until the last calls are on the disk.

        That of the log of the database: to open and close the database itself would take away
        the locks that SQLite has on it.
        """
        return os.open(f'{self.path}-wal', os.O_RDONLY)

    def close(self) -> None:
        """Close the index; a writer leaves one plain file, readable from a read-only place too."""
        if self._closed:
            return
        try:
            if self._writable:
                self.flush()
        finally:
            with self._lock:
                self._closed = True
                # One that is being read just now stays in WAL mode, which is as good.
                with suppress(sqlite3.OperationalError):
                    if self._writable:
                        self._connection.execute('PRAGMA journal_mode = DELETE')
                self._connection.close()

    def _check_schema(self) -> None:
        with self._used() as connection:
            (application,) = connection.execute('PRAGMA application_id').fetchone()
            (version,) = connection.execute('PRAGMA user_version').fetchone()
            schema = {sql for (sql,) in connection.execute('SELECT sql FROM sqlite_master')}
        if application != APPLICATION_ID:
            raise AnotherDatabase(
                f'{self.path} is not an index of episodes but another database. '
                'Name the episodes.sqlite of a run.'
            )
        if version != SCHEMA_VERSION:
            raise AnotherDatabase(
                f'{self.path} has another version (expected {SCHEMA_VERSION}, got '
                f'{version}). Read it with the version of boundary_env_ros that wrote it.'
            )
        # A view or a trigger is a program, which may have no end.
        if schema - {None} != {table.strip() for table in TABLES}:
            raise AnotherDatabase(
                f'{self.path} is no index of episodes (expected its tables, got others); '
                'name the episodes.sqlite of a run'
            )

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                raise RecordError(f'The index {self.path} is closed.')
            try:
                yield self._connection
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                raise RecordError(f'The index {self.path} cannot be used: {error}.') from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f'file:{quote(str(path.absolute()))}?mode={mode}',
            uri=True,
            # Each call commits by itself.
            isolation_level=None,
            # The lock of the store lets one thread at a time in.
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        return connection
    except sqlite3.Error as error:
        raise RecordError(f'{path} is not an index of episodes: {error}.') from error


def _row_of(row: sqlite3.Row, path: Path, labels: tuple[EpisodeLabel, ...]) -> EpisodeRow:
    where = f'{path}, episode {row["episode_id"]}'
    found = _from_text(EpisodeRow, row['record'], where)
    if found.key != (row['episode_id'], row['agent']):
        raise RecordError(f'{where}: it is that of {found.episode_id} of {found.agent}. {_REPAIR}')
    return replace(found, labels=labels)


def _label_of(row: sqlite3.Row, path: Path) -> EpisodeLabel:
    where = f'{path}, a label on episode {row["episode_id"]}'
    found = _from_text(EpisodeLabel, row['record'], where)
    labelled = (found.id.episode_id, found.id.agent, found.label.name, found.user, found.note)
    columns = tuple(row[name] for name in ('episode_id', 'agent', 'label', 'user', 'note'))
    if labelled != columns:
        raise RecordError(f'{where}: its record says {labelled}, its columns {columns}. {_REPAIR}')
    return found


def _from_text(cls: type[T], text: object, where: str) -> T:
    """Return the record that a column holds as JSON."""
    try:
        plain = text if isinstance(text, str) else repr(text)
        # SQL takes the first of two keys, Python the last.
        return from_json(cls, json.loads(plain, object_pairs_hook=each_key_once), where)
    except (ValueError, RecursionError) as error:
        raise RecordError(f'{where}: expected it as JSON, got {error}. {_REPAIR}') from error
