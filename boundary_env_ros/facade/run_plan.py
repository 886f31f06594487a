# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a policy is run: when it is asked, and what becomes of what it answers."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.frozen import frozen


@frozen
class Plan:
    """
    How a policy is run.

    Attributes
    ----------
    execute
        Most actions of a chunk that are executed before the next; None: all that there are, as far
        as the contract allows.
    asynchronous
        Whether the next chunk is inferred while the last one is executed.
    lead
        How many steps before the end of a chunk the next is asked for; 0: as many as the last
        inferences took, or 1 in lockstep.
    warm_up
        Inferences before the first episode.
    patience
        Seconds after which an inference is not waited for any longer.

    """

    execute: int | None = None
    asynchronous: bool = False
    lead: int = 0
    warm_up: int = 1
    patience: float = 60.0

    def check(self, contract: Contract) -> None:
        """
        Refuse a plan that the contract does not allow.

        Raises
        ------
        BoundaryError
            If it sends more than one request may cover, or answers what is too old.

        """
        horizon, period = contract.horizon, contract.period
        if self.execute is not None and not 1 <= self.execute <= horizon:
            raise BoundaryError(
                f'A chunk has other actions to execute (expected 1 to {horizon}, got '
                f'{self.execute}). '
                f'The contract says `chunk: {{horizon: {horizon}}}`.'
            )
        if self.asynchronous and horizon == 1:
            raise BoundaryError(
                'Asynchronous inference needs chunks, and the contract has none. '
                'Declare `chunk: {horizon: k}`.'
            )
        if self.lead > self.most_ahead(contract):
            raise BoundaryError(
                f'The lead is too long (expected at most {self.most_ahead(contract)} steps, got '
                f'{self.lead}). The gate rejects an action that answers an observation older than '
                f'{contract.safety.max_action_age:g} s (safety.max_action_age), and a step takes '
                f'{period:g} s.'
            )

    def most_ahead(self, contract: Contract) -> int:
        """Return the longest lead whose answers the gate does not find too old."""
        # Half of a step for the way to the gate.
        most = contract.safety.max_action_age / contract.period - 0.5
        return max(1, min(contract.horizon, math.floor(most)))
