# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.steps import as_request, StepRequest, StepResult
from boundary_env_ros.testing import WorldTests
from support.kit_faults import must_find
from support.small_world import Point, write

BEGINS = 'test_world_begins_with_a_reset'
SAMPLES = 'test_world_samples_alike_for_equal_seeds'
WRAPPERS = 'test_world_tells_the_wrappers'
ANOTHER = 'test_world_begins_another_episode_within_one'
OPTIONS = 'test_world_refuses_options_that_the_task_does_not_know'
ANSWERS = 'test_world_answers_every_action_with_its_transition'
DELIVERS = 'test_world_delivers_nothing_before_it_was_closed'
TELLS = 'test_world_tells_what_an_action_answers'
OBSERVES = 'test_world_observes_without_an_action'
NONE = 'test_world_refuses_an_invalid_action'
WITHOUT = 'test_world_refuses_a_step_without_an_episode'
LETS_GO = 'test_world_closes_more_than_once'


Actions = Mapping[str, Vector | StepRequest]
Results = dict[str, tuple[StepResult, ...]]


class Through(EmbeddedWorld):
    """A world whose resets and steps pass through methods that a test breaks."""

    closed = False

    def reset(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, StepResult]:
        if self.closed:
            raise BoundaryError('Expected an open world, got it was closed.')
        begun = super().reset(seed=seed, options=options, wrappers=wrappers)
        return {agent: self.out(result) for agent, result in begun.items()}

    def step(self, actions: Actions) -> Results:
        if self.closed:
            raise BoundaryError('Expected an open world, got it was closed.')
        closed = super().step(actions)
        return {agent: tuple(map(self.out, results)) for agent, results in closed.items()}

    def out(self, result: StepResult) -> StepResult:
        return replace(result, transition=self.told(result.transition))

    def told(self, transition: Transition) -> Transition:
        return transition

    def close(self) -> None:
        self.closed = True
        super().close()


class OtherDigest(Through):
    def told(self, transition: Transition) -> Transition:
        return replace(transition, id=replace(transition.id, digest='sha256:0'))


class Seedless(Through):
    def reset(self, *, seed: int | None, **named: Any) -> dict[str, StepResult]:
        return super().reset(seed=None, **named)


class Halving(Through):
    """Delivers an observation with a field that came to be empty."""

    def told(self, transition: Transition) -> Transition:
        return replace(transition, after=(replace(transition.after[0], values=()),))


class Hiding(Through):
    def reset(self, *, wrappers: Sequence[str], **named: Any) -> dict[str, StepResult]:
        return super().reset(wrappers=(), **named)


class OneEpisode(Through):
    def told(self, transition: Transition) -> Transition:
        return replace(transition, id=replace(transition.id, episode_id='the only one'))


class Lenient(Through):
    def reset(self, *, options: Mapping[str, object], **named: Any) -> dict[str, StepResult]:
        return super().reset(options={}, **named)


class Skipping(Through):
    def step(self, actions: Actions) -> Results:
        super().step(actions)
        return super().step(actions)


class Silent(Through):
    def step(self, actions: Actions) -> Results:
        super().step(actions)
        return dict.fromkeys(actions, ())


class Clipping(Through):
    def step(self, actions: Actions) -> Results:
        return super().step(
            {
                agent: tuple(max(-0.1, min(0.1, value)) for value in as_request(action).action)
                for agent, action in actions.items()
            }
        )


class Forgetful(Through):
    """Sends the action alone, and forgets what was said of it."""

    def step(self, actions: Actions) -> Results:
        return super().step({agent: as_request(each).action for agent, each in actions.items()})


class Restless(Through):
    """Steps when it is only to be looked through."""

    def observe(self) -> Results:
        return super().step(dict.fromkeys(self.agents, (0.0, 0.0)))


class Foreseeing(Through):
    def out(self, result: StepResult) -> StepResult:
        before = replace(result.delivered, steady=result.transition.closed.steady - 1)
        return replace(result, delivered=before)


class Repairing(Through):
    def step(self, actions: Actions) -> Results:
        ((agent, action),) = actions.items()
        whole = (*as_request(action).action, 0.0, 0.0)[:2]
        return super().step({agent: tuple(v if abs(v) < 1e6 else 0.0 for v in whole)})


class Beginning(Through):
    def step(self, actions: Actions) -> Results:
        try:
            return super().step(actions)
        except BoundaryError:
            self.reset(seed=0, options={}, wrappers=())
            return super().step(actions)


class Undead(Through):
    def close(self) -> None:
        self.closed = False


class Touchy(Through):
    def close(self) -> None:
        if self.closed:
            raise RuntimeError('closed already')
        super().close()


@pytest.mark.parametrize(
    ('world', 'method', 'says'),
    [
        (OtherDigest, BEGINS, r'reset, transition\.id\.digest: expected sha256:\w{64}, got'),
        (Seedless, BEGINS, r'reset, transition\.seed: expected 1, got \d+'),
        (Halving, BEGINS, 'reset: expected a whole observation, got '),
        (Seedless, SAMPLES, 'expected equal samples from equal seeds, got .*values'),
        (Hiding, WRAPPERS, r"wrappers: expected \('AWrapper', 'Another'\), got \(\)"),
        (OneEpisode, ANOTHER, 'reset again: expected another episode, got the only one'),
        (Lenient, OPTIONS, 'expected BoundaryError for an unknown option, got none'),
        (Skipping, ANSWERS, r'expected episode .*, step 1, got episode .*, step 2'),
        (Silent, ANSWERS, 'step: expected the transition that the action closed, got none'),
        (Clipping, ANSWERS, r'step 1, requested_action: expected the action \('),
        (Forgetful, TELLS, r'step 2, on_result: expected \[2\], got \[\]'),
        (Restless, OBSERVES, 'observe: expected no step without an action in lockstep'),
        (Foreseeing, DELIVERS, r'step 0: expected `delivered` at \d+ ns \(closed\) or later'),
        (Repairing, NONE, 'expected a BoundaryError, or the verdict REJECTED'),
        (Beginning, WITHOUT, r'step: expected BoundaryError before reset\(\), got none'),
        (Undead, LETS_GO, r'step: expected BoundaryError after close\(\), got none'),
        (Touchy, LETS_GO, 'close: expected to be closed twice without harm, got RuntimeErr'),
    ],
)
def test_a_fault_of_a_world_is_found(
    tmp_path: Path, world: type[Through], method: str, says: str
) -> None:
    must_find(_kit(write(tmp_path), world), method, says)


@pytest.mark.parametrize('method', [name for name in dir(WorldTests) if name.startswith('test_')])
def test_an_honest_world_passes(tmp_path: Path, method: str) -> None:
    getattr(_kit(write(tmp_path), Through), method)()


def _kit(file: Path, world: type[Through]) -> WorldTests:
    class Kit(WorldTests):
        pacing = 'lockstep'

        def contract(self) -> Path:
            return file

        def world(self) -> Through:
            loaded = self.loaded()
            start = to_nanoseconds(loaded.contract.period)
            return world(loaded, robot=Point(loaded.contract, start))

    return Kit()
