# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What `colcon build` installs, in each of its layouts."""

from __future__ import annotations

from dataclasses import dataclass
import json
import os
from pathlib import Path
import shutil
import sys

import pytest

from support.installs import Environment, INTERFACES, NODES, run

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]

PROBE = """
import json
from importlib.metadata import distribution
from ament_index_python.packages import get_package_prefix
import boundary_env_ros
from boundary_env_ros.msg import EpisodeStatus
from boundary_env_ros.resources import share_file
from rclpy.serialization import deserialize_message, serialize_message
sent = EpisodeStatus()
assert deserialize_message(serialize_message(sent), EpisodeStatus) == sent
found = distribution('boundary_env_ros')
print(json.dumps({
    'package': boundary_env_ros.__file__,
    'message': __import__('sys').modules[EpisodeStatus.__module__].__file__,
    'prefix': get_package_prefix('boundary_env_ros'),
    'contract': str(share_file('config/warehouse_cart.yaml')),
    'metadata': str(found.locate_file('')),
    'version': found.version,
    'entry_points': sorted(f'{e.group} {e.name} = {e.value}' for e in found.entry_points),
}))
"""


@dataclass(frozen=True)
class Workspace:
    """
    A workspace and the environment whose colcon builds it.

    folder: its directory.  environment: has ROS 2 and colcon.  source: the package.
    builds: where colcon compiles.  options: for CMake.
    """

    folder: Path
    environment: Environment
    source: Path
    builds: Path
    options: tuple[str, ...] = ()

    def build(self, install: Path, *options: str) -> None:
        """Run colcon as in an activated environment."""
        colcon = self.environment.prefix / 'bin/colcon'
        places = ('--base-paths', self.source, '--build-base', self.builds)
        run(
            *(colcon, '--log-base', self.folder / 'log', 'build', *places),
            # Forced: colcon does not notice by itself that the place of installation changed.
            *('--cmake-force-configure', '--install-base', install, *options),
            *(('--cmake-args', *self.options) if self.options else ()),
            cwd=self.folder,
            environment={
                'AMENT_PREFIX_PATH': str(self.environment.prefix),
                'PATH': f'{colcon.parent}{os.pathsep}{os.environ["PATH"]}',
                'VIRTUAL_ENV': str(self.environment.prefix),
            },
        )

    def sourced(self, install: Path, command: str) -> str:
        """Run a shell command after sourcing what was built."""
        return run('bash', '-c', f'. {install}/setup.bash && {command}', cwd=self.folder)

    def probe(self, install: Path) -> dict[str, object]:
        """Ask Python, after sourcing, where it finds things."""
        program = self.folder / 'probe.py'
        program.write_text(PROBE)
        python = self.environment.prefix / 'bin/python'
        answer: dict[str, object] = json.loads(self.sourced(install, f'{python} {program}'))
        return answer


