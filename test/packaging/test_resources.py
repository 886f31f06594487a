# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where shared files are found, and what is said when they are not."""

from __future__ import annotations

from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.resources import share_file
from support.installs import clean_environment, REPOSITORY

PROGRAM = """
from boundary_env_ros.resources import share_file
print(share_file('config/warehouse_cart.yaml'))
"""


def _module_alone(folder: Path) -> Path:
    """Put the module that looks for files, and what it imports, under a folder."""
    package = folder / 'boundary_env_ros'
    package.mkdir(parents=True)
    for name in ('__init__.py', 'errors.py', 'frozen.py', 'registration.py', 'resources.py'):
        shutil.copy(REPOSITORY / 'boundary_env_ros' / name, package)
    return folder


def _share(prefix: Path) -> Path:
    share = prefix / 'share/boundary_env_ros'
    (share / 'config').mkdir(parents=True)
    (share / 'package.xml').write_text('')
    (share / 'config/warehouse_cart.yaml').write_text('')
    return share


def _look(site_packages: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Without site (-S) no other installation of this package is in the way.
    return subprocess.run(
        [sys.executable, '-S', '-c', PROGRAM],
        cwd=site_packages,
        env={**clean_environment(), 'PYTHONPATH': str(site_packages), **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_checkout_is_its_own_share() -> None:
    assert share_file('config/warehouse_cart.yaml') == REPOSITORY / 'config/warehouse_cart.yaml'


def test_prefix_of_the_package_comes_before_the_environment(tmp_path: Path) -> None:
    site_packages = _module_alone(tmp_path / 'lib/python3.12/site-packages')
    own = _share(tmp_path)
    other = _share(tmp_path / 'other').parent.parent
    found = _look(site_packages, AMENT_PREFIX_PATH=str(other))
    assert found.stdout.strip() == str(own / 'config/warehouse_cart.yaml'), found.stderr


def test_workspace_that_is_sourced_is_looked_at_last(tmp_path: Path) -> None:
    site_packages = _module_alone(tmp_path / 'a/b/c/d')
    share = _share(tmp_path / 'workspace')
    found = _look(site_packages, AMENT_PREFIX_PATH=f'/nowhere:{tmp_path / "workspace"}')
    assert found.stdout.strip() == str(share / 'config/warehouse_cart.yaml'), found.stderr


def test_error_names_every_place_when_there_is_no_share(tmp_path: Path) -> None:
    found = _look(_module_alone(tmp_path / 'a/b/c/d'), AMENT_PREFIX_PATH='/nowhere')
    assert found.returncode != 0
    assert str(tmp_path / 'a/share/boundary_env_ros') in found.stderr
    assert '/nowhere/share/boundary_env_ros' in found.stderr
    assert 'Reinstall the package.' in found.stderr


def test_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BoundaryError, match=re.escape(f'{REPOSITORY}/config/cart.yaml')):
        share_file('config/cart.yaml')
