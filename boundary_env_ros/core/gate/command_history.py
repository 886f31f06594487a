# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands that the gate has sent, and where the next one begins."""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.braking import at_rest
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.measured import (
    beside,
    known_state,
    measured_command,
    resumed_from,
)
from boundary_env_ros.core.gate.rules.pending_motion import Recent
from boundary_env_ros.core.gate.rules.workspace import history_span, Workspace
from boundary_env_ros.core.records.decision import Measurement, SentCommand, Trigger, Verdict
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import nearest_turn, Vector
from boundary_env_ros.frozen import frozen, replace


@frozen
class CommandHistory:
    """
    The sequence of commands that goes out.

    Attributes
    ----------
    contract
        The contract.
    recent
        What may still be under way; None if no rule asks for it.
    command
        The last one of a lease; None before the first, and when the lease has come to its end.
    in_force
        The last one of all, which the drivers still follow as far as the gate can know: across
        leases, until a reset may have moved the robot or the gate was deactivated.
    rate, acceleration
        Where the sequence is going with it, unit/s and unit/s^2; empty for none.
    goal
        What was asked for with it, and is on its way.
    by_hand
        Whether an operator asked for that.
    emitted
        Steady time at which it was decided on, ns.
    out
        Steady time at which the last command of all went out, a moment later, ns.
    braked
        Groups, by their index, whose drivers were seen to brake by themselves since then.

    """

    contract: Contract
    recent: Recent | None = None
    command: Vector | None = None
    in_force: Vector | None = None
    rate: Vector = ()
    acceleration: Vector = ()
    goal: Vector = ()
    by_hand: bool = False
    emitted: int | None = None
    out: int | None = None
    braked: frozenset[int] = frozenset()

    @classmethod
    def of(cls, contract: Contract) -> CommandHistory:
        """Return that of a gate which has sent nothing yet."""
        return cls(contract=contract, recent=_recent(contract))

    def forgotten(self) -> CommandHistory:
        """
        Return it without what a lease has asked for.

        What was sent last stays in force, for a driver knows of no lease; unless the reset of the
        next episode may move the robot. When it was sent is not forgotten: the end of a lease must
        not save up speed either.
        """
        if self.contract.episode.reset.moves_robot:
            return self.dropped()
        return replace(self, command=None, rate=(), acceleration=(), goal=())

    def dropped(self) -> CommandHistory:
        """Return it without all that was sent: the next command starts from the measured state."""
        return replace(
            self,
            command=None,
            in_force=None,
            emitted=None,
            rate=(),
            acceleration=(),
            goal=(),
            recent=None if self.recent is None else self.recent.forgotten(),
        )

    def by_source(self, by_hand: bool) -> CommandHistory:
        """Return it with an operator or a policy, who goes on from the last command."""
        if by_hand is self.by_hand:
            return self
        return replace(self, goal=self.command or (), by_hand=by_hand)

    def after(self, output: RuleOutput, trigger: Trigger, now: ClockReading) -> CommandHistory:
        """Return it after a command that goes out."""
        goal = self.goal
        if output.verdict is Verdict.STOPPED:
            # Until the next request it stays where it has braked to.
            goal = output.command
        elif trigger is not Trigger.TIMER or not goal:
            goal = output.wanted
        recent = self.recent
        if recent is not None:
            recent = recent.after(output.command, self._robot_time(now))
        return replace(
            self,
            command=output.command,
            in_force=output.command,
            emitted=now.steady,
            out=now.steady,
            rate=output.rate,
            acceleration=output.acceleration,
            goal=goal,
            recent=recent,
            braked=frozenset(),
        )

    def after_publication(self, at: ClockReading) -> CommandHistory:
        """Return it with the last command on the wire."""
        return self if self.out is None else replace(self, out=max(self.out, at.steady))

    def moving(self, limits: Limits) -> bool:
        """Return whether the last command is another than the safe one, or a position runs on."""
        return self.command is not None and not at_rest(limits, self.command, self.rate)

    def rests(self, limits: Limits) -> bool:
        """Return whether no driver follows a speed or an effort but the safe one."""
        last = self.in_force
        return last is None or all(last[i] == limits.safe[i] for i in limits.speeds)

    def previous(
        self,
        limits: Limits,
        trigger: Trigger,
        measurements: Sequence[Measurement],
        now: ClockReading,
    ) -> tuple[Vector, bool]:
        """
        Return the command that the next one is compared with, and whether it is seeded.

        Seeded: it was taken from the measured state, where no command is in force any more. Empty
        if neither is known.
        """
        previous, taken_over = self.in_force, self._taken_over(now)
        if previous is None or all(taken_over):
            known = self._known(limits, measurements, now)
            return ((), False) if any(map(math.isnan, known)) else (known, True)
        by_timer = trigger is Trigger.TIMER
        if any(taken_over):
            # To stop begins nothing again: what is still commanded has to be braked.
            known = self._known(limits, measurements, now)
            return beside(limits, previous, known, taken_over, to_stop=by_timer), not by_timer
        # Only for requests: to hold, or to stop, is about what was commanded,
        # and the robot must not follow its own sensors.
        may_depart = any(group.max_tracking_error for group in self.contract.action)
        if may_depart and not self.contract.is_lockstep and not by_timer:
            measured = measured_command(limits, measurements)
            if measured is not None:
                kept = resumed_from(limits, previous, measured)
                # The robot may do more than was commanded: there is nothing to take back of that.
                return kept, kept != previous
        return previous, False

    def motion_at(
        self, previous: Vector, now: ClockReading, *, seeded: bool
    ) -> tuple[Vector, Vector]:
        """
        Return the rate and the acceleration with which the next command goes on; empty for none.

        What is seeded begins at rest; beside it, what was commanded goes on as it was going.
        """
        if not seeded:
            return self.rate, self.acceleration
        last, taken_over = self.in_force, self._taken_over(now)
        if last is None or not previous or all(taken_over):
            return (), ()
        continues = [
            not taken and was == begins
            for taken, was, begins in zip(taken_over, last, previous, strict=True)
        ]
        return _where(continues, self.rate), _where(continues, self.acceleration)

    def unheeded(
        self, limits: Limits, measurements: Sequence[Measurement], now: ClockReading
    ) -> Vector | None:
        """
        Return where a stop begins of which nothing is known but that speeds are still commanded.

        A driver that does not brake by itself, as it ought to, still follows them. None if none
        is commanded but the safe ones.
        """
        command = self.command
        if command is None or all(command[i] == limits.safe[i] for i in limits.speeds):
            return None
        known = self._known(limits, measurements, now)
        return beside(limits, command, known, (True,) * len(command), to_stop=True)

    def _known(
        self, limits: Limits, measurements: Sequence[Measurement], now: ClockReading
    ) -> Vector:
        """
        Return what is known of the robot since the last command; NaN for what is not.

        An angle that wraps goes by the number nearest to what is in force, within its bounds: a
        driver that reads less than it has turned must not be sent back by whole turns.
        """
        known = known_state(limits, measurements, self._since_sent(now))
        last = self.in_force or known
        return tuple(
            nearest_turn(value, was, *bounds) if i in limits.angles else value
            for i, (value, was, bounds) in enumerate(
                zip(known, last, limits.declared, strict=True)
            )
        )

    def _since_sent(self, now: ClockReading) -> float:
        """Return the seconds since when the robot may have moved: the last command."""
        if self.out is None or self.contract.is_lockstep:
            return math.inf
        return (now.steady - self.out) / NANOSECONDS

    def _taken_over(self, now: ClockReading) -> tuple[bool, ...]:
        """Return, by dimension, whether its driver has begun to brake by itself."""
        # In lockstep the world stands still, and no driver's time runs out.
        since = 0.0
        if self.emitted is not None and not self.contract.is_lockstep:
            since = (now.steady - self.emitted) / NANOSECONDS
        return tuple(
            index in self.braked
            or since > (math.inf if group.driver_timeout is None else group.driver_timeout)
            for index, group in enumerate(self.contract.action)
            for _ in group.low
        )

    def driver_took_over(self, now: ClockReading) -> bool:
        """
        Return whether a driver has begun to brake by itself since the last command.

        Its part of the robot then no longer does what was commanded last: to brake from there, or
        to go on from there, would set in motion what had come to rest.
        """
        return any(self._taken_over(now))

    def time_step(self, now: ClockReading) -> float:
        """
        Return the seconds since the last command went out, at most one period.

        More would let a pause save up speed; in lockstep a step is a period, however long it took.
        Less than none, from callers whose readings of the clock overtook each other, is none.
        """
        return min(max(self._since_sent(now), 0.0), self.contract.period)

    def due(self, now: ClockReading, period: float) -> bool:
        """
        Return whether a period has passed since the last command went out.

        The gate's timer runs on a grid of its own: that a command went out a moment after its
        decision must not cost a whole tick.
        """
        sooner_by = sooner(self.contract.safety)
        return self.out is None or (now.steady - self.out) / NANOSECONDS > period - sooner_by

    def recent_commands(self, now: ClockReading) -> tuple[SentCommand, ...]:
        """Return what may still be under way, as far as a rule asks for it."""
        return () if self.recent is None else self.recent.at(self._robot_time(now))

    def recalled(self, sent: Sequence[SentCommand], now: ClockReading) -> CommandHistory:
        """Return it with what is under way as a decision says of it."""
        if self.recent is None:
            return self
        return replace(self, recent=self.recent.recalled(sent, self._robot_time(now)))

    def _robot_time(self, now: ClockReading) -> int:
        """Return the time by which the robot acts, ns: in lockstep only the world's own."""
        return now.ros.nanoseconds if self.contract.is_lockstep else now.steady


def _where(chosen: Sequence[bool], values: Vector) -> Vector:
    """Return values that are 0 where they are not chosen; empty stays empty."""
    return tuple(value if is_ else 0.0 for is_, value in zip(chosen, values, strict=bool(values)))


def sooner(safety: Safety) -> float:
    """Return how much sooner than declared a command may be sent again, s: a quarter tick."""
    return safety.gate_period / 4.0


def _recent(contract: Contract) -> Recent | None:
    """Return the memory of what was sent, if a rule asks for it."""
    return Recent(history_span(contract)) if contract.safety.of(Workspace) else None
