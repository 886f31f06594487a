# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is done to an honest record, the audit names the rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.audit import audit
from boundary_env_ros.evidence.audit.rules.audit_rule import RULE
from support.damage import Case
from support.damage_cases import CASES


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


def test_every_rule_names_some_damage_here_or_in_another_test() -> None:
    folder = Path(__file__).parent
    others = [*folder.glob('test_*.py'), *folder.glob('bag_forgeries*.py')]
    told = ''.join(p.read_text(encoding='utf-8') for p in others if p != Path(__file__))
    untested = {rule for rule in RULE if f"'{rule}'" not in told} - {case.rule for case in CASES}
    assert untested == set()
