# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Is it a command at all? If not it is REJECTED, and nothing is published because of it."""

from __future__ import annotations

from collections.abc import Iterable
import math

from boundary_env_ros.core.contract.safety import Operator
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Measurement,
    measurement_of,
    OPERATOR,
    Reason,
    RuleInput,
    RuleResult,
    Verdict,
)
from boundary_env_ros.core.sources.reading import is_fresh
from boundary_env_ros.core.timebase import age_of, ClockReading, elapsed
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: How far the sequence of a request may be ahead of the last that was accepted; others got lost.
MOST_SKIPPED = 1000


#: Names of the rules about documents.
DOCUMENT, DOCUMENT_RATE = 'document', 'document_rate'

#: Rules that refuse a request before it counts as one of the holder of the lease.
_OF_UNAUTHORIZED = frozenset({'well_formed', 'authority', 'turn', 'sensors', DOCUMENT})

#: Rules by which the number of a request is not used up.
_UNUSED = _OF_UNAUTHORIZED | {'age', DOCUMENT_RATE}

#: Why a request is not one of the holder of the lease, in the order in which it is asked.
WRONG_DIGEST = Cause('authority', Reason.WRONG_DIGEST, Verdict.REJECTED)
WRONG_AGENT = Cause('authority', Reason.WRONG_AGENT, Verdict.REJECTED)
NOT_ARMED = Cause('authority', Reason.NOT_ARMED, Verdict.REJECTED)
WRONG_EPISODE = Cause('authority', Reason.WRONG_EPISODE, Verdict.REJECTED)
WRONG_LEASE = Cause('authority', Reason.WRONG_LEASE, Verdict.REJECTED)
OUT_OF_ORDER = Cause('authority', Reason.OUT_OF_ORDER, Verdict.REJECTED)
AUTHORITY = WRONG_DIGEST, WRONG_AGENT, NOT_ARMED, WRONG_EPISODE, WRONG_LEASE, OUT_OF_ORDER
#: Why it is no action.
WRONG_SHAPE = Cause('well_formed', Reason.WRONG_SHAPE, Verdict.REJECTED)
NOT_FINITE = Cause('well_formed', Reason.NOT_FINITE, Verdict.REJECTED, anomaly='not_finite')
#: Why it is one, but not now.
SENSORS_MISSING = Cause('sensors', Reason.OBSERVATION_TIMEOUT, Verdict.REJECTED)
TELEOPERATED = Cause('operator', Reason.OPERATOR, Verdict.REJECTED)
TOO_OLD = Cause('age', Reason.ACTION_TOO_OLD, Verdict.REJECTED)

#: What the operator's switch reads at least while it is held.
SWITCH_THRESHOLD = 0.5

#: The last step that a message can number.
LAST_STEP = 2**64 - 1


@frozen
class Lease:
    """
    The right to command, for one client in one episode.

    Attributes
    ----------
    lease_id, holder, episode_id
        Whose it is, and for what.
    last_sequence
        Sequence of the last request that was accepted.
    last_step
        The last step that was acted on.

    """

    lease_id: str
    holder: str
    episode_id: str
    last_sequence: int = 0
    last_step: int = 0


