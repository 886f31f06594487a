# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the policy asked for, held against what the gate says that it asked for."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Verdict
from boundary_env_ros.evidence.audit.raw_messages.ties import Ties
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import same, vector

#: Requests and decisions that are remembered, or wait for their other half.
_MOST = 2048

#: Different requests, or decisions, of one number that are remembered.
_ALIKE = 256

_Number: TypeAlias = tuple[str, int]


class PublishedChecks:
    """
    Holds requests against decisions.

    Parameters
    ----------
    ties
        What may be missing from the record.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        # By lease and number.
        self._requests: Bounded[_Number, list[ActionRequest]] = Bounded()
        self._unasked: Bounded[_Number, list[GateDecision]] = Bounded()
        # Requests under the number of another one, and the leases under which one was admitted.
        self._others: Bounded[_Number, ActionRequest] = Bounded()
        self._granted: Bounded[str, None] = Bounded()
        # Numbers of the first and the last request of each lease.
        self._numbers: Bounded[str, tuple[int, int]] = Bounded()

    def request(self, request: ActionRequest) -> None:
        """Take a request as the policy published it."""
        key = request.lease_id, request.sequence
        known = self._requests.known(key, list, _MOST)
        if any(same(one, request) for one in known):
            return  # sent again
        if known:
            self._others.put(key, request, _MOST)
        if len(known) < _ALIKE:
            known.append(request)
        number = request.sequence
        first, last = self._numbers.get(request.lease_id, (number, number))
        ends = min(first, number), max(last, number)
        self._numbers.put(request.lease_id, ends, _MOST)
        for decision in self._unasked.pop(key, []):
            self.decision(decision)

    def decision(self, decision: GateDecision) -> None:
        """Hold the request that a decision carries against the one that was published."""
        request = decision.request
        if request is None:
            return
        if decision.verdict is not Verdict.REJECTED:
            self._granted.put(request.lease_id, None, _MOST)
        key = request.lease_id, request.sequence
        if any(same(one, request) for one in self._requests.get(key, ())):
            self._ties.took('requests', 'requests')
            return
        waiting = self._unasked.get(key, [])
        if len(waiting) < _ALIKE:
            for forgotten in self._unasked.put(key, [*waiting, decision], _MOST) or ():
                self._not_asked(forgotten)

    def _not_asked(self, decision: GateDecision) -> None:
        """Judge a decision whose request was not published."""
        request, ties = decision.request, self._ties
        assert request is not None  # it waited for it
        published = self._requests.get((request.lease_id, request.sequence), [])
        # A client with a new lease may be a new process, which the gate knows before the recorder.
        number = request.sequence
        first, last = self._numbers.get(request.lease_id, (number + 1, 0))
        outside = 'early' if number < first else 'torn' if number > last else ''
        if not published and (why := ties.lack() or outside):
            ties.excuse(why, 'requests')
            return
        expected, actual = 'a request that was published', vector(request.action)
        if published:
            expected = f'{vector(published[0].action)} as published'
            equal = published[0].action == request.action
            actual += ' with other instants or names' if equal else ''
        place = f'decision {decision.sequence}.request'
        ties.find('as-published', Mismatch(place, expected, actual), decision.id)

    def finish(self) -> None:
        """Judge what still waits, once the record is at its end."""
        for (lease, number), request in self._others.items():
            if lease in self._granted:
                place = f'request {number} of lease {lease}'
                another = Mismatch(place, 'one request of each number', 'another one of it')
                self._ties.find('request-answered', another, request.id)
        for decision in chain.from_iterable(self._unasked.values()) if self._numbers else ():
            self._not_asked(decision)
