# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the gate as pure functions: order, precedence, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Interface
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rules.admission import age, authority, well_formed
from boundary_env_ros.core.gate.rules.braking import brake
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.stopping import stops
from boundary_env_ros.core.records.decision import Measurement, Reason, RuleInput, Trigger, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import request_for, shipped, Timepiece
from support.gate_sequence import altered, left_of

CONTRACT = shipped()
LIMITS = Limits(CONTRACT)
SAFETY = CONTRACT.safety
[OBSTACLE] = SAFETY.of(Obstacle)
SLOW, STOP = OBSTACLE.slow_distance, OBSTACLE.stop_distance


def scan(*values: float, age: float | None = 0.02) -> Measurement:
    return Measurement(name='obstacle.scan', topic='/scan', values=values, age=age)


def inputs(*, previous: Vector | None = (0.0, 0.0), **changes: object) -> RuleInput:
    """Return inputs in which everything is well."""
    found = changes.pop('scan', scan(8.0, 8.0, 1.0, 1.0))
    assert isinstance(found, Measurement)
    well: dict[str, object] = {
        'trigger': Trigger.REQUEST,
        'time_step': CONTRACT.period,
        'previous_command': previous or (),
        'since_request': 0.02,
        'since_environment': 0.02,
        'measurements': (found,),
    }
    return RuleInput(**{**well, **changes})


def reasons(results: tuple[object, ...]) -> list[Reason]:
    return [result.reason for result in results]  # type: ignore[attr-defined]


# Precedence --------------------------------------------------------------------------------------


def test_every_reason_to_stop_is_told_in_the_documented_order() -> None:
    everything = inputs(
        trigger=Trigger.TIMER,
        emergency_stop=True,
        over=True,
        since_environment=None,
        since_request=99.0,
        scan=scan(0.1, 0.1, 1.0, 1.0, age=9.0),
        previous=(0.5, 0.0),
    )
    assert reasons(stops(LIMITS, everything, (0.5, 0.0))) == [
        Reason.EMERGENCY_STOP,
        Reason.EPISODE_OVER,
        Reason.ENVIRONMENT_TIMEOUT,
        Reason.OBSERVATION_TIMEOUT,
        Reason.OBSTACLE_STOP,
    ]
    # Behind the end of its episode a policy is not silent: nobody waits for it.
    running = replace(everything, over=False)
    assert reasons(stops(LIMITS, running, (0.5, 0.0)))[-1] is Reason.COMMAND_TIMEOUT
    left = reasons(stops(LIMITS, replace(running, deactivated=True), (0.5, 0.0)))
    assert not {Reason.COMMAND_TIMEOUT, Reason.ENVIRONMENT_TIMEOUT}.intersection(left)


def test_a_stop_goes_before_a_refusal_for_bounds() -> None:
    limits = altered(LIMITS, reject_beyond=(True, True))
    assert rule(limits, inputs(), (9.0, 0.0)).verdict is Verdict.REJECTED
    output = rule(limits, inputs(emergency_stop=True), (9.0, 0.0))
    assert output.verdict is Verdict.STOPPED


def test_a_refusal_for_bounds_goes_before_any_limit() -> None:
    limits = altered(LIMITS, reject_beyond=(True, False))
    output = rule(limits, inputs(scan=scan(0.6, 8.0, 1.0, 1.0)), (9.0, 9.0))
    assert output.verdict is Verdict.REJECTED
    assert [(r.reason, r.dimension) for r in output.results] == [(Reason.OUT_OF_BOUNDS, 0)]
    assert output.command == output.admitted == ()


def test_limits_are_told_in_the_documented_order_each_with_its_own_change() -> None:
    output = rule(LIMITS, inputs(scan=scan(0.7, 8.0, 1.0, 1.0)), (9.0, 0.1))
    assert [r.rule for r in output.results] == ['bounds', 'obstacle_slow.scan', 'rate']
    first, second, third = output.results
    assert (first.before, first.after) == (9.0, LIMITS.high[0])
    assert (second.before, second.after) == (first.after, OBSTACLE.slow_speed)
    assert (third.before, third.after) == (second.after, output.command[0])
    assert output.command[0] == pytest.approx(LIMITS.rate[0] * CONTRACT.period)
    assert output.command[1] == 0.1


