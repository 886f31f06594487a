# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
All rules of the audit.

What an honest record keeps, and where to look when one does not, stands in ``rules.md`` beside
this module, which is the end of ``doc/audit.md``, too. The functions that check a rule stand in
the other modules, and in :mod:`boundary_env_ros.evidence.audit.raw_messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
import re

from boundary_env_ros.frozen import frozen


class Severity(Enum):
    """
    How bad a finding is.

    ``FATAL``: the record contradicts itself, its contract or its sensors: no claim may rest on it.
    ``SUSPICIOUS``: the record is true as far as can be seen, but something is missing from it or
    looks odd: look before a claim rests on it.
    """

    FATAL = 'fatal'
    SUSPICIOUS = 'suspicious'


@frozen(kw_only=False)
class AuditRule:
    """
    One rule of the audit.

    Attributes
    ----------
    id
        Its name in reports.
    sentence
        What an honest record keeps.
    way_out
        Where to look when one does not.
    severity
        See :class:`Severity`.
    raw
        Whether it, or a part of it, needs the raw messages of a bag, and the contract to read
        them.
    near
        Whether it compares with another record, which may have been where the record is damaged.
    run
        Whether only a run shows, in whole or in part, that it is kept.

    """

    id: str
    sentence: str
    way_out: str
    severity: Severity = Severity.FATAL
    raw: bool = False
    near: bool = False
    run: bool = False

    @property
    def page(self) -> str:
        """Return where it is explained."""
        return f'doc/audit.md#{self.id}'


#: All rules as text, by what they are about.
PAGES = Path(__file__).with_name('rules.md').read_text(encoding='utf-8')

#: The rules that need the raw messages of a bag, in whole or in part.
_RAW = frozenset(
    {
        'request-answered',
        'as-published',
        'values-from-sensors',
        'frame-as-contract',
        'command-on-topic',
        'emergency-stop-heard',
    }
)

#: The rules that compare with another record, which may have been where the record is damaged.
_NEAR = frozenset({'index-agrees', 'episode-ended', 'as-published'})

_PAGE = re.compile(
    r'^#### `(.*)`\n\n(\w+)(, (?:in part )?for a run)?\. (.*)\n\n\*Fix:\* (.*)\n', re.M
)


def _rules(pages: str) -> tuple[AuditRule, ...]:
    return tuple(
        AuditRule(
            id=name,
            sentence=sentence,
            way_out=way_out,
            severity=Severity(severity.lower()),
            raw=name in _RAW,
            near=name in _NEAR,
            run=bool(run),
        )
        for name, severity, run, sentence, way_out in _PAGE.findall(pages)
    )


#: The rules in the order of reports.
RULES = _rules(PAGES)

RULE: Mapping[str, AuditRule] = {rule.id: rule for rule in RULES}

#: The rules that run gate, environment and task again.
RECOMPUTED = ('step-recomputed', 'decision-recomputed')
