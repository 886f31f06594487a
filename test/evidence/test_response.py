# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Delay and gain of a response that is known."""

from __future__ import annotations

import numpy as np
import pytest

from boundary_env_ros.evidence.response import Array, Fit, Response

PERIOD = 0.1


def identify(
    at: Array, commands: Array, measured_at: Array, measured: Array, *, start: float = 0.0
) -> Response | None:
    """Return what one episode says."""
    fit = Fit(PERIOD, 0.05)
    fit.add(at, commands, measured_at, measured, start=start)
    return fit.response()


def answer(
    *, delay: float, lag: float, gain: float, noise: float = 0.0, start: float = 0.0
) -> Response | None:
    """Return what is found of a first-order lag after a dead time, measured once a period."""
    random = np.random.default_rng(4)
    commands = start + np.repeat(random.uniform(-1.0, 1.0, 40), 5)
    at = PERIOD * np.arange(len(commands))
    fine = np.arange(0.0, at[-1], 0.001)
    held = np.concatenate([np.full(round(delay / 0.001), start), np.repeat(commands, 100)])[
        : len(fine)
    ]
    y, values = start, []
    for target in held:
        y += (gain * (target - start) + start - y) * (0.001 / lag if lag else 1.0)
        values.append(y)
    measured_at = at[:-1] + 0.08
    measured = np.interp(measured_at, fine, values) + noise * random.normal(size=len(at) - 1)
    return identify(at, commands, measured_at, measured, start=start)


def found(**changes: float) -> Response:
    response = answer(**{'delay': 0.05, 'lag': 0.08, 'gain': 1.0, **changes})
    assert response is not None
    return response


def test_gain_is_the_final_value_over_the_command() -> None:
    assert found(gain=0.9).gain == pytest.approx(0.9, abs=0.005)
    assert found(gain=0.9, noise=0.02).gain == pytest.approx(0.9, abs=0.02)


def test_a_longer_dead_time_is_found_as_delay() -> None:
    assert found(delay=0.15).delay - found().delay == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize('delay', [0.02, 0.05, 0.11, 0.14])
def test_the_latency_lies_within_its_uncertainty(delay: float) -> None:
    response = found(delay=delay, lag=0.03, noise=0.02)
    assert abs(response.latency - (delay + 0.03)) < response.uncertainty
    assert PERIOD / 2 < response.uncertainty < PERIOD
    assert found(noise=0.05).uncertainty > found(noise=0.01).uncertainty


def test_positions_are_counted_from_where_the_robot_stood() -> None:
    moved = found(start=2.0, gain=0.9)
    assert moved.gain == pytest.approx(0.9, abs=0.01)


def test_commands_that_do_not_change_say_nothing() -> None:
    at = PERIOD * np.arange(50)
    assert identify(at, np.zeros(50), at, np.ones(50)) is None


def test_too_few_measurements_say_nothing() -> None:
    at = PERIOD * np.arange(8)
    assert identify(at, np.sin(at), at, np.sin(at)) is None
