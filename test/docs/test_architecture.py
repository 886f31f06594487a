# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the page on the architecture says about stages, floors and equal records is so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

import pytest

from boundary_env_ros.core.records import instants
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.serialization import Json, to_json
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.storage.contract_file import load
from support.pages import first_code, REPOSITORY, section, text_of

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

PAGE = text_of('doc/architecture.md')
CONTRIBUTING = text_of('CONTRIBUTING.md')


def test_page_has_the_stages_and_their_drawing_as_they_are_computed() -> None:
    listed = first_code(section(PAGE, 'One step on a time line'))
    assert [name for name in listed if name in STAGES] == list(STAGES)
    drawn = re.search(r'^```\n(captured.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    assert drawn is not None
    assert instants.__doc__ is not None
    lines = [line.strip() for line in drawn[1].splitlines()]
    assert '\n'.join(lines) in '\n'.join(line.strip() for line in instants.__doc__.splitlines())


def test_page_names_the_floors_of_the_import_rules() -> None:
    rules = text_of('pyproject.toml')
    found = re.search(r'name = "Floors".*?layers = \[(.*?)\]', rules, re.DOTALL)
    assert found is not None
    layers = [set(re.findall(r'\w+', layer)) for layer in re.findall(r'"(.*?)"', found[1])]
    (line,) = re.findall(r'^`frozen` <.*?\.', section(CONTRIBUTING, 'Floors'), re.MULTILINE)
    floors = [set(re.findall(r'\w+', floor)) for floor in line.split('<')]
    assert floors == list(reversed(layers))


def test_page_names_every_room_and_no_other() -> None:
    package = REPOSITORY / 'boundary_env_ros'
    rooms = {file.parent.relative_to(package).as_posix() for file in package.rglob('__init__.py')}
    # Interfaces are generated, and may have been built here.
    rooms -= {'.', 'msg', 'srv'}
    assert set(first_code(section(CONTRIBUTING, 'Floors'))) == rooms


def test_page_follows_one_command_through_files_that_are_there() -> None:
    told = section(PAGE, 'The audit of one limited command')
    cells = re.findall(r'^\| (`.*?) \|', told, re.MULTILINE)
    rows = [re.findall(r'`(\S+\.py)`', cell) for cell in cells]
    # In a row the folder of the first file is that of the others.
    files = [
        Path(row[0]).parent / Path(name).name if i else Path(name)
        for row in rows
        for i, name in enumerate(row)
    ]
    package = REPOSITORY / 'boundary_env_ros'
    missing = [file for file in files if not (package / file).is_file()]
    assert not missing, missing
    assert len(set(files)) > 10


def _episodes() -> list[tuple[str, Json]]:
    records: list[tuple[str, Json]] = []
    world = EmbeddedWorld(
        load('warehouse_cart', Pacing.LOCKSTEP),
        sink=lambda record: records.append((type(record).__name__, to_json(record))),
    )
    for seed in (1, 2):
        world.reset(seed=seed, options={'scenario': 'clear'}, wrappers=())
        for turn in (0.0, 0.5, -2.0):
            world.step({'cart': (1.0, turn)})
    world.close()
    return records


def _differing(one: Json, other: Json, name: str = '') -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _differing(one[key], other[key], key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _differing(left, right, name)
    elif one != other:
        yield name


def test_equal_seeds_leave_equal_records_but_for_what_the_page_lists() -> None:
    one, other = _episodes(), _episodes()
    assert [name for name, _ in one] == [name for name, _ in other]
    listed = section(PAGE, 'Same seed, same record').split('\n\n')[2]
    differing = {
        name
        for (_, left), (_, right) in zip(one, other, strict=True)
        for name in _differing(left, right)
    }
    assert differing <= set(re.findall(r'`(\w+)`', listed))
    assert 'episode_id' in differing
