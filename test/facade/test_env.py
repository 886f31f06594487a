# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environment over the embedded world: no middleware, the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
import inspect
from pathlib import Path
import re
import subprocess
import sys

import gymnasium
from gymnasium.utils.env_checker import check_env
import numpy as np
import pytest

from support.core_messages import changed_decision

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import Reason, RuleResult, Trigger, Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import (
    BoundaryError,
    ContractError,
    EpisodeEnded,
    InvalidAction,
    LinkError,
    RequestRejected,
    ResetNeeded,
)
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.info import step_info
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load

NOTHING = np.zeros(2, dtype=np.float32)


@pytest.fixture
def env() -> Iterator[BoundaryEnv]:
    """Return an environment in one process."""
    made = BoundaryEnv(world='embedded', pacing='lockstep', render_mode='rgb_array')
    yield made
    made.close()


# As Gymnasium knows it --------------------------------------------------------------------------


def test_it_passes_gymnasiums_own_check(env: BoundaryEnv) -> None:
    check_env(env, skip_render_check=True)


def test_it_is_made_by_its_id_with_no_time_limit_of_gymnasiums() -> None:
    import_module('boundary_env_ros.facade')
    env = gymnasium.make('boundary_env_ros/WarehouseCart-v0', world='embedded', pacing='lockstep')
    try:
        assert isinstance(env.unwrapped, BoundaryEnv)
        # A wrapper with a limit would truncate on top of the contract, with no ending.
        assert env.spec is not None
        assert env.spec.max_episode_steps is None
        observation, _ = env.reset(seed=1)
        assert env.observation_space.contains(observation)
    finally:
        env.close()


