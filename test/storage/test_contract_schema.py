# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The published JSON Schema says what the parser says: the same keys, the same words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
from pathlib import Path
from typing import Any

import contract_schema
import jsonschema
import pytest

from boundary_env_ros.core.contract.sources import ENCODINGS, MOST_VALUES
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES
from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.sources.derived import FUNCTIONS
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract.section_reader import Reader
from support.contract_corpus import data_of, GOOD, SCHEMA, SHIPPED

CONTENT: dict[str, Any] = json.loads(SCHEMA.read_text(encoding='utf-8'))
VALIDATOR = jsonschema.Draft202012Validator(CONTENT)
DEFINITIONS: dict[str, Any] = CONTENT['$defs']
EVERY = [*SHIPPED, *GOOD]

Where = tuple[str, ...]

#: Sections whose keys the user chooses.
CHOSEN = [
    ('observation',),
    ('state',),
    ('privileged',),
    ('action',),
    ('action', '*', 'choices'),
    ('documents',),
    ('documents', '*', 'schema'),
    ('observation', '*', 'schema'),
    *(('safety', rule.section) for rule in SENSOR_RULES),
    ('safety', 'workspace', '*', 'keep_out'),
    ('task', 'parameters'),
    ('episode', 'endings'),
    ('episode', 'on_stop'),
    ('episode', 'reset', 'tolerance'),
    ('episode', 'reset', 'wrap'),
    ('episode', 'reset', 'procedure', '*', 'request'),
    ('episode', 'reset', 'procedure', '*', 'message'),
]


def test_its_file_is_made_from_the_values_of_a_contract() -> None:
    """Made again by ``make reference``."""
    assert SCHEMA.read_text(encoding='utf-8') == contract_schema.text()


def test_it_is_a_schema_of_draft_2020_12() -> None:
    assert CONTENT['$schema'] == 'https://json-schema.org/draft/2020-12/schema'
    jsonschema.Draft202012Validator.check_schema(CONTENT)


@pytest.mark.parametrize('path', EVERY, ids=lambda path: path.stem)
def test_every_good_contract_is_in_it(path: Path) -> None:
    errors = [f'{list(e.path)}: {e.message}' for e in VALIDATOR.iter_errors(data_of(path))]
    assert not errors


# The same keys -----------------------------------------------------------------------------------


def general(path: tuple[str | int, ...]) -> Where:
    """Return a key path with * in place of what the user chose."""
    where: Where = ()
    for key in path:
        where = (*where, '*' if isinstance(key, int) or where in CHOSEN else key)
    return where


def sections(data: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Where, str]]:
    """Yield every key of plain data and the section that it is in, but not what is chosen."""
    if isinstance(data, Mapping):
        where = general(path)
        for key, value in data.items():
            if where not in CHOSEN:
                yield where, key
            if where not in [
                c for c in CHOSEN if c[-1] in ('parameters', 'request', 'message', 'schema')
            ]:
                yield from sections(value, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from sections(item, (*path, index))


def declared(schema: Mapping[str, Any], where: Where = ()) -> Iterator[tuple[Where, str]]:
    """Yield every key that the schema declares, and the section that it is in."""
    while '$ref' in schema:
        schema = DEFINITIONS[schema['$ref'].rpartition('/')[2]]
    for key, value in schema.get('properties', {}).items():
        yield where, key
        yield from declared(value, (*where, key))
    inner = schema.get('additionalProperties')
    if isinstance(inner, Mapping):
        yield from declared(inner, (*where, '*'))
    if 'items' in schema:
        yield from declared(schema['items'], (*where, '*'))


def asked(monkeypatch: pytest.MonkeyPatch, path: Path) -> set[tuple[Where, str]]:
    """Return every key that the parser asks a contract for, and the section that it is in."""
    readers: list[Reader] = []
    initialise = Reader.__init__

    def remember(self: Reader, *arguments: Any, **options: Any) -> None:
        initialise(self, *arguments, **options)
        readers.append(self)

    monkeypatch.setattr(Reader, '__init__', remember)
    parse(data_of(path))
    monkeypatch.undo()
    return {
        (general(reader.path), key)
        for reader in readers
        if general(reader.path) not in CHOSEN
        for key in reader._known
    }


DECLARED = set(declared(CONTENT))


def test_every_key_that_the_parser_asks_for_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {pair for path in EVERY for pair in asked(monkeypatch, path)}
    assert not known - DECLARED


def test_every_key_that_is_declared_is_used_by_a_contract_that_the_parser_takes() -> None:
    used: set[tuple[Where, str]] = set()
    for path in EVERY:
        data = data_of(path)
        parse(data)
        used |= set(sections(data))
    assert not used - DECLARED
    assert alike(DECLARED) == alike(used)


#: How values are found in a message, wherever they are read or written.
SOURCE = frozenset(
    {'fields', 'parts', 'joints', 'quantity', 'publishers', 'array', 'length', 'shape'}
)


def alike(keys: set[tuple[Where, str]]) -> set[tuple[Where, str]]:
    """Return the keys with what is read alike in several sections in the first of them."""
    return {(_first(where, key), key) for where, key in keys}


def _first(where: Where, key: str) -> Where:
    if where[:1] in (('state',), ('privileged',)):
        return ('observation', *where[1:])
    read = (
        ('action', '*', 'acknowledgement'),
        ('safety', 'operator'),
        ('safety', 'workspace', '*'),
    )
    if where in read and key in SOURCE:
        return ('action', '*', 'feedback')
    return where


def test_every_key_has_a_meaning() -> None:
    def silent(schema: Mapping[str, Any], where: Where) -> Iterator[Where]:
        described = 'description' in schema
        while '$ref' in schema:
            schema = DEFINITIONS[schema['$ref'].rpartition('/')[2]]
            described = described or 'description' in schema
        if not described:
            yield where
        for key, value in schema.get('properties', {}).items():
            yield from silent(value, (*where, key))

    for name, schema in (('', CONTENT), *DEFINITIONS.items()):
        assert not list(silent(schema, (name,)))


# The same words ----------------------------------------------------------------------------------


def test_its_words_are_those_of_the_parser() -> None:
    field = DEFINITIONS['policy_field']['properties']
    assert field['encoding']['enum'] == list(ENCODINGS)
    assert field['beams']['maximum'] == field['points']['maximum'] == MOST_VALUES
    assert field['parts']['examples'] == sorted(
        {name for parts in PARTS.values() for name in parts}
    )
    assert {*PARTS, *ARRAYS} <= set(DEFINITIONS['message_type']['examples'])
    derive = DEFINITIONS['derive']
    assert derive['properties']['function']['enum'] == list(FUNCTIONS)
    needed = {
        rule['if']['properties']['function']['enum'][0]: rule['then']['required'][0]
        for rule in derive['allOf']
    }
    assert needed == {name: f.parameter for name, f in FUNCTIONS.items() if f.parameter}
    top = CONTENT['properties']
    assert set(top['latency_budget']['properties']) == {'of', *STAGES}
    reasons = top['episode']['properties']['on_stop']['propertyNames']['enum']
    assert reasons == [reason.name.lower() for reason in Reason]
