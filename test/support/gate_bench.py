# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A gate with everything alive around it, and a witness that checks each of its decisions.

The witness shares no code with the gate, but for running the rules once more on what a decision
says of itself. It measures time with the test's own clock and keeps its own account of who holds
the lease, what was emitted last and whether the emergency stop is latched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
import math
from typing import Any

import pytest

from boundary_env_ros.core.contract.model import (
    ActionKind,
    ActionSpec,
    Contract,
    Interface,
    WaitStep,
)
from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.decision_chain import DecisionChain
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    ClearEmergencyStop,
    Deactivate,
    EmergencyStop,
    EpisodeStatusReceived,
    ForeignCommand,
    Measured,
    Request,
    Tick,
    Tighten,
)
from boundary_env_ros.core.gate.rules import causes
from boundary_env_ros.core.gate.rules.causes import cause_of
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuntimeLimits,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected
from support.core_world import (
    AGENT,
    DIGEST,
    EPISODE,
    only,
    request_for,
    shipped,
    stamped,
    status,
    Timepiece,
)

#: Why any rule may step in.
CAUSES = frozenset(causes.CAUSES)
#: Rounding of one addition in double precision at the size of a command.
ROUNDING = 1e-9

FREE = (8.0, 8.0, 1.0, 1.0)
TOPICS = {'obstacle.scan': '/scan', 'feedback.base': '/odom'}


def same(one: Vector, other: Vector) -> bool:
    """Return whether two vectors are the same, where NaN is NaN."""
    return len(one) == len(other) and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True)
    )


def meaning(groups: Iterable[ActionSpec], action: Vector, before: Vector | None) -> Vector | None:
    """Return the command that an action asks for, bounds apart; None if it means none."""
    command: list[float] = []
    for group in groups:
        values, action = action[: group.action_size], action[group.action_size :]
        here = slice(len(command), len(command) + group.size)
        if group.kind is ActionKind.CONTINUOUS:
            command += values
            for i in group.wrap if before else ():
                assert before is not None
                low, high, was = group.low[i], group.high[i], before[i + here.start]
                turns = [values[i] + turn * math.tau for turn in range(-9, 10)]
                inside = [v for v in turns if low <= values[i] <= high and low <= v <= high]
                near = min(inside, key=lambda v: abs(v - was), default=values[i])
                command[here.start + i] = near
        elif group.kind is ActionKind.DELTA:
            if before is None:
                return None
            command += [was + value for was, value in zip(before[here], values, strict=True)]
        else:
            one = group.kind is ActionKind.DISCRETE
            options = [[c for _, c in group.choices]] if one else group.levels
            if any(v not in range(len(o)) for v, o in zip(values, options, strict=True)):
                return None
            picked = [o[int(v)] for v, o in zip(values, options, strict=True)]
            command += picked[0] if one else picked
    return tuple(command)


