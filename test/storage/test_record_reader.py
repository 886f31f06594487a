# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records are found wherever a run left them, whole or torn; what is none gets one sentence."""

from __future__ import annotations

from pathlib import Path
import random
import re
import tracemalloc

from mcap.writer import CompressionType, Writer
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as BagWriter
import zstandard

from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import ContractDescription, FORMAT, Record
from boundary_env_ros.storage.run_folder import RunFolder
from support.storage_wire import (
    BEGIN,
    cdr,
    decision,
    definition,
    DIGEST,
    instant,
    message_cdr,
    observation,
    stamp,
    step_id,
    transition,
    type_of,
    typestore,
)

TWIST = 'geometry_msgs/msg/TwistStamped'
TRANSITION = 'boundary_env_ros/msg/Transition'


def one_of_each() -> list[tuple[str, Record]]:
    return [
        (
            '/cart/contract',
            ContractDescription(
                node='/cart/environment',
                role='environment',
                contract='warehouse_cart',
                contract_version='1.0.0',
                digest=DIGEST,
                software_version='0.1.0',
                task_distribution='boundary_env_ros',
                task_version='0.1.0',
                text='contract: warehouse_cart\n',
            ),
        ),
        (
            '/cart/status',
            EpisodeStatus(
                id=step_id(0), state=EpisodeState.RUNNING, pacing=Pacing.REALTIME, stamp=instant()
            ),
        ),
        ('/cart/decision', decision(1)),
        ('/cart/transition', transition(1)),
        (
            '/cart/privileged_observation',
            PrivilegedObservation(id=step_id(1), fields=observation(BEGIN)),
        ),
        (
            '/cart/evidence',
            ActuationEvidence(
                id=step_id(1),
                decision_sequence=1,
                commanded=instant(),
                actuated=stamp(),
                quantum=0.02,
                source='/cart/odom',
                measured=(0.25,),
            ),
        ),
        (
            '/cart/label',
            EpisodeLabel(
                id=step_id(1),
                label=Label.UNCLEAR,
                user='ada',
                note='out of sight',
                stamp=instant(),
            ),
        ),
        ('/other/transition', transition(2)),
    ]


def log_records(log: McapLog, records: list[tuple[str, Record]]) -> None:
    for topic in dict(records):
        name = type_of(type(dict(records)[topic]))
        log.add_topic(topic, name, *definition(name))
    log.add_topic('/cart/cmd_vel', TWIST, *definition(TWIST))
    for number, (topic, record) in enumerate(records):
        log.write(topic, cdr(record), BEGIN + number, BEGIN)
        log.write('/cart/cmd_vel', message_cdr(TWIST), BEGIN + number, BEGIN + 5)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path / 'run')
    with McapLog(folder.bag) as log:
        log_records(log, one_of_each())
    return folder


@pytest.mark.parametrize('place', ['path', 'bag', 'bag/bag_0.mcap'])
def test_each_record_comes_back_in_order_from_each_place(run: RunFolder, place: str) -> None:
    source = open_records(run.path if place == 'path' else run.path / place)
    assert source.complete
    assert list(source.records()) == [record for _, record in one_of_each()]
    entries = list(source.entries())
    assert [entry.topic for entry in entries] == [topic for topic, _ in one_of_each()]
    assert [entry.log_time for entry in entries] == [BEGIN + i for i in range(len(entries))]


def test_records_of_some_classes_come_alone(run: RunFolder) -> None:
    source = open_records(run.path)
    assert list(source.records(Transition)) == [transition(1), transition(2)]
    assert list(source.transitions()) == [transition(1), transition(2)]
    assert list(source.records(GateDecision, ActuationEvidence)) == [
        decision(1),
        one_of_each()[5][1],
    ]


@pytest.mark.parametrize('closed', [True, False])
def test_messages_are_counted_the_same_with_and_without_a_summary(
    tmp_path: Path, closed: bool
) -> None:
    log = McapLog(tmp_path / 'bag')
    log_records(log, one_of_each())
    log.close() if closed else log.flush()
    source = open_records(tmp_path / 'bag')
    assert source.complete is closed
    counts = source.topics()
    assert list(counts)[1] == ('/cart/contract', type_of(ContractDescription))
    assert list(counts.values()) == [8, 1, 1, 1, 1, 1, 1, 1, 1]
    log.close()


