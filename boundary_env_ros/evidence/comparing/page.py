# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML page, without a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.evidence.comparing.comparison import Comparison, Finding, SideSummary
from boundary_env_ros.evidence.comparing.quantities import SECTIONS
from boundary_env_ros.evidence.comparing.words import (
    contract_line,
    identity,
    method,
    numbers,
    probability,
    small,
    untested,
    verdict,
)
from boundary_env_ros.evidence.web_page import page, text

Array = npt.NDArray[np.float64]

#: Size of a drawing, and of the margins around it, in its own units.
_WIDTH, _STRIP, _CURVE, _LEFT, _RIGHT = 420, 84, 150, 24, 16

#: Curves of one field that are drawn, the widest apart first.
_CURVES = 3


def render(comparison: Comparison) -> Iterator[str]:
    """Yield the page, piece by piece."""
    style = (files(__package__) / 'page.css').read_text(encoding='utf-8')
    title = f'{comparison.a.name} and {comparison.b.name}, compared'
    yield from page(title, style, _body(comparison))


def _body(comparison: Comparison) -> Iterator[str]:
    yield '<main>\n<h1>Two runs, compared</h1>\n'
    yield f'<p class="dim">Agent {text(comparison.agent)}.</p>\n<div class="two">'
    for letter, side in (('A', comparison.a), ('B', comparison.b)):
        yield from _side(letter, side)
    yield '</div>\n<h2>What came out</h2>\n'
    yield from _outcome(comparison)
    yield from _contracts(comparison)
    yield from _differences(comparison)
    yield from _curves(comparison)
    yield '<h2>Everything that was tested</h2>\n'
    for section, title in SECTIONS.items():
        yield from _section(title, comparison.of_section(section))
    yield from _rest(comparison)
    yield (
        '<footer>Drawn by <code>boundary-env compare</code>. d is the difference in standard '
        'deviations of the episodes of one side. p is corrected for all quantities and all tests; '
        'intervals are those of each quantity by itself.</footer>\n</main>\n'
    )


def _side(letter: str, side: SideSummary) -> Iterator[str]:
    css = letter.lower()
    yield (
        f'<div class="card"><h3><span class="{css}">{letter}</span> {text(side.name)}</h3>'
        f'<p class="dim small">{text(identity(side))}<br>digest {text(side.digest)}</p>'
        f'<p>Success: {text(side.success)}<br>'
        f'of those that terminated: {text(side.success_of_terminated)}</p><p class="small">'
    )
    yield text(', '.join(f'{cause} {count}' for cause, count in side.endings.items()) or 'none')
    yield '</p></div>'


def _outcome(comparison: Comparison) -> Iterator[str]:
    css = ('same', 'differ', 'stop')[comparison.exit_code]
    yield f'<div class="card {css}"><p><b>{text(verdict(comparison))}</b></p>'
    for obstacle in comparison.obstacles:
        yield f'<p>{text(obstacle)}</p>'
    yield f'<p class="dim small">{text(method(comparison))}</p></div>\n'


def _contracts(comparison: Comparison) -> Iterator[str]:
    yield f'<h2>Contracts</h2>\n<div class="card"><p>{text(contract_line(comparison))}</p>'
    if comparison.privileged:
        yield '<ul>'
        yield from (f'<li><b>{text(sentence)}</b></li>' for sentence in comparison.privileged)
        yield '</ul>'
    if comparison.contracts.changes:
        yield (
            '<div class="scroll"><table><tr><th>key</th><th>meaning</th><th>A</th><th>B</th></tr>'
        )
        for change in comparison.contracts.changes:
            yield (
                f'<tr><td title="{text(change.why)}">{text(change.path)}</td>'
                f'<td>{change.meaning.name.lower()}</td><td>{text(change.before)}</td>'
                f'<td>{text(change.after)}</td></tr>'
            )
        yield '</table></div>'
    yield '</div>\n'


def _differences(comparison: Comparison) -> Iterator[str]:
    if not comparison.differences:
        return
    yield (
        '<h2>Differences, the greatest first</h2>\n<p class="dim small">Each dot is an episode; '
        'the lines are the means.</p><div class="two">'
    )
    for finding in comparison.differences:
        quantity = finding.shown[0]
        a, b, difference, size, p = numbers(quantity)
        yield (
            f'<div class="card"><h3>{text(finding.name)}</h3><p class="small">'
            f'{text(quantity.label)}: <span class="a">{text(a)}</span> &rarr; '
            f'<span class="b">{text(b)}</span>, {text(difference)}, d {text(size)}, p {text(p)}'
        )
        if len(finding.shown) > 1:
            yield f' <span class="dim">and {len(finding.shown) - 1} more</span>'
        yield f'</p>{_strip(finding)}<p class="dim small">{text(finding.family.what)}</p></div>'
    yield '</div>\n'


