# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the contracts of two runs let one compare: what not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from boundary_env_ros.core.contract.change import Meaning
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.evidence.compare.quantities import section_of
from boundary_env_ros.evidence.difference import Change, Difference

#: Sections that hang on a part of the contract: where that breaks, they say nothing.
_HANGING = (
    ('action', ('rates', 'divergence', 'response')),
    ('agents', ('reset', 'rates', 'outcome', 'divergence', 'response')),
    ('task', ('reset.sampled', 'reset.error', 'outcome')),
    ('episode.endings', ('outcome',)),
    ('latency_budget.of', ('latency.capture', 'latency.reaction')),
)

_FIELDS = ('observation', 'state', 'privileged')


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """
    How far two runs may be compared with each other.

    Attributes
    ----------
    obstacles
        Why the runs as wholes are not comparable; empty if they are.
    privileged
        Sentences about fields that a policy sees on one side only.
    untested
        Sections and families that are left out, and why.

    """

    obstacles: tuple[str, ...]
    privileged: tuple[str, ...]
    untested: Mapping[str, str]

    def blocks(self, name: str) -> bool:
        """Return whether a family, or a section, is left out."""
        return any(name == out or name.startswith(f'{out}.') for out in self.untested)


def reach_of(a: Contract, b: Contract, contracts: Difference) -> Reach:
    """Return what may be compared between runs under two contracts."""
    breaking = [c for c in contracts.changes if c.meaning is Meaning.BREAKING]
    untested: dict[str, str] = {}
    for change in breaking:
        for name in _blocked(change, a, b):
            untested.setdefault(name, f'{change.path} differs: {change.why}')
    if a.pacing is not b.pacing:
        untested['latency'] = (
            f'A is paced {a.pacing.name.lower()}, B {b.pacing.name.lower()}: in lockstep the '
            'world waits, so its latencies are not those of a robot.'
        )
    obstacles = [
        f'{change.path} differs ({change.before} in A, {change.after} in B). {change.why}'
        for change in breaking
    ]
    return Reach(
        obstacles=tuple(obstacles), privileged=tuple(_privileged(a, b)), untested=untested
    )


def _blocked(change: Change, a: Contract, b: Contract) -> Iterator[str]:
    first, _, rest = change.path.partition('.')
    if first in _FIELDS and rest:
        name = rest.partition('.')[0]
        for contract in (a, b):
            for spec in contract.fields:
                if spec.name == name:
                    yield f'{section_of(contract, spec)}.{name}'
                    yield f'divergence.{name}'
    for path, names in _HANGING:
        if change.path == path or change.path.startswith(f'{path}.'):
            yield from names


def _privileged(a: Contract, b: Contract) -> Iterator[str]:
    """Yield a sentence for each field that the policy of one side alone sees."""
    for one, name, other, other_name in ((a, 'A', b, 'B'), (b, 'B', a, 'A')):
        seen = {spec.name for spec in other.observation}
        kept = {spec.name for spec in other.privileged}
        for spec in one.observation:
            if spec.name in seen:
                continue
            if spec.name in kept:
                yield (
                    f'The policy of {name} sees {spec.name!r}, which is privileged in '
                    f'{other_name}: success with it says nothing about success without.'
                )
            else:
                yield (
                    f'The policy of {name} sees {spec.name!r}, which {other_name} has not: a '
                    f'policy that uses it cannot be judged there.'
                )
