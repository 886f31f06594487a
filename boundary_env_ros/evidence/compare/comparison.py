# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What came out of holding two runs against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.change import Meaning
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.evidence.compare.quantities import Family, SECTIONS
from boundary_env_ros.evidence.difference import Difference
from boundary_env_ros.evidence.plain import plain
from boundary_env_ros.evidence.summary.statistics import Proportion

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """
    One number of both sides.

    Attributes
    ----------
    first, second
        Mean over the episodes of A and of B.
    difference, low, high
        Second minus first, and the interval that the test does not refuse: not corrected for the
        number of quantities; infinite where there are too few episodes for one.
    p
        Corrected for all quantities of its family and for all families; NaN if it does not vary.
    span
        How far the contract lets it reach; NaN if it says nothing.
    size
        The difference in standard deviations of the episodes of one side (Cohen's d); infinite if
        they do not scatter.

    """

    label: str
    unit: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    span: float
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One family, tested.

    Attributes
    ----------
    p, corrected
        By itself, and corrected for the number of families (Holm).
    quantities
        All its numbers, the least probable first.
    episodes
        How many of A and B had a value.
    least
        Smallest p that it could reach with so many.
    beyond_chance
        Whether the corrected p is at most alpha.
    shown
        The quantities that are beyond chance, each corrected, and differ by more than the declared
        share of their span, or have none.
    values
        What each episode of A and of B had, shape (episodes, quantities), for drawing.

    """

    family: Family
    p: float
    corrected: float
    quantities: tuple[Quantity, ...]
    episodes: tuple[int, int]
    least: float
    beyond_chance: bool
    shown: tuple[Quantity, ...]
    values: tuple[Array, Array]

    @property
    def name(self) -> str:
        """Return its name, ``<section>.<what>``."""
        return self.family.name

    @property
    def differs(self) -> bool:
        """Return whether it is a difference: beyond chance, and relevant."""
        return bool(self.shown)

    @property
    def size(self) -> float:
        """Return the greatest size of what makes the difference; 0 if nothing does."""
        return max((abs(quantity.size) for quantity in self.shown), default=0.0)

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        told = ('p', 'corrected', 'least', 'beyond_chance', 'differs', 'episodes', 'quantities')
        return {
            'name': self.name,
            'what': self.family.what,
            **{name: plain(getattr(self, name)) for name in told},
            'shown': [quantity.label for quantity in self.shown],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSummary:
    """What one side is."""

    name: str
    contract: str
    digest: str
    pacing: str
    episodes: int
    steps: int
    clients: Mapping[str, int]
    software: Mapping[str, int]
    endings: Mapping[str, int]
    success: Proportion
    success_of_terminated: Proportion
    left_out: Mapping[str, int]
    unreadable: int
    replayed: int
    not_replayed: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """
    Two runs, compared with each other.

    Attributes
    ----------
    contracts
        What differs between their contracts.
    privileged
        Sentences about fields that a policy sees on one side only.
    obstacles
        Why the runs as wholes are not comparable; empty if they are.
    notes
        What else whoever reads this has to know.
    findings
        Every family that was tested, in the order of the sections.
    untested
        Families that were not, and why.
    open_loop
        In which simulation the commands were replayed, or why in none.
    paired
        Whether every episode was compared with the one with its seed.
    alpha, relevance
        Chance of any false alarm that was allowed, and share of a span that is to count.
    least
        Smallest p that a single test could reach with so many episodes.
    needed
        Episodes of each side from which on one test could show anything.

    """

    a: SideSummary
    b: SideSummary
    agent: str
    contracts: Difference
    privileged: tuple[str, ...]
    obstacles: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    untested: Mapping[str, str]
    open_loop: str
    paired: bool
    alpha: float
    relevance: float
    least: float
    needed: int

    @property
    def comparable(self) -> bool:
        """Return whether the runs as wholes may be compared with each other."""
        return not self.obstacles

    @property
    def differences(self) -> tuple[Finding, ...]:
        """Return the findings that are differences, the greatest first."""
        found = [finding for finding in self.findings if finding.differs]
        return tuple(sorted(found, key=lambda finding: -finding.size))

    @property
    def exit_code(self) -> int:
        """Return 0 for no difference beyond chance, 1 for one, 2 for what is not comparable."""
        if not self.comparable:
            return 2
        return int(bool(self.differences) or self.contracts.meaning is not Meaning.COSMETIC)

    @property
    def too_weak(self) -> tuple[Finding, ...]:
        """Return what so few episodes have that it could not have been shown to differ first."""
        tests = len(self.findings)
        return tuple(
            f for f in self.findings if not f.beyond_chance and f.least * tests > self.alpha
        )

    def of_section(self, section: str) -> tuple[Finding, ...]:
        """Return the findings of one section."""
        return tuple(f for f in self.findings if f.family.section == section)

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        told = (
            'exit_code comparable obstacles agent notes alpha relevance paired least needed '
            'open_loop untested privileged'
        )
        return {
            **{name: plain(getattr(self, name)) for name in told.split()},
            'a': plain(self.a),
            'b': plain(self.b),
            'contracts': {
                'meaning': plain(self.contracts.meaning),
                **plain(self.contracts),
            },
            'tests': len(self.findings),
            'differences': [finding.name for finding in self.differences],
            'sections': {
                section: [finding.to_json() for finding in self.of_section(section)]
                for section in SECTIONS
            },
        }


def contract_name(contract: Contract) -> str:
    """Return name and version of a contract."""
    return f'{contract.name} {contract.version}'
