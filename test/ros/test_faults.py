# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A few kinds of the fault campaign (``make faults``), once each, through the same code.

The campaign holds times against bounds of the contract alone; here ``NOISE`` is added for gate and
driver, as in every test over DDS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.storage.contract_file import load
from support.ros_world import NOISE, reserved_domain
from tools.faults import fault_bounds as bounds
from tools.faults.fault_campaign import Campaign, lasting, Outcome
from tools.faults.fault_kinds import Kind, KINDS
from tools.faults.fault_table import as_markdown, as_text, quantile, Row, sums
from tools.faults.faulty_robot import Failing, FAULTS

pytestmark = pytest.mark.ros

FEW = ('stop_button', 'scan_frozen')
"""An operator, and a sensor."""

MORE = ('flood_foreign_lease', 'freeze_policy', 'kill_gate')
"""A stranger, a party that hangs, and the gate itself."""


@pytest.mark.timed
@pytest.mark.usefixtures('_run')
@pytest.mark.parametrize(
    'names',
    [FEW, pytest.param(MORE, marks=pytest.mark.nightly)],
    ids=' '.join,
)
def test_faults_lead_to_what_is_safe_within_the_bound_and_the_record_names_their_cause(
    tmp_path: Path, names: Sequence[str]
) -> None:
    rows: dict[str, Row] = {}

    def judged(kind: Kind, outcomes: list[Outcome], skipped: str) -> None:
        rows[kind.name] = Row(kind=kind, outcomes=outcomes, skipped=skipped)

    with reserved_domain() as domain:
        Campaign(tmp_path, domain, trials=1, seed=5, told=print, judged=judged).run(
            [KINDS[name] for name in names]
        )
    assert set(rows) == set(names)
    for name, row in rows.items():
        (outcome,) = row.outcomes
        assert not outcome.problems, name
        assert outcome.discarded == 0, f'{name}: a drive ended before the fault came'
        assert outcome.time is not None, name
        assert outcome.time <= outcome.bound + 2 * NOISE, name
        assert outcome.recovered, name
        assert outcome.findings == [], name
        assert outcome.ending in KINDS[name].endings, name


# What the campaign itself is made of -------------------------------------------------------------


@pytest.fixture(scope='module')
def contract() -> Contract:
    return load('warehouse_cart').contract


def test_the_campaign_has_kinds_enough_and_a_finite_bound_for_each(contract: Contract) -> None:
    assert len(KINDS) >= 20
    for kind in KINDS.values():
        assert 0.0 < kind.bound(contract) < contract.episode.time_limit + 2.0, kind.name
        assert kind.endings, kind.name


@pytest.mark.parametrize(
    ('timeout', 'bound'),
    [
        ('command_timeout', bounds.of_a_silent_policy),
        ('environment_timeout', bounds.of_a_silent_environment),
        ('sensor_timeout', bounds.of_a_silent_sensor),
        ('recorder_timeout', bounds.of_a_silent_recorder),
    ],
)
def test_a_bound_grows_with_its_timeout_and_with_no_other(
    contract: Contract, timeout: str, bound: bounds.Bound
) -> None:
    safety = contract.safety
    later = replace(safety, **{timeout: getattr(safety, timeout) + 1.0})
    assert bound(replace(contract, safety=later)) == pytest.approx(bound(contract) + 1.0)
    assert bounds.of_a_message(replace(contract, safety=later)) == bounds.of_a_message(contract)


@pytest.mark.parametrize(
    ('told', 'seconds'),
    [
        ([], None),
        ([(1, False)], None),
        ([(1, False), (2, True)], 2.0),
        ([(1, False), (2, True), (3, True)], 2.0),
        ([(1, True), (2, False), (3, True)], 3.0),
        ([(1, True), (2, False)], None),
        ([(-1, True)], 0.0),
    ],
)
def test_safe_is_the_first_safe_command_that_no_other_follows(
    told: list[tuple[int, bool]], seconds: float | None
) -> None:
    in_ns = [(at * NANOSECONDS, safe) for at, safe in told]
    assert lasting(in_ns, 0) == seconds


@pytest.mark.parametrize('as_bytes', [False, True])
@pytest.mark.parametrize('fault', FAULTS)
def test_every_fault_of_a_sensor_is_made_of_messages_and_of_their_bytes(
    fault: str, as_bytes: bool
) -> None:
    kind: Any = Odometry if 'twist' in fault else Clock if 'ward' in fault else LaserScan
    sent: list[Any] = []
    present = ''
    publisher = SimpleNamespace(msg_type=kind, publish=sent.append)
    failing = Failing(publisher, lambda: present)
    for name, at in (('', 20), (fault, 21)):
        present, message = name, kind()
        if kind is Clock:
            message.clock.sec = at
        else:
            message.header.stamp.sec = at
        if kind is LaserScan:
            message.ranges = [float(at)] * 3
        failing.publish(serialize_message(message) if as_bytes else message)
    good, bad = sent
    good = deserialize_message(good, kind) if as_bytes else good
    if fault == 'frozen':
        assert bad == good
    elif fault == 'frozen_fresh':
        assert (bad.header.stamp.sec, bad.ranges) == (21, good.ranges)
    elif kind is Clock:
        assert bad.clock.sec == {'forward': 31, 'backward': 20}[fault]
    else:
        numbers = [bad.twist.twist.linear.x] if kind is Odometry else bad.ranges
        assert bad.header.stamp.sec == 21
        assert not any(0.0 < number < math.inf for number in numbers)


def outcome(**changes: object) -> Outcome:
    """Return an outcome that is right, but for what is named."""
    made = Outcome(
        kind='stop_button', number=1, seed='1', bound=1.0, time=0.5, late=0.01, recovered=True
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ('wrong', 'told'),
    [
        ({'time': 1.1}, '1 over the bound'),
        ({'time': None}, '1 over the bound'),
        ({'recovered': False}, '1 not recovered'),
        ({'findings': ['error']}, '1 not clean'),
        ({'problems': ['ending none']}, '1 of another ending'),
    ],
)
def test_a_table_with_anything_wrong_in_it_is_not_right(
    wrong: dict[str, object], told: str
) -> None:
    kind = KINDS['stop_button']
    right = Row(kind=kind, outcomes=[outcome(), outcome()])
    assert right.ok
    row = Row(kind=kind, outcomes=[outcome(), outcome(**wrong)])
    assert not row.ok
    assert told in sums([row])
    assert told not in sums([right])


def test_lateness_of_the_machine_is_told_and_excuses_nothing() -> None:
    late = outcome(time=1.05, late=0.1)
    assert late.over
    assert late.excused
    assert not late.ok
    row = Row(kind=KINDS['stop_button'], outcomes=[late])
    assert '1 (1)' in as_text([row])
    assert '1 (1)' in as_markdown([row])


def test_a_kind_that_was_skipped_says_why() -> None:
    row = Row(kind=KINDS['loss_robot'], outcomes=[], skipped='there is no `ip`')
    assert row.ok
    assert 'skipped: there is no `ip`' in as_text([row])
    assert 'Skipped: loss_robot.' in sums([row])


def test_a_quantile_is_one_of_the_values() -> None:
    times = [0.1, 0.2, 0.3, 0.4]
    assert [quantile(times, part) for part in (0.0, 0.5, 0.95, 1.0)] == [0.1, 0.2, 0.4, 0.4]
