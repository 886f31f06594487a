# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pages of the nodes name every topic, service, parameter and reason that the nodes have."""

from __future__ import annotations

import ast
from collections.abc import Mapping
import re

import pytest
from reason_table import with_reasons

from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from support.pages import code, first_code, REPOSITORY, rows, section, text_of

NODES = (
    'policy_server',
    'environment',
    'recorder',
    'safety_gate',
    'simulated_robot',
    'gazebo_bridge',
)
GATE = text_of('doc/nodes/safety_gate.md')


def _names() -> Mapping[str, str]:
    """Return the package's own topics and services, by their constants; without ROS."""
    tree = ast.parse(text_of('boundary_env_ros/ros/names.py'))
    return {
        node.targets[0].id: str(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def _sources(node: str) -> str:
    shared = text_of('boundary_env_ros/ros/contract_node.py')
    return shared + text_of(f'boundary_env_ros/ros/nodes/{node}.py')


def _declared(node: str) -> Mapping[str, str]:
    """Return the parameters of a node and their descriptions, from its calls of ``declare``."""
    found = {}
    of_commands = ('command_domain',) if 'declare_command_domain' in _sources(node) else ()
    for module in ('contract_node', f'nodes/{node}', *of_commands):
        for call in ast.walk(ast.parse(text_of(f'boundary_env_ros/ros/{module}.py'))):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == 'declare'
            ):
                name, _, description = call.args
                found[ast.literal_eval(name)] = ast.literal_eval(description)
    return found


@pytest.mark.parametrize('node', NODES)
def test_page_names_the_topics_that_the_node_uses(node: str) -> None:
    names = _names()
    used = {
        names[name] for name in re.findall(r'\bnames\.([A-Z_]+)', _sources(node)) if name in names
    }
    page = text_of(f'doc/nodes/{node}.md')
    assert {name for name in used if f'`{name}`' not in page} == set()


def _served(node: str) -> set[str]:
    """Return the services of a node: by its own name in the source, or by their constants."""
    own = {f'{node}/{name}' for name in re.findall(r"'~/(\w+)'", _sources(node))}
    return own | {name for name in _names().values() if name.startswith(f'{node}/')}


@pytest.mark.parametrize('node', NODES)
def test_page_names_the_services_of_the_node(node: str) -> None:
    page = text_of(f'doc/nodes/{node}.md')
    assert [name for name in sorted(_served(node)) if f'`{name}`' not in page] == []


def test_nodes_without_a_service_of_their_own_are_known() -> None:
    # What it serves is named by the contract, or by Gazebo's bridge.
    assert {node for node in NODES if not _served(node)} == {'gazebo_bridge'}


@pytest.mark.parametrize('node', NODES)
def test_page_has_the_parameters_of_the_node(node: str) -> None:
    page = section(text_of(f'doc/nodes/{node}.md'), 'Parameters')
    assert set(first_code(_before_options(page))) == set(_declared(node))


@pytest.mark.parametrize(
    'node', ['policy_server', 'environment', 'safety_gate', 'simulated_robot']
)
def test_page_describes_the_parameters_as_the_node_declares_them(node: str) -> None:
    page = section(text_of(f'doc/nodes/{node}.md'), 'Parameters')
    described = {code(cells[0])[0]: cells[3] for cells in rows(_before_options(page))}
    assert described == _declared(node)


def _before_options(page: str) -> str:
    """Return what a page says of a node's own parameters, without those of its robot."""
    return page.split('\n### ', 1)[0]


def test_page_has_the_options_of_every_robot() -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from boundary_env_ros.simulation.installed_robots import robot_type
    from boundary_env_ros.storage.contract_file import load

    page = section(text_of('doc/nodes/simulated_robot.md'), 'Options of the robots')
    names = ('warehouse_cart', 'guarded_cart', 'two_carts', 'door_arm')
    shipped = [load(name).contract for name in names]
    options = {name for contract in shipped for name in robot_type(contract).OPTIONS}
    assert set(first_code(page)) == options


def test_gate_page_has_every_reason_with_the_rules_that_raise_it() -> None:
    """Made again by ``make reference``."""
    assert with_reasons(GATE) == GATE
    assert first_code(section(GATE, 'Reasons')) == tuple(reason.name for reason in Reason)


def test_gate_page_has_the_verdicts_and_the_states() -> None:
    assert first_code(section(GATE, 'Verdicts')) == tuple(verdict.name for verdict in Verdict)
    assert first_code(section(GATE, 'States')) == tuple(state.name for state in GateState)


def _sensors(part: str) -> Mapping[str, tuple[object, ...]]:
    """Return type, rate, delay and dropout by topic, as a part of the robot's page lists them."""
    return {
        code(cells[0])[0]: (code(cells[1])[0], *map(float, cells[2:5]))
        for cells in rows(part)
        if cells[2]
    }


def test_robot_page_declares_the_sensors_as_they_are_configured() -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from boundary_env_ros.simulation import messages
    from boundary_env_ros.simulation.cart_config import CartConfig
    from boundary_env_ros.simulation.door_arm import robot as of_arm
    from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig

    carts, arm = section(text_of('doc/nodes/simulated_robot.md'), 'Outputs').split("### The arm's")
    for listed, config, wire in (
        (carts, CartConfig(), messages.WIRE),
        (arm, ArmConfig(), of_arm.WIRE),
    ):
        sensors = {name: config.sensors[name] for name in wire}
        assert _sensors(listed) == {
            topic: (kind, sensors[name].rate, sensors[name].delay, sensors[name].dropout)
            for name, (topic, kind) in wire.items()
        }


def test_robot_page_has_the_defaults_of_its_robots() -> None:
    from boundary_env_ros.simulation.cart_config import CartConfig
    from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig

    table = rows(section(text_of('doc/nodes/simulated_robot.md'), 'Options of the robots'))
    defaults = {code(cells[0])[0]: [float(v) for v in code(cells[2])] for cells in table}
    assert defaults == {
        'actuator_delay': [CartConfig().actuator_delay, ArmConfig().actuator_delay],
        'camera_rate': [CartConfig().camera.rate],
        'payload': [CartConfig().payload],
        'pose_bias': [CartConfig().pose_detections.position_bias],
        'scan_noise': [CartConfig().scan.range_noise],
        'wheel_friction': [CartConfig().wheel_friction],
    }


def test_every_node_has_a_page() -> None:
    written = {path.stem for path in (REPOSITORY / 'doc/nodes').glob('*.md')}
    assert written == set(NODES)
