# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Setuptools commands that build the ROS 2 interfaces and put them in the wheel.

CMakeLists.txt is the one description of the build: these commands run it with the installed
rosidl, install it into a staging directory, and copy from there. Python modules go beside the
package, all else keeps its place under the prefix, where ROS looks for it.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys

from ros_distributions import (
    builds_interfaces,
    DISTRIBUTIONS,
    DISTRO_VARIABLE,
    generator_version,
    INTERFACES_VARIABLE,
    selected_distro,
)
from setuptools import Command, Distribution
from setuptools.command.build import build as _build
from setuptools.command.build_py import build_py as _build_py

# Last: setuptools provides distutils where Python no longer does.
from distutils.command.install_data import install_data as _install_data  # isort: skip

NAME = 'boundary_env_ros'
TF2_MSGS = 'tf2_msgs'  # built as well where there is none; see cmake/tf2_msgs/CMakeLists.txt
OPT = Path('opt') / NAME  # the prefix that it has for itself
ROOT = Path(__file__).resolve().parent.parent

# What Python runs at start-up; see build_backend/ros_paths.py.
PATHS = f'{NAME}_paths'
_PATH_HOOK = f'import {PATHS}; {PATHS}.complete()\n'

# Scripts for a shell to source. They name the directory of the build, and nobody sources a venv.
_SHELL_SCRIPTS = ('environment', 'local_setup.*', 'package.*sh', 'package.dsv')


def ros_prefix() -> Path | None:
    """Return the prefix of the ROS 2 that has the interface generators, or None without one."""
    # Not sys.prefix: in an isolated build the requirements live elsewhere.
    spec = importlib.util.find_spec('rosidl_generator_py')
    if spec is None or spec.origin is None:
        return None
    for parent in Path(spec.origin).parents:
        if (parent / 'share' / 'rosidl_generator_py' / 'cmake').is_dir():
            return parent
    return None


def checked_ros_prefix() -> Path:
    """Return the prefix of the ROS 2 to build with, if it is there and the selected one."""
    prefix = ros_prefix()
    if prefix is None:
        raise SystemExit(
            f'{INTERFACES_VARIABLE}=on needs rosidl_generator_py, which is not installed. Build '
            'with isolation, or install the output of build_backend/ros_distributions.py first.'
        )
    distro = selected_distro()
    expected, actual = DISTRIBUTIONS[distro].generator, generator_version()
    if actual is not None and actual != expected:
        raise SystemExit(
            f'rosidl_generator_py is of another ROS 2 (expected {expected}, of {distro}, got '
            f'{actual}). Set {DISTRO_VARIABLE} to the distribution that is installed.'
        )
    return prefix


def lacks_tf2_msgs(prefix: Path) -> bool:
    """Tell whether a ROS 2 has no tf2_msgs but the one that an earlier version put there."""
    found = prefix / 'share' / TF2_MSGS / 'package.xml'
    return not found.is_file() or NAME in found.read_text(encoding='utf-8')


class InterfaceDistribution(Distribution):
    """A distribution whose wheel is specific to a platform if it carries interfaces."""

    def has_ext_modules(self) -> bool:
        """Tell whether the wheel has compiled parts."""
        return super().has_ext_modules() or builds_interfaces()

    def has_data(self) -> bool:
        """Let an editable install have its data files; setuptools asks for this name."""
        return self.has_data_files()


class Build(_build):
    """Build the interfaces beside the Python modules."""

    sub_commands = [*_build.sub_commands, ('build_interfaces', lambda self: builds_interfaces())]


