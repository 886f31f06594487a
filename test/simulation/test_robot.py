# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated robots by name: what is installed, what they take, and how carts are such."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
import math

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import by_name, ResetWorld
from boundary_env_ros.core.records.parts import NamedValues, Pacing, StepId
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.simulation import installed_robots
from boundary_env_ros.simulation.cart_robot import CartRobot
from boundary_env_ros.simulation.hall_model import MOST_CARTS
from boundary_env_ros.simulation.installed_robots import GROUP, make_robot, robot_type
from boundary_env_ros.simulation.robot import report_of
from boundary_env_ros.storage.contract_file import load

MS = 1_000_000
START = 100 * MS


def contract_of(name: str) -> Contract:
    return load(name, Pacing.LOCKSTEP).contract


ONE, TWO = contract_of('warehouse_cart'), contract_of('two_carts')
TARGETS = {
    'cart_a.start': (-1.0, -1.4, 0.0),
    'cart_a.goal': (1.0, -1.4),
    'cart_b.start': (1.0, -1.4, 3.0),
    'cart_b.goal': (-1.0, -1.4),
}


def request(**changes: tuple[float, ...]) -> ResetWorld:
    values = {**TARGETS, **{name.replace('__', '.'): value for name, value in changes.items()}}
    return ResetWorld(
        seed=1, target=tuple(NamedValues(name=n, values=v) for n, v in values.items())
    )


# Which, and with what ---------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['warehouse_cart', 'two_carts', 'door_arm'])
def test_the_robot_of_a_shipped_contract_sends_every_topic_of_the_contract(name: str) -> None:
    contract = contract_of(name)
    robot = make_robot(contract, START)
    wanted = {
        contract.topic_of(agent, topic): kind
        for agent in contract.agents
        for topic, kind in sensor_topics(contract).items()
    }
    assert wanted.items() <= dict(robot.topics).items()


@pytest.mark.parametrize('name', ['warehouse_cart', 'guarded_cart', 'two_carts', 'door_arm'])
def test_the_options_of_a_shipped_robot_are_described(name: str) -> None:
    options = robot_type(contract_of(name)).OPTIONS
    assert options
    for default, description in options.values():
        assert isinstance(default, float)
        assert description.endswith('.')


def test_a_robot_that_is_not_installed_is_refused_with_those_that_are() -> None:
    message = r"robot \(.*two_carts, warehouse_cart, warehouse_cart_reality\), got 'tractor'"
    with pytest.raises(BoundaryError, match=message):
        make_robot(ONE, START, name='tractor')
    with pytest.raises(BoundaryError, match="got 'my_cart'"):
        make_robot(replace(ONE, name='my_cart'), START)


def test_a_robot_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = EntryPoint(name='tractor', value='no_such_package.tractor:Tractor', group=GROUP)
    monkeypatch.setattr(installed_robots, 'entry_points', lambda group: [gone])
    with pytest.raises(BoundaryError, match=r"'tractor' cannot be imported \(no_such_package"):
        make_robot(ONE, START, name='tractor')


def test_a_contract_of_another_name_can_name_its_robot() -> None:
    robot = make_robot(replace(ONE, name='my_cart'), START, name='warehouse_cart')
    assert isinstance(robot, CartRobot)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'speed': 1.0}, r"options of the robot \(actuator_delay, .*\), got 'spe"),
        ({'camera_rate': -1.0}, 'CameraConfig.rate: expected a finite number, 0 or more'),
        ({'camera_rate': 1000.0}, 'camera: expected a rate of at most 500 Hz'),
        ({'actuator_delay': 0.9}, 'expected driver_timeout above actuator_delay'),
        ({'actuator_delay': math.nan}, 'actuator_delay: expected a finite number, got nan'),
        ({'actuator_delay': 'long'}, "actuator_delay: expected a number, got 'long'"),
        ({'actuator_delay': True}, 'actuator_delay: expected a number, got True'),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(
    options: dict[str, float], message: str
) -> None:
    with pytest.raises(BoundaryError, match=message):
        make_robot(ONE, START, options)


def test_a_whole_number_will_do_for_an_option() -> None:
    robot = make_robot(ONE, START, {'camera_rate': 0})
    assert 'camera/image_raw' not in {e.topic for e in robot.advance(START + 500 * MS)}


