# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The index of episodes: one row for each, written as its steps happen, in one SQLite file.

The file is in WAL mode while it is written: readers never wait for the writer, nor it for them.
After ``kill -9`` each row is as the last call that returned left it; a power loss may take the
last calls, never the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import json
from pathlib import Path
import sqlite3
from threading import Lock
from types import TracebackType
from typing import Final
from urllib.parse import quote

from boundary_env_ros.core.causes import SUCCESS
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError

SCHEMA_VERSION: Final = 1

#: Marks a file as ours ("BErE"), so that somebody else's database is never written to.
APPLICATION_ID: Final = 0x42457245

_TABLE = """
CREATE TABLE episodes (
    episode_id  TEXT NOT NULL,
    agent       TEXT NOT NULL,
    environment TEXT NOT NULL,      -- name of the contract
    digest      TEXT NOT NULL,      -- and its digest
    state       TEXT NOT NULL,      -- the last EpisodeStatus, JSON
    done        INTEGER NOT NULL,   -- 1 if it has ended
    ending      TEXT NOT NULL,      -- TERMINATED, TRUNCATED, or empty
    cause       TEXT NOT NULL,      -- empty until it has ended
    declared_by TEXT NOT NULL,
    success     INTEGER,            -- NULL until it has ended
    step_count  INTEGER NOT NULL,   -- last step that was closed
    "return"    REAL,               -- sum of the rewards; NULL if one was not a number
    seed        TEXT NOT NULL,      -- decimal: up to 64 bits without sign
    bag         TEXT NOT NULL,      -- where the records are, relative to this file
    created_at  INTEGER NOT NULL,   -- nanoseconds of system time
    updated_at  INTEGER NOT NULL,
    rewarded    INTEGER NOT NULL DEFAULT -1,  -- last step whose reward is in "return"
    PRIMARY KEY (episode_id, agent)
)
"""

_COLUMNS = (
    'episode_id, agent, environment, digest, state, done, ending, cause, declared_by, success, '
    'step_count, "return", seed, bag, created_at, updated_at'
)

_UPDATE = """
INSERT INTO episodes (episode_id, agent, environment, digest, state, done, ending, cause,
    declared_by, success, step_count, "return", seed, bag, created_at, updated_at)
VALUES (:episode_id, :agent, :environment, :digest, :state, :done, :ending, :cause, :declared_by,
    :success, :step_count, 0.0, :seed, :bag, :now, :now)
ON CONFLICT (episode_id, agent) DO UPDATE SET
    state = excluded.state, done = excluded.done, ending = excluded.ending, cause = excluded.cause,
    declared_by = excluded.declared_by, success = excluded.success, seed = excluded.seed,
    step_count = max(step_count, excluded.step_count), updated_at = excluded.updated_at
"""

