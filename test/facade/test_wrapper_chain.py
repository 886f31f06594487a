# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrapped around an environment is known to its record, and a second time limit is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium.wrappers import (
    FilterObservation,
    FrameStackObservation,
    NormalizeReward,
    RescaleAction,
    TimeLimit,
    TransformObservation,
    TransformReward,
)
import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade import BoundaryEnv, RecordWrappers

CART = 'boundary_env_ros/WarehouseCart-v0'
EMBEDDED = {'world': 'embedded', 'pacing': 'lockstep'}


@pytest.fixture(scope='module')
def records() -> list[Transition]:
    """Return the record of the environment below."""
    return []


@pytest.fixture(scope='module')
def base(records: list[Transition]) -> Iterator[BoundaryEnv]:
    """Return one environment for all tests; each reset begins anew."""
    env = BoundaryEnv(world='embedded', pacing='lockstep', sink=records.append)
    yield env
    env.close()


def twice(values: Any) -> Any:
    return values


def test_the_chain_stands_in_info_and_in_every_transition_outermost_first(
    base: BoundaryEnv, records: list[Any]
) -> None:
    env = RecordWrappers(
        FrameStackObservation(
            FilterObservation(
                RescaleAction(base, np.float32(-1.0), np.float32(1.0)), ['pose', 'goal']
            ),
            3,
        )
    )
    records.clear()
    _, reset = env.reset(seed=1)
    *_, step = env.step(np.zeros(2, dtype=np.float32))
    chain = [
        "FrameStackObservation(stack_size=3, padding_type='reset')",
        "FilterObservation(filter_keys=['pose', 'goal'])",
        'RescaleAction(min_action=-1.0, max_action=1.0)',
    ]
    assert reset['wrappers'] == step['wrappers'] == chain
    transitions = [record for record in records if isinstance(record, Transition)]
    assert [list(t.wrappers) for t in transitions] == [chain, chain]


def test_without_a_reporter_the_chain_is_empty_and_not_that_of_the_last_reset(
    base: BoundaryEnv,
) -> None:
    RecordWrappers(NormalizeReward(base)).reset(seed=1)
    _, info = base.reset(seed=1)
    assert info['wrappers'] == []


def test_the_outermost_reporter_speaks_for_those_within(base: BoundaryEnv) -> None:
    inner = RecordWrappers(NormalizeReward(base))
    outer = RecordWrappers(TransformReward(inner, twice))
    _, info = outer.reset(seed=1)
    assert info['wrappers'] == [
        'TransformReward(func=twice)', 'NormalizeReward(gamma=0.99, epsilon=1e-08)',
    ]  # fmt: skip
    _, info = inner.reset(seed=1)
    assert info['wrappers'] == ['NormalizeReward(gamma=0.99, epsilon=1e-08)']


def test_arguments_read_the_same_in_every_run(base: BoundaryEnv) -> None:
    class Nameless:
        def __call__(self, values: Any) -> Any:
            return values

    here = 'test_arguments_read_the_same_in_every_run.<locals>'
    space = base.observation_space
    wrapped = TransformObservation(
        TransformObservation(base, lambda values: values, space), Nameless(), space
    )
    chain = RecordWrappers(
        RescaleAction(wrapped, np.full(2, -1.0, np.float32), np.ones(2, np.float32))
    ).chain
    assert chain == (
        'RescaleAction(min_action=float32[2], max_action=float32[2])',
        f'TransformObservation(func={Nameless.__qualname__}, observation_space=Dict)',
        f'TransformObservation(func={here}.<lambda>, observation_space=Dict)',
    )


def test_a_wrapper_of_somebodys_own_is_reported_by_its_name(base: BoundaryEnv) -> None:
    class Mirrored(gymnasium.Wrapper[Any, Any, Any, Any]):
        pass

    assert RecordWrappers(Mirrored(base)).chain == ('Mirrored()',)


def test_a_time_limit_of_gymnasiums_is_refused_wherever_it_stands(base: BoundaryEnv) -> None:
    limited = NormalizeReward(TimeLimit(base, 5))
    with pytest.raises(
        BoundaryError,
        match=r'time_limit: 6 s, got TimeLimit\(max_episode_steps=5\) around it',
    ):
        RecordWrappers(limited)


def test_make_refuses_a_time_limit_of_gymnasiums() -> None:
    with pytest.raises(BoundaryError, match='Leave max_episode_steps out'):
        gymnasium.make(CART, max_episode_steps=5, **EMBEDDED)


def test_make_reports_what_it_adds() -> None:
    env = gymnasium.make(CART, **EMBEDDED)
    assert isinstance(env, RecordWrappers)
    assert env.chain == ('PassiveEnvChecker()',)
    env.close()


def test_an_environment_of_somebody_else_has_no_record_to_report_to() -> None:
    with pytest.raises(BoundaryError, match='Not around a BoundaryEnv .got CartPoleEnv'):
        RecordWrappers(gymnasium.make('CartPole-v1'))


def test_it_can_be_made_again_from_its_own_spec() -> None:
    env = gymnasium.make(CART, **EMBEDDED)
    again = gymnasium.make(env.spec)
    assert isinstance(again, RecordWrappers)
    assert again.chain == env.chain
    env.close()
    again.close()
