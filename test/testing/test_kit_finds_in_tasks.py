# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from pathlib import Path
import random

import numpy as np
import pytest

from boundary_env_ros.core.environment.task import Outcome, StepView, Task
from boundary_env_ros.core.records.endings import FAILURE
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from boundary_env_ros.testing import TaskTests
from support.kit_faults import must_find
from support.small_world import write

SAMPLES_ALONE = 'test_task_samples_from_its_generator_alone'
SAMPLES_UNITS = 'test_task_samples_finite_values_with_a_unit_each'
FITS = 'test_task_fits_its_contract'
SUPPLIES = 'test_task_supplies_its_fields_within_their_bounds'
JUDGES_ALONE = 'test_task_judges_a_step_by_the_step_alone'
OUTCOMES = 'test_task_rewards_and_ends_as_the_contract_allows'

Sampled = tuple[NamedValues, ...]
Reset = Mapping[str, Vector]


class Honest(GoToGoal):
    def __init__(self) -> None:
        boxes: Mapping[str, Sequence[float]] = {
            'start': [-1.0, -1.0, 1.0, 1.0],
            'yaw': [-0.5, 0.5],
            'goal': [1.0, -1.0, 2.0, 1.0],
        }
        super().__init__(radius=0.3, scenarios={'near': boxes})


def _with(sampled: Sampled, name: str, **changes: object) -> Sampled:
    return tuple(
        replace(item, **changes) if item.name == name else item  # type: ignore[arg-type]
        for item in sampled
    )


class GlobalRandom(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        goal = (random.uniform(1.0, 2.0), 0.0)
        return _with(super().sample_reset(rng, options), 'goal', values=goal)


class GlobalNumpy(Honest):
    def judge(self, step: StepView) -> Outcome:
        noise = float(np.random.normal())  # noqa: NPY002 - the fault
        return Outcome(terms=(RewardTerm(name='progress', value=noise),))


class GeneratorOfItsOwn(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        return super().sample_reset(np.random.default_rng(), options)


class Infinite(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        return _with(super().sample_reset(rng, options), 'goal', values=(math.inf, 0.0))


class UnitMissing(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        return _with(super().sample_reset(rng, options), 'start', unit=('m', 'm'))


class NameTwice(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        return super().sample_reset(rng, options) * 2


class OtherName(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        sampled = super().sample_reset(rng, options)
        return (replace(sampled[0], name='begin'), *sampled[1:])


class Tolerant(Honest):
    def sample_reset(self, rng: np.random.Generator, options: Mapping[str, object]) -> Sampled:
        known = {'start', 'goal', 'scenario'}
        return super().sample_reset(rng, {k: v for k, v in options.items() if k in known})


class Stingy(Honest):
    def observe(self, reset: Reset, agent: str) -> Reset:
        return {'goal': reset['goal'][:1]}


class FarGoal(Honest):
    def observe(self, reset: Reset, agent: str) -> Reset:
        return {'goal': (reset['goal'][0] + 10.0, 0.0)}


class Emptying(Honest):
    def observe(self, reset: Reset, agent: str) -> Reset:
        supplied = {'goal': reset['goal']}
        reset.clear()  # type: ignore[attr-defined]
        return supplied


class Changing(Honest):
    def judge(self, step: StepView) -> Outcome:
        outcome = super().judge(step)
        step.after['pose'] = (0.0, 0.0, 0.0)  # type: ignore[index]
        return outcome


class Remembering(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.best = math.inf

    def judge(self, step: StepView) -> Outcome:
        distance = math.dist(step.after['pose'][:2], step.reset['goal'])
        better = distance < self.best
        self.best = min(self.best, distance)
        return Outcome(terms=(RewardTerm(name='record', value=float(better)),))


class Inventive(Honest):
    def judge(self, step: StepView) -> Outcome:
        outcome = super().judge(step)
        return replace(outcome, ending='arrived' if outcome.ending else '')


class NotANumber(Honest):
    def judge(self, step: StepView) -> Outcome:
        # What nobody did has no mean.
        mean = sum(step.commanded) / len(step.commanded) if step.commanded else math.nan
        return Outcome(terms=(RewardTerm(name='mean', value=mean),))


class OneName(Honest):
    def judge(self, step: StepView) -> Outcome:
        return Outcome(terms=(RewardTerm(name='x', value=1.0),) * 2)


class Presuming(Honest):
    def judge(self, step: StepView) -> Outcome:
        return Outcome(terms=(RewardTerm(name='speed', value=step.commanded[0]),))


class Impatient(Honest):
    def judge(self, step: StepView) -> Outcome:
        return replace(super().judge(step), ending=FAILURE if step.step >= 20 else '')


@pytest.mark.parametrize(
    ('task', 'method', 'says'),
    [
        (GlobalRandom, SAMPLES_ALONE, r'sample_reset .*expected equal resets from equal seeds'),
        (GlobalNumpy, JUDGES_ALONE, r'the same outcome of the same step.*terms\[0\]\.value'),
        (
            GeneratorOfItsOwn,
            SAMPLES_ALONE,
            r'with seed 0 and {}: expected equal resets from equal seeds, got \[0\].values',
        ),
        (Infinite, SAMPLES_UNITS, r"'goal': expected finite numbers, got \[inf, 0.0\]"),
        (UnitMissing, SAMPLES_UNITS, "'start': expected a unit for each of 3 values"),
        (NameTwice, SAMPLES_UNITS, 'expected every name once'),
        (OtherName, FITS, "a contract and a task that fit, got .*'start'"),
        (
            Tolerant,
            'test_task_refuses_options_that_it_does_not_know',
            'BoundaryError for an unknown option, got none was raised',
        ),
        (Stingy, FITS, "a contract and a task that fit, got .*'goal'"),
        (FarGoal, SUPPLIES, r'goal of point: expected a value in \[-5.5, 5.5\]'),
        (Emptying, SUPPLIES, 'observe: expected a reset that is not changed'),
        (Changing, JUDGES_ALONE, r'judge: expected a step that is not changed.*after\.pose'),
        (Remembering, JUDGES_ALONE, r'the same outcome of the same step.*terms\[0\]\.value'),
        (Inventive, OUTCOMES, r"expected an ending of the contract \(.*\), got 'arrived'"),
        (NotANumber, OUTCOMES, "expected a finite reward 'mean', got nan"),
        (OneName, OUTCOMES, 'expected a name of its own for each term'),
        (Presuming, OUTCOMES, 'expected an outcome that the environment takes.*IndexError'),
        (
            Impatient,
            'test_task_leaves_the_time_limit_to_the_contract',
            'expected one ending, whatever the number of the step',
        ),
    ],
)
def test_a_fault_of_a_task_is_found(
    tmp_path: Path, task: type[Honest], method: str, says: str
) -> None:
    file = write(tmp_path)

    class Kit(TaskTests):
        def contract(self) -> Path:
            return file

        def task(self) -> Task:
            return task()

        def valid_options(self) -> Sequence[Mapping[str, object]]:
            return ({}, {'scenario': 'near', 'start': [0.0, 0.0, 0.0], 'goal': [1.0, 1.0]})

    must_find(Kit(), method, says)
