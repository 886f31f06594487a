# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A contract drawn for a reader: who owns what, then all its keys with the values that hold.

Keys, sentences and units are those of the values of a contract; nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from enum import Enum
from itertools import groupby
import math
import re
import textwrap
from typing import Any

from boundary_env_ros.core.contract.key import (
    DIMENSION,
    DIMENSIONS,
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
from boundary_env_ros.core.contract.problem_text import Path, printable
from boundary_env_ros.core.contract.safety import Obstacle, Operator, Safety, Workspace
from boundary_env_ros.core.contract.sources import value_names
from boundary_env_ros.core.environment.endings import ENVIRONMENT_LOST
from boundary_env_ros.evidence.plain import plain
from boundary_env_ros.storage.contract_words import meanings_of

WIDTH = 92
_NO_TASK = 'There is no task: no success, no failure, and a reward of 0.'
#: Of these also what is not declared is told: it is what holds for the whole.
_WHOLE = (Contract, Safety, EpisodeRules, ResetProcedure)
_UNITS = ('s', 'm', 'm/s', 'rad')


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading of a description, and the lines below it."""

    title: str
    lines: tuple[str, ...]


def owners(contract: Contract) -> Mapping[str, str]:
    """Return the answers to the four questions of ownership, one sentence each."""
    commands = ', '.join(group.topic for group in contract.action)
    hidden = ', '.join(field.name for field in contract.privileged)
    never = f' It never gets {hidden}, which is privileged.' if hidden else ''
    silent = _number(2 * contract.safety.environment_timeout)
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


def describe(
    contract: Contract, digest: str, *, written: Collection[Path] = (), width: int = WIDTH
) -> tuple[Section, ...]:
    """
    Return a contract, drawn.

    Parameters
    ----------
    contract
        What to draw.
    digest
        Its digest.
    written
        Key paths that its file has; of the others the value is said to be the default.
    width
        Columns that no line is wider than, if its words allow.

    """
    drawing = _Drawing(contract, written, width)
    keys = [item for item in _items(contract, ()) if item.shown]
    simple = [item for item in keys if not item.is_section]
    return (
        Section(title=f'{contract.name} {contract.version}', lines=(digest,)),
        Section(title='Who owns', lines=tuple(drawing.terms(owners(contract), '  '))),
        Section(title='The whole', lines=tuple(drawing.draw(simple, '  '))),
        *(
            Section(title=item.key, lines=tuple(drawing.whole_section(item)))
            for item in keys
            if item.is_section
        ),
        Section(title='Topics, and what reads or writes them', lines=tuple(drawing.topics())),
    )


def as_data(contract: Contract, digest: str) -> dict[str, object]:
    """Return the same as plain data: the owners, and all attributes of the contract."""
    data = plain(contract, 'hold_position', endless='none')
    for section in ('observation', 'state', 'privileged'):
        for field, spec in zip(data[section], getattr(contract, section), strict=True):
            field['rank'] = len(spec.shape)
    return {
        'digest': digest,
        'owners': dict(owners(contract)),
        'max_steps': contract.max_steps,
        **data,
    }


def _number(value: object) -> str:
    """Return a number as short as it can be, other values as a contract spells them."""
    if isinstance(value, float):
        word = 'none' if math.isinf(value) else f'{value:.6g}'
        return 'hold_position' if math.isnan(value) else word
    if isinstance(value, Enum):
        return spelt(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        inner = ', '.join(f'[{_number(v)}]' if isinstance(v, tuple) else _number(v) for v in value)
        return inner or 'none'
    return 'none' if value in (None, '', {}) else str(value)


# Keys --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
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
    def is_section(self) -> bool:
        """Return whether keys of its own, or names of the user's choice, are below it."""
        value = self.value
        first = value[0] if isinstance(value, tuple) and value else value
        named = isinstance(first, tuple) and isinstance(next(iter(first), None), str)
        return named or is_dataclass(first) or (isinstance(value, Mapping) and bool(value))

    @property
    def text(self) -> str:
        """Return its value as the file may spell it."""
        words = self.part.key.words if self.part.key is not None else ()
        return words[self.value] if words and isinstance(self.value, bool) else _number(self.value)

    @property
    def sentence(self) -> str:
        """Return what is said about the word that it holds, or else about the key."""
        meaning = meanings_of(self.model).get(self.part.attribute, '')
        sentences = re.sub(r'\[([^][]+)\]\([^()]*\)', r'\1', meaning).rstrip('.').split('. ')
        word = f'`{self.text}`: '
        begins = (word, 'Without it ') if self.text == 'none' else (word,)
        fitting = (s.removeprefix(word) for s in sentences if s.startswith(begins))
        said = next(fitting, sentences[0])
        return f'{said}.' if said else ''


def _items(value: Any, path: Path) -> Iterator[_Item]:
    """Yield the keys of a value, those of a source among them."""
    model = type(value)
    for part in parts_of(model).values():
        if not part.is_stored or (part.attribute == 'name' and not part.path):
            continue
        if part.attribute == 'shape':
            continue  # it is told beside the name
        held = getattr(value, part.attribute)
        if part.path:
            below = (*path, *part.path.split('.'))
            yield _Item(model=model, part=part, path=below, value=held)
        elif is_dataclass(held):
            yield from _items(held, path)
        elif isinstance(held, Enum):
            [key] = [p for p in parts_of(model).values() if p.type is type(held)]
            yield _Item(model=model, part=key, path=(*path, key.path), value=held)
        elif isinstance(held, Mapping):
            for name, one in held.items():
                below = (*path, name)
                yield _Item(model=model, part=parts_of(model)[name], path=below, value=one)


class _Drawing:
    """The lines of a contract; a sentence is told where its key is drawn first."""

    def __init__(self, contract: Contract, written: Collection[Path], width: int) -> None:
        self._contract = contract
        self._written = written
        self._width = width
        self._told: set[str] = set()
        self._topics: dict[tuple[str, str], list[str]] = {}

    def terms(self, pairs: Mapping[str, str], indent: str) -> Iterator[str]:
        """Yield words, each with a text beside it; what does not fit hangs below."""
        column = len(indent) + max(map(len, pairs), default=0) + 2
        for term, text in pairs.items():
            room = max(20, self._width - column)
            lines = textwrap.wrap(
                printable(text), room, break_long_words=False, break_on_hyphens=False
            )
            for index, line in enumerate(lines or ['']):
                head = '' if index else f'{indent}{printable(term)}'
                yield f'{head:<{column}}{line}'.rstrip()

    def whole_section(self, item: _Item) -> Iterator[str]:
        """Yield what a key of the whole means, and what is below it."""
        yield from textwrap.wrap(self._sentence(item), self._width - 2)
        yield from self.section(item, '  ')

    def section(self, item: _Item, indent: str, names: Sequence[str] = ()) -> Iterator[str]:
        """Yield what is below a key."""
        value = item.value
        if is_dataclass(value):
            yield from self._value(value, item.path, indent, names)
        elif isinstance(value, Mapping):
            texts = {name: _in_unit(item, _number(one)) for name, one in _leaves(value)}
            yield from self.terms(texts, indent)
        elif is_dataclass(value[0]):
            for index, one in enumerate(value):
                name = getattr(one, 'name', '') or f'{index + 1}'
                yield f'{indent}{name}{_shape(one)}'
                path = (*item.path, getattr(one, 'name', index))
                if isinstance(one, Obstacle) and not one.name:
                    path = ('safety', 'obstacle')
                yield from self._value(one, path, f'{indent}  ', ())
        else:
            yield from self.terms({name: _number(one) for name, one in value}, indent)

    def _value(self, value: Any, path: Path, indent: str, names: Sequence[str]) -> Iterator[str]:
        """Yield the keys of a value."""
        if isinstance(value, ActionSpec):
            names = value.dimensions
        elif isinstance(value, Operator):
            names = self._contract.command_dimensions
        elif isinstance(value, (FieldSpec, Workspace)):
            size = len(value.low)
            names = value_names(value.source)[:size] or [f'[{i}]' for i in range(size)]
        topic = getattr(value, 'topic', '')
        if topic:
            reader = '.'.join(map(str, path)) + ' (safety_gate alone writes)' * (
                isinstance(value, ActionSpec)
            )
            self._topics.setdefault((topic, value.type), []).append(reader)
        items = [item for item in _items(value, path) if item.shown or item.path in self._written]
        yield from self.draw(items, indent, names)

    def draw(
        self, items: Sequence[_Item], indent: str, names: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yield keys with their values: what is simple, what each dimension has, sections."""
        columns = [
            item
            for item in items
            if names and isinstance(item.value, tuple) and len(item.value) == len(names)
            if item.part.type != tuple[int, ...] and not item.is_section
            if item.key not in ('fields', 'joints', 'of', 'braking')
        ]
        texts = {
            item.key: self._sentence(item) if item in columns else self._told_of(item, names)
            for item in items
            if not item.is_section
        }
        yield from self.terms({key: text for key, text in texts.items() if text}, indent)
        if columns:
            heads = [f'{item.key}{self._default(item)}' for item in columns]
            rows = [
                [name, *(_number(item.value[index]) for item in columns)]
                for index, name in enumerate(names)
            ]
            yield from _table(['', *heads], rows, f'{indent}  ', self._width)
        for item in items:
            if item.is_section:
                yield from self.terms({item.key: self._sentence(item)}, indent)
                yield from self.section(item, f'{indent}  ', names)

    def _told_of(self, item: _Item, names: Sequence[str]) -> str:
        value, text = item.value, _in_unit(item, item.text)
        if item.model in (Obstacle, Workspace):
            names = self._contract.command_dimensions
        some = value if isinstance(value, tuple) else (value,)
        key = item.part.key
        if key is not None and key.shown in (DIMENSION, DIMENSIONS) and value is not None:
            text = ', '.join(names[index] for index in some)
        sentence = self._sentence(item)
        return f'{text}{self._default(item)}' + (f': {sentence}' if sentence else '')

    def _default(self, item: _Item) -> str:
        key = item.part.key
        may = key is not None and (item.part.default is not REQUIRED or key.same_as)
        return ' (default)' if may and self._written and item.path not in self._written else ''

    def _sentence(self, item: _Item) -> str:
        sentence = item.sentence
        if sentence in self._told:
            return ''
        self._told.add(sentence)
        return sentence

    def topics(self) -> Iterator[str]:
        """Yield the topics of all that was drawn."""
        agents = self._contract.agents
        if len(agents) > 1:
            yield f'  each once for every agent: {", ".join(f"{agent}/..." for agent in agents)}'
        stop = self._contract.safety.emergency_stop
        if stop:
            self._topics[stop, 'std_msgs/msg/Bool'] = ['safety.emergency_stop']
        found = sorted(self._topics.items())
        yield from self.terms({t: f'{kind}: {", ".join(by)}' for (t, kind), by in found}, '  ')


def _shape(value: object) -> str:
    if isinstance(value, FieldSpec):
        shape = 'x'.join(map(str, value.shape))
        return f'  [{shape}] rank {len(value.shape)}, {value.dtype}'
    if isinstance(value, ActionSpec):
        return f'  [{value.action_size}] rank 1, {value.kind.value}'
    return ''


def _in_unit(item: _Item, text: str) -> str:
    unit = item.part.key.unit if item.part.key is not None else ''
    return f'{text} {unit}' if unit in _UNITS and text != 'none' else text


def _table(head: list[str], rows: list[list[str]], indent: str, width: int) -> Iterator[str]:
    """Yield columns; neighbours that are alike but for an index are one row."""
    shown = [head]
    for _, group in groupby(rows, key=lambda row: row[1:] if row[0].startswith('[') else row):
        first, *others = group
        name = f'{first[0][:-1]}..{others[-1][0][1:]}' if others else first[0]
        shown.append([name, *first[1:]])
    widths = [max(map(len, column)) + 2 for column in zip(*shown, strict=True)]
    while len(indent) + sum(widths) - 2 > width and len(widths) > 2:
        # What does not fit beside the others stands below them.
        count = next(n for n in range(len(widths)) if len(indent) + sum(widths[: n + 1]) > width)
        count = max(2, count)
        yield from _rows([row[:count] for row in shown], widths, indent)
        shown = [[row[0], *row[count:]] for row in shown]
        widths = [widths[0], *widths[count:]]
    yield from _rows(shown, widths, indent)


def _rows(rows: list[list[str]], widths: list[int], indent: str) -> Iterator[str]:
    for row in rows:
        cells = (f'{printable(cell):<{width}}' for cell, width in zip(row, widths, strict=False))
        yield f'{indent}{"".join(cells)}'.rstrip()


def _leaves(value: Mapping[Any, object], name: str = '') -> Iterator[tuple[str, object]]:
    for key, item in value.items():
        path = f'{name}.{key}' if name else str(key)
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, path)
        else:
            yield path, item
