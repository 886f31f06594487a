# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The life of an episode: one enum, one table of moves, one ending, named and declared once.

``reset -> running -> terminated | truncated``. Terminated: the task ended. Truncated: something
outside it did that.

Labels are what people say about an episode, next to that ending. They change nothing in the
record. Several users may label one episode; the latest label of each user counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from boundary_env_ros.core.records.endings import EndingKind
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import InvalidState
from boundary_env_ros.frozen import frozen, replace


class EpisodeState(IntEnum):
    """Where an episode stands."""

    IDLE = 1
    RESETTING = 2
    RUNNING = 3
    TERMINATED = 4
    TRUNCATED = 5

    @property
    def over(self) -> bool:
        """Return whether it has ended."""
        return self in (EpisodeState.TERMINATED, EpisodeState.TRUNCATED)


_MOVES: Mapping[EpisodeState, frozenset[EpisodeState]] = {
    EpisodeState.IDLE: frozenset({EpisodeState.RESETTING}),
    EpisodeState.RESETTING: frozenset({EpisodeState.RUNNING, EpisodeState.TRUNCATED}),
    EpisodeState.RUNNING: frozenset({EpisodeState.TERMINATED, EpisodeState.TRUNCATED}),
    EpisodeState.TERMINATED: frozenset({EpisodeState.RESETTING}),
    EpisodeState.TRUNCATED: frozenset({EpisodeState.RESETTING}),
}


@frozen
class EpisodeStatus:
    """
    One episode and where it stands, as it is latched for the others; see ``EpisodeStatus.msg``.

    Attributes
    ----------
    id
        The last step that was closed; of no episode while idle.
    state
        See :class:`EpisodeState`.
    client, seed
        Who began it, and the seed of its reset.
    ending, declared_by, message
        How it ended and who says so; empty until then.
    stamp
        When this was so.
    authentication
        Who sent it, and which of theirs it is; empty: the sender has no key.

    """

    id: StepId
    state: EpisodeState
    pacing: Pacing
    client: str = ''
    seed: int = 0
    ending: str = ''
    declared_by: str = ''
    message: str = ''
    stamp: ClockReading | None = None
    authentication: bytes = b''

    def at(self, step: int) -> StepId:
        """Return the name of one of its steps."""
        return replace(self.id, step=step)

    def begin(self, *, episode_id: str, seed: int, client: str) -> EpisodeStatus:
        """Return a new episode that is being reset."""
        self._check(EpisodeState.RESETTING)
        return EpisodeStatus(
            id=replace(self.id, episode_id=episode_id, step=0),
            state=EpisodeState.RESETTING,
            pacing=self.pacing,
            seed=seed,
            client=client,
        )

    def run(self) -> EpisodeStatus:
        """Return the episode with its reset done."""
        self._check(EpisodeState.RUNNING)
        return replace(self, state=EpisodeState.RUNNING)

    def stepped(self) -> EpisodeStatus:
        """Return the episode with one more step closed."""
        if self.state is not EpisodeState.RUNNING:
            raise InvalidState(f'Only a running episode steps (got {self.state.name}).')
        return replace(self, id=self.at(self.id.step + 1))

    def end(
        self, *, ending: str, kind: EndingKind, declared_by: str, message: str = ''
    ) -> EpisodeStatus:
        """Return the episode ended, with its name and its declarer."""
        if not ending or not declared_by:
            raise InvalidState(
                f'An ending needs a name and a declarer (got {ending!r}, {declared_by!r}).'
            )
        state = EpisodeState[kind.name]
        self._check(state)
        return replace(self, state=state, ending=ending, declared_by=declared_by, message=message)

    def _check(self, to: EpisodeState) -> None:
        if to not in _MOVES[self.state]:
            allowed = ', '.join(sorted(s.name for s in _MOVES[self.state]))
            raise InvalidState(
                f'No such move from {self.state.name} (expected {allowed}, got {to.name}).'
            )


def status_by(*, terminated: bool, truncated: bool) -> EpisodeState:
    """Return the status that the two flags stand for."""
    if terminated:
        return EpisodeState.TERMINATED
    return EpisodeState.TRUNCATED if truncated else EpisodeState.RUNNING


class Label(IntEnum):
    """What a person makes of an episode; ``UNCLEAR``: looked at, and undecided."""

    SUCCESS = 1
    FAILURE = 2
    UNCLEAR = 3


@frozen
class EpisodeLabel:
    """
    One verdict of a person or a program on an episode; see ``EpisodeLabel.msg``.

    Attributes
    ----------
    id
        The episode, and the last step that was closed when it was labelled.
    label
        The verdict.
    user, note
        Who says so, and anything else worth keeping.
    stamp
        When it was labelled.

    """

    id: StepId
    label: Label
    user: str
    note: str = ''
    stamp: ClockReading | None = None


def latest(labels: Iterable[EpisodeLabel]) -> tuple[EpisodeLabel, ...]:
    """Return the last label of each person on each episode, in the order of the first ones."""
    last = {(label.id.episode_id, label.id.agent, label.user): label for label in labels}
    return tuple(last.values())


def agreed(labels: Iterable[EpisodeLabel]) -> Label | None:
    """
    Return what the people say who have labelled one episode.

    Returns
    -------
    Label | None
        The verdict of all labels that are decided, ``UNCLEAR`` if they differ or none is
        decided, None if there is no label.

    """
    labelled = {label.label for label in latest(labels)}
    decided = labelled - {Label.UNCLEAR}
    if len(decided) == 1:
        return decided.pop()
    return Label.UNCLEAR if labelled else None
