# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Driver, detector and bumper of the cart in Gazebo, and what an advance has to bring."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, ResetFailed
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import BodyState, target_of
from boundary_env_ros.simulation.gazebo.cart import GazeboCart, SensorArrivals, state_of
from boundary_env_ros.storage.contract_file import load

CONTRACT = load('warehouse_cart').contract
TIMEOUT = round(CONTRACT.action[0].driver_timeout * NANOSECONDS)
MILLI = 1_000_000
PLACE = target_of(
    ResetWorld(
        seed=1,
        target=(
            NamedValues(name='start', values=(1.0, -2.0, 0.5)),
            NamedValues(name='goal', values=(3.0, 0.0)),
        ),
    )
)
ID = StepId(digest='d', agent='cart', episode_id='e', step=3)


def state(at: int, *, yaw: float = 0.5, speed: float = 0.0, touches: int = 0) -> BodyState:
    turn = (0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0))
    return state_of(at, (1.0, -2.0, 0.1), turn, (speed, 0.0, 0.0), (0.0, 0.0, 0.0), touches)


# The driver --------------------------------------------------------------------------------------


def test_a_command_goes_on_at_once_and_once() -> None:
    cart = GazeboCart(CONTRACT)
    cart.halt(0)
    assert cart.drive(0) is None
    cart.command((0.3, 0.1), 10)
    assert cart.drive(10) == (0.3, 0.1)
    cart.command((0.3, 0.1), 20)
    assert cart.drive(20) is None


def test_after_the_timeout_of_the_contract_the_drive_is_told_to_stand_once() -> None:
    cart = GazeboCart(CONTRACT)
    cart.halt(0)
    cart.command((0.3, 0.0), 10)
    assert cart.drive(10) == (0.3, 0.0)
    assert cart.drive(10 + TIMEOUT - 1) is None
    assert cart.drive(10 + TIMEOUT) == (0.0, 0.0)
    assert cart.drive(10 + 2 * TIMEOUT) is None


def test_a_fresh_command_sets_it_in_motion_again() -> None:
    cart = GazeboCart(CONTRACT)
    cart.halt(0)
    cart.command((0.3, 0.0), 0)
    cart.drive(0)
    assert cart.drive(TIMEOUT) == (0.0, 0.0)
    cart.command((0.2, 0.0), TIMEOUT + 1)
    assert cart.drive(TIMEOUT + 1) == (0.2, 0.0)


def test_what_is_not_finite_is_no_command() -> None:
    cart = GazeboCart(CONTRACT)
    cart.halt(0)
    cart.command((math.nan, 0.0), 1)
    assert cart.drive(1) is None


def test_a_stand_forgets_what_was_commanded() -> None:
    cart = GazeboCart(CONTRACT)
    cart.halt(0)
    cart.command((0.3, 0.0), 1)
    assert cart.halt(2) == (0.0, 0.0)
    assert cart.drive(3) is None


def test_only_one_cart_with_two_wheels_is_driven() -> None:
    with pytest.raises(BoundaryError, match='got 2 agents'):
        GazeboCart(load('two_carts').contract)
    with pytest.raises(BoundaryError, match='in 2 groups'):
        GazeboCart(load('door_arm').contract)


# Reset, detector and bumper ----------------------------------------------------------------------


def test_a_reset_without_a_start_is_refused() -> None:
    with pytest.raises(ResetFailed, match=r'start \(x, y, yaw\) and goal'):
        target_of(ResetWorld(seed=1, target=()))


def test_a_reset_tells_where_the_cart_really_is() -> None:
    cart = GazeboCart(CONTRACT)
    place = replace(PLACE, yaw=0.5 + 2.0 * math.pi)
    answer = cart.begin(state(7), place, seed=1)
    start, goal = answer.achieved
    assert start.values == pytest.approx((1.0, -2.0, 0.5 + 2.0 * math.pi))
    assert (goal.values, answer.completed) == ((3.0, 0.0), 7)


def test_poses_are_detected_late_with_noise_that_the_seed_decides() -> None:
    found = []
    for seed in (1, 1, 2):
        cart = GazeboCart(CONTRACT)
        cart.begin(state(0), PLACE, seed)
        for at in range(0, 1000, 20):
            cart.see(state(at * MILLI))
        sent = [e for e in cart.emissions(1000 * MILLI) if e.topic == 'pose_detections']
        assert 15 <= len(sent) <= 20
        poses = [e.fields['pose']['pose']['position']['x'] for e in sent if e.fields]
        assert np.mean(poses) == pytest.approx(1.0, abs=0.05)
        found.append(poses)
    assert found[0] == found[1] != found[2]


