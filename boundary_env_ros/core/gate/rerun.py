# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The gate once more, on what a record says that it was told.

It is the gate itself, with its rules, its admission and its memory; only what it cannot know again
comes from the record: when it decided and why then (the trigger), what its sensors had measured
and how old that was, how long the others had been silent, whether an episode ran, and whether the
emergency stop was latched. What it had sent before is its own: a command that another gate would
have limited is limited in what the next one begins from, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.lockstep import Advanced, WorldAdvanced
from boundary_env_ros.core.gate.chunk import Chunk
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    Measurement,
    Reason,
    Sent,
    StepId,
    Tightened,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.gate import Decisions, Gate
from boundary_env_ros.core.gate.recorded_instants import ASKED, RecordedInstants
from boundary_env_ros.core.gate.rules.admission import Lease
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.gate.rules.limits import Limits, OPERATOR
from boundary_env_ros.core.gate.rules.pending_motion import same_way
from boundary_env_ros.core.gate.rules.recorded import (
    situation_of,
    was_deactivated,
    was_over,
    was_unheard,
)
from boundary_env_ros.core.gate.rules.rule_input import Ruling, Situation
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.gate.sensor_buffer import HELD
from boundary_env_ros.core.timebase import Instant, NANOSECONDS


class GateRerun(Gate):
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
        self, contract: Contract, *, digest: str, agent: str, topics: dict[str, str]
    ) -> None:
        super().__init__(contract, digest=digest, agent=agent, topics=topics)
        self._topics_of = topics
        self._pacing = contract.pacing
        self._period = contract.period
        self._then: GateDecision | None = None
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
        self._rates_unknown = False
        self._same_terms = digest_of(contract) == digest
        self._kept: tuple[dict[str, Any], dict[str, Any]] = ({}, {})

    # Driving it ----------------------------------------------------------------------------------

    def again(
        self,
        then: GateDecision,
        request: ActionRequest | None = None,
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
        request
            What is to be asked for instead of the recorded request.
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
        self._then, self._now = then, self._instants.go_on_to(then)
        if gap:
            self._take_up(then)
        self._kept = (vars(self._memory).copy(), vars(self._output).copy())
        self._tighten_as(then.tightened)
        self._stand(then)
        self._remember_rates(then)
        found = self._redecided(then, request or then.request)
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
        memory, output = self._kept
        chunk: Chunk | None = memory['chunk']
        vars(self._memory).update(memory)
        vars(self._output).update(output)
        refused = then.verdict is Verdict.REJECTED
        if then.published:
            ruling = Ruling(verdict=then.verdict, wanted=then.wanted_command, command=then.command)
            self._output.sent(ruling, then.trigger, self._now)
            self._output.went_out(then.commanded or self._now)
            self._rates_unknown = True
        if not refused:
            self._memory.stopping = then.verdict is Verdict.STOPPED
            if then.trigger in ASKED:
                self._memory.last_request = self._now.steady
        if then.trigger is Trigger.REQUEST and then.request is not None and not was_unheard(then):
            self._hear(then.request)
            chunk = None if refused else Chunk(then.request, then.received or self._now, 0, 0)
        if then.trigger in (Trigger.REQUEST, Trigger.CHUNK):
            chunk = None if chunk is None else chunk.next(self._period)
        self._memory.chunk = None if then.verdict is Verdict.STOPPED else chunk
        if (was_over(then) or was_deactivated(then)) and not self._moving:
            self._forget_command()
            if was_deactivated(then):
                self._output.drop()
        self._sent_alike = self._asked_alike = True

    def _begin(self, then: GateDecision, current: str, *, begun: bool) -> bool:
        """Begin with another lease; return whether decisions are missing before this one."""
        heard = then.request is not None and not was_unheard(then)
        own = heard or (then.verdict is not Verdict.REJECTED and not was_over(then))
        episode = then.id.episode_id if own else current
        last = self._last_sequence
        gap = not begun if last is None else then.sequence != last + 1
        self.missing = 0
        self._last_sequence = then.sequence
        if episode and episode != self._episode and not was_over(then):
            # A lease begins only when the robot of the one before is at rest.
            self._episode, self._lease_known = episode, False
            self._instants.begin()
            self._forget_command()
            self._memory.chunk = None
            self._memory.taken_over = _hand_held(then, self._contract) or False
            self._health.begin()
            self._overruns_known = self._asked_alike = self._sent_alike = True
            gap = not begun
        elif last is not None and gap:
            self.missing = max(then.sequence - last - 1, 0)
        return gap

    def _take_up(self, then: GateDecision) -> None:
        """Take the memory of the gate from the inputs of a decision."""
        self._overruns_known = False
        self._sent_alike = self._asked_alike = True
        if then.previous_command and not then.seeded:
            self._output.command = self._output.in_force = then.previous_command
            self._output.goal = then.wanted_command
            self._rates_unknown = True
        self._output.recall(then.recent, self._now)
        if then.trigger is Trigger.CHUNK and then.request is not None and then.received:
            index = max(then.id.step - then.request.id.step, 0)
            self._memory.chunk = Chunk(then.request, then.received, index, 0)

    def _remember_rates(self, then: GateDecision) -> None:
        if self._rates_unknown and not then.seeded and then.verdict is not Verdict.REJECTED:
            self._rates_unknown = False
            self._output.rate = then.previous_rate
            self._output.acceleration = then.previous_acceleration

    def _tighten_as(self, tightened: Tightened) -> None:
        """Make the limits as strict as they were, and no less strict than this contract's."""
        declared = self._declared
        if tightened != self._tightened:
            self._tightened = tightened
            self._limits = tightened_limits(declared, _stricter(declared, tightened))

    def _stand(self, then: GateDecision) -> None:
        """Let whom the gate hears, and whether an episode runs, be as recorded."""
        over = was_over(then)
        armed = not any(result.reason is Reason.NOT_ARMED for result in then.rules)
        state = EpisodeState.RUNNING if armed else EpisodeState.RESETTING
        self._authority.episode = EpisodeStatus(
            id=StepId(
                digest=self._digest,
                agent=self._agent,
                episode_id=self._episode,
                step=then.id.step,
            ),
            state=EpisodeState.TRUNCATED if over else state,
            pacing=self._pacing,
        )
        if self._lease_ended(then, armed=armed):
            self._forget_command()
        request = then.request
        known = _heard_through(then)
        if not self._lease_known and request is not None and known is not None:
            self._lease_known = True
            self._authority.lease = Lease(
                lease_id=request.lease_id,
                holder=request.client,
                episode_id=self._episode,
                last_sequence=known,
            )
        elif self._authority.lease is None or (
            self._authority.lease.episode_id != self._episode and not over
        ):
            # Known once a request under it is heard; until then nobody's is this one.
            self._authority.lease = Lease(
                lease_id='not known', holder='', episode_id=self._episode
            )
        self._take_over(then)

    def _lease_ended(self, then: GateDecision, *, armed: bool) -> bool:
        """
        Return whether a lease has ended since, at rest or, in lockstep, however it moved.

        That is not said. Without one everything is forgotten; under the next one what was sent
        before is not known any more.
        """
        if self._moving and self._pacing is not Pacing.LOCKSTEP:
            return False
        if not then.armed:
            return True
        previous, seeded = self._output.previous(
            self._limits, then.trigger, self._measured(then), self._now
        )
        as_recorded = (previous is None, seeded) == (not then.previous_command, then.seeded)
        return not armed and not as_recorded

    def _take_over(self, then: GateDecision) -> None:
        """Let the operator's switch be as recorded."""
        hand = next((m for m in then.measurements if m.name == OPERATOR), None)
        held = _hand_held(then, self._contract)
        if hand is None or held is None:
            return
        if hand.values:
            # So that it is as old now as it was then.
            age = round((hand.age or 0.0) * NANOSECONDS)
            now, captured = self._now, None
            if self._pacing is Pacing.LOCKSTEP and hand.age is not None:
                captured = replace(now.ros, nanoseconds=now.ros.nanoseconds - age)
            now = replace(now, steady=now.steady - age)
            self._senses.take(OPERATOR, hand.values, captured, now)
        silent = bool(hand.values) and hand.values[-1] >= HELD and not held
        if silent and any(result.reason is Reason.OPERATOR for result in then.rules):
            held = True  # the timer, which would have noticed his silence, had not run yet
        if held is not self._memory.taken_over:
            self._memory.taken_over = held
            self._memory.chunk = None
            self._output.hand_over()

    def _redecided(self, then: GateDecision, request: ActionRequest | None) -> GateDecision | None:
        self._kept = (vars(self._memory).copy(), vars(self._output).copy())
        decided: Decisions = ()
        if then.trigger is Trigger.REQUEST and request is not None:
            received = then.received or self._now
            if self._waited(then, request):
                decided = self._reject(request, received, then.rules)
            else:
                decided = self._decide(request, received, self._now)
        elif then.trigger is Trigger.CHUNK:
            if self._memory.chunk is not None:
                decided = self._act(self._memory.chunk, Trigger.CHUNK, self._now)
        elif then.trigger is Trigger.OPERATOR:
            if any(m.name == OPERATOR and m.values for m in self._measured(then).values()):
                decided = super()._by_hand(self._now)
        elif holds_for_another(then):
            # Its sensors were there, or it would have waited.
            self._memory.held_for = ('', 0)
            self._senses.advanced(_nothing_to_wait_for(self._authority.id, self._now))
            decided = self._hold_turn(self._now)
        elif then.trigger is Trigger.TIMER:
            self._let_be_due()
            step = self.deactivate if was_deactivated(then) else self._tick
            decided = step(self._now)
        return decided[-1] if decided else None

    def _let_be_due(self) -> None:
        """
        Let it be time to send again, if it was.

        A record says only nearly when the timer ran; but that it spoke says that it was due.
        """
        output = self._output
        if self._sent_alike and output.emitted is not None:
            periods = (self._period, self._contract.safety.republish or 0.0)
            latest = self._now.steady - round(max(periods) * NANOSECONDS)
            output.emitted = min(output.emitted, latest)

    def _waited(self, then: GateDecision, request: ActionRequest) -> bool:
        """
        Return whether a request in lockstep was refused while it waited for its sensors.

        When they came is in no decision.
        """
        if self._pacing is not Pacing.LOCKSTEP or then.verdict is not Verdict.REJECTED:
            return False
        lease = self._authority.lease
        heard = 0 if lease is None else lease.last_sequence
        return any(
            result.rule == 'sensors'
            or (result.reason is Reason.OUT_OF_ORDER and request.sequence > heard)
            for result in then.rules
        )

    def _follow(self, then: GateDecision, found: GateDecision | None) -> None:
        """Take note of how far this gate goes with the recorded one."""
        sent = found is not None and found.published
        self._instants.follow(then)
        if sent and then.commanded is not None:
            self.went_out(then.commanded)
        if sent or then.published:
            self._sent_alike = sent and then.published
        asked = then.trigger in ASKED
        accepted = asked and then.verdict is not Verdict.REJECTED
        ours = asked and found is not None and found.verdict is not Verdict.REJECTED
        if accepted or ours:
            self._asked_alike = accepted and ours

    # What it knows -------------------------------------------------------------------------------

    def _situation(self, trigger: Trigger, now: Instant) -> Situation:
        then = self._then
        assert then is not None  # nothing but a recorded decision makes it decide
        measurements = self._measured(then)
        output = self._output
        previous, seeded = output.previous(self._limits, trigger, measurements, now)
        ours = super()._situation(trigger, now)
        recorded = situation_of(then, measurements)
        return replace(
            recorded,
            trigger=trigger,
            time_step=recorded.time_step if self._sent_alike else ours.time_step,
            previous=previous,
            seeded=seeded,
            previous_rate=() if seeded else output.rate,
            previous_acceleration=() if seeded else output.acceleration,
            over=False,
            # A stop at rest is not said again, and so is in no record.
            stopped=trigger is Trigger.TIMER
            and self._authority.running
            and (self._memory.stopping or recorded.stopped),
            since_request=recorded.since_request if self._asked_alike else ours.since_request,
            overruns=ours.overruns if self._overruns_known else recorded.overruns,
            recent=self._recent_of(recorded, ours),
        )

    def _recent_of(self, recorded: Situation, ours: Situation) -> tuple[Sent, ...]:
        """
        Return what may still be under way: as recorded, if that is what this gate has sent.

        When a decision was taken is known to within the lateness of a gate (in lockstep exactly),
        and so is when what was sent before matters no more.
        """
        slack = self._contract.safety.gate_lateness
        if self._pacing is Pacing.LOCKSTEP:
            slack = 2.0 / NANOSECONDS  # rounding
        alike = same_way(recorded.recent, ours.recent, self._output.looks_back, slack)
        return recorded.recent if self._same_terms and alike else ours.recent

    def _measured(self, then: GateDecision) -> Mapping[str, Measurement]:
        """Return the recorded measurements that this gate asks for."""
        return {m.name: m for m in then.measurements if m.name in self._topics_of}

    def _by_hand(self, now: Instant) -> Decisions:
        """Decide nothing besides: the record has a decision of its own for that."""
        return ()

    def _next_of_chunk(self, now: Instant) -> Decisions:
        """Decide nothing besides: the record has a decision of its own for that."""
        return ()

    def _hear(self, request: ActionRequest) -> None:
        lease = self._authority.lease
        if lease is not None and request.sequence > lease.last_sequence:
            self._authority.hear(request)


def _nothing_to_wait_for(id_: StepId, now: Instant) -> Advanced:
    return Advanced(
        report=WorldAdvanced(
            id=id_, success=True, message='', topics=(), published=(), last_stamp=(), dropped=()
        ),
        now=now.ros.nanoseconds,
    )


def _heard_through(decision: GateDecision) -> int | None:
    """
    Return which request of a lease was heard last before its first decision, as far as it says.

    None if the decision was not on a request of the holder of the lease.
    """
    request = decision.request
    if request is None:
        return None
    if not was_unheard(decision):
        return 0
    for result in decision.rules:
        order = result.rule == 'authority' and result.reason is Reason.OUT_OF_ORDER
        if order and result.limit is not None:
            return round(result.limit) - 1
    return None


def _hand_held(decision: GateDecision, contract: Contract) -> bool | None:
    """Return whether the operator held his switch; None if the decision does not say."""
    operator = contract.safety.operator
    hand = next((m for m in decision.measurements if m.name == OPERATOR), None)
    if operator is None or hand is None:
        return None
    if hand.age is None or not hand.values:
        return False
    return hand.age <= operator.timeout and hand.values[-1] >= HELD


def _stricter(declared: Limits, tightened: Tightened) -> Tightened:
    """Return the stricter of what a contract declares and what was set while the gate ran."""
    timeout = tightened.command_timeout
    return Tightened(
        low=tuple(map(max, tightened.low, declared.low)),
        high=tuple(map(min, tightened.high, declared.high)),
        rate=tuple(map(min, tightened.rate, declared.rate)),
        command_timeout=None if timeout is None else min(timeout, declared.safety.command_timeout),
    )
