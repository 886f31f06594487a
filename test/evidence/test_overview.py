# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a run."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path

import pytest
from record_maker import Piece

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.overview import draw_overview
from boundary_env_ros.evidence.run_story import PATHS, places_of, tell

PNG = b'\x89PNG\r\n\x1a\n'


def size_of(picture: Path) -> tuple[int, int]:
    """Return width and height of a PNG, from its header."""
    header = picture.read_bytes()[:24]
    assert header.startswith(PNG)
    return int.from_bytes(header[16:20], 'big'), int.from_bytes(header[20:24], 'big')


def test_places_are_found_by_unit_and_frame(contract: Contract) -> None:
    places = places_of(contract)
    assert (places.position, places.goal, places.truth) == ('pose', 'goal', 'true_pose')
    assert (places.unit, places.frame) == ('m', 'hall')


def test_story_shows_paths_endings_and_the_episode_with_most_interventions(
    record: list[Piece], contract: Contract
) -> None:
    story = tell(record, places_of(contract))
    assert story.episodes == len(story.paths) == 5
    assert story.endings == {
        'goal_seeking': {'success': 2, 'safety_stop': 1, 'time_limit': 1},
        'no_op': {'time_limit': 1},
    }
    assert story.course is not None
    assert {'RATE_LIMIT', 'COMMAND_TIMEOUT'} <= {name for _, name in story.course.reasons}
    path = story.paths[0]
    assert len(path.observed) == len(path.truth) > 10
    assert path.goal is not None
    assert path.cause == 'success'


def test_story_counts_late_evidence(record: list[Piece], contract: Contract) -> None:
    whole = tell(record, places_of(contract))
    steps_only = tell((p for p in record if isinstance(p, Transition)), places_of(contract))
    assert whole.stages['gate'].quantiles.count == steps_only.stages['gate'].quantiles.count
    known = whole.stages['actuation'].quantiles.count
    assert known > steps_only.stages['actuation'].quantiles.count > 0


def test_story_keeps_a_bounded_number_of_paths(
    transitions: list[Transition], contract: Contract
) -> None:
    many = (
        replace(step, id=replace(step.id, episode_id=str(i)))
        for i in range(PATHS + 5)
        for step in transitions[:3]
    )
    story = tell(many, places_of(contract))
    assert story.episodes == PATHS + 5
    assert len(story.paths) == PATHS


@pytest.mark.parametrize('with_contract', [True, False])
def test_picture_is_drawn(
    record: list[Piece], contract: Contract, tmp_path: Path, with_contract: bool
) -> None:
    pytest.importorskip('matplotlib')
    place = tmp_path / 'overview.png'
    draw_overview(record, place, contract=contract if with_contract else None)
    width, height = size_of(place)
    assert width > 1200
    assert height > 800


@pytest.mark.parametrize('count', [0, 1, 2])
def test_picture_is_drawn_of_hardly_anything(
    transitions: list[Transition], contract: Contract, tmp_path: Path, count: int
) -> None:
    pytest.importorskip('matplotlib')
    place = tmp_path / 'overview.png'
    draw_overview(transitions[:count], place, contract=contract)
    assert size_of(place)[0] > 1200


def test_picture_is_not_overwritten(
    transitions: list[Transition], contract: Contract, tmp_path: Path
) -> None:
    pytest.importorskip('matplotlib')
    place = tmp_path / 'overview.png'
    place.write_bytes(b'precious')
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        draw_overview(transitions[:2], place, contract=contract)
    assert place.read_bytes() == b'precious'


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith('matplotlib'):
            raise ImportError(name)
        return present(name, *rest)

    monkeypatch.setattr(builtins, '__import__', without)
    with pytest.raises(MissingDependency, match='`pip install matplotlib`'):
        draw_overview([], tmp_path / 'overview.png')
    assert not (tmp_path / 'overview.png').exists()
