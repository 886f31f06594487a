# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The decisions of one gate once more: by the contract that it had, or by another."""

from __future__ import annotations

from collections import deque

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import GateDecision, RuleInput, Trigger, Verdict
from boundary_env_ros.core.gate.decision_chain import DecisionChain
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.gate.rules.rule_output import RuleOutput
from boundary_env_ros.evidence.replay.differences import FieldDifference, first_difference
from boundary_env_ros.frozen import frozen, replace

#: What follows from the inputs of a decision.
_OUTPUT = ('verdict', 'requested_command', 'admitted_action', 'command', 'rules')

#: What another contract is asked for.
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
    differs: FieldDifference | None
    from_before: FieldDifference | None = None


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
            differs=first_difference(then, again, _OUTPUT),
            from_before=first_difference(then, followed, ('inputs', 'requested_command')),
        )


class DecisionsInstead:
    """
    Takes the decisions of one gate in their order, and decides by another contract.

    What that one would have sent before is what the next command begins from; what was measured,
    asked for and heard is as recorded.

    Parameters
    ----------
    judge
        The rules of the other contract.

    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._recorded: GateDecision | None = None
        self._sent = RuleOutput(verdict=Verdict.ADMITTED)
        self._goal: Vector = ()
        self._commands: deque[Vector] = deque(maxlen=256)

    def again(self, then: GateDecision) -> DecidedAgain:
        """Return what the other gate would have decided."""
        changed = then
        if self._goes_on(then.inputs):
            changed = replace(then, inputs=self._inputs(then.inputs))
            if then.trigger is Trigger.TIMER and self._goal:
                changed = replace(changed, requested_command=self._goal)
        output = self._judge.output(changed)
        again = self._judge.again(then, output)
        if then.command:
            self._recorded = then
            if not output.command:
                self._sent, self._goal = RuleOutput(verdict=Verdict.REJECTED), ()
        if output.command:
            if output.verdict is Verdict.STOPPED:
                self._goal = output.command
            elif then.trigger is not Trigger.TIMER or not self._goal:
                self._goal = output.wanted
            self._sent = output
        return DecidedAgain(decision=again, differs=first_difference(then, again, _OF_ANOTHER))

    def _goes_on(self, inputs: RuleInput) -> bool:
        """Return whether a decision began from the command that was sent last."""
        last = self._recorded
        return (
            last is not None
            and bool(self._sent.command)
            and not inputs.seeded
            and inputs.previous_command == last.command
        )

    def _inputs(self, inputs: RuleInput) -> RuleInput:
        """Return inputs with what the other gate would have sent before."""
        sent, recent = self._sent, inputs.recent_commands
        if recent:
            recent = (*recent[:-1], replace(recent[-1], command=sent.command))
        stopped = sent.verdict is Verdict.STOPPED
        return replace(
            inputs,
            previous_command=sent.command,
            previous_rate=sent.rate,
            previous_acceleration=sent.acceleration,
            recent_commands=recent,
            stopped=inputs.trigger is Trigger.TIMER and stopped and inputs.running,
        )