def test_a_transition_alone_is_a_source(run: RunFolder) -> None:
    assert run.write_first_transition(transition(1))
    source = open_records(run.first_transition)
    assert source.complete
    assert list(source.records()) == [transition(1)]
    assert list(source.records(GateDecision)) == []
    assert source.topics() == {}
    with pytest.raises(RecordError, match='holds a transition only, no messages'):
        list(source.messages())


def test_messages_of_any_topic_are_decoded_on_demand(run: RunFolder) -> None:
    source = open_records(run.path)
    found = list(source.messages(['/cart/cmd_vel', '/nothing']))
    assert len(found) == 8
    assert (found[2].topic, found[2].type) == ('/cart/cmd_vel', TWIST)
    assert (found[2].log_time, found[2].publish_time) == (BEGIN + 2, BEGIN + 5)
    assert found[2].data == message_cdr(TWIST)
    assert found[2].decode().twist.angular.z == 0.0
    assert len(list(source.messages())) == 16


# What others record ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('plugin', 'mode'),
    [
        (StoragePlugin.SQLITE3, CompressionMode.NONE),
        (StoragePlugin.SQLITE3, CompressionMode.FILE),
        (StoragePlugin.MCAP, CompressionMode.NONE),
        (StoragePlugin.MCAP, CompressionMode.FILE),
        (StoragePlugin.MCAP, CompressionMode.STORAGE),
        (StoragePlugin.SQLITE3, CompressionMode.MESSAGE),
        (StoragePlugin.MCAP, CompressionMode.MESSAGE),
    ],
)
@pytest.mark.parametrize('closed', [True, False])
def test_bag_of_another_writer_is_read(
    tmp_path: Path, plugin: StoragePlugin, mode: CompressionMode, closed: bool
) -> None:
    with_rosbags = BagWriter(tmp_path / 'theirs', version=9, storage_plugin=plugin)
    with_rosbags.set_compression(mode, CompressionFormat.ZSTD)
    with with_rosbags as writer:
        twist = writer.add_connection('/cmd_vel', TWIST, typestore=typestore())
        ours = writer.add_connection('/ns/a/transition', TRANSITION, typestore=typestore())
        for step in range(3):
            writer.write(twist, BEGIN + step, message_cdr(TWIST))
            writer.write(ours, BEGIN + step, cdr(transition(step)))
    if not closed:
        (tmp_path / 'theirs/metadata.yaml').unlink()
    source = open_records(tmp_path / 'theirs')
    assert source.complete
    assert list(source.transitions()) == [transition(step) for step in range(3)]
    assert source.topics()['/cmd_vel', TWIST] == 3
    assert [m.data for m in source.messages(['/cmd_vel'])] == 3 * [message_cdr(TWIST)]


@pytest.mark.parametrize('compression', list(CompressionType))
@pytest.mark.parametrize('chunked', [True, False])
def test_files_of_the_mcap_library_are_read(
    tmp_path: Path, compression: CompressionType, chunked: bool
) -> None:
    path = tmp_path / 'file.mcap'
    with path.open('wb') as file:
        writer = Writer(
            file,
            compression=compression,
            use_chunking=chunked,
            use_statistics=False,
            repeat_channels=False,
        )
        writer.start()
        writer.add_attachment(0, 0, 'note', 'text/plain', b'hello')
        schema = writer.register_schema(TRANSITION, 'ros2msg', definition(TRANSITION)[0].encode())
        channel = writer.register_channel('/t', 'cdr', schema)
        writer.add_metadata('note', {'a': 'b'})
        writer.add_message(channel, 5, cdr(transition(1)), 5)
        writer.finish()
    source = open_records(path)
    assert list(source.transitions()) == [transition(1)]
    assert source.topics().get(('/t', TRANSITION), 0) == 1


def test_bag_in_several_files_is_read_in_order(tmp_path: Path) -> None:
    for part in (0, 1):
        with McapLog(tmp_path / f'part{part}') as log:
            log.add_topic('/t', TRANSITION, *definition(TRANSITION))
            log.write('/t', cdr(transition(part)), BEGIN + part, BEGIN)
        (tmp_path / f'part{part}/part{part}_0.mcap').rename(tmp_path / f'b_{1 - part}.mcap')
    (tmp_path / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information:\n  storage_identifier: mcap\n'
        '  relative_file_paths: [b_1.mcap, old_name/b_0.mcap]\n'
    )
    source = open_records(tmp_path)
    assert list(source.transitions()) == [transition(0), transition(1)]
    assert source.topics().get(('/t', TRANSITION), 0) == 2
    (tmp_path / 'metadata.yaml').unlink()
    assert list(open_records(tmp_path).transitions()) == [transition(1), transition(0)]


