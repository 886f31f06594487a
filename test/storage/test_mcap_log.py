# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag is one that others read, and what was flushed survives whatever happens to the process."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
import os
from pathlib import Path
import signal
import subprocess
import sys

from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.records import Chunk, Message
from mcap.stream_reader import breakup_chunk, StreamReader
from mcap_ros2.decoder import DecoderFactory
import pytest
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import Reader
import yaml

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.mcap_log import McapLog
from support.storage_wire import BEGIN, cdr, definition, message_cdr, PERIOD, transition, typestore

TRANSITION = 'boundary_env_ros/msg/Transition'
TWIST = 'geometry_msgs/msg/TwistStamped'

_FOREVER = {'sec': 9223372036, 'nsec': 854775807}
#: What a publisher of another process offers, as far as it is known.
OFFER = {
    'history': 'unknown',
    'depth': 0,
    'reliability': 'reliable',
    'durability': 'volatile',
    'deadline': {**_FOREVER},
    'lifespan': {**_FOREVER},
    'liveliness': 'automatic',
    'liveliness_lease_duration': {**_FOREVER},
    'avoid_ros_namespace_conventions': False,
}


def add(log: McapLog, name: str, type_name: str, qos: tuple[dict[str, object], ...] = ()) -> None:
    log.add_topic(name, type_name, *definition(type_name), qos)


def messages_on_disk(path: Path) -> list[Message]:
    """Return what the mcap project's own reader finds without an index."""
    found = []
    with path.open('rb') as file:
        try:
            for record in StreamReader(file, emit_chunks=True, record_size_limit=2**26).records:
                if isinstance(record, Chunk):
                    inner = breakup_chunk(record, validate_crc=True)
                    found.extend(item for item in inner if isinstance(item, Message))
        except EndOfFile:
            pass
    return found


def chunks_on_disk(path: Path) -> list[Chunk]:
    with path.open('rb') as file:
        records = StreamReader(file, emit_chunks=True).records
        return [record for record in records if isinstance(record, Chunk)]


def test_rosbags_reads_back_what_was_written(tmp_path: Path) -> None:
    written = [transition(step) for step in range(40)]
    with McapLog(tmp_path / 'bag', ros_distro='jazzy', custom_data={'digest': 'abc'}) as log:
        add(log, '/cart/transition', TRANSITION, ({**OFFER, 'depth': 7, 'history': 'keep_last'},))
        add(log, '/cart/cmd_vel', TWIST)
        for step, record in enumerate(written):
            log.write('/cart/transition', cdr(record), BEGIN + step * PERIOD, BEGIN)

    with Reader(tmp_path / 'bag') as bag:
        assert bag.message_count == 40
        assert bag.start_time == BEGIN
        assert bag.duration == 39 * PERIOD + 1
        assert bag.ros_distro == 'jazzy'
        by_topic = {connection.topic: connection for connection in bag.connections}
        connection = by_topic['/cart/transition']
        assert connection.msgtype == TRANSITION
        assert connection.digest == typestore().hash_rihs01(TRANSITION)
        assert connection.msgdef.data == definition(TRANSITION)[0]
        forever = QosTime(9223372036, 854775807)
        assert connection.ext.offered_qos_profiles == [
            Qos(
                QosHistory.KEEP_LAST,
                7,
                QosReliability.RELIABLE,
                QosDurability.VOLATILE,
                forever,
                forever,
                QosLiveliness.AUTOMATIC,
                forever,
                False,
            )
        ]
        assert connection.msgcount == 40
        assert by_topic['/cart/cmd_vel'].msgcount == 0
        found = [(time, data) for _, time, data in bag.messages([connection])]
        assert found == [(BEGIN + i * PERIOD, cdr(record)) for i, record in enumerate(written)]
        decoded = typestore().deserialize_cdr(found[3][1], TRANSITION)
        assert decoded.id.step == 3


