# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a file claims, or holds, takes only so much of the machine, and gets one clear error."""

from __future__ import annotations

from contextlib import suppress
import io
import os
from pathlib import Path
import random
import shutil
import sqlite3
import struct

import lz4.frame
from mcap.data_stream import RecordBuilder
from mcap.records import Chunk
from mcap.writer import Writer
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as BagWriter
import zstandard

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.cdr import record_decoder
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import Decoders
from boundary_env_ros.storage.definitions import SEPARATOR
from boundary_env_ros.storage.episode_search import episodes_in
from boundary_env_ros.storage.episode_store import APPLICATION_ID, SCHEMA_VERSION
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.mcap_scan import MAGIC
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import Message
from boundary_env_ros.storage.recovery import recover
from boundary_env_ros.storage.run_folder import RunFolder
from support.contained import contained
from support.storage_wire import (
    BEGIN,
    cdr,
    definition,
    message_cdr,
    transition,
    typestore,
)

TRANSITION = 'boundary_env_ros/msg/Transition'
TWIST = 'geometry_msgs/msg/TwistStamped'
GIGABYTE = 1 << 30
#: What a bomb gives, what it may give where it is tried, and what a reader may take for that.
BOMB, MOST, MEMORY = 512 << 20, 4 << 20, 128 << 20


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bombs be small, so that they are quickly made."""
    for name in ('CHUNK', 'MESSAGE', 'UNPACKED'):
        monkeypatch.setattr(size_limits, name, MOST)


def zeros(compression: str, size: int) -> bytes:
    """Return many zeros, compressed, made in little memory."""
    out = io.BytesIO()
    if compression == 'zstd':
        with zstandard.ZstdCompressor(level=9).stream_writer(out, closefd=False) as writer:
            for _ in range(size >> 20):
                writer.write(bytes(1 << 20))
    else:
        with lz4.frame.open(out, 'wb') as writer:
            for _ in range(size >> 20):
                writer.write(bytes(1 << 20))
    return out.getvalue()


def with_chunk(path: Path, data: bytes, compression: str, claims: int, *, closed: bool) -> Path:
    """Write a file of one chunk that says what it likes of itself."""
    with path.open('wb') as file:
        writer = Writer(file, use_chunking=False)
        writer.start('ros2', 'test')
        file.flush()
        builder = RecordBuilder()
        Chunk(
            compression=compression,
            data=data,
            message_start_time=0,
            message_end_time=1,
            uncompressed_crc=0,
            uncompressed_size=claims,
        ).write(builder)
        file.write(builder.end())
        if closed:
            writer.finish()
    return path


def read_all(path: Path) -> int:
    return sum(1 for _ in open_records(path).messages())


def read_or_tear(path: Path) -> str:
    source = open_records(path)
    read = sum(1 for _ in source.messages())
    return f'{read} messages; {source.tear}'


@pytest.mark.parametrize('closed', [True, False])
@pytest.mark.parametrize('claims', [1000, 4 * GIGABYTE, 2**63])
@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_chunk_is_decompressed_up_to_its_limit_whatever_it_claims(
    tmp_path: Path, compression: str, claims: int, closed: bool
) -> None:
    bomb = with_chunk(
        tmp_path / 'bomb.mcap',
        zeros(compression, BOMB),
        compression,
        claims,
        closed=closed,
    )
    said = contained(lambda: read_or_tear(bomb))
    expected = 'at most 1000 bytes, got more' if claims == 1000 else f'at most {MOST}'
    assert expected in said
    assert said.startswith('RecordError' if closed else '0 messages; bomb.mcap is torn at byte')
    said = contained(lambda: recover(bomb).lost)
    assert 'bomb.mcap' in said
    assert expected in said


def test_chunk_that_claims_much_takes_no_memory_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limits, 'CHUNK', 256 << 20)
    packed = zstandard.compress(bytes(500))
    bomb = with_chunk(tmp_path / 'bomb.mcap', packed, 'zstd', 200 << 20, closed=True)
    said = contained(lambda: read_or_tear(bomb), memory=64 << 20)
    assert f'a chunk holds 500 bytes, not {200 << 20}' in said


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_message_that_is_compressed_alone_fills_no_memory(
    tmp_path: Path, plugin: StoragePlugin
) -> None:
    bag = BagWriter(tmp_path / 'bag', version=9, storage_plugin=plugin)
    bag.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    with bag as writer:
        twist = writer.add_connection('/cmd_vel', TWIST, typestore=typestore())
        writer.write(twist, BEGIN, bytes(4 * MOST))
    said = contained(lambda: read_all(tmp_path / 'bag'))
    assert f'a message of /cmd_vel in {tmp_path}/bag/bag' in said
    assert f'is too large (expected at most {MOST} bytes' in said


def test_file_that_is_compressed_as_a_whole_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    monkeypatch.setattr('tempfile.tempdir', None)
    folder = tmp_path / 'bag'
    folder.mkdir()
    (folder / 'bag_0.mcap.zstd').write_bytes(zeros('zstd', BOMB))
    (folder / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information:\n  storage_identifier: mcap\n  version: 9\n'
        '  compression_mode: file\n  compression_format: zstd\n'
        '  relative_file_paths: [bag_0.mcap.zstd]\n'
    )
    said = contained(lambda: read_all(folder))
    assert 'bag_0.mcap.zstd is too large (expected at most' in said
    left = [file for file in tmp_path.rglob('*') if file.is_file() and file.stat().st_size > 9e6]
    assert left == []


# Texts -------------------------------------------------------------------------------------------


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    with McapLog(tmp_path / 'bag') as log:
        log.add_topic('/t', TRANSITION, *definition(TRANSITION))
        for step in range(3):
            log.write('/t', cdr(transition(step)), BEGIN + step, BEGIN)
    return tmp_path / 'bag'


def nested(levels: int) -> str:
    return '[' * levels + ']' * levels


def of_aliases() -> str:
    lines = ['a0: &a0 {k: 1}']
    lines += [f'a{i}: &a{i} {{<<: [{", ".join([f"*a{i - 1}"] * 9)}]}}' for i in range(1, 12)]
    return '\n'.join(lines)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        (nested(100_000), f'at most {size_limits.LEVELS} levels of YAML'),
        (
            f'rosbag2_bagfile_information: {nested(5000)}',
            f'at most {size_limits.LEVELS} levels of YAML',
        ),
        (of_aliases(), 'has an alias'),
        (
            'rosbag2_bagfile_information: {relative_file_paths: [1]}',
            'is not the metadata of a bag (relative_file_paths: [1])',
        ),
        ('a: ' + 'x' * (size_limits.TEXT + 1), f'at most {size_limits.TEXT} bytes'),
    ],
)
def test_metadata_without_measure_is_one_error(bag: Path, text: str, said: str) -> None:
    (bag / 'metadata.yaml').write_text(text)
    assert said in contained(lambda: read_all(bag))
    assert 'metadata.yaml names the file of the bag' in contained(lambda: recover(bag).done)
    assert contained(lambda: read_all(bag)) == '3'


def test_metadata_that_is_a_device_without_end_is_refused(bag: Path) -> None:
    (bag / 'metadata.yaml').unlink()
    (bag / 'metadata.yaml').symlink_to('/dev/zero')
    said = contained(lambda: read_all(bag))
    assert 'metadata.yaml cannot be read (expected a regular file' in said
    assert 'metadata.yaml names the file' in contained(lambda: recover(bag).done)


def test_json_without_end_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / 'first_transition.json'
    with file.open('ab') as out:
        for _ in range(64):
            out.write(b'[' * (1 << 20))
    said = contained(lambda: list(open_records(file).records()))
    assert f'first_transition.json is too large (expected at most {size_limits.TEXT} bytes' in said


# Definitions and messages ------------------------------------------------------------------------


def decode(text: str, data: bytes) -> object:
    channel = Channel(
        topic='/x',
        type='mine/msg/X',
        encoding='cdr',
        definition_encoding='ros2msg',
        definition=text.encode(),
    )
    return Message('/x', 'mine/msg/X', 0, 0, data, Decoders(channel)).decode()


def chain(levels: int) -> str:
    parts = ['mine/T0 inner'] + [f'mine/T{i + 1} inner' for i in range(levels)] + ['uint8 x']
    texts = [f'MSG: mine/T{i}\n{part}' for i, part in enumerate(parts[1:])]
    return f'\n{SEPARATOR}\n'.join([parts[0], *texts])


MANY = b'\0\1\0\0\xff\xff\xff\xff'
EMPTY = f'mine/E[] many\n{SEPARATOR}\nMSG: mine/E\n'


def inside(name: str, fields: str) -> str:
    return f'{SEPARATOR}\nMSG: mine/{name}\n{fields}\n'


@pytest.mark.parametrize(
    ('text', 'data', 'said'),
    [
        ('mine/X itself\n', bytes(90), f'at most {size_limits.NESTING} levels of messages'),
        (chain(2000), bytes(90), f'at most {size_limits.NESTING} levels of messages'),
        (
            EMPTY,
            MANY + bytes(16 << 20),
            f'at most {size_limits.ELEMENTS} elements, got 4294967295',
        ),
        (EMPTY, MANY + bytes(90), 'expected messages of type mine/msg/X'),
        ('uint8[' + '9' * 5000 + '] x\n', bytes(9), 'expected a field or a constant'),
        ('# ' + 'x' * size_limits.DEFINITION, bytes(9), f'at most {size_limits.DEFINITION} bytes'),
    ],
)
def test_message_without_measure_is_one_error(text: str, data: bytes, said: str) -> None:
    assert said in contained(lambda: decode(text, data))


@pytest.mark.parametrize(
    ('first', 'others'),
    [
        ('mine/A more', inside('A', 'mine/A[] more\nmine/A one')),
        ('mine/A[4000000000] more', inside('A', '')),
        ('mine/A[] more', inside('A', '')),
        ('uint8[900000000] more', ''),
        (
            'mine/A[900000] more',
            inside('A', 'mine/B[900000] more') + inside('B', 'uint8[900000] more'),
        ),
    ],
    ids=['itself', 'fixed', 'claimed', 'bytes', 'nested'],
)
def test_record_without_measure_is_one_error(tmp_path: Path, first: str, others: str) -> None:
    path = tmp_path / 'x.mcap'
    text = f'{first}\n{definition(TRANSITION)[0]}\n{others}'
    with path.open('wb') as file:
        writer = Writer(file)
        writer.start('ros2', 'test')
        schema = writer.register_schema(TRANSITION, 'ros2msg', text.encode())
        channel = writer.register_channel('/t', 'cdr', schema)
        writer.add_message(channel, 1, MANY + cdr(transition(1))[4:], 1)
        writer.finish()
    said = contained(lambda: list(open_records(path).records()))
    assert said.startswith('RecordError')
    assert 'x.mcap:/t#1: ' in said


def test_bad_text_or_another_encoding_is_one_error() -> None:
    kind = 'boundary_env_ros/msg/StepId'
    read = record_decoder(StepId, kind, definition(kind)[0])

    def text(data: bytes) -> bytes:
        padded = data + b'\0'
        return struct.pack('<I', len(padded)) + padded + bytes(-len(padded) % 4)

    head = b'\0\1\0\0' + text(b'digest7') + text(b'cart')
    body = head + text(b'episode')
    body += bytes(-(len(body) - 4) % 8) + struct.pack('<Q', 258)
    assert read(body) == StepId(digest='digest7', agent='cart', episode_id='episode', step=258)
    with pytest.raises(RecordError, match='UnicodeDecodeError'):
        read(body.replace(b'cart', b'\xff\xfe\xfd\xfc'))
    for other in (b'\0\7', b'\0\0'):
        with pytest.raises(RecordError, match='no plain CDR'):
            read(other + body[2:])


# Topics ------------------------------------------------------------------------------------------


def record(opcode: int, body: bytes) -> bytes:
    return struct.pack('<BQ', opcode, len(body)) + body


def prefixed(text: str) -> bytes:
    return struct.pack('<I', len(text)) + text.encode()


def schema() -> bytes:
    return record(3, struct.pack('<H', 1) + prefixed(TWIST) + prefixed('ros2msg') + prefixed(''))


def channel(number: int, topic: str, **metadata: str) -> bytes:
    said = b''.join(prefixed(name) + prefixed(text) for name, text in metadata.items())
    head = struct.pack('<HH', number, 1) + prefixed(topic) + prefixed('cdr')
    return record(4, head + struct.pack('<I', len(said)) + said)


def message(number: int) -> bytes:
    return record(5, struct.pack('<HIQQ', number, 0, BEGIN, BEGIN))


def chunk(content: bytes, compression: str = 'zstd') -> bytes:
    packed = zstandard.compress(content)
    head = struct.pack('<QQQI', 0, 0, len(content), 0) + prefixed(compression)
    return record(6, head + struct.pack('<Q', len(packed)) + packed)


def torn(path: Path, *records: bytes) -> Path:
    """Write a file that its writer has not closed."""
    head = record(1, prefixed('ros2') + prefixed('test'))
    path.write_bytes(MAGIC + head + schema() + b''.join(records))
    return path


@pytest.mark.parametrize(
    ('topics', 'said'),
    [
        (
            [channel(i % 60_000, f'/x{i}') for i in range(70_000)],
            f'than {size_limits.TOPICS} topics',
        ),
        ([channel(1, f'/x{i % 2}') for i in range(70_000)], f'than {size_limits.TOPICS} topics'),
        (
            [channel(i, f'/x{i}', a='b' * (1 << 16)) for i in range(300)],
            f'than {1 << 24} bytes of definitions',
        ),
        (
            [channel(1, '/x', **{f'{i:x}': '' for i in range(200_000)})],
            f'at most {size_limits.DEFINITION} are read',
        ),
    ],
    ids=['many', 'again', 'large', 'said'],
)
def test_topics_of_a_file_take_so_much_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topics: list[bytes], said: str
) -> None:
    monkeypatch.setattr(size_limits, 'CHUNK', 1 << 28)
    monkeypatch.setattr(size_limits, 'DEFINITIONS', 1 << 24)
    file = torn(tmp_path / 'x.mcap', chunk(b''.join(topics)))
    assert said in contained(lambda: read_or_tear(file))
    assert said in contained(lambda: recover(file).lost)
    assert contained(lambda: read_all(file)) == '0'


@pytest.mark.parametrize('value', ['[1]', 'a', '2.5', '-1', '9' * 4298])
def test_quality_of_service_that_is_no_number_is_passed_over(tmp_path: Path, value: str) -> None:
    times = [f'{name}: {{sec: {value}, nsec: 0}}' for name in ('deadline', 'lifespan')]
    lease = 'liveliness_lease_duration: {sec: 0, nsec: 0}'
    rest = 'history: a, depth: 1, reliability: a, durability: a, liveliness: a'
    text = f'- {{{", ".join([*times, lease, rest])}}}'
    file = torn(tmp_path / 'x.mcap', channel(1, '/x', offered_qos_profiles=text), message(1))
    assert 'with 1 messages' in contained(lambda: recover(file).done)


def test_yaml_of_many_values_is_one_error(bag: Path) -> None:
    (bag / 'metadata.yaml').write_text(f'a: [{"1," * size_limits.VALUES}]')
    said = contained(lambda: read_all(bag))
    assert f'at most {size_limits.VALUES} values of YAML' in said


# Recovery ----------------------------------------------------------------------------------------


def test_recovery_of_countless_damages_can_be_read_and_tells_where_they_are(
    tmp_path: Path,
) -> None:
    file = tmp_path / 'bag/bag_0.mcap'
    file.parent.mkdir()
    torn(file, channel(1, '/x'), message(1), *[chunk(b'', 'none')] * 100_000)
    said = contained(lambda: recover(file.parent).lost)
    assert 'expected zstd, lz4 or no compression' in said
    assert 'so were 99980 more pieces of it' in said
    assert (file.parent / 'metadata.yaml').stat().st_size < 20_000
    assert '99980 more' in contained(lambda: read_or_tear(file.parent))


def test_recovery_of_a_file_without_head_has_one(tmp_path: Path) -> None:
    file = tmp_path / 'x.mcap'
    with file.open('wb') as out:
        writer = Writer(out, chunk_size=1 << 18)
        writer.start('ros2', 'test')
        topic = writer.register_channel('/x', 'cdr', writer.register_schema(TWIST, 'ros2msg', b''))
        for number in range(8):
            writer.add_message(topic, BEGIN, random.Random(number).randbytes(1 << 18), BEGIN)
        writer.finish()
    data = bytearray(file.read_bytes())
    data[8] = 7
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert 'does not begin with its head' in contained(lambda: recover(file).lost)
    assert contained(lambda: read_all(file)) == '7'


def test_index_of_countless_chunks_ends_no_recovery(tmp_path: Path) -> None:
    most = 100_000
    index = b''.join(
        record(8, struct.pack('<QQQ', 0, 0, 100 + i) + bytes(32)) for i in range(most)
    )
    file = torn(tmp_path / 'x.mcap', b'\x70' * most, record(15, bytes(4)))
    end = struct.pack('<QQI', file.stat().st_size, 0, 0)
    with file.open('ab') as out:
        out.write(index + record(2, end) + MAGIC)
    assert 'no record of kind 112' in contained(lambda: recover(file).lost, seconds=60)


def test_recovery_writes_nothing_outside_of_the_folder(bag: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.write_text('mine')
    file = bag / 'bag_0.mcap'
    file.write_bytes(file.read_bytes()[:-9])
    (bag / f'.{file.name}.recovering').symlink_to(elsewhere)
    (bag / f'.metadata.yaml.{os.getpid()}.tmp').symlink_to(elsewhere)
    recover(bag)
    assert read_all(bag) == 3
    assert elsewhere.read_text() == 'mine'


def test_recovery_waits_for_no_pipe(bag: Path) -> None:
    os.mkfifo(bag / 'bag_1.mcap')
    said = contained(lambda: recover(bag), seconds=10)
    assert 'bag_1.mcap cannot be read (expected a regular file' in said


@pytest.mark.parametrize('name', ['first_transition.json', 'bag_0.mcap'])
def test_no_reader_waits_for_a_pipe(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    for place in (pipe, tmp_path) if pipe.suffix == '.mcap' else (pipe,):
        said = contained(lambda place=place: open_records(place), seconds=10)
        assert f'{name} cannot be read (expected a regular file, got a folder, pipe or' in said


# Indexes and summaries ---------------------------------------------------------------------------


def test_summary_that_begins_anywhere_is_read_record_by_record(bag: Path) -> None:
    file = bag / 'bag_0.mcap'
    data = bytearray(file.read_bytes())
    # A hole of many gigabytes: a record that nothing needs, and the summary before it.
    end = data.rindex(b'\x0f\x04\0\0\0\0\0\0\0')
    hole = 64 * GIGABYTE
    footer = bytearray(data[-37:])
    footer[9:17] = struct.pack('<Q', 8)
    with file.open('r+b') as out:
        out.truncate(end)
        out.seek(end)
        out.write(struct.pack('<BQ', 9, hole))
        out.seek(end + 9 + hole)
        out.write(b'\x0f\x04\0\0\0\0\0\0\0' + bytes(4) + footer)
    try:
        assert contained(lambda: sum(open_records(file).topics().values())) == '3'
    finally:
        os.truncate(file, 0)


RECURSIVE = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n'


def test_index_of_episodes_that_is_a_program_is_refused(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / 'run')
    with sqlite3.connect(run.episodes) as database:
        columns = (
            'i AS episode_id, 0 AS agent, 0 AS environment, 0 AS digest, 0 AS state, 0 AS done, '
            '0 AS ending_kind, 0 AS ending, 0 AS declared_by, 0 AS success, 0 AS step_count, '
            '0 AS "return", 0 AS interventions, 0 AS seed, 0 AS bag, 0 AS created_at, '
            '0 AS updated_at'
        )
        database.execute(f'CREATE VIEW episodes AS {RECURSIVE.format(columns)}')
        database.execute('CREATE TABLE labels (episode_id, agent, record, labelled_at)')
        database.execute(f'PRAGMA application_id = {APPLICATION_ID}')
        database.execute(f'PRAGMA user_version = {SCHEMA_VERSION}')
    database.close()
    said = contained(lambda: len(episodes_in(run.episodes)), seconds=5)
    assert 'is no index of episodes (expected its tables' in said


@pytest.mark.parametrize('table', ['topics', 'messages', 'schema', 'message_definitions'])
def test_bag_whose_table_is_a_program_is_refused(tmp_path: Path, table: str) -> None:
    with BagWriter(tmp_path / 'b', version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        twist = writer.add_connection('/cmd_vel', TWIST, typestore=typestore())
        writer.write(twist, BEGIN, message_cdr(TWIST))
    file = tmp_path / 'b/b.db3'
    with sqlite3.connect(file) as database:
        columns = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
        database.execute(f'ALTER TABLE {table} RENAME TO before')
        listed = ', '.join(f'i AS {column}' for column in columns)
        database.execute(f'CREATE VIEW {table} AS {RECURSIVE.format(listed)}')
    database.close()
    said = contained(lambda: read_all(file), seconds=5)
    if table in ('topics', 'messages'):
        assert f'it has no table {table!r}' in said
    else:
        assert said == '1'


def test_pages_that_lead_back_to_each_other_are_not_read_for_ever(tmp_path: Path) -> None:
    file = tmp_path / 'b.db3'
    with sqlite3.connect(file) as database:
        database.execute('PRAGMA page_size = 512')
        database.execute(
            'CREATE TABLE topics (id INTEGER PRIMARY KEY, name, type, serialization_format)'
        )
        database.execute(
            'CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id, timestamp, data)'
        )
        database.execute("INSERT INTO topics VALUES (1, '/t', 'a/msg/B', 'cdr')")
        database.executemany(
            'INSERT INTO messages VALUES (?, 1, ?, ?)', ((i, i, bytes(20)) for i in range(20_000))
        )
    database.close()
    data = bytearray(file.read_bytes())
    # Every child of every inner page becomes the first child of it: far more rows than bytes.
    for page in range(512, len(data), 512):
        if data[page] == 5:
            cells = struct.unpack_from('>H', data, page + 3)[0]
            at = struct.unpack_from(f'>{cells}H', data, page + 12)
            first = data[page + at[0] : page + at[0] + 4]
            for cell in at:
                data[page + cell : page + cell + 4] = first
            data[page + 8 : page + 12] = first
    file.write_bytes(data)
    said = contained(lambda: read_all(file))
    assert said.startswith('RecordError') or said.isdecimal()


# Anything ----------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return bags of each kind and a run, small and sound."""
    folder = tmp_path_factory.mktemp('golden')
    run = RunFolder.create(folder / 'run')
    with McapLog(run.bag, chunk_size=4000) as log:
        log.add_topic('/t', TRANSITION, *definition(TRANSITION))
        log.add_topic('/v', TWIST, *definition(TWIST))
        for step in range(12):
            log.write('/t', cdr(transition(step)), BEGIN + step, BEGIN)
            log.write('/v', message_cdr(TWIST), BEGIN + step, BEGIN)
    assert run.write_first_transition(transition(1))
    for plugin in StoragePlugin:
        bag = BagWriter(folder / plugin.name, version=9, storage_plugin=plugin)
        bag.set_compression(CompressionMode.FILE, CompressionFormat.ZSTD)
        with bag as writer:
            ours = writer.add_connection('/t', TRANSITION, typestore=typestore())
            for step in range(4):
                writer.write(ours, BEGIN + step, cdr(transition(step)))
    return folder


