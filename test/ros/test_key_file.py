# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The key of a boundary: made once, for its user alone, found without a setting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.errors import LinkError
from boundary_env_ros.ros.key_file import KEY_FILE, key_file, make_key, read_key
from boundary_env_ros.ros.processes import running
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    monkeypatch.delenv(KEY_FILE, raising=False)
    return key_file(7)


def test_whoever_makes_the_key_first_all_have_the_same(place: Path) -> None:
    assert read_key(place) is None
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: (make_key(place), read_key(place))[1], range(50)))
    assert {*made} == {read_key(place)}
    assert place.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]


def test_the_key_of_nodes_that_have_ended_stays_for_whoever_found_it(
    place: Path, tmp_path: Path
) -> None:
    with reserved_domain() as domain:
        with running([], domain_id=domain, logs=tmp_path / 'logs'):
            found = read_key(key_file(domain))
        assert found is not None
        assert read_key(key_file(domain)) == found


def test_each_domain_has_a_key_of_its_own(place: Path) -> None:
    make_key(place)
    make_key(key_file(8))
    assert read_key(place) != read_key(key_file(8))


@pytest.mark.parametrize('mode', [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(place: Path, mode: int) -> None:
    make_key(place)
    place.chmod(mode)
    with pytest.raises(LinkError, match=f'expected mode 600, got {mode:o}'):
        read_key(place)


@pytest.mark.parametrize('text', ['', 'ab' * 31, 'no digits', 'ab' * 33])
def test_a_file_without_a_key_is_refused(place: Path, text: str) -> None:
    make_key(place)
    place.write_text(text)
    with pytest.raises(LinkError, match='holds no key'):
        read_key(place)


def test_a_file_that_is_named_must_be_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_key(place)
    monkeypatch.setenv(KEY_FILE, str(tmp_path / 'copied'))
    with pytest.raises(LinkError, match='is missing'):
        read_key(key_file(7))
    place.rename(tmp_path / 'copied')
    assert read_key(key_file(7))
