# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What rclpy serializes comes back, by the installed definitions, as the record that it was."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from hypothesis import given, settings
import pytest

from boundary_env_ros.storage.definitions import definition_of
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import RECORDS
from support.record_messages import to_message
from support.storage_wire import definition, records

pytestmark = pytest.mark.ros
serialization = pytest.importorskip('rclpy.serialization')
ours = pytest.importorskip('boundary_env_ros.msg')
diagnostics = pytest.importorskip('diagnostic_msgs.msg')

PREFIXES = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', sys.prefix).split(os.pathsep)]


def new_message(cls: type):
    package = diagnostics if cls.__name__ == 'KeyValue' else ours
    return getattr(package, cls.__name__)()


@pytest.mark.parametrize('type_name', RECORDS)
def test_hash_of_the_installed_definition_is_that_of_our_files(type_name: str) -> None:
    text, type_hash = definition_of(type_name, PREFIXES)
    assert type_hash == definition(type_name)[1]
    assert text.splitlines()


@pytest.mark.parametrize(('type_name', 'cls'), RECORDS.items())
def test_any_record_comes_back_from_a_bag(tmp_path: Path, type_name: str, cls: type) -> None:
    written: list[object] = []

    @settings(max_examples=15)
    @given(records(cls))
    def write(record: object) -> None:
        message = to_message(record, new_message)
        log.write('/t', serialization.serialize_message(message), len(written), 0)
        written.append(record)

    with McapLog(tmp_path / 'bag') as log:
        log.add_topic('/t', type_name, *definition_of(type_name, PREFIXES))
        write()
    assert list(open_records(tmp_path / 'bag').records()) == written
