# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Environments that have nothing to do with the one that runs the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import importlib.util
import os
from pathlib import Path
import subprocess
import sys

REPOSITORY = Path(__file__).resolve().parents[2]
CONSTRAINTS = REPOSITORY / '.ci/constraints.txt'
NODES = (
    'environment',
    'gazebo_bridge',
    'policy_server',
    'recorder',
    'safety_gate',
    'simulated_robot',
)
INTERFACES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for kind in ('msg', 'srv')
    for path in (REPOSITORY / kind).glob(f'*.{kind}')
)

#: Which ROS 2 is installed: another than the default is built for only where it is said.
DISTRO = 'BOUNDARY_ENV_ROS_DISTRO'

# What a sourced workspace, an activated environment or the ROS wheels put in the environment.
_FOREIGN = ('AMENT_', 'BOUNDARY_ENV_ROS_', 'CMAKE_', 'COLCON_', 'MAKE', 'MFLAGS', 'PYTEST_')
_FOREIGN_NAMES = (
    'LD_LIBRARY_PATH',
    'PYTHON',
    'PYTHONHOME',
    'PYTHONPATH',
    'VIRTUAL_ENV',
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
)


def clean_environment() -> dict[str, str]:
    """Return this process's environment as a fresh shell would have it."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if (not name.startswith(_FOREIGN) and name not in _FOREIGN_NAMES) or name == DISTRO
    }
    own = str(Path(sys.prefix) / 'bin')
    parts = environment['PATH'].split(os.pathsep)
    environment['PATH'] = os.pathsep.join(part for part in parts if part != own)
    # ROS processes of these tests talk to nobody else, and leave no shared memory.
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['FASTDDS_BUILTIN_TRANSPORTS'] = 'UDPv4'
    return environment


def run(
    *command: str | Path,
    cwd: Path = REPOSITORY,
    environment: Mapping[str, str] | None = None,
    timeout: float = 900.0,
) -> str:
    """Run a command in a clean environment with additions, and return what it printed."""
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean_environment(), **(environment or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    output = f'{finished.stdout}\n{finished.stderr}'
    assert finished.returncode == 0, f'{command} returned {finished.returncode}:\n{output}'
    return finished.stdout


@dataclass(frozen=True)
class Environment:
    """
    A virtual environment.

    prefix: its directory.
    """

    prefix: Path

    @classmethod
    def current(cls) -> Environment:
        """Return the one that runs the tests."""
        return cls(Path(sys.prefix))

    @classmethod
    def make(cls, prefix: Path) -> Environment:
        """Make an empty one, of the Python that runs the tests."""
        if _has_uv():
            run(sys.executable, '-m', 'uv', 'venv', '--python', sys.executable, prefix)
        else:
            run(sys.executable, '-m', 'venv', prefix)
        return cls(prefix)

    @property
    def base_python(self) -> Path:
        """The Python that an environment was made of."""
        return Path(sys.base_prefix) / 'bin' / f'python{sys.version_info[0]}.{sys.version_info[1]}'

    @property
    def site_packages(self) -> Path:
        """Where Python modules are."""
        (found,) = self.prefix.glob('lib/python3.*/site-packages')
        return found

    def install(self, *arguments: str) -> None:
        """
        Install from the index or from files, with uv if it is there: it is faster.

        In the versions of `make env`, so that these tests judge a change and not the index.
        """
        if CONSTRAINTS.is_file():
            arguments = ('--constraint', str(CONSTRAINTS), *arguments)
        if _has_uv():
            python = self.prefix / 'bin' / 'python'
            run(sys.executable, '-m', 'uv', 'pip', 'install', '--python', python, *arguments)
        else:
            run(self.prefix / 'bin' / 'python', '-m', 'pip', 'install', *arguments)

    def build_wheel(self, tree: Path, folder: Path, *, environment: Mapping[str, str]) -> None:
        """Build the wheel of a source tree, in isolation."""
        if _has_uv():
            tool = [sys.executable, '-m', 'uv', 'build', '--wheel', '--out-dir', folder]
            run(*tool, '--python', sys.executable, tree, environment=environment)
        else:
            tool = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--wheel-dir', folder]
            run(*tool, tree, environment=environment)

    def build_wheel_of_what_was_compiled(self, tree: Path, folder: Path) -> Path:
        """Build the wheel in this environment, which has compiled the interfaces of the tree."""
        tool = [self.prefix / 'bin/python', '-m', 'pip', 'wheel', '--no-build-isolation']
        # The same tools as then, or all would be compiled again.
        path = f'{self.prefix / "bin"}{os.pathsep}{clean_environment()["PATH"]}'
        environment = {'BOUNDARY_ENV_ROS_INTERFACES': 'on', 'PATH': path}
        run(*tool, '--no-deps', '--wheel-dir', folder, tree, environment=environment)
        (built,) = folder.glob('*.whl')
        return built

    def python(self, program: str, *, environment: Mapping[str, str] | None = None) -> str:
        """Run a program far from every source tree, and return what it printed."""
        return run(
            self.prefix / 'bin' / 'python', '-c', program, cwd=self.prefix, environment=environment
        )


def _has_uv() -> bool:
    return importlib.util.find_spec('uv') is not None
