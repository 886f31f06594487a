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
from pathlib import Path
import re

from boundary_env_ros.evidence.audit.rules.base import Rule, Severity

#: All rules as text, by what they are about.
PAGES = Path(__file__).with_name('rules.md').read_text(encoding='utf-8')

#: The rules that need the raw messages of a bag, in whole or in part.
_RAW = frozenset(
    {
        'record-unchanged',
        'request-answered',
        'as-published',
        'values-from-sensors',
        'values-newest',
        'frame-as-contract',
        'command-on-topic',
        'emergency-stop-heard',
    }
)

#: The rules that compare with another record, which may have been where the record is damaged.
_NEAR = frozenset({'index-agrees', 'episode-ended', 'as-published'})

_PAGE = re.compile(r'^#### `(.*)`\n\n(\w+)\. (.*)\n\n\*Fix:\* (.*)\n', re.M)


def _rules(pages: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            id=name,
            sentence=sentence,
            way_out=way_out,
            severity=Severity(severity.lower()),
            raw=name in _RAW,
            near=name in _NEAR,
        )
        for name, severity, sentence, way_out in _PAGE.findall(pages)
    )


#: The rules in the order of reports.
RULES = _rules(PAGES)

RULE: Mapping[str, Rule] = {rule.id: rule for rule in RULES}

RECORD_COMPLETE = RULE['record-complete']
RECORD_CLOSED = RULE['record-closed']
RECORD_ENDED = RULE['record-ended']
RECORD_UNCHANGED = RULE['record-unchanged']
INDEX_AGREES = RULE['index-agrees']
ONE_CONTRACT = RULE['one-contract']
VERSIONS_PRESENT = RULE['versions-present']
EPISODE_CONSTANT = RULE['episode-constant']
NO_HIDDEN_WRAPPER = RULE['no-hidden-wrapper']
STEPS_IN_ORDER = RULE['steps-in-order']
RESET_AS_CONTRACT = RULE['reset-as-contract']
EPISODE_ENDED = RULE['episode-ended']
ENDING_DECLARED = RULE['ending-declared']
FIELDS_AS_CONTRACT = RULE['fields-as-contract']
TRUTH_WITHHELD = RULE['truth-withheld']
CLOCKS_AGREE = RULE['clocks-agree']
STEP_RECOMPUTED = RULE['step-recomputed']
INSTANTS_IN_ORDER = RULE['instants-in-order']
EXECUTION_MEASURED = RULE['execution-measured']
REQUEST_VALID = RULE['request-valid']
REQUEST_ANSWERED = RULE['request-answered']
ALLOWED_TO_MOVE = RULE['allowed-to-move']
RUNTIME_LIMITS_STRICTER = RULE['runtime-limits-stricter']
FOREIGN_PUBLISHER = RULE['foreign-publisher']
DECISION_SEQUENCE = RULE['decision-sequence']
DECISION_RECOMPUTED = RULE['decision-recomputed']
MEASUREMENTS_AS_CONTRACT = RULE['measurements-as-contract']
INPUTS_RECOMPUTED = RULE['inputs-recomputed']
COMMAND_IN_BOUNDS = RULE['command-in-bounds']
COMMAND_MOTION = RULE['command-motion']
AS_PUBLISHED = RULE['as-published']
VALUES_FROM_SENSORS = RULE['values-from-sensors']
VALUES_NEWEST = RULE['values-newest']
FRAME_AS_CONTRACT = RULE['frame-as-contract']
COMMAND_ON_TOPIC = RULE['command-on-topic']
EMERGENCY_STOP_HEARD = RULE['emergency-stop-heard']

#: The rules that run gate, environment and task again.
RECOMPUTED = (STEP_RECOMPUTED, DECISION_RECOMPUTED)
