# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stepping and placing, before a server that does what was seen of a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
import math
from typing import Any, TypeVar

import pytest

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import SimulationFailed
from boundary_env_ros.simulation.cart_state import BodyState, ResetTarget
from boundary_env_ros.simulation.gazebo.cart import state_of
from boundary_env_ros.simulation.gazebo.server import GazeboWorld

STEP = 0.002
PLACE = ResetTarget(x=1.0, y=-2.0, yaw=0.5, goal_x=3.0, goal_y=0.0)
Answer = TypeVar('Answer')


class Gazebo:
    """
    A cart that drives ahead, in a server as it was seen.

    Parameters
    ----------
    speed
        Of the cart at first, m/s; it brakes by 1.5 m/s^2 when it is told to stand.
    late
        Steps of the world from the answer to a placing until it is done.

    """

    def __init__(self, speed: float = 0.0, late: int = 0) -> None:
        self.speed, self.late = speed, late
        self.pose = (0.0, 0.0, 0.0)
        self.stands = self.lost = False
        self.says_truth = self.clock_runs = self.holds = True
        self.iterations = self.pending = self.most_pending = 0
        self.asked: list[str] = []
        self.speed_when_placed = math.nan
        self.placed: tuple[int, tuple[float, float, float]] | None = None
        self.truth: BodyState | None = None
        # What the true odometry takes the mean of, m/s.
        self.seen = [speed] * 10

    def world_time(self) -> int:
        return self.iterations * 2_000_000 if self.clock_runs else 0

    def halt(self) -> None:
        self.stands = True

    async def step(self, steps: int) -> None:
        if self.lost:
            raise SimulationFailed('nobody answers')
        self.asked.append(f'step {steps}')
        # It answers at once, and adds up what is asked meanwhile.
        self.most_pending = max(self.most_pending, self.pending)
        self.pending += steps

    async def place(self, entity: str, x: float, y: float, z: float, yaw: float) -> None:
        self.asked.append(f'place {entity}')
        # It says yes to an entity that it does not have, too.
        if entity == 'cart':
            self.placed, self.speed_when_placed = (
                (self.iterations + self.late, (x, y, yaw)),
                (self.speed),
            )

    async def moment(self) -> None:
        for _ in range(min(self.pending, 7)):
            self.pending -= 1
            self.iterations += 1
            self.iterate()
        await asyncio.sleep(0)

    def iterate(self) -> None:
        x, y, yaw = self.pose
        if self.stands:
            self.speed = max(0.0, self.speed - 1.5 * STEP)
        self.pose = (x + self.speed * STEP, y, yaw)
        if self.placed is not None and self.iterations > self.placed[0]:
            self.pose, self.placed = self.placed[1], None
        leap = math.hypot(self.pose[0] - x, self.pose[1] - y)
        self.seen = [*self.seen[1:], leap / STEP]
        # The cart says where it is at 50 Hz.
        if self.says_truth and self.iterations % 10 == 0:
            x, y, yaw = self.pose
            self.truth = state_of(
                self.iterations * 2_000_000,
                (x, y, 0.1),
                (0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)),
                (sum(self.seen) / len(self.seen), 0.0, 0.0),
                (0.0, 0.0, 0.0),
                0,
            )


def world(gazebo: Gazebo) -> GazeboWorld:
    ticks = count()
    return GazeboWorld(
        gazebo, step=STEP, patience=1000.0, paused=True, steady=lambda: float(next(ticks))
    )


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    return asyncio.run(work)


def test_a_cart_that_drives_is_braked_before_it_is_placed() -> None:
    # Seen: placed at 0.8 m/s it went on, and was 0.16 m away at the first observation.
    gazebo = Gazebo(speed=0.8)
    state = run(world(gazebo).put(PLACE, 'cart', 'goal'))
    assert gazebo.asked[:3] == ['step 300', 'place cart', 'place goal']
    assert gazebo.speed_when_placed == 0.0
    assert state.position[:2] == pytest.approx([1.0, -2.0])


def test_a_placing_that_is_answered_before_it_is_done_is_waited_for() -> None:
    gazebo = Gazebo(late=137)
    state = run(world(gazebo).put(PLACE, 'cart', ''))
    assert state.at_ns > (300 + 137) * 2_000_000
    assert (state.truth().x, state.truth().y, state.truth().yaw) == pytest.approx((1.0, -2.0, 0.5))


def test_a_speed_that_is_a_mean_over_the_leap_is_not_that_of_the_cart() -> None:
    # Seen: false for ten samples after a placing. Late, so that a new truth has the leap.
    gazebo = Gazebo(late=5)
    state = run(world(gazebo).put(PLACE, 'cart', ''))
    assert gazebo.speed_when_placed == 0.0
    assert state.at_ns >= (300 + 5 + 10) * 2_000_000
    assert state.velocity == pytest.approx([0.0, 0.0, 0.0])


