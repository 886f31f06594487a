# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot behind a contract as a driver shows it: numbers by name, and no episodes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
import logging
import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.gate.commands import as_action
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.intervention import intervention_in
from boundary_env_ros.core.records.transition import INSTRUCTION, Transition
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, InvalidAction, LinkTimeout
from boundary_env_ros.evidence.export.joint_names import names_of_action, names_of_fields
from boundary_env_ros.facade.info import reasons_of
from boundary_env_ros.facade.spaces import observation_values
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.facade.world import agent_of, make_world, World
from boundary_env_ros.storage.contract_file import LoadedContract

_LOG = logging.getLogger(__name__)

#: What an action was on its way, each in a space of its own.
_STAGES = ('requested', 'admitted', 'commanded', 'measured')


def _reason(step: Transition) -> float:
    rules = step.answer.rules if step.answer else ()
    return float(next((r.reason for r in rules if r.outcome is step.verdict), 0))


#: What else is known of the step that led to an observation, as a number.
_FACTS: Mapping[str, Callable[[Transition], float]] = {
    'verdict': lambda step: float(step.verdict or 0),
    'reason': _reason,
    'intervention': lambda step: float(intervention_in(step) is not None),
    'step': lambda step: float(step.id.step),
}

#: Of answers, those of other clients too.
_ANSWERS_KEPT = 16

#: What an observation may have besides the fields of the contract.
FEATURES = (*_STAGES, *_FACTS)


