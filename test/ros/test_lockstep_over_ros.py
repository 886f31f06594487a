# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""In lockstep the same seed gives the same record, over ROS as in one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TYPE_CHECKING

from gymnasium.utils.env_checker import check_env
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg
from support.lockstep_records import compared, of_kinds, plain, Records
from support.ros_world import PATIENT, seek_goal, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module', params=[False, True], ids=['processes', 'one_process'])
def world(make_world: MakeWorld, request: pytest.FixtureRequest) -> World:
    """Return one world in lockstep for all tests of this module."""
    made = make_world(pacing='lockstep', changes=PATIENT, one_process=request.param)
    made.probe.subscribe(names.ACTION_REQUEST, msg.ActionRequest, names.RECORD)
    return made


@pytest.fixture(autouse=True)
def _no_episode_is_left(world: World) -> Iterator[None]:
    yield
    world.close_environments()
    world.end_episode()


def wild(observation: dict[str, Any], step: int) -> np.ndarray[Any, Any]:
    """Return an action that depends on all that was seen: towards the goal, at times wild."""
    if step % 5 == 4:
        seen = float(observation['scan'].sum()) + float(observation['front'].sum())
        return np.array([np.sin(seen) * 3.0, np.cos(seen) * 9.0], dtype=np.float32)
    return seek_goal(observation)


def episode(env: BoundaryEnv, seed: int, scenario: str) -> list[tuple[Any, ...]]:
    """Run one episode, and return all that the facade returned."""
    observation, info = env.reset(seed=seed, options={'scenario': scenario})
    seen: list[tuple[Any, ...]] = [(observation, 0.0, False, False, info)]
    while not (seen[-1][2] or seen[-1][3]):
        seen.append(env.step(wild(seen[-1][0], len(seen))))
    return seen


def test_it_is_a_gymnasium_environment_by_gymnasiums_own_check(world: World) -> None:
    env = world.environment(render_mode='rgb_array')
    # The check of rendering makes environments of its own, which would be further clients.
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize('scenario', ['clear', pytest.param('blocked', marks=pytest.mark.nightly)])
def test_the_same_seed_gives_the_same_observations_rewards_and_infos(
    world: World, scenario: str
) -> None:
    first = episode(world.environment(), 11, scenario)
    second = episode(world.environment(), 11, scenario)
    other = episode(world.environment(), 12, scenario)
    assert len(first) == len(second)
    for (seen, *rest), (again, *rest_again) in zip(first, second, strict=True):
        assert rest == rest_again
        for name, value in seen.items():
            assert np.array_equal(value, again[name]), name
    assert first[0][4]['reset'] != other[0][4]['reset']


@pytest.mark.parametrize(
    'scenario',
    ['blocked', *(pytest.param(n, marks=pytest.mark.nightly) for n in ('clear', 'far'))],
)
def test_the_record_over_ros_is_that_of_one_process(world: World, scenario: str) -> None:
    over_ros = world.environment()
    seen = episode(over_ros, 21, scenario)
    records: list[Any] = []
    embedded = BoundaryEnv(world.file, world='embedded', pacing='lockstep', sink=records.append)
    episode(embedded, 21, scenario)
    embedded.close()

    expected = of_kinds(records, embedded.episode_id)
    world.probe.until(
        lambda: len(on_the_wire(world, over_ros.episode_id)) >= len(expected),
        SOON,
        f'{len(expected)} records of the episode on the wire',
    )
    found = on_the_wire(world, over_ros.episode_id)
    assert [type(r).__name__ for r in found] == [type(r).__name__ for r in expected]
    assert len([r for r in found if isinstance(r, Transition)]) == len(seen)
    differences = [
        difference
        for one, other in zip(plain(found), plain(expected), strict=True)
        for difference in compared(one, other, one['kind_of_record'])
    ]
    assert not differences, '\n'.join(differences[:20])


def test_the_requests_over_ros_are_those_that_one_process_records(world: World) -> None:
    over_ros = world.environment()
    over_ros.reset(seed=21)
    # What a client sends before the probe is found is heard by the gate alone.
    topic = world.probe.node.resolve_topic_name(names.ACTION_REQUEST)
    [client] = over_ros._world._clients.values()
    publisher = client._requests
    world.probe.until(
        lambda: publisher.get_subscription_count() >= world.probe.node.count_subscribers(topic),
        SOON,
        'a client that has found all who listen',
    )
    seen = episode(over_ros, 22, 'clear')
    records: list[Any] = []
    embedded = BoundaryEnv(world.file, world='embedded', pacing='lockstep', sink=records.append)
    episode(embedded, 22, 'clear')
    embedded.close()

    def heard() -> list[ActionRequest]:
        messages = world.probe.messages(names.ACTION_REQUEST)
        found = [from_msg(ActionRequest, message) for message in messages]
        return [request for request in found if request.id.episode_id == over_ros.episode_id]

    world.probe.until(lambda: len(heard()) == len(seen) - 1, SOON, 'every request on the wire')
    expected = [record for record in records if isinstance(record, ActionRequest)]
    resets = (
        on_the_wire(world, over_ros.episode_id)[0],
        of_kinds(records, embedded.episode_id)[0],
    )
    one, other = (
        plain([reset, *requests])[1:]  # times count from the reset on
        for reset, requests in zip(resets, (heard(), expected), strict=True)
    )
    differences = [
        difference
        for its, same in zip(one, other, strict=True)
        for difference in compared(its, same, 'ActionRequest')
    ]
    assert not differences, '\n'.join(differences[:20])


def on_the_wire(world: World, episode_id: str) -> Records:
    """Return the same of what the probe heard."""
    heard = [
        from_msg(kind, message)
        for kind, topic in (
            (Transition, names.TRANSITION),
            (PrivilegedObservation, names.PRIVILEGED_OBSERVATION),
            (ActuationEvidence, names.ACTUATION_EVIDENCE),
        )
        for message in world.probe.messages(topic)
    ]
    return of_kinds(heard, episode_id)
