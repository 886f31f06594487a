# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A report as one HTML page that needs nothing else: no network, no other file.

Whatever comes from a record may be hostile. Text is escaped, and the page forbids every style and
script but its own, by hash, and everything that is not in it.

What an episode looks like stands in the page as data; the page draws it when it is asked for, so
that a page of hundreds of episodes opens at once.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
import hashlib
import math
from pathlib import Path
import shlex

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from boundary_env_ros.core.records.endings import OF_MACHINERY
from boundary_env_ros.evidence.report.anomalies import KINDS
from boundary_env_ros.evidence.report.facts import Report
from boundary_env_ros.terminal import many

_FOLDER = Path(__file__).parent

#: Endings with a colour of their own; the losses share one, and the others share another.
_COLOURED = ('success', 'time_limit', 'safety_stop', 'failure', 'operator_stop')

#: What stands for a number that is not known.
_UNKNOWN = '\N{EN DASH}'


def render(report: Report) -> Iterator[str]:
    """Yield the page, piece by piece."""
    shared, _ = report.summary.origins()
    facts = (
        *(f'{name} {value}' for name, value in shared.items()),
        f'begun {report.begun}' if report.begun else '',
        many(len(report.rows), 'episode'),
        many(sum(row.episode.steps for row in report.rows), 'step'),
    )
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(css=_css, many=many, number=_number)
    environment.policies['json.dumps_kwargs'] = {'allow_nan': False, 'separators': (',', ':')}
    style, script = _text('page.css'), _text('page.js')
    yield from environment.get_template('page.html').generate(
        title=f'{report.name}: {shared.get("contract", "a run")}',
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        report=report,
        facts=[fact for fact in facts if fact],
        kinds=KINDS,
        drawn={row.episode.number for row in report.rows if row.drawn},
        several=len({row.episode.key[0] for row in report.rows}) > 1,
        blocks=_blocks(report),
    )


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding='utf-8')


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode('utf-8')).digest()
    return f'sha256-{base64.b64encode(digest).decode("ascii")}'


def _blocks(report: Report) -> Iterator[tuple[str, object]]:
    """Yield what the script of the page draws, each block by its name."""
    yield 'page', {'path': shlex.quote(report.path)}
    for number, detail in report.details.items():
        yield f'd{number}', detail
        frames = report.frames.get(number)
        if frames:
            yield f'f{number}', [frame._asdict() for frame in frames]


def _css(ending: str) -> str:
    if ending in _COLOURED:
        return f'c-{ending}'
    if not ending:
        return 'c-none'
    return 'c-lost' if ending in OF_MACHINERY else 'c-other'


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None or math.isnan(value) else f'{value:.3g}'
