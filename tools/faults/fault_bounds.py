# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How long a robot may go on after a fault: one pure function for each way of noticing it.

Each returns seconds from the fault to the safe command on the wire (or to the robot at rest, where
the gate is what failed), derived from nothing but the contract and what the driver declares. No
allowance for a busy machine is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.simulation.cart_config import CartConfig

Bound: TypeAlias = Callable[[Contract], float]

LOOK = 0.25
"""Seconds between two looks of the gate at the graph, as its page declares."""


def ramp(contract: Contract) -> float:
    """Return the seconds of the longest stop: from a bound to the safe command, as declared."""
    return max(
        max(high - safe, safe - low) / stop
        for low, high, safe, stop in zip(
            contract.flat('low'),
            contract.flat('high'),
            contract.flat('safe'),
            contract.flat('stop'),
            strict=True,
        )
    )


def stop_after(contract: Contract, noticed: float) -> float:
    """
    Return the bound of a stop whose reason is there after some seconds.

    The gate's timer finds it at its next run; the stop then follows its profile, whose last step
    falls on a run of the timer too.
    """
    return noticed + 2 * contract.safety.gate_period + ramp(contract)


def transport(contract: Contract) -> float:
    """Return what the contract gives a message, s: on its way, and inside the gate."""
    return contract.latency_budget['transport'] + contract.latency_budget['gate']


def of_a_message(contract: Contract) -> float:
    """Return the bound after a message: of an operator, or of a clock that jumped."""
    return stop_after(contract, transport(contract))


def of_the_gate_itself(contract: Contract) -> float:
    """Return the bound of a stop that the gate's own timer, which runs again, asks for."""
    return stop_after(contract, 0.0)


def of_a_silent_policy(contract: Contract) -> float:
    """Return the bound when no request that may be heard comes any more."""
    return stop_after(contract, contract.safety.command_timeout)


def of_a_silent_environment(contract: Contract) -> float:
    """Return the bound when the environment gives no heartbeat."""
    return stop_after(contract, contract.safety.environment_timeout)


def of_a_silent_sensor(contract: Contract) -> float:
    """Return the bound when a sensor of a rule is silent, or sends what measures nothing."""
    return stop_after(contract, contract.safety.sensor_timeout)


def of_a_paused_clock(contract: Contract) -> float:
    """
    Return the bound when ``/clock`` stands still and the sensors go on.

    What they measure is as far ahead of it as it has stood; a measurement that is too far ahead
    must be made, at most a period later, and arrive.
    """
    noticed = contract.safety.sensor_timeout + contract.period + transport(contract)
    return stop_after(contract, noticed)


def of_a_stale_field(contract: Contract, name: str) -> float:
    """Return the bound of a field that ends the episode: the environment looks once a period."""
    spec = next(field for field in contract.observation if field.name == name)
    assert spec.max_age is not None
    return stop_after(contract, spec.max_age + contract.period + transport(contract))


def of_stale_velocity(contract: Contract) -> float:
    """Return the bound when the odometry is silent, or no measurement."""
    return of_a_stale_field(contract, 'velocity')


def of_a_stale_pose(contract: Contract) -> float:
    """Return the bound when the pose is silent."""
    return of_a_stale_field(contract, 'pose')


def of_a_silent_recorder(contract: Contract) -> float:
    """Return the bound of the environment, which looks for the recorder once a period."""
    noticed = contract.safety.recorder_timeout + contract.period + transport(contract)
    return stop_after(contract, noticed)


def of_the_time_limit(contract: Contract) -> float:
    """Return the bound of what no rule can see: the end of the episode."""
    noticed = contract.episode.time_limit + contract.period + transport(contract)
    return stop_after(contract, noticed)


def of_the_graph(contract: Contract) -> float:
    """Return the bound when the gate finds another publisher, by looking at the graph."""
    return stop_after(contract, LOOK + transport(contract))


def of_the_driver(contract: Contract) -> float:
    """Return the bound of the driver's own braking, from the last command to rest."""
    return CartConfig().stop_bound(contract.flat('high')[0])
