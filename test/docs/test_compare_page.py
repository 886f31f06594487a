# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page on comparing says what the code does."""

from __future__ import annotations

import pytest

from boundary_env_ros.evidence import response
from boundary_env_ros.evidence.compare import permutation
from boundary_env_ros.evidence.compare.features import units_of
from boundary_env_ros.storage.contract_file import load
from support.pages import code, rows, section, text_of

PAGE = text_of('doc/compare.md')


def test_numbers_are_those_of_the_code() -> None:
    assert f'{permutation.DEALS} drawn' in PAGE
    assert f'({response.FEWEST_TAPS} to {response.MOST_TAPS} periods)' in PAGE


def test_reality_is_what_the_page_says_and_what_finds_it_exists() -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from boundary_env_ros.simulation.cart_robot import CartRobot, RealityCartRobot

    table = rows(section(PAGE, 'The reality variant'))
    told = {code(cells[0])[0]: [float(code(cell)[0]) for cell in cells[1:3]] for cells in table}
    thought, built = (
        {n: v for n, (v, _) in r.OPTIONS.items()} for r in (CartRobot, RealityCartRobot)
    )
    assert told == {n: [thought[n], built[n]] for n in thought if thought[n] != built[n]}
    known = {*units_of(load('warehouse_cart').contract), 'response.gain'}
    assert all(name in known for cells in table for name in code(cells[3]))
