# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One of the two runs, read in one pass: its episodes as numbers, in memory for these alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.evidence.compare.episode_record import EpisodeRecord
from boundary_env_ros.evidence.compare.features import features, Values
from boundary_env_ros.evidence.episodes import Episode, Episodes
from boundary_env_ros.evidence.plain import plain
from boundary_env_ros.evidence.summary.statistics import Proportion


class ComparedEpisode(NamedTuple):
    """One whole episode: what was read of it, its reset's options, and what it is compared in."""

    of: Episode
    options: str
    imported: bool
    values: Values


@dataclass(slots=True, kw_only=True)
class ComparedRun:
    """
    What a run is compared by.

    Attributes
    ----------
    name
        What it is called.
    contract
        Its contract.
    success, success_of_terminated
        Share of successes of those that the task judged, and of those of them that terminated.
    left_out
        Why episodes are not compared, and how many.

    """

    name: str
    contract: Contract
    episodes: list[ComparedEpisode] = field(default_factory=list)
    success: Proportion = field(default_factory=Proportion)
    success_of_terminated: Proportion = field(default_factory=Proportion)
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0

    @property
    def clients(self) -> Counter[str]:
        """Return how many episodes each client had."""
        return Counter(episode.of.origin.client for episode in self.episodes)

    def add(self, one: ComparedEpisode) -> None:
        """Take an episode that is compared."""
        self.episodes.append(one)
        if self.contract.task.name and one.of.judged:
            self.success.add(one.of.is_success)
            if not one.of.truncated:
                self.success_of_terminated.add(one.of.is_success)

    def to_json(self) -> dict[str, object]:
        """Return what it is as plain data, without its episodes."""
        return {
            'name': self.name,
            'contract': f'{self.contract.name} {self.contract.version}',
            'digest': digest_of(self.contract),
            'pacing': plain(self.contract.pacing),
            'episodes': len(self.episodes),
            'steps': sum(episode.of.steps for episode in self.episodes),
            'clients': dict(self.clients),
            'success': self.success.to_json(),
            'success_of_terminated': self.success_of_terminated.to_json(),
            'left_out': dict(self.left_out),
            'unreadable': self.unreadable,
        }


def read_side(
    steps: Episodes, contract: Contract, *, name: str, agent: str, client: str = ''
) -> ComparedRun:
    """
    Read a run.

    Parameters
    ----------
    steps
        Its steps.
    contract
        Its contract.
    name
        What it is to be called.
    agent
        Whose episodes.
    client
        Whose episodes, if not those of all clients.

    """
    side = ComparedRun(name=name, contract=contract)
    for step in steps:
        first = step.episode.first
        if first.id.agent != agent:
            continue
        if step.transition is first:
            record = EpisodeRecord(step.episode)
        record.add(step)
        if step.last:
            why = _why_not(step.episode, client)
            if why:
                side.left_out[why] += 1
                continue
            options = first.reset.options if first.reset else ''
            values = features(record, contract)
            side.add(ComparedEpisode(step.episode, options, record.imported, values))
    return side


def _why_not(episode: Episode, client: str) -> str:
    if client and client not in (episode.client, episode.origin.client):
        return f'it is of another client than {client}'
    if not episode.ending:
        return 'it has no ending'
    if episode.first.kind is not Kind.RESET:
        return 'its reset is not in the record'
    return '' if episode.steps else 'it has no step'
