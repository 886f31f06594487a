# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A key that is added to a value of a contract, there alone, is found everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from contract_schema import schema
from contract_tables import with_tables
import jsonschema
import pytest

from boundary_env_ros.core.contract import key as contract_key
from boundary_env_ros.core.contract import model as contract
from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.key import BEHAVIOURAL, Key
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import ContractError
from boundary_env_ros.evidence.contract_difference import difference
from boundary_env_ros.evidence.describe import describe
from boundary_env_ros.storage.contract import safety
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract.section_reader import Reader
from support.contract_corpus import data_of, REPOSITORY, SHIPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class WiderSafety(Safety):
    """
    What the gate enforces, and one thing more.

    Attributes
    ----------
    grace
        How long the gate is patient.

    """

    grace: Annotated[float, Key(unit='s', above=0.0, most=2.0), BEHAVIOURAL] = 0.5


@pytest.fixture(autouse=True)
def _with_the_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(contract, 'Safety', WiderSafety)
    monkeypatch.setattr(safety, 'Safety', WiderSafety)
    contract_key._parts_of.cache_clear()
    yield
    contract_key._parts_of.cache_clear()


def data_with(grace: object) -> dict[str, Any]:
    """Return a shipped contract that has the key."""
    data = data_of(SHIPPED[0])
    data['safety']['grace'] = grace
    return data


def test_the_parser_reads_it_and_knows_its_default() -> None:
    assert parse(data_with(1.5)).safety.grace == 1.5  # type: ignore[attr-defined]
    assert parse(data_of(SHIPPED[0])).safety.grace == 0.5  # type: ignore[attr-defined]


def test_the_parser_refuses_what_is_out_of_its_bounds_with_its_line() -> None:
    with pytest.raises(ContractError) as raised:
        parse(data_with(3.0), lines={('safety', 'grace'): 42})
    [problem] = raised.value.problems
    assert str(problem) == (
        'safety.grace (line 42): expected a finite number (s) greater than 0 not more than 2, '
        'got 3.0.'
    )


def test_the_bounds_of_a_list_hold_for_each_of_its_numbers() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Shares:
        """Shares of a whole."""

        shares: Annotated[Vector, Key(least=0.0, most=1.0), BEHAVIOURAL]

    reader = Reader({'shares': [0.5, 2.0]})
    reader.make(Shares)
    assert [problem.path for problem in reader.problems] == [('shares', 1)]


def test_a_slip_is_told_its_name() -> None:
    data = data_with(1.5)
    data['safety']['graze'] = data['safety'].pop('grace')
    with pytest.raises(ContractError, match="Did you mean 'grace'"):
        parse(data)


def test_the_schema_knows_it() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    assert validator.is_valid(data_with(1.5))
    assert not validator.is_valid(data_with(3.0))
    assert schema()['properties']['safety']['properties']['grace'] == {
        'description': 'How long the gate is patient.',
        'type': 'number',
        'exclusiveMinimum': 0.0,
        'maximum': 2.0,
        'default': 0.5,
    }


def test_the_reference_lists_it() -> None:
    page = (REPOSITORY / 'doc' / 'contract.md').read_text(encoding='utf-8')
    added = set(with_tables(page).splitlines()) - set(page.splitlines())
    row = '| `safety.grace` | number > 0, at most 2, s; default `0.5` | How long the gate is'
    assert added == {f'{row} patient. |'}


def test_digest_description_and_difference_have_it() -> None:
    before, after = parse(data_with(0.5)), parse(data_with(1.5))
    assert digest_of(before) != digest_of(after)
    assert '  grace: 1.5' in describe(after)
    [found] = difference(before, after).changes
    assert (found.path, found.before, found.after) == ('safety.grace', '0.5', '1.5')
    assert found.meaning is BEHAVIOURAL