@pytest.fixture(scope='module')
def alone(
    source_tree: Path, pip_environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    """Make a workspace that shares nothing, where all is generated and compiled."""
    folder = tmp_path_factory.mktemp('workspace')
    source = folder / 'src/boundary_env_ros'
    shutil.copytree(source_tree, source, ignore=shutil.ignore_patterns('build', '*.egg-info'))
    requirements = run(
        pip_environment.prefix / 'bin/python',
        source_tree / 'build_backend/ros_distributions.py',
    ).split()
    pip_environment.install('colcon-common-extensions', 'setuptools', *requirements)
    return Workspace(folder, pip_environment, source, folder / 'build')


@pytest.fixture(scope='module')
def shared(made_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """
    Make a workspace where colcon goes on with what `make env` has generated and compiled.

    The same rules, of the same CMakeLists.txt, for the same Python: what differs is not compiled.
    """
    distro = os.environ.get('BOUNDARY_ENV_ROS_DISTRO', 'jazzy')
    return Workspace(
        tmp_path_factory.mktemp('workspace'),
        Environment(made_tree / '.venv'),
        made_tree,
        made_tree / 'build' / f'{distro}-{sys.implementation.cache_tag}',
        # What `make env` has told CMake, and colcon would not.
        ('-DBOUNDARY_ENV_ROS_WHEEL=OFF', '-DBUILD_TESTING=ON'),
    )


@pytest.fixture(
    scope='module',
    params=[
        pytest.param(('shared',), id='default'),
        pytest.param(('alone',), id='alone', marks=pytest.mark.nightly),
        pytest.param(('alone', '--merge-install'), id='merge', marks=pytest.mark.nightly),
        pytest.param(('alone', '--symlink-install'), id='symlink', marks=pytest.mark.nightly),
    ],
)
def built(request: pytest.FixtureRequest) -> tuple[Workspace, Path]:
    """Build in one layout; those of one workspace share what was compiled."""
    name, *options = request.param
    workspace: Workspace = request.getfixturevalue(name)
    base = workspace.folder / f'install-{"-".join(options) or "default"}'
    if '--symlink-install' in options:
        # ament links a directory here where it copied one before, and stumbles over it.
        shutil.rmtree(workspace.builds / 'boundary_env_ros/ament_cmake_python')
    workspace.build(base, *options)
    return workspace, base


@pytest.fixture(scope='module')
def workspace(built: tuple[Workspace, Path]) -> Workspace:
    """Return where it was built."""
    return built[0]


@pytest.fixture(scope='module')
def install(built: tuple[Workspace, Path]) -> Path:
    """Return where it was installed."""
    return built[1]


def _prefix(install: Path) -> Path:
    return install if 'merge' in install.name else install / 'boundary_env_ros'


def test_sourced_workspace_is_what_python_and_ros_find(
    workspace: Workspace, install: Path
) -> None:
    found = workspace.probe(install)
    prefix = _prefix(install)
    assert found['prefix'] == str(prefix)
    for key in ('package', 'message', 'metadata'):
        assert Path(str(found[key])).is_relative_to(prefix), found
    assert found['contract'] == str(prefix / 'share/boundary_env_ros/config/warehouse_cart.yaml')


def test_metadata_has_the_version_and_entry_points_of_pyproject(
    workspace: Workspace, install: Path, pip_environment: Environment
) -> None:
    found = workspace.probe(install)
    wheel = pip_environment.python(PROBE)
    assert found['entry_points'] == json.loads(wheel)['entry_points']
    assert found['version'] == json.loads(wheel)['version']
    assert found['entry_points']


def test_share_has_all_that_launch_files_and_bags_need(
    workspace: Workspace, install: Path
) -> None:
    share = _prefix(install) / 'share/boundary_env_ros'
    wanted = [
        path.relative_to(workspace.source)
        for top in ('config', 'launch')
        for path in (workspace.source / top).rglob('*')
        if path.is_file()
    ]
    missing = [
        str(name) for name in (*wanted, *INTERFACES, 'package.xml') if not (share / name).is_file()
    ]
    assert missing == []


def test_executables_are_where_ros2_run_looks(workspace: Workspace, install: Path) -> None:
    folder = _prefix(install) / 'lib/boundary_env_ros'
    found = [path.name for path in sorted(folder.iterdir()) if os.access(path, os.X_OK)]
    assert found == sorted([*NODES, 'boundary-env'])
    assert 'demo' in workspace.sourced(install, f'{folder}/boundary-env --help')


def test_command_is_on_the_path_of_a_sourced_workspace(
    workspace: Workspace, install: Path
) -> None:
    found = workspace.sourced(install, 'command -v boundary-env')
    assert found.strip() == str(_prefix(install) / 'bin/boundary-env')


def test_symlink_install_shows_changes_of_the_sources(workspace: Workspace, install: Path) -> None:
    contract = _prefix(install) / 'share/boundary_env_ros/config/warehouse_cart.yaml'
    linked = contract.resolve().is_relative_to(workspace.source)
    assert linked == ('symlink' in install.name)
