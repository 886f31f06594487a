# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of the reasons on the page of the gate, made from the causes of its rules."""

from __future__ import annotations

import re

from boundary_env_ros.core.gate.rules.causes import CAUSES
from boundary_env_ros.core.records.decision import Reason

_HEAD = '| Reason | No. | Rule | Outcome |\n|---|---|---|---|\n'


def with_reasons(page: str) -> str:
    """Return the page with its table made again."""
    rows = ''.join(map(_row, Reason))
    return re.sub(rf'(?<={re.escape(_HEAD)})(\|[^\n]*\n)*', lambda _: rows, page)


def _row(reason: Reason) -> str:
    causes = [cause for cause in CAUSES if cause.reason is reason]
    rules = ', '.join(dict.fromkeys(f'`{cause.rule}`' for cause in causes)) or '—'
    outcomes = ' or '.join(dict.fromkeys(cause.outcome.name for cause in causes)) or '—'
    return f'| `{reason.name}` | {reason.value} | {rules} | {outcomes} |\n'
