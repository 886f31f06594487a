# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrapped around an environment is known to its record, and a second time limit is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.wrappers import (
    ClipAction,
    FilterObservation,
    FrameStackObservation,
    NormalizeReward,
    RescaleAction,
    TimeLimit,
    TransformAction,
    TransformObservation,
    TransformReward,
)
from gymnasium.wrappers.vector import ClipAction as VectorClipAction
import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit.audit import audit, audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.facade.gymnasium_errors import ResetNeeded

CART = 'boundary_env_ros/WarehouseCart-v0'
EMBEDDED = {'world': 'embedded', 'pacing': 'lockstep'}
NOTHING = np.zeros(2, dtype=np.float32)


@pytest.fixture(scope='module')
def records() -> list[Transition]:
    """Return the record of the environment below."""
    return []


@pytest.fixture(scope='module')
def base(records: list[Transition]) -> Iterator[BoundaryEnv]:
    """Return one environment for all tests; each reset begins again."""
    env = BoundaryEnv(world='embedded', pacing='lockstep', sink=records.append)
    yield env
    env.close()


def twice(values: Any) -> Any:
    return values


def chain(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Return the chain that a reset of an environment reports."""
    reported: list[str] = env.reset(seed=1)[1]['wrappers']
    return reported


def test_the_chain_stands_in_info_and_in_every_transition_outermost_first(
    base: BoundaryEnv, records: list[Any]
) -> None:
    env = FrameStackObservation(
        FilterObservation(
            RescaleAction(base, np.float32(-1.0), np.float32(1.0)), ['pose', 'goal']
        ),
        3,
    )
    _, reset = env.reset(seed=1)
    *_, step = env.step(NOTHING)
    expected = [
        "FrameStackObservation(stack_size=3, padding_type='reset')",
        "FilterObservation(filter_keys=['pose', 'goal'])",
        'RescaleAction(min_action=-1.0, max_action=1.0)',
        'BoundaryEnv()',
    ]
    assert reset['wrappers'] == step['wrappers'] == expected
    transitions = [record for record in records if isinstance(record, Transition)]
    # Before them stands how the episode of another test was abandoned.
    own = [t for t in transitions if t.id.episode_id == transitions[-1].id.episode_id]
    assert [list(t.wrappers) for t in own] == [expected, expected]


def test_an_environment_without_wrappers_says_so(base: BoundaryEnv) -> None:
    chain(NormalizeReward(base))
    assert chain(base) == ['BoundaryEnv()']


def test_arguments_read_the_same_in_every_run(base: BoundaryEnv) -> None:
    class Nameless:
        def __call__(self, values: Any) -> Any:
            return values

    here = 'test_arguments_read_the_same_in_every_run.<locals>'
    space = base.observation_space
    wrapped = TransformObservation(
        TransformObservation(base, lambda values: values, space), Nameless(), space
    )
    assert chain(
        TransformReward(
            RescaleAction(wrapped, np.full(2, -1.0, np.float32), np.ones(2, np.float32)), twice
        )
    ) == [
        'TransformReward(func=twice)',
        'RescaleAction(min_action=float32[2], max_action=float32[2])',
        f'TransformObservation(func={Nameless.__qualname__}, observation_space=Dict)',
        f'TransformObservation(func={here}.<lambda>, observation_space=Dict)',
        'BoundaryEnv()',
    ]


def test_a_wrapper_of_somebodys_own_is_named_even_if_it_says_nothing(base: BoundaryEnv) -> None:
    class Weaker(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            return self.env.step(0.5 * action)

    assert chain(Weaker(base)) == ['Weaker:Wrapper()', 'BoundaryEnv()']


def test_make_hides_nothing() -> None:
    env = gymnasium.make(CART, **EMBEDDED)
    assert chain(ClipAction(env)) == ['ClipAction()', 'PassiveEnvChecker()', 'BoundaryEnv()']
    env.close()


def test_wrappers_put_around_after_the_reset_are_refused(base: BoundaryEnv) -> None:
    base.reset(seed=1)
    with pytest.raises(
        ResetNeeded,
        match=r'expected BoundaryEnv\(\), got ClipAction\(\) of BoundaryEnv\(\)',
    ):
        ClipAction(base).step(NOTHING)


def test_a_clip_action_cannot_hide_from_the_audit(tmp_path: Path) -> None:
    record = tmp_path / 'clipped'
    env = ClipAction(gymnasium.make(CART, **EMBEDDED, record=record))
    env.reset(seed=1)
    env.step(np.array([50.0, 0.0], dtype=np.float32))
    env.close()
    report = audit_path(record)
    assert report.outcome is AuditOutcome.CONTRADICTED
    told = [finding.text for finding in report.findings if finding.rule == 'no-hidden-wrapper']
    assert told[0].endswith(
        "wrappers[0]: expected none: the gate limits actions, and says so, got 'ClipAction'"
    )


class Tame(ClipAction):
    """Clips under another name."""


class Scaled(RescaleAction):
    """Rescales, and says nothing of what else it does."""


class Half(gymnasium.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        return 0.5 * action


class Impatient(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        *rest, _, info = self.env.step(action)
        return (*rest, True, info)


class Brighter(gymnasium.ObservationWrapper[Any, Any, Any]):
    def observation(self, observation: Any) -> Any:
        return observation


@pytest.mark.parametrize(
    ('wrap', 'told', 'rule'),
    [
        (Tame, 'Tame:ClipAction()', 'no-hidden-wrapper'),
        (
            lambda env: Scaled(env, np.float32(-1.0), np.float32(1.0)),
            'Scaled:RescaleAction(min_action=-1.0, max_action=1.0)',
            'versions-present',
        ),
        (Half, 'Half:ActionWrapper()', 'versions-present'),
        (
            lambda env: TransformAction(env, twice, env.action_space),
            'TransformAction(func=twice, action_space=Box(2,))',
            'versions-present',
        ),
        (Impatient, 'Impatient:Wrapper()', 'versions-present'),
        (Brighter, 'Brighter()', ''),
        (
            lambda env: RescaleAction(env, np.float32(-1.0), np.float32(1.0)),
            'RescaleAction(min_action=-1.0, max_action=1.0)',
            '',
        ),
    ],
    ids=lambda value: value.partition('(')[0] if isinstance(value, str) else '',
)
def test_a_wrapper_whose_own_code_may_change_actions_or_flags_is_found_under_any_name(
    base: BoundaryEnv, records: list[Any], wrap: Callable[[Any], Any], told: str, rule: str
) -> None:
    env = wrap(base)
    assert chain(env)[0] == told
    env.step(NOTHING)
    steps = [record for record in records if isinstance(record, Transition)]
    own = [step for step in steps if step.id.episode_id == steps[-1].id.episode_id]
    counts = audit(own, contract=base.contract).counts
    assert counts.keys() - {'record-ended'} == ({rule} if rule else set())


def test_the_wrappers_around_a_vector_are_in_the_chain_or_unknown() -> None:
    for mode, expected in (
        ('sync', ['ClipAction()', 'SyncVectorEnv()', 'PassiveEnvChecker()', 'BoundaryEnv()']),
        ('async', []),
    ):
        env = gymnasium.make_vec(CART, num_envs=1, vectorization_mode=mode, **EMBEDDED)
        _, infos = VectorClipAction(env).reset(seed=1)
        env.close()
        assert list(infos['wrappers'][0]) == expected


def test_a_time_limit_of_gymnasiums_is_refused_wherever_it_stands(base: BoundaryEnv) -> None:
    limited = NormalizeReward(TimeLimit(base, 5))
    with pytest.raises(
        BoundaryError,
        match=r'time_limit: 6 s, got TimeLimit\(max_episode_steps=5\) around it',
    ):
        limited.reset(seed=1)


def test_a_time_limit_that_make_is_asked_for_is_refused() -> None:
    env = gymnasium.make(CART, max_episode_steps=5, **EMBEDDED)
    with pytest.raises(BoundaryError, match='Leave max_episode_steps out'):
        env.reset()
    env.close()
