# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The cart as a whole: same seed same bits, time, resets, motion, contact."""

from __future__ import annotations

import importlib
import itertools
import math
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.errors import (
    InvalidAction,
    InvalidState,
    MissingDependency,
    ResetFailed,
    SimulationFailed,
)
from boundary_env_ros.simulation.cart_config import CartConfig, ContactConfig, SensorConfig
from boundary_env_ros.simulation.readings import SensorReading
from support.readings import seen
from support.warehouse_cart import ResetTarget, WarehouseCart

MS = 1_000_000
START = ResetTarget(x=-1.0, y=-2.0, yaw=0.3, goal_x=3.0, goal_y=0.5)
COMMANDS = ((30, 0.5, 0.4), (130, 0.8, -0.3), (215, -0.2, 0.0), (330, 0.6, 1.0))


def run_commands(cart, zero_ns, duration_ns, cuts=()):
    """Run COMMANDS (ms since zero, m/s, rad/s), advancing to each cut on the way."""
    readings = []
    todo = list(COMMANDS)
    for cut in sorted({*cuts, duration_ns}):
        while todo and todo[0][0] * MS <= cut:
            arrived, linear, angular = todo.pop(0)
            cart.command(linear, angular, zero_ns + arrived * MS)
        readings += cart.advance(zero_ns + cut)
    return tuple(readings)


def test_same_seed_and_commands_give_the_same_bits_whatever_came_before(fingerprint):
    first = WarehouseCart()
    first.reset(START, seed=5, at_ns=0)
    second = WarehouseCart(start_ns=123_456_789)
    second.command(0.7, 1.0, second.now_ns)
    second.advance(900 * MS)
    second.reset(START, seed=5, at_ns=977_000_001)
    ran = [run_commands(first, 0, 600 * MS), run_commands(second, 977_000_001, 600 * MS)]
    assert fingerprint(ran[0], 0) == fingerprint(ran[1], 977_000_001)
    assert {reading.sensor for reading in ran[0]} == set(CartConfig().sensors)


def test_another_seed_gives_other_noise_but_the_same_motion():
    payloads = {}
    for seed in (1, 2):
        cart = WarehouseCart()
        cart.reset(START, seed=seed, at_ns=0)
        readings = run_commands(cart, 0, 400 * MS)
        payloads[seed] = {r.sensor: r.fields for r in readings}
    assert payloads[1]['ground_truth'] == payloads[2]['ground_truth']
    assert payloads[1]['odometry'] != payloads[2]['odometry']
    assert payloads[1]['pose_detections'] != payloads[2]['pose_detections']
    assert not np.array_equal(payloads[1]['scan']['ranges'], payloads[2]['scan']['ranges'])
    assert payloads[1]['camera']['data'] != payloads[2]['camera']['data']


def test_steps_of_two_milliseconds_give_what_one_long_step_gives(fingerprint):
    whole, cut = WarehouseCart(), WarehouseCart()
    for cart in (whole, cut):
        cart.reset(START, seed=9, at_ns=0)
    expected = run_commands(whole, 0, 500 * MS)
    actual = run_commands(cut, 0, 500 * MS, cuts=range(0, 500 * MS, 2 * MS))
    assert fingerprint(actual, 0) == fingerprint(expected, 0)
    assert cut.true_state == whole.true_state


@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 400 * MS), max_size=12))
def test_no_cutting_of_time_into_calls_changes_anything(cuts, fingerprint):
    whole, cut = WarehouseCart(), WarehouseCart()
    for cart in (whole, cut):
        cart.reset(START, seed=9, at_ns=0)
    expected = run_commands(whole, 0, 400 * MS)
    assert fingerprint(run_commands(cut, 0, 400 * MS, cuts), 0) == fingerprint(expected, 0)


def test_readings_come_in_order_of_publication_within_the_interval(cart):
    cart.reset(START, seed=3, at_ns=0)
    for begin, end in itertools.pairwise(range(0, 500 * MS, 7_300_001)):
        stamps = [reading.published_ns for reading in cart.advance(end)]
        assert stamps == sorted(stamps)
        assert all(begin < stamp <= end or (begin == stamp == 0) for stamp in stamps)


