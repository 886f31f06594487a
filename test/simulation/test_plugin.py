# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A plugin keeps its own time in its own process, and whatever it does there the robot answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from gymnasium import spaces
import numpy as np
import pytest
import yaml

from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.errors import BoundaryError, InvalidState, SimulationFailed
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.simulation.plugin import EnvironmentPlugin
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load
from support import odd_plugins

EXAMPLES = Path(__file__).parents[2] / 'examples'
PERIOD = 100_000_000
START = PERIOD
_SOON = 20.0


def joints(topic: str, names: list[str], **keys: Any) -> dict[str, Any]:
    return {'topic': topic, 'type': 'sensor_msgs/msg/JointState', 'joints': names, **keys}


def contract_data() -> dict[str, Any]:
    """Return the contract of a place that is pushed along, made from that of the pendulum."""
    data: dict[str, Any] = yaml.safe_load((EXAMPLES / 'pendulum.yaml').read_text())
    data.update(contract='place', period=0.1, agents=['pusher'])
    fresh = {'max_age': 0.5, 'on_stale': 'truncate'}
    data['observation'] = {'place': joints('place', ['x'], unit='m', low=-9.0, high=99.0, **fresh)}
    data['state']['outcome'].update(
        joints=['way', 'cost', 'done'], unit='', low=-1000.0, high=1000.0, **fresh
    )
    data['action'] = {
        'push': joints('push', ['speed'], quantity=['effort'], unit='m/s', low=-2.0, high=3.0,
                       safe=0.0, max_effort_rate=90.0, driver_timeout=0.4,
                       feedback=joints('push/applied', ['speed'], threshold=0.01)),
    }  # fmt: skip
    data['safety'].update(
        hold_timeout=0.15, command_timeout=0.5, max_action_age=0.5, sensor_timeout=0.5
    )
    start = {'low': [0.0], 'high': [3.0], 'unit': ['m']}
    data['task']['parameters'] = {'rewards': ['way', 'cost'], 'start': {'start': start}}
    data['episode']['reset']['tolerance'] = {'start': [0.001]}
    return data


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(data: dict[str, Any]) -> Path:
        path = tmp_path / 'place.yaml'
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path

    return write


@pytest.fixture
def file(write: Callable[..., Path]) -> Path:
    return write(contract_data())


@pytest.fixture
def make(file: Path) -> Iterator[Callable[..., PluginRobot]]:
    """Return a maker of robots, whose processes end with the test."""
    with ExitStack() as stack:

        def make(
            plugin: type[EnvironmentPlugin] | str = odd_plugins.Plain,
            contract: Path = file,
            **options: float,
        ) -> PluginRobot:
            made = PluginRobot(
                load(contract).contract, start=START, options=options, plugin=plugin
            )
            stack.callback(made.close)
            return made

        yield make


def reset(robot: PluginRobot, x: float = 0.0, at: int = START) -> str:
    target = NamedValues(name='start', values=(x,), unit=('m',))
    return robot.reset(ResetWorld(seed=1, target=(target,)), at).error


def shown(emissions: tuple[Emission, ...], topic: str) -> list[tuple[int, list[float]]]:
    """Return stamp and values of what was sent on a topic."""
    return [(e.stamp, e.fields['position']) for e in emissions if e.topic == topic and e.fields]


def gone(pid: int) -> bool:
    """Wait for a process to end."""
    deadline = time.monotonic() + _SOON
    while Path(f'/proc/{pid}').exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def children() -> set[int]:
    """Return the processes that this one has started and that are there yet."""
    found = set()
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            parent = stat.read_text().rpartition(')')[2].split()[1]
        except OSError:
            continue  # It ended just now.
        if int(parent) == os.getpid():
            found.add(int(stat.parent.name))
    return found


# What it does ------------------------------------------------------------------------------------


def test_sensors_set_points_and_rewards_go_over_topics_of_the_contract(
    make: Callable[..., PluginRobot],
) -> None:
    robot = make()
    assert set(robot.topics) == {'place', 'outcome', 'push/applied'}
    assert reset(robot, 2.0) == ''
    robot.command('push', (2.0,), START)
    sent = robot.advance(START + 2 * PERIOD)
    assert [s for s, _ in shown(sent, 'place')] == [START, START + PERIOD, START + 2 * PERIOD]
    assert [v for _, (v,) in shown(sent, 'place')] == pytest.approx([2.0, 2.2, 2.4])
    assert [v for _, (v,) in shown(sent, 'push/applied')] == [0.0, 2.0, 2.0]
    # Summed up, so that whoever misses one loses nothing.
    assert shown(sent, 'outcome')[-1][1] == pytest.approx([0.4, -0.5, 0.0])