class Witness:
    """What must hold of every decision, kept apart from what the gate believes."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.judge = Judge(contract, digest=DIGEST)
        self.limits = self.judge.limits
        self.low, self.high = contract.flat('low'), contract.flat('high')
        self.tight = self.low, self.high
        self.rate, self.stop = contract.flat('rate'), contract.flat('stop')
        self.safe = contract.flat('safe')
        self.sequence = 0
        self.last: Vector | None = None
        self.in_force: Vector | None = None
        self.emitted: int | None = None
        self.out: int | None = None
        self.measured: Vector | None = None
        self.measured_at = 0
        self.measured_stamp: int | None = None
        self.latched = False
        self.running = False
        self.braking = False
        self.decisions: list[GateDecision] = []
        self.acted: int | None = None
        self.teleoperated = False
        self.max_tracking_error = tuple(
            most
            for group in contract.action
            for most in group.max_tracking_error or (math.inf,) * group.size
        )
        self.told = tuple(
            getattr(group.source, 'duration', math.inf)
            for group in contract.action
            for _ in group.low
        )
        self.goal: Vector | None = None
        self.stopped = self.running_on = False
        self.probing = False
        #: Whether the driver of a probe has braked by itself since the last command.
        self.braked = False

    # What the test knows -------------------------------------------------------------------------

    def armed(self) -> None:
        """Take note that a lease ended; its last command stays in force, or a reset ends it."""
        moving = self.last is not None and not self.rests(self.last)
        if moving and self.contract.pacing is Pacing.REALTIME:
            self.braking = True  # under the lease before; in lockstep the world stands still
        else:
            self.forget()

    def rests(self, command: Vector) -> bool:
        """Return whether a command is the safe one; to stay is safe wherever that is."""
        return not self.running_on and all(
            value == safe or math.isnan(safe)
            for value, safe in zip(command, self.safe, strict=True)
        )

    def forget(self) -> None:
        """Take note that nobody of an earlier lease asks for anything any more."""
        self.last = None
        self.braking = self.stopped = False
        if any(not isinstance(s, WaitStep) for s in self.contract.episode.reset.steps):
            self.drop()  # the robot may stand elsewhere by now

    def drop(self) -> None:
        """Take note that nothing is in force any more."""
        self.last = self.in_force = self.emitted = None

    def feedback(self, values: Vector, now: ClockReading, captured: int | None) -> None:
        """Take note of what the robot says of its motion."""
        self.measured, self.measured_at, self.measured_stamp = values, now.steady, captured

    # What it asks of every decision --------------------------------------------------------------

    def see(
        self, decisions: Iterable[GateDecision], now: ClockReading
    ) -> tuple[GateDecision, ...]:
        """Check decisions, and return them."""
        seen = tuple(decisions)
        for decision in seen:
            self.check(decision, now)
        return seen

    def check(self, decision: GateDecision, now: ClockReading) -> None:
        """Check one decision, taken now."""
        self.decisions.append(decision)
        if decision.trigger is Trigger.CHUNK and decision.verdict is not Verdict.REJECTED:
            self.acted = now.steady
        self.sequence += 1
        assert decision.sequence == self.sequence, 'a decision is missing or told twice'
        self._check_shape(decision)
        if decision.command:
            self._check_permission(decision)
            self._check_motion(decision, now)
            self._check_stays_stopped(decision)
            self.last = self.in_force = decision.command
            self.emitted = self.out = now.steady
            if self.braking and self.rests(decision.command):
                self.forget()
        elif decision.verdict is Verdict.STOPPED:
            self._check_nowhere(decision, now)
        self._check_explained(decision)
        self._check_recomputed(decision)

    def _check_shape(self, decision: GateDecision) -> None:
        command = decision.command
        if decision.verdict is Verdict.REJECTED:
            assert command == ()
            assert decision.admitted_action == ()
            return
        if decision.verdict is Verdict.STOPPED and not command:
            return
        assert len(command) == len(self.low)
        before = decision.inputs.previous_command or command
        for i, (value, low, high) in enumerate(zip(command, self.low, self.high, strict=True)):
            assert math.isfinite(value), f'{value} was published'
            if math.isnan(self.safe[i]):
                # A place that is outside already may stay there, or come back.
                low, high = min(low, before[i]), max(high, before[i])
            assert low <= value <= high, f'{value} is outside of [{low}, {high}]'
        for i in self.limits.plain:  # what follows a profile may have to brake outside of them
            low, high = (bounds[i] for bounds in self.tight)
            low, high = min(low, before[i]), max(high, before[i])
            assert low <= command[i] <= high, f'{command[i]} goes out of [{low}, {high}]'

    def _check_stays_stopped(self, decision: GateDecision) -> None:
        """Check that what was stopped moves again only when somebody asks for it."""
        if decision.trigger is Trigger.TIMER and self.contract.pacing is Pacing.REALTIME:
            assert decision.verdict is Verdict.STOPPED or not self.stopped, 'crept on after a stop'
        self.stopped = decision.verdict is Verdict.STOPPED

    def _check_permission(self, decision: GateDecision) -> None:
        if decision.trigger in (Trigger.REQUEST, Trigger.CHUNK):
            assert not self.teleoperated or decision.verdict is Verdict.STOPPED, (
                'the policy moved what an operator had taken over'
            )
        if decision.trigger is Trigger.OPERATOR:
            assert self.teleoperated, 'moved by a hand that was not there'
        if decision.trigger is Trigger.PROBE:
            assert self.probing, 'probed without being told to'
            return
        if decision.verdict is not Verdict.STOPPED:
            assert not self.latched, 'moved under a latched emergency stop'
            assert self.running, 'moved without a lease of a running episode'

    def _check_nowhere(self, decision: GateDecision, now: ClockReading) -> None:
        """Check that a stop without a command is one to stay, where nobody knows the place."""
        if Reason.DEACTIVATED in reasons(decision) and not self.running:
            before = self.in_force if self.last is None else self.before(now)
            if before is not None and self.rests(before):
                assert decision.inputs.previous_command == before
                return  # there is nothing to brake
        assert any(map(math.isnan, self.safe)), 'stopped without a command'
        assert self.before(now) is None
        assert not self._speeds_on() or all(
            result.rule.startswith('sensors.feedback.') for result in decision.rules
        ), 'a speed that is still commanded was not taken back'
        assert decision.inputs.previous_command == ()
        assert decision.admitted_action == ()
        if self.braking:
            self.forget()

    def _brakes_late(self, decision: GateDecision) -> bool:
        """Return whether the contract wants a late action answered with the stop profile."""
        return self.contract.safety.on_timeout is OnTimeout.SAFE and any(
            result.reason is Reason.COMMAND_LATE for result in decision.rules
        )

    def before(self, now: ClockReading, *, to_stop: bool = True) -> Vector | None:
        """Return what the next command is compared with; None if that is unknown."""
        last, left = self.in_force, self._left_alone(now)
        if last is not None and not any(left):
            return last
        if last is None or all(left):
            known = self._known_motion(now, since=self.out)
            if known is None or last is None:
                return known
            return tuple(self._wound(i, is_, last[i]) for i, is_ in enumerate(known))
        there = [
            is_ if is_ is None else self._wound(i, is_, last[i])
            for i, is_ in enumerate(self._known_groups(now))
        ]
        return tuple(
            was
            if not gone or (is_ is None and math.isnan(safe))
            else safe
            if is_ is None or (to_stop and not math.isnan(safe))
            else is_
            for was, gone, is_, safe in zip(last, left, there, self.safe, strict=True)
        )

    def _wound(self, i: int, value: float, last: float) -> float:
        """Return the number of an angle that wraps which is nearest to the last, within bounds."""
        wrap = [j in group.wrap for group in self.contract.action for j in range(group.size)]
        if not wrap[i] or not self.low[i] <= value <= self.high[i]:
            return value
        turns = (value + k * math.tau for k in range(-9, 10))
        return min(
            (v for v in turns if self.low[i] <= v <= self.high[i]), key=lambda v: abs(v - last)
        )

    def _known_groups(self, now: ClockReading) -> list[float | None]:
        """Return what each group said of itself since the last command; None if nothing."""
        said = self.measured
        found: list[float | None] = []
        for group in self.contract.action:
            here = slice(len(found), len(found) + group.size)
            if said is not None:
                only = [v if here.start <= i < here.stop else 0.0 for i, v in enumerate(said)]
                self.measured = tuple(only)
            one = self._known_motion(now, since=self.out)
            self.measured = said
            found += [None] * group.size if one is None else one[here]
        return found

    def _speeds_on(self) -> bool:
        """Return whether a speed was commanded last, beside a place, that is not the safe one."""
        return (
            self.probing
            and any(map(math.isnan, self.safe))
            and any(
                self._is_speed(i) and was != self.safe[i] for i, was in enumerate(self.last or ())
            )
        )

    def _check_motion(self, decision: GateDecision, now: ClockReading) -> None:
        period = self.contract.period
        stopped = decision.verdict is Verdict.STOPPED
        left = self._left_alone(now)
        anew = self.in_force is None or all(left)
        to_stop = decision.trigger is Trigger.TIMER or (stopped and not decision.inputs.seeded)
        before = self.before(now, to_stop=to_stop)
        seeded = before is not None and (anew or (any(left) and not to_stop))
        if not seeded and not stopped and self._parted(decision, now):
            before = self._kept(now)
            seeded = before != self.last
        if before is None and stopped and self._speeds_on():
            assert self.last is not None  # the speeds are taken back; a place is not known
            before = tuple(
                was if math.isnan(safe) else safe
                for was, safe in zip(self.last, self.safe, strict=True)
            )
        assert decision.inputs.previous_command == pytest.approx(before or (), rel=0, abs=1e-12), (
            'not seeded as declared'
        )
        assert decision.inputs.seeded is seeded
        if before is None:
            assert stopped, 'moved from an unknown state'
            # To stay is no command while nobody knows where.
            assert decision.command == self.safe
            return
        seconds = period
        if self.out is not None and self.contract.pacing is Pacing.REALTIME:
            seconds = min(period, (now.steady - self.out) / NANOSECONDS)
        assert decision.inputs.time_step is not None
        assert abs(decision.inputs.time_step - seconds) <= ROUNDING
        braked = stopped or self._brakes_late(decision)
        most = self.stop if braked else self.rate
        running_on = False
        for i, (value, was) in enumerate(zip(decision.command, before, strict=True)):
            if stopped and seeded and self._is_speed(i):
                assert value == self.safe[i], 'a stop began a motion'
                continue
            told = min(seconds, self.told[i])
            assert abs(value - was) <= most[i] * told + ROUNDING * max(1.0, abs(was)), (
                f'dimension {i} went from {was} to {value} in {seconds} s'
            )
            slowing = self.limits.deceleration[i]
            if braked and slowing < math.inf:
                speed = (decision.inputs.previous_rate or (0.0,) * len(before))[i]
                self._check_runs_on(value - was, speed, slowing, seconds)
                running_on |= abs(speed) > slowing * seconds + ROUNDING
            elif braked:
                safe = was if math.isnan(self.safe[i]) else self.safe[i]
                assert abs(value - safe) <= abs(was - safe)
                rounding = ROUNDING * max(1.0, abs(was))
                assert value == safe or abs(value - was) >= most[i] * told - rounding

        self.running_on = running_on

    def _check_runs_on(self, way: float, speed: float, slowing: float, seconds: float) -> None:
        """Check that a position runs on in a stop by no more than v^2 / 2a, and never back."""
        assert way * speed >= 0.0, 'turned back in a stop'
        assert abs(way) <= abs(speed) * seconds + ROUNDING, 'grew faster in a stop'
        assert abs(way) <= 0.5 * speed**2 / slowing + ROUNDING, 'ran on for too long'

    def _parted(self, decision: GateDecision, now: ClockReading) -> bool:
        """Return whether who asks for something begins from the measured state."""
        measured, last = self._known_motion(now), self.in_force
        if decision.trigger is Trigger.TIMER or measured is None or last is None:
            return False
        return self.contract.pacing is Pacing.REALTIME and any(self._departed(measured, last))

    def _departed(self, measured: Vector, last: Vector) -> list[bool]:
        """Return, by dimension, whether its group does another thing than it was told."""
        apart = [
            abs(was - is_) > most
            for was, is_, most in zip(
                last, self._turned(measured), self.max_tracking_error, strict=True
            )
        ]
        names = [group.name for group in self.contract.action for _ in group.low]
        gone = {name for name, one in zip(names, apart, strict=True) if one}
        return [name in gone for name in names]

    def _is_speed(self, i: int) -> bool:
        kinds = [one for group in self.contract.action for one in group.interface]
        return kinds[i] is not Interface.POSITION

    def _kept(self, now: ClockReading) -> Vector | None:
        """Return what departed groups do, of speeds as much as told to; the others go on."""
        measured, last = self._known_motion(now), self.in_force
        assert measured is not None
        assert last is not None
        return tuple(
            sorted((self.safe[i], value, last[i]))[1]
            if gone and self._is_speed(i)
            else value
            if gone
            else last[i]
            for i, (value, gone) in enumerate(
                zip(self._turned(measured), self._departed(measured, last), strict=True)
            )
        )

    def _turned(self, measured: Vector) -> Vector:
        """Return what was measured, an angle by the number that is nearest to the last command."""
        wrap = [i in group.wrap for group in self.contract.action for i in range(group.size)]
        return tuple(
            value + math.tau * round((was - value) / math.tau) if wraps else value
            for value, was, wraps in zip(measured, self.in_force or measured, wrap, strict=True)
        )

    def _left_alone(self, now: ClockReading) -> list[bool]:
        """Return, by dimension, whether its driver has stopped since the last command."""
        realtime = self.contract.pacing is Pacing.REALTIME and self.emitted is not None
        since = now.steady - (self.emitted or 0) if realtime else 0
        return [
            self.braked
            or (group.driver_timeout is not None and since > group.driver_timeout * NANOSECONDS)
            for group in self.contract.action
            for _ in group.low
        ]

    def _known_motion(self, now: ClockReading, since: int | None = None) -> Vector | None:
        """
        Return what the robot said of itself, if lately; of motion no more than its bounds.

        Not if it is from before a steady time since when it may have moved.
        """
        if self.measured is None or not all(map(math.isfinite, self.measured)):
            return None
        ages = [(now.steady - self.measured_at) / NANOSECONDS]
        if self.measured_stamp is not None:
            of_stamp = (now.ros.nanoseconds - self.measured_stamp) / NANOSECONDS
            ages = (
                [of_stamp] if self.contract.pacing is Pacing.LOCKSTEP else [*ages, abs(of_stamp)]
            )
        if max(ages) > self.contract.safety.sensor_timeout:
            return None
        realtime = self.contract.pacing is Pacing.REALTIME
        if since is not None and realtime and max(ages) > (now.steady - since) / NANOSECONDS:
            return None
        return tuple(
            value if math.isnan(safe) else min(max(value, low), high)
            for value, safe, low, high in zip(self.measured, self.safe, *self.tight, strict=True)
        )

    def _check_explained(self, decision: GateDecision) -> None:
        assert {cause_of(result) for result in decision.rules} <= CAUSES, 'no cause of any rule'
        command = decision.command
        # Who asks is no change of what was asked for.
        rules = tuple(r for r in decision.rules if r.outcome is not Verdict.ADMITTED)
        assert (decision.verdict is Verdict.ADMITTED) is (not rules), 'a change without a reason'
        strictest = max((r.outcome for r in rules), default=Verdict.ADMITTED)
        assert decision.verdict is strictest
        before = decision.inputs.previous_command or None
        wanted = decision.requested_action
        asked = None if decision.request is None else self._meaning(wanted, before)
        if decision.trigger in (Trigger.OPERATOR, Trigger.PROBE):
            asked = decision.requested_command
            own = (
                Reason.OPERATOR
                if decision.trigger is Trigger.OPERATOR
                else Reason.DRIVER_TIMEOUT_PROBE
            )
            if command and decision.verdict is not Verdict.STOPPED:
                assert own in reasons(decision), 'moved by somebody who is not named'
        if decision.verdict is Verdict.ADMITTED:
            assert command == asked
            assert decision.trigger is not Trigger.REQUEST or decision.admitted_action == wanted
        if command and command == asked:
            assert decision.verdict in (Verdict.ADMITTED, Verdict.STOPPED, Verdict.LIMITED)
        if decision.verdict is Verdict.LIMITED:
            assert asked is not None
            left = list(asked)
            for result in rules:
                assert result.before == left[result.dimension]
                assert result.after is not None
                assert result.after != result.before, 'a reason without a change'
                left[result.dimension] = result.after
            assert tuple(left) == command, 'a change without a reason'
        if decision.verdict in (Verdict.LIMITED, Verdict.HELD):
            self._check_admitted(decision)
        if decision.verdict in (Verdict.STOPPED, Verdict.REJECTED):
            assert all(r.outcome is decision.verdict for r in rules)
            assert decision.admitted_action == ()

    def _meaning(self, action: Vector, before: Vector | None) -> Vector | None:
        if len(action) != self.contract.action_size:
            return None
        return meaning(self.contract.action, action, before)

    def _check_admitted(self, decision: GateDecision) -> None:
        """Check that what was admitted means what was published, or that no action does."""
        groups, admitted = self.contract.action, decision.admitted_action
        assert len(admitted) == self.contract.action_size
        before = decision.inputs.previous_command or None
        start = 0
        for group in groups:
            part, admitted = admitted[: group.action_size], admitted[group.action_size :]
            here = slice(start, start + group.size)
            start += group.size
            if any(map(math.isnan, part)):
                assert group.kind in (ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE)
                continue
            there = meaning((group,), part, None if before is None else before[here])
            assert there is not None
            for value, published in zip(there, decision.command[here], strict=True):
                assert abs(value - published) <= ROUNDING * max(1.0, abs(published))

    def _check_recomputed(self, decision: GateDecision) -> None:
        """Judge once more, on nothing but what the decision carries."""
        again = self.judge.again(decision, self.judge.output(decision))
        assert repr(again) == repr(decision)


class Bench:
    """
    A gate on a bench.

    Everything around it is alive and well until a test says otherwise: `alive` holds the names of
    what gives heartbeats, `scan` and `motion` what the sensors say, `lag` how old it is then;
    `messages` are those of the sensors of further rules, by input.
    """

    def __init__(self, contract: Contract | None = None) -> None:
        self.contract = contract or shipped()
        self.time = Timepiece()
        inputs = gate_inputs(self.contract)
        self.gate = Gate(
            self.contract, digest=DIGEST, agent=AGENT, software_version='test',
            topics={item.name: f'/{item.topic}' for item in inputs},
        )  # fmt: skip
        self.witness = Witness(self.contract)
        self.held_by = tuple(i.name for i in inputs if i.name.startswith('alive.'))
        scan = ('scan',) if self.contract.safety.of(Obstacle) else ()
        button = () if self.contract.heartbeat is None else ('emergency_stop',)
        self.sensors = (*scan, 'odometry', *self.held_by, *button)
        self.alive = {'environment', *self.sensors}
        self.scan: Vector = FREE
        self.messages: dict[str, Mapping[str, object]] = {}
        self.motion: Vector = (0.0,) * self.contract.command_size
        self.lag = 0.01
        self.state = EpisodeState.IDLE
        self.episode = EPISODE
        self.lease_of = ''
        self.leases = 0
        self.sequence = 0
        self.hand: Vector | None = None
        self.hand_heard: tuple[int, int] | None = None

    # What happens around the gate ----------------------------------------------------------------

    def say(self, state: EpisodeState, episode: str | None = None) -> None:
        """Let the environment say where its episode stands."""
        self.state = state
        if episode is not None:
            self.episode = episode
        name = '' if state is EpisodeState.IDLE else self.episode
        self._account()
        self._see(
            self.gate.apply(
                EpisodeStatusReceived(
                    status=status(state, self.time.now, episode=name), now=self.time.now
                )
            )
        )

    def _account(self) -> None:
        self.witness.running = (
            self.state is EpisodeState.RUNNING and self.lease_of == self.episode != ''
        )

    def arm(self, client: str = 'policy', **changes: str) -> None:
        """Let a client arm the gate for the episode, once what is alive was heard."""
        if self.contract.pacing is Pacing.REALTIME:
            self.sense()
        self.leases += 1
        asked = {'digest': DIGEST, 'agent': AGENT, 'episode_id': self.episode, **changes}
        wanted = f'lease-{self.leases}'
        self.gate.apply(Arm(client=client, lease_id=wanted, now=self.time.now, **asked))
        lease = self.gate.state.lease_state.lease
        assert lease is not None
        if lease.lease_id == wanted:
            self.lease_of, self.sequence = lease.episode_id, 0
            self.witness.armed()
        else:
            self.leases -= 1
        self._account()

    @property
    def lease(self) -> str:
        """Identity of the last lease."""
        return f'lease-{self.leases}'

    def measure(self, name: str) -> tuple[GateDecision, ...]:
        """Let one sensor speak."""
        captured, now = self.time.stamp(ago=self.lag), self.time.now
        if name == 'scan':
            return self._see(
                self.gate.apply(
                    Measured(name='obstacle.scan', values=self.scan, captured=captured, now=now)
                )
            )
        if name == 'emergency_stop':
            return self._see(
                self.gate.apply(Measured(name=name, values=(0.0,), captured=None, now=now))
            )
        if name in self.held_by:
            return self._see(
                self.gate.apply(Measured(name=name, values=(1.0,), captured=captured, now=now))
            )
        self.witness.feedback(self.motion, now, captured.nanoseconds)
        seen: tuple[GateDecision, ...] = ()
        start = 0
        for group in self.contract.action:
            values = self.motion[start : start + group.size]
            start += group.size
            seen += self.gate.apply(
                Measured(name=f'feedback.{group.name}', values=values, captured=captured, now=now)
            )
        return self._see(seen)

    def pulse(self) -> None:
        """Let everything that is alive give a heartbeat."""
        if 'environment' in self.alive and self.state is not EpisodeState.IDLE:
            self.say(self.state)
        self.sense()
        if self.hand is not None:
            self.operate(*self.hand)

    def sense(self) -> None:
        """Let every sensor that is alive speak."""
        for name in self.sensors:
            if name in self.alive:
                self.measure(name)
        for item in gate_inputs(self.contract) if self.messages else ():
            if item.name in self.messages:
                ros = self.time.stamp(ago=self.lag)
                reading = item.read(stamped(ros.nanoseconds / 1e9, **self.messages[item.name]))
                self._see(
                    self.gate.apply(
                        Measured(
                            name=item.name, values=reading.values, captured=ros, now=self.time.now
                        )
                    )
                )

    def operate(
        self, *command: float, switch: float = 1.0, ago: float = 0.01
    ) -> tuple[GateDecision, ...]:
        """Let the operator's device speak."""
        captured, now = self.time.stamp(ago=ago), self.time.now
        self.hand_heard = (captured.nanoseconds, now.steady) if switch >= 0.5 else None
        return self._see(
            self.gate.apply(
                Measured(name='operator', values=(*command, switch), captured=captured, now=now)
            )
        )

    def hand_is_there(self) -> bool:
        """Return whether the operator's device said lately enough that its switch is held."""
        if self.hand_heard is None:
            return False
        (stamped, heard), now = self.hand_heard, self.time.now
        age = max(abs(now.ros.nanoseconds - stamped), now.steady - heard)
        return age <= self.contract.safety.operator.timeout * NANOSECONDS

    def start(self) -> Bench:
        """Bring an episode to run, with the gate armed for it."""
        self.say(EpisodeState.RESETTING)
        self.pulse()
        self.arm()
        self.say(EpisodeState.RUNNING)
        self.pulse()
        return self

    def start_without(self, *silent: str) -> Bench:
        """Bring an episode to run, while sensors fall silent that were heard for the arming."""
        self.say(EpisodeState.RESETTING)
        self.arm()
        self.alive -= set(silent)
        limits = self.witness.limits
        self.time.wait(max(need.most for need in limits.needs.values()))
        self.say(EpisodeState.RUNNING)
        self.pulse()
        return self

    def finish(self, state: EpisodeState = EpisodeState.TRUNCATED) -> tuple[GateDecision, ...]:
        """End the episode, and let the gate wind down."""
        self.say(state)
        seen = self.wait(2.0)
        self.lease_of = ''
        self.witness.forget()
        self._account()
        return seen

    def tighten(self, low: Vector, high: Vector) -> None:
        """Make the bounds stricter than the contract's."""
        self.gate.apply(
            Tighten(runtime_limits=RuntimeLimits(low=low, high=high), now=self.time.now)
        )
        self.witness.tight = low, high

    def press(self) -> tuple[GateDecision, ...]:
        """Press the emergency stop."""
        self.witness.latched = True
        return self._see(self.gate.apply(EmergencyStop(pressed=True, now=self.time.now)))

    def release(self) -> None:
        """Release the button; the stop stays latched."""
        self._see(self.gate.apply(EmergencyStop(pressed=False, now=self.time.now)))

    def clear(self) -> None:
        """Unlatch the emergency stop; a new arming is needed from then on."""
        self.gate.apply(ClearEmergencyStop(now=self.time.now))
        self.witness.latched = False
        self.witness.armed()
        self.lease_of = ''
        self._account()

    # What the gate does --------------------------------------------------------------------------

    def ask(self, *action: float, **changes: Any) -> GateDecision:
        """Send an action; `age`, `sequence`, `lease`, `episode`, `digest` ... may be wrong."""
        return only(self.send(action, **changes))

    def send(self, action: Vector, **changes: Any) -> tuple[GateDecision, ...]:
        """Send an action, and return whatever is decided at once."""
        if 'sequence' not in changes:
            self.sequence += 1
        age = changes.pop('age', 0.02)
        now = self.time.now
        observed: ClockReading | None = changes.pop('observed', None)
        if observed is None and age is not None:
            observed = ClockReading(
                ros=self.time.stamp(ago=age), steady=now.steady - round(age * NANOSECONDS)
            )
        asked: dict[str, Any] = {
            'sequence': self.sequence, 'lease': self.lease, 'episode': self.episode, **changes
        }  # fmt: skip
        request = request_for(tuple(action), observed=observed, now=now, **asked)
        return self._see(self.gate.apply(Request(request=request, now=now)))

    def tick(self) -> tuple[GateDecision, ...]:
        """Let the gate's own timer run once."""
        return self._see(self.gate.apply(Tick(now=self.time.now)))

    def foreign_command(self) -> tuple[GateDecision, ...]:
        """Let the gate hear a command of another on its topic."""
        return self._see(self.gate.apply(ForeignCommand(now=self.time.now)))

    def deactivate(self) -> tuple[GateDecision, ...]:
        """Let the gate brake to the end before it falls silent."""
        seen: list[GateDecision] = []
        while decisions := self._see(self.gate.apply(Deactivate(now=self.time.now))):
            seen += decisions
            self.time.wait(self.contract.safety.gate_period)
        self.witness.forget()
        self.witness.drop()
        self.lease_of = ''
        self._account()
        return tuple(seen)

    def wait(self, seconds: float, *, policy: Vector | None = None) -> tuple[GateDecision, ...]:
        """Let time pass in steps of the gate's period; a policy asks once a contract period."""
        seen: list[GateDecision] = []
        steps = round(seconds / self.contract.safety.gate_period)
        each = round(self.contract.period / self.contract.safety.gate_period)
        for i in range(steps):
            self.time.wait(self.contract.safety.gate_period)
            self.pulse()
            if policy is not None and i % each == each - 1:
                seen += self.send(policy)
            seen += self.tick()
        return tuple(seen)

    def run_again(self) -> None:
        """Check that the inputs of each decision follow from the decisions before it."""
        judge = self.witness.judge
        chain = DecisionChain(self.contract, judge)
        for then in self.witness.decisions:
            sent = replace(then, commanded=then.decided) if then.published else then
            assert chain.add(sent, judge.output(sent)) == sent

    def _see(self, decisions: tuple[GateDecision, ...]) -> tuple[GateDecision, ...]:
        self.witness.teleoperated = self.hand_is_there()
        return self.witness.see(decisions, self.time.now)

    @property
    def command(self) -> Vector | None:
        """The last command that was published."""
        return self.witness.last

    def refused(self, **changes: str) -> str:
        """Return why an arming is refused."""
        try:
            self.arm(**changes)
        except RequestRejected as error:
            self.leases -= 1
            return str(error)
        raise AssertionError('the arming was granted')


def reasons(decision: GateDecision) -> set[Reason]:
    """Return the reasons of a decision."""
    return {result.reason for result in decision.rules}


def quicker(contract: Contract, **safety: float) -> Contract:
    """Return a contract with other times in its safety section."""
    return replace(contract, safety=replace(contract.safety, **safety))
