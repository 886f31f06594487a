# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Events: what a client may want to know of an episode without asking.

They are read out of what environment and gate publish anyway, for every client:
transitions, decisions and the state of the episode go in, events come out. They are silent while
no episode is active.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from boundary_env_ros.core.contract.model import ConfirmStep, Contract
from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuleResult,
    Trigger,
    UNAUTHORIZED,
    Verdict,
)
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind, Push
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.frozen import replace

Happenings = tuple[EnvironmentEvent, ...]

_ACTIVE = (EpisodeState.RESETTING, EpisodeState.RUNNING)

_RETURNED, _TAKEN_OVER = 'the policy has the robot again', 'a person has taken over'


class Events:
    """
    Makes events of one agent's episodes, in the order in which they are sent.

    Parameters
    ----------
    contract
        Names the dimensions of the command and their units.
    digest
        What is said under another digest is passed over.

    """

    def __init__(self, contract: Contract, digest: str) -> None:
        self._contract, self._digest = contract, digest
        self._units = {spec.name: spec.unit for spec in contract.observation}
        self._dimensions = contract.command_dimensions
        steps = contract.episode.reset.steps
        self._prompts = {step.prompt for step in steps if isinstance(step, ConfirmStep)}
        self._active = False
        self._past_episodes: list[str] = []
        self._begin(StepId(digest=digest, agent='', episode_id=''))

    def _begin(self, id_: StepId) -> None:
        self._sequence = 0
        self._step = replace(id_, step=0)
        self._acting, self._action = 0, 0
        self._fields: dict[str, ObservationField] = {}
        self._seen_through = 0
        self._seen: set[int] = set()
        self._intervention: object = None
        self._by_hand = False
        self._prompt = ''
        self._ending: EpisodeStatus | None = None

    # Records received ----------------------------------------------------------------------------

    def of(self, record: object) -> Happenings:
        """Take a record or a push, and return the events that it is; of most there are none."""
        if isinstance(record, Transition):
            return self.transition(record)
        if isinstance(record, GateDecision):
            return self.decision(record)
        if isinstance(record, EpisodeStatus):
            return self.status(record)
        return self.pushed(record) if isinstance(record, (Push, EnvironmentEvent)) else ()

    def status(self, status: EpisodeStatus) -> Happenings:
        """
        Take a state of the episode.

        An ending is reported by the transition that closes the last step, which may come after it.
        It is waited for until the environment repeats itself, but not if that is dead.
        """
        found = list(self._turn_to(status.id, active=status.state in _ACTIVE))
        if not self._is_current(status.id):
            return tuple(found)
        if status.state.over:
            known = status.id.step <= self._step.step and status.ending != endings.RESET_FAILED
            dead = status.ending == endings.ENVIRONMENT_LOST
            if known or dead or self._ending is not None:
                found.append(self._over(status))
            else:
                self._ending = status
        elif status.state is EpisodeState.RESETTING:
            # Any other message says what a long reset waits for.
            prompt = status.message if status.message in self._prompts else ''
            before, self._prompt = self._prompt, prompt
            if prompt not in ('', before):
                reason = f'the reset asks for a person: {status.message}'
                found.append(self._event(EventKind.OPERATOR, status.id, reason=reason))
        return tuple(found)

    def decision(self, decision: GateDecision) -> Happenings:
        """Take a decision of the gate."""
        if not (self._is_current(decision.id) and self._is_new(decision)):
            return ()
        self._seen.add(decision.sequence)
        return tuple(self._of_decision(decision))

    def transition(self, transition: Transition) -> Happenings:
        """Take a step that was closed, with decisions that had not come before."""
        found = list(self._turn_to(transition.id, active=True))
        if not self._is_current(transition.id):
            return tuple(found)
        for decision in transition.decisions:
            if self._is_new(decision):
                found += self._of_decision(decision)
        numbers = [decision.sequence for decision in transition.decisions]
        self._seen_through = max((self._seen_through, *numbers))
        self._seen = {number for number in self._seen if number > self._seen_through}
        self._step = transition.id
        if transition.kind is Kind.STEP or not transition.over:
            found.append(self._observation(transition))
        if transition.kind is Kind.STEP:
            found.append(self._reward(transition))
        if transition.over:
            found.append(self._termination(transition))
        return tuple(found)

    def pushed(self, push: Push | EnvironmentEvent) -> Happenings:
        """Take what a plugin pushes: it belongs to the last step and action that came."""
        if not self._active:
            return ()
        step = replace(self._step, step=max(self._acting, self._step.step))
        event = self._event(
            EventKind.PLUGIN,
            step,
            reason=push.reason,
            action_sequence=self._action,
            event_type=push.event_type,
            payload=push.payload,
        )
        return (event,)

    # Which episode -------------------------------------------------------------------------------

    def _turn_to(self, id_: StepId, *, active: bool) -> Iterator[EnvironmentEvent]:
        """Turn to the episode of a record, if it is a new one that goes on."""
        known = ('', self._step.episode_id, *self._past_episodes)
        if not active or id_.digest != self._digest or id_.episode_id in known:
            return
        if self._active:
            # Another one began, and this one's last step did not come.
            yield self._over(self._ending)
        self._past_episodes = [*self._past_episodes[-15:], self._step.episode_id]
        self._begin(id_)
        self._active = True

    def _is_current(self, id_: StepId) -> bool:
        """Return whether something belongs to the episode that is active."""
        here = self._step.digest, self._step.episode_id
        return self._active and (id_.digest, id_.episode_id) == here

    def _over(self, status: EpisodeStatus | None) -> EnvironmentEvent:
        """Return the ending that only a state of the episode tells."""
        self._active = False
        terminated = status is not None and status.state is EpisodeState.TERMINATED
        return self._event(
            EventKind.TERMINATION,
            self._step if status is None else status.id,
            terminated=terminated,
            truncated=not terminated,
            reason='another episode began'
            if status is None
            else _ending(status.ending, status.declared_by, status.message),
        )

    def _is_new(self, decision: GateDecision) -> bool:
        return decision.sequence > self._seen_through and decision.sequence not in self._seen

    # What happened -------------------------------------------------------------------------------

    def _event(self, kind: EventKind, id_: StepId, **fields: Any) -> EnvironmentEvent:
        self._sequence += 1
        return EnvironmentEvent(id=id_, sequence=self._sequence, kind=kind, **fields)

    def _observation(self, transition: Transition) -> EnvironmentEvent:
        delta, doubtful = [], []
        for field in transition.after:
            before = self._fields.get(field.name)
            if before is None or (before.values, before.image) != (field.values, field.image):
                unit = self._units.get(field.name, ())
                delta.append(NamedValues(name=field.name, values=field.values, unit=unit))
            if field.status is not FieldStatus.FRESH:
                doubtful.append(f'{field.name} is {field.status.name}')
        self._fields = {field.name: field for field in transition.after}
        what = 'the reset is done' if transition.kind is Kind.RESET else 'a step was closed'
        if transition.overrun:
            what += f' without an action, held by the {transition.held_by}'
        return self._event(
            EventKind.OBSERVATION,
            transition.id,
            delta=tuple(delta),
            reason='; '.join((what, *doubtful)),
            action_sequence=_action(transition),
        )

    def _reward(self, transition: Transition) -> EnvironmentEvent:
        terms = transition.reward_terms
        return self._event(
            EventKind.REWARD,
            transition.id,
            delta=tuple(NamedValues(name=term.name, values=(term.value,)) for term in terms),
            reward=transition.reward,
            reason=', '.join(f'{term.name} {term.value + 0.0:.4g}' for term in terms),
            action_sequence=_action(transition),
        )

    def _termination(self, transition: Transition) -> EnvironmentEvent:
        self._active = False
        return self._event(
            EventKind.TERMINATION,
            transition.id,
            terminated=transition.terminated,
            truncated=transition.truncated,
            reason=_ending(transition.ending, transition.declared_by, ''),
            action_sequence=_action(transition),
        )

    def _of_decision(self, decision: GateDecision) -> Iterator[EnvironmentEvent]:
        yield from self._takeover(decision)
        intervened = tuple(
            result
            for result in decision.rules
            if result.outcome is not Verdict.ADMITTED
            and result.reason not in (Reason.REPUBLISHED, Reason.OPERATOR)
        )
        what = (decision.verdict, tuple(sorted({(r.rule, r.reason) for r in intervened})))
        requested = decision.trigger in (Trigger.REQUEST, Trigger.CHUNK)
        if decision.verdict is not Verdict.REJECTED:
            self._acting = decision.id.step
            self._action = _request(decision) or self._action
        # The gate's timer repeats itself many times a step: what it goes on with is reported once.
        if intervened and (requested or what != self._intervention):
            yield self._safety(decision, intervened)
        self._intervention = what

    def _takeover(self, decision: GateDecision) -> Iterator[EnvironmentEvent]:
        refused = any(result.reason is Reason.OPERATOR for result in decision.rules)
        by_hand = decision.trigger is Trigger.OPERATOR or refused
        if by_hand is self._by_hand or (decision.trigger is Trigger.TIMER and not by_hand):
            return
        self._by_hand = by_hand
        yield self._event(
            EventKind.OPERATOR,
            self._of_step(decision),
            reason=_TAKEN_OVER if by_hand else _RETURNED,
            delta=self._commanded(decision, range(len(decision.command))),
            action_sequence=_request(decision),
        )

    def _safety(self, decision: GateDecision, results: Sequence[RuleResult]) -> EnvironmentEvent:
        touched = sorted({result.dimension for result in results if result.dimension >= 0})
        if any(result.dimension < 0 for result in results):
            touched = list(range(len(decision.command)))
        return self._event(
            EventKind.SAFETY,
            self._of_step(decision),
            delta=self._commanded(decision, touched),
            reason='; '.join(sentences(decision, self._contract, results)),
            action_sequence=_request(decision),
        )

    def _commanded(
        self, decision: GateDecision, dimensions: Sequence[int]
    ) -> tuple[NamedValues, ...]:
        """Return what was commanded in some dimensions; nothing, if nothing was."""
        units = self._contract.command_unit
        return tuple(
            NamedValues(name=self._dimensions[i], values=(decision.command[i],), unit=(units[i],))
            for i in dimensions
            if i < len(decision.command)
        )

    def _of_step(self, decision: GateDecision) -> StepId:
        # What was rejected goes by the name that its request gave itself.
        return replace(self._step, step=decision.id.step)


def _ending(ending: str, declared_by: str, message: str) -> str:
    return f'{ending}, declared by {declared_by}' + (f': {message}' if message else '')


def _action(transition: Transition) -> int:
    """Return the number of the request that closed a step; 0 if none did."""
    return 0 if transition.answer is None else _request(transition.answer)


def _request(decision: GateDecision) -> int:
    if decision.request is None or any(r.reason in UNAUTHORIZED for r in decision.rules):
        # The numbers of others are not those of its actions.
        return 0
    return decision.request.sequence
