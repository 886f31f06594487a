# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page on data sets says what the exports write."""

from __future__ import annotations

import re

from boundary_env_ros.evidence.export.formats import FORMATS
from boundary_env_ros.evidence.export.layout import ABOUT, Layout
from boundary_env_ros.storage.contract_file import load
from support.pages import rows, section, text_of

PAGE = text_of('doc/export.md')


def test_every_column_of_a_step_has_its_row() -> None:
    columns = Layout(load('warehouse_cart').contract, ()).of_step
    expected = [
        (f'`{column.name}`', column.dtype + (', n' if column.shape else ''), column.text)
        for column in columns
    ]
    assert list(rows(section(PAGE, 'Columns'))) == expected


def test_what_is_said_of_an_episode_is_listed() -> None:
    (sentence,) = re.findall(r'Of each episode: (.*?) \(', PAGE, re.DOTALL)
    assert re.findall(r'`(\w+)`', sentence) == [column.name for column in ABOUT]


def test_every_format_has_its_row() -> None:
    head = PAGE.split('## ')[0]
    named = re.findall(r'^\| `(\w+)` \|', head, re.MULTILINE)
    assert named == list(FORMATS)
    assert f'--format {"|".join(FORMATS)}' in head
