# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent closed again: what was seen, what it is worth, and whether that is the end.

The observation, the closing of a step and the task are those of the environment. What it cannot
know again comes from the record: what was measured, when a step was closed, and who of the others
had been silent for too long or ended the episode from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.actuation import MeasuredState
from boundary_env_ros.core.environment.environment_state import EnvironmentState, Setup
from boundary_env_ros.core.environment.freezing import reading_of
from boundary_env_ros.core.environment.observation_buffer import View
from boundary_env_ros.core.environment.reset import by_name, out_of_tolerance, tolerances
from boundary_env_ros.core.environment.step_builder import close_step, SAFETY_GATE
from boundary_env_ros.core.environment.task import NoTask, Outcome, sample, StepView, supply, Task
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.clock_offsets import offsets_of
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.parts import NamedValues, StepId
from boundary_env_ros.core.records.transition import Kind, ResetRecord, Transition
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, TaskFailed, WRONG_INPUT
from boundary_env_ros.evidence.record_difference import first_difference, Mismatch
from boundary_env_ros.frozen import replace

#: What of a step is closed again, what it follows from first.
_OF_STEP = (
    'before',
    'after',
    'state',
    'decision',
    'requested_action',
    'admitted_action',
    'commanded_action',
    'verdict',
    'overrun',
    'reward_terms',
    'reward',
    'terminated',
    'truncated',
    'ending',
    'declared_by',
    'opened',
    'captured',
    'commanded',
    'latency',
)

#: Who declares what the environment finds by itself.
_ENVIRONMENT = 'environment'


class _AsRecorded:
    """
    Stands for a task that is not known here, or cannot judge: it says what the record says.

    Of one that is known the rewards are still compared with the space that it declares.
    """

    def __init__(self, step: Transition, task: Task | None) -> None:
        self._step = step
        self.reward_space = getattr(task, 'reward_space', {})

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        return () if self._step.reset is None else self._step.reset.sampled

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        return {}

    def judge(self, step: StepView) -> Outcome:
        ends = self._step.declared_by.startswith('task:')
        return Outcome(terms=self._step.reward_terms, ending=self._step.ending if ends else '')


