# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import copy
from functools import partial
import math
import random

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import judge, Outcome, StepView, Task
from boundary_env_ros.core.records.endings import TIME_LIMIT
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.storage.task_check import task_problems
from boundary_env_ros.testing.subject import UnderContract
from boundary_env_ros.testing.verdicts import fail, must_equal, must_refuse, must_return
from boundary_env_ros.testing.views import draw_views


class TaskTests(UnderContract):
    """
    Tests of a task; override :meth:`contract`, and :meth:`task` if it is not the installed one.

    A task is a pure judge: what it samples depends on the generator and the options alone, and
    what it judges on the step alone.
    """

    def task(self) -> Task:
        """Return a new task; by default the installed one that the contract names."""
        return make_task(self.loaded().contract)

    def valid_options(self) -> Sequence[Mapping[str, object]]:
        """Return options that the task takes, by preference one with every option there is."""
        return ({},)

    # Sampling ------------------------------------------------------------------------------------

    def test_task_samples_from_its_generator_alone(self) -> None:
        """Equal seeds sample equal resets, whatever else draws random numbers meanwhile."""
        one, other = self.task(), self.task()
        for trial in range(min(self.trials, 50)):
            for options in self.valid_options():
                first = _sample(one, trial, options)
                random.seed(trial)
                np.random.seed(trial)  # noqa: NPY002 - that generator must make no difference
                must_equal(
                    first,
                    _sample(other, trial, options),
                    'equal resets from equal seeds',
                    where=f'sample_reset with seed {trial} and {options}',
                    way_out='Draw everything from the generator that it is given.',
                )

    def test_task_samples_finite_values_with_a_unit_each(self) -> None:
        """Names are unique, and every number is finite and has its unit."""
        task = self.task()
        for trial in range(min(self.trials, 50)):
            for options in self.valid_options():
                _check_sampled(_sample(task, trial, options), f'sample_reset with {options}')

    def test_task_fits_its_contract(self) -> None:
        """It samples what resets are compared with, supplies the ``task:`` fields, and judges."""
        problems = task_problems(self.loaded().contract, self.task())
        if problems:
            fail('a contract and a task that fit', '; '.join(map(str, problems)), where='task')

    def test_task_refuses_options_that_it_does_not_know(self) -> None:
        """An unknown option raises a BoundaryError, and is not passed over in silence."""
        task = self.task()
        must_refuse(
            lambda: _sample(task, self.seed, {'no_such_option': 1}),
            'for an unknown option',
            where="sample_reset with {'no_such_option': 1}",
            way_out='A misspelt option that is passed over runs another experiment.',
        )

    # Observing -----------------------------------------------------------------------------------

    def test_task_supplies_its_fields_within_their_bounds(self) -> None:
        """To every agent it supplies each ``task:`` field of the contract within its bounds."""
        contract, task = self.loaded().contract, self.task()
        specs = [spec for spec in (*contract.observation, *contract.state) if spec.task]
        for trial in range(min(self.trials, 50)):
            for options in self.valid_options():
                reset = by_name(_sample(task, trial, options))
                for agent in contract.agents:
                    supplied = _observe(task, reset, agent)
                    for spec in specs:
                        _check_bounds(supplied[spec.task], spec, f'{spec.name} of {agent}')

    # Judging -------------------------------------------------------------------------------------

    def test_task_judges_a_step_by_the_step_alone(self) -> None:
        """The same step is judged alike, again, later and by another task; nothing is changed."""
        task, other = self.task(), self.task()
        kept: list[tuple[StepView, Outcome]] = []
        for view in _views(self, task):
            before = copy.deepcopy(view)
            outcome = _judge(task, view)
            must_equal(before, view, 'a step that is not changed', where='judge')
            kept.append((view, outcome))
        for again in (task, other):
            for view, outcome in kept:
                must_equal(
                    outcome,
                    _judge(again, view),
                    'the same outcome of the same step',
                    where='judge',
                    way_out='A task must not remember steps; the audit judges them again.',
                )

    def test_task_rewards_and_ends_as_the_contract_allows(self) -> None:
        """
        Every outcome is one that the environment takes.

        Each term of the reward is finite and has a name of its own; an ending is
        empty, or one that the contract declares.
        """
        contract = self.loaded().contract
        for view in _views(self, task := self.task()):
            outcome = must_return(
                partial(judge, task, contract, view),
                'an outcome that the environment takes',
                where='judge',
            )
            names = [term.name for term in outcome.terms]
            if len(set(names)) != len(names) or not all(names):
                fail('a name of its own for each term of the reward', names, where='judge')

    def test_task_leaves_the_time_limit_to_the_contract(self) -> None:
        """The number of a step alone ends nothing: time limits live in the contract."""
        most = self.loaded().contract.max_steps
        for view in _views(self, task := self.task()):
            endings = {
                step: _judge(task, replace(view, step=step)).ending
                for step in (1, most - 1, most, most + 1, 10 * most)
            }
            if len(set(endings.values())) > 1 or TIME_LIMIT in endings.values():
                fail(
                    'one ending, whatever the number of the step',
                    endings,
                    where='judge',
                    way_out='Declare the time limit as episode.time_limit.',
                )


def _views(subject: TaskTests, task: Task) -> Iterator[StepView]:
    contract, rng = subject.loaded().contract, np.random.default_rng(subject.seed)
    for options in subject.valid_options():
        reset = by_name(_sample(task, subject.seed, options))
        yield from draw_views(contract, task, reset, rng, subject.trials)


def _sample(task: Task, seed: int, options: Mapping[str, object]) -> tuple[NamedValues, ...]:
    return task.sample_reset(np.random.default_rng(seed), copy.deepcopy(dict(options)))


def _observe(task: Task, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
    given = dict(reset)
    supplied = task.observe(given, agent)
    must_equal(dict(reset), given, 'a reset that is not changed', where='observe')
    return supplied


def _judge(task: Task, view: StepView) -> Outcome:
    return must_return(
        lambda: task.judge(view),
        'an outcome of every step within the bounds of the contract',
        where=f'judge of {view}',
    )


def _check_sampled(sampled: tuple[NamedValues, ...], where: str) -> None:
    names = [item.name for item in sampled]
    if len(set(names)) != len(names):
        fail('every name once', names, where=where)
    for item in sampled:
        if not all(map(_is_number, item.values)):
            fail('finite numbers', list(item.values), where=f'{where}, {item.name!r}')
        if len(item.unit) != len(item.values):
            fail(
                f'a unit for each of {len(item.values)} values',
                list(item.unit),
                where=f'{where}, {item.name!r}',
            )


def _check_bounds(values: Vector, spec: FieldSpec, where: str) -> None:
    for value, low, high in zip(values, spec.low, spec.high, strict=True):
        if not (_is_number(value) and low <= value <= high):
            fail(
                f'a value in [{low:g}, {high:g}]',
                value,
                where=where,
                way_out='What is beyond is clipped, and the policy sees another goal.',
            )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
