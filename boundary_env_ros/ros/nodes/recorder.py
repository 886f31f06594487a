# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``recorder``: the bag and the index of episodes, and the last word on an environment that died."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
import os
from pathlib import Path
import signal
import sys
from typing import Any

from boundary_env_ros import __version__
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import set_time, to_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.recorded_topics import (
    offered_qos,
    RawSubscription,
    recorded_topics,
    RecordedTopic,
)
from boundary_env_ros.storage.definitions import definition_of
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import PATIENCE, RunRecording

# Sign of life, s.
_STATUS_PERIOD = 0.2
# What is on the disk is at most this old, s; a little below the half second that is promised.
_FLUSH_PERIOD = 0.4
# Looks for the environment's sign of life within the time it is given.
_WATCHES = 8
# Latched messages of one topic that are kept from before the recording: one of each node.
_LATCHED_BEFORE = 50


class Recorder(ContractNode):
    """
    Carries bytes to the recording of a run.

    A run is recorded once: the recording begins when the node is activated, with what was latched before, and is complete when it
    is deactivated. After that, another one needs another node, with another folder.
    """

    def __init__(self) -> None:
        super().__init__('recorder', 'recorder')
        self.declare('run', '', 'Folder of the run, made by the node; nothing may be there yet.')
        self._recording: RunRecording | None = None
        self._subscriptions_raw: list[RawSubscription] = []
        self._unseen: dict[str, RecordedTopic] = {}
        self._before: dict[str, deque[tuple[bytes, int, int]]] = {}
        self._status: Any = None
        self._episode_status: Any = None
        self._active = False
        self._closed = False
        self._lost = 0

    def configure(self) -> None:
        """Make the folder, and listen; what is heard is written as soon as the node is active."""
        place = self.value('run')
        if not place:
            raise BoundaryError(
                'Expect the parameter run to name a folder for the run, actually: it is empty. '
                'Start the node with `--ros-args -p run:=<folder>`.'
            )
        topics = recorded_topics(self, self.contract)
        prefixes = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
        # Before anything is written: a folder without messages would only be in the way of the next try.
        definitions = {topic.type: definition_of(topic.type, prefixes) for topic in topics}
        self._recording = RunRecording(
            RunFolder.create(Path(place).expanduser()),
            contract=self.loaded,
            definitions=definitions,
            recorder=self.get_name(),
            custom_data={
                'contract': self.contract.name,
                'contract_version': self.contract.version,
                'digest': self.loaded.digest,
                'software_version': __version__,
            },
            ros_distro=os.environ.get('ROS_DISTRO', ''),
        )
        self._closed = False
        self._unseen = {topic.name: topic for topic in topics}
        self._before = {
            topic.name: deque(maxlen=_LATCHED_BEFORE) for topic in topics if topic.latched
        }
        self._status = self.create_publisher(msg.RecorderStatus, names.RECORDER_STATUS, names.LATCHED)
        self._episode_status = self.create_publisher(
            msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED
        )
        self._subscriptions_raw = [
            RawSubscription(self, topic, partial(self._on_message, topic.name), self._on_lost)
            for topic in topics
        ]

    def activate(self) -> None:
        """Begin to write, with what was latched before."""
        if self._closed:
            raise RecordError(
                f'Expect a run to be recorded once, actually: {self.recording.run.path} is complete. '
                'Start a recorder with another folder.'
            )
        before, self._before = self._before, {}
        self._active = True
        for name, messages in before.items():
            for data, published, received in messages:
                self._on_message(name, data, published, received)
        self.every(_STATUS_PERIOD, self._say)
        self.every(_FLUSH_PERIOD, self._guarded(self.recording.flush))
        patience = PATIENCE * self.contract.safety.environment_timeout
        self.every(patience / _WATCHES, self._guarded(self._watch))
        self.get_logger().info(f'recording to {self.recording.run.path}')
        self._say()

    def deactivate(self) -> None:
        """Write what has come until now, and complete the files."""
        if not self._active:
            return
        for subscription in self._subscriptions_raw:
            subscription.drain()
        self._active = False
        self._close()
        self._say()

    def cleanup(self) -> None:
        """Let go of the files and of everything that :meth:`configure` made."""
        self._close()
        for subscription in self._subscriptions_raw:
            subscription.close()
        self._subscriptions_raw = []
        for publisher in (self._status, self._episode_status):
            if publisher is not None:
                self.destroy_publisher(publisher)
        self._status = self._episode_status = None
        self._recording = None

    @property
    def recording(self) -> RunRecording:
        """The files of the run."""
        if self._recording is None:
            raise BoundaryError(
                'Expect a configured recorder, actually: it is not. Configure it first.'
            )
        return self._recording

    # Events ---------------------------------------------------------------------------------------

    def _on_message(self, topic: str, data: bytes, published: int, received: int) -> None:
        if not self._active:
            if topic in self._before:
                self._before[topic].append((data, published, received))
            return
        now = self.clock.now()
        if self.contract.sim_time:
            # The middleware knows system time only, which has nothing to do with the clock of the run.
            published = received = now.ros.nanoseconds
        else:
            received = received or now.ros.nanoseconds
            published = published or received
        try:
            if topic in self._unseen:
                self._add(self._unseen.pop(topic))
            self.recording.write(topic, data, received, published, now)
        except RecordError as error:
            self._fail(error)
        self._tell()

    def _add(self, topic: RecordedTopic) -> None:
        """Declare a topic when its first message comes: only then it is known what its publishers offer."""
        self.recording.add_topic(topic.name, topic.type, offered_qos(self, topic.name))

    def _on_lost(self, number: int) -> None:
        if self._active:
            self.recording.add_lost(number)
            self._tell()

    def _watch(self) -> None:
        now = self.clock.now()
        ending = self.recording.watch(now)
        if ending is not None:
            self.get_logger().error(
                f'episode {ending.id.episode_id[:8]}: {ending.cause}. {ending.message}'
            )
            self._episode_status.publish(to_msg(ending, now))

    # Saying ---------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Log what somebody should know, and say at once if something was lost."""
        for notice in self.recording.notices():
            self.get_logger().error(notice)
        if self.recording.lost != self._lost:
            self.get_logger().error(
                f'{self.recording.lost} messages are missing in the record',
                throttle_duration_sec=1.0,
            )
            self._lost = self.recording.lost
            self._say()

    def _say(self) -> None:
        if not self.context.ok():
            return  # The process is being ended by a signal; nobody can be told any more.
        now = self.clock.now()
        recording = self.recording
        message = msg.RecorderStatus(
            digest=self.loaded.digest,
            recording=self._active,
            path=str(recording.run.path),
            messages=recording.messages,
            bytes=recording.size,
            lost=recording.lost,
            transitions=recording.transitions,
            taken=to_msg(now),
        )
        set_time(message.header.stamp, now.ros.nanoseconds)
        self._status.publish(message)

    # The end --------------------------------------------------------------------------------------

    def _guarded(self, act: Callable[[], None]) -> Callable[[], None]:
        def guarded() -> None:
            if self._active:
                try:
                    act()
                except RecordError as error:
                    self._fail(error)

        return guarded

    def _fail(self, error: RecordError) -> None:
        """Stop recording: the environment misses its sign of life, and ends the episode."""
        self.get_logger().fatal(f'the recording is over: {error}')
        self._active = False
        self._close()
        self._say()

    def _close(self) -> None:
        if self._recording is None or self._closed:
            return
        self._closed = True
        try:
            # Listened to in vain: that there was no message is part of the record too.
            for topic in self._unseen.values():
                self._add(topic)
            self._unseen = {}
        except RecordError as error:
            self.get_logger().error(str(error))
        try:
            self._recording.close()
        except RecordError as error:
            self.get_logger().error(str(error))
            return
        self.get_logger().info(
            f'{self._recording.run.path} is complete: {self._recording.messages} messages, '
            f'{self._recording.transitions} transitions, {self._recording.lost} lost'
        )


def main() -> int:
    """Run the node ``recorder``."""
    # A KeyboardInterrupt could tear a write in two. The handler of rclpy stays: it ends the
    # spinning between two callbacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run(Recorder)


if __name__ == '__main__':
    sys.exit(main())
