# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The client that holds the episode: one at a time, and the others are told which.

A session is an episode and the name of the client that began it. It has no clock and no thread;
a server of several clients asks it under a lock.
"""

from __future__ import annotations

from collections import deque, OrderedDict
from enum import IntEnum

from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import (
    BoundaryError,
    EpisodeEnded,
    InvalidState,
    PeerLost,
    RequestRejected,
    ResetNeeded,
    ResultCode,
    SimulationFailed,
)

#: Ended sessions that are remembered, to tell an ending from an episode that never was.
_REMEMBERED = 64


class SessionState(IntEnum):
    """Where the session stands: there is none, it is being reset, it runs, a step is made."""

    FREE = 1
    RESETTING = 2
    RUNNING = 3
    STEPPING = 4


class Session:
    """The session of the one client that holds the episode, and what is said to the others."""

    def __init__(self) -> None:
        self._state = SessionState.FREE
        self._client = ''
        self._episode_id = ''
        self._status: EpisodeStatus | None = None
        self._announced: deque[str] = deque(maxlen=_REMEMBERED)
        #: Of each session that is over, whose it was, and its ending.
        self._ended: OrderedDict[str, tuple[str, str]] = OrderedDict()

    @property
    def state(self) -> SessionState:
        """Where it stands."""
        return self._state

    @property
    def client(self) -> str:
        """The client that holds it; empty if none does."""
        return self._client

    @property
    def episode_id(self) -> str:
        """Its episode; empty without a session, and while it is being reset."""
        return self._episode_id

    def heard(self, status: EpisodeStatus) -> None:
        """
        Take note of where the environment says that its episode stands, of any client.

        The recorder may speak for it, and what two say comes in any order: what was said before
        the last word, of that episode or of one that is over, is passed over.
        """
        last = self._status
        if (
            last is not None
            and (status.state.over or status.id.episode_id == last.id.episode_id)
            and _earlier(status.stamp, last.stamp)
        ):
            return
        self._status = status
        if status.id.episode_id not in self._announced:
            self._announced.append(status.id.episode_id)

    # Beginning -----------------------------------------------------------------------------------

    def begin(self, client: str) -> None:
        """
        Begin to reset for a client; its own running episode is given up for it.

        Raises
        ------
        RequestRejected
            If the client has no name, another one holds a running episode, or a call of this one
            still waits.

        """
        if not client:
            raise RequestRejected('The name of the client is missing. Say who calls.')
        # Its episode may have ended while its client was away.
        over = self._state is SessionState.RUNNING and self._ended_by
        others = self._client not in ('', client) and not over
        if self._state is SessionState.RESETTING or others:
            what = self._episode_id or 'an episode that is being reset'
            raise RequestRejected(
                f'{self._client!r} holds {what}. Wait for its end.', ResultCode.LEASE_HELD
            )
        if self._state is SessionState.STEPPING:
            raise RequestRejected(
                f'A step is under way in the episode of {client!r}. Wait for its answer.',
                ResultCode.LEASE_HELD,
            )
        if self._state is SessionState.RUNNING:
            self._remember(self._ended_by or endings.ABANDONED)
        self._state, self._client, self._episode_id = SessionState.RESETTING, client, ''

    def began(self, episode_id: str) -> None:
        """Take note that the reset is done, and the episode runs."""
        self._expect(SessionState.RESETTING)
        self._state, self._episode_id = SessionState.RUNNING, episode_id

    def failed(self) -> None:
        """Take note that the reset failed: no client holds the session."""
        self._expect(SessionState.RESETTING)
        self._free()

    # Stepping ------------------------------------------------------------------------------------

    def step(self, episode_id: str) -> None:
        """
        Begin a step, or several in a row, of an episode; :meth:`stepped` or :meth:`over` ends it.

        Raises
        ------
        ResetNeeded
            If no episode was begun.
        EpisodeEnded, SimulationFailed, PeerLost
            If it is over: because the task ended, or because the machinery did.
        RequestRejected
            If the episode is of another client or of none, or another step of it is under way.

        """
        self._check(episode_id)
        if self._state is SessionState.STEPPING:
            raise RequestRejected(
                'Another step of this episode is under way. Wait for its answer.',
                ResultCode.LEASE_HELD,
            )
        self._state = SessionState.STEPPING

    def stepped(self, episode_id: str) -> None:
        """Take note that the step was answered, and the episode goes on."""
        # Its holder may have closed it meanwhile, and another one begun.
        if episode_id == self._episode_id:
            self._state = SessionState.RUNNING

    def over(self, episode_id: str, ending: str) -> None:
        """Take note that an episode is over."""
        if episode_id == self._episode_id:
            self._remember(ending)
            self._free()

    # Ending --------------------------------------------------------------------------------------

    def closing(self, episode_id: str, client: str) -> bool:
        """
        Return whether an episode is to be abandoned for a client that closes; then call `over`.

        False: it is over already.

        Raises
        ------
        RequestRejected
            If the episode is of another client, or unknown.

        """
        past = self._ended.get(episode_id)
        if past is None and (not episode_id or episode_id != self._episode_id):
            raise self._unknown(episode_id)
        holder = self._client if past is None else past[0]
        if client != holder:
            raise RequestRejected(
                f'The episode is of another client (expected {holder!r}, got {client!r}).',
                ResultCode.LEASE_HELD,
            )
        return past is None

    # What is said to whom ------------------------------------------------------------------------

    def _check(self, episode_id: str) -> None:
        if episode_id and episode_id == self._episode_id:
            return
        past = self._ended.get(episode_id)
        if past is not None:
            raise _ending(past[1])
        if self._state is SessionState.FREE and not self._ended and not self._foreign(episode_id):
            raise ResetNeeded('No episode was begun. Call reset first.')
        raise self._unknown(episode_id)

    def _foreign(self, episode_id: str) -> bool:
        """Return whether the environment runs an episode of that id for another client."""
        status = self._status
        return status is not None and bool(episode_id) and status.id.episode_id == episode_id

    def _unknown(self, episode_id: str) -> RequestRejected:
        if self._foreign(episode_id) and self._status is not None:
            return RequestRejected(
                f'The episode was not begun by this service: {self._status.client!r} began '
                f'{episode_id}. Reset when it is over.',
                ResultCode.LEASE_HELD,
            )
        return RequestRejected(
            f'Unknown episode (expected {self._episode_id or "one that a reset begins"}, got '
            f'{episode_id or "none"}). Name the episode that the answer to your reset named.',
            ResultCode.UNKNOWN_EPISODE,
        )

    @property
    def _ended_by(self) -> str:
        """Return why the episode is over, by the environment's word; empty if it is not."""
        status = self._status
        if status is None or self._episode_id not in self._announced:
            return ''  # what was said last may be older than the episode
        if status.id.episode_id != self._episode_id:
            # It was started again, and knows nothing of the episode.
            return endings.ENVIRONMENT_LOST
        return status.ending if status.state.over else ''

    # Moves ---------------------------------------------------------------------------------------

    def _remember(self, ending: str) -> None:
        self._ended[self._episode_id] = self._client, ending
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

    def _free(self) -> None:
        self._state, self._client, self._episode_id = SessionState.FREE, '', ''

    def _expect(self, state: SessionState) -> None:
        if self._state is not state:
            raise InvalidState(
                f'Wrong state of the session (expected a session in {state.name}, got one in '
                f'{self._state.name}).'
            )


def _earlier(one: ClockReading | None, other: ClockReading | None) -> bool:
    """Return whether an instant is known to lie before another; of two hosts none is."""
    if one is None or other is None or one.ros.host != other.ros.host:
        return False
    return one.steady < other.steady


def _ending(ending: str) -> BoundaryError:
    """Return the error of a step in an ended episode: what failed, if something did."""
    message = f'The episode has ended ({ending}). Call reset first.'
    if ending == endings.SIMULATION_FAILED:
        return SimulationFailed(message)
    if ending in _LOST:
        return PeerLost(message, _LOST[ending])
    return EpisodeEnded(message)


_LOST = {
    endings.ROBOT_LOST: ResultCode.ROBOT_LOST,
    endings.GATE_LOST: ResultCode.GATE_LOST,
    endings.ENVIRONMENT_LOST: ResultCode.ENVIRONMENT_LOST,
}
