# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The safety gate of one agent: who is heard, what is published, and that silence stops.

Events go in (a request, a measurement, a tick of the protecting timer), decisions come out. The
caller publishes the command of a decision, then the decision. Time is an argument, so a timeout of
300 ms takes a test a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.decision import (
    ActionRequest,
    GateDecision,
    GateState,
    GateStatus,
    Measurement,
    Reason,
    RuleResult,
    StepId,
    Tightened,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.driver_probe import DriverProbe, Phase
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate_chunk import Chunk
from boundary_env_ros.core.gate_health import Health
from boundary_env_ros.core.gate_rules.admission import (
    age,
    authority,
    Lease,
    not_armed,
    precedence,
    well_formed,
)
from boundary_env_ros.core.gate_rules.braking import at_rest, safe_from, towards
from boundary_env_ros.core.gate_rules.limits import FEEDBACK, Limits, OPERATOR
from boundary_env_ros.core.gate_rules.measured import measured_command
from boundary_env_ros.core.gate_rules.rotation import nearer_sign
from boundary_env_ros.core.gate_rules.ruling import rule
from boundary_env_ros.core.gate_rules.situation import Ruling, Situation
from boundary_env_ros.core.gate_rules.tightening import refuse_looser, tightened_limits
from boundary_env_ros.core.gate_rules.under_way import Recent
from boundary_env_ros.core.gate_rules.workspace import looks_back
from boundary_env_ros.core.lockstep import Advanced, awaited
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.timebase import between, elapsed, Instant, NANOSECONDS, Stamp
from boundary_env_ros.errors import ClockMismatch, Refused, ResultCode

Decisions = tuple[GateDecision, ...]

#: What the operator's switch reads at least while it is held.
HELD = 0.5


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
        self._limits = self._declared = Limits.of(contract)
        self._tightened = Tightened()
        self._digest = digest
        self._agent = agent
        self._topics = topics
        self._version = software_version
        self._needed = (*contract.safety.inputs, *self._limits.alive)
        self._feedback = tuple(f'{FEEDBACK}.{group.name}' for group in contract.action)
        self._operator = (OPERATOR,) if contract.safety.operator else ()
        self._depart = tuple(
            most for group in contract.action for most in group.depart or (math.inf,) * group.size
        )
        self._health = Health(contract)
        self._recent = _recent(contract)
        # In lockstep the world stands still, and no driver's time runs out.
        self._to_probe = contract.pacing is Pacing.REALTIME and any(
            group.probe for group in contract.action
        )
        self._probe: DriverProbe | None = None

        self._lease: Lease | None = None
        self._episode: EpisodeStatus | None = None
        self._heard_environment: int | None = None
        self._emergency = False
        self._pressed = False
        self._latest: dict[str, Measurement] = {}
        self._sequence = 0
        self._command: Vector | None = None
        self._rate: Vector = ()
        self._acceleration: Vector = ()
        self._goal: Vector = ()
        self._emitted: int | None = None
        self._last_request: int | None = None
        self._reasons: tuple[Reason, ...] = ()
        self._stopping = False
        self._braking: StepId | None = None
        self._pending: tuple[ActionRequest, Instant] | None = None
        self._chunk: Chunk | None = None
        self._advanced: Advanced | None = None
        self._taken_over = self._seed = False

    # Who is heard --------------------------------------------------------------------------------

    def arm(
        self, *, digest: str, agent: str, episode_id: str, client: str, lease_id: str, now: Instant
    ) -> Lease:
        """
        Grant the lease for one episode, to the caller that arms the gate for it.

        Raises
        ------
        Refused
            If the digest, agent or episode is another, the emergency stop is latched, somebody
            else holds the lease, or the gate does not hear a sensor that it needs.

        """
        episode = self._episode
        if digest != self._digest:
            raise Refused(
                f'Expect the digest {self._digest}, actually: {digest or "none"}. '
                'Start client and gate with the same contract, pacing and task version.',
                ResultCode.DIGEST_MISMATCH,
            )
        if agent != self._agent:
            raise Refused(
                f'Expect the agent {self._agent!r}, actually: {agent!r}.', ResultCode.UNKNOWN_AGENT
            )
        self._refuse_unprobed()
        if self._emergency:
            raise Refused(
                'Expect a released emergency stop, actually: it is latched. '
                'Release it and call ~/clear_emergency_stop.',
                ResultCode.EMERGENCY_STOPPED,
            )
        if episode is None or episode.id.episode_id != episode_id or episode.state.over:
            known = 'none' if episode is None else episode.id.episode_id
            raise Refused(
                f'Expect the episode that the environment announced ({known}), '
                f'actually: {episode_id}. '
                'Begin an episode first, and arm while it lasts.',
                ResultCode.UNKNOWN_EPISODE,
            )
        lease = self._lease
        if lease is not None and lease.episode_id == episode_id:
            if lease.holder == client:
                return lease
            raise Refused(
                f'Expect a free lease, actually: {lease.holder!r} holds it for this episode.',
                ResultCode.LEASE_HELD,
            )
        self._refuse_unheard(now)
        self._end_lease()
        self._lease = Lease(lease_id=lease_id, holder=client, episode_id=episode_id)
        self._last_request = now.steady
        self._pending = None
        # A hand that was there before the lease is there now, too.
        self._taken_over = self._switch_held(now)
        self._health.begin()
        return self._lease

    def _refuse_unprobed(self) -> None:
        """Refuse an arming while it is not known that the drivers stop by themselves."""
        probe = self._probe
        if not self._to_probe or (probe is not None and probe.phase is Phase.DONE):
            return
        if probe is not None and probe.running:
            raise Refused(
                'Expect a measured timeout of the drivers, actually: it is being measured. '
                'Ask again in a few seconds.',
                ResultCode.PROBING,
            )
        raise Refused(
            'Expect a measured timeout of the drivers, actually: '
            + (f'the probe failed: {probe.why}. ' if probe else 'it was not measured. ')
            + 'Call ~/probe_driver: the robot moves by the command `probe` of the contract.',
            ResultCode.NOT_PROBED,
        )

    def _refuse_unheard(self, now: Instant) -> None:
        """
        Refuse an arming while a sensor that is needed is not heard, as by a gate that is new.

        In lockstep the world speaks when it is reset, which is after the arming.
        """
        if self._contract.pacing is Pacing.LOCKSTEP:
            return
        unheard = []
        for name in (*self._needed, *self._feedback):
            measurement = self._aged(name, now)
            most = self._limits.alive.get(name, self._contract.safety.sensor_timeout)
            if measurement.age is None:
                unheard.append(f'{name} ({measurement.topic}, never heard)')
            elif measurement.age > most:
                unheard.append(f'{name} ({measurement.topic}, {measurement.age:.3g} s old)')
        if unheard:
            raise Refused(
                'Expect every sensor that the gate needs to be heard, actually not: '
                f'{", ".join(unheard)}. Start what publishes them, and ask again.',
                ResultCode.SENSOR_MISSING,
            )

    def _end_lease(self) -> None:
        """End the lease; what still moves under it is braked to the end first."""
        if self._moving and self._contract.pacing is Pacing.REALTIME:
            self._braking = self._id()
        else:
            # At rest; and in lockstep the world stands still.
            self._forget_command()
        self._lease = None

    @property
    def _moving(self) -> bool:
        return self._command is not None and not at_rest(self._limits, self._command)

    def _forget_command(self) -> None:
        """Forget what was commanded: the next command starts from the measured state."""
        self._command = None
        self._rate = self._acceleration = self._goal = ()
        self._emitted = None
        self._stopping = self._seed = False
        self._reasons = ()
        self._braking = None
        if self._recent is not None:
            self._recent.forget()

    def heard(self, status: EpisodeStatus, now: Instant) -> Decisions:
        """
        Take note of the environment's sign of life, and of where its episode stands.

        In lockstep, decide on the next action of a chunk if that is its turn.
        """
        if status.id.digest != self._digest:
            return ()
        self._heard_environment = now.steady
        was_running = self._running
        self._episode = status
        if not self._running:
            self._chunk = None  # nothing of it outlives its episode
        elif not was_running:
            # The policy's time runs from here, not from its arming during the reset.
            self._last_request = now.steady
        return self._resume(now)

    @property
    def _running(self) -> bool:
        episode, lease = self._episode, self._lease
        return (
            episode is not None
            and lease is not None
            and self._braking is None
            and episode.state is EpisodeState.RUNNING
            and episode.id.episode_id == lease.episode_id
        )

    @property
    def _over(self) -> bool:
        """Whether the lease has outlived its episode."""
        episode, lease = self._episode, self._lease
        if lease is None:
            return True
        return episode is not None and (
            episode.id.episode_id != lease.episode_id or episode.state.over
        )

    # What it knows -------------------------------------------------------------------------------

    def measure(
        self, name: str, values: Vector, captured: Stamp | None, now: Instant
    ) -> Decisions:
        """Take a value of an input; in lockstep, decide what was waiting for it."""
        self._latest[name] = Measurement(
            name=name,
            topic=self._topics[name],
            values=values,
            captured=captured,
            received_steady=now.steady,
        )
        if name == OPERATOR:
            return self._operate(now)
        return self._resume(now)

    def advanced(self, report: Advanced, now: Instant) -> Decisions:
        """Take note of how far the world has come (lockstep)."""
        self._advanced = report
        return self._resume(now)

    def emergency_stop(self, pressed: bool, now: Instant) -> Decisions:
        """Take the state of the emergency stop; pressed once, it stays latched."""
        self._pressed = pressed
        if pressed and not self._emergency:
            self._emergency = True
            return self.tick(now)
        return ()

    def clear_emergency_stop(self) -> None:
        """
        Unlatch the emergency stop.

        The lease ends with it: a new arming is needed before anything moves.

        Raises
        ------
        Refused
            If it is still pressed, or the episode that it stopped has not ended.

        """
        if self._pressed:
            raise Refused('Expect a released emergency stop, actually: it is still pressed.')
        if self._running:
            raise Refused('Expect an ended episode, actually: it still runs. Wait for its ending.')
        self._emergency = False
        self._end_lease()

    def begin_ticking(self) -> None:
        """Take note that the protecting timer starts: how long it did not run is no lateness."""
        self._health.forget()

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """The least and the greatest command, as strict as they are now."""
        return self._limits.low, self._limits.high

    def competing(self, count: int) -> None:
        """Take the number of publishers on the command topics that are not this gate."""
        self._health.competing = count

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
        if self._lease is not None:
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
                'Expect a group of the action with a `probe`, in realtime, actually: none.',
                ResultCode.UNSUPPORTED,
            )
        if self._emergency:
            raise Refused(
                'Expect a released emergency stop, actually: it is latched.',
                ResultCode.EMERGENCY_STOPPED,
            )
        if self._lease is not None:
            raise Refused(
                f'Expect no lease, actually: {self._lease.holder!r} holds one.',
                ResultCode.LEASE_HELD,
            )
        if self.probing:
            raise Refused(
                'Expect no probe of the drivers, actually: one goes on. Wait for its end.',
                ResultCode.PROBING,
            )
        if self._moving:
            raise Refused('Expect a robot at rest, actually: it still brakes. Ask again.')
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
        situation, seeded = self._situation(Trigger.PROBE, now)
        measured = measured_command(self._limits, situation.measurements)
        probe.look(measured, self._emitted, now)
        if not probe.running:
            # It brakes by itself, or failed to: either way the gate brings it to rest.
            self._braking = StepId(digest=self._digest, agent=self._agent)
            return ()
        wanted: Vector | None = self._goal or None
        if probe.phase is Phase.MOVING:
            if measured is None:
                if self._emitted is None:
                    return ()  # nobody knows yet what the robot does
                probe.fail('what the robot does was no longer known')
                self._braking = StepId(digest=self._digest, agent=self._agent)
                return ()
            wanted = probe.command(safe_from(self._limits.safe, measured))
        ruling = rule(self._limits, situation, wanted)
        if ruling.verdict is Verdict.STOPPED:
            reasons = ', '.join(reason.name.lower() for reason in _why(ruling))
            if self._emitted is None and not self._emergency:
                probe.held_back = reasons
                return ()  # nothing moves yet: what is missing may still come
            probe.fail(f'the robot had to be stopped ({reasons})')
            self._braking = StepId(digest=self._digest, agent=self._agent)
        elif probe.phase is Phase.SILENT:
            return ()  # what is measured is how long the driver goes on without a command
        return (self._emit(ruling, situation, seeded, now),)

    # What it decides -----------------------------------------------------------------------------

    def request(self, request: ActionRequest, now: Instant) -> Decisions:
        """
        Decide on a request, at once.

        In lockstep, as soon as the sensors of its observation are here.
        """
        if (
            self._contract.pacing is not Pacing.LOCKSTEP
            # Whether the episode runs may still change; whose request it is may not.
            or self._refusals(request, running=True)
            or not self._awaits(request.id.episode_id, request.id.step)
        ):
            return self._decide(request, now, now)
        waiting = self._pending
        if waiting is not None and request.sequence < waiting[0].sequence:
            return self._reject(request, now, (_out_of_order(request, waiting[0].sequence + 1),))
        self._pending = (request, now)
        if waiting is not None and waiting[0].sequence < request.sequence:
            return self._reject(*waiting, (_out_of_order(waiting[0], request.sequence),))
        return ()

    def _refusals(self, request: ActionRequest, *, running: bool) -> tuple[RuleResult, ...]:
        return well_formed(
            request.action,
            self._contract.action_size,
            request.horizon,
            self._contract.horizon,
        ) or authority(
            request, lease=self._lease, running=running, digest=self._digest, agent=self._agent
        )

    def _awaits(self, episode_id: str, step: int) -> bool:
        """Return whether sensors of the observation before a step are still to come (lockstep)."""
        report = self._advanced
        if report is None or report.report.id.episode_id != episode_id:
            return True
        if report.report.id.step < step - 1:
            return True
        return bool(self._awaited_topics(report))

    def _awaited_topics(self, report: Advanced) -> tuple[str, ...]:
        seen: dict[str, int] = {}
        for name in (*self._needed, *self._feedback):
            # Two inputs of one topic are listened to apart: both must have its last message.
            latest, topic = self._latest.get(name), self._topics[name]
            captured = None if latest is None else latest.captured
            last = -1 if captured is None else captured.nanoseconds
            seen[topic] = min(seen.get(topic, last), last)
        return awaited(report.report, seen.keys(), seen)

    def _resume(self, now: Instant) -> Decisions:
        if self._pending is None:
            lockstep = self._contract.pacing is Pacing.LOCKSTEP
            return self._next_of_chunk(now) if lockstep else ()
        request, received = self._pending
        if self._awaits(request.id.episode_id, request.id.step):
            return ()
        self._pending = None
        return self._decide(request, received, now)

    def _decide(self, request: ActionRequest, received: Instant, now: Instant) -> Decisions:
        refusals = self._refusals(request, running=self._running)
        if not refusals:
            assert self._lease is not None  # authority refuses without one
            latency = _age(request.observed, received, self._contract.pacing)
            self._health.asked(latency)
            if self._taken_over:
                # Refused once and for all: sent again, it is no answer to what the hand has done.
                self._lease = replace(self._lease, last_sequence=request.sequence)
                # In lockstep the world moves from request to request, and so does the operator.
                lockstep = self._contract.pacing is Pacing.LOCKSTEP
                by_hand = self._by_hand(now) if lockstep and self._switch_held(now) else ()
                refused = self._reject(request, received, precedence(taken_over=True))
                return (*by_hand, *refused)
            refusals = age(latency, self._contract.safety.max_action_age)
        if refusals:
            return self._reject(request, received, refusals)
        assert self._lease is not None  # authority refuses without one
        self._lease = replace(self._lease, last_sequence=request.sequence)
        return self._act(Chunk(request, received, 0, now.steady), Trigger.REQUEST, now)

    def _act(self, chunk: Chunk, trigger: Trigger, now: Instant) -> Decisions:
        """Decide on one action of a request; the others, if it has more, wait for their turn."""
        ruling, situation, seeded = self._rule(
            *self._situation(trigger, now), now, chunk.action(self._contract.action_size)
        )
        if ruling.verdict is not Verdict.REJECTED:
            # Whoever asks for nothing that may be published is as good as silent.
            self._last_request = now.steady
        # The newest word counts: it takes the place of what is left of an older chunk.
        rejected = ruling.verdict is Verdict.REJECTED
        self._chunk = None if rejected else chunk.next(self._contract.period)
        decision = self._emit(
            ruling,
            situation,
            seeded,
            now,
            request=chunk.request,
            received=chunk.received,
            index=chunk.index,
        )
        return (decision,)

    def _rule(
        self, situation: Situation, seeded: bool, now: Instant, wanted: Vector
    ) -> tuple[Ruling, Situation, bool]:
        """Rule on what somebody asks for; return in which situation, and whether seeded, too."""
        ruling = rule(self._limits, situation, wanted)
        if (
            ruling.verdict is Verdict.STOPPED
            and seeded
            and self._command is not None
            and not self._driver_took_over(now)
        ):
            # A stop takes from what was commanded. From a measured state it could ask for more
            # than that: for what the robot coasts at, or a broken sensor makes up.
            braking = replace(
                situation,
                previous=self._command,
                previous_rate=self._rate,
                previous_acceleration=self._acceleration,
            )
            instead = rule(self._limits, braking, wanted)
            if instead.verdict is Verdict.STOPPED:
                return instead, braking, False
        return ruling, situation, seeded

    def _next_of_chunk(self, now: Instant) -> Decisions:
        """Decide on the next action of a chunk if its turn has come."""
        chunk = self._chunk
        if chunk is None:
            return ()
        if self._contract.pacing is Pacing.REALTIME:
            if now.steady < chunk.due:
                return ()
        elif (
            self._episode is None
            or self._episode.id.step != chunk.step - 1
            or self._awaits(chunk.request.id.episode_id, chunk.step)
        ):
            return ()
        return self._act(chunk, Trigger.CHUNK, now)

    def _reject(
        self, request: ActionRequest, received: Instant, results: tuple[RuleResult, ...]
    ) -> Decisions:
        situation, seeded = self._situation(Trigger.REQUEST, received)
        ruling = Ruling(verdict=Verdict.REJECTED, results=results)
        return (
            self._emit(ruling, situation, seeded, received, request=request, received=received),
        )

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
        decisions = []
        for action in actions:
            situation, seeded = self._situation(Trigger.REQUEST, now)
            situation = replace(situation, overruns=self._health.overruns_if_in_time)
            refusals = well_formed(action, self._contract.action_size) or (
                precedence(taken_over=self._taken_over) if self._running else not_armed()
            )
            if refusals:
                ruling = Ruling(verdict=Verdict.REJECTED, results=refusals)
            else:
                ruling, situation, seeded = self._rule(situation, seeded, now, action)
            decision = self._decision(ruling, situation, seeded)
            decisions.append(replace(decision, requested_action=action))
        return tuple(decisions)

    def reach(self, now: Instant) -> tuple[Vector, Vector]:
        """
        Return the least and the greatest command that bounds and rate allow now, by dimension.

        Acceleration, jerk, obstacles and workspaces may allow less: see :meth:`plan`.
        """
        situation, _ = self._situation(Trigger.REQUEST, now)
        limits, previous = self._limits, situation.previous
        if previous is None:
            return limits.low, limits.high
        turned = {i for rotation in limits.rotations for i in rotation.dimensions}

        def reached(bounds: Vector) -> Vector:
            return tuple(
                bound if i in turned else towards(was, bound, rate * situation.time_step)
                for i, (was, bound, rate) in enumerate(
                    zip(previous, bounds, limits.rate, strict=True)
                )
            )

        return reached(limits.low), reached(limits.high)

    def _operate(self, now: Instant) -> Decisions:
        """Decide on a command of the operator, if his switch is held; take over, and give back."""
        held = self._switch_held(now)
        if held is not self._taken_over:
            # Whoever takes over begins from what the robot does, whatever was asked for last.
            self._taken_over = held
            self._chunk = None
            self._goal = self._command or ()
            self._seed = self._command is not None
        if not held or not self._running or self._contract.pacing is Pacing.LOCKSTEP:
            return ()
        return self._by_hand(now)

    def _by_hand(self, now: Instant) -> Decisions:
        """Decide on what the operator asks for."""
        command = self._latest[OPERATOR].values[:-1]
        situation, seeded = self._situation(Trigger.OPERATOR, now)
        malformed = well_formed(command, self._contract.command_size)
        if malformed:
            ruling = Ruling(verdict=Verdict.REJECTED, results=malformed)
        else:
            ruling, situation, seeded = self._rule(situation, seeded, now, command)
        if ruling.verdict is not Verdict.REJECTED:
            self._last_request = now.steady
        return (self._emit(ruling, situation, seeded, now),)

    def _switch_held(self, now: Instant) -> bool:
        operator = self._contract.safety.operator
        if operator is None:
            return False
        measurement = self._aged(OPERATOR, now)
        return (
            measurement.age is not None
            and measurement.age <= operator.timeout
            and measurement.values[-1] >= HELD
        )

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
        if self._lease is None and self._command is None:
            return ()
        if self._pending is not None:
            request, received = self._pending
            if (now.steady - received.steady) / NANOSECONDS > self._contract.lockstep_deadline:
                self._pending = None
                return self._reject(
                    request,
                    received,
                    (_never_came(self._contract.lockstep_deadline),),
                )
        if self._taken_over and not self._switch_held(now):
            self._operate(now)  # his hand is silent: he has let go
        situation, seeded = self._situation(Trigger.TIMER, now)
        situation = replace(situation, stopped=self._stopping and self._running)
        if self._over or self._braking is not None:
            return self._wind_down(situation, seeded, now)
        if not self._running:
            return ()  # armed, and the reset goes on: nothing is published
        # A command that the driver has braked from since is nothing to be held.
        in_force = None if self._command is None or self._driver_took_over(now) else self._goal
        ruling = rule(self._limits, situation, in_force)
        if ruling.verdict is Verdict.STOPPED:
            if not ruling.results:
                return ()  # nothing was asked for yet, and nothing asks for a stop
            told = self._stopping and _why(ruling) == self._reasons
            self._stopping = True
            if not ruling.command and told:
                return ()  # nobody knows yet where to stay
            resting = self._command is not None and not self._moving
            if resting and not self._due(now, self._contract.period):
                return ()
            return (self._emit(ruling, situation, seeded, now),)
        if self._contract.pacing is Pacing.LOCKSTEP:
            return ()
        decisions = self._next_of_chunk(now)
        if decisions:
            return decisions
        late = situation.since_request or 0.0
        again = self._contract.safety.republish
        if again is None and late <= self._contract.safety.hold_after:
            return ()
        if not self._due(now, self._contract.period if again is None else again):
            return ()
        return (self._emit(ruling, situation, seeded, now),)

    def _wind_down(self, situation: Situation, seeded: bool, now: Instant) -> Decisions:
        """Brake after the end of a lease; then forget it."""
        decisions: Decisions = ()
        nowhere = False
        if self._moving:
            ruling = rule(self._limits, replace(situation, over=True), None)
            decisions = (self._emit(ruling, situation, seeded, now),)
            # The driver brakes by itself by now, and nobody knows where it is to stay.
            nowhere = not ruling.command
        if nowhere or not self._moving:
            if self._over:
                self._lease = None
            self._forget_command()
        return decisions

    def _due(self, now: Instant, period: float) -> bool:
        return self._emitted is None or now.steady - self._emitted >= period * NANOSECONDS

    def _situation(self, trigger: Trigger, now: Instant) -> tuple[Situation, bool]:
        """
        Return what the rules are to know now, and whether it is seeded.

        Seeded: the previous command was taken from the measured state.
        """
        names = (*self._needed, *self._feedback, *self._operator)
        measurements = {name: self._aged(name, now) for name in names}
        previous, seeded = self._command, False
        if previous is None or self._driver_took_over(now):
            previous = measured_command(self._limits, measurements)
            seeded = previous is not None
        elif trigger is not Trigger.TIMER and (
            self._seed or self._contract.pacing is Pacing.REALTIME
        ):
            # Only for those who ask for something: to hold, or to stop, is about what was
            # commanded, and the robot must not follow its own sensors.
            measured = measured_command(self._limits, measurements)
            if measured is not None and (
                self._seed
                or _apart(previous, nearer_sign(self._limits, measured, previous), self._depart)
            ):
                previous, seeded = measured, True
        return (
            Situation(
                trigger=trigger,
                time_step=self._time_step(now),
                previous=previous,
                previous_rate=() if seeded else self._rate,
                previous_acceleration=() if seeded else self._acceleration,
                emergency_stop=self._emergency,
                since_request=_since(self._last_request, now),
                since_environment=_since(self._heard_environment, now),
                since_tick=self._health.since_tick(now),
                clock_error=self._health.clock_error(now),
                competing=self._health.competing,
                overruns=self._health.overruns,
                recent=() if self._recent is None else self._recent.at(self._robot_time(now)),
                measurements=measurements,
            ),
            seeded,
        )

    def _robot_time(self, now: Instant) -> int:
        """Return the time by which the robot acts, ns: in lockstep only the world's own."""
        if self._contract.pacing is Pacing.LOCKSTEP:
            return now.ros.nanoseconds
        return now.steady

    def _driver_took_over(self, now: Instant) -> bool:
        """
        Return whether a driver has begun to brake by itself since the last command.

        The robot then no longer does what was commanded last: to brake from there, or to go on
        from there, would set a robot in motion that had come to rest.
        """
        timeouts = [
            group.driver_timeout
            for group in self._contract.action
            if group.driver_timeout is not None
        ]
        silence = _since(self._emitted, now)
        return (
            self._contract.pacing is Pacing.REALTIME
            and bool(timeouts)
            and silence is not None
            and silence > min(timeouts)
        )

    def _time_step(self, now: Instant) -> float:
        """
        Return the seconds since the last command, at most one period.

        More would let a pause save up speed; in lockstep a step is a period, however long it took.
        Less than none, from callers whose readings of the clock overtook each other, is none.
        """
        period = self._contract.period
        if self._emitted is None or self._contract.pacing is Pacing.LOCKSTEP:
            return period
        return min(max((now.steady - self._emitted) / NANOSECONDS, 0.0), period)

    def _aged(self, name: str, now: Instant) -> Measurement:
        latest = self._latest.get(name)
        if latest is None:
            return Measurement(name=name, topic=self._topics[name])
        received = (now.steady - latest.received_steady) / NANOSECONDS
        captured = _stamp_age(latest.captured, now)
        if self._contract.pacing is Pacing.LOCKSTEP:
            # The world stands still while the policy thinks: only its own time ages what it
            # measured.
            return replace(latest, age=captured)
        # The worse of the two: a topic that is punctual with old data is as stale as a silent one,
        # and a stamp from the future is no better than one from the past.
        return replace(latest, age=received if captured is None else max(received, abs(captured)))

    def _emit(
        self,
        ruling: Ruling,
        situation: Situation,
        seeded: bool,
        now: Instant,
        *,
        request: ActionRequest | None = None,
        received: Instant | None = None,
        index: int = 0,
    ) -> GateDecision:
        self._sequence += 1
        decision = self._decision(
            ruling, situation, seeded, request=request, received=received, index=index
        )
        if ruling.command:
            self._rate, self._acceleration = ruling.rate, ruling.acceleration
            self._command = ruling.command
            self._emitted = now.steady
            if self._recent is not None:
                self._recent.sent(ruling.command, self._robot_time(now))
            if situation.trigger is not Trigger.TIMER:
                self._seed = False
            if ruling.verdict is Verdict.STOPPED:
                # Until somebody asks for more it stays where it has braked to.
                self._goal = ruling.command
            elif situation.trigger is not Trigger.TIMER:
                self._goal = ruling.wanted
        if ruling.verdict is Verdict.STOPPED:
            self._chunk = None
        if ruling.verdict is not Verdict.REJECTED:
            self._stopping = ruling.verdict is Verdict.STOPPED
            why = _why(ruling)
            if why != (Reason.STILL_STOPPED,):
                self._reasons = why
        return decision

    def _decision(
        self,
        ruling: Ruling,
        situation: Situation,
        seeded: bool,
        *,
        request: ActionRequest | None = None,
        received: Instant | None = None,
        index: int = 0,
    ) -> GateDecision:
        size = self._contract.action_size
        return GateDecision(
            id=self._id()
            if request is None
            else replace(request.id, step=request.id.step + index),
            sequence=self._sequence,
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
            seeded=seeded,
            emergency_stop=situation.emergency_stop,
            armed=self._lease is not None,
            since_request=situation.since_request,
            since_environment=situation.since_environment,
            since_tick=situation.since_tick,
            clock_error=situation.clock_error,
            competing_publishers=situation.competing,
            overruns=situation.overruns,
            tightened=self._tightened,
            recent=situation.recent,
            measurements=tuple(situation.measurements.values()),
            software_version=self._version,
        )

    def _id(self) -> StepId:
        if self._braking is not None:
            return self._braking
        if self._episode is not None and self._lease is not None:
            return replace(self._episode.id, agent=self._agent, episode_id=self._lease.episode_id)
        return StepId(digest=self._digest, agent=self._agent)

    # What it says --------------------------------------------------------------------------------

    def status(self, now: Instant) -> GateStatus:
        """Return the state to be latched for the others."""
        probe = self._probe
        if self._emergency:
            state = GateState.EMERGENCY_STOPPED
        elif probe is not None and probe.running:
            state = GateState.PROBING
        elif self._lease is None:
            state = GateState.DISARMED
        elif self._over or self._stopping or self._braking is not None:
            state = GateState.STOPPING
        else:
            state = GateState.RUNNING if self._running else GateState.ARMED
        lease = self._lease
        return GateStatus(
            digest=self._digest,
            agent=self._agent,
            state=state,
            lease_id='' if lease is None else lease.lease_id,
            episode_id='' if lease is None else lease.episode_id,
            holder='' if lease is None else lease.holder,
            taken_over=self._taken_over,
            sequence=self._sequence,
            command=self._command or (),
            reasons=self._reasons if self._stopping else (),
            competing_publishers=self._health.competing,
            driver_timeouts=() if probe is None else probe.timeouts,
            tightened=self._tightened,
            taken=now,
        )


