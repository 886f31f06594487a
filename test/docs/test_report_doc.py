# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the page on reports says of anomalies, limits and facts is what the code has."""

from __future__ import annotations

from boundary_env_ros.evidence.report.anomalies import KINDS
from support.pages import rows, section, text_of

PAGE = text_of('doc/report.md')


def test_every_sign_stands_there_with_its_weight_in_their_order() -> None:
    table = [row for row in rows(section(PAGE, 'Suspicious moments')) if row[0] != 'Anomaly']
    told = [(f'`{name}`', f'{kind.weight:g}', kind.sentence) for name, kind in KINDS.items()]
    assert table == told
    assert [kind.weight for kind in KINDS.values()] == sorted(
        (kind.weight for kind in KINDS.values()), reverse=True
    )
