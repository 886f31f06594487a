# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The whole conversation as services, as any ROS client has it, and the client for Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import json
import math
from pathlib import Path
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from diagnostic_msgs.msg import KeyValue
from lifecycle_msgs.msg import Transition as Lifecycle

from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import (
    DigestMismatch,
    EpisodeEnded,
    InvalidAction,
    RequestRejected,
    ResetNeeded,
    ResultCode,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.service_client import BoundaryClient
from boundary_env_ros.ros.world import RosWorld
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

CLEAR = {'scenario': 'clear'}
STILL, AHEAD = [0.0, 0.0], [0.3, 0.0]
LIMIT = 36
"""Steps of an episode, of a tenth of a second: enough for the example."""

EXAMPLE = Path(__file__).parents[2] / 'examples/call_services.py'

_SOON = 20.0
# For a batch, on a machine that is busy otherwise.
_LONG = 120.0


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world that waits for its clients, for all tests of this module."""
    # Some tests stop the robot, and look around meanwhile.
    changes = {
        **PATIENT,
        'lockstep': {'deadline': _LONG},
        'episode': {'time_limit': LIMIT / 10},
    }
    made = make_world(pacing='lockstep', services=True, changes=changes)
    made.probe.subscribe(names.EVENT, msg.EnvironmentEvent, names.RECORD)
    made.probe.subscribe(names.ACTION_REQUEST, msg.ActionRequest, names.RECORD)
    return made


@pytest.fixture(autouse=True)
def _no_episode_is_left(world: World) -> Iterator[None]:
    yield
    world.end_episode()


@pytest.fixture
def client(world: World) -> Iterator[BoundaryClient]:
    with BoundaryClient('ann', domain_id=world.domain_id, timeout=_LONG) as made:
        yield made


def is_refusal(answer: Any, code: ResultCode) -> bool:
    """Return whether an answer is an error with its sentence, and nothing else at all."""
    empty = type(answer)(result=answer.result)
    return answer.result.code == code and bool(answer.result.message) and answer == empty


def metadata_in(transition: Any) -> list[KeyValue]:
    """Return what the client said besides, in the request that closed a step."""
    [request] = transition.decisions[transition.decision].request
    return list(request.metadata)


def same(one: object, other: object) -> bool:
    """Return whether two messages say the same, where NaN is NaN."""
    return repr(one) == repr(other)


# As any ROS client has it ------------------------------------------------------------------------


def test_the_whole_conversation(world: World) -> None:
    call = world.probe.call
    spaces = call(srv.Spaces, names.SPACES, srv.Spaces.Request())
    assert (spaces.contract, spaces.digest) == ('warehouse_cart', world.loaded.digest)
    assert [field.name for field in spaces.action] == ['base']

    began = call(
        srv.Reset,
        names.RESET,
        srv.Reset.Request(
            client='ann',
            wrappers=['TimeAware'],
            seed_given=True,
            seed=5,
            options=json.dumps(CLEAR),
            digest=spaces.digest,
            environment=spaces.contract,
            agent=spaces.agents[0],
        ),
        _SOON,
    )
    [reset] = began.transition
    assert began.result.code == msg.Result.OK
    assert (reset.kind, reset.seed, list(reset.wrappers)) == (1, 5, ['TimeAware'])
    assert same(began.observation.fields, reset.after)

    said = [KeyValue(key='why', value='to see')]
    request = srv.Step.Request(episode_id=began.episode_id, action=AHEAD, metadata=said)
    stepped = call(srv.Step, names.STEP, request)
    [transition] = stepped.transitions
    assert (stepped.result.code, stepped.done) == (msg.Result.OK, False)
    assert (transition.id.step, list(transition.requested_action)) == (1, AHEAD)
    assert metadata_in(transition) == said
    assert same(stepped.observation.fields, transition.after)

    seen = call(srv.Observe, names.OBSERVE, srv.Observe.Request())
    assert same(seen.observation, stepped.observation)

    request = srv.BatchStep.Request(
        episode_id=began.episode_id, actions=AHEAD * 3, count=3, metadata=said
    )
    batch = call(srv.BatchStep, names.BATCH_STEP, request)
    assert (batch.completed, [t.id.step for t in batch.transitions]) == (3, [2, 3, 4])
    assert all(metadata_in(t) == said for t in batch.transitions)

    request = srv.Close.Request(episode_id=began.episode_id, client='ann')
    assert call(srv.Close, names.CLOSE, request).result.code == msg.Result.OK
    *published, last = whole_episode(world, began.episode_id)
    assert same(published, [reset, transition, *batch.transitions])
    assert (last.ending, last.declared_by) == ('abandoned', 'ann')


def whole_episode(world: World, episode_id: str) -> list[Any]:
    """Return the transitions of an episode up to its ending, which the probe may hear later."""

    def published() -> list[Any]:
        heard = world.probe.messages(names.TRANSITION)
        return sorted((t for t in heard if t.id.episode_id == episode_id), key=lambda t: t.id.step)

    world.probe.until(
        lambda: published() and published()[-1].ending, _SOON, f'the ending of {episode_id}'
    )
    return published()


def test_refusals_are_named_and_hold_nothing_else(world: World) -> None:
    call = world.probe.call
    began = call(srv.Reset, names.RESET, srv.Reset.Request(client='ann'), _SOON)
    here = began.episode_id
    twice = [KeyValue(key='a'), KeyValue(key='a')]
    for kind, name, request, code in (
        (srv.Reset, names.RESET, {}, 'INVALID_ARGUMENT'),
        (srv.Reset, names.RESET, {'client': 'bob'}, 'LEASE_HELD'),
        (srv.Reset, names.RESET, {'client': 'ann', 'environment': 'x'}, 'INVALID_ARGUMENT'),
        (srv.Reset, names.RESET, {'client': 'ann', 'digest': 'x'}, 'DIGEST_MISMATCH'),
        (srv.Reset, names.RESET, {'client': 'ann', 'agent': 'x'}, 'UNKNOWN_AGENT'),
        (srv.Reset, names.RESET, {'client': 'ann', 'options': '[]'}, 'INVALID_ARGUMENT'),
        (srv.Step, names.STEP, {'action': STILL}, 'UNKNOWN_EPISODE'),
        (srv.Step, names.STEP, {'episode_id': 'x', 'action': STILL}, 'UNKNOWN_EPISODE'),
        (srv.Step, names.STEP, {'episode_id': here}, 'INVALID_ACTION'),
        (srv.Step, names.STEP, {'episode_id': here, 'action': [0.0]}, 'INVALID_ACTION'),
        (srv.Step, names.STEP, {'episode_id': here, 'action': [0.0, math.nan]}, 'INVALID_ACTION'),
        (
            srv.Step,
            names.STEP,
            {'episode_id': here, 'action': STILL * 2, 'horizon': 2},
            'INVALID_ACTION',
        ),
        (
            srv.Step,
            names.STEP,
            {'episode_id': here, 'action': STILL, 'metadata': twice},
            'INVALID_ARGUMENT',
        ),
        (srv.BatchStep, names.BATCH_STEP, {'episode_id': here}, 'INVALID_ARGUMENT'),
        (
            srv.BatchStep,
            names.BATCH_STEP,
            {'episode_id': here, 'count': 2, 'actions': [0.0, 0.0, 0.0, math.inf]},
            'INVALID_ACTION',
        ),
        (srv.Observe, names.OBSERVE, {'agent': 'x'}, 'UNKNOWN_AGENT'),
        (srv.Spaces, names.SPACES, {'agent': 'x'}, 'UNKNOWN_AGENT'),
        (srv.Render, names.RENDER, {'agent': 'x'}, 'UNKNOWN_AGENT'),
        (srv.Render, names.RENDER, {'source': 'true_pose'}, 'INVALID_ARGUMENT'),
        (srv.Close, names.CLOSE, {'episode_id': here, 'client': 'bob'}, 'LEASE_HELD'),
        (srv.Close, names.CLOSE, {'episode_id': 'x', 'client': 'ann'}, 'UNKNOWN_EPISODE'),
    ):
        answer = call(kind, name, kind.Request(**request))
        assert is_refusal(answer, ResultCode[code]), (name, request, answer.result)
    # None of them reached the robot, or took the episode from its holder.
    request = srv.Step.Request(episode_id=here, action=STILL)
    assert call(srv.Step, names.STEP, request).transitions[0].id.step == 1


def test_an_inactive_node_says_so_and_an_episode_ends_with_it(world: World) -> None:
    call = world.probe.call
    began = call(srv.Reset, names.RESET, srv.Reset.Request(client='ann'), _SOON)
    bring_up = BringUp(domain_id=world.domain_id)
    process = world.processes['policy_server']

    def turn(transition: int) -> None:
        bring_up.change(process, transition, time.monotonic() + _SOON)

    try:
        turn(Lifecycle.TRANSITION_DEACTIVATE)
        try:
            for kind, name in (
                (srv.Reset, names.RESET),
                (srv.Step, names.STEP),
                (srv.BatchStep, names.BATCH_STEP),
                (srv.Observe, names.OBSERVE),
                (srv.Spaces, names.SPACES),
                (srv.Render, names.RENDER),
                (srv.Close, names.CLOSE),
            ):
                assert is_refusal(call(kind, name, kind.Request()), ResultCode.NOT_ACTIVE)
            assert whole_episode(world, began.episode_id)[-1].ending == 'abandoned'
        finally:
            turn(Lifecycle.TRANSITION_ACTIVATE)
    finally:
        bring_up.close()
    again = call(srv.Reset, names.RESET, srv.Reset.Request(client='ann'), _SOON)
    assert again.result.code == msg.Result.OK


# Several at once ---------------------------------------------------------------------------------


def test_a_second_client_is_told_who_holds_the_episode(
    world: World, client: BoundaryClient
) -> None:
    began = client.reset(options=CLEAR)
    with BoundaryClient('bob', domain_id=world.domain_id) as bob:
        with pytest.raises(RequestRejected, match=f"'ann' runs {began.episode_id}") as refusal:
            bob.reset()
        assert refusal.value.code is ResultCode.LEASE_HELD
        assert bob.is_done
        client.step(AHEAD)
        client.end()
        assert bob.reset(options=CLEAR).episode_id != began.episode_id
        with pytest.raises(EpisodeEnded, match='abandoned'):
            client.step(AHEAD)


def test_a_client_beside_the_services_holds_the_episode_too(
    world: World, client: BoundaryClient
) -> None:
    env = world.environment(client='policy-7')
    env.reset(seed=3, options=CLEAR)
    with pytest.raises(RequestRejected, match="'policy-7' runs") as refusal:
        client.reset()
    assert refusal.value.code is ResultCode.LEASE_HELD
    request = srv.Step.Request(episode_id=env.episode_id, action=STILL)
    answer = world.probe.call(srv.Step, names.STEP, request)
    assert is_refusal(answer, ResultCode.LEASE_HELD)
    assert 'policy-7' in answer.result.message
    # It is seen all the same, whoever began it.
    assert client.observe().observation.id.episode_id == env.episode_id
    env.close()
    client.reset(options=CLEAR)
    with pytest.raises(RequestRejected, match="'ann' runs"):
        world.environment(client='policy-8').reset(seed=3)


def test_a_client_that_is_refused_ends_nothing_of_the_one_before_it_on_the_link(
    world: World,
) -> None:
    link = RosWorld(world.loaded, domain_id=world.domain_id)
    link.reset(seed=3, options=CLEAR, wrappers=(), client='ann')
    for _ in range(2):
        with pytest.raises(RequestRejected, match="'ann' runs"):
            link.reset(seed=3, options=CLEAR, wrappers=(), client='bob')
        (stepped,) = link.step({'cart': (0.0, 0.0)})['cart']
        assert not stepped.transition.ending
    link.close()


def test_a_sink_has_every_record_and_costs_no_step_if_it_fails(world: World) -> None:
    records: list[object] = []

    def sink(record: object) -> None:
        records.append(record)
        raise ZeroDivisionError

    link = RosWorld(world.loaded, domain_id=world.domain_id, sink=sink)
    link.reset(seed=3, options=CLEAR, wrappers=())
    (stepped,) = link.step({'cart': (0.0, 0.0)})['cart']
    assert stepped.transition.id.step == 1
    assert stepped.transition in records
    link.close()
    assert {type(record) for record in records} == {Transition, EpisodeStatus, GateDecision}


@contextmanager
def a_step_that_waits(
    world: World, client: BoundaryClient
) -> Iterator[tuple[threading.Thread, queue.SimpleQueue[Any]]]:
    """
    Let a client step while the robot stands still; yield who waits, and where the answer comes.

    The gate itself may wait for the robot, so it is the request that tells that it has begun.
    """
    robot = world.processes['simulated_robot']
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    waiting = threading.Thread(target=lambda: answers.put(client.step(AHEAD)))
    asked = len(world.probe.messages(names.ACTION_REQUEST))
    robot.send(signal.SIGSTOP)
    try:
        waiting.start()
        world.probe.until(
            lambda: len(world.probe.messages(names.ACTION_REQUEST)) > asked, _SOON, 'the request'
        )
        yield waiting, answers
    finally:
        robot.send(signal.SIGCONT)


def test_an_observer_is_answered_while_a_step_waits(world: World, client: BoundaryClient) -> None:
    began = client.reset(options=CLEAR)
    with a_step_that_waits(world, client) as (waiting, answers):
        assert client.observe().observation.id.step == 0
        assert client.spaces().contract == 'warehouse_cart'
        assert client.render().shape == (48, 64, 3)
        with pytest.raises(RequestRejected, match='Another step of this episode'):
            client.step(AHEAD)
        assert answers.empty()
    waiting.join(_SOON)
    assert answers.get_nowait().transitions[-1].id.step == 1
    assert not client.is_done
    assert client.observe().observation.id.episode_id == began.episode_id


def test_closing_ends_a_step_that_waits(world: World, client: BoundaryClient) -> None:
    client.reset(options=CLEAR)
    with a_step_that_waits(world, client) as (waiting, answers):
        client.end()
        waiting.join(_SOON)
    stepped = answers.get_nowait()
    assert (stepped.done, stepped.transitions[-1].ending) == (True, 'abandoned')


# The client --------------------------------------------------------------------------------------


def test_a_client_drives_an_episode_to_its_end(client: BoundaryClient) -> None:
    assert client.is_done
    began = client.reset(environment='warehouse_cart', seed=3, options=CLEAR)
    assert began.transition[0].kind == Kind.RESET
    assert began.observation.id.episode_id == began.episode_id == client.episode_id
    assert not client.is_done
    stepped = client.step(AHEAD, metadata={'model': 'straight on'})
    [transition] = stepped.transitions
    assert transition.seed == 3
    assert [(d.key, d.value) for d in metadata_in(transition)] == [('model', 'straight on')]
    assert (stepped.done, transition.ending) == (False, '')

    batch = client.batch_step(np.tile(STILL, (2 * LIMIT, 1)))
    assert (batch.done, batch.result.code) == (True, msg.Result.OK)
    assert (batch.transitions[-1].ending, batch.transitions[-1].truncated) == ('time_limit', True)
    assert batch.completed == len(batch.transitions) == LIMIT - 1
    assert client.is_done
    for step in (lambda: client.step(STILL), lambda: client.batch_step([STILL])):
        with pytest.raises(EpisodeEnded, match='time_limit'):
            step()
    client.end()


def test_the_same_seed_leads_to_the_same_rewards(client: BoundaryClient) -> None:
    rewards = []
    for _ in range(2):
        client.reset(seed=11, options=CLEAR)
        rewards.append([t.reward for t in client.batch_step([AHEAD] * 6).transitions])
    assert rewards[0] == rewards[1]


def test_errors_come_back_as_what_they_were(world: World, client: BoundaryClient) -> None:
    with pytest.raises(ResetNeeded):
        client.end()
    with pytest.raises(DigestMismatch, match='sha256:00'):
        client.reset(digest='sha256:00')
    with pytest.raises(RequestRejected, match="expected 'warehouse_cart', got 'kitchen'"):
        client.reset(environment='kitchen')
    with pytest.raises(RequestRejected, match='scenario'):
        client.reset(options={'scenario': 'nowhere'})
    client.reset(options=CLEAR)
    with pytest.raises(InvalidAction, match='2 numbers'):
        client.step([1.0])
    with pytest.raises(InvalidAction, match='finite'):
        client.step([math.nan, 0.0])
    with pytest.raises(InvalidAction, match='at most 1 steps'):
        client.step([STILL, STILL])
    assert client.step(STILL).transitions[-1].id.step == 1


def test_spaces_say_what_the_observation_is_like(world: World, client: BoundaryClient) -> None:
    began = client.reset(options=CLEAR)
    spaces = client.spaces()
    contract = world.loaded.contract
    assert (spaces.period, spaces.agents) == (contract.period, ['cart'])
    assert [f.name for f in spaces.privileged] == ['true_pose', 'contact']
    shown = {f.name: tuple(f.shape) for f in spaces.observation}
    for field in began.observation.fields:
        if len(field.values):
            assert len(field.values) == np.prod(shown[field.name])
    first = {field.name: field for field in began.observation.fields}
    assert set(first) == {*shown}
    assert len(first['scan'].values) == 36
    assert 'true_pose' not in first


def test_the_camera_is_rendered(world: World, client: BoundaryClient) -> None:
    client.reset(options=CLEAR)
    camera = client.render()
    assert np.array_equal(camera, client.render('front'))
    assert camera.std() > 0.0


def test_a_plan_says_what_the_gate_would_do_and_does_nothing(client: BoundaryClient) -> None:
    client.reset(options=CLEAR)
    planned = client.evaluate_actions([STILL, [5.0, 0.0]])
    assert [Verdict(d.verdict).name for d in planned.decisions] == ['ADMITTED', 'LIMITED']
    assert len(planned.low) == len(planned.high) == 2
    assert client.observe().observation.id.step == 0


def test_the_example_reaches_the_goal_and_tells_of_the_gate(world: World) -> None:
    finished = subprocess.run(
        [sys.executable, str(EXAMPLE)], check=False, capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 0, finished.stderr
    *told, last = finished.stdout.splitlines()
    assert last == 'success'
    assert any('LIMITED by' in line for line in told)


# Events ------------------------------------------------------------------------------------------


def test_callbacks_may_call_the_client_and_hold_up_no_call(client: BoundaryClient) -> None:
    seen: queue.SimpleQueue[tuple[EnvironmentEvent, int]] = queue.SimpleQueue()
    go_on = threading.Event()

    def on_observation(event: EnvironmentEvent) -> None:
        seen.put((event, client.observe().observation.id.step))
        go_on.wait(_SOON)

    stop = client.on(EventKind.OBSERVATION, on_observation)
    client.reset(options=CLEAR)
    # The first callback waits; the conversation does not.
    for _ in range(3):
        client.step(AHEAD)
    go_on.set()
    told = [seen.get(timeout=_SOON) for _ in range(4)]
    assert [event.id.step for event, _ in told] == [0, 1, 2, 3]
    assert all(step >= event.id.step for event, step in told)
    stop()
    client.step(AHEAD)
    client.end()
    assert seen.empty()


def test_a_callback_that_fails_keeps_nobody_from_the_next_event(client: BoundaryClient) -> None:
    endings: queue.SimpleQueue[EnvironmentEvent] = queue.SimpleQueue()

    def on_observation(event: EnvironmentEvent) -> None:
        raise ZeroDivisionError

    client.on(EventKind.OBSERVATION, on_observation)
    client.on(EventKind.TERMINATION, endings.put)
    client.reset(options=CLEAR)
    client.end()
    assert 'abandoned' in endings.get(timeout=_SOON).reason


def test_a_callback_that_never_returns_would_not_keep_the_process(client: BoundaryClient) -> None:
    told = threading.Event()
    client.on(None, lambda event: told.set())
    client.reset(options=CLEAR)
    assert told.wait(_SOON)
    tellers = [t for t in threading.enumerate() if t.name.startswith('boundary_events')]
    assert tellers
    assert all(teller.daemon for teller in tellers)


def test_an_ending_is_known_without_a_call(world: World, client: BoundaryClient) -> None:
    client.reset(options=CLEAR)
    assert not client.is_done
    world.end_episode()
    world.probe.until(lambda: client.is_done, _SOON, 'the event of the ending')
    stepped = client.step(AHEAD)
    assert (stepped.done, stepped.transitions[-1].ending) == (True, 'abandoned')
    with pytest.raises(EpisodeEnded):
        client.step(AHEAD)


def test_no_event_comes_while_no_episode_is_active(world: World, client: BoundaryClient) -> None:
    client.reset(options=CLEAR)
    client.step(AHEAD)
    client.end()

    def ended() -> bool:
        last = world.probe.last(names.EVENT)
        return (
            last is not None
            and last.kind == EventKind.TERMINATION
            and last.id.episode_id == client.episode_id
        )

    world.probe.until(ended, _SOON, 'the event of the ending')
    heard = len(world.probe.messages(names.EVENT))
    status = len(world.probe.messages(names.EPISODE_STATUS))
    world.probe.until(
        lambda: len(world.probe.messages(names.EPISODE_STATUS)) > status + 5,
        _SOON,
        'heartbeats of the environment',
    )
    assert len(world.probe.messages(names.EVENT)) == heard
