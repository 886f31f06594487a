# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The safety gate of one agent, as a function: state and event in, state and decisions out.

It reads no clock and keeps nothing: a run is its events, and to feed them again is to run it
again. The lease is kept by :mod:`boundary_env_ros.core.gate.lease`, what it heard of
its sensors by :mod:`boundary_env_ros.core.gate.sensor_buffer`, what it sent by
:mod:`boundary_env_ros.core.gate.command_history`; what may be sent say the
:mod:`boundary_env_ros.core.gate.rules`. Here the events come together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.observation import age_of
from boundary_env_ros.core.gate.chunk import Chunk
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.driver_probe import DriverProbe, Phase
from boundary_env_ros.core.gate.events import (
    Arm,
    ClearEmergencyStop,
    Deactivate,
    EmergencyStop,
    EpisodeTold,
    Event,
    Measured,
    NextAction,
    OperatorCommand,
    OthersTurn,
    ProbeDrivers,
    PublishersSeen,
    Request,
    Tick,
    Tighten,
    TimerStarted,
    WentOut,
    WorldMoved,
)
from boundary_env_ros.core.gate.rules.admission import (
    acted_on,
    age,
    Lease,
    never_came,
    not_armed,
    numbered,
    out_of_order,
    precedence,
    UNHEARD,
    well_formed,
)
from boundary_env_ros.core.gate.rules.agent_order import out_of_time, out_of_turn
from boundary_env_ros.core.gate.rules.braking import safe_from, towards
from boundary_env_ros.core.gate.rules.documents import DocumentRules
from boundary_env_ros.core.gate.rules.evaluate import hold, rule, stop_in_silence
from boundary_env_ros.core.gate.rules.limits import Limits, OPERATOR
from boundary_env_ros.core.gate.rules.measured import measured_command
from boundary_env_ros.core.gate.rules.rule_input import RECORDED, RuleInput, RuleOutput
from boundary_env_ros.core.gate.rules.runtime_limits import (
    refuse_looser,
    refuse_too_slow,
    tightened_limits,
)
from boundary_env_ros.core.gate.state import State
from boundary_env_ros.core.timebase import ClockReading, elapsed, NANOSECONDS
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.frozen import replace

#: Part of a period after which the environment may have closed the next step.
_ABOUT_TO_CLOSE = 0.65

Decisions = tuple[GateDecision, ...]
Step = tuple[State, Decisions]


