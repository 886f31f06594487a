# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The limits of a contract are those of the robot's motion, whichever interface commands it.

What is sent is judged here by the definitions: velocity, acceleration and jerk are the first three
derivatives of the position, and a path whose n-th derivative is at most m has divided differences
of order n of at most m / n!. Nothing of the gate's own limits is asked.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.gate.gate_events import PublishersSeen
from boundary_env_ros.core.records.decision import Verdict
from support.core_world import shipped
from support.gate_bench import Bench

pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')

TICK, PERIOD = 0.02, 0.1
#: Which derivative of the position the numbers of an interface are; of an effort, of itself.
ORDER = {'position': 0, 'velocity': 1, 'effort': 0}
#: Which derivative of the position a key bounds; of an effort, of itself.
DERIVATIVE = {'max_velocity': 1, 'max_acceleration': 2, 'max_jerk': 3, 'max_effort_rate': 1}
#: Robots by interface: the keys of each.
ROBOTS: dict[str, tuple[dict[str, float], ...]] = {
    'position': (
        {'max_velocity': 0.7},
        {'max_velocity': 0.7, 'max_acceleration': 3.0},
        {'max_velocity': 0.7, 'max_acceleration': 3.0, 'max_jerk': 40.0},
    ),
    'velocity': (
        {'max_acceleration': 3.0},
        {'max_acceleration': 3.0, 'max_deceleration': 5.0},
        {'max_acceleration': 3.0, 'max_jerk': 40.0},
    ),
    'effort': ({'max_effort_rate': 20.0},),
}
UNITS = {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}
EACH = [(interface, keys) for interface, robots in ROBOTS.items() for keys in robots]


def robot(interface: str, **keys: Any) -> Bench:
    """Return a gate of one joint, at rest, in an episode."""
    joint = {'type': 'sensor_msgs/msg/JointState', 'joints': ['joint'], 'quantity': interface}
    group = {
        **joint, 'topic': 'command', 'unit': UNITS[interface], 'low': -1.0, 'high': 1.0,
        'driver_timeout': 0.5, **keys,
        'feedback': {**joint, 'topic': 'state', 'threshold': 0.01},
    }  # fmt: skip
    if interface == 'effort':
        group['safe'] = 0.0
    return Bench(shipped({
        ('safety', 'obstacles'): None, ('safety', 'republish_period'): 0.05,
        ('action',): {'joint': group},
    })).start()  # fmt: skip


class Path:
    """What was sent, and when; a robot rests where it begins."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.times = [Fraction(-PERIOD)]
        self.values = [bench.motion[0]]

    def run(self, wanted: float, ticks: int) -> None:
        """Ask once, and let the gate's timer run."""
        self._see(self.bench.send((wanted,)))
        self.tick(ticks)

    def tick(self, ticks: int) -> None:
        """Let the gate's timer run."""
        for _ in range(ticks):
            self.bench.time.wait(TICK)
            self.bench.pulse()
            self.now += Fraction(TICK)
            self._see(self.bench.tick())

    now = Fraction(0)

    def stop(self, needed: bool) -> None:
        """Let there be a reason to stop, or none any more."""
        self.bench.gate.apply(PublishersSeen(foreign_commands=needed, now=self.bench.time.now))

    def _see(self, decisions: Any) -> None:
        for decision in decisions:
            if self.now == self.times[-1]:
                assert decision.command[0] == self.values[-1], 'moved in no time'
            else:
                self.times.append(self.now)
                self.values += decision.command

    @property
    def speed(self) -> Fraction:
        """The mean velocity of the last command."""
        way = Fraction(self.values[-1]) - Fraction(self.values[-2])
        return way / (self.times[-1] - self.times[-2])

    def most(self, order: int) -> float:
        """Return the greatest derivative of an order that what was sent must have had."""
        found = [Fraction(value) for value in self.values]
        for n in range(1, order + 1):
            pairs = zip(found, found[1:], self.times, self.times[n:], strict=False)
            found = [(b - a) / (late - early) for a, b, early, late in pairs]
        return float(max(map(abs, found), default=Fraction(0))) * math.factorial(order)


_asked = st.lists(
    st.tuples(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1.5, 1.5)),
              st.integers(1, 6)),
    min_size=2, max_size=12,
)  # fmt: skip


@pytest.mark.parametrize(('interface', 'keys'), EACH)
@given(asked=_asked)
def test_each_limit_is_kept_by_the_motion_that_the_commands_are(
    interface: str, keys: dict[str, float], asked: list[tuple[float, int]]
) -> None:
    path = Path(robot(interface, **keys))
    for wanted, ticks in asked:
        path.run(wanted, ticks)
    assert all(-1.0 <= value <= 1.0 for value in path.values)
    for key, limit in keys.items():
        order = DERIVATIVE.get(key, 0) - ORDER[interface]
        if order > 0:
            assert path.most(order) <= limit * (1.0 + 1e-6), key


