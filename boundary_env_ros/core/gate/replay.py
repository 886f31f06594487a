# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The gate once more, on what a record says that it was told.

Each recorded decision becomes the event that led to it, for the same function that runs on a
robot. Only what that cannot know again comes from the record: when the gate decided and why then
(the trigger), what its sensors had measured and how old that was, how long the others had been
silent, whether an episode ran, and whether the emergency stop was latched. What it had sent before
is its own: a command that another gate would have limited is limited in what the next one begins
from, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate.chunk import Chunk
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    Measurement,
    Reason,
    RuntimeLimits,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.events import (
    Deactivate,
    Event,
    GivenUp,
    NextAction,
    OperatorCommand,
    OthersTurn,
    Request,
    Tick,
)
from boundary_env_ros.core.gate.recorded_instants import ASKED, RecordedInstants
from boundary_env_ros.core.gate.reducer import Reducer
from boundary_env_ros.core.gate.rules.admission import Lease
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.gate.rules.limits import Limits, OPERATOR
from boundary_env_ros.core.gate.rules.motion import start_anew
from boundary_env_ros.core.gate.rules.pending_motion import same_way
from boundary_env_ros.core.gate.rules.recorded import (
    situation_of,
    was_deactivated,
    was_over,
    was_unheard,
)
from boundary_env_ros.core.gate.rules.rule_input import RuleOutput
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.gate.sensor_buffer import HELD
from boundary_env_ros.core.gate.state import State
from boundary_env_ros.core.timebase import NANOSECONDS

#: What the gate was told, whatever it had done before.
_TOLD = (
    'emergency_stop',
    'armed',
    'since_environment',
    'since_tick',
    'clock_error',
    'foreign_commands',
    'crowded',
    'measurements',
)


