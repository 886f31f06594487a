# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reference of the contract language says what the parser does: same keys, same defaults."""

from __future__ import annotations

import re

from contract_tables import with_tables
import pytest

from boundary_env_ros.core.contract import sources as images
from boundary_env_ros.core.contract.paths import FUNCTIONS
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.sources import derived
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.errors import ContractError
from boundary_env_ros.storage.contract_file import loads
from support.pages import code, first_code, rows, section, text_of

PAGE = text_of('doc/contract.md')
SHIPPED = text_of('config/warehouse_cart.yaml')


def test_its_tables_are_those_of_the_values_of_a_contract() -> None:
    """Made again by ``make reference``."""
    assert with_tables(PAGE) == PAGE


def test_every_value_of_a_contract_has_its_keys_in_a_table() -> None:
    listed = {code(cells[0])[0] for cells in rows(section(PAGE, 'Keys'))}
    for key in ('period', 'observation.<field>.pad', 'action.<group>.duration', 'robot.host'):
        assert key in listed
    assert len(listed) >= 150


def test_page_has_the_built_in_endings_in_order_of_precedence() -> None:
    listed = {
        code(cells[0])[0]: cells[1] for cells in rows(section(PAGE, 'Endings')) if code(cells[0])
    }
    assert list(listed) == list(endings.BUILT_IN)
    assert listed == {name: kind.name.lower() for name, kind in endings.BUILT_IN.items()}


def test_page_has_the_functions_of_field_paths() -> None:
    assert set(first_code(section(PAGE, 'Field paths'))) == set(FUNCTIONS)


def test_page_has_the_functions_of_derived_fields() -> None:
    assert set(first_code(section(PAGE, 'Derived fields'))) == set(derived.FUNCTIONS)


def test_page_has_the_ready_adapters() -> None:
    named = set(code(section(PAGE, 'Ready adapters')))
    parts = {part for known in PARTS.values() for part in known}
    plain = {'vector3', 'point', 'quaternion'}  # the one thing that such a message is
    assert parts - plain <= named
    bases = {name.rsplit('/', 1)[1] for name in (*PARTS, *ARRAYS)}
    for name in bases:
        base = re.sub('(WithCovariance)?(Stamped)?$', '', name)
        base = re.sub(r'^(Float|U?Int)\d+(MultiArray)?$', r'Float64\2', base)
        base = base if base != 'Float64' else 'Float32'
        assert any(text.rsplit('/', 1)[-1] == base for text in named), name


def test_page_has_the_encodings_of_images() -> None:
    named = set(code(section(PAGE, 'Images')))
    assert {name for name in images.ENCODINGS if not name.startswith('bayer')} <= named
    assert set(images.DECOMPRESSED) <= named


def test_error_on_the_page_is_the_one_that_is_raised() -> None:
    head, front = SHIPPED.split('encoding: rgb8', 1)
    broken = f'{head}encoding: rgb8{front.replace("frame:", "frames:", 1)}'
    broken = broken.replace('hold_timeout: 0.15 ', 'hold_timeout: 0.05 ')
    shown = re.search(r'^```\n(broken.yaml.*?)\n```', PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    with pytest.raises(ContractError) as raised:
        loads(broken, source='broken.yaml')
    assert str(raised.value) == shown[1]
