# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The safety gate of one agent: what is published, and that silence stops.

Whom it hears is kept by :mod:`boundary_env_ros.core.gate.lease`, what it heard of its sensors
by :mod:`boundary_env_ros.core.gate.sensor_buffer`, what it sent by
:mod:`boundary_env_ros.core.gate.command_history`; what may be sent say the
:mod:`boundary_env_ros.core.gate.rules`. Here the events come together.

Events go in (a request, a measurement, a tick of the protecting timer), decisions come out. The
caller publishes the command of a decision, then the decision. Time is an argument, so a timeout of
300 ms takes a test a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.lockstep import Advanced
from boundary_env_ros.core.environment.observation import age_of
from boundary_env_ros.core.gate.chunk import Chunk
from boundary_env_ros.core.gate.command_history import Output
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    GateState,
    GateStatus,
    Reason,
    RuleResult,
    Tightened,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.driver_probe import DriverProbe, Phase
from boundary_env_ros.core.gate.health import Health
from boundary_env_ros.core.gate.lease import Authority
from boundary_env_ros.core.gate.rules.admission import (
    age,
    Lease,
    never_came,
    not_armed,
    out_of_order,
    precedence,
    well_formed,
)
from boundary_env_ros.core.gate.rules.agent_order import out_of_turn
from boundary_env_ros.core.gate.rules.braking import safe_from, towards
from boundary_env_ros.core.gate.rules.evaluate import hold, rule, stop_in_silence
from boundary_env_ros.core.gate.rules.limits import Limits, OPERATOR
from boundary_env_ros.core.gate.rules.measured import measured_command
from boundary_env_ros.core.gate.rules.rule_input import Ruling, Situation
from boundary_env_ros.core.gate.rules.runtime_limits import refuse_looser, tightened_limits
from boundary_env_ros.core.gate.sensor_buffer import Senses
from boundary_env_ros.core.timebase import elapsed, Instant, NANOSECONDS, Stamp
from boundary_env_ros.errors import Refused, ResultCode

Decisions = tuple[GateDecision, ...]


@dataclass
class _Memory:
    """What the gate remembers of its decisions, apart from its authority, output and health."""

    last_request: int | None = None
    pending: tuple[ActionRequest, Instant] | None = None
    chunk: Chunk | None = None
    held_for: tuple[str, int] = ('', 0)
    taken_over: bool = False
    sequence: int = 0
    stopping: bool = False
    reasons: tuple[Reason, ...] = ()