def test_the_timer_holds_the_last_command_and_says_so() -> None:
    held = rule(
        LIMITS,
        inputs(trigger=Trigger.TIMER, previous=(0.4, 0.1), since_request=0.2),
        (0.4, 0.1),
    )
    assert held.verdict is Verdict.HELD
    assert held.command == held.admitted == (0.4, 0.1)
    assert reasons(held.results) == [Reason.COMMAND_LATE]


def test_the_timer_without_a_command_to_hold_brakes() -> None:
    output = rule(LIMITS, inputs(trigger=Trigger.TIMER, previous=(0.4, 0.0)), None)
    assert output.verdict is Verdict.STOPPED
    assert output.command == (pytest.approx(0.4 - LIMITS.stop[0] * CONTRACT.period), 0.0)


# Is it a command at all --------------------------------------------------------------------------


def test_every_number_that_is_not_finite_is_named() -> None:
    results = well_formed((math.nan, 0.0, -math.inf), 3)
    assert [(r.reason, r.dimension) for r in results] == [
        (Reason.NOT_FINITE, 0),
        (Reason.NOT_FINITE, 2),
    ]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_every_finite_action_of_the_right_size_is_well_formed(action: list[float]) -> None:
    assert well_formed(tuple(action), len(action)) == ()
    assert reasons(well_formed(tuple(action), len(action) + 1)) == [Reason.WRONG_SHAPE]


@pytest.mark.parametrize('given_age', [0.0, 0.4, -0.4])
def test_an_age_up_to_the_limit_on_either_side_is_accepted(given_age: float) -> None:
    assert age(given_age, 0.4) == ()


@pytest.mark.parametrize('given_age', [0.4001, -0.4001, None, math.nan])
def test_an_age_beyond_the_limit_or_unknown_is_refused(given_age: float | None) -> None:
    assert reasons(age(given_age, 0.4)) == [Reason.ACTION_TOO_OLD]


def test_authority_wants_the_lease_of_this_very_episode() -> None:
    time = Timepiece()
    request = request_for((0.0, 0.0), 3, time.now, time.now, lease='lease-1')
    episode, digest = request.id.episode_id, request.id.digest
    lease = {'lease_id': 'lease-1', 'lease_episode': episode, 'running': True, 'last_sequence': 2}

    def asked(digest: str = digest, agent: str = 'cart', **changes: object) -> list[Reason]:
        known = inputs(**{**lease, **changes})
        return reasons(authority(request, known, digest=digest, agent=agent))

    assert asked() == []
    assert asked(digest='other') == [Reason.WRONG_DIGEST]
    assert asked(agent='other') == [Reason.WRONG_AGENT]
    assert asked(lease_id='', lease_episode='') == [Reason.NOT_ARMED]
    assert asked(running=False) == [Reason.NOT_ARMED]
    assert asked(lease_episode='other') == [Reason.WRONG_EPISODE]
    assert asked(lease_id='other') == [Reason.WRONG_LEASE]
    assert asked(last_sequence=3) == [Reason.OUT_OF_ORDER]


