# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages in the order of their log times, of files that need not have it.

A tool may write one topic after the other, and a recorder a message a little late. A file is
therefore read in parts, each when its time has come, and what is open at once is bounded. A log
time that goes back within one topic, by more than a recorder is ever late, is that of a clock that
was set back, as a simulator's at each reset: another era begins, and nothing of it is sorted among
what was before. Log times of system time may also stand in another order, as a tool left them:
that is a clock that was set only if the same times were recorded twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.channel import Stored

#: So late a recorder may write a message, nanoseconds.
WINDOW: Final = NANOSECONDS

#: No robot has its log times from before this, nanoseconds: a simulator has.
SIMULATED: Final = 365 * 86_400 * NANOSECONDS


@frozen(kw_only=False)
class LogPart:
    """
    Messages that are read together.

    Attributes
    ----------
    file
        Where they stand.
    era
        How often the clock was set back before them.
    start
        Their least log time, nanoseconds.
    size
        Bytes that they hold while they are read.
    read
        Gives them in the order of their log times.

    """

    file: Path
    era: int
    start: int
    size: int
    read: Callable[[], Iterable[Stored]]


@dataclass(slots=True)
class Span:
    """Messages of one era that stand together: in a block of a file, between two places."""

    block: int
    era: int
    start: int
    first: int
    last: int | None = None


def spans_of(messages: Iterable[tuple[int, int, int, int]]) -> list[Span]:
    """
    Divide the messages of a file where its clock was set back.

    Parameters
    ----------
    messages
        Block, place, channel and log time of each, in the order of the file.

    Returns
    -------
    list of Span
        None if that was so often that log times are chaos.

    """
    spans: list[Span] = []
    runs: dict[int, tuple[int, int]] = {}  # of each channel what stands without a gap: from, to
    ended: list[tuple[int, int, int]] = []
    era = 0
    for block, place, channel, time in messages:
        first, latest = runs.get(channel, (time, time))
        if time < latest - WINDOW:
            ended.extend((channel, *run) for channel, run in runs.items())
            runs.clear()
            era += 1
            if era > size_limits.ERAS:
                return []
            first = latest = time
        elif time > latest + WINDOW:
            ended.append((channel, first, latest))
            first = time
        runs[channel] = min(first, time), max(latest, time)
        before = spans[-1] if spans else None
        if before is None or (before.block, before.era) != (block, era):
            if before is not None and before.block == block:
                before.last = place
            spans.append(Span(block, era, time, place))
        spans[-1].start = min(spans[-1].start, time)
    ended.extend((channel, *run) for channel, run in runs.items())
    if min((span.start for span in spans), default=0) >= SIMULATED and not _overlap(ended):
        for span in spans:
            span.era = 0
    return spans


def _overlap(runs: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether two runs of a channel have more times in common than a late message has."""
    reached: dict[int, int] = {}
    for channel, first, last in sorted(runs):
        before = reached.get(channel, first)
        if min(before, last) - first > WINDOW:
            return True
        reached[channel] = max(before, last)
    return False


def in_log_order(parts: Iterable[LogPart]) -> Iterator[tuple[LogPart, Stored]]:
    """
    Yield every message with its part, by era and log time; of equal ones the first part's first.

    A part is opened when its time has come; beyond :data:`.size_limits.OPEN` bytes it waits for
    another to end, and its messages may come late.
    """
    waiting = deque(sorted(enumerate(parts), key=lambda item: (item[1].era, item[1].start)))
    opened: list[tuple[int, int, Stored, Iterator[Stored], LogPart]] = []
    size = 0
    while waiting or opened:
        if waiting and (not opened or _is_due(waiting[0][1], opened[0][-1], opened[0][0], size)):
            number, part = waiting.popleft()
            messages = iter(part.read())
            if not opened and (not waiting or waiting[0][1].era != part.era):
                for message in messages:  # nothing is to be sorted among them
                    yield part, message
                continue
            size += part.size
        else:
            _, number, message, messages, part = heappop(opened)
            yield part, message
        following = next(messages, None)
        if following is None:
            size -= part.size
        else:
            heappush(opened, (following[1], number, following, messages, part))


def _is_due(part: LogPart, current: LogPart, now: int, size: int) -> bool:
    """Return whether a part is to be opened beside others, given what is next of them."""
    fits = size + part.size <= size_limits.OPEN
    return fits and part.era == current.era and part.start <= now
