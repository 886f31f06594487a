# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The life of an episode: one enum, one table of moves, one ending, named and declared once.

``reset -> running -> terminated | truncated``. Terminated: the task ended. Truncated: something
outside it did that.
"""

from __future__ import annotations

from collections.abc import Mapping
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
