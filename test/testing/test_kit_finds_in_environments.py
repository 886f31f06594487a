# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with an environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.errors import EpisodeEnded, InvalidAction, ResetNeeded
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.storage.contract_file import load
from support.kit_faults import must_find
from support.small_world import Point, write
from support.whole_environment_tests import WholeEnvironmentTests

SPACES = 'test_environment_has_the_spaces_of_its_contract'
GYMNASIUM = 'test_environment_passes_the_check_of_gymnasium'
INSIDE = 'test_environment_observes_within_its_space'
MEMORY = 'test_environment_shares_no_memory_between_observations'
BEFORE = 'test_environment_refuses_a_step_before_the_first_reset'
ENDS = 'test_environment_ends_once_by_one_name'
CLOSED = 'test_environment_refuses_everything_after_it_was_closed'
LEFT = 'test_environment_abandons_an_episode_that_is_left'
NONE = 'test_environment_refuses_an_action_that_is_none'
SAYS = 'test_environment_says_what_became_of_an_action'
EVALUATOR = 'test_environment_keeps_the_evaluator_out_of_sight'
IDENTITY = 'test_environment_keeps_one_identity'
OPTIONS = 'test_environment_refuses_options_that_its_task_does_not_know'
REPEATS = 'test_environment_repeats_itself_for_equal_seeds'
AUDIT = 'test_environment_leaves_a_record_that_passes_the_audit'

Returned = tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]


class Wide(BoundaryEnv):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.action_space = spaces.Box(-9.0, 9.0, shape=(2,), dtype=np.float32)