def _section(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    hits = sum(finding.differs for finding in findings)
    opened = ' open' if hits else ''
    yield (
        f'<details{opened} class="card"><summary>{text(title)}: {len(findings)} tests, '
        f'{hits} differences</summary><div class="scroll"><table><tr><th>test</th><th>A</th>'
        '<th>B</th><th>difference [interval]</th><th>d</th><th>episodes</th><th>p</th></tr>'
    )
    for finding in findings:
        quantity = finding.quantities[0]
        a, b, difference, size, _ = numbers(quantity)
        one, other = finding.episodes
        css = ' class="hit"' if finding.differs else ''
        yield (
            f'<tr{css}><td title="{text(finding.family.what)}">{text(finding.name)}: '
            f'{text(quantity.label)}</td><td>{text(a)}</td><td>{text(b)}</td>'
            f'<td>{text(difference)}</td><td>{text(size)}</td><td>{one}, {other}</td>'
            f'<td>{probability(finding.corrected)}</td></tr>'
        )
    yield '</table></div></details>\n'


def _rest(comparison: Comparison) -> Iterator[str]:
    yield f'<h2>What to know</h2>\n<div class="card"><ul><li>{text(comparison.open_loop)}</li>'
    yield from (f'<li>{text(note)}</li>' for note in comparison.notes)
    few = small(comparison)
    if few:
        names = ', '.join(finding.name for finding in few)
        yield f'<li>Beyond chance, but too small to count: {text(names)}.</li>'
    weak = comparison.too_weak
    if weak:
        names = ', '.join(finding.name for finding in weak)
        yield f'<li>Too few episodes have a value to show a difference: {text(names)}.</li>'
    for why, names_of in untested(comparison).items():
        yield f'<li>Not tested, {text(why)}: {text(", ".join(names_of))}.</li>'
    yield '</ul></div>\n'


# Drawing -----------------------------------------------------------------------------------------


def _strip(finding: Finding) -> str:
    """Return the episodes of both sides as dots on a line each, of what differs first."""
    column = finding.quantities.index(finding.shown[0])
    drawn = [values[:, column] for values in finding.values]
    sides = [values[np.isfinite(values)] for values in drawn]
    both = np.concatenate(sides)
    if not len(both):
        return ''
    low, high = float(both.min()), float(both.max())
    if high <= low:
        low, high = low - 1.0, high + 1.0
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_STRIP}" role="img" aria-label="episodes">']
    for row, (letter, values) in enumerate(zip('ab', sides, strict=True)):
        y = 18 + 28 * row
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="4" y="{y + 4}">{letter.upper()}</text>')
        for value in values:
            x = _across(float(value), low, high)
            parts.append(f'<circle class="dot-{letter}" cx="{x:.1f}" cy="{y}" r="4.5"/>')
        x = _across(float(values.mean()), low, high)
        parts.append(
            f'<line class="mean line-{letter}" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 12}" '
            f'y2="{y + 12}"/>'
        )
    unit = finding.shown[0].unit
    parts.append(
        f'<text x="{_LEFT}" y="{_STRIP - 6}">{low:.4g}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_STRIP - 6}" text-anchor="end">{high:.4g} '
        f'{text(unit)}</text></svg>'
    )
    return ''.join(parts)


def _across(value: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)


def _curves(comparison: Comparison) -> Iterator[str]:
    fields = [name for name in comparison.a.drift if name in comparison.b.drift]
    drawn = [svg for name in fields if (svg := _curve(name, comparison))]
    if drawn:
        yield (
            '<h2>Open-loop divergence, step by step</h2>\n<p class="dim small">'
            f'{text(comparison.open_loop)} Mean size of the distance, from the reset on.</p>'
            f'<div class="two">{"".join(drawn)}</div>\n'
        )


def _curve(name: str, comparison: Comparison) -> str:
    a, b = comparison.a.drift[name], comparison.b.drift[name]
    apart = np.nan_to_num(np.abs(a - b)).max(axis=0)
    columns = [int(c) for c in np.argsort(-apart)[:_CURVES] if apart[c] > 0.0]
    tops = [float(np.nanmax(side[:, columns])) for side in (a, b)] if columns else [0.0]
    top = max(tops)
    if not columns or not math.isfinite(top) or top <= 0.0:
        return ''
    title = (
        f'<div class="card"><h3>{text(name)}</h3><p class="dim small">'
        f'{text(", ".join(f"[{c}]" for c in columns))}; top {top:.3g}</p>'
        f'<svg viewBox="0 0 {_WIDTH} {_CURVE}" role="img" aria-label="{text(name)}">'
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_CURVE - 22}" '
        f'y2="{_CURVE - 22}"/>'
    )
    parts = [title]
    last = len(a) - 1
    for letter, side in (('a', a), ('b', b)):
        for column in columns:
            points = ' '.join(
                f'{_across(step, 0, last):.1f},{_CURVE - 22 - (_CURVE - 34) * value / top:.1f}'
                for step, value in enumerate(side[:, column])
                if math.isfinite(value)
            )
            parts.append(f'<polyline class="curve line-{letter}" points="{points}"/>')
    parts.append(
        f'<text x="{_LEFT}" y="{_CURVE - 6}">reset</text><text x="{_WIDTH - _RIGHT}" '
        f'y="{_CURVE - 6}" text-anchor="end">step {last}</text></svg></div>'
    )
    return ''.join(parts)
