# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whatever a contract file holds: it is a contract or it is refused by name, and never anything else.

And whatever is a contract has spaces, a digest that layout does not change, a description, and no
difference from itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import jsonschema
import pytest
import yaml

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import ContractError
from boundary_env_ros.evidence.contract_difference import difference
from boundary_env_ros.evidence.describe import describe
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract_check import check_text
from boundary_env_ros.storage.contract_file import loads
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.storage.yaml_text import YamlText
from support.contract_corpus import data_of, full, GOOD, SCHEMA, SHIPPED
from support.contract_strategies import contract_data

FILES = [*SHIPPED, *GOOD]
TEXTS = [path.read_text(encoding='utf-8') for path in FILES]
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding='utf-8')))
DATA = [data_of(path) for path in FILES]

Key = str | int


def is_sound(contract: Contract) -> None:
    """Do with a contract what everybody does."""
    observation_space(contract)
    action_space(contract)
    digest_of(contract)
    assert describe(contract).replace('\n', '').isprintable()
    assert not difference(contract, contract).changes


def parsed(data: object) -> Contract | None:
    """Return the contract that plain data holds; None if it is refused, by name."""
    try:
        contract = parse(data)
    except ContractError as error:
        assert error.problems  # noqa: PT017 - both outcomes are right
        for problem in error.problems:
            assert problem.expected or problem.actual
            assert str(problem).isprintable()
        return None
    is_sound(contract)
    is_in_the_schema(data)
    return contract


def is_in_the_schema(data: object) -> None:
    """Hold what the parser takes against the published schema, to which null is a value."""
    errors = [
        f'{list(error.path)}: {error.message}' for error in VALIDATOR.iter_errors(full(data))
    ]
    assert not errors


# Plain data --------------------------------------------------------------------------------------


@pytest.mark.parametrize('number', [1e308, -1e308, 5e-324, 10**400])
def test_any_number_may_be_too_large_or_too_small(number: float) -> None:
    data = data_of(next(path for path in SHIPPED if path.stem == 'warehouse_cart'))
    for place in places(data):
        changed: Any = deepcopy(data)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        if place and isinstance(inner[place[-1]], (int, float)):
            inner[place[-1]] = number
            parsed(changed)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 1, 2, 10**6, 10**12, 10**400, -(10**400), 1e308, -1e308, 5e-324]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ['hold_position', 'none', 'task', 'yaw(a)', 'a[0]', 'a.b', '', ' ', 'é', 'a\n', '\0']
    ),
    st.binary(max_size=3),
    st.lists(st.one_of(st.integers(-3, 3), st.text(max_size=3), st.floats()), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(-2, 2), max_size=3),
    st.dictionaries(st.integers(0, 2), st.none(), max_size=2),
    st.just(object()),
)


def places(data: object, path: tuple[Key, ...] = ()) -> Iterator[tuple[Key, ...]]:
    """Yield the path of every value."""
    items: Any = ()
    if isinstance(data, Mapping):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(data: Any, path: tuple[Key, ...]) -> Any:
    """Return the value at a path."""
    for key in path:
        data = data[key]
    return data


@st.composite
def mutated(draw: Any) -> object:
    """Return a good contract with some values replaced, deleted, doubled, swapped or added."""
    data = deepcopy(draw(st.sampled_from(DATA)))
    for _ in range(draw(st.integers(1, 4))):
        paths = list(places(data))
        if not paths:
            break
        *above, key = draw(st.sampled_from(paths))
        parent = at(data, tuple(above))
        kind = draw(st.sampled_from(['replace', 'delete', 'copy', 'swap', 'add']))
        if kind == 'replace':
            parent[key] = draw(JUNK)
        elif kind == 'delete':
            del parent[key]
        elif kind == 'add' and isinstance(parent, dict):
            parent[draw(st.one_of(st.text(max_size=5), st.integers(), st.none()))] = draw(JUNK)
        else:
            other = draw(st.sampled_from(paths))
            try:
                value = deepcopy(at(data, other))
                if kind == 'swap':
                    at(data, other[:-1])[other[-1]] = parent[key]
                parent[key] = value
            except (KeyError, IndexError, TypeError):
                # The one was inside the other.
                continue
    return data


@given(data=mutated())
def test_mutated_data_is_a_sound_contract_or_refused_by_name(data: object) -> None:
    parsed(data)


