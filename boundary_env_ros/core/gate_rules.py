# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The rules of the safety gate, as pure functions.

They run in one fixed order, and the strictest outcome wins:

1. ``well_formed``, ``authority``, ``age``: is this a command at all? If not it is REJECTED and
   nothing is published.
2. ``emergency_stop``, ``environment``, ``sensors``, ``obstacle_stop``, ``silence``: must the robot
   stop? Then the stop profile is followed, whatever was asked for: STOPPED.
3. ``bounds``, ``obstacle_slow``, ``rate``: what may be published of what was asked for? LIMITED if
   that is less.

:func:`rule` needs nothing but the contract, a :class:`Situation` and the wanted action, all of
which a recorded ``GateDecision`` carries; so every decision can be computed again from its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from boundary_env_ros.core.commands import admitted_action, as_action, translate
from boundary_env_ros.core.contract import (
    ActionSpec,
    Beyond,
    Contract,
    Obstacle,
    Pacing,
    Safety,
    Vector,
    WhenStale,
)
from boundary_env_ros.core.decision import (
    ActionRequest,
    Measurement,
    Reason,
    RuleResult,
    Trigger,
    Verdict,
)

OBSTACLE = 'obstacle'
FEEDBACK = 'feedback'
ALIVE = 'alive'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What the rules need of a contract, flat over the dimensions of the command.

    ``alive`` holds, by name of its input, the greatest age of each field that holds the robot when
    it is stale.
    """

    groups: tuple[ActionSpec, ...]
    alive: Mapping[str, float]
    low: Vector
    high: Vector
    safe: Vector
    rate: Vector
    stop: Vector
    unit: tuple[str, ...]
    reject_beyond: tuple[bool, ...]
    safety: Safety
    pacing: Pacing
    period: float
    lockstep_deadline: float

    @classmethod
    def of(cls, contract: Contract) -> Limits:
        """Return the limits of a contract."""
        return cls(
            groups=contract.action,
            alive={
                f'{ALIVE}.{field.name}': field.max_age
                for field in (*contract.observation, *contract.state)
                if field.when_stale is WhenStale.HOLD and field.max_age is not None
            },
            low=contract.flat('low'),
            high=contract.flat('high'),
            safe=contract.flat('safe'),
            rate=contract.flat('rate'),
            stop=contract.flat('stop'),
            unit=contract.command_unit,
            reject_beyond=tuple(
                group.beyond is Beyond.REJECT
                for group in contract.action
                for _ in range(group.size)
            ),
            safety=contract.safety,
            pacing=contract.pacing,
            period=contract.period,
            lockstep_deadline=contract.lockstep_deadline,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """
    The right to be heard, for one client in one episode.

    Attributes
    ----------
    lease_id, holder, episode_id
        Whose it is, and for what.
    last_sequence
        Sequence of the last request that was heard.

    """

    lease_id: str
    holder: str
    episode_id: str
    last_sequence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """
    Everything but the action that a ruling depends on; recorded with every decision.

    Attributes
    ----------
    trigger
        What made the gate decide.
    time_step
        Seconds for the rate limits.
    previous
        Command before this one; None if neither a command nor a measured state is known.
    emergency_stop, over
        The emergency stop is latched; the lease has ended.
    since_request, since_environment
        Steady seconds since the last acceptable request and the last sign of life of the
        environment.
    measurements
        Sensor values, by name, as far as the rules need them.

    """

    trigger: Trigger
    time_step: float
    previous: Vector | None
    emergency_stop: bool = False
    over: bool = False
    since_request: float | None = None
    since_environment: float | None = None
    measurements: Mapping[str, Measurement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """
    What the rules make of an action in a situation.

    Attributes
    ----------
    verdict
        The strictest outcome.
    admitted
        Action after the rules; empty for STOPPED and REJECTED.
    command
        What is to be published; empty for REJECTED.
    results
        Every rule that touched something, in order.

    """

    verdict: Verdict
    admitted: Vector = ()
    command: Vector = ()
    results: tuple[RuleResult, ...] = ()


# 1. Is it a command at all? ----------------------------------------------------------------------


def well_formed(
    action: Vector, size: int, horizon: int = 1, most: int = 1
) -> tuple[RuleResult, ...]:
    """
    Refuse an action of another size, or with a number that is not finite.

    Parameters
    ----------
    action
        The action, or ``horizon`` of them, one after the other.
    size
        Dimensions of one action.
    horizon, most
        How many it claims to be, and how many the contract allows.

    """
    name = 'well_formed'
    if not 1 <= horizon <= most:
        return (
            _reject(
                name,
                Reason.WRONG_SHAPE,
                value=float(horizon),
                limit=float(most),
                unit='steps',
            ),
        )
    size *= horizon
    if len(action) != size:
        return (
            _reject(
                name,
                Reason.WRONG_SHAPE,
                value=float(len(action)),
                limit=float(size),
                unit='values',
            ),
        )
    return tuple(
        _reject(name, Reason.NOT_FINITE, dimension=index % (size // horizon))
        for index, value in enumerate(action)
        if not math.isfinite(value)
    )


def authority(
    request: ActionRequest, *, lease: Lease | None, running: bool, digest: str, agent: str
) -> tuple[RuleResult, ...]:
    """
    Refuse whoever does not hold the lease of this episode, under this contract, for this agent.

    The sequence must grow: a request that was sent twice, or overtaken, must not move the robot.
    """
    name = 'authority'
    if request.id.digest != digest:
        return (_reject(name, Reason.WRONG_DIGEST),)
    if request.id.agent != agent:
        return (_reject(name, Reason.WRONG_AGENT),)
    if lease is None or not running:
        return (_reject(name, Reason.NOT_ARMED),)
    if request.id.episode_id != lease.episode_id:
        return (_reject(name, Reason.WRONG_EPISODE),)
    if request.lease_id != lease.lease_id:
        return (_reject(name, Reason.WRONG_LEASE),)
    if request.sequence <= lease.last_sequence:
        return (
            _reject(
                name,
                Reason.OUT_OF_ORDER,
                value=float(request.sequence),
                limit=float(lease.last_sequence + 1),
            ),
        )
    return ()


def age(observation_age: float | None, limit: float) -> tuple[RuleResult, ...]:
    """
    Refuse an action that answers an observation of an age that cannot be right.

    Too old, unknown, or as far in the future.
    """
    if observation_age is not None and abs(observation_age) <= limit:
        return ()
    return (_reject('age', Reason.ACTION_TOO_OLD, value=observation_age, limit=limit, unit='s'),)


def _reject(
    rule_name: str,
    reason: Reason,
    *,
    dimension: int = -1,
    value: float | None = None,
    limit: float | None = None,
    unit: str = '',
) -> RuleResult:
    return RuleResult(
        rule=rule_name,
        outcome=Verdict.REJECTED,
        reason=reason,
        dimension=dimension,
        value=value,
        limit=limit,
        unit=unit,
    )


# 2. Must the robot stop? -------------------------------------------------------------------------


def stops(limits: Limits, situation: Situation, wanted: Vector | None) -> tuple[RuleResult, ...]:
    """Return why the robot must stop, whatever was asked for; empty if it need not."""
    results: list[RuleResult] = []
    if situation.emergency_stop:
        results.append(_stop('emergency_stop', Reason.EMERGENCY_STOP))
    if situation.over:
        results.append(_stop('authority', Reason.EPISODE_OVER))
    results += _environment(limits, situation)
    by_timer = situation.trigger is Trigger.TIMER
    if not (by_timer and limits.pacing is Pacing.LOCKSTEP):
        # In lockstep the world stands still between two requests. What it shows is judged with the
        # next one: a timer of another clock would make the record depend on how long it took.
        results += _sensors(limits, situation)
        obstacle = limits.safety.obstacle
        if obstacle is not None:
            results += _obstacle_stop(obstacle, situation, wanted)
    if by_timer:
        results += _silence(limits, situation)
    return tuple(results)


def _stop(
    rule_name: str,
    reason: Reason,
    value: float | None = None,
    limit: float | None = None,
    unit: str = '',
) -> RuleResult:
    return RuleResult(
        rule=rule_name, outcome=Verdict.STOPPED, reason=reason, value=value, limit=limit, unit=unit
    )


def _environment(limits: Limits, situation: Situation) -> list[RuleResult]:
    """Stop when the environment, which would end the episode, gives no sign of life."""
    since, limit = situation.since_environment, limits.safety.environment_timeout
    if since is not None and since <= limit:
        return []
    return [_stop('environment', Reason.ENVIRONMENT_TIMEOUT, since, limit, 's')]


def _sensors(limits: Limits, situation: Situation) -> list[RuleResult]:
    """Stop when a sensor that a rule needs is silent, frozen or ahead of time."""
    results = []
    limit = limits.safety.sensor_timeout
    for measurement in situation.measurements.values():
        if measurement.name.startswith(FEEDBACK):
            # Only needed to seed the rate limits; its absence shows as an unknown previous
            # command.
            continue
        most = limits.alive.get(measurement.name, limit)
        if measurement.age is None or measurement.age > most:
            results.append(
                _stop('sensors', Reason.OBSERVATION_TIMEOUT, measurement.age, most, 's')
            )
        elif measurement.name in limits.alive:
            continue  # only whether it lives is asked
        elif not measurement.values or any(map(math.isnan, measurement.values)):
            # No comparison with NaN is true, so the rules would take it for free space.
            results.append(_stop('sensors', Reason.SENSOR_INVALID))
    if limits.safety.obstacle is not None and OBSTACLE not in situation.measurements:
        results.append(_stop('sensors', Reason.OBSERVATION_TIMEOUT, None, limit, 's'))
    if situation.previous is None:
        results.append(_stop('sensors', Reason.OBSERVATION_TIMEOUT, None, limit, 's'))
    return results


def _obstacle_stop(
    obstacle: Obstacle, situation: Situation, wanted: Vector | None
) -> list[RuleResult]:
    """Stop before what is near, on the side that the robot moves to or is asked to move to."""
    measurement = situation.measurements.get(OBSTACLE)
    if measurement is None or not measurement.values:
        return []  # reported by the sensors' rule
    results = []
    for side, valid, sign in _sides(measurement):
        if not _heads(obstacle.dimension, sign, situation.previous, wanted):
            continue
        if valid < obstacle.min_valid:
            results.append(
                _stop(
                    'obstacle_stop',
                    Reason.SENSOR_INVALID,
                    valid,
                    obstacle.min_valid,
                    'of the beams',
                )
            )
        elif side < obstacle.stop_distance:
            results.append(
                _stop('obstacle_stop', Reason.OBSTACLE_STOP, side, obstacle.stop_distance, 'm')
            )
    return results


def _sides(measurement: Measurement) -> tuple[tuple[float, float, int], tuple[float, float, int]]:
    """Return (distance, fraction of usable beams, sign of the motion to it) ahead and behind."""
    ahead, behind, valid_ahead, valid_behind = measurement.values
    return (ahead, valid_ahead, 1), (behind, valid_behind, -1)


def _heads(dimension: int, sign: int, *vectors: Vector | None) -> bool:
    return any(vector and vector[dimension] * sign > 0.0 for vector in vectors)


def _silence(limits: Limits, situation: Situation) -> list[RuleResult]:
    """Stop when the policy has been silent for too long. In lockstep it may think for longer."""
    if limits.pacing is Pacing.LOCKSTEP:
        limit = limits.lockstep_deadline
    else:
        limit = limits.safety.command_timeout
    since = situation.since_request
    if since is not None and since > limit:
        return [_stop('silence', Reason.COMMAND_TIMEOUT, since, limit, 's')]
    return []


def brake(limits: Limits, situation: Situation) -> Vector:
    """
    Return the next command of the stop profile: towards the safe one at the declared rate.

    A dimension that is safe where it is stays there; while nobody knows where that is, there is no
    command that is right, and it is empty.
    """
    if situation.previous is None:
        return () if any(map(math.isnan, limits.safe)) else limits.safe
    return tuple(
        previous if math.isnan(safe) else _towards(previous, safe, stop * situation.time_step)
        for previous, safe, stop in zip(situation.previous, limits.safe, limits.stop, strict=True)
    )


def at_rest(limits: Limits, command: Vector) -> bool:
    """Return whether a command is the safe one."""
    return all(
        math.isnan(safe) or value == safe for value, safe in zip(command, limits.safe, strict=True)
    )


# 3. What may be published? -----------------------------------------------------------------------


def shape(
    limits: Limits, situation: Situation, wanted: Vector
) -> tuple[Vector, tuple[RuleResult, ...]]:
    """Return as much of a wanted action as may be published, and what was taken from it."""
    results: list[RuleResult] = []
    values = list(wanted)

    def limit(
        rule_name: str,
        reason: Reason,
        dimension: int,
        after: float,
        value: float,
        bound: float,
        unit: str,
    ) -> None:
        results.append(
            RuleResult(
                rule=rule_name,
                outcome=Verdict.LIMITED,
                reason=reason,
                dimension=dimension,
                before=values[dimension],
                after=after,
                value=value,
                limit=bound,
                unit=unit,
            )
        )
        values[dimension] = after

    for i, value in enumerate(values):
        bound = min(max(value, limits.low[i]), limits.high[i])
        if bound != value:
            limit('bounds', Reason.OUT_OF_BOUNDS, i, bound, value, bound, limits.unit[i])
    obstacle, measurement = limits.safety.obstacle, situation.measurements.get(OBSTACLE)
    if obstacle is not None and measurement is not None and measurement.values:
        for distance, _, sign in _sides(measurement):
            speed = values[obstacle.dimension] * sign
            if speed > obstacle.slow_speed and distance < obstacle.slow_distance:
                limit(
                    'obstacle_slow',
                    Reason.OBSTACLE_SLOW,
                    obstacle.dimension,
                    sign * obstacle.slow_speed,
                    distance,
                    obstacle.slow_distance,
                    'm',
                )
    if situation.previous is not None:
        for i, previous in enumerate(situation.previous):
            after = _towards(previous, values[i], limits.rate[i] * situation.time_step)
            if after != values[i]:
                wanted_rate = abs(values[i] - previous) / max(situation.time_step, 1e-9)
                limit(
                    'rate',
                    Reason.RATE_LIMIT,
                    i,
                    after,
                    wanted_rate,
                    limits.rate[i],
                    f'{limits.unit[i]}/s',
                )
    return tuple(values), tuple(results)


def _towards(start: float, goal: float, most: float) -> float:
    """Return ``goal``, or the value on the way to it that is ``most`` away from ``start``."""
    if abs(goal - start) <= most:
        return goal
    return start + math.copysign(most, goal - start)


# The whole ---------------------------------------------------------------------------------------


def rule(limits: Limits, situation: Situation, wanted: Vector | None) -> Ruling:
    """
    Rule on an action that is a command, or on silence.

    Parameters
    ----------
    limits
        Limits of the contract.
    situation
        The rest of what matters.
    wanted
        For a request, or a later action of a chunk, the action, well formed; for the timer, the
        last command (to be held), or None.

    """
    command = wanted
    translated: tuple[RuleResult, ...] = ()
    if wanted is not None and situation.trigger is not Trigger.TIMER:
        command, translated = translate(limits.groups, wanted, situation.previous)
    results = stops(limits, situation, command)
    if results or wanted is None:
        return Ruling(verdict=Verdict.STOPPED, command=brake(limits, situation), results=results)
    refused = tuple(r for r in translated if r.outcome is Verdict.REJECTED)
    if command is not None:
        refused += _beyond(limits, command)
    if refused or command is None:
        return Ruling(verdict=Verdict.REJECTED, results=refused)
    command, results = shape(limits, situation, command)
    if situation.trigger is Trigger.TIMER:
        admitted = as_action(limits.groups, command, situation.previous)
        late = RuleResult(
            rule='silence',
            outcome=Verdict.HELD,
            reason=Reason.COMMAND_LATE,
            value=situation.since_request,
            limit=limits.safety.hold_after,
            unit='s',
        )
        return Ruling(
            verdict=Verdict.HELD, admitted=admitted, command=command, results=(late, *results)
        )
    results = (*translated, *results)
    admitted = admitted_action(limits.groups, wanted, command, situation.previous)
    verdict = Verdict.LIMITED if results else Verdict.ADMITTED
    return Ruling(verdict=verdict, admitted=admitted, command=command, results=results)


def _beyond(limits: Limits, command: Vector) -> tuple[RuleResult, ...]:
    """Return what is out of the bounds of groups that refuse that."""
    return tuple(
        RuleResult(
            rule='bounds',
            outcome=Verdict.REJECTED,
            reason=Reason.OUT_OF_BOUNDS,
            dimension=i,
            before=value,
            value=value,
            limit=limits.low[i] if value < limits.low[i] else limits.high[i],
            unit=limits.unit[i],
        )
        for i, value in enumerate(command)
        if limits.reject_beyond[i] and not limits.low[i] <= value <= limits.high[i]
    )