class Double(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, *rest = super().step(action)
        observation['pose'] = observation['pose'].astype(np.float64)
        return (observation, *rest)  # type: ignore[return-value]


class Sorted(BoundaryEnv):
    def reset(self, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = super().reset(**arguments)
        return dict(sorted(observation.items())), info


class FarAway(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, *rest = super().step(action)
        observation['velocity'] = observation['velocity'] + np.float32(100.0)
        return (observation, *rest)  # type: ignore[return-value]


class OldStyle(BoundaryEnv):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class Sharing(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, *rest = super().step(action)
        self.kept = getattr(self, 'kept', observation)
        return (self.kept, *rest)  # type: ignore[return-value]


class Eager(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        try:
            return super().step(action)
        except (ResetNeeded, EpisodeEnded):
            self.reset()
            return super().step(action)


class BothFlags(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, reward, terminated, truncated, info = super().step(action)
        ended = terminated or truncated
        return observation, reward, ended, ended, info


class WrongFlag(BoundaryEnv):
    """Takes the time limit for the end of the task, as many do."""

    def step(self, action: Any) -> Returned:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, False, info


class NoDeclarer(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        *rest, info = super().step(action)
        return (*rest, {**info, 'declared_by': ''})  # type: ignore[return-value]


class Endless(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, reward, terminated, truncated, info = super().step(action)
        if truncated:
            observation, info = self.reset()
        return observation, reward, terminated, False, {**info, 'ending': '', 'declared_by': ''}


class Reborn(BoundaryEnv):
    def close(self) -> None:
        super().close()
        self._closed = False


class Forgetful(BoundaryEnv):
    """Its reset goes on with the episode that runs."""

    def reset(self, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if not self._idle:
            observation, *_, info = super().step(np.zeros(2))
            return observation, {**info, 'step': 0}
        return super().reset(**arguments)


class Repairing(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        try:
            repaired = np.nan_to_num(np.asarray(action, dtype=float).ravel()[:2])
        except (TypeError, ValueError):
            raise InvalidAction(f'Expected numbers, got {action!r}.') from None
        if repaired.shape != (2,):
            raise InvalidAction(f'Expected two numbers, got {action!r}.')
        return super().step(repaired)


class Clipping(BoundaryEnv):
    """Clips in silence, and says that nothing else was asked for."""

    def step(self, action: Any) -> Returned:
        inside = action
        if np.shape(action) == (2,):
            inside = np.clip(action, [-0.5, -1.5], [1.0, 1.5])
        return super().step(inside)


class Speechless(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        *rest, info = super().step(action)
        return (*rest, {**info, 'reasons': []})  # type: ignore[return-value]


class Unclipped(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        *rest, info = super().step(action)
        return (*rest, {**info, 'clipped': [False, False]})  # type: ignore[return-value]


class Telling(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        *rest, info = super().step(action)
        return (*rest, {**info, 'debug': {'true_pose': [0.0, 0.0]}})  # type: ignore[return-value]


class Nameless(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        *rest, info = super().step(action)
        return (*rest, {**info, 'digest': 'sha256:0'})  # type: ignore[return-value]


class Lenient(BoundaryEnv):
    def reset(self, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return super().reset(seed=arguments.get('seed'))


class Moody(BoundaryEnv):
    def step(self, action: Any) -> Returned:
        observation, reward, *rest = super().step(action)
        return (observation, float(reward) + np.random.default_rng().normal(), *rest)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ('env', 'method', 'says'),
    [
        (Wide, SPACES, r'action_space: expected Box\(.*\), got Box\(-9.0, 9.0'),
        (Double, INSIDE, r"step, observation\['pose'\]: expected float32, got float64"),
        (Sorted, INSIDE, r"reset: expected the fields \['pose', 'velocity', 'goal'\], got"),
        (FarAway, INSIDE, r"step, observation\['velocity'\]: expected a member of Box"),
        (OldStyle, INSIDE, 'step: expected observation, reward, terminated, truncated and info'),
        (Sharing, MEMORY, 'pose: expected memory of its own'),
        (
            Eager,
            BEFORE,
            'step: expected ResetNeeded for a step before the first reset, .*got none',
        ),
        (Eager, ENDS, 'step: expected EpisodeEnded for a step after the end, got none'),
        (BothFlags, ENDS, r'step \d+: expected terminated or truncated, never both, got both'),
        (WrongFlag, ENDS, "expected truncated, which 'time_limit' is, got terminated"),
        (NoDeclarer, ENDS, "declared_by: expected a node that declared the ending, got ''"),
        (Endless, ENDS, 'step: expected an ending after 20 steps, got none'),
        (Reborn, CLOSED, 'reset: expected BoundaryError after it was closed, got none'),
        (Forgetful, LEFT, 'episode_id: expected another episode after a reset'),
        (Repairing, NONE, 'expected InvalidAction for .*, got none was raised'),
        (Clipping, SAYS, r'requested_action: expected the action that was asked for \(12'),
        (Speechless, SAYS, r'expected reasons for LIMITED, got \[\]. Never clip in silence'),
        (Unclipped, SAYS, r'dimension \d: expected to be told that .* became .*, got clipped'),
        (Telling, EVALUATOR, 'the info of step: expected no field .*, got true_pose'),
        (Nameless, IDENTITY, 'the info of step 1: expected contract and digest'),
        (Lenient, OPTIONS, 'expected BoundaryError for an unknown option, got none'),
        (
            Moody,
            REPEATS,
            r'expected equal episodes from equal seeds and actions, .*steps\[0\]\[1\]',
        ),
        (Moody, GYMNASIUM, 'check_env: expected gymnasium to be content, got AssertionError'),
    ],
)
def test_a_fault_of_an_environment_is_found(
    tmp_path: Path, env: type[BoundaryEnv], method: str, says: str
) -> None:
    must_find(kit(write(tmp_path), env), method, says)


def _paid_more(record: object) -> object:
    if isinstance(record, Transition) and record.id.step == 3:
        return replace(record, reward=record.reward + 1.0)
    return record


def _another_command(record: object) -> object:
    if isinstance(record, Transition) and record.decisions:
        first, *others = record.decisions
        command = tuple(value + 0.01 for value in first.command)
        return replace(record, decisions=(replace(first, command=command), *others))
    return record


def _no_decision(record: object) -> object:
    return None if isinstance(record, GateDecision) and record.sequence == 4 else record


@pytest.mark.parametrize(
    ('damage', 'says'),
    [
        (_paid_more, 'audit: expected a record without errors.*reward'),
        (_another_command, 'audit: expected a record without errors.*command'),
        (_no_decision, 'audit: expected a record without errors.*decision'),
    ],
)
def test_a_record_that_is_not_true_is_found(
    tmp_path: Path, damage: Callable[[object], object], says: str
) -> None:
    class Damaged(kit(write(tmp_path), BoundaryEnv).__class__):  # type: ignore[misc]
        def record(self) -> Sequence[object]:
            return [damage(record) for record in super().record()]

    must_find(Damaged(), AUDIT, says)


def test_an_environment_without_a_contract_is_found() -> None:
    class Kit(WholeEnvironmentTests):
        def env(self) -> Any:
            return gymnasium.make('CartPole-v1')

    must_find(Kit(), SPACES, r'env\(\): expected an environment with a `contract`.*CartPoleEnv')


def kit(file: Path, env: type[BoundaryEnv]) -> WholeEnvironmentTests:
    """Return the tests of a kind of environment over the small world."""

    class Kit(WholeEnvironmentTests):
        def env(self) -> BoundaryEnv:
            contract = load(file).contract
            robot = Point(contract, to_nanoseconds(contract.period))
            return env(file, world='embedded', pacing='lockstep', robot=robot, sink=self.keep)

    return Kit()
