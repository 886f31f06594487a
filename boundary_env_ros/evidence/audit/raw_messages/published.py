# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What policy and environment published themselves, held against what others say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.gate.decision import ActionRequest, GateDecision
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import (
    BEGINNING,
    LATE,
    MessageHistory,
)
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, vector
from boundary_env_ros.evidence.bounded import Bounded

#: Requests, observations and records that wait to be spoken of, as many as four agents at 1,000 Hz
#: make until then; and nanoseconds for which more requests than some do: a decision executes a
#: chunk for as long as that has actions.
_WAITING, _SOME, _LONG = 65_536, 1024, 60 * NANOSECONDS


_Place = tuple[str, str, int]


@dataclass(slots=True)
class _Asked:
    """What is known of one number under a lease: its requests, and those that were answered."""

    log_time: int
    requests: list[ActionRequest] = field(default_factory=list)
    answered: list[ActionRequest] = field(default_factory=list)


@dataclass(slots=True)
class _Lease:
    """
    What is known of the requests under a lease.

    ``first`` and ``last`` are numbers of requests, with ``heard``, when the last one came;
    ``granted`` is when the gate first spoke of one, and ``answered`` the number of the last one.
    """

    first: int | None = None
    last: int = 0
    heard: int = 0
    granted: int | None = None
    answered: int = 0


