# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields that are looked up in the frames that other nodes tell on /tf and /tf_static."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import math
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import Transition as Lifecycle
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.conversions import set_time
from support.ros_world import PATIENT, Probe, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 20.0
_STILL = np.zeros(2, dtype=np.float32)
_MAX_AGE = 1.0
_PERIOD = 0.05

# Of the camera on its mount: x, y, z in m, yaw in rad.
_MOUNT = (0.3, 0.1, 0.5, 0.5)

_CHANGES: Mapping[str, Any] = {
    **PATIENT,
    'observation': {
        **PATIENT['observation'],
        # One transform that moves, and one that does not.
        'where': {
            'transform': {'in': 'room', 'of': 'eye'},
            'fields': ['translation.x', 'translation.y', 'yaw(rotation)'],
            'unit': ['m', 'm', 'rad'],
            'low': [-20.0, -20.0, -3.1416],
            'high': [20.0, 20.0, 3.1416],
            'max_age': _MAX_AGE,
        },
        'board': {
            'transform': {'in': 'room', 'of': 'board'},
            'parts': ['translation'],
            'low': -20.0,
            'high': 20.0,
            'max_age': _MAX_AGE,
            'on_stale': 'truncate',
        },
        'mount': {
            'transform': {'in': 'trolley', 'of': 'eye'},
            'parts': ['translation'],
            'low': -20.0,
            'high': 20.0,
            'max_age': _MAX_AGE,
            'on_stale': 'truncate',
        },
    },
    'episode': {'time_limit': 30.0, 'reset': {'deadline': 5.0}},
}


def _pose(stamp: int) -> tuple[float, float, float, float]:
    """Return where the cart is at an instant in ns: a pose tells when it was."""
    phase = stamp / NANOSECONDS % 10.0
    return 0.7 * phase, -0.2 * phase, 0.0, 0.3 * phase - 1.5


def _camera(stamp: int) -> tuple[float, float, float]:
    """Return x, y and yaw of the camera at an instant in ns."""
    x, y, _, yaw = _pose(stamp)
    ahead, aside, _, turned = _MOUNT
    return (
        x + ahead * math.cos(yaw) - aside * math.sin(yaw),
        y + ahead * math.sin(yaw) + aside * math.cos(yaw),
        yaw + turned,
    )


def _transform(
    parent: str, child: str, pose: tuple[float, float, float, float], stamp: int
) -> TransformStamped:
    made = TransformStamped(child_frame_id=child)
    made.header.frame_id = parent
    set_time(made.header.stamp, stamp)
    made.transform.translation.x, made.transform.translation.y = pose[0], pose[1]
    made.transform.translation.z = pose[2]
    made.transform.rotation.z = math.sin(pose[3] / 2.0)
    made.transform.rotation.w = math.cos(pose[3] / 2.0)
    return made


class Broadcasts:
    """
    The transforms of the hall: cart and board move, the camera is fixed to the cart.

    Parameters
    ----------
    probe
        Its node publishes.
    clock
        What the transforms that move are stamped with, ns.
    topic
        Where they are published.

    """

    def __init__(
        self, probe: Probe, clock: Callable[[], int] = time.time_ns, topic: str = '/tf'
    ) -> None:
        self._node = probe.node
        self._clock = clock
        # As the broadcasters of tf2 do it.
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._moving = self._node.create_publisher(TFMessage, topic, 100)
        self._fixed = self._node.create_publisher(TFMessage, f'{topic}_static', latched)
        fixed = _transform('trolley', 'eye', _MOUNT, time.time_ns())
        self._fixed.publish(TFMessage(transforms=[fixed]))
        self.silent: set[str] = set()
        self.sent: dict[str, list[int]] = {'trolley': [], 'board': []}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name='broadcasts')
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_PERIOD):
            for child, stamps in self.sent.items():
                if child not in self.silent:
                    stamps.append(self._clock())
                    made = _transform('room', child, _pose(stamps[-1]), stamps[-1])
                    self._moving.publish(TFMessage(transforms=[made]))

    def close(self) -> None:
        """Publish no more; what is fixed is no longer latched either."""
        self._over.set()
        self._thread.join()
        for publisher in (self._moving, self._fixed):
            self._node.destroy_publisher(publisher)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(changes=_CHANGES)