def test_mcap_reader_decodes_it_with_times_and_rosbag2_metadata(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag') as log:
        add(log, '/cart/cmd_vel', TWIST)
        log.write('/cart/cmd_vel', message_cdr(TWIST), 20, 10)
        log.write('/cart/cmd_vel', message_cdr(TWIST), 5, 4)
    with log.path.open('rb') as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == 'ros2'
        first, second = reader.iter_decoded_messages()
        assert (first[2].log_time, first[2].publish_time) == (5, 4)
        assert (second[2].log_time, second[2].publish_time) == (20, 10)
        assert first[1].metadata['topic_type_hash'] == typestore().hash_rihs01(TWIST)
        assert first[3].twist.linear.x == 0.0
        (kept,) = reader.iter_metadata()
    assert kept.name == 'rosbag2'
    inner = yaml.safe_load(kept.metadata['serialized_metadata'])
    outer = yaml.safe_load((tmp_path / 'bag/metadata.yaml').read_text())
    assert outer == {'rosbag2_bagfile_information': inner}


def test_metadata_has_the_form_of_jazzy(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag', ros_distro='jazzy') as log:
        log.add_topic('/imu', 'sensor_msgs/msg/Imu', 'int8 x', 'RIHS01_x', (OFFER,))
        log.write('/imu', b'\0\1\0\0\0', 3, 2)
        log.write('/imu', b'\0\1\0\0\0', 10, 2)
    assert (
        (tmp_path / 'bag/metadata.yaml').read_text()
        == """\
rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  duration:
    nanoseconds: 7
  starting_time:
    nanoseconds_since_epoch: 3
  message_count: 2
  topics_with_message_count:
  - topic_metadata:
      name: /imu
      type: sensor_msgs/msg/Imu
      serialization_format: cdr
      offered_qos_profiles:
      - history: unknown
        depth: 0
        reliability: reliable
        durability: volatile
        deadline:
          sec: 9223372036
          nsec: 854775807
        lifespan:
          sec: 9223372036
          nsec: 854775807
        liveliness: automatic
        liveliness_lease_duration:
          sec: 9223372036
          nsec: 854775807
        avoid_ros_namespace_conventions: false
      type_description_hash: RIHS01_x
    message_count: 2
  compression_format: ''
  compression_mode: ''
  relative_file_paths:
  - bag_0.mcap
  files:
  - path: bag_0.mcap
    duration:
      nanoseconds: 7
    starting_time:
      nanoseconds_since_epoch: 3
    message_count: 2
  custom_data: null
  ros_distro: jazzy
"""
    )


def test_unfinished_bag_has_metadata_that_names_its_topics_and_counts_nothing(
    tmp_path: Path,
) -> None:
    log = McapLog(tmp_path / 'bag')
    add(log, '/cart/cmd_vel', TWIST)
    log.write('/cart/cmd_vel', message_cdr(TWIST), 1, 1)
    log.flush()
    outer = yaml.safe_load((tmp_path / 'bag/metadata.yaml').read_text())
    information = outer['rosbag2_bagfile_information']
    assert information['message_count'] == 0
    (topic,) = information['topics_with_message_count']
    assert topic['topic_metadata']['name'] == '/cart/cmd_vel'
    assert topic['message_count'] == 0
    log.close()


def test_empty_bag_is_a_bag(tmp_path: Path) -> None:
    McapLog(tmp_path / 'bag').close()
    with Reader(tmp_path / 'bag') as bag:
        assert bag.message_count == 0


def test_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / 'bag').mkdir()
    with pytest.raises(RecordError, match=r'bag exists already, not overwritten\. Choose another'):
        McapLog(tmp_path / 'bag')
    assert list((tmp_path / 'bag').iterdir()) == []


def test_topic_is_added_once_and_before_its_messages(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag') as log:
        with pytest.raises(RecordError, match="got '/cart/cmd_vel'. Call add_topic first"):
            log.write('/cart/cmd_vel', b'', 0, 0)
        add(log, '/cart/cmd_vel', TWIST)
        with pytest.raises(RecordError, match='Expected a topic to be added once'):
            add(log, '/cart/cmd_vel', TWIST)


def test_negative_time_is_refused_and_the_log_goes_on(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag') as log:
        add(log, '/cart/cmd_vel', TWIST)
        with pytest.raises(RecordError, match='not negative, got -1, 5'):
            log.write('/cart/cmd_vel', b'', -1, 5)
        log.write('/cart/cmd_vel', b'', 1, 5)
    assert len(messages_on_disk(log.path)) == 1


def test_closed_log_refuses_messages(tmp_path: Path) -> None:
    log = McapLog(tmp_path / 'bag')
    log.close()
    log.close()
    with pytest.raises(RecordError, match='is closed, with'):
        log.write('/cart/cmd_vel', b'', 0, 0)


@pytest.mark.parametrize('compress', [True, False])
def test_flushed_messages_are_readable_while_the_log_is_open(
    tmp_path: Path, compress: bool
) -> None:
    log = McapLog(tmp_path / 'bag', compress=compress)
    add(log, '/cart/cmd_vel', TWIST)
    log.write('/cart/cmd_vel', message_cdr(TWIST), 1, 1)
    assert messages_on_disk(log.path) == []
    assert (log.messages, log.saved_messages) == (1, 0)
    log.flush()
    assert len(messages_on_disk(log.path)) == 1
    assert log.saved_messages == 1
    assert log.size == log.path.stat().st_size
    log.close()


def test_full_chunk_is_written_at_once(tmp_path: Path) -> None:
    log = McapLog(tmp_path / 'bag', chunk_size=1000)
    log.add_topic('/raw', 'mine/msg/Raw', 'uint8[] data\n', '')
    log.write('/raw', bytes(1100), 1, 1)
    assert log.saved_messages == 1
    assert len(messages_on_disk(log.path)) == 1
    log.close()
    assert [chunk.compression for chunk in chunks_on_disk(log.path)] == ['zstd']


_WRITE_FOR_EVER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from support.storage_wire import BEGIN, cdr, definition, transition
from boundary_env_ros.storage.mcap_log import McapLog
log = McapLog(Path({folder!r}))
name = 'boundary_env_ros/msg/Transition'
log.add_topic('/t', name, *definition(name))
data = cdr(transition(1))
print('ready', flush=True)
i = 0
while True:
    i += 1
    log.write('/t', data, BEGIN + i, BEGIN)
    if i % 50 == 0:
        log.flush()
    if log.saved_messages == i:
        print(i, flush=True)
"""


@pytest.mark.parametrize('flushes', [1, 7, 40])
def test_kill_minus_nine_takes_only_the_open_chunk(tmp_path: Path, flushes: int) -> None:
    folder = tmp_path / 'bag'
    program = _WRITE_FOR_EVER.format(path=sys.path, folder=str(folder))
    with subprocess.Popen(
        [sys.executable, '-c', program], stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == 'ready\n'
        promised = [int(child.stdout.readline()) for _ in range(flushes)][-1]
        os.kill(child.pid, signal.SIGKILL)
        # Lines that it wrote before it died are promises too.
        rest = [line for line in child.stdout.read().splitlines(keepends=True) if line[-1] == '\n']
        promised = int(rest[-1]) if rest else promised
    times = [message.log_time for message in messages_on_disk(folder / 'bag_0.mcap')]
    assert len(times) >= promised
    assert times[0] == BEGIN + 1
    assert all(b - a == 1 for a, b in pairwise(times))
    assert yaml.safe_load((folder / 'metadata.yaml').read_text())


def test_full_disk_is_told_at_every_write_and_what_was_saved_is_readable(
    tmp_path: Path, limit_files: Callable[[int], None]
) -> None:
    log = McapLog(tmp_path / 'bag', chunk_size=10_000, compress=False)
    add(log, '/cart/cmd_vel', TWIST)
    limit_files(100_000)
    with pytest.raises(RecordError, match='File too large') as first:
        for i in range(100_000):
            log.write('/cart/cmd_vel', message_cdr(TWIST), i, i)
    saved = log.saved_messages
    assert f'{log.path} cannot be written: File too large. {saved} messages' in str(first.value)
    for _ in range(2):
        with pytest.raises(RecordError) as again:
            log.write('/cart/cmd_vel', message_cdr(TWIST), 0, 0)
        assert str(again.value) == str(first.value)
    with pytest.raises(RecordError, match='File too large'):
        log.flush()
    log.close()
    assert saved > 100
    assert f'({log.path.stat().st_size} bytes) before it are saved' in str(first.value)
    assert [message.log_time for message in messages_on_disk(log.path)] == list(range(saved))
