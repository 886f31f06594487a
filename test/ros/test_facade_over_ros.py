# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environment over ROS, as its user meets it."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from lifecycle_msgs.msg import Transition as Lifecycle
import rclpy

from boundary_env_ros import __version__
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.errors import (
    EpisodeEnded,
    InvalidAction,
    LinkTimeout,
    RequestRejected,
    ResetNeeded,
)
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.ros import names
from boundary_env_ros.ros.agent_client import AgentClient
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.processes import isolated_environment
from support.ros_world import PATIENT, seek_goal, SOON, World, write_contract

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

EXAMPLE = Path(__file__).parents[2] / 'examples/drive_cart.py'


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world in realtime for all tests of this module; none kills anything in it."""
    return make_world(changes=PATIENT)


@pytest.fixture(scope='module')
def env(world: World) -> BoundaryEnv:
    """Return one facade for all tests that do not care which client they are."""
    return world.environment(render_mode='rgb_array', full_info=True)


@pytest.fixture(autouse=True)
def _no_episode_is_left(world: World) -> Iterator[None]:
    yield
    world.end_episode()


# Reset and step ---------------------------------------------------------------------------------


def test_an_episode_that_is_over_before_its_client_sees_it_run_tells_so_in_its_first_step(
    env: BoundaryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = AgentClient.finish_begin

    def descheduled(client: AgentClient) -> StepResult:
        time.sleep(1.0)
        return finish(client)

    monkeypatch.setattr(AgentClient, 'finish_begin', descheduled)
    _, info = env.reset(seed=1, options={'start': [-3.7, -3.0, 0.0], 'goal': [-3.7, -3.0]})
    assert info['step'] == 0
    *_, terminated, truncated, info = env.step(np.zeros(2, dtype=np.float32))
    assert (terminated, truncated, info['ending'], info['step']) == (True, False, 'success', 1)


def test_made_by_its_id_it_resets_and_steps(world: World) -> None:
    env = gymnasium.make(
        'boundary_env_ros/WarehouseCart-v0',
        world='ros',
        contract=str(world.file),
        domain_id=world.domain_id,
    )
    try:
        observation, info = env.reset(seed=3, options={'scenario': 'clear'})
        assert env.observation_space.contains(observation)
        assert info['step'] == 0
        assert info['reset']['seed'] == 3
        missed = 0
        for step in range(1, 11):
            observation, reward, terminated, truncated, info = env.step(seek_goal(observation))
            assert env.observation_space.contains(observation)
            assert np.isfinite(reward)
            assert not terminated
            assert not truncated
            missed += len(info['missed'])
            assert info['step'] == step + missed
    finally:
        env.close()


def test_the_example_drives_the_nodes_when_one_word_is_changed(
    world: World, tmp_path: Path
) -> None:
    embedded = EXAMPLE.read_text(encoding='utf-8')
    assert embedded.count("world='embedded'") == 1
    # And the contract, under which a busy machine changes nothing.
    changed = tmp_path / 'drive_cart.py'
    over_ros = f"world='ros', contract={str(world.file)!r}"
    changed.write_text(embedded.replace("world='embedded'", over_ros), encoding='utf-8')
    finished = subprocess.run(
        [sys.executable, str(changed)],
        env={**os.environ, **isolated_environment(world.domain_id)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == 'success'


def test_info_tells_what_became_of_the_action(world: World, env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    *_, info = env.step(np.array([2.0, 0.0], dtype=np.float32))

    assert info['contract'] == 'warehouse_cart 1.0.0'
    assert info['digest'] == world.loaded.digest
    assert info['software_version'] == info['wrapper_version'] == __version__
    assert info['verdict'] == 'LIMITED'
    assert any('LIMITED by bounds' in reason for reason in info['reasons'])
    assert any('LIMITED by rate' in reason for reason in info['reasons'])
    assert info['requested_action'] == [2.0, 0.0]
    assert info['clipped'] == [True, False]
    assert 0.0 < info['admitted_action'][0] < 0.8
    assert info['commanded_action'] == info['admitted_action']
    assert len(info['measured_action']) == 2
    assert set(info['latency']) == set(STAGES)
    for stage in ('capture', 'transport', 'inference', 'gate'):
        assert info['latency'][stage] >= 0.0
    fields = [field.name for field in world.loaded.contract.observation]
    assert list(info['age']) == list(info['confidence']) == list(info['status']) == fields
    assert 0.0 < info['confidence']['pose'] <= 1.0
    assert (info['ending'], info['declared_by']) == ('', '')


def test_the_requested_action_is_what_the_policy_said_not_what_the_gate_made_of_it(
    env: BoundaryEnv,
) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    asked = np.array([1.7, -9.0], dtype=np.float32)
    for _ in range(5):
        *_, info = env.step(asked)
        assert info['requested_action'] == asked.astype(float).tolist()
        assert info['admitted_action'] != info['requested_action']


def test_the_last_image_is_rendered(env: BoundaryEnv) -> None:
    observation, _ = env.reset(seed=3, options={'scenario': 'clear'})
    assert np.array_equal(env.render(), observation['front'])


def test_the_time_limit_truncates_and_is_no_success(world: World, env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'far'})
    steps, ended = 0, False
    while not ended:
        _, _, terminated, truncated, info = env.step(np.zeros(2, dtype=np.float32))
        steps += 1 + len(info['missed'])
        ended = terminated or truncated
    assert (terminated, truncated) == (False, True)
    assert (info['ending'], info['declared_by']) == ('time_limit', 'environment')
    assert steps == world.loaded.contract.max_steps


# Use in the wrong order -------------------------------------------------------------------------


def test_a_step_before_the_first_reset_is_refused(world: World) -> None:
    with pytest.raises(ResetNeeded, match='Call reset'):
        world.environment().step(np.zeros(2, dtype=np.float32))


def test_a_step_after_the_end_is_refused(world: World, env: BoundaryEnv) -> None:
    observation, _ = env.reset(seed=3, options={'scenario': 'blocked'})
    truncated = False
    while not truncated:
        observation, _, _, truncated, info = env.step(seek_goal(observation))
    assert (info['ending'], info['declared_by']) == ('safety_stop', 'safety_gate')
    with pytest.raises(EpisodeEnded, match='Call reset'):
        env.step(np.zeros(2, dtype=np.float32))
    env.reset(seed=4)
    env.step(np.zeros(2, dtype=np.float32))


def test_an_invalid_action_is_refused_and_not_sent(world: World, env: BoundaryEnv) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    env.step(np.zeros(2, dtype=np.float32))
    for action, says in (
        ([0.1], r'shape \(1,\)'),
        ([[0.1, 0.2]], r'shape \(1, 2\)'),
        ([np.nan, 0.0], 'finite'),
        ([0.0, np.inf], 'finite'),
        ('ahead', "'ahead'"),
    ):
        with pytest.raises(InvalidAction, match=says):
            env.step(action)  # type: ignore[arg-type]
    env.step(np.zeros(2, dtype=np.float32))

    def sent() -> list[int]:
        return [
            decision.request.sequence
            for decision in world.decisions()
            if decision.request is not None and decision.id.episode_id == env.episode_id
        ]

    world.probe.until(lambda: len(sent()) >= 2, SOON, 'a decision on each action that was sent')
    assert sent() == [1, 2]


def test_closing_twice_or_before_any_reset_is_allowed(world: World) -> None:
    env = world.environment()
    env.close()
    other = world.environment()
    other.reset(seed=3)
    other.close()
    other.close()
    with pytest.raises(Exception, match='closed'):
        other.reset()


# Who is not there, or not welcome ---------------------------------------------------------------


def test_missing_nodes_are_named_within_the_stated_deadline(world: World) -> None:
    env = world.environment(namespace='nobody', startup_timeout=1.0)
    with pytest.raises(LinkTimeout) as caught:
        env.reset()
    text = str(caught.value)
    assert text.startswith(f'No boundary runs here (domain {world.domain_id})')
    for part in ('after 1 s', 'environment', 'safety_gate', '/nobody', str(world.domain_id)):
        assert part in text


def test_a_reset_waits_for_nodes_that_are_not_active_yet(world: World) -> None:
    bring_up = BringUp(domain_id=world.domain_id)
    process, failed = world.processes['environment'], []

    def turn(transition: int) -> None:
        bring_up.change(process, transition, time.monotonic() + SOON)

    def activate() -> None:
        try:
            turn(Lifecycle.TRANSITION_ACTIVATE)
        except Exception as error:
            failed.append(error)
            raise

    late = threading.Timer(1.0, activate)
    turn(Lifecycle.TRANSITION_DEACTIVATE)
    late.start()
    env = world.environment(client='early')
    try:
        _, info = env.reset(seed=3, options={'scenario': 'clear'})
        assert info['step'] == 0
    finally:
        late.join()
        bring_up.close()
    assert not failed


def test_another_contract_is_refused_with_both_digests(world: World) -> None:
    file = write_contract(world.folder / 'other.yaml', {**PATIENT, 'version': '1.0.1'})
    env = BoundaryEnv(file, world='ros', domain_id=world.domain_id)
    try:
        with pytest.raises(RequestRejected) as caught:
            env.reset()
        assert world.loaded.digest in str(caught.value)
        assert env.digest in str(caught.value)
    finally:
        env.close()


def test_a_second_client_is_refused_by_name_and_the_first_goes_on(world: World) -> None:
    first = world.environment(client='first')
    first.reset(seed=3, options={'scenario': 'clear'})
    second = world.environment(client='second')
    with pytest.raises(RequestRejected, match=f"'first' runs {first.episode_id}"):
        second.reset(seed=4)
    second.close()
    *_, info = first.step(np.zeros(2, dtype=np.float32))
    assert info['ending'] == ''


# Ends of an episode that the policy brings about ------------------------------------------------


def test_a_reset_in_mid_episode_ends_the_old_one_as_abandoned(
    world: World, env: BoundaryEnv
) -> None:
    env.reset(seed=3, options={'scenario': 'clear'})
    env.step(np.zeros(2, dtype=np.float32))
    old = env.episode_id
    env.reset(seed=4)
    assert env.episode_id != old
    assert _ending(world, old) == ('abandoned', 'environment', False, True)


def test_closing_in_mid_episode_ends_it_as_abandoned_by_the_client(world: World) -> None:
    env = world.environment(client='somebody')
    env.reset(seed=3, options={'scenario': 'clear'})
    env.step(np.zeros(2, dtype=np.float32))
    old = env.episode_id
    env.close()
    assert _ending(world, old) == ('abandoned', 'somebody', False, True)


def _ending(world: World, episode: str) -> tuple[str, str, bool, bool]:
    """Return ending, declarer and flags of an episode's last transition, as it is on the wire."""

    def last() -> object:
        found = [m for m in world.probe.messages(names.TRANSITION) if m.id.episode_id == episode]
        return found[-1] if found and found[-1].ending else None

    world.probe.until(last, SOON, f'the ending of {episode}')
    transition = last()
    return (transition.ending, transition.declared_by, transition.terminated, transition.truncated)