def test_what_other_devices_send_needs_no_sensor_of_the_plugin(
    write: Callable[..., Path], make: Callable[..., PluginRobot]
) -> None:
    data = contract_data()
    data['safety']['operator'] = {
        'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]'], 'scale': [1.0],
        'enable': 'buttons[4]', 'timeout': 0.3,
    }  # fmt: skip
    assert 'joy' not in make(contract=write(data)).topics


def test_end_of_the_world_is_told_and_it_is_not_updated_beyond(
    make: Callable[..., PluginRobot],
) -> None:
    robot = make()
    reset(robot, 3.0)
    robot.command('push', (3.0,), START)
    sent = robot.advance(START + 9 * PERIOD)
    robot.command('push', (3.0,), START + 9 * PERIOD)
    assert shown(sent, 'outcome')[-1][1][-1] == 0.0 or shown(sent, 'place')[-1][1][0] > 5.0
    sent += robot.advance(START + 30 * PERIOD)
    assert shown(sent, 'outcome')[-1][1][-1] == 1.0
    assert 5.0 < shown(sent, 'place')[-1][1][0] < 5.31
    assert reset(robot, at=START + 30 * PERIOD) == ''
    assert shown(robot.advance(START + 30 * PERIOD), 'outcome')[-1][1] == [0.0, 0.0, 0.0]


def test_plugin_keeps_its_own_time(make: Callable[..., PluginRobot]) -> None:
    robot = make(odd_plugins.GoesFarther)
    reset(robot)
    quarter = 250_000_000
    # It goes farther than it is asked to; what it measured there is sent when that time has come.
    assert shown(robot.advance(START + PERIOD), 'place') == [(START, [0.0])]
    assert shown(robot.advance(START + 2 * PERIOD), 'place') == []
    assert shown(robot.advance(START + 3 * PERIOD), 'place') == [(START + quarter, [1.0])]
    sent = robot.advance(START + 10 * PERIOD)
    assert [s for s, _ in shown(sent, 'place')] == [START + n * quarter for n in (2, 3, 4)]


def test_command_that_nobody_repeats_becomes_the_safe_one(
    make: Callable[..., PluginRobot],
) -> None:
    robot = make()
    reset(robot)
    robot.command('push', (1.0,), START)
    sent = robot.advance(START + 7 * PERIOD)
    assert [v for _, (v,) in shown(sent, 'push/applied')] == [
        0.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        0.0,
        0.0,
    ]


def test_pixels_of_a_camera_are_an_image(
    make: Callable[..., PluginRobot], write: Callable[..., Path]
) -> None:
    data = contract_data()
    data['observation']['screen'] = {
        'topic': 'screen', 'type': 'sensor_msgs/msg/Image', 'encoding': 'rgb8',
        'shape': [4, 6, 3], 'max_age': 0.5,
    }  # fmt: skip
    file = write(data)
    env = BoundaryEnv(file, world='embedded', robot=make(odd_plugins.Sees, file))
    observation, _ = env.reset(seed=1, options={'start': [2.0]})
    assert np.array_equal(observation['screen'], np.full((4, 6, 3), 20, np.uint8))
    observation, *_ = env.step(np.array([3.0], np.float32))
    assert np.array_equal(observation['screen'], np.full((4, 6, 3), 23, np.uint8))
    env.close()


def test_what_a_plugin_prints_is_no_output_of_the_program(
    make: Callable[..., PluginRobot], capfd: pytest.CaptureFixture[str]
) -> None:
    robot = make(odd_plugins.Talks)
    robot.advance(START + 2 * PERIOD)
    robot.close()
    written = capfd.readouterr()
    assert written.out == ''
    assert written.err.count('"update"') == 2


# Behind the boundary -----------------------------------------------------------------------------


