# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Somebody in the domain who has not the key says what the processes of a boundary say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import time
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from lifecycle_msgs.msg import Transition as Lifecycle
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from std_srvs.srv import Trigger

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.decision import GateState
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.key_file import KEY_FILE, make_key
from boundary_env_ros.ros.processes import isolated_environment, NodeProcess, NodeSpec
from boundary_env_ros.storage.record_reader import open_records
from support.ros_world import PATIENT, SOON, wait_until, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_STRANGE = 0.777
"""A forward speed, m/s, that only strangers ask for."""


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(changes=PATIENT, recorder=True)


@pytest.fixture(scope='module')
def heard(world: World) -> list[bytes]:
    """Return the bytes of every request, as anybody can hear them."""
    requests: list[bytes] = []
    world.probe.node.create_subscription(
        msg.ActionRequest, names.ACTION_REQUEST, requests.append, names.RECORD, raw=True
    )
    return requests


@pytest.fixture
def env(world: World, heard: list[bytes]) -> Iterator[BoundaryEnv]:
    """Return a policy in mid-episode."""
    made = world.environment()
    made.reset(seed=3, options={'scenario': 'clear'})
    for _ in range(3):
        _step(made)
    world.probe.until(lambda: heard and _request(heard[-1]).sequence == 3, SOON, 'its request')
    yield made
    made.close()
    world.gate_rests()


def _step(env: BoundaryEnv) -> dict[str, Any]:
    *_, info = env.step(np.array([0.1, 0.0], dtype=np.float32))
    return info


def _goes_on(env: BoundaryEnv) -> None:
    """See the next action of the policy executed, and the episode run on."""
    info: dict[str, Any] = {}
    # What the policy saw before the attack may be too old to be answered by now.
    while info.get('verdict') not in ('ADMITTED', 'LIMITED'):
        info = _step(env)
        assert info['requested_action'] == pytest.approx([0.1, 0.0])
        assert not info['ending']


def _refused(world: World) -> int:
    """Return how many messages gate and recorder say to have refused."""
    said = (world.probe.last(topic) for topic in (names.GATE_STATUS, names.RECORDER_STATUS))
    return min(status.refused for status in said)


def _publish(world: World, kind: Any, topic: str, qos: Any, message: Any) -> None:
    """Publish as somebody without the key who passes for a recorder; see it refused."""
    before = _refused(world)
    stranger = rclpy.create_node('recorder', context=world.probe.node.context)
    publisher = stranger.create_publisher(kind, topic, qos)
    try:
        world.probe.until(lambda: publisher.get_subscription_count() >= 3, SOON, 'its readers')
        publisher.publish(message)
        world.probe.until(lambda: _refused(world) > before, SOON, 'a refusal by gate and recorder')
    finally:
        stranger.destroy_node()


def _request(data: bytes) -> Any:
    return deserialize_message(data, msg.ActionRequest)


def _next_request(data: bytes, authentication: bytes) -> Any:
    """Return a request with lease, name and numbers of the policy's next one."""
    request = _request(data)
    request.id.step += 1
    request.sequence += 1
    request.action = [_STRANGE, 0.0]
    request.authentication = authentication
    return request


@pytest.mark.parametrize('tagged', [False, True])
def test_a_forged_request_that_is_quicker_than_the_policy_is_not_executed(
    world: World, env: BoundaryEnv, heard: list[bytes], tagged: bool
) -> None:
    begun = time.monotonic_ns()
    lease = world.probe.last(names.GATE_STATUS).lease_id
    tag = _request(heard[-1]).authentication
    forged = _next_request(heard[-1], bytes(tag) if tagged else b'')
    assert forged.lease_id == lease
    _publish(world, msg.ActionRequest, names.ACTION_REQUEST, names.RECORD, forged)
    _goes_on(env)

    def asked() -> list[float]:
        return [d.request.action[0] for d in world.decisions(begun) if d.request is not None]

    world.probe.until(asked, SOON, 'the decision on the next request')
    assert _STRANGE not in asked()


