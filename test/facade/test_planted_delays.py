# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What was planted in the simulated cart is found again in the record: late, lost, noisy and slow.

In one process and in lockstep nothing but the simulation takes time, so that the bounds below
follow from contract and ``CartConfig`` alone, with no allowance for a machine.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import ActuationEvidence, Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_robot import CartRobot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load
from support.warehouse_cart import WarehouseCart

LOADED = load('warehouse_cart', Pacing.LOCKSTEP)
CONTRACT: Contract = LOADED.contract
START = round(CONTRACT.period * NANOSECONDS)


class WatchedRobot(CartRobot):
    """The cart, with a memory of what it sent and dropped."""

    def __init__(self, config: CartConfig) -> None:
        super().__init__(CONTRACT, start=START, config=config)
        self.sent: list[Emission] = []

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the cart run, and remember what it sent."""
        emissions = super().advance(until)
        self.sent += emissions
        return emissions


@cache
def drive(config: CartConfig) -> tuple[list[Any], WatchedRobot]:
    """
    Drive ahead, now a little faster, now a little slower; return every record, and the robot.

    Each change of speed is one that the gate lets through whole in one step, and is held for four
    more: the cart has settled when the next one comes.
    """
    robot = WatchedRobot(config)
    records: list[Any] = []
    env = BoundaryEnv(world='embedded', pacing='lockstep', robot=robot, sink=records.append)
    env.reset(seed=5, options={'scenario': 'far'})
    for step in range(50):
        speed = 0.2 + (0.1 if step % 10 >= 5 else 0.0)
        *_, terminated, truncated, info = env.step(np.array([speed, 0.0]))
        assert not terminated
        assert not truncated, info['ending']
    env.close()
    return records, robot


def found_delays(records: list[Any]) -> list[float]:
    """Return the seconds from each command to the first evidence of its execution."""
    return [
        (record.actuated.nanoseconds - record.commanded.ros.nanoseconds) / NANOSECONDS
        for record in records
        if isinstance(record, (Transition, ActuationEvidence))
        and record.actuated is not None
        and record.commanded is not None
    ]


def actuation_error(config: CartConfig) -> float:
    """
    Return by how much the found delay may exceed the planted one, s.

    The feedback must move by the contract's threshold: at the greatest acceleration of the wheels
    that takes a time, and the wheels lag behind, for which the cart declares what ``stop_bound``
    adds for them. The odometry is a mean over one of its periods, and is captured once a period.
    """
    threshold = CONTRACT.action[0].feedback.threshold[0]
    radius = WarehouseCart(config).geometry.wheel_radius
    moving = threshold / (config.max_wheel_accel * radius)
    lag = config.stop_bound(0.0) - config.driver_timeout
    return moving + lag + 2.0 / config.odometry.rate


# Actuation --------------------------------------------------------------------------------------


@pytest.mark.parametrize('planted', [0.0, 0.03, 0.08, 0.15])
def test_the_actuation_stage_recovers_the_delay_of_the_actuator(planted: float) -> None:
    config = CartConfig(actuator_delay=planted)
    records, _ = drive(config)
    delays = found_delays(records)
    assert len(delays) >= 8
    error = actuation_error(config)
    assert all(planted <= delay <= planted + error for delay in delays), delays


def test_two_delays_differ_in_the_record_as_they_were_planted() -> None:
    # What the wheels add is the same for both: only the quantum of the odometry is left.
    quantum = 1.0 / CartConfig().odometry.rate
    short, long = 0.03, 0.15
    medians = [
        float(np.median(found_delays(drive(CartConfig(actuator_delay=planted))[0])))
        for planted in (short, long)
    ]
    assert medians[1] - medians[0] == pytest.approx(long - short, abs=quantum + 1e-9)


def test_the_stages_say_the_same_as_the_evidence_and_name_their_quantum() -> None:
    records, _ = drive(CartConfig())
    seen = [r for r in records if isinstance(r, Transition) and r.actuated is not None]
    assert seen
    for transition in seen:
        assert transition.commanded is not None
        assert transition.actuated is not None
        apart = transition.actuated.nanoseconds - transition.commanded.ros.nanoseconds
        assert transition.latency.actuation.duration == pytest.approx(apart / NANOSECONDS)
        assert transition.actuated_quantum == pytest.approx(1.0 / CartConfig().odometry.rate)


def test_the_simulated_stages_add_up_to_the_reaction_time() -> None:
    records, _ = drive(CartConfig())
    whole = [
        record.latency
        for record in records
        if isinstance(record, Transition) and record.latency.reaction.duration is not None
    ]
    assert whole
    for latency in whole:
        parts = ('capture', 'actuation')  # the world waits for the others
        total = sum(getattr(latency, part).duration for part in parts)
        assert total == pytest.approx(latency.reaction.duration, abs=1e-9)


# Sensors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('planted', [0.0, 0.06, 0.13])
def test_the_capture_stage_recovers_the_delay_of_the_detections(planted: float) -> None:
    config = CartConfig()
    detections = replace(config.pose_detections, delay=planted, dropout=0.0)
    records, _ = drive(replace(config, pose_detections=detections))
    stages = [
        record.latency.capture.duration
        for record in records
        if isinstance(record, Transition) and record.latency.capture.duration is not None
    ]
    # One more was closed without an action when the client closed.
    assert len(stages) == 51
    # Up to one period of the detector passes before the next one comes.
    for stage in stages:
        assert planted <= stage <= planted + 1.0 / detections.rate + 1e-9


def test_a_lost_detection_shows_as_an_older_one_and_as_nothing_else() -> None:
    config = CartConfig()
    detections = replace(config.pose_detections, dropout=0.3)
    records, robot = drive(replace(config, pose_detections=detections))
    sent = [e for e in robot.sent if e.topic == 'pose_detections' and e.fields is not None]
    dropped = [e for e in robot.sent if e.topic == 'pose_detections' and e.fields is None]
    assert len(dropped) > 5
    delay = round(detections.delay * NANOSECONDS)
    aged = 0
    for record in records:
        if not isinstance(record, Transition):
            continue
        pose = next(field for field in record.after if field.name == 'pose')
        now = record.closed.ros.nanoseconds
        # What is observed is the last detection that was sent, and its age is from its capture.
        newest = max(e.stamp for e in sent if e.stamp + delay <= now)
        assert pose.captured is not None
        assert pose.captured.nanoseconds == newest
        assert pose.age == pytest.approx((now - newest) / NANOSECONDS)
        aged += pose.age > detections.delay + 1.0 / detections.rate + 1e-9
    assert aged > 5


@pytest.mark.parametrize('name', ['velocity', 'scan', 'front'])
def test_the_age_of_every_field_is_its_sensors_delay_and_period(name: str) -> None:
    config = CartConfig()
    sensor = {'velocity': config.odometry, 'scan': config.scan, 'front': config.camera}[name]
    records, _ = drive(
        replace(
            config,
            scan=replace(config.scan, dropout=0.0),
            camera=replace(config.camera, dropout=0.0),
        )
    )
    ages = [
        field.age
        for record in records
        if isinstance(record, Transition)
        for field in record.after
        if field.name == name
    ]
    assert ages
    for age in ages:
        assert sensor.delay <= age <= sensor.delay + 1.0 / sensor.rate + 1e-9


# The four actions -------------------------------------------------------------------------------


def test_requested_admitted_commanded_and_measured_differ_where_they_must() -> None:
    env = BoundaryEnv(world='embedded', pacing='lockstep', full_info=True)
    env.reset(seed=5, options={'scenario': 'far'})
    for _ in range(12):
        *_, info = env.step(np.array([2.0, 0.0]))
        # Beyond the bounds, so never admitted as it was asked for; published as it was admitted.
        assert info['requested_action'] == [2.0, 0.0]
        assert info['admitted_action'][0] <= CONTRACT.flat('high')[0]
        assert info['commanded_action'] == info['admitted_action']
        # The cart speeds up behind its commands: what was measured is less, by more than noise.
        threshold = CONTRACT.action[0].feedback.threshold[0]
        if info['admitted_action'][0] < CONTRACT.flat('high')[0]:
            assert info['admitted_action'][0] - info['measured_action'][0] > threshold / 2.0
    assert info['measured_action'][0] == pytest.approx(CONTRACT.flat('high')[0], abs=0.05)
    env.close()
