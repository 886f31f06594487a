# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What consistent forgeries of a bag are made with: a change is carried to every copy of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import StepView, Task
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records.decision import GateDecision, Measurement
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import age_of, Stamp
from support.bag_maker import each, of, Tape
from support.core_messages import changed_decision
from support.damage import remeasured
from support.record_maker import COMMAND, Sent


@dataclass
class Forge:
    """A record that is being forged."""

    tape: Tape
    contract: Contract
    task: Task

    # Looking -------------------------------------------------------------------------------------

    @property
    def steps(self) -> list[Transition]:
        """The transitions."""
        return of(self.tape, Transition)

    @property
    def decisions(self) -> list[GateDecision]:
        """The decisions, as the gate published them."""
        return of(self.tape, GateDecision)

    def step(self, where: Callable[[Transition], bool]) -> Transition:
        """Return the first step of some kind."""
        return next(step for step in self.steps if where(step))

    def decision(self, where: Callable[[GateDecision], bool]) -> GateDecision:
        """Return the first decision of some kind."""
        return next(decision for decision in self.decisions if where(decision))

    def heard(self, topic: str, stamp: Stamp | None) -> Sent:
        """Return the message of a topic with a stamp."""
        assert stamp is not None
        return next(
            sent
            for sent in self.tape
            if sent.topic == topic and stamp_of(sent) == stamp.nanoseconds
        )

    # Changing ------------------------------------------------------------------------------------

    def everywhere(self, change: Callable[[Any], Any]) -> None:
        """Change every record, wherever it is carried; None takes it out."""
        self.tape = each(self.tape, change)

    def swap(self, old: object, new: object) -> None:
        """Put one record for another, wherever it is carried."""
        self.everywhere(lambda value: new if type(value) is type(old) and value == old else value)

    def raw(self, topic: str, change: Callable[[Sent], Sent | None]) -> None:
        """Change every message of a topic; None takes it out."""
        tape = []
        for sent in self.tape:
            new = change(sent) if sent.topic == topic else sent
            if new is not None:
                tape.append(new)
        self.tape = tape

    def regate(self, first: GateDecision, change: Callable[[GateDecision], GateDecision]) -> None:
        """
        Change what a decision was based on, and run the gate's rules on it and those behind it.

        Steps, rewards and command messages follow.
        """
        judge = Judge(self.contract, digest=first.id.digest)
        new: dict[int, GateDecision] = {}
        before: GateDecision | None = None
        for old in self.decisions:
            if old.sequence < first.sequence or old.id.episode_id != first.id.episode_id:
                continue
            made = change(old) if old.sequence == first.sequence else old
            if before is not None and not made.inputs.seeded and made.command:
                base = before.inputs.previous_command or before.command
                seconds = before.inputs.time_step
                rate = tuple(
                    (a - b) / seconds if seconds else 0.0
                    for a, b in zip(before.command, base, strict=True)
                )
                made = changed_decision(made, previous_command=before.command, previous_rate=rate)
            made = judge.again(made, judge.output(made))
            new[old.sequence] = made
            before = made if made.command else before
        self.put_decisions(new)
        self.rewarded()

    def put_decisions(self, new: Mapping[int, GateDecision]) -> None:
        """Put other decisions for those of their numbers, in steps and command messages too."""

        def change(value: Any) -> Any:
            if isinstance(value, GateDecision):
                return new.get(value.sequence, value)
            return copied(value) if isinstance(value, Transition) else value

        self.everywhere(change)
        commands = {
            decision.commanded.ros.nanoseconds: decision.command
            for decision in new.values()
            if decision.commanded is not None
        }
        self.raw(COMMAND, lambda sent: with_command(sent, commands.get(stamp_of(sent))))

    def rewarded(self) -> None:
        """Let the task reward every step anew; endings stay."""
        resets = {step.id.episode_id: step.reset for step in self.steps if step.reset is not None}

        def change(value: Any) -> Any:
            if not isinstance(value, Transition) or value.kind is not Kind.STEP:
                return value
            reset = resets[value.id.episode_id]
            outcome = self.task.judge(
                StepView(
                    agent=value.id.agent,
                    before=values_of(value.before),
                    after=values_of(value.after),
                    commanded=value.commanded_action,
                    reset=by_name(reset.sampled) if reset else {},
                    step=value.id.step,
                    period=self.contract.period,
                )
            )
            return replace(
                value,
                reward=sum(term.value for term in outcome.terms),
                reward_terms=outcome.terms,
            )

        self.everywhere(change)

    def refield(
        self, step: Transition, name: str, change: Callable[[ObservationField], ObservationField]
    ) -> None:
        """Change a field of the observation after a step, and what was copied from it."""
        old = next(field for field in step.after if field.name == name)
        new = aged(change(old), step)
        self.swap(old, new)

        def captured(value: Any) -> Any:
            if (
                isinstance(value, Transition)
                and value.captured == old.captured
                and name == self.contract.reaction_of
                and value.kind is Kind.STEP
            ):
                return remeasured(replace(value, captured=new.captured))
            return value

        self.everywhere(captured)


def values_of(fields: Iterable[ObservationField]) -> Mapping[str, tuple[float, ...]]:
    """Return the values of fields by name, without images and what is missing."""
    return {field.name: field.values for field in fields if field.values}


def aged(field: ObservationField, step: Transition) -> ObservationField:
    """Return a field with the age that its stamp gives it."""
    return replace(field, age=age_of(field.captured, step.closed))


def copied(step: Transition) -> Transition:
    """Return a step that has copied from the decision that answered its action."""
    if step.decision < 0:
        return step
    answer = step.decisions[step.decision]
    return replace(
        step,
        verdict=answer.verdict,
        requested_action=answer.requested_action,
        admitted_action=answer.admitted_action,
        commanded_action=answer.command,
    )


def with_command(sent: Sent, command: tuple[float, ...] | None) -> Sent:
    """Return a command message with another command."""
    if command is None or not command:
        return sent
    twist = {'linear': {'x': command[0]}, 'angular': {'z': command[1]}}
    return replace(sent, what={**sent.what, 'twist': twist})


def stamp_of(sent: Sent) -> int:
    """Return the stamp of a message."""
    stamp = sent.what['header']['stamp'] if isinstance(sent.what, Mapping) else {'sec': 0}
    return int(stamp['sec']) * 1_000_000_000 + int(stamp.get('nanosec', 0))


def measured(
    decision: GateDecision, name: str, change: Callable[[Measurement], Measurement]
) -> GateDecision:
    """Return a decision with another measurement."""
    return changed_decision(
        decision,
        measurements=tuple(
            change(found) if found.name == name else found
            for found in decision.inputs.measurements
        ),
    )
