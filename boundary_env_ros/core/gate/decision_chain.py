# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What ties the decisions of a gate to each other: what each repeats of those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.command_history import CommandHistory
from boundary_env_ros.core.gate.health import Health
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.admission import is_used, latency, not_accepted, switch_held
from boundary_env_ros.core.gate.rules.document_rules import Sent
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace

#: Difference of two numbers, relative to the greater of them and 1, that is none.
_ROUNDING = 1e-9


class DecisionChain:
    """
    The decisions of one gate, in their order.

    Where some are missing nothing is known of what they sent, until the next command.

    Parameters
    ----------
    contract, judge
        The contract, and its rules.

    """

    def __init__(self, contract: Contract, judge: Judge) -> None:
        self._contract, self._judge = contract, judge
        self._lockstep = contract.is_lockstep
        self._last: GateDecision | None = None
        # What the gate may remember of its commands: more than one where a lease, the gate or a
        # probe has ended.
        self._histories: tuple[CommandHistory, ...] = ()
        self._used = 0
        # The last lease, how late its requests were, and when each group was sent a document; None
        # where that is in what is missing.
        self._lease = ''
        self._health: Health | None = None
        self._documents: Mapping[str, Sent] | None = None

    def add(self, decision: GateDecision, output: RuleOutput) -> GateDecision:
        """
        Return the next decision with those of its inputs that follow from the ones before.

        Parameters
        ----------
        decision
            The next decision of the record.
        output
            What follows from its inputs.

        """
        last, self._last = self._last, decision
        if decision.sequence == 1:
            self._histories = (CommandHistory.of(self._contract),)
            self._health, self._documents = Health(contract=self._contract), {}
        elif last is None or decision.sequence != last.sequence + 1:
            last, self._histories = None, ()
            self._health = self._documents = None
        histories, expected = self._followed(last, decision)
        if last is not None:
            expected = self._under_lease(last, decision, expected)
        expected = self._after_requests(last, decision, expected, output.verdict)
        self._use(last, decision)
        wanted, by_hand = decision.requested_command, self._by_hand(decision)
        histories = tuple(history.by_source(by_hand) for history in histories)
        if histories and any(rule.reason is Reason.REPUBLISHED for rule in decision.rules):
            goals = [history.goal or wanted for history in histories]
            wanted = wanted if wanted in goals else goals[0]
        if decision.command:
            if not histories:
                known = CommandHistory.of(self._contract)
                sent_before = expected.recent_commands
                known = known.recalled(sent_before, decision.decided).by_source(by_hand)
                histories = (known,)
            sent = replace(output, verdict=decision.verdict, command=decision.command)
            out = decision.commanded or decision.decided
            histories = tuple(
                history.after(sent, decision.trigger, decision.decided).after_publication(out)
                for history in histories
            )
        self._histories = tuple(
            history for i, history in enumerate(histories) if history not in histories[:i]
        )
        return replace(decision, inputs=expected, requested_command=wanted)

    def _by_hand(self, decision: GateDecision) -> bool:
        operator = self._contract.safety.operator
        return decision.trigger is Trigger.OPERATOR or (
            operator is not None and switch_held(operator, decision.inputs.measurements)
        )

    def _followed(
        self, last: GateDecision | None, decision: GateDecision
    ) -> tuple[tuple[CommandHistory, ...], RuleInput]:
        """Return what may have been sent before a decision, and its inputs as they follow."""
        recorded, known = decision.inputs, [*self._known(last, decision)]
        fitting = tuple(
            history
            for history in known
            if any(_alike(recorded, expected) for expected in self._inputs(history, decision))
        )
        if fitting or not known:
            return fitting, recorded
        return tuple(known), next(self._inputs(known[0], decision))

    def _known(
        self, last: GateDecision | None, decision: GateDecision
    ) -> Iterator[CommandHistory]:
        """Yield what may be known of what was sent: at the end of a lease it is forgotten."""
        yield from self._histories
        if last is None:
            return
        before, now = last.inputs, decision.inputs
        probes = Trigger.PROBE in (before.trigger, now.trigger)
        if before.lease_id != now.lease_id or before.over or before.deactivated or probes:
            yield from (history.forgotten() for history in self._histories)
        if before.deactivated or (now.over and now.foreign_commands):
            yield from (history.dropped() for history in self._histories)
        if before.trigger is Trigger.PROBE:
            # A driver was seen to brake by itself sooner than it declares.
            groups = range(len(self._contract.action))
            for count in groups:
                for braked in map(frozenset, combinations(groups, count + 1)):
                    yield from (replace(known, braked=braked) for known in self._histories)

    def _inputs(self, history: CommandHistory, decision: GateDecision) -> Iterator[RuleInput]:
        """Yield the inputs of a decision as they may follow from what was sent."""
        inputs, now = decision.inputs, decision.decided
        limits = self._judge.limits_under(decision.runtime_limits)
        measurements = inputs.measurements

        def begun(previous: Vector, seeded: bool, motion: tuple[Vector, Vector]) -> RuleInput:
            rate, acceleration = motion
            return replace(
                inputs,
                previous_command=previous,
                seeded=seeded,
                previous_rate=rate,
                previous_acceleration=acceleration,
                time_step=history.time_step(now),
                recent_commands=history.recent_commands(now),
            )

        previous, seeded = history.previous(limits, inputs.trigger, measurements, now)
        motion = history.motion_at(previous, now, seeded=seeded)
        yield begun(previous, seeded, motion)
        if inputs.deactivated and history.in_force is not None:
            yield begun(history.in_force, False, motion)
        if decision.verdict is not Verdict.STOPPED:
            return
        # A stop takes from what was commanded, as far as that is in force.
        commanded = history.rate, history.acceleration
        previous, seeded = history.previous(limits, Trigger.TIMER, measurements, now)
        if not seeded:
            yield begun(previous, False, commanded)
        unheeded = history.unheeded(limits, measurements, now)
        if unheeded is not None and not decision.id.episode_id:
            yield begun(unheeded, False, commanded)

    def _under_lease(
        self, last: GateDecision, decision: GateDecision, inputs: RuleInput
    ) -> RuleInput:
        """Return the inputs of a decision with what the same lease has come to."""
        before = last.inputs
        if not inputs.lease_id:
            return inputs
        continues = before.lease_id == inputs.lease_id
        sequence = self._used if continues else 0
        if self._lockstep:
            # What waits for its sensors counts as well, until it is decided on.
            sequence = max(sequence, inputs.last_sequence)
        if not continues:
            return replace(inputs, last_sequence=sequence)
        last_step = inputs.last_step
        still_stopped = last.verdict is Verdict.STOPPED and before.running and inputs.running
        return replace(
            inputs,
            lease_episode=before.lease_episode,
            last_sequence=sequence,
            last_step=max(last_step, before.last_step) if self._lockstep else last_step,
            emergency_stop=inputs.emergency_stop or before.emergency_stop,
            stopped=inputs.stopped or (still_stopped and inputs.trigger is Trigger.TIMER),
        )

    def _after_requests(
        self,
        last: GateDecision | None,
        decision: GateDecision,
        inputs: RuleInput,
        verdict: Verdict,
    ) -> RuleInput:
        """Return the inputs of a decision with what its request and those before come to."""
        request, received = decision.request, decision.received
        if inputs.lease_id not in ('', self._lease):
            self._lease = inputs.lease_id
            self._health = self._health if last is None else Health(contract=self._contract)
        if request is not None and received is not None:
            documents, sent, health = self._judge.documents, self._documents, self._health
            if request.payload and sent is not None:
                inputs = replace(inputs, since_documents=documents.since(sent, request, received))
                if verdict in (Verdict.ADMITTED, Verdict.LIMITED):
                    self._documents = documents.after(sent, request, received)
            is_new = inputs.trigger is Trigger.REQUEST and not not_accepted(decision.rules)
            if health is not None and is_new:
                seconds = latency(request, received, lockstep=self._lockstep)
                self._health = health.after_request(seconds)
        if self._health is not None and inputs.lease_id:
            inputs = replace(inputs, overruns=self._health.overruns)
        return inputs

    def _use(self, last: GateDecision | None, decision: GateDecision) -> None:
        """Take note of the number of a request that may not come again under its lease."""
        inputs, request = decision.inputs, decision.request
        if last is None or last.inputs.lease_id != inputs.lease_id:
            self._used = 0 if self._lockstep else inputs.last_sequence
        if request is not None and decision.trigger is Trigger.REQUEST and is_used(decision):
            self._used = max(self._used, request.sequence)


def _alike(one: RuleInput, other: RuleInput) -> bool:
    """Return whether inputs are the same but for what another machine makes of their numbers."""
    if one == other:
        return True
    numbers = [
        (
            *inputs.previous_command,
            *inputs.previous_rate,
            *inputs.previous_acceleration,
            inputs.time_step,
            *(value for sent in inputs.recent_commands for value in (sent.age, *sent.command)),
        )
        for inputs in (one, other)
    ]
    sizes = [
        (
            inputs.seeded,
            len(inputs.previous_command),
            len(inputs.previous_rate),
            len(inputs.previous_acceleration),
            len(inputs.recent_commands),
        )
        for inputs in (one, other)
    ]
    return sizes[0] == sizes[1] and all(
        math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
        for a, b in zip(*numbers, strict=True)
    )
