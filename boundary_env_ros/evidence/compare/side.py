# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One of the two runs, read in one pass: its episodes as numbers, in memory for these alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.transition import Kind
from boundary_env_ros.evidence import episodes as read
from boundary_env_ros.evidence.compare.episode_record import EpisodeRecord
from boundary_env_ros.evidence.compare.features import features, Values
from boundary_env_ros.evidence.episodes import Episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """
    One whole episode.

    Attributes
    ----------
    of
        The episode that was read.
    options
        Of its reset, as JSON.
    imported
        Whether it was made from a bag.
    values
        What it is compared in.

    """

    of: read.Episode
    options: str
    imported: bool
    values: Values


@dataclass(slots=True, kw_only=True)
class Side:
    """
    What a run is compared by.

    Attributes
    ----------
    name
        What it is called.
    contract
        Its contract.
    left_out
        Why episodes are not compared, and how many.

    """

    name: str
    contract: Contract
    episodes: list[Episode] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    software: Counter[str] = field(default_factory=Counter)

    @property
    def clients(self) -> Counter[str]:
        """Return how many episodes each client had."""
        return Counter(episode.of.client for episode in self.episodes)

    @property
    def steps(self) -> int:
        """Return the number of steps of all episodes."""
        return sum(episode.of.steps for episode in self.episodes)


def read_side(
    records: Iterable[object],
    contract: Contract,
    *,
    name: str,
    agent: str,
    client: str = '',
) -> Side:
    """
    Read a run.

    Parameters
    ----------
    records
        Everything that was recorded, in its order; what has no part in this is passed over.
    contract
        Its contract.
    name
        What it is to be called.
    agent
        Whose episodes.
    client
        Whose episodes, if not those of all clients.

    """
    side = Side(name=name, contract=contract)
    steps = Episodes(records)
    for step in steps:
        if step.transition.id.agent != agent:
            continue
        if step.transition is step.episode.first:
            record = EpisodeRecord(step.episode)
            side.software[step.transition.software_version] += 1
        record.add(step)
        if step.last:
            why = _why_not(step.episode, client)
            if why:
                side.left_out[why] += 1
            else:
                side.episodes.append(_episode(record, contract))
    side.unreadable = steps.not_read
    return side


def _why_not(episode: read.Episode, client: str) -> str:
    if client and episode.client != client:
        return f'it is of another client than {client}'
    if not episode.ending:
        return 'it has no ending'
    if episode.first.kind is not Kind.RESET:
        return 'its reset is not in the record'
    return '' if episode.steps else 'it has no step'


def _episode(record: EpisodeRecord, contract: Contract) -> Episode:
    return Episode(
        of=record.episode,
        options=record.reset.options if record.reset else '',
        imported=record.imported,
        values=features(record, contract),
    )
