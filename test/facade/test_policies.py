# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies by name: baselines, a replay, factories of others."""

from __future__ import annotations

from dataclasses import replace
import inspect
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Joints
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError, DigestMismatch, RecordError
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.policies import (
    GoToGoalPolicy,
    make_policy,
    NoOpPolicy,
    OpenDoorPolicy,
    RandomPolicy,
)
from boundary_env_ros.facade.policies.replay_policy import ReplayPolicy
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.storage.contract_file import load, LoadedContract
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.storage.record_reader import open_records
from support.shipped import changed

CLEAR = {'scenario': 'clear'}
CART = changed('warehouse_cart')
CHUNKS = changed('warehouse_cart', chunk={'horizon': 4}, episode__time_limit=2.0)
HASTY = changed('warehouse_cart', episode__time_limit=1.0)
DOOR = changed('door_arm')
SEEN = observation_space(CART.contract).sample()


def record(loaded: LoadedContract, path: Path, policy: object, *seeds: int) -> list[Transition]:
    """Run a policy for an episode of each seed and leave the record."""
    world = EmbeddedWorld(loaded, record=path)
    runner = Runner(loaded.contract, world, policy, Plan(warm_up=0))  # type: ignore[arg-type]
    for seed in seeds:
        runner.episode(seed, CLEAR)
    runner.close()
    world.close()
    return list(open_records(path).transitions())


# Baselines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'loaded', 'kind'),
    [
        ('no-op', CART, NoOpPolicy),
        ('random', CART, RandomPolicy),
        ('scripted', CART, GoToGoalPolicy),
        ('scripted', DOOR, OpenDoorPolicy),
    ],
)
def test_a_baseline_is_made_by_its_name(name: str, loaded: LoadedContract, kind: type) -> None:
    policy = make_policy(name, loaded, {})
    assert isinstance(policy, kind)
    action = policy(observation_space(loaded.contract).sample())
    assert action_space(loaded.contract).shape == np.shape(action)


def test_options_reach_the_policy() -> None:
    slow = make_policy('scripted', CART, {'speed': 0.01})
    assert np.abs(slow(SEEN)[0]) <= 0.01 + 1e-9


@pytest.mark.parametrize('loaded', [CART, CHUNKS], ids=['actions', 'chunks'])
def test_doing_nothing_is_the_safe_command_for_every_step(loaded: LoadedContract) -> None:
    action = NoOpPolicy(loaded.contract)(SEEN)
    assert action_space(loaded.contract).contains(action)
    assert not action.any()


def test_doing_nothing_holds_an_arm_where_its_episode_begins() -> None:
    contract = load('ur5e').contract
    policy = NoOpPolicy(contract)
    space = observation_space(contract)
    for seed in (1, 2):
        first, later = space.sample(), space.sample()
        policy.reset(seed)
        assert policy(first).tolist() == first['joints'].tolist()
        assert policy(later).tolist() == first['joints'].tolist()


def test_doing_nothing_finds_the_joints_of_a_group_in_a_field_with_others() -> None:
    contract = load('ur5e').contract
    joints, *others = contract.observation
    assert isinstance(joints.source, Joints)
    names = joints.source.names
    source = replace(joints.source, names=('finger', *reversed(names)))
    wider = replace(
        joints,
        source=source,
        shape=(len(names) + 1,),
        low=(0.0, *joints.low),
        high=(1.0, *joints.high),
        unit=('m', *joints.unit),
    )
    policy = NoOpPolicy(replace(contract, observation=(wider, *others)))
    seen = {'joints': np.arange(len(names) + 1, dtype=np.float32)}
    assert policy(seen).tolist() == list(range(len(names), 0, -1))


def test_doing_nothing_with_an_arm_that_is_not_observed_is_refused() -> None:
    contract = load('ur5e').contract
    blind = replace(contract, observation=contract.observation[1:])
    with pytest.raises(BoundaryError, match="expected a field .* of the action 'arm' measures"):
        NoOpPolicy(blind)


@pytest.mark.parametrize('loaded', [CART, CHUNKS], ids=['actions', 'chunks'])
def test_random_actions_are_in_the_space_and_repeat_with_their_seed(
    loaded: LoadedContract,
) -> None:
    policy, space = RandomPolicy(loaded.contract), action_space(loaded.contract)
    drawn = []
    for seed in (3, 3, 2**62):
        policy.reset(seed)
        drawn.append([policy(SEEN) for _ in range(5)])
        assert all(space.contains(action) for action in drawn[-1])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_a_task_without_a_script_says_so() -> None:
    with pytest.raises(BoundaryError, match=r"one of go_to_goal, open_door, got 'swap_places'"):
        make_policy('scripted', changed('two_carts'), {})


# Replay ------------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def driven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Transition]]:
    """Return the record of two episodes that reached the goal, of the seeds 5 and 6."""
    path = tmp_path_factory.mktemp('driven') / 'run'
    return path, record(CART, path, GoToGoalPolicy(), 5, 6)


