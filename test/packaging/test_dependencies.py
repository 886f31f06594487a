# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the package imports is declared, and does not come along with something else by chance."""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ET

from support.installs import REPOSITORY

#: Where the name of a distribution is not that of its module.
_DISTRIBUTIONS = {'PIL': 'pillow', 'rerun': 'rerun-sdk', 'yaml': 'pyyaml', 'zmq': 'pyzmq'}
#: LeRobot with its server does not come without them, and says in which version.
_WITH_LEROBOT = {'grpc', 'torch'}
#: Its typing stubs are part of every type checker.
_FOR_TYPES = {'_typeshed', 'typing_extensions'}
#: Only for Gazebo, which is not installed for everybody: package.xml says so.
_WITH_GAZEBO = {'ros_gz_interfaces'}


def _imported() -> dict[str, str]:
    """Return a file for each module from elsewhere that is imported, by the module's name."""
    found: dict[str, str] = {}
    for path in sorted((REPOSITORY / 'boundary_env_ros').rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition('.')[0], path.relative_to(REPOSITORY).as_posix())
    own = {'boundary_env_ros', *_FOR_TYPES, *_WITH_LEROBOT}
    return {
        name: path for name, path in found.items() if name not in sys.stdlib_module_names | own
    }


PACKAGE = ET.parse(REPOSITORY / 'package.xml').getroot()
ROS = {
    str(element.text).removesuffix('_py')
    for kind in ('depend', 'exec_depend')
    for element in PACKAGE.findall(kind)
} | _WITH_GAZEBO


def _required() -> set[str]:
    """Return the distributions that pip installs, with whatever extra, in their normal names."""
    project = (REPOSITORY / 'pyproject.toml').read_text(encoding='utf-8')
    always = re.search(r'^dependencies = \[(.*?)^\]', project, re.MULTILINE | re.DOTALL)
    extras = re.search(
        r'extras_require=\{(.*?)^    \}',
        (REPOSITORY / 'setup.py').read_text(encoding='utf-8'),
        re.MULTILINE | re.DOTALL,
    )
    assert always is not None
    assert extras is not None
    # What only tests and checks of the sources need is not there when somebody uses the package.
    used = re.sub(r"'(docs|lint|test)': \[.*?\]", '', extras[1], flags=re.DOTALL)
    names = re.findall(r'[\'"]([\w-]+)(?:\[[\w,]+\])?[><=~]', always[1] + used)
    return {name.lower().replace('_', '-') for name in names}


REQUIRED = _required()


def test_what_is_imported_is_declared() -> None:
    imported = _imported()
    assert len(imported) > 30
    undeclared = {
        f'{path}: {module}'
        for module, path in imported.items()
        if _DISTRIBUTIONS.get(module, module).replace('_', '-') not in REQUIRED
        and module not in ROS
    }
    assert undeclared == set()


def test_what_only_gazebo_needs_is_imported_and_said_in_package_xml() -> None:
    package = (REPOSITORY / 'package.xml').read_text(encoding='utf-8')
    assert set(_imported()) >= _WITH_GAZEBO
    assert {module for module in _WITH_GAZEBO if module not in package} == set()