class StepsAgain:
    """
    Closes the steps of one agent again.

    Parameters
    ----------
    contract
        The contract that it has now; the recorded one, or another.
    task
        Its task; None if it is not known: then what it said is taken from the record.
    agent
        The agent.

    """

    def __init__(self, contract: Contract, task: Task | None, agent: str) -> None:
        self._contract, self._task, self._agent = contract, task, agent
        topics = {t: contract.topic_of(agent, t) for t in sensor_topics(contract)}
        self._setup = Setup(
            contract=contract,
            digest='',
            task=task or NoTask(),
            agent=agent,
            topics=topics,
            software_version='',
        )
        self._state = self._new = EnvironmentState.of(self._setup)
        self._buffer = self._new.buffer
        self._last: Transition | None = None
        self._before: View | None = None
        self._reset: ResetRecord | None = None
        self._supplied: Mapping[str, Vector] = {}
        #: Whether a step of this episode is missing, and how many came without a gap since then;
        #: -1 while what was seen before the first of those is made out.
        self._lacks, self._since = False, 0
        self._stacked = frozenset(s.name for s in self._buffer.specs if s.derived is not None)

    @property
    def begun(self) -> str:
        """Id of the episode that the record has the reset of; empty if it has none."""
        return '' if self._reset is None or self._last is None else self._last.id.episode_id

    @property
    def lacking(self) -> str:
        """Return what the last step was closed without; empty if the record has all of it."""
        if self._lacks and not self._since:
            return 'the step before it is missing'
        return '' if self.begun else 'the reset of its episode is missing'

    def again(self, then: Transition, decisions: tuple[GateDecision, ...]) -> Transition:
        """
        Close the next recorded step again.

        Where the step before it is missing, what it repeats of that stands for it, and its task is
        taken to have judged as recorded.

        Parameters
        ----------
        then
            The recorded step.
        decisions
            Those of the gate that it is to be closed with.

        Raises
        ------
        BoundaryError, WRONG_INPUT
            If it cannot be closed.

        """
        last, before = self._last, self._before
        # Until the end is reached, nothing is known that the next step may follow from.
        self._last, self._before = then, None
        is_reset = then.kind is Kind.RESET
        same_episode = last is not None and last.id.episode_id == then.id.episode_id
        follows = last is not None and same_episode and last.id.step + 1 == then.id.step
        if is_reset or not same_episode:
            self._reset, self._supplied, self._lacks = None, {}, False
            self._buffer = self._buffer.forgotten()
        if is_reset:
            return self._begin(then)
        if before is None or not follows:
            self._lacks, self._since = True, -1
            # What was seen before a step which only that step shows is frozen again, too.
            id_ = replace(then.id, step=then.id.step - 1)
            before = self._view(id_, then.before, then.opened or then.closed)
        self._since += 1
        view = self._keep(then)
        return self._close(then, before, view, decisions)

    def _task_of(self, then: Transition) -> Task:
        """Return what judges a step: the task, unless it or the reset is not known."""
        judge = None if self.lacking else self._task
        return _AsRecorded(then, self._task) if judge is None else judge

    def _state_of(self, then: Transition, **known: Any) -> EnvironmentState:
        """Return the state in which a step is closed, as far as its record shows it."""
        state, task, version = self._state, self._task_of(then), then.software_version
        setup, begin = state.setup, state.begin
        if setup.task is not task or setup.software_version != version:
            setup = replace(setup, task=task, software_version=version)
        if begin.client_version != then.client_version:
            begin = replace(begin, client_version=then.client_version)
        id_ = replace(then.id, step=then.id.step - 1)
        episode = replace(state.episode, id=id_, state=EpisodeState.RUNNING, seed=then.seed)
        self._state = replace(self._new, setup=setup, begin=begin, episode=episode, **known)
        return self._state

    # A reset -------------------------------------------------------------------------------------

    def _begin(self, then: Transition) -> Transition:
        self._reset = record = then.reset
        task = self._task_of(then)
        if record is not None:
            self._supplied = supply(task, self._contract, by_name(record.sampled), self._agent)
        view = self._keep(then)
        wrong = False
        if record is not None:
            procedure = self._contract.episode.reset
            tolerance = tolerances(procedure)
            wrong = bool(
                out_of_tolerance(record.sampled, record.achieved, tolerance, procedure.wrap)
            )
            record = replace(
                record,
                sampled=self._sampled(task, then.seed, record),
                tolerance=tolerance,
                within_tolerance=not wrong,
            )
        return self._state_of(then, record=record).transition(
            view,
            Kind.RESET,
            # One that failed for a reason from outside, such as an answer that never came, stays
            # so.
            truncated=wrong or then.truncated,
            ending=endings.RESET_FAILED if wrong else then.ending,
            declared_by=then.declared_by,
        )

    def _sampled(self, task: Task, seed: int, record: ResetRecord) -> tuple[NamedValues, ...]:
        try:
            options = json.loads(record.options or '{}')
            return sample(task, self._contract, np.random.default_rng(seed), options)
        except (BoundaryError, *WRONG_INPUT):
            return ()

    # A step --------------------------------------------------------------------------------------

    def _close(
        self, then: Transition, before: View, view: View, decisions: tuple[GateDecision, ...]
    ) -> Transition:
        buffer = self._buffer
        if self._lacks and then.request is not None:
            # Of an observation that the record may have lost.
            lost = (then.request.observed_step, then.captured)
            buffer = replace(buffer, captured=(lost, *buffer.captured))
        actuation = self._new.actuation
        if then.measured_at is not None:
            # What the robot did, and when that was seen, is measured.
            feedback = MeasuredState(captured=then.measured_at, values=then.measured_action)
            actuation = actuation.measured(feedback)
        state = self._state_of(
            then,
            buffer=buffer,
            actuation=actuation,
            before=before,
            decisions=decisions,
            record=self._reset,
        )
        diagnostics = {item.key: item.value for item in then.diagnostics}
        found = self._found(then, view, diagnostics)
        _, again, _ = close_step(
            state, view, found, actuated=then.actuated, offsets=offsets_of(then)
        )
        failed = f'ending:{endings.TASK_FAILED}'
        if failed not in diagnostics:
            for item in again.diagnostics:
                if item.key == failed:
                    raise TaskFailed(item.value)
        return again

    def _found(
        self, then: Transition, view: View, diagnostics: Mapping[str, str]
    ) -> Mapping[str, tuple[str, str]]:
        """
        Return the endings that neither task nor gate nor time limit found.

        Sensors that are lost are looked for again; that a party was silent for too long, or that
        a person or node ended the episode, is as recorded.
        """
        by = then.declared_by
        outside = {
            key.removeprefix('ending:'): (by if key == f'ending:{then.ending}' else '', message)
            for key, message in diagnostics.items()
            if key.startswith('ending:')
        }
        # A verdict of the task, a stop of the gate and the time limit are found again, whatever is
        # said of them.
        for again in (endings.SUCCESS, endings.TIME_LIMIT):
            outside.pop(again, None)
        if by.startswith('task:') or by == SAFETY_GATE:
            outside.pop(then.ending, None)
        sensor = outside.pop(endings.SENSOR_LOST, None)
        why = '; '.join(self._buffer.lost(view).values())
        if why:
            # Whether all of them were silent, the environment knew by the time of their messages.
            robot = sensor is None and endings.ROBOT_LOST in outside
            outside.setdefault(
                endings.ROBOT_LOST if robot else endings.SENSOR_LOST, sensor or ('', why)
            )
        return {
            ending: (name or _ENVIRONMENT, message) for ending, (name, message) in outside.items()
        }

    # What was seen -------------------------------------------------------------------------------

    def _view(
        self, id_: StepId, fields: Sequence[ObservationField], observed: ClockReading
    ) -> View:
        """Freeze again what was measured, as the contract says, and keep it."""
        recorded, readings = {field.name: field for field in fields}, {}
        for spec in self._buffer.specs:
            field = recorded.get(spec.name)
            if spec.derived is not None or field is None or field.status is FieldStatus.MISSING:
                continue
            if spec.task in self._supplied:
                field = replace(field, values=tuple(self._supplied[spec.task]))
            readings[field.name] = reading_of(field)
        self._buffer = self._buffer.after(readings)
        frozen = self._buffer.view(id_, observed)
        whole = tuple(_as_recorded(field, recorded.get(field.name)) for field in frozen.fields)
        if self._lacks and self._since < self._buffer.past:
            # What a field is stacked of stands in the steps that are missing.
            whole = tuple(
                recorded.get(field.name, field) if field.name in self._stacked else field
                for field in whole
            )
        count = len(self._contract.observation)
        observation = replace(frozen.observation, fields=whole[:count])
        view = View(observation=observation, state=whole[count:])
        self._buffer = self._buffer.keeping(view)
        return view

    def _keep(self, then: Transition) -> View:
        self._before = view = self._view(then.id, (*then.after, *then.state), then.closed)
        return view


def step_difference(then: Transition, again: Transition, digest: str) -> Mismatch | None:
    """Return where a step, made under the contract of a digest, came out as something else."""
    if then.id.digest != digest:
        return Mismatch('id.digest', digest, then.id.digest)
    if then.reset is not None and again.reset is not None:
        found = first_difference(
            then.reset, again.reset, ('sampled', 'tolerance', 'within_tolerance')
        )
        if found is not None:
            return replace(found, field=f'reset.{found.field}')
    return first_difference(then, again, _OF_STEP)


def _as_recorded(field: ObservationField, recorded: ObservationField | None) -> ObservationField:
    """Return a field with what only the record knows of it: what stood outside its bounds."""
    if recorded is None:
        return field
    clipped, source = field.clipped or recorded.clipped, recorded.source or field.source
    if (clipped, source) == (field.clipped, field.source):
        return field
    return replace(field, clipped=clipped, source=source)
