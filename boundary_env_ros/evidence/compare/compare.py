# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Two runs compared with each other: simulation and reality, two policies, before and after.

The unit is the episode: see :mod:`.permutation`. Every family of quantities is one test; over all
of them the chance of any false alarm is held at alpha.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.endings import SUCCESS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.compare.comparison import (
    Comparison,
    contract_name,
    Finding,
    SideSummary,
)
from boundary_env_ros.evidence.compare.obstacles import reach_of
from boundary_env_ros.evidence.compare.open_loop import open_loop, OpenLoop
from boundary_env_ros.evidence.compare.permutation import Deals, enough, holm
from boundary_env_ros.evidence.compare.quantities import families
from boundary_env_ros.evidence.compare.side import Episode, read_side, Side
from boundary_env_ros.evidence.compare.tables import tables
from boundary_env_ros.evidence.compare.tests_of_difference import finding_of, with_correction
from boundary_env_ros.evidence.difference import difference
from boundary_env_ros.evidence.run_files import counted, read_all, Run
from boundary_env_ros.evidence.summary.statistics import Proportion

Told = Callable[[str, int], None]

#: Name of a simulation that stands for none.
NO_SIMULATION = 'none'

#: Chance of any false alarm, and the least share of a span that counts, if nothing else is said.
ALPHA, RELEVANCE = 0.05, 1e-4

#: Share of the episodes that must have a partner with their seed and start, to be tested as pairs.
_PAIRED = 0.8


def compare_paths(
    first: Path,
    second: Path,
    *,
    agent: str = '',
    clients: tuple[str, str] = ('', ''),
    simulation: str = '',
    alpha: float = ALPHA,
    relevance: float = RELEVANCE,
    told: Told | None = None,
) -> Comparison:
    """
    Compare two records on disk; see :func:`compare`.

    Parameters
    ----------
    first, second
        A and B: run folder, bag, file or data set.
    agent, clients, simulation, alpha, relevance
        As there.
    told
        Is told which file is read, and how many records of it were.

    Raises
    ------
    RecordError
        If there are no records at a path, or their contract is not known.

    """
    sides = []
    for path in (first, second):
        run = Run(path)
        terms = run.terms()
        if terms.contract is None:
            raise RecordError(
                f'{path} has no contract'
                f'{f" that is valid ({terms.problem})" if terms.problem else ""}. Without it '
                'nobody knows what its numbers mean.'
            )
        telling = partial(told, str(path)) if told else lambda number: None
        sides.append((str(path), counted(read_all(run), telling), terms.contract))
    (name_a, records_a, contract_a), (name_b, records_b, contract_b) = sides
    return compare(
        records_a,
        contract_a,
        records_b,
        contract_b,
        names=(name_a, name_b),
        agent=agent,
        clients=clients,
        simulation=simulation,
        alpha=alpha,
        relevance=relevance,
    )


def compare(
    records_a: Iterable[object],
    contract_a: Contract,
    records_b: Iterable[object],
    contract_b: Contract,
    *,
    names: tuple[str, str] = ('A', 'B'),
    agent: str = '',
    clients: tuple[str, str] = ('', ''),
    simulation: str = '',
    alpha: float = ALPHA,
    relevance: float = RELEVANCE,
) -> Comparison:
    """
    Compare two records.

    Parameters
    ----------
    records_a, records_b
        Everything that was recorded, in its order.
    contract_a, contract_b
        The contracts that they were made under.
    names
        What they are to be called.
    agent
        Whose episodes; may be empty if there is one agent only.
    clients
        Of A and of B, whose episodes; empty: those of all clients.
    simulation
        Installed robot that commands are replayed in; empty: the one with the name of A's
        contract, ``none``: in none.
    alpha
        Chance of any false alarm over all tests.
    relevance
        Share of a quantity's span in the contract that a difference must be greater than to count;
        what has no span counts if it is beyond chance.

    Raises
    ------
    RecordError
        If there are several agents and none is named, or there is no such agent, or no such
        simulation.

    """
    who = _agent(contract_a, contract_b, agent)
    worlds, how = simulations(contract_a, contract_b, simulation)
    a, b = (
        read_side(records, contract, name=name, agent=who, simulation=world, client=client)
        for records, contract, name, world, client in zip(
            (records_a, records_b),
            (contract_a, contract_b),
            names,
            worlds,
            clients,
            strict=True,
        )
    )
    return compare_sides(a, b, agent=who, open_loop=how, alpha=alpha, relevance=relevance)


