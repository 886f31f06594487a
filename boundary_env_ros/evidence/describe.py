# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A contract for a reader: who owns what, then all its keys with the values that hold.

Keys, units and what is said of words are those of the values of a contract; what a key means
stands in ``doc/contract.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
import math
import re
from typing import Any

from boundary_env_ros.core.contract.key import (
    DIMENSION,
    DIMENSIONS,
    meanings_of,
    Part,
    parts_of,
    REQUIRED,
    spelt,
)
from boundary_env_ros.core.contract.model import (
    ActionSpec,
    Contract,
    EpisodeRules,
    FieldSpec,
    ResetProcedure,
)
from boundary_env_ros.core.contract.problem_text import Path
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES
from boundary_env_ros.core.records.endings import ENVIRONMENT_LOST
from boundary_env_ros.evidence.commented_yaml import Page
from boundary_env_ros.frozen import frozen

_NO_TASK = 'There is no task: no success, no failure, and a reward of 0.'
#: Of these also what is not declared is written: it is what holds for the whole.
_WHOLE = (Contract, Safety, EpisodeRules, ResetProcedure)


def owners(contract: Contract) -> Mapping[str, str]:
    """Return the answers to the four questions of ownership, one sentence each."""
    commands = ', '.join(group.topic for group in contract.action)
    hidden = ', '.join(field.name for field in contract.privileged)
    never = f' It never gets {hidden}, which is privileged.' if hidden else ''
    silent = f'{2 * contract.safety.environment_timeout:g}'
    reaction = next(field for field in contract.observation if field.name == contract.reaction_of)
    seen_by = (
        f'the header stamp of {reaction.topic}'
        if reaction.topic
        else 'which comes from no topic, so it stays unknown'
    )
    feedback = ', '.join(dict.fromkeys(group.feedback.topic for group in contract.action))
    task = contract.task.name
    judge = f'Whether the task is over is for the task {task!r} to judge.' if task else _NO_TASK
    return {
        'the observation': (
            'The process `environment`. It freezes every field once a step and serves the policy '
            f'what it froze.{never}'
        ),
        'the choice of action': (
            'The process of the policy. What becomes of it the process `safety_gate` decides, '
            f'which alone publishes {commands}.'
        ),
        'the ending': (
            f'The process `environment` declares it, after {contract.max_steps} steps at the '
            f'latest, with one name: of several at one instant, the first of `endings`. {judge} '
            f'When the environment is silent for {silent} s, the recorder declares '
            f'{ENVIRONMENT_LOST}.'
        ),
        'the record of timing': (
            f'`captured` of the field {contract.reaction_of!r}: {seen_by}. Every instant from '
            'there to `actuated` (the first evidence of execution in '
            f'{feedback}) stands in the `Transition` of its step.'
        ),
    }


def describe(contract: Contract, *, written: Collection[Path] = ()) -> str:
    """
    Return a contract as YAML with every value that holds, and what the words among them mean.

    Parameters
    ----------
    contract
        What to describe.
    written
        Key paths that its file has; of the others the value is said to be the default.

    """
    page = Page()
    _Writing(page, contract, written).keys(contract, (), 0)
    return page.text()


# Keys --------------------------------------------------------------------------------------------


@frozen
class _Item:
    """A key of a value of the contract, and what it holds."""

    model: type
    part: Part
    path: Path
    value: Any

    @property
    def key(self) -> str:
        return self.part.path

    @property
    def shown(self) -> bool:
        words = self.part.key.words if self.part.key is not None else ()
        if self.model in _WHOLE or ('none' in words and self.value != ()):
            return True
        usual = is_dataclass(self.value) and self.value == self.part.default
        return not usual and self.value not in (None, '', (), {})

    @property
    def sentence(self) -> str:
        """Return what is said about the word that it holds; of other values nothing."""
        meaning = meanings_of(self.model).get(self.part.attribute, '')
        sentences = re.sub(r'\[([^][]+)\]\([^()]*\)', r'\1', meaning).rstrip('.').split('. ')
        text = str(_plain(self))
        word = f'`{text}`: '
        begins = (word, 'Without it ') if text == 'none' else (word,)
        found = next((s.removeprefix(word) for s in sentences if s.startswith(begins)), '')
        return f'{found}.' if found else ''


def _items(value: Any, path: Path) -> Iterator[_Item]:
    """Yield the keys of a value, those of a source among them."""
    model = type(value)
    for part in parts_of(model).values():
        if not part.is_stored or (part.attribute == 'name' and not part.path):
            continue
        if part.attribute == 'shape':
            continue  # it is written beside the name
        given = getattr(value, part.attribute)
        if part.attribute == 'rules':
            for rule in SENSOR_RULES:
                below = (*path, rule.section)
                yield _Item(model=model, part=rule.part(), path=below, value=value.of(rule))
        elif part.path:
            below = (*path, *part.path.split('.'))
            yield _Item(model=model, part=part, path=below, value=given)
        elif is_dataclass(given):
            yield from _items(given, path)
        elif isinstance(given, Enum):
            [key] = [p for p in parts_of(model).values() if p.type is type(given)]
            yield _Item(model=model, part=key, path=(*path, key.path), value=given)
        elif isinstance(given, Mapping):
            for name, one in given.items():
                below = (*path, name)
                yield _Item(model=model, part=parts_of(model)[name], path=below, value=one)


