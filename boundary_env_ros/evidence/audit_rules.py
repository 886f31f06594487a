# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
All rules of the audit, by name.

``doc/audit.md`` lists the same rules, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.evidence.rules import (
    command,
    ending,
    gate,
    identity,
    observation,
    recompute,
    sequence,
    step,
    timing,
)
from boundary_env_ros.evidence.rules.base import Rule, Severity

# Rules about the record as a whole, which the auditor applies itself.

record_complete = Rule(
    id='record-complete',
    severity=Severity.ERROR,
    sentence=(
        'Every line and every message of the record can be read whole: no key is missing or '
        'unknown, no value of another type.'
    ),
    way_out='Record again with one version of this package, or look at who edited the file.',
)
record_not_empty = Rule(
    id='record-not-empty',
    severity=Severity.ERROR,
    sentence='A record holds at least one transition.',
    way_out='Look whether an episode was begun at all, and whether this is the right file.',
)
episode_ended = Rule(
    id='episode-ended',
    severity=Severity.ERROR,
    sentence='An episode has an ending before the next one of its agent begins.',
    way_out='Look for an ending that was taken out; an episode without one cannot be counted.',
)
record_ended = Rule(
    id='record-ended',
    severity=Severity.WARNING,
    sentence='The last episode of a record has an ending.',
    way_out='The record was cut off or still goes on; do not count its last episode.',
)
status_agrees = Rule(
    id='status-agrees',
    severity=Severity.ERROR,
    sentence='The ending that was announced while the robot ran is the one that the record holds.',
    way_out=(
        'Compare the topic of the episode status with the last step; one of the two was changed.'
    ),
)
decisions_agree = Rule(
    id='decisions-agree',
    severity=Severity.ERROR,
    sentence='The decisions in a step are those that the gate itself published, bit by bit.',
    way_out=(
        'Trust the topic of the gate: it alone knows what it sent; and look for lost messages.'
    ),
)
late_evidence = Rule(
    id='late-evidence',
    severity=Severity.ERROR,
    sentence=(
        'Evidence of execution that came late belongs to a step whose execution was unknown, and '
        'comes after its command.'
    ),
    way_out='Compare the decision sequence and the commanded instant of evidence and step.',
)
evaluator_as_contract = Rule(
    id='evaluator-as-contract',
    severity=Severity.ERROR,
    sentence=(
        "A record of the evaluator has the contract's evaluator fields, for a step under the same "
        'contract.'
    ),
    way_out='Look at the adapter of the field, and audit against the contract of the run.',
    needs_contract=True,
)
record_closed = Rule(
    id='record-closed',
    severity=Severity.WARNING,
    sentence='A record was closed by its writer, and does not end in the middle.',
    way_out='The recorder was killed or still writes; what can be read was looked at.',
)
contract_readable = Rule(
    id='contract-readable',
    severity=Severity.ERROR,
    sentence='The copy of the contract that comes with a record is a valid contract.',
    way_out='Take the file that the run was made with, and install the task that it names.',
)
contract_described = Rule(
    id='contract-described',
    severity=Severity.ERROR,
    sentence='Every node of a run was configured with the contract of its steps.',
    way_out='Start all nodes with one contract file, pacing and version of the task.',
)
copies_agree = Rule(
    id='copies-agree',
    severity=Severity.ERROR,
    sentence=(
        'A run folder tells the same steps everywhere: in the bag, in `transitions.jsonl` and in '
        '`first_transition.json`.'
    ),
    way_out='Trust the bag; one of the copies was changed or cut off afterwards.',
)

RULES: tuple[Rule, ...] = (
    record_complete,
    record_not_empty,
    record_closed,
    contract_readable,
    contract_described,
    copies_agree,
    *identity.RULES,
    *sequence.RULES,
    episode_ended,
    record_ended,
    *ending.RULES,
    status_agrees,
    *observation.RULES,
    evaluator_as_contract,
    *step.RULES,
    *gate.RULES,
    *command.RULES,
    *recompute.RULES,
    decisions_agree,
    *timing.RULES,
    late_evidence,
)

RULE: Mapping[str, Rule] = {rule.id: rule for rule in RULES}