HOSTILE = [struct.pack('<Q', n) for n in (0, 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with a cut, flipped bits, or lengths that lie."""
    changed = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        del changed[chance.randrange(len(changed)) :]
    elif kind == 1:
        begin = chance.randrange(len(changed))
        del changed[begin : begin + chance.randrange(1, 200)]
    for _ in range(chance.randrange(1, 5) if kind > 1 and changed else 0):
        at = chance.randrange(len(changed))
        if kind == 2:
            changed[at] ^= 1 << chance.randrange(8)
        else:
            lie = chance.choice(HOSTILE)[: chance.choice((1, 2, 4, 8))]
            changed[at : at + len(lie)] = lie
    return bytes(changed)


def try_all(place: Path) -> None:
    with suppress(RecordError):
        for message in open_records(place).messages():
            with suppress(RecordError):
                message.decode()
    with suppress(RecordError):
        list(open_records(place).records(Transition))
    with suppress(RecordError):
        open_records(place).topics()
    with suppress(RecordError):
        recover(place)


@pytest.mark.parametrize('seed', range(4))
def test_any_damage_to_any_file_is_a_record_error(golden: Path, tmp_path: Path, seed: int) -> None:
    files = sorted(file for file in golden.rglob('*') if file.is_file())
    chance = random.Random(seed)

    def work() -> str:
        for number in range(50):
            file = chance.choice(files)
            top = golden / file.relative_to(golden).parts[0]
            copy = tmp_path / f'{seed}_{number}'
            shutil.copytree(top, copy)
            place = copy / file.relative_to(top)
            place.write_bytes(damaged(file.read_bytes(), chance))
            try:
                try_all(copy)
                if place.exists() and place.suffix in ('.mcap', '.db3', '.json'):
                    try_all(place)
            except Exception as error:
                raise AssertionError(f'{number}: {place}: {error!r}') from error
            shutil.rmtree(copy)
        return 'all are read or refused'

    assert contained(work, seconds=60) == 'all are read or refused'
