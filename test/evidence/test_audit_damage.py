# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is done to an honest record, the audit names the rule."""

from __future__ import annotations

from damage import Case
from damage_cases import CASES
import pytest

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.audit import audit
from boundary_env_ros.evidence.audit_rules import RULE
from boundary_env_ros.evidence.rules import sensors


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_damage_is_named_by_its_rule(
    case: Case, transitions: list[Transition], contract: Contract, task: Task
) -> None:
    damaged = case.damage(transitions)
    assert damaged != transitions
    report = audit(damaged, contract=contract, task=task)
    assert case.rule in report.counts, f'\n{report}'


def test_there_are_many_damages_each_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) > 100


def test_every_rule_names_some_damage() -> None:
    elsewhere = {
        # test_audit_bags.py
        'derived-recomputed',
        'evaluator-leak',
        *(rule.id for rule in sensors.RULES),
        # test_audit_by_hand.py
        'wanted-command',
        'stop-lasts',
        'operator-holds-switch',
        'operator-goes-first',
        'tightened-stricter',
        'overruns-recomputed',
        'competing-stops',
        'tick-recomputed',
        'clock-recomputed',
        'republished-as-declared',
        'command-motion',
        'command-rotation',
        # By test_import.py:
        'import-as-commanded',
        # test_audit.py
        'record-not-empty',
        'contract-described',
        'record-ended',
        'status-agrees',
        'evaluator-as-contract',
        'decisions-agree',
        'late-evidence',
        # test_marks.py
        'mark-known',
        # test_audit_path.py
        'record-complete',
        'record-closed',
        'contract-readable',
        'copies-agree',
        'first-transition-saved',
    }
    assert {case.rule for case in CASES} | elsewhere == set(RULE)
