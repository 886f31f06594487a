# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields that tf is asked for: real tf2 where it is installed, a refusal where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
import math
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import Transition as Lifecycle

from boundary_env_ros.core.environment.observation import FieldStatus, ObservationField
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import LinkError, ResetFailed
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros.conversions import set_time
from boundary_env_ros.ros.processes import BringUp
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
            'transform': {'in': 'hall', 'of': 'camera'},
            'fields': ['translation.x', 'translation.y', 'yaw(rotation)'],
            'unit': ['m', 'm', 'rad'],
            'low': [-20.0, -20.0, -3.1416],
            'high': [20.0, 20.0, 3.1416],
            'max_age': _MAX_AGE,
        },
        'board': {
            'transform': {'in': 'hall', 'of': 'board'},
            'parts': ['translation'],
            'low': -20.0,
            'high': 20.0,
            'max_age': _MAX_AGE,
            'on_stale': 'truncate',
        },
        'mount': {
            'transform': {'in': 'base_link', 'of': 'camera'},
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
    tf2_ros
        The module.
    probe
        Its node publishes.
    clock
        What the transforms that move are stamped with, ns.

    """

    def __init__(
        self, tf2_ros: Any, probe: Probe, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._node = probe.node
        self._clock = clock
        self._moving = tf2_ros.TransformBroadcaster(self._node)
        self._fixed = tf2_ros.StaticTransformBroadcaster(self._node)
        self._fixed.sendTransform(_transform('base_link', 'camera', _MOUNT, time.time_ns()))
        self.silent: set[str] = set()
        self.sent: dict[str, list[int]] = {'base_link': [], 'board': []}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name='broadcasts')
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_PERIOD):
            for child, stamps in self.sent.items():
                if child not in self.silent:
                    stamps.append(self._clock())
                    made = _transform('hall', child, _pose(stamps[-1]), stamps[-1])
                    self._moving.sendTransform(made)

    def close(self) -> None:
        """Publish no more; what is fixed is no longer latched either."""
        self._over.set()
        self._thread.join()
        for broadcaster in (self._moving, self._fixed):
            self._node.destroy_publisher(broadcaster.pub_tf)


@pytest.fixture(scope='module')
def tf2_ros() -> Any:
    return pytest.importorskip('tf2_ros', reason='needs tf2, which is on no package index')


@pytest.fixture(scope='module')
def world(tf2_ros: Any, make_world: MakeWorld) -> World:
    return make_world(changes=_CHANGES)


@pytest.fixture(scope='module')
def env(world: World) -> BoundaryEnv:
    return world.environment(startup_timeout=_SOON)


@pytest.fixture
def tf(tf2_ros: Any, world: World) -> Iterator[Broadcasts]:
    """Return transforms that are published from now on, until the test is over."""
    made = Broadcasts(tf2_ros, world.probe)
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


# With tf2 ---------------------------------------------------------------------------------------


def test_a_transform_that_nobody_publishes_holds_the_reset_which_names_it(
    world: World, env: BoundaryEnv
) -> None:
    with pytest.raises(
        ResetFailed,
        match=r'missing: .*where \(tf:camera in hall\), board \(tf:board in hall\)',
    ):
        _reset(env)
    # The reason is tf's own.
    log, reason = world.folder / 'logs' / 'environment.log', 'board (board in hall): "hall" passed'
    world.probe.until(lambda: reason in log.read_text(), _SOON, f'in the log: {reason}')


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
        assert (where.source, where.frame_id) == ('tf:camera in hall', 'hall')
        assert where.age is not None
        assert 0.0 < where.age < _MAX_AGE
        assert where.published is where.arrived is None
        assert captured in tf.sent['base_link']
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
    tf.silent.add('base_link')
    _step_until(env, lambda: _field(env, 'where').status is not FieldStatus.FRESH)
    where = _field(env, 'where')
    assert where.status is FieldStatus.STALE
    assert where.age is not None
    assert where.age > _MAX_AGE
    last = tf.sent['base_link'][-1]
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
        assert _captured(env, 'mount') > tf.sent['base_link'][0]
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
    tf.silent.add('base_link')
    with pytest.raises(ResetFailed, match=r'missing: where \(tf:camera in hall\)$'):
        _reset(env)


def test_a_cleanup_lets_go_of_tf_and_another_configuration_begins_anew(
    world: World, env: BoundaryEnv, tf: Broadcasts
) -> None:
    node = world.probe.node

    def services() -> set[str]:
        return {name for name, _ in node.get_service_names_and_types()}

    for _ in range(2):
        _change(world, Lifecycle.TRANSITION_DEACTIVATE, Lifecycle.TRANSITION_CLEANUP)
        world.probe.until(
            lambda: not any(map(node.count_subscribers, ('/tf', '/tf_static'))),
            _SOON,
            'no listener to tf',
        )
        world.probe.until(lambda: '/tf2_frames' not in services(), _SOON, 'no service of tf')
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
    tf2_ros: Any, world: World, env: BoundaryEnv
) -> None:
    # What tf knows of earlier stamps goes with the buffer.
    _change(
        world,
        Lifecycle.TRANSITION_DEACTIVATE,
        Lifecycle.TRANSITION_CLEANUP,
        Lifecycle.TRANSITION_CONFIGURE,
        Lifecycle.TRANSITION_ACTIVATE,
    )
    unstamped = Broadcasts(tf2_ros, world.probe, clock=lambda: 0)
    try:
        with pytest.raises(ResetFailed, match=r'missing: .*board \(tf:board in hall\)'):
            _reset(env)
        reason = 'board (board in hall): Lookup would require extrapolation'
        log = world.folder / 'logs' / 'environment.log'
        world.probe.until(lambda: reason in log.read_text(), _SOON, f'in the log: {reason}')
    finally:
        unstamped.close()


# Without tf2 ------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec('tf2_ros') is not None, reason='tf2 is installed')
def test_without_tf2_the_environment_refuses_and_names_the_fields_and_the_way_out(
    make_world: MakeWorld,
) -> None:
    with pytest.raises(LinkError, match='node environment refused to be configured') as refusal:
        make_world(changes=_CHANGES)
    message = str(refusal.value)
    assert '(where, board, mount)' in message
    assert "No module named 'tf2_ros'" in message
    assert 'ros-$ROS_DISTRO-tf2-ros-py' in message
    assert 'take the pose from a topic' in message
    # The refusal ends with what the node said last.
    assert message.count('[ERROR]') == 1
    assert 'Traceback' not in message
