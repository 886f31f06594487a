# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a loss is declared."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.environment.silence import (
    declaring_time,
    Heartbeats,
    PATIENCE,
    recorder_silent,
)
from boundary_env_ros.core.records.parts import Pacing
from support.core_world import shipped, Timepiece


@pytest.mark.parametrize(
    ('name', 'times'),
    [
        ('environment_timeout', PATIENCE),  # the recorder declares the loss of an environment
        ('gate_timeout', 1.0),
        ('robot_timeout', 1.0),
        ('recorder_timeout', 1.0),
        ('policy_timeout', 1.0),
    ],
)
def test_a_loss_is_waited_for_longer_than_every_timeout(name: str, times: float) -> None:
    assert declaring_time(shipped({('safety', name): 20.0})) > 20.0 * times


def test_in_lockstep_it_is_waited_for_longer_than_the_world() -> None:
    contract = shipped({('lockstep', 'deadline'): 20.0})
    assert declaring_time(contract) < 20.0
    assert declaring_time(contract.paced(Pacing.LOCKSTEP)) > 20.0


def test_a_party_may_be_silent_for_its_timeout_to_the_nanosecond() -> None:
    contract, now = shipped({('safety', 'recorder_timeout'): 1.001}), Timepiece().now
    for silence, lost in ((1_001_000_000, False), (1_001_000_001, True)):
        assert recorder_silent(contract, Heartbeats(recorder=now.steady - silence), now) is lost
