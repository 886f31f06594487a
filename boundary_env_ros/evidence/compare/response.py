# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How a robot answers its commands: delay, settling and gain, from commanded against measured.

The step response is fitted, at multiples of the contract's period, by least squares: each
measurement as a weighted sum of the commands that were in force then, one period before, two
before, and so on. That supposes no model but linearity; it is a ruler that is laid to both sides
alike.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: How far back commands are looked for in a measurement: s, and the fewest and most periods.
MEMORY, FEWEST_TAPS, MOST_TAPS = 0.5, 4, 12

#: Fewest measurements for each weight that is fitted.
MEASUREMENTS_PER_TAP = 4

#: Share of the final value at which a response counts as settled. Of a robot that is measured once
#: a period and for seconds, the last fifth would be told by noise.
SETTLED = 0.8

#: Greatest standard error of the step response, of its final value, that settling is read from.
UNCERTAIN = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """
    What was identified for one dimension of the command.

    Attributes
    ----------
    delay
        Mean time by which the measured value is behind the commanded one, s, counted from the
        measurements: dead time, lag and the sensor's own delay together.
    settling
        Time after which ``SETTLED`` of a step of the command are there, s; NaN if never, or if
        the episode says that no better than ``UNCERTAIN``.
    gain
        Final measured value over commanded value.
    residual
        Root mean square of what the fit leaves, in the unit of the command.

    """

    delay: float
    settling: float
    gain: float
    residual: float


def identify(
    commanded_at: Array,
    commanded: Array,
    measured_at: Array,
    measured: Array,
    *,
    period: float,
    start: float,
    excitation: float,
) -> Response | None:
    """
    Fit the step response of one episode; None where the commands say too little.

    Parameters
    ----------
    commanded_at, commanded
        When each command was sent, s, rising, and its value; it holds until the next.
    measured_at, measured
        When the robot was measured, s, and what; not finite values are left out.
    period
        The contract's, s.
    start
        What was commanded before the first command; all is counted from there.
    excitation
        Least standard deviation of the commands, in their unit, that says something.

    """
    taps = min(max(math.ceil(MEMORY / period) + 1, FEWEST_TAPS), MOST_TAPS)
    known = np.isfinite(measured) & np.isfinite(measured_at)
    times, y = measured_at[known], measured[known] - start
    if len(y) < MEASUREMENTS_PER_TAP * taps or not len(commanded):
        return None
    steps = np.concatenate([[0.0], commanded - start])
    seen = times[:, np.newaxis] - period * np.arange(taps)
    x = steps[np.searchsorted(commanded_at, seen, 'right')]
    if float(x[:, 0].std()) < excitation:
        return None
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    gain = float(weights.sum())
    if abs(gain) < 1e-3:
        return None
    shares = weights / gain
    residual = float(np.sqrt(np.mean((y - x @ weights) ** 2)))
    certain = _error(x, residual) / abs(gain) <= UNCERTAIN
    return Response(
        delay=period * float(shares @ np.arange(taps)),
        settling=_settling(np.cumsum(shares), period) if certain else math.nan,
        gain=gain,
        residual=residual,
    )


def _error(x: Array, residual: float) -> float:
    """Return the greatest standard error of the points of a step response."""
    points, taps = x.shape
    sums = np.tril(np.ones((taps, taps)))
    spread = np.diag(sums @ np.linalg.pinv(x.T @ x) @ sums.T)
    variance = residual**2 * points / (points - taps)
    return float(np.sqrt(variance * spread.max()))


def _settling(reached: Array, period: float) -> float:
    """Return when a step response comes to ``SETTLED`` first, between its points by a line, s."""
    above = np.flatnonzero(reached >= SETTLED)
    if not len(above):
        return math.nan
    first = int(above[0])
    before = float(reached[first - 1]) if first else 0.0
    rest = (SETTLED - before) / (float(reached[first]) - before)
    return period * max(0.0, first - 1 + rest)
