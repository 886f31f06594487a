# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Labels: what people say about an episode, next to the ending that the environment declared.

A label changes nothing in the record. Several users may label one episode; the latest label of
each user counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.frozen import frozen


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
    who, note
        Who says so, and anything else worth keeping.
    taken
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
    said = {label.label for label in latest(labels)}
    decided = said - {Label.UNCLEAR}
    if len(decided) == 1:
        return decided.pop()
    return Label.UNCLEAR if said else None