def test_remainder_of_a_physics_step_is_carried_to_the_next_call(cart):
    for _ in range(1000):
        cart.advance(cart.now_ns + 1_999_999)
        assert 0 <= cart.now_ns - cart.physics_ns < 2 * MS
    assert cart.now_ns == 1000 * 1_999_999
    assert cart.physics_ns == 1998 * MS


def test_time_never_runs_backwards(cart):
    cart.advance(10 * MS)
    with pytest.raises(InvalidState, match='expected to advance to 10000000 ns'):
        cart.advance(10 * MS - 1)
    with pytest.raises(ResetFailed, match='expected a reset at 10000000 ns'):
        cart.reset(START, seed=0, at_ns=9 * MS)
    cart.command(0.1, 0.0, 12 * MS)
    with pytest.raises(InvalidState, match='arrived at 12000000 ns'):
        cart.command(0.1, 0.0, 11 * MS)
    assert cart.now_ns == 10 * MS


@pytest.mark.parametrize(
    ('start', 'named'),
    [
        ({'x': 0.0, 'y': 0.0}, 'collision with rack_middle'),
        ({'x': 1.7, 'y': 0.0}, 'collision with rack_middle'),
        ({'x': -4.75, 'y': -3.0, 'yaw': 3.0}, 'collision with wall_west'),
        ({'x': 5.5, 'y': 0.0}, 'start inside the hall'),
        ({'x': math.nan}, 'start inside the hall'),
        ({'goal_y': 9.0}, 'goal inside the hall'),
        ({'yaw': math.inf}, 'finite yaw'),
    ],
)
def test_impossible_start_or_goal_is_refused_and_changes_nothing(cart, start, named):
    fine = {'x': -1.0, 'y': -2.0, 'yaw': 0.3, 'goal_x': 3.0, 'goal_y': 0.5}
    before = cart.true_state
    with pytest.raises(ResetFailed, match=named):
        cart.reset(ResetTarget(**{**fine, **start}), seed=0, at_ns=0)
    assert cart.true_state == before


def test_negative_seed_is_refused(cart):
    with pytest.raises(ResetFailed, match='seed of 0 or more, got -1'):
        cart.reset(START, seed=-1, at_ns=0)


def test_reset_reports_the_state_that_was_achieved(cart):
    achieved = cart.reset(START, seed=4, at_ns=5 * MS)
    truth = cart.true_state
    assert achieved == truth
    assert math.hypot(achieved.x - START.x, achieved.y - START.y) < 1e-3
    assert abs(math.remainder(achieved.yaw - START.yaw, 2.0 * math.pi)) < 1e-3
    assert cart.now_ns == 5 * MS


def test_reset_forgets_commands_and_readings_that_were_on_their_way(cart):
    cart.command(0.8, 0.0, 0)
    cart.advance(200 * MS)
    cart.command(0.8, 0.0, 199 * MS + MS)
    cart.reset(START, seed=4, at_ns=201 * MS)
    readings = cart.advance(700 * MS)
    assert cart.applied_command is None
    assert min(reading.captured_ns for reading in readings) == 201 * MS
    assert math.hypot(cart.true_state.x - START.x, cart.true_state.y - START.y) < 1e-3


@pytest.mark.parametrize(('linear', 'angular'), [(0.6, 0.0), (-0.4, 0.0), (0.0, 1.2), (0.5, -0.8)])
def test_commanded_velocity_is_reached_within_three_percent(only, drive, linear, angular):
    cart = WarehouseCart(only())
    cart.reset(ResetTarget(x=-1.0, y=-2.0, yaw=0.0, goal_x=0.0, goal_y=2.0), seed=0, at_ns=0)
    drive(cart, 1.5, linear, angular)
    assert cart.true_state.linear == pytest.approx(linear, rel=0.03, abs=0.01)
    assert cart.true_state.angular == pytest.approx(angular, rel=0.03, abs=0.01)


@pytest.mark.parametrize('delay', [0.0, 0.05, 0.13])
def test_planted_actuator_delay_is_seen_in_the_motion(only, delay):
    config = CartConfig(actuator_delay=delay, ground_truth=SensorConfig(rate=500.0))
    cart = WarehouseCart(only('ground_truth', base=config))
    cart.advance(100 * MS)
    cart.command(0.5, 0.0, arrived_ns=101 * MS)
    moving = [
        reading.captured_ns for reading in cart.advance(300 * MS) if seen(reading).linear > 1e-3
    ]
    effect_ns = 101 * MS + round(delay * 1e9)
    assert 0 < moving[0] - effect_ns <= 6 * MS
    assert cart.applied_command == (0.5, 0.0)


