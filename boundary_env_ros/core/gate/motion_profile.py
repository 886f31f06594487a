# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Limits on rate, acceleration and jerk of an emitted sequence of commands.

:func:`advance` is the whole of it: from where the sequence is, towards a goal, by one time step.
Whatever goals follow, at whatever steps, the values that it returns never leave the bounds and lie
on one path whose first three derivatives keep the limits; for from every state that it returns the
path can be braked to rest inside, and a step after which it could not is not made.

Ruckig proposes the path: the fastest one to the goal, at rest there [1]_. The promise does not
rest on it. Its phases are followed here, each checked against the limits, and the state at the end
of the step is asked for its brake, in closed form. A proposal that fails, or none, means to brake.
Each of the three keeps a little in hand over the one before it, so that what is viable stays so in
rounded numbers:

- proposed are paths within (1 - 1e-6) of the limits,
- a state is viable if it can be braked within (1 - 2e-9) of them,
- braking uses (1 - 1e-9) of them.

Three more liberties are taken, all of the size of rounding. Values are resolved to two units in
the last place of the greatest bound: a goal as near as that is where the sequence is, and what
exceeds a bound by as little is clamped to it. A path that ends beside its goal by less than what
the limits have in hand ends at the goal. And no limit is taken to be reached from rest in less
than ten microseconds, so that a number that was written for "as much as you like" is one.

.. [1] L. Berscheid, T. Kroeger: Jerk-limited Real-time Trajectory Generation with Arbitrary Target
   States. Robotics: Science and Systems, 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
import math
from typing import Any, NamedTuple, TypeAlias

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, MissingDependency
from boundary_env_ros.frozen import frozen, replace

PROPOSED = 1.0 - 1e-6
VIABLE = 1.0 - 2e-9
BRAKED = 1.0 - 1e-9

#: No limit is reached in fewer seconds, nor acceleration in less than this part of the time that
#: the rate takes.
QUICKEST, SHARPEST = 1e-5, 1e-6

#: In the units of a question a limit above this one is as good as none.
UNREACHED = 1e3

#: A change for so many seconds: with jerk if there is a limit on it, else with acceleration.
Phase = tuple[float, float]


