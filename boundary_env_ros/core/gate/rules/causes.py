# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Why any rule of the gate steps in: every cause there is, in the order in which rules are asked.

The page of the reasons, sentences and reports go by this list. Those of a rule that may stop the
robot stand in its file; admission, the limits on motion and the timer are one engine each.
"""

from __future__ import annotations

from boundary_env_ros.core.gate.rule_output import BEYOND, Cause, NO_ROTATION, ON_MOTION
from boundary_env_ros.core.gate.rules.agent_order import TURN_BESIDE_A_STOP, TURN_OF_ANOTHER
from boundary_env_ros.core.gate.rules.evaluate import AGAIN, BY_HAND, LATE, PROBED
from boundary_env_ros.core.gate.rules.stopping import RULES
from boundary_env_ros.core.records.decision import Reason, RuleResult, Verdict


def _causes(outcome: Verdict, **reasons: tuple[Reason, ...]) -> tuple[Cause, ...]:
    return tuple(Cause(rule, one, outcome) for rule, some in reasons.items() for one in some)


CAUSES: tuple[Cause, ...] = (
    # Is the request valid?
    *_causes(
        Verdict.REJECTED,
        authority=(
            Reason.WRONG_DIGEST, Reason.WRONG_AGENT, Reason.NOT_ARMED, Reason.WRONG_EPISODE,
            Reason.WRONG_LEASE, Reason.OUT_OF_ORDER,
        ),
        well_formed=(Reason.WRONG_SHAPE,),
    ),
    Cause('well_formed', Reason.NOT_FINITE, Verdict.REJECTED, anomaly='not_finite'),
    *_causes(
        Verdict.REJECTED,
        turn=(Reason.OUT_OF_ORDER,), document=(Reason.WRONG_SHAPE, Reason.OUT_OF_BOUNDS),
        sensors=(Reason.OBSERVATION_TIMEOUT,), operator=(Reason.OPERATOR,),
        age=(Reason.ACTION_TOO_OLD,), document_rate=(Reason.RATE_LIMIT,),
    ),
    # Must the robot stop? What must be taken from the command for it not to?
    *(cause for rule in RULES for cause in rule.causes),
    # Is it a command?
    BEYOND, NO_ROTATION,
    # What may be published of it?
    *ON_MOTION,
    # What is sent that nobody asked for, or not now.
    LATE, AGAIN, TURN_OF_ANOTHER, TURN_BESIDE_A_STOP, BY_HAND, PROBED,
)  # fmt: skip

_KNOWN = {(cause.rule, cause.reason, cause.outcome): cause for cause in CAUSES}


def cause_of(result: RuleResult) -> Cause:
    """Return why a rule stepped in; of a rule of another version, what its result says."""
    of = result.rule.partition('.')[0], result.reason, result.outcome
    return _KNOWN.get(of) or Cause(*of)