class Replay:
    """
    The gate of one agent, driven by the decisions that a record has of it.

    Parameters
    ----------
    contract
        The contract that it has now; the recorded one, or another.
    digest
        The digest under which the recorded requests were made.
    agent, topics
        As for :class:`~boundary_env_ros.core.gate.gate.Gate`.

    Attributes
    ----------
    missing
        Decisions of the same lease that the record does not have, before the last one.

    """

    def __init__(
        self, contract: Contract, *, digest: str, agent: str, topics: Mapping[str, str]
    ) -> None:
        self._contract, self._digest, self._agent, self._topics = contract, digest, agent, topics
        self._reducer = Reducer(contract, agent=agent)
        self._declared = Limits(contract)
        self._state = State.of(contract, digest=digest, agent=agent, topics=topics)
        #: Before the last decision.
        self._before = self._state
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        self._episode = ''
        self._lease_known = False
        self._last_sequence: int | None = None
        self.missing = 0
        self._instants = RecordedInstants(contract)
        self._now = self._instants.now
        # Whether this gate did the same as the recorded one: then what is counted from there is as
        # recorded, to the last digit.
        self._sent_alike = self._asked_alike = True
        self._overruns_known = True
        self._rates_unknown = self._probed = False
        self._same_terms = digest_of(contract) == digest

    # Driving it ----------------------------------------------------------------------------------

    def again(
        self,
        then: GateDecision,
        *,
        current: str = '',
        begun: bool = True,
    ) -> GateDecision | None:
        """
        Decide again where a record has a decision.

        Parameters
        ----------
        then
            The next recorded decision of this gate.
        current
            Id of the episode that ran; empty if only the decision says so.
        begun
            Whether the record has the beginning of the episode; without it the memory of the gate
            is taken from the record at the first decision.

        Returns
        -------
        GateDecision or None
            What this gate decides there; None if it decides nothing, as a gate that has no reason
            to stop. The instants are those of the record.

        """
        gap = self._begin(then, current, begun=begun)
        self._now = self._instants.go_on_to(then)
        if gap:
            self._take_up(then)
        if self._probed and then.trigger is not Trigger.PROBE:
            self._probed = False
            commands = replace(self._state.commands, braked=self._braked(then))
            self._state = replace(self._state, commands=commands)
        self._before = self._state
        self._before = self._state = self._as_recorded(then)
        event = self._event(then)
        found = None
        if event is not None:
            self._state, decided = self._reducer.step(self._state, event)
            found = decided[-1] if decided else None
        self._follow(then, found)
        if found is None:
            return None
        return replace(
            found,
            sequence=then.sequence,
            received=then.received,
            commanded=then.commanded if found.published else None,
            software_version=then.software_version,
        )

    def adopt(self, then: GateDecision) -> None:
        """Go on from what the record says that the gate did, not from what this one would have."""
        self._probed = then.trigger is Trigger.PROBE
        before, lease_state = self._before, self._state.lease_state
        commands, chunk, last_request = before.commands, before.chunk, before.last_request
        refused, stopped = (then.verdict is v for v in (Verdict.REJECTED, Verdict.STOPPED))
        if then.published:
            # Whether a position still runs on decides whether a lease has come to its end.
            rate: Vector = ()
            if stopped:
                rate, _ = start_anew(before.limits, situation_of(then), then.command)
            ruling = RuleOutput(
                verdict=then.verdict,
                wanted=then.requested_command,
                command=then.command,
                rate=rate,
            )
            commands = commands.after(ruling, then.trigger, self._now)
            commands = commands.gone_out(then.commanded or self._now)
            self._rates_unknown = True
        if not refused and then.trigger in ASKED:
            last_request = self._now.steady
        if then.trigger is Trigger.REQUEST and then.request is not None and not was_unheard(then):
            lease = lease_state.lease
            if lease is not None and then.request.sequence > lease.last_sequence:
                lease_state = lease_state.heard(then.request)
            chunk = None if refused else Chunk(then.request, then.received or self._now, 0, 0)
        if then.trigger is Trigger.CHUNK and chunk is None:
            chunk = _chunk_of(then)
        if then.trigger in (Trigger.REQUEST, Trigger.CHUNK):
            chunk = None if chunk is None else chunk.next(self._contract.period)
        state = replace(
            before,
            lease_state=lease_state,
            health=self._state.health,
            commands=commands,
            last_request=last_request,
            chunk=None if stopped else chunk,
            stopping=before.stopping if refused else stopped,
        )
        if (was_over(then) or was_deactivated(then)) and not state.moving:
            state = state.without_command()
            if was_deactivated(then):
                state = replace(state, commands=state.commands.dropped())
        self._state = state
        self._sent_alike = self._asked_alike = True

    def _begin(self, then: GateDecision, current: str, *, begun: bool) -> bool:
        """Begin with another lease; return whether decisions are missing before this one."""
        heard = then.request is not None and not was_unheard(then)
        own = heard or (then.verdict is not Verdict.REJECTED and not was_over(then))
        episode = then.id.episode_id if own else current
        last = self._last_sequence
        first = last is None and (not begun or then.sequence != 1)
        gap = first if last is None else then.sequence != last + 1
        self.missing = 0
        self._last_sequence = then.sequence
        if episode and episode != self._episode and not was_over(then):
            # A lease begins only when the robot of the one before is at rest.
            self._episode, self._lease_known = episode, False
            self._instants.begin()
            state = self._state.without_command()
            self._state = replace(
                state,
                chunk=None,
                teleoperated=_hand_held(then, self._contract) or False,
                health=replace(state.health, late=()),
            )
            self._overruns_known = self._asked_alike = self._sent_alike = True
            gap = not begun
        elif last is not None and gap:
            self.missing = max(then.sequence - last - 1, 0)
        return gap

    def _take_up(self, then: GateDecision) -> None:
        """Take the memory of the gate from the inputs of a decision."""
        self._overruns_known = False
        self._sent_alike = self._asked_alike = True
        commands, chunk = self._state.commands, self._state.chunk
        if then.previous_command and not then.seeded:
            previous = then.previous_command
            commands = replace(
                commands, command=previous, in_force=previous, goal=then.requested_command
            )
            self._rates_unknown = True
        commands = commands.recalled(then.recent_commands, self._now)
        if then.trigger is Trigger.CHUNK:
            chunk = _chunk_of(then) or chunk
        self._state = replace(self._state, commands=commands, chunk=chunk)

    def _braked(self, then: GateDecision) -> frozenset[int]:
        """
        Return the groups whose drivers were seen to brake in a probe.

        That stands in no decision but the next: it begins elsewhere than at the last command.
        """
        last, found, start = self._state.commands.in_force or (), set(), 0
        for index, group in enumerate(self._contract.action):
            part = slice(start, start + group.size)
            start += group.size
            elsewhere = then.seeded or then.previous_command[part] != last[part]
            if group.driver_timeout_probe and elsewhere:
                found.add(index)
        return frozenset(found)

    # What was told -------------------------------------------------------------------------------

    def _as_recorded(self, then: GateDecision) -> State:
        """Return the state with what a decision says of it: limits, episode, lease, and hand."""
        state = self._state
        if then.runtime_limits != state.runtime_limits:
            # As strict as they were, and no less strict than this contract's.
            stricter = _stricter(self._declared, then.runtime_limits)
            limits = tightened_limits(self._declared, stricter)
            state = replace(state, limits=limits, runtime_limits=then.runtime_limits)
        armed = not any(result.reason is Reason.NOT_ARMED for result in then.rules)
        state = self._in_hand(self._under_lease(state, then, armed=armed), then)
        if any(result.reason is Reason.STILL_STOPPED for result in then.rules):
            state = replace(state, stopping=True)  # a stop at rest is not said again
        if self._rates_unknown and not then.seeded and then.verdict is not Verdict.REJECTED:
            self._rates_unknown = False
            commands = replace(
                state.commands, rate=then.previous_rate, acceleration=then.previous_acceleration
            )
            state = replace(state, commands=commands)
        return state

    def _under_lease(self, state: State, then: GateDecision, *, armed: bool) -> State:
        """Return the state with the episode and the lease that the gate had."""
        over, request = was_over(then), then.request
        runs = EpisodeState.RUNNING if armed else EpisodeState.RESETTING
        episode = EpisodeStatus(
            id=StepId(
                digest=self._digest,
                agent=self._agent,
                episode_id=self._episode,
                step=then.id.step,
            ),
            state=EpisodeState.TRUNCATED if over else runs,
            pacing=self._contract.pacing,
        )
        if self._lease_ended(state, then, armed=armed):
            state = state.without_command()
        lease, known = state.lease_state.lease, _heard_through(then)
        if not self._lease_known and request is not None and known is not None:
            self._lease_known = True
            lease = Lease(
                lease_id=request.lease_id,
                holder=request.client,
                episode_id=self._episode,
                last_sequence=known,
            )
        elif lease is None or (lease.episode_id != self._episode and not over):
            # Known once a request under it is heard; until then no lease is this one.
            lease = Lease(lease_id='not known', holder='', episode_id=self._episode)
        return replace(state, lease_state=replace(state.lease_state, episode=episode, lease=lease))

    def _lease_ended(self, state: State, then: GateDecision, *, armed: bool) -> bool:
        """
        Return whether a lease has ended since, at rest or, in lockstep, however it moved.

        That is not said. Without one everything is forgotten; under the next one what was sent
        before is not known any more.
        """
        if state.moving and not self._lockstep:
            return False
        if not then.armed:
            return True
        previous, seeded = state.commands.previous(
            state.limits, then.trigger, self._measured(then), self._now
        )
        as_recorded = (previous is None, seeded) == (not then.previous_command, then.seeded)
        return not armed and not as_recorded

    def _in_hand(self, state: State, then: GateDecision) -> State:
        """Return the state with the operator's switch as recorded."""
        hand = next((m for m in then.measurements if m.name == OPERATOR), None)
        held = _hand_held(then, self._contract)
        if hand is None or held is None:
            return state
        if hand.values:
            # So that it is as old now as it was then.
            age = round((hand.age or 0.0) * NANOSECONDS)
            now, captured = self._now, None
            if self._lockstep and hand.age is not None:
                captured = replace(now.ros, nanoseconds=now.ros.nanoseconds - age)
            now = replace(now, steady=now.steady - age)
            readings = state.readings.after(OPERATOR, hand.values, captured, now)
            state = replace(state, readings=readings)
        silent = bool(hand.values) and hand.values[-1] >= HELD and not held
        if silent and any(result.reason is Reason.OPERATOR for result in then.rules):
            held = True  # the timer, which would have noticed the silence, had not run yet
        return state.in_hand(held)

    def _event(self, then: GateDecision) -> Event | None:
        """Return what led to a decision; None if nothing that this gate knows did."""
        now, known, request = self._now, self._known(then), then.request
        if then.trigger is Trigger.REQUEST and request is not None:
            received = then.received or now
            if self._waited(then, request):
                return GivenUp(
                    now=now, known=known, request=request, received=received, rules=then.rules
                )
            return Request(now=now, known=known, request=request, received=received)
        if then.trigger is Trigger.CHUNK:
            return NextAction(now=now, known=known)
        if then.trigger is Trigger.OPERATOR:
            by_hand = known['measurements'].get(OPERATOR)
            return OperatorCommand(now=now, known=known) if by_hand and by_hand.values else None
        if holds_for_another(then):
            return OthersTurn(now=now, known=known)
        if then.trigger is Trigger.TIMER:
            return (Deactivate if was_deactivated(then) else Tick)(now=now, known=known)
        return None

    def _waited(self, then: GateDecision, request: ActionRequest) -> bool:
        """
        Return whether a request in lockstep was refused while it waited for its sensors.

        When they came is in no decision.
        """
        if not self._lockstep or then.verdict is not Verdict.REJECTED:
            return False
        lease = self._state.lease_state.lease
        heard = 0 if lease is None else lease.last_sequence
        return any(
            result.rule == 'sensors'
            or (result.reason is Reason.OUT_OF_ORDER and request.sequence > heard)
            for result in then.rules
        )

    def _known(self, then: GateDecision) -> Mapping[str, Any]:
        """Return what a decision says of the situation, as far as that is this gate's, too."""
        recorded = situation_of(then, self._measured(then))
        names = set(_TOLD)
        if self._sent_alike:
            names.add('time_step')
        if self._asked_alike:
            names.add('since_request')
        if not self._overruns_known:
            names.add('overruns')
        # What may still be under way, if that is what this gate has sent. When a decision was
        # taken is known to within the lateness of a gate (in lockstep exactly), and so is when
        # what was sent before matters no more.
        slack = 2.0 / NANOSECONDS if self._lockstep else self._contract.safety.gate_lateness
        commands = self._state.commands
        ours = commands.under_way(self._now)
        if self._same_terms and same_way(
            recorded.recent_commands, ours, commands.looks_back, slack
        ):
            names.add('recent_commands')
        return {name: getattr(recorded, name) for name in names}

    def _measured(self, then: GateDecision) -> Mapping[str, Measurement]:
        """Return the recorded measurements that this gate asks for."""
        return {m.name: m for m in then.measurements if m.name in self._topics}

    def _follow(self, then: GateDecision, found: GateDecision | None) -> None:
        """Take note of how far this gate goes with the recorded one."""
        sent = found is not None and found.published
        self._instants.follow(then)
        if sent and then.commanded is not None:
            commands = self._state.commands.gone_out(then.commanded)
            self._state = replace(self._state, commands=commands)
        if sent or then.published:
            self._sent_alike = sent and then.published
        asked = then.trigger in ASKED
        accepted = asked and then.verdict is not Verdict.REJECTED
        ours = asked and found is not None and found.verdict is not Verdict.REJECTED
        if accepted or ours:
            self._asked_alike = accepted and ours


