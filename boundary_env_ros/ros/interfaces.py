# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The package's own messages and services.

They are built by rosidl and have no type hints, so they are imported from here only.
"""

from __future__ import annotations

from importlib import import_module, metadata
import os
from pathlib import Path
import re
from typing import Any, NoReturn

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError

from boundary_env_ros.errors import INSTALL_ROS, MissingDependency, StaleBuild
from boundary_env_ros.resources import share_directory


def ros_distro() -> str:
    """Return the ROS 2 that is sourced, or that the installed package is for; empty: unknown."""
    try:
        needed = ' '.join(metadata.requires('boundary_env_ros') or ())
    except metadata.PackageNotFoundError:
        needed = ''
    wheels = re.search(r'\bros-([a-z]+)-std-msgs\b', needed)
    return os.environ.get('ROS_DISTRO') or (wheels[1] if wheels else '')


def stale(sources: Path, built: Path) -> str:
    """Return the first interface that was changed since the build; empty if none was."""
    for source in sorted((*sources.glob('msg/*.msg'), *sources.glob('srv/*.srv'))):
        name = f'{source.parent.name}/{source.name}'
        copy = built / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            return name
    return ''


def refuse(name: str) -> NoReturn:
    """Raise what a missing or changed interface means."""
    raise StaleBuild(
        f'The built messages of boundary_env_ros are older than its sources (expected {name} as '
        'in the sources). Build again: `make env` in the repository, or `colcon build '
        '--packages-select boundary_env_ros` in the workspace.'
    )


def _missing(name: str) -> NoReturn:
    if name.startswith('_'):
        raise AttributeError(name)
    refuse(name)


try:
    msg: Any = import_module('boundary_env_ros.msg')
    srv: Any = import_module('boundary_env_ros.srv')
except ImportError as error:
    raise MissingDependency(
        f'The ROS messages of boundary_env_ros are not built: {error}. {INSTALL_ROS}.'
    ) from error

# A symlink install of colcon has the newest files beside what was built of older ones: there only
# a missing name tells.
msg.__getattr__ = srv.__getattr__ = _missing
try:
    if changed := stale(share_directory(), Path(get_package_share_directory('boundary_env_ros'))):
        refuse(changed)
except PackageNotFoundError:
    pass  # not in the index of packages, but imported: built by other means
