# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whose requests are accepted: the lease, its episode, and the emergency stop that ends both."""

from __future__ import annotations

from boundary_env_ros.core.gate.rules.admission import (
    Lease,
)
from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.service_requests import refuse_another_digest
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.frozen import frozen, replace


@frozen
class LeaseState:
    """
    Who may ask for something now.

    Attributes
    ----------
    digest, agent
        Under which contract, and for which agent.
    episode
        What the environment said last of its episode; None before it spoke.
    lease
        The holder of the lease; None if there is none.
    braking
        As whose the robot is still braked after the end of a lease; None if it is not.
    emergency, pressed
        The emergency stop is latched; it is pressed.

    """

    digest: str
    agent: str
    episode: EpisodeStatus | None = None
    lease: Lease | None = None
    braking: StepId | None = None
    emergency: bool = False
    pressed: bool = False

    # Arming --------------------------------------------------------------------------------------

    def check(self, digest: str, agent: str) -> None:
        """
        Check that a request means this contract and this agent.

        Raises
        ------
        RequestRejected
            If it does not.

        """
        refuse_another_digest(digest, self.digest)
        if agent != self.agent:
            raise RequestRejected(
                f'The gate has another agent (expected {self.agent!r}, got {agent!r}).',
                ResultCode.UNKNOWN_AGENT,
            )

    def check_released(self) -> None:
        """
        Check that the emergency stop is not latched.

        Raises
        ------
        RequestRejected
            If it is.

        """
        if self.emergency:
            raise RequestRejected(
                'The emergency stop is latched. Release it, then run '
                '`boundary-env operator --release`.',
                ResultCode.EMERGENCY_STOPPED,
            )

    def lease_of(self, episode_id: str, client: str) -> Lease | None:
        """
        Return the lease that a client holds for an episode; None if there is none yet.

        A client may ask again as long as it has used the lease for nothing, since an answer may
        get lost. A client of the same name afterwards is another process.

        Raises
        ------
        RequestRejected
            If the client has no name, the episode is another, or another client holds the lease.

        """
        if not client:
            raise RequestRejected(
                'The name of the client is missing. Let each process arm by a name of its own.',
                ResultCode.INVALID_ARGUMENT,
            )
        episode, lease = self.episode, self.lease
        known = '' if episode is None or episode.state.over else episode.id.episode_id
        if not known or episode_id != known:
            over = episode is not None and episode_id == episode.id.episode_id
            raise RequestRejected(
                'The episode is not the one that the environment announced '
                f'(expected {known or "none"}, got {episode_id or "none"}'
                f'{", which is over" if over else ""}). '
                'Begin an episode first, and arm while it lasts.',
                ResultCode.UNKNOWN_EPISODE,
            )
        if lease is None or lease.episode_id != episode_id:
            return None
        if lease.holder == client and not lease.last_sequence:
            return lease
        raise RequestRejected(
            f'{lease.holder!r} holds the lease for this episode.',
            ResultCode.LEASE_HELD,
        )

    # The episode ---------------------------------------------------------------------------------

    @property
    def lease_id(self) -> str:
        """The lease; empty if there is none."""
        return '' if self.lease is None else self.lease.lease_id

    @property
    def running(self) -> bool:
        """Whether the holder of the lease may ask for something."""
        episode, lease = self.episode, self.lease
        return (
            episode is not None
            and lease is not None
            and self.braking is None
            and episode.state is EpisodeState.RUNNING
            and episode.id.episode_id == lease.episode_id
        )

    @property
    def over(self) -> bool:
        """Whether the lease has outlived its episode."""
        episode, lease = self.episode, self.lease
        if lease is None:
            return True
        return episode is not None and (
            episode.id.episode_id != lease.episode_id or episode.state.over
        )

    @property
    def id(self) -> StepId:
        """The step that a decision without a request counts for."""
        if self.braking is not None:
            return self.braking
        if self.episode is not None and self.lease is not None:
            return replace(self.episode.id, agent=self.agent, episode_id=self.lease.episode_id)
        return self.no_step

    @property
    def no_step(self) -> StepId:
        """As whose a decision counts outside of every episode."""
        return StepId(digest=self.digest, agent=self.agent, episode_id='')

    # Requests ------------------------------------------------------------------------------------

    def after_request(self, request: ActionRequest) -> LeaseState:
        """Return it after a request that is accepted: sent again, or overtaken, it is not."""
        assert self.lease is not None  # refused without one
        lease = replace(self.lease, last_sequence=request.sequence)
        return replace(self, lease=lease).acted_on(request.id.step)

    def acted_on(self, step: int) -> LeaseState:
        """Return it after an action for a step."""
        assert self.lease is not None  # refused without one
        step = max(self.lease.last_step, step)
        return replace(self, lease=replace(self.lease, last_step=step))

    # The emergency stop --------------------------------------------------------------------------

    def after_press(self, pressed: bool) -> LeaseState:
        """Return it with the emergency stop as it is: pressed once, it stays latched."""
        return replace(self, pressed=pressed, emergency=self.emergency or pressed)

    def cleared(self) -> LeaseState:
        """
        Return it with the emergency stop unlatched.

        Raises
        ------
        RequestRejected
            If it is still pressed, or the episode that it stopped has not ended.

        """
        if self.pressed:
            raise RequestRejected('The emergency stop is still pressed. Release it first.')
        if self.running:
            raise RequestRejected('The episode still runs. Wait for its end.')
        return replace(self, emergency=False)
