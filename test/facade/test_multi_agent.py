# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several agents as PettingZoo environments, in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
import warnings

import numpy as np
import pytest
import yaml

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import (
    BoundaryError,
    EpisodeEnded,
    InvalidAction,
    LinkError,
    RequestRejected,
    ResetNeeded,
)
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.multi_agent import BoundaryParallelEnv, env, parallel_env
from boundary_env_ros.resources import share_file
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_reader import open_records
from support.shipped import without_options

APART = {'scenario': 'apart'}
#: The goal of cart_b right ahead of its start, so that its episode ends early.
B_ENDS = {**APART, 'cart_b': {'goal': [-0.7, 1.5]}}


@contextmanager
def warnings_of_pettingzoo() -> Iterator[None]:
    """Let pass what PettingZoo merely recommends: no dictionaries, names like player_0."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for recommended in (
            'Observation is not a NumPy array',
            'Observation space for each agent probably should be',
            'We recommend agents to be named',
        ):
            warnings.filterwarnings('ignore', message=recommended)
        yield


@pytest.fixture
def carts() -> Iterator[BoundaryParallelEnv]:
    made = parallel_env('two_carts', world='embedded', render_mode='rgb_array')
    yield made
    made.close()


def ahead(made: BoundaryParallelEnv, speed: float = 0.3) -> dict[str, Any]:
    return {agent: np.array([speed, 0.0], dtype=np.float32) for agent in made.agents}


# PettingZoo's own tests -------------------------------------------------------------------------


def test_it_is_a_parallel_environment_by_pettingzoos_own_test() -> None:
    with warnings_of_pettingzoo():
        parallel_api_test(
            without_options(parallel_env('two_carts', world='embedded')), num_cycles=60
        )


def test_it_is_a_turn_based_environment_by_pettingzoos_own_test() -> None:
    with warnings_of_pettingzoo():
        api_test(without_options(env('two_carts', world='embedded')), num_cycles=60)


def test_the_same_seed_gives_the_same_by_pettingzoos_own_tests() -> None:
    parallel_seed_test(lambda: parallel_env('two_carts', world='embedded'), num_cycles=30)
    seed_test(lambda: env('two_carts', world='embedded'), num_cycles=30)


def test_it_renders_by_pettingzoos_own_test() -> None:
    def make(render_mode: str) -> AECEnv[Any, Any, Any]:
        return env('two_carts', world='embedded', render_mode=_of_ours(render_mode))

    render_test(make)  # type: ignore[arg-type]


def _of_ours(mode: str) -> str:
    """Return a mode that there is: that test also makes one with a window, and throws it away."""
    return 'rgb_array' if mode == 'human' else mode


# All at once ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'given', [{'seed': -1}, {'seed': 2**64}, {'seed': 1.5}, {'options': {'cart_a': np.zeros(2)}}]
)
def test_a_seed_or_an_option_that_no_record_can_hold_is_refused_by_name(
    carts: BoundaryParallelEnv, given: dict[str, Any]
) -> None:
    with pytest.raises(RequestRejected, match='a whole number|options'):
        carts.reset(**given)


@pytest.mark.parametrize('failure', [KeyboardInterrupt, RuntimeError])
def test_a_step_that_was_broken_off_asks_for_a_reset_and_the_next_episodes_are_whole(
    failure: type[BaseException],
) -> None:
    robot = make_robot(load('two_carts', Pacing.LOCKSTEP).contract, 100_000_000)
    advance, calls = robot.advance, []

    def broken(until: int) -> tuple[Emission, ...]:
        calls.append(until)
        emissions = advance(until)
        if len(calls) == 5:
            raise failure
        return emissions

    robot.advance = broken  # type: ignore[method-assign]
    made = parallel_env('two_carts', world='embedded', robot=robot)
    made.reset(seed=1, options=APART)
    with pytest.raises(failure):
        while True:
            made.step(ahead(made))
    with pytest.raises(ResetNeeded, match=rf'broken off \({failure.__name__}\). Call reset'):
        made.step(ahead(made))
    made.reset(seed=1, options=APART)
    *_, infos = made.step(ahead(made))
    assert {agent: info['step'] for agent, info in infos.items()} == {'cart_a': 1, 'cart_b': 1}
    made.close()
    with pytest.raises(BoundaryError, match='The environment is closed'):
        made.step({})


def test_an_argument_that_its_world_does_not_take_is_named() -> None:
    with pytest.raises(LinkError, match=r"'embedded' takes .robot,.* argument 'namespace'"):
        parallel_env('two_carts', world='embedded', namespace='hall').reset()


def test_all_agents_begin_with_a_seed_of_the_environment(carts: BoundaryParallelEnv) -> None:
    assert isinstance(carts, ParallelEnv)
    assert carts.agents == []
    first, infos = carts.reset(seed=4, options=APART)
    assert carts.agents == carts.possible_agents == ['cart_a', 'cart_b']
    assert infos['cart_a']['reset']['seed'] == 4
    for agent, observation in first.items():
        assert carts.observation_space(agent).contains(observation)
    drawn = [carts.reset()[1]['cart_a']['reset']['seed'] for _ in range(2)]
    carts.reset(seed=4)
    assert [carts.reset()[1]['cart_b']['reset']['seed'] for _ in range(2)] == drawn


def test_an_agent_whose_episode_ends_leaves_and_the_other_goes_on(
    carts: BoundaryParallelEnv,
) -> None:
    carts.reset(seed=1, options=B_ENDS)
    while 'cart_b' in carts.agents:
        observations, rewards, terminations, truncations, infos = carts.step(ahead(carts, 0.6))
    assert terminations == {'cart_a': False, 'cart_b': True}
    assert truncations == {'cart_a': False, 'cart_b': False}
    assert infos['cart_b']['ending'] == 'success'
    assert rewards['cart_b'] > 0.5
    assert set(observations) == {'cart_a', 'cart_b'}
    assert carts.agents == ['cart_a']
    assert [set(part) for part in carts.step(ahead(carts))] == [{'cart_a'}] * 5


def test_the_time_limit_of_the_contract_truncates_all_and_no_other_does(tmp_path: Path) -> None:
    data = yaml.safe_load(share_file('config/two_carts.yaml').read_text(encoding='utf-8'))
    data['episode']['time_limit'] = 0.5
    contract = tmp_path / 'short.yaml'
    contract.write_text(yaml.safe_dump(data), encoding='utf-8')
    made = parallel_env(contract, world='embedded', robot='two_carts')
    made.max_cycles = 2  # as PettingZoo's test does; the contract decides
    made.reset(seed=1, options=APART)
    steps = 0
    while made.agents:
        *_, truncations, infos = made.step(ahead(made, 0.0))
        steps += 1
    assert steps == 5
    assert truncations == {'cart_a': True, 'cart_b': True}
    assert {info['ending'] for info in infos.values()} == {'time_limit'}
    with pytest.raises(EpisodeEnded, match='Call reset'):
        made.step({})
    made.close()


def test_each_has_the_info_of_its_own_gate(carts: BoundaryParallelEnv) -> None:
    carts.reset(seed=1, options=APART)
    too_fast = {'cart_a': np.array([3.0, 0.0]), 'cart_b': np.array([0.05, 0.0])}
    *_, infos = carts.step(too_fast)
    assert infos['cart_a']['verdict'] == 'LIMITED'
    assert infos['cart_b']['verdict'] == 'ADMITTED'
    assert carts.last_results['cart_b'].transition.id.agent == 'cart_b'


def test_the_record_of_both_passes_the_audit(tmp_path: Path) -> None:
    place = tmp_path / 'run'
    made = parallel_env('two_carts', world='embedded', record=place)
    made.reset(seed=1, options=B_ENDS)
    for _ in range(20):
        made.step(ahead(made, 0.6))
    made.close()
    report = audit_path(place)
    assert report.ok, str(report)
    steps = Counter(t.id.agent for t in open_records(place).records(Transition))
    assert steps['cart_a'] == 22
    assert 1 < steps['cart_b'] < 20


def test_the_picture_shows_what_each_sees_side_by_side(carts: BoundaryParallelEnv) -> None:
    with pytest.raises(ResetNeeded, match='Call reset'):
        carts.render()
    seen, _ = carts.reset(seed=1, options=APART)
    picture = carts.render()
    assert picture is not None
    assert picture.shape == (48, 128, 3)
    assert np.array_equal(picture[:, :64], seen['cart_a']['front'])
    assert np.array_equal(picture[:, 64:], seen['cart_b']['front'])


# In turn ----------------------------------------------------------------------------------------


def test_in_turn_the_world_stands_still_until_the_last_has_acted() -> None:
    made = env('two_carts', world='embedded')
    made.reset(seed=1, options=APART)
    before = {agent: made.observe(agent)['pose'] for agent in made.agents}
    made.step(np.array([0.6, 0.0]))
    assert made.agent_selection == 'cart_b'
    assert all(np.array_equal(before[agent], made.observe(agent)['pose']) for agent in before)
    assert made.rewards == {'cart_a': 0, 'cart_b': 0}
    made.step(np.array([0.6, 0.0]))
    assert made.agent_selection == 'cart_a'
    assert made.infos['cart_a']['step'] == made.infos['cart_b']['step'] == 1
    made.close()


def test_in_turn_who_has_ended_takes_one_more_step_without_an_action_and_is_gone() -> None:
    made = env('two_carts', world='embedded')
    made.reset(seed=1, options=B_ENDS)
    for _ in made.agent_iter():
        *_, terminated, truncated, info = made.last()
        if terminated or truncated:
            break
        made.step(np.array([0.6, 0.0]))
    assert (made.agent_selection, info['ending']) == ('cart_b', 'success')
    made.step(None)
    assert made.agents == ['cart_a']
    made.step(np.array([0.1, 0.0]))
    assert made.agent_selection == 'cart_a'
    made.close()


# In the wrong order, with wrong things ----------------------------------------------------------


def test_a_step_before_the_reset_is_refused(carts: BoundaryParallelEnv) -> None:
    with pytest.raises(ResetNeeded, match='Call reset'):
        carts.step({})


@pytest.mark.parametrize(
    ('actions', 'says'),
    [
        ({'cart_a': [0.0, 0.0]}, 'No action of cart_b. In lockstep the world waits'),
        ({'cart_a': [0.0, 0.0], 'cart_b': None}, 'No action of cart_b'),
        ({'cart_a': [0.0], 'cart_b': [0.0, 0.0]}, r'^cart_a: .*expected .*got shape \(1,\)'),
        ({'cart_a': [0.0, 0.0], 'cart_b': [0.0, np.nan]}, '^cart_b: .*finite'),
        ({f'cart_{x}': [0.0, 0.0] for x in 'abc'}, 'got cart_a, cart_b, cart_c'),
    ],
)
def test_wrong_actions_are_refused_and_nothing_is_sent(
    carts: BoundaryParallelEnv, actions: dict[str, Any], says: str
) -> None:
    carts.reset(seed=1, options=APART)
    with pytest.raises(InvalidAction, match=says):
        carts.step(actions)
    *_, infos = carts.step(ahead(carts))
    assert infos['cart_a']['step'] == 1


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(BoundaryError, match='render_mode'):
        parallel_env(world='embedded', render_mode='human')
    with pytest.raises(LinkError, match=r'.carrier_pigeon. is not installed .*embedded'):
        parallel_env(world='carrier_pigeon').reset()
    with pytest.raises(LinkError, match='realtime, lockstep'):
        parallel_env(world='embedded', pacing='slow')
    made = parallel_env(world='embedded')
    with pytest.raises(RequestRejected, match='maze'):
        made.reset(options={'scenario': 'maze'})
    made.close()
    with pytest.raises(BoundaryError, match='Create a new one'):
        made.reset()
