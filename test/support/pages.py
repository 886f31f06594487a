# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation as data: their tables, code, headings and links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

REPOSITORY = Path(__file__).parents[2]
PAGES = tuple(
    sorted(
        [
            REPOSITORY / 'README.md',
            REPOSITORY / 'CONTRIBUTING.md',
            *(REPOSITORY / 'doc').rglob('*.md'),
        ]
    )
)

_CELL = re.compile(r'(?<!\\)\|')
_CODE = re.compile(r'`([^`]+)`')


def text_of(name: str) -> str:
    """Return the text of a file, by its path in the repository."""
    return (REPOSITORY / name).read_text(encoding='utf-8')


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one of the same or a higher level."""
    found = re.search(rf'^(#+) {re.escape(heading)}$', text, re.MULTILINE)
    assert found is not None, f'no heading {heading!r}'
    rest = text[found.end() :]
    end = re.search(rf'^#{{1,{len(found[1])}}} ', rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """Return the cells of every row of every table, heads and rulers left out."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith('|') or set(line) <= set('|-: '):
            continue
        if number + 1 < len(lines) and lines[number + 1].startswith('|--'):
            continue
        yield tuple(cell.strip() for cell in _CELL.split(line)[1:-1])


def code(text: str) -> tuple[str, ...]:
    """Return what stands between single backquotes."""
    return tuple(_CODE.findall(text))


def first_code(text: str) -> tuple[str, ...]:
    """Return the code of the first cell of every row."""
    return tuple(name for cells in rows(text) for name in code(cells[0]))


def without_code(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r'^```.*?^```', '', text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> frozenset[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    heads = re.findall(r'^#+ (.*)$', without_code(text), re.MULTILINE)
    return frozenset(re.sub(r'[^\w\- ]', '', head.lower()).replace(' ', '-') for head in heads)
