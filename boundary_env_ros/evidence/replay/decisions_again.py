# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The decisions of one gate once more: by the contract that it had, or by another."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.command_history import CommandHistory
from boundary_env_ros.core.gate.decision_chain import DecisionChain
from boundary_env_ros.core.gate.rules.judge import Judge, OUTPUT
from boundary_env_ros.core.records.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.record_difference import first_difference, Mismatch
from boundary_env_ros.frozen import frozen, replace

#: What another contract is asked for in a decision.
_OF_ANOTHER = ('verdict', 'command')


@frozen
class DecidedAgain:
    """
    A decision, once more.

    Attributes
    ----------
    decision
        As it follows from its inputs.
    differs
        Where the record has something else first; None if nowhere.
    from_before
        Where its inputs are not what the decisions before it have led to; None if nowhere.

    """

    decision: GateDecision
    differs: Mismatch | None
    from_before: Mismatch | None = None


class DecisionsAgain:
    """
    Takes the decisions of one gate in their order, under the contract that it had.

    Parameters
    ----------
    contract, judge
        The contract, and its rules.

    """

    def __init__(self, contract: Contract, judge: Judge) -> None:
        self._judge, self._chain = judge, DecisionChain(contract, judge)

    def again(self, then: GateDecision) -> DecidedAgain:
        """
        Return the next decision once more.

        Raises
        ------
        BoundaryError, WRONG_INPUT
            If it is none that can be decided.

        """
        output = self._judge.output(then)
        again = self._judge.again(then, output)
        followed = self._chain.add(then, output)
        return DecidedAgain(
            decision=again,
            differs=first_difference(then, again, tuple(OUTPUT)),
            from_before=first_difference(then, followed, ('inputs', 'requested_command')),
        )


class DecisionsInstead:
    """
    Takes the decisions of one gate in their order, and decides by another contract.

    What that one would have sent before is what the next command begins from; what was measured,
    asked for and received is as recorded.

    Parameters
    ----------
    contract, judge
        The other contract, and its rules.

    """

    def __init__(self, contract: Contract, judge: Judge) -> None:
        self._contract, self._judge = contract, judge
        self._sent, self._stopped = CommandHistory.of(contract), False
        self._recorded: Vector = ()  # the last command of the record

    def again(self, then: GateDecision) -> DecidedAgain:
        """Return what the other gate would have decided."""
        sent, inputs, asked = self._sent, then.inputs, then
        by_timer, now = then.trigger is Trigger.TIMER, then.decided
        begins = inputs.previous_command == self._recorded and not inputs.seeded
        if sent.command and begins:
            inputs = replace(
                inputs,
                previous_command=sent.command,
                previous_rate=sent.rate,
                previous_acceleration=sent.acceleration,
                recent_commands=sent.recent_commands(now),
                stopped=by_timer and self._stopped and inputs.running,
            )
            goal = sent.goal if by_timer else then.requested_command
            asked = replace(then, inputs=inputs, requested_command=goal)
        output = self._judge.output(asked)
        again = self._judge.again(then, output)
        self._recorded = then.command or self._recorded
        if output.command:
            self._sent = sent.after(output, then.trigger, now).after_publication(
                then.commanded or now
            )
            self._stopped = output.verdict is Verdict.STOPPED
        elif then.command:
            self._sent = CommandHistory.of(self._contract)
        return DecidedAgain(decision=again, differs=first_difference(then, again, _OF_ANOTHER))


def key_of(decision: GateDecision) -> tuple[int, int]:
    """Return what distinguishes decisions, also if the gate was started anew in between."""
    return decision.sequence, decision.commanded.steady if decision.commanded else 0
