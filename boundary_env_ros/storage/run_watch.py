# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder watches over: what is missing, and whether the environment still lives."""

from __future__ import annotations

from boundary_env_ros.core.records.endings import ENVIRONMENT_LOST
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.frozen import replace


class LossCount:
    """
    Counts the messages that are known to be missing, by the gaps in their numbers.

    Attributes
    ----------
    lost
        How many.

    """

    def __init__(self) -> None:
        self.lost = 0
        self._sequences: dict[str, dict[bytes, int]] = {}
        self._steps: dict[str, tuple[str, int]] = {}  # episode and last step, by agent

    def status(self, status: EpisodeStatus) -> None:
        """Take a status; of an agent's first one on its transitions are to come."""
        of = status.id
        last = -1 if status.state is EpisodeState.RESETTING else of.step
        self._steps.setdefault(of.agent, (of.episode_id, last))

    def transition(self, step: StepId) -> None:
        """Take the number of a transition; they count from 0 in each episode of an agent."""
        # The first episode may have begun before the recording; later ones began in it.
        episode, last = self._steps.get(step.agent, (step.episode_id, step.step - 1))
        if episode != step.episode_id:
            last = -1
        self.lost += max(0, step.step - last - 1)
        self._steps[step.agent] = step.episode_id, max(step.step, last)

    def decision(self, sequence: int, gate: str = '', sender: bytes = b'') -> None:
        """
        Take the number of a decision of a gate, which counts from 1 in each process.

        Two processes of one gate are distinguished by their ``sender``, if they have a key.
        """
        numbers = self._sequences.setdefault(gate, {})
        if numbers:
            # A number that does not grow is that of a gate that was started again.
            last = numbers.get(sender, 0)
            self.lost += max(sequence - (last + 1 if sequence > last else 1), 0)
        numbers[sender] = sequence


class EnvironmentWatch:
    """
    Notices that the environment fell silent in an episode, and words its ending.

    Parameters
    ----------
    declarer
        Who signs the ending.
    patience
        Seconds of steady time without a status after which the environment is lost.

    """

    def __init__(self, *, declarer: str, patience: float) -> None:
        self._declarer = declarer
        self._patience = round(patience * NANOSECONDS)
        self._status: EpisodeStatus | None = None
        self._last_status = 0
        self._last_poll: int | None = None
        self._declared = ''

    @property
    def episode_runs(self) -> bool:
        """Return whether there is an episode of which no ending is known."""
        status = self._status
        return (
            status is not None
            and status.state in (EpisodeState.RESETTING, EpisodeState.RUNNING)
            and status.id.episode_id != self._declared
        )

    def on_status(self, status: EpisodeStatus, now: ClockReading) -> None:
        """Take a status of the environment."""
        self._status = status
        self._last_status = now.steady

    def poll(self, now: ClockReading) -> EpisodeStatus | None:
        """
        Return the ending of an episode whose environment is lost, once; else None.

        To be called several times within the patience. A longer time without a call is no silence
        of the environment: a process that was stopped itself has received nothing.
        """
        usual = self._patience // 4
        if self._last_poll is not None:
            self._last_status += max(0, now.steady - self._last_poll - usual)
        self._last_poll = now.steady
        status, silence = self._status, now.steady - self._last_status
        if status is None or not self.episode_runs or silence <= self._patience:
            return None
        self._declared = status.id.episode_id
        return replace(
            status,
            authentication=b'',
            state=EpisodeState.TRUNCATED,
            ending=ENVIRONMENT_LOST,
            declared_by=self._declarer,
            message=(
                f'The environment has been silent for {silence / NANOSECONDS:.2f} s; '
                f'{self._patience / NANOSECONDS:.2f} s are allowed.'
            ),
            stamp=now,
        )
