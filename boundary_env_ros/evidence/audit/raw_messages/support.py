# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which raw message a value in a record is of, and which it ought to be of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from boundary_env_ros.core.timebase import NANOSECONDS, Stamp
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard, measured
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.evidence.audit.rules.base import vector

#: Messages without a stamp among which the one that a value is of is looked for.
_NEAR = 512


@dataclass(slots=True, kw_only=True)
class Claim:
    """
    A value that a record says was measured.

    Attributes
    ----------
    use
        Where it is said to come from.
    captured, published
        Its stamps, as far as it has them.
    fits
        Whether a message gives the value; to choose among messages that nothing else tells apart.
    until
        Log time behind which a message without a stamp cannot be the one, nanoseconds; None if
        that is not known.

    """

    use: Use
    captured: Stamp | None
    published: Stamp | None
    fits: Callable[[Heard], bool]
    until: int | None


def nanoseconds(*stamps: Stamp | None) -> int | None:
    """Return the first of some stamps that is known, as nanoseconds."""
    return next((stamp.nanoseconds for stamp in stamps if stamp is not None), None)


def format_message(heard: Heard, use: Use) -> str:
    """Return what a message says and when it is from, as text for a person."""
    reading = heard.readings[use.name]
    what = 'the image' if reading.image is not None else vector(reading.values)
    if heard.stamp is not None:
        return f'{what} stamped {_seconds(heard.stamp)} s'
    return f'{what} sent at {_seconds(heard.publish_time)} s'


def _seconds(time: int) -> str:
    return f'{time // NANOSECONDS}.{time % NANOSECONDS:09d}'


def supporting(history: MessageHistory, claim: Claim) -> Heard | None:
    """Return the message that a value is of: that with its stamps, or the nearest to it."""
    window, name = history.window(claim.use), claim.use.name
    sent = None
    if claim.published is not None and history.same_clock(claim.published):
        sent = claim.published.nanoseconds
    if claim.captured is not None:
        same = [h for h in window.stamped(claim.captured.nanoseconds) if name in h.readings]
        if len(same) > 1:
            exact = [heard for heard in same if heard.publish_time == sent]
            return _fitting(claim, iter(exact or same))
        return same[0] if same else None

    def possible(heard: Heard) -> bool:
        # The recorder may have had it later than its receiver: when it was sent tells more.
        at = heard.log_time if sent is None else heard.publish_time
        return heard.stamp is None and (claim.until is None or at <= claim.until)

    near = [] if sent is None else list(filter(possible, window.unstamped(sent)))
    candidates = iter(near)
    if not near:
        newest = window.newest_first(claim.until if sent is None else None)
        candidates = islice(filter(possible, newest), _NEAR)
        if sent is not None:
            # A bag that has log times only repeats them.
            candidates = (heard for heard in candidates if heard.publish_time == heard.log_time)
    return _fitting(claim, (heard for heard in candidates if measured(heard, name)))


def _fitting(claim: Claim, candidates: Iterator[Heard]) -> Heard | None:
    """Return the first message that gives the value; the first of all if none does."""
    first = None
    for heard in candidates:
        if claim.fits(heard):
            return heard
        first = first or heard
    return first


def newest_in_lockstep(
    history: MessageHistory, use: Use, heard: Heard, *, episode_id: str, step: int, world_time: int
) -> Heard | None:
    """
    Return the message that everybody waited for in lockstep; None if that cannot be told.

    Parameters
    ----------
    heard
        The message that a value is of; simulated time stands still while the world is reset, so
        another one may have its stamp.
    episode_id, step
        The step whose advance brought it.
    world_time
        Log time behind which nothing can have been there.

    """
    window = history.window(use)
    last = history.announced(use.topic, episode_id, step)
    if last is None:
        # In one process advances are not reported: the order of the record is exact.
        return None if history.reports else window.last_before(world_time + 1, use.name)
    found = window.stamped(last)
    if not found:
        return None
    if heard.stamp == last:
        return heard
    for heard in window.newest_first():
        if heard.number <= found[-1].number and measured(heard, use.name):
            return heard
    return None
