# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Contracts with faults, and exactly what is said of each.

``bad_contracts/<sort>/NNN_name.yaml`` is the file, ``NNN_name.txt`` beside it one line for each
problem, and whether the JSON Schema sees that something is wrong. Message types are those that
``rosbags`` knows, whatever is installed besides. ``bad_contracts/changes.yaml`` lists changes of
good contracts that need no file of their own.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path
import re
from typing import Any

import jsonschema
import pytest
import yaml

from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract_check import check_text
from boundary_env_ros.storage.contract_file import installed_tasks, load, read_text
from boundary_env_ros.storage.message_types import MessageTypes, rosbags_definitions
from boundary_env_ros.storage.yaml_text import MOST_BYTES, YamlText
from support.contract_corpus import BAD, data_of, full, GOOD, RICH, SCHEMA, SHIPPED

pytest.importorskip('rosbags')
pytestmark = pytest.mark.skipif(
    not {'go_to_goal', 'open_door', 'swap_places'} <= set(installed_tasks()),
    reason='needs the package installed',
)

FILES = sorted(BAD.glob('*/*.yaml'))
CHANGES = yaml.safe_load((BAD / 'changes.yaml').read_text(encoding='utf-8'))
BASES = {path.stem: path for path in (*GOOD, *SHIPPED, RICH)}
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
TYPES = MessageTypes([], rosbags_definitions())


def problems_of(path: Path) -> tuple[Problem, ...]:
    """Return everything that is said of a file."""
    try:
        source, text = read_text(path)
    except ContractError as error:
        return error.problems
    return check_text(text, source, TYPES).problems


def test_there_are_enough_of_them() -> None:
    assert len(FILES) >= 200
    numbers = [int(path.name[:3]) for path in FILES]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize('path', [*GOOD, *SHIPPED], ids=lambda path: path.stem)
def test_of_a_good_contract_nothing_is_said(path: Path) -> None:
    assert problems_of(path) == ()


def verdict_on(data: object) -> str:
    """Return whether the JSON Schema sees that something is wrong; a key that is null is none."""
    return f'(the JSON Schema {"takes" if VALIDATOR.is_valid(full(data)) else "refuses"} it)'


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
@pytest.mark.timeout(20)
def test_a_bad_contract_is_told_exactly_what_is_wrong(path: Path) -> None:
    expected = path.with_suffix('.txt').read_text(encoding='utf-8')
    told = [str(problem) for problem in problems_of(path)]
    assert told
    with contextlib.suppress(ContractError):  # it may be no data at all
        told.append(verdict_on(YamlText(read_text(path)[1], path.name).data))
    assert '\n'.join(told) == expected.rstrip('\n')


@pytest.mark.parametrize('case', CHANGES, ids=lambda case: case.get('name', str(case['change'])))
def test_a_change_for_the_worse_is_told_exactly(case: dict[str, Any]) -> None:
    data = data_of(BASES[case['of']])
    for path, value in case['change'].items():
        place: Any = data
        *above, last = (int(key) if key.isdigit() else key for key in path.split('.'))
        for key in above:
            place = place[key]
        place[last] = value
    with pytest.raises(ContractError) as caught:
        parse(data, tasks={'go_to_goal': ('boundary_env_ros', '0.1.0')})
    assert [str(problem) for problem in caught.value.problems] == case['told']
    assert verdict_on(data) == f'(the JSON Schema {case["schema"]})'


# What no file in a repository can be -------------------------------------------------------------


def told(path: Path) -> str:
    """Return what is said of a place that cannot be read."""
    with pytest.raises(ContractError) as caught:
        load(path)
    [problem] = caught.value.problems
    assert caught.value.source == str(path)
    return str(problem)


def test_a_folder_is_no_contract(tmp_path: Path) -> None:
    assert told(tmp_path) == ('(top level): not a readable text file: Is a directory.')


def test_a_file_that_is_not_there_is_no_contract(tmp_path: Path) -> None:
    assert told(tmp_path / 'a.yaml') == (
        '(top level): not a readable text file: No such file or directory.'
    )


