# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each sensor measures what it claims to, as noisily, as late and as unreliably as declared."""

from __future__ import annotations

from dataclasses import asdict, replace
import math

import numpy as np
import pytest

from boundary_env_ros.simulation.cart_config import (
    CameraConfig,
    CartConfig,
    ContactConfig,
    PoseDetectionsConfig,
    ScanConfig,
)
from boundary_env_ros.simulation.hall_physics import WarehousePhysics
from boundary_env_ros.simulation.messages import odometry
from support.readings import payloads
from support.warehouse_cart import ResetTarget, WarehouseCart

MS = 1_000_000


def placed(config, x, y, yaw, seed=0):
    cart = WarehouseCart(config)
    cart.reset(ResetTarget(x=x, y=y, yaw=yaw, goal_x=2.5, goal_y=-1.0), seed=seed, at_ns=0)
    return cart


@pytest.mark.parametrize('name', CartConfig().sensors)
def test_declared_rate_and_delay_are_those_of_the_readings(only, name):
    config = only(name)
    readings = WarehouseCart(config).advance(2_000 * MS)
    declared = config.sensors[name]
    period_ns = round(1e9 / declared.rate)
    delay_ns = round(declared.delay * 1e9)
    count = (2_000 * MS - delay_ns) // period_ns + 1
    assert [r.sequence for r in readings] == list(range(count))
    assert [r.captured_ns for r in readings] == [k * period_ns for k in range(count)]
    assert all(r.published_ns - r.captured_ns == delay_ns for r in readings)


def test_rate_that_is_no_multiple_of_the_physics_step_is_kept_on_average(only):
    config = only('contact', base=CartConfig(contact=ContactConfig(rate=30.0)))
    stamps = np.array([r.captured_ns for r in WarehouseCart(config).advance(10_000 * MS)])
    late = stamps - np.arange(len(stamps)) * 1e9 / 30.0
    assert len(stamps) == 301
    assert late.min() > -1.0
    assert late.max() < 2 * MS


def test_rate_above_the_physics_rate_is_refused():
    with pytest.raises(ValueError, match='imu: expected a rate of at most 500 Hz'):
        WarehouseCart(replace(CartConfig(), imu=replace(CartConfig().imu, rate=501.0)))


@pytest.mark.parametrize('probability', [0.0, 0.05, 0.4, 1.0])
def test_declared_dropout_is_recovered_from_the_readings(only, probability):
    base = CartConfig(pose_detections=PoseDetectionsConfig(rate=100.0, dropout=probability))
    readings = WarehouseCart(only('pose_detections', base=base)).advance(20_000 * MS)
    share = np.mean([reading.dropped for reading in readings])
    four_sigma = 4.0 * math.sqrt(probability * (1.0 - probability) / len(readings))
    assert share == pytest.approx(probability, abs=four_sigma)
    assert all((reading.fields is None) == reading.dropped for reading in readings)


def test_switching_one_sensor_off_leaves_the_noise_of_the_others(only):
    both = WarehouseCart(only('imu', 'scan')).advance(200 * MS)
    alone = WarehouseCart(only('scan')).advance(200 * MS)
    for one, other in zip(payloads(both, 'scan'), payloads(alone, 'scan'), strict=True):
        assert np.array_equal(one.ranges, other.ranges)


def test_sensors_do_not_share_their_luck():
    sensors = {
        'contact': ContactConfig(rate=50.0, dropout=0.5),
        'imu': replace(CartConfig().imu, rate=50.0, dropout=0.5),
    }
    readings = WarehouseCart(replace(CartConfig(), **sensors)).advance(2_000 * MS)
    lost = {name: [r.dropped for r in readings if r.sensor == name] for name in sensors}
    assert lost['contact'][:90] != lost['imu'][:90]


def beam(scan, angle):
    return scan.ranges[round((angle - scan.angle_min) / scan.angle_increment) % len(scan.ranges)]


def test_scan_measures_the_distance_to_known_walls(only):
    cart = placed(only('scan'), -3.0, -3.0, 0.0)
    scans = payloads(cart.advance(3_000 * MS), 'scan')
    behind = np.array([beam(scan, -math.pi) for scan in scans])
    right = np.array([beam(scan, -math.pi / 2.0) for scan in scans])
    mount = cart.geometry.scan_mount[0]
    assert behind.mean() == pytest.approx(2.0 + mount, abs=0.005)
    assert right.mean() == pytest.approx(1.0, abs=0.005)
    assert behind.std() == pytest.approx(0.01, rel=0.4)