@frozen(kw_only=False)
class MotionLimits:
    """
    What a sequence of commands has to keep, each dimension for itself.

    Attributes
    ----------
    low, high
        Bounds of the values, in the unit of the command.
    rate
        Greatest first derivative, unit/s.
    acceleration, jerk
        Greatest second and third derivative, unit/s^2 and unit/s^3; ``inf`` where there is none.

    Raises
    ------
    BoundaryError
        If a bound or rate is not finite, or a limit is below 0.
    MissingDependency
        If a second or third derivative is limited and Ruckig is not installed: now, not when the
        robot moves.

    """

    low: Vector
    high: Vector
    rate: Vector
    acceleration: Vector
    jerk: Vector
    dimensions: tuple[_Dimension, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vectors = (self.low, self.high, self.rate, self.acceleration, self.jerk)
        object.__setattr__(
            self,
            'dimensions',
            tuple(_Dimension.of(*numbers) for numbers in zip(*vectors, strict=True)),
        )
        if any(dimension.order > 1 for dimension in self.dimensions):
            _library()


class MotionStep(NamedTuple):
    """
    Where an emitted sequence is in one dimension.

    Attributes
    ----------
    position
        The command that was emitted, in its unit.
    velocity, acceleration
        First and second derivative of the path through it, unit/s and unit/s^2. They are 0 where
        the derivative after them is not limited, and nothing has to be remembered.

    """

    position: float
    velocity: float = 0.0
    acceleration: float = 0.0


#: Where a sequence is: a step for each dimension.
MotionState: TypeAlias = tuple[MotionStep, ...]


def advance(
    limits: MotionLimits, state: MotionState, goal: Vector, time_step: float
) -> MotionState:
    """
    Return where the sequence is after a time step, on the fastest path to rest at a goal.

    Parameters
    ----------
    limits
        What is kept.
    state
        At rest anywhere, or what this function returned under the same limits. From
        outside the bounds it only comes back. Any other state is braked as fast as the limits
        allow; if that is not fast enough for the bounds, the bounds are kept and the limits are
        not.
    goal
        Where to go; what is farther outside the bounds than the state is taken to be where that
        ends.
    time_step
        Seconds, 0.0 or more. After 0.0 nothing has changed.

    Returns
    -------
    MotionState
        Within the bounds, or no farther outside than before, without exception. Exactly the goal,
        at rest, if that can be reached in the time. The same bits for the same arguments.

    """
    if time_step <= 0.0:
        return state
    return tuple(
        [
            MotionStep(*_advance(dimension.around(step[0]), *step, end, time_step))
            for dimension, step, end in zip(limits.dimensions, state, goal, strict=True)
        ]
    )


def settle(limits: MotionLimits, state: MotionState) -> Vector:
    """
    Return where the sequence comes to rest if it brakes from now on.

    As a goal it leads there without a detour, and stays the same while it is followed.
    """
    return tuple(
        _braked(dimension.around(step.position), *step, PROPOSED, math.inf)[0]
        for dimension, step in zip(limits.dimensions, state, strict=True)
    )


# One dimension -----------------------------------------------------------------------------------

#: Position, velocity, acceleration.
Step = tuple[float, float, float]


@frozen
class _Dimension:
    """
    The limits of one dimension.

    ``order`` is that of the highest limited derivative, or 0 if nothing may move; ``resolution``
    what values are resolved to; ``proposed`` holds rate, acceleration and jerk of proposals, and
    the seconds to the full rate.
    """

    order: int
    low: float
    high: float
    rate: float
    acceleration: float
    jerk: float
    resolution: float
    proposed: tuple[float, float, float, float]

    @classmethod
    def of(
        cls, low: float, high: float, rate: float, acceleration: float, jerk: float
    ) -> _Dimension:
        """Return the limits of a dimension; what can never be reached becomes finite."""
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise BoundaryError(f'Expected finite bounds, low <= high, got {low:g} and {high:g}.')
        if not (0.0 <= rate < math.inf and acceleration >= 0.0 and jerk >= 0.0):
            raise BoundaryError(
                'Expected a finite rate, an acceleration and a jerk of 0 or more, got '
                f'{rate:g}, {acceleration:g} and {jerk:g}. Write inf for no limit.'
            )
        order = 3 if jerk < math.inf else 2 if acceleration < math.inf else 1
        if order > 1:
            acceleration = min(acceleration, rate / QUICKEST)
            # What has to be able to brake within the bounds is not faster.
            rate = min(rate, 1.1 * math.sqrt(2.0 * acceleration * (high - low)))
        if order > 2:
            # Between the rates -r and r the acceleration rises to sqrt(2 jerk r): a limit above
            # that is none.
            acceleration = min(acceleration, 1.5 * math.sqrt(2.0 * jerk * rate))
        if order > 2 and acceleration > 0.0:
            jerk = min(jerk, acceleration / max(QUICKEST, SHARPEST * rate / acceleration))
        if 0.0 in (rate, acceleration, jerk):
            order = 0  # nor does anything move whose limits are too small for the numbers
        within = (PROPOSED * rate, PROPOSED * acceleration, PROPOSED * jerk)
        slow = rate / acceleration if order > 1 else 0.0
        if order > 2:
            slow += acceleration / jerk
        return cls(
            order=order,
            low=low,
            high=high,
            rate=rate,
            acceleration=acceleration,
            jerk=jerk,
            resolution=math.ulp(max(abs(low), abs(high))),
            proposed=(*within, slow),
        )

    def around(self, x: float) -> _Dimension:
        """Return the same limits with bounds that reach as far as a value."""
        if self.low <= x <= self.high:
            return self
        low, high = min(self.low, x), max(self.high, x)
        resolution = math.ulp(max(abs(low), abs(high)))
        return replace(self, low=low, high=high, resolution=resolution)

    def inside(self, x: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(x, self.low), self.high)


def _advance(
    limits: _Dimension, x: float, v: float, a: float, goal: float, time_step: float
) -> Step:
    goal = limits.inside(goal)
    if limits.order == 0:
        return limits.inside(x), 0.0, 0.0
    if limits.order == 1:
        most = limits.rate * time_step
        if abs(goal - x) <= most:
            return goal, 0.0, 0.0
        return limits.inside(x + math.copysign(most, goal - x)), 0.0, 0.0
    if limits.order == 2:
        a = 0.0
    if _is_there(limits, (x, v, a), goal, time_step):
        return goal, 0.0, 0.0
    proposal = _propose(limits, goal - x, v, a, time_step)
    if proposal:
        step = _step(limits, proposal, (x, v, a), time_step)
        arrived = sum(duration for duration, _ in proposal) <= time_step
        if step is not None and arrived and _is_there(limits, step, goal, time_step):
            return goal, 0.0, 0.0
        if step is not None and _viable(limits, *step):
            return limits.inside(step[0]), step[1], step[2]
    return _braked(limits, x, v, a, BRAKED, time_step)


def _braked(
    limits: _Dimension, x: float, v: float, a: float, part: float, time_step: float
) -> Step:
    """Return the state after braking for a time."""
    distance, v, a, _, _ = _follow(limits, _brake(limits, v, a, part), v, a, time_step)
    if math.isfinite(distance) and math.isfinite(v) and math.isfinite(a):
        return limits.inside(x + distance), v, a
    return limits.inside(x), 0.0, 0.0  # numbers that no state of ours has


def _is_there(limits: _Dimension, step: Step, goal: float, time_step: float) -> bool:
    """Return whether the difference to rest at the goal is that of rounding, or as harmless."""
    x, v, a = step
    # What the limits have in hand over a proposal allows a path to end elsewhere by so much: the
    # polynomial that makes up for it within the step has derivatives of at most 60 times it.
    change = min(limits.rate, limits.acceleration * time_step)
    if limits.order == 3:
        change = min(change, limits.jerk * time_step * time_step)
    harmless = (1.0 - PROPOSED) / 200.0 * change * time_step
    most = max(2.0 * limits.resolution, harmless)
    return max(abs(x - goal), abs(v) * time_step, abs(a) * time_step * time_step) <= most


def _step(
    limits: _Dimension, phases: Sequence[Phase], start: Step, time_step: float
) -> Step | None:
    """Return the state after a step along phases; None if a limit is not kept on the way."""
    if limits.order == 3 and any(abs(change) > limits.jerk for _, change in phases):
        return None
    distance, v, a, fastest, strongest = _follow(limits, phases, start[1], start[2], time_step)
    # A limit that is broken already, by a state that is not ours, may be broken on the way back.
    rate, acceleration = max(limits.rate, abs(start[1])), max(limits.acceleration, abs(start[2]))
    if fastest <= rate and strongest <= acceleration:
        return start[0] + distance, v, a
    return None


def _follow(
    limits: _Dimension, phases: Sequence[Phase], v: float, a: float, time: float
) -> tuple[float, float, float, float, float]:
    """Return how far phases lead in a time, v and a there, and the greatest of both on the way."""
    distance, fastest, strongest = 0.0, abs(v), abs(a)
    for duration, change in phases:
        t = min(duration, time)
        time -= t
        if limits.order == 3:
            distance += t * (v + t * (0.5 * a + t * change / 6.0))
            after = a + t * change
            if a * after < 0.0:
                fastest = max(fastest, abs(v - 0.5 * a * a / change))
            v += t * (a + 0.5 * t * change)
            a = after
            strongest = max(strongest, abs(a))
        else:
            distance += t * (v + 0.5 * t * change)
            v += t * change
            strongest = max(strongest, abs(change))
        fastest = max(fastest, abs(v))
        if time <= 0.0:
            break
    else:
        if time < math.inf:
            # Nothing changes after the last phase, whatever it has left.
            distance += time * (v + 0.5 * time * a)
            v += time * a
            fastest = max(fastest, abs(v))
    return distance, v, a, fastest, strongest


def _brake(limits: _Dimension, v: float, a: float, part: float) -> tuple[Phase, ...]:
    """Return the fastest way to rest within part of the limits."""
    if limits.order < 2:
        return ()
    most = part * limits.acceleration
    if limits.order == 2:
        return ((abs(v) / most, -math.copysign(most, v)),)
    jerk = part * limits.jerk
    # The rate that would be left if only the acceleration were taken to 0 says which way to brake.
    sign = -1.0 if v + 0.5 * a * abs(a) / jerk > 0.0 else 1.0
    gain, start = -v * sign, a * sign
    peak = math.sqrt(max(jerk * gain + 0.5 * start * start, 0.0))
    constant = 0.0
    if peak > most:
        peak = most
        gained = math.copysign(most * most - start * start, most - start)
        constant = max(0.0, (gain - 0.5 * (gained + most * most) / jerk) / most)
    return (
        (abs(peak - start) / jerk, math.copysign(jerk, peak - start) * sign),
        (constant, 0.0),
        (peak / jerk, -jerk * sign),
    )


def _viable(limits: _Dimension, x: float, v: float, a: float) -> bool:
    """Return whether a state is within the bounds and can be braked to rest there."""
    low, high = limits.low - 2.0 * limits.resolution, limits.high + 2.0 * limits.resolution
    if limits.order == 2:
        rest = x + 0.5 * v * abs(v) / (VIABLE * limits.acceleration)
        return low <= min(x, rest) and max(x, rest) <= high
    jerk = BRAKED * limits.jerk
    turned = 0.5 * a * abs(a) / jerk
    left = v + turned
    if not abs(left) <= limits.rate:
        return False
    # Far from the bounds a rough figure is enough: no faster than `most`, for no longer than it
    # takes to brake from there after the acceleration has been taken to 0.
    most = abs(v) + abs(turned)
    rough = most * (most / limits.acceleration + (2.0 * limits.acceleration + abs(a)) / jerk)
    if low <= x - 1.1 * rough and x + 1.1 * rough <= high:
        return True
    rest = farthest = x + _follow(limits, _brake(limits, v, a, VIABLE), v, a, math.inf)[0]
    if v * left < 0.0:
        # It turns while its acceleration is taken to 0, beyond where it comes to rest.
        root = math.sqrt(max(0.0, a * a - 2.0 * jerk * abs(v)))
        turn = 2.0 * abs(v) / (abs(a) + root)
        farthest = x + turn * (v + turn * (0.5 * a - turn * math.copysign(jerk, a) / 6.0))
    return low <= min(x, rest, farthest) and max(x, rest, farthest) <= high


# What Ruckig proposes ----------------------------------------------------------------------------


def _library() -> Any:
    try:
        import ruckig
    except ImportError as error:
        raise MissingDependency(
            'Limits on acceleration and jerk need Ruckig, which is not installed. '
            'Install it: pip install ruckig.'
        ) from error
    return ruckig


def _propose(
    limits: _Dimension, distance: float, v: float, a: float, time_step: float
) -> list[Phase]:
    """
    Return the phases of the fastest path over a distance to rest; empty if there is no proposal.

    Ruckig has absolute tolerances (1e-8 for positions). So it is asked in units of time and length
    in which the numbers of this question are about 1; as powers of 2 they cost no rounding.
    """
    third = limits.order == 3
    rate, acceleration, jerk, slow = limits.proposed
    if third:
        span = max(abs(a) / jerk, math.sqrt(abs(v) / jerk), (abs(distance) / jerk) ** (1.0 / 3.0))
    else:
        span = max(abs(v) / acceleration, math.sqrt(abs(distance) / acceleration))
    time = _power_of_two(min(span, slow))
    length = min(rate * time, acceleration * time * time)
    if third:
        length = min(length, jerk * time * time * time)
    length = _power_of_two(length)
    if not (time > 0.0 and length > 0.0):
        return []
    # A goal farther than what matters within this step only costs digits. (A step a million times
    # longer than it takes to the full rate does not use all of it: there are not that many.)
    far = min(4.0 * rate * slow + 2.0 * rate * time_step, 1e6 * length)
    distance = min(max(distance, -far), far)
    speed = time / length
    force = speed * time
    most = min(rate * speed, UNREACHED)
    # With an acceleration that ends exactly at the full rate, Ruckig (0.19) finds a slower path
    # only. There the limit is moved by the last place.
    peak = abs(v + 0.5 * a * abs(a) / jerk) * speed
    if abs(peak - most) <= 1e-12 * most:
        most = peak * (1.0 + 1e-15)
    ruckig = _library()
    question, trajectory = ruckig.InputParameter(1), ruckig.Trajectory(1)
    try:
        question.current_velocity = [v * speed]
        question.current_acceleration = [a * force]
        question.target_position = [distance / length]
        question.max_velocity = [most]
        question.max_acceleration = [min(acceleration * force, UNREACHED)]
        question.max_jerk = [jerk * force * time if third else math.inf]
        ruckig.Ruckig(1).calculate(question, trajectory)
        profile = trajectory.profiles[0][0]
        durations, changes = profile.t, profile.j if third else profile.a
        before = profile.brake
        if before.duration > 0.0:
            # A state beyond its limits is first brought back within them.
            durations = [*before.t, *durations]
            changes = [*(before.j if third else before.a), *changes]
    except ruckig.RuckigError:
        return []
    unit = length / time / time / time if third else length / time / time
    return [
        (duration * time, change * unit)
        for duration, change in zip(durations, changes, strict=False)
        if duration > 0.0
    ]


def _power_of_two(value: float) -> float:
    return math.ldexp(0.5, math.frexp(value)[1])
