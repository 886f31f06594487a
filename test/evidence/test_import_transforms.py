# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag's transforms are looked up as a robot's are, on whatever topic they were recorded."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.importing.importer import import_bag, ImportOptions
from boundary_env_ros.evidence.infer_contract.bag_survey import init_from_bag
from boundary_env_ros.storage.contract_file import LoadedContract, loads
from boundary_env_ros.storage.record_reader import open_records
from support.bag_maker import make_tape, Tape, write_bag
from support.record_maker import Bench, Sent

_OFFSET = (1.0, -2.0, 0.5)
_SOME = 3_000_000_000
_FIELD = """
  where:
    transform: {in: /map, of: eye}
    parts: translation
    low: -9.0
    high: 9.0
    max_age: 0.5
"""


@pytest.fixture(scope='module')
def drive(loaded: LoadedContract, task: Task) -> Tape:
    """Return three seconds of sensors and commands."""
    tape = make_tape(Bench, loaded, task, 1)
    return [
        sent
        for sent in tape
        if sent.log_time < tape[0].log_time + _SOME
        and not is_dataclass(sent.what)
        and not sent.type.startswith('boundary_env_ros/')
    ]


def _frame(parent: str, child: str, stamp: Any, position: dict[str, float]) -> dict[str, Any]:
    header = {'stamp': stamp, 'frame_id': parent}
    turned = {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0}
    transform = {'translation': position, 'rotation': turned}
    return {'transforms': [{'header': header, 'child_frame_id': child, 'transform': transform}]}


def _told(drive: Tape, topic: str) -> Tape:
    """Return transforms: the eye is where the detector of poses sees the cart, in a fixed hall."""
    offset = dict(zip('xyz', _OFFSET, strict=True))
    fixed = _frame('map', 'hall', {'sec': 0, 'nanosec': 0}, offset)
    begin = drive[0].log_time
    kind = 'tf2_msgs/msg/TFMessage'
    tape = [Sent(f'{topic}_static', begin, begin, fixed, kind)]
    for sent in drive:
        if sent.topic == '/pose_detections':
            stamp, pose = sent.what['header']['stamp'], sent.what['pose']['pose']
            moved = _frame('hall', 'eye', stamp, pose['position'])
            tape.append(Sent(topic, sent.log_time, sent.publish_time, moved, kind))
    return tape


def _import(folder: Path, drive: Tape, topics: list[str], contract: LoadedContract) -> Any:
    tape = [*drive, *(sent for topic in topics for sent in _told(drive, topic))]
    write_bag(folder / 'bag', sorted(tape, key=lambda sent: sent.log_time))
    return import_bag(folder / 'bag', folder / 'run', contract, ImportOptions())


def _with(loaded: LoadedContract, tf: str = '') -> LoadedContract:
    text = loaded.text.replace('\nprivileged:', f'{_FIELD}\nprivileged:', 1)
    return loads(f'{text}\nrobot: {{tf: {tf}}}\n' if tf else text)


@pytest.mark.parametrize(
    ('recorded', 'tf'),
    [
        (['/tf'], ''),
        # In whatever namespace, as any other topic, where there is one alone.
        (['/robot1/tf'], ''),
        (['/robot1/tf', '/robot2/tf'], 'robot2/tf'),
        (['/frames', '/tf'], 'frames'),
    ],
)
def test_a_field_is_where_the_transforms_of_the_bag_say(
    tmp_path: Path, drive: Tape, loaded: LoadedContract, recorded: list[str], tf: str
) -> None:
    imported = _import(tmp_path, drive, recorded, _with(loaded, tf))
    assert not [note for note in imported.notes if 'where' in note or 'tf' in note]
    steps = list(open_records(tmp_path / 'run').transitions())
    assert len(steps) > 10
    for step in steps:
        fields = {field.name: field for field in step.after}
        pose, where = fields['pose'], fields['where']
        assert where.status is FieldStatus.FRESH
        assert where.captured == pose.captured
        x, y, z = _OFFSET
        assert where.values == pytest.approx((pose.values[0] + x, pose.values[1] + y, z))


def test_frames_that_are_on_another_topic_are_named_with_what_to_write(
    tmp_path: Path, drive: Tape, loaded: LoadedContract
) -> None:
    other = [sent for sent in _told(drive, '/tf') if 'static' not in sent.topic]
    with pytest.raises(
        RecordError,
        match=r'nothing usable came: where: Unknown frame .expected one that /tf or /tf_static '
        r"names: eye, hall, got 'map'.*/robot1/tf has the frames eye, map: "
        r'write `robot: \{tf: robot1/tf\}` in the contract',
    ):
        _import(tmp_path, [*drive, *other], ['/robot1/tf', '/robot2/tf'], _with(loaded))


def test_a_bag_without_the_topic_lacks_it(
    tmp_path: Path, drive: Tape, loaded: LoadedContract
) -> None:
    expected = r'lacks topics .*expected /tf \(field where\), got .*/robot1/tf \(tf2_msgs'
    with pytest.raises(RecordError, match=expected):
        _import(tmp_path, drive, ['/robot1/tf', '/robot2/tf'], _with(loaded))


def test_a_draft_says_how_transforms_in_a_namespace_are_named(tmp_path: Path, drive: Tape) -> None:
    tape = [*drive, *_told(drive, '/robot1/tf')]
    write_bag(tmp_path / 'bag', sorted(tape, key=lambda sent: sent.log_time))
    text = ' '.join(init_from_bag(tmp_path / 'bag').replace('#', '').split())
    for topic in ('/robot1/tf', '/robot1/tf_static'):
        assert (
            f'{topic} (tf2_msgs/msg/TFMessage): a field `transform: {{of: FRAME, in: FRAME}}` '
            'looks transforms up, with `robot: {tf: robot1/tf}`'
        ) in text
