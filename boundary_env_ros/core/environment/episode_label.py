# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Marks: what people say of an episode, beside what the environment says of it.

A mark changes nothing of the record. Several people may mark one episode, and each may think
again: the latest word of each counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.timebase import Instant


class MarkVerdict(IntEnum):
    """What somebody makes of an episode; ``UNCLEAR``: looked at, and undecided."""

    SUCCESS = 1
    FAILURE = 2
    UNCLEAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeMark:
    """
    One verdict of a person or a program on an episode; see ``EpisodeMark.msg``.

    Attributes
    ----------
    id
        The episode, and the last step that was closed when it was marked.
    who, note
        Who says so, and anything else worth keeping.
    taken
        When it was marked.

    """

    id: StepId
    verdict: MarkVerdict
    who: str
    note: str = ''
    taken: Instant | None = None


def latest(marks: Iterable[EpisodeMark]) -> tuple[EpisodeMark, ...]:
    """Return the last mark of each person on each episode, in the order of the first ones."""
    last = {(mark.id.episode_id, mark.id.agent, mark.who): mark for mark in marks}
    return tuple(last.values())


def agreed(marks: Iterable[EpisodeMark]) -> MarkVerdict | None:
    """
    Return what the people say who have marked one episode.

    Returns
    -------
    MarkVerdict | None
        The verdict of all who are decided, ``UNCLEAR`` if they are of two minds or nobody is
        decided, None if there is no mark.

    """
    said = {mark.verdict for mark in latest(marks)}
    decided = said - {MarkVerdict.UNCLEAR}
    if len(decided) == 1:
        return decided.pop()
    return MarkVerdict.UNCLEAR if said else None
