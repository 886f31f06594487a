# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How fast the sequence of emitted commands may change: rate, acceleration, jerk."""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.gate.motion_profile import (
    advance,
    MotionLimits,
    MotionState,
    MotionStep,
    settle,
)
from boundary_env_ros.core.gate.rule_output import (
    ACCELERATION,
    JERK,
    LimitedCommand,
    RuleOutput,
    SHORTEST,
)
from boundary_env_ros.core.gate.rules.braking import brake, run_on, towards
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rotation import turn
from boundary_env_ros.core.gate.rules.scale_together import slow_together
from boundary_env_ros.core.records.decision import RuleInput, RuleResult, Verdict
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace

#: Below the full rate by this part, a profile counts as being at it.
_NEARLY = 2e-6


def follow(limits: Limits, inputs: RuleInput, shaped: LimitedCommand) -> tuple[Vector, Vector]:
    """
    Limit how far the command may go from the one before it.

    Returns
    -------
    tuple
        Where the commands are going with it: rate (unit/s) and acceleration (unit/s^2). Of a
        dimension that follows a profile these are the derivatives of the profile, of any other
        the mean rate from the last command to this one.

    """
    end = limit_change(limits, inputs, shaped)
    if not inputs.previous_command:
        return (), ()
    rate = rate_between(inputs.previous_command, tuple(shaped.values), inputs.time_step)
    if not end:
        return rate, ()
    _, velocity, acceleration = zip(*end, strict=True)
    still = (0.0,) * len(rate)
    return _put(rate, limits.profiled, velocity), _put(still, limits.profiled, acceleration)


def limit_change(limits: Limits, inputs: RuleInput, shaped: LimitedCommand) -> MotionState:
    """Do what :func:`follow` does, and return where the profiles are then."""
    previous, step = inputs.previous_command, inputs.time_step
    if not previous:
        return ()
    alone: Sequence[int] = limits.plain
    if limits.curvatures:
        together = slow_together(limits, previous, step, shaped)
        alone = [i for i in alone if i not in together]
    for i in alone:
        # As fast as the driver is told to go there: within the time of its trajectory.
        rate, seconds = limits.rate[i], min(step, limits.within[i])
        after = towards(previous[i], shaped.values[i], rate * seconds)
        if after != shaped.values[i]:
            shaped.limit_rate(i, previous[i], after, seconds, rate, limits.unit[i])
    turn(limits, previous, step, shaped)
    if limits.profile is None:
        return ()
    return _follow_profile(limits, limits.profile, inputs, previous, shaped)


def rest(limits: Limits, inputs: RuleInput) -> Vector:
    """Return the command at which the sequence comes to rest if nothing more is asked for."""
    previous = inputs.previous_command
    if limits.profile is None or not previous:
        return previous
    place = settle(limits.profile, _state(limits, inputs, previous))
    return _put(previous, limits.profiled, place)


def brake_to(limits: Limits, inputs: RuleInput, safe: Vector, because: RuleResult) -> RuleOutput:
    """Return the next command of the stop profile, and why: also why it is not the safe one."""
    previous, step = inputs.previous_command or safe, inputs.time_step
    shaped = LimitedCommand(safe)
    for i, (was, after) in enumerate(zip(previous, brake(limits, inputs), strict=True)):
        if after == safe[i]:
            continue
        if math.isnan(limits.safe[i]):
            requested = abs(inputs.previous_rate[i]) / max(step, SHORTEST)
            numbers = after, requested, limits.deceleration[i]
            shaped.limit(ACCELERATION, i, *numbers, f'{limits.unit[i]}/s^2')
        else:
            shaped.limit_rate(i, was, after, step, limits.stop[i], limits.unit[i])
    output = RuleOutput(
        verdict=Verdict.HELD,
        wanted=safe,
        command=tuple(shaped.values),
        results=(because, *shaped.results),
    )
    return start_anew(limits, inputs, output)


def start_anew(limits: Limits, inputs: RuleInput, output: RuleOutput) -> RuleOutput:
    """
    Return an output with where the commands go after one that is on no profile: a stop, or a jump.

    A profile begins again there from rest, or from the velocity with which a position still runs
    on, since the commands before are none of its path: what follows keeps the limits on its own.
    """
    previous, command = inputs.previous_command, output.command
    if not previous or not command:
        return replace(output, rate=(0.0,) * len(command))
    rate = list(rate_between(previous, command, inputs.time_step))
    slowing = [0.0] * len(rate)
    for i in limits.profiled:
        rate[i] = run_on(limits, inputs, i)[1] if math.isnan(limits.safe[i]) else 0.0
        if rate[i] and limits.jerk[i] < math.inf:
            # No more than can be taken back, by the limit on jerk, until it rests.
            eased = min(math.sqrt(2.0 * limits.jerk[i] * abs(rate[i])), limits.acceleration[i])
            slowing[i] = -math.copysign(eased, rate[i])
    acceleration = tuple(slowing) if any(slowing) else ()
    return replace(output, rate=tuple(rate), acceleration=acceleration)


