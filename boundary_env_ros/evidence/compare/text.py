# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A comparison as text for a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
import math
import textwrap

from boundary_env_ros.core.contract.key import Meaning
from boundary_env_ros.core.records.endings import NO_TASK
from boundary_env_ros.evidence.compare.comparison import Comparison, Quantity
from boundary_env_ros.evidence.compare.side import ComparedRun
from boundary_env_ros.terminal import many, table

#: Differences that are listed one by one, and quantities of each.
_SHOWN, _QUANTITIES = 15, 3

#: Columns that sentences are wrapped to.
_WIDTH = 100


def format_comparison(comparison: Comparison) -> str:
    """Return a comparison as text for a terminal."""
    return '\n'.join(_wrapped(line) for line in _lines(comparison))


def _verdict(comparison: Comparison) -> str:
    """Return what came out, as a sentence."""
    if not comparison.comparable:
        return 'Not comparable.'
    changed = comparison.contracts.meaning is not Meaning.COSMETIC
    also = ' The contracts differ as well.' if changed else ''
    count = len(comparison.differences)
    if not count:
        return f'No difference beyond chance.{also}'
    return f'{many(count, "difference")} beyond chance.{also}'


def _method(comparison: Comparison) -> str:
    """Return how it was tested, as a sentence."""
    if not comparison.findings:
        return 'Nothing was tested.'
    return (
        f'{len(comparison.findings)} tests by permutation, corrected for their number (Holm): the '
        f'chance of any false alarm is at most {comparison.alpha:g}. The unit is the episode: an '
        'episode is one observation, however many steps it has. With so many episodes the '
        f'smallest p that one test can reach is {comparison.least:.2g}; the first needs '
        f'{comparison.alpha / len(comparison.findings):.2g}.'
    )


def _identity(side: ComparedRun) -> str:
    """Return what a side is, without its name."""
    clients = ', '.join(name or '(unnamed)' for name in side.clients)
    data = side.to_json()
    return '{contract}, {pacing}, {episodes} episodes, {steps} steps'.format_map(data) + (
        f', by {clients}' if clients else ''
    )


def _contract_line(comparison: Comparison) -> str:
    """Return what the contracts have to do with each other, as a sentence."""
    changes = comparison.contracts.changes
    if comparison.contracts.before == comparison.contracts.after:
        return f'The same ({comparison.contracts.before[:19]}).'
    return (
        f'{many(len(changes), "change")}, the gravest {comparison.contracts.meaning.name.lower()}.'
    )


def numbers(quantity: Quantity) -> tuple[str, str, str, str, str]:
    """Return A, B, difference with interval, size and p of a quantity."""
    interval = ''
    if math.isfinite(quantity.low) and math.isfinite(quantity.high):
        interval = f' [{_short(quantity.low)}, {_short(quantity.high)}]'
    unit = f' {quantity.unit}' if quantity.unit else ''
    size = '' if math.isnan(quantity.size) else f'{quantity.size:+.1f}'
    if math.isinf(quantity.size):
        size = 'no spread'
    return (
        _short(quantity.first),
        _short(quantity.second) + unit,
        f'{quantity.difference:+.3g}{interval}',
        size,
        _probability(quantity.p),
    )


def _probability(p: float) -> str:
    """Return a probability."""
    if math.isnan(p):
        return '-'
    return '< 0.001' if p < 0.001 else f'{p:.3f}'


def _short(value: float) -> str:
    """Return a number in few digits."""
    return '-' if not math.isfinite(value) else f'{value:.4g}'


def _lines(comparison: Comparison) -> Iterator[str]:
    for letter, side in (('A', comparison.a), ('B', comparison.b)):
        yield f'{letter}  {side.name}: {_identity(side)}'
    yield ''
    yield f'Contracts: {_contract_line(comparison)}'
    for change in comparison.contracts.changes:
        meaning = change.meaning.name.lower()
        yield f'  {meaning:<12} {change.path}: {change.before} -> {change.after}'
    for obstacle in comparison.obstacles:
        yield f'NOT COMPARABLE: {obstacle}'
    yield ''
    for name, attribute in (
        ('Success, a truncation counted as failure', 'success'),
        ('Success, of those that terminated', 'success_of_terminated'),
    ):
        values = [
            getattr(side, attribute) if side.contract.task.name else NO_TASK
            for side in (comparison.a, comparison.b)
        ]
        yield f'{name}: A {values[0]}, B {values[1]}'
    yield ''
    yield _verdict(comparison)
    yield from _differences(comparison)
    yield ''
    yield _method(comparison)
    same = [finding.name for finding in comparison.findings if not finding.shown]
    if same:
        sure = 'No difference beyond chance' if comparison.comparable else 'Not shown to differ'
        yield f'{sure}: {", ".join(same)}'
    yield from _untested(comparison)
    for note in comparison.notes:
        yield f'Note: {note}'


def _untested(comparison: Comparison) -> Iterator[str]:
    untested: defaultdict[str, list[str]] = defaultdict(list)
    for name, why in comparison.untested.items():
        untested[why.rstrip('.')].append(name)
    for why, names in untested.items():
        yield f'Not tested, {why}: {", ".join(names)}'


def _wrapped(line: str) -> str:
    # Tables and lists begin with a space and stay as they are.
    if line.startswith(' '):
        return line
    return textwrap.fill(
        line, _WIDTH, subsequent_indent='  ', break_on_hyphens=False, break_long_words=False
    )


def _differences(comparison: Comparison) -> Iterator[str]:
    rows = []
    for finding in comparison.differences[:_SHOWN]:
        for place, quantity in enumerate(finding.shown[:_QUANTITIES]):
            more = len(finding.shown) - _QUANTITIES
            label = quantity.label
            if place == _QUANTITIES - 1 and more > 0:
                label = f'{label} (and {more} more)'
            rows.append((finding.name if not place else '', label, *numbers(quantity)))
    if not rows:
        return
    rows.insert(0, ('', '', 'A', 'B', 'difference [interval]', 'd', 'p'))
    yield ''
    yield from table(rows, indent=2)
    hidden = len(comparison.differences) - _SHOWN
    if hidden > 0:
        yield f'  and {hidden} more, in --json'
