# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The gate once more, on what a record says that it was told.

Each recorded decision becomes the event that led to it, at its instant, for the same function
that runs on a robot. Only what that cannot know again comes from the record: what triggered it,
what its sensors had measured, how long the environment had been silent, which lease there was,
whether its episode ran, and whether the emergency stop was latched. What it had sent before is
its own: a command that another gate would have limited is limited in what the next one begins
from, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate.chunk import Chunk
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuntimeLimits,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.events import (
    Deactivate,
    Event,
    NextAction,
    OperatorCommand,
    OthersTurn,
    Request,
    Tick,
)
from boundary_env_ros.core.gate.reducer import Reducer
from boundary_env_ros.core.gate.rules.admission import Lease
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another, TURN
from boundary_env_ros.core.gate.rules.limits import Limits, OPERATOR
from boundary_env_ros.core.gate.rules.recorded import (
    situation_of,
    was_deactivated,
    was_over,
    was_unheard,
)
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.gate.state import State
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.frozen import replace

#: What the gate was told, whatever it had done before.
_TOLD = (
    'emergency_stop',
    'since_environment',
    'since_tick',
    'clock_error',
    'foreign_commands',
    'crowded',
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
        self._lease_id = ''
        self._last_sequence: int | None = None
        self._deactivated = False
        self.missing = 0
        #: Whether what the gate remembers of its commands is to be taken from the next decision.
        self._lost = False
        self._overruns_known = True

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
            to stop.

        """
        self._look_for_gap(then, begun=begun)
        self._before = self._state = self._as_recorded(then, current)
        if self._cannot_know(then):
            # Whatever it decides, an operator who has the robot takes it over from a policy.
            held = self._state.readings.switch_held(then.decided)
            lockstep = self._contract.pacing is Pacing.LOCKSTEP
            commands, chunk = self._state.commands.in_hands(held), self._state.chunk
            self._state = replace(
                self._state, commands=commands, chunk=None if held and not lockstep else chunk
            )
            return then
        event, found = self._event(then), None
        if event is not None:
            self._state, decided = self._reducer.step(self._state, event)
            found = decided[-1] if decided else None
        self._lost = self._lost and then.seeded and not then.published
        if found is None:
            return None
        if found.published and then.commanded is not None:
            commands = self._state.commands.gone_out(then.commanded)
            self._state = replace(self._state, commands=commands)
        return replace(
            found,
            sequence=then.sequence,
            commanded=then.commanded if found.published else None,
            software_version=then.software_version,
        )

    def adopt(self, then: GateDecision) -> None:
        """Go on from what the record says that the gate did, not from what this one would have."""
        self._last_sequence, self._lost = then.sequence, True
        state = replace(self._before, health=self._state.health, last_request=None)
        if then.verdict is not Verdict.REJECTED:
            stopped, request = then.verdict is Verdict.STOPPED, then.request
            chunk, lease_state = state.chunk, state.lease_state
            if request is not None and lease_state.lease is not None:
                lease_state = lease_state.heard(request)
                chunk = _chunk_of(then, request).next(self._contract.period)
            chunk = None if stopped else chunk
            state = replace(state, lease_state=lease_state, chunk=chunk, stopping=stopped)
        self._state = state

    def _look_for_gap(self, then: GateDecision, *, begun: bool) -> None:
        """Look whether decisions are missing before this one."""
        last, self._last_sequence = self._last_sequence, then.sequence
        gap = (not begun or then.sequence != 1) if last is None else then.sequence != last + 1
        self.missing = 0
        if then.lease_id not in ('', self._lease_id):
            self._lease_id, self._overruns_known = then.lease_id, True
            if self._lost or (gap and not was_over(then)):
                self._state = self._state.without_command()  # it was braked, unseen
            if self._deactivated:
                # Brought to its end or not, nothing was in force any more.
                self._state = replace(self._state, commands=self._state.commands.dropped())
            gap = not begun
        elif last is not None and gap:
            self.missing = max(then.sequence - last - 1, 0)
        if gap:
            self._lost, self._overruns_known = True, False
        self._deactivated = was_deactivated(then)

    # What was told -------------------------------------------------------------------------------

    def _as_recorded(self, then: GateDecision, current: str) -> State:
        """Return the state with what a decision says of it."""
        state = self._under_lease(self._state, then, current)
        latest = {m.name: m for m in then.measurements if m.name in self._topics}
        latest = {name: found for name, found in latest.items() if found.age is not None}
        state = replace(state, readings=replace(state.readings, latest=latest))
        if self._lost:
            state = self._taken_up(state, then)
        if then.runtime_limits != state.runtime_limits:
            # As strict as they were, and no less strict than this contract's.
            stricter = _stricter(self._declared, then.runtime_limits)
            limits = tightened_limits(self._declared, stricter)
            state = replace(state, limits=limits, runtime_limits=then.runtime_limits)
        if any(result.reason is Reason.STILL_STOPPED for result in then.rules):
            state = replace(state, stopping=True)  # a stop at rest is not said again
        return state

    def _under_lease(self, state: State, then: GateDecision, current: str) -> State:
        """Return the state with the lease that the gate had, and its episode."""
        over, lease = was_over(then), state.lease_state.lease
        if then.lease_id != state.lease_state.lease_id:
            lease = None
            if then.lease_id:
                lease = Lease(lease_id=then.lease_id, holder='', episode_id='')
                state = replace(state.under_lease(lease, then.decided), last_request=None)
            else:
                state = state.without_lease()
        if lease is not None and not lease.episode_id and not over:
            # A refused decision goes by the name that its request gave itself.
            episode_id = current if was_unheard(then) else then.id.episode_id
            lease = replace(lease, episode_id=episode_id)
        armed = not any(result.reason is Reason.NOT_ARMED for result in then.rules)
        runs = EpisodeState.RUNNING if armed else EpisodeState.RESETTING
        episode = EpisodeStatus(
            id=StepId(
                digest=self._digest,
                agent=self._agent,
                episode_id='' if lease is None else lease.episode_id,
                # A request is for the step that follows.
                step=max(then.id.step - (then.request is not None), 0),
            ),
            state=EpisodeState.TRUNCATED if over else runs,
            pacing=self._contract.pacing,
        )
        braking = state.lease_state.braking
        if braking is not None and then.verdict is not Verdict.REJECTED:
            braking = then.id if over else None
        lease_state = replace(state.lease_state, episode=episode, lease=lease, braking=braking)
        return replace(state, lease_state=lease_state)

    def _taken_up(self, state: State, then: GateDecision) -> State:
        """Return the state with what the gate remembered, from the inputs of a decision."""
        commands, lease_state = state.commands, state.lease_state
        if then.previous_command and not then.seeded:
            sent = then.decided.steady - round((then.time_step or 0.0) * NANOSECONDS)
            commands = replace(
                commands,
                command=then.previous_command,
                in_force=then.previous_command,
                rate=then.previous_rate,
                acceleration=then.previous_acceleration,
                goal=then.requested_command,
                by_hand=state.readings.switch_held(then.decided),
                emitted=sent,
                out=sent,
            )
        commands = commands.recalled(then.recent_commands, then.decided)
        request, lease = then.request, lease_state.lease
        if request is not None and lease is not None and not was_unheard(then):
            lease = replace(lease, last_sequence=request.sequence - 1)
            lease_state = replace(lease_state, lease=lease)
        chunk = state.chunk
        if then.trigger is Trigger.CHUNK and request is not None:
            chunk = _chunk_of(then, request)
        return replace(state, commands=commands, lease_state=lease_state, chunk=chunk)

    def _event(self, then: GateDecision) -> Event | None:
        """Return what led to a decision; None if nothing that this gate knows did."""
        now, known, request = then.decided, self._known(then), then.request
        if then.trigger is Trigger.REQUEST and request is not None:
            return Request(now=now, known=known, request=request, received=then.received or now)
        if then.trigger is Trigger.CHUNK:
            return NextAction(now=now, known=known)
        if then.trigger is Trigger.OPERATOR:
            by_hand = OPERATOR in self._state.readings.latest
            return OperatorCommand(now=now, known=known) if by_hand else None
        if holds_for_another(then):
            return OthersTurn(now=now, known=known)
        if then.trigger is Trigger.TIMER:
            return (Deactivate if was_deactivated(then) else Tick)(now=now, known=known)
        return None

    def _cannot_know(self, then: GateDecision) -> bool:
        """
        Return whether no decision says what a refusal went by.

        That is the episode of a lease before its first request was heard; in turns, the step that
        went on; and in lockstep how far the world was, and what waited for it.
        """
        request, lease = then.request, self._state.lease_state.lease
        if request is None or then.verdict is not Verdict.REJECTED:
            return False
        if lease is not None and not lease.episode_id and was_unheard(then):
            return True
        lockstep = self._contract.pacing is Pacing.LOCKSTEP
        return any(
            (result.rule == TURN and self._contract.agent_order)
            or (lockstep and (result.rule == 'sensors' or result.reason is Reason.OUT_OF_ORDER))
            for result in then.rules
        )

    def _known(self, then: GateDecision) -> Mapping[str, Any]:
        """Return what a decision says of the situation that this gate cannot know by itself."""
        recorded = situation_of(then)
        names = list(_TOLD)
        if self._state.last_request is None:
            names.append('since_request')
        if not self._overruns_known:
            names.append('overruns')
        return {name: getattr(recorded, name) for name in names}


def _chunk_of(then: GateDecision, request: ActionRequest) -> Chunk:
    """Return the chunk that a decision executes, at its action."""
    index = max(then.id.step - request.id.step, 0)
    return Chunk(request, then.received or then.decided, index, then.decided.steady)


def _stricter(declared: Limits, runtime_limits: RuntimeLimits) -> RuntimeLimits:
    """Return the stricter of what a contract declares and what was set while the gate ran."""
    timeout = runtime_limits.command_timeout
    return RuntimeLimits(
        low=tuple(map(max, runtime_limits.low, declared.low)),
        high=tuple(map(min, runtime_limits.high, declared.high)),
        rate=tuple(map(min, runtime_limits.rate, declared.rate)),
        command_timeout=None if timeout is None else min(timeout, declared.safety.command_timeout),
    )
