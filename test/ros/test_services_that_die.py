# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The services in realtime: what dies is told by name, the robot stops, and the record agrees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import LinkTimeout, PeerLost, ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_bytes, from_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.service_client import BoundaryClient
from boundary_env_ros.storage.record_reader import open_records
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

FAR = {'scenario': 'far'}
AHEAD = [0.8, 0.0]

#: Longer than on a robot, since this machine may be busy; shorter than anybody waits for a test.
SAFETY = {
    **PATIENT['safety'],
    'command_timeout': 2.0,
    'policy_timeout': 5.0,
    'gate_timeout': 3.0,
    'environment_timeout': 3.0,
}
SLOW = {'episode': {'time_limit': 20.0, 'reset': {'deadline': 20.0}}}

_SOON = 30.0


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return a world in realtime whose dead are raised after every test."""
    made = make_world(recorder=True, services=True, changes={**PATIENT, 'safety': SAFETY, **SLOW})
    made.probe.subscribe(names.EVENT, msg.EnvironmentEvent, names.RECORD)
    return made


@pytest.fixture(autouse=True)
def _raise_the_dead(world: World) -> Iterator[None]:
    yield
    world.revive()
    world.end_episode()


@pytest.fixture
def client(world: World) -> Iterator[BoundaryClient]:
    made = BoundaryClient('ann', domain_id=world.domain_id, timeout=_SOON)
    yield made
    try:
        made.close()
    except LinkTimeout:
        assert not world.processes['policy_server'].alive


def drive(world: World, client: BoundaryClient) -> None:
    """Drive until the cart moves; whoever is to be killed is killed in the middle of that."""
    client.reset(seed=3, options=FAR)
    while world.speed() < 0.3:
        client.step(AHEAD)
        assert not client.is_done, 'an episode that ended before the kill'


def begin_again(client: BoundaryClient) -> str:
    """Begin an episode after a node was killed and started again, and return its id."""
    return client.reset(seed=3, options=FAR).episode_id


def ending(world: World, episode_id: str) -> Transition:
    """Return the last transition of an episode, as it was published."""

    def last() -> Any:
        found = [
            t
            for t in world.probe.messages(names.TRANSITION)
            if t.id.episode_id == episode_id and t.ending
        ]
        return found[-1] if found else None

    world.probe.until(last, _SOON, f'the ending of {episode_id}')
    return from_msg(Transition, last())


def test_the_record_has_every_event_and_they_tell_what_it_says(
    world: World, client: BoundaryClient
) -> None:
    heard: list[EnvironmentEvent] = []
    client.on(None, heard.append)
    client.reset(seed=3, options=FAR)
    while not client.step(AHEAD).done:
        pass
    episode_id = client.episode_id
    world.probe.until(
        lambda: heard and heard[-1].kind is EventKind.TERMINATION, _SOON, 'the last event'
    )
    assert [event.sequence for event in heard] == list(range(1, len(heard) + 1))

    # The recorder flushes what it has within half a second.
    def recorded() -> list[EnvironmentEvent]:
        events = [
            from_bytes(EnvironmentEvent, each.data)
            for each in open_records(world.run).messages({'/boundary/event'})
        ]
        return [event for event in events if event.id.episode_id == episode_id]

    world.probe.until(lambda: len(recorded()) >= len(heard), _SOON, 'the events in the bag')
    assert recorded() == heard

    def of_episode(kind: type[Any]) -> list[Any]:
        records = open_records(world.run).records(kind)
        return [record for record in records if record.id.episode_id == episode_id]

    # Another topic: what was published earlier may be written later.
    world.probe.until(
        lambda: any(t.ending for t in of_episode(Transition)), _SOON, 'the ending in the bag'
    )
    transitions = of_episode(Transition)
    told = {kind: [event for event in heard if event.kind is kind] for kind in EventKind}
    assert [e.id for e in told[EventKind.OBSERVATION]] == [t.id for t in transitions]
    steps = [t for t in transitions if t.kind is Kind.STEP]
    assert [e.reward for e in told[EventKind.REWARD]] == [t.reward for t in steps]
    [last] = told[EventKind.TERMINATION]
    assert (last.terminated, last.truncated) == (steps[-1].terminated, steps[-1].truncated)
    assert last.reason.startswith(steps[-1].ending)
    in_steps = touched(decision for t in transitions for decision in t.decisions)
    # What was decided while the last step was on its way is told, too.
    events = {e.action_sequence for e in told[EventKind.SAFETY]} - {0}
    assert in_steps
    assert in_steps <= events
    world.probe.until(
        lambda: events <= touched(of_episode(GateDecision)), _SOON, 'all decisions in the bag'
    )


def touched(decisions: Iterable[GateDecision]) -> set[int]:
    """Return the requests that the gate did not let through as they were."""
    return {
        d.request.sequence
        for d in decisions
        if d.request is not None and d.rules and d.verdict is not Verdict.ADMITTED
    }


def test_services_that_are_killed_stop_the_robot_and_lose_the_policy(
    world: World, client: BoundaryClient
) -> None:
    drive(world, client)
    world.kill('policy_server')
    last = ending(world, client.episode_id)
    assert (last.ending, last.truncated) == ('policy_lost', True)
    world.probe.until(lambda: world.speed() < 0.01, _SOON, 'a cart that stands still')
    world.gate_rests()
    client.timeout = 0.5
    with pytest.raises(LinkTimeout):
        client.step(AHEAD)
    # Those that take their place know nothing of the episode, and serve the next.
    world.revive()
    with BoundaryClient('bob', domain_id=world.domain_id) as bob:
        began = bob.reset(seed=3, options=FAR)
        assert began.episode_id != client.episode_id
        assert bob.step(AHEAD).transitions[-1].id.episode_id == began.episode_id


def test_a_client_that_vanishes_leaves_the_episode_to_the_next(world: World) -> None:
    with BoundaryClient('ann', domain_id=world.domain_id) as vanishing:
        drive(world, vanishing)
        last = ending(world, vanishing.episode_id)
        assert last.ending == 'policy_lost'
        with BoundaryClient('bob', domain_id=world.domain_id) as bob:
            bob.reset(seed=3, options=FAR)
            assert not bob.is_done


def test_an_environment_that_dies_is_named_and_the_answer_is_empty(
    world: World, client: BoundaryClient
) -> None:
    drive(world, client)
    world.kill('environment')
    with pytest.raises(PeerLost, match='environment') as lost:
        while True:
            client.step(AHEAD)
    assert lost.value.code is ResultCode.ENVIRONMENT_LOST
    with pytest.raises(PeerLost, match='environment_lost'):
        client.step(AHEAD)
    world.probe.until(lambda: client.is_done, _SOON, 'the event of the ending')
    lost_episode = client.episode_id
    world.revive()
    assert begin_again(client) != lost_episode


def test_a_gate_that_dies_ends_the_episode_by_name(world: World, client: BoundaryClient) -> None:
    drive(world, client)
    world.kill('safety_gate')
    stepped = client.step(AHEAD)
    while not stepped.done:
        stepped = client.step(AHEAD)
    last = stepped.transitions[-1]
    assert (last.ending, last.truncated) == ('gate_lost', True)
    with pytest.raises(PeerLost, match='gate_lost') as lost:
        client.step(AHEAD)
    assert lost.value.code is ResultCode.GATE_LOST
