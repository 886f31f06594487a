# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run behind the facade: it answers as it was recorded, and says what it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import Any

from gymnasium.utils.env_checker import check_env
from mcap.opcode import Opcode
import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('rosbags', reason='bags are written by an independent implementation')

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import (
    DigestMismatch,
    EpisodeEnded,
    LinkError,
    PeerLost,
    RecordError,
    RequestRejected,
)
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.facade.replay_world import ReplayWorld
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.facade.steps import StepRequest
from boundary_env_ros.facade.world import make_world
from boundary_env_ros.storage.contract_file import load, LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from support.bag_maker import raw, Sent, Tape, write_bag, write_records, write_to
from support.shipped import changed
from support.world_maker import make_world_tape, TapedRobot

CART = changed('warehouse_cart')
CHUNKS = changed('warehouse_cart', chunk={'horizon': 4})
REALTIME = load('warehouse_cart', Pacing.REALTIME)
CLEAR = {'scenario': 'clear'}
ACTIONS = [np.array(action, np.float32) for action in ([0.4, 0.1], [9.0, 0.0], [0.2, -0.3])]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Seen:
    """What a client got, and the bag of it."""

    bag: Path
    tape: Tape
    resets: list[Mapping[str, Array]]
    steps: list[list[tuple[Any, ...]]]
    infos: list[list[dict[str, Any]]]
    ids: list[str]

    @property
    def transitions(self) -> list[Transition]:
        return [sent.what for sent in self.tape if isinstance(sent.what, Transition)]


