# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that a record says of one step, found by the number of its episode and its own."""

from __future__ import annotations

from pathlib import Path

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.episode import EpisodeLabel
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.episodes import Episode, EpisodeStep
from boundary_env_ros.evidence.report.anomalies import anomalies_of, Anomaly
from boundary_env_ros.evidence.report.columns import Json
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.frozen import frozen

#: The last episode, or the last step of one.
LAST = 'last'


@frozen
class OneStep:
    """
    One step and all that belongs to it.

    Attributes
    ----------
    step
        The step.
    episodes
        How many there are in the record.
    last_step
        Of its episode, as far as the record goes.
    contract
        None if it is not known.
    labels
        What people say of its episode.

    """

    step: EpisodeStep
    episodes: int
    last_step: int
    contract: Contract | None
    labels: tuple[EpisodeLabel, ...]

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """Return why one might look at it."""
        return anomalies_of(self.step.transition, self.contract)

    def to_json(self) -> dict[str, Json]:
        """Return all of it as plain data, each record as it stands in the log."""
        step = self.step
        return {
            'episode': step.episode.number,
            'episodes': self.episodes,
            'last_step': self.last_step,
            'client': step.episode.client,
            'transition': to_json(step.transition),
            'privileged': to_json(step.truth) if step.truth else None,
            'late_evidence': to_json(step.late) if step.late else None,
            'statuses': [to_json(status) for status in step.statuses],
            'events': [to_json(event) for event in step.events],
            'labels': [to_json(label) for label in self.labels],
            'anomalies': [
                {'kind': anomaly.kind, 'why': anomaly.why} for anomaly in self.anomalies
            ],
        }


def find_step(path: Path, episode: str, step: str, progress: Progress | None = None) -> OneStep:
    """
    Find one step.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` file.
    episode
        Number in the order of the record, from 1; the first digits of its id, at least four; or
        ``last``.
    step
        Its number, 0 for the reset; or ``last``.
    progress
        Called with the number of records that were read, and of how many.

    Raises
    ------
    RecordError
        If there are no records, no such episode or no such step.

    """
    if step != LAST and not step.isdecimal():
        raise RecordError(f'Not a step (expected a number from 0, or "last", got {step!r}).')
    run = Run(path, progress)
    contract = run.terms().contract
    steps = run.episodes(contract)
    chosen: Episode | None = None
    found: EpisodeStep | None = None
    numbers: list[int] = []
    for one in steps:
        if one.transition is one.episode.first and _is_wanted(one.episode, episode, chosen):
            chosen, found, numbers = one.episode, None, []
        if one.episode is chosen:
            number = one.transition.id.step
            numbers = [min([*numbers, number]), max([*numbers, number])]
            if step == LAST or number == int(step):
                found = one
    if chosen is None:
        raise RecordError(_no_episode(steps.count, episode))
    if found is None:
        other = ' Another episode is named by --episode.' if steps.count > 1 else ''
        raise RecordError(
            f'The record has no such step of episode {chosen.number} '
            f'(expected {numbers[0]} to {numbers[-1]}, got {step}).{other}'
        )
    return OneStep(
        step=found,
        episodes=steps.count,
        last_step=numbers[-1],
        contract=contract,
        labels=tuple(steps.labels.get(chosen.key, ())),
    )


def _is_wanted(episode: Episode, wanted: str, chosen: Episode | None) -> bool:
    if wanted == LAST:
        return chosen is None or episode.number > chosen.number
    if wanted.isdecimal() and len(wanted) < 8:
        return episode.number == int(wanted)
    # The first that fits; an id has so many digits that a few distinguish it from the others.
    return len(wanted) >= 4 and episode.key[1].startswith(wanted) and chosen is None


def _no_episode(count: int, wanted: str) -> str:
    if not count:
        return 'The record holds no transition, and so no episode.'
    return (
        f'There is no such episode (expected 1 to {count}, the first digits of an id, or '
        f'"last", got {wanted!r}). `boundary-env episodes list RUN` lists them.'
    )
