# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets in the layouts of other projects: what of a run is in them, and what stands beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import io
import json
import math
from pathlib import Path
import struct
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
pytest.importorskip('pyarrow', reason='needs pyarrow')
pytest.importorskip('h5py', reason='needs h5py, as the extra minari brings it')
pytest.importorskip('google_crc32c', reason='needs google-crc32c, as the extra rlds brings it')
from bag_maker import write_bag
from export_runs import bagged, driven_by_hand, episodes_in, ExportRun, front_of, values_of
import h5py
import PIL.Image
import pyarrow.parquet
from record_maker import Bench, chosen_start, Piece
from world_maker import make_world_tape
import yaml

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.episode_label import EpisodeLabel, Label
from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.gate.decision import Trigger
from boundary_env_ros.core.imported import import_marks
from boundary_env_ros.core.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditReport
from boundary_env_ros.evidence.export.dataset import write_dataset
from boundary_env_ros.evidence.export.episodes import EpisodeStream, Gaps, Head, Origin, Step
from boundary_env_ros.evidence.export.export import export_run, Exported, LAYOUTS
from boundary_env_ros.evidence.export.layout import about, choices, Layout
from boundary_env_ros.evidence.export.minari import dataset_id
from boundary_env_ros.evidence.export.moments import Moments
from boundary_env_ros.evidence.export.png import to_png
from boundary_env_ros.evidence.export.spaces import action_space, observation_space
from boundary_env_ros.evidence.export.tf_records import example, RecordFile
from boundary_env_ros.facade import spaces
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task
from boundary_env_ros.storage.jsonl import TransitionJsonl
from boundary_env_ros.storage.reader import open_records
from boundary_env_ros.storage.records import Entry

GOOD = Path(__file__).parents[1] / 'storage' / 'good_contracts'

#: What TensorFlow 2.21 writes.
GOLDEN_EXAMPLE = (
    '0a3b0a160a016112111a0f0a0d01ffffffffffffffffff01ac020a110a0162120c120a0a08000000'
    '3f0000807f0a0e0a016312090a070a000a0378797a'
)
GOLDEN_RECORDS = '0500000000000000eab2043e666972737455ff23e5000000000000000029039807d8ea82a2'


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> ExportRun:
    """Return a run of three episodes with a takeover and camera images."""
    return driven_by_hand(tmp_path_factory.mktemp('run') / 'bag')


@pytest.fixture(scope='module')
def sets(
    run: ExportRun, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Path, Exported]]:
    """Return the run in every layout."""
    folder = tmp_path_factory.mktemp('sets')
    made = {}
    for layout in LAYOUTS:
        out = folder / f'cart_{layout}-v0'
        made[layout] = (out, export_run(run.bag, out, layout))
    return made


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    """Return each layout."""
    return str(request.param)


# All of them -------------------------------------------------------------------------------------


def test_every_step_of_the_run_is_in_it(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]], layout: str
) -> None:
    _, exported = sets[layout]
    assert exported.episodes == len(run.episodes) == 3
    assert exported.steps == len(list(run.steps)) > 100
    assert exported.left_out == exported.unreadable == ()


@pytest.fixture(scope='module')
def audited(run: ExportRun, tmp_path_factory: pytest.TempPathFactory) -> AuditReport:
    """Return what the audit finds in the records of the run alone."""
    out = tmp_path_factory.mktemp('audited') / 'records'
    export_run(run.bag, out, 'jsonl')
    return audit_path(out)


def test_audit_of_it_is_that_of_the_records(
    audited: AuditReport, sets: dict[str, tuple[Path, Exported]], layout: str
) -> None:
    found = audit_path(sets[layout][0])
    assert found.counts == audited.counts
    assert (found.episodes, found.contract) == (audited.episodes, audited.contract)
    assert found.not_applied == audited.not_applied


def test_data_set_can_be_exported_again_without_its_images(
    sets: dict[str, tuple[Path, Exported]], tmp_path: Path
) -> None:
    exported = export_run(sets['lerobot'][0], tmp_path / 'again', 'minari')
    assert exported.steps == sets['lerobot'][1].steps
    assert exported.left_out == (
        "the image field 'front': the record has no messages of camera/image_raw",
    )


