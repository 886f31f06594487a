# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What policy and environment published themselves, held against what others say of it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.gate.decision import ActionRequest, GateDecision
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import PrivilegedObservation, Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import BEGINNING, MessageHistory
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, vector

T = TypeVar('T')

#: Nanoseconds after the first message of a topic in which a record may still speak of one before.
_LATE = NANOSECONDS // 10

#: Requests, observations and records that wait to be spoken of.
_WAITING = 8192


class _Waiting(OrderedDict[tuple[object, ...], T]):
    """The last few of something, by what tells it apart."""

    def put(self, key: tuple[object, ...], value: T) -> None:
        self[key] = value
        if len(self) > _WAITING:
            self.popitem(last=False)

    def first(self, key: tuple[object, ...], value: T) -> T:
        """Put a value if there is none yet; return the first one."""
        if key not in self:
            self.put(key, value)
        return self[key]


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
        self._requests: _Waiting[list[tuple[ActionRequest, int]]] = _Waiting()
        self._observations: _Waiting[Observation] = _Waiting()
        self._shown: dict[str, int] = {}  # when the last one of each agent was made
        self._privileged: _Waiting[tuple[PrivilegedObservation, int]] = _Waiting()
        self._answered: _Waiting[None] = _Waiting()
        self._answered_to: _Waiting[int] = _Waiting()
        self._first: dict[str, int] = {}
        self._granted: _Waiting[int] = _Waiting()
        self._heard: _Waiting[int] = _Waiting()
        self._last: _Waiting[tuple[int, int]] = _Waiting()

    # Taking --------------------------------------------------------------------------------------

    def request(self, request: ActionRequest, log_time: int) -> None:
        """Take a request as the policy published it."""
        self._first.setdefault('request', log_time)
        self._heard.first((request.lease_id,), request.sequence)
        self._last.put((request.lease_id,), (request.sequence, log_time))
        key = (request.lease_id, request.sequence)
        found = self._requests.get(key)
        if found is None:
            self._requests.put(key, [(request, log_time)])
        elif len(found) < _WAITING:
            found.append((request, log_time))

    def observation(self, observation: Observation, log_time: int) -> None:
        """Take an observation as the environment published it."""
        self._first.setdefault('observation', log_time)
        self._observations.put(_step(observation), observation)
        self._shown[observation.id.agent] = observation.observed.ros.nanoseconds

    def privileged(self, record: PrivilegedObservation, log_time: int) -> None:
        """Take a record of privileged fields, which waits for its step."""
        self._privileged.put(_step(record), (record, log_time))

    def privileged_of(self, transition: Transition) -> tuple[PrivilegedObservation, int] | None:
        """Return the record of privileged fields of a step, and when it came."""
        return self._privileged.pop(_step(transition), None)

    # Checking ------------------------------------------------------------------------------------

    def asked(self, decision: GateDecision) -> int | None:
        """Return when the recorder had the request of a decision; None if it did not."""
        request = decision.request
        if request is None:
            return None
        found = self._requests.get((request.lease_id, request.sequence))
        return None if not found else found[0][1]

    def check_request(self, decision: GateDecision, log_time: int) -> None:
        """Hold the request that a decision carries against the one that was published."""
        request = decision.request
        first = self._first.get('request')
        if request is None or first is None:
            return
        place = f'decision {decision.sequence}.request'
        found = self._requests.get((request.lease_id, request.sequence), [])
        if any(same(published, request) for published, _ in found):
            self._history.took('requests', 'requests')
            return
        if not found and (log_time - first < _LATE or self._came_late(request, log_time)):
            self._history.spare('early', 'requests')
            return
        if not found and self._was_cut_off(request, log_time):
            self._history.spare('torn' if self._history.torn else 'cut off', 'requests')
            return
        if not found and self._history.lost_one('requests', log_time):
            return
        expected, actual = 'a request that was published', vector(request.action)
        if found:
            published = found[0][0].action
            expected = f'{vector(published)} as published'
            actual += ' with other instants or names' if published == request.action else ''
        self._history.find(catalogue.AS_PUBLISHED, Mismatch(place, expected, actual), decision.id)

    def _came_late(self, request: ActionRequest, log_time: int) -> bool:
        """
        Return whether the recorder may not have known yet who published a request.

        A client with a new lease may be a new process, which the gate can know before the recorder
        does: until that has heard the first request under the lease.
        """
        heard = self._heard.get((request.lease_id,))
        if heard is not None:
            return request.sequence < heard
        return log_time - self._granted.first((request.lease_id,), log_time) < BEGINNING

    def _was_cut_off(self, request: ActionRequest, log_time: int) -> bool:
        """
        Return whether a request was among the last under its lease.

        A client that ends takes with it what a recorder that stood still has not received.
        """
        if (request.lease_id,) not in self._last:
            return self._history.torn
        sequence, heard = self._last[request.lease_id,]
        recent = self._history.torn or log_time - heard < BEGINNING
        return request.sequence > sequence and recent

    def answered(self, decision: GateDecision, log_time: int) -> None:
        """Take note of a decision, whose request is answered with it."""
        self._first.setdefault('decision', log_time)
        if decision.request is not None:
            lease, sequence = decision.request.lease_id, decision.request.sequence
            self._answered.put((lease, sequence), None)
            self._answered_to.put((lease,), max(sequence, self._answered_to.get((lease,), 0)))

    def check_answered(self, request: ActionRequest, log_time: int) -> None:
        """Ask for a decision on a request; who listens late has not heard all of them."""
        first = self._first.get('decision')
        if first is None or log_time < first - _LATE:
            return
        if (request.lease_id, request.sequence) in self._answered:
            return
        if self._history.torn and request.sequence > self._answered_to.get((request.lease_id,), 0):
            self._history.spare('torn', 'requests')
            return
        place = f'request {request.sequence} of lease {request.lease_id}'
        none = Mismatch(place, 'a decision of the gate', 'none')
        self._history.find(catalogue.REQUEST_ANSWERED, none, request.id)

    def check_observation(self, transition: Transition, log_time: int) -> None:
        """Hold the observation in a step against the one that was published."""
        first = self._first.get('observation')
        if first is None or (transition.reset is not None and transition.truncated):
            return  # A reset that failed shows nothing to the policy.
        observation = self._observations.pop(_step(transition), None)
        if observation is None:
            if log_time - first < _LATE:
                self._history.spare('early', 'observations')
                return
            shown = self._shown.get(transition.id.agent, 0)
            if self._history.torn and transition.closed.ros.nanoseconds >= shown:
                self._history.spare('torn', 'observations')
                return
            if self._history.lost_one('observations', log_time):
                return
            actual, expected = 'none of that step', 'an observation that was published'
        elif same(observation.fields, transition.after) and observation.observed == (
            transition.closed
        ):
            self._history.took('observations', 'observations')
            return
        else:
            expected = 'as published'
            actual = 'another ' + (
                ', '.join(
                    theirs.name
                    for ours, theirs in zip(observation.fields, transition.after, strict=False)
                    if not same(ours, theirs)
                )
                or 'instant or number of fields'
            )
        found = Mismatch('after', expected, actual)
        self._history.find(catalogue.AS_PUBLISHED, found, transition.id)


def _step(record: Observation | PrivilegedObservation | Transition) -> tuple[object, ...]:
    return record.id.agent, record.id.episode_id, record.id.step