def test_a_recorded_request_that_is_sent_again_is_refused_unread(
    world: World, env: BoundaryEnv, heard: list[bytes]
) -> None:
    begun, requests = time.monotonic_ns(), len(heard)
    _publish(world, msg.ActionRequest, names.ACTION_REQUEST, names.RECORD, heard[-1])
    world.probe.until(lambda: len(heard) == requests + 1, SOON, 'the request once more')
    decided = [d for d in world.decisions(begun) if d.decided.steady > begun]
    assert not [d for d in decided if d.request is not None]
    _goes_on(env)


def test_a_forged_end_of_the_episode_ends_nothing(world: World, env: BoundaryEnv) -> None:
    said = world.probe.last(names.EPISODE_STATUS)
    forged = deserialize_message(serialize_message(said), msg.EpisodeStatus)
    forged.state, forged.ending = msg.EpisodeStatus.TRUNCATED, 'environment_lost'
    forged.declared_by = 'recorder'
    _publish(world, msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED, forged)
    _goes_on(env)


@pytest.mark.parametrize('node', ['safety_gate', 'environment'])
@pytest.mark.parametrize('transition', ['DEACTIVATE', 'ACTIVE_SHUTDOWN'])
def test_nobody_takes_gate_or_environment_away_while_an_episode_runs(
    world: World, env: BoundaryEnv, node: str, transition: str
) -> None:
    request = ChangeState.Request()
    request.transition.id = getattr(Lifecycle, f'TRANSITION_{transition}')
    assert not world.probe.call(ChangeState, f'{node}/change_state', request).success
    _goes_on(env)


def test_the_emergency_stop_is_pressed_by_anybody_and_released_by_who_has_the_key(
    world: World,
) -> None:
    assert world.probe.call(Trigger, 'safety_gate/emergency_stop', Trigger.Request()).success
    latched = GateState.EMERGENCY_STOPPED
    world.probe.until(lambda: world.gate_state() is latched, SOON, 'the stop')

    stranger = world.probe.node.create_client(srv.OperatorCall, 'safety_gate/clear_emergency_stop')
    world.probe.until(stranger.service_is_ready, SOON, 'the service')
    answer = stranger.call_async(srv.OperatorCall.Request(caller='ada'))
    world.probe.until(answer.done, SOON, 'an answer')
    assert answer.result().result.code == ResultCode.NOT_AUTHENTIC
    assert world.gate_state() is latched
    assert not world.probe.last(names.GATE_STATUS).released_by

    assert world.clears()
    world.gate_rests()
    assert world.probe.last(names.GATE_STATUS).released_by == 'ada'


def test_a_parameter_makes_limits_stricter_and_the_key_makes_them_looser(world: World) -> None:
    def set_high(*values: float) -> bool:
        high = Parameter('stricter.high', value=list(values)).to_parameter_msg()
        request = SetParameters.Request(parameters=[high])
        service = 'safety_gate/set_parameters'
        [result] = world.probe.call(SetParameters, service, request).results
        return bool(result.successful)

    def limits() -> tuple[float, ...]:
        return tuple(world.probe.last(names.GATE_STATUS).runtime_limits.high)

    assert set_high(0.3, 1.0)
    assert not set_high(0.4, 1.0)
    world.probe.until(lambda: limits() == (0.3, 1.0), SOON, 'the stricter limits')
    assert not world.operator_call('loosen').code
    world.probe.until(lambda: not limits(), SOON, 'the limits of the contract')


def test_a_client_without_the_key_is_told_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv('ROS_HOME', str(tmp_path))
        env = world.environment()
        with pytest.raises(RequestRejected, match='it bears no authentication') as refused:
            env.reset(seed=3)
        assert refused.value.code is ResultCode.NOT_AUTHENTIC
    world.gate_rests()


