# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder as a process: what it hears is on the disk, whatever ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, ExitStack
from dataclasses import replace
import json
from pathlib import Path
import random
import resource
import signal
import subprocess
import time
from typing import Any
import uuid

import pytest

from boundary_env_ros.core.records.decision import RuleInput

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.msg import Transition as Lifecycle
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.qos import ReliabilityPolicy
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from sensor_msgs.msg import Image
import yaml

from boundary_env_ros.core.records.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.errors import LinkError, RecordError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.interfaces import msg, ros_distro
from boundary_env_ros.ros.processes import isolated_environment, NodeProcess, NodeSpec
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeRow, EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from support.record_messages import from_message
from support.ros_world import (
    CYCLONE_DDS,
    ports_in_use,
    Probe,
    reserved_domain,
    shared_memory_of,
    write_contract,
)

pytestmark = pytest.mark.ros

_READY = 60.0
_SOON = 20.0
# Frame of what is published until the recorder has heard a publisher; the tests pass it over.
_GREETING = 'greeting'
_SUCCESS = {'ending': 'success', 'declared_by': 'task:go_to_goal'}


class Bench:
    """
    A recorder, and a probe that plays everybody else.

    Parameters
    ----------
    folder
        For contract, log and run.
    domain_id
        Reserved domain.
    stack
        What is closed at the end.

    """

    def __init__(self, folder: Path, domain_id: int, stack: ExitStack) -> None:
        self.run = RunFolder(folder / 'run')
        self.domain_id = domain_id
        self.episode = str(uuid.uuid4())
        self._folder = folder
        self._stack = stack
        self._publishers: list[Any] = []
        self.use_contract({})
        self.probe = Probe(domain_id)
        stack.callback(self.probe.close)
        self.bring_up = BringUp(domain_id=domain_id)
        stack.callback(self.bring_up.close)
        self.probe.subscribe(names.RECORDER_STATUS, msg.RecorderStatus, names.LATCHED)
        self.probe.subscribe(names.EPISODE_STATUS, msg.EpisodeStatus, names.LATCHED_MANY)

    def use_contract(self, changes: Mapping[str, Any]) -> None:
        """Write the contract that the next recorder has."""
        self.file = write_contract(self._folder / 'contract.yaml', changes)
        self.loaded = load(self.file)

    # The recorder --------------------------------------------------------------------------------

    def start(self, **parameters: str | float) -> NodeProcess:
        """Start a recorder that nobody has configured yet."""
        given = {'contract': str(self.file), 'run': str(self.run.path), **parameters}
        self.process = NodeProcess(
            NodeSpec(name='recorder', parameters=given),
            environment=isolated_environment(self.domain_id),
            log=self._folder / 'recorder.log',
        )
        self._stack.callback(self.process.stop)
        return self.process

    def change(self, transition: int) -> None:
        """Ask the recorder for one transition of its lifecycle."""
        self.bring_up.change(self.process, transition, time.monotonic() + _READY)

    def record(self, **parameters: str | float) -> NodeProcess:
        """Start a recorder, and wait until it records."""
        process = self.start(**parameters)
        self.bring_up.run([process], _READY)
        self.until(lambda: self.status().recording, 'a recorder that records')
        return process

    def status(self) -> Any:
        """Return what the recorder said last of itself."""
        return self.probe.last(names.RECORDER_STATUS) or msg.RecorderStatus()

    def log(self) -> str:
        """Return what the recorder logged."""
        return (self._folder / 'recorder.log').read_text()

    def logs(self, words: str) -> None:
        """Wait for words in the log."""
        self.until(lambda: words in self.log(), f'in the log: {words}')

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition."""
        try:
            self.probe.until(condition, _SOON, what)
        except AssertionError as error:
            raise AssertionError(f'{error}\n{self.process.last_output(40)}') from None

    def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the process to end in order."""
        mapped = shared_memory_of([self.process.process.pid])
        assert not [name for name in mapped if name.startswith(('fastrtps', 'fastdds'))]
        self.process.send(number)
        assert self.process.process.wait(_SOON) == 0, self.log()

    # Everybody else ------------------------------------------------------------------------------

    def publisher(self, kind: Any, topic: str, qos: Any = names.RECORD) -> Callable[[Any], None]:
        """Return a function that publishes, once the recorder listens."""
        made = self._stack.enter_context(
            self.probe.publisher(kind, topic, qos, self._readers(topic))
        )
        self._publishers.append(made)
        publish: Callable[[Any], None] = made.publish
        if qos.reliability is ReliabilityPolicy.BEST_EFFORT:
            # This side has found the recorder; when that has found it, nobody is told. What is
            # reliable is sent again until then.
            greeting = kind()
            greeting.header.frame_id = _GREETING
            self.until(
                lambda: publish(greeting) or any(map(_greets, self._recorded(topic))),
                f'a recorder that hears {topic}',
            )
        return publish

    def delivered(self) -> None:
        """Wait until all that was published is in the queues of whoever listens."""
        for publisher in self._publishers:
            assert publisher.wait_for_all_acked(Duration(seconds=_SOON))

    def _readers(self, topic: str) -> int:
        # The probe listens to some topics too.
        return 2 if topic == names.EPISODE_STATUS else 1

    def id(self, step: int) -> StepId:
        return StepId(digest=self.loaded.digest, agent='cart', episode_id=self.episode, step=step)

    def transition(self, step: int, **changes: Any) -> Transition:
        contract = self.loaded.contract
        plain = Transition(
            contract=contract.name,
            contract_version=contract.version,
            software_version='0.1.0',
            client_version='0.1.0',
            id=self.id(step),
            kind=Kind.STEP if step else Kind.RESET,
            pacing=Pacing.REALTIME,
            seed=7,
            after=(),
            closed=now(),
            reward=0.5,
        )
        return replace(plain, **changes)

    def episode_status(self, state: EpisodeState, step: int = 0, **changes: str) -> EpisodeStatus:
        plain = EpisodeStatus(
            id=self.id(step), state=state, pacing=Pacing.REALTIME, seed=7, stamp=now()
        )
        return replace(plain, **changes)

    def decision(self, sequence: int) -> GateDecision:
        return GateDecision(
            id=self.id(sequence),
            sequence=sequence,
            verdict=Verdict.HELD,
            inputs=RuleInput(trigger=Trigger.TIMER, time_step=0.1),
            decided=now(),
        )

    # What is on the disk -------------------------------------------------------------------------

    def on_disk(self, topic: str) -> list[Any]:
        """Return the messages of a topic, decoded, as far as they can be read now."""
        return [message for message in self._recorded(topic) if not _greets(message)]

    def _recorded(self, topic: str) -> list[Any]:
        try:
            source = open_records(self.run.path)
            return [m.decode() for m in source.messages([f'/{topic}'])]
        except RecordError:
            return []

    def row(self) -> EpisodeRow:
        """Return the one episode of the index."""
        with EpisodeStore.open(self.run.episodes) as store:
            (row,) = store.episodes()
        return row

    def assert_complete(self) -> None:
        """Check that nothing is open or unfinished in the run."""
        source = open_records(self.run.path)
        assert source.complete, source.tear
        metadata = yaml.safe_load((self.run.bag / 'metadata.yaml').read_text())
        information = metadata['rosbag2_bagfile_information']
        assert information['message_count'] == sum(source.topics().values()) > 0
        assert information['custom_data']['digest'] == self.loaded.digest
        assert information['ros_distro'] == ros_distro() != ''
        assert {entry.name for entry in self.run.path.iterdir()} <= {
            'bag',
            'contract.yaml',
            'episodes.sqlite',
            'first_transition.json',
        }


