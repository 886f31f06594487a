# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a record are called, from its contract, or by their places without one."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import ActionKind, Contract, FieldSpec
from boundary_env_ros.core.contract.sources import value_names
from boundary_env_ros.frozen import frozen


@frozen
class NumberLabel:
    """
    Name of one number.

    Attributes
    ----------
    chart
        What it is drawn with.
    name
        Its own name in there.
    unit
        Its unit; empty if it has none, or it is not known.

    """

    chart: str
    name: str
    unit: str = ''


class Labels:
    """
    Names of the numbers of a run.

    Parameters
    ----------
    contract
        The contract; None if it is not known.

    """

    def __init__(self, contract: Contract | None) -> None:
        self._fields = {spec.name: spec for spec in contract.fields} if contract else {}
        self._values: dict[tuple[str, int], tuple[NumberLabel, ...]] = {}
        self._groups = contract.action if contract else ()
        #: What each stage of the latency may take.
        self.budget = dict(contract.latency_budget) if contract else {}
        self.command = tuple(
            NumberLabel(chart=name, name='', unit=unit)
            for group in self._groups
            for name, unit in zip(group.dimensions, group.unit, strict=True)
        )
        #: Whether an action is a command, so that both are drawn together.
        self.direct = all(group.kind is ActionKind.CONTINUOUS for group in self._groups)

    def of_action(self, index: int) -> NumberLabel:
        """Return the label of a dimension of the action, where it is no command."""
        for group in self._groups:
            if index < group.action_size:
                what = group.kind.value.replace('_', ' ')
                place = f'[{index}]' if group.action_size > 1 else ''
                return NumberLabel(chart=f'{group.name}: {what}{place}', name='')
            index -= group.action_size
        return NumberLabel(chart=f'action [{index}]', name='')

    def of_command(self, index: int) -> NumberLabel:
        """Return the label of a dimension of the command."""
        if index < len(self.command):
            return self.command[index]
        return NumberLabel(chart=f'action [{index}]', name='')

    def of_values(self, field: str, count: int) -> tuple[NumberLabel, ...]:
        """Return the labels of the values of a field; one chart for each of its units."""
        found = self._values.get((field, count))
        if found is None:
            found = self._values[field, count] = self._labels(field, count)
        return found

    def max_age(self, field: str) -> float | None:
        """Return the age that a field may have, seconds; None if that is not limited or known."""
        spec = self._fields.get(field)
        return None if spec is None else spec.max_age

    def _labels(self, field: str, count: int) -> tuple[NumberLabel, ...]:
        spec = self._fields.get(field)
        names = _names(spec, count)
        units = _units(spec, count)
        several = len(set(units)) > 1
        return tuple(
            NumberLabel(
                chart=f'{field} ({unit or "1"})' if several else field, name=name, unit=unit
            )
            for name, unit in zip(names, units, strict=True)
        )


def _names(spec: FieldSpec | None, count: int) -> tuple[str, ...]:
    names = () if spec is None else value_names(spec.source)
    if len(names) == count:
        return names
    # A field that is missing has no values, and so no labels.
    return ('value',) if count == 1 else tuple(str(index) for index in range(count))


def _units(spec: FieldSpec | None, count: int) -> tuple[str, ...]:
    units = () if spec is None else spec.unit
    if len(units) == count:
        return units
    return (units[0] if len(units) == 1 else '',) * count