@pytest.fixture(scope='module')
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Return three short episodes of one client, with seeds 7, 8 and 123."""
    robot = TapedRobot(CART.contract, round(CART.contract.period * 1e9))
    # What lies in a file is what is named; the name of the shipped one has the same meaning.
    env = BoundaryEnv(world='embedded', pacing='lockstep', robot=robot, sink=robot.note)
    bag = tmp_path_factory.mktemp('seen') / 'bag'
    found = Seen(bag=bag, tape=robot.tape, resets=[], steps=[], infos=[], ids=[])
    for seed in (7, 8, 123):
        observation, info = env.reset(seed=seed, options=CLEAR)
        found.resets.append(observation)
        found.ids.append(env.episode_id)
        steps = [env.step(action) for action in ACTIONS]
        found.steps.append([step[:4] for step in steps])
        found.infos.append([info, *(step[4] for step in steps)])
    env.close()
    write_bag(bag, robot.tape)
    return found


@pytest.fixture
def replaying(seen: Seen) -> Any:
    """Return a maker of environments over the bag, which are closed."""
    made: list[BoundaryEnv] = []

    def make(**arguments: Any) -> BoundaryEnv:
        arguments = {'run': seen.bag, **arguments}
        made.append(BoundaryEnv(world='replay', pacing='lockstep', **arguments))
        return made[-1]

    yield make
    for env in made:
        env.close()


Make = Callable[..., BoundaryEnv]


def recorded(path: Path, loaded: LoadedContract, policy: Any, *seeds: int) -> Path:
    """Leave a record without raw messages."""
    world = make_world('embedded', loaded, record=path)
    runner = Runner(loaded.contract, world, policy, Plan(warm_up=0))
    for seed in seeds:
        runner.episode(seed, CLEAR)
    runner.close()
    world.close()
    return path


def same(one: Mapping[str, Array], other: Mapping[str, Array]) -> None:
    assert list(one) == list(other)
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
        assert value.dtype == other[name].dtype


# What comes back ---------------------------------------------------------------------------------


def test_the_recorded_client_would_not_notice(seen: Seen, replaying: Make) -> None:
    env = replaying()
    for reset, steps, infos, episode in zip(
        seen.resets, seen.steps, seen.infos, seen.ids, strict=True
    ):
        observation, info = env.reset()
        same(observation, reset)
        assert env.observation_space.contains(observation)
        assert env.episode_id == episode
        replay = info.pop('replay')
        assert (replay['differs'], replay['recorded'], replay['asked']) == (None, (), ())
        assert info == infos[0]
        for action, step, known in zip(ACTIONS, steps, infos[1:], strict=True):
            observation, *outcome, info = env.step(action)
            same(observation, step[0])
            assert tuple(outcome) == tuple(step[1:])
            replay = info.pop('replay')
            assert (replay['differs'], replay['difference']) == (False, 0.0)
            assert info == known


@pytest.mark.parametrize('place', ['bag', 'bag/bag_0.mcap', '.'])
def test_it_is_a_world_by_name_to_a_run_a_bag_or_a_file(seen: Seen, place: str) -> None:
    world = make_world('replay', CART, run=str(seen.bag.parent / place))
    first = world.reset(seed=None, options={}, wrappers=())['cart']
    assert first.transition.seed == 7
    assert world.observe() == {'cart': ()}
    world.close()
    world.close()
    with pytest.raises(LinkError, match='is closed'):
        world.step({'cart': (0.0, 0.0)})


def test_from_a_number_that_is_none_any_other_differs(seen: Seen) -> None:
    world = make_world('replay', CART, run=str(seen.bag.parent))
    world.reset(seed=None, options={}, wrappers=())
    [result] = world.step({'cart': (float(ACTIONS[0][0]), math.nan)})['cart']
    assert result.replayed is not None
    assert (result.replayed.differs, result.replayed.difference) == (True, math.inf)


def test_another_action_changes_nothing_and_is_told(seen: Seen, replaying: Make) -> None:
    env = replaying()
    env.reset()
    *_, info = env.step(ACTIONS[0])
    assert info['replay']['first_difference'] is None
    observation, *_, info = env.step(ACTIONS[1] - np.float32(8.75))
    same(observation, seen.steps[0][1][0])
    replay = info['replay']
    assert replay['recorded'] == tuple(float(v) for v in ACTIONS[1])
    assert replay['asked'] == (0.25, -8.75)
    assert (replay['differs'], replay['difference']) == (True, 8.75)
    assert info['requested_action'] == list(replay['recorded'])
    *_, info = env.step(ACTIONS[2])
    # From the first difference on the record is the answer to something else.
    assert (info['replay']['differs'], info['replay']['first_difference']) == (False, 2)
    env.reset()
    assert env.step(ACTIONS[0])[4]['replay']['first_difference'] is None


def test_the_end_of_an_episode_is_the_recorded_one(seen: Seen, replaying: Make) -> None:
    env = replaying()
    env.reset()
    for action in ACTIONS:
        env.step(action)
    # The client began the next episode here.
    *_, terminated, truncated, info = env.step(ACTIONS[0])
    assert (terminated, truncated, info['ending']) == (False, True, 'abandoned')
    assert (info['replay']['recorded'], info['replay']['differs']) == ((), None)
    with pytest.raises(EpisodeEnded, match='has ended'):
        env.step(ACTIONS[0])


def test_a_record_that_ends_in_mid_episode_is_a_peer_that_was_lost(
    seen: Seen, tmp_path: Path
) -> None:
    until = seen.transitions.index(
        next(t for t in seen.transitions if t.id.episode_id == seen.ids[1] and t.id.step == 2)
    )
    path = tmp_path / 'torn'
    with McapLog(path) as log:
        sent = (Sent('/t', i, i, t) for i, t in enumerate(seen.transitions[: until + 1]))
        assert len(list(write_to(log, sent))) == until + 1
        log.flush()
        torn = log.path.read_bytes() + bytes([Opcode.CHUNK]) + (1000).to_bytes(8, 'little')
    log.path.write_bytes(torn + b'half of it')
    env = BoundaryEnv(world='replay', pacing='lockstep', run=path, blank_images=True)
    env.reset(seed=8)
    env.step(ACTIONS[0])
    env.step(ACTIONS[1])
    with pytest.raises(PeerLost, match=r'breaks off after step 2, while it runs.*torn'):
        env.step(ACTIONS[2])
    with pytest.raises(RequestRejected, match='All episodes of .* were replayed'):
        env.reset()


# Which episode -----------------------------------------------------------------------------------


def test_an_episode_is_named_by_seed_place_or_id(seen: Seen, replaying: Make) -> None:
    env = replaying()
    chosen = [
        env.reset(seed=123)[1],
        env.reset(seed=7)[1],
        env.reset()[1],
        env.reset(options={'episode': 2})[1],
        env.reset(options={'episode': seen.ids[0][:9]}, seed=7)[1],
        env.reset(options={'episode': 1, **CLEAR})[1],
    ]
    assert [info['replay']['episode'] for info in chosen] == [2, 0, 1, 2, 0, 1]
    assert [info['reset']['seed'] for info in chosen] == [123, 7, 8, 123, 7, 8]


@pytest.mark.parametrize(
    ('arguments', 'says'),
    [
        ({'seed': 9}, r'the seed 9\. .* has 3 episodes, with the seeds 7, 8, 123\.'),
        ({'options': {'episode': 3}}, 'Not recorded: the episode 3'),
        ({'options': {'episode': 'nobody'}}, "Not recorded: the episode 'nobody'"),
        ({'options': {'episode': 1.0}}, 'counted from 0, or the first characters of its id'),
        (
            {'options': {'episode': 1}, 'seed': 7},
            r'The episode .* another seed .expected 7, got 8',
        ),
        ({'options': {'scenario': 'far'}}, "{'scenario': 'clear'}.*got {'scenario': 'far'}"),
    ],
)
def test_what_was_not_recorded_is_refused(
    replaying: Make, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(RequestRejected, match=says):
        replaying().reset(**arguments)


def test_what_is_nested_without_end_in_a_record_is_refused(seen: Seen, tmp_path: Path) -> None:
    reset, first, *_ = seen.transitions
    assert reset.reset is not None
    endless = '[' * 100_000
    for name, said, error in (
        ('options', replace(reset, reset=replace(reset.reset, options=endless)), RequestRejected),
        ('info', replace(reset, info=endless), RecordError),
    ):
        path = write_records(tmp_path / name, (said, first))
        env = BoundaryEnv(world='replay', pacing='lockstep', run=path, blank_images=True)
        with pytest.raises(error, match='JSON object'):
            env.reset(options=CLEAR)


def test_any_seed_and_a_loop_take_the_episodes_as_they_come(replaying: Make) -> None:
    env = replaying(any_seed=True, loop=True)
    infos = [env.reset(seed=seed)[1] for seed in (900, 901, 902, 903)]
    assert [info['replay']['episode'] for info in infos] == [0, 1, 2, 0]


def test_gymnasium_finds_nothing_where_the_record_has_its_seeds(tmp_path: Path) -> None:
    policy = make_policy('no-op', CART, {})
    run = recorded(
        tmp_path / 'run',
        changed('warehouse_cart', episode__time_limit=0.3),
        policy,
        123,
        456,
    )
    contract = tmp_path / 'hasty.yaml'
    contract.write_text(changed('warehouse_cart', episode__time_limit=0.3).text)
    env = BoundaryEnv(
        contract, world='replay', pacing='lockstep', run=run, blank_images=True, loop=True
    )
    check_env(env, skip_render_check=True)
    env.close()


# What does not fit -------------------------------------------------------------------------------


def test_the_spaces_need_no_record() -> None:
    env = BoundaryEnv(world='replay', run='nowhere')
    assert env.observation_space['pose'].shape == (3,)
    with pytest.raises(RecordError, match='does not exist'):
        env.reset()


def test_another_contract_is_refused(seen: Seen) -> None:
    env = BoundaryEnv(world='replay', pacing='realtime', run=seen.bag)
    with pytest.raises(DigestMismatch, match=r"recorded in lockstep: pass pacing='lockstep'"):
        env.reset()
    with pytest.raises(DigestMismatch, match='Name the contract that it was recorded under'):
        ReplayWorld(CHUNKS, run=seen.bag)


def test_images_that_are_not_in_the_record_are_refused_or_black(
    seen: Seen, tmp_path: Path
) -> None:
    path = write_records(tmp_path / 'run', seen.transitions)
    env = BoundaryEnv(world='replay', pacing='lockstep', run=path)
    with pytest.raises(RecordError, match=r"image of the field 'front'.*blank_images=True"):
        env.reset()
    env = BoundaryEnv(world='replay', pacing='lockstep', run=path, blank_images=True)
    observation, info = env.reset()
    assert not observation['front'].any()
    assert info['unresolved_images'] == ['front']


def test_an_image_that_is_not_the_one_that_was_seen_is_not_shown(
    seen: Seen, tmp_path: Path
) -> None:
    def black(sent: Sent) -> Sent:
        pixels = bytes(len(sent.what['data']))
        return replace(sent, what={**sent.what, 'data': pixels})

    forged = raw(seen.tape, '/camera/image_raw', black)
    write_bag(tmp_path / 'bag', forged)
    with pytest.raises(RecordError, match='has no image of the field'):
        BoundaryEnv(world='replay', pacing='lockstep', run=tmp_path / 'bag').reset()


# Chunks, realtime, runner, several agents --------------------------------------------------------


def test_a_chunk_closes_what_it_closed_then(tmp_path: Path) -> None:
    def chunk(observation: object) -> object:
        return np.tile([0.3, 0.1], (4, 1))

    run = recorded(tmp_path / 'run', CHUNKS, chunk, 5)
    world = ReplayWorld(CHUNKS, run=run, blank_images=True)
    world.reset(seed=5, options={}, wrappers=())
    heard: list[int] = []
    asked = StepRequest(
        action=(0.3, 0.1) * 4, on_result=lambda d: heard.append(d.transition.id.step)
    )
    closed = world.step({'cart': asked})['cart']
    assert [d.transition.id.step for d in closed] == heard == [1, 2, 3, 4]
    assert closed[-1].replayed is not None
    assert closed[-1].replayed.differs is False
    closed = world.step({'cart': (0.3, 0.1)})['cart']
    assert closed[-1].replayed is not None
    assert closed[-1].replayed.difference == float('inf')


def test_a_step_that_no_action_closed_is_missed_as_it_was(seen: Seen, tmp_path: Path) -> None:
    reset, first, second, third, *_ = (
        t for t in seen.transitions if t.id.episode_id == seen.ids[0]
    )
    held = replace(first, decisions=(), decision=-1, verdict=None, overrun=True)
    path = write_records(tmp_path / 'late', (reset, held, second, third))
    env = BoundaryEnv(world='replay', pacing='lockstep', run=path, blank_images=True)
    env.reset()
    _, reward, *_, info = env.step(ACTIONS[1])
    # The recorded client did not see step 1 before its action for step 2 was answered.
    assert (info['step'], info['missed']) == (2, [(1, first.reward)])
    assert reward == pytest.approx(first.reward + second.reward, abs=1e-12)
    assert (info['replay']['differs'], info['replay']['first_difference']) == (False, None)
    *_, info = env.step(ACTIONS[0])
    assert (info['step'], info['missed']) == (3, [])
    assert info['replay']['first_difference'] == 3


def test_a_policy_is_run_over_a_record(tmp_path: Path) -> None:
    run = recorded(tmp_path / 'run', CART, make_policy('scripted', CART, {}), 5)
    for policy, others in (('scripted', False), ('no-op', True)):
        world = ReplayWorld(CART, run=run, blank_images=True, client=policy)
        runner = Runner(CART.contract, world, make_policy(policy, CART, {}), Plan(warm_up=0))
        result = runner.episode(5, CLEAR)
        runner.close()
        assert result.ending == 'success'
        assert result.compared == result.steps
        assert bool(result.other_actions) is others


def test_of_several_agents_one_is_replayed(tmp_path: Path) -> None:
    loaded = changed('two_carts')
    tape = make_world_tape(loaded, episodes=2, steps=4, seed=3)
    write_bag(tmp_path / 'bag', tape)
    with pytest.raises(LinkError, match='one of cart_a, cart_b, got none'):
        ReplayWorld(loaded, run=tmp_path / 'bag')
    known = [
        sent.what
        for sent in tape
        if isinstance(sent.what, Transition) and sent.what.id.agent == 'cart_b'
    ]
    env = BoundaryEnv(
        'two_carts', world='replay', pacing='lockstep', run=tmp_path / 'bag', agent='cart_b'
    )
    env.reset(seed=3)
    rewards, truncated = [], False
    while not truncated:
        _, reward, _, truncated, _ = env.step(np.zeros(2, np.float32))
        rewards.append(reward)
    assert rewards == [each.reward for each in known if each.seed == 3 and each.id.step]
    env.close()