def rate_between(previous: Vector, command: Vector, time_step: float) -> Vector:
    """Return the mean rate of change from one command to the next, unit/s."""
    if not time_step:
        return (0.0,) * len(command)
    return tuple((value - was) / time_step for value, was in zip(command, previous, strict=True))


# Profiles ----------------------------------------------------------------------------------------


def _follow_profile(
    limits: Limits,
    profile: MotionLimits,
    inputs: RuleInput,
    previous: Vector,
    shaped: LimitedCommand,
) -> MotionState:
    """Go the next step of the profile of each dimension that has one, and tell why."""
    dimensions, step = limits.profiled, inputs.time_step
    start = _state(limits, inputs, previous)
    # To where it may go, not only as far as its rate reaches now: it would brake for that.
    end = advance(profile, start, tuple(shaped.values[i] for i in dimensions), step)
    for place, i in enumerate(dimensions):
        if end[place].position != shaped.values[i]:
            if shaped.explains:
                _explain(limits, shaped, i, start[place], end[place], step)
            else:
                shaped.values[i] = end[place].position
    return end


def _explain(
    limits: Limits,
    shaped: LimitedCommand,
    dimension: int,
    start: MotionStep,
    end: MotionStep,
    time_step: float,
) -> None:
    """Take from a dimension what its profile leaves out, by the limit that is in the way."""
    was, rate, acceleration = start
    place, rate_then, _ = end
    missing, step = shaped.values[dimension] - was, max(time_step, SHORTEST)
    value, limit = _acceleration_needed(missing, rate, step), limits.acceleration[dimension]
    cause, unit = ACCELERATION, 's^2'
    if limits.jerk[dimension] < math.inf:
        jerk = _jerk_needed(missing, rate, acceleration, step)
        if jerk > limits.jerk[dimension] or value <= limit:
            value, limit = jerk, limits.jerk[dimension]
            cause, unit = JERK, 's^3'
    fastest = limits.rate[dimension]
    at_it = math.copysign(rate_then, rate_then * missing) >= (1.0 - _NEARLY) * fastest
    if at_it or (value <= limit and abs(missing) > fastest * time_step):
        shaped.limit_rate(dimension, was, place, time_step, fastest, limits.unit[dimension])
        return
    shaped.limit(cause, dimension, place, value, limit, f'{limits.unit[dimension]}/{unit}')


def _acceleration_needed(missing: float, rate: float, step: float) -> float:
    """
    Return the least bound on acceleration within which a path comes to rest in its place in time.

    It accelerates one way, then the other: A^2 T^2 - 4 d A - v^2 = 0 with d = x - v T / 2, of the
    way x that is missing, the rate v and the time T.
    """
    beyond = abs(missing - 0.5 * rate * step)
    return (2.0 * beyond + math.hypot(2.0 * beyond, rate * step)) / (step * step)


def _jerk_needed(missing: float, rate: float, acceleration: float, step: float) -> float:
    """
    Return a bound on jerk below which no path comes to rest in its place in time.

    For any p(t), t being the time that is left, the integral of p j is at most that of abs(p)
    times the greatest jerk; and for a polynomial it follows from what is missing. Those of the
    least such integral are the Chebyshev polynomials of the second kind: 1, t - T / 2 and
    t^2 - T t + 3 T^2 / 16. From rest to rest the bound is reached: 32 x / T^3.
    """
    zeroth, first = -acceleration, -(rate + acceleration * step)
    second = 2.0 * (missing - step * (rate + 0.5 * acceleration * step))
    return max(
        abs(zeroth) / step,
        4.0 * abs(first - 0.5 * step * zeroth) / step**2,
        16.0 * abs(second - step * (first - 3.0 / 16.0 * step * zeroth)) / step**3,
    )


def _state(limits: Limits, inputs: RuleInput, previous: Vector) -> MotionState:
    """Return where the profiles are; what is not known of their motion is none."""
    still = (0.0,) * len(previous)
    rate = inputs.previous_rate or still
    acceleration = inputs.previous_acceleration or still
    return tuple([MotionStep(previous[i], rate[i], acceleration[i]) for i in limits.profiled])


def _put(vector: Vector, dimensions: Sequence[int], values: Vector) -> Vector:
    """Return a vector with other values in some dimensions."""
    found = list(vector)
    for i, value in zip(dimensions, values, strict=True):
        found[i] = value
    return tuple(found)