@pytest.mark.parametrize('mode', [CompressionMode.NONE, CompressionMode.FILE])
def test_the_tenth_file_of_a_bag_without_metadata_comes_after_the_ninth(
    tmp_path: Path, mode: CompressionMode
) -> None:
    folder = tmp_path / 'bag'
    folder.mkdir()
    for step in range(11):
        part = tmp_path / f'part_{step}'
        bag = BagWriter(part, version=9, storage_plugin=StoragePlugin.SQLITE3)
        bag.set_compression(mode, CompressionFormat.ZSTD)
        with bag as writer:
            ours = writer.add_connection('/transition', TRANSITION, typestore=typestore())
            writer.write(ours, BEGIN, cdr(transition(step)))
        (file,) = part.glob('*.db3*')
        file.rename(folder / f'bag_{step}{"".join(file.suffixes)}')
    if mode is CompressionMode.FILE:
        # A recorder that was killed while it compressed leaves both.
        whole = zstandard.ZstdDecompressor().decompressobj()
        packed = (folder / 'bag_10.db3.zstd').read_bytes()
        (folder / 'bag_10.db3').write_bytes(whole.decompress(packed))
        (folder / 'bag_10.db3.zstd').write_bytes(b'\x28\xb5\x2f\xfd')
    assert [t.id.step for t in open_records(folder).transitions()] == list(range(11))