def test_rewards_are_terms_and_its_end_is_that_of_the_episode(
    file: Path, make: Callable[..., PluginRobot]
) -> None:
    seen: list[object] = []
    env = BoundaryEnv(file, world='embedded', robot=make(), sink=seen.append)
    env.reset(seed=3, options={'start': [3.0]})
    rewards = []
    ended = False
    while not ended:
        _, reward, terminated, truncated, info = env.step(np.array([3.0], np.float32))
        rewards.append(reward)
        ended = terminated or truncated
    env.close()
    assert (terminated, info['ending']) == (True, 'failure')
    assert rewards == pytest.approx([0.3 - 0.25] * len(rewards))
    terms = [t.reward_terms for t in seen if hasattr(t, 'reward_terms')][-1]
    assert [term.name for term in terms] == ['way', 'cost']
    assert [term.value for term in terms] == pytest.approx([0.3, -0.25])


@pytest.mark.parametrize(
    ('plugin', 'message'),
    [
        (odd_plugins.Hangs, 'did not answer to update: nothing within 0.5 s; it was killed'),
        (odd_plugins.Dies, r'did not answer to update: its process ended \(exit code 3\)'),
        (odd_plugins.Raises, 'in update: ZeroDivisionError: no way back'),
        (odd_plugins.NamesNoReward, 'expected finite rewards way .* got cost = -0.25'),
        (odd_plugins.StandsStill, 'to let time pass in update, got 0.0 s'),
        (odd_plugins.MeasuresTooMuch, "Wrong size of the sensor 'place' .*expected 1 numbers"),
    ],
)
def test_plugin_that_fails_is_named_with_what_it_was_asked(
    make: Callable[..., PluginRobot], plugin: type[EnvironmentPlugin], message: str
) -> None:
    robot = make(plugin, update_deadline=0.5)
    robot.command('push', (-1.0,), START)
    for _ in range(2):
        with pytest.raises(SimulationFailed, match=message):
            robot.advance(START + PERIOD)
    # And the next episode gets a world again.
    assert reset(robot, at=START) == ''


def test_kill_minus_nine_ends_the_episode_and_the_next_one_has_a_new_process(
    file: Path, make: Callable[..., PluginRobot]
) -> None:
    robot = make()
    env = BoundaryEnv(file, world='embedded', robot=robot)
    env.reset(seed=1)
    env.step(np.array([0.5], np.float32))
    first = robot.pid
    os.kill(first, signal.SIGKILL)
    *_, terminated, truncated, info = env.step(np.array([0.5], np.float32))
    assert (terminated, truncated, info['ending']) == (False, True, 'simulation_failed')
    env.reset(seed=2)
    assert robot.pid != first
    *_, terminated, truncated, _ = env.step(np.array([0.5], np.float32))
    assert not terminated
    assert not truncated
    env.close()


def test_reset_that_it_cannot_do_is_an_answer(make: Callable[..., PluginRobot]) -> None:
    robot = make()
    assert 'in reset: ValueError: there is a wall' in reset(robot, 4.5)
    assert 'expected finite numbers' in reset(robot, float('nan'))
    assert reset(robot, 1.0) == ''


# What it must have -------------------------------------------------------------------------------


def _actuator_missing(data: dict[str, Any]) -> None:
    data['action']['push']['topic'] = 'pull'
    data['action']['push']['feedback']['topic'] = 'pull/applied'


def _sensor_missing(data: dict[str, Any]) -> None:
    data['observation']['place']['topic'] = 'somewhere'


def _beyond(data: dict[str, Any]) -> None:
    data['action']['push']['high'] = 4.0


def _of_another_size(data: dict[str, Any]) -> None:
    group = data['action']['push']
    group['joints'] = group['feedback']['joints'] = ['speed', 'turn']


def _of_another_type(data: dict[str, Any]) -> None:
    field = data['observation']['place']
    del field['joints']
    field.update(type='geometry_msgs/msg/PointStamped', fields=['point.x'])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (_actuator_missing, "an actuator 'pull', which .*got push"),
        (_sensor_missing, "a sensor 'somewhere', which .*got place, outcome, push/applied"),
        (_beyond, r'for push.speed within -3 to 3, which the plugin obeys, got -2 to 4'),
        (_of_another_size, r'expected 2 values of the actuator .push., .* got 1 \(speed\)'),
        (_of_another_type, 'expected the type sensor_msgs/msg/JointState or std_msgs'),
    ],
)
def test_contract_that_names_what_a_plugin_has_not_is_refused(
    make: Callable[..., PluginRobot],
    write: Callable[..., Path],
    change: Callable[[dict[str, Any]], None],
    message: str,
) -> None:
    data = contract_data()
    change(data)
    before = children()
    with pytest.raises(BoundaryError, match=message) as refused:
        make(contract=write(data))
    # Also while somebody holds the error.
    assert children() <= before, refused


