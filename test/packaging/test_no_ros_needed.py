# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The part without ROS stays without ROS, and the core with almost nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import sys

from boundary_env_ros.errors import INSTALL_ROS
from support.installs import Environment, REPOSITORY

CORE = sorted((REPOSITORY / 'boundary_env_ros/core').rglob('*.py'))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ''


def test_core_imports_the_standard_library_and_numpy_only() -> None:
    allowed = {*sys.stdlib_module_names, 'boundary_env_ros', 'numpy'}
    found = {
        f'{path.stem}: {name}'
        for path in CORE
        for name in _imported(path)
        if name.split('.')[0] not in allowed
    }
    assert len(CORE) > 50
    # Where it is used: doc/decisions/0016-ruckig-proposes.md
    # Documents alone need jsonschema, which is imported when a contract has some.
    assert found == {'motion_profile: ruckig', 'json_documents: jsonschema'}


def test_importing_every_part_but_ros_loads_no_ros() -> None:
    parts = sorted(
        folder.name
        for folder in (REPOSITORY / 'boundary_env_ros').iterdir()
        if (folder / '__init__.py').is_file() and folder.name != 'ros'
    )
    assert 'core' in parts
    loaded = Environment.current().python(
        'import importlib, sys\n'
        f'sys.path.insert(0, {str(REPOSITORY)!r})\n'
        f'for part in {parts!r}:\n'
        "    importlib.import_module('boundary_env_ros.' + part)\n"
        "print(*(name for name in sys.modules if name.split('.')[0] in ('rclpy', 'std_msgs')))\n"
    )
    assert loaded.strip() == ''


def test_the_advice_where_ros_is_missing_builds_the_messages_too() -> None:
    build = (REPOSITORY / 'build_backend/ros_distributions.py').read_text(encoding='utf-8')
    variable = build.partition("INTERFACES_VARIABLE = '")[2].partition("'")[0]
    assert f'{variable}=on pip install' in INSTALL_ROS
    assert '--force-reinstall' in INSTALL_ROS
