# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of a campaign: for the terminal, and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
import math

from tools.faults.fault_campaign import Outcome
from tools.faults.fault_kinds import Kind, Safe

HEAD = (
    'kind',
    'trials',
    'bound',
    'median',
    'p95',
    'max',
    'over',
    'late',
    'recovered',
    'audited',
    'caused',
    'why',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One kind and its outcomes.

    Attributes
    ----------
    kind, outcomes
        The kind, and one outcome for each trial.
    skipped
        Why there are none; empty if it was not skipped.

    """

    kind: Kind
    outcomes: Sequence[Outcome]
    skipped: str = ''

    @property
    def ok(self) -> bool:
        """Return whether every trial is right; a kind that was skipped is not wrong."""
        return all(outcome.ok for outcome in self.outcomes)

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, in the order of :data:`HEAD`."""
        if self.skipped:
            return (self.kind.name, '0', *['-'] * 9, f'skipped: {self.skipped}')
        times = sorted(math.inf if o.time is None else o.time for o in self.outcomes)
        count = len(self.outcomes)
        over = sum(o.over for o in self.outcomes)
        excused = sum(o.excused for o in self.outcomes)
        return (
            self.kind.name,
            str(count),
            _ms(max((o.bound for o in self.outcomes), default=math.nan)),
            _ms(quantile(times, 0.5)),
            _ms(quantile(times, 0.95)),
            _ms(times[-1]) if times else '-',
            f'{over} ({excused})' if excused else str(over),
            _ms(max((o.late for o in self.outcomes), default=math.nan)),
            _of(sum(o.recovered for o in self.outcomes), count),
            _of(sum(not o.findings for o in self.outcomes), count),
            _of(sum(not o.problems for o in self.outcomes), count),
            self._why(),
        )

    def _why(self) -> str:
        """Return what the gate said and how the episodes ended, most often first."""
        said = Counter(
            '+'.join(o.reasons) or ('driver' if self.kind.safe is Safe.REST else 'nothing')
            for o in self.outcomes
        )
        ended = Counter(o.ending or 'runs on' for o in self.outcomes)
        return f'{_most(said)} / {_most(ended)}'


def _most(counted: Counter[str]) -> str:
    if len(counted) == 1:
        return next(iter(counted))
    return ', '.join(f'{name} {count}' for name, count in counted.most_common())


def _of(number: int, count: int) -> str:
    return str(number) if number == count else f'{number} of {count}'


def _ms(seconds: float) -> str:
    return f'{1000.0 * seconds:.0f}' if math.isfinite(seconds) else 'never'


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return the smallest value that so large a part of all values does not exceed."""
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def as_text(rows: Sequence[Row]) -> str:
    """Return the table for a terminal; times in ms."""
    cells = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEAD))]
    lines = []
    for line in cells:
        first, *middle, last = (
            text.ljust(width) if i in (0, len(HEAD) - 1) else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append('  '.join((first, *middle, last)).rstrip())
    return '\n'.join(lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the table as Markdown; times in ms."""
    lines = ['| ' + ' | '.join(HEAD) + ' |', '|' + '---|' + '--:|' * (len(HEAD) - 2) + '---|']
    lines += ['| ' + ' | '.join(_code(row.cells())) + ' |' for row in rows]
    return '\n'.join(lines)


def _code(cells: tuple[str, ...]) -> tuple[str, ...]:
    return (f'`{cells[0]}`', *cells[1:])


def sums(rows: Sequence[Row]) -> str:
    """Return what all trials come to, in one sentence."""
    outcomes = [o for row in rows for o in row.outcomes]
    kinds = sum(not row.skipped for row in rows)
    wrong = {
        'over the bound': sum(o.over for o in outcomes),
        'not recovered': sum(not o.recovered for o in outcomes),
        'not clean in the audit': sum(bool(o.findings) for o in outcomes),
        'of another ending, or with other trouble': sum(bool(o.problems) for o in outcomes),
    }
    skipped = [row.kind.name for row in rows if row.skipped]
    left = f' Skipped: {", ".join(skipped)}.' if skipped else ''
    discarded = sum(o.discarded for o in outcomes)
    return (
        f'{len(outcomes)} trials of {kinds} kinds: '
        + ', '.join(f'{count} {what}' for what, count in wrong.items())
        + f'. {discarded} drives had ended before their fault came, and were begun again.{left}'
    )
