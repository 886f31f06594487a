# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is done to an honest record, the audit names the rule."""

from __future__ import annotations

from itertools import takewhile
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
    # Without what follows it is quicker; the honest steps that are left have no finding either.
    rest = untouched(transitions, damaged)
    if rest not in _CLEAN:
        assert audit(without(rest, transitions), contract=contract, task=task).counts == {}
        _CLEAN.add(rest)
    report = audit(without(rest, damaged), contract=contract, task=task)
    assert case.rule in report.counts, f'\n{report}'


#: What was left out where the rest is known to be clean.
_CLEAN: set[frozenset[str]] = set()


def untouched(before: list[Transition], after: list[Transition]) -> frozenset[str]:
    """Return the episodes at the end that are as they were, but for the first two of them."""
    pairs = zip(reversed(before), reversed(after), strict=False)
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    episodes = dict.fromkeys(step.id.episode_id for step in before[len(before) - equal :])
    return frozenset([*episodes][2:])


def without(episodes: frozenset[str], steps: list[Transition]) -> list[Transition]:
    """Return the steps of all other episodes."""
    return [step for step in steps if step.id.episode_id not in episodes]


def test_there_are_many_damages_each_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) > 100


def test_every_rule_names_some_damage_here_or_in_another_test() -> None:
    folder = Path(__file__).parent
    others = [*folder.glob('test_*.py'), *folder.glob('bag_forgeries*.py')]
    told = ''.join(p.read_text(encoding='utf-8') for p in others if p != Path(__file__))
    untested = {rule for rule in RULE if f"'{rule}'" not in told} - {case.rule for case in CASES}
    assert untested == set()
