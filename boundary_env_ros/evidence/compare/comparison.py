# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What came out of comparing two runs."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.key import Meaning
from boundary_env_ros.evidence.compare.side import ComparedRun
from boundary_env_ros.evidence.contract_difference import ContractDifference
from boundary_env_ros.evidence.plain import fields_of, plain
from boundary_env_ros.frozen import frozen


@frozen
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
    size: float


@frozen
class ComparisonFinding:
    """
    One family of quantities, tested.

    Attributes
    ----------
    name
        ``<section>.<what>``.
    p, corrected
        By itself, and corrected for the number of families (Holm).
    quantities
        All its numbers, the least probable first.
    episodes
        How many of A and B had a value.
    shown
        The quantities that differ beyond chance.

    """

    name: str
    p: float
    corrected: float
    quantities: tuple[Quantity, ...]
    episodes: tuple[int, int]
    shown: tuple[Quantity, ...] = ()

    @property
    def size(self) -> float:
        """Return the greatest size of what makes the difference; 0 if nothing does."""
        return max((abs(quantity.size) for quantity in self.shown), default=0.0)

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        shown = [quantity.label for quantity in self.shown]
        return {**fields_of(self, without=('shown',)), 'shown': shown}


@frozen
class Comparison:
    """
    Two runs, compared with each other.

    Attributes
    ----------
    contracts
        What differs between their contracts.
    obstacles
        Why the runs are not comparable; empty if they are.
    notes
        What else the reader has to know.
    findings
        Every family that was tested, in the order of the sections.
    untested
        Families that were not, and why.
    alpha
        Chance of any false alarm over all tests.
    least
        Smallest p that a single test could reach with so many episodes.

    """

    a: ComparedRun
    b: ComparedRun
    agent: str
    contracts: ContractDifference
    obstacles: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[ComparisonFinding, ...]
    untested: Mapping[str, str]
    alpha: float
    least: float

    @property
    def comparable(self) -> bool:
        """Return whether the runs may be compared with each other."""
        return not self.obstacles

    @property
    def differences(self) -> tuple[ComparisonFinding, ...]:
        """Return the findings that are differences, the greatest first."""
        found = [finding for finding in self.findings if finding.shown]
        return tuple(sorted(found, key=lambda finding: -finding.size))

    @property
    def exit_code(self) -> int:
        """Return 0 for no difference beyond chance, 1 for one, 2 for what is not comparable."""
        if not self.comparable:
            return 2
        return int(bool(self.differences) or self.contracts.meaning is not Meaning.COSMETIC)

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            'exit_code': self.exit_code,
            'comparable': self.comparable,
            **fields_of(self),
            'contracts': {'meaning': plain(self.contracts.meaning), **plain(self.contracts)},
            'differences': [finding.name for finding in self.differences],
        }
