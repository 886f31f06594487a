# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The safety gate of one agent, as a function: state and event in, state and decisions out.

It reads no clock and keeps nothing: a run is its events, and to feed them again is to run it
again. The lease is kept by :mod:`boundary_env_ros.core.gate.lease`, what it received of
its sensors by :mod:`boundary_env_ros.core.gate.sensor_readings`, what it sent by
:mod:`boundary_env_ros.core.gate.command_history`; what may be sent say the
:mod:`boundary_env_ros.core.gate.rules`. Here the events come together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import OnForeignPublisher, STOP_TYPE
from boundary_env_ros.core.gate.driver_probe import DriverProbe, Phase
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    ClearEmergencyStop,
    CommandPublished,
    Deactivate,
    EmergencyStop,
    EpisodeStatusReceived,
    Event,
    ForeignCommand,
    Measured,
    ProbeDrivers,
    PublishersSeen,
    Request,
    Tick,
    Tighten,
    TimerStarted,
    WorldMoved,
)
from boundary_env_ros.core.gate.gate_state import Chunk, ReducerState
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.admission import (
    latency,
    Lease,
    not_accepted,
    precedence,
    well_formed,
)
from boundary_env_ros.core.gate.rules.braking import safe_from, towards
from boundary_env_ros.core.gate.rules.evaluate import hold, rule, stop_in_silence
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.gate.rules.measured import measured_command
from boundary_env_ros.core.gate.rules.runtime_limits import (
    refuse_looser,
    refuse_too_slow,
    tightened_limits,
)
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    NOT_CONSIDERED,
    OPERATOR,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.timebase import ClockReading, elapsed, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.frozen import replace

Decisions = tuple[GateDecision, ...]
Step = tuple[ReducerState, Decisions]


