# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages that were built of other sources than the package has."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
import shutil

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.errors import StaleBuild
from boundary_env_ros.resources import share_directory
from boundary_env_ros.ros.interfaces import msg, refuse, ros_distro, stale

pytestmark = pytest.mark.ros


def test_a_message_that_is_newer_than_the_build_says_how_to_build_it() -> None:
    with pytest.raises(StaleBuild, match=r'expected NewMessage .* `make env`'):
        _ = msg.NewMessage
    assert not hasattr(msg, 'NewMessage')


def test_a_changed_interface_is_found_by_its_text(tmp_path: Path) -> None:
    sources = share_directory()
    for name in ('msg', 'srv'):
        shutil.copytree(sources / name, tmp_path / name)
    assert stale(sources, tmp_path) == ''
    (tmp_path / 'srv/Step.srv').write_text('float64 x\n')
    assert stale(sources, tmp_path) == 'srv/Step.srv'
    with pytest.raises(StaleBuild, match=r'srv/Step\.srv'):
        refuse(stale(sources, tmp_path))


def test_what_is_recorded_without_a_sourced_ros_names_the_one_that_the_package_was_built_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    major = version('ros-rclpy').split('.')[0]
    assert ros_distro() == {'7': 'jazzy', '9': 'kilted'}[major]
    monkeypatch.setenv('ROS_DISTRO', 'rolling')
    assert ros_distro() == 'rolling'
