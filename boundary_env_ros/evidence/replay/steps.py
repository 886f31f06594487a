# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The steps of one agent closed again: what was seen, what it is worth, and whether that is the end.

The sight, the closing of a step and the task are those of the environment. What it cannot know
again comes from the record: what was measured, when a step was closed, and who of the others had
been silent for too long or ended the episode from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import json

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.environment.actuation import Actuation, Feedback
from boundary_env_ros.core.environment.observation import FieldStatus, ObservationField, Sample
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.environment.reset import by_name, out_of_tolerance, tolerances
from boundary_env_ros.core.environment.step_builder import close, Step
from boundary_env_ros.core.environment.task import sample, supply, Task
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.core.transition import Kind, NamedValues, ResetRecord, Transition
from boundary_env_ros.errors import BoundaryError, TaskFailed, WRONG_INPUT

#: Who declares what the environment finds by itself.
_ENVIRONMENT = 'environment'


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclosed:
    """
    A step that was closed again.

    Attributes
    ----------
    transition
        What came out; None if it could not be closed.
    why
        Why not, in words.

    """

    transition: Transition | None = None
    why: str = ''


class StepsAgain:
    """
    Closes the steps of one agent again.

    Parameters
    ----------
    contract
        The contract that it has now; the recorded one, or another.
    task
        Its task.
    agent
        The agent.

    """

    def __init__(self, contract: Contract, task: Task, agent: str) -> None:
        self._contract, self._task, self._agent = contract, task, agent
        topics = {t: contract.topic_of(agent, t) for t in sensor_topics(contract)}
        self._buffer = ObservationBuffer(contract, topics)
        self._specs = (*contract.observation, *contract.state)
        self._threshold = tuple(v for group in contract.action for v in group.feedback.threshold)
        self._last: Transition | None = None
        self._before: View | None = None
        self._reset: ResetRecord | None = None
        self._supplied: Mapping[str, Vector] = {}

    @property
    def begun(self) -> str:
        """Id of the episode that the record has the reset of; empty if it has none."""
        return '' if self._reset is None or self._last is None else self._last.id.episode_id

    def again(self, then: Transition, decisions: tuple[GateDecision, ...]) -> Reclosed:
        """
        Close the next recorded step again.

        Parameters
        ----------
        then
            The recorded step.
        decisions
            Those of the gate that it is to be closed with.

        """
        try:
            return self._again(then, decisions)
        except (BoundaryError, *WRONG_INPUT) as error:
            self._last, self._before = then, None
            return Reclosed(why=f'{type(error).__name__}: {error}')

    def _again(self, then: Transition, decisions: tuple[GateDecision, ...]) -> Reclosed:
        if then.kind is Kind.RESET:
            return Reclosed(transition=self._begin(then))
        last, before, view = self._last, self._before, self._view(then)
        same_episode = last is not None and last.id.episode_id == then.id.episode_id
        follows = last is not None and same_episode and last.id.step + 1 == then.id.step
        if not same_episode:
            self._reset = None
        again, why = None, ''
        if self._reset is None:
            why = 'the reset of its episode is missing'
        elif not follows or before is None:
            why = 'the step before it is missing'
        else:
            again = self._close(then, before, view, self._reset, decisions)
        self._keep(then, view)
        return Reclosed(transition=again, why=why)

    # A reset -------------------------------------------------------------------------------------

    def _begin(self, then: Transition) -> Transition:
        self._buffer.forget()
        self._reset = record = then.reset
        self._supplied = {}
        if record is not None:
            self._supplied = supply(
                self._task, self._contract, by_name(record.sampled), self._agent
            )
        view = self._view(then)
        self._keep(then, view)
        again = replace(
            then,
            after=view.observation.fields,
            state=view.state,
            reward=0.0,
            reward_terms=(),
            terminated=False,
        )
        if record is None:
            return again
        procedure = self._contract.episode.reset
        wrong = out_of_tolerance(
            record.sampled, record.achieved, tolerances(procedure), procedure.wrap
        )
        again = replace(
            again,
            reset=replace(
                record,
                sampled=self._sampled(then.seed, record),
                tolerance=tolerances(procedure),
                within_tolerance=not wrong,
            ),
        )
        # One that failed for a reason from outside, such as an answer that never came, stays so.
        if wrong:
            again = replace(again, truncated=True, ending=endings.RESET_FAILED)
        return again

    def _sampled(self, seed: int, record: ResetRecord) -> tuple[NamedValues, ...]:
        try:
            options = json.loads(record.options or '{}')
            return sample(self._task, self._contract, np.random.default_rng(seed), options)
        except (BoundaryError, *WRONG_INPUT):
            return ()

    # A step --------------------------------------------------------------------------------------

    def _close(
        self,
        then: Transition,
        before: View,
        view: View,
        reset: ResetRecord,
        decisions: tuple[GateDecision, ...],
    ) -> Transition:
        contract = self._contract
        actuation = Actuation(self._threshold, contract.safety.command_timeout, contract.angles)
        if then.measured_at is not None:
            # What the robot did, and when that was seen, is measured.
            actuation.measured(Feedback(captured=then.measured_at, values=then.measured_action))
        said = {item.key: item.value for item in then.diagnostics}
        closed = close(
            Step(
                contract=self._contract,
                before=before.observation,
                after=view.observation,
                state_before=before.state,
                state=view.state,
                captured=self._buffer.captured,
                decisions=decisions,
                reset=reset,
                late=then.tick_error,
                gaps=0,
                source=then.actuated_source,
                version=then.software_version,
                client_version=then.client_version,
                wrappers=then.wrappers,
                seed=then.seed,
                info=then.info,
            ),
            task=self._task,
            actuation=actuation,
            endings=self._found(then, view, said),
        )
        failed = f'ending:{endings.TASK_FAILED}'
        if failed not in said:
            for item in closed.transition.diagnostics:
                if item.key == failed:
                    raise TaskFailed(item.value)
        return closed.transition

    def _found(
        self, then: Transition, view: View, said: Mapping[str, str]
    ) -> Mapping[str, tuple[str, str]]:
        """
        Return the endings that neither task nor gate nor time limit found.

        Sensors that are lost are looked for again; that a party was silent for too long, or that
        a person or node ended the episode, is as recorded.
        """
        by = then.declared_by
        outside = {
            key.removeprefix('ending:'): (by if key == f'ending:{then.ending}' else '', message)
            for key, message in said.items()
            if key.startswith('ending:')
        }
        sensor = outside.pop(endings.SENSOR_LOST, None)
        why = self._buffer.why_lost(view)
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

    def _view(self, then: Transition) -> View:
        """Freeze again what was measured, as the contract says."""
        recorded = {field.name: field for field in (*then.after, *then.state)}
        for spec in self._specs:
            field = recorded.get(spec.name)
            if spec.derived is None and field is not None:
                values = self._supplied.get(spec.task, field.values)
                _take(self._buffer, replace(field, values=tuple(values)))
        view = self._buffer.view(then.id, then.closed)
        fields = (*view.observation.fields, *view.state)
        whole = tuple(_as_recorded(field, recorded.get(field.name)) for field in fields)
        count = len(self._contract.observation)
        return View(
            observation=replace(view.observation, fields=whole[:count]), state=whole[count:]
        )

    def _keep(self, then: Transition, view: View) -> None:
        self._last, self._before = then, view
        self._buffer.keep(view)


def _take(sight: ObservationBuffer, field: ObservationField) -> None:
    if field.status is FieldStatus.MISSING:
        return
    sight.take(
        field.name,
        Sample(
            values=field.values,
            captured=field.captured,
            published=field.published,
            arrived=field.arrived,
            confidence=field.confidence,
            image=field.image,
        ),
    )


def _as_recorded(field: ObservationField, recorded: ObservationField | None) -> ObservationField:
    """Return a field with what only the record knows of it: what stood outside its bounds."""
    if recorded is None:
        return field
    return replace(
        field, clipped=field.clipped or recorded.clipped, source=recorded.source or field.source
    )