# Must the robot stop -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({}, []),
        ({'emergency_stop': True}, [Reason.EMERGENCY_STOP]),
        ({'over': True}, [Reason.EPISODE_OVER]),
        ({'since_environment': None}, [Reason.ENVIRONMENT_TIMEOUT]),
        ({'since_environment': SAFETY.environment_timeout}, []),
        ({'since_environment': SAFETY.environment_timeout + 1e-6}, [Reason.ENVIRONMENT_TIMEOUT]),
        ({'since_environment': math.nan}, [Reason.ENVIRONMENT_TIMEOUT]),
        ({'scan': scan(8.0, 8.0, 1.0, 1.0, age=SAFETY.sensor_timeout)}, []),
        ({'scan': scan(8.0, 8.0, 1.0, 1.0, age=0.2501)}, [Reason.OBSERVATION_TIMEOUT]),
        ({'scan': scan(age=None)}, [Reason.OBSERVATION_TIMEOUT]),
        ({'scan': scan()}, [Reason.SENSOR_INVALID]),
        ({'scan': scan(8.0, 8.0, 1.0)}, [Reason.SENSOR_INVALID]),
        ({'scan': scan(8.0, 8.0, math.inf, 1.0)}, [Reason.SENSOR_INVALID]),
        ({'scan': scan(math.nan, 8.0, 1.0, 1.0)}, [Reason.SENSOR_INVALID]),
        ({'previous': None}, [Reason.OBSERVATION_TIMEOUT]),
        ({'since_request': 99.0}, []),
        ({'since_request': SAFETY.command_timeout, 'trigger': Trigger.TIMER}, []),
        ({'since_request': 0.3001, 'trigger': Trigger.TIMER}, [Reason.COMMAND_TIMEOUT]),
        ({'since_request': None, 'trigger': Trigger.TIMER}, []),
        ({'scan': scan(STOP, STOP, 1.0, 1.0)}, []),
        ({'scan': scan(STOP - 1e-6, 8.0, 1.0, 1.0)}, [Reason.OBSTACLE_STOP]),
        ({'scan': scan(0.0, 8.0, 1.0, 1.0)}, [Reason.OBSTACLE_STOP]),
        ({'scan': scan(8.0, 0.0, 1.0, 1.0)}, []),
        ({'scan': scan(8.0, 0.0, 1.0, 0.0)}, []),
        ({'scan': scan(8.0, 8.0, 0.5, 1.0)}, []),
        ({'scan': scan(8.0, 8.0, 0.49, 1.0)}, [Reason.SENSOR_INVALID]),
        ({'measurements': ()}, [Reason.OBSERVATION_TIMEOUT]),
        ({'scan': scan(0.0, 8.0, 0.0, 1.0)}, [Reason.SENSOR_INVALID]),
        ({'scan': scan(0.0, 8.0, 1.0, 1.0), 'previous': (-0.2, 0.0)}, [Reason.OBSTACLE_STOP]),
        ({'scan': scan(8.0, 0.0, 1.0, 1.0), 'previous': (-0.2, 0.0)}, [Reason.OBSTACLE_STOP]),
    ],
)
def test_each_reason_to_stop_and_its_bound(
    changes: dict[str, object], expected: list[Reason]
) -> None:
    assert reasons(stops(LIMITS, inputs(**changes), (0.1, 0.0))) == expected


def test_a_robot_at_rest_that_is_not_asked_to_move_may_stand_before_an_obstacle() -> None:
    near = inputs(scan=scan(0.1, 0.1, 1.0, 1.0))
    assert stops(LIMITS, near, (0.0, 0.5)) == ()
    assert stops(LIMITS, near, None) == ()


def test_in_lockstep_the_policy_may_think_until_the_deadline() -> None:
    limits = altered(LIMITS, lockstep=True)
    thinking = inputs(trigger=Trigger.TIMER, since_request=limits.lockstep_deadline)
    assert stops(limits, thinking, None) == ()
    late = replace(thinking, since_request=limits.lockstep_deadline + 0.001)
    assert reasons(stops(limits, late, None)) == [Reason.COMMAND_TIMEOUT]


command = st.tuples(
    st.floats(min_value=LIMITS.low[0], max_value=LIMITS.high[0]),
    st.floats(min_value=LIMITS.low[1], max_value=LIMITS.high[1]),
)
step = st.floats(min_value=0.0, max_value=CONTRACT.period)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(previous=command, seconds=step)
def test_braking_goes_towards_the_safe_command_and_never_past_it(
    previous: Vector, seconds: float
) -> None:
    result = brake(LIMITS, inputs(previous=previous, time_step=seconds))
    for value, was, safe, most in zip(result, previous, LIMITS.safe, LIMITS.stop, strict=True):
        assert min(was, safe) <= value <= max(was, safe)
        assert abs(value - was) <= most * seconds + 1e-12


def test_braking_from_an_unknown_state_is_the_safe_command() -> None:
    assert brake(LIMITS, inputs(previous=None)) == LIMITS.safe


