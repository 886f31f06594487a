# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The safety gate of one agent, as it runs: the one place that keeps its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.gate_events import Event
from boundary_env_ros.core.gate.gate_state import ReducerState
from boundary_env_ros.core.gate.reducer import Decisions, Reducer
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace


class Gate:
    """
    The gate of one agent.

    Events go in (a request, a measurement, a tick of the protecting timer), decisions come out.
    The caller publishes the command of a decision, then the decision. Time is part of an event, so
    a timeout of 300 ms takes a test a microsecond.

    Parameters
    ----------
    contract, digest
        The contract and its digest.
    agent
        Whose gate it is.
    topics
        Resolved topic of each input, by the name of the input.
    software_version
        Goes into every decision.

    Attributes
    ----------
    state
        What it remembers.
    to_probe
        Whether the contract asks for a probe of the drivers before the first arming.

    """

    def __init__(
        self,
        contract: Contract,
        *,
        digest: str,
        agent: str,
        topics: Mapping[str, str],
        software_version: str = '',
    ) -> None:
        self._contract = contract
        self._reducer = Reducer(
            contract, digest=digest, agent=agent, software_version=software_version
        )
        self.to_probe = self._reducer.to_probe
        self.state = ReducerState.of(contract, digest=digest, agent=agent, topics=topics)

    def apply(self, event: Event, clock: Callable[[], ClockReading] | None = None) -> Decisions:
        """
        Let an event happen, and return what the gate decides.

        Parameters
        ----------
        event
            What happens.
        clock
            Tells how late it is. If the gate hung while it decided, what it did not say in time is
            void, and it decides once more.

        Raises
        ------
        RequestRejected
            If the event asks for something that is refused; then nothing has happened.

        """
        state, decisions = self._reducer.step(self.state, event)
        if clock is not None and not self._contract.is_lockstep:
            then = clock()
            late = (then.steady - event.now.steady) / NANOSECONDS
            if late > self._contract.safety.gate_lateness:
                state, decisions = self._reducer.step(self.state, replace(event, now=then))
        self.state = state
        return decisions

    def evaluate_actions(self, actions: Sequence[Vector], now: ClockReading) -> Decisions:
        """
        Return what would become of some actions if the lease holder asked for them now.

        Nothing is published, nothing remembered: each is decided on as if it were the only one.

        Parameters
        ----------
        actions
            Single actions, each of shape ``(n,)``.
        now
            When.

        """
        return self._reducer.evaluate_actions(self.state, actions, now)

    def reach(self, now: ClockReading) -> tuple[Vector, Vector]:
        """
        Return the least and the greatest command that bounds and rate allow now, by dimension.

        Acceleration, jerk, obstacles and workspaces may allow less: see :meth:`evaluate_actions`.
        """
        return self._reducer.reach(self.state, now)