@pytest.mark.parametrize(('linear', 'angular'), [(0.8, 0.0), (-0.5, 0.0), (0.5, 1.5)])
def test_silence_brakes_the_cart_within_the_declared_bound(only, drive, linear, angular):
    config = only('ground_truth', base=CartConfig(ground_truth=SensorConfig(rate=500.0)))
    cart = WarehouseCart(config)
    cart.reset(ResetTarget(x=-0.5, y=-2.0, yaw=0.0, goal_x=0.0, goal_y=2.0), seed=0, at_ns=0)
    drive(cart, 1.0, linear, angular)
    heard_ns = cart.now_ns - 20 * MS
    rim = abs(linear) + abs(angular) * cart.geometry.wheel_separation / 2.0
    bound_ns = round(config.stop_bound(rim) * 1e9)
    truth = {reading.captured_ns - heard_ns: seen(reading) for reading in cart.advance(3_000 * MS)}
    before_timeout = [truth[at] for at in truth if 20 * MS < at <= 250 * MS]
    after_bound = [truth[at] for at in truth if at >= bound_ns]
    assert all(abs(state.linear) > 0.95 * abs(linear) for state in before_timeout)
    assert all(abs(state.linear) < 0.01 and abs(state.angular) < 0.03 for state in after_bound)
    assert cart.braking_since_ns == heard_ns + 250 * MS


@pytest.mark.parametrize('linear', [math.nan, math.inf])
def test_command_that_is_not_finite_is_refused_and_not_applied(cart, linear):
    with pytest.raises(InvalidAction, match='expected a finite command'):
        cart.command(linear, 0.0, 0)
    with pytest.raises(InvalidAction, match='It was not applied'):
        cart.command(0.0, linear, 0)
    cart.advance(100 * MS)
    assert cart.applied_command is None


def contacts(readings: tuple[SensorReading, ...]) -> list[bool]:
    return [seen(r).touching for r in readings if r.sensor == 'contact']


def test_driving_into_a_wall_is_reported_as_contact(only, drive):
    cart = WarehouseCart(only('contact'))
    cart.reset(ResetTarget(x=-3.0, y=-3.0, yaw=math.pi, goal_x=0.0, goal_y=2.0), seed=0, at_ns=0)
    free = contacts(drive(cart, 1.0, 0.5))
    hit = contacts(drive(cart, 3.5, 0.5))
    assert free
    assert not any(free)
    assert hit[-1]
    assert cart.true_state.x > -5.0 + cart.geometry.front - 0.02


def test_touch_between_two_captures_is_not_forgotten(only, drive):
    cart = WarehouseCart(only('contact', base=CartConfig(contact=ContactConfig(rate=0.25))))
    cart.reset(ResetTarget(x=-4.2, y=-3.0, yaw=math.pi, goal_x=0.0, goal_y=2.0), seed=0, at_ns=0)
    hit = drive(cart, 1.6, 0.5)
    gone = drive(cart, 2.5, -0.5)
    assert contacts(hit) == [False]
    assert contacts(gone) == [True]
    assert cart.true_state.x > -4.4


def test_diverged_physics_is_a_named_failure_until_the_next_reset(cart, tmp_path, monkeypatch):
    # MuJoCo leaves a log of its warnings in the working directory.
    monkeypatch.chdir(tmp_path)
    cart.advance(20 * MS)
    cart._hall._physics._data.qvel[0] = math.nan
    with pytest.raises(SimulationFailed, match='mjWARN_BADQ'):
        cart.advance(40 * MS)
    with pytest.raises(SimulationFailed, match='Reset the robot'):
        cart.advance(60 * MS)
    cart.reset(START, seed=0, at_ns=60 * MS)
    assert cart.advance(100 * MS)


def test_missing_mujoco_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    monkeypatch.delitem(sys.modules, 'boundary_env_ros.simulation.engine')
    with pytest.raises(MissingDependency, match='`pip install mujoco`'):
        importlib.import_module('boundary_env_ros.simulation.engine')