def test_importing_it_loads_no_ros() -> None:
    code = (
        'import sys, boundary_env_ros.facade.env, boundary_env_ros.facade.embedded_world; '
        'sys.exit(any(name.split(".")[0] in ("rclpy", "rosidl_parser") for name in sys.modules))'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_the_spaces_follow_from_the_contract_before_any_reset(env: BoundaryEnv) -> None:
    fields = {spec.name: spec for spec in env.contract.observation}
    assert list(env.observation_space.spaces) == list(fields)
    assert env.observation_space['front'].shape == (48, 64, 3)
    assert env.observation_space['scan'].shape == (36,)
    assert env.action_space.low.tolist() == pytest.approx(env.contract.flat('low'))
    assert env.action_space.high.tolist() == pytest.approx(env.contract.flat('high'))
    assert not {spec.name for spec in env.contract.privileged} & set(fields)


def test_the_evaluators_fields_reach_neither_observation_nor_info(env: BoundaryEnv) -> None:
    observation, info = env.reset(seed=1)
    for name in ('true_pose', 'contact'):
        assert name not in observation
        assert name not in repr(info)
        assert name not in repr(step_info(env.contract, env.last, full=True))


def test_every_observation_of_an_episode_is_in_the_space_and_none_is_shared(
    env: BoundaryEnv,
) -> None:
    seen, _ = env.reset(seed=2, options={'scenario': 'clear'})
    for step in range(20):
        before = {name: value.copy() for name, value in seen.items()}
        again, *_ = env.step(np.array([0.8, 1.5 if step % 2 else -1.5], dtype=np.float32))
        assert env.observation_space.contains(again)
        for name, value in again.items():
            assert not np.shares_memory(value, seen[name])
            value += 0  # may be written to
        for name, value in before.items():
            assert np.array_equal(seen[name], value)
        seen = again


def test_the_same_seed_gives_the_same_episode() -> None:
    def run(seed: int) -> list[tuple[object, ...]]:
        env = BoundaryEnv(world='embedded', pacing='lockstep')
        observation, info = env.reset(seed=seed, options={'scenario': 'clear'})
        seen: list[tuple[object, ...]] = [(info, observation['pose'].tolist())]
        for _ in range(15):
            observation, *rest = env.step(np.array([0.6, 0.3], dtype=np.float32))
            seen.append((*rest, observation['pose'].tolist(), observation['front'].tobytes()))
        env.close()
        return seen

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_a_reset_without_a_seed_goes_on_from_the_last_seed(env: BoundaryEnv) -> None:
    env.reset(seed=5)
    drawn = [env.reset()[1]['reset']['seed'] for _ in range(2)]
    env.reset(seed=5)
    assert [env.reset()[1]['reset']['seed'] for _ in range(2)] == drawn
    assert drawn[0] != drawn[1]


# Info -------------------------------------------------------------------------------------------


@pytest.mark.parametrize('full', [False, True], ids=['slim', 'full'])
def test_info_has_the_documented_keys_and_no_others(*, full: bool) -> None:
    text = inspect.cleandoc(step_info.__doc__ or '')
    slim, _, details = text.partition('Keys\n----\n')[2].partition('Keys of the full info')
    keys = re.findall(r'^(\w+(?:, \w+)*)\n {4}\S', slim + details if full else slim, re.MULTILINE)
    documented = {name for line in keys for name in line.split(', ')}
    with BoundaryEnv(world='embedded', full_info=full) as env:
        _, info = env.reset(seed=1)
        assert set(info) == documented
        *_, info = env.step(NOTHING)
        assert set(info) == documented - {'reset'}


def test_a_stop_that_came_before_the_action_is_explained(env: BoundaryEnv) -> None:
    env.reset(seed=1)
    env.step(NOTHING)
    assert env.last is not None
    transition = env.last.transition
    pressed = RuleResult(
        rule='emergency_stop', outcome=Verdict.STOPPED, reason=Reason.EMERGENCY_STOP
    )
    stopped = changed_decision(
        transition.decisions[-1], verdict=Verdict.STOPPED, trigger=Trigger.TIMER, rules=(pressed,)
    )
    seen = replace(env.last, transition=replace(transition, decisions=(stopped,), decision=-1))
    (reason,) = step_info(env.contract, seen)['reasons']
    assert 'emergency stop' in reason


def test_the_message_says_why_an_episode_ended(env: BoundaryEnv) -> None:
    env.reset(seed=1, options={'scenario': 'far'})
    ended = False
    while not ended:
        *_, terminated, truncated, info = env.step(NOTHING)
        ended = terminated or truncated
    assert (info['ending'], info['message']) == ('time_limit', '6 s are over')
    assert env.last is not None
    pressed = RuleResult(
        rule='emergency_stop', outcome=Verdict.STOPPED, reason=Reason.EMERGENCY_STOP
    )
    stopped = replace(env.last.transition.decisions[-1], rules=(pressed,))
    ending = env.contract.episode.on_stop['EMERGENCY_STOP']
    seen = replace(env.last.transition, ending=ending, decisions=(stopped,))
    told = step_info(env.contract, replace(env.last, transition=seen))
    assert told['message'] == 'emergency stop'


# Use in the wrong order, with wrong things ------------------------------------------------------


def test_a_step_before_the_first_reset_is_refused(env: BoundaryEnv) -> None:
    with pytest.raises(ResetNeeded, match='Call reset'):
        env.step(NOTHING)


def test_rendering_before_the_first_reset_is_refused(env: BoundaryEnv) -> None:
    with pytest.raises(ResetNeeded, match='Call reset'):
        env.render()


def test_a_step_after_the_end_is_refused_until_the_next_reset(env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'far'})
    truncated = False
    steps = 0
    while not truncated:
        *_, truncated, info = env.step(NOTHING)
        steps += 1
    assert steps == env.contract.max_steps
    assert (info['ending'], info['declared_by']) == ('time_limit', 'environment')
    with pytest.raises(EpisodeEnded, match='Call reset'):
        env.step(NOTHING)
    env.reset(seed=4)
    env.step(NOTHING)


def test_after_closing_nothing_works_and_closing_again_is_allowed(env: BoundaryEnv) -> None:
    env.reset(seed=1)
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step(NOTHING), env.render):
        with pytest.raises(BoundaryError, match='is closed. Create a new one'):
            call()


@pytest.mark.parametrize(
    ('action', 'says'),
    [
        ([0.1], r'shape \(1,\)'),
        ([[0.1, 0.2]], r'shape \(1, 2\)'),
        (0.1, r'shape \(\)'),
        ([np.nan, 0.0], 'all finite'),
        ([0.0, -np.inf], 'all finite'),
        ('ahead', "'ahead'"),
        (None, 'got'),
    ],
)
def test_an_action_that_cannot_be_a_command_is_refused_and_the_episode_goes_on(
    env: BoundaryEnv, action: object, says: str
) -> None:
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match=says):
        env.step(action)  # type: ignore[arg-type]
    *_, info = env.step(NOTHING)
    assert info['step'] == 1


def test_an_action_out_of_bounds_is_allowed_limited_and_said(env: BoundaryEnv) -> None:
    env.reset(seed=1, options={'scenario': 'clear'})
    *_, info = env.step(np.array([1e30, 0.0]))
    assert info['clipped'] == [True, False]
    assert info['clipped_observation'] == []
    assert info['gate'] == {
        'armed': True, 'stopped': False, 'latched': False, 'foreign_publishers': 0,
    }  # fmt: skip
    assert info['verdict'] == 'LIMITED'
    assert info['requested_action'] == [1e30, 0.0]