def test_agents_of_one_world_are_episodes_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip('mujoco', reason='the world is simulated by MuJoCo')
    loaded = load('two_carts', Pacing.LOCKSTEP)
    tape = make_world_tape(loaded, episodes=2, steps=5, seed=3)
    write_bag(tmp_path / 'bag', tape)
    exported = export_run(tmp_path / 'bag', tmp_path / 'set', 'lerobot')
    assert exported.episodes == 4
    rows = pyarrow.parquet.read_table(tmp_path / 'set/meta/episodes').to_pylist()
    assert [row['boundary/agent'] for row in rows] == ['cart_a', 'cart_a', 'cart_b', 'cart_b']
    for agent in loaded.contract.agents:
        frames = [len(steps) for steps in episodes_in(tape, agent)]
        assert [row['length'] for row in rows if row['boundary/agent'] == agent] == frames


@pytest.mark.parametrize('where', ['contract', 'steps'])
def test_run_that_a_layout_cannot_hold_is_refused(
    where: str, layout: str, record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    kept = [p for p in record if where == 'contract' or not _is_step(p)]
    entries = (Entry(p, '/t', i, Path('bag'), i) for i, p in enumerate(kept))
    text = '' if where == 'contract' else loaded.text
    write_dataset(tmp_path / 'records', 'jsonl', entries, contract=text)
    expected = 'has no contract' if where == 'contract' else 'has no step'
    with pytest.raises(RecordError, match=expected):
        export_run(tmp_path / 'records', tmp_path / 'set', layout)
    assert [path.name for path in tmp_path.iterdir()] == ['records']


def test_contract_can_be_given_to_a_run_that_has_none(
    record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    lines = tmp_path / 'transitions.jsonl'
    with TransitionJsonl(lines) as file:
        for piece in record:
            if isinstance(piece, Transition):
                file.append(piece)
    exported = export_run(lines, tmp_path / 'set', 'rlds', contract=loaded)
    assert exported.steps == sum(map(_is_step, record))
    assert (tmp_path / 'set/records/contract.yaml').read_text() == loaded.text
    other = loads(loaded.text.replace('time_limit: 6.0', 'time_limit: 7.0'))
    assert other.digest != loaded.digest
    with pytest.raises(RecordError, match='was made under another contract'):
        export_run(lines, tmp_path / 'other', 'rlds', contract=other)


def test_place_that_is_taken_is_left_as_it_is(run: ExportRun, layout: str, tmp_path: Path) -> None:
    (tmp_path / 'set').write_text('mine')
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        export_run(run.bag, tmp_path / 'set', layout)
    assert (tmp_path / 'set').read_text() == 'mine'


@pytest.mark.parametrize(
    ('layout', 'module', 'wanted'),
    [
        ('lerobot', 'pyarrow', 'pyarrow'),
        ('minari', 'h5py', 'minari h5py pyarrow'),
        ('rlds', 'google_crc32c', 'google-crc32c pyarrow'),
    ],
)
def test_what_is_not_installed_is_asked_for_by_its_own_name(
    layout: str,
    module: str,
    wanted: str,
    run: ExportRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__('sys').modules, module, None)
    with pytest.raises(MissingDependency, match=f'`pip install {wanted}`'):
        export_run(run.bag, tmp_path / 'set', layout)
    assert list(tmp_path.iterdir()) == []


def _is_step(piece: object) -> bool:
    return isinstance(piece, Transition) and piece.kind is Kind.STEP


def silenced(step: Transition) -> Transition:
    """Return a step in which nothing was sent."""
    step = replace(step, decisions=(), decision=-1, requested_action=())
    return replace(step, admitted_action=(), commanded_action=())


# Steps, as every layout gets them ----------------------------------------------------------------


def follow(contract: Contract, record: list[Any]) -> tuple[list[list[Step]], Gaps]:
    gaps = Gaps()
    stream = EpisodeStream(contract, 'cart', (), None, gaps, {})
    episodes: list[list[Step]] = []
    entries = (Entry(p, '', i, Path('bag'), i) for i, p in enumerate(record))
    for piece in stream.follow(entries):
        if isinstance(piece, Head):
            episodes.append([])
        else:
            episodes[-1].append(piece)
    return episodes, gaps


def test_ending_that_the_recorder_declared_is_that_of_the_last_step(
    contract: Contract, record: list[Piece]
) -> None:
    last = next(p for p in record if isinstance(p, Transition) and p.terminated)
    end = record.index(last)
    cut = [p for p in record[:end] if not (isinstance(p, EpisodeStatus) and p.state.over)]
    status = EpisodeStatus(
        id=last.id,
        state=EpisodeState.TRUNCATED,
        pacing=last.pacing,
        ending='environment_lost',
        declared_by='recorder',
    )
    ended = follow(contract, [*cut, status])[0][-1][-1]
    assert (ended.last, ended.terminated, ended.truncated) == (True, False, True)
    assert (ended.ending, ended.declared_by) == ('environment_lost', 'recorder')
    torn = follow(contract, cut)[0][-1][-1]
    assert (torn.terminated, torn.truncated, torn.ending) == (False, True, '')
    assert torn.declared_by == 'export'


def test_late_evidence_of_an_actuation_reaches_its_step(
    contract: Contract, record: list[Piece]
) -> None:
    evidence = [p for p in record if isinstance(p, ActuationEvidence)]
    late = {
        step.transition.id: step.actuated
        for episode in follow(contract, record)[0]
        for step in episode
        if step.transition.actuated is None
    }
    assert evidence
    found = [e for e in evidence if late.get(e.id) == e.actuated]
    assert len(found) > len(evidence) / 2


def test_what_people_made_of_an_episode_goes_with_it(
    record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    last = next(i for i, p in enumerate(record) if isinstance(p, Transition) and p.ending)
    label = EpisodeLabel(id=record[last].id, label=Label.FAILURE, user='anna')
    pieces = [*record[: last + 1], label]
    entries = (Entry(p, '/t', i, Path('bag'), i) for i, p in enumerate(pieces))
    write_dataset(tmp_path / 'records', 'jsonl', entries, contract=loaded.text)
    export_run(tmp_path / 'records', tmp_path / 'set', 'lerobot')
    (row,) = pyarrow.parquet.read_table(tmp_path / 'set/meta/episodes').to_pylist()
    assert (row['boundary/success'], row['boundary/label']) == (True, 'failure')


def test_steps_that_are_lost_are_counted(contract: Contract, record: list[Piece]) -> None:
    steps = [p for p in record if _is_step(p)]
    kept = [p for p in record if p not in steps[3:5]]
    episodes, gaps = follow(contract, kept)
    assert gaps.lost_steps == 2
    assert sum(map(len, episodes)) == len(steps) - 2
    twice = [p for piece in kept for p in ([piece, piece] if piece is steps[7] else [piece])]
    assert follow(contract, twice)[1].lost_steps == 2


def test_command_that_nobody_knows_is_not_held_over_lost_steps(
    contract: Contract, record: list[Piece]
) -> None:
    steps = [p for p in record if _is_step(p)]
    silent = silenced(steps[5])
    kept = [silent if p is steps[5] else p for p in record if p not in steps[3:5]]
    behind = follow(contract, kept)[0][0][3]
    assert behind.transition is silent
    assert behind.origin is Origin.UNKNOWN
    assert np.isnan(behind.applied).all()


def imported(record: list[Piece]) -> list[Piece]:
    """Return the first episode as if it had been made from a bag, without a judgement."""
    marks = import_marks('drive', derived=('admitted_action',), unknown=('seed', 'reward'))
    steps = [p for p in record if isinstance(p, Transition)]
    pieces: list[Piece] = []
    for step in steps:
        if step.id.episode_id == steps[0].id.episode_id:
            made = replace(step, diagnostics=marks, decisions=(), decision=-1, verdict=None)
            if _is_step(made):
                action = made.commanded_action or (0.0, 0.0)
                made = replace(made, admitted_action=action, reward=math.nan, reward_terms=())
            pieces.append(made)
    return pieces


def test_imported_episode_says_so_and_no_gate_admitted_its_actions(
    contract: Contract, record: list[Piece]
) -> None:
    pieces = imported(record)
    (steps,), _ = follow(contract, pieces)
    assert about(Head(first=pieces[0]), steps[-1])['imported'] == 'drive'
    recorded = next(p for p in record if isinstance(p, Transition))
    assert about(Head(first=recorded), steps[-1])['imported'] == ''
    assert {step.origin for step in steps} == {Origin.COMMAND}
    assert all(step.applied == step.transition.admitted_action for step in steps)


def test_reward_that_nobody_knows_stays_unknown_in_every_layout(
    record: list[Piece], loaded: LoadedContract, layout: str, tmp_path: Path
) -> None:
    pieces = imported(record)
    entries = (Entry(p, '/t', i, Path('bag'), i) for i, p in enumerate(pieces))
    write_dataset(tmp_path / 'records', 'jsonl', entries, contract=loaded.text)
    exported = export_run(tmp_path / 'records', tmp_path / 'set', layout)
    assert exported.steps == len(pieces) - 1
    if layout == 'lerobot':
        table = pyarrow.parquet.read_table(tmp_path / 'set/data')
        assert all(map(math.isnan, table['next.reward'].to_pylist()))
    elif layout == 'minari':
        with h5py.File(tmp_path / 'set/data/main_data.hdf5') as file:
            assert np.isnan(file['episode_0/rewards'][:]).all()
    else:
        (shard,) = (tmp_path / 'set').glob('*.tfrecord*')
        _, _, rewards = shard.read_bytes().partition(b'steps/reward')
        # Each is a key, a length and 8 bytes; the step behind the last action has 0.
        unknown = bytes((1 << 3 | 2, 8)) + struct.pack('<d', math.nan)
        assert unknown * exported.steps in rewards[: 10 * exported.steps + 20]


def test_applied_action_is_what_the_robot_was_sent(run: ExportRun, tmp_path: Path) -> None:
    episodes, _ = follow(run.contract, list(_records(run)))
    steps = [step for episode in episodes for step in episode]
    assert {step.origin for step in steps} >= {Origin.ADMITTED, Origin.COMMAND}
    for step in steps:
        sent = [d.command for d in step.transition.decisions if d.published]
        if step.origin is Origin.ADMITTED:
            assert step.applied == step.transition.admitted_action
        elif step.origin is Origin.COMMAND:
            assert step.applied == sent[-1]
        by_hand = any(
            d.trigger is Trigger.OPERATOR and d.published for d in step.transition.decisions
        )
        assert step.intervened == by_hand
        assert not (by_hand and step.origin is Origin.ADMITTED)
    assert any(step.intervened for step in steps)


def test_command_that_the_driver_holds_goes_on_as_the_applied_action(
    contract: Contract, record: list[Piece]
) -> None:
    steps = [p for p in record if _is_step(p)]
    silent = silenced(steps[2])
    changed = [silent if p is steps[2] else p for p in record]
    first = follow(contract, changed)[0][0]
    assert first[2].origin is Origin.HELD
    assert first[2].applied == steps[1].decisions[-1].command
    values = Layout(contract, ()).step_values(first[2])
    assert np.isnan(values['action_requested']).all()


def _records(run: ExportRun) -> Iterator[Any]:
    return open_records(run.bag).records()


# LeRobot -----------------------------------------------------------------------------------------


def test_lerobot_frames_are_the_steps(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]]
) -> None:
    root = sets['lerobot'][0]
    info = json.loads((root / 'meta/info.json').read_text())
    table = pyarrow.parquet.read_table(root / 'data/chunk-000/file-000.parquet')
    assert info['codebase_version'] == 'v3.0'
    assert info['total_frames'] == len(table)
    assert set(table.column_names) == set(info['features'])
    numbers = [spec for spec in run.contract.observation if not spec.is_image]
    for row, step in zip(table.to_pylist(), run.steps, strict=True):
        state = [v for spec in numbers for v in values_of(step, spec.name)]
        assert row['observation.state'] == np.asarray(state, 'float32').tolist()
        requested = list(step.requested_action) or [math.nan, math.nan]
        np.testing.assert_array_equal(row['boundary.action_requested'], requested)
        assert row['boundary.time_closed'] == step.closed.ros.nanoseconds
        assert row['boundary.reward'] == step.reward
        assert (row['next.terminated'], row['next.truncated']) == (
            step.terminated,
            step.truncated,
        )
        image = np.asarray(PIL.Image.open(io.BytesIO(row['observation.images.front']['bytes'])))
        np.testing.assert_array_equal(image, front_of(run, step))


def test_lerobot_episodes_say_how_they_ended(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]]
) -> None:
    rows = pyarrow.parquet.read_table(sets['lerobot'][0] / 'meta/episodes').to_pylist()
    begun = 0
    for row, steps in zip(rows, run.episodes, strict=True):
        assert (row['dataset_from_index'], row['length']) == (begun, len(steps))
        begun += len(steps)
        assert row['boundary/seed'] == steps[0].seed
        assert row['boundary/contract_digest'] == steps[0].id.digest
        assert row['boundary/ending'] == steps[-1].ending
        assert row['boundary/success'] == (steps[-1].ending == 'success')


