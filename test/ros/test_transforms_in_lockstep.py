# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields that are looked up in lockstep: the cart's frames, and one of another process."""

from __future__ import annotations

from pathlib import Path
from struct import pack
import subprocess
import sys
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from mcap.reader import make_reader
from mcap.writer import Writer

from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.evidence.audit.audit import audit_path
from support import frame_teller
from support.ros_world import CYCLONE_DDS, PATIENT

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

AHEAD = np.array([0.5, 0.3], dtype=np.float32)


def field(of: str, where: str) -> dict[str, Any]:
    return {
        'transform': {'of': of, 'in': where},
        'parts': ['translation'],
        'low': -20.0,
        'high': 20.0,
    }


def test_frames_of_robot_and_others_are_looked_up_recorded_and_computed_again(
    make_world: MakeWorld,
) -> None:
    changes = {
        **PATIENT,
        'observation': {
            **PATIENT['observation'],
            'cart': field('base_link', 'hall'),
            'board': field('board', 'hall'),
            'mount': field('board', 'base_link'),
        },
    }
    world = make_world(pacing='lockstep', changes=changes, recorder=True)
    teller = subprocess.Popen([sys.executable, frame_teller.__file__])
    try:
        env = world.environment()
        seen = []
        for _ in range(2):
            env.reset(seed=5, options={'scenario': 'clear'})
            episode = []
            for _ in range(10):
                env.step(AHEAD)
                assert env.last is not None
                episode.append({f.name: f for f in env.last.transition.after})
            seen.append(episode)
            world.end_episode()
    finally:
        teller.kill()
        teller.wait()
    for step in (step for episode in seen for step in episode):
        cart, board, mount = (step[name] for name in ('cart', 'board', 'mount'))
        assert mount.values == pytest.approx((0.4, 0.0, 0.0))
        assert np.linalg.norm(np.subtract(board.values, cart.values)) == pytest.approx(0.4)
        # What of odometry is not lost on its way comes as often, and as old.
        assert cart.captured == board.captured == step['velocity'].captured
        assert mount.age == 0.0
        assert {f.status for f in (cart, board, mount)} == {FieldStatus.FRESH}
    first, second = ([_plain(step) for step in episode] for episode in seen)
    assert first == second

    world.drain()
    world.processes['recorder'].stop(grace=20.0)
    report = audit_path(world.run)
    assert report.counts == {}, f'\n{report}'
    assert report.from_topics['fields'] > 3 * 20

    forged = world.run.parent / 'forged.mcap'
    x = seen[1][4]['cart'].values[0]
    _change(next((world.run / 'bag').glob('*.mcap')), forged, pack('<d', x), pack('<d', x + 0.1))
    report = audit_path(forged, world.loaded.contract)
    if CYCLONE_DDS:  # for all that a recorder knows, others of that stamp got lost
        assert 'environment /tf' in report.beyond, f'\n{report}'
    else:
        assert report.counts.get('values-from-sensors', 0) >= 1, f'\n{report}'


def _plain(step: dict[str, ObservationField]) -> dict[str, Any]:
    return {name: (f.values, f.status, f.age) for name, f in step.items()}


def _change(bag: Path, copy: Path, before: bytes, after: bytes) -> None:
    """Copy a bag with other numbers in its transforms."""
    with bag.open('rb') as source, copy.open('wb') as target:
        writer = Writer(target)
        writer.start(profile='ros2')
        channels: dict[int, int] = {}
        for schema, channel, message in make_reader(source).iter_messages():
            if channel.id not in channels:
                assert schema is not None
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, kind, dict(channel.metadata)
                )
            data = message.data
            if channel.topic == '/tf':
                data = data.replace(before, after)
            times = {'log_time': message.log_time, 'publish_time': message.publish_time}
            writer.add_message(channels[channel.id], data=data, **times)
        writer.finish()