def compare_sides(
    a: Side,
    b: Side,
    *,
    agent: str,
    open_loop: str,
    alpha: float = ALPHA,
    relevance: float = RELEVANCE,
) -> Comparison:
    """
    Compare what was read of two runs; see :func:`compare`.

    Parameters
    ----------
    a, b
        The sides, both with a simulation or both without.
    agent
        Whose episodes they hold.
    open_loop
        How their divergence was found, in words.
    alpha, relevance
        As there.

    """
    contracts = difference(a.contract, b.contract)
    reach = reach_of(a.contract, b.contract, contracts)
    obstacles = [*reach.obstacles, *_too_few(a, b)]
    notes = list(_notes(a, b))
    untested = dict(reach.untested)
    findings: list[Finding] = []
    design = None
    if len(a.episodes) >= 2 and len(b.episodes) >= 2:
        known, others = families(a.contract), families(b.contract)
        kept = [f for name, f in known.items() if name in others and not reach.blocks(name)]
        design = _design(a, b, alpha / len(kept), notes)
        for table in tables(kept, design.first, design.second):
            found = finding_of(table, design.deals, alpha)
            if isinstance(found, Finding):
                findings.append(found)
            elif found:
                untested[table.family.name] = found
        findings = with_correction(
            findings, holm([f.p for f in findings]), alpha=alpha, relevance=relevance
        )
        obstacles += _too_weak(design, len(findings), alpha)
    return Comparison(
        a=_summary(a),
        b=_summary(b),
        agent=agent,
        contracts=contracts,
        privileged=reach.privileged,
        obstacles=tuple(obstacles),
        notes=tuple(notes),
        findings=tuple(findings),
        untested=untested,
        open_loop=open_loop,
        paired=design is not None and design.deals.paired,
        alpha=alpha,
        relevance=relevance,
        least=design.deals.least if design else 1.0,
        needed=enough(len(findings), alpha, paired=design is not None and design.deals.paired),
    )


# Who and what ------------------------------------------------------------------------------------


def _agent(contract_a: Contract, contract_b: Contract, agent: str) -> str:
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


def simulations(
    contract_a: Contract, contract_b: Contract, name: str = ''
) -> tuple[tuple[OpenLoop | None, OpenLoop | None], str]:
    """
    Return a simulation for each side, or none for both, and in words how divergence is found.

    Parameters
    ----------
    contract_a, contract_b
        The contracts.
    name
        As ``simulation`` of :func:`compare`.

    Raises
    ------
    RecordError
        If one is named that there is not.

    """
    why = 'as asked for'
    wanted = name or contract_a.name
    if wanted != NO_SIMULATION:
        first, second = (open_loop(contract, wanted) for contract in (contract_a, contract_b))
        if isinstance(first, OpenLoop) and isinstance(second, OpenLoop):
            return (first, second), (
                'The recorded commands of both sides are replayed in the simulation '
                f'{wanted!r}, made from their contracts.'
            )
        why = next(one for one in (first, second) if isinstance(one, str))
        if name:
            raise RecordError(
                f'The recorded commands cannot be replayed in {name!r}: '
                f'{why.rstrip(".")}. Name another robot, or {NO_SIMULATION!r}.'
            )
    return (None, None), (
        f'The recorded commands are replayed in no simulation ({why.rstrip(".")}).'
    )


# Testing -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """The episodes that are compared with each other, in their order, and how they are dealt."""

    first: Sequence[Episode]
    second: Sequence[Episode]
    deals: Deals


def _design(a: Side, b: Side, least: float, notes: list[str]) -> _Design:
    """Return who is compared with whom; pairs if there are enough for p to become so small."""
    keys = [Counter(episode.key for episode in side.episodes) for side in (a, b)]
    shared = keys[0].keys() & keys[1].keys()
    apart = _Design(
        first=a.episodes,
        second=b.episodes,
        deals=Deals(len(a.episodes), len(b.episodes), paired=False),
    )
    if not shared:
        return apart
    single = all(count == 1 for key in keys for count in key.values())
    most = max(len(a.episodes), len(b.episodes))
    if not single or len(shared) < _PAIRED * most or 2.0 * 0.5 ** len(shared) > least:
        notes.append(
            f'{len(shared)} seeds and starts are on both sides, too few to be tested as pairs: '
            'the episodes are tested as if they had nothing in common, which errs on the side of '
            'chance.'
        )
        return apart
    order = [episode.key for episode in a.episodes if episode.key in shared]
    first, second = ({e.key: e for e in side.episodes} for side in (a, b))
    alone = len(a.episodes) + len(b.episodes) - 2 * len(order)
    notes.append(
        f'Both sides have the same {len(order)} seeds and starts: each episode is compared with '
        'the one with its own'
        + (f'; {alone} without one are left out of the tests.' if alone else '.')
    )
    return _Design(
        first=[first[key] for key in order],
        second=[second[key] for key in order],
        deals=Deals(len(order), len(order), paired=True),
    )