def test_statistics_are_those_of_all_values(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]]
) -> None:
    stats = json.loads((sets['lerobot'][0] / 'meta/stats.json').read_text())
    rewards = np.asarray([step.reward for step in run.steps], 'float32')
    for figure in ('min', 'max', 'mean', 'std'):
        expected = [getattr(rewards, figure)()]
        np.testing.assert_allclose(stats['next.reward'][figure], expected, rtol=1e-4)
    images = np.stack([front_of(run, step) for step in run.steps]) / 255.0
    mean = np.asarray(stats['observation.images.front']['mean'])
    np.testing.assert_allclose(mean[:, 0, 0], images.mean(axis=(0, 1, 2)), rtol=1e-6)


def test_moments_of_parts_are_those_of_the_whole() -> None:
    values = np.random.default_rng(1).normal(1e6, 2.0, (500, 3))
    values[7, 1] = math.nan
    whole = Moments(3)
    for part in np.array_split(values, 7):
        one = Moments(3)
        one.add(part)
        whole.merge(one)
    figures = whole.figures((3,))
    np.testing.assert_allclose(figures['std'], np.nanstd(values, axis=0), rtol=1e-9)
    np.testing.assert_allclose(figures['mean'], np.nanmean(values, axis=0))
    assert figures['count'] == [500]