class BuildPy(_build_py):
    """Build the Python modules from nothing: a deleted module must not live on in a wheel."""

    def run(self) -> None:
        """Remove what an earlier build left, then build."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildInterfaces(Command):
    """Run CMake and stage what it installs."""

    description = 'build the ROS 2 messages and services'
    user_options: list[tuple[str, str | None, str]] = []

    def initialize_options(self) -> None:
        """Choose the directories: one for each interpreter and ROS distribution."""
        base = ROOT / 'build' / f'{selected_distro()}-{sys.implementation.cache_tag}'
        # As colcon would name it under this base: it can go on with what was compiled here.
        self.cmake_dir = base / NAME
        self.stage_dir = base / 'stage'

    def finalize_options(self) -> None:
        """Do nothing: there are no options."""

    @property
    def python_dir(self) -> str:
        """Where CMake installs Python modules, relative to the prefix."""
        return f'lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages'

    def run(self) -> None:
        """Configure, build and install into the staging directory."""
        prefix = checked_ros_prefix()
        shutil.rmtree(self.stage_dir, ignore_errors=True)
        self._cmake(ROOT, self.cmake_dir, prefix)
        if lacks_tf2_msgs(prefix):
            source, binary = ROOT / 'cmake' / TF2_MSGS, self.cmake_dir.with_name(TF2_MSGS)
            self._cmake(source, binary, prefix, self.stage_dir / OPT)

    def _cmake(
        self, source: Path, binary: Path, prefix: Path, install: Path | None = None
    ) -> None:
        """Build one package, and install it where the others are or in another prefix."""
        configure = [
            'cmake',
            '-G',
            'Ninja',
            '-S',
            str(source),
            '-B',
            str(binary),
            f'-DCMAKE_PREFIX_PATH={prefix}',
            f'-DCMAKE_INSTALL_PREFIX={install or self.stage_dir}',
            '-DCMAKE_INSTALL_LIBDIR=lib',
            '-DCMAKE_BUILD_TYPE=Release',
            '-DBUILD_TESTING=OFF',
            '-DBOUNDARY_ENV_ROS_WHEEL=ON',
            f'-DPYTHON_INSTALL_DIR={self.python_dir}',
            f'-DPython3_EXECUTABLE={sys.executable}',
            '-DPython3_FIND_STRATEGY=LOCATION',
        ]
        _forget_other_build(configure, binary)
        environment = {**os.environ, 'AMENT_PREFIX_PATH': str(prefix)}
        # The generators are scripts: they must run on this interpreter, whatever PATH says.
        for command in (
            configure,
            ['cmake', '--build', str(binary)],
            ['cmake', '--install', str(binary), '--strip'],
        ):
            self.announce(' '.join(command), level=2)
            subprocess.run(command, check=True, env=environment)


def _forget_other_build(configure: list[str], binary: Path) -> None:
    # The cache of an isolated build names an environment that no longer exists.
    stamp = binary / 'configured-with.txt'
    wanted = '\n'.join([*configure, str(shutil.which('cmake')), str(shutil.which('ninja'))])
    if not stamp.is_file() or stamp.read_text(encoding='utf-8') != wanted:
        shutil.rmtree(binary, ignore_errors=True)
        binary.mkdir(parents=True)
        stamp.write_text(wanted, encoding='utf-8')


class InstallData(_install_data):
    """Install the data files, and the staged interfaces if they were built."""

    def run(self) -> None:
        """Copy Python modules beside the package and all else under the prefix."""
        super().run()
        if not builds_interfaces():
            return
        built = self.get_finalized_command('build_interfaces')
        site_packages = Path(self.get_finalized_command('install').install_lib)
        staged = built.stage_dir / built.python_dir
        # The generated __init__.py stays behind: the package has its own.
        leave_out = {
            staged / NAME: ('__init__.py', '__pycache__', '*.c'),
            built.stage_dir / OPT / built.python_dir / TF2_MSGS: ('__pycache__', '*.c'),
            built.stage_dir / 'lib': ('python3*',),
            built.stage_dir / 'share' / NAME: _SHELL_SCRIPTS,
            built.stage_dir / OPT / 'share' / TF2_MSGS: _SHELL_SCRIPTS,
            **{
                # The prefix that the build used.
                prefix / 'share/ament_index/resource_index': ('parent_prefix_path',)
                for prefix in (built.stage_dir, built.stage_dir / OPT)
            },
        }

        def left_out(folder: str, names: list[str]) -> set[str]:
            patterns = leave_out.get(Path(folder), ('__pycache__',))
            return shutil.ignore_patterns(*patterns)(folder, names)

        shutil.copytree(staged / NAME, site_packages / NAME, dirs_exist_ok=True, ignore=left_out)
        shutil.copytree(built.stage_dir, self.install_dir, dirs_exist_ok=True, ignore=left_out)
        shutil.copyfile(Path(__file__).with_name('ros_paths.py'), site_packages / f'{PATHS}.py')
        site_packages.joinpath(f'{NAME}.pth').write_text(_PATH_HOOK, encoding='utf-8')


COMMANDS = {
    'build': Build,
    'build_interfaces': BuildInterfaces,
    'build_py': BuildPy,
    'install_data': InstallData,
}
