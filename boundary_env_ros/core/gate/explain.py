# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate did, in words: which rule, which dimension, by how much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Source, value_names
from boundary_env_ros.core.gate.rules.admission import DOCUMENT
from boundary_env_ros.core.gate.rules.causes import cause_of
from boundary_env_ros.core.gate.rules.document_rules import DocumentRules
from boundary_env_ros.core.gate.rules.sensors import NAME as SENSORS
from boundary_env_ros.core.records.decision import (
    ALIVE,
    FEEDBACK,
    GateDecision,
    Measurement,
    measurement_of,
    Reason,
    RuleResult,
)
from boundary_env_ros.core.sources.inputs import infinite_values
from boundary_env_ros.core.sources.reading import is_measured, not_measured


def sentences(
    decision: GateDecision,
    contract: Contract | None,
    results: Sequence[RuleResult] | None = None,
) -> tuple[str, ...]:
    """
    Return one sentence for each rule and reason.

    Parameters
    ----------
    decision
        What the gate did.
    contract
        For the names of dimensions and joints; None if it is not known.
    results
        Those of its rules that are to be explained; None: all of them.

    """
    results = decision.rules if results is None else results
    names = contract.command_dimensions if contract and results else ()
    return tuple(
        sentence(worst, names, others, details(worst, decision, contract))
        for worst, others in worst_of(results)
    )


def worst_of(results: Iterable[RuleResult]) -> tuple[tuple[RuleResult, int], ...]:
    """
    Return, for each rule and reason, the result that changed its dimension most.

    Each comes with the number of other dimensions that the same rule touched for the same reason.
    """
    found: dict[object, list[RuleResult]] = {}
    for result in results:
        found.setdefault((result.rule, result.outcome, result.reason), []).append(result)
    return tuple((max(alike, key=_change), len(alike) - 1) for alike in found.values())


def _change(result: RuleResult) -> float:
    if result.before is None or result.after is None:
        return 0.0
    return abs(result.before - result.after)


def sentence(
    result: RuleResult, dimensions: Sequence[str], others: int = 0, details: str = ''
) -> str:
    """
    Return one sentence on what a rule did.

    Parameters
    ----------
    result
        What it did.
    dimensions
        Name of each dimension of the command.
    others
        In how many other dimensions it did the same.
    details
        Of a sensor that gave no usable value, what it gave; of a silent one its topic.

    """
    words = f'{result.outcome.name} by {result.rule}: {cause_of(result).text}'
    if 0 <= result.dimension < len(dimensions):
        words += f'; {dimensions[result.dimension]}'
        if result.before is not None and result.after is not None:
            words += ' from {} to {}'.format(*_apart(result.before, result.after))
    numbers = ''
    if result.value is not None:
        numbers = f'{result.value:.6g}'
        if result.limit is not None:
            numbers = '{}, limit {}'.format(*_apart(result.value, result.limit))
        numbers += f' {result.unit}'.rstrip()
    numbers = '; '.join(part for part in (numbers, details) if part)
    if numbers:
        words += f' ({numbers})'
    return f'{words}, and {others} other{"" if others == 1 else "s"}' if others else words


def _apart(one: float, other: float) -> tuple[str, str]:
    """Return two numbers as text, with as many digits as it takes to tell them apart."""
    pair = f'{one:.6g}', f'{other:.6g}'
    if pair[0] == pair[1] and one != other:
        pair = f'{one:.9g}', f'{other:.9g}'
    return pair


def details(result: RuleResult, decision: GateDecision, contract: Contract | None) -> str:
    """Return what came that a rule could not go by, or the topic that is silent; else empty."""
    if result.rule == DOCUMENT and decision.request is not None and contract is not None:
        return DocumentRules(contract).fault(decision.request)
    name = result.rule.removeprefix(f'{SENSORS}.')
    measurement = measurement_of(decision.inputs.measurements, name)
    if measurement is None:
        return ''
    is_silent = result.reason is Reason.OBSERVATION_TIMEOUT
    silent = f'topic {measurement.topic}' if is_silent else ''
    return '; '.join(filter(None, (silent, unusable(measurement, contract))))


def unusable(measurement: Measurement, contract: Contract | None) -> str:
    """Return what came instead of usable values: ``FL_hip is nan``; empty if they are usable."""
    values = measurement.values
    if not values:
        return '' if measurement.age is None else 'a message that cannot be read'
    kind, _, name = measurement.name.partition('.')
    names: tuple[str, ...] = ()
    source: Source | None = None
    # How near something is may be infinite; whether that was measured the rule itself has judged.
    infinite = 0 if kind in (ALIVE, FEEDBACK) else len(values)
    if contract is not None:
        for spec in contract.fields if kind == ALIVE else ():
            if spec.name == name:
                source, infinite = spec.source, infinite_values(spec)
        for group in contract.action if kind == FEEDBACK else ():
            if group.name == name:
                names = group.dimensions
        for rule in contract.safety.rules:
            if rule.input == measurement.name:
                infinite = rule.need(contract.safety).infinite
    if is_measured(values, infinite=infinite):
        return ''
    return not_measured(values, names or value_names(source), infinite=infinite)
