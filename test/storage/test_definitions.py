# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Definitions are found by name, complete, and what other readers make of them is the same."""

from __future__ import annotations

import json
from pathlib import Path
import shutil

import pytest

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.definitions import definition_of, Field, fields_of, parse_definition
from support.storage_wire import definition, MESSAGES

INNER = 'float64 x  # metres\n'
OUTER = """# A comment = with an equals sign
uint8 KIND_A=1
string GREETING=hello
other/Inner first
other/msg/Inner[] many
Sibling[3] three
uint8[<=10] bounded
string<=5[] names
float64 filled 0.5
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for name, text in {
        'mine/msg/Outer': OUTER,
        'mine/msg/Sibling': 'other/Inner inner\n',
        'other/msg/Inner': INNER,
    }.items():
        file = tmp_path / 'share' / f'{name}.msg'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / 'share/mine/msg/Outer.json').write_text(
        json.dumps(
            {
                'type_hashes': [
                    {'type_name': 'mine/msg/Sibling', 'hash_string': 'RIHS01_b'},
                    {'type_name': 'mine/msg/Outer', 'hash_string': 'RIHS01_a'},
                ]
            }
        )
    )
    return tmp_path


def test_definition_holds_each_contained_type_once(prefix: Path) -> None:
    text, type_hash = definition_of('mine/msg/Outer', [prefix / 'nothing', prefix])
    parts = text.split('\n' + '=' * 80 + '\n')
    assert parts == [
        OUTER,
        f'MSG: other/Inner\n{INNER}',
        'MSG: mine/Sibling\nother/Inner inner\n',
    ]
    assert type_hash == 'RIHS01_a'


def test_type_without_hash_file_has_no_hash(prefix: Path) -> None:
    assert definition_of('other/msg/Inner', [prefix]) == (INNER, '')


def test_first_prefix_wins(prefix: Path, tmp_path: Path) -> None:
    overlay = tmp_path / 'overlay'
    (overlay / 'share/other/msg').mkdir(parents=True)
    (overlay / 'share/other/msg/Inner.msg').write_text('int8 y\n')
    assert definition_of('other/msg/Inner', [overlay, prefix])[0] == 'int8 y\n'


def test_missing_inner_type_is_named_with_the_type_that_wants_it(prefix: Path) -> None:
    shutil.rmtree(prefix / 'share/other')
    with pytest.raises(RecordError, match=r'other/msg/Inner \(inside mine/msg/Outer\).*Install'):
        definition_of('mine/msg/Outer', [prefix])


@pytest.mark.parametrize('name', ['Outer', 'mine/Outer', 'mine/srv/Outer'])
def test_what_is_no_message_type_is_refused(prefix: Path, name: str) -> None:
    with pytest.raises(RecordError, match='expected a message type as package/msg/Name, got'):
        definition_of(name, [prefix])


def test_hash_file_without_the_type_is_an_error(prefix: Path) -> None:
    (prefix / 'share/mine/msg/Outer.json').write_text('{"type_hashes": []}')
    with pytest.raises(RecordError, match=r'Outer\.json does not hold the hash of mine/msg/Outer'):
        definition_of('mine/msg/Outer', [prefix])


def test_fields_know_their_arrays_and_constants_are_none() -> None:
    assert fields_of(OUTER, 'mine') == (
        Field(name='first', type='other/Inner'),
        Field(name='many', type='other/Inner', array=True),
        Field(name='three', type='mine/Sibling', array=True, size=3),
        Field(name='bounded', type='uint8', array=True, most=10),
        Field(name='names', type='string', array=True),
        Field(name='filled', type='float64'),
    )


def test_line_that_is_no_field_is_an_error_with_its_number() -> None:
    with pytest.raises(RecordError, match="line 2, got '---'"):
        fields_of('int8 x\n---\n', 'mine')


def test_definition_of_a_bag_is_read_back(prefix: Path) -> None:
    parsed = parse_definition('mine/msg/Outer', definition_of('mine/msg/Outer', [prefix])[0])
    assert list(parsed) == ['mine/Outer', 'other/Inner', 'mine/Sibling']
    assert parsed['other/Inner'] == (Field(name='x', type='float64'),)


def test_our_messages_are_parsed_as_another_reader_parses_them() -> None:
    files = sorted(MESSAGES.glob('*.msg'))
    assert files
    for file in files:
        type_name = f'boundary_env_ros/msg/{file.stem}'
        text, _ = definition(type_name)
        own = fields_of(file.read_text(), 'boundary_env_ros')
        assert own == parse_definition(type_name, text)[f'boundary_env_ros/{file.stem}']