class Gate:
    """
    The gate of one agent.

    Parameters
    ----------
    contract, digest
        The contract and its digest.
    agent
        Whose gate it is.
    topics
        Resolved topic of each input, by the name of the input.
    software_version
        Goes into every decision.

    """

    def __init__(
        self,
        contract: Contract,
        *,
        digest: str,
        agent: str,
        topics: dict[str, str],
        software_version: str = '',
    ) -> None:
        self._contract = contract
        self._size = contract.action_size
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        self._limits = self._declared = Limits.of(contract)
        self._tightened = Tightened()
        self._digest = digest
        self._agent = agent
        self._version = software_version
        self._authority = Authority(digest, agent)
        self._senses = Senses(contract, topics, self._limits.needs)
        self._output = Output(contract)
        self._health = Health(contract)
        # In lockstep the world stands still, and no driver's time runs out.
        self._to_probe = not self._lockstep and any(group.probe for group in contract.action)
        self._probe: DriverProbe | None = None

        self._heard_environment: int | None = None
        self._memory = _Memory()

    # Who is heard --------------------------------------------------------------------------------

    def arm(
        self, *, digest: str, agent: str, episode_id: str, client: str, lease_id: str, now: Instant
    ) -> Lease:
        """
        Grant the lease for one episode, to the caller that arms the gate for it.

        Raises
        ------
        Refused
            If the digest, agent or episode is another, the emergency stop is latched or has no
            publisher, somebody else holds the lease, or the gate does not hear a sensor that it
            needs.

        """
        self.check_terms(digest=digest, agent=agent)
        self._refuse_unprobed()
        self._authority.check_released()
        self._refuse_unpublished()
        lease = self._authority.lease_of(episode_id, client)
        if lease is not None:
            return lease
        self._refuse_unheard(now)
        self._end_lease()
        lease = Lease(lease_id=lease_id, holder=client, episode_id=episode_id)
        self._authority.lease = lease
        self._memory.last_request = now.steady
        self._memory.pending = None
        # A hand that was there before the lease is there now, too.
        self._memory.taken_over = self._senses.switch_held(now)
        self._health.begin()
        return lease

    def check_terms(self, *, digest: str, agent: str) -> None:
        """
        Check that somebody who asks for something means this contract and this agent.

        Raises
        ------
        Refused
            If he does not.

        """
        self._authority.check(digest, agent)

    def _refuse_unprobed(self) -> None:
        """Refuse an arming while it is not known that the drivers stop by themselves."""
        probe = self._probe
        if not self._to_probe or (probe is not None and probe.phase is Phase.DONE):
            return
        if probe is not None and probe.running:
            raise Refused(
                'The timeout of the drivers is being measured. Ask again in a few seconds.',
                ResultCode.PROBING,
            )
        raise Refused(
            'The timeout of the drivers is not known: '
            + (f'the probe failed: {probe.why}. ' if probe else 'it was not measured. ')
            + 'Call ~/probe_driver: the robot moves by the command `probe` of the contract.',
            ResultCode.NOT_PROBED,
        )

    def _refuse_unpublished(self) -> None:
        """
        Refuse an arming while a press of the emergency stop could not be heard.

        In lockstep the robot is simulated, and moves by one step at a time, as it is asked to.
        """
        topic = self._health.unpublished
        if topic and not self._lockstep:
            raise Refused(
                f'Nobody publishes the emergency stop (expected a publisher of {STOP_TYPE} on '
                f'{topic}, got none); start its driver, mend `safety.emergency_stop` in the '
                'contract, or write `none` there if the robot has no such topic.',
                ResultCode.SENSOR_MISSING,
            )

    def _refuse_unheard(self, now: Instant) -> None:
        """
        Refuse an arming while a sensor that is needed is not heard, as by a gate that is new.

        In lockstep the world speaks when it is reset, which is after the arming.
        """
        unheard = () if self._lockstep else self._senses.unheard(now)
        if unheard:
            raise Refused(
                'Sensors that the gate needs are not heard: '
                f'{", ".join(unheard)}. Start what publishes them, and ask again.',
                ResultCode.SENSOR_MISSING,
            )

    def _end_lease(self) -> None:
        """End the lease; what still moves under it is braked to the end first."""
        if self._moving and not self._lockstep:
            self._authority.braking = self._authority.id
        else:
            # At rest; and in lockstep the world stands still.
            self._forget_command()
        self._authority.lease = None

    @property
    def _moving(self) -> bool:
        return self._output.moving(self._limits)

    def _forget_command(self) -> None:
        """Forget what was asked for, and that it was a stop."""
        self._output.forget()
        self._memory.stopping = False
        self._memory.reasons = ()
        self._authority.braking = None

    def heard(self, status: EpisodeStatus, now: Instant) -> Decisions:
        """
        Take note of the environment's sign of life, and of where its episode stands.

        In lockstep, decide on the next action of a chunk if that is its turn, or to hold if the
        step is the turn of another agent.
        """
        if (status.id.digest, status.id.agent) != (self._digest, self._agent):
            return ()
        self._heard_environment = now.steady
        was_running = self._authority.running
        self._authority.episode = status
        if not self._authority.running:
            self._memory.chunk = None  # nothing of it outlives its episode
        elif not was_running:
            # The policy's time runs from here, not from its arming during the reset.
            self._memory.last_request = now.steady
        return self._resume(now)

    # What it knows -------------------------------------------------------------------------------

    def measure(
        self, name: str, values: Vector, captured: Stamp | None, now: Instant
    ) -> Decisions:
        """Take a value of an input; in lockstep, decide what was waiting for it."""
        self._senses.take(name, values, captured, now)
        if name == OPERATOR:
            return self._operate(now)
        return self._resume(now)

    def advanced(self, report: Advanced, now: Instant) -> Decisions:
        """Take note of how far the world has come (lockstep)."""
        self._senses.advanced(report)
        return self._resume(now)

    def emergency_stop(self, pressed: bool, now: Instant) -> Decisions:
        """Take the state of the emergency stop; pressed once, it stays latched."""
        return self.tick(now) if self._authority.press(pressed) else ()

    def clear_emergency_stop(self) -> None:
        """
        Unlatch the emergency stop.

        The lease ends with it: a new arming is needed before anything moves.

        Raises
        ------
        Refused
            If it is still pressed, or the episode that it stopped has not ended.

        """
        self._authority.clear()
        self._end_lease()

    def begin_ticking(self) -> None:
        """Take note that the protecting timer starts: how long it did not run is no lateness."""
        self._health.forget()

    def in_time(
        self,
        decide: Callable[[Instant], Decisions],
        now: Instant,
        clock: Callable[[], Instant],
    ) -> Decisions:
        """
        Decide, and once more if the gate hung meanwhile: what it did not say in time is void.

        Parameters
        ----------
        decide
            What decides at an instant, :meth:`tick` for example.
        now
            When it begins.
        clock
            Tells how late it is.

        """
        if self._lockstep:
            return decide(now)
        # All that deciding changes. What is in them is replaced by it, never changed in itself.
        changing = (self._memory, self._authority, self._output, self._health)
        kept = [vars(part).copy() for part in changing]
        decisions = decide(now)
        then = clock()
        if (then.steady - now.steady) / NANOSECONDS <= self._contract.safety.gate_lateness:
            return decisions
        # Of sensors it forgets nothing; nor of a probe, which fails now.
        for part, before in zip(changing, kept, strict=True):
            vars(part).update(before)
        return decide(then)

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """The least and the greatest command, as strict as they are now."""
        return self._limits.low, self._limits.high

    def competing(self, count: int, crowded: Mapping[str, int] | None = None) -> None:
        """
        Take the number of publishers that there must not be.

        Parameters
        ----------
        count
            On the command topics: those that are not this gate.
        crowded
            On each topic that the gate goes by, by name: those beyond what the contract allows.
            Which of them tells the truth nobody knows.

        """
        self._health.competing, self._health.crowded = count, dict(crowded or {})

    def emergency_stop_unpublished(self, topic: str) -> None:
        """Take the topic of the emergency stop if nobody publishes there; empty if somebody."""
        self._health.unpublished = topic

    def tighten(self, tightened: Tightened) -> None:
        """
        Make limits stricter than the contract's, or, while no lease is out, less strict again.

        Raises
        ------
        Refused
            If one of them is less strict than the contract, or, while a lease is out, than it is
            now.

        """
        limits = tightened_limits(self._declared, tightened)
        if self._authority.lease is not None:
            refuse_looser(self._limits, limits, 'it is while a lease is out')
        self._limits, self._tightened = limits, tightened

    def probe(self, now: Instant) -> None:
        """
        Begin to measure the timeouts of the drivers; the protecting timer goes on with it.

        Raises
        ------
        Refused
            If the contract declares no probe, the emergency stop is latched, a lease is out,
            another probe goes on, or the robot still brakes.

        """
        if not self._to_probe:
            raise Refused(
                'There is nothing to probe (expected a group of the action with a `probe`, in '
                'realtime).',
                ResultCode.UNSUPPORTED,
            )
        self._authority.check_released()
        lease = self._authority.lease
        if lease is not None:
            raise Refused(
                f'{lease.holder!r} holds a lease (expected none).', ResultCode.LEASE_HELD
            )
        if self.probing:
            raise Refused(
                'A probe of the drivers goes on. Wait for its end.',
                ResultCode.PROBING,
            )
        if self._moving:
            raise Refused('The robot still brakes. Ask again.')
        self._forget_command()
        self._probe = DriverProbe(self._contract, now)

    @property
    def to_probe(self) -> bool:
        """Whether the contract asks for a probe of the drivers before the first arming."""
        return self._to_probe

    @property
    def probing(self) -> bool:
        """Whether the drivers are being probed."""
        return self._probe is not None and self._probe.running

    @property
    def probe_failure(self) -> str:
        """Why the last probe failed; empty if it did not."""
        return '' if self._probe is None else self._probe.why

    def _go_on_probing(self, probe: DriverProbe, now: Instant) -> Decisions:
        situation = self._situation(Trigger.PROBE, now)
        measured = measured_command(self._limits, situation.measurements)
        emitted = None if self._output.command is None else self._output.emitted
        probe.look(measured, emitted, now)
        if not probe.running:
            # It brakes by itself, or failed to: either way the gate brings it to rest.
            self._authority.braking = self._authority.nobody
            return ()
        wanted: Vector | None = self._output.goal or None
        if probe.phase is Phase.MOVING:
            if measured is None:
                if emitted is None:
                    return ()  # nobody knows yet what the robot does
                probe.fail('what the robot does was no longer known')
                self._authority.braking = self._authority.nobody
                return ()
            wanted = probe.command(safe_from(self._limits.safe, situation.previous or measured))
        ruling, situation = self._rule(situation, now, wanted)
        if ruling.verdict is Verdict.STOPPED:
            reasons = ', '.join(reason.name.lower() for reason in _why(ruling))
            if emitted is None and not self._authority.emergency:
                probe.held_back = reasons
                return ()  # nothing moves yet: what is missing may still come
            probe.fail(f'the robot had to be stopped ({reasons})')
            self._authority.braking = self._authority.nobody
        elif probe.phase is Phase.SILENT:
            return ()  # what is measured is how long the driver goes on without a command
        return (self._emit(ruling, situation, now),)

    def went_out(self, at: Instant) -> None:
        """
        Take note of when the command of the last decision went out.

        What may change until the next is limited by the time between the two on the wire, not by
        that between the decisions.
        """
        self._output.went_out(at)

    # What it decides -----------------------------------------------------------------------------

    def request(self, request: ActionRequest, now: Instant) -> Decisions:
        """
        Decide on a request, at once.

        In lockstep, as soon as the sensors of its observation are here.
        """
        if (
            not self._lockstep
            # Whether the episode runs may still change; whose request it is may not.
            or self._refusals(request, running=True)
            or not self._senses.awaits(request.id.episode_id, request.id.step)
        ):
            return self._decide(request, now, now)
        waiting = self._memory.pending
        if waiting is not None and request.sequence < waiting[0].sequence:
            return self._reject(request, now, out_of_order(request, waiting[0].sequence + 1))
        self._memory.pending = (request, now)
        if waiting is not None and waiting[0].sequence < request.sequence:
            return self._reject(*waiting, out_of_order(waiting[0], request.sequence))
        return ()

    def _refusals(self, request: ActionRequest, *, running: bool) -> tuple[RuleResult, ...]:
        return (
            well_formed(request.action, self._size, request.horizon, self._contract.horizon)
            or self._authority.refusals(request, running=running)
            or out_of_turn(self._contract, self._agent, request.id.step)
        )

    def _resume(self, now: Instant) -> Decisions:
        if self._memory.pending is None:
            return self._next_of_chunk(now) or self._hold_turn(now) if self._lockstep else ()
        request, received = self._memory.pending
        if self._senses.awaits(request.id.episode_id, request.id.step):
            return ()
        self._memory.pending = None
        return self._decide(request, received, now)

    def _decide(self, request: ActionRequest, received: Instant, now: Instant) -> Decisions:
        refusals = self._refusals(request, running=self._authority.running)
        if not refusals:
            latency = _age(request.observed, received, self._contract.pacing)
            self._health.asked(latency)
            if self._memory.taken_over:
                # Refused once and for all: sent again, it is no answer to what the hand has done.
                self._authority.hear(request)
                # In lockstep the world moves from request to request, and so does the operator.
                held = self._lockstep and self._senses.switch_held(now)
                by_hand = self._by_hand(now) if held else ()
                refused = self._reject(request, received, precedence(taken_over=True))
                return (*by_hand, *refused)
            refusals = age(latency, self._contract.safety.max_action_age)
        if refusals:
            return self._reject(request, received, refusals)
        self._authority.hear(request)
        return self._act(Chunk(request, received, 0, now.steady), Trigger.REQUEST, now)

    def _act(self, chunk: Chunk, trigger: Trigger, now: Instant) -> Decisions:
        """Decide on one action of a request; the others, if it has more, wait for their turn."""
        ruling, situation = self._rule(
            self._situation(trigger, now), now, chunk.action(self._size)
        )
        if ruling.verdict is not Verdict.REJECTED:
            # Whoever asks for nothing that may be published is as good as silent.
            self._memory.last_request = now.steady
        # The newest word counts: it takes the place of what is left of an older chunk.
        rejected = ruling.verdict is Verdict.REJECTED
        self._memory.chunk = None if rejected else chunk.next(self._contract.period)
        decision = self._emit(
            ruling,
            situation,
            now,
            request=chunk.request,
            received=chunk.received,
            index=chunk.index,
        )
        return (decision,)

    def _rule(
        self, situation: Situation, now: Instant, wanted: Vector | None
    ) -> tuple[Ruling, Situation]:
        """Rule on what somebody asks for; return in which situation, too."""
        ruling = rule(self._limits, situation, wanted)
        if ruling.verdict is Verdict.STOPPED and situation.seeded:
            # A stop takes from what was commanded, as far as that is in force.
            output, measurements = self._output, situation.measurements
            previous, seeded = output.previous(self._limits, Trigger.TIMER, measurements, now)
            commanded = replace(
                situation,
                previous=previous,
                seeded=seeded,
                previous_rate=output.rate,
                previous_acceleration=output.acceleration,
            )
            stop = rule(self._limits, commanded, wanted)
            if not seeded and stop.verdict is Verdict.STOPPED:
                return stop, commanded
        return ruling, situation

    def _next_of_chunk(self, now: Instant) -> Decisions:
        """Decide on the next action of a chunk if its turn has come."""
        chunk, episode = self._memory.chunk, self._authority.episode
        if chunk is None:
            return ()
        if not self._lockstep:
            if now.steady < chunk.due:
                return ()
        elif (
            episode is None
            or episode.id.step != chunk.step - 1
            or self._senses.awaits(chunk.request.id.episode_id, chunk.step)
        ):
            return ()
        return self._act(chunk, Trigger.CHUNK, now)

    def _hold_turn(self, now: Instant) -> Decisions:
        """Decide to hold, once, if the next step is the turn of another agent (lockstep)."""
        episode, memory = self._authority.episode, self._memory
        if not self._contract.turns or episode is None or not self._authority.running:
            return ()
        step = (episode.id.episode_id, episode.id.step + 1)
        if (
            self._contract.has_turn(self._agent, step[1])
            or memory.held_for == step
            or self._senses.awaits(*step)
        ):
            return ()
        memory.held_for = step
        # Nobody waits for this policy now, so its time does not run.
        memory.last_request = now.steady
        situation = self._situation(Trigger.TIMER, now)
        situation = replace(situation, since_request=None, others_turn=True)
        wanted: Vector | None = None if self._output.command is None else self._output.goal
        if not wanted and situation.previous is not None:
            wanted = safe_from(self._limits.safe, situation.previous)  # nothing was asked for yet
        ruling = rule(self._limits, situation, wanted or None)
        return (self._emit(ruling, situation, now),)

    def _reject(
        self, request: ActionRequest, received: Instant, results: tuple[RuleResult, ...]
    ) -> Decisions:
        situation = self._situation(Trigger.REQUEST, received)
        ruling = Ruling(verdict=Verdict.REJECTED, results=results)
        return (self._emit(ruling, situation, received, request=request, received=received),)

    def plan(self, actions: Sequence[Vector], now: Instant) -> Decisions:
        """
        Return what would become of some actions if the lease holder asked for them now.

        Nothing is published, nothing remembered: each is decided on as if it were the only one.

        Parameters
        ----------
        actions
            Single actions, each of shape ``(n,)``.
        now
            When.

        """
        decisions, running = [], self._authority.running
        for action in actions:
            situation = self._situation(Trigger.REQUEST, now)
            situation = replace(situation, overruns=self._health.overruns_if_in_time)
            refusals = well_formed(action, self._size) or (
                out_of_turn(self._contract, self._agent, self._authority.id.step + 1)
                or precedence(taken_over=self._memory.taken_over)
                if running
                else not_armed()
            )
            if refusals:
                ruling = Ruling(verdict=Verdict.REJECTED, results=refusals)
            else:
                ruling, situation = self._rule(situation, now, action)
            decision = self._decision(ruling, situation)
            decisions.append(replace(decision, requested_action=action))
        return tuple(decisions)

    def reach(self, now: Instant) -> tuple[Vector, Vector]:
        """
        Return the least and the greatest command that bounds and rate allow now, by dimension.

        Acceleration, jerk, obstacles and workspaces may allow less: see :meth:`plan`.
        """
        situation = self._situation(Trigger.REQUEST, now)
        limits, previous = self._limits, situation.previous
        if previous is None:
            return limits.low, limits.high
        turned = {i for rotation in limits.rotations for i in rotation.dimensions}

        def reached(bounds: Vector) -> Vector:
            return tuple(
                bound
                if i in turned
                else towards(was, bound, rate * min(situation.time_step, within))
                for i, (was, bound, rate, within) in enumerate(
                    zip(previous, bounds, limits.rate, limits.within, strict=True)
                )
            )

        return reached(limits.low), reached(limits.high)

    def _operate(self, now: Instant) -> Decisions:
        """Decide on a command of the operator, if his switch is held; take over, and give back."""
        held = self._senses.switch_held(now)
        if held is not self._memory.taken_over:
            self._memory.taken_over = held
            self._memory.chunk = None
            self._output.hand_over()
        if not held or not self._authority.running or self._lockstep:
            return ()
        return self._by_hand(now)

    def _by_hand(self, now: Instant) -> Decisions:
        """Decide on what the operator asks for."""
        command = self._senses.by_hand
        situation = self._situation(Trigger.OPERATOR, now)
        malformed = well_formed(command, self._contract.command_size)
        if malformed:
            ruling = Ruling(verdict=Verdict.REJECTED, results=malformed)
        else:
            ruling, situation = self._rule(situation, now, command)
        if ruling.verdict is not Verdict.REJECTED:
            self._memory.last_request = now.steady
        return (self._emit(ruling, situation, now),)

    def tick(self, now: Instant) -> Decisions:
        """
        Do what silence asks for; to be called at ``safety.gate_period`` on the steady clock.

        While the episode runs: hold the last command when the next is late, stop when it is too
        late or something else asks for it, and once stopped say so again every period. When the
        lease has ended: brake to the safe command, then be silent, so that the driver's own
        timeout is in charge.
        """
        decisions = self._tick(now)
        self._health.tick(now)
        return decisions

    def _tick(self, now: Instant) -> Decisions:
        if self._probe is not None and self._probe.running:
            return self._go_on_probing(self._probe, now)
        if self._authority.lease is None and self._output.command is None:
            return ()
        if self._memory.pending is not None:
            request, received = self._memory.pending
            if (now.steady - received.steady) / NANOSECONDS > self._contract.lockstep_deadline:
                self._memory.pending = None
                never = never_came(self._contract.lockstep_deadline)
                return self._reject(request, received, never)
        if self._memory.taken_over and not self._senses.switch_held(now):
            self._operate(now)  # his hand is silent: he has let go
        situation = self._situation(Trigger.TIMER, now)
        if self._authority.over or self._authority.braking is not None:
            return self._wind_down(situation, now)
        if not self._authority.running:
            return ()  # armed, and the reset goes on: nothing is published
        # A command that the driver has braked from since is nothing to be held.
        output = self._output
        held = output.command is not None and not output.driver_took_over(now)
        in_force = output.goal if held else None
        stop = stop_in_silence(self._limits, situation, in_force)
        if stop is not None:
            if not stop.results:
                return ()  # nothing was asked for yet, and nothing asks for a stop
            told = self._memory.stopping and _why(stop) == self._memory.reasons
            self._memory.stopping = True
            if not stop.command and told:
                return ()  # nobody knows yet where to stay
            resting = output.command is not None and not self._moving
            if resting and not output.due(now, self._contract.period):
                return ()
            return (self._emit(stop, situation, now),)
        if self._lockstep or in_force is None:
            return ()
        decisions = self._next_of_chunk(now)
        if decisions:
            return decisions
        late = situation.since_request or 0.0
        again = self._contract.safety.republish
        if again is None and late <= self._contract.safety.hold_after:
            return ()
        if not output.due(now, self._contract.period if again is None else again):
            return ()
        # Only now, as most ticks send nothing.
        return (self._emit(hold(self._limits, situation, in_force), situation, now),)

    def deactivate(self, now: Instant) -> Decisions:
        """
        Go one step further along the stop profile, before the gate falls silent itself.

        To be called at ``safety.gate_period`` until it decides nothing any more: then the last
        command is the safe one, and the lease has ended. It needs nothing that could still arrive:
        it brakes from what was commanded last.
        """
        if self._probe is not None and self._probe.running:
            self._probe.fail('the gate was deactivated')
        self._memory.pending = self._memory.chunk = None
        if self._output.in_force is None:
            self._end_lease()
            return ()
        # From here on nobody is heard who asks for something.
        self._authority.braking = self._authority.id
        situation = replace(self._situation(Trigger.TIMER, now), deactivated=True)
        if not situation.armed and self._output.command is None:
            situation = replace(situation, previous=self._output.in_force, seeded=False)
        ruling = rule(self._limits, situation, None)
        decision = self._emit(ruling, situation, now)
        self._health.tick(now)
        if not ruling.command or not self._moving:
            self._authority.lease = None
            self._forget_command()
            self._output.drop()  # whoever commands the robot meanwhile is not heard
        return (decision,)

    def _wind_down(self, situation: Situation, now: Instant) -> Decisions:
        """Brake after the end of a lease; then forget it."""
        decisions: Decisions = ()
        nowhere = False
        if self._moving:
            ruling = rule(self._limits, replace(situation, over=True), None)
            decisions = (self._emit(ruling, situation, now),)
            # The driver brakes by itself by now, and nobody knows where it is to stay.
            nowhere = not ruling.command
        if nowhere or not self._moving:
            if self._authority.over:
                self._authority.lease = None
            self._forget_command()
        return decisions

    def _situation(self, trigger: Trigger, now: Instant) -> Situation:
        """Return what the rules are to know now."""
        measurements = self._senses.measurements(now)
        output, health = self._output, self._health
        previous, seeded = output.previous(self._limits, trigger, measurements, now)
        return Situation(
            trigger=trigger,
            time_step=output.time_step(now),
            previous=previous,
            seeded=seeded,
            previous_rate=() if seeded else output.rate,
            previous_acceleration=() if seeded else output.acceleration,
            emergency_stop=self._authority.emergency,
            armed=self._authority.lease is not None,
            stopped=trigger is Trigger.TIMER and self._memory.stopping and self._authority.running,
            since_request=_since(self._memory.last_request, now),
            since_environment=_since(self._heard_environment, now),
            since_tick=health.since_tick(now),
            clock_error=health.clock_error(now),
            competing=health.competing,
            crowded=health.crowded,
            overruns=health.overruns,
            recent=output.recent(now),
            measurements=measurements,
        )

    def _emit(
        self,
        ruling: Ruling,
        situation: Situation,
        now: Instant,
        *,
        request: ActionRequest | None = None,
        received: Instant | None = None,
        index: int = 0,
    ) -> GateDecision:
        self._memory.sequence += 1
        decision = self._decision(
            ruling, situation, request=request, received=received, index=index
        )
        if ruling.command:
            self._output.sent(ruling, situation.trigger, now)
        if ruling.verdict is Verdict.STOPPED:
            self._memory.chunk = None
        if ruling.verdict is not Verdict.REJECTED:
            self._memory.stopping = ruling.verdict is Verdict.STOPPED
            why = _why(ruling)
            if why != (Reason.STILL_STOPPED,):
                self._memory.reasons = why
        return decision

    def _decision(
        self,
        ruling: Ruling,
        situation: Situation,
        *,
        request: ActionRequest | None = None,
        received: Instant | None = None,
        index: int = 0,
    ) -> GateDecision:
        size = self._size
        return GateDecision(
            id=self._authority.id
            if request is None
            else replace(request.id, step=request.id.step + index),
            sequence=self._memory.sequence,
            verdict=ruling.verdict,
            trigger=situation.trigger,
            request=request,
            received=received,
            requested_action=()
            if request is None
            else request.action
            if request.horizon == 1
            else request.action[index * size : (index + 1) * size],
            admitted_action=ruling.admitted,
            wanted_command=ruling.wanted,
            command=ruling.command,
            rules=ruling.results,
            time_step=situation.time_step,
            previous_command=situation.previous or (),
            previous_rate=situation.previous_rate,
            previous_acceleration=situation.previous_acceleration,
            seeded=situation.seeded,
            emergency_stop=situation.emergency_stop,
            armed=self._authority.lease is not None,
            since_request=situation.since_request,
            since_environment=situation.since_environment,
            since_tick=situation.since_tick,
            clock_error=situation.clock_error,
            competing_publishers=situation.foreign,
            overruns=situation.overruns,
            tightened=self._tightened,
            recent=situation.recent,
            measurements=tuple(situation.measurements.values()),
            software_version=self._version,
        )

    # What it says --------------------------------------------------------------------------------

    @property
    def state(self) -> GateState:
        """What the gate is about."""
        authority = self._authority
        if authority.emergency:
            return GateState.EMERGENCY_STOPPED
        if self.probing:
            return GateState.PROBING
        if authority.lease is None:
            return GateState.DISARMED
        if authority.over or self._memory.stopping or authority.braking is not None:
            return GateState.STOPPING
        return GateState.RUNNING if authority.running else GateState.ARMED

    def status(self, now: Instant) -> GateStatus:
        """Return the state to be latched for the others."""
        probe, lease = self._probe, self._authority.lease
        return GateStatus(
            digest=self._digest,
            agent=self._agent,
            state=self.state,
            lease_id='' if lease is None else lease.lease_id,
            episode_id='' if lease is None else lease.episode_id,
            holder='' if lease is None else lease.holder,
            taken_over=self._memory.taken_over,
            sequence=self._memory.sequence,
            command=self._output.command or (),
            reasons=self._memory.reasons if self._memory.stopping else (),
            competing_publishers=self._health.competing + sum(self._health.crowded.values()),
            driver_timeouts=() if probe is None else probe.timeouts,
            tightened=self._tightened,
            taken=now,
        )


def _why(ruling: Ruling) -> tuple[Reason, ...]:
    """Return the reasons of a stop, each once."""
    return tuple(dict.fromkeys(r.reason for r in ruling.results if r.outcome is Verdict.STOPPED))


def _since(then: int | None, now: Instant) -> float | None:
    return None if then is None else (now.steady - then) / NANOSECONDS


def _age(observed: Instant | None, received: Instant, pacing: Pacing) -> float | None:
    """
    Return the age of the observation that an action answers, seconds.

    On the steady clock of one host; between hosts and in lockstep, ROS time.
    """
    if observed is None:
        return None
    if pacing is Pacing.REALTIME:
        steady = elapsed(observed, received)
        if steady is not None:
            return steady
    return age_of(observed.ros, received)
