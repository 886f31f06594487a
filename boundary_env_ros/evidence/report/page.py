# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A report as one HTML page that needs nothing else: no network, no other file.

Whatever comes from the record may be hostile. It is escaped where it stands as text, it stands in
blocks of data that are never parsed as markup, and the page forbids every script but its own, by
hash, and everything that is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
import json
import math
import shlex

from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.evidence.figures import ClientSummary
from boundary_env_ros.evidence.report.columns import rounded
from boundary_env_ros.evidence.report.report import EpisodeRow, Report
from boundary_env_ros.evidence.report.signs import KINDS
from boundary_env_ros.evidence.report.suspicion import Moment
from boundary_env_ros.evidence.run_story import BINS, Path, SHORTEST, StageCounts
from boundary_env_ros.evidence.statistics import Proportion
from boundary_env_ros.evidence.web_page import page
from boundary_env_ros.evidence.web_page import text as _text

#: Points of one way in the overview.
_POINTS = 300

#: Causes with a colour of their own; the losses share one, and the others share another.
_COLOURED = ('success', 'time_limit', 'safety_stop', 'failure', 'operator_stop')

#: Rows of a list that a browser lays out only where one looks.
_MANY = 200

#: What stands for a number that is not known.
_UNKNOWN = '\N{EN DASH}'

#: Bins of the histogram of a stage: 0.1 ms to 10 s.
_FIRST_BIN, _BINS = BINS, 5 * BINS


def render(report: Report) -> Iterator[str]:
    """Yield the page, piece by piece."""
    title = f'{report.name}: {report.summary.contract or "a run"}'
    yield from page(title, _asset('page.css'), _body(report), _asset('page.js'))


def _body(report: Report) -> Iterator[str]:
    yield '<main>\n'
    yield from _head(report)
    yield from _moments(report)
    yield from _overview(report)
    yield from _episodes(report)
    yield (
        '<footer>Drawn by <code>boundary-env report</code>. Point at a chart to read it, or move '
        'with the arrow keys; an address that ends with <code>#e3s17</code> leads to episode 3, '
        'step 17. Where steps share a column, least and greatest value are drawn. Numbers have '
        'five digits; the record has all of them.</footer>\n</main>\n'
    )
    yield from _data(report)


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding='utf-8')


def as_data(value: object) -> str:
    """Return JSON that can stand in a script element: nothing in it can end that element."""
    text = json.dumps(value, allow_nan=False, separators=(',', ':'))
    for sign in '<>&':
        text = text.replace(sign, f'\\u{ord(sign):04x}')
    return text


def _data(report: Report) -> Iterator[str]:
    ways = [_way(path, report) for path in report.story.paths if path.observed]
    places = next((d['path'] for d in report.details.values() if d.get('path')), None)
    about = places if isinstance(places, dict) else {}
    page = {
        'path': shlex.quote(report.path),
        'ways': ways,
        'unit': about.get('unit', 'm'),
        'frame': about.get('frame', ''),
    }
    yield _block('page', page)
    for number, detail in report.details.items():
        yield _block(f'd{number}', detail)
        frames = report.frames.get(number)
        if frames:
            yield _block(f'f{number}', [asdict(frame) for frame in frames])


def _block(name: str, value: object) -> str:
    return f'<script type="application/json" id="{name}">{as_data(value)}</script>\n'


