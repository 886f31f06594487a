# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A task of my own: drive to a line and stand still on it; and how it is tried without a robot."""

from pathlib import Path
import unittest

from boundary_env_ros.core.environment.task import Outcome
from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.testing import TaskTests


class StopOnLine:
    """
    Drive to x = ``line`` (m) and stand still there.

    It reads the fields ``pose`` (x, y, yaw) and ``velocity`` (m/s, rad/s) of the contract.
    """

    def __init__(self, *, line, width=0.1):
        if not width > 0.0:
            raise BoundaryError(f'The line has no width (expected m above 0, got {width!r}).')
        self._line, self._width = line, width

    def sample_reset(self, rng, options):
        """Return a start state, drawn from the generator alone."""
        unknown = set(options) - {'start'}
        if unknown:
            raise BoundaryError(f'Unknown reset options (expected start, got {sorted(unknown)}).')
        drawn = (float(rng.uniform(-4.0, -2.0)), float(rng.uniform(-1.0, 1.0)), 0.0)
        start = options.get('start', drawn)
        numbers = isinstance(start, (list, tuple)) and all(
            isinstance(value, (int, float)) and abs(value) <= 10.0 for value in start
        )
        if not numbers or len(start) != 3:
            raise BoundaryError(f'No start (expected [x, y, yaw] within 10 m, got {start!r}).')
        values = tuple(map(float, start))
        return (NamedValues(name='start', values=values, unit=('m', 'm', 'rad')),)

    def observe(self, reset, agent):
        """Return the fields that it supplies: where the line is, for `goal` of the contract."""
        return {'goal': (self._line, 0.0)}

    def judge(self, step):
        """Return reward and ending of one step; `ending` is empty while the task goes on."""
        before, after = (abs(view['pose'][0] - self._line) for view in (step.before, step.after))
        terms = (
            RewardTerm(name='progress', value=before - after),
            RewardTerm(name='time', value=-0.1 * step.period),
        )
        still = abs(step.after['velocity'][0]) < 0.05
        return Outcome(terms=terms, ending=SUCCESS if after <= self._width and still else '')


class TestStopOnLine(TaskTests, unittest.TestCase):
    """The conformance kit, on steps that are drawn from the bounds of a contract."""

    trials = 100

    def contract(self):
        """Return the contract that it is to run under; this one has all the fields it reads."""
        return Path('warehouse_cart')

    def task(self):
        """Return the task; without this, the installed one that the contract names."""
        return StopOnLine(line=1.0)

    def valid_options(self):
        """Return options that it takes."""
        return ({}, {'start': [-3.0, 0.0, 0.0]})


if __name__ == '__main__':
    result = unittest.main(argv=['my_task'], exit=False).result
    print('success' if result.wasSuccessful() else 'failure')
