# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What was on the disk when the power went is what the recorder says.

The recorder writes to a disk in a file. A copy of that file is what the disk would hold if the
power went now: the kernel's own memory is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import random
import shutil
import subprocess

import pytest
from rosbags.rosbag2 import Reader

from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.recovery import recover
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording
from support.storage_wire import BEGIN, cdr, definition, instant, transition

TYPES = {
    '/transition': 'boundary_env_ros/msg/Transition',
    '/noise': 'std_msgs/msg/ByteMultiArray',
}


def done(*command: object) -> bool:
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[None]:
    place.mkdir()
    if not done('mount', '-o', 'loop', image, place):
        pytest.skip('no disk can be mounted here')
    try:
        yield
    finally:
        assert done('umount', place)


def steps(recording: RunRecording, begin: int, end: int) -> None:
    for step in range(begin, end):
        time = BEGIN + step * 1_000_000
        recording.write('/transition', cdr(transition(step)), time, time, instant())
        noise = random.Random(step).randbytes(5000)
        recording.write('/noise', noise, time, time, instant())
    recording.flush()


@pytest.mark.parametrize('split_size', [0, 150_000])
def test_what_the_disk_was_waited_for_survives(tmp_path: Path, split_size: int) -> None:
    disk, copy = tmp_path / 'disk', tmp_path / 'copy'
    with disk.open('wb') as file:
        file.truncate(48 * 2**20)
    if not done('mkfs.ext4', '-q', disk):
        pytest.skip('no file system can be made here')
    with mounted(disk, tmp_path / 'before'):
        recording = RunRecording(
            RunFolder.create(tmp_path / 'before/run'),
            contract=load('warehouse_cart'),
            definitions={name: definition(name) for name in TYPES.values()},
            recorder='recorder',
            split_size=split_size,
        )
        for topic, kind in TYPES.items():
            recording.add_topic(topic, kind)
        steps(recording, 0, 100)
        recording.begin_sync()()
        # What comes now is with the kernel, and perhaps on the disk.
        steps(recording, 100, 200)
        shutil.copyfile(disk, copy)
        recording.close()
    with mounted(copy, tmp_path / 'after'):
        run = RunFolder(tmp_path / 'after/run')
        recover(run.path)
        recorded = [t.id.step for t in open_records(run.path).transitions()]
        with EpisodeStore.open(run.episodes) as store:
            (row,) = store.episodes()
        with Reader(run.bag) as bag:
            assert sum(1 for _ in bag.messages()) == bag.message_count >= 200
    assert recorded == list(range(len(recorded)))
    assert 100 <= len(recorded) <= 200
    assert row.step_count >= 99
