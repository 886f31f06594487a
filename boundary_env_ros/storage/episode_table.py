# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of the index of episodes, what goes into their rows and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
from pathlib import Path
import sqlite3
from types import NoneType
from typing import Any, Final, TypeVar

from boundary_env_ros.core.environment.causes import SUCCESS
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.episode_label import EpisodeLabel
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError

T = TypeVar('T')

SCHEMA_VERSION: Final = 2

#: Marks a file as ours ("BErE"), so that somebody else's database is never written to.
APPLICATION_ID: Final = 0x42457245

TABLES = (
    """
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
    interventions INTEGER NOT NULL DEFAULT 0, -- how often a person took over
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
)

#: Rows of one episode, or of all if none is named, the oldest first.
EPISODES = """
SELECT episode_id, agent, environment, digest, state, done, ending, cause, declared_by, success,
    step_count, "return", interventions, seed, bag, created_at, updated_at
FROM episodes WHERE ?1 IS NULL OR episode_id = ?1 ORDER BY created_at, rowid
"""

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

REWARD = """
UPDATE episodes SET "return" = "return" + ?1, rewarded = ?2,
    step_count = max(step_count, ?2), interventions = interventions + ?3, updated_at = ?4
WHERE episode_id = ?5 AND agent = ?6
"""

_LABEL = """
INSERT INTO labels (episode_id, agent, label, user, note, record, labelled_at)
SELECT :episode_id, :agent, :label, :user, :note, :record, :now
WHERE NOT EXISTS (SELECT 1 FROM labels WHERE record = :record)
"""

#: Their labels, likewise.
LABELS = """
SELECT episode_id, agent, record FROM labels WHERE ?1 IS NULL OR episode_id = ?1
ORDER BY labelled_at, rowid
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
    interventions
        How often a person took over.
    bag
        Where the records are, relative to the file of the index.
    created_at, updated_at
        Nanoseconds of system time.
    labels
        What people said of it, the oldest first; the latest of each person counts.

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
    interventions: int
    seed: int
    bag: str
    created_at: int
    updated_at: int
    labels: tuple[EpisodeLabel, ...] = ()


def bring_up_to_date(
    connection: sqlite3.Connection, status: EpisodeStatus, environment: str, now: int, bag: str
) -> None:
    """
    Write what a status says about an episode.

    Raises
    ------
    RecordError
        If the episode has ended, and the status says otherwise.

    """
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
            f'Expected episode {status.id.episode_id} to stay {known["ending"]} '
            f'({known["cause"]}, declared by {known["declared_by"]}), got {status.state.name} '
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


def status_of(transition: Transition) -> EpisodeStatus:
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
        stamp=transition.closed,
    )


def add_label(connection: sqlite3.Connection, label: EpisodeLabel, now: int) -> bool:
    """
    Write a label, unless it is there already; return whether it was not.

    Raises
    ------
    RecordError
        If there is no such episode.

    """
    known = connection.execute(
        'SELECT 1 FROM episodes WHERE episode_id = ? AND agent = ?',
        (label.id.episode_id, label.id.agent),
    ).fetchone()
    if known is None:
        raise RecordError(
            f'Expected an episode of the index to label, got {label.id.episode_id!r} of agent '
            f'{label.id.agent!r} is not in it. `boundary-env episodes list RUN` lists them.'
        )
    values = {
        'episode_id': label.id.episode_id,
        'agent': label.id.agent,
        'label': label.label.name,
        'user': label.user,
        'note': label.note,
        'record': json.dumps(to_json(label), allow_nan=False),
        'now': now,
    }
    return connection.execute(_LABEL, values).rowcount > 0


def read_label(row: sqlite3.Row, path: Path) -> EpisodeLabel:
    """
    Return a label from its row.

    Raises
    ------
    RecordError
        If it cannot be read; it names the file and the episode.

    """
    where = f'{path}, a label on episode {row["episode_id"]}'
    return _from_text(EpisodeLabel, row['record'], where, 'it')


def read_row(row: sqlite3.Row, path: Path, labels: tuple[EpisodeLabel, ...]) -> EpisodeRow:
    """
    Return an episode from its row, with its labels.

    Raises
    ------
    RecordError
        If its state cannot be read; it names the file and the episode.

    """
    where = f'{path}, episode {row["episode_id"]}'
    # SQLite keeps whatever is put into a column.
    for names, kinds in _KINDS.items():
        for name in names.split():
            if not isinstance(row[name], kinds):
                kind = getattr(kinds, '__name__', None) or 'a number or nothing'
                raise RecordError(
                    f'{where}: {name} cannot be read (expected {kind}, got '
                    f'{repr(row[name])[:60]}); `boundary-env bag recover` makes a new index'
                )
    try:
        seed = int(row['seed'])
    except ValueError as error:
        raise RecordError(
            f'{where}: seed cannot be read (expected a number, got {row["seed"][:60]!r}); '
            '`boundary-env bag recover` makes a new index'
        ) from error
    return EpisodeRow(
        episode_id=row['episode_id'],
        agent=row['agent'],
        environment=row['environment'],
        digest=row['digest'],
        state=_from_text(EpisodeStatus, row['state'], where, 'its state'),
        done=bool(row['done']),
        ending=row['ending'],
        cause=row['cause'],
        declared_by=row['declared_by'],
        success=None if row['success'] is None else bool(row['success']),
        step_count=row['step_count'],
        episode_return=row['return'],
        interventions=row['interventions'],
        seed=seed,
        bag=row['bag'],
        created_at=row['created_at'],
        updated_at=row['updated_at'],
        labels=labels,
    )


#: What the columns of an episode hold.
_KINDS: Final[Mapping[str, Any]] = {
    'episode_id agent environment digest ending cause declared_by seed bag': str,
    'done step_count interventions created_at updated_at': int,
    'success return': (int, float, NoneType),
}


def _from_text(cls: type[T], text: object, where: str, what: str) -> T:
    """Return the record that a column holds as JSON."""
    try:
        return from_json(cls, json.loads(text if isinstance(text, str) else repr(text)), where)
    except (ValueError, RecursionError) as error:
        raise RecordError(f'{where}: expected {what} as JSON, got {error}.') from error