def test_scan_turns_with_the_cart_counter_clockwise(only):
    cart = placed(only('scan'), -3.0, -3.0, math.pi / 2.0)
    scan = payloads(cart.advance(300 * MS), 'scan')[0]
    assert beam(scan, math.pi / 2.0) == pytest.approx(2.0, abs=0.05)
    assert beam(scan, -math.pi) == pytest.approx(1.0 + cart.geometry.scan_mount[0], abs=0.05)


def test_scan_does_not_see_the_cart_itself(only):
    scan = payloads(placed(only('scan'), -1.0, -2.0, 0.0).advance(300 * MS), 'scan')[0]
    assert scan.ranges.shape == (180,)
    assert scan.ranges.min() > 1.0


def test_mark_of_the_goal_is_met_only_by_rays_that_ask_for_marks():
    physics = WarehousePhysics()
    physics.place([ResetTarget(x=-3.0, y=-3.0, yaw=0.0, goal_x=1.0, goal_y=-1.5)])
    down = np.array([[0.0, 0.0, -1.0]])
    above_goal = np.array([1.0, -1.5, 1.0])
    casters = {marks: physics.caster(0, marks=marks) for marks in (False, True)}
    hits = {marks: caster.cast(above_goal, down, 5.0) for marks, caster in casters.items()}
    floor = casters[False].floor_geom
    distance, geom, _ = hits[False]
    assert geom[0] == floor
    assert distance[0] == pytest.approx(1.0)
    distance, geom, _ = hits[True]
    assert geom[0] != floor
    assert distance[0] < 1.0


def test_scan_reports_what_it_cannot_measure_as_infinite(only):
    config = only('scan', base=CartConfig(scan=ScanConfig(range_min=1.5, range_max=3.0)))
    scan = payloads(placed(config, -3.0, -3.0, 0.0).advance(300 * MS), 'scan')[0]
    assert beam(scan, -math.pi / 2.0) == -math.inf
    assert beam(scan, 0.0) == math.inf
    assert beam(scan, -math.pi) == pytest.approx(2.0 + 0.08, abs=0.05)


def test_imu_at_rest_feels_gravity_upwards(only):
    config = only('imu')
    readings = payloads(placed(config, -3.0, -3.0, 1.0).advance(3_000 * MS), 'imu')
    force = np.array([reading.linear_acceleration for reading in readings])
    rate = np.array([reading.angular_velocity for reading in readings])
    assert force.mean(axis=0) == pytest.approx([0.0, 0.0, 9.81], abs=0.02)
    assert force.std(axis=0) == pytest.approx(config.imu.linear_acceleration_noise, rel=0.2)
    assert rate.mean(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=0.002)
    x, y, z, w = np.mean([reading.orientation for reading in readings], axis=0)
    assert 2.0 * math.atan2(z, w) == pytest.approx(1.0, abs=0.002)
    assert (x, y) == pytest.approx((0.0, 0.0), abs=0.002)


def test_imu_feels_the_cart_speed_up_and_turn(only, drive):
    cart = placed(only('imu'), -3.0, -3.0, 1.0)
    start = payloads(drive(cart, 0.3, 0.3), 'imu')
    gained = sum(reading.linear_acceleration[0] for reading in start) * 0.01
    assert gained == pytest.approx(0.3, abs=0.03)
    turning = payloads(drive(cart, 1.0, 0.0, 1.0), 'imu')[-1]
    assert turning.angular_velocity[2] == pytest.approx(1.0, abs=0.05)


def test_joint_states_roll_as_far_as_the_cart_drives(only, drive):
    cart = placed(only('joint_states', 'ground_truth'), -3.0, -3.0, 0.0)
    driven = drive(cart, 2.0, 0.5)
    readings = payloads(driven, 'joint_states')
    truth = payloads(driven, 'ground_truth')[: len(readings)]
    for reading, state in zip(readings, truth, strict=True):
        rolled = (reading.position - readings[0].position) * cart.geometry.wheel_radius
        assert rolled == pytest.approx(state.x - truth[0].x, abs=0.005)
    assert readings[-1].velocity == pytest.approx([5.0, 5.0], rel=0.03)
    assert readings[-1].names == ('left_wheel_joint', 'right_wheel_joint')


