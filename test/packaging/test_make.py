# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first contact: what `make` says on a machine that lacks something, and does on another."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess

import pytest

from support.installs import clean_environment, Environment, REPOSITORY


def _make(tree: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ['make', *arguments],
        cwd=tree,
        env={**clean_environment(), **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture
def bare_tree(tmp_path: Path) -> Path:
    """Copy as much of the repository as is looked at before anything is downloaded."""
    tree = tmp_path / 'repository'
    shutil.copytree(REPOSITORY / '.ci', tree / '.ci')
    shutil.copytree(REPOSITORY / 'build_backend', tree / 'build_backend')
    for name in ('CMakeLists.txt', 'Makefile', 'package.xml', 'pyproject.toml', 'setup.py'):
        shutil.copy2(REPOSITORY / name, tree)
    return tree


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Make a directory with the tools of a small machine: to be the whole PATH."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    needed = 'apt-get c++ cc find getconf grep make rm sed sh touch uname'
    for name in needed.split():
        path = shutil.which(name)
        if path is not None:
            (folder / name).symlink_to(path)
    (folder / 'python3').symlink_to(Environment.current().base_python)
    return folder


@pytest.mark.parametrize(
    ('missing', 'message'),
    [
        ('cc', 'Not found: a C compiler (cc).'),
        ('c++', 'Not found: a C++ compiler (c++).'),
        ('python3', 'Not found: CPython 3.10 to 3.13.'),
    ],
)
def test_missing_tool_is_named_with_its_package_before_any_download(
    bare_tree: Path, tools: Path, missing: str, message: str
) -> None:
    (tools / missing).unlink()
    finished = _make(bare_tree, 'demo', PATH=str(tools))
    assert finished.returncode != 0
    assert message in finished.stderr
    assert 'nstall it' in finished.stderr
    assert not (bare_tree / '.venv').exists()


@pytest.mark.parametrize(
    ('statement', 'message'),
    [
        ('import ensurepip, venv', 'Not found: the venv module of'),
        ('import sysconfig; print(sysconfig.get_path("include"))', 'Not found: the headers of'),
    ],
)
def test_python_without_venv_or_headers_is_told_which_package_has_them(
    bare_tree: Path, tools: Path, statement: str, message: str
) -> None:
    # A Python as Debian splits it: it answers all but the one question.
    real = (tools / 'python3').resolve()
    (tools / 'python3').unlink()
    (tools / 'python3').write_text(
        '#!/bin/sh\n'
        f'case "$2" in \'{statement}\') echo /nowhere; exit 1;; esac\n'
        f'exec {real} "$@"\n'
    )
    (tools / 'python3').chmod(0o755)
    finished = _make(bare_tree, 'env', PATH=str(tools))
    assert finished.returncode != 0
    assert message in finished.stderr
    assert not (bare_tree / '.venv').exists()


def test_python_that_is_too_old_is_refused(bare_tree: Path, tools: Path) -> None:
    old = tools / 'python3.6'
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.6.15 || echo None\n')
    old.chmod(0o755)
    finished = _make(bare_tree, 'env', 'PYTHON=python3.6', PATH=str(tools))
    assert finished.returncode != 0
    assert (
        'Wrong Python (expected CPython 3.10 to 3.13, got python3.6, which is Python 3.6.15).'
        in finished.stderr
    )


def test_make_alone_says_what_there_is(bare_tree: Path) -> None:
    finished = _make(bare_tree)
    assert finished.returncode == 0
    for target in ('demo', 'test', 'lint', 'bench', 'clean'):
        assert f'make {target}' in finished.stdout


@pytest.mark.packaging
@pytest.mark.timeout(900)
def test_second_call_has_nothing_to_do(made_tree: Path) -> None:
    if made_tree == REPOSITORY:  # as whoever runs these tests by `make` has said
        python = os.environ.get('PYTHON', '')
        finished = _make(made_tree, '--dry-run', 'env', PYTHON=python)
    else:
        python = Environment.current().base_python
        finished = _make(made_tree, '--dry-run', 'env', f'PYTHON={python}')
    assert finished.returncode == 0, finished.stderr
    assert 'Nothing to be done' in finished.stdout


@pytest.mark.packaging
@pytest.mark.timeout(900)
def test_other_python_gets_a_new_environment(made_tree: Path) -> None:
    planned = _make(made_tree, '--dry-run', 'env', 'PYTHON=python3.99')
    assert 'rm -rf .venv' in planned.stdout
    assert os.fspath(Environment.current().base_python) not in planned.stdout
