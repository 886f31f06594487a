# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``recorder``: bag, index of episodes, labels, the last word on a dead environment."""

from __future__ import annotations

from pathlib import Path
import sys
import time
from typing import Any

from rclpy.duration import Duration

from boundary_env_ros import __version__
from boundary_env_ros.core.environment.silence import PATIENCE
from boundary_env_ros.errors import BoundaryError, RecordError, RequestRejected, ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import message_class, set_time, to_msg
from boundary_env_ros.ros.executors import fastest_executor, STAMPS_AT_TAKE
from boundary_env_ros.ros.interfaces import msg, ros_distro, srv
from boundary_env_ros.ros.message_guard import Budget
from boundary_env_ros.ros.recorded_topics import (
    LOG,
    offered_qos,
    RawMessage,
    RawSubscriptions,
    recorded_topics,
    RecordedTopic,
)
from boundary_env_ros.storage.definitions import definition_of
from boundary_env_ros.storage.recording_thread import RecordingThread
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording
from boundary_env_ros.storage.signing import signer

# How often the queues are emptied, s.
_POLL_PERIOD = 0.02
# How often publishers are looked for that offer less than is asked for, s.
_ADAPT_PERIOD = 0.1
# Heartbeat, s.
_STATUS_PERIOD = 0.2
# How long the disk is waited for at the end of the run, and by a label of an episode, s.
_END_PATIENCE = 60.0
_MARK_PATIENCE = 2.0
# How long a last word is waited for at most, the environment's and our own, s.
_ACK_TIMEOUT = 0.5
# What a message can say of what is lost: a sender may send any number.
_MOST_LOST = 2**64 - 1
# Lines of the log that are recorded within a second, of all nodes of the domain.
_MOST_LOGGED = 200
# Looks for a heartbeat of the environment within the time it is given.
_WATCHES = 8


