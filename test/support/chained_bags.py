# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags with a chain of several links, and their messages as they are, to be stored anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.storage import mcap_log
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_chain import RecordChain
from boundary_env_ros.storage.record_reader import open_records
from support.bag_maker import write_to
from support.record_maker import Sent

#: Channel, log time, publish time and bytes.
Raw = tuple[Channel, int, int, bytes]


def record(
    folder: Path, tape: Iterable[Sent], chain: RecordChain | None = None, due: int = 0
) -> Path:
    """Write a bag with a link of its chain for each second, the first one when it is due."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcap_log, 'INTERVAL', 0.0)
        with McapLog(folder, compress=False, chain=chain or RecordChain()) as log:
            for sent in write_to(log, tape):
                if sent.log_time > due:
                    due = sent.log_time + NANOSECONDS
                    log.flush()
    return folder


def raw(bag: Path) -> list[Raw]:
    """Return all messages of a bag, links included."""
    found: list[Raw] = []
    for _ in open_records(bag).pieces((), lambda *message: found.append(message)):
        pass
    return found


def write(folder: Path, messages: Iterable[Raw], **options: Any) -> Path:
    """Write messages to another bag, as they are."""
    with McapLog(folder, **options) as log:
        topics: set[str] = set()
        for channel, log_time, publish_time, data in messages:
            if channel.topic not in topics:
                topics.add(channel.topic)
                log.add_topic(channel.topic, channel.type, channel.definition.decode(), '')
            log.write(channel.topic, data, log_time, publish_time)
    return folder