def test_odometry_begins_at_the_truth_and_drifts_a_little(only, drive):
    errors = []
    for seed in range(6):
        cart = placed(only('odometry'), -3.5, -3.0, 0.0, seed=seed)
        first = payloads(cart.advance(5 * MS), 'odometry')[0]
        assert (first.x, first.y) == pytest.approx((-3.5, -3.0), abs=2e-3)
        assert (first.linear, first.angular) == pytest.approx((0.0, 0.0), abs=1e-3)
        last = payloads(drive(cart, 6.0, 0.6, 0.2), 'odometry')[-1]
        truth = cart.true_state
        errors.append(math.hypot(last.x - truth.x, last.y - truth.y))
        assert last.linear == pytest.approx(0.6, rel=0.05)
        assert last.angular == pytest.approx(0.2, abs=0.06)
    assert len(set(errors)) == len(errors)
    assert 0.01 < np.median(errors) < 0.3


def test_pose_confidence_is_that_of_the_noise_and_falls_with_distance(only):
    stds = []
    for x, y in ((0.5, 1.0), (-4.0, -3.0)):
        cart = placed(only('pose_detections'), x, y, 3.1)
        truth = cart.true_state
        poses = payloads(cart.advance(40_000 * MS), 'pose_detections')
        std, yaw_std = poses[-1].position_std, poses[-1].yaw_std
        assert np.std([p.x - truth.x for p in poses]) == pytest.approx(std, rel=0.15)
        assert np.std([p.y - truth.y for p in poses]) == pytest.approx(std, rel=0.15)
        turned = [math.remainder(p.yaw - truth.yaw, 2.0 * math.pi) for p in poses]
        assert np.std(turned) == pytest.approx(yaw_std, rel=0.15)
        assert abs(np.mean([p.x - truth.x for p in poses])) < 4.0 * std / math.sqrt(len(poses))
        stds.append(std)
    assert stds[0] == pytest.approx(0.02 * (1.0 + 0.1 * math.hypot(0.5, 1.0)), rel=0.01)
    assert stds[1] > 1.3 * stds[0]


def test_pose_confidence_falls_with_speed(only, drive):
    cart = placed(only('pose_detections'), -3.5, -3.0, 0.0)
    poses = payloads(drive(cart, 2.0, 0.8), 'pose_detections')
    assert poses[-1].position_std > 1.1 * poses[0].position_std


def test_ground_truth_is_the_true_state_without_delay(only, drive):
    cart = placed(only('ground_truth'), -3.5, -3.0, 0.0)
    last = drive(cart, 1.0, 0.5, 0.5)[-1]
    assert last.fields == odometry(**asdict(cart.true_state))
    assert last.captured_ns == last.published_ns == cart.now_ns


def test_image_shows_floor_rack_goal_and_wall_in_different_colours(only):
    base = CartConfig(camera=CameraConfig(intensity_noise=0.0, dropout=0.0))
    config = only('camera', base=base)
    rack = payloads(placed(config, 0.3, -1.5, math.pi / 2.0).advance(100 * MS), 'camera')[0]
    assert rack.pixels.shape == (48, 64, 3)
    assert rack.pixels.dtype == np.uint8
    above, below = rack.pixels[15, 32].astype(int), rack.pixels[45, 32].astype(int)
    assert above[2] > above[0] + 60, 'the rack is blue'
    assert np.ptp(below) < 20, 'the floor is grey'
    goal = payloads(placed(config, 1.5, -1.0, 0.0).advance(100 * MS), 'camera')[0].pixels
    green = goal[..., 1].astype(int) - goal[..., [0, 2]].max(axis=-1)
    assert (green > 40).sum() > 20, 'the mark of the goal is green'
    assert (green[:20] > 40).sum() == 0, 'it lies on the floor'


def test_image_is_not_mirrored(only):
    base = CartConfig(camera=CameraConfig(intensity_noise=0.0, dropout=0.0))
    cart = placed(only('camera', base=base), 1.3, -1.5, 0.0)
    pixels = payloads(cart.advance(100 * MS), 'camera')[0].pixels.astype(int)
    green = pixels[..., 1] - pixels[..., [0, 2]].max(axis=-1)
    columns = np.nonzero((green > 40).any(axis=0))[0]
    assert columns.size > 0
    assert columns.max() < 32, 'the goal is to the left of the cart'
