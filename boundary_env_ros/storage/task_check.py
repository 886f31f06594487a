# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a contract has all that its task reads: the task is tried, without a robot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

import numpy as np

from boundary_env_ros.core.contract.model import Contract, WaitStep
from boundary_env_ros.core.contract.problem_text import nearest, problem_at
from boundary_env_ros.core.contract.problem_text import Path as KeyPath
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import judge, sample, StepView, supply, Task
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, ContractError, Problem, TaskFailed
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.terminal import many

T = TypeVar('T')

#: Steps that a task is tried on. One that judges none of them judges no step of a robot either.
_TRIALS = 8
#: Where a field without bounds is drawn from.
_WIDE = 10.0


def fitting_task(contract: Contract) -> Task:
    """
    Return the task that a contract names, tried on it.

    Raises
    ------
    ContractError
        If the task refuses its parameters, or the contract lacks something that the task reads.
    MissingDependency
        If the task needs a library that is not installed.

    """
    task = make_task(contract)
    problems = task_problems(contract, task)
    if problems:
        raise ContractError(problems, contract.name)
    return task


def task_problems(contract: Contract, task: Task) -> tuple[Problem, ...]:
    """Return where a contract and its task do not fit, with key paths and no lines."""
    rng = np.random.default_rng(0)
    try:
        sampled = by_name(sample(task, contract, rng, {}))
        supplied = {agent: supply(task, contract, sampled, agent) for agent in contract.agents}
    except BoundaryError as error:
        expected = f'parameters that {contract.task.name!r} can sample a reset with'
        actual = str(error).rstrip('.')
        return (problem_at(('task', 'parameters'), None, expected, actual),)
    problems = tuple(_misfits(contract, sampled, supplied))
    if problems:
        return problems
    failures = [
        _failure(contract, task, agent, sampled, supplied[agent], rng)
        for agent in contract.agents
        for _ in range(_TRIALS)
    ]
    found = failures[0]
    return (found,) if found is not None and all(failures) else ()


def _misfits(
    contract: Contract,
    sampled: Mapping[str, Vector],
    supplied: Mapping[str, Mapping[str, Vector]],
) -> Iterator[Problem]:
    reset = contract.episode.reset
    for name, tolerance in reset.tolerance.items():
        path: KeyPath = ('episode', 'reset', 'tolerance', name)
        yield from _fits(path, name, len(tolerance), sampled, 'a value that the task samples')
    for index, step in enumerate(reset.steps):
        if isinstance(step, WaitStep) and step.sampled:
            path = ('episode', 'reset', 'procedure', index, 'sampled')
            size = len(step.tolerance)
            yield from _fits(path, step.sampled, size, sampled, 'a value that the task samples')
    for fields in supplied.values():
        for where, specs in (('observation', contract.observation), ('state', contract.state)):
            for spec in specs:
                if spec.task:
                    path = (where, spec.name, 'task')
                    what = 'a field that the task supplies'
                    yield from _fits(path, spec.task, spec.size, fields, what)


def _fits(
    path: KeyPath, name: str, size: int, there: Mapping[str, Vector], what: str
) -> Iterator[Problem]:
    if name not in there:
        yield problem_at(path, None, f'{what}: {_listed(there)}', repr(name), nearest(name, there))
    elif len(there[name]) != size:
        expected = f'{many(len(there[name]), "value")}, as {name!r} of the task has'
        yield problem_at(path, None, expected, many(size, 'value'))


# Judging -----------------------------------------------------------------------------------------


class _Fields(dict[str, Vector]):
    """Fields that remember which of them were asked for in vain."""

    def __init__(self, fields: Mapping[str, Vector], missed: list[str]) -> None:
        super().__init__(fields)
        self._missed = missed

    def __missing__(self, name: str) -> Vector:
        self._missed.append(name)
        raise KeyError(name)

    def get(self, name: str, default: T | None = None) -> Vector | T | None:  # type: ignore[override]
        if name not in self:
            self._missed.append(name)
        return super().get(name, default)


def _failure(
    contract: Contract,
    task: Task,
    agent: str,
    sampled: Mapping[str, Vector],
    supplied: Mapping[str, Vector],
    rng: np.random.Generator,
) -> Problem | None:
    """Return what keeps a task from judging a step of values drawn at random; None if it does."""
    missed: list[str] = []
    specs = [s for s in (*contract.observation, *contract.state) if not s.is_image]
    before, after = (
        {s.name: supplied[s.task] if s.task else _drawn(s.low, s.high, rng) for s in specs}
        for _ in range(2)
    )
    step = StepView(
        agent=agent,
        before=_Fields(before, missed),
        after=_Fields(after, missed),
        commanded=_drawn(contract.flat('low'), contract.flat('high'), rng),
        reset=sampled,
        step=1,
        period=contract.period,
    )
    try:
        judge(task, contract, step)
    except TaskFailed as error:
        path = ('task', 'name')
        if not missed:
            return problem_at(path, None, '', str(error).rstrip('.'))
        lacking = ', '.join(map(repr, dict.fromkeys(missed)))
        return problem_at(
            path,
            None,
            f'every field that the task {contract.task.name!r} reads ({lacking})',
            f'{_listed(after)} in observation and state',
            f'Add {lacking}, or choose another task.',
        )
    return None


def _drawn(lowest: Vector, highest: Vector, rng: np.random.Generator) -> Vector:
    low, high = np.asarray(lowest, float), np.asarray(highest, float)
    low, high = np.maximum(low, np.minimum(-_WIDE, high)), np.minimum(high, _WIDE)
    return tuple(rng.uniform(np.minimum(low, high), high).tolist())


def _listed(names: Collection[str]) -> str:
    return ', '.join(names) or 'none'
