# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Recorded pieces with equal commands, of any two episodes: how far what was measured goes apart.

For where there is no simulation to give the commands to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.evidence.comparing.features import matrix
from boundary_env_ros.evidence.comparing.quantities import command_spans
from boundary_env_ros.evidence.comparing.tape import Tape

Array = npt.NDArray[np.float64]

#: Length of a piece, steps; pieces begin so many steps apart; so many of an episode are kept.
LENGTH, APART, MOST = 10, 5, 24

#: Commands, and the motion at the beginning, are equal within this share of the command's span.
EQUAL = 0.05

#: Episodes of a side that are matched.
EPISODES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """
    The pieces of one episode.

    Attributes
    ----------
    commands
        In force at each measurement, over their spans, shape (pieces, LENGTH * n).
    motion
        Measured at the beginning, likewise, shape (pieces, n).
    answers
        Measured since, likewise, shape (pieces, LENGTH * n).

    """

    commands: Array
    motion: Array
    answers: Array


def pieces_of(tape: Tape, contract: Contract) -> Pieces | None:
    """Return the pieces of an episode; None if nothing was commanded or measured."""
    spans = np.array(command_spans(contract))
    size = len(spans)
    commands = [(at, c) for at, c in tape.commands if len(c) == size]
    measured = [(at, m) for at, m in tape.measured if len(m) == size]
    if not commands or len(measured) < LENGTH or not np.isfinite(spans).all():
        return None
    at = np.array([t for t, _ in commands])
    place = np.searchsorted(at, [t for t, _ in measured], 'right') - 1
    held = matrix([c for _, c in commands], size)[np.clip(place, 0, None)] / spans
    answers = matrix([m for _, m in measured], size) / spans
    begins = range(0, len(measured) - LENGTH + 1, APART)
    whole = [b for b in begins if place[b] >= 0 and np.isfinite(answers[b : b + LENGTH]).all()][
        :MOST
    ]
    if not whole:
        return None
    return Pieces(
        commands=np.array([held[b : b + LENGTH].ravel() for b in whole]),
        motion=np.array([answers[b] for b in whole]),
        answers=np.array([answers[b : b + LENGTH].ravel() for b in whole]),
    )


def distances(pieces: Sequence[Pieces | None]) -> tuple[Array, Array]:
    """Return sum and number of the distances between matching pieces of any two episodes."""
    count = len(pieces)
    sums, counts = np.zeros((count, count)), np.zeros((count, count))
    for i, one in enumerate(pieces):
        for j in range(i + 1, count):
            other = pieces[j]
            if one is None or other is None:
                continue
            equal = _within(one.commands, other.commands) & _within(one.motion, other.motion)
            rows, columns = np.nonzero(equal)
            if len(rows):
                apart = one.answers[rows] - other.answers[columns]
                sums[i, j] = sums[j, i] = float(np.sqrt((apart**2).mean(axis=1)).sum())
                counts[i, j] = counts[j, i] = len(rows)
    return sums, counts


def _within(one: Array, other: Array) -> npt.NDArray[np.bool_]:
    apart = np.abs(one[:, np.newaxis] - other[np.newaxis]).max(axis=2)
    return np.asarray(apart <= EQUAL)