@given(data=st.recursive(JUNK, lambda inner: st.dictionaries(st.text(max_size=5), inner)))
def test_any_data_is_refused_by_name(data: object) -> None:
    assert parsed(data) is None


@pytest.mark.parametrize('data', [None, [], 'text', 3, {}, {1: 2}, object(), {'observation': []}])
def test_what_is_no_contract_at_all_is_refused_by_name(data: object) -> None:
    assert parsed(data) is None


def test_data_that_holds_itself_is_refused_by_name() -> None:
    for place in (('task', 'parameters'), ('observation', 'pose'), ('action',)):
        data = data_of(next(path for path in GOOD if path.stem == 'smallest'))
        at(data, place)['self'] = data
        assert parsed(data) is None


# Contracts of all sorts --------------------------------------------------------------------------

#: Where the order of keys is part of the meaning.
ORDERED = ('observation', 'state', 'privileged', 'action', 'endings', 'choices')


def turned(data: Any, name: Key = '') -> Any:
    """Return plain data with its keys in another order, where that means nothing."""
    if isinstance(data, Mapping):
        keys = list(data) if name in ORDERED else list(reversed(data))
        return {key: turned(data[key], key) for key in keys}
    return [turned(item) for item in data] if isinstance(data, list) else data


@given(data=contract_data())
def test_any_contract_is_sound_and_layout_does_not_change_it(data: dict[str, Any]) -> None:
    contract = parse(data)
    is_sound(contract)
    is_in_the_schema(data)
    digest = digest_of(contract)
    assert digest_of(parse(turned(data))) == digest
    for flow in (True, False):
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=flow, width=60)
        read = YamlText(f'# a comment\n{text}', 'mine.yaml')
        assert not read.problems
        again = parse(read.data)
        assert digest_of(again) == digest
        assert not difference(contract, again).changes


@given(one=contract_data(), other=contract_data())
def test_any_two_contracts_can_be_compared(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = difference(parse(one), parse(other))
    assert all((c.path + c.before + c.after).isprintable() for c in found.changes)
    assert bool(found.changes) == (found.before != found.after)


# Texts -------------------------------------------------------------------------------------------

BITS = st.one_of(
    st.text(alphabet=' \n:-[]{}&*!|>#"\'%?,0.1ae~<\t@`', max_size=10),
    st.sampled_from(
        [
            '*a', '&a ', '<<: *a\n', '!!python/name:os.system ', '!x ', '---\n', '...\n',
            '%YAML 1.1\n', '? ', '- ', ': ', '\n\n', '.nan', '.inf', '1e999', '0o7', '0x',
            '"\\U0011FFFF"', '"\\x"', '"\\e[31m": 1\n',
            '\u2028', '\ufeff', 'null', '!!set {a}', '!<tag:x> a', '|2\n', '>-\n  a\n',
        ]
    ),
)  # fmt: skip


@st.composite
def broken_text(draw: Any) -> str:
    """Return the text of a good contract, with bits inserted, deleted and lines moved."""
    text: str = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        kind = draw(st.sampled_from(['insert', 'delete', 'line', 'indent']))
        if kind == 'insert':
            text = text[:place] + draw(BITS) + text[place:]
        elif kind == 'delete':
            text = text[:place] + text[place + draw(st.integers(1, 30)) :]
        else:
            lines = text.split('\n')
            index = place % len(lines)
            moved = lines[index] if kind == 'line' else f'  {lines.pop(index)}'
            lines.insert(index, moved)
            text = '\n'.join(lines)
    return text


@given(text=broken_text())
def test_a_broken_text_is_a_contract_or_refused_by_name(text: str) -> None:
    try:
        loaded = loads(text)
    except ContractError as error:
        assert error.problems  # noqa: PT017 - both outcomes are right
    else:
        is_sound(loaded.contract)
        # A mark of byte order is one at the very beginning only.
        assert loads('# more\n' + text.removeprefix('\ufeff')).digest == loaded.digest


@given(text=st.one_of(BITS, st.text(max_size=40), st.lists(BITS, max_size=8).map(''.join)))
def test_any_text_is_refused_by_name(text: str) -> None:
    check = check_text(text, 'mine.yaml')
    assert check.problems
    assert not check.digest
