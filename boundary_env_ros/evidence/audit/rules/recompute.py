# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The decisions of the gate, computed again.

The other rules about the gate look at what must hold of any decision; this one runs the rules of
the gate once more on what the decision says it was based on, and asks for the same ruling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from boundary_env_ros.core.gate.decision import (
    GateDecision,
    Measurement,
    Reason,
    RuleResult,
    RuntimeLimits,
    Trigger,
)
from boundary_env_ros.core.gate.rules.admission import well_formed
from boundary_env_ros.core.gate.rules.documents import DOCUMENT, DocumentRules
from boundary_env_ros.core.gate.rules.evaluate import rule as rule_on
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.recorded import situation_of, wanted_of
from boundary_env_ros.core.gate.rules.rule_input import RuleOutput
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    Found,
    known,
    Link,
    Mismatch,
    of_decision,
    Terms,
    vector,
)
from boundary_env_ros.evidence.audit.rules.gate import (
    commanded_by_hand,
    OF_POLICY,
    refused_unheard,
    same_numbers,
)


@of_decision(catalogue.RULING_RECOMPUTED, contract=True)
def _ruling_recomputed(link: Link) -> Found:
    decision = link.decision
    if refused_unheard(decision):
        yield from _refusal(decision, known(link.terms))
        return
    fault = document_fault(decision, known(link.terms))
    if fault:
        yield Mismatch('request.payload', f'REJECTED: {fault}', decision.verdict.name)
        return
    limits = known(link.terms).limits
    ruling = ruling_of(decision, limits, {found.name: found for found in decision.measurements})
    if ruling is None:
        yield Mismatch(
            'requested_action',
            'REJECTED, unless it has the size of the action and is finite',
            f'{decision.verdict.name} for {vector(wanted_of(decision) or ())}',
        )
        return
    if ruling.verdict is not decision.verdict:
        yield Mismatch(
            'verdict', f'{ruling.verdict.name} {reasons_of(ruling.results)}', decision.verdict.name
        )
        return
    for name, expected, actual in (
        ('requested_command', ruling.wanted, decision.requested_command),
        ('admitted_action', ruling.admitted, decision.admitted_action),
        ('command', ruling.command, decision.command),
    ):
        if not same_numbers(expected, actual):
            yield Mismatch(name, vector(expected), vector(actual))
    if len(ruling.results) != len(decision.rules):
        yield Mismatch('rules', reasons_of(ruling.results), reasons_of(decision.rules))
        return
    for i, (ours, theirs) in enumerate(zip(ruling.results, decision.rules, strict=True)):
        if not _same_result(ours, theirs):
            yield Mismatch(f'rules[{i}]', _told(ours, limits.names), _told(theirs, limits.names))


def ruling_of(
    decision: GateDecision, limits: Limits, measurements: Mapping[str, Measurement]
) -> RuleOutput | None:
    """
    Return what the rules of the gate make of a decision's request and inputs.

    Parameters
    ----------
    decision
        The decision.
    limits
        What the rules need of the contract.
    measurements
        What the gate is to have measured, by name.

    Returns
    -------
    RuleOutput or None
        None if the request was refused unheard, or should have been.

    """
    wanted, commands = wanted_of(decision), len(limits.low)
    actions = sum(group.action_size for group in limits.groups)
    size = actions if decision.trigger in OF_POLICY else commands
    if (
        refused_unheard(decision)
        or (wanted is not None and well_formed(wanted, size))
        or any(
            vector and len(vector) != commands
            for vector in (
                decision.previous_command,
                decision.previous_rate,
                decision.previous_acceleration,
            )
        )
    ):
        return None
    try:
        if decision.runtime_limits != RuntimeLimits():
            limits = tightened_limits(limits, decision.runtime_limits)
    except RequestRejected:
        return None
    situation = situation_of(decision, measurements)
    if not commands:
        situation = replace(situation, previous=())  # no numbers, which are known
    return rule_on(limits, situation, wanted)


def _refusal(decision: GateDecision, terms: Terms) -> Found:
    """Yield what speaks against the reasons of a refusal, as far as can be seen."""
    request = decision.request
    if request is None:
        if decision.trigger is not Trigger.OPERATOR:
            yield Mismatch('request', 'the request that was refused', 'none')
        elif not well_formed(commanded_by_hand(decision), terms.contract.command_size):
            yield Mismatch('verdict', 'no refusal of a command', 'REJECTED')
        return
    reasons = {result.reason for result in decision.rules}
    size, horizon = terms.contract.action_size, terms.contract.horizon
    results = well_formed(request.action, size, request.horizon, horizon)
    malformed = {result.reason for result in results}
    claimed = {result.reason for result in decision.rules if result.rule != DOCUMENT}
    claimed &= {Reason.WRONG_SHAPE, Reason.NOT_FINITE}
    if malformed != claimed:
        expected, actual = (', '.join(sorted(r.name for r in of)) for of in (malformed, claimed))
        yield Mismatch('rules', expected or 'no fault in its form', actual or 'none')
    refused = any(result.rule == DOCUMENT for result in decision.rules)
    if refused and not document_fault(decision, terms):
        yield Mismatch('rules', 'documents that the contract does not admit', 'admitted ones')
    if Reason.WRONG_DIGEST in reasons and request.id.digest == terms.digest:
        yield Mismatch('rules', 'another reason', 'WRONG_DIGEST')


def document_fault(decision: GateDecision, terms: Terms) -> str:
    """Return why the contract does not admit the documents of a request; empty: it does."""
    request = decision.request
    if request is None or not request.payload:
        return ''
    return DocumentRules(terms.contract).fault(request)


def reasons_of(results: tuple[RuleResult, ...]) -> str:
    """Return the rules of a ruling, each with its reason, in words."""
    return ', '.join(f'{r.rule} ({r.reason.name.lower()})' for r in results) or 'with no rule'


def _same_result(one: RuleResult, other: RuleResult) -> bool:
    for name in ('before', 'after', 'value', 'limit'):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours is None or theirs is None:
            if ours is not theirs:
                return False
        elif not close(ours, theirs, 1e-6):
            return False
    same = ('rule', 'outcome', 'reason', 'dimension', 'unit')
    return all(getattr(one, name) == getattr(other, name) for name in same)


def _told(result: RuleResult, names: Sequence[str]) -> str:
    whole = not 0 <= result.dimension < len(names)
    return (
        f'{result.rule} ({result.reason.name.lower()}) of '
        f'{"the whole action" if whole else names[result.dimension]}: '
        f'{result.before} to {result.after} for {result.value} against {result.limit} '
        f'{result.unit}'
    ).rstrip()