def test_nothing_is_detected_before_a_reset_or_before_its_time() -> None:
    cart = GazeboCart(CONTRACT)
    cart.see(state(0))
    assert cart.emissions(NANOSECONDS) == ()
    cart.begin(state(0), PLACE, 1)
    cart.see(state(0))
    assert [e.topic for e in cart.emissions(0)] == ['contact']
    late = cart.emissions(60 * MILLI)
    assert [(e.topic, e.stamp) for e in late] == [('pose_detections', 0)]


def test_a_touch_is_told_until_the_next_capture() -> None:
    cart = GazeboCart(CONTRACT)
    cart.begin(state(0), PLACE, 1)
    told = []
    for at, touches in ((0, 0), (60, 1), (120, 1)):
        cart.see(state(at * MILLI, touches=touches))
        told += [e.fields['data'] for e in cart.emissions(at * MILLI) if e.topic == 'contact']
    assert told == [False, True, False]


def test_velocity_is_turned_into_the_hall() -> None:
    ahead = state(0, yaw=math.pi / 2.0, speed=0.4)
    assert ahead.velocity == pytest.approx([0.0, 0.4, 0.0])
    assert (ahead.truth().linear, ahead.truth().yaw) == pytest.approx((0.4, math.pi / 2.0))


# What an advance brings --------------------------------------------------------------------------


def heard() -> SensorArrivals:
    made = SensorArrivals(CartConfig(), ('odom', 'scan', 'pose_detections', 'emergency_stop'))
    made.begin()
    return made


def test_only_what_gazebo_publishes_is_waited_for() -> None:
    assert heard().topics == ('odom', 'scan')


def test_a_topic_is_missing_while_another_message_of_it_is_due() -> None:
    some = heard()
    assert some.missing(100 * MILLI) == ('odom', 'scan')
    some.note('odom', 80 * MILLI)
    some.note('scan', 100 * MILLI)
    assert some.missing(100 * MILLI) == ('odom',)
    some.note('odom', 100 * MILLI)
    assert some.missing(100 * MILLI) == ()
    assert some.missing(119 * MILLI) == ()
    assert some.missing(120 * MILLI) == ('odom',)


def test_the_report_counts_what_came_since_the_advance_began() -> None:
    some = heard()
    for at in (20, 40):
        some.note('odom', at * MILLI)
    some.note('scan', 50 * MILLI)
    some.begin()
    some.note('odom', 60 * MILLI)
    some.note('odom', 80 * MILLI)
    report = some.report(ID, (), '', {'odom': '/odom', 'scan': '/scan'})
    assert (report.id, report.success) == (ID, True)
    assert (report.topics, report.published) == (('/odom',), (2,))
    assert report.last_stamp == (80 * MILLI,)


def test_a_message_that_is_told_again_while_the_world_stands_is_one() -> None:
    # Seen: joint states come at 460 Hz from a world that is paused.
    some = heard()
    for at in (20, 20, 40, 40, 40):
        some.note('odom', at * MILLI)
    some.note('scan', 40 * MILLI)
    report = some.report(ID, (), '', {'odom': '/odom', 'scan': '/scan'})
    assert dict(zip(report.topics, report.published, strict=True)) == {'/odom': 2, '/scan': 1}


def test_a_world_whose_time_was_set_back_is_listened_to_anew() -> None:
    some = heard()
    some.note('odom', 500 * MILLI)
    some.note('odom', 20 * MILLI)
    assert 'odom' in some.missing(100 * MILLI)


def test_of_what_comes_while_nothing_advances_the_last_is_kept() -> None:
    some = heard()
    some.end()
    for at in range(0, 60_000, 20):
        some.note('odom', at * MILLI)
    assert some.missing(59_999 * MILLI) == ('scan',)
    some.begin()
    some.note('odom', 60_000 * MILLI)
    report = some.report(ID, (), '', {'odom': '/odom', 'scan': '/scan'})
    assert (report.published, report.last_stamp) == ((1,), (60_000 * MILLI,))
    assert max(map(len, some._stamps.values())) == 2


def test_what_failed_is_in_the_report() -> None:
    report = heard().report(ID, (), 'it did not step', {})
    assert (report.success, report.message) == (False, 'it did not step')