def test_braking_ends_at_a_safe_command_that_is_not_zero() -> None:
    limits = altered(LIMITS, safe=(0.2, -0.1))
    value: Vector = (0.8, 1.0)
    for _ in range(10):
        value = brake(limits, inputs(previous=value))
    assert value == (0.2, -0.1)


# What may be published ---------------------------------------------------------------------------


@given(previous=command, wanted=st.tuples(finite, finite), seconds=step)
def test_what_is_published_lies_within_the_bounds_and_the_rate(
    previous: Vector, wanted: Vector, seconds: float
) -> None:
    values, results = left_of(LIMITS, inputs(previous=previous, time_step=seconds), wanted)
    for i, value in enumerate(values):
        assert LIMITS.low[i] <= value <= LIMITS.high[i]
        assert abs(value - previous[i]) <= LIMITS.rate[i] * seconds + 1e-12
        assert (value == wanted[i]) is not any(r.dimension == i for r in results)


@pytest.mark.parametrize(('previous', 'wanted'), [(0.4, 0.8), (0.4, -0.2), (-0.1, -0.3)])
def test_a_rate_limit_tells_the_rate_that_was_wanted(previous: float, wanted: float) -> None:
    _, [result] = left_of(LIMITS, inputs(previous=(previous, 0.0)), (wanted, 0.0))
    assert result.value == pytest.approx(abs(wanted - previous) / CONTRACT.period)


def test_at_the_slow_distance_itself_nothing_is_slowed() -> None:
    fast = inputs(previous=(0.8, 0.0), scan=scan(SLOW, SLOW, 1.0, 1.0))
    assert left_of(LIMITS, fast, (0.8, 0.0)) == ((0.8, 0.0), ())


@given(previous=command, wanted=command)
def test_what_could_be_published_as_it_is_is_not_touched(previous: Vector, wanted: Vector) -> None:
    near = tuple(
        max(min(w, p + r * 0.09), p - r * 0.09)
        for w, p, r in zip(wanted, previous, LIMITS.rate, strict=True)
    )
    assert left_of(LIMITS, inputs(previous=previous), near) == (near, ())


@given(previous=command, wanted=st.tuples(finite, finite), ahead=st.floats(0.0, 1.2))
def test_near_an_obstacle_the_robot_never_gets_faster_than_the_slow_speed(
    previous: Vector, wanted: Vector, ahead: float
) -> None:
    values, _ = left_of(LIMITS, inputs(previous=previous, scan=scan(ahead, 8.0, 1.0, 1.0)), wanted)
    if ahead < SLOW:
        assert values[0] <= max(OBSTACLE.slow_speed, previous[0])


def test_rates_of_an_unknown_previous_command_limit_nothing_by_themselves() -> None:
    """Such a robot is stopped by the sensors' rule, before it comes to limits."""
    unknown = inputs(previous=None)
    assert left_of(LIMITS, unknown, (0.8, 0.0)) == ((0.8, 0.0), ())
    assert rule(LIMITS, unknown, (0.8, 0.0)).verdict is Verdict.STOPPED


def test_limits_lie_flat_over_all_groups_of_the_action() -> None:
    contract = shipped()
    arm = replace(
        contract.action[0], name='arm', topic='arm', source=Paths(paths=('data',)), unit=('rad',),
        interface=(Interface.VELOCITY,), low=(-1.0,), high=(2.0,), safe=(0.5,),
        max_acceleration=(3.0,), max_deceleration=(6.0,),
    )  # fmt: skip
    limits = Limits(replace(contract, action=(*contract.action, arm)))
    assert limits.low == (*LIMITS.low, -1.0)
    assert limits.safe == (0.0, 0.0, 0.5)
    assert limits.unit == ('m/s', 'rad/s', 'rad')
    assert limits.reject_beyond == (False,) * 3
    values, results = left_of(limits, inputs(previous=(0.0, 0.0, 0.5)), (0.0, 0.0, 2.0))
    assert values == (0.0, 0.0, pytest.approx(0.8))
    assert [(r.dimension, r.unit) for r in results] == [(2, 'rad/s')]