def test_a_second_control_waits_until_the_first_is_done() -> None:
    gazebo = Gazebo()
    paused = world(gazebo)

    async def both() -> list[int]:
        return await asyncio.gather(paused.advance(0.1), paused.advance(0.06))

    first, second = run(both())
    assert (first, second) == (100_000_000, 160_000_000)
    assert (gazebo.asked, gazebo.most_pending) == (['step 50', 'step 30'], 0)


def test_a_reset_waits_for_the_steps_of_an_advance_that_nobody_waits_for_any_more() -> None:
    gazebo = Gazebo(speed=0.3)
    paused = world(gazebo)

    async def abandoned() -> BodyState:
        await paused.advance(0.1)
        return await paused.put(PLACE, 'cart', 'goal')

    state = run(abandoned())
    assert gazebo.most_pending == 0
    assert gazebo.asked[:3] == ['step 50', 'step 300', 'place cart']
    assert state.position[:2] == pytest.approx([1.0, -2.0])


def test_a_cart_that_does_not_come_to_its_place_is_told_with_where_it_is() -> None:
    # Gazebo says yes to whoever puts an entity that it does not have.
    with pytest.raises(
        SimulationFailed,
        match=r'forklift is not at rest in its place 2 s .*expected \(1\.00, -2\.00, 0\.50\), '
        r'got \(0\.00, 0\.00, 0\.00\), 0\.00 m/s',
    ):
        run(world(Gazebo()).put(PLACE, 'forklift', ''))


def test_a_truth_that_does_not_come_is_told() -> None:
    gazebo = Gazebo()
    gazebo.says_truth = False
    with pytest.raises(SimulationFailed, match='nothing new of it on ground_truth'):
        run(world(gazebo).put(PLACE, 'cart', ''))


def test_a_clock_that_does_not_come_is_told_and_the_next_advance_begins_anew() -> None:
    gazebo = Gazebo()
    gazebo.clock_runs = False
    paused = world(gazebo)

    async def advance() -> int:
        until = await paused.advance(0.1)
        await paused.reach(until)
        return until

    with pytest.raises(SimulationFailed, match=r'/clock did not come .*expected 0\.1 s .*got 0 s'):
        run(advance())
    gazebo.clock_runs = True
    assert run(advance()) == gazebo.world_time() == 200_000_000


def test_steps_that_nobody_took_are_not_waited_for() -> None:
    gazebo = Gazebo()
    paused = world(gazebo)
    gazebo.lost = True
    with pytest.raises(SimulationFailed, match='nobody answers'):
        run(paused.advance(0.1))
    gazebo.lost = False
    assert run(paused.advance(0.1)) == round(0.1 * NANOSECONDS)


def test_a_world_that_runs_is_asked_for_no_steps() -> None:
    gazebo = Gazebo()
    gazebo.pending = 100_000
    running = GazeboWorld(gazebo, step=STEP, patience=5.0, paused=False)
    state = run(running.put(PLACE, 'cart', 'goal'))
    assert gazebo.asked == ['place cart', 'place goal']
    assert state.position[:2] == pytest.approx([1.0, -2.0])


# As a server of Fortress said it: ms, then x, y, yaw, forward, sideways and turning speed.
RECORDED = (
    (4240, -1.1276, -2.7941, 0.1451, 0.8001, -0.0001, 0.0680),
    (4780, -0.9158, -2.7631, 0.1454, 0.0077, 0.0, 0.0),
    (4800, -0.9158, -2.7631, 0.1454, 0.0, 0.0, 0.0),
    (4860, -3.8209, -2.9557, -0.4081, -129.5055, -66.4871, -27.6760),
    (4880, -3.8209, -2.9557, -0.4081, 0.0, 0.0, 0.0),
)


class Recorded(Gazebo):
    """A server whose cart does what was recorded of a reset at 0.8 m/s, whatever it is told."""

    def iterate(self) -> None:
        ms = self.iterations * 2
        at, x, y, yaw, ahead, aside, turn = max(row for row in RECORDED if row[0] <= ms)
        self.truth = state_of(
            at * 1_000_000,
            (x, y, 0.1),
            (0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)),
            (ahead, aside, 0.0),
            (0.0, 0.0, turn),
            0,
        )


def test_a_recorded_reset_ends_when_the_cart_is_in_its_place_and_the_false_twist_is_over() -> None:
    gazebo = Recorded()
    gazebo.iterations = 4240 // 2
    place = ResetTarget(x=-3.8209, y=-2.9557, yaw=-0.4081, goal_x=3.0, goal_y=0.0)
    state = run(world(gazebo).put(place, 'cart', 'goal'))
    assert gazebo.asked[0] == 'step 300'
    assert state.at_ns == 4_880_000_000