# Several in one process -------------------------------------------------------------------------


@pytest.mark.nightly
def test_two_environments_in_one_process_do_not_know_each_other(
    world: World, make_world: MakeWorld
) -> None:
    other = make_world(namespace='elsewhere', changes=PATIENT)
    here, there = world.environment(), other.environment()
    here.reset(seed=3, options={'scenario': 'clear'})
    there.reset(seed=4, options={'scenario': 'clear'})
    assert here.episode_id != there.episode_id
    here.step(np.zeros(2, dtype=np.float32))
    here.close()
    for _ in range(5):
        *_, info = there.step(np.zeros(2, dtype=np.float32))
        assert info['ending'] == ''
    there.close()
    for place, foreign in ((world, there), (other, here)):
        heard = {m.id.episode_id for m in place.probe.messages(names.EPISODE_STATUS)}
        assert foreign.episode_id not in heard


def test_closing_leaves_other_use_of_rclpy_in_the_process_alone(world: World) -> None:
    from std_msgs.msg import String

    rclpy.init(domain_id=world.domain_id)
    try:
        node = rclpy.create_node('somebody_else')
        heard: list[str] = []
        node.create_subscription(String, 'chatter', lambda m: heard.append(m.data), 10)
        publisher = node.create_publisher(String, 'chatter', 10)

        env = world.environment()
        env.reset(seed=3)
        env.step(np.zeros(2, dtype=np.float32))
        env.close()

        assert rclpy.ok()
        deadline = time.monotonic() + SOON
        while 'still here' not in heard:
            assert time.monotonic() < deadline
            publisher.publish(String(data='still here'))
            rclpy.spin_once(node, timeout_sec=0.1)
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_the_gate_is_disarmed_and_the_episode_over_after_closing(world: World) -> None:
    env = world.environment()
    env.reset(seed=3, options={'scenario': 'clear'})
    for _ in range(5):
        env.step(np.array([0.5, 0.0], dtype=np.float32))
    env.close()
    world.gate_rests()
    world.probe.until(
        lambda: (
            EpisodeState(world.probe.last(names.EPISODE_STATUS).state) is EpisodeState.TRUNCATED
        ),
        SOON,
        'the end of the episode',
    )
    world.probe.until(lambda: world.speed() < 0.01, SOON, 'a cart that stands still')
