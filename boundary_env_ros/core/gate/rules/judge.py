# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What follows from the recorded inputs of a decision, under a contract: one function for all.

They are the audit, replay and the question what another contract would have done. It puts the
inputs to the functions that the gate decided by.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.admission import (
    age,
    authority,
    latency,
    numbered,
    precedence,
    repeated_step,
    sensors_missing,
    switch_held,
    well_formed,
)
from boundary_env_ros.core.gate.rules.agent_order import out_of_time, out_of_turn
from boundary_env_ros.core.gate.rules.document_rules import DocumentRules
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.runtime_limits import stricter_limits
from boundary_env_ros.core.gate.rules.sensors import NAME as SENSORS
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    measurement_of,
    OPERATOR,
    RuleInput,
    RuleResult,
    RuntimeLimits,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.timebase import ClockReading, elapsed
from boundary_env_ros.frozen import replace

#: What of a decision follows from its inputs, and its name among what the rules return.
OUTPUT: Mapping[str, str] = {
    'verdict': 'verdict',
    'requested_command': 'wanted',
    'admitted_action': 'admitted',
    'command': 'command',
    'rules': 'results',
}
#: Part of a period after which the environment may have closed the next step.
_ABOUT_TO_CLOSE = 0.65


class Judge:
    """
    The rules of a contract.

    Parameters
    ----------
    contract, digest
        The contract, and the digest that requests must name.

    Attributes
    ----------
    limits
        The limits of the contract.
    documents
        Its rules about documents.

    """

    def __init__(self, contract: Contract, *, digest: str) -> None:
        self._contract, self._digest = contract, digest
        self._lockstep = contract.is_lockstep
        self.limits = Limits(contract)
        self.documents = DocumentRules(contract)
        self._tightened: tuple[RuntimeLimits, Limits] = RuntimeLimits(), self.limits

    def limits_under(self, runtime_limits: RuntimeLimits) -> Limits:
        """Return the limits that were in force: the stricter of contract and what was set."""
        if runtime_limits != self._tightened[0]:
            self._tightened = runtime_limits, stricter_limits(self.limits, runtime_limits)
        return self._tightened[1]

    def refusals(
        self,
        agent: str,
        inputs: RuleInput,
        request: ActionRequest,
        received: ClockReading,
        now: ClockReading,
        *,
        in_vain: bool = False,
    ) -> tuple[RuleResult, ...]:
        """
        Return why a request is no action that the rules could limit; empty if it is one.

        Parameters
        ----------
        agent
            Whose gate decides.
        inputs
            What the gate knows.
        request, received, now
            The request, when it came, and when it is decided on.
        in_vain
            Whether it still waits for the sensors of its observation (lockstep).

        """
        contract = self._contract
        late = in_vain and (elapsed(received, now) or 0.0) > contract.lockstep_deadline
        return (
            # First whose it is: what a stranger sends, in whatever form, is no action of the step.
            authority(request, inputs, digest=self._digest, agent=agent)
            or well_formed(request.action, contract.action_size, request.horizon, contract.horizon)
            or numbered(request)
            or self._out_of_step(agent, inputs, request)
            or (self.documents.refusals(request) if request.payload else ())
            or (sensors_missing(contract.lockstep_deadline) if late else ())
            or self._overridden(inputs)
            or age(
                latency(request, received, lockstep=self._lockstep),
                contract.safety.max_action_age,
            )
            or (self.documents.too_often(inputs, request) if request.payload else ())
        )

    def _out_of_step(
        self, agent: str, inputs: RuleInput, request: ActionRequest
    ) -> tuple[RuleResult, ...]:
        step, contract = request.id.step, self._contract
        if self._lockstep:
            refusals = repeated_step(request, inputs.last_step)
        elif contract.agent_order:
            # When a step is about to be closed, the policy may know of that before the gate does.
            closes = (inputs.since_step or 0.0) > _ABOUT_TO_CLOSE * contract.period
            refusals = out_of_time(step, inputs.last_step, 2 if closes else 1)
        else:
            return ()
        return refusals or out_of_turn(contract, agent, step)

    def _overridden(self, inputs: RuleInput) -> tuple[RuleResult, ...]:
        """Refuse an action of the policy while an operator holds the switch."""
        operator = self._contract.safety.operator
        if operator is None:
            return ()
        return precedence(teleoperated=switch_held(operator, inputs.measurements))

    def output(self, decision: GateDecision) -> RuleOutput:
        """Return what follows from the inputs of a decision."""
        inputs, request, wanted = decision.inputs, decision.request, decision.wanted
        refusals: tuple[RuleResult, ...] = ()
        if inputs.trigger is Trigger.REQUEST and request is not None:
            received = decision.received or decision.decided
            # Whether sensors were missing is no input; for how long is.
            refused = self._lockstep and decision.verdict is Verdict.REJECTED
            in_vain = refused and any(result.rule == SENSORS for result in decision.rules)
            refusals = self.refusals(
                decision.id.agent, inputs, request, received, decision.decided, in_vain=in_vain
            )
        elif inputs.trigger is Trigger.CHUNK:
            refusals = self._overridden(inputs)
        elif inputs.trigger is Trigger.OPERATOR:
            by_hand = measurement_of(inputs.measurements, OPERATOR)
            wanted = () if by_hand is None else by_hand.values[:-1]
            # Who does not hold the switch commands nothing.
            refusals = () if self._overridden(inputs) else precedence(teleoperated=True)
            refusals = refusals or well_formed(wanted, self._contract.command_size)
        if refusals:
            return RuleOutput(verdict=Verdict.REJECTED, results=refusals)
        if inputs.others_turn and not self._is_others_turn(decision):
            inputs = replace(inputs, others_turn=False)
        return rule(self.limits_under(decision.runtime_limits), inputs, wanted)

    def _is_others_turn(self, decision: GateDecision) -> bool:
        of, contract = decision.id, self._contract
        return self._lockstep and not contract.has_turn(of.agent, of.step + 1)

    @staticmethod
    def again(decision: GateDecision, output: RuleOutput) -> GateDecision:
        """Return a decision with what followed from its inputs."""
        found = {field: getattr(output, name) for field, name in OUTPUT.items()}
        return replace(decision, **found)