class Session:
    """
    One agent of a contract: observations and actions by name, for as long as it is open.

    An episode of the contract runs all the time; where one ends, the next observation is the first
    of another one.

    Parameters
    ----------
    loaded
        The contract, one agent of which is driven.
    world
        Name of its world.
    seed
        Of the first episode, each further one has the next; None: drawn for each.
    instruction
        What the robot is told to do, in words; empty: one of the contract's, if it has any.
    features
        Which of :data:`FEATURES` an observation has besides.
    world_arguments
        What the world takes.

    Attributes
    ----------
    cameras
        Image fields of 8 bits, by name; others, and documents, are no part of an observation.
    state_names, action_names
        A name for each number of an observation and of an action: ``shoulder_pan.pos``.

    Raises
    ------
    BoundaryError
        If there is no such feature, or a field has its name.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        world: str,
        seed: int | None = None,
        instruction: str = '',
        features: Sequence[str] = (),
        **world_arguments: Any,
    ) -> None:
        if unknown := set(features) - set(FEATURES):
            raise BoundaryError(
                f'Unknown features (expected some of {", ".join(FEATURES)}, got '
                f'{", ".join(sorted(unknown))}).'
            )
        contract = loaded.contract
        self._loaded, self._contract = loaded, contract
        self._world_name, self._world_arguments = world, world_arguments
        self._seed = seed
        self._options = {INSTRUCTION: instruction} if instruction else {}
        self._realtime = not contract.is_lockstep
        self._numbers = tuple(
            spec for spec in contract.observation if not (spec.is_image or spec.is_document)
        )
        self.cameras: Mapping[str, FieldSpec] = {
            spec.name: spec
            for spec in contract.observation
            if spec.is_image and spec.dtype == 'uint8'
        }
        self.action_names = names_of_action(contract.action)
        self._features = {feature: tuple(self._names_of(feature)) for feature in features}
        #: What is known last of each number of them.
        self._besides = dict.fromkeys(chain.from_iterable(self._features.values()), 0.0)
        self.state_names = (*names_of_fields(self._numbers), *self._besides)
        names = Counter((*self.state_names, *self.cameras))
        if twice := [name for name, count in names.items() if count > 1]:
            raise BoundaryError(
                f'Two parts of an observation have one name (expected each once, got '
                f'{", ".join(twice)}). Leave such features out, or rename the fields.'
            )
        self._world: World | None = None
        self._agent, self._is_new, self._is_answered = '', False, False
        self._images: dict[str, npt.NDArray[Any]] = {}
        # Records come in the thread of the world, where it has one.
        self._came = threading.Condition()
        self._answers: deque[GateDecision] = deque(maxlen=_ANSWERS_KEPT)
        self._over = ''
        self._commanded: GateDecision | None = None

    def _names_of(self, feature: str) -> Iterator[str]:
        if feature in _FACTS:
            yield feature
        else:
            of_policy = feature in ('requested', 'admitted')
            names = self.action_names if of_policy else self._contract.command_dimensions
            yield from (f'{name}.{feature}' for name in names)

    @property
    def is_open(self) -> bool:
        """Whether there is a world, in which an episode was begun."""
        return self._world is not None

    def open(self) -> None:
        """
        Make the world, and begin an episode in it.

        Raises
        ------
        LinkError
            If there is no such world, or a node is missing or refuses.
        ResetFailed
            If the world could not be reset.

        """
        told = {'sink': self._on_record} if self._realtime else {}
        world = make_world(self._world_name, self._loaded, **self._world_arguments, **told)
        try:
            self._agent = agent_of(world.agents)
            self._begin(world)
        except BaseException:
            world.close()
            raise
        self._world = world

    def close(self) -> None:
        """End the episode, and let go of the world."""
        world, self._world = self._world, None
        if world is not None:
            world.close()

    def _begin(self, world: World) -> None:
        begun = world.reset(seed=self._seed, options=self._options, wrappers=('BoundaryRobot()',))
        if self._seed is not None:
            self._seed += 1
        self._images.clear()
        self._take((begun[self._agent],))

    def _opened(self) -> World:
        if self._world is None:
            raise BoundaryError('The robot is not connected. Call connect() first.')
        return self._world

    # Observing -----------------------------------------------------------------------------------

    def observation(self) -> dict[str, Any]:
        """
        Return the newest observation, each number by its name and each picture by its camera.

        In realtime each is another one: where none has come since the last call, the next one is
        waited for. So a loop keeps the rhythm of the contract.

        Raises
        ------
        LinkError
            If a process that the next step needs is lost, or the next reset fails.

        """
        world = self._opened()
        if self._realtime and self._agent in world.running:
            closed = world.observe()[self._agent]
            if not closed and not self._is_new:
                closed = world.step({})[self._agent]
            self._take(closed)
        if self._agent not in world.running:
            self._begin(world)
        self._is_new = self._is_answered = False
        return self._named()

    def _take(self, closed: Sequence[StepResult]) -> None:
        for result in closed:
            self._last, self._is_new = result.transition, True
            self._images.update(result.images)
            self._note(result.transition)
            if result.transition.ending:
                _LOG.warning(
                    'The episode ended after step %d: %s, declared by %s. The next observation '
                    'is the first of another episode, after a reset. %s',
                    result.transition.id.step,
                    result.transition.ending,
                    result.transition.declared_by,
                    ' '.join(reasons_of(self._contract, result.transition)),
                )

    def _note(self, step: Transition) -> None:
        if not self._realtime:  # there the newest came before the step that has it
            for decision in step.decisions:
                self._note_command(decision)
        for feature, names in self._features.items():
            is_fact = feature in _FACTS
            values = (_FACTS[feature](step),) if is_fact else getattr(step, f'{feature}_action')
            # Empty where there was none.
            for name, value in zip(names, values, strict=False):
                if math.isfinite(value):
                    self._besides[name] = value

    def _note_command(self, decision: GateDecision) -> None:
        if decision.command:
            self._commanded = decision

    def _named(self) -> dict[str, Any]:
        after = self._last.after
        values = observation_values(self._contract, after, self._images)
        numbers = [
            float(number) for spec in self._numbers for number in np.ravel(values[spec.name])
        ]
        return {
            **dict(zip(self.state_names, (*numbers, *self._besides.values()), strict=True)),
            **{name: as_rgb(spec, values[name]) for name, spec in self.cameras.items()},
        }

    # Acting --------------------------------------------------------------------------------------

    def send(self, action: Mapping[str, float]) -> dict[str, float]:
        """
        Ask the gate for an action, and return what became of it.

        In realtime nothing is waited for but the answer of the gate.

        Parameters
        ----------
        action
            By name, in units of the contract; other names are passed over.

        Returns
        -------
        dict
            What the gate admitted of this action. Where it admitted nothing: what the command
            means that the robot has instead, of a stop or of a person; NaN if it has none yet.

        Raises
        ------
        InvalidAction
            If a name is missing.
        LinkTimeout
            If the gate does not answer within ``safety.gate_timeout``.

        """
        world = self._opened()
        if lacking := [name for name in self.action_names if name not in action]:
            raise InvalidAction(
                f'The action is not whole (expected {", ".join(self.action_names)}, got none of '
                f'{", ".join(lacking)}).'
            )
        request = StepRequest(action=tuple(float(action[name]) for name in self.action_names))
        answer = None
        if self._realtime and self._is_answered and self._agent in world.running:
            # Of many without an observation each must not be the older for it.
            self._take(world.observe()[self._agent])
        if self._agent not in world.running:
            pass  # it ended in the step before; the next observation begins another
        elif self._realtime:
            answer = self._answered(world.send({self._agent: request})[self._agent])
            self._is_answered = True
        else:
            self._take(world.step({self._agent: request})[self._agent])
            answer = self._last.answer
        return dict(zip(self.action_names, self._applied(answer), strict=True))

    def _on_record(self, record: object) -> None:
        with self._came:
            if isinstance(record, GateDecision):
                self._note_command(record)
                if record.request is not None:
                    self._answers.append(record)
            elif isinstance(record, EpisodeStatus) and record.state.over:
                self._over = record.id.episode_id
            self._came.notify_all()

    def _answered(self, sent: ActionRequest) -> GateDecision | None:
        """Return the decision on a request; None if the episode ended before there was one."""
        found: list[GateDecision] = []

        def is_known() -> bool:
            found[:] = (a for a in self._answers if _is_on(a, sent))
            return bool(found) or self._over == sent.id.episode_id

        seconds = self._contract.safety.gate_timeout
        with self._came:
            if self._came.wait_for(is_known, seconds):
                return found[0] if found else None
        raise LinkTimeout(
            f'The safety gate did not answer within {seconds:g} s (expected a decision on request '
            f'{sent.sequence}). Is its node alive?'
        )

    def _applied(self, answer: GateDecision | None) -> Vector:
        groups, commanded = self._contract.action, self._commanded
        if answer is not None and answer.admitted_action:
            return answer.admitted_action
        if answer is not None and answer.command:
            return as_action(groups, answer.command, answer.inputs.previous_command or None)
        # A command of the episode before is gone with the reset.
        if commanded is not None and commanded.id.episode_id == self._last.id.episode_id:
            return as_action(groups, commanded.command, commanded.command)
        return (math.nan,) * len(self.action_names)


def _is_on(answer: GateDecision, sent: ActionRequest) -> bool:
    request = answer.request
    return request is not None and (request.lease_id, request.sequence) == (
        sent.lease_id,
        sent.sequence,
    )