def test_bag_without_our_topics_says_what_it_has(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag') as log:
        log.add_topic('/cmd_vel', TWIST, *definition(TWIST))
        log.write('/cmd_vel', message_cdr(TWIST), 1, 1)
    source = open_records(tmp_path / 'bag')
    assert source.topics().get(('/t', TRANSITION), 0) == 0
    assert list(source.records()) == []
    with pytest.raises(
        RecordError,
        match=r'Expected transitions .*, got 1 messages on 1 topics: /cmd_vel',
    ):
        list(source.transitions())


def of_format(said: bytes, path: Path) -> Path:
    """Write transitions whose definition says another format."""
    written = definition(TRANSITION)[0].encode()
    ours = b'string FORMAT=%d.%d' % FORMAT
    assert written.count(ours) == 1
    with path.open('wb') as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema(TRANSITION, 'ros2msg', written.replace(ours, said))
        channel = writer.register_channel('/t', 'cdr', schema)
        for step in range(3):
            writer.add_message(channel, step, cdr(transition(step)), step)
        writer.finish()
    return path


@pytest.mark.parametrize(
    ('said', 'found', 'version'),
    [
        (b'', 0, 'the earlier'),
        (b'string FORMAT="2.0"', 2, 'a later'),
        (b'uint32 FORMAT=3', 3, 'a'),
    ],
)
def test_bag_of_another_major_is_refused_and_not_called_damaged(
    tmp_path: Path, said: bytes, found: int, version: str
) -> None:
    path = of_format(said, tmp_path / 'file.mcap')
    told = f'file.mcap has records of another format (expected {FORMAT[0]}, got {found}). '
    for read in (open_records(path).records, open_records(path).pieces):
        with pytest.raises(RecordError, match=re.escape(told) + f'Read it with {version}'):
            list(read())


@pytest.mark.parametrize(
    ('said', 'told'),
    [
        (b'uint32 FORMAT=1', {}),  # as the first bags have it
        (b'string FORMAT="1.0"', {}),
        (b'string FORMAT=1.12', {'format 1.12': 3}),
    ],
)
def test_bag_of_any_minor_is_read_and_a_later_one_is_named(
    tmp_path: Path, said: bytes, told: dict[str, int]
) -> None:
    source = open_records(of_format(said, tmp_path / 'file.mcap'))
    assert len(list(source.transitions())) == 3
    assert source.unlike.passed_over == told


def test_definition_in_another_language_matters_when_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / 'file.mcap'
    with path.open('wb') as file:
        writer = Writer(file)
        writer.start()
        for name in (TRANSITION, TWIST):
            schema = writer.register_schema(name, 'ros2idl', b'module x {}')
            channel = writer.register_channel(f'/{name[-5:]}', 'cdr', schema)
            writer.add_message(channel, 5, b'\0\1\0\0', 5)
        writer.finish()
    source = open_records(path)
    assert source.topics()['/ition', TRANSITION] == 1
    with pytest.raises(RecordError, match=r'\.msg text of .* on /ition, got IDL'):
        list(source.records())
    _, message = source.messages()
    with pytest.raises(RecordError, match=r'\.msg text of .* on /amped, got IDL'):
        message.decode()


def test_message_that_is_no_message_is_named_with_its_place(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag') as log:
        log.add_topic('/t', TRANSITION, *definition(TRANSITION))
        log.add_topic('/v', TWIST, *definition(TWIST))
        log.write('/t', cdr(transition(1)), 1, 1)
        log.write('/t', b'\0\1\0\0nonsense', 1, 1)
        log.write('/v', b'\0\1\0\0nonsense', 1, 1)
    source = open_records(tmp_path / 'bag')
    found = []
    with pytest.raises(
        RecordError, match=r'bag_0\.mcap:/t#2: .*expected a message with the fields'
    ):
        found.extend(source.records())
    assert found == [transition(1)]
    (message,) = source.messages(['/v'])
    with pytest.raises(RecordError, match='expected messages of type geometry_msgs/msg/TwistSt'):
        message.decode()


# What a crash leaves -----------------------------------------------------------------------------


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    log = McapLog(tmp_path_factory.mktemp('whole') / 'bag', chunk_size=20_000)
    log.add_topic('/t', TRANSITION, *definition(TRANSITION))
    for step in range(30):
        log.write('/t', cdr(transition(step)), BEGIN + step, BEGIN)
    log.close()
    return log.path.read_bytes()


STEPS = list(range(30))


def read_steps(path: Path) -> tuple[list[int], bool]:
    source = open_records(path)
    steps = [record.id.step for record in source.records(Transition)]
    assert source.topics().get(('/t', TRANSITION), 0) == len(steps)
    return steps, source.complete


def test_file_that_is_cut_anywhere_gives_a_prefix_and_says_so(
    tmp_path: Path, whole: bytes
) -> None:
    path = tmp_path / 'cut.mcap'
    generator = random.Random(7)
    cuts = [*range(8, 60, 3), *(generator.randrange(60, len(whole)) for _ in range(80))]
    longest = 0
    for cut in cuts:
        path.write_bytes(whole[:cut])
        steps, complete = read_steps(path)
        assert not complete
        assert steps == STEPS[: len(steps)]
        longest = max(longest, len(steps))
    assert longest > 20
    path.write_bytes(whole)
    assert read_steps(path) == (STEPS, True)


def test_file_that_is_cut_in_its_first_bytes_is_no_mcap_file(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / 'cut.mcap'
    for cut in range(8):
        path.write_bytes(whole[:cut])
        with pytest.raises(RecordError, match='empty' if not cut else 'is not an MCAP file'):
            open_records(path)


def test_tear_names_file_and_byte(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / 'cut.mcap'
    path.write_bytes(whole[: len(whole) // 2])
    source = open_records(path)
    assert source.tear == 'cut.mcap was not closed by its writer'
    list(source.records())
    assert source.tear.startswith('cut.mcap is torn at byte ')
    assert 'bytes behind the end' in source.tear


@pytest.mark.parametrize('tail', [b'\0' * 4096, b'\xff' * 500, b'\x06\x05\0\0\0\0\0\0\0abcde'])
def test_rubbish_behind_the_last_chunk_is_a_tear(
    tmp_path: Path, whole: bytes, tail: bytes
) -> None:
    # A power loss may leave blocks that were never written.
    path = tmp_path / 'cut.mcap'
    path.write_bytes(whole[:-1])
    steps, _ = read_steps(path)
    path.write_bytes(whole[: whole.rindex(b'\x0f\x04\0\0\0\0\0\0\0')] + tail)
    assert read_steps(path) == (steps, False)


def test_finished_file_that_was_damaged_is_an_error(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / 'damaged.mcap'
    generator = random.Random(3)
    data_end = whole.rindex(b'\x0f\x04\0\0\0\0\0\0\0')
    errors: list[str] = []
    for _ in range(50):
        damaged = bytearray(whole)
        damaged[generator.randrange(8, data_end)] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            steps = [r.id.step for r in open_records(path).records(Transition)]
            assert steps == STEPS  # The flip hit something that no reader needs.
        except RecordError as error:
            errors.append(str(error))
    assert len(errors) > 25
    assert all('damaged.mcap' in error for error in errors)


def test_one_wrong_bit_in_a_value_is_noticed(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'bag', compress=False) as log:
        log.add_topic('/t', TRANSITION, *definition(TRANSITION))
        log.write('/t', cdr(transition(1)), 1, 1)
    damaged = bytearray(log.path.read_bytes())
    damaged[damaged.index(b'warehouse_cart')] ^= 1
    log.path.write_bytes(damaged)
    with pytest.raises(RecordError, match='the checksum of a chunk is wrong'):
        list(open_records(tmp_path / 'bag').records())


def test_damaged_summary_is_read_around(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / 'damaged.mcap'
    data_end = whole.rindex(b'\x0f\x04\0\0\0\0\0\0\0')
    path.write_bytes(whole[: data_end + 13] + b'\x0b' * (len(whole) - data_end - 50) + whole[-37:])
    assert open_records(path).topics().get(('/t', TRANSITION), 0) == 30


def test_memory_stays_flat_as_the_bag_grows(tmp_path: Path) -> None:
    topic, record = one_of_each()[1]
    name = type_of(type(record))
    peaks = []
    for folder, count in (('short', 200), ('long', 2000)):
        with McapLog(tmp_path / folder, chunk_size=20_000, compress=False) as log:
            log.add_topic(topic, name, *definition(name))
            for i in range(count):
                log.write(topic, cdr(record), i, i)
        source = open_records(tmp_path / folder)
        next(source.records())
        tracemalloc.start()
        assert sum(1 for _ in source.records()) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert log.size > 10 * 20_000
    assert peaks[1] < 1.2 * peaks[0]


# What is nothing of the kind ---------------------------------------------------------------------


def test_missing_place_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r'does not exist\. Name a run folder, a rosbag2 fol'):
        open_records(tmp_path / 'nothing')


@pytest.mark.parametrize(
    ('name', 'content', 'said'),
    [
        ('empty.mcap', b'', 'is empty'),
        ('empty.json', b'', 'is empty'),
        ('text.mcap', b'hello world', "it begins with b'hello wo'"),
        ('photo.png', b'\x89PNG\r\n\x1a\n', r"photo.png is neither .* begins with b'\\x89PNG"),
        ('bag.db3', b'SQLite format 3\0', 'bag.db3'),
    ],
)
def test_file_of_another_kind_is_refused(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordError, match=said):
        open_records(tmp_path / name)


def test_folder_of_another_kind_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match='got nothing.. Name a run folder'):
        open_records(tmp_path)
    (tmp_path / 'photo.png').touch()
    with pytest.raises(RecordError, match='got photo.png.. Name a run folder'):
        open_records(tmp_path)
    (tmp_path / 'bag').mkdir()
    with pytest.raises(RecordError, match='bag holds no bag'):
        open_records(tmp_path)


@pytest.mark.parametrize(
    ('metadata', 'said'),
    [
        ('[', 'metadata.yaml cannot be read'),
        ('a: 1', 'Name the .mcap file itself'),
        ('rosbag2_bagfile_information: 3', 'Name the .mcap file itself'),
        (
            'rosbag2_bagfile_information: {storage_identifier: sqlite3, relative_file_paths: [a]}',
            'a, which the metadata',
        ),
        (
            'rosbag2_bagfile_information: {storage_identifier: mcap, relative_file_paths: []}',
            'holds no bag',
        ),
        (
            'rosbag2_bagfile_information: {storage_identifier: mcap, relative_file_paths: [b.mc]}',
            'b.mc, which the metadata',
        ),
        (
            'rosbag2_bagfile_information: {storage_identifier: acme, relative_file_paths: []}',
            "expected the storage_identifier mcap or sqlite3, got 'acme'",
        ),
        (
            'rosbag2_bagfile_information: {compression_format: bz2, relative_file_paths: []}',
            "expected the compression_format zstd, got 'bz2'",
        ),
    ],
)
def test_metadata_that_leads_nowhere_is_refused(tmp_path: Path, metadata: str, said: str) -> None:
    (tmp_path / 'metadata.yaml').write_text(metadata)
    with pytest.raises(RecordError, match=said):
        open_records(tmp_path)
