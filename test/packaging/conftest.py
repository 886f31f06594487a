# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of the repository, environments and wheels, each made once for all tests here."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

from support.installs import clean_environment, Environment, REPOSITORY, run


@pytest.fixture(scope='session')
def source_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what git would hand out, with what was not committed yet: no build, no cache."""
    listed = run('git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')
    tree = tmp_path_factory.mktemp('source') / REPOSITORY.name
    for name in filter(None, listed):
        if (REPOSITORY / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, tree / name)
    return tree


@pytest.fixture(scope='session')
def wheel(made_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with interfaces where `make env` has compiled them already."""
    folder = tmp_path_factory.mktemp('wheel')
    built = Environment(made_tree / '.venv').build_wheel_of_what_was_compiled(made_tree, folder)
    assert built.parent == folder
    return built


@pytest.fixture(scope='session')
def pip_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install the wheel with everything that the demonstration needs."""
    environment = Environment.make(tmp_path_factory.mktemp('pip') / 'venv')
    environment.install(f'{wheel}[report,ros,sim]')
    return environment


@pytest.fixture(scope='session')
def base_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install the wheel without any extra."""
    environment = Environment.make(tmp_path_factory.mktemp('base') / 'venv')
    environment.install(str(wheel))
    return environment


@pytest.fixture(scope='session')
def made_tree(source_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where `make env` was run: an editable install with built interfaces."""
    if Environment.current().prefix == REPOSITORY / '.venv':
        return REPOSITORY  # that was a minute ago, and would only be done again
    tree = tmp_path_factory.mktemp('made') / source_tree.name
    shutil.copytree(source_tree, tree, ignore=shutil.ignore_patterns('build', '*.egg-info'))
    python = Environment.current().base_python
    finished = subprocess.run(
        ['make', 'env', f'PYTHON={python}'],
        cwd=tree,
        env=clean_environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return tree


@pytest.fixture(scope='session')
def editable_environment(made_tree: Path) -> Environment:
    """Give the environment that `make env` made."""
    return Environment(made_tree / '.venv')
