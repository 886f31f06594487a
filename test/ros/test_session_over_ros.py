# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A session with the nodes, and an operator beside it, as LeRobot's programs have them."""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.facade.world import make_world
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.contract_file import load
from lerobot_robot_boundary.operators import OperatorCommands, OperatorDevice
from lerobot_robot_boundary.session import Session
from support.ros_world import PATIENT, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

#: How the operator of the cart commands; a busy machine may be slow to hear them.
STICK = {
    'topic': 'joy',
    'type': 'sensor_msgs/msg/Joy',
    'fields': ['axes[1]', 'axes[3]'],
    'scale': [0.4, 1.0],
    'enable': 'buttons[4]',
    'timeout': 2.0,
}


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world in realtime whose cart an operator may take over."""
    safety = {**PATIENT['safety'], 'operator': STICK}
    return make_world(changes={**PATIENT, 'safety': safety}, one_process=True)


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    """Return a session with the cart in an episode that was begun."""
    found = Session(
        world.loaded,
        world='ros',
        domain_id=world.domain_id,
        seed=1,
        features=('step', 'intervention'),
    )
    found.open()
    yield found
    found.close()
    world.end_episode()


def answers_heard(world: World) -> dict[int, GateDecision]:
    """Return the decisions on requests of the newest episode, by sequence of the request."""
    decisions = [each for each in world.decisions() if each.request is not None]
    newest = decisions[-1].id.episode_id if decisions else ''
    return {d.request.sequence: d for d in decisions if d.request and d.id.episode_id == newest}


def test_each_send_returns_its_own_answer_and_each_observation_is_another_step(
    world: World, session: Session
) -> None:
    steps, returned = [], []
    for number in range(1, 13):
        steps.append(session.observation()['step'])
        wanted = dict(zip(session.action_names, (0.1 * number, -0.05 * number), strict=True))
        returned.append(tuple(session.send(wanted).values()))
    assert steps == sorted(set(steps))
    world.probe.until(lambda: len(answers_heard(world)) >= len(returned), SOON, 'all answers')
    answers = answers_heard(world)
    for number, sent in enumerate(returned, 1):
        answer = answers[number]
        # A busy machine may be too late for the gate, which then says how it stops.
        assert sent == (answer.admitted_action or answer.command)
    admitted = [a for a in answers.values() if a.admitted_action]
    # Otherwise it would have been enough to return what was asked for.
    assert any(a.admitted_action != a.request.action for a in admitted if a.request)


def test_a_program_that_is_the_operator_intervenes_for_as_long_as_it_commands(
    world: World, session: Session
) -> None:
    forward, turn = session.action_names
    policy, person = {forward: 0.0, turn: 0.1}, {forward: 0.2, turn: 0.0}
    device = OperatorDevice(world.loaded, domain_id=world.domain_id)
    commands = OperatorCommands(world.loaded, domain_id=world.domain_id)
    try:
        until = time.monotonic() + SOON
        by_hand = asked = False
        while not (by_hand and asked) and time.monotonic() < until:
            device.command(person)
            by_hand = bool(session.observation()['intervention'])
            sent = session.send(policy)
            asked = commands.action() == pytest.approx(person)
        assert by_hand
        assert asked
        assert sent[turn] != pytest.approx(0.1)
        obeyed = False
        while not obeyed and time.monotonic() < until:
            session.observation()
            obeyed = session.send(policy)[turn] == pytest.approx(0.1)
            obeyed = obeyed and commands.action() == {forward: 0.0, turn: 0.0}
        assert obeyed
    finally:
        device.close()
        commands.close()


def take_over(
    session: Session, device: OperatorDevice, commands: OperatorCommands
) -> dict[str, float]:
    """Command with the device until that is known; return what the policy asks for meanwhile."""
    forward, turn = session.action_names
    policy, person = {forward: 0.0, turn: 0.1}, {forward: 0.2, turn: 0.0}
    until = time.monotonic() + SOON
    while not session.observation()['intervention'] or commands.action() != pytest.approx(person):
        assert time.monotonic() < until
        device.command(person)
        session.send(policy)
    return policy


@pytest.fixture
def beside(world: World) -> Iterator[tuple[OperatorDevice, OperatorCommands]]:
    """Return a device, and what is known of its commands."""
    device = OperatorDevice(world.loaded, domain_id=world.domain_id)
    commands = OperatorCommands(world.loaded, domain_id=world.domain_id)
    yield device, commands
    device.close()
    commands.close()


def test_who_lets_go_of_the_switch_asks_for_nothing_more(
    session: Session, beside: tuple[OperatorDevice, OperatorCommands]
) -> None:
    device, commands = beside
    policy = take_over(session, device, commands)
    released = device._kind(axes=[0.0] * 4, buttons=[0] * 5)
    released.header.stamp = device._own.node.get_clock().now().to_msg()
    device._publisher.publish(released)
    asked = []
    # Fewer steps than the operator may be silent for.
    for _ in range(8):
        session.observation()
        session.send(policy)
        asked.append(commands.action())
    assert asked[-1] == dict.fromkeys(policy, 0.0)


def test_what_a_person_asked_for_ends_with_the_episode(
    session: Session, beside: tuple[OperatorDevice, OperatorCommands]
) -> None:
    device, commands = beside
    policy = take_over(session, device, commands)
    session.close()
    session.open()
    assert commands.action() == dict.fromkeys(policy, 0.0)


def test_of_many_actions_after_one_observation_each_answers_the_newest_step(
    world: World, session: Session
) -> None:
    session.observation()
    for _ in range(5):
        session.send(dict.fromkeys(session.action_names, 0.0))
        time.sleep(2.0 * world.loaded.contract.period)
    world.probe.until(lambda: len(answers_heard(world)) >= 5, SOON, 'all answers')
    requests = [a.request for a in answers_heard(world).values()]
    observed = [request.observed_step for request in requests if request is not None]
    assert observed == sorted(set(observed))


def test_pictures_that_newer_ones_have_pushed_out_are_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = make_world('embedded', load('so101', Pacing.LOCKSTEP))
    (begun,) = embedded.reset(seed=1, options={}, wrappers=()).values()
    still = tuple(begun.transition.after[0].values)
    (results,) = embedded.step({'arm': still}).values()
    embedded.close()
    nodes = RosWorld(load('so101'), namespace='/elsewhere', domain_id=world.domain_id)
    client = nodes._clients['arm']
    client._episode_id = begun.transition.id.episode_id
    newer = time.time_ns()
    for camera in ('wrist', 'scene'):
        for number in range(40):
            client._on_image(camera, lambda _, number=number: newer + number, b'')  # type: ignore[misc]
    for _ in range(100):
        client._transitions.append((results[-1].transition, results[-1].delivered))
    waited: list[float] = []
    monkeypatch.setattr(client._own, 'spin', waited.append)
    observed = client.observe()
    nodes.close()
    assert [result.unresolved for result in observed] == [('wrist', 'scene')] * 100
    assert waited == []


def test_nodes_in_lockstep_refuse_a_send_that_does_not_wait(world: World) -> None:
    lockstep = load('warehouse_cart', Pacing.LOCKSTEP)
    nodes = RosWorld(lockstep, namespace='/elsewhere', domain_id=world.domain_id)
    with pytest.raises(RequestRejected, match=r"RosWorld waits .* the world 'ros' in realtime"):
        nodes.send({'cart': (0.0, 0.0)})
    nodes.close()
