# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check package.xml against REP-149 (format 3), and that the version is the same everywhere."""

from __future__ import annotations

import importlib
import importlib.metadata
from pathlib import Path
import re
import sys

from catkin_pkg.package import InvalidPackage, Package, parse_package_string

ROOT = Path(__file__).resolve().parent.parent
NAME = 'boundary_env_ros'


def package_problems(text: str) -> list[str]:
    """Return what is wrong with a package.xml, strictly: a warning is a problem, too."""
    warnings: list[str] = []
    try:
        package: Package = parse_package_string(text, warnings=warnings)
        package.validate(warnings=warnings)
    except InvalidPackage as error:
        return [f'package.xml: {error}']
    found = [f'package.xml: {warning}' for warning in warnings]
    if package.package_format != 3:
        found.append(f'package.xml: wrong format (expected 3, got {package.package_format}).')
    if package.get_build_type() != 'ament_cmake':
        found.append(f'package.xml: not ament_cmake (got {package.get_build_type()}).')
    if [entry.file for entry in package.licenses] != ['LICENSE']:
        found.append('package.xml: wrong license (expected <license file="LICENSE">).')
    return found


def versions() -> dict[str, str]:
    """Return the version that each place states."""
    sys.path.insert(0, str(ROOT))

    def first(pattern: str, name: str) -> str:
        found = re.search(pattern, (ROOT / name).read_text(encoding='utf-8'), re.MULTILINE)
        return found.group(1) if found else 'none'

    return {
        'package.xml': first(r'<version>(.*?)</version>', 'package.xml'),
        'pyproject.toml': first(r'^version = "(.*?)"', 'pyproject.toml'),
        'CHANGELOG.rst (top entry)': first(r'^(\d+\.\d+\.\d+) \(', 'CHANGELOG.rst'),
        'CITATION.cff': first(r'^version: (\S+)$', 'CITATION.cff'),
        f'{NAME}.__version__': str(importlib.import_module(NAME).__version__),
        'installed metadata': importlib.metadata.version(NAME),
    }


def main() -> int:
    """Print every problem and return the exit code."""
    problems = package_problems((ROOT / 'package.xml').read_text(encoding='utf-8'))
    stated = versions()
    if len(set(stated.values())) != 1:
        places = ''.join(f'\n  {version}  {place}' for place, version in stated.items())
        problems.append(f'The versions differ:{places}')
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