def well_formed(
    action: Vector, size: int, horizon: int = 1, most: int = 1
) -> tuple[RuleResult, ...]:
    """
    Refuse an action of another size, or with a number that is not finite.

    Parameters
    ----------
    action
        The action, or ``horizon`` of them, one after the other.
    size
        Dimensions of one action.
    horizon, most
        How many it claims to be, and how many the contract allows.

    """
    if not 1 <= horizon <= most:
        return (WRONG_SHAPE.result(value=float(horizon), limit=float(most), unit='steps'),)
    size *= horizon
    if len(action) != size:
        return (WRONG_SHAPE.result(value=float(len(action)), limit=float(size), unit='values'),)
    return tuple(
        NOT_FINITE.result(dimension=index % (size // horizon))
        for index, value in enumerate(action)
        if not math.isfinite(value)
    )


def numbered(request: ActionRequest) -> tuple[RuleResult, ...]:
    """Refuse a chunk that goes on behind the last step that a decision could name."""
    last = request.id.step + request.horizon - 1
    if last <= LAST_STEP:
        return ()
    return (WRONG_SHAPE.result(value=float(last), limit=float(LAST_STEP), unit='steps'),)


def authority(
    request: ActionRequest, inputs: RuleInput, *, digest: str, agent: str
) -> tuple[RuleResult, ...]:
    """
    Refuse a request without the lease of this episode, under this contract, for this agent.

    The sequence must grow: a request that was sent twice, or overtaken, must not move the robot.
    Nor may it leap: after one request with an absurd number no other would be accepted.
    """
    if request.id.digest != digest:
        return (WRONG_DIGEST.result(),)
    if request.id.agent != agent:
        return (WRONG_AGENT.result(),)
    if not (inputs.armed and inputs.running):
        return not_armed()
    if request.id.episode_id != inputs.lease_episode:
        return (WRONG_EPISODE.result(),)
    if request.lease_id != inputs.lease_id:
        return (WRONG_LEASE.result(),)
    if 0 < request.sequence - inputs.last_sequence <= MOST_SKIPPED:
        return ()
    expected = inputs.last_sequence + 1
    return (OUT_OF_ORDER.result(value=float(request.sequence), limit=float(expected)),)


def not_accepted(results: Iterable[RuleResult]) -> bool:
    """Return whether a request is refused as none of the holder of the lease, in its turn."""
    return any(
        result.outcome is Verdict.REJECTED and result.rule in _OF_UNAUTHORIZED
        for result in results
    )


def is_used(decision: GateDecision) -> bool:
    """Return whether a decision used up the number of its request: it may not come again."""
    return not any(
        result.outcome is Verdict.REJECTED and result.rule in _UNUSED for result in decision.rules
    )


def repeated_step(request: ActionRequest, last_step: int) -> tuple[RuleResult, ...]:
    """Refuse an action for a step that was acted on: in lockstep each step is one period."""
    if request.id.step > last_step:
        return ()
    step, expected = float(request.id.step), float(last_step + 1)
    return (OUT_OF_ORDER.result(value=step, limit=expected, unit='step'),)


def latency(request: ActionRequest, received: ClockReading, *, lockstep: bool) -> float | None:
    """
    Return the age of the observation that an action answers, seconds; None if it is unknown.

    On the steady clock of one host; between hosts and in lockstep, ROS time.
    """
    if request.observed is None:
        return None
    steady = None if lockstep else elapsed(request.observed, received)
    return age_of(request.observed.ros, received) if steady is None else steady


def switch_held(operator: Operator, measurements: Iterable[Measurement]) -> bool:
    """Return whether an operator holds the switch, as far as is known lately enough."""
    found = measurement_of(measurements, OPERATOR)
    return (
        found is not None
        and bool(found.values)
        and is_fresh(found.age, operator.timeout)
        and found.values[-1] >= SWITCH_THRESHOLD
    )


def age(observation_age: float | None, limit: float) -> tuple[RuleResult, ...]:
    """
    Refuse an action that answers an observation of an age that cannot be right.

    Too old, unknown, or as far in the future.
    """
    if observation_age is not None and abs(observation_age) <= limit:
        return ()
    return (TOO_OLD.result(value=observation_age, limit=limit, unit='s'),)


def sensors_missing(deadline: float) -> tuple[RuleResult, ...]:
    """Refuse a request whose sensors did not come within a deadline, s (lockstep)."""
    return (SENSORS_MISSING.result(limit=deadline, unit='s'),)


def not_armed() -> tuple[RuleResult, ...]:
    """Refuse every request while no client may make one."""
    return (NOT_ARMED.result(),)


def precedence(*, teleoperated: bool) -> tuple[RuleResult, ...]:
    """Refuse the policy while an operator goes before it."""
    return (TELEOPERATED.result(),) if teleoperated else ()