@pytest.fixture(scope='module')
def env(world: World) -> BoundaryEnv:
    return world.environment(startup_timeout=_SOON)


@pytest.fixture
def tf(world: World) -> Iterator[Broadcasts]:
    """Return transforms that are published from now on, until the test is over."""
    made = Broadcasts(world.probe)
    yield made
    made.close()
    world.end_episode()


def _field(env: BoundaryEnv, name: str) -> ObservationField:
    assert env.last is not None
    return next(f for f in env.last.transition.after if f.name == name)


def _captured(env: BoundaryEnv, name: str) -> int:
    captured = _field(env, name).captured
    assert captured is not None
    return captured.nanoseconds


def _reset(env: BoundaryEnv) -> None:
    env.reset(seed=1, options={'scenario': 'clear'})


def _step_until(env: BoundaryEnv, condition: Callable[[], bool]) -> dict[str, Any]:
    """Step until something is so, and return the last step's info."""
    deadline = time.monotonic() + _SOON
    while True:
        assert time.monotonic() < deadline
        *_, truncated, info = env.step(_STILL)
        if condition():
            return info
        assert not truncated, info['ending']


def _change(world: World, *transitions: int) -> None:
    bring_up = BringUp(domain_id=world.domain_id)
    try:
        for transition in transitions:
            bring_up.change(world.processes['environment'], transition, time.monotonic() + _SOON)
    finally:
        bring_up.close()


def test_a_transform_that_nobody_publishes_holds_the_reset_which_names_it(
    env: BoundaryEnv,
) -> None:
    with pytest.raises(
        ResetFailed,
        match=r"missing: .*where \(tf:eye in room: Unknown frame .*got 'room'.*, "
        r"board \(tf:board in room: Unknown frame .*got 'room'",
    ):
        _reset(env)


def test_the_values_are_those_of_the_stamp_that_they_carry(
    env: BoundaryEnv, tf: Broadcasts
) -> None:
    _reset(env)
    seen = set()
    for _ in range(10):
        observation, *_ = env.step(_STILL)
        assert env.observation_space.contains(observation)
        where, captured = _field(env, 'where'), _captured(env, 'where')
        assert where.status is FieldStatus.FRESH
        assert (where.source, where.frame_id) == ('tf:eye in room', 'room')
        assert where.age is not None
        assert 0.0 < where.age < _MAX_AGE
        assert where.published is where.arrived is None
        assert captured in tf.sent['trolley']
        assert where.values == pytest.approx(_camera(captured), abs=1e-9)
        assert observation['where'] == pytest.approx(_camera(captured), abs=1e-5)
        board = _field(env, 'board')
        assert board.values == pytest.approx(_pose(_captured(env, 'board'))[:3], abs=1e-9)
        seen.add(captured)
    assert len(seen) > 1


def test_a_transform_whose_broadcaster_stops_ages_and_a_static_one_does_not(
    env: BoundaryEnv, tf: Broadcasts
) -> None:
    _reset(env)
    tf.silent.add('trolley')
    _step_until(env, lambda: _field(env, 'where').status is not FieldStatus.FRESH)
    where = _field(env, 'where')
    assert where.status is FieldStatus.STALE
    assert where.age is not None
    assert where.age > _MAX_AGE
    last = tf.sent['trolley'][-1]
    assert _captured(env, 'where') == last
    assert where.values == pytest.approx(_camera(last), abs=1e-9)
    for name in ('board', 'mount'):
        assert _field(env, name).status is FieldStatus.FRESH

    tf.silent.clear()
    _step_until(env, lambda: _field(env, 'where').status is FieldStatus.FRESH)


def test_a_static_transform_is_as_new_as_its_look_up_in_every_episode(
    env: BoundaryEnv, tf: Broadcasts
) -> None:
    for _ in range(2):
        _reset(env)
        assert _captured(env, 'mount') > tf.sent['trolley'][0]
        for _ in range(5):
            before = _captured(env, 'mount')
            env.step(_STILL)
            mount = _field(env, 'mount')
            assert mount.status is FieldStatus.FRESH
            assert mount.values == pytest.approx(_MOUNT[:3], abs=1e-9)
            assert _captured(env, 'mount') > before


