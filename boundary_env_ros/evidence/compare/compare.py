# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Two runs compared with each other: simulation and reality, two policies, before and after.

The unit is the episode: see :mod:`.permutation`. Every family of quantities is one test; over all
of them the chance of any false alarm is held at :data:`ALPHA`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from boundary_env_ros.core.contract.key import Meaning
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.compare.comparison import Comparison, ComparisonFinding
from boundary_env_ros.evidence.compare.features import units_of, Values
from boundary_env_ros.evidence.compare.permutation import Deals, enough
from boundary_env_ros.evidence.compare.side import ComparedRun, read_side
from boundary_env_ros.evidence.compare.tests_of_difference import findings_of
from boundary_env_ros.evidence.contract_difference import ContractDifference, difference
from boundary_env_ros.evidence.episodes import Origin
from boundary_env_ros.evidence.run_files import Progress, Run

#: Chance of any false alarm over all tests.
ALPHA = 0.05

# Tests of a usual comparison: an error names as many episodes as they need.
_USUAL = 18


def compare_paths(
    first: Path,
    second: Path,
    *,
    agent: str = '',
    clients: tuple[str, str] = ('', ''),
    progress: Progress | None = None,
) -> Comparison:
    """
    Compare two records on disk.

    Parameters
    ----------
    first, second
        A and B: run folder, bag or file.
    agent
        Whose episodes; may be empty if there is one agent only.
    clients
        Of A and of B, whose episodes; empty: those of all clients.
    progress
        Called with the number of records of A, and then of B, that were read, and of how many.

    Raises
    ------
    RecordError
        If there are no records at a path, their contract is not known, or it is not clear which
        agent is meant.

    """
    runs = [Run(path, progress) for path in (first, second)]
    contracts = [run.contract() for run in runs]
    who = agent_of(contracts[0], contracts[1], agent)
    sides = [
        read_side(run.episodes(), contract, name=str(run.path), agent=who, client=client)
        for run, contract, client in zip(runs, contracts, clients, strict=True)
    ]
    for run, side in zip(runs, sides, strict=True):
        side.unreadable = run.not_read
    return compare(*sides, agent=who)


def compare(a: ComparedRun, b: ComparedRun, *, agent: str) -> Comparison:
    """Compare what was read of two runs."""
    contracts = difference(a.contract, b.contract)
    obstacles = [*_breaking(contracts), *_pooled(a, b), *_too_few(a, b)]
    findings: list[ComparisonFinding] = []
    untested: dict[str, str] = {}
    least = 1.0
    if not obstacles:
        deals = Deals(len(a.episodes), len(b.episodes))
        least = deals.least
        kept = [[episode.values for episode in side.episodes] for side in (a, b)]
        if a.contract.pacing is not b.contract.pacing:
            kept = [[_without_latency(values) for values in side] for side in kept]
            untested['latency'] = 'in lockstep the world waits, as on one of the sides'
        units = units_of(a.contract)
        findings, others = findings_of(kept[0], kept[1], deals, alpha=ALPHA, units=units)
        untested |= others
        obstacles += _too_weak(deals, len(findings))
    return Comparison(
        a=a,
        b=b,
        agent=agent,
        contracts=contracts,
        obstacles=tuple(obstacles),
        notes=tuple(_notes(a, b)),
        findings=tuple(findings),
        untested=untested,
        alpha=ALPHA,
        least=least,
    )


def agent_of(contract_a: Contract, contract_b: Contract, agent: str) -> str:
    """
    Return the agent whose episodes are compared: the one that is named, or the only one.

    Raises
    ------
    RecordError
        If there are several agents and none is named, or there is no such agent.

    """
    both = [name for name in contract_a.agents if name in contract_b.agents]
    if agent:
        if agent not in both:
            raise RecordError(
                f'{agent!r} is not an agent of both contracts '
                f'(they share {", ".join(both) or "none"}).'
            )
        return agent
    if len(contract_a.agents) > 1 or len(contract_b.agents) > 1 or not both:
        raise RecordError(
            'Which agent? (expected one, the same on both sides, got '
            f'{", ".join(contract_a.agents)} and {", ".join(contract_b.agents)}). '
            'Name one with --agent.'
        )
    return both[0]


def _without_latency(values: Values) -> Values:
    return {name: numbers for name, numbers in values.items() if not name.startswith('latency.')}


def _breaking(contracts: ContractDifference) -> Iterator[str]:
    for change in contracts.changes:
        if change.meaning is Meaning.BREAKING:
            yield (
                f'{change.path} differs ({change.before} in A, {change.after} in B): policies and '
                'records of the one do not fit the other.'
            )


def _pooled(a: ComparedRun, b: ComparedRun) -> Iterator[str]:
    """Yield what makes the episodes of one side no one thing that could be compared."""
    for side in (a, b):
        origins = zip(*{episode.of.origin for episode in side.episodes}, strict=True)
        for name, values in zip(Origin._fields, origins, strict=False):
            if len(set(values)) > 1:
                found = ', '.join(sorted(str(value or 'none') for value in set(values)))
                yield (
                    f'{side.name} has episodes of more than one {name.replace("_", " ")} '
                    f'(expected one, got {found}). Name one client with --clients, or compare '
                    'them as runs of their own.'
                )


def _too_few(a: ComparedRun, b: ComparedRun) -> Iterator[str]:
    for side in (a, b):
        if len(side.episodes) < 2:
            left = ', '.join(f'{count}: {why}' for why, count in side.left_out.items())
            lost = f'; left out: {left}' if left else ''
            yield (
                f'Too few episodes in {side.name} (expected at least 2 whole ones, and about '
                f'{enough(_USUAL, ALPHA)} for anything to be shown, got {len(side.episodes)}'
                f'{lost}).'
            )


def _too_weak(deals: Deals, tests: int) -> Iterator[str]:
    if tests and deals.least * tests > ALPHA:
        yield (
            f'Too few episodes: with {deals.first} and {deals.second} no p can be smaller than '
            f'{deals.least:.2g}, and of {tests} tests the first has to come to '
            f'{ALPHA / tests:.2g} or less. Nothing could be shown, whatever differs; '
            f'{enough(tests, ALPHA)} episodes of each side are needed.'
        )


def _notes(a: ComparedRun, b: ComparedRun) -> Iterator[str]:
    same = {e.of.key for e in a.episodes} & {e.of.key for e in b.episodes}
    if same:
        yield (
            f'{_episodes(len(same))} on both sides: of the same record nothing can be learnt '
            'by comparing it with itself.'
        )
    for side in (a, b):
        for why, count in side.left_out.items():
            yield f'{_episodes(count)} left out of {side.name}: {why}.'
        imported = sum(episode.imported for episode in side.episodes)
        if imported:
            yield (
                f'{_episodes(imported)} imported, of {side.name}: no gate decided in them, so '
                'they have no rates, and their seeds are unknown.'
            )
        unjudged = sum(not episode.of.judged for episode in side.episodes)
        if unjudged:
            yield (
                f'{_episodes(unjudged)} without a judgement, of {side.name}: their task lacked '
                'what it needs, so their success and return are unknown, and count nowhere.'
            )
        if side.unreadable:
            yield f'{side.unreadable} records of {side.name} could not be read; audit says why.'
    options = [sorted({episode.options for episode in side.episodes}) for side in (a, b)]
    if options[0] != options[1]:
        found = [', '.join(text or 'none' for text in some) for some in options]
        yield f'Episodes were begun with other options: {found[0]} in A, {found[1]} in B.'


def _episodes(count: int) -> str:
    return f'{count} episode is' if count == 1 else f'{count} episodes are'
