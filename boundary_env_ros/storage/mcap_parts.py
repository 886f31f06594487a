# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The parts of an MCAP file: its chunks, found by their heads, so that an index is not needed.

Only where the heads show that times go back, or leave room for it, are the chunks looked into
beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from operator import itemgetter
import struct

from boundary_env_ros.storage.log_order import Part, Span, spans_of, WINDOW
from boundary_env_ros.storage.mcap_scan import (
    Block,
    BrokenError,
    Channel,
    Channels,
    log_times,
    McapScan,
    Stored,
)


def parts_of(scan: McapScan, wanted: Callable[[Channel], bool]) -> list[Part]:
    """
    Return what is to be read for the messages of some channels in the order of their log times.

    A file of our recorder is one part: it has the order in which the messages came and were
    chained, which says more than log times. Of a torn one the last part says so.

    Raises
    ------
    RecordError
        If it cannot be read at all.

    """
    path = scan.path
    if scan.as_recorded:
        return [Part(path, 0, 0, 0, partial(scan.messages, wanted))]
    channels = Channels(wanted)
    blocks = scan.blocks(channels)
    latest = accumulate((block.end for block in blocks), max)
    in_order = all(block.end - block.start <= WINDOW for block in blocks) and all(
        before.start <= block.start and end - block.start <= WINDOW
        for (before, block), end in zip(pairwise(blocks), latest, strict=False)
    )
    spans = [] if in_order else spans_of(_times(scan, blocks, channels))
    return [
        Part(path, span.era, span.start, block.size, partial(_read, scan, block, channels, span))
        for span in spans or [Span(n, 0, block.start, 0) for n, block in enumerate(blocks)]
        for block in (blocks[span.block],)
    ]


def _times(
    scan: McapScan, blocks: Sequence[Block], channels: Channels
) -> Iterator[tuple[int, int, int, int]]:
    for number, block in enumerate(blocks):
        try:
            for place, channel, time in log_times(scan.content(block), channels):
                yield number, place, channel, time
        except (BrokenError, struct.error):
            yield number, 0, -1 - number, block.start  # It is told when it is read.


def _read(scan: McapScan, block: Block, channels: Channels, span: Span) -> list[Stored]:
    return sorted(scan.read(block, channels, span.first, span.last), key=itemgetter(1))
