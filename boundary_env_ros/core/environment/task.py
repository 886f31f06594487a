# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a task is to the environment: it samples resets, supplies fields, and judges steps.

A task is a pure judge. It sees the environment's state, never a clock, a robot or a field of the
evaluator. It is a user's code: it is called only by :func:`sample`, :func:`supply` and
:func:`judge`, which raise nothing but errors of this package, whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from traceback import extract_tb
from typing import Protocol, TypeVar

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import INSTRUCTION, RewardTerm
from boundary_env_ros.core.service_requests import seed_of
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, TaskFailed
from boundary_env_ros.frozen import frozen

T = TypeVar('T')

# A reward may be beyond its bounds by so much, for sums that are rounded.
_ROUNDING = 1e-9


@frozen
class StepView:
    """
    What a task may judge a step by.

    Attributes
    ----------
    agent
        Whose step it is.
    before, after
        Values of each low-dimensional field of observation and state before and after the step,
        contract units.
    commanded
        Command that the gate published for the step's action, whatever was chosen and asked for;
        empty if it published none.
    reset
        What the reset sampled, by name.
    step, period
        Number of the step, and seconds of one.

    """

    agent: str
    before: Mapping[str, Vector]
    after: Mapping[str, Vector]
    commanded: Vector
    reset: Mapping[str, Vector]
    step: int
    period: float


@frozen
class Outcome:
    """
    What a task makes of a step.

    Attributes
    ----------
    terms
        Terms of the reward, which is their sum.
    ending
        Name of the ending, one of the contract's; empty while the task goes on.

    """

    terms: tuple[RewardTerm, ...] = ()
    ending: str = ''


class Task(Protocol):
    """
    The protocol of a task; see :mod:`boundary_env_ros.tasks` for the shipped ones.

    A task may declare the bounds of each term of its reward, for one step, as an attribute
    ``reward_space``, ``{'progress': (-0.1, 0.1), 'goal': (0.0, 1.0)}``. A term that is not in it,
    or out of its bounds, ends the episode as ``task_failed``.
    """

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """
        Return a start state (and whatever else the episode needs), from the generator alone.

        Raises
        ------
        BoundaryError
            If an option is unknown or has a wrong value.

        """

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return the fields that the task supplies to an agent, by name in the ``task:`` key."""

    def judge(self, step: StepView) -> Outcome:
        """Return reward and ending of one step."""


class NoTask:
    """What stands for the task where a contract names none: it samples nothing, and judges 0."""

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """Return nothing; an option is refused, since nothing would come of it."""
        if options:
            raise BoundaryError(
                f'The contract has no task to take options of a reset (expected none, got '
                f'{", ".join(map(repr, options))}). Leave them out, or name a task.'
            )
        return ()

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return no field."""
        return {}

    def judge(self, step: StepView) -> Outcome:
        """Return no reward, and no ending."""
        return Outcome()


def reward_space(task: Task) -> Mapping[str, tuple[float, float]]:
    """Return the bounds of each term of the reward; of a task that declares none, of its sum."""
    declared: Mapping[str, tuple[float, float]] = getattr(task, 'reward_space', {})
    return declared or {'reward': (-math.inf, math.inf)}


def with_instruction(
    contract: Contract, seed: int, options: Mapping[str, object]
) -> Mapping[str, object]:
    """
    Return the options of a reset; without an instruction, with one of the contract's.

    The seed draws it, from numbers of its own: a list changes nothing that a task samples.
    """
    listed = contract.episode.instructions
    if not listed or INSTRUCTION in options:
        return options
    (own,) = np.random.default_rng(seed_of(seed)).spawn(1)
    return {**options, INSTRUCTION: listed[own.integers(len(listed))]}


def sample(
    task: Task, contract: Contract, rng: np.random.Generator, options: Mapping[str, object]
) -> tuple[NamedValues, ...]:
    """
    Let a task sample a reset; see :meth:`Task.sample_reset`.

    The option ``instruction`` is for the policy, and the task does not get it.

    Raises
    ------
    BoundaryError
        If the task refuses the options, or the instruction is no text.
    TaskFailed
        If it raises anything else, or returns something else.

    """
    where = f'the task {contract.task.name!r}, in sample_reset'
    own = {name: value for name, value in options.items() if name != INSTRUCTION}
    instruction = options.get(INSTRUCTION, '')
    if not isinstance(instruction, str):
        raise BoundaryError(
            f'Wrong option {INSTRUCTION!r} of the reset (expected a text, got {instruction!r}).'
        )
    sampled: object = _call(where, lambda: task.sample_reset(rng, own))
    if not isinstance(sampled, tuple) or not all(isinstance(v, NamedValues) for v in sampled):
        raise _wrong(where, 'a tuple of NamedValues', sampled)
    return sampled


def supply(
    task: Task, contract: Contract, reset: Mapping[str, Vector], agent: str
) -> Mapping[str, Vector]:
    """
    Let a task supply its fields; see :meth:`Task.observe`.

    Raises
    ------
    BoundaryError
        If the task refuses the agent.
    TaskFailed
        If it raises anything else, or returns something else.

    """
    where = f'the task {contract.task.name!r}, in observe'
    supplied: object = _call(where, lambda: task.observe(reset, agent))
    if not isinstance(supplied, Mapping):
        raise _wrong(where, 'a mapping of fields', supplied)
    return supplied


def judge(task: Task, contract: Contract, step: StepView) -> Outcome:
    """
    Let a task judge a step; see :meth:`Task.judge`.

    Raises
    ------
    TaskFailed
        If it raises anything, returns a reward that is not finite, or names an ending that the
        contract does not declare.

    """
    where = f'the task {contract.task.name!r}, in judge'
    try:
        outcome: object = _call(where, lambda: task.judge(step))
    except TaskFailed:
        raise
    except BoundaryError as error:
        raise TaskFailed(f'{where}: {error}') from error
    if not isinstance(outcome, Outcome):
        raise _wrong(where, 'an Outcome', outcome)
    for term in outcome.terms:
        if not math.isfinite(term.value):
            raise _wrong(where, f'a finite reward {term.name!r}', term.value)
    endings = contract.episode.endings
    if outcome.ending and outcome.ending not in endings:
        raise TaskFailed(
            f'{where}: expected an ending of the contract ({", ".join(endings)}), '
            f'got {outcome.ending!r}; declare it under episode.endings'
        )
    return outcome


def check_rewards(task: Task, contract: Contract, outcome: Outcome) -> None:
    """
    Refuse a reward that is not in the space that the task declares.

    Raises
    ------
    TaskFailed
        If there is one.

    """
    declared = getattr(task, 'reward_space', {})
    for term in outcome.terms if declared else ():
        low, high = declared.get(term.name, (math.inf, -math.inf))
        if not low - _ROUNDING <= term.value <= high + _ROUNDING:
            known = ', '.join(f'{name} {bounds}' for name, bounds in declared.items())
            raise TaskFailed(
                f'the task {contract.task.name!r}: expected a reward in its space ({known}), '
                f'got {term.name} {term.value:g}'
            )


def _call(where: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except BoundaryError:
        raise
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        at = f'{last.filename.rpartition("/")[2]}, line {last.lineno}'
        raise TaskFailed(f'{where}: {type(error).__name__}: {error} ({at})') from error


def _wrong(where: str, expected: str, got: object) -> TaskFailed:
    return TaskFailed(f'{where}: expected {expected}, got {got!r:.100}')