# Minari ------------------------------------------------------------------------------------------


def test_minari_reads_its_data_set(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]], monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip('minari', reason='needs Minari')
    root = sets['minari'][0]
    monkeypatch.setenv('MINARI_DATASETS_PATH', str(root.parent))
    dataset = minari.load_dataset(root.name)
    assert dataset.total_steps == len(list(run.steps))
    assert dataset.observation_space == spaces.observation_space(run.contract)
    metadata = dataset.storage.get_episode_metadata(range(3))
    for episode, said, steps in zip(dataset, metadata, run.episodes, strict=True):
        assert said['seed'] == steps[0].seed
        assert said['contract_digest'] == steps[0].id.digest
        assert episode.terminations.tolist() == [step.terminated for step in steps]
        assert episode.truncations.tolist() == [step.truncated for step in steps]
        assert episode.rewards.tolist() == [step.reward for step in steps]
        assert episode.infos['ending'][-1].decode() == steps[-1].ending
        times = [-1, *(step.closed.ros.nanoseconds for step in steps)]
        assert episode.infos['time_closed'].tolist() == times
        for i, step in enumerate(steps):
            requested = step.requested_action or (math.nan, math.nan)
            np.testing.assert_array_equal(episode.infos['action_requested'][i + 1], requested)
            pose = episode.observations['pose']
            np.testing.assert_array_equal(pose[i], np.float32(values_of(step, 'pose')))
            np.testing.assert_array_equal(
                pose[i + 1], np.float32(values_of(step, 'pose', after=True))
            )
            front = episode.observations['front'][i + 1]
            np.testing.assert_array_equal(front, front_of(run, step, after=True))
    flags = [flag for episode in dataset for flag in episode.infos['intervention']]
    assert any(flags)