def _recent(contract: Contract) -> Recent | None:
    """Return the memory of what was sent, if a rule asks for it."""
    if not contract.safety.workspaces:
        return None
    fastest = tuple(
        max(abs(low), abs(high))
        for low, high in zip(contract.flat('low'), contract.flat('high'), strict=True)
    )
    return Recent(looks_back(contract.safety, fastest))


def _why(ruling: Ruling) -> tuple[Reason, ...]:
    """Return the reasons of a stop, each once."""
    return tuple(dict.fromkeys(r.reason for r in ruling.results if r.outcome is Verdict.STOPPED))


def _apart(one: Vector, other: Vector, most: Vector) -> bool:
    return any(abs(a - b) > limit for a, b, limit in zip(one, other, most, strict=True))


def _since(then: int | None, now: Instant) -> float | None:
    return None if then is None else (now.steady - then) / NANOSECONDS


def _stamp_age(captured: Stamp | None, now: Instant) -> float | None:
    try:
        duration = between(captured, now.ros)
    except ClockMismatch:
        return None
    return None if duration is None else duration.seconds


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
    return _stamp_age(observed.ros, received)


def _out_of_order(request: ActionRequest, next_sequence: int) -> RuleResult:
    return RuleResult(
        rule='authority',
        outcome=Verdict.REJECTED,
        reason=Reason.OUT_OF_ORDER,
        value=float(request.sequence),
        limit=float(next_sequence),
    )


def _never_came(deadline: float) -> RuleResult:
    return RuleResult(
        rule='sensors',
        outcome=Verdict.REJECTED,
        reason=Reason.OBSERVATION_TIMEOUT,
        limit=deadline,
        unit='s',
    )