@pytest.mark.parametrize(('interface', 'keys'), EACH)
def test_a_limit_is_made_use_of(interface: str, keys: dict[str, float]) -> None:
    path = Path(robot(interface, **keys))
    for wanted in (1.0,) * 30 + (-1.0,) * 30:
        path.run(wanted, 5)
    (first, *_) = keys
    assert path.most(DERIVATIVE[first] - ORDER[interface]) >= 0.9 * keys[first]


@pytest.mark.parametrize('speed', [0.4, 1.0])
def test_a_velocity_has_as_bounds_its_greatest(speed: float) -> None:
    keys = {'max_acceleration': 3.0, 'low': None, 'high': None, 'max_velocity': speed}
    path = Path(robot('velocity', **keys))
    for wanted in (5.0,) * 10 + (-5.0,) * 10:
        path.run(wanted, 5)
    assert (min(path.values), max(path.values)) == (-speed, speed)


def test_max_deceleration_brings_a_commanded_velocity_to_zero() -> None:
    bench = robot('velocity', max_acceleration=3.0, max_deceleration=5.0)
    bench.wait(1.0, policy=(1.0,))
    bench.press()
    stop = [bench.command, *(d.command for d in bench.wait(0.5))]
    speeds = [value for command in stop if command for value in command]
    assert speeds[-1] == 0.0
    falls = [was - now for was, now in pairwise(speeds)]
    assert max(falls) == pytest.approx(5.0 * TICK)
    assert min(falls) >= 0.0


# Stops of a position ----------------------------------------------------------------------------

RUNNING_ON: tuple[dict[str, float], ...] = (
    {'max_velocity': 0.7, 'max_acceleration': 3.0},
    {'max_velocity': 0.7, 'max_acceleration': 3.0, 'max_deceleration': 6.0},
    {'max_velocity': 0.7, 'max_acceleration': 3.0, 'max_jerk': 40.0, 'max_deceleration': 5.0},
)


@pytest.mark.parametrize('keys', RUNNING_ON)
@given(asked=_asked)
def test_a_stopped_position_runs_on_to_rest_within_its_deceleration_and_never_back(
    keys: dict[str, float], asked: list[tuple[float, int]]
) -> None:
    path, limit = Path(robot('position', **keys)), keys['max_acceleration']
    for wanted, ticks in asked:
        path.run(wanted, ticks)
    begun, speed = len(path.values) - 1, abs(float(path.speed))
    doubt = 0.5 * limit * float(path.times[-1] - path.times[-2])
    path.stop(True)
    path.tick(20)
    slowest = keys.get('max_deceleration', limit)
    stopped = path.values[begun:]
    assert all(-1.0 <= value <= 1.0 for value in path.values)
    assert path.most(1) <= keys['max_velocity'] * (1.0 + 1e-6)
    assert path.most(2) <= max(limit, slowest) * (1.0 + 1e-6)
    steps = [now - was for was, now in pairwise(stopped)]
    assert min(steps) * max(steps) >= 0.0, 'turned back'
    assert steps[-1] == 0.0
    # What it did last was its velocity, but for what it may have gained or lost meanwhile.
    way = abs(sum(steps))
    assert way <= (speed + doubt) ** 2 / (2.0 * slowest) + 1e-9
    assert way >= max(0.0, speed - doubt) ** 2 / (2.0 * slowest) - 1e-9


@pytest.mark.parametrize('keys', RUNNING_ON[:2])
@given(st.lists(st.tuples(st.floats(-1.5, 1.5), st.integers(1, 6), st.booleans()), max_size=8))
def test_stops_that_come_and_go_leave_a_motion_within_its_limits(
    keys: dict[str, float], asked: list[tuple[float, int, bool]]
) -> None:
    path = Path(robot('position', **keys))
    for wanted, ticks, stopped in asked:
        path.stop(stopped)
        path.run(wanted, ticks)
    assert all(-1.0 <= value <= 1.0 for value in path.values)
    assert path.most(1) <= keys['max_velocity'] * (1.0 + 1e-6)
    slowest = keys.get('max_deceleration', keys['max_acceleration'])
    assert path.most(2) <= slowest * (1.0 + 1e-6)


@pytest.mark.parametrize('keys', RUNNING_ON)
def test_the_lease_ends_when_a_position_has_come_to_rest(keys: dict[str, float]) -> None:
    bench = robot('position', **keys)
    bench.wait(0.3, policy=(1.0,))
    places = [d.command[0] for d in bench.finish() if d.command]
    assert places == sorted(places)
    assert len(places) > 2
    assert bench.gate.state.commands.command is None


def test_a_position_whose_driver_has_come_to_rest_is_held() -> None:
    bench = robot('position', max_velocity=0.7, max_acceleration=3.0)
    bench.wait(0.3, policy=(1.0,))
    was = bench.command
    bench.time.wait(PERIOD)
    bench.pulse()
    (stopped,) = (d for d in bench.press() if d.verdict is Verdict.STOPPED)
    assert stopped.command == was


def test_without_a_limit_on_its_acceleration_a_position_is_held_at_once() -> None:
    bench = robot('position', max_velocity=0.7)
    bench.wait(0.3, policy=(1.0,))
    was = bench.command
    assert {d.command for d in (*bench.press(), *bench.wait(0.3))} == {was}
