# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The checklist names tests and examples that there are."""

from __future__ import annotations

from support.pages import code, REPOSITORY, rows, text_of


def test_what_shows_each_sentence_exists() -> None:
    shown = [name for cells in rows(text_of('doc/checklist.md')) for name in code(cells[2])]
    assert len(shown) > 15
    for path, _, test in (name.partition('::') for name in shown):
        assert (REPOSITORY / path).is_file(), path
        assert f'def {test}(' in text_of(path) or not test, f'{path}::{test}'
