# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All that a gate emitted in a run of a campaign, judged as one sequence."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np

from boundary_env_ros.core.contract.model import Contract, Interface
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.vectors import Vector

#: Rounding of a few operations in double precision at the size of a command.
ROUNDING = 1e-9

#: Seconds between two commands that derivatives are taken of.
APART = 2e-3


class Violation(AssertionError):
    """Raised when a gate did what it must not, or did not what it must."""


class Sent:
    """All that was emitted in a run, judged as one sequence."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.command: list[Vector] = []
        self.before: list[Vector] = []
        self.seconds: list[float] = []
        self.at: list[int] = []
        self.stopped: list[bool] = []
        self.begins: list[bool] = []
        self.number: list[int] = []
        self.slowed: list[tuple[int, int, float, float]] = []

    def add(
        self, decision: GateDecision, before: Vector | None, seconds: float, at: int, begins: bool
    ) -> None:
        """Enter a command."""
        self.command.append(decision.command)
        self.before.append(decision.command if before is None else before)
        self.seconds.append(seconds)
        self.at.append(at)
        self.stopped.append(decision.verdict is Verdict.STOPPED)
        self.begins.append(begins or before is None)
        self.number.append(decision.sequence)

    def slow(self, dimension: int, backwards: float, forwards: float) -> None:
        """Enter how fast the command that is about to be entered may at most go on."""
        if backwards < math.inf or forwards < math.inf:
            self.slowed.append((len(self.command), dimension, backwards, forwards))

    def check(self) -> None:
        """
        Check everything that was emitted.

        Raises
        ------
        Violation
            Naming the first decision that breaks something.

        """
        if not self.command:
            return
        contract = self.contract
        command, before = np.array(self.command), np.array(self.before)
        seconds, stopped = np.array(self.seconds)[:, None], np.array(self.stopped)[:, None]
        low, high = np.array(contract.flat('low')), np.array(contract.flat('high'))
        self._none(~np.isfinite(command), 'publishes what is not finite')
        # A place that begins outside of its bounds may stay there, and only come back.
        stays = np.isnan(np.array(contract.flat('safe')))
        low = np.where(stays, np.minimum(low, before), low)
        high = np.where(stays, np.maximum(high, before), high)
        self._none((command < low) | (command > high), 'publishes what is out of bounds')
        rate, stop = np.array(contract.flat('rate')), np.array(contract.flat('stop'))
        change = command - before
        # A driver that is told to be there sooner than the next command comes goes so fast.
        told = [getattr(g.source, 'duration', math.inf) for g in contract.action for _ in g.low]
        in_time = np.minimum(seconds, told)
        self._none(
            ~stopped & (np.abs(change) > rate * in_time + ROUNDING), 'changes faster than `rate`'
        )
        safe = np.array(contract.flat('safe'))
        goal = np.where(np.isnan(safe), before, safe)
        way = np.clip(goal - before, -stop * seconds, stop * seconds)
        # Without a command in force there is none to brake from: a speed is the safe one at once.
        speeds = np.array(
            [one is not Interface.POSITION for g in contract.action for one in g.interface]
        )
        at_once = np.array(self.begins)[:, None] & speeds
        way = np.where(at_once, goal - before, way)
        self._none(stopped & (np.abs(change - way) > ROUNDING), 'leaves the stop profile')
        for index, dimension, backwards, forwards in self.slowed:
            most = rate[dimension] * self.seconds[index] - ROUNDING
            was, value = self.before[index][dimension], self.command[index][dimension]
            if value > max(forwards, was - most) or -value > max(backwards, -was - most):
                raise Violation(f'decision {self.number[index]} is too fast near an obstacle')
        self._check_derivatives(command, before)

    def _check_derivatives(self, command: np.ndarray, before: np.ndarray) -> None:
        """
        Check second and third derivatives of the sequences between two beginnings or stops.

        A path whose n-th derivative is bounded by m has divided differences of order n within
        m / n! (mean value theorem), at whatever times it was sampled.
        """
        contract = self.contract
        for order, attribute in ((2, 'acceleration'), (3, 'jerk')):
            most = np.array(
                [
                    limit
                    for group in contract.action
                    for limit in getattr(group, attribute, ()) or (math.inf,) * group.size
                ]
            )
            if np.isinf(most).all():
                continue
            for numbers, times, values in self._sequences(command, before):
                spread = math.factorial(order) * _rounding(times, order)[:, None]
                found = math.factorial(order) * np.abs(_divided(times, values, order))
                wrong = found > most * (1.0 + 1e-6) + spread
                if wrong.any():
                    where = int(np.argmax(wrong.any(axis=1)))
                    raise Violation(
                        f'decision {numbers[where + order]} breaks `{attribute}`: '
                        f'{found[where].tolist()} of {most.tolist()}'
                    )

    def _sequences(
        self, command: np.ndarray, before: np.ndarray
    ) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """
        Yield numbers, times (s) and values of the sequences between two beginnings or stops.

        Each begins at rest, which it was in for ever. Time goes as the limits make use of it: at
        most a period from one command to the next. Of commands at nearly one time the first
        counts.
        """
        ends = np.cumsum(self.seconds)
        period = self.contract.period
        points: list[tuple[int, float, np.ndarray]] = []
        for i, number in enumerate(self.number):
            stopped = self.stopped[i]
            if stopped or self.begins[i]:
                yield from _columns(points)
                value = command[i] if stopped else before[i]
                since = ends[i] - (0.0 if stopped else self.seconds[i])
                points = [(number, since - k * period, value) for k in (3, 2, 1, 0)]
            if not stopped and (not points or ends[i] - points[-1][1] >= APART):
                points.append((number, ends[i], command[i]))
        yield from _columns(points)

    def _none(self, wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            raise Violation(f'decision {self.number[int(np.argmax(wrong.any(axis=1)))]} {what}')


def _columns(
    points: list[tuple[int, float, np.ndarray]],
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    if len(points) > 4:
        numbers, times, values = zip(*points, strict=True)
        yield list(numbers), np.array(times), np.array(values)


def _divided(times: np.ndarray, values: np.ndarray, order: int) -> np.ndarray:
    """Return the divided differences of an order."""
    for k in range(1, order + 1):
        values = np.diff(values, axis=0) / (times[k:] - times[:-k])[:, None]
    return values


def _rounding(times: np.ndarray, order: int) -> np.ndarray:
    """Return what the rounding of values of the size of 1 can make of divided differences."""
    spread = np.full(len(times), 1e-14)
    for k in range(1, order + 1):
        spread = (spread[1:] + spread[:-1]) / (times[k:] - times[:-k])
    return spread