def test_a_file_that_may_not_be_read_is_no_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, 'Permission denied')

    path = tmp_path / 'a.yaml'
    path.write_text('contract: a')
    # Root may read whatever its mode says.
    path.chmod(0)
    if os.geteuid() == 0:
        monkeypatch.setattr(Path, 'open', refuse)
    assert told(path) == '(top level): not a readable text file: Permission denied.'


def test_a_device_without_an_end_is_no_contract() -> None:
    assert told(Path('/dev/zero')) == (
        f'(top level): not a readable text file: more than {MOST_BYTES} bytes.'
    )


def test_an_impossible_path_is_no_contract() -> None:
    assert told(Path('a\0b.yaml')).endswith('embedded null byte.')
    assert told(Path('a' * 5000 + '.yaml')).endswith('File name too long.')


# Nothing in a contract executes code -------------------------------------------------------------


def test_the_python_tags_of_the_corpus_would_run_code_elsewhere(
    tmp_path: Path,
) -> None:
    [path] = BAD.rglob('*python_call.yaml')
    owned = tmp_path / 'owned'
    text = path.read_text().replace('/tmp/owned', str(owned))
    yaml.unsafe_load(text)
    assert owned.exists()
    owned.unlink()
    path = tmp_path / 'mine.yaml'
    path.write_text(text)
    assert any('the tag !!python/object' in problem.actual for problem in problems_of(path))
    assert not owned.exists()


def test_no_constructor_of_yaml_is_ever_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError('a constructor was asked')

    for name in ('construct_document', 'construct_object', 'get_data', 'get_single_data'):
        monkeypatch.setattr(yaml.constructor.BaseConstructor, name, refuse)
    for path in (BAD / 'yaml').glob('*.yaml'):
        problems_of(path)
    load('warehouse_cart')


def test_every_tag_that_makes_anything_but_plain_data_is_refused() -> None:
    tags = {
        tag for tag in yaml.constructor.UnsafeConstructor.yaml_constructors if tag is not None
    } | {
        f'{prefix}os.system'
        for prefix in yaml.constructor.UnsafeConstructor.yaml_multi_constructors
    }
    plain = re.compile(r'tag:yaml\.org,2002:(null|bool|int|float|str|seq|map)')
    assert len(tags) > 15
    for tag in tags:
        if not plain.fullmatch(tag):
            check = check_text(f'a: !<{tag}> x\n', 'mine.yaml', TYPES)
            assert any(problem.expected == 'data and nothing else' for problem in check.problems)


# Scalars are those of YAML 1.2 -------------------------------------------------------------------


@pytest.mark.parametrize(
    ('written', 'read'),
    [
        ('1e-3', 0.001), ('1.5e+3', 1500.0), ('.5', 0.5), ('010', 10), ('0o10', 8), ('0x10', 16),
        ('1_000', '1_000'), ('1:30', '1:30'), ('12:30:45', '12:30:45'),
        ('yes', 'yes'), ('No', 'No'), ('on', 'on'), ('off', 'off'), ('y', 'y'),
        ('true', True), ('False', False), ('null', None), ('~', None), ('', None),
        ('2001-01-01', '2001-01-01'), ('=', '='), ('"1"', '1'), ("'true'", 'true'),
        ('+1', 1), ('-0', 0), ('1.', 1.0), ('0b11', '0b11'), ('infinity', 'infinity'),
        ('!!str 1', '1'), ('!!float 1', 1.0), ('1e3', 1000.0),
        ('|\n  two\n  lines', 'two\nlines\n'),
    ],
)  # fmt: skip
def test_a_scalar_is_read_as_an_editor_reads_it(written: str, read: object) -> None:
    text = YamlText(f'a: {written}\n', 'mine.yaml')
    assert not text.problems
    assert text.data == {'a': read}
    assert isinstance(text.data, dict)
    assert type(text.data['a']) is type(read)
