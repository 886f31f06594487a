# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How far the system clocks of several hosts are apart, by the messages that cross between them.

No message arrives before it was sent. So one that is stamped on both hosts bounds how far the
clock of the receiver is ahead, whatever the delay, and one the other way bounds it from below: of
one exchange that is the estimate of Cristian (1989) and of NTP (RFC 5905, section 8), whose error
is at most half of the round trip. Here the tightest bound of each direction of the last seconds is
kept, as by NTP's filter for the least delay, and widens with time by what clocks may drift. Over
several hosts the shortest paths are the best that can be known (Attiya, Herzberg and Rajsbaum,
1996).

A clock that is set, or slewed, by less than the round trip contradicts nothing that came before:
for as long as that is kept, two to four seconds, what is said may be wrong by as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
import json

from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.timebase import Clock, NANOSECONDS, Stamp
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen, replace

#: Nanoseconds in which two clocks may drift apart by one: Linux steers each by at most 500 ppm.
DRIFT = 1_000

#: Nanoseconds of which the tightest bound is kept, until the next ones have passed, too.
_WINDOW = 2 * NANOSECONDS

#: Bounds beyond which the oldest is forgotten: a client names its host itself.
_MOST = 64

#: The most that the receiver's clock is ahead, by sender, receiver and window.
_Bounds = Mapping[tuple[str, str, int], int]

#: Key in the diagnostics of a transition, before the name of the host.
_KEY = 'clock:'


@frozen
class ClockOffset:
    """
    How far the system clock of a host is ahead of that of the environment's host.

    Attributes
    ----------
    host
        The host.
    offset, uncertainty
        Seconds, and by how much they may be wrong.
    drift, drift_uncertainty
        Mean growth of the offset since it was first known, seconds per second; None: just now.

    """

    host: str
    offset: float
    uncertainty: float
    drift: float | None = None
    drift_uncertainty: float | None = None


@frozen
class ClockBounds:
    """
    What is known of the clocks of several hosts.

    Attributes
    ----------
    bounds
        By sender, receiver and window, the most that the receiver's clock is ahead:
        ``(received - sent) * DRIFT - steady time``, so that at time t it is
        ``(value + t) / DRIFT``, ns.
    first
        By host, its offset and uncertainty when they were first known, ns, and that time.

    """

    bounds: _Bounds = field(default_factory=dict)
    first: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)

    def after(self, messages: Iterable[tuple[Stamp, Stamp]], since: int, now: int) -> ClockBounds:
        """
        Return it after messages, of which those that crossed between no two hosts say nothing.

        Where clocks contradict what was known, one was set: then nothing else is known any more.

        Parameters
        ----------
        messages
            When each was sent, and when it was had, by the clocks of the hosts.
        since, now
            Steady time of who counts when they were had, or earlier, and now, ns.

        """
        new: dict[tuple[str, str, int], int] = {}
        for sent, had in messages:
            if crosses(sent, had):
                key = sent.host, had.host, now // _WINDOW
                bound = (had.nanoseconds - sent.nanoseconds) * DRIFT - since
                new[key] = min(bound, new.get(key, bound))
        if not new:
            return self
        old = _recent(self.bounds, now)
        tightest = {key: min(bound, old.pop(key, bound)) for key, bound in new.items()}
        bounds = dict([*old.items(), *tightest.items()][-_MOST:])
        for found in (replace(self, bounds=bounds), ClockBounds(bounds=new)):
            if all(_paths(found.bounds, had, now)[had] >= 0 for _, had, _ in new):
                return found
        return ClockBounds()

    def measured(self, reference: str, now: int) -> tuple[ClockBounds, tuple[ClockOffset, ...]]:
        """Return it with the offsets to a host's clock that are known at a steady time, ns."""
        if not self.bounds:
            return self, ()
        bounds = _recent(self.bounds, now)
        ahead = _paths(bounds, reference, now)
        turned = {(had, sent, at): bound for (sent, had, at), bound in bounds.items()}
        behind = _paths(turned, reference, now)
        first, found = {}, []
        for host in sorted(ahead.keys() & behind.keys() - {reference}):
            offset = (ahead[host] - behind[host]) / 2 / DRIFT
            doubt = (ahead[host] + behind[host]) / 2 / DRIFT
            first[host] = old, old_doubt, at = self.first.get(host, (offset, doubt, now))
            passed = now - at
            found.append(
                ClockOffset(
                    host=host,
                    offset=offset / NANOSECONDS,
                    uncertainty=doubt / NANOSECONDS,
                    drift=(offset - old) / passed if passed > 0 else None,
                    drift_uncertainty=(doubt + old_doubt) / passed if passed > 0 else None,
                )
            )
        return ClockBounds(bounds=bounds, first=first), tuple(found)


def _recent(bounds: _Bounds, now: int) -> dict[tuple[str, str, int], int]:
    """Return the bounds of the window of a time and of the one before."""
    return {key: bound for key, bound in bounds.items() if key[2] >= now // _WINDOW - 1}


def _paths(bounds: _Bounds, start: str, now: int) -> dict[str, int]:
    """Return the most that the clock of each host is ahead of one, in thousandths of ns."""
    found = {start: 0}
    for _ in range(len(bounds)):
        before = dict(found)
        for (sent, had, _), bound in bounds.items():
            if sent in found:
                path = found[sent] + bound + now
                found[had] = min(path, found.get(had, path))
        if found == before:
            break
    return found


def crosses(sent: Stamp, had: Stamp) -> bool:
    """Return whether two stamps are of the system clocks of two hosts."""
    if sent.host == had.host or not (sent.host and had.host):
        return False
    return sent.clock is Clock.SYSTEM and had.clock is Clock.SYSTEM


def crossings(step: Transition) -> Iterator[tuple[Stamp, Stamp]]:
    """Yield when what crossed from one host to another in a step was sent, and when it was had."""
    # Nothing crosses from a command to its execution: which feedback shows that is decided by
    # comparing the two clocks.
    observed, delivered, requested, received = (
        None if instant is None else instant.ros
        for instant in (step.observed, step.delivered, step.requested, step.received)
    )
    for sent, had in (
        (step.captured, observed),
        (observed, delivered),
        (requested, received),
        (step.measured_at, step.closed.ros),
    ):
        if sent is not None and had is not None and crosses(sent, had):
            yield sent, had


def after_step(
    bounds: ClockBounds, step: Transition
) -> tuple[ClockBounds, tuple[ClockOffset, ...]]:
    """Return what is known after a step, and the offsets to the clock of its environment."""
    own, since, messages = step.closed, step.closed.steady, list(crossings(step))
    if step.observed is not None and step.observed.ros.host == own.ros.host:
        # Nothing that crossed was had before that.
        since = min(since, step.observed.steady)
    else:
        # Of what was had before the step was closed, nobody knows since when.
        messages = [(sent, had) for sent, had in messages if had == own.ros]
    return bounds.after(messages, since, own.steady).measured(own.ros.host, own.steady)


def as_diagnostics(offsets: tuple[ClockOffset, ...]) -> Iterator[KeyValue]:
    """Yield what a transition says of the clocks of other hosts."""
    for found in offsets:
        yield KeyValue(key=f'{_KEY}{found.host}', value=json.dumps(to_json(found)))


def offsets_of(step: Transition) -> tuple[ClockOffset, ...]:
    """Return the offsets that a step was measured with; none if they cannot be read."""
    values = [item.value for item in step.diagnostics if item.key.startswith(_KEY)]
    try:
        return tuple(from_json(ClockOffset, json.loads(value)) for value in values)
    except (ValueError, RecursionError, RecordError):
        return ()
