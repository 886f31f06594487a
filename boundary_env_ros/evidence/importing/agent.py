# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent, made afterwards by the objects that make them while a robot runs.

There was no gate, no request and no reset: what only they could know stays unknown.
"""

from __future__ import annotations

import math
from typing import TypeAlias
import uuid

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.environment import step as apply
from boundary_env_ros.core.environment.environment_events import (
    Decided,
    FieldRead,
    GroupMeasured,
    InputEvent,
)
from boundary_env_ros.core.environment.environment_state import EnvironmentState, Setup
from boundary_env_ros.core.environment.reset import by_name, tolerances
from boundary_env_ros.core.environment.starting import run
from boundary_env_ros.core.environment.step_builder import close_step
from boundary_env_ros.core.environment.task import judge, Outcome, StepView, supply, Task
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.endings import (
    ABANDONED,
    EndingKind,
    SENSOR_LOST,
    time_is_over,
    TIME_LIMIT,
)
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.imported import import_marks
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import (
    Kind,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, TaskFailed
from boundary_env_ros.evidence.importing.listening import Listened
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract_file import LoadedContract

#: What declares the endings that were not declared while the robot ran.
DECLARER = 'import'

Made: TypeAlias = Transition | PrivilegedObservation | EpisodeStatus

_TIMES = ('opened', 'closed', 'captured', 'latency')
_SEEN = ('age', 'status', 'arrived')
_ENDING = ('terminated', 'truncated', 'ending', 'declared_by')
_ACTED = ('actuated', 'actuated_quantum', 'actuated_source')
_UNKNOWN = ('seed', 'client_version', 'wrappers')
_UNKNOWN_OF_RESET = ('seed_given', 'options', 'within_tolerance')


class ImportedAgent:
    """
    Takes what one agent's sensors said and what was commanded, and makes its steps.

    The last step that was closed is held back until the next one, since it may turn out to be the
    last of its episode.

    Parameters
    ----------
    loaded, task
        The contract, of one agent, and its task.
    listened
        What is listened to for it.
    bag
        Name of the bag.
    reset
        What is known of how the episodes began, by the names of the task.

    Attributes
    ----------
    outside
        How many commands were outside the bounds of the contract.
    commands, used
        How many commands there were, and how many of them in an episode.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        task: Task,
        listened: Listened,
        bag: str,
        reset: tuple[NamedValues, ...],
    ) -> None:
        self._contract = contract = loaded.contract
        self._bag, self._sampled = bag, reset
        self._present = listened.present
        self._task = _Judge(task, contract)
        setup = Setup(
            contract=contract,
            digest=loaded.digest,
            task=self._task,
            agent=contract.agents[0],
            topics=listened.names,
            software_version=__version__,
            name=DECLARER,
        )
        self._state = self._idle = replace(
            EnvironmentState.of(setup),
            actuation=Actuation.of(contract, listened.names, acknowledgements=False),
        )
        self._seen = tuple(
            spec for spec in (*contract.observation, *contract.state) if spec.name in self._present
        )
        timeouts = [g.driver_timeout for g in contract.action if g.driver_timeout is not None]
        self._in_force = min(timeouts, default=math.inf) * NANOSECONDS
        self._sequence = 0
        self._held: tuple[Made, ...] = ()
        self.outside = self.commands = self.used = 0
        self.forget()

    # Input ---------------------------------------------------------------------------------------

    def field(self, name: str, reading: Reading) -> bool:
        """Take a reading of a field of any section; return whether it measured anything."""
        self._apply(FieldRead(name=name, reading=reading))
        return self._state.buffer.latest.get(name) is reading

    def _apply(self, event: InputEvent) -> None:
        # What comes of it on the way, evidence for commands of earlier steps, is in no step.
        self._state, _ = apply(self._state, event)

    def forget(self) -> None:
        """Forget what came: the clock was set back, and it is of another time."""
        idle = self._idle
        self._state = replace(self._state, buffer=idle.buffer, actuation=idle.actuation)
        self._groups: dict[str, Vector] = {}
        self._previous: Vector | None = None
        self._of_step_before: Vector | None = None
        self._commanded_at = 0

    def feedback(self, group: str, values: Vector, captured: Stamp | None) -> None:
        """Take the measured state of one group of the command's dimensions."""
        self._apply(GroupMeasured(name=group, values=values, captured=captured))

    def command(self, group: str, values: Vector, now: ClockReading) -> None:
        """Take the command of one group; with it the others are as they were sent last."""
        self._groups[group] = values
        if len(self._groups) < len(self._contract.action):
            return
        command = tuple(v for g in self._contract.action for v in self._groups[g.name])
        low, high = self._contract.flat('low'), self._contract.flat('high')
        self.commands += 1
        self.outside += not all(
            least <= v <= most for least, v, most in zip(low, command, high, strict=True)
        )
        at = now.ros.nanoseconds
        if at - self._commanded_at > self._in_force:
            # The driver has stopped by itself meanwhile.
            self._previous = self._of_step_before = None
        self._commanded_at = at
        before, episode = self._state.before, self._state.episode
        if before is not None:
            self.used += 1
            self._sequence += 1
            # A step has one action, from the command before the step to the last one in it.
            action = _action(self._contract, command, self._of_step_before)
            seen, id_ = before.observation, episode.at(episode.id.step + 1)
            request = ActionRequest(
                id=id_,
                lease_id='',
                sequence=self._sequence,
                action=action,
                observed=seen.observed,
                delivered=None,
                requested=None,
                observed_step=seen.id.step,
            )
            # What a step wants to know of a command; no gate decided it, and none is recorded.
            decision = GateDecision(
                id=id_,
                sequence=self._sequence,
                verdict=Verdict.ADMITTED,
                decided=now,
                inputs=RuleInput(
                    trigger=Trigger.REQUEST, time_step=0.0, previous_command=self._previous or ()
                ),
                request=request,
                admitted_action=action,
                command=command,
                commanded=now,
            )
            self._apply(Decided(decision=decision, now=now))
        self._previous = command

    # Episodes ------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether an episode runs."""
        return self._state.before is not None

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return the fields that the bag has a topic for, and that have not come yet."""
        latest = self._state.buffer.latest
        return tuple(s.name for s in self._seen if s.derived is None and s.name not in latest)

    def missing(self, name: str) -> str:
        """Return a field that has not come in words: its name, its topic, and why."""
        return self._state.buffer.missing(name)

    @property
    def step(self) -> int:
        """Return the last step that was closed."""
        return self._state.episode.id.step

    def begin(self, now: ClockReading) -> None:
        """Begin an episode with what was seen last."""
        contract, agent = self._contract, self._state.setup.agent
        buffer = self._state.buffer
        buffer = replace(buffer.forgotten(), latest=buffer.latest)
        sampled = by_name(self._sampled)
        unknown = [*_UNKNOWN, *(f'reset.{name}' for name in _UNKNOWN_OF_RESET)]
        try:
            buffer = buffer.supplied(supply(self._task, contract, sampled, agent), now)
        except BoundaryError:
            unknown.append('reset')
        record = ResetRecord(
            seed_given=False,
            options='{}',
            sampled=self._sampled,
            achieved=(),
            tolerance=tolerances(contract.episode.reset),
            within_tolerance=False,
            confirmed_by='',
        )
        episode = self._idle.episode.begin(episode_id=str(uuid.uuid4()), seed=0, client=DECLARER)
        state = replace(
            self._state, episode=episode, buffer=buffer, record=record, decisions=(), gaps=0
        )
        self._state, (status, transition, privileged) = run(state, now)
        derived = ('closed', *_seen('after', 'state'))
        marks = import_marks(self._bag, derived=derived, unknown=unknown)
        self._held = (status, privileged, replace(transition, diagnostics=marks))
        self._of_step_before = self._previous

    def tick(self, now: ClockReading) -> tuple[Made, ...]:
        """Close a step; return what is whole now, and with an ending all that is left."""
        contract, state = self._contract, self._state
        made, step = self._held, self.step + 1
        view = state.buffer.view(state.episode.at(step), now)
        # A field that the bag has not is not lost.
        absent = {f.name for f in view.fields if f.status is FieldStatus.MISSING} - self._present
        lost = [why for name, why in state.buffer.lost(view).items() if name not in absent]
        endings = {SENSOR_LOST: (DECLARER, '; '.join(lost))} if lost else {}
        if step >= contract.max_steps:
            endings[TIME_LIMIT] = (DECLARER, time_is_over(contract.episode.time_limit))
        self._task.stumbled = False
        self._state, closed, _ = close_step(state, view, endings, offsets=())
        transition = self._stripped(closed)
        self._of_step_before = self._previous
        self._held = (self._state.buffer.privileged(transition.id, now), transition)
        if transition.ending:
            return (*made, *self._over(replace(self._state.episode, stamp=now)))
        return made

    def end(self, why: str) -> tuple[Made, ...]:
        """End the episode with the last step that was closed; nothing if there was none."""
        *others, last = self._held
        assert isinstance(last, Transition)
        if last.kind is Kind.RESET:
            self._held = ()
            self._state = replace(self._state, before=None)
            return ()
        kind = self._contract.episode.endings[ABANDONED]
        last = replace(
            last,
            terminated=kind is EndingKind.TERMINATED,
            truncated=kind is EndingKind.TRUNCATED,
            ending=ABANDONED,
            declared_by=DECLARER,
        )
        self._held = (*others, last)
        episode = self._state.episode.end(
            ending=ABANDONED, kind=kind, declared_by=DECLARER, message=why
        )
        return self._over(replace(episode, stamp=last.closed))

    def _over(self, status: EpisodeStatus) -> tuple[Made, ...]:
        made, self._held = self._held, ()
        self._state = replace(self._state, before=None)
        return (*made, status)

    def _stripped(self, transition: Transition) -> Transition:
        """Return a step without the decisions that no gate took, with what is derived marked."""
        derived = [*_TIMES, *_seen('before', 'after', 'state'), *_ENDING]
        unknown = [*_UNKNOWN]
        if transition.commanded_action:
            derived += ['requested_action', 'admitted_action', 'commanded']
        if transition.overrun:
            derived.append('overrun')
        if transition.actuated is not None:
            derived += _ACTED
        reward = transition.reward
        if self._task.stumbled:
            reward = math.nan
            unknown.append('reward')
            if not transition.terminated:
                unknown.append('terminated')
                derived.remove('terminated')
        else:
            derived += ['reward', 'reward_terms']
        return replace(
            transition,
            decisions=(),
            decision=-1,
            verdict=None,
            reward=reward,
            diagnostics=(
                *import_marks(self._bag, derived=derived, unknown=unknown),
                *transition.diagnostics,
            ),
        )


class _Judge:
    """A task that says when it could not judge, for lack of what it needs."""

    def __init__(self, task: Task, contract: Contract) -> None:
        self._task, self._contract = task, contract
        self.sample_reset = task.sample_reset
        self.observe = task.observe
        self.stumbled = False

    def judge(self, step: StepView) -> Outcome:
        """Return what the task makes of a step; nothing if it stumbles."""
        try:
            return judge(self._task, self._contract, step)
        except TaskFailed:
            self.stumbled = True
            return Outcome()


def _seen(*sections: str) -> tuple[str, ...]:
    """Return what is derived of each field of some sections of a transition."""
    return tuple(f'{section}.{name}' for section in sections for name in _SEEN)


def _action(contract: Contract, command: Vector, previous: Vector | None) -> Vector:
    """Return the action that means a command; NaN where none does, or the one before is needed."""
    action = as_action(contract.action, command, previous)
    if previous is not None:
        return action
    known: list[float] = []
    for group in contract.action:
        part = action[len(known) : len(known) + group.action_size]
        known += [math.nan] * len(part) if group.kind is ActionKind.DELTA else part
    return tuple(known)