def test_the_driver_times_out_as_the_contract_says() -> None:
    (group,) = ONE.action
    short = replace(ONE, action=(replace(group, driver_timeout=0.05),))
    travelled = []
    for contract in (ONE, short):
        robot = make_robot(contract, START)
        robot.command('cmd_vel', (0.5, 0.0), START)
        (*_, last) = (e for e in robot.advance(START + 400 * MS) if e.topic == 'ground_truth')
        assert last.fields is not None
        travelled.append(last.fields['pose']['pose']['position']['x'] + 3.5)
    assert travelled[1] < 0.5 * travelled[0]


# Carts ------------------------------------------------------------------------------------------


def test_carts_refuse_an_action_that_is_not_theirs() -> None:
    (group,) = ONE.action
    narrow = replace(group, low=(0.0,), high=(1.0,))
    for action in ((narrow,), (group, replace(group, name='again', topic='other'))):
        with pytest.raises(BoundaryError, match='one group of two dimensions'):
            CartRobot(replace(ONE, action=action), start=START)


def test_carts_refuse_more_agents_than_the_hall_holds() -> None:
    crowd = tuple(f'cart_{number}' for number in range(MOST_CARTS + 1))
    with pytest.raises(BoundaryError, match=f'at most {MOST_CARTS} agents'):
        CartRobot(replace(TWO, agents=crowd), start=START)


def test_a_reset_puts_every_agent_where_its_name_says() -> None:
    answer = make_robot(TWO, START).reset(request(), START)
    assert answer.error == ''
    achieved = by_name(answer.achieved)
    assert set(achieved) == set(TARGETS)
    for name, target in TARGETS.items():
        assert achieved[name] == pytest.approx(target, abs=1e-3)


@pytest.mark.parametrize('turns', [-1, 0, 2])
def test_a_heading_is_achieved_by_as_many_turns_as_were_asked_for(turns: int) -> None:
    yaw = 3.1 + turns * 2.0 * math.pi
    answer = make_robot(TWO, START).reset(request(cart_b__start=(1.0, -1.4, yaw)), START)
    assert by_name(answer.achieved)['cart_b.start'][2] == pytest.approx(yaw, abs=1e-3)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'cart_b__start': ()}, r'expected cart_b.start \(x, y, yaw\)'),
        ({'cart_a__goal': (1.0,)}, 'cart_a.goal'),
        ({'cart_b__start': (-1.0, -1.4, 0.0)}, 'is in collision with'),
        ({'cart_a__start': (9.0, 0.0, 0.0)}, 'start inside the hall'),
    ],
)
def test_a_reset_that_cannot_be_is_answered_with_its_reason(
    changes: dict[str, tuple[float, ...]], message: str
) -> None:
    answer = make_robot(TWO, START).reset(request(**changes), START)
    assert message.replace('\\', '') in answer.error
    assert answer.achieved == ()


def test_a_command_on_a_topic_that_nobody_listens_to_is_refused() -> None:
    robot = make_robot(TWO, START)
    with pytest.raises(BoundaryError, match='on cart_a/cmd_vel, cart_b/cmd_vel, got on c'):
        robot.command('cmd_vel', (0.1, 0.0), START)


def test_every_emission_is_of_a_declared_topic() -> None:
    robot = make_robot(TWO, START)
    robot.reset(request(), START)
    emissions = robot.advance(START + 500 * MS)
    assert {e.topic for e in emissions} == set(robot.topics)


def test_a_report_counts_what_was_sent_and_dropped_on_each_topic() -> None:
    robot = make_robot(ONE, START)
    emissions = robot.advance(START + 2_000 * MS)
    report = report_of(
        StepId(digest='', agent='cart', episode_id=''),
        emissions,
        '',
        {topic: f'/{topic}' for topic in robot.topics},
    )
    for topic, sent, dropped in zip(report.topics, report.published, report.dropped, strict=True):
        mine = [emission for emission in emissions if f'/{emission.topic}' == topic]
        assert sent == sum(emission.fields is not None for emission in mine)
        assert dropped == len(mine) - sent
    assert sum(report.dropped) > 0
    assert report.success