class Reducer:
    """
    What the gate of one agent does at an event.

    Parameters
    ----------
    contract, digest
        The contract and its digest.
    agent
        Whose gate it is.
    software_version
        Goes into every decision.

    """

    def __init__(
        self, contract: Contract, *, digest: str, agent: str, software_version: str = ''
    ) -> None:
        self._contract = contract
        self._agent = agent
        self._version = software_version
        self._lockstep = contract.is_lockstep
        self._foreign = contract.safety.foreign_publisher
        self._judge = Judge(contract, digest=digest)
        #: Whether the drivers are probed before the first arming. In lockstep the world stands
        #: still, and no driver's time runs out.
        self.to_probe = not self._lockstep and any(
            group.driver_timeout_probe for group in contract.action
        )
        #: What it does at each kind of event.
        self._on: Mapping[type[Event], Callable[[ReducerState, Any], Step]] = {
            Arm: self._arm,
            EpisodeStatusReceived: self._receive_status,
            EmergencyStop: self._press,
            ClearEmergencyStop: self._clear,
            Tighten: self._tighten,
            ProbeDrivers: self._begin_probe,
            Measured: self._measure,
            WorldMoved: self._advance,
            PublishersSeen: self._see_publishers,
            ForeignCommand: self._answer_foreign,
            CommandPublished: self._note_publication,
            Request: self._request,
            TimerStarted: self._start_timer,
            Tick: self._run_timer,
            Deactivate: self._deactivate,
        }

    def step(self, state: ReducerState, event: Event) -> Step:
        """
        Return what a state becomes by an event, and what the gate decides then.

        The node publishes the command of a decision, then the decision, and lets
        ``CommandPublished`` follow.

        Raises
        ------
        RequestRejected
            If the event asks for something that is refused; the state stays as it is.

        """
        return self._on[type(event)](state, event)

    # Lease and episode ---------------------------------------------------------------------------

    def _arm(self, state: ReducerState, event: Arm) -> Step:
        """Grant the lease for one episode, to the caller that arms the gate for it."""
        lease_state, now = state.lease_state, event.now
        lease_state.check(event.digest, event.agent)
        self._refuse_unprobed(state)
        lease_state.check_released()
        self._refuse_unpublished(state)
        if lease_state.lease_of(event.episode_id, event.client) is not None:
            return state, ()
        self._refuse_unavailable(state, now)
        lease = Lease(lease_id=event.lease_id, holder=event.client, episode_id=event.episode_id)
        return state.under_lease(lease, now), ()

    def _refuse_unprobed(self, state: ReducerState) -> None:
        """Refuse an arming while it is not known that the drivers stop by themselves."""
        probe = state.probe
        if not self.to_probe or (probe is not None and probe.phase is Phase.DONE):
            return
        if state.probing:
            raise RequestRejected(
                'The timeout of the drivers is being measured. Ask again in a few seconds.',
                ResultCode.PROBING,
            )
        raise RequestRejected(
            'The timeout of the drivers is not known: '
            + (f'the probe failed: {probe.why}. ' if probe else 'it was not measured. ')
            + 'Start the nodes with `boundary-env up --probe`, or run `boundary-env operator '
            '--probe`: the robot moves by the command `driver_timeout_probe` of the contract.',
            ResultCode.NOT_PROBED,
        )

    def _refuse_unpublished(self, state: ReducerState) -> None:
        """
        Refuse an arming while a press of the emergency stop could not be received.

        In lockstep the robot is simulated, and moves by one step at a time, as it is asked to.
        """
        topic = state.health.unpublished
        if topic and not self._lockstep:
            raise RequestRejected(
                f'The emergency stop has no publisher (expected one of {STOP_TYPE} on '
                f'{topic}, got none); start its driver, mend `safety.emergency_stop` in the '
                'contract, or write `none` there if the robot has no such topic.',
                ResultCode.SENSOR_MISSING,
            )

    def _refuse_unavailable(self, state: ReducerState, now: ClockReading) -> None:
        """
        Refuse an arming while a sensor that is needed is not received, as by a gate that is new.

        In lockstep the world sends when it is reset, which is after the arming.
        """
        unavailable = () if self._lockstep else state.readings.unavailable(now)
        if unavailable:
            raise RequestRejected(
                f'Sensors that the gate needs are missing: {", ".join(unavailable)}. '
                'Start what publishes them, or mend their topics in the contract; of those that '
                'are heard, synchronise the clocks.',
                ResultCode.SENSOR_MISSING,
            )

    def _receive_status(self, state: ReducerState, event: EpisodeStatusReceived) -> Step:
        """
        Take note of where the episode of the environment stands.

        In lockstep, decide on the next action of a chunk if that is its turn, or to hold if the
        step is the turn of another agent.
        """
        status, lease_state, now = event.status, state.lease_state, event.now
        if (status.id.digest, status.id.agent) != (lease_state.digest, lease_state.agent):
            return state, ()
        lease = lease_state.lease
        if status.state.over and lease is not None and status.id.episode_id != lease.episode_id:
            return state, ()  # the end of another episode ends nothing of this one
        was_running, before = lease_state.running, lease_state.episode
        lease_state = replace(lease_state, episode=status)
        state = replace(state, lease_state=lease_state, status_received=now.steady)
        if before is None or before.id != status.id:
            # What the environment says may be late, and is stamped where both are on one host.
            ago = elapsed(status.stamp, now) or 0.0
            state = replace(state, closed=now.steady - round(max(0.0, ago) * NANOSECONDS))
        if not lease_state.running:
            state = replace(state, chunk=None)  # nothing of it outlives its episode
        elif not was_running:
            # The policy's time runs from here, not from its arming during the reset.
            state = replace(state, last_request=now.steady)
        return self._resume(state, event)

    def _press(self, state: ReducerState, event: EmergencyStop) -> Step:
        lease_state = state.lease_state.after_press(event.pressed)
        latches = lease_state.emergency and not state.lease_state.emergency
        state = replace(state, lease_state=lease_state)
        return self._run_timer(state, event) if latches else (state, ())

    def _clear(self, state: ReducerState, event: ClearEmergencyStop) -> Step:
        return replace(state, lease_state=state.lease_state.cleared()).without_lease(), ()

    def _tighten(self, state: ReducerState, event: Tighten) -> Step:
        limits = tightened_limits(self._judge.limits, event.runtime_limits)
        leased = state.lease_state.lease is not None
        if not leased or limits.rate != state.limits.rate:
            # While it moves, it may come from where the contract lets it be the fastest.
            rests = state.commands.rests(state.limits)
            before = self._judge.limits if not rests else state.limits if leased else limits
            refuse_too_slow(limits, before)
        if leased or event.only_stricter:
            numbers = {'low': limits.low, 'high': limits.high, 'rate': limits.rate}
            timeout = limits.safety.command_timeout
            why = (
                'it is while a lease is out'
                if leased
                else 'it is; `boundary-env operator --loosen` needs the key'
            )
            refuse_looser(state.limits, numbers, timeout, why)
        return replace(state, limits=limits, runtime_limits=event.runtime_limits), ()

    # What is noticed -----------------------------------------------------------------------------

    def _measure(self, state: ReducerState, event: Measured) -> Step:
        """Take a value of an input; in lockstep, decide what was waiting for it."""
        readings = state.readings.after(event.name, event.values, event.captured, event.now)
        state = replace(state, readings=readings)
        act = self._operate if event.name == OPERATOR else self._resume
        return act(state, event)

    def _advance(self, state: ReducerState, event: WorldMoved) -> Step:
        readings = replace(state.readings, advanced=event.report)
        return self._resume(replace(state, readings=readings), event)

    def _see_publishers(self, state: ReducerState, event: PublishersSeen) -> Step:
        health = replace(
            state.health,
            foreign_commands=event.foreign_commands,
            foreign_publishers=event.foreign_publishers,
            unpublished=event.unpublished,
        )
        return replace(state, health=health), ()

    def _answer_foreign(self, state: ReducerState, event: ForeignCommand) -> Step:
        """
        Decide on a command of another, as the timer would now.

        A stop stands; the caller says it again. It is decided anew as often as by the timer while
        it brakes, at rest once a period.
        """
        if self._foreign is OnForeignPublisher.REPORT:
            return state, ()
        lease_state = state.lease_state
        if not state.health.foreign_commands:
            state = replace(state, health=replace(state.health, foreign_commands=1))
        if not (lease_state.running or lease_state.braking or state.moving or state.probing):
            if self._foreign is OnForeignPublisher.STOP:
                return state, ()  # people drive by hand between two episodes
            # It may have moved since the last command: a place that stops stays where it is now.
            state = _braking_for_nobody(replace(state, commands=state.commands.dropped()))
        elif state.answers_foreign:
            safety = self._contract.safety
            if not state.commands.due(
                event.now, safety.gate_period if state.moving else self._contract.period
            ):
                return state, ()
        return self._run_timer(state, event)

    def _start_timer(self, state: ReducerState, event: TimerStarted) -> Step:
        # A deactivation that was not brought to its end left the rest to the drivers.
        return replace(_without_leftovers(state), health=replace(state.health, ticked=None)), ()

    def _note_publication(self, state: ReducerState, event: CommandPublished) -> Step:
        return replace(state, commands=state.commands.after_publication(event.now)), ()

    # The probe of the drivers --------------------------------------------------------------------

    def _begin_probe(self, state: ReducerState, event: ProbeDrivers) -> Step:
        """Begin to measure the timeouts of the drivers; the protecting timer goes on with it."""
        if not self.to_probe:
            raise RequestRejected(
                'There is nothing to probe (expected a group of the action with a '
                '`driver_timeout_probe`, in '
                'realtime).',
                ResultCode.UNSUPPORTED,
            )
        state.lease_state.check_released()
        lease = state.lease_state.lease
        if lease is not None:
            raise RequestRejected(
                f'{lease.holder!r} holds a lease (expected none).', ResultCode.LEASE_HELD
            )
        if state.probing:
            raise RequestRejected(
                'A probe of the drivers goes on. Wait for its end.',
                ResultCode.PROBING,
            )
        if state.moving:
            raise RequestRejected('The robot still brakes. Ask again.')
        probe = DriverProbe.begun(self._contract, event.now)
        return replace(state.without_command(), probe=probe), ()

    def _go_on_probing(self, state: ReducerState, probe: DriverProbe, at: Event) -> Step:
        inputs = self._inputs(state, Trigger.PROBE, at)
        measured = measured_command(state.limits, inputs.measurements)
        emitted = None if state.commands.command is None else state.commands.emitted
        probe = probe.after(measured, emitted, at.now)
        # A driver that brakes sooner than it declares must not be sent a ramp from the probe.
        commands = replace(state.commands, braked=probe.braked)
        state = replace(state, commands=commands)
        if not probe.running:
            # It brakes by itself, or failed to: either way the gate brings it to rest.
            return _braking_for_nobody(replace(state, probe=probe)), ()
        wanted: Vector | None = state.commands.goal or None
        if probe.phase is Phase.MOVING:
            if measured is None:
                if emitted is None:
                    return replace(state, probe=probe), ()  # what the robot does is not known yet
                probe = probe.failed('what the robot does was no longer known')
                return _braking_for_nobody(replace(state, probe=probe)), ()
            begins = inputs.previous_command or measured
            wanted = probe.command(safe_from(state.limits.safe, begins))
        inputs = self._inputs(state, Trigger.PROBE, at)
        output, inputs = self._rule(state, inputs, at, wanted)
        state = replace(state, probe=probe)
        if output.verdict is Verdict.STOPPED:
            reasons = ', '.join(reason.name.lower() for reason in _why(output))
            if emitted is None and not state.lease_state.emergency:
                # Nothing moves yet: what is missing may still come.
                return replace(state, probe=replace(probe, blocked_by=reasons)), ()
            probe = probe.failed(f'the robot had to be stopped ({reasons})')
            state = _braking_for_nobody(replace(state, probe=probe))
        elif probe.phase is Phase.SILENT:
            return state, ()  # what is measured is how long the driver goes on without a command
        return self._emit(state, output, inputs, at)

    # What is asked for ---------------------------------------------------------------------------

    def _request(self, state: ReducerState, event: Request) -> Step:
        """
        Decide on a request, at once.

        In lockstep, as soon as the sensors of its observation are here.
        """
        request, now = event.request, event.now
        if not (self._lockstep and state.readings.awaits(request.id.episode_id, request.id.step)):
            return self._decide(state, request, now, event)
        overtaken = state.pending
        if overtaken is not None and overtaken[0] == request:
            return state, ()  # it was sent again
        # Whether the episode runs may still change; whose request it is may not.
        inputs = replace(
            self._inputs(state, Trigger.REQUEST, event, Chunk(request, now, 0, 0)), running=True
        )
        if not_accepted(self._judge.refusals(self._agent, inputs, request, now, now)):
            return self._decide(state, request, now, event)
        state = replace(state, pending=(request, now))
        return (state, ()) if overtaken is None else self._decide(state, *overtaken, event)

    def _resume(self, state: ReducerState, at: Event) -> Step:
        """Go on with what waited for its turn or its sensors (lockstep)."""
        if state.pending is None:
            if not self._lockstep:
                return state, ()
            state, decisions = self._next_of_chunk(state, at)
            return (state, decisions) if decisions else self._hold_turn(state, at)
        request, received = state.pending
        if state.readings.awaits(request.id.episode_id, request.id.step):
            return state, ()
        return self._decide(replace(state, pending=None), request, received, at)

    def _decide(
        self,
        state: ReducerState,
        request: ActionRequest,
        received: ClockReading,
        at: Event,
        *,
        in_vain: bool = False,
    ) -> Step:
        requested = Chunk(request, received, 0, at.now.steady)
        inputs = self._inputs(state, Trigger.REQUEST, at, requested)
        refusals = self._judge.refusals(
            self._agent, inputs, request, received, at.now, in_vain=in_vain
        )
        if not_accepted(refusals):
            return self._reject(state, requested, refusals, inputs, at)
        seconds = latency(request, received, lockstep=self._lockstep)
        health = state.health.after_request(seconds)
        if health is not state.health:
            state, inputs = (
                replace(state, health=health),
                replace(inputs, overruns=health.overruns),
            )
        if any(result.reason is Reason.OPERATOR for result in refusals):
            # Refused once and for all: sent again, it is no answer to what the hand has done.
            state, decisions = self._yield_to_operator(state, requested, Trigger.REQUEST, at)
            return replace(state, lease_state=state.lease_state.after_request(request)), decisions
        if refusals:
            return self._reject(state, requested, refusals, inputs, at)
        state = replace(state, lease_state=state.lease_state.after_request(request))
        return self._act(state, requested, inputs, at)

    def _act(self, state: ReducerState, chunk: Chunk, inputs: RuleInput, at: Event) -> Step:
        """Decide on one action of a request; the others, if it has more, wait for their turn."""
        output, inputs = self._rule(state, inputs, at, chunk.request.action_for(chunk.step))
        state = replace(state, lease_state=state.lease_state.acted_on(chunk.step))
        # A source whose requests may not be published is as good as silent. The newest request
        # counts: it takes the place of what is left of an older chunk.
        rejected = output.verdict is Verdict.REJECTED
        state = replace(
            state,
            last_request=state.last_request if rejected else at.now.steady,
            chunk=None if rejected else chunk.next(self._contract.period),
        )
        if chunk.request.payload and output.verdict in (Verdict.ADMITTED, Verdict.LIMITED):
            sent = self._judge.documents.after(state.documents, chunk.request, chunk.received)
            state = replace(state, documents=sent)
        return self._emit(state, output, inputs, at, chunk)

    def _rule(
        self, state: ReducerState, inputs: RuleInput, at: Event, wanted: Vector | None
    ) -> tuple[RuleOutput, RuleInput]:
        """
        Rule on a request or on silence; return the inputs that it was ruled on by, too.

        A stop takes from what was commanded, as far as that is in force; in and behind a probe,
        which may show that a driver does not stop by itself, also where nothing else is known.
        """
        output = rule(state.limits, inputs, wanted)
        if output.verdict is not Verdict.STOPPED:
            return output, inputs
        commands, measurements, seeded = state.commands, inputs.measurements, False
        # Nobody but a probe moves anything outside of an episode.
        probed = not state.lease_state.id.episode_id
        if probed and not output.command:
            previous = commands.unheeded(state.limits, measurements, at.now)
        elif inputs.seeded:
            previous, seeded = commands.previous(state.limits, Trigger.TIMER, measurements, at.now)
        else:
            previous = ()
        if not previous or seeded:
            return output, inputs
        commanded = replace(
            inputs,
            previous_command=previous,
            seeded=False,
            previous_rate=commands.rate,
            previous_acceleration=commands.acceleration,
        )
        stop = rule(state.limits, commanded, wanted)
        if stop.verdict is Verdict.STOPPED and stop.results:
            return stop, commanded
        return output, inputs

    def _next_of_chunk(self, state: ReducerState, at: Event) -> Step:
        """Decide on the next action of a chunk if its turn has come."""
        chunk, episode = state.chunk, state.lease_state.episode
        if chunk is None:
            return state, ()
        if self._lockstep and chunk.step <= state.readings.reached(chunk.request.id.episode_id):
            return replace(state, chunk=None), ()  # the world went on without it
        if not self._lockstep:
            if at.now.steady < chunk.due:
                return state, ()
        elif (
            episode is None
            or episode.id.step != chunk.step - 1
            or state.readings.awaits(chunk.request.id.episode_id, chunk.step)
        ):
            return state, ()
        if state.readings.switch_held(at.now):
            state = replace(state, lease_state=state.lease_state.acted_on(chunk.step))
            return self._yield_to_operator(state, chunk, Trigger.CHUNK, at)
        return self._act(state, chunk, self._inputs(state, Trigger.CHUNK, at), at)

    def _hold_turn(self, state: ReducerState, at: Event) -> Step:
        """Decide to hold, once, if the next step is the turn of another agent (lockstep)."""
        episode = state.lease_state.episode
        if not self._contract.agent_order or episode is None or not state.lease_state.running:
            return state, ()
        step = (episode.id.episode_id, episode.id.step + 1)
        waits = state.held_for == step or state.readings.awaits(*step)
        if self._contract.has_turn(self._agent, step[1]) or waits:
            return state, ()
        # The gate does not wait for this policy now, so its time does not run.
        state = replace(state, held_for=step, last_request=at.now.steady)
        inputs = self._inputs(state, Trigger.TIMER, at)
        inputs = replace(inputs, since_request=None, others_turn=True)
        commands = state.commands.by_source(state.readings.switch_held(at.now))
        wanted = None if commands.command is None else commands.goal
        if not wanted and inputs.previous_command:
            # Nothing was asked for yet.
            wanted = safe_from(state.limits.safe, inputs.previous_command)
        return self._emit(state, rule(state.limits, inputs, wanted or None), inputs, at)

    def _reject(
        self,
        state: ReducerState,
        requested: Chunk,
        results: tuple[RuleResult, ...],
        inputs: RuleInput,
        at: Event,
    ) -> Step:
        """Refuse what was asked for: nothing is published because of it."""
        request, ignored = requested.request, (*NOT_CONSIDERED, Reason.NOT_ARMED)
        if self._lockstep and not any(result.reason in ignored for result in results):
            # The world moves on by it, with the command in force.
            step = min(request.id.step, state.readings.reached(request.id.episode_id) + 1)
            lease_state = state.lease_state.acted_on(step)
            state = replace(state, lease_state=lease_state, chunk=None)
        output = RuleOutput(verdict=Verdict.REJECTED, results=results)
        return self._emit(state, output, inputs, at, requested)

    # The operator --------------------------------------------------------------------------------

    def _operate(self, state: ReducerState, at: Event) -> Step:
        """Decide on a command of the operator, if the switch is held."""
        teleoperated = state.readings.switch_held(at.now)
        if not teleoperated or not state.lease_state.running or self._lockstep:
            return state, ()
        return self._by_hand(state, at)

    def _yield_to_operator(
        self, state: ReducerState, requested: Chunk, trigger: Trigger, at: Event
    ) -> Step:
        """
        Refuse an action of the policy while an operator has the robot.

        In lockstep the world moves from action to action, and so does the operator.
        """
        state, by_hand = self._by_hand(state, at) if self._lockstep else (state, ())
        inputs = self._inputs(state, trigger, at, requested)
        output = RuleOutput(verdict=Verdict.REJECTED, results=precedence(teleoperated=True))
        state, refused = self._emit(state, output, inputs, at, requested)
        return replace(state, chunk=None), (*by_hand, *refused)

    def _by_hand(self, state: ReducerState, at: Event) -> Step:
        """Decide on what the operator asks for."""
        command = state.readings.by_hand
        inputs = self._inputs(state, Trigger.OPERATOR, at)
        malformed = well_formed(command, self._contract.command_size)
        if malformed:
            output = RuleOutput(verdict=Verdict.REJECTED, results=malformed)
        else:
            output, inputs = self._rule(state, inputs, at, command)
        if output.verdict is not Verdict.REJECTED:
            state = replace(state, last_request=at.now.steady)
        return self._emit(state, output, inputs, at)

    # Silence -------------------------------------------------------------------------------------

    def _run_timer(self, state: ReducerState, at: Event) -> Step:
        state, decisions = self._tick(state, at)
        return replace(state, health=state.health.after_tick(at.now)), decisions

    def _tick(self, state: ReducerState, at: Event) -> Step:
        """
        Return what the timer makes the gate decide: what is asked first is answered first.

        A probe of the drivers goes on; a request whose sensors never came is refused; what a lease
        has left is braked; a robot that must stop is stopped, by the rules in their order; and a
        command that is in force goes on, by the next action of its chunk or by itself.
        """
        if state.probe is not None and state.probe.running:
            return self._go_on_probing(state, state.probe, at)
        idle = state.lease_state.lease is None and state.lease_state.braking is None
        if idle and state.commands.command is None:
            return state, ()  # nothing moves, and nobody may move it
        if state.pending is not None:
            request, received = state.pending
            waited = (at.now.steady - received.steady) / NANOSECONDS
            if waited > self._contract.lockstep_deadline:
                state = replace(state, pending=None)
                return self._decide(state, request, received, at, in_vain=True)
        inputs = self._inputs(state, Trigger.TIMER, at)
        if state.lease_state.over or state.lease_state.braking is not None:
            return self._wind_down(state, inputs, at)
        if not state.lease_state.running:
            return state, ()  # armed, and the reset goes on: nothing is published
        # A command that the driver has braked from since is nothing to be held.
        commands = state.commands.by_source(state.readings.switch_held(at.now))
        lasts = commands.command is not None and not commands.driver_took_over(at.now)
        in_force = commands.goal if lasts else None
        stop = stop_in_silence(state.limits, inputs, in_force)
        if stop is not None:
            return self._stop(state, stop, inputs, at)
        if self._lockstep or in_force is None:
            return state, ()
        state, decisions = self._next_of_chunk(state, at)
        return (state, decisions) if decisions else self._send_again(state, in_force, inputs, at)

    def _stop(self, state: ReducerState, stop: RuleOutput, inputs: RuleInput, at: Event) -> Step:
        """Stop the robot; at rest that is said once a period, and nothing of a place not known."""
        if not stop.results:
            return state, ()  # nothing was asked for yet, and nothing asks for a stop
        reported = state.stopping and _why(stop) == state.reasons
        state = replace(state, stopping=True)
        if not stop.command and reported:
            return state, ()  # where to stay is not known yet
        resting = state.commands.command is not None and not state.moving
        resting &= not isinstance(at, ForeignCommand)  # the robot may have been set in motion
        if resting and not state.commands.due(at.now, self._contract.period):
            return state, ()
        return self._emit(state, stop, inputs, at)

    def _send_again(
        self, state: ReducerState, in_force: Vector, inputs: RuleInput, at: Event
    ) -> Step:
        """Send the command in force again, where it is due: most ticks send nothing."""
        late, safety = inputs.since_request or 0.0, self._contract.safety
        again = safety.republish_period
        if again is None and late <= safety.hold_timeout:
            return state, ()
        period = self._contract.period if again is None else again
        if not state.commands.due(at.now, period):
            return state, ()
        return self._emit(state, hold(state.limits, inputs, in_force), inputs, at)

    def _wind_down(self, state: ReducerState, inputs: RuleInput, at: Event) -> Step:
        """Brake after the end of a lease; then forget it."""
        decisions: Decisions = ()
        nowhere = False
        guarded = self._foreign is OnForeignPublisher.STOP_ALWAYS and inputs.foreign_commands
        if state.moving or (guarded and state.lease_state.braking == state.lease_state.no_step):
            over = replace(inputs, over=True)
            output, inputs = self._rule(state, over, at, None)
            if not state.moving:
                return self._stop(state, output, inputs, at)
            state, decisions = self._emit(state, output, inputs, at)
            # The driver brakes by itself by now, and where it is to stay is unknown.
            nowhere = not output.command
        if nowhere or not state.moving:
            lease = None if state.lease_state.over else state.lease_state.lease
            state = state.without_command()
            state = replace(state, lease_state=replace(state.lease_state, lease=lease))
        return state, decisions

    def _deactivate(self, state: ReducerState, event: Deactivate) -> Step:
        probe = state.probe
        if probe is not None and probe.running:
            probe = probe.failed('the gate was deactivated')
        state = replace(state, probe=probe, pending=None, chunk=None)
        in_force = state.commands.in_force
        if in_force is None:
            return state.without_lease(), ()
        # From here on every request is refused.
        lease_state = state.lease_state
        state = replace(state, lease_state=replace(lease_state, braking=lease_state.id))
        inputs = replace(self._inputs(state, Trigger.TIMER, event), deactivated=True)
        if not inputs.armed and state.commands.command is None:
            inputs = replace(inputs, previous_command=in_force, seeded=False)
        output, inputs = self._rule(state, inputs, event, None)
        state, decisions = self._emit(state, output, inputs, event)
        state = replace(state, health=state.health.after_tick(event.now))
        if not output.command or not state.moving:
            state = _without_leftovers(state)
        return state, decisions

    # How it decides ------------------------------------------------------------------------------

    def _inputs(
        self, state: ReducerState, trigger: Trigger, at: Event, requested: Chunk | None = None
    ) -> RuleInput:
        """Return what the rules are to know now."""
        now, commands, health = at.now, state.commands, state.health
        lease_state, readings = state.lease_state, state.readings
        measurements = readings.measurements(now)
        previous, seeded = commands.previous(state.limits, trigger, measurements, now)
        rate, acceleration = commands.motion_at(previous, now, seeded=seeded)
        lease, episode, waiting = lease_state.lease, lease_state.episode, state.pending
        closed = 0 if episode is None else episode.id.step
        documents: Vector = ()
        if requested is not None and requested.request.payload:
            since = self._judge.documents.since
            documents = since(state.documents, requested.request, requested.received)
        return RuleInput(
            trigger=trigger,
            time_step=commands.time_step(now),
            previous_command=previous,
            seeded=seeded,
            previous_rate=rate,
            previous_acceleration=acceleration,
            recent_commands=commands.recent_commands(now),
            lease_id='' if lease is None else lease.lease_id,
            lease_episode='' if lease is None else lease.episode_id,
            running=lease_state.running,
            last_sequence=max(
                0 if lease is None else lease.last_sequence,
                0 if waiting is None else waiting[0].sequence,
            ),
            last_step=closed
            if lease is None or not self._lockstep
            else max(lease.last_step, readings.reached(lease.episode_id)),
            since_step=_since(state.closed, now) if self._contract.agent_order else None,
            since_documents=documents,
            emergency_stop=lease_state.emergency,
            stopped=trigger is Trigger.TIMER and state.stopping and lease_state.running,
            since_request=_since(state.last_request, now),
            since_environment=_since(state.status_received, now),
            since_tick=health.since_tick(now),
            clock_error=health.clock_error(now),
            foreign_commands=health.foreign_commands,
            foreign_publishers=health.foreign_publishers,
            overruns=health.overruns,
            measurements=measurements,
        )

    def _emit(
        self,
        state: ReducerState,
        output: RuleOutput,
        inputs: RuleInput,
        at: Event,
        requested: Chunk | None = None,
    ) -> Step:
        stopped, rejected = (output.verdict is v for v in (Verdict.STOPPED, Verdict.REJECTED))
        by_hand = inputs.trigger is Trigger.OPERATOR or state.readings.switch_held(at.now)
        reasons, commands = _why(output), state.commands.by_source(by_hand)
        state = replace(state, sequence=state.sequence + 1)
        decision = self._decision(state, output, inputs, at, requested)
        decided = replace(
            state,
            commands=commands.after(output, inputs.trigger, at.now)
            if output.command
            else commands,
            chunk=None if stopped or (by_hand and not self._lockstep) else state.chunk,
            stopping=state.stopping if rejected else stopped,
            reasons=state.reasons if rejected or reasons == (Reason.STILL_STOPPED,) else reasons,
        )
        return decided, (decision,)

    def _decision(
        self,
        state: ReducerState,
        output: RuleOutput,
        inputs: RuleInput,
        at: Event,
        requested: Chunk | None = None,
    ) -> GateDecision:
        id_ = state.lease_state.id
        if requested is not None:
            # Whosever agent a stranger names, the decision is one of this gate.
            id_ = replace(requested.request.id, step=requested.step, agent=self._agent)
        return GateDecision(
            id=id_,
            sequence=state.sequence,
            verdict=output.verdict,
            decided=at.now,
            inputs=inputs,
            request=requested.request if requested else None,
            received=requested.received if requested else None,
            admitted_action=output.admitted,
            requested_command=output.wanted,
            command=output.command,
            rules=output.results,
            runtime_limits=state.runtime_limits,
            software_version=self._version,
        )

    # What would be -------------------------------------------------------------------------------

    def evaluate_actions(
        self, state: ReducerState, actions: Sequence[Vector], now: ClockReading
    ) -> Decisions:
        """
        Return what would become of some actions if the lease holder asked for them now.

        Each is decided on as if it were the only one.

        Parameters
        ----------
        state
            Where the gate stands.
        actions
            Single actions, each of shape ``(n,)``.
        now
            When.

        """
        at, decisions = Event(now=now), []
        requested = replace(
            self._inputs(state, Trigger.REQUEST, at), overruns=state.health.overruns_if_in_time
        )
        for action in actions:
            request = ActionRequest(
                id=replace(state.lease_state.id, step=requested.last_step + 1),
                lease_id=requested.lease_id,
                sequence=requested.last_sequence + 1,
                action=action,
                observed=now,
                delivered=now,
                requested=now,
            )
            refusals = self._judge.refusals(self._agent, requested, request, now, now)
            output, inputs = RuleOutput(verdict=Verdict.REJECTED, results=refusals), requested
            if not refusals:
                output, inputs = self._rule(state, requested, at, action)
            chunk = Chunk(request, now, 0, 0)
            decisions.append(self._decision(state, output, inputs, at, chunk))
        return tuple(decisions)

    def reach(self, state: ReducerState, now: ClockReading) -> tuple[Vector, Vector]:
        """
        Return the least and the greatest command that bounds and rate allow now, by dimension.

        Acceleration, jerk, obstacles and workspaces may allow less: see :meth:`evaluate_actions`.
        """
        inputs = self._inputs(state, Trigger.REQUEST, Event(now=now))
        limits, previous = state.limits, inputs.previous_command
        if not previous:
            return limits.low, limits.high
        turned = {i for rotation in limits.rotations for i in rotation.dimensions}

        def reached(bounds: Vector) -> Vector:
            return tuple(
                bound if i in turned else towards(was, bound, rate * min(inputs.time_step, within))
                for i, (was, bound, rate, within) in enumerate(
                    zip(previous, bounds, limits.rate, limits.within, strict=True)
                )
            )

        return reached(limits.low), reached(limits.high)


def _braking_for_nobody(state: ReducerState) -> ReducerState:
    """Return a state in which the robot is braked, as after a lease."""
    return replace(
        state, lease_state=replace(state.lease_state, braking=state.lease_state.no_step)
    )


def _without_leftovers(state: ReducerState) -> ReducerState:
    """Return a state without a lease, and with nothing in force."""
    state = state.without_command()
    return replace(
        state,
        lease_state=replace(state.lease_state, lease=None),
        commands=state.commands.dropped(),  # commands to the robot meanwhile do not come here
    )


def _why(output: RuleOutput) -> tuple[Reason, ...]:
    """Return the reasons of a stop, each once."""
    return tuple(dict.fromkeys(r.reason for r in output.results if r.outcome is Verdict.STOPPED))


def _since(then: int | None, now: ClockReading) -> float | None:
    return None if then is None else max(0, now.steady - then) / NANOSECONDS