class _Writing:
    """Writes the keys of a contract; a sentence is written where its key is written first."""

    def __init__(self, page: Page, contract: Contract, written: Collection[Path]) -> None:
        self._page, self._written = page, written
        self._dimensions = contract.command_dimensions
        self._written_before: set[str] = set()

    def keys(self, value: Any, path: Path, depth: int) -> None:
        """Write the keys of a value."""
        names = value.dimensions if isinstance(value, ActionSpec) else self._dimensions
        below: dict[str, list[tuple[str, _Item]]] = {}
        for item in _items(value, path):
            if item.shown or item.path in self._written:
                first, _, rest = item.key.partition('.')
                below.setdefault(first, []).append((rest, item))
        for first, some in below.items():
            if not depth:
                self._page.blank()
            if [rest for rest, _ in some] == ['']:
                self._item(first, some[0][1], depth, names)
                continue
            self._page.section(first, depth)
            for rest, item in some:
                if rest:
                    self._item(rest, item, depth + 1, names)
                else:
                    self._entries(item.value, depth + 1)

    def _item(self, key: str, item: _Item, depth: int, names: Sequence[str]) -> None:
        value, comment = item.value, self._comment(item)
        first = value[0] if isinstance(value, tuple) and value else None
        if isinstance(first, tuple) and isinstance(first[0], str):
            value = dict(value)
        is_map = isinstance(value, Mapping)
        if not value or not (is_dataclass(value) or is_dataclass(first) or is_map):
            self._page.key(key, _meant(_plain(item, names)), depth, comment)
            return
        self._page.section(key, depth, comment)
        if is_dataclass(value):
            self.keys(value, item.path, depth + 1)
        elif is_map:
            self._entries(value, depth + 1)
        else:
            for index, one in enumerate(value):
                name = getattr(one, 'name', '')
                self._page.section(name or str(index + 1), depth + 1, shape_of(one))
                self.keys(one, (*item.path, name or index), depth + 2)

    def _entries(self, value: Mapping[Any, Any], depth: int) -> None:
        for name, one in value.items():
            key = str(name).lower() if str(name).isupper() else str(name)
            if isinstance(one, Mapping):
                self._page.section(key, depth)
                self._entries(one, depth + 1)
            else:
                self._page.key(key, shown(one), depth)

    def _comment(self, item: _Item) -> str:
        """Return unit, whether it is the default, and what its word means, where that is new."""
        key = item.part.key
        may = key is not None and (item.part.default is not REQUIRED or key.same_as)
        default = bool(may and self._written and item.path not in self._written)
        unit = '' if key is None or key.unit.startswith('in ') else key.unit
        sentence = item.sentence
        meaning = ['' if sentence in self._written_before else sentence]
        self._written_before.add(sentence)
        return ' '.join(filter(None, (unit and f'{unit}.', 'Default.' * default, *meaning)))


def _plain(item: _Item, dimensions: Sequence[str] = ()) -> Any:
    """Return a value as the file may spell it."""
    value, key = item.value, item.part.key
    if key is not None and key.words and isinstance(value, bool):
        return key.words[value]
    if dimensions and key is not None and key.shown in (DIMENSION, DIMENSIONS):
        if isinstance(value, tuple):
            return [dimensions[index] for index in value]
        return 'none' if value is None else dimensions[value]
    if isinstance(value, tuple) and len(value) > 1 and isinstance(value[0], (str, float)):
        same = all(one == value[0] for one in value)
        return shown(value[0] if same else value)
    return shown(value)


def _meant(value: Any) -> Any:
    """Return a number without what arithmetic left at its end: 0.3 of 0.30000000000000004."""
    short = float(f'{value:.15g}') if isinstance(value, float) else value
    return short if len(repr(short)) < 15 else value


def shape_of(value: object) -> str:
    """Return the shape of a field, or of the action of a group; empty for anything else."""
    shape = value.shape if isinstance(value, FieldSpec) else ()
    size = (value.action_size,) if isinstance(value, ActionSpec) else shape
    return f'shape {list(size)}' if size else ''


def shown(value: Any) -> Any:
    """Return a value of a contract as its file may spell it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return 'hold_position' if math.isnan(value) else 'none'
    if isinstance(value, Enum):
        return spelt(value)
    if isinstance(value, (tuple, list)):
        return [shown(one) for one in value] or 'none'
    if value == {}:
        return 'none'
    return 'none' if value is None else value
