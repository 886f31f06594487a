# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sixty thousand requests, and nothing outside the contract, beyond a limit or unexplained.

``make nightly-campaign`` sends ten million with a fresh seed; see :mod:`gate_campaign`.
"""

from __future__ import annotations

from functools import partial
import os

import pytest

from boundary_env_ros.core.gate import gate_state
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import Reason, Verdict
from support.campaign_sequence import Violation
from support.campaign_traffic import COUNT, Kind
from tools.gate_campaign import campaign, CONTRACTS, main

SHARE = -(-60_000 // len(CONTRACTS))
#: What so few requests hardly bring about: a chunk outlives its policy; of many dimensions one is
#: always limited.
RARE = {'chunks': {Verdict.HELD}, 'every_kind': {Verdict.ADMITTED}, 'waiting': {Verdict.ADMITTED}}
SEED = int(os.environ.get('BOUNDARY_ENV_SEED', '1'))

#: Reasons that every robot here is to see, and those that only some contracts know.
ALWAYS = {
    Reason.OUT_OF_BOUNDS,
    Reason.RATE_LIMIT,
    Reason.OBSTACLE_STOP,
    Reason.SENSOR_INVALID,
    Reason.EMERGENCY_STOP,
    Reason.EPISODE_OVER,
}
SOMETIMES = {
    'watchful': {Reason.GATE_LATE, Reason.CLOCK},
    'curved': {Reason.SCALED_TOGETHER, Reason.TIME_TO_COLLISION},
    'smooth': {Reason.ACCELERATION_LIMIT, Reason.REPUBLISHED},
}
REALTIME = {
    Reason.OBSERVATION_TIMEOUT,
    Reason.COMMAND_LATE,
    Reason.COMMAND_TIMEOUT,
    Reason.ENVIRONMENT_TIMEOUT,
}


@pytest.mark.parametrize('name', CONTRACTS)
def test_no_request_gets_past_the_contract(name: str) -> None:
    tally = campaign(name, SEED, 0, SHARE)
    assert tally.actions >= SHARE
    count = sum(tally.requests.values())
    # It is a campaign only if it goes through every outcome.
    assert min(tally.requests[kind] for kind in Kind) > count / 100, tally
    lockstep = name.startswith('lockstep')
    verdicts = set(Verdict) - ({Verdict.HELD} if lockstep else RARE.get(name, set()))
    assert min(tally.decisions[verdict] for verdict in verdicts) > 0, tally
    reasons = ALWAYS | SOMETIMES.get(name, set()) | (set() if lockstep else REALTIME)
    assert min(tally.reasons[reason] for reason in reasons) > 0, tally
    assert tally.commands > count / 2, tally


def test_what_breaks_the_contract_ends_the_campaign_and_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate_state, 'Limits', partial(Limits, rate=(1.0, 4.01)))
    with pytest.raises(Violation, match='changes faster than `rate`') as found:
        campaign('cart', 3, 0, 5000)
    again = str(found.value).split("ARGS='")[1].rstrip("'")
    number = int(again.split()[-1])
    with pytest.raises(Violation) as once_more:
        campaign('cart', 3, number, 1)
    assert str(once_more.value) == str(found.value)


def test_the_command_tells_what_was_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--contract', 'strict', '--run', '4', '--workers', '1']) == 0
    told = capsys.readouterr().out
    assert f'requests: {COUNT}' in told
    assert 'outside the contract: 0' in told
