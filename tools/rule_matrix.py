# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which damages and forgeries of the tests each rule of the audit finds, and which it finds alone.

    PYTHONPATH=test .venv/bin/python -m tools.rule_matrix [--checks]

With ``--checks`` by function, of the rules about steps and decisions.

A rule that finds nothing alone here is implied by others, unless a test of its own says what for;
look at that before it is taken out. Exit code 1: something is found by no rule that should be.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
import sys
import tempfile

from boundary_env_ros.evidence.audit import auditor
from boundary_env_ros.evidence.audit.audit import audit, audit_path
from boundary_env_ros.evidence.audit.rules.audit_rule import Check, Found, RULE
from boundary_env_ros.storage.contract_file import load, make_task
from support.bag_forgeries import FORGERIES
from support.bag_forging import Forge
from support.bag_maker import make_tape, write_bag
from support.damage_cases import CASES
from support.record_maker import Bench, make_record, transitions_of

_found: set[str] = set()


def _noted(check: Check) -> Check:
    """Return a check that notes when it finds something."""

    def function(place: object) -> Found:
        for mismatch in check.function(place):
            _found.add(f'{check.rule} {check.function.__name__}')
            yield mismatch

    return replace(check, function=function)


def cases() -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each damage and forgery that rules find, and those rules."""
    loaded = load('warehouse_cart')
    contract, task = loaded.contract, make_task(loaded.contract)
    steps = list(transitions_of(make_record(contract, loaded.digest, task)))
    for case in CASES:
        report = audit(case.damage(steps), contract=contract, task=task)
        yield f'damage: {case.name}', set(report.counts)
    tape = make_tape(Bench, loaded, task, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        for number, forgery in enumerate(each for each in FORGERIES if each.rules):
            forge = Forge(list(tape), contract, task)
            forgery.forge(forge)
            write_bag(Path(folder, str(number)), forge.tape)
            report = audit_path(Path(folder, str(number)))
            # The bags are written anew, so that no chain tells.
            yield f'forgery: {forgery.name}', set(report.counts)


def main() -> int:
    """Print the matrix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--checks', action='store_true', help='by function')
    by_check = parser.parse_args().checks
    if by_check:
        for name in ('STEP_CHECKS', 'DECISION_CHECKS'):
            vars(auditor)[name] = tuple(map(_noted, vars(auditor)[name]))
    finds: dict[str, list[str]] = defaultdict(list)
    alone: dict[str, list[str]] = defaultdict(list)
    missed = []
    for name, rules in cases():
        found = {*_found} if by_check else rules
        if not rules:
            missed.append(name)
        for who in found:
            finds[who].append(name)
        if len(found) == 1:
            alone[next(iter(found))].append(name)
        _found.clear()
    for who in sorted({*finds, *(() if by_check else RULE)}, key=lambda who: -len(alone[who])):
        print(f'{who:52} finds {len(finds[who]):3}, alone {len(alone[who]):3}', *alone[who][:2])
    print(*(f'Found by no rule: {name}' for name in missed), sep='\n')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
