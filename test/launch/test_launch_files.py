# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be said of the launch files where launch is not installed: by reading them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import re

import pytest
import yaml

from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.storage.contract_file import load

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / 'boundary_env_ros'
HELPER = PACKAGE / 'ros/launching.py'
LAUNCH_FILES = sorted((REPOSITORY / 'launch').glob('*'))
PARAMETER_FILES = sorted((REPOSITORY / 'config').glob('*.param.yaml'))


def _calls(path: Path, name: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == name
    ]


def _first(call: ast.Call) -> str:
    return str(ast.literal_eval(call.args[0]))


def _declared() -> dict[str, dict[str, ast.expr]]:
    """Return the keywords of every declared launch argument, by the argument's name."""
    return {
        _first(call): {str(keyword.arg): keyword.value for keyword in call.keywords}
        for path in (HELPER, *_python(REPOSITORY / 'launch'))
        for call in _calls(path, 'DeclareLaunchArgument')
    }


def _python(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob('*.py')) if '__pycache__' not in path.parts]


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ''


def _node_parameters(node: str) -> set[str]:
    """Return the parameters that a node declares, with those that all nodes have."""
    found = {'use_sim_time'}
    if node == 'simulated_robot':
        # The options of its robots, which it declares when it knows which.
        page = (REPOSITORY / 'doc/nodes/simulated_robot.md').read_text(encoding='utf-8')
        options = page.split('\n### Options of the robots\n')[1].split('\n## ')[0]
        found |= set(re.findall(r'^\| `(\w+)` \|', options, flags=re.MULTILINE))
    for path in (PACKAGE / 'ros/contract_node.py', PACKAGE / f'ros/nodes/{node}.py'):
        for call in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(call, ast.Call) and getattr(call.func, 'attr', '') == 'declare':
                found.add(_first(call))
    return found


def test_there_is_a_launch_file_for_a_robot_and_for_each_simulation() -> None:
    names = {path.name for path in LAUNCH_FILES if path.is_file()}
    assert names == {'robot_launch.py', 'simulation_launch.py', 'gazebo_launch.py'}


@pytest.mark.parametrize('path', _python(REPOSITORY / 'launch'), ids=lambda path: path.name)
def test_a_launch_file_has_what_launch_looks_for(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert functions == {'generate_launch_description'}


def test_an_argument_says_what_it_is_and_has_a_default_unless_nothing_goes_without() -> None:
    for name, keywords in _declared().items():
        assert ('default_value' in keywords) == (name != 'bag')
        assert ast.literal_eval(keywords['description']).endswith('.'), name
        if 'choices' in keywords:
            default = ast.literal_eval(keywords['default_value'])
            assert default in ast.literal_eval(keywords['choices']), name


def test_every_argument_that_is_used_is_declared_and_the_other_way_round() -> None:
    used = {
        _first(call)
        for path in (HELPER, *_python(REPOSITORY / 'launch'))
        for call in _calls(path, 'LaunchConfiguration')
        if _is_text(call)
    }
    used |= {_first(call) for call in _calls(HELPER, 'argument')}
    # Each launch file needs those of the contract before any other.
    used |= {'contract', 'pacing'}
    assert used == set(_declared())


def _is_text(call: ast.Call) -> bool:
    return isinstance(call.args[0], ast.Constant)


def test_the_page_about_launching_has_a_row_for_every_argument() -> None:
    page = (REPOSITORY / 'doc/launch.md').read_text(encoding='utf-8')
    section = page.split('\n## Arguments\n')[1].split('\n## ')[0]
    rows = set(re.findall(r'^\| `(\w+)` \|', section, flags=re.MULTILINE))
    assert rows == set(_declared())


def test_launched_nodes_are_the_nodes_that_there_are() -> None:
    contract = load('warehouse_cart').contract
    pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
    from boundary_env_ros.ros.processes import boundary_nodes

    launched = {
        spec.name
        for path in _python(REPOSITORY / 'launch')
        for call in _calls(path, 'Boundary')
        for spec in boundary_nodes(
            contract,
            {},
            run=Path('run'),
            robot=_first(call) if call.args else '',
            services=True,
        )
    }
    nodes = {path.stem for path in (PACKAGE / 'ros/nodes').glob('[a-z]*.py')}
    assert launched == nodes


def test_up_with_probe_tells_the_gate_alone_to_measure_the_drivers() -> None:
    pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
    from boundary_env_ros.ros.processes import boundary_nodes

    contract = load('warehouse_cart').contract
    nodes = boundary_nodes(contract, {'contract': 'c.yaml'}, run=Path('run'), probe=True)
    told = {spec.name for spec in nodes if 'probe_on_activation' in spec.parameters}
    assert told == {'safety_gate'}


def test_server_and_bridge_of_gazebo_are_launched_in_a_partition_of_their_own() -> None:
    text = (REPOSITORY / 'launch/gazebo_launch.py').read_text(encoding='utf-8')
    parted = text.index('SetEnvironmentVariable(*item) for item in partition(os.environ).items()')
    assert text.index('DeclareLaunchArgument(') < parted < text.index('Boundary(')


def test_launch_stays_among_the_launch_files() -> None:
    for path in _python(PACKAGE):
        imported = set(_imported(path))
        assert 'boundary_env_ros.ros.launching' not in imported, path
        if path != HELPER:
            assert not {name.split('.')[0] for name in imported} & {'launch', 'launch_ros'}, path


@pytest.mark.parametrize('path', PARAMETER_FILES, ids=lambda path: path.name)
def test_a_parameter_file_names_only_what_its_node_declares(path: Path) -> None:
    node = path.name.removesuffix('.param.yaml')
    content = yaml.safe_load(path.read_text(encoding='utf-8'))
    assert list(content) == ['/**']
    assert list(content['/**']) == ['ros__parameters']
    assert set(content['/**']['ros__parameters']) <= _node_parameters(node)


def test_the_shipped_parameters_of_the_simulated_robot_are_its_defaults() -> None:
    path = REPOSITORY / 'config/simulated_robot.param.yaml'
    content = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']['ros__parameters']
    defaults = CartConfig()
    assert content == {
        'actuator_delay': defaults.actuator_delay,
        'camera_rate': defaults.camera.rate,
    }
