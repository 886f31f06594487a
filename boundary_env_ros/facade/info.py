# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ``info`` of a step: what a policy's author wants to know without opening the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.step_builder import ending_message
from boundary_env_ros.core.environment.step_timing import over_budget
from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.intervention import intervention_in
from boundary_env_ros.core.records.latency import STAGES, STEADY_IN_LOCKSTEP
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import json_object
from boundary_env_ros.errors import RecordError
from boundary_env_ros.facade.steps import StepResult

Info = dict[str, Any]


class StageTimes(Mapping[str, float | None]):
    """
    The latency of a step by stage, seconds.

    Two are equal if what the clock of the world measured is: equal seeds give equal infos in
    lockstep, though no policy takes equally long twice.

    Attributes
    ----------
    clocks
        By stage ``'world'`` or ``'steady'``: in lockstep the world waits for transport, inference
        and gate, which are measured in real time, on the steady clock.

    """

    def __init__(self, transition: Transition) -> None:
        steady = STEADY_IN_LOCKSTEP if transition.pacing is Pacing.LOCKSTEP else ()
        self._seconds: dict[str, float | None] = {
            stage: getattr(transition.latency, stage).duration for stage in STAGES
        }
        self.clocks = {stage: 'steady' if stage in steady else 'world' for stage in STAGES}

    def __getitem__(self, stage: str) -> float | None:
        return self._seconds[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seconds)

    def __len__(self) -> int:
        return len(self._seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StageTimes) and self._of_world() == other._of_world()

    def __hash__(self) -> int:
        return hash(self._of_world())

    def __repr__(self) -> str:
        return repr(self._seconds)

    def _of_world(self) -> tuple[tuple[str, float | None], ...]:
        return tuple((s, t) for s, t in self._seconds.items() if self.clocks[s] == 'world')


def step_info(
    contract: Contract,
    result: StepResult,
    missed: Sequence[StepResult] = (),
    *,
    full: bool = False,
) -> Info:
    """
    Return the info of a reset or a step.

    Out of a record it also has ``replay``: what the action that was asked for has to do with it,
    see :class:`~boundary_env_ros.facade.steps.Replayed`.

    Parameters
    ----------
    result, missed
        The step, and those that were closed without an action before it.
    full
        With what was measured of each field and of the action, too.

    Keys
    ----
    step, contract, digest
        Whose record this is. The episode's random id is not here, so that equal seeds give equal
        infos in lockstep; see ``BoundaryEnv.episode_id``.
    software_version, wrapper_version
        Of the environment, and of this facade.
    wrappers
        The chain of wrappers around the environment, outermost first, the environment itself
        last; empty if it is not known.
    verdict, reasons
        What the gate made of the action (None if it got none in time), and why: one sentence for
        each rule, with the dimension that it changed most. Without an action, why it stopped.
    requested_action, admitted_action, commanded_action
        The action, three times.
    intervention
        What a person did who had the robot in this step: ``by`` (the topic of those commands),
        ``commands`` (how many went out) and ``dimensions`` (names of those of the command in
        which the person asked for anything else than the policy); empty if nobody had it.
    clipped
        For each dimension, whether what was admitted differs from what was requested.
    clipped_observation
        Names of the fields of which a value was brought into the bounds of the contract.
    gate
        The gate as its last decision in this step has it: ``armed``, ``stopped`` (it follows the
        stop profile), ``latched`` (by an emergency stop) and ``foreign_publishers`` (how many
        others publish commands); empty if it decided nothing.
    latency
        Seconds by stage, None where unknown: a :class:`StageTimes`, which knows their clocks.
    overrun, missed
        Whether no action came in time, and the steps that were closed without one since the last
        call, as ``(step, reward)``; the reward of the step has theirs in it.
    tick_error
        Seconds by which the environment closed the step after its due time; None in lockstep.
    over_budget
        Stages of the latency that took longer than the contract allows.
    ending, declared_by, message
        Of the ending; empty strings while the episode runs. The message is one sentence, such as
        which sensor was lost, or why the gate stopped.
    unresolved_images
        Image fields that show an older image because theirs did not come in time.
    world
        What a plugin says of the step or the reset; empty if it says nothing.
    reset
        For a reset: its seed, what was sampled and achieved, and the instruction.

    Keys of the full info
    ---------------------
    measured_action
        The action a fourth time: what the robot did of it.
    age, confidence, status
        By field of the observation.

    """
    transition = result.transition
    info: Info = {
        'step': transition.id.step,
        'contract': f'{transition.contract} {transition.contract_version}',
        'digest': transition.id.digest,
        'software_version': transition.software_version,
        'wrapper_version': transition.client_version,
        'wrappers': list(transition.wrappers),
        'verdict': transition.verdict.name if transition.verdict else None,
        'reasons': reasons_of(contract, transition),
        'requested_action': list(transition.requested_action),
        'admitted_action': list(transition.admitted_action),
        'commanded_action': list(transition.commanded_action),
        'intervention': _intervention(contract, transition),
        'clipped': list(transition.clipped),
        'clipped_observation': [field.name for field in transition.after if field.clipped],
        'gate': _gate(transition),
        'latency': StageTimes(transition),
        'overrun': transition.overrun,
        'tick_error': transition.tick_error,
        'over_budget': list(over_budget(transition)),
        'missed': [(m.transition.id.step, m.transition.reward) for m in missed],
        'ending': transition.ending,
        'declared_by': transition.declared_by,
        'message': ending_message(transition, contract),
        'unresolved_images': list(result.unresolved),
        'world': _world(transition.info),
    }
    if full:
        info.update(_details(transition))
    if transition.reset is not None:
        reset = transition.reset
        info['reset'] = {
            'seed': transition.seed,
            'sampled': {v.name: list(v.values) for v in reset.sampled},
            'achieved': {v.name: list(v.values) for v in reset.achieved},
            'instruction': reset.instruction,
        }
    if result.replayed is not None:
        info['replay'] = asdict(result.replayed)
    return info