def _chunk_of(then: GateDecision) -> Chunk | None:
    """Return the chunk that a decision executes, at its action."""
    if then.request is None or then.received is None:
        return None
    index = max(then.id.step - then.request.id.step, 0)
    return Chunk(then.request, then.received, index, 0)


#: Rules that refuse a request by its order, or before that is looked at.
_BEFORE_ORDER = frozenset({'well_formed', 'authority'})


def _heard_through(decision: GateDecision) -> int | None:
    """
    Return which request of a lease was heard last before its first decision, as far as it says.

    None if the decision was not on a request of the holder of the lease.
    """
    request = decision.request
    if request is None:
        return None
    # Order and holder are looked at before turn, document and sensors.
    if not was_unheard(decision) or _BEFORE_ORDER.isdisjoint(r.rule for r in decision.rules):
        return 0
    for result in decision.rules:
        order = result.rule == 'authority' and result.reason is Reason.OUT_OF_ORDER
        if order and result.limit is not None:
            return round(result.limit) - 1
    return None


def _hand_held(decision: GateDecision, contract: Contract) -> bool | None:
    """Return whether the operator held the switch; None if the decision does not say."""
    operator = contract.safety.operator
    hand = next((m for m in decision.measurements if m.name == OPERATOR), None)
    if operator is None or hand is None:
        return None
    if hand.age is None or not hand.values:
        return False
    return hand.age <= operator.timeout and hand.values[-1] >= HELD


def _stricter(declared: Limits, runtime_limits: RuntimeLimits) -> RuntimeLimits:
    """Return the stricter of what a contract declares and what was set while the gate ran."""
    timeout = runtime_limits.command_timeout
    return RuntimeLimits(
        low=tuple(map(max, runtime_limits.low, declared.low)),
        high=tuple(map(min, runtime_limits.high, declared.high)),
        rate=tuple(map(min, runtime_limits.rate, declared.rate)),
        command_timeout=None if timeout is None else min(timeout, declared.safety.command_timeout),
    )
