# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The index of episodes: one row for each, written as its steps happen, in one SQLite file.

People's labels on episodes are in a table of their own.

The file is in WAL mode while it is written: readers never wait for the writer, nor it for them.
After ``kill -9`` each row is as the last call that returned left it; a power loss may take the
calls since the last sync of :meth:`EpisodeStore.descriptor`, never the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import sqlite3
from threading import Lock
from types import TracebackType
from urllib.parse import quote

from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.episode_label import EpisodeLabel
from boundary_env_ros.core.intervention import InterventionTracker
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.atomic import making
from boundary_env_ros.storage.episode_table import (
    add_label,
    APPLICATION_ID,
    bring_up_to_date,
    EpisodeRow,
    EPISODES,
    LABELS,
    read_label,
    read_row,
    REWARD,
    SCHEMA_VERSION,
    status_of,
    TABLES,
)
from boundary_env_ros.storage.sqlite_bag import bounded

__all__ = ['AnotherDatabase', 'EpisodeRow', 'EpisodeStore']


class AnotherDatabase(RecordError):
    """Raised when a file is a sound database, but no index that this version reads."""


class EpisodeStore:
    """The index of the episodes of a run. Made by :meth:`create`, read through :meth:`open`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool) -> None:
        self.path = path
        self._connection = connection
        self._writable = writable
        self._lock = Lock()
        self._closed = False
        self._hands: dict[str, InterventionTracker] = {}

    @classmethod
    def create(cls, path: Path) -> EpisodeStore:
        """
        Make a new index.

        Raises
        ------
        RecordError
            If the file exists already, or cannot be made.

        """
        with making(path, 'a new index'):
            path.open('xb').close()
        store = cls(path, _connect(path, 'rw'), writable=True)
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
            Open it for :meth:`label` too; whoever writes it meanwhile is not disturbed.

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

    @classmethod
    def copy(cls, source: Path, path: Path) -> EpisodeStore:
        """
        Make a new index with all that is in another, which nobody writes any more.

        What a writer that died left beside the other is brought into it first, by the database's
        own recovery.

        Raises
        ------
        RecordError
            If the other is damaged or in use, or the new one cannot be made.

        """
        settled = cls(source, _connect(source, 'rw'), writable=True)
        cls.create(path).close()
        store = cls(path, _connect(path, 'rw'), writable=True)
        try:
            with settled, settled._used() as old, store._used() as new:
                old.execute('PRAGMA journal_mode = DELETE')
                old.backup(new)
                (found,) = new.execute('PRAGMA quick_check').fetchone()
                if found != 'ok':
                    raise sqlite3.DatabaseError(found)
                new.execute('PRAGMA journal_mode = WAL')
            store._check_schema()
        except RecordError:
            store.close()
            raise
        return store

    def update(
        self, status: EpisodeStatus, *, environment: str, now: int, bag: str = 'bag'
    ) -> None:
        """
        Bring the row of an episode up to date, or begin it.

        Parameters
        ----------
        status
            State of the episode; one without an episode id is passed over.
        environment
            Name of the contract.
        now
            System time, nanoseconds.
        bag
            Where the records are, relative to the file of the index.

        Raises
        ------
        RecordError
            If the episode has ended, and this says otherwise: an ending is declared once.

        """
        if status.id.episode_id:
            with self._used() as connection:
                bring_up_to_date(connection, status, environment, now, bag)

    def add_step(self, transition: Transition, *, now: int, bag: str = 'bag') -> bool:
        """
        Add a step and its reward to the row of its episode; if it ended the episode, that too.

        Parameters
        ----------
        transition
            The step. One that was added before, or precedes such a one, is passed over.
        now
            System time, nanoseconds.
        bag
            Where the records are, relative to the file of the index.

        Returns
        -------
        bool
            Whether it was added.

        Raises
        ------
        RecordError
            If the episode has ended in another way.

        """
        key = (transition.id.episode_id, transition.id.agent)
        with self._used() as connection:
            row = connection.execute(
                'SELECT rewarded FROM episodes WHERE episode_id = ? AND agent = ?', key
            ).fetchone()
            if row is not None and row['rewarded'] >= transition.id.step:
                return False
            taken_over = self._taken_over(transition)
            connection.execute('BEGIN IMMEDIATE')
            try:
                if row is None or transition.terminated or transition.truncated:
                    status = status_of(transition)
                    bring_up_to_date(connection, status, transition.contract, now, bag)
                connection.execute(
                    REWARD, (transition.reward, transition.id.step, taken_over, now, *key)
                )
            except BaseException:
                connection.execute('ROLLBACK')
                raise
            connection.execute('COMMIT')
        return True

    def _taken_over(self, transition: Transition) -> int:
        hands = self._hands.setdefault(transition.id.agent, InterventionTracker())
        return sum(1 for _ in hands.follow(transition))

    def label(self, label: EpisodeLabel, *, now: int) -> bool:
        """
        Add what somebody says of an episode.

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
        with self._used() as connection:
            return add_label(connection, label, now)

    def episodes(self) -> tuple[EpisodeRow, ...]:
        """Return all episodes, the oldest first."""
        return self._read(None)

    def get(self, episode_id: str, agent: str | None = None) -> EpisodeRow | None:
        """
        Return one episode, None if it is not known.

        Parameters
        ----------
        episode_id
            Its UUID.
        agent
            The agent, where several share an episode; None: the first of them.

        """
        sharing = self.sharing(episode_id)
        return next((row for row in sharing if agent in (None, row.agent)), None)

    def sharing(self, episode_id: str) -> tuple[EpisodeRow, ...]:
        """Return one episode in the row of each of its agents; empty if it is not known."""
        return self._read(episode_id)

    def _read(self, episode_id: str | None) -> tuple[EpisodeRow, ...]:
        """Return the rows of one episode, or of all, with their labels."""
        with self._used() as connection, bounded(connection, self.path):
            rows = connection.execute(EPISODES, (episode_id,)).fetchall()
            labels = connection.execute(LABELS, (episode_id,)).fetchall()
        of: dict[tuple[str, str], list[EpisodeLabel]] = {}
        for label in labels:
            of.setdefault((label['episode_id'], label['agent']), []).append(
                read_label(label, self.path)
            )
        return tuple(
            read_row(row, self.path, tuple(of.get((row['episode_id'], row['agent']), ())))
            for row in rows
        )

    def descriptor(self) -> int:
        """
        Return a file descriptor for whoever waits until the last calls are on the disk.

        That of the log of the database: to open and close the database itself would take away
        the locks that SQLite has on it.
        """
        return os.open(f'{self.path}-wal', os.O_RDONLY)

    def close(self) -> None:
        """Close the index; a writer leaves one plain file, readable from a read-only place too."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._writable:
                    self._connection.execute('PRAGMA journal_mode = DELETE')
            except sqlite3.OperationalError:
                pass  # Somebody reads it just now; it stays in WAL mode, which is as good.
            finally:
                self._connection.close()

    def __enter__(self) -> EpisodeStore:
        """Return the index."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the index."""
        self.close()

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
                f'{self.path} is no index of episodes (expected its two tables, got others); '
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
