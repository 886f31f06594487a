# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of a contract."""

from __future__ import annotations

from boundary_env_ros.core.contract.sources import Paths, Source
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.storage.contract_types import problems_of
from boundary_env_ros.storage.message_types import MessageTypes
from boundary_env_ros.testing.subject import UnderContract
from boundary_env_ros.testing.verdicts import fail, must_return, skip


class ContractTests(UnderContract):
    """
    Tests of a contract; override :meth:`contract`.

    They need no robot.
    """

    def message_types(self) -> MessageTypes | None:
        """Return what is known about message types; None: what is known in this process."""
        return None

    def test_contract_loads_without_problems(self) -> None:
        """It is valid, and its task takes its parameters."""
        contract = self.loaded().contract
        must_return(lambda: make_task(contract), 'a task that takes its parameters', where='task')

    def test_contract_names_types_and_fields_that_exist(self) -> None:
        """Every message type is installed, and every field path is in its message."""
        checked = problems_of(self.loaded().contract, self.message_types())
        if checked.problems:
            fail(
                'types and fields that exist',
                '; '.join(map(str, checked.problems)),
                where=str(self.contract()),
            )
        if checked.note:
            skip(checked.note)

    def test_contract_keeps_privileged_fields_apart(self) -> None:
        """
        No privileged value is measured for the policy by another name.

        Not by the feedback of an action or what the rules of the gate measure, whose numbers come
        back to the policy with each step; that no other field shows it, a valid contract says.
        """
        contract = self.loaded().contract
        if not contract.privileged:
            skip('the contract has no privileged fields')
        seen: list[tuple[str, str, Source | None]] = [
            (f'action.{group.name}.feedback', group.feedback.topic, group.feedback.source)
            for group in contract.action
        ]
        seen += [
            ('.'.join(rule.path), rule.topic, getattr(rule, 'source', None))
            for rule in contract.safety.rules
        ]
        for hidden in contract.privileged:
            for place, origin, source in seen:
                if origin and origin == hidden.topic and _overlap(source, hidden.source):
                    fail(
                        'a source that the policy does not see',
                        f'{origin} is also {place}',
                        where=f'privileged.{hidden.name}',
                        way_out='Let the policy have a sensor of its own, or declare the field '
                        'as part of the observation.',
                    )


def _overlap(one: Source | None, other: Source | None) -> bool:
    """Return whether two readers of one message read the same of it, as far as can be told."""
    if isinstance(one, Paths) and isinstance(other, Paths):
        return bool(set(one.paths) & set(other.paths))
    return True
