# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The index of episodes as values: one row for each, which follows from the records alone."""

from __future__ import annotations

from collections.abc import Iterable
import math

from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus, Label, status_by
from boundary_env_ros.core.records.intervention import InterventionTracker
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen, replace

Key = tuple[str, str]


class EndingStands(RecordError):
    """Raised when a record says that an episode ended otherwise than was said first."""


@frozen
class EpisodeRow:
    """
    One episode as the index knows it.

    Attributes
    ----------
    state
        The last status that was published; how an episode began and ended stands there.
    environment, version
        Name and version of the contract; the version is known from the first transition.
    software_version
        Of the environment node, likewise.
    step_count
        The last step that was closed.
    rewarded
        The last step whose reward is in the return.
    episode_return
        Sum of the rewards; None if one of them was not a number.
    interventions
        How often a person took over.
    created_at, updated_at
        Nanoseconds of system time.
    labels
        What people said of it, the oldest first; the latest of each person counts.

    """

    state: EpisodeStatus
    environment: str
    version: str = ''
    software_version: str = ''
    step_count: int = 0
    rewarded: int = -1
    episode_return: float | None = 0.0
    interventions: int = 0
    created_at: int = 0
    updated_at: int = 0
    labels: tuple[EpisodeLabel, ...] = ()

    @property
    def key(self) -> Key:
        """Return what distinguishes it from all others."""
        return self.episode_id, self.agent

    @property
    def episode_id(self) -> str:
        """Return its id."""
        return self.state.id.episode_id

    @property
    def agent(self) -> str:
        """Return its agent."""
        return self.state.id.agent

    @property
    def digest(self) -> str:
        """Return the digest of the contract."""
        return self.state.id.digest

    @property
    def seed(self) -> int:
        """Return its seed."""
        return self.state.seed

    @property
    def done(self) -> bool:
        """Return whether it has ended."""
        return self.state.state.over

    @property
    def ending_kind(self) -> str:
        """Return ``TERMINATED`` or ``TRUNCATED``; empty until it has ended."""
        return self.state.state.name if self.done else ''

    @property
    def ending(self) -> str:
        """Return why it ended; empty until then."""
        return self.state.ending if self.done else ''

    @property
    def declared_by(self) -> str:
        """Return who says that it ended; empty until then."""
        return self.state.declared_by if self.done else ''

    @property
    def success(self) -> bool | None:
        """Return whether its ending is ``success``; None until it has ended."""
        return self.ending == SUCCESS if self.done else None


class EpisodeIndex:
    """
    Follows the records of a run, and has a row for each of its episodes.

    Parameters
    ----------
    rows
        What is known before the first record.

    Attributes
    ----------
    rows
        The episodes, in the order in which they were begun.
    changed
        Those that are new or other than they were; cleared when they are written down.

    """

    def __init__(self, rows: Iterable[EpisodeRow] = ()) -> None:
        self.rows = {row.key: row for row in rows}
        self.changed = dict(self.rows)
        self._hands: dict[str, InterventionTracker] = {}

    def row(self, step: StepId) -> EpisodeRow | None:
        """Return the row of the episode that a step belongs to; None if it is not known."""
        return self.rows.get((step.episode_id, step.agent))

    def update(self, status: EpisodeStatus, *, environment: str, now: int) -> None:
        """
        Take what a status says about its episode.

        Parameters
        ----------
        status
            State of the episode; one without an episode id is passed over.
        environment
            Name of the contract.
        now
            System time, nanoseconds.

        Raises
        ------
        EndingStands
            If the episode has ended, and this says otherwise: an ending is declared once.

        """
        if not status.id.episode_id:
            return
        row = self.row(status.id)
        if row is None:
            row = EpisodeRow(state=status, environment=environment, created_at=now)
        elif replace(row.state, stamp=status.stamp) == status:
            return
        new = replace(
            row,
            state=status,
            step_count=max(row.step_count, status.id.step),
            updated_at=now,
        )
        if row.done and _ending(row) != _ending(new):
            raise EndingStands(
                f'Episode {row.episode_id} has ended already (expected '
                f'{row.ending_kind} ({row.ending}, declared by {row.declared_by}), got '
                f'{status.state.name} ({status.ending or "no ending"}, declared by '
                f'{status.declared_by or "no node"})). The first ending stands in the index; the '
                'records have all of them.'
            )
        self._put(new)

    def add_step(self, transition: Transition, *, now: int) -> bool:
        """
        Add a step and its reward to its episode; if it ended the episode, that too.

        Parameters
        ----------
        transition
            The step. One that was added before, or precedes such a one, is passed over.
        now
            As for :meth:`update`.

        Returns
        -------
        bool
            Whether it was added.

        Raises
        ------
        EndingStands
            As :meth:`update`.

        """
        row = self.row(transition.id)
        if row is not None and row.rewarded >= transition.id.step:
            return False
        hands = self._hands.setdefault(transition.id.agent, InterventionTracker())
        taken_over = hands.follow(transition)
        if row is None or transition.terminated or transition.truncated:
            status = status_of(transition)
            if row is not None:  # a transition does not say it
                status = replace(status, client=row.state.client)
            self.update(status, environment=transition.contract, now=now)
            row = self.rows[transition.id.episode_id, transition.id.agent]
        total = transition.reward + (
            math.nan if row.episode_return is None else row.episode_return
        )
        self._put(
            replace(
                row,
                version=transition.contract_version,
                software_version=transition.software_version,
                episode_return=None if math.isnan(total) else total,
                rewarded=transition.id.step,
                step_count=max(row.step_count, transition.id.step),
                interventions=row.interventions + taken_over,
                updated_at=now,
            )
        )
        return True

    def _put(self, row: EpisodeRow) -> None:
        self.rows[row.key] = self.changed[row.key] = row


def status_of(transition: Transition) -> EpisodeStatus:
    """Return what a transition says about its episode, for when it comes before the status."""
    state = status_by(terminated=transition.terminated, truncated=transition.truncated)
    return EpisodeStatus(
        id=transition.id,
        state=state,
        pacing=transition.pacing,
        seed=transition.seed,
        ending=transition.ending,
        declared_by=transition.declared_by,
        stamp=transition.closed,
    )


def labels_of(
    rows: Iterable[EpisodeRow], label: Label, user: str, note: str, stamp: ClockReading
) -> tuple[EpisodeLabel, ...]:
    """Return what a person says of episodes, each as far as it has come."""
    return tuple(
        EpisodeLabel(
            id=replace(row.state.id, step=row.step_count),
            label=label,
            user=user,
            note=note,
            stamp=stamp,
        )
        for row in rows
    )


def _ending(row: EpisodeRow) -> tuple[str, str, str]:
    return row.ending_kind, row.ending, row.declared_by