def test_a_replayed_run_does_what_the_recorded_one_did(
    driven: tuple[Path, list[Transition]], tmp_path: Path
) -> None:
    path, first = driven
    replay = ReplayPolicy(CART, path)
    # Each episode finds the one with its seed, in whatever order they come.
    again = record(CART, tmp_path / 'again', replay, 6, 5)
    of = {
        name: {
            seed: [
                (t.id.step, t.requested_action, t.commanded_action, t.reward, t.ending)
                for t in steps
                if t.seed == seed
            ]
            for seed in (5, 6)
        }
        for name, steps in (('first', first), ('again', again))
    }
    assert of['first'] == of['again']
    assert first[-1].ending == 'success'
    request = again[1].decisions[0].request
    assert request is not None
    assert request.source.name == 'REPLAY'


def test_what_was_recorded_in_chunks_is_replayed_step_by_step(tmp_path: Path) -> None:
    def chunk(observation: object) -> object:
        return np.tile([0.3, 0.1], (4, 1))

    first = record(CHUNKS, tmp_path / 'run', chunk, 5)
    replay = ReplayPolicy(CHUNKS, tmp_path / 'run')
    again = record(CHUNKS, tmp_path / 'again', replay, 5)
    asked = [[t.requested_action for t in steps] for steps in (first, again)]
    assert asked[0] == asked[1]


def test_a_replay_under_another_contract_is_refused_by_name(tmp_path: Path) -> None:
    record(HASTY, tmp_path / 'run', NoOpPolicy(CART.contract), 1)
    with pytest.raises(
        DigestMismatch, match=r'another contract \(expected the digest sha256:.*got '
    ):
        ReplayPolicy(CHUNKS, tmp_path / 'run')
    ReplayPolicy(CHUNKS, tmp_path / 'run', other_contract=True)
    with pytest.raises(BoundaryError, match=r'expected 7 numbers, got 2'):
        ReplayPolicy(DOOR, tmp_path / 'run', other_contract=True)


def test_a_seed_that_was_not_recorded_is_refused_unless_any_will_do(
    driven: tuple[Path, list[Transition]],
) -> None:
    path, steps = driven
    with pytest.raises(BoundaryError, match=r'has the seed 9 \(got 5, 6 in .*any_seed=true'):
        ReplayPolicy(CART, path).reset(9)
    policy = ReplayPolicy(CART, path, any_seed=True)
    policy.reset(9)
    assert policy(SEEN).tolist() == list(steps[1].requested_action)


def test_after_the_last_recorded_action_the_safe_command_is_asked_for(
    driven: tuple[Path, list[Transition]],
) -> None:
    path, record = driven
    policy = ReplayPolicy(CART, path)
    policy.reset(5)
    steps = [step for step in record if step.seed == 5 and step.kind is Kind.STEP]
    asked = [policy(SEEN).tolist() for _ in range(len(steps) + 2)]
    assert asked[-3] == list(steps[-1].requested_action)
    assert asked[-2:] == [[0.0, 0.0]] * 2


def test_nothing_to_replay_is_an_error_with_a_name(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match='does not exist'):
        make_policy(f'replay:{tmp_path / "none"}', CART, {})


# Factories of others -----------------------------------------------------------------------------

MODULE = """
class Policy:
    def __init__(self, contract, speed=0.1):
        self.speed, self.size = speed, contract.action_size

    def __call__(self, observation):
        return [self.speed] * self.size

def make(contract, **options):
    return Policy(contract, **options)

def nothing(contract):
    return None

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module on the path, and leave its file beside."""
    name = f'policy_of_{tmp_path.name.replace("-", "_")}'
    (tmp_path / f'{name}.py').write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_factory_is_called_with_the_contract_and_the_options(
    module: str, tmp_path: Path
) -> None:
    for name in (f'{module}:make', f'{module}:Policy', f'{tmp_path / module}.py:make'):
        assert make_policy(name, CART, {'speed': 0.25})(SEEN) == [0.25, 0.25]


@pytest.mark.parametrize(
    ('name', 'options', 'says'),
    [
        ('no_such', {}, r'Unknown policy \(expected no-op, random, scripted, replay:PATH'),
        ('replay:', {}, r'Unknown policy \(expected no-op'),
        (':make', {}, r'Unknown policy \(expected no-op'),
        (
            'no_such_module_here:make',
            {},
            'no_such_module_here cannot be imported: No module named',
        ),
        ('no/such/file.py:make', {}, 'no/such/file.py cannot be imported: .*No such file'),
        ('MODULE:none', {}, "has no function or class 'none'"),
        ('MODULE:number', {}, r"has no function or class 'number' \(got 3\)"),
        ('MODULE:nothing', {}, r'returned no policy \(expected something to call, got None\)'),
        ('MODULE:Policy', {'sped': 1}, r"takes other options \(expected .*speed=0\.1.*'sped'"),
        ('random', {'x': 1}, "random takes other options .* argument 'x'"),
    ],
)
def test_what_is_no_policy_is_refused_by_name(
    module: str, name: str, options: dict[str, object], says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        make_policy(name.replace('MODULE', module), CART, options)


def test_a_factory_without_a_signature_is_called() -> None:
    with pytest.raises(ValueError, match='no signature'):
        inspect.signature(type)
    assert make_policy('builtins:type', CART, {}) is Contract