_REWARD = """
UPDATE episodes SET "return" = "return" + ?1, rewarded = ?2,
    step_count = max(step_count, ?2), updated_at = ?3
WHERE episode_id = ?4 AND agent = ?5
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRow:
    """
    One episode as the index knows it.

    Attributes
    ----------
    environment, digest
        Name and digest of the contract.
    state
        The last status that was published.
    done, ending, cause, declared_by
        Whether, how and why it ended, and who said so; empty until then.
    success
        Whether it ended with the cause ``success``; None until it has ended.
    step_count
        The last step that was closed.
    episode_return
        Sum of the rewards; None if one of them was not a number.
    bag
        Where the records are, relative to the file of the index.
    created_at, updated_at
        Nanoseconds of system time.

    """

    episode_id: str
    agent: str
    environment: str
    digest: str
    state: EpisodeStatus
    done: bool
    ending: str
    cause: str
    declared_by: str
    success: bool | None
    step_count: int
    episode_return: float | None
    seed: int
    bag: str
    created_at: int
    updated_at: int


class EpisodeStore:
    """The index of the episodes of a run. Made by :meth:`create`, read through :meth:`open`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool) -> None:
        self.path = path
        self._connection = connection
        self._writable = writable
        self._lock = Lock()
        self._closed = False

    @classmethod
    def create(cls, path: Path) -> EpisodeStore:
        """
        Make a new index.

        Raises
        ------
        RecordError
            If the file exists already, or cannot be made.

        """
        try:
            path.open('xb').close()
        except FileExistsError:
            raise RecordError(
                f'Expect a place for a new index, actually: {path} exists already, not '
                'overwritten. Choose another place, or move the old one away.'
            ) from None
        except OSError as error:
            raise RecordError(
                f'Expect to make {path}, actually: {error.strerror or error}. '
                'Choose another place.'
            ) from error
        store = cls(path, _connect(path, 'rw'), writable=True)
        try:
            with store._used() as connection:
                connection.execute('PRAGMA journal_mode = WAL')
                connection.execute('PRAGMA synchronous = NORMAL')
                connection.execute('BEGIN IMMEDIATE')
                connection.execute(_TABLE)
                connection.execute(f'PRAGMA application_id = {APPLICATION_ID}')
                connection.execute(f'PRAGMA user_version = {SCHEMA_VERSION}')
                connection.execute('COMMIT')
        except RecordError:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path) -> EpisodeStore:
        """
        Open an index to read it, while it is being written or afterwards.

        Raises
        ------
        RecordError
            If there is none, or the file is something else, or of a newer version.

        """
        if not path.is_file():
            raise RecordError(
                f'Expect an index of episodes, actually: there is no file {path}. '
                'A run writes it as soon as its recorder starts.'
            )
        store = cls(path, _connect(path, 'ro'), writable=False)
        try:
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
                _bring_up_to_date(connection, status, environment, now, bag)

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
            connection.execute('BEGIN IMMEDIATE')
            try:
                if row is None or transition.terminated or transition.truncated:
                    status = _status_of(transition)
                    _bring_up_to_date(connection, status, transition.contract, now, bag)
                connection.execute(_REWARD, (transition.reward, transition.id.step, now, *key))
            except BaseException:
                connection.execute('ROLLBACK')
                raise
            connection.execute('COMMIT')
        return True

    def episodes(self) -> tuple[EpisodeRow, ...]:
        """Return all episodes, the oldest first."""
        with self._used() as connection:
            rows = connection.execute(
                f'SELECT {_COLUMNS} FROM episodes ORDER BY created_at, rowid'
            ).fetchall()
        return tuple(self._row(row) for row in rows)

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
        with self._used() as connection:
            row = connection.execute(
                f'SELECT {_COLUMNS} FROM episodes '
                'WHERE episode_id = ? AND (? IS NULL OR agent = ?) ORDER BY rowid',
                (episode_id, agent, agent),
            ).fetchone()
        return None if row is None else self._row(row)

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
        if application != APPLICATION_ID:
            raise RecordError(
                f'Expect an index of episodes, actually: {self.path} is a database of something '
                'else. Name the episodes.sqlite of a run.'
            )
        if version != SCHEMA_VERSION:
            raise RecordError(
                f'Expect an index of version {SCHEMA_VERSION}, actually: {self.path} has version '
                f'{version}. Read it with the version of boundary_env_ros that wrote it.'
            )

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                raise RecordError(f'Expect an open index, actually: {self.path} was closed.')
            try:
                yield self._connection
            except (sqlite3.Error, OverflowError) as error:
                raise RecordError(
                    f'Expect an index of episodes in {self.path}, actually: {error}.'
                ) from error

    def _row(self, row: sqlite3.Row) -> EpisodeRow:
        where = f'{self.path}, episode {row["episode_id"]}'
        try:
            state = from_json(EpisodeStatus, json.loads(row['state']), where)
        except ValueError as error:
            raise RecordError(f'{where}: expect its state as JSON, actually: {error}.') from error
        return EpisodeRow(
            episode_id=row['episode_id'],
            agent=row['agent'],
            environment=row['environment'],
            digest=row['digest'],
            state=state,
            done=bool(row['done']),
            ending=row['ending'],
            cause=row['cause'],
            declared_by=row['declared_by'],
            success=None if row['success'] is None else bool(row['success']),
            step_count=row['step_count'],
            episode_return=row['return'],
            seed=int(row['seed']),
            bag=row['bag'],
            created_at=row['created_at'],
            updated_at=row['updated_at'],
        )


def _bring_up_to_date(
    connection: sqlite3.Connection, status: EpisodeStatus, environment: str, now: int, bag: str
) -> None:
    done = status.state.over
    ending = (
        status.state.name if done else '',
        status.cause if done else '',
        status.declared_by if done else '',
    )
    known = connection.execute(
        'SELECT ending, cause, declared_by FROM episodes '
        'WHERE episode_id = ? AND agent = ? AND done',
        (status.id.episode_id, status.id.agent),
    ).fetchone()
    if known is not None and tuple(known) != ending:
        raise RecordError(
            f'Expect episode {status.id.episode_id} to stay {known["ending"]} ({known["cause"]}, '
            f'declared by {known["declared_by"]}), actually: {status.state.name} '
            f'({status.cause or "no cause"}, declared by {status.declared_by or "nobody"}). '
            'The first ending stands.'
        )
    connection.execute(
        _UPDATE,
        {
            'episode_id': status.id.episode_id,
            'agent': status.id.agent,
            'environment': environment,
            'digest': status.id.digest,
            'state': json.dumps(to_json(status), allow_nan=False),
            'done': done,
            'ending': ending[0],
            'cause': ending[1],
            'declared_by': ending[2],
            'success': status.cause == SUCCESS if done else None,
            'step_count': status.id.step,
            'seed': str(status.seed),
            'bag': bag,
            'now': now,
        },
    )


def _status_of(transition: Transition) -> EpisodeStatus:
    """Return what a transition says about its episode, for when it comes before the status."""
    if transition.terminated:
        state = EpisodeState.TERMINATED
    elif transition.truncated:
        state = EpisodeState.TRUNCATED
    else:
        state = EpisodeState.RUNNING
    return EpisodeStatus(
        id=transition.id,
        state=state,
        pacing=transition.pacing,
        seed=transition.seed,
        cause=transition.cause,
        declared_by=transition.declared_by,
        taken=transition.closed,
    )


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
        raise RecordError(f'Expect an index of episodes in {path}, actually: {error}.') from error
