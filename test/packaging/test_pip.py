# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What pip installs: with ROS, without it, and from a tree that stays editable."""

from __future__ import annotations

import json
from pathlib import Path
import zipfile

import pytest

from support.installs import Environment, INTERFACES, NODES, run

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]

# A message of ours, through the middleware's serialization, which needs every built library.
ROUND_TRIP = """
from boundary_env_ros.msg import EpisodeStatus
from boundary_env_ros.srv import Step
from rclpy.serialization import deserialize_message, serialize_message
sent = EpisodeStatus()
sent.header.frame_id = 'odom'
assert deserialize_message(serialize_message(sent), EpisodeStatus) == sent
serialize_message(Step.Request())
"""

EVERY_INTERFACE = """
import importlib, sys
for name in sys.stdin.read().split():
    kind, file = name.split('/')
    module = importlib.import_module(f'boundary_env_ros.{kind}')
    getattr(module, file.partition('.')[0])
print('all')
"""

PLACES = """
import json, os
from ament_index_python.packages import get_package_prefix, get_package_share_directory
import boundary_env_ros
from boundary_env_ros.resources import share_file
print(json.dumps({
    'ament': os.environ['AMENT_PREFIX_PATH'],
    'package': boundary_env_ros.__file__,
    'prefix': get_package_prefix('boundary_env_ros'),
    'share': get_package_share_directory('boundary_env_ros'),
    'contract': str(share_file('config/warehouse_cart.yaml')),
}))
"""

ENTRY_POINTS = """
from importlib.metadata import distribution
from boundary_env_ros.errors import MissingDependency
for found in distribution('boundary_env_ros').entry_points:
    try:
        print(found.group, found.name, 'loads' if callable(found.load()) else 'does not')
    except MissingDependency as error:
        print(found.group, found.name, 'says:', error)
"""


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _data(wheel: Path) -> set[str]:
    """Return what the wheel puts under the prefix."""
    return {name.partition('.data/data/')[2] for name in _names(wheel) if '.data/data/' in name}


def _package_files(tree: Path) -> set[str]:
    found = (tree / 'boundary_env_ros').rglob('*')
    return {path.relative_to(tree).as_posix() for path in found if path.is_file()}


def _shared_files(tree: Path) -> set[str]:
    found = [path for top in ('config', 'launch') for path in (tree / top).rglob('*')]
    return {path.relative_to(tree).as_posix() for path in found if path.is_file()}


def test_wheel_carries_every_file_of_the_package(wheel: Path, source_tree: Path) -> None:
    assert _package_files(source_tree) <= set(_names(wheel))


def test_wheel_carries_contracts_launch_files_interfaces_and_executables(
    wheel: Path, source_tree: Path
) -> None:
    share = 'share/boundary_env_ros'
    wanted = {f'{share}/{name}' for name in _shared_files(source_tree)}
    wanted |= {f'{share}/{name}' for name in INTERFACES}
    wanted |= {f'{share}/package.xml'}
    executables = (*NODES, 'boundary-env')
    wanted |= {f'lib/boundary_env_ros/{name}' for name in executables}
    wanted |= {'share/ament_index/resource_index/packages/boundary_env_ros'}
    assert wanted <= _data(wheel)


