# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a campaign holds each decision of a gate against: an account of its own, from the same events.

Nothing here calls a rule of the gate. Whether a request may be heard, why the robot must stop and
what the next command is compared with is worked out from what happened; what was emitted is judged
as one sequence at the end, by finite differences against the time at which it was emitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
import math

from boundary_env_ros.core.contract.model import (
    ActionKind,
    Contract,
    Interface,
    OutOfBounds,
    WaitStep,
)
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from support.campaign_sequence import Sent, Violation
from support.core_world import AGENT, DIGEST
from support.gate_bench import meaning

#: Speed that is none: what rounding leaves of a stop.
AT_REST = 1e-6

#: Reasons to reject a request that waits in lockstep, which others than its sender bring about.
OVERTAKEN = frozenset({Reason.OUT_OF_ORDER, Reason.OBSERVATION_TIMEOUT, Reason.NOT_ARMED})


class Oracle:
    """
    An account of who may be heard, of what must stop the robot and of what was emitted.

    The campaign tells it of every event just before the gate hears of it, and of every decision.
    Times are steady nanoseconds, stamps nanoseconds of ROS time.

    Attributes
    ----------
    tally
        How often each verdict and reason was seen.

    """

    def __init__(self, contract: Contract) -> None:
        safety = contract.safety
        self.contract = contract
        self.lockstep = contract.pacing is Pacing.LOCKSTEP
        self.low, self.high = contract.flat('low'), contract.flat('high')
        self.safe = contract.flat('safe')
        self.stays = any(map(math.isnan, self.safe))
        self.obstacles = safety.of(Obstacle)
        self.distances = frozenset(rule.input for rule in safety.of(Obstacle))
        self.plain = all(group.kind is ActionKind.CONTINUOUS for group in contract.action)
        self.refuses = any(
            group.out_of_bounds is OutOfBounds.REJECT
            or group.kind in (ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE)
            for group in contract.action
        )
        self.alive = {
            f'alive.{field.name}': _ns(field.max_age)
            for field in (*contract.observation, *contract.state)
            if field.max_age is not None
        }
        self.inputs = tuple(
            item.name for item in gate_inputs(contract) if not item.name.startswith('feedback')
        )
        self.period = _ns(contract.period)
        self.again = None if safety.republish_period is None else _ns(safety.republish_period)
        self.sensor_timeout = _ns(safety.sensor_timeout)
        self.lateness, self.jump = _ns(safety.gate_lateness), _ns(safety.clock_jump)
        self.max_tracking_error = tuple(
            most
            for group in contract.action
            for most in group.max_tracking_error or (math.inf,) * group.size
        )
        self.group = tuple(group.name for group in contract.action for _ in group.low)
        # Those slow down as fast as their limits allow, which are judged at the end.
        self.profiled = any(group.acceleration or group.jerk for group in contract.action)
        self.speeds = tuple(
            one in (Interface.VELOCITY, Interface.EFFORT)
            for group in contract.action
            for one in group.interface
        )
        self.departs = any(map(math.isfinite, self.max_tracking_error)) and not self.lockstep
        self.environment_timeout = _ns(safety.environment_timeout)
        self.hold_timeout = _ns(safety.hold_timeout)
        self.silent = _ns(contract.lockstep_deadline if self.lockstep else safety.command_timeout)
        self.oldest = _ns(safety.max_action_age)
        self.driver_timeout = tuple(
            math.inf if self.lockstep else _ns(group.driver_timeout)
            for group in contract.action
            for _ in group.low
        )
        self.resets = any(not isinstance(s, WaitStep) for s in contract.episode.reset.steps)

        self.tally: Counter[object] = Counter()
        self.sequence = 0
        self.lease, self.lease_episode = '', ''
        self.last_sequence = 0
        self.episode, self.runs, self.over = '', False, True
        self.braking = False
        self.latched = self.deactivating = False
        self.status_received: int | None = None
        self.heard_request: int | None = None
        self.inputs_seen: dict[str, tuple[Vector, int, int]] = {}
        self.motion: tuple[Vector, int, int] | None = None
        self.last: Vector | None = None
        self.in_drivers: Vector | None = None
        self.emitted: int | None = None
        self.out: int | None = None
        self.goal: Vector | None = None
        self.stopped = False
        self.ticked_at: ClockReading | None = None
        self.chunk: tuple[ActionRequest, int, float] | None = None
        self.waiting: dict[int, ActionRequest] = {}
        self.sent = Sent(contract)

    # What happened -------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether requests of the holder may be heard."""
        return (
            self.runs
            and self.lease != ''
            and self.lease_episode == self.episode
            and not self.braking
        )

    @property
    def moving(self) -> bool:
        """Return whether the last command was another than the safe one."""
        return self.last is not None and not self.rests(self.last)

    def rests(self, command: Vector) -> bool:
        """Return whether a command is the safe one; to stay is safe wherever that is."""
        return all(v == s or s != s for v, s in zip(command, self.safe, strict=True))

    def status(self, episode: str, *, runs: bool, over: bool, now: int) -> None:
        """Take note of what the environment says."""
        was = self.running
        self.status_received = now
        self.episode, self.runs, self.over = episode, runs, over
        if self.running and not was:
            self.heard_request = now

    def armed(self, lease: str, episode: str, now: int) -> None:
        """Take note of a new lease."""
        self.ended()
        self.lease, self.lease_episode, self.last_sequence = lease, episode, 0
        self.heard_request = now
        self.waiting.clear()

    def ended(self) -> None:
        """Take note that a lease ended: what moves under it brakes first, or stands still."""
        if self.moving and not self.lockstep:
            self.braking = True
        else:
            self.forget()
        self.lease, self.chunk = '', None

    def deactivated(self) -> None:
        """Check that the gate has braked before it fell silent; its lease has ended with that."""
        self._require(not self.moving, 'is the last before the gate falls silent, and moves')
        self.forget()
        self.in_drivers = self.emitted = None
        self.lease, self.chunk, self.ticked_at = '', None, None
        self.deactivating = False
        self.waiting.clear()

    def forget(self) -> None:
        """Take note that nobody asks for anything any more; a reset may move the robot then."""
        self.last = self.goal = None
        self.braking = self.stopped = False
        if self.resets:
            self.in_drivers = self.emitted = None

    # Whether a request may be heard --------------------------------------------------------------

    def refusals(self, request: ActionRequest, received: ClockReading) -> set[Reason]:
        """Return every reason to refuse a request; the gate may give any of them."""
        found = set()
        size, horizon = self.contract.action_size, request.horizon
        if not 1 <= horizon <= self.contract.horizon or len(request.action) != size * horizon:
            found.add(Reason.WRONG_SHAPE)
        elif not all(map(math.isfinite, request.action)):
            found.add(Reason.NOT_FINITE)
        if request.id.digest != DIGEST:
            found.add(Reason.WRONG_DIGEST)
        if request.id.agent != AGENT:
            found.add(Reason.WRONG_AGENT)
        if not self.running:
            found.add(Reason.NOT_ARMED)
        if request.id.episode_id != self.lease_episode:
            found.add(Reason.WRONG_EPISODE)
        if request.lease_id != self.lease:
            found.add(Reason.WRONG_LEASE)
        if not 1 <= request.sequence - self.last_sequence <= 1000:
            found.add(Reason.OUT_OF_ORDER)
        observed = request.observed
        if observed is None:
            found.add(Reason.ACTION_TOO_OLD)
        else:
            if self.lockstep:
                age = received.ros.nanoseconds - observed.ros.nanoseconds
            else:
                age = received.steady - observed.steady
            if abs(age) > self.oldest:
                found.add(Reason.ACTION_TOO_OLD)
        return found

    # Why the robot must stop ---------------------------------------------------------------------

    def stops(
        self, trigger: Trigger, now: ClockReading, before: Vector | None, wanted: Vector | None
    ) -> set[Reason]:
        """Return every reason to stop, worked out from what happened."""
        found = self._stops(trigger, now, before, wanted)
        stays = self.stopped and self.running and not self.lockstep
        if trigger is Trigger.TIMER and stays and not found:
            found.add(Reason.STILL_STOPPED)
        return found

    def _stops(
        self, trigger: Trigger, now: ClockReading, before: Vector | None, wanted: Vector | None
    ) -> set[Reason]:
        found = set()
        if self.latched:
            found.add(Reason.EMERGENCY_STOP)
        if self.deactivating:
            found.add(Reason.DEACTIVATED)
        if trigger is Trigger.TIMER:
            since, over = self.heard_request, self.braking or self._outlived
            if over and not self.deactivating:
                found.add(Reason.EPISODE_OVER)
            elif not self.deactivating and since is not None and now.steady - since > self.silent:
                found.add(Reason.COMMAND_TIMEOUT)
        ticked = self.ticked_at
        if ticked is not None and not self.lockstep:
            passed = now.steady - ticked.steady
            if passed > self.lateness:
                found.add(Reason.GATE_LATE)
            if abs(now.ros.nanoseconds - ticked.ros.nanoseconds - passed) > self.jump:
                found.add(Reason.CLOCK)
        heard = self.status_received
        gone = heard is None or now.steady - heard > self.environment_timeout
        if gone and not self.deactivating:
            found.add(Reason.ENVIRONMENT_TIMEOUT)
        if trigger is Trigger.TIMER and self.lockstep:
            return found
        if before is None:
            found.add(Reason.OBSERVATION_TIMEOUT)
        for name in self.inputs:
            seen = self.inputs_seen.get(name)
            if seen is None or self._age(seen, now) > self.alive.get(name, self.sensor_timeout):
                found.add(Reason.OBSERVATION_TIMEOUT)
            elif not self._usable(name, seen[0]):
                found.add(Reason.SENSOR_INVALID)
        if self.departs:
            if self.motion is None or self._age(self.motion, now) > self.sensor_timeout:
                found.add(Reason.OBSERVATION_TIMEOUT)
            elif not all(map(math.isfinite, self.motion[0])):
                found.add(Reason.SENSOR_INVALID)
        found.update(self._near(before, wanted))
        return found

    def _near(self, before: Vector | None, wanted: Vector | None) -> Iterable[Reason]:
        for rule in self.obstacles:
            seen = self.inputs_seen.get(rule.input)
            if seen is None or not self._usable(rule.input, seen[0]):
                continue
            ahead, behind, valid_ahead, valid_behind = seen[0]
            speeds = [v[rule.dimension] for v in (before, wanted) if v]
            for distance, valid, towards in (
                (ahead, valid_ahead, max(speeds, default=0.0) > AT_REST),
                (behind, valid_behind, min(speeds, default=0.0) < -AT_REST),
            ):
                if towards and valid < rule.min_valid:
                    yield Reason.SENSOR_INVALID
                elif towards and distance < rule.stop_distance:
                    yield Reason.OBSTACLE_STOP

    def _usable(self, name: str, values: Vector) -> bool:
        """Return whether the rules can go by it: only a distance may be infinite."""
        ranges = 2 if name in self.distances else 0
        return bool(values) and all(
            math.isfinite(v) or (v == math.inf and i < ranges) for i, v in enumerate(values)
        )

    def _age(self, seen: tuple[Vector, int, int], now: ClockReading) -> int:
        _, received, captured = seen
        of_stamp = now.ros.nanoseconds - captured
        return abs(of_stamp) if self.lockstep else max(now.steady - received, abs(of_stamp))

    @property
    def _outlived(self) -> bool:
        """Return whether there is no lease, or one that its episode has not lived as long as."""
        return self.lease == '' or self.over or self.episode != self.lease_episode

    # What the next command is compared with ------------------------------------------------------

    def left_alone(self, now: ClockReading) -> list[bool]:
        """Return, by dimension, whether its driver has begun to brake since the last command."""
        since = 0 if self.emitted is None else now.steady - self.emitted
        return [since > timeout for timeout in self.driver_timeout]

    def teleoperated(self, now: ClockReading) -> bool:
        """Return whether a driver has begun to brake by itself since the last command."""
        return any(self.left_alone(now))

    def before(
        self, now: ClockReading, trigger: Trigger, *, to_stop: bool = False
    ) -> tuple[Vector | None, bool]:
        """Return what the next command is compared with, and whether it begins again there."""
        last, left = self.in_drivers, self.left_alone(now)
        if last is None or any(left):
            if last is None or all(left):
                measured = self.measured(now, since=self.out)
                return measured, measured is not None
            stopping = to_stop or trigger is Trigger.TIMER
            found = list(last)
            for i, safe in enumerate(self.safe):
                measured = self.measured(now, since=self.out, group=self.group[i])
                if left[i] and safe == safe and (stopping or measured is None):
                    found[i] = safe
                elif left[i] and measured is not None:
                    found[i] = measured[i]  # of another place nobody knows anything
            return tuple(found), not stopping
        if self.departs and trigger is not Trigger.TIMER:
            measured = self.measured(now)
            if measured is not None:
                gone = {
                    group
                    for group, one, other, most in zip(
                        self.group, last, measured, self.max_tracking_error, strict=True
                    )
                    if abs(one - other) > most
                }
                # Of a speed no more than it was told to, and not the other way.
                kept = tuple(
                    told
                    if group not in gone
                    else sorted((safe, value, told))[1]
                    if speed
                    else value
                    for group, safe, value, told, speed in zip(
                        self.group, self.safe, measured, last, self.speeds, strict=True
                    )
                )
                return kept, kept != last
        return last, False

    def measured(
        self, now: ClockReading, since: int | None = None, group: str = ''
    ) -> Vector | None:
        """Return what it said of itself, or a group, after a steady time; None if not known."""
        seen = self.motion
        if (
            seen is None
            or not all(
                math.isfinite(value)
                for value, name in zip(seen[0], self.group, strict=True)
                if group in ('', name)
            )
            or self._age(seen, now) > self.sensor_timeout
            or (not self.lockstep and since and self._age(seen, now) > now.steady - since)
        ):
            return None
        # A place is where it is; of motion nothing is taken over that is beyond the bounds.
        return tuple(
            value if safe != safe else min(max(value, low), high)
            for value, safe, low, high in zip(seen[0], self.safe, self.low, self.high, strict=True)
        )

    def in_force(self, now: ClockReading) -> Vector | None:
        """Return what was asked for last, unless nobody does so any more."""
        over = self.braking or self._outlived or self.deactivating or self.teleoperated(now)
        return None if over or self.last is None else self.goal

    def seconds(self, now: ClockReading) -> float:
        """Return the time that the next command may make use of."""
        if self.lockstep or self.out is None:
            return self.contract.period
        return min(now.steady - self.out, self.period) / NANOSECONDS

    # Decisions -----------------------------------------------------------------------------------

    def see(
        self, decision: GateDecision, now: ClockReading, received: ClockReading | None = None
    ) -> None:
        """
        Hold one decision against the account, and enter it.

        Parameters
        ----------
        decision
            The decision.
        now
            When it was taken.
        received
            When its request was heard, if that was before; then it waited for the world.

        """
        self.sequence += 1
        self.tally[decision.verdict] += 1
        for result in decision.rules:
            self.tally[result.reason] += 1
        self._require(decision.sequence == self.sequence, 'is missing a number, or has one twice')
        command, verdict, trigger = decision.command, decision.verdict, decision.trigger
        request = decision.request
        before, begins = self.before(now, trigger)
        if self.deactivating and self.last is None and not decision.inputs.armed:
            before, begins = self.in_drivers, False
            self._require(not command, 'says a place that nobody asks for any more')
        asked = decision.requested_action
        wanted = self._meaning(asked, before)

        if trigger is Trigger.REQUEST:
            assert request is not None
            self.waiting.pop(request.sequence, None)
            refused = self._check_heard(decision, request, received or now)
            if refused and verdict is Verdict.REJECTED:
                self._check_rejected(decision)
                return
            self._enter_request(request, now)
        elif trigger is Trigger.CHUNK:
            self._check_turn(decision, now)
            wanted = self._meaning(asked, before)
        else:
            wanted = self.in_force(now)

        if begins and self.stops(trigger, now, before, wanted):
            # To stop is about what was commanded, as far as that is in force.
            commanded, anew = self.before(now, Trigger.TIMER, to_stop=True)
            there = self._meaning(asked, commanded)
            if not anew and self.stops(trigger, now, commanded, there):
                before, begins, wanted = commanded, False, there
        self._require(
            decision.inputs.previous_command == (before or ()), 'begins from another command'
        )
        self._require(decision.inputs.seeded is begins, 'says wrongly whether it begins again')
        why = self.stops(trigger, now, before, wanted)
        if verdict is Verdict.REJECTED:
            self._require(not why, f'is rejected, and should stop: {why}')
            self._check_rejected(decision)
            reasons = {result.reason for result in decision.rules}
            self._require(
                self.refuses and reasons == {Reason.OUT_OF_BOUNDS}, 'is rejected for no reason'
            )
            self.chunk = None
            return
        if trigger is not Trigger.TIMER:
            self.heard_request = now.steady
        if verdict is Verdict.STOPPED:
            self._check_stopped(decision, why, before)
        else:
            self._require(not why, f'must stop: {why}')
            self._require(self.running, 'moves a robot that no lease of a running episode holds')
            self._check_shaped(decision, wanted, now)
        self.stopped = verdict is Verdict.STOPPED
        if command:
            if verdict is Verdict.STOPPED:
                self.goal = command
            elif trigger is not Trigger.TIMER:
                self.goal = wanted
            self.sent.add(decision, before, self.seconds(now), now.steady, begins)
            self.last = self.in_drivers = command
            self.emitted = self.out = now.steady

    def _check_heard(
        self, decision: GateDecision, request: ActionRequest, received: ClockReading
    ) -> bool:
        """Check that a request is rejected if and only if it may not be heard."""
        refusals = self.refusals(request, received)
        rejected = decision.verdict is Verdict.REJECTED
        given = {result.reason for result in decision.rules}
        if refusals:
            self._require(rejected, f'hears what it must refuse: {refusals}')
            waited = self.lockstep and given <= OVERTAKEN
            self._require(given <= refusals or waited, f'gives {given}, not one of {refusals}')
            return True
        # In lockstep one that waited may be overtaken, or wait in vain.
        return rejected and self.lockstep and bool(given) and given <= OVERTAKEN

    def _check_rejected(self, decision: GateDecision) -> None:
        self._require(decision.command == (), 'is rejected, and publishes')
        self._require(decision.admitted_action == (), 'is rejected, and admits')
        self._require(bool(decision.rules), 'is rejected for no reason')
        outcomes = {result.outcome for result in decision.rules}
        self._require(outcomes == {Verdict.REJECTED}, 'is rejected by a milder rule')

    def _enter_request(self, request: ActionRequest, now: ClockReading) -> None:
        self.last_sequence = request.sequence
        self.chunk = None
        if request.horizon > 1:
            self.chunk = (request, 1, now.steady + self.period)

    def _check_turn(self, decision: GateDecision, now: ClockReading) -> None:
        """Check that a later action of a chunk is the next one, and comes when it is its turn."""
        self._require(self.chunk is not None, 'is of a chunk that was dropped')
        assert self.chunk is not None
        request, index, due = self.chunk
        size = self.contract.action_size
        self._require(decision.request == request, 'is of another chunk')
        self._require(
            decision.requested_action == request.action[index * size : (index + 1) * size],
            'is another action of the chunk',
        )
        self._require(decision.id.step == request.id.step + index, 'is for another step')
        self._require(self.lockstep or now.steady >= due, 'comes before its turn')
        rest = index + 1 < request.horizon
        self.chunk = (request, index + 1, due + self.period) if rest else None

    def _check_stopped(
        self, decision: GateDecision, why: set[Reason], before: Vector | None
    ) -> None:
        given = {result.reason for result in decision.rules}
        self._require(given == why, f'stops for {given}, not for {why}')
        outcomes = {result.outcome for result in decision.rules}
        self._require(outcomes == {Verdict.STOPPED}, 'stops because of a milder rule')
        self._require(decision.admitted_action == (), 'stops, and admits')
        self.chunk = None
        if before is None:
            there = () if self.stays else self.safe
            self._require(decision.command == there, 'stops from nowhere, to somewhere')

    def _check_shaped(
        self, decision: GateDecision, wanted: Vector | None, now: ClockReading
    ) -> None:
        """Check that each change of what was asked for has a reason that leads to it."""
        verdict, rules = decision.verdict, decision.rules
        if verdict is Verdict.HELD:
            late = self.heard_request is not None and (
                now.steady - self.heard_request > self.hold_timeout
            )
            why = Reason.COMMAND_LATE if late else Reason.REPUBLISHED
            self._require(late or self.again is not None, 'holds although nobody is late')
            self._require(bool(rules) and rules[0].reason is why, 'holds for no reason')
            rules = rules[1:]
            if late:
                wanted = decision.requested_command
                self._require(
                    self.again is not None or wanted == decision.inputs.previous_command,
                    'holds another command',
                )
        else:
            self._require(
                (verdict is Verdict.ADMITTED) is (not rules), 'is changed without a reason'
            )
        assert wanted is not None
        left = list(wanted)
        for result in rules:
            i = result.dimension
            self._require(result.outcome is Verdict.LIMITED, 'is changed by a stricter rule')
            self._require(result.before == left[i], 'breaks the chain of its reasons')
            assert result.after is not None
            self._require(result.after != left[i], 'has a reason that changes nothing')
            left[i] = result.after
        self._require(tuple(left) == decision.command, 'is changed without a reason')
        if verdict is Verdict.ADMITTED:
            self._require(decision.admitted_action == decision.requested_action, 'admits another')
        for rule in self.obstacles if not self.profiled else ():
            ahead, behind = self.inputs_seen[rule.input][0][:2]
            self.sent.slow(rule.dimension, _fastest(rule, behind), _fastest(rule, ahead))

    def _meaning(self, action: Vector, before: Vector | None) -> Vector | None:
        if len(action) != self.contract.action_size:
            return None
        return action if self.plain else meaning(self.contract.action, action, before)

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise Violation(f'decision {self.sequence} {what}')

    # What silence asks for -----------------------------------------------------------------------

    def ticked(self, decisions: tuple[GateDecision, ...], now: ClockReading) -> None:
        """Check that the timer was not silent when it must not, before its decisions are seen."""
        if decisions:
            return
        if self.moving and (self.braking or self._outlived):
            raise Violation('the timer does not brake after the end of a lease')
        if not self.running:
            return
        known = self.last is not None and not self.teleoperated(now)
        before, _ = self.before(now, Trigger.TIMER)
        why = self.stops(Trigger.TIMER, now, before, self.in_force(now))
        # At rest a stop is not said at every tick, and holds all the same.
        self.stopped = self.stopped or bool(why)
        nowhere = self.stays and before is None
        if why and self.moving and not nowhere:
            raise Violation(f'the timer does not stop: {why}')
        since, emitted = self.heard_request, self.emitted
        late = since is not None and now.steady - since > self.hold_timeout
        again = self.period if self.again is None else self.again
        due = emitted is not None and now.steady - emitted >= again
        if not self.lockstep and not why and known and due and (late or self.again is not None):
            raise Violation('the timer does not hold although the policy is late')
        turn = self.chunk is not None and now.steady >= self.chunk[2]
        # What the driver has braked from goes on with the next request, not with the rest of one.
        if not self.lockstep and not why and known and turn:
            raise Violation('the timer forgets the next action of a chunk')

    def after_tick(self, decisions: tuple[GateDecision, ...], now: ClockReading) -> None:
        """Take note that the timer ran: a lease that its episode has left is gone at rest."""
        self.ticked_at = now
        if not (self.braking or self._outlived):
            return
        # Where nobody knows where to stay, there is nothing to brake to: the driver does.
        nowhere = any(not decision.command for decision in decisions)
        if nowhere or not self.moving:
            if self._outlived:
                self.lease = ''
            self.forget()
            self.chunk = None


def _fastest(rule: Obstacle, distance: float) -> float:
    """Return the greatest speed towards an obstacle in a distance."""
    fastest = rule.slow_speed if distance < rule.slow_distance else math.inf
    if rule.time_to_collision is not None:
        left = max(0.0, distance - rule.stop_distance)
        fastest = min(fastest, left / rule.time_to_collision)
    return fastest


def _ns(seconds: float | None) -> float:
    return math.inf if seconds is None else seconds * NANOSECONDS
