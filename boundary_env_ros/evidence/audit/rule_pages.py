# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A page for each rule of the audit, for a terminal and as a section of ``doc/audit.md``."""

from __future__ import annotations

from collections.abc import Mapping
import difflib
import textwrap

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit.rules.base import Severity
from boundary_env_ros.evidence.audit.rules.catalogue import (
    GROUPS,
    RULE,
)

_WIDTH = 88

_SEVERITY: Mapping[Severity, str] = {
    Severity.FATAL: 'No claim may rest on a record that breaks it.',
    Severity.SUSPICIOUS: 'Look before a claim rests on it; the exit code stays.',
}


def explain(name: str) -> str:
    """
    Return the page of a rule as text.

    Raises
    ------
    BoundaryError
        If there is no such rule.

    """
    rule = RULE.get(name)
    if rule is None:
        near = difflib.get_close_matches(name, RULE, n=3, cutoff=0.5)
        hint = (
            f'did you mean {", ".join(near)}?'
            if near
            else '`boundary-env audit --rules` lists them.'
        )
        raise BoundaryError(f'There is no rule {name!r}: {hint}')
    parts = [
        f'{rule.id}: {rule.severity.value}. {_SEVERITY[rule.severity]}',
        f'Rule: {rule.sentence}',
        f'Fix: {rule.way_out}',
        f'Page: {rule.page}',
    ]
    return '\n'.join(
        textwrap.fill(part, _WIDTH, subsequent_indent='  ', break_on_hyphens=False)
        for part in parts
    )


def listed() -> str:
    """Return all rules, one a line, by group."""
    width = max(map(len, RULE))
    lines: list[str] = []
    for title, rules in GROUPS.items():
        lines += ['', title] if lines else [title]
        lines += [f'  {rule.id:<{width}}  {rule.severity.value}' for rule in rules]
    return '\n'.join(lines)