def test_wheel_names_no_directory_of_its_build(wheel: Path, made_tree: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        naming = [
            name
            for name in archive.namelist()
            if str(made_tree).encode() in archive.read(name)
            or b'builds-v0' in archive.read(name)
            or b'pip-build-env' in archive.read(name)
        ]
    assert naming == []


@pytest.mark.nightly
def test_wheel_is_the_same_when_all_that_it_needs_comes_from_the_index(
    wheel: Path, source_tree: Path, tmp_path: Path
) -> None:
    Environment.current().build_wheel(
        source_tree, tmp_path, environment={'BOUNDARY_ENV_ROS_INTERFACES': 'on'}
    )
    (isolated,) = tmp_path.glob('*.whl')
    assert isolated.name == wheel.name
    assert sorted(_names(isolated)) == sorted(_names(wheel))


def test_installed_messages_travel(pip_environment: Environment) -> None:
    pip_environment.python(ROUND_TRIP)


def test_every_interface_is_importable(pip_environment: Environment) -> None:
    names = '\n'.join(INTERFACES)
    program = EVERY_INTERFACE.replace('sys.stdin.read()', repr(names))
    assert pip_environment.python(program).strip() == 'all'


def test_ros_finds_the_package_in_a_plain_environment(pip_environment: Environment) -> None:
    prefix = pip_environment.prefix
    places = json.loads(pip_environment.python(PLACES))
    assert places == {
        'ament': f'{prefix}:{prefix}/opt/boundary_env_ros',
        'package': str(pip_environment.site_packages / 'boundary_env_ros/__init__.py'),
        'prefix': str(prefix),
        'share': str(prefix / 'share/boundary_env_ros'),
        'contract': str(prefix / 'share/boundary_env_ros/config/warehouse_cart.yaml'),
    }


def test_sourced_workspace_keeps_its_precedence(pip_environment: Environment) -> None:
    found = pip_environment.python(
        "import os; print(os.environ['AMENT_PREFIX_PATH'])",
        environment={'AMENT_PREFIX_PATH': '/opt/ros/mine'},
    )
    prefix = pip_environment.prefix
    assert found.strip() == f'/opt/ros/mine:{prefix}:{prefix}/opt/boundary_env_ros'


def test_every_entry_point_loads(pip_environment: Environment) -> None:
    answers = set(pip_environment.python(ENTRY_POINTS).splitlines())
    assert {answer for answer in answers if not answer.endswith(' loads')} == set()
    assert answers >= {
        'boundary_env_ros.commands demo loads',
        'boundary_env_ros.worlds ros loads',
        'boundary_env_ros.tasks go_to_goal loads',
        'console_scripts boundary-env loads',
    }


def test_what_lacks_an_extra_says_how_to_install_it(pip_environment: Environment) -> None:
    said = pip_environment.python(
        'try:\n  import boundary_env_ros.ros.websocket\nexcept ImportError as why:\n  print(why)'
    )
    assert 'WebSocket needs aiohttp' in said
    assert 'pip install aiohttp' in said


@pytest.mark.parametrize('folder', ['bin', 'lib/boundary_env_ros'])
def test_command_shows_its_help(pip_environment: Environment, folder: str) -> None:
    command = pip_environment.prefix / folder / 'boundary-env'
    assert 'demo' in run(command, '--help', cwd=pip_environment.prefix)


@pytest.mark.parametrize('node', NODES)
def test_node_runs_on_the_interpreter_of_its_prefix(
    pip_environment: Environment, node: str
) -> None:
    script = pip_environment.prefix / 'lib/boundary_env_ros' / node
    # A copy of the script that tells instead of starting the node.
    probe = script.with_name(f'{node}-probe')
    head = script.read_text().partition('from boundary_env_ros')[0]
    probe.write_text(
        f'{head}print(sys.prefix)\nfrom boundary_env_ros.ros.nodes.{node} import main'
    )
    probe.chmod(script.stat().st_mode)
    try:
        found = run(probe, cwd=Path('/'), environment={'PATH': '/usr/bin:/bin'})
    finally:
        probe.unlink()
    assert found.strip() == str(pip_environment.prefix)


def test_without_the_extra_there_is_no_ros_and_the_rest_works(
    base_environment: Environment,
) -> None:
    program = """
import importlib.util
for name in ('rclpy', 'std_msgs', 'mujoco'):
    assert importlib.util.find_spec(name) is None, name
import boundary_env_ros.evidence, boundary_env_ros.facade, boundary_env_ros.storage
from boundary_env_ros.storage.contract_file import load
print(load('warehouse_cart').contract.name)
"""
    assert base_environment.python(program).strip() == 'warehouse_cart'
    assert 'audit' in run(base_environment.prefix / 'bin/boundary-env', '--help')


def test_build_without_interfaces_is_a_wheel_for_every_platform(
    source_tree: Path, tmp_path: Path
) -> None:
    Environment.current().build_wheel(
        source_tree, tmp_path, environment={'BOUNDARY_ENV_ROS_INTERFACES': 'off'}
    )
    (built,) = tmp_path.glob('*.whl')
    assert built.name.endswith('-py3-none-any.whl')
    assert not [name for name in _names(built) if name.endswith(('.so', '.pth'))]
    assert _package_files(source_tree) <= set(_names(built))
    assert {f'share/boundary_env_ros/{name}' for name in _shared_files(source_tree)} <= _data(
        built
    )


def test_editable_install_joins_the_sources_and_the_built_interfaces(
    editable_environment: Environment, made_tree: Path
) -> None:
    editable_environment.python(ROUND_TRIP)
    prefix = editable_environment.prefix
    places = json.loads(editable_environment.python(PLACES))
    assert places == {
        'ament': f'{prefix}:{prefix}/opt/boundary_env_ros',
        'package': str(made_tree / 'boundary_env_ros/__init__.py'),
        'prefix': str(prefix),
        'share': str(prefix / 'share/boundary_env_ros'),
        'contract': str(made_tree / 'config/warehouse_cart.yaml'),
    }


def test_change_of_a_module_shows_in_an_editable_install(
    editable_environment: Environment, made_tree: Path
) -> None:
    module = made_tree / 'boundary_env_ros/written_later.py'
    module.write_text("print('here')\n")
    try:
        found = editable_environment.python('import boundary_env_ros.written_later')
    finally:
        module.unlink()
    assert found.strip() == 'here'
