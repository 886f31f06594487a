# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A recorder under load for as long as one likes: what was sent is compared with what is in the bag.

Episode after episode of transitions, decisions and odometry is sent as fast as one says, and
images of as many cameras, each from a process of its own. At the end every number that was sent
must be in the bag. `python -m bench.recording_soak --duration 3600` is the soak of an hour;
`--cameras 4 --duration 60` the load of four cameras.
"""

from __future__ import annotations

import argparse
from collections import Counter
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import yaml

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.decision import GateDecision, RuleInput, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_reader import open_records

STEPS = 500
_SOON = 20.0
_MEGABYTE = 1e6


def contract_with(cameras: int, folder: Path) -> Path:
    """Write the cart's contract with as many cameras, the first of which it has."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    for number in range(1, cameras):
        data['observation'][f'camera_{number}'] = {
            **data['observation']['front'],
            'topic': camera_topic(number),
        }
    path = folder / 'contract.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return path


def camera_topic(number: int) -> str:
    """Return the topic of a camera."""
    return f'camera_{number}/image_raw' if number else 'camera/image_raw'


# Those who send ----------------------------------------------------------------------------------


class Sender:
    """Sends numbered messages at a rate until it is told to stop, and says how many."""

    def __init__(self, options: argparse.Namespace) -> None:
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.options = options
        self.node = rclpy.create_node(f'sender_{options.send.replace("/", "_")}')
        self.sent: Counter[str] = Counter()
        self.stopped = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def publisher(self, kind: Any, topic: str, qos: Any) -> Any:
        """Return a publisher, once the recorder listens."""
        made = self.node.create_publisher(kind, topic, qos)
        deadline = time.monotonic() + _SOON
        while not made.get_subscription_count():
            if time.monotonic() > deadline:
                raise SystemExit(f'No recorder subscribes to {topic}.')
            time.sleep(0.01)
        from boundary_env_ros.ros.authenticity import Authenticity

        domain = self.node.context.get_domain_id()
        return Authenticity(domain, Role.ENVIRONMENT).publisher(made)

    def run(self) -> None:
        """Send, and print what was sent."""
        publishers = self.records() if self.options.send == 'records' else self.images()
        from rclpy.duration import Duration

        for made in publishers:
            if not made.wait_for_all_acked(Duration(seconds=_SOON)):
                print(f'not all of {made.topic_name} was acknowledged', file=sys.stderr)
        print(json.dumps(self.sent), flush=True)

    def at_rate(self, rate: float) -> Any:
        """Yield the numbers of messages, each at its time; a late one does not wait."""
        begin = time.monotonic()
        number = 0
        while not self.stopped:
            yield number
            number += 1
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))

    def images(self) -> list[Any]:
        """Send the images of one camera."""
        from sensor_msgs.msg import Image

        from boundary_env_ros.ros import names

        camera = self.publisher(Image, self.options.send, names.SENSOR_LOCKSTEP)
        width, height = self.options.size
        # Half noise, half a plain wall: images compress, but not to nothing.
        pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), np.uint8)
        pixels[: height // 2] = 90
        frame = Image(height=height, width=width, encoding='rgb8', step=3 * width)
        frame.data.frombytes(pixels.tobytes())
        for number in self.at_rate(self.options.camera_rate):
            frame.header.frame_id = str(number)
            camera.publish(frame)
            self.sent[self.options.send] += 1
        return [camera]

    def records(self) -> list[Any]:
        """Send episode after episode."""
        from nav_msgs.msg import Odometry

        from boundary_env_ros.ros import names
        from boundary_env_ros.ros.clock import NodeClock
        from boundary_env_ros.ros.conversions import to_msg
        from boundary_env_ros.ros.interfaces import msg

        loaded = load(self.options.contract)
        contract = loaded.contract
        clock = NodeClock(self.node.get_clock(), sim_time=False)
        status = self.publisher(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
        to_transition = self.publisher(msg.Transition, names.TRANSITION, names.RECORD)
        to_decision = self.publisher(msg.GateDecision, names.GATE_DECISION, names.RECORD)
        odometry = self.publisher(Odometry, 'odom', names.SENSOR_LOCKSTEP)
        told = 0.0
        for number in self.at_rate(self.options.rate):
            episode, step = divmod(number, STEPS)
            id_ = StepId(
                digest=loaded.digest,
                agent=contract.agents[0],
                episode_id=f'{episode:08d}-0000-4000-8000-000000000000',
                step=step,
            )
            now = clock.now()
            last = step == STEPS - 1
            ending = {'ending': 'success', 'declared_by': 'soak'} if last else {}
            if step == 0 or last or now.steady / 1e9 > told + 0.1:
                told = now.steady / 1e9
                state = EpisodeState.TERMINATED if last else EpisodeState.RUNNING
                said = EpisodeStatus(
                    id=id_, state=state, pacing=Pacing.REALTIME, stamp=now, **ending
                )
                status.publish(to_msg(said, now))
            decision = GateDecision(
                id=id_,
                sequence=number + 1,
                verdict=Verdict.HELD,
                decided=now,
                inputs=RuleInput(trigger=Trigger.TIMER, time_step=0.1),
            )
            transition = Transition(
                contract=contract.name,
                contract_version=contract.version,
                software_version='0',
                client_version='0',
                id=id_,
                kind=Kind.STEP if step else Kind.RESET,
                pacing=Pacing.REALTIME,
                seed=episode,
                after=(),
                decisions=(decision,) * 5,
                closed=now,
                reward=0.5,
                terminated=last,
                **ending,
            )
            moved = Odometry()
            moved.header.frame_id = str(number)
            odometry.publish(moved)
            to_decision.publish(to_msg(decision, now))
            to_transition.publish(to_msg(transition, now))
            self.sent.update(('odom', names.GATE_DECISION, names.TRANSITION))
        return [to_transition, to_decision, odometry]


# The soak ----------------------------------------------------------------------------------------


def found_in(run: Path, cameras: int) -> dict[str, list[int]]:
    """Return the numbers that are in a run, topic by topic."""
    from boundary_env_ros.ros import names

    found: dict[str, list[int]] = {names.TRANSITION: [], names.GATE_DECISION: []}
    source = open_records(run)
    for entry in source.entries(Transition, GateDecision):
        record = entry.record
        if isinstance(record, Transition):
            episode = int(record.id.episode_id.split('-', 1)[0])
            found[names.TRANSITION].append(episode * STEPS + record.id.step)
        elif isinstance(record, GateDecision):
            found[names.GATE_DECISION].append(record.sequence - 1)
    numbered = ['odom', *(camera_topic(number) for number in range(cameras))]
    for topic in numbered:
        found[topic] = []
    for message in source.messages([f'/{topic}' for topic in numbered]):
        # Header: representation, stamp, then the text with its length.
        length = int.from_bytes(message.data[12:16], 'little') - 1
        found[message.topic[1:]].append(int(message.data[16 : 16 + length]))
    return found


class Usage:
    """What a process used, from ``/proc``."""

    def __init__(self, pid: int) -> None:
        fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
        self.cpu = (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        self.memory = int(fields[21]) * os.sysconf('SC_PAGE_SIZE')
        self.at = time.monotonic()


def soak(options: argparse.Namespace, folder: Path) -> int:
    """Run it, print the figures, and return how many transitions are missing."""
    from boundary_env_ros.ros import names
    from boundary_env_ros.ros.domain import free_domain
    from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running

    contract = contract_with(options.cameras, folder)
    domain = free_domain()
    os.environ.update(isolated_environment(domain), ROS_DOMAIN_ID=str(domain))
    run = folder / 'run'
    spec = NodeSpec(
        name='recorder',
        parameters={
            'contract': str(contract),
            'run': str(run),
            'max_bag_size': options.max_bag_size,
        },
    )
    sends = ['records', *(camera_topic(number) for number in range(options.cameras))]
    common = [sys.executable, '-m', 'bench.recording_soak', *sys.argv[1:]]
    with running([spec], domain_id=domain, logs=folder) as processes:
        recorder = processes['recorder'].process.pid
        senders = [
            subprocess.Popen(
                [*common, '--send', what, '--contract', str(contract)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for what in sends
        ]
        try:
            usages = _watch(recorder, options.duration)
        finally:
            for sender in senders:
                sender.send_signal(signal.SIGTERM)
        sent: Counter[str] = Counter()
        for sender in senders:
            output, _ = sender.communicate(timeout=2 * _SOON)
            if sender.returncode:
                raise SystemExit('A sender failed.')
            sent.update(json.loads(output))
        # What it has not taken yet is in its queues.
        time.sleep(1.0)
    return _report(options, usages, sent, found_in(run, options.cameras), run, names.TRANSITION)


def _watch(recorder: int, duration: float) -> list[Usage]:
    """Look at the recorder ten times in the given time, s."""
    usages = []
    for _ in range(10):
        time.sleep(duration / 10)
        usages.append(Usage(recorder))
    return usages


def _report(
    options: argparse.Namespace,
    usages: list[Usage],
    sent: Counter[str],
    found: dict[str, list[int]],
    run: Path,
    vital: str,
) -> int:
    bag = list((run / 'bag').glob('*.mcap'))
    size = sum(file.stat().st_size for file in bag)
    image = 3 * options.size[0] * options.size[1]
    rate = sum(n for topic, n in sent.items() if topic.startswith('camera')) * image
    print(f'recording, {options.duration:g} s, {options.cameras} cameras', end='')
    print(f' of {options.size[0]}x{options.size[1]} at {options.camera_rate:g} Hz,', end='')
    print(f' {options.rate:g} steps a second')
    for topic, number in sent.items():
        numbers = found[topic]
        lost, order = number - len(set(numbers)), numbers == sorted(numbers)
        twice = len(numbers) - len(set(numbers))
        print(
            f'  {topic:<28} sent {number:>9}   recorded {len(numbers):>9}   lost {lost}'
            + ('' if order else '   NOT IN ORDER')
            + (f'   {twice} TWICE' if twice else '')
        )
    used = usages[-1].cpu - usages[0].cpu
    print(f'  images {rate / options.duration / _MEGABYTE:.1f} MB/s', end='')
    print(f'   bag {size / _MEGABYTE:.1f} MB in {len(bag)} files')
    print(
        f'  memory of the recorder {usages[0].memory / _MEGABYTE:.0f} MB after a tenth, '
        f'{usages[-1].memory / _MEGABYTE:.0f} MB at the end   '
        f'processor {100 * used / (usages[-1].at - usages[0].at):.0f} %'
    )
    return sent[vital] - len(set(found[vital]))


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition('x')
    return int(width), int(height)


def main() -> int:
    """Soak; exit code 1 if a transition is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--duration', type=float, default=3600.0, help='s (%(default)s)')
    parser.add_argument('--rate', type=float, default=50.0, help='steps a second (%(default)s)')
    parser.add_argument('--cameras', type=int, default=0, help='(%(default)s)')
    parser.add_argument('--size', type=_size, default=(640, 480), help='of an image (640x480)')
    parser.add_argument('--camera-rate', type=float, default=15.0, help='Hz (%(default)s)')
    parser.add_argument(
        '--max-bag-size', type=int, default=500_000_000, help='bytes of a file (%(default)s)'
    )
    parser.add_argument('--send', help=argparse.SUPPRESS)
    parser.add_argument('--contract', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        Sender(options).run()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 1 if soak(options, Path(folder)) else 0


if __name__ == '__main__':
    sys.exit(main())