@pytest.mark.parametrize('name', ['choices', 'every_sensor', 'smallest'])
def test_spaces_are_those_of_the_environment_but_for_doubles(name: str) -> None:
    minari = pytest.importorskip('minari.serialization', reason='needs Minari')
    contract = loads((GOOD / f'{name}.yaml').read_text()).contract
    images = tuple(spec for spec in contract.observation if spec.is_image)
    layout = Layout(contract, images)
    seen = minari.deserialize_space(json.dumps(observation_space(layout)))
    assert seen == spaces.observation_space(contract)
    done = minari.deserialize_space(json.dumps(action_space(layout)))
    expected = spaces.action_space(contract)
    assert type(done) is type(expected)
    if contract.horizon == 1:
        done.seed(1)
        assert spaces.action_vector(contract, done.sample())


@pytest.mark.parametrize(
    ('name', 'found'),
    [('cart-v3', 'cart-v3'), ('cart', 'cart-v0'), ('my cart.2', 'my_cart_2-v0')],
)
def test_name_of_the_folder_becomes_an_id_of_minari(name: str, found: str) -> None:
    assert dataset_id(name) == found


# RLDS --------------------------------------------------------------------------------------------


def test_example_is_what_tensorflow_writes() -> None:
    # tf.train.Example.SerializeToString(), TensorFlow 2.21.
    features = {
        'a': np.asarray([1, -1, 300]),
        'b': np.asarray([0.5, math.inf]),
        'c': [b'', b'xyz'],
    }
    assert example(features).hex() == GOLDEN_EXAMPLE


