# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a loss is declared."""

from __future__ import annotations

import pytest
import yaml

from boundary_env_ros.core.environment.silence import (
    declaring_time,
    Heartbeats,
    PATIENCE,
    recorder_silent,
    silent,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import loads
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


@pytest.mark.parametrize('rate', [10, 30, 100])
def test_by_the_defaults_a_hiccup_of_a_fifth_of_a_second_ends_no_episode(rate: int) -> None:
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    data |= {'period': 1.0 / rate, 'chunk': {'horizon': 1}}
    data['safety'] = {
        key: value for key, value in data['safety'].items() if not key.endswith('_timeout')
    }
    for key in ('max_action_age', 'gate_lateness', 'clock_jump', 'gate_period'):
        data['safety'].pop(key, None)
    contract = loads(yaml.safe_dump(data)).contract
    now = Timepiece().now
    # Each was heard a period before the machine stood still.
    heard = now.steady - round(2e8 + 1e9 / rate)
    beats = Heartbeats(own=heard, gate=heard, robot=heard, policy=heard, recorder=heard)
    assert silent(contract, beats, now, advancing=False) == {}
    # So the recorder finds it of the environment, which it gives more time.
    assert PATIENCE * contract.safety.environment_timeout > 0.2 + 1.0 / rate
