# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of keys in the reference of contracts, made from the values of a contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
import math
import re
from typing import Any, get_args

from boundary_env_ros.core.contract.key import (
    Key,
    meanings_of,
    Part,
    parts_of,
    REQUIRED,
    spelt,
)
from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.contract.safety import OF_PLACE
from boundary_env_ros.core.contract.sources import OF_VALUE, Trajectory
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES

_HEAD = '| Key | Value | Meaning, and what follows from it |\n|---|---|---|\n'
#: A table of keys, and the heading above it.
_TABLE = re.compile(
    rf'(?<=\n)(### [^\n]+\n(?:(?!\n#)[^|])*){re.escape(_HEAD)}((?:\|[^\n]*\n)*)', re.DOTALL
)


def with_tables(page: str) -> str:
    """Return the reference with its tables made again; their first keys say what is in each."""
    rows = list(_rows(Contract, '', set()))
    tables: dict[str, list[str]] = {}
    for path, row in rows:
        section, dot, _ = path.partition('.')
        tables.setdefault(section if dot else '', []).append(row)

    def made(found: re.Match[str]) -> str:
        sections = dict.fromkeys(
            path.partition('.')[0] if '.' in path else ''
            for path in re.findall(r'^\| `([^`]+)`', found[2], re.MULTILINE)
        )
        lines = ''.join(row for section in sections for row in tables.get(section, ()))
        return f'{found[1]}{_HEAD}{lines}'

    return _TABLE.sub(made, page)


def models_in(kind: Any) -> Iterator[type]:
    """Yield the dataclasses that a type names, for example those of a union or of a tuple."""
    if isinstance(kind, type) and hasattr(kind, '__dataclass_fields__'):
        yield kind
    for inner in get_args(kind):
        yield from models_in(inner)


def words_of(part: Part) -> tuple[str, ...]:
    """Return the words that a key may have; none if it is not one of some words."""
    key = part.key
    assert key is not None
    if key.choices or part.type is bool:
        return key.choices or key.words
    for kind in (part.type, *get_args(part.type)[:1]):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return tuple(map(spelt, kind))
    return ()


def _rows(model: type, prefix: str, seen: set[Any]) -> Iterator[tuple[str, str]]:
    """Yield key paths and their rows; a value of several places is explained at the first."""
    seen.add(model)
    for part in keys_of(model):
        if part.key is None:
            continue
        path = f'{prefix}{part.path}'
        inner = list(models_in(part.type))
        if part.path and path not in seen:
            seen.add(path)
            shown = path if inner or not part.key.item else f'{path}.<{part.key.item}>'
            meaning = ABOUT.get(part.attribute) or meanings_of(model)[part.attribute]
            yield path, f'| `{shown}` | {_type(part)}{_default(part)} | {meaning} |\n'
        if part.type == Mapping[str, float]:
            kind = f'number{_range(part.key)}, {part.key.unit}'
            for word in part.key.choices:
                yield f'{path}.{word}', f'| `{path}.{word}` | {kind} | |\n'
        below = f'{path}.<{part.key.item}>.' if part.key.item else f'{path}.'
        for one in inner:
            if one not in seen and not (one is Trajectory and model is FieldSpec):
                yield from _rows(one, below if part.path else prefix, seen)


def keys_of(model: type) -> Iterator[Part]:
    """Yield the keys of a value; of those for rules of the gate, the section of each rule."""
    for part in parts_of(model).values():
        if part.attribute == 'rules':
            yield from (rule.part() for rule in SENSOR_RULES)
        else:
            yield part


#: What is said of the sections of the rules of the gate.
ABOUT = {rule.section: rule.about for rule in SENSOR_RULES}


def _type(part: Part) -> str:
    key, kind = part.key, part.type
    assert key is not None
    if key.shown:
        return key.shown
    words = words_of(part)
    if words and kind == Mapping[str, float]:
        return 'section'
    if words:
        listed = ', '.join(f'`{word}`' for word in words)
        return f'{listed}, or a list of them' if 'tuple' in str(kind) else listed
    if kind is bool:
        return 'true or false'
    if kind is int:
        return 'whole number' + _range(key)
    text = key.spelt.name if key.spelt else 'text'
    if kind is str:
        return text
    if kind == tuple[str, ...]:
        return f'list of {text}s'
    if kind == tuple[int, ...] or tuple[int, ...] in get_args(kind):
        return 'whole numbers'
    unit = {'': '', OF_VALUE: ', in `unit`', OF_PLACE: ', in `unit`'}.get(
        key.unit, f', {key.unit}'
    )
    also = ''.join(f', or `{word}`' for word in key.words)
    if kind is float:
        return f'number{_range(key)}{unit}{also}'
    if float in _leaves(kind) and not list(models_in(kind)):
        return f'numbers{_range(key)}{unit}{also}'
    return 'section'


def _leaves(kind: Any) -> Iterator[Any]:
    for inner in get_args(kind):
        yield inner
        yield from _leaves(inner)


def _range(key: Key) -> str:
    found = ''
    if not math.isinf(key.above):
        found = f' > {key.above:g}'
    if not math.isinf(key.least):
        found = f' >= {key.least:g}'
    return found + (f', at most {key.most:g}' if not math.isinf(key.most) else '')


def _default(part: Part) -> str:
    default = _shown_default(part)
    if default in ('', 'required'):
        return default and f'; {default}'
    return f'; default {default}'


def _shown_default(part: Part) -> str:
    key, default = part.key, part.default
    assert key is not None
    if key.same_as:
        return f'`{key.same_as}`' if key.same_as.isidentifier() else key.same_as
    if key.one_of:
        return ''
    if default is REQUIRED:
        return 'required'
    if isinstance(default, bool):
        return f'`{key.words[default] if key.words else str(default).lower()}`'
    if isinstance(default, Enum):
        return f'`{spelt(default)}`'
    if isinstance(default, str):
        return f'`{default}`' if default else "`''`"
    if isinstance(default, (int, float)):
        return f'`{default}`'
    if isinstance(default, tuple) and default:
        return f'`{", ".join(default)}`'
    return ''
