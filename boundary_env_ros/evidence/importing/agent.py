# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent, made afterwards by the objects that make them while a robot runs.

There was no gate, no request and no reset: what only they could tell stays unknown.
"""

from __future__ import annotations

from functools import partial
import math
from typing import TypeAlias
import uuid

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import ActionKind, Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.endings import (
    ABANDONED,
    EndingKind,
    SENSOR_LOST,
    time_is_over,
    TIME_LIMIT,
)
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.observation import FieldStatus
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.environment.reset import by_name, tolerances
from boundary_env_ros.core.environment.step_builder import close, opened
from boundary_env_ros.core.environment.task import judge, Outcome, StepView, supply, Task
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    RuleInput,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.imported import import_marks
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS, Stamp
from boundary_env_ros.core.transition import (
    Kind,
    NamedValues,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import BoundaryError, TaskFailed
from boundary_env_ros.evidence.importing.listening import Listened
from boundary_env_ros.frozen import replace

#: What declares the endings that were not declared while the robot ran.
DECLARER = 'import'

Made: TypeAlias = Transition | PrivilegedObservation | EpisodeStatus

# What no bag says of a transition.
_opened = partial(opened, software_version=__version__, client_version='', seed=0)

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
    contract, digest, task
        The contract, its digest and its task.
    agent
        The agent.
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
        contract: Contract,
        *,
        digest: str,
        task: Task,
        agent: str,
        listened: Listened,
        bag: str,
        reset: tuple[NamedValues, ...],
    ) -> None:
        self._contract, self._digest, self._agent = contract, digest, agent
        self._bag, self._sampled = bag, reset
        self._present, self._topics = listened.present, listened.names
        self._task = _Judge(task, contract)
        self._seen = tuple(
            spec for spec in (*contract.observation, *contract.state) if spec.name in self._present
        )
        timeouts = [g.driver_timeout for g in contract.action if g.driver_timeout is not None]
        self._in_force = min(timeouts, default=math.inf) * NANOSECONDS
        self._sequence = 0
        self._decisions: list[GateDecision] = []
        self._idle = self._episode = EpisodeStatus(
            id=StepId(digest=digest, agent=agent, episode_id=''),
            state=EpisodeState.IDLE,
            pacing=contract.pacing,
        )
        self._record: ResetRecord | None = None
        self._before: View | None = None
        self._held: tuple[Made, ...] = ()
        self.outside = self.commands = self.used = 0
        self.forget()

    # Hearing -------------------------------------------------------------------------------------

    def field(self, name: str, reading: Reading) -> bool:
        """Take a reading of a field of any section; return whether it measured anything."""
        return self._buffer.take(name, reading)

    def forget(self) -> None:
        """Forget what came: the clock was set back, and it is of another time."""
        self._buffer = ObservationBuffer(self._contract, self._topics)
        self._actuation = Actuation.of(self._contract, self._topics, drivers_heard=False)
        self._groups: dict[str, Vector] = {}
        self._previous: Vector | None = None
        self._of_step_before: Vector | None = None
        self._commanded_at = 0

    def feedback(self, group: str, values: Vector, captured: Stamp | None) -> None:
        """Take the measured state of one group of the command's dimensions."""
        self._actuation.heard(group, values, captured)

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
        if self._before is not None:
            self.used += 1
            self._sequence += 1
            # A step has one action, from the command before the step to the last one in it.
            action = _action(self._contract, command, self._of_step_before)
            seen, id_ = self._before.observation, self._episode.at(self._episode.id.step + 1)
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
            # What close() wants to know of a command; no gate decided it, and none is recorded.
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
            self._decisions.append(decision)
            self._actuation.commanded(decision)
        self._previous = command

    # Episodes ------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether an episode runs."""
        return self._before is not None

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return the fields that the bag has a topic for, and that have not come yet."""
        latest = self._buffer.latest
        return tuple(s.name for s in self._seen if s.derived is None and s.name not in latest)

    def missing(self, name: str) -> str:
        """Return a field that has not come in words: its name, its topic, and why."""
        return self._buffer.missing(name)

    @property
    def step(self) -> int:
        """Return the last step that was closed."""
        return self._episode.id.step

    def begin(self, now: ClockReading) -> None:
        """Begin an episode with what was seen last."""
        contract = self._contract
        self._episode = self._idle.begin(
            episode_id=str(uuid.uuid4()), seed=0, client=DECLARER
        ).run()
        latest = dict(self._buffer.latest)
        self._buffer.forget()
        for name, reading in latest.items():
            self._buffer.take(name, reading)
        self._decisions.clear()
        sampled = by_name(self._sampled)
        unknown = [*_UNKNOWN, *(f'reset.{name}' for name in _UNKNOWN_OF_RESET)]
        try:
            supplied = supply(self._task, contract, sampled, self._agent)
        except BoundaryError:
            supplied = {}
            unknown.append('reset')
        for spec in (*contract.observation, *contract.state):
            values = tuple(supplied.get(spec.task, ())) if spec.task else ()
            if len(values) == spec.size and all(map(math.isfinite, values)):
                self._buffer.take(spec.name, Reading(values=values, captured=now.ros))
        self._record = ResetRecord(
            seed_given=False,
            options='{}',
            sampled=self._sampled,
            achieved=(),
            tolerance=tolerances(contract.episode.reset),
            within_tolerance=False,
            confirmed_by='',
        )
        view = self._buffer.view(self._episode.at(0), now)
        derived = ('closed', *_seen('after', 'state'))
        marks = import_marks(self._bag, derived=derived, unknown=unknown)
        transition = _opened(contract, view, Kind.RESET, reset=self._record, diagnostics=marks)
        self._held = (
            replace(self._episode, stamp=now),
            self._buffer.privileged(transition.id, now),
            transition,
        )
        self._keep(view)

    def tick(self, now: ClockReading) -> tuple[Made, ...]:
        """Close a step; return what is whole now, and with an ending all that is left."""
        contract, before = self._contract, self._before
        assert before is not None  # a running episode has observed
        made, step = self._held, self._episode.id.step + 1
        view = self._buffer.view(self._episode.at(step), now)
        why = '; '.join(self._buffer.lost(view).values())
        endings = {SENSOR_LOST: (DECLARER, why)} if self._lost(view) else {}
        if step >= contract.max_steps:
            endings[TIME_LIMIT] = (DECLARER, time_is_over(contract.episode.time_limit))
        self._task.stumbled = False
        fields, decisions = before.observation.fields, tuple(self._decisions)
        closed, _, message = close(
            _opened(contract, view, Kind.STEP, before=fields, decisions=decisions),
            before,
            contract=contract,
            reset=self._record,
            captured=self._buffer.captured,
            gaps=0,
            task=self._task,
            actuation=self._actuation,
            endings=endings,
        )
        transition = self._stripped(closed)
        self._episode = self._episode.stepped()
        privileged = self._buffer.privileged(transition.id, now)
        self._decisions.clear()
        self._keep(view)
        self._held = (privileged, transition)
        if transition.ending:
            return (*made, *self._over(transition, message))
        return made

    def end(self, why: str) -> tuple[Made, ...]:
        """End the episode with the last step that was closed; nothing if there was none."""
        *others, last = self._held
        assert isinstance(last, Transition)
        if last.kind is Kind.RESET:
            self._held = ()
            self._before = None
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
        return self._over(last, why)

    def _over(self, last: Transition, message: str) -> tuple[Made, ...]:
        made, self._held = self._held, ()
        self._before = None
        self._episode = self._episode.end(
            ending=last.ending,
            kind=self._contract.episode.endings[last.ending],
            declared_by=last.declared_by,
            message=message,
        )
        return (*made, replace(self._episode, stamp=last.closed))

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

    def _lost(self, view: View) -> bool:
        """Return whether a field ends the episode; one that the bag has not is not lost."""
        absent = {
            field.name
            for field in view.fields
            if field.status is FieldStatus.MISSING and field.name not in self._present
        }
        return bool(set(self._buffer.lost(view)) - absent)

    def _keep(self, view: View) -> None:
        self._before = view
        self._of_step_before = self._previous
        self._buffer.keep(view)


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
