# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit of what is published now: from the first episode that begins while it listens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.errors import DigestMismatch
from boundary_env_ros.evidence.auditor import Auditor
from boundary_env_ros.evidence.findings import AuditReport, Finding
from boundary_env_ros.storage.contract_file import LoadedContract, loads
from boundary_env_ros.storage.records import ContractDescription, Message, Record


class LiveAudit:
    """
    Takes records and raw messages as they are published.

    What belongs to an episode that ran already is passed over: its beginning is not known.

    Parameters
    ----------
    contract, task
        The contract, and its task; None if that is not installed.
    topics
        Type of each topic that is listened to.
    host
        Host whose clock tells when messages are received.
    told
        Is told every finding as it is found.
    episodes
        Number of episodes after which further ones are passed over; None: none is.

    Attributes
    ----------
    ended
        How many episodes have ended that were seen from their beginning.
    all_heard
        Whether every publisher is heard by now. What belongs to an episode that was under way
        before is passed over, as if it had begun before.

    """

    def __init__(
        self,
        contract: Contract,
        task: Task | None,
        topics: Mapping[str, str],
        host: str,
        told: Callable[[Finding], None] = lambda finding: None,
        *,
        episodes: int | None = None,
    ) -> None:
        self._episodes = episodes
        self._auditor = Auditor(contract, task, topics, host=host, told=told)
        self._begun: set[str] = set()
        self._over: set[str] = set()
        self._decided = False
        self.all_heard = True
        self._missed: set[str] = set()

    @property
    def ended(self) -> int:
        """Return how many episodes have ended that were seen from their beginning."""
        return len(self._over)

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics whose raw messages are wanted."""
        return self._auditor.topics

    def lost(self, number: int) -> None:
        """Take note of raw messages that got lost on their way here."""
        self._auditor.lost(number)

    def message(self, message: Message) -> None:
        """Take a raw message, of one of :attr:`topics`."""
        self._auditor.message(message)

    def add(self, record: Record, log_time: int) -> None:
        """
        Take a record.

        Parameters
        ----------
        record
            The record.
        log_time
            When it was received, nanoseconds on the clock of the raw messages.

        """
        if isinstance(record, ContractDescription):
            self._auditor.add(record, log_time)
            return
        episode = record.id.episode_id
        if not self.all_heard:
            self._missed.add(episode)
        if isinstance(record, EpisodeStatus):
            if record.state is EpisodeState.RESETTING:
                self._begin(episode)
            elif record.state.over and episode in self._begun:
                self._over.add(episode)
        elif isinstance(record, Transition) and record.kind is Kind.RESET:
            self._begin(episode)
        if isinstance(record, GateDecision):
            # From the first one on all of them, since they are numbered.
            self._decided = self._decided or episode in self._begun
            if self._decided:
                self._auditor.add(record, log_time)
        elif episode in self._begun:
            self._auditor.add(record, log_time)

    def _begin(self, episode: str) -> None:
        wanted = self._episodes is None or len(self._begun) < self._episodes
        if wanted and self.all_heard and episode not in self._missed:
            self._begun.add(episode)

    def unreadable(self, place: str, why: str) -> None:
        """Note a message that could not be read."""
        self._auditor.unreadable(place, why)

    def report(self) -> AuditReport:
        """Return what was found."""
        return self._auditor.report(goes_on=True)


def contract_of(description: ContractDescription) -> LoadedContract:
    """
    Return the contract that a node has latched, under the pacing that gives it its digest.

    Raises
    ------
    ContractError
        If the text is no contract.
    DigestMismatch
        If none of its pacings has the digest.

    """
    where = f'the contract of {description.node}'
    loaded = loads(description.text, source=where)
    for pacing in (None, *Pacing):
        other = loads(description.text, source=where, pacing=pacing)
        if other.digest == description.digest:
            return other
    raise DigestMismatch(
        f'The contract of {description.node} has another meaning here (expected the digest '
        f'{description.digest}, got {loaded.digest}). Install the version of the task that it '
        'runs with.'
    )