def _too_few(a: Side, b: Side) -> Iterator[str]:
    for side in (a, b):
        if len(side.episodes) < 2:
            left = ', '.join(f'{count}: {why}' for why, count in side.left_out.items())
            yield (
                f'Too few episodes in {side.name} (expected at least 2 whole ones, got '
                f'{len(side.episodes)}{f"; left out: {left}" if left else ""}).'
            )


def _too_weak(design: _Design, tests: int, alpha: float) -> Iterator[str]:
    deals = design.deals
    if tests and deals.least * tests > alpha:
        yield (
            f'Too few episodes: with {deals.first} and {deals.second} no p can be smaller than '
            f'{deals.least:.2g}, and of {tests} tests the first has to come to '
            f'{alpha / tests:.2g} or less. Nothing could be shown, whatever differs; '
            f'{enough(tests, alpha, paired=False)} episodes of each side are needed.'
        )


# Telling -----------------------------------------------------------------------------------------


def _notes(a: Side, b: Side) -> Iterator[str]:
    same = {e.of.key for e in a.episodes} & {e.of.key for e in b.episodes}
    if same:
        yield (
            f'{_episodes(len(same))} on both sides: of the same record nothing can be learnt '
            'by comparing it with itself.'
        )
    for side in (a, b):
        if len(side.clients) > 1:
            names = ', '.join(f'{n or "(unnamed)"}: {c}' for n, c in side.clients.items())
            yield f'{side.name} has episodes of several clients, taken together ({names}).'
        for why, count in side.left_out.items():
            yield f'{_episodes(count)} left out of {side.name}: {why}.'
        for why, count in side.not_replayed.items():
            yield f'{_episodes(count)} not replayed, of {side.name}: {why.rstrip(".")}.'
        imported = sum(episode.imported for episode in side.episodes)
        if imported:
            yield (
                f'{_episodes(imported)} imported, of {side.name}: no gate decided in them, so '
                'they have no rates; nobody knows their seeds.'
            )
        unjudged = sum(not episode.of.judged for episode in side.episodes)
        if unjudged:
            yield (
                f'{_episodes(unjudged)} without a judgement, of {side.name}: their task lacked '
                'what it needs, so their success and return are unknown, and count nowhere.'
            )
        if side.unreadable:
            yield f'{side.unreadable} records of {side.name} could not be read; audit says why.'
        if len(side.software) > 1:
            versions = ', '.join(side.software)
            yield f'{side.name} was made by several versions of this software ({versions}).'
    options = [sorted({episode.options for episode in side.episodes}) for side in (a, b)]
    if options[0] != options[1]:
        told = [', '.join(text or 'none' for text in some) for some in options]
        yield f'Episodes were begun with other options: {told[0]} in A, {told[1]} in B.'


def _episodes(count: int) -> str:
    return f'{count} episode is' if count == 1 else f'{count} episodes are'


def _summary(side: Side) -> SideSummary:
    episodes, contract = side.episodes, side.contract
    judged = [episode for episode in episodes if episode.of.judged]
    terminated = sum(not e.of.truncated for e in judged)
    successes = sum(e.of.ending == SUCCESS and not e.of.truncated for e in judged)
    return SideSummary(
        name=side.name,
        contract=contract_name(contract),
        digest=digest_of(contract),
        pacing=contract.pacing.name.lower(),
        episodes=len(episodes),
        steps=side.steps,
        clients=dict(side.clients),
        software=dict(side.software),
        endings=dict(Counter(e.of.ending for e in episodes)),
        success=Proportion(count=successes, of=len(judged)),
        success_of_terminated=Proportion(count=successes, of=terminated),
        left_out=dict(side.left_out),
        unreadable=side.unreadable,
        replayed=side.replayed,
        not_replayed=dict(side.not_replayed),
    )
