# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the page on reports says of anomalies, limits and facts is what the code has."""

from __future__ import annotations

import re

from pages import rows, section, text_of

from boundary_env_ros.evidence.report.anomalies import FAR, KINDS, LARGE
from boundary_env_ros.evidence.report.reading import WAYS
from boundary_env_ros.evidence.report.report import MOMENTS, Report
from boundary_env_ros.evidence.report.suspicion import GAP, REPEATED
from boundary_env_ros.evidence.report.timeline import EVENTS, LINES, MAP_COLUMNS, ROWS, SPANS
from boundary_env_ros.evidence.summary.figures import Summary

PAGE = text_of('doc/report.md')


def test_every_sign_stands_there_with_its_weight_in_their_order() -> None:
    table = [row for row in rows(section(PAGE, 'Suspicious moments')) if row[0] != 'Anomaly']
    told = [(f'`{name}`', f'{kind.weight:g}', kind.sentence) for name, kind in KINDS.items()]
    assert table == told
    assert [kind.weight for kind in KINDS.values()] == sorted(
        (kind.weight for kind in KINDS.values()), reverse=True
    )


def test_numbers_on_the_page_are_those_of_the_code() -> None:
    text = ' '.join(PAGE.split())
    assert (LARGE, FAR) == (0.25, 0.5)
    for words in (
        f'no more than {GAP} others between them',
        f'within {GAP} steps are told as one',
        f'counts {REPEATED} of the one before',
        f'up to {LINES} values of a unit as lines, up to {ROWS} as a map',
        f'at most {MAP_COLUMNS} columns',
        f'{SPANS} spans of rules and {EVENTS} events',
        f'the first {WAYS} episodes',
    ):
        assert words in text, words
    assert MOMENTS == 5


def test_keys_of_the_facts_are_told() -> None:
    report = Report(
        name='', path='', begun='', pacing='', period=None,
        summary=Summary(contract='', digest='', software_version='', clients=()),
        ways=(), stages={}, moments=(), rows=(), details={}, frames={}, notes=(),
    )  # fmt: skip
    told = [
        name
        for row in rows(section(PAGE, 'Facts for machines'))
        for name in re.findall(r'`(\w+)`', row[0])
    ]
    assert told == list(report.to_json())