class Reducer:
    """
    What the gate of one agent does at an event.

    Parameters
    ----------
    contract
        The contract.
    agent
        Whose gate it is.
    software_version
        Goes into every decision.

    """

    def __init__(self, contract: Contract, *, agent: str, software_version: str = '') -> None:
        self._contract = contract
        self._agent = agent
        self._version = software_version
        self._size = contract.action_size
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        self._declared = Limits(contract)
        self._documents = DocumentRules(contract)
        #: Whether the drivers are probed before the first arming. In lockstep the world stands
        #: still, and no driver's time runs out.
        self.to_probe = not self._lockstep and any(
            group.driver_timeout_probe for group in contract.action
        )
        #: What it does at each kind of event.
        self._on: Mapping[type[Event], Callable[[State, Any], Step]] = {
            Arm: self._arm,
            EpisodeTold: self._hear_environment,
            EmergencyStop: self._press,
            ClearEmergencyStop: self._clear,
            Tighten: self._tighten,
            ProbeDrivers: self._begin_probe,
            Measured: self._measure,
            WorldMoved: self._advance,
            PublishersSeen: self._see_publishers,
            WentOut: self._went_out,
            Request: self._request,
            NextAction: self._next_action,
            OperatorCommand: self._by_hand,
            OthersTurn: self._hold_turn,
            TimerStarted: self._start_timer,
            Tick: self._run_timer,
            Deactivate: self._deactivate,
        }

    def step(self, state: State, event: Event) -> Step:
        """
        Return what a state becomes by an event, and what the gate decides then.

        The node publishes the command of a decision, then the decision, and lets
        ``WentOut`` follow.

        Raises
        ------
        RequestRejected
            If the event asks for something that is refused; the state stays as it is.

        """
        return self._on[type(event)](state, event)

    # Who is heard --------------------------------------------------------------------------------

    def _arm(self, state: State, event: Arm) -> Step:
        """Grant the lease for one episode, to the caller that arms the gate for it."""
        lease_state, now = state.lease_state, event.now
        lease_state.check(event.digest, event.agent)
        self._refuse_unprobed(state)
        lease_state.check_released()
        self._refuse_unpublished(state)
        if lease_state.lease_of(event.episode_id, event.client) is not None:
            return state, ()
        self._refuse_unheard(state, now)
        lease = Lease(lease_id=event.lease_id, holder=event.client, episode_id=event.episode_id)
        return state.under_lease(lease, now), ()

    def _refuse_unprobed(self, state: State) -> None:
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
            + 'Start the nodes with `boundary-env up --probe`, or call ~/probe_driver: the robot '
            'moves by the command `driver_timeout_probe` of the contract.',
            ResultCode.NOT_PROBED,
        )

    def _refuse_unpublished(self, state: State) -> None:
        """
        Refuse an arming while a press of the emergency stop could not be heard.

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

    def _refuse_unheard(self, state: State, now: ClockReading) -> None:
        """
        Refuse an arming while a sensor that is needed is not heard, as by a gate that is new.

        In lockstep the world speaks when it is reset, which is after the arming.
        """
        unheard = () if self._lockstep else state.readings.unheard(now)
        if unheard:
            raise RequestRejected(
                f'Sensors that the gate needs are missing: {", ".join(unheard)}. '
                'Start what publishes them, or mend their topics in the contract; of those that '
                'are heard, synchronise the clocks.',
                ResultCode.SENSOR_MISSING,
            )

    def _hear_environment(self, state: State, event: EpisodeTold) -> Step:
        """
        Take note of where the episode of the environment stands.

        In lockstep, decide on the next action of a chunk if that is its turn, or to hold if the
        step is the turn of another agent.
        """
        status, lease_state, now = event.status, state.lease_state, event.now
        if (status.id.digest, status.id.agent) != (lease_state.digest, lease_state.agent):
            return state, ()
        was_running, before = lease_state.running, lease_state.episode
        lease_state = replace(lease_state, episode=status)
        state = replace(state, lease_state=lease_state, heard_environment=now.steady)
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

    def _press(self, state: State, event: EmergencyStop) -> Step:
        lease_state = state.lease_state.after_press(event.pressed)
        latches = lease_state.emergency and not state.lease_state.emergency
        state = replace(state, lease_state=lease_state)
        return self._run_timer(state, event) if latches else (state, ())

    def _clear(self, state: State, event: ClearEmergencyStop) -> Step:
        return replace(state, lease_state=state.lease_state.cleared()).without_lease(), ()

    def _tighten(self, state: State, event: Tighten) -> Step:
        limits = tightened_limits(self._declared, event.runtime_limits)
        leased = state.lease_state.lease is not None
        if not leased or limits.rate != state.limits.rate:
            # While it moves, it may come from where the contract lets it be the fastest.
            rests = state.commands.rests(state.limits)
            before = self._declared if not rests else state.limits if leased else limits
            refuse_too_slow(limits, before)
        if leased:
            numbers = {'low': limits.low, 'high': limits.high, 'rate': limits.rate}
            timeout = limits.safety.command_timeout
            refuse_looser(state.limits, numbers, timeout, 'it is while a lease is out')
        return replace(state, limits=limits, runtime_limits=event.runtime_limits), ()

    # What is noticed -----------------------------------------------------------------------------

    def _measure(self, state: State, event: Measured) -> Step:
        """Take a value of an input; in lockstep, decide what was waiting for it."""
        readings = state.readings.after(event.name, event.values, event.captured, event.now)
        state = replace(state, readings=readings)
        act = self._operate if event.name == OPERATOR else self._resume
        return act(state, event)

    def _advance(self, state: State, event: WorldMoved) -> Step:
        readings = replace(state.readings, advanced=event.report)
        return self._resume(replace(state, readings=readings), event)

    def _see_publishers(self, state: State, event: PublishersSeen) -> Step:
        health = replace(
            state.health,
            foreign_commands=event.foreign_commands,
            crowded=event.crowded,
            unpublished=event.unpublished,
        )
        return replace(state, health=health), ()

    def _start_timer(self, state: State, event: TimerStarted) -> Step:
        # A deactivation that was not brought to its end left the rest to the drivers.
        return replace(_let_go(state), health=replace(state.health, ticked=None)), ()

    def _went_out(self, state: State, event: WentOut) -> Step:
        return replace(state, commands=state.commands.gone_out(event.now)), ()

    # The probe of the drivers --------------------------------------------------------------------

    def _begin_probe(self, state: State, event: ProbeDrivers) -> Step:
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

    def _go_on_probing(self, state: State, probe: DriverProbe, at: Event) -> Step:
        situation = self._situation(state, Trigger.PROBE, at)
        measured = measured_command(state.limits, situation.measurements)
        emitted = None if state.commands.command is None else state.commands.emitted
        probe = probe.looked(measured, emitted, at.now)
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
            wanted = probe.command(safe_from(state.limits.safe, situation.previous or measured))
        situation = self._situation(state, Trigger.PROBE, at)
        ruling, situation = self._rule(state, situation, at, wanted)
        state = replace(state, probe=probe)
        if ruling.verdict is Verdict.STOPPED:
            reasons = ', '.join(reason.name.lower() for reason in _why(ruling))
            if emitted is None and not state.lease_state.emergency:
                # Nothing moves yet: what is missing may still come.
                return replace(state, probe=replace(probe, held_back=reasons)), ()
            probe = probe.failed(f'the robot had to be stopped ({reasons})')
            state = _braking_for_nobody(replace(state, probe=probe))
        elif probe.phase is Phase.SILENT:
            return state, ()  # what is measured is how long the driver goes on without a command
        return self._emit(state, ruling, situation, at)

    # What is asked for ---------------------------------------------------------------------------

    def _request(self, state: State, event: Request) -> Step:
        """
        Decide on a request, at once.

        In lockstep, as soon as the sensors of its observation are here.
        """
        request, now = event.request, event.now
        if (
            not self._lockstep
            or event.received is not None
            # Whether the episode runs may still change; whose request it is may not.
            or self._refusals(state, request, now, running=True)
            or not state.readings.awaits(request.id.episode_id, request.id.step)
        ):
            return self._decide(state, request, event.received or now, event)
        waiting = state.pending
        if waiting is not None and request.sequence < waiting[0].sequence:
            late = out_of_order(request, waiting[0].sequence + 1)
            return self._reject(state, request, now, late, event)
        state = replace(state, pending=(request, now))
        if waiting is not None and waiting[0].sequence < request.sequence:
            overtaken = out_of_order(waiting[0], request.sequence)
            return self._reject(state, *waiting, overtaken, event)
        return state, ()

    def _refusals(
        self, state: State, request: ActionRequest, now: ClockReading, *, running: bool
    ) -> tuple[RuleResult, ...]:
        return (
            # First whose it is: what a stranger sends, in whatever form, is no action of the step.
            state.lease_state.refusals(request, running=running)
            or well_formed(request.action, self._size, request.horizon, self._contract.horizon)
            or numbered(request)
            or self._out_of_step(state, request, now)
            or (self._documents.refusals(request) if request.payload else ())
        )

    def _out_of_step(
        self, state: State, request: ActionRequest, now: ClockReading
    ) -> tuple[RuleResult, ...]:
        lease_state, step = state.lease_state, request.id.step
        episode, lease = lease_state.episode, lease_state.lease
        if self._lockstep and lease is not None:
            reached = state.readings.reached(lease.episode_id)
            refusals = acted_on(request, max(lease.last_step, reached))
        elif self._contract.agent_order and episode is not None:
            since = (now.steady - state.closed) / NANOSECONDS
            # When a step is about to be closed, the policy may know of that before the gate does.
            ahead = 2 if since > _ABOUT_TO_CLOSE * self._contract.period else 1
            refusals = out_of_time(step, episode.id.step, ahead)
        else:
            return ()
        return refusals or out_of_turn(self._contract, self._agent, step)

    def _resume(self, state: State, at: Event) -> Step:
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
        self, state: State, request: ActionRequest, received: ClockReading, at: Event
    ) -> Step:
        running = state.lease_state.running
        refusals = self._refusals(state, request, at.now, running=running)
        if refusals:
            return self._reject(state, request, received, refusals, at)
        latency = _age(request.observed, received, self._contract.pacing)
        state = replace(state, health=state.health.asked(latency))
        heard = replace(state, lease_state=state.lease_state.heard(request))
        if state.readings.switch_held(at.now):
            # Refused once and for all: sent again, it is no answer to what the hand has done.
            return self._give_way(heard, Chunk(request, received, 0, 0), Trigger.REQUEST, at)
        refusals = age(latency, self._contract.safety.max_action_age)
        if not refusals and request.payload:
            refusals = self._documents.too_often(request, state.documents, received)
        if refusals:
            return self._reject(state, request, received, refusals, at)
        return self._act(heard, Chunk(request, received, 0, at.now.steady), Trigger.REQUEST, at)

    def _act(self, state: State, chunk: Chunk, trigger: Trigger, at: Event) -> Step:
        """Decide on one action of a request; the others, if it has more, wait for their turn."""
        ruling, situation = self._rule(
            state, self._situation(state, trigger, at), at, chunk.action(self._size)
        )
        state = replace(state, lease_state=state.lease_state.acted_on(chunk.step))
        # A source whose requests may not be published is as good as silent. The newest request
        # counts: it takes the place of what is left of an older chunk.
        rejected = ruling.verdict is Verdict.REJECTED
        state = replace(
            state,
            last_request=state.last_request if rejected else at.now.steady,
            chunk=None if rejected else chunk.next(self._contract.period),
        )
        if chunk.request.payload and ruling.verdict in (Verdict.ADMITTED, Verdict.LIMITED):
            sent = self._documents.after(state.documents, chunk.request, chunk.received)
            state = replace(state, documents=sent)
        return self._emit(state, ruling, situation, at, chunk)

    def _rule(
        self, state: State, situation: RuleInput, at: Event, wanted: Vector | None
    ) -> tuple[RuleOutput, RuleInput]:
        """
        Rule on a request or on silence; return in which situation, too.

        A stop takes from what was commanded, as far as that is in force; in and behind a probe,
        which may show that a driver does not stop by itself, also where nothing else is known.
        """
        ruling = rule(state.limits, situation, wanted)
        if ruling.verdict is not Verdict.STOPPED:
            return ruling, situation
        commands, measurements, seeded = state.commands, situation.measurements, False
        # Nobody but a probe moves anything outside of an episode.
        probed = not state.lease_state.id.episode_id
        if probed and not ruling.command:
            previous = commands.unheeded(state.limits, measurements, at.now)
        elif situation.seeded:
            previous, seeded = commands.previous(state.limits, Trigger.TIMER, measurements, at.now)
        else:
            previous = None
        if previous is None or seeded:
            return ruling, situation
        commanded = replace(
            situation,
            previous=previous,
            seeded=False,
            previous_rate=commands.rate,
            previous_acceleration=commands.acceleration,
        )
        stop = rule(state.limits, commanded, wanted)
        if stop.verdict is Verdict.STOPPED and stop.results:
            return stop, commanded
        return ruling, situation

    def _next_of_chunk(self, state: State, at: Event) -> Step:
        """Decide on the next action of a chunk if its turn has come."""
        chunk, episode = state.chunk, state.lease_state.episode
        if chunk is None or at.known is not None:
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
        return self._act_on_chunk(state, chunk, at)

    def _next_action(self, state: State, event: NextAction) -> Step:
        if state.chunk is None:
            return state, ()
        return self._act_on_chunk(state, state.chunk, event)

    def _act_on_chunk(self, state: State, chunk: Chunk, at: Event) -> Step:
        if state.readings.switch_held(at.now):
            state = replace(state, lease_state=state.lease_state.acted_on(chunk.step))
            return self._give_way(state, chunk, Trigger.CHUNK, at)
        return self._act(state, chunk, Trigger.CHUNK, at)

    def _hold_turn(self, state: State, at: Event) -> Step:
        """Decide to hold, once, if the next step is the turn of another agent (lockstep)."""
        episode = state.lease_state.episode
        if not self._contract.agent_order or episode is None or not state.lease_state.running:
            return state, ()
        step = (episode.id.episode_id, episode.id.step + 1)
        waits = at.known is None and (state.held_for == step or state.readings.awaits(*step))
        if self._contract.has_turn(self._agent, step[1]) or waits:
            return state, ()
        # The gate does not wait for this policy now, so its time does not run.
        state = replace(state, held_for=step, last_request=at.now.steady)
        situation = self._situation(state, Trigger.TIMER, at)
        situation = replace(situation, since_request=None, others_turn=True)
        commands = state.commands.in_hands(state.readings.switch_held(at.now))
        wanted = None if commands.command is None else commands.goal
        if not wanted and situation.previous is not None:
            wanted = safe_from(state.limits.safe, situation.previous)  # nothing was asked for yet
        return self._emit(state, rule(state.limits, situation, wanted or None), situation, at)

    def _reject(
        self,
        state: State,
        request: ActionRequest,
        received: ClockReading,
        results: tuple[RuleResult, ...],
        at: Event,
    ) -> Step:
        unheard = (*UNHEARD, Reason.NOT_ARMED)
        if self._lockstep and not any(result.reason in unheard for result in results):
            # The world moves on by it, with the command in force.
            step = min(request.id.step, state.readings.reached(request.id.episode_id) + 1)
            lease_state = state.lease_state.acted_on(step)
            state = replace(state, lease_state=lease_state, chunk=None)
        asked = Chunk(request, received, 0, 0)
        return self._refuse(state, asked, results, Trigger.REQUEST, at)

    def _refuse(
        self,
        state: State,
        asked: Chunk,
        results: tuple[RuleResult, ...],
        trigger: Trigger,
        at: Event,
    ) -> Step:
        ruling = RuleOutput(verdict=Verdict.REJECTED, results=results)
        return self._emit(state, ruling, self._situation(state, trigger, at), at, asked)

    # The operator --------------------------------------------------------------------------------

    def _operate(self, state: State, at: Event) -> Step:
        """Decide on a command of the operator, if the switch is held."""
        held = state.readings.switch_held(at.now)
        if not held or not state.lease_state.running or self._lockstep:
            return state, ()
        return self._by_hand(state, at)

    def _give_way(self, state: State, asked: Chunk, trigger: Trigger, at: Event) -> Step:
        """
        Refuse an action of the policy while an operator has the robot.

        In lockstep the world moves from action to action, and so does the operator.
        """
        moves = self._lockstep and at.known is None
        state, by_hand = self._by_hand(state, at) if moves else (state, ())
        first = precedence(teleoperated=True)
        state, refused = self._refuse(state, asked, first, trigger, at)
        return replace(state, chunk=None), (*by_hand, *refused)

    def _by_hand(self, state: State, at: Event) -> Step:
        """Decide on what the operator asks for."""
        command = state.readings.by_hand
        situation = self._situation(state, Trigger.OPERATOR, at)
        malformed = well_formed(command, self._contract.command_size)
        if malformed:
            ruling = RuleOutput(verdict=Verdict.REJECTED, results=malformed)
        else:
            ruling, situation = self._rule(state, situation, at, command)
        if ruling.verdict is not Verdict.REJECTED:
            state = replace(state, last_request=at.now.steady)
        return self._emit(state, ruling, situation, at)

    # Silence -------------------------------------------------------------------------------------

    def _run_timer(self, state: State, at: Event) -> Step:
        state, decisions = self._tick(state, at)
        return replace(state, health=state.health.after_tick(at.now)), decisions

    def _tick(self, state: State, at: Event) -> Step:
        now, safety = at.now, self._contract.safety
        if state.probe is not None and state.probe.running:
            return self._go_on_probing(state, state.probe, at)
        if state.lease_state.lease is None and state.commands.command is None:
            return state, ()
        if state.pending is not None:
            request, received = state.pending
            if (now.steady - received.steady) / NANOSECONDS > self._contract.lockstep_deadline:
                never = never_came(self._contract.lockstep_deadline)
                state = replace(state, pending=None)
                return self._reject(state, request, received, never, at)
        situation = self._situation(state, Trigger.TIMER, at)
        if state.lease_state.over or state.lease_state.braking is not None:
            return self._wind_down(state, situation, at)
        if not state.lease_state.running:
            return state, ()  # armed, and the reset goes on: nothing is published
        # A command that the driver has braked from since is nothing to be held.
        commands = state.commands.in_hands(state.readings.switch_held(now))
        held = commands.command is not None and not commands.driver_took_over(now)
        in_force = commands.goal if held else None
        stop = stop_in_silence(state.limits, situation, in_force)
        if stop is not None:
            if not stop.results:
                return state, ()  # nothing was asked for yet, and nothing asks for a stop
            told = state.stopping and _why(stop) == state.reasons
            state = replace(state, stopping=True)
            if not stop.command and told:
                return state, ()  # where to stay is not known yet
            resting = commands.command is not None and not state.moving
            if resting and not commands.due(now, self._contract.period):
                return state, ()
            return self._emit(state, stop, situation, at)
        if self._lockstep or in_force is None:
            return state, ()
        state, decisions = self._next_of_chunk(state, at)
        if decisions:
            return state, decisions
        late = situation.since_request or 0.0
        again = safety.republish_period
        if again is None and late <= safety.hold_timeout:
            return state, ()
        if not commands.due(now, self._contract.period if again is None else again):
            return state, ()
        # Only now, as most ticks send nothing.
        return self._emit(state, hold(state.limits, situation, in_force), situation, at)

    def _wind_down(self, state: State, situation: RuleInput, at: Event) -> Step:
        """Brake after the end of a lease; then forget it."""
        decisions: Decisions = ()
        nowhere = False
        if state.moving:
            over = replace(situation, over=True)
            ruling, situation = self._rule(state, over, at, None)
            state, decisions = self._emit(state, ruling, situation, at)
            # The driver brakes by itself by now, and where it is to stay is unknown.
            nowhere = not ruling.command
        if nowhere or not state.moving:
            lease = None if state.lease_state.over else state.lease_state.lease
            state = state.without_command()
            state = replace(state, lease_state=replace(state.lease_state, lease=lease))
        return state, decisions

    def _deactivate(self, state: State, event: Deactivate) -> Step:
        probe = state.probe
        if probe is not None and probe.running:
            probe = probe.failed('the gate was deactivated')
        state = replace(state, probe=probe, pending=None, chunk=None)
        if state.commands.in_force is None:
            return state.without_lease(), ()
        # From here on every request is refused.
        lease_state = state.lease_state
        state = replace(state, lease_state=replace(lease_state, braking=lease_state.id))
        situation = replace(self._situation(state, Trigger.TIMER, event), deactivated=True)
        if not situation.armed and state.commands.command is None:
            situation = replace(situation, previous=state.commands.in_force, seeded=False)
        ruling, situation = self._rule(state, situation, event, None)
        state, decisions = self._emit(state, ruling, situation, event)
        state = replace(state, health=state.health.after_tick(event.now))
        if not ruling.command or not state.moving:
            state = _let_go(state)
        return state, decisions

    # How it decides ------------------------------------------------------------------------------

    def _situation(self, state: State, trigger: Trigger, at: Event) -> RuleInput:
        """Return what the rules are to know now; where a record says it, as it says."""
        known, now = at.known or {}, at.now
        measurements: Mapping[str, Any] | None = known.get('measurements')
        if measurements is None:
            measurements = state.readings.measurements(now)
        commands, health = state.commands, state.health
        previous, seeded = commands.previous(state.limits, trigger, measurements, now)
        rate, acceleration = commands.motion_at(previous, now, seeded=seeded)
        running = state.lease_state.running
        situation = RuleInput(
            trigger=trigger,
            time_step=commands.time_step(now),
            previous=previous,
            seeded=seeded,
            previous_rate=rate,
            previous_acceleration=acceleration,
            emergency_stop=state.lease_state.emergency,
            armed=state.lease_state.lease is not None,
            stopped=trigger is Trigger.TIMER and state.stopping and running,
            since_request=_since(state.last_request, now),
            since_environment=_since(state.heard_environment, now),
            since_tick=health.since_tick(now),
            clock_error=health.clock_error(now),
            foreign_commands=health.foreign_commands,
            crowded=health.crowded,
            overruns=health.overruns,
            recent_commands=commands.under_way(now),
            measurements=measurements,
        )
        return replace(situation, **known) if known else situation

    def _emit(
        self,
        state: State,
        ruling: RuleOutput,
        situation: RuleInput,
        at: Event,
        asked: Chunk | None = None,
    ) -> Step:
        stopped, rejected = (ruling.verdict is v for v in (Verdict.STOPPED, Verdict.REJECTED))
        by_hand = situation.trigger is Trigger.OPERATOR or state.readings.switch_held(at.now)
        reasons, commands = _why(ruling), state.commands.in_hands(by_hand)
        state = replace(state, sequence=state.sequence + 1)
        decision = self._decision(state, ruling, situation, at, asked)
        decided = replace(
            state,
            commands=commands.after(ruling, situation.trigger, at.now)
            if ruling.command
            else commands,
            chunk=None if stopped or (by_hand and not self._lockstep) else state.chunk,
            stopping=state.stopping if rejected else stopped,
            reasons=state.reasons if rejected or reasons == (Reason.STILL_STOPPED,) else reasons,
        )
        return decided, (decision,)

    def _decision(
        self,
        state: State,
        ruling: RuleOutput,
        situation: RuleInput,
        at: Event,
        asked: Chunk | None = None,
    ) -> GateDecision:
        id_ = state.lease_state.id
        if asked is not None:
            # Whosever agent a stranger names, the decision is one of this gate.
            id_ = replace(asked.request.id, step=asked.step, agent=self._agent)
        return GateDecision(
            id=id_,
            sequence=state.sequence,
            verdict=ruling.verdict,
            request=asked.request if asked else None,
            received=asked.received if asked else None,
            decided=at.now,
            requested_action=asked.action(self._size) if asked else (),
            admitted_action=ruling.admitted,
            requested_command=ruling.wanted,
            command=ruling.command,
            rules=ruling.results,
            previous_command=situation.previous or (),
            lease_id=state.lease_state.lease_id,
            foreign_publishers=situation.foreign,
            runtime_limits=state.runtime_limits,
            measurements=tuple(situation.measurements.values()),
            **{name: getattr(situation, name) for name in RECORDED},
            software_version=self._version,
        )

    # What would be -------------------------------------------------------------------------------

    def evaluate_actions(
        self, state: State, actions: Sequence[Vector], now: ClockReading
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
        decisions, at = [], Event(now=now)
        lease_state = state.lease_state
        for action in actions:
            situation = self._situation(state, Trigger.REQUEST, at)
            situation = replace(situation, overruns=state.health.overruns_if_in_time)
            refusals = well_formed(action, self._size) or (
                out_of_turn(self._contract, self._agent, lease_state.id.step + 1)
                or precedence(teleoperated=state.readings.switch_held(now))
                if lease_state.running
                else not_armed()
            )
            if refusals:
                ruling = RuleOutput(verdict=Verdict.REJECTED, results=refusals)
            else:
                ruling, situation = self._rule(state, situation, at, action)
            decision = self._decision(state, ruling, situation, at)
            decisions.append(replace(decision, requested_action=action))
        return tuple(decisions)

    def reach(self, state: State, now: ClockReading) -> tuple[Vector, Vector]:
        """
        Return the least and the greatest command that bounds and rate allow now, by dimension.

        Acceleration, jerk, obstacles and workspaces may allow less: see :meth:`evaluate_actions`.
        """
        situation = self._situation(state, Trigger.REQUEST, Event(now=now))
        limits, previous = state.limits, situation.previous
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


def _braking_for_nobody(state: State) -> State:
    """Return a state in which the robot is braked, as after a lease."""
    return replace(
        state, lease_state=replace(state.lease_state, braking=state.lease_state.no_step)
    )


def _let_go(state: State) -> State:
    """Return a state without a lease, and with nothing in force."""
    state = state.without_command()
    return replace(
        state,
        lease_state=replace(state.lease_state, lease=None),
        commands=state.commands.dropped(),  # commands to the robot meanwhile are not heard
    )


def _why(ruling: RuleOutput) -> tuple[Reason, ...]:
    """Return the reasons of a stop, each once."""
    return tuple(dict.fromkeys(r.reason for r in ruling.results if r.outcome is Verdict.STOPPED))


def _since(then: int | None, now: ClockReading) -> float | None:
    return None if then is None else max(0, now.steady - then) / NANOSECONDS


def _age(observed: ClockReading | None, received: ClockReading, pacing: Pacing) -> float | None:
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