class Recorder(ContractNode):
    """
    Carries bytes to the recording of a run.

    A run is recorded once. The record begins when the node is activated, with what was latched
    before; it is complete when the node is deactivated.

    Attributes
    ----------
    recording, writer
        The files of the run, and their writer, once the node is configured.

    """

    recording: RunRecording
    writer: RecordingThread

    def __init__(self, **options: Any) -> None:
        super().__init__('recorder', 'recorder', **options)
        self.declare('run', '', 'Folder of the run, made by the node; nothing may be there yet.')
        self._declare_files()
        self._raw: RawSubscriptions | None = None
        self._active = False
        self._closed = True

    def _declare_files(self) -> None:
        self.declare(
            'max_bag_size',
            4_000_000_000,
            'Bytes at which the bag goes on in another file; 0: no limit.',
        )
        self.declare(
            'queue_size',
            256 * 1024 * 1024,
            'Bytes that may wait for the disk before messages of sensors are dropped.',
        )
        self.declare(
            'disk_timeout',
            5.0,
            'Seconds that the disk may lag behind before the recorder says that it does not '
            'record.',
        )
        self.declare(
            'sync_interval',
            5.0,
            'Seconds between two waits for the disk, beside the writing: what a power loss may '
            'take. 0.0: as the kernel likes.',
        )
        self.declare(
            'min_free_space',
            100_000_000,
            'Bytes that are left free on the disk: before there are fewer the run is completed. '
            '0: until it is full.',
        )
        self.declare(
            'signing_key',
            '',
            'File with a private Ed25519 key (PEM) that signs the record when it is closed; '
            'empty: it is not signed.',
        )

    def configure(self) -> None:
        """Make the folder, and listen; what comes is written when the node is active."""
        place = self.value('run')
        if not place:
            raise BoundaryError(
                'The parameter run is empty (expected a folder for the run). '
                'Start the node with `--ros-args -p run:=<folder>`.'
            )
        self._check_files()
        topics = recorded_topics(self, self.contract)
        # Before the folder is made: an empty one would only be in the way of the next try.
        key = self.value('signing_key')
        sign = signer(Path(key).expanduser()) if key else None
        definitions = {topic.type: definition_of(topic.type) for topic in topics}
        self.recording = RunRecording(
            RunFolder.create(Path(place).expanduser().absolute()),
            contract=self.loaded,
            definitions=definitions,
            recorder=self.get_name(),
            custom_data={
                'contract': self.contract.name,
                'contract_version': self.contract.version,
                'digest': self.loaded.digest,
                'software_version': __version__,
                'log_time': 'taken' if STAMPS_AT_TAKE else 'received',
            },
            ros_distro=ros_distro(),
            split_size=self.value('max_bag_size'),
            min_free_space=self.value('min_free_space'),
            sign=sign,
        )
        self.writer = RecordingThread(
            self.recording,
            queue_size=self.value('queue_size'),
            sync_interval=self.value('sync_interval'),
        )
        self._closed = False
        self._lost = 0
        self._uncounted: list[str] = []
        self._in_time = True
        self._unseen = {topic.name: topic for topic in topics}
        self._before: list[RawMessage] = []
        faults = {each.name: self.fault_of(message_class(each.type), each.name) for each in topics}
        self._logged = Budget(_MOST_LOGGED)
        self._faults = {name: fault for name, fault in faults.items() if fault is not None}
        self._status = self.publisher_of(names.RECORDER_STATUS)
        self._episode_status = {
            agent: self.publisher_of(names.EPISODE_STATUS, agent) for agent in self.contract.agents
        }
        self._labels = self.publisher_of(names.EPISODE_LABEL)
        self.add_service(srv.LabelEpisode, '~/label_episode', self._on_label)
        self._raw = RawSubscriptions(self, topics, self._on_lost)
        self.every(_POLL_PERIOD, self._poll)
        self.every(_ADAPT_PERIOD, self._raw.adapt)

    def _check_files(self) -> None:
        for name in (
            'max_bag_size',
            'queue_size',
            'disk_timeout',
            'sync_interval',
            'min_free_space',
        ):
            value = self.value(name)
            if value < 0 or (value == 0 and name in ('queue_size', 'disk_timeout')):
                least = 'more than' if value == 0 else 'at least'
                raise BoundaryError(
                    f'The parameter {name} is too small (expected {least} 0, got {value}).'
                )

    def activate(self) -> None:
        """Begin to write, with what was latched before."""
        if self._closed:
            raise RecordError(
                f'{self.recording.run.path} is closed: a run is recorded once. '
                'Start a recorder with another folder.'
            )
        self._poll()
        before, self._before = self._before, []
        for message in before:
            self._write(message)
        self._active = True
        self.every(_STATUS_PERIOD, self._publish_status)
        patience = PATIENCE * self.contract.safety.environment_timeout
        self.every(patience / _WATCHES, self._watch)
        self.get_logger().info(f'recording to {self.recording.run.path}')
        self._publish_status()

    def deactivate(self) -> None:
        """Write what has come until now, and complete the files."""
        if self._active:
            self._finish_episode()
            self._end()

    def busy(self) -> str:
        """Return whether an episode is recorded; empty if none is."""
        return 'an episode is recorded' if self._active and self.recording.episode_runs else ''

    def cleanup(self) -> None:
        """Let go of the files and of everything that :meth:`configure` made."""
        self._close()
        if self._raw is not None:
            self._raw.close()
        self._raw = None

    # Writing -------------------------------------------------------------------------------------

    def _poll(self) -> None:
        if self._raw is None:
            return
        for message in self._raw.take():
            if self._active:
                self._write(message)
            elif message.topic.latched and not self._closed:
                self._before.append(message)
        if self._active:
            self._report()

    def _write(self, message: RawMessage) -> None:
        topic = message.topic
        if topic.name in self._faults and (fault := self._faults[topic.name](message.data)):
            # Nobody of this boundary has sent it: in the record, it would look as if.
            self.incoming.refuse_forged(topic.name, fault)
            return
        if topic.name == LOG and not self._logged.spend():
            # Whoever logs without end takes no room from evidence.
            self.refuse(LOG, RecordError(f'more than {_MOST_LOGGED} lines came within a second.'))
            return
        if topic.name in self._unseen:
            # Only now it is known what its publishers offer.
            self._add(self._unseen.pop(topic.name))
        self.writer.write(
            topic.name,
            message.data,
            message.received,
            message.published,
            self.clock.now(),
            vital=not topic.foreign,
        )

    def _add(self, topic: RecordedTopic) -> None:
        recording, qos = self.recording, offered_qos(self, topic.name)
        self.writer.do(lambda: recording.add_topic(topic.name, topic.type, qos))

    def _watch(self) -> None:
        if self._closed:
            return
        # What waits in the queue may be the heartbeat that would be missed.
        self._poll()
        self.writer.watch(self.clock.now())

    def _declare_endings(self) -> None:
        """Publish the endings that a dead environment cannot declare."""
        for status in self.writer.endings():
            self.get_logger().error(
                f'episode {status.id.episode_id[:8]}: {status.ending}. {status.message}'
            )
            self._episode_status[status.id.agent].publish(to_msg(status, self.clock.now()))

    def _finish_episode(self) -> None:
        """
        Write what has come until now, and the end of the episode.

        A signal often goes to all nodes at once; what the environment says last comes a moment
        after it.
        """
        deadline = time.monotonic() + _ACK_TIMEOUT
        while self._active and self.recording.episode_runs and time.monotonic() < deadline:
            time.sleep(_POLL_PERIOD)
            self._poll()
        self._poll()

    # Labels --------------------------------------------------------------------------------------

    def _on_label(self, request: Any, response: Any) -> Any:
        # What waits in the queue may be the episode that is meant, or the recording be over.
        self._poll()
        if not self._active:
            raise RequestRejected(
                'The recorder does not record. Label the episode in the run: '
                '`boundary-env episodes label RUN EPISODE LABEL`.',
                ResultCode.NOT_ACTIVE,
            )
        now, recording = self.clock.now(), self.recording
        try:
            labels = self.writer.ask(
                lambda: recording.label(
                    request.episode_id, request.label, request.user, request.note, now
                ),
                _MARK_PATIENCE,
            )
        except RecordError as error:
            raise RequestRejected(str(error), ResultCode.NOT_ACTIVE) from error
        for label in labels:
            self._labels.publish(to_msg(label, now))
        response.episode_id = labels[0].id.episode_id
        return response

    # Saying --------------------------------------------------------------------------------------

    def _on_lost(self, topic: RecordedTopic, number: int | None) -> None:
        if number is None:
            if not self._uncounted:
                self.get_logger().warning(
                    'this middleware does not number its messages: how many got lost is unknown'
                )
            self._uncounted.append(topic.name)
        elif self._active:
            self.get_logger().error(
                f'{number} messages of {topic.name} got lost', throttle_duration_sec=1.0
            )
            recording = self.recording
            self.writer.do(lambda: recording.add_lost(topic.name, number))

    def _report(self) -> None:
        """Log what an operator should know, and say at once if something changed for the worse."""
        writer = self.writer
        for notice in self.recording.notices():
            self.get_logger().error(notice)
        self._declare_endings()
        if writer.failure is not None:
            self.get_logger().fatal(f'the recording is over: {writer.failure}')
            self._end()
            return
        if writer.lost != self._lost:
            self._lost = writer.lost
            self.get_logger().error(
                f'{self._lost} messages are missing in the record', throttle_duration_sec=1.0
            )
            self._publish_status()
        self._check_disk()

    def _check_disk(self) -> None:
        limit = self.value('disk_timeout')
        behind = self.writer.behind
        if (behind <= limit) is not self._in_time:
            self._in_time = behind <= limit
            if self._in_time:
                self.get_logger().warning('the disk has caught up')
            else:
                self.get_logger().error(
                    f'The disk is behind (expected at most {limit:g} s, disk_timeout, got '
                    f'{behind:.1f} s). Until it has caught up the recorder says that it does not '
                    'record.'
                )
            self._publish_status()

    def trouble(self) -> str:
        """Return why the recorder does not record, or what the record lacks."""
        if not self._active:
            return 'the recording is over'
        if not self._in_time:
            return 'the disk is behind'
        return f'{self._lost} messages are missing in the record' if self._lost else ''

    def _publish_status(self) -> None:
        now = self.clock.now()
        recording = self.recording
        message = msg.RecorderStatus(
            digest=self.loaded.digest,
            recording=self._active and self._in_time,
            path=str(recording.run.path),
            messages=recording.messages,
            bytes=recording.size,
            lost=min(self.writer.lost, _MOST_LOST),
            transitions=recording.transitions,
            stamp=to_msg(now),
            refused=self.incoming.forged,
            uncounted=self._uncounted,
        )
        set_time(message.header.stamp, now.ros.nanoseconds)
        self._status.publish(message)

    # The end -------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Record no more, and say so: the environment ends its episode as ``recorder_lost``."""
        self._active = False
        # Before the disk is waited for.
        self._publish_status()
        self.cleanup()
        self._publish_status()
        # A publisher that is destroyed takes with it what has not been sent yet.
        self._status.wait_for_all_acked(Duration(seconds=_ACK_TIMEOUT))

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # That nothing came on a topic that was listened to is part of the record too.
        for topic in self._unseen.values():
            self._add(topic)
        try:
            self.writer.close(_END_PATIENCE)
        except RecordError as error:
            self.get_logger().error(str(error))
            return
        self.get_logger().info(
            f'{self.recording.run.path} is closed: {self.recording.messages} messages, '
            f'{self.recording.transitions} transitions, {self.writer.lost} lost; the head of its '
            f'chain is {self.recording.head}'
        )


def main() -> int:
    """Run the node ``recorder``."""
    return run(Recorder, executor=fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
