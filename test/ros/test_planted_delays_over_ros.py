# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Delays planted in the simulated robot are recovered from the record of real processes.

In lockstep this is checked exactly (``test/facade/test_planted_delays.py``). Here real clocks run,
so that every sample may be late by what the machine needs, which is on top and never below: no
sample may be *less* than what was planted, and medians may exceed the bound that follows from
contract and ``CartConfig`` by ``NOISE``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.transition import ActuationEvidence, Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.simulation.cart_config import CartConfig
from support.ros_world import PATIENT, World
from support.warehouse_cart import WarehouseCart

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = [pytest.mark.ros, pytest.mark.timed, pytest.mark.nightly]

SHORT, LONG = 0.02, 0.14
"""Delays of the actuator, s, six quanta of the odometry apart."""

NOISE = 0.03
"""Seconds for two hops over DDS and for the wake-up of a process that is waited for."""


@pytest.fixture(scope='module')
def runs(make_world: MakeWorld) -> dict[float, list[Transition | ActuationEvidence]]:
    """Return the record of one drive for each delay of the actuator."""
    # Time enough for all steps, also where steps are missed.
    changes = {**PATIENT, 'episode': {'time_limit': 30.0}}
    world = make_world(changes=changes, robot={'actuator_delay': SHORT})
    found = {SHORT: drive(world)}
    world.revive(actuator_delay=LONG)
    found[LONG] = drive(world)
    return found


def drive(world: World) -> list[Transition | ActuationEvidence]:
    """
    Drive straight ahead, now a little faster, now a little slower.

    Each change of speed is one that the gate lets through whole in one step, and is held for four
    more: the cart has settled when the next one comes.
    """
    env = world.environment()
    env.reset(seed=5, options={'scenario': 'far'})
    for step in range(40):
        speed = 0.2 + (0.1 if step % 10 >= 5 else 0.0)
        *_, terminated, truncated, info = env.step(np.array([speed, 0.0], dtype=np.float32))
        assert not terminated
        assert not truncated, info['ending']
    env.close()
    world.gate_rests()
    return [
        record
        for kind, topic in (
            (Transition, names.TRANSITION),
            (ActuationEvidence, names.ACTUATION_EVIDENCE),
        )
        for record in (from_msg(kind, message) for message in world.probe.messages(topic))
        if record.id.episode_id == env.episode_id
    ]


def delays(records: list[Transition | ActuationEvidence]) -> list[float]:
    """Return the seconds from each command to the first evidence of its execution."""
    return [
        (record.actuated.nanoseconds - record.commanded.ros.nanoseconds) / NANOSECONDS
        for record in records
        if record.actuated is not None and record.commanded is not None
    ]


@pytest.mark.parametrize('planted', [SHORT, LONG])
def test_the_actuation_stage_recovers_the_delay_of_the_actuator(
    runs: dict[float, list[Transition | ActuationEvidence]], planted: float
) -> None:
    found = delays(runs[planted])
    assert len(found) >= 5
    config = CartConfig()
    # To move by 0.03 m/s at the greatest acceleration of the wheels, their declared lag, and the
    # odometry, which is a mean over one of its periods and is captured once a period.
    moving = 0.03 / (config.max_wheel_accel * WarehouseCart(config).geometry.wheel_radius)
    lag = config.stop_bound(0.0) - config.driver_timeout
    error = moving + lag + 2.0 / config.odometry.rate
    assert min(found) >= planted
    assert float(np.median(found)) <= planted + error + NOISE


def test_two_delays_differ_in_the_record_as_they_were_planted(
    runs: dict[float, list[Transition | ActuationEvidence]],
) -> None:
    # What wheels and hops add is the same for both: the odometry's quantum is left, and noise.
    short, long = (float(np.median(delays(runs[planted]))) for planted in (SHORT, LONG))
    quantum = 1.0 / CartConfig().odometry.rate
    assert long - short == pytest.approx(LONG - SHORT, abs=quantum + NOISE)


def test_the_capture_stage_recovers_the_delay_of_the_detections(
    runs: dict[float, list[Transition | ActuationEvidence]],
) -> None:
    detections = CartConfig().pose_detections
    stages = [
        record.latency.capture.duration
        for record in runs[SHORT]
        if isinstance(record, Transition) and record.latency.capture.duration is not None
    ]
    assert len(stages) >= 30
    assert min(stages) >= detections.delay
    # At worst a whole period passes until the next detection comes.
    assert float(np.median(stages)) <= detections.delay + 1.0 / detections.rate + NOISE


def test_requested_admitted_commanded_and_measured_differ_where_they_must(
    runs: dict[float, list[Transition | ActuationEvidence]],
) -> None:
    steps = [
        record
        for record in runs[LONG]
        if isinstance(record, Transition) and record.admitted_action and record.measured_action
    ]
    # The run-up is limited, so less was admitted than requested; the rest was let through.
    assert any(step.admitted_action[0] < step.requested_action[0] for step in steps)
    assert any(step.admitted_action == step.requested_action for step in steps)
    assert all(step.commanded_action == step.admitted_action for step in steps)
    # With a delay of more than a step the measured action is still the one before.
    changed = [
        step
        for before, step in pairwise(steps)
        if step.id.step == before.id.step + 1
        and abs(step.commanded_action[0] - before.commanded_action[0]) > 0.06
    ]
    assert changed
    for step in changed:
        assert abs(step.measured_action[0] - step.commanded_action[0]) > 0.03