def test_options_that_cannot_be_written_down_are_refused(env: BoundaryEnv) -> None:
    for goal in (np.zeros(2), [float('nan'), 0.0]):
        with pytest.raises(BoundaryError, match='plain numbers, texts, lists and mappings'):
            env.reset(options={'goal': goal})
    env.reset(seed=1, options={'goal': [0.0, 0.0]})


def test_a_step_that_was_broken_off_asks_for_a_reset_and_the_next_episode_is_whole() -> None:
    robot = make_robot(load('warehouse_cart', Pacing.LOCKSTEP).contract, 100_000_000)
    advance, calls = robot.advance, []

    def interrupted(until: int) -> tuple[Emission, ...]:
        calls.append(until)
        if len(calls) == 5:
            advance(until)
            raise KeyboardInterrupt
        return advance(until)

    robot.advance = interrupted  # type: ignore[method-assign]
    env = BoundaryEnv(world='embedded', pacing='lockstep', robot=robot)
    env.reset(seed=1, options={'scenario': 'clear'})
    with pytest.raises(KeyboardInterrupt):
        while True:
            env.step(NOTHING)
    with pytest.raises(ResetNeeded, match=r'broken off \(KeyboardInterrupt\). Call reset'):
        env.step(NOTHING)
    env.reset(seed=1, options={'scenario': 'clear'})
    *_, info = env.step(NOTHING)
    assert (info['step'], info['ending']) == (1, '')
    env.close()


def test_in_one_process_there_is_lockstep_without_asking_for_it() -> None:
    with BoundaryEnv(world='embedded') as env:
        env.reset(seed=1, options={'scenario': 'clear'})
        assert env.contract.pacing is Pacing.LOCKSTEP
        assert env.digest == load('warehouse_cart', Pacing.LOCKSTEP).digest


def test_an_option_that_the_task_does_not_know_is_refused(env: BoundaryEnv) -> None:
    with pytest.raises(RequestRejected, match='scenario'):
        env.reset(options={'scenario': 'nowhere'})
    env.reset(seed=1, options={'scenario': 'clear'})


@pytest.mark.parametrize(
    ('arguments', 'error', 'says'),
    [
        ({'world': 'telepathy'}, LinkError, "'telepathy'"),
        ({'world': 'replay'}, LinkError, 'run= is missing'),
        ({'world': 'embedded', 'pacing': 'realtime'}, LinkError, 'lockstep'),
        (
            {'world': 'embedded', 'namespace': 'cart'},
            LinkError,
            r"'embedded' takes .robot,.*'namespace'",
        ),
    ],
)
def test_a_link_that_cannot_be_is_named_at_the_first_reset(
    arguments: dict[str, str], error: type[Exception], says: str
) -> None:
    env = BoundaryEnv(**arguments)  # type: ignore[arg-type]
    with pytest.raises(error, match=says):
        env.reset()


@pytest.mark.parametrize(
    ('arguments', 'says'),
    [
        ({'pacing': 'hurried'}, "'hurried'"),
        ({'render_mode': 'smoke'}, "rgb_array, ansi, got 'smoke'"),
        ({'render_source': 'rear'}, "expected front, got 'rear'"),
    ],
)
def test_an_argument_that_means_nothing_is_refused_at_once(
    arguments: dict[str, str], says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        BoundaryEnv(world='embedded', **arguments)  # type: ignore[arg-type]


def test_a_contract_that_does_not_exist_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match='nowhere.yaml'):
        BoundaryEnv(tmp_path / 'nowhere.yaml', world='embedded')


# Several ----------------------------------------------------------------------------------------


def test_two_environments_do_not_know_each_other(env: BoundaryEnv) -> None:
    other = BoundaryEnv(world='embedded', pacing='lockstep')
    env.reset(seed=1)
    other.reset(seed=1)
    assert env.episode_id != other.episode_id
    other.close()
    *_, info = env.step(NOTHING)
    assert info['ending'] == ''


def test_a_reset_in_mid_episode_ends_the_old_one_as_abandoned() -> None:
    records: list[object] = []
    env = BoundaryEnv(world='embedded', pacing='lockstep', sink=records.append)
    env.reset(seed=1)
    env.step(NOTHING)
    old = env.episode_id
    env.reset(seed=2)
    env.close()
    ended = [
        (record.ending, record.truncated)
        for record in records
        if type(record).__name__ == 'Transition' and record.id.episode_id == old and record.ending
    ]
    assert ended == [('abandoned', True)]