class PublishedChecks:
    """
    Holds requests and observations against decisions and steps.

    Parameters
    ----------
    history
        What is known of the record.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history
        self._asked: Bounded[tuple[str, int], _Asked] = Bounded()
        self._leases: Bounded[str, _Lease] = Bounded()
        self._observations: Bounded[_Place, tuple[Observation, int]] = Bounded()
        self._shown: dict[str, int] = {}  # when the last one of each agent was made
        self._first: dict[str, int] = {}

    # Taking --------------------------------------------------------------------------------------

    def request(self, request: ActionRequest, log_time: int) -> None:
        """Take a request as the policy published it."""
        self._first.setdefault('request', log_time)
        lease = self._lease(request)
        lease.first = request.sequence if lease.first is None else lease.first
        lease.last, lease.heard = request.sequence, log_time
        found = self._of(request, log_time)
        if not found.requests:
            found.log_time = log_time
        if len(found.requests) < _WAITING:
            found.requests.append(request)
        while len(self._asked) > _SOME:
            oldest = next(iter(self._asked))
            if self._asked[oldest].log_time > log_time - _LONG:
                break
            del self._asked[oldest]

    def _lease(self, request: ActionRequest) -> _Lease:
        return self._leases.known(request.lease_id, _Lease, _WAITING)

    def _of(self, request: ActionRequest, log_time: int) -> _Asked:
        key = (request.lease_id, request.sequence)
        return self._asked.known(key, partial(_Asked, log_time), _WAITING)

    def observation(self, observation: Observation, log_time: int) -> None:
        """Take an observation as the environment published it."""
        self._first.setdefault('observation', log_time)
        place = _step(observation)
        known, _ = self._observations.get(place, (observation, 0))
        if not same(known, observation):
            another = Mismatch('observation', 'one observation of a step', 'another of it')
            self._history.find('as-published', another, observation.id)
        self._observations.put(place, (observation, log_time), _WAITING)
        self._shown[observation.id.agent] = observation.observed.ros.nanoseconds

    @property
    def stepless(self) -> tuple[tuple[Observation, int], ...]:
        """Return the observations that no step came for, each with its log time."""
        return tuple(self._observations.values())

    def answered(self, decision: GateDecision, log_time: int) -> None:
        """Take note of a decision, whose request is answered with it."""
        self._first.setdefault('decision', log_time)
        request = decision.request
        if request is not None:
            lease = self._lease(request)
            lease.answered = max(request.sequence, lease.answered)
            answered = self._of(request, log_time).answered
            # Of a chunk each action is answered.
            if not (answered and same(answered[-1], request)) and len(answered) < _WAITING:
                answered.append(request)

    # Checking ------------------------------------------------------------------------------------

    def asked(self, decision: GateDecision) -> int | None:
        """Return when the recorder had the request of a decision; None if it did not."""
        request = decision.request
        found = None if request is None else self._asked.get((request.lease_id, request.sequence))
        return found.log_time if found is not None and found.requests else None

    def check_request(self, decision: GateDecision, log_time: int) -> None:
        """Hold the request that a decision carries against the one that was published."""
        request = decision.request
        first = self._first.get('request')
        if request is None or first is None:
            return
        asked = self._asked.get((request.lease_id, request.sequence))
        found = [] if asked is None else asked.requests
        if any(same(published, request) for published in found):
            self._history.took('requests', 'requests')
            return
        if not found and self._is_excused(request, log_time, first):
            return
        expected, actual = 'a request that was published', vector(request.action)
        if found:
            published = found[0].action
            expected = f'{vector(published)} as published'
            actual += ' with other instants or names' if published == request.action else ''
        place = f'decision {decision.sequence}.request'
        self._history.find('as-published', Mismatch(place, expected, actual), decision.id)

    def _is_excused(self, request: ActionRequest, log_time: int, first: int) -> bool:
        """Return whether the recorder may honestly not have had a request."""
        history, lease = self._history, self._lease(request)
        if lease.granted is None:
            lease.granted = log_time
        # A client with a new lease may be a new process, which the gate can know before the
        # recorder does: until that has heard the first request under the lease.
        unknown = log_time - lease.granted < BEGINNING
        if lease.first is not None:
            unknown = request.sequence < lease.first
        if log_time - first < LATE or unknown:
            history.spare('early', 'requests')
            return True
        # A client that ends takes with it what a recorder that stood still has not received.
        recent = history.torn or (lease.first is not None and log_time - lease.heard < BEGINNING)
        if recent and request.sequence > lease.last:
            history.spare('torn' if history.torn else 'cut off', 'requests')
            return True
        return history.lost_one('requests', log_time)

    def check_answered(self, request: ActionRequest, log_time: int) -> None:
        """Ask for a decision on a request; a late recorder has not heard all of them."""
        first = self._first.get('decision')
        if first is None or log_time < first - LATE:
            return
        asked = self._asked.get((request.lease_id, request.sequence))
        if asked is not None and asked.answered:
            # What alone has a number is compared with its answer. The gate answers others of that
            # number, too: it refuses them.
            alone = len(asked.requests) == 1
            if alone or any(same(request, answered) for answered in asked.answered):
                return
        made = request.requested
        ends = made is not None and self._history.ends_at(made.ros.nanoseconds)
        torn = ends and request.sequence > self._lease(request).answered
        if torn or self._history.of_another:
            self._history.spare('torn' if torn else 'gap', 'requests')
            return
        place = f'request {request.sequence} of lease {request.lease_id}'
        none = Mismatch(place, 'a decision of the gate', 'none')
        self._history.find('request-answered', none, request.id)

    def check_observation(self, transition: Transition, log_time: int) -> None:
        """Hold the observation in a step against the one that was published."""
        first = self._first.get('observation')
        if first is None or (transition.reset is not None and transition.truncated):
            return  # A reset that failed shows nothing to the policy.
        observation, _ = self._observations.pop(_step(transition), (None, 0))
        if observation is None:
            if log_time - first < LATE:
                self._history.spare('early', 'observations')
                return
            shown = self._shown.get(transition.id.agent, 0)
            closed = transition.closed.ros.nanoseconds
            if self._history.ends_at(closed) and closed >= shown:
                self._history.spare('torn', 'observations')
                return
            if self._history.lost_one('observations', log_time):
                return
            actual, expected = 'none of that step', 'an observation that was published'
        else:
            is_now = observation.observed == transition.closed
            if is_now and same(observation.fields, transition.after):
                self._history.took('observations', 'observations')
                return
            expected = 'as published'
            pairs = zip(observation.fields, transition.after, strict=False)
            others = ', '.join(theirs.name for ours, theirs in pairs if not same(ours, theirs))
            actual = f'another {others or "instant or number of fields"}'
        found = Mismatch('after', expected, actual)
        self._history.find('as-published', found, transition.id)


def _step(record: Observation | Transition) -> _Place:
    return record.id.agent, record.id.episode_id, record.id.step