@pytest.mark.parametrize(
    ('plugin', 'message'),
    [
        (
            'support.odd_plugins:NoPlugin',
            'in start: TypeError: expected a subclass of EnvironmentPlugin',
        ),
        ('support.odd_plugins:Nobody', 'in start: AttributeError'),
        ('no_such_module:Plugin', 'in start: ModuleNotFoundError'),
    ],
)
def test_what_is_no_plugin_is_refused(
    make: Callable[..., PluginRobot], plugin: str, message: str
) -> None:
    before = children()
    with pytest.raises(SimulationFailed, match=message) as refused:
        make(plugin)
    assert children() <= before, refused


def test_actuator_without_bounds_is_refused(make: Callable[..., PluginRobot]) -> None:
    with pytest.raises(BoundaryError, match=r'expected a low and a high of each value .*\[\] and'):
        make(odd_plugins.Unbounded)


def test_class_that_no_other_process_can_import_is_refused(
    make: Callable[..., PluginRobot],
) -> None:
    class Local(odd_plugins.Plain):
        pass

    with pytest.raises(BoundaryError, match='Put the class at the top of a file'):
        make(Local)


# Life of the process -----------------------------------------------------------------------------


def test_commands_and_times_that_are_none_are_refused(make: Callable[..., PluginRobot]) -> None:
    robot = make()
    for topic, values in (('pull', (0.0,)), ('push', (0.0, 0.0)), ('push', (float('inf'),))):
        with pytest.raises(BoundaryError):
            robot.command(topic, values, START)
    with pytest.raises(InvalidState):
        robot.advance(START - 1)


def test_process_ends_with_the_robot(make: Callable[..., PluginRobot]) -> None:
    robot = make()
    robot.close()
    assert gone(robot.pid)
    with pytest.raises(SimulationFailed, match='was closed'):
        robot.advance(START + PERIOD)


@pytest.mark.parametrize('plugin', ['Plain', 'Hangs'])
def test_process_ends_when_whoever_started_it_is_killed(file: Path, plugin: str) -> None:
    program = (
        'import sys, time; sys.path[:0] = sys.argv[3:]\n'
        'from boundary_env_ros.simulation.plugin_robot import PluginRobot\n'
        'from boundary_env_ros.storage.contract_file import load\n'
        'robot = PluginRobot(load(sys.argv[1]).contract, start=1, plugin=sys.argv[2])\n'
        'print(robot.pid, flush=True)\n'
        'robot.advance(10**9); time.sleep(60)'
    )
    command = [
        sys.executable,
        '-c',
        program,
        str(file),
        f'support.odd_plugins:{plugin}',
        *filter(None, sys.path),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert gone(pid)


def test_reward_has_a_declared_space_and_one_beyond_it_ends_the_episode(
    make: Callable[..., PluginRobot], write: Callable[..., Path]
) -> None:
    data = contract_data()
    data['task']['parameters']['bounds'] = {'way': [-0.2, 0.2], 'cost': [-0.25, 0.0]}
    file = write(data)
    env = BoundaryEnv(file, world='embedded', robot=make(contract=file))
    assert dict(env.reward_terms_space) == {
        'way': spaces.Box(-0.2, 0.2, (), np.float64),
        'cost': spaces.Box(-0.25, 0.0, (), np.float64),
    }
    env.reset(seed=1, options={'start': [0.0]})
    *_, truncated, _ = env.step(np.array([1.0], np.float32))
    assert not truncated
    *_, truncated, info = env.step(np.array([3.0], np.float32))
    assert (truncated, info['ending']) == (True, 'task_failed')
    assert 'way (-0.2, 0.2), cost (-0.25, 0.0)), got way 0.3' in info['message']
    env.close()