def now() -> ClockReading:
    stamp = Stamp(clock=Clock.SYSTEM, nanoseconds=time.time_ns(), host='bench')
    return ClockReading(ros=stamp, steady=time.monotonic_ns())


def _greets(message: Any) -> bool:
    return hasattr(message, 'header') and message.header.frame_id == _GREETING


def odometry(number: int) -> Odometry:
    message = Odometry()
    message.header.frame_id = str(number)
    return message


def numbers(messages: list[Any]) -> list[int]:
    return [int(message.header.frame_id) for message in messages]


@pytest.fixture
def bench(_run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Return a bench in a domain of its own; afterwards no port of that is held."""
    with reserved_domain() as domain:
        for name, value in isolated_environment(domain).items():
            monkeypatch.setenv(name, value)
        with ExitStack() as stack:
            yield Bench(tmp_path, domain, stack)
        deadline = time.monotonic() + _SOON
        while ports_in_use(domain):
            assert time.monotonic() < deadline, f'Expect free ports of domain {domain}.'
            time.sleep(0.02)
        assert not list(Path('/dev/shm').glob(f'fastrtps_port{domain * 250 + 7400}*'))


# What is recorded --------------------------------------------------------------------------------


def test_everything_published_is_read_back(bench: Bench) -> None:
    # Patience, since this environment says little.
    bench.use_contract({'safety': {'environment_timeout': _SOON}})
    bench.record()
    transition = bench.publisher(msg.Transition, names.TRANSITION)
    status = bench.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
    decision = bench.publisher(msg.GateDecision, names.GATE_DECISION)
    command = bench.publisher(TwistStamped, 'cmd_vel', names.COMMAND)
    image = bench.publisher(Image, 'camera/image_raw')
    # Best effort, as drivers of sensors often are.
    odom = bench.publisher(Odometry, 'odom', names.SENSOR)

    pixels = random.Random(0).randbytes(200 * 200 * 3)
    sent = [bench.transition(step) for step in range(5)]
    sent.append(bench.transition(5, terminated=True, **_SUCCESS))
    status(to_msg(bench.episode_status(EpisodeState.RUNNING), now()))
    for step, record in enumerate(sent):
        odom(odometry(step))
        frame = Image(height=200, width=200, encoding='rgb8', step=600)
        frame.data.frombytes(pixels)
        image(frame)
        decision(to_msg(bench.decision(step + 1), now()))
        command(TwistStamped())
        transition(to_msg(record, record.closed))
        bench.until(lambda step=step: bench.status().transitions == step + 1, 'a transition')
    status(to_msg(bench.episode_status(EpisodeState.TERMINATED, 5, **_SUCCESS), now()))
    bench.until(lambda: bench.row().done, 'the ending in the index')
    bench.end(signal.SIGTERM)

    bench.assert_complete()
    assert bench.status().lost == 0
    assert list(open_records(bench.run.path).transitions()) == sent
    first = json.loads(bench.run.first_transition.read_text())
    assert first['id']['episode_id'] == bench.episode
    row = bench.row()
    assert (row.ending, row.success, row.step_count, row.episode_return) == (
        'success',
        True,
        5,
        3.0,
    )
    assert load(bench.run.contract) == bench.loaded
    assert numbers(bench.on_disk('odom')) == list(range(len(sent)))
    assert [bytes(m.data) for m in bench.on_disk('camera/image_raw')] == [pixels] * len(sent)
    assert [d.node for d in bench.on_disk(names.CONTRACT)] == ['/recorder']


def test_rosbags_reads_the_bag_with_the_definitions_in_it(bench: Bench) -> None:
    bench.record()
    transition = bench.publisher(msg.Transition, names.TRANSITION)
    odom = bench.publisher(Odometry, 'odom', names.SENSOR)
    for step in range(3):
        odom(odometry(step))
        transition(to_msg(bench.transition(step), now()))
    bench.until(lambda: bench.status().transitions == 3, 'the transitions')
    bench.end(signal.SIGINT)
    with Reader(bench.run.bag) as bag:
        store = get_typestore(Stores.EMPTY)
        for connection in bag.connections:
            store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
            assert connection.digest == store.hash_rihs01(connection.msgtype)
        messages = [
            (connection.topic, store.deserialize_cdr(data, connection.msgtype))
            for connection, _, data in bag.messages()
        ]
        offered = {
            c.topic: [q.reliability.name for q in c.ext.offered_qos_profiles]
            for c in bag.connections
        }
    found = [from_message(Transition, m) for t, m in messages if t == '/boundary/transition']
    assert [t.id for t in found] == [bench.id(step) for step in range(3)]
    assert numbers([m for t, m in messages if t == '/odom' and not _greets(m)]) == [0, 1, 2]
    assert offered['/odom'] == ['BEST_EFFORT']
    assert offered['/boundary/transition'] == ['RELIABLE']
    # That nobody pressed it is said too.
    assert '/emergency_stop' in offered


def test_latched_before_the_recording_is_in_it(bench: Bench) -> None:
    bench.start()
    bench.change(Lifecycle.TRANSITION_CONFIGURE)
    status = bench.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
    odom = bench.publisher(Odometry, 'odom')
    status(to_msg(bench.episode_status(EpisodeState.RUNNING), now()))
    odom(odometry(1))
    bench.change(Lifecycle.TRANSITION_ACTIVATE)
    odom(odometry(2))
    bench.until(lambda: 2 in numbers(bench.on_disk('odom')), 'the second message')
    bench.end(signal.SIGTERM)
    (recorded,) = bench.on_disk(names.EPISODE_STATUS)
    assert recorded.id.episode_id == bench.episode


def test_last_word_of_an_environment_that_is_stopped_too_is_recorded(bench: Bench) -> None:
    bench.use_contract({'safety': {'environment_timeout': _SOON}})
    bench.record()
    status = bench.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
    status(to_msg(bench.episode_status(EpisodeState.RUNNING), now()))
    bench.until(lambda: bench.on_disk(names.EPISODE_STATUS), 'the episode')
    # However busy the machine is, the ending is on its way when the recorder sees the signal.
    bench.process.send(signal.SIGSTOP)
    bench.process.send(signal.SIGINT)
    ending = {'ending': 'operator_stop', 'declared_by': 'environment'}
    status(to_msg(bench.episode_status(EpisodeState.TRUNCATED, 3, **ending), now()))
    bench.process.send(signal.SIGCONT)
    assert bench.process.process.wait(_SOON) == 0
    bench.assert_complete()
    assert bench.row().ending == 'operator_stop'


# What it says of itself --------------------------------------------------------------------------


def test_sign_of_life_tells_of_the_run(bench: Bench) -> None:
    bench.record()
    begin = len(bench.probe.messages(names.RECORDER_STATUS))
    bench.until(lambda: len(bench.probe.messages(names.RECORDER_STATUS)) > begin + 3, 'heartbeats')
    status = bench.status()
    assert status.digest == bench.loaded.digest
    assert status.path == str(bench.run.path)
    assert status.messages > 0
    assert status.bytes > 0
    assert status.lost == 0
    assert status.stamp.steady > 0


def test_gaps_are_counted_and_told_at_once(bench: Bench) -> None:
    bench.record()
    decision = bench.publisher(msg.GateDecision, names.GATE_DECISION)
    transition = bench.publisher(msg.Transition, names.TRANSITION)
    for sequence in (4, 5, 8):
        decision(to_msg(bench.decision(sequence), now()))
    bench.until(lambda: bench.status().lost == 2, 'two decisions missing')
    for step in (0, 1, 5):
        transition(to_msg(bench.transition(step), now()))
    bench.until(lambda: bench.status().lost == 2 + 3, 'three transitions missing')
    bench.logs('messages are missing in the record')


def test_publishers_that_take_turns_on_a_topic_lose_nothing(bench: Bench) -> None:
    bench.record()
    odom = bench.publisher(Odometry, 'odom')
    for number in range(9):
        odom(odometry(number))
    bench.until(lambda: len(bench.on_disk('odom')) == 9, 'the messages of the one')
    with bench.probe.publisher(Odometry, 'odom', names.RECORD) as other:
        for number in range(9, 12):
            other.publish(odometry(number))
        bench.until(lambda: len(bench.on_disk('odom')) == 12, 'the messages of the other')
    odom(odometry(12))
    bench.until(lambda: numbers(bench.on_disk('odom')) == [*range(13)], 'the next of the one')
    since = len(bench.probe.messages(names.RECORDER_STATUS))
    bench.until(
        lambda: len(bench.probe.messages(names.RECORDER_STATUS)) > since + 1, 'two heartbeats'
    )
    assert bench.status().lost == 0


def test_full_queue_is_counted(bench: Bench) -> None:
    bench.record()
    odom = bench.publisher(Odometry, 'odom')
    odom(odometry(0))
    bench.until(lambda: bench.on_disk('odom'), 'the first message')
    bench.process.send(signal.SIGSTOP)
    for number in range(1, 3000):
        odom(odometry(number))
    bench.process.send(signal.SIGCONT)
    bench.until(lambda: numbers(bench.on_disk('odom'))[-1] == 2999, 'the last message')
    recorded = numbers(bench.on_disk('odom'))
    assert len(recorded) < 3000
    if CYCLONE_DDS:  # it tells the numbers of no messages
        bench.until(lambda: '/odom' in bench.status().uncounted, 'the topic named')
        bench.logs('how many got lost is unknown')
        return
    bench.until(lambda: bench.status().lost == 3000 - len(recorded), 'every lost message counted')
    bench.logs('/odom got lost')


@pytest.mark.skipif(
    int(Path('/proc/sys/net/core/rmem_max').read_text()) < 4_000_000,
    reason='the kernel keeps less for a process that stands still: net.core.rmem_max',
)
def test_what_comes_while_the_recorder_stands_still_is_recorded(bench: Bench) -> None:
    bench.record()
    # Of commands their publisher keeps the last one alone: nobody sends one again.
    command = bench.publisher(TwistStamped, 'cmd_vel', names.COMMAND)
    image = bench.publisher(Image, 'camera/image_raw', names.SENSOR)
    bench.process.send(signal.SIGSTOP)
    for number in range(20):
        image(Image(data=bytes(60_000)))
        message = TwistStamped()
        message.header.frame_id = str(number)
        command(message)
    bench.process.send(signal.SIGCONT)
    bench.until(lambda: len(bench.on_disk('camera/image_raw')) == 20, 'all images')
    bench.until(lambda: numbers(bench.on_disk('cmd_vel')) == [*range(20)], 'all commands')
    assert bench.status().lost == 0


def test_environment_that_died_is_declared_lost_and_signed(bench: Bench) -> None:
    bench.record()
    status = bench.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
    status(to_msg(bench.episode_status(EpisodeState.RUNNING, 7), now()))

    def declared() -> list[EpisodeStatus]:
        heard = bench.probe.messages(names.EPISODE_STATUS)
        return [from_msg(EpisodeStatus, m) for m in heard if m.state == EpisodeState.TRUNCATED]

    bench.until(declared, 'an ending')
    (last,) = declared()
    assert last.id == bench.id(7)
    assert (last.ending, last.declared_by) == ('environment_lost', 'recorder')
    assert last.message.startswith('The environment has been silent for ')
    assert bench.row().state == last

    # It was only hanging.
    status(to_msg(bench.episode_status(EpisodeState.RUNNING, 8), now()))
    bench.logs('expected TRUNCATED (environment_lost')
    bench.until(
        lambda: (
            [m.state for m in bench.on_disk(names.EPISODE_STATUS)]
            == [EpisodeState.RUNNING, EpisodeState.TRUNCATED, EpisodeState.RUNNING]
        ),
        'all that was said in the bag',
    )
    assert bench.row().state == last
    assert len(declared()) == 1


# Refusals ----------------------------------------------------------------------------------------


def test_folder_with_anything_in_it_is_refused(bench: Bench) -> None:
    bench.run.path.mkdir()
    bench.run.contract.write_text('mine')
    bench.start()
    with pytest.raises(LinkError, match='exists already, not overwritten'):
        bench.change(Lifecycle.TRANSITION_CONFIGURE)
    assert [entry.name for entry in bench.run.path.iterdir()] == ['contract.yaml']
    assert bench.run.contract.read_text() == 'mine'
    assert bench.process.alive


def test_run_must_be_named(bench: Bench) -> None:
    bench.start(run='')
    with pytest.raises(LinkError, match='The parameter run is empty'):
        bench.change(Lifecycle.TRANSITION_CONFIGURE)


def test_type_that_is_not_installed_is_named_with_the_way_out(bench: Bench) -> None:
    contact = {'contact': {'topic': 'touch', 'type': 'acme_msgs/msg/Touch'}}
    bench.use_contract({'privileged': contact})
    bench.start()
    with pytest.raises(LinkError, match='Install acme_msgs, and check AMENT_PREFIX_PATH'):
        bench.change(Lifecycle.TRANSITION_CONFIGURE)
    assert not bench.run.path.exists()


def test_run_is_recorded_once(bench: Bench) -> None:
    bench.record()
    bench.change(Lifecycle.TRANSITION_DEACTIVATE)
    bench.until(lambda: not bench.status().recording, 'a recorder that says it stopped')
    bench.assert_complete()
    with pytest.raises(LinkError, match='is closed: a run is recorded once'):
        bench.change(Lifecycle.TRANSITION_ACTIVATE)
    bench.change(Lifecycle.TRANSITION_CLEANUP)
    with pytest.raises(LinkError, match='exists already, not overwritten'):
        bench.change(Lifecycle.TRANSITION_CONFIGURE)


# Ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_signal_completes_the_run(bench: Bench, number: signal.Signals) -> None:
    bench.record()
    odom = bench.publisher(Odometry, 'odom')
    for count in range(500):
        odom(odometry(count))
    bench.until(lambda: bench.status().messages > 500, 'the messages')
    # What nobody has taken from the queue yet is not forgotten.
    for count in range(500, 550):
        odom(odometry(count))
    bench.delivered()
    bench.end(number)
    bench.assert_complete()
    assert numbers(bench.on_disk('odom')) == list(range(550))
    bench.until(lambda: not bench.status().recording, 'a recorder that says it stopped')
    assert 'Traceback' not in bench.log()


def test_configured_recorder_that_never_recorded_ends_in_order(bench: Bench) -> None:
    bench.start()
    bench.change(Lifecycle.TRANSITION_CONFIGURE)
    bench.end(signal.SIGTERM)
    assert open_records(bench.run.path).complete


def test_kill_leaves_all_but_the_last_moment(bench: Bench) -> None:
    bench.record()
    odom = bench.publisher(Odometry, 'odom')
    for count in range(200):
        odom(odometry(count))
    # Nobody asks for a flush.
    bench.until(lambda: len(bench.on_disk('odom')) == 200, 'the messages on the disk')
    for count in range(200, 400):
        odom(odometry(count))
    bench.process.send(signal.SIGKILL)
    bench.process.process.wait(_SOON)
    source = open_records(bench.run.path)
    found = numbers([m.decode() for m in source.messages(['/odom'])])
    assert found == list(range(len(found)))
    assert len(found) >= 200
    assert not source.complete


def test_bag_is_split_and_each_file_has_the_contract(bench: Bench) -> None:
    bench.record(max_bag_size=100_000)
    odom = bench.publisher(Odometry, 'odom')
    image = bench.publisher(Image, 'camera/image_raw')
    noise = random.Random(0)
    for number in range(30):
        frame = Image(height=100, width=100, encoding='rgb8', step=300)
        frame.data.frombytes(noise.randbytes(30_000))
        image(frame)
        odom(odometry(number))
    bench.delivered()
    bench.until(lambda: bench.status().bytes > 800_000, 'the images on the disk')
    bench.end(signal.SIGTERM)
    bench.assert_complete()
    files = sorted(bench.run.bag.glob('*.mcap'))
    assert len(files) > 2
    for file in files:
        described = [m.decode() for m in open_records(file).messages([f'/{names.CONTRACT}'])]
        assert [d.digest for d in described] == [bench.loaded.digest]
    assert sorted(numbers(bench.on_disk('odom'))) == list(range(30))
    with Reader(bench.run.bag) as bag:
        assert bag.message_count == sum(1 for _ in bag.messages())


@contextmanager
def hanging_disk(folder: Path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """Give a disk of its own, and a function that freezes it (``-f``) or lets it go (``-u``)."""
    image, place = folder / 'disk', folder / 'mounted'
    place.mkdir()

    def run(*command: object) -> bool:
        words = [str(word) for word in command]
        try:
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False

    with image.open('wb') as file:
        file.truncate(64 * 2**20)
    if not (run('mkfs.ext4', '-q', image) and run('mount', '-o', 'loop', image, place)):
        pytest.skip('no disk can be mounted here')
    try:
        yield place, lambda how: subprocess.run(['fsfreeze', how, str(place)], check=True)
    finally:
        run('fsfreeze', '-u', place)
        run('umount', place)


def test_disk_that_hangs_is_told_of_and_costs_nothing(bench: Bench, tmp_path: Path) -> None:
    with hanging_disk(tmp_path) as (place, freeze):
        bench.run = RunFolder(place / 'run')
        bench.record(disk_timeout=0.5, min_free_space=1_000_000)
        odom = bench.publisher(Odometry, 'odom')
        freeze('-f')
        for number in range(100):
            odom(odometry(number))
        bench.until(lambda: not bench.status().recording, 'a recorder that says it does not')
        # It lives, and says so: the environment may end the episode, and does.
        bench.logs('The disk is behind (expected at most 0.5 s, disk_timeout, ')
        for number in range(100, 200):
            odom(odometry(number))
        freeze('-u')
        bench.until(lambda: bench.status().recording, 'a recorder that records again')
        bench.until(lambda: len(bench.on_disk('odom')) == 200, 'all that came meanwhile')
        bench.end(signal.SIGTERM)
        bench.assert_complete()
        assert bench.status().lost == 0


def test_full_disk_ends_the_recording_not_the_node(bench: Bench) -> None:
    process = bench.record()
    transition = bench.publisher(msg.Transition, names.TRANSITION)
    image = bench.publisher(Image, 'camera/image_raw')
    transition(to_msg(bench.transition(0), now()))
    bench.until(lambda: bench.on_disk(names.TRANSITION), 'the transition on the disk')
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = bench.status().bytes + 100_000
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (limit, hard))
    noise = random.Random(0)
    for _ in range(40):
        frame = Image(height=100, width=100, encoding='rgb8', step=300)
        frame.data.frombytes(noise.randbytes(30_000))
        image(frame)
    bench.until(lambda: not bench.status().recording, 'a recorder that gave up')
    bench.logs('bag_0.mcap cannot be written: File too large')
    assert bench.bring_up.state(process) == State.PRIMARY_STATE_ACTIVE
    assert len(list(open_records(bench.run.path).transitions())) == 1
    bench.end(signal.SIGTERM)
