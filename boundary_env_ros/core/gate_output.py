# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands that the gate has sent, and where the next one begins."""

from __future__ import annotations

from collections.abc import Mapping
import math

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.decision import Measurement, Sent, Trigger, Verdict
from boundary_env_ros.core.gate_rules.braking import at_rest
from boundary_env_ros.core.gate_rules.limits import Limits
from boundary_env_ros.core.gate_rules.measured import kept_of, measured_command
from boundary_env_ros.core.gate_rules.rotation import nearer_sign
from boundary_env_ros.core.gate_rules.situation import Ruling
from boundary_env_ros.core.gate_rules.under_way import Recent
from boundary_env_ros.core.gate_rules.workspace import looks_back
from boundary_env_ros.core.safety import Safety
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import Instant, NANOSECONDS


class Output:
    """
    The sequence of commands that goes out.

    Parameters
    ----------
    contract
        The contract.

    Attributes
    ----------
    command
        The last one; None before the first, and when a lease has come to its end.
    rate, acceleration
        Where the sequence is going with it, unit/s and unit/s^2; empty for none.
    goal
        What was asked for with it, and is on its way.
    emitted
        Steady time at which it was decided on, ns; a moment later it went out.

    """

    def __init__(self, contract: Contract) -> None:
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        self._period = contract.period
        self._grid = sooner(contract.safety)
        timeouts = [group.driver_timeout for group in contract.action]
        self._driver_timeout = min((t for t in timeouts if t is not None), default=math.inf)
        self._depart = tuple(
            most for group in contract.action for most in group.depart or (math.inf,) * group.size
        )
        self._may_depart = not self._lockstep and min(self._depart) < math.inf
        self._recent = _recent(contract)
        self._out: int | None = None
        self.forget()

    def forget(self) -> None:
        """
        Forget what was commanded: the next command starts from the measured state.

        When it was commanded is not forgotten: the end of a lease must not save up speed either.
        """
        self.command: Vector | None = None
        self.rate: Vector = ()
        self.acceleration: Vector = ()
        self.goal: Vector = ()
        self.emitted: int | None = None
        self._handed_over = False
        if self._recent is not None:
            self._recent = self._recent.forgotten()

    def hand_over(self) -> None:
        """Take note that somebody else asks now: he begins from what the robot does."""
        self.goal = self.command or ()
        self._handed_over = self.command is not None

    def sent(self, ruling: Ruling, trigger: Trigger, now: Instant) -> None:
        """Take note of a command that goes out."""
        self.rate, self.acceleration = ruling.rate, ruling.acceleration
        self.command = ruling.command
        self.emitted = self._out = now.steady
        if self._recent is not None:
            self._recent = self._recent.after(ruling.command, self._robot_time(now))
        if trigger is not Trigger.TIMER:
            self._handed_over = False
        if ruling.verdict is Verdict.STOPPED:
            # Until somebody asks for more it stays where it has braked to.
            self.goal = ruling.command
        elif trigger is not Trigger.TIMER or not self.goal:
            self.goal = ruling.wanted

    def went_out(self, at: Instant) -> None:
        """Take note of when the last command went out."""
        if self._out is not None:
            self._out = max(self._out, at.steady)

    def moving(self, limits: Limits) -> bool:
        """Return whether the last command is another than the safe one."""
        return self.command is not None and not at_rest(limits, self.command)

    def previous(
        self,
        limits: Limits,
        trigger: Trigger,
        measurements: Mapping[str, Measurement],
        now: Instant,
    ) -> tuple[Vector | None, bool]:
        """
        Return the command that the next one is held against, and whether it is seeded.

        Seeded: it was taken from the measured state.
        """
        previous = self.command
        if previous is None or self.driver_took_over(now):
            previous = measured_command(limits, measurements)
            return previous, previous is not None
        # Only for those who ask for something: to hold, or to stop, is about what was commanded,
        # and the robot must not follow its own sensors.
        if trigger is not Trigger.TIMER and (self._handed_over or self._may_depart):
            measured = measured_command(limits, measurements)
            if measured is not None and (
                self._handed_over
                or _apart(previous, nearer_sign(limits, measured, previous), self._depart)
            ):
                kept = kept_of(limits, previous, measured)
                # The robot may do more than was commanded: there is nothing to take back of that.
                return kept, kept != previous
        return previous, False

    def driver_took_over(self, now: Instant) -> bool:
        """
        Return whether a driver has begun to brake by itself since the last command.

        The robot then no longer does what was commanded last: to brake from there, or to go on
        from there, would set a robot in motion that had come to rest.
        """
        return (
            not self._lockstep
            and self.emitted is not None
            and (now.steady - self.emitted) / NANOSECONDS > self._driver_timeout
        )

    def time_step(self, now: Instant) -> float:
        """
        Return the seconds since the last command went out, at most one period.

        More would let a pause save up speed; in lockstep a step is a period, however long it took.
        Less than none, from callers whose readings of the clock overtook each other, is none.
        """
        period = self._period
        if self._out is None or self._lockstep:
            return period
        return min(max((now.steady - self._out) / NANOSECONDS, 0.0), period)

    def due(self, now: Instant, period: float) -> bool:
        """
        Return whether a period has passed since the last command went out.

        The gate's timer runs on a grid of its own: that a command went out a moment after its
        decision must not cost a whole tick.
        """
        return self._out is None or now.steady - self._out > ((period - self._grid) * NANOSECONDS)

    def recent(self, now: Instant) -> tuple[Sent, ...]:
        """Return what may still be under way, as far as a rule asks for it."""
        return () if self._recent is None else self._recent.at(self._robot_time(now))

    @property
    def looks_back(self) -> float:
        """For how many seconds a command that is in force no more is remembered."""
        return 0.0 if self._recent is None else self._recent.seconds

    def recall(self, sent: tuple[Sent, ...], now: Instant) -> None:
        """Take what is under way from what a decision says of it."""
        if self._recent is not None:
            self._recent = self._recent.recalled(sent, self._robot_time(now))

    def _robot_time(self, now: Instant) -> int:
        """Return the time by which the robot acts, ns: in lockstep only the world's own."""
        return now.ros.nanoseconds if self._lockstep else now.steady


def sooner(safety: Safety) -> float:
    """Return how much sooner than declared a command may be sent again, s: a quarter tick."""
    return safety.gate_period / 4.0


def _recent(contract: Contract) -> Recent | None:
    """Return the memory of what was sent, if a rule asks for it."""
    if not contract.safety.workspaces:
        return None
    fastest = tuple(
        max(abs(low), abs(high))
        for low, high in zip(contract.flat('low'), contract.flat('high'), strict=True)
    )
    return Recent(looks_back(contract.safety, fastest))


def _apart(one: Vector, other: Vector, most: Vector) -> bool:
    return any(abs(a - b) > limit for a, b, limit in zip(one, other, most, strict=True))