def test_record_file_is_what_tensorflow_writes(tmp_path: Path) -> None:
    # tf.io.TFRecordWriter, TensorFlow 2.21.
    file = RecordFile(tmp_path / 'file')
    file.write(b'first')
    file.write(b'')
    file.close()
    assert (file.records, file.size) == (2, 5)
    assert (tmp_path / 'file').read_bytes().hex() == GOLDEN_RECORDS


def test_rlds_describes_its_shards(run: ExportRun, sets: dict[str, tuple[Path, Exported]]) -> None:
    root = sets['rlds'][0]
    (split,) = json.loads((root / 'dataset_info.json').read_text())['splits']
    (shard,) = root.glob('*.tfrecord-*')
    assert shard.name == 'cart_rlds_v0-train.tfrecord-00000-of-00001'
    data = shard.read_bytes()
    lengths = []
    while data:
        (length,) = struct.unpack_from('<Q', data)
        lengths.append(length)
        data = data[16 + length :]
    assert split['shardLengths'] == [str(len(lengths))] == [str(len(run.episodes))]
    assert split['numBytes'] == str(sum(lengths))


# Parts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('channels', 'dtype'), [(1, 'uint8'), (3, 'uint8'), (4, 'uint8'), (1, 'uint16')]
)
def test_png_holds_the_pixels_as_they_are(channels: int, dtype: str) -> None:
    most = np.iinfo(dtype).max
    pixels = np.random.default_rng(2).integers(0, most, (33, 47, channels), dtype, endpoint=True)
    opened = PIL.Image.open(io.BytesIO(to_png(pixels)))
    np.testing.assert_array_equal(np.asarray(opened).reshape(pixels.shape), pixels)


def test_unknown_choice_is_no_choice() -> None:
    assert choices((1.0, math.nan, 0.0)).tolist() == [1, -1, 0]


def _alternates(observation: Observation) -> tuple[float]:
    return (float(observation.id.step % 2),)


def test_choices_of_a_policy_are_indices_in_every_layout(tmp_path: Path) -> None:
    data: Any = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text('utf-8'))
    base = data['action']['base']
    base['kind'] = 'discrete'
    base['choices'] = {'rest': [0, 0], 'ahead': [0.2, 0], 'turn': [0, 0.5]}
    loaded = loads(yaml.safe_dump(data))
    bench = Bench(loaded.contract, loaded.digest, make_task(loaded.contract), 3)
    bench.stop_at = 8
    policy: Any = _alternates
    bench.episode('chooser', policy, 1, chosen_start('clear'))
    run = bagged(tmp_path / 'bag', bench, loaded)
    for layout in LAYOUTS:
        export_run(run.bag, tmp_path / layout, layout)
    with h5py.File(tmp_path / 'minari/data/main_data.hdf5') as file:
        actions = file['episode_0/actions'][:]
    assert actions.dtype == 'int64'
    assert set(actions.tolist()) <= {-1, 0, 1, 2}
    table = pyarrow.parquet.read_table(tmp_path / 'lerobot/data/chunk-000/file-000.parquet')
    assert len(table) == len(actions)
