# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What changed between two contracts, and what that means for results made under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeGuard

from boundary_env_ros.core.contract.digest import digest_of, meaning_text
from boundary_env_ros.core.contract.key import BEHAVIOURAL, BREAKING, Key, Meaning, Part, parts_of
from boundary_env_ros.core.contract.model import ActionSpec, Contract, EpisodeRules, FieldSpec
from boundary_env_ros.core.contract.problem_text import printable
from boundary_env_ros.core.contract.safety import Operator
from boundary_env_ros.core.gate.rules.rule import SensorRule
from boundary_env_ros.evidence.describe import shape_of, shown
from boundary_env_ros.frozen import frozen, replace

#: Stands for what is not there; None is a value of its own.
_ABSENT = object()
#: Read by the gate alone.
_OF_THE_GATE = (SensorRule, Operator)
_MANY = 8


@frozen
class Change:
    """
    One change.

    Attributes
    ----------
    path
        Key path, for example ``action.base.low``.
    before, after
        What was there, and what is there now.
    meaning
        What it does to results.

    """

    path: str
    before: str
    after: str
    meaning: Meaning


@frozen
class ContractDifference:
    """
    All changes from one contract to another, the gravest first.

    Attributes
    ----------
    before, after
        Digests.

    """

    before: str
    after: str
    changes: tuple[Change, ...]

    @property
    def meaning(self) -> Meaning:
        """Return the gravest of them; ``COSMETIC`` if there is none."""
        return max((change.meaning for change in self.changes), default=Meaning.COSMETIC)


def difference(before: Contract, after: Contract) -> ContractDifference:
    """Return what changed from one contract to another."""
    was, now = (tuple(contract.episode.endings) for contract in (before, after))
    changes = [
        *_values(before, after, ''),
        # Of several at one instant, another one counts.
        *_order(was, now, 'episode.endings', parts_of(EpisodeRules)['endings']),
    ]
    return ContractDifference(
        before=digest_of(before),
        after=digest_of(after),
        changes=tuple(sorted(changes, key=lambda change: -change.meaning)),
    )


def _values(before: object, after: object, path: str) -> Iterator[Change]:
    """Yield the changes between two values of one dataclass."""
    parts = parts_of(type(before))
    found: list[Change] = []
    following: list[Change] = []
    for attribute in fields(before):  # type: ignore[arg-type]
        old, new = getattr(before, attribute.name), getattr(after, attribute.name)
        part = parts[attribute.name]
        here = '.'.join(filter(None, (path, part.path)))
        if not _same(old, new):
            (following if _follows(old, new) else found).extend(_parts(old, new, here, part))
    # That there are more units or bounds is no news where shape or source say it.
    for change in found or following:
        if isinstance(before, _OF_THE_GATE):
            # Where the gate alone reads it, neither policies nor records depend on it.
            change = replace(change, meaning=BEHAVIOURAL)
        yield change


def _follows(old: object, new: object) -> bool:
    """Return whether all that changed is how often one value is there."""
    return (
        isinstance(old, tuple)
        and isinstance(new, tuple)
        and min(len(old), len(new)) > 0
        and all(isinstance(item, (str, float)) and _same(item, old[0]) for item in (*old, *new))
    )


def _parts(old: object, new: object, path: str, part: Part) -> Iterator[Change]:
    """Yield the changes between two values that are not the same, as deep as they have parts."""
    if is_dataclass(old) and type(old) is type(new):
        yield from _values(old, new, path)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            was, now = old.get(name, _ABSENT), new.get(name, _ABSENT)
            # The reasons of `on_stop` are kept in capitals.
            key = str(name).lower() if part.attribute == 'on_stop' else name
            if not _same(was, now):
                yield from _parts(was, now, f'{path}.{key}', part)
    elif _are_values(old) and _are_values(new):
        was, now = _by_name(old), _by_name(new)
        yield from _parts(was, now, path, part)
        yield from _order(tuple(was), tuple(now), path, part)
    else:
        # What records were judged by is missing.
        breaking = isinstance(old, FieldSpec) and new is _ABSENT
        yield _change(path, old, new, replace(part, meaning=BREAKING) if breaking else part)


def _by_name(values: tuple[Any, ...]) -> Mapping[object, object]:
    """Return fields, groups or rules of the gate by their names; steps by their places."""
    return {_name_of(item) or place: item for place, item in enumerate(values)}


def _name_of(item: object) -> str:
    if isinstance(item, SensorRule):
        return f'{item.section}.{item.name}'
    return getattr(item, 'name', '')


def _order(
    old: tuple[object, ...], new: tuple[object, ...], path: str, part: Part
) -> Iterator[Change]:
    """Yield a change if what both have stands in another order."""
    was = [name for name in old if name in new]
    now = [name for name in new if name in old]
    if was != now:
        yield _change(path, was, now, part)


def _are_values(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple) and all(map(is_dataclass, value))


def _same(one: object, other: object) -> bool:
    """Return whether two values are both there, and the digest has one meaning for them."""
    return _ABSENT not in (one, other) and meaning_text(one) == meaning_text(other)


# Showing -----------------------------------------------------------------------------------------


def _change(path: str, old: object, new: object, part: Part) -> Change:
    before, after = _texts(old, new, part.key)
    return Change(
        path=printable(path),
        before=printable(before),
        after=printable(after),
        meaning=part.meaning,
    )


def _texts(old: object, new: object, key: Key | None) -> tuple[str, str]:
    if key is not None and key.words and isinstance(old, bool) and isinstance(new, bool):
        return key.words[old], key.words[new]
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new) > _MANY:
        # Of many values, those that differ.
        where = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if not _same(a, b)]
        before, after = (
            ', '.join(f'[{i}] {_text(values[i])}' for i in where) for values in (old, new)
        )
        return before, after
    return _text(old), _text(new)


def _text(value: object) -> str:
    if value is _ABSENT:
        return 'nothing'
    if isinstance(value, (FieldSpec, ActionSpec)):
        return f'{value.name}, of {shape_of(value)}'
    if is_dataclass(value):
        # As a contract says it, without what it need not say; the name stands in the path.
        parts = [
            p for p in parts_of(type(value)).values() if p.is_stored and p.attribute != 'name'
        ]
        values = {p.path or p.attribute: getattr(value, p.attribute) for p in parts}
        defaults = {p.path or p.attribute: p.default for p in parts}
        value = {key: item for key, item in values.items() if item != defaults[key]}
    if isinstance(value, Mapping):
        return '{' + ', '.join(f'{key}: {_text(item)}' for key, item in value.items()) + '}'
    if isinstance(value, (tuple, list)):
        if len(value) > _MANY and all(_same(item, value[0]) for item in value):
            return f'{len(value)} times {_text(value[0])}'
        return f'[{", ".join(map(_text, value))}]'
    word = shown(value)
    if isinstance(word, float):
        return repr(word).removesuffix('.0')
    return (str(word).lower() if isinstance(word, bool) else str(word)) or 'nothing'