def test_a_lost_transform_ends_the_episode_if_the_contract_says_so(
    env: BoundaryEnv, tf: Broadcasts
) -> None:
    _reset(env)
    tf.silent.add('board')
    info = _step_until(env, lambda: _field(env, 'board').status is not FieldStatus.FRESH)
    assert (info['ending'], info['declared_by']) == ('sensor_lost', 'environment')
    assert env.last is not None
    assert env.last.transition.truncated
    assert not env.last.transition.terminated
    assert _captured(env, 'board') == tf.sent['board'][-1]


def test_what_was_known_before_the_reset_does_not_begin_an_episode(
    env: BoundaryEnv, tf: Broadcasts
) -> None:
    _reset(env)
    tf.silent.add('trolley')
    with pytest.raises(ResetFailed, match=r'missing: where \(tf:eye in room: never heard\)\)$'):
        _reset(env)


def test_a_cleanup_lets_go_of_tf_and_another_configuration_begins_anew(
    world: World, env: BoundaryEnv, tf: Broadcasts
) -> None:
    node = world.probe.node

    for _ in range(2):
        _change(world, Lifecycle.TRANSITION_DEACTIVATE, Lifecycle.TRANSITION_CLEANUP)
        world.probe.until(
            lambda: not any(map(node.count_subscribers, ('/tf', '/tf_static'))),
            _SOON,
            'no listener to tf',
        )
        _change(world, Lifecycle.TRANSITION_CONFIGURE, Lifecycle.TRANSITION_ACTIVATE)
        world.probe.until(
            lambda: node.count_subscribers('/tf') == node.count_subscribers('/tf_static') == 1,
            _SOON,
            'one listener to tf',
        )
        _reset(env)
        assert _field(env, 'where').status is FieldStatus.FRESH
        world.end_episode()
    log = (world.folder / 'logs' / 'environment.log').read_text()
    assert 'Traceback' not in log


def test_a_transform_that_its_publisher_does_not_stamp_is_not_taken_for_a_static_one(
    world: World, env: BoundaryEnv
) -> None:
    # What tf knows of earlier stamps goes with the buffer.
    _change(
        world,
        Lifecycle.TRANSITION_DEACTIVATE,
        Lifecycle.TRANSITION_CLEANUP,
        Lifecycle.TRANSITION_CONFIGURE,
        Lifecycle.TRANSITION_ACTIVATE,
    )
    unstamped = Broadcasts(world.probe, clock=lambda: 0)
    try:
        with pytest.raises(ResetFailed, match=r'missing: .*board \(tf:board in room: Unknown'):
            _reset(env)
        reason = '(expected a stamp, got 0). It is not used.'
        log = world.folder / 'logs' / 'environment.log'
        world.probe.until(lambda: reason in log.read_text(), _SOON, f'in the log: {reason}')
    finally:
        unstamped.close()


def test_frames_on_another_topic_are_named_with_what_to_write(
    world: World, env: BoundaryEnv
) -> None:
    elsewhere = Broadcasts(world.probe, topic='/robot1/tf')
    refusals = ['']

    def is_named() -> bool:
        with pytest.raises(ResetFailed) as refusal:
            _reset(env)
        refusals.append(str(refusal.value))
        return '/robot1/tf has the frames' in refusals[-1]

    try:
        world.probe.until(is_named, 3 * _SOON, 'the other topic in the message')
    finally:
        elsewhere.close()
    assert (
        "got 'room'). /robot1/tf has the frames board, eye, room, trolley: "
        'write `robot: {tf: robot1/tf}` in the contract.'
    ) in refusals[-1]


@pytest.mark.nightly
def test_a_contract_names_the_topic_of_the_frames(make_world: MakeWorld) -> None:
    world = make_world(recorder=True, changes={**_CHANGES, 'robot': {'tf': 'robot1/tf'}})
    env = world.environment(startup_timeout=_SOON)
    robot, other = (Broadcasts(world.probe, topic=topic) for topic in ('/robot1/tf', '/tf'))
    other.silent.update(other.sent)
    try:
        _reset(env)
        for _ in range(5):
            env.step(_STILL)
            captured = _captured(env, 'where')
            assert captured in robot.sent['trolley']
            assert _field(env, 'where').values == pytest.approx(_camera(captured), abs=1e-9)
            assert _field(env, 'mount').status is FieldStatus.FRESH
        world.drain()
    finally:
        robot.close()
        other.close()
    assert audit_path(world.run).outcome is not AuditOutcome.CONTRADICTED
