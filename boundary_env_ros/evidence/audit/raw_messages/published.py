# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What policy and environment published themselves, held against what others say of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.gate.decision import ActionRequest, GateDecision, Verdict
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.audit.raw_messages.ties import Ties
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, vector
from boundary_env_ros.evidence.bounded import Bounded

#: Requests, decisions and observations that are remembered, or wait for their other half.
_MOST = 2048

#: Different requests, or decisions, of one number that are remembered.
_ALIKE = 256

_Number: TypeAlias = tuple[str, int]
_Step: TypeAlias = tuple[str, str, int]


class PublishedChecks:
    """
    Holds requests and observations against decisions and steps.

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
        self._observations: Bounded[_Step, Observation] = Bounded()
        self._unshown: Bounded[_Step, Transition] = Bounded()
        self._steps: Bounded[_Step, None] = Bounded()  # that had their observation
        # When the first and the last observation of each agent were made, on the steady clock of
        # its environment, nanoseconds; so of its steps.
        self._shown: Bounded[str, tuple[int, int]] = Bounded()
        self._closed: Bounded[str, tuple[int, int]] = Bounded()

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
        _extend(self._numbers, request.lease_id, request.sequence)
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
        ends = self._numbers.get(request.lease_id)
        why = '' if published else _missing(ties, request.sequence, ends)
        if why:
            ties.excuse(why, 'requests')
            return
        expected, actual = 'a request that was published', vector(request.action)
        if published:
            expected = f'{vector(published[0].action)} as published'
            equal = published[0].action == request.action
            actual += ' with other instants or names' if equal else ''
        place = f'decision {decision.sequence}.request'
        ties.find('as-published', Mismatch(place, expected, actual), decision.id)

    def observation(self, observation: Observation) -> None:
        """Take an observation as the environment published it."""
        place = _step(observation)
        _extend(self._shown, observation.id.agent, observation.observed.steady)
        known = self._observations.get(place, observation)
        if not same(known, observation):
            another = Mismatch('observation', 'one observation of a step', 'another of it')
            self._ties.find('as-published', another, observation.id)
        self._observations.put(place, observation, _MOST)
        step = self._unshown.pop(place, None)
        if step is not None:
            self._compare(observation, step)

    def step(self, transition: Transition) -> None:
        """Hold the observation in a step against the one that was published."""
        _extend(self._closed, transition.id.agent, transition.closed.steady)
        if transition.reset is not None and transition.truncated:
            return  # A reset that failed shows nothing to the policy.
        place = _step(transition)
        observation = self._observations.get(place)
        if observation is not None:
            self._compare(observation, transition)
        else:
            forgotten = self._unshown.put(place, transition, _MOST)
            if forgotten is not None:
                self._not_shown(forgotten)

    def _compare(self, observation: Observation, transition: Transition) -> None:
        self._steps.put(_step(transition), None, _MOST)
        if observation.observed == transition.closed and same(
            observation.fields, transition.after
        ):
            self._ties.took('observations', 'observations')
            return
        pairs = zip(observation.fields, transition.after, strict=False)
        others = ', '.join(theirs.name for ours, theirs in pairs if not same(ours, theirs))
        actual = f'another {others or "instant or number of fields"}'
        self._ties.find('as-published', Mismatch('after', 'as published', actual), transition.id)

    def _not_shown(self, transition: Transition) -> None:
        """Judge a step whose observation was not published."""
        ties, closed = self._ties, transition.closed.steady
        if not self._shown:
            return  # told as a topic that is missing
        why = _missing(ties, closed, self._shown.get(transition.id.agent))
        if why:
            ties.excuse(why, 'observations')
            return
        found = Mismatch('after', 'an observation that was published', 'none of that step')
        ties.find('as-published', found, transition.id)

    @property
    def stepless(self) -> Iterator[tuple[Observation, str]]:
        """Yield the observations that no step came for, each with why the record may lack it."""
        for place, found in self._observations.items():
            if place not in self._steps:
                ends = self._closed.get(found.id.agent)
                yield found, _missing(self._ties, found.observed.steady, ends)

    def finish(self) -> None:
        """Judge what still waits, once the record is at its end."""
        for (lease, number), request in self._others.items():
            if lease in self._granted:
                place = f'request {number} of lease {lease}'
                another = Mismatch(place, 'one request of each number', 'another one of it')
                self._ties.find('request-answered', another, request.id)
        for decision in chain.from_iterable(self._unasked.values()) if self._numbers else ():
            self._not_asked(decision)
        for transition in self._unshown.values():
            self._not_shown(transition)


def _extend(ends: Bounded[str, tuple[int, int]], of: str, at: int) -> None:
    first, last = ends.get(of, (at, at))
    ends.put(of, (min(first, at), max(last, at)), _MOST)


def _missing(ties: Ties, place: int, ends: tuple[int, int] | None) -> str:
    """Return why the record may lack what has a place before, between or behind two others."""
    if ties.lack() or (ends is not None and ends[0] <= place <= ends[1]):
        return ties.lack()
    return 'torn' if ends is not None and place > ends[1] else 'early'


def _step(record: Observation | Transition) -> _Step:
    return record.id.agent, record.id.episode_id, record.id.step