def _way(path: Path, report: Report) -> dict[str, object]:
    def few(points: Sequence[tuple[float, float]]) -> list[object]:
        step = max(1, len(points) // _POINTS)
        kept = [*points[::step], *points[-1:]]
        return [[rounded(x), rounded(y)] for x, y in kept]

    number = next((r.number for r in report.rows if r.episode_id == path.episode_id), 0)
    return {
        'observed': few(path.observed),
        'truth': few(path.truth),
        'goal': None if path.goal is None else [rounded(value) for value in path.goal],
        'kind': _class(path.cause),
        'title': f'episode {number}: {path.cause or "no ending"}',
    }


# The head and the moments ------------------------------------------------------------------------


def _head(report: Report) -> Iterator[str]:
    steps = sum(row.steps for row in report.rows)
    summary = report.summary
    facts = [
        summary.contract,
        f'digest {summary.digest[:19]}…' if summary.digest else '',
        f'software {summary.software_version}' if summary.software_version else '',
        f'begun {report.begun}' if report.begun else '',
        report.pacing,
        _many(len(report.rows), 'episode'),
        _many(steps, 'step'),
    ]
    yield f'<h1>{_text(report.name)}</h1>\n<div class="facts">'
    yield ''.join(f'<span>{_text(fact)}</span>' for fact in facts if fact)
    yield '</div>\n'
    if report.notes:
        yield '<ul class="notes">'
        yield ''.join(f'<li>{_text(note)}</li>' for note in report.notes)
        yield '</ul>\n'


def _moments(report: Report) -> Iterator[str]:
    yield '<h2>Look here first</h2>\n<div class="card">'
    if not report.moments:
        yield '<p class="dim">No step shows a sign of trouble.</p></div>\n'
        return
    yield '<ol class="moments">'
    for moment in report.moments:
        yield _moment(moment, report)
    yield '</ol></div>\n'


def _moment(moment: Moment, report: Report) -> str:
    number = report.number_of(moment)
    row = report.rows[number - 1] if number else None
    kind = KINDS[moment.sign.kind].sentence
    span = (
        f'step {moment.step}'
        if moment.first_step == moment.last_step
        else f'step {moment.step} of {moment.first_step} to {moment.last_step}'
    )
    where = f'episode {number}, {span}'
    place = (
        f'<a href="#e{number}s{moment.step}">{_text(where)}</a>'
        if row is not None and row.drawn
        else _text(where)
    )
    also = '; '.join(f'{KINDS[s.kind].sentence} ({s.why})' for s in moment.also)
    more = f'<p class="also">Also: {_text(also)}.</p>' if also else ''
    alike = (
        f' <span class="dim small">One of {moment.alike} like this.</span>'
        if moment.alike > 1
        else ''
    )
    share = min(moment.score, 100.0)
    return (
        f'<li><div class="why"><b>{_text(kind.capitalize())}.</b> {_text(moment.sign.why)}.'
        f'{alike}{more}</div><div class="where">{place}'
        f'<svg class="score" role="img" aria-label="suspicion {share:.0f} of 100">'
        '<rect class="track" width="100%" height="4" rx="2"/>'
        f'<rect class="hot" width="{share:.0f}%" height="4" rx="2"/></svg></div></li>\n'
    )


# The overview ------------------------------------------------------------------------------------


def _overview(report: Report) -> Iterator[str]:
    yield '<h2>Overview</h2>\n<div class="clients">'
    for client in report.summary.clients:
        yield from _client(client)
    if not report.summary.clients:
        yield '<div class="card">The record holds no step.</div>'
    yield '</div>\n<h2>Latency and ways</h2>\n<div class="two">'
    yield from _latency(report)
    yield (
        '<div class="card" hidden><h3>Ways as observed</h3>'
        '<p class="dim small">Coloured by their ending; dotted: the true way, where an evaluator '
        'saw it. Of a long way some places are left out.</p><div id="ways"></div></div></div>\n'
    )


def _client(client: ClientSummary) -> Iterator[str]:
    name = client.client or '(no request)'
    unfinished = f', {client.unfinished} without an ending' if client.unfinished else ''
    yield (
        f'<div class="card client"><h3><span>{_text(name)}</span><span class="dim small">'
        f'{_many(client.episodes, "episode")}{unfinished}</span></h3>'
    )
    yield from _endings(client)
    yield '<div class="rates">'
    yield from _rate('success, a truncation as failure', client.success)
    yield from _rate('success of the terminated', client.success_of_terminated)
    if client.marked:
        yield from _rate('success, by people\N{RIGHT SINGLE QUOTATION MARK}s marks',
                         client.success_by_marks)  # fmt: skip
    yield '</div><dl class="numbers">'
    numbers = [
        ('steps', str(client.steps)),
        ('truncated, apart', str(client.truncated)),
        ('return, mean', _short(client.mean_return)),
        ('steps an episode', _short(client.mean_length)),
        ('interventions', _percent(client.intervened)),
        ('clipped', _percent(client.clipped)),
        ('overruns', _percent(client.overruns)),
        ('stops begun', str(sum(client.stops.values()))),
    ]
    if client.taken_over:
        numbers.append(('takeovers', str(client.taken_over)))
    for label, value in numbers:
        yield f'<div><dt>{_text(label)}</dt><dd>{_text(value)}</dd></div>'
    yield '</dl>'
    for label, counts in (
        ('Stops, by reason', {_words(name): n for name, n in client.stops.items()}),
        ('Too old', client.stale),
        ('Missing', client.missing),
    ):
        told = ', '.join(f'{name} {count}' for name, count in counts.items() if count)
        if told:
            yield f'<p class="small counts"><span class="dim">{label}:</span> {_text(told)}</p>'
    yield '</div>\n'


def _words(name: str) -> str:
    return name.lower().replace('_', ' ')


def _endings(client: ClientSummary) -> Iterator[str]:
    total = sum(client.endings.values())
    if not total:
        return
    yield '<svg class="bar" role="img" aria-label="endings by cause">'
    left = 0.0
    for cause, count in client.endings.items():
        width = 100.0 * count / total
        yield (
            f'<rect class="{_class(cause)}" x="{left:.2f}%" width="{width:.2f}%" height="22">'
            f'<title>{_text(cause)}: {count}</title></rect>'
        )
        left += width
    yield '</svg><ul class="legend">'
    for cause, count in client.endings.items():
        yield f'<li><span class="key {_class(cause)}"></span>{_text(cause)} {count}</li>'
    yield '</ul>'


def _class(cause: str) -> str:
    if cause in _COLOURED:
        return f'c-{cause}'
    if not cause:
        return 'c-none'
    lost = cause.endswith(('_lost', '_failed'))
    return 'c-lost' if lost else 'c-other'


def _rate(label: str, rate: Proportion) -> Iterator[str]:
    yield f'<div class="rate"><span>{_text(label)}</span>'
    if rate.interval is None or rate.value is None:
        yield '<b>none</b></div>'
        return
    low, high = rate.interval
    yield (
        f'<svg role="img" aria-label="95 % interval {100 * low:.0f} to {100 * high:.0f} %">'
        '<rect class="track" y="5" width="100%" height="2"/>'
        f'<rect class="interval" x="{100 * low:.1f}%" width="{100 * (high - low):.1f}%" y="2" '
        f'height="8" rx="2"/><circle class="point" cx="{100 * rate.value:.1f}%" cy="6" r="4.5"/>'
        f'</svg><b title="95 % interval {100 * low:.0f} to {100 * high:.0f} %">'
        f'{100 * rate.value:.0f} % <span class="dim small">{rate.count}/{rate.of}</span></b></div>'
    )


def _latency(report: Report) -> Iterator[str]:
    yield (
        '<div class="card"><h3>Latency by stage</h3><p class="dim small">Milliseconds. '
        '<span class="wide">The histogram runs from 0.1 ms to 10 s, each mark ten times the last; '
        'blue p50, dark p99, red triangle the budget.</span></p>'
        '<div class="scroll"><table><thead><tr><th>stage</th>'
        '<th class="histogram"></th><th>p50</th><th>p99</th><th>budget</th><th>over</th>'
        '<th>known</th></tr></thead><tbody>'
    )
    clients = report.summary.clients
    for name in STAGES:
        counts = report.story.stages[name]
        over = sum(client.stages[name].over for client in clients)
        steps = sum(client.steps for client in clients)
        cells = [
            _milliseconds(counts.quantiles.at(0.5)),
            _milliseconds(counts.quantiles.at(0.99)),
            _milliseconds(counts.budget),
        ]
        yield f'<tr><td>{name}</td><td class="histogram">{_histogram(counts)}</td>'
        yield ''.join(f'<td>{cell}</td>' for cell in cells)
        mark = ' class="over"' if over else ''
        yield f'<td{mark}>{over}</td><td class="dim">{counts.quantiles.count}/{steps}</td></tr>'
    yield '</tbody></table></div></div>\n'


def _histogram(counts: StageCounts) -> str:
    if not counts.bins:
        return '<span class="dim small">unknown</span>'
    most = max(counts.bins.values())
    width = 100.0 / _BINS
    parts = [
        '<svg role="img" aria-label="histogram" preserveAspectRatio="none">',
        *(
            f'<line class="gridline" x1="{20 * i}%" x2="{20 * i}%" y1="22" y2="28"/>'
            for i in range(6)
        ),
        '<line class="gridline" x1="0" x2="100%" y1="24.5" y2="24.5"/>',
    ]
    for number, count in sorted(counts.bins.items()):
        place = min(max(number - _FIRST_BIN, 0), _BINS - 1)
        height = max(22.0 * count / most, 1.0)
        parts.append(
            f'<rect class="hist" x="{width * place:.2f}%" width="{width:.2f}%" '
            f'y="{24 - height:.1f}" height="{height:.1f}"/>'
        )
    for fraction, name in ((0.5, 'p50'), (0.99, 'p99')):
        x = _place(counts.quantiles.at(fraction))
        parts.append(f'<line class="{name}" x1="{x:.2f}%" x2="{x:.2f}%" y1="4" y2="24"/>')
    if counts.budget is not None:
        # A triangle cannot have a share as its place; a nested picture can.
        parts.append(
            f'<svg x="{_place(counts.budget):.2f}%" overflow="visible">'
            '<path class="budget" d="M0 24l3.5 6h-7z"/></svg>'
        )
    return ''.join((*parts, '</svg>'))


def _place(seconds: float | None) -> float:
    """Return where a duration stands in the histogram, percent."""
    decades = math.log10(max(seconds or 0.0, SHORTEST) / (10 * SHORTEST))
    return min(max(20.0 * decades, 0.0), 100.0)


# The episodes ------------------------------------------------------------------------------------


def _episodes(report: Report) -> Iterator[str]:
    many = ' many' if len(report.rows) > _MANY else ''
    yield f'<h2>Episodes</h2>\n<div class="episodes{many}">'
    yield (
        '<noscript><p class="notes">The time lines are drawn by a script of this page, which your '
        'browser does not run. Everything above needs none.</p></noscript>'
    )
    several = len({row.agent for row in report.rows}) > 1
    for row in report.rows:
        yield _episode(row, several)
    yield '</div>\n'


def _episode(row: EpisodeRow, several: bool) -> str:
    ending = f'{row.cause} ({row.how})' if row.cause else 'no ending'
    told = f'declared by {row.declared_by}' if row.declared_by else ''
    told += f': {row.message}' if row.message else ''
    who = f'{row.agent} · ' if several else ''
    share = min(row.suspicion, 100.0)
    line = (
        f'<span class="n">{row.number}</span>'
        f'<span class="id mono">{_text(row.episode_id[:8])}</span>'
        f'<span class="client-name">{_text(who + (row.client or "(no request)"))}</span>'
        f'<span class="steps r">{_many(row.steps, "step")}</span>'
        f'<span class="total r" title="return">{_text(_short(row.total))}</span>'
        f'<span class="ending"><span class="badge {_class(row.cause)}" title="{_text(told)}">'
        f'{_text(ending)}</span></span>'
        f'<svg class="score" role="img" aria-label="suspicion {share:.0f} of 100">'
        '<rect class="track" width="100%" height="4" rx="2"/>'
        f'<rect class="hot" width="{share:.0f}%" height="4" rx="2"/></svg>'
    )
    if row.message:
        # A phone shows no title.
        line += f'<span class="why">{_text(told)}</span>'
    marks = (
        f'<div class="marks">People say: {_text("; ".join(row.marks))}</div>' if row.marks else ''
    )
    if not row.drawn:
        return (
            f'<div class="episode" id="e{row.number}"><div class="row">{line}</div>{marks}</div>\n'
        )
    return (
        f'<details class="episode" id="e{row.number}" data-number="{row.number}">'
        f'<summary class="row">{line}</summary>{marks}'
        '<div class="body"></div></details>\n'
    )


def _many(count: int, noun: str) -> str:
    return f'{count} {noun}' + ('' if count == 1 else 's')


def _short(value: float | None) -> str:
    return _UNKNOWN if value is None or math.isnan(value) else f'{value:.3g}'


def _percent(rate: Proportion) -> str:
    return _UNKNOWN if rate.value is None else f'{100 * rate.value:.3g} %'


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return _UNKNOWN
    milliseconds = 1000 * seconds
    return f'{milliseconds:.0f}' if abs(milliseconds) >= 100 else f'{milliseconds:.3g}'
