# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How a robot answers its commands: delay and gain, from commanded against measured.

The step response is fitted, at multiples of the contract's period, by least squares: each
measurement as a weighted sum of the commands that were in force then, one period before, two
before, and so on. That supposes no model but linearity; it is a ruler that is laid to both sides
alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

Array = npt.NDArray[np.float64]

#: How far back commands are looked for in a measurement: s, and the fewest and most periods.
MEMORY, FEWEST_TAPS, MOST_TAPS = 0.5, 4, 12

#: Changes of a command of which a robot that works follows some.
MANY = 10

#: Fewest measurements for each weight that is fitted.
MEASUREMENTS_PER_TAP = 4


@frozen
class Response:
    """
    What was identified for one dimension of the command.

    Attributes
    ----------
    delay
        Mean time by which the measured value is behind the commanded one, s, counted from the
        measurements: dead time, lag and the sensor's own delay together.
    latency, uncertainty
        The same, s, counted from the commands. A robot that is measured once a period, at the same
        time after each command, answers at an unknown time within the period: the uncertainty is
        half a period, and twice the standard error.
    gain
        Final measured value over commanded value.

    """

    delay: float
    latency: float
    uncertainty: float
    gain: float


@dataclass(slots=True)
class Motion:
    """
    What was commanded and measured in one episode.

    Attributes
    ----------
    commands
        When each command was published, ns of the ROS clock, and its values.
    measured
        When the robot was measured, ns likewise, and what.

    """

    commands: list[tuple[int, Vector]] = field(default_factory=list)
    measured: list[tuple[int, Vector]] = field(default_factory=list)

    def add(self, now: Transition) -> None:
        """Take the next step."""
        if now.measured_at is not None and now.measured_action:
            self.measured.append((now.measured_at.nanoseconds, now.measured_action))
        for decision in now.decisions:
            if decision.published and decision.commanded is not None:
                self.commands.append((decision.commanded.ros.nanoseconds, decision.command))

    def fit(self, fits: dict[int, Fit], contract: Contract) -> None:
        """Add the episode to the fit of each dimension of the command."""
        size = len(contract.command_dimensions)
        commands = [(at, values) for at, values in self.commands if len(values) == size]
        measured = [(at, values) for at, values in self.measured if len(values) == size]
        if not commands or not measured:
            return
        begin = commands[0][0]
        commanded_at, measured_at = (
            np.array([(at - begin) / NANOSECONDS for at, _ in series])
            for series in (commands, measured)
        )
        commanded, answers = (
            np.array([values for _, values in series]) for series in (commands, measured)
        )
        rest = contract.flat('safe')
        threshold = tuple(t for group in contract.action for t in group.feedback.threshold)
        for index in range(size):
            start = rest[index] if index < len(rest) else math.nan
            least = threshold[index] if index < len(threshold) else 1e-6
            fits.setdefault(index, Fit(contract.period, least)).add(
                commanded_at,
                commanded[:, index],
                measured_at,
                answers[:, index],
                start=start if math.isfinite(start) else float(answers[0, index]),
            )


class Fit:
    """
    Fits the step response of one dimension to one episode, or to several of one robot.

    Parameters
    ----------
    period
        The contract's, s.
    excitation
        Least standard deviation of the commands, in their unit, that says something.

    Attributes
    ----------
    episodes
        How many were added.

    """

    def __init__(self, period: float, excitation: float) -> None:
        taps = min(max(math.ceil(MEMORY / period) + 1, FEWEST_TAPS), MOST_TAPS)
        self.episodes = 0
        self._period, self._excitation, self._taps = period, excitation, taps
        # Products of measurements and commands: memory does not grow with the episodes.
        self._count, self._sum, self._yy, self._after = 0, 0.0, 0.0, 0.0
        self._xx, self._xy = np.zeros((taps, taps)), np.zeros(taps)
        self._changes, self._asked, self._travelled = 0, 0.0, 0.0

    @property
    def still(self) -> bool:
        """Whether the command changed many times, and the robot is not seen to have moved."""
        moves = self._changes >= MANY and self._asked >= 2.0 * self._excitation
        return moves and self._travelled < self._excitation

    def add(
        self,
        commanded_at: Array,
        commanded: Array,
        measured_at: Array,
        measured: Array,
        *,
        start: float,
    ) -> None:
        """
        Add an episode.

        Parameters
        ----------
        commanded_at, commanded
            When each command was sent, s, rising, and its value; it holds until the next.
        measured_at, measured
            When the robot was measured, s, and what; not finite values are left out.
        start
            What was commanded before the first command; all is counted from there.

        """
        known = np.isfinite(measured) & np.isfinite(measured_at)
        times, y = measured_at[known], measured[known] - start
        steps = np.concatenate([[0.0], commanded - start])
        seen = times[:, np.newaxis] - self._period * np.arange(self._taps)
        x = steps[np.searchsorted(commanded_at, seen, 'right')]
        latest = np.searchsorted(commanded_at, times, 'right') - 1
        after = times - commanded_at[np.maximum(latest, 0)]
        self.episodes += 1
        self._changes += int(np.count_nonzero(np.diff(commanded)))
        self._asked = max(self._asked, float(np.ptp(commanded)))
        self._travelled = max(self._travelled, float(np.ptp(y)) if len(y) else 0.0)
        self._after += float(np.clip(after, 0.0, self._period).sum())
        self._count += len(y)
        self._sum += float(x[:, 0].sum())
        self._xx += x.T @ x
        self._xy += x.T @ y
        self._yy += float(y @ y)

    def response(self) -> Response | None:
        """Return the response; None where the commands say too little."""
        count, taps, period = self._count, self._taps, self._period
        if count < MEASUREMENTS_PER_TAP * taps:
            return None
        if self._xx[0, 0] / count - (self._sum / count) ** 2 < self._excitation**2:
            return None
        weights = np.linalg.lstsq(self._xx, self._xy, rcond=None)[0]
        gain = float(weights.sum())
        if abs(gain) < 1e-3:
            return None
        shares = weights / gain
        left = self._yy - 2.0 * weights @ self._xy + weights @ self._xx @ weights
        covariance = np.linalg.pinv(self._xx) * max(0.0, float(left)) / (count - taps)
        delay = period * float(shares @ np.arange(taps))
        slope = (period * np.arange(taps) - delay) / gain
        return Response(
            delay=delay,
            latency=delay + self._after / count - period / 2.0,
            uncertainty=period / 2.0
            + 2.0 * math.sqrt(max(0.0, float(slope @ covariance @ slope))),
            gain=gain,
        )
