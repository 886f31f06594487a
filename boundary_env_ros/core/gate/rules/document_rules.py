# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Is it a document that the contract admits, and not too soon after the last? Else: REJECTED."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.gate.rules.admission import DOCUMENT, DOCUMENT_RATE
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.sources.json_documents import checker, Json, read, text_of
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import RecordError

#: Why documents are refused.
NO_DOCUMENT = Cause(DOCUMENT, Reason.WRONG_SHAPE, Verdict.REJECTED)
WRONG_TYPE = Cause(DOCUMENT, Reason.OUT_OF_BOUNDS, Verdict.REJECTED)
TOO_OFTEN = Cause(DOCUMENT_RATE, Reason.RATE_LIMIT, Verdict.REJECTED)

#: When a group was sent a document last: episode, step, and steady time, ns.
Sent = tuple[str, int, int]


@lru_cache(maxsize=4)
def _sent(payload: str) -> Json:
    """Return the documents of a request, which are read once for all rules and to be published."""
    return read(payload)


def published_documents(decision: GateDecision) -> Mapping[str, str]:
    """Return the texts that the gate publishes with a decision, by the name of the group."""
    request = decision.request
    if (
        request is None
        or not request.payload
        or decision.trigger is not Trigger.REQUEST
        or decision.verdict not in (Verdict.ADMITTED, Verdict.LIMITED)
    ):
        return {}
    return {name: text_of(document) for name, document in _sent(request.payload).items()}


class DocumentRules:
    """
    What the gate asks of the documents of a request.

    Parameters
    ----------
    contract
        The contract.

    """

    def __init__(self, contract: Contract) -> None:
        self._groups = {group.name: group for group in contract.documents}
        self._faults = {group.name: checker(group.schema) for group in contract.documents}
        self._period = contract.period
        self._lockstep = contract.is_lockstep

    def refusals(self, request: ActionRequest) -> tuple[RuleResult, ...]:
        """Refuse documents that the contract does not know, or whose schema they do not fit."""
        cause, _ = self._fault(request)
        return () if cause is None else (cause.result(),)

    def fault(self, request: ActionRequest) -> str:
        """Return which document of a request is wrong, where, and why; empty: none is."""
        return self._fault(request)[1]

    def _fault(self, request: ActionRequest) -> tuple[Cause | None, str]:
        try:
            payload = _sent(request.payload)
        except RecordError as error:
            return NO_DOCUMENT, str(error)
        if not isinstance(payload, dict) or request.horizon != 1:
            return NO_DOCUMENT, 'Expected an object with a document for each group.'
        for name, document in payload.items():
            group = self._groups.get(name)
            if group is None:
                known = ', '.join(self._groups) or 'none'
                return NO_DOCUMENT, f'Unknown group (expected {known}, got {name!r}).'
            kind = document.get('type') if isinstance(document, dict) else None
            if group.types and kind not in group.types:
                allowed = ', '.join(group.types)
                return WRONG_TYPE, f'{name}.type: expected {allowed}, got {kind!r}.'
            why = self._faults[name](document)
            if why:
                return NO_DOCUMENT, f'{name}: {why}.'
        return (None, '') if self._groups else (NO_DOCUMENT, 'Expected no documents.')

    def too_often(self, inputs: RuleInput, request: ActionRequest) -> tuple[RuleResult, ...]:
        """Refuse documents that come sooner after the last than the contract allows."""
        sent = dict(zip(self._groups, inputs.since_documents, strict=False))
        for name in _sent(request.payload):
            most = self._groups[name].max_rate
            least = 1.0 / most if most else 0.0
            since = sent.get(name, 0.0)
            # In lockstep it is a whole number of periods, which a product of floats is not.
            if since < least - 1e-9:
                return (TOO_OFTEN.result(value=since, limit=least, unit='s'),)
        return ()

    def since(
        self, sent: Mapping[str, Sent], request: ActionRequest, now: ClockReading
    ) -> tuple[float, ...]:
        """Return the seconds since each group was sent a document; infinite if it was not."""
        return tuple(self._since(sent.get(name), request, now) for name in self._groups)

    def _since(self, last: Sent | None, request: ActionRequest, now: ClockReading) -> float:
        if last is None:
            return math.inf
        episode, step, steady = last
        if not self._lockstep:
            return (now.steady - steady) / NANOSECONDS
        same = episode == request.id.episode_id
        return (request.id.step - step) * self._period if same else math.inf

    def after(
        self, sent: Mapping[str, Sent], request: ActionRequest, now: ClockReading
    ) -> Mapping[str, Sent]:
        """Return when the groups were sent a document last, after this request."""
        new: Sent = (request.id.episode_id, request.id.step, now.steady)
        return {**sent, **dict.fromkeys(_sent(request.payload), new)}
