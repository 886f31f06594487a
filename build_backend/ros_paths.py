# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where ROS is found in an environment of pip: run at each start of its Python, by a ``.pth`` file.

The wheels of ROS tell nobody where their index of packages is. And the one message of tf2_msgs
that pip builds here has a prefix of its own, which is used where there is no other tf2_msgs alone:
the path of the libraries has no order, so two under one name would hide each other.
"""

from __future__ import annotations

from collections.abc import MutableMapping
import os
from pathlib import Path
import sys

NAME = 'boundary_env_ros'


def complete(environment: MutableMapping[str, str] = os.environ, prefix: str = sys.prefix) -> None:
    """Add the prefixes behind those that are there, as of a workspace that was sourced."""
    if not Path(f'{prefix}/share/ament_index/resource_index/packages/{NAME}').is_file():
        return
    own = Path(prefix) / 'opt' / NAME
    # The environment may be that of a Python for which no workspace was sourced yet.
    prefixes, libraries = (
        [entry for entry in environment.get(name, '').split(os.pathsep) if entry not in ('', out)]
        for name, out in (('AMENT_PREFIX_PATH', str(own)), ('LD_LIBRARY_PATH', f'{own}/lib'))
    )
    if prefix not in prefixes:
        prefixes.append(prefix)
    others = (Path(each, 'share/tf2_msgs/package.xml') for each in prefixes)
    if own.is_dir() and not any(file.is_file() for file in others):
        sys.path += map(str, own.glob('lib/python3*/site-packages'))
        prefixes.append(str(own))
        # The loader reads it at the start: at that which the wheels make after this one.
        libraries.append(f'{own}/lib')
    environment['AMENT_PREFIX_PATH'] = os.pathsep.join(prefixes)
    if 'LD_LIBRARY_PATH' in environment or libraries:
        environment['LD_LIBRARY_PATH'] = os.pathsep.join(libraries)