@contextmanager
def _beginning(world: World, log: Path, **variables: str) -> Iterator[None]:
    """Configure an environment that has heard nobody, in a namespace of its own."""
    node = NodeProcess(
        NodeSpec(name='environment', parameters={}),
        environment={**isolated_environment(world.domain_id), **variables},
        log=log,
        namespace='elsewhere',
    )
    try:
        request = ChangeState.Request()
        request.transition.id = Lifecycle.TRANSITION_CONFIGURE
        service = '/elsewhere/environment/change_state'
        assert world.probe.call(ChangeState, service, request).success
        yield
    finally:
        node.stop()


def test_a_node_without_a_key_says_that_it_hears_everybody(world: World, tmp_path: Path) -> None:
    log = tmp_path / 'output.txt'
    with _beginning(world, log, ROS_HOME=str(tmp_path)):
        wait_until(lambda: 'There is no key' in log.read_text(), SOON, 'a warning')


def test_a_node_that_begins_refuses_what_was_recorded_under_the_same_key(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, topic = tmp_path / 'output.txt', f'/elsewhere/{names.GATE_STATUS}'
    with (
        _beginning(world, log),
        world.probe.publisher(msg.GateStatus, topic, names.LATCHED) as publisher,
    ):
        with monkeypatch.context() as then:
            before = time.time_ns() - 60 * NANOSECONDS
            then.setattr(time, 'time_ns', lambda: before)
            publisher.publish(msg.GateStatus())
        wait_until(lambda: 'its number was used' in log.read_text(), SOON, 'a refusal')


def test_the_audit_tells_of_messages_that_were_refused(world: World) -> None:
    """Runs last: it needs what the tests before have done."""
    world.drain()
    world.processes['recorder'].stop()
    report = audit_path(world.run)
    assert report.counts['authentic'] == 1
    assert report.ok, f'\n{report}'
    logged = [m.decode().msg for m in open_records(world.run).messages(['/rosout'])]
    assert any('its number was used' in text for text in logged), logged


@pytest.mark.parametrize(
    'kind', [msg.ActionRequest, msg.EpisodeStatus, msg.GateDecision, msg.GateStatus]
)
def test_what_rclpy_leaves_behind_the_last_field_is_not_sealed(
    kind: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Of an empty message it serializes up to 24 bytes more than there are.
    monkeypatch.setenv(KEY_FILE, str(tmp_path / 'key'))
    make_key(tmp_path / 'key')
    own = Authenticity(0, Role.SAFETY_GATE)
    sent: list[bytes] = []
    publisher = SimpleNamespace(msg_type=kind, topic_name='/topic', publish=sent.append)
    own.publisher(publisher).publish(kind())
    verifier = own.verifier(kind, '/topic')
    assert verifier is not None
    assert not verifier(sent[0])
    assert len(deserialize_message(sent[0], kind).authentication) == 48


# Lockstep ----------------------------------------------------------------------------------------


def test_a_forged_answer_of_the_world_moves_nothing_on(make_world: MakeWorld) -> None:
    world = make_world(pacing='lockstep', changes=PATIENT)
    env = world.environment()
    env.reset(seed=3, options={'scenario': 'clear'})
    _step(env)
    status = world.probe.last(names.EPISODE_STATUS)
    forged = msg.SimStepResponse(id=status.id, success=False, message='forged')
    forged.id.step += 1
    node = world.probe.node
    publisher = node.create_publisher(msg.SimStepResponse, names.SIM_STEP_RESPONSE, names.RECORD)
    world.probe.until(lambda: publisher.get_subscription_count() >= 2, SOON, 'its readers')
    publisher.publish(forged)
    world.probe.until(
        lambda: world.probe.last(names.GATE_STATUS).refused, SOON, 'a refusal by the gate'
    )
    node.destroy_publisher(publisher)
    assert _step(env)['ending'] != 'simulation_failed'