def _world(text: str) -> object:
    """Return what a world says of itself, which a record may say otherwise than a world does."""
    try:
        return json_object(text)
    except ValueError as error:
        raise RecordError(
            f'The info of a step cannot be read (expected a JSON object: {error}); take another '
            'copy of the record.'
        ) from error


def _details(transition: Transition) -> Info:
    """Return what is only in the full info."""
    return {
        'measured_action': list(transition.measured_action),
        'age': {f.name: f.age for f in transition.after},
        'confidence': {f.name: f.confidence for f in transition.after},
        'status': {f.name: f.status.name for f in transition.after},
    }


def outcome_of(
    contract: Contract, results: Sequence[StepResult], *, full: bool = False
) -> tuple[float, Info]:
    """
    Return reward and info of a step, from all that was closed since the last one, in order.

    The last was closed by its action, those before it by the first actions of its chunk, or, where
    no action came in time, without one: these count as missed. The reward is the sum over all,
    so that the rewards of an episode add up to its return.
    """
    last = results[-1]
    missed = [d for d in results[:-1] if d.transition.overrun]
    reward = sum(d.transition.reward for d in results)
    return reward, step_info(contract, last, missed, full=full)


def _intervention(contract: Contract, transition: Transition) -> Info:
    found = intervention_in(transition)
    if found is None:
        return {}  # not None: Gymnasium's vectors need a mapping of each environment, or of none
    return {
        'by': found.topic,
        'commands': found.commands,
        'dimensions': [contract.command_dimensions[i] for i in sorted(found.dimensions)],
    }


def _gate(transition: Transition) -> Info:
    if not transition.decisions:
        return {}
    last = transition.decisions[-1]
    return {
        'armed': last.inputs.armed,
        'stopped': last.verdict is Verdict.STOPPED,
        'latched': last.inputs.emergency_stop,
        'foreign_publishers': last.inputs.foreign,
    }


def reasons_of(contract: Contract, transition: Transition) -> list[str]:
    """Return why the gate decided as it did, one sentence a rule, with the numbers."""
    decision = transition.answer
    if decision is None:
        # A stop may have come before the action.
        stops = (d for d in transition.decisions if d.verdict is Verdict.STOPPED)
        decision = next(stops, None)
    return [] if decision is None else list(sentences(decision, contract))
