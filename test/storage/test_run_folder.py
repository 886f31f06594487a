# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run has a folder of its own, which nothing overwrites."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.transition_json import read_transition
from support.storage_wire import transition


@pytest.mark.parametrize('made_before', [False, True])
def test_new_run_gets_an_empty_folder(tmp_path: Path, made_before: bool) -> None:
    place = tmp_path / 'runs' / 'first'
    if made_before:
        place.mkdir(parents=True)
    run = RunFolder.create(place)
    assert list(run.path.iterdir()) == []
    assert [
        path.relative_to(place).as_posix()
        for path in (
            run.bag,
            run.contract,
            run.first_transition,
            run.episodes,
            run.summary,
            run.report,
        )
    ] == [
        'bag',
        'contract.yaml',
        'first_transition.json',
        'episodes.sqlite',
        'summary.json',
        'report.html',
    ]


def test_folder_with_anything_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / 'note').write_text('mine')
    with pytest.raises(RecordError, match=r'exists already, not overwritten\. Choose another'):
        RunFolder.create(tmp_path)
    assert (tmp_path / 'note').read_text() == 'mine'


def test_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / 'run').write_text('mine')
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        RunFolder.create(tmp_path / 'run')


def test_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(RecordError, match='file/run cannot be made'):
        RunFolder.create(tmp_path / 'file' / 'run')


def test_first_step_is_kept_whole_and_stays_the_first(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / 'run')
    assert not run.write_first_transition(transition(0))  # a reset
    assert run.write_first_transition(transition(1))
    assert not run.write_first_transition(transition(2))
    assert read_transition(run.first_transition) == transition(1)
    assert list(run.path.iterdir()) == [run.first_transition]


def test_first_transition_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r'first_transition\.json cannot be written'):
        RunFolder(tmp_path / 'gone').write_first_transition(transition(1))
