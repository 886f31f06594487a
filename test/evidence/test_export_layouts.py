# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets in the layouts of other projects: what of a run is in them, and what stands beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
import json
import math
from pathlib import Path
import re
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
pytest.importorskip('pyarrow', reason='needs pyarrow')
pytest.importorskip('h5py', reason='needs h5py, as the extra minari brings it')
pytest.importorskip(
    'minari',
    reason='needs Minari, for which Python 3.10 is too old'
    if sys.version_info < (3, 11)
    else 'needs boundary_env_ros[minari]',
)
import h5py
import minari
import pyarrow.parquet
import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Trigger
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.imported import import_marks
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.export.dataset_steps import (
    DatasetOrigin,
    DatasetStep,
    EpisodeStream,
    Gaps,
)
from boundary_env_ros.evidence.export.export import export_runs, Exported
from boundary_env_ros.evidence.export.formats import OF_STEPS
from boundary_env_ros.evidence.export.layout import about, choices, Layout
from boundary_env_ros.evidence.export.minari import dataset_id
from boundary_env_ros.facade import spaces
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import Entry
from support.bag_maker import write_bag, write_records
from support.export_runs import bagged, driven_by_hand, episodes_in, ExportRun, front_of, values_of
from support.record_maker import Bench, chosen_start, Piece
from support.shipped import changed
from support.world_maker import make_world_tape

#: LeRobot is heavy: its part is tested where it is installed.
INSTALLED = tuple(layout for layout in OF_STEPS if find_spec(layout))

GOOD = Path(__file__).parents[1] / 'storage' / 'good_contracts'


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
    for layout in INSTALLED:
        out = folder / f'cart_{layout}-v0'
        made[layout] = (out, export_runs([run.bag], out, layout))
    return made


@pytest.fixture(params=INSTALLED)
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


def test_audit_of_it_names_what_is_missing(
    sets: dict[str, tuple[Path, Exported]], layout: str
) -> None:
    with pytest.raises(RecordError, match='holds no bag'):
        audit_path(sets[layout][0])


def test_it_says_what_it_is_and_under_which_contract(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]], layout: str
) -> None:
    out, exported = sets[layout]
    said = json.loads((out / 'dataset.json').read_text())
    assert (said['format'], said['steps'], said['left_out']) == (layout, exported.steps, [])
    assert loads((out / 'contract.yaml').read_text()).contract == run.contract


def test_agents_of_one_world_are_episodes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip('mujoco', reason='the world is simulated by MuJoCo')
    loaded = load('two_carts', Pacing.LOCKSTEP)
    tape = make_world_tape(loaded, episodes=2, steps=5, seed=3)
    write_bag(tmp_path / 'bag', tape)
    monkeypatch.chdir(tmp_path)
    exported = export_runs([Path('bag')], Path('set'), 'minari')
    assert exported.episodes == 4
    with h5py.File(tmp_path / 'set/data/main_data.hdf5') as file:
        said = [(e.attrs['agent'], e.attrs['total_steps']) for e in file.values()]
    assert [agent for agent, _ in said] == ['cart_a', 'cart_a', 'cart_b', 'cart_b']
    for agent in loaded.contract.agents:
        frames = [len(steps) for steps in episodes_in(tape, agent)]
        assert [length for name, length in said if name == agent] == frames


@pytest.mark.parametrize('where', ['contract', 'steps'])
def test_run_that_a_layout_cannot_hold_is_refused(
    where: str, layout: str, record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    kept = [p for p in record if where == 'contract' or not _is_step(p)]
    write_records(tmp_path / 'records', kept, '' if where == 'contract' else loaded.text)
    expected = 'has no contract' if where == 'contract' else 'has no step'
    with pytest.raises(RecordError, match=expected):
        export_runs([tmp_path / 'records'], tmp_path / 'set', layout)
    assert [path.name for path in tmp_path.iterdir()] == ['records']


def test_documents_are_in_no_layout_and_said_to_be_left_out(
    layout: str, record: list[Piece], tmp_path: Path
) -> None:
    notes = {'topic': 'notes', 'schema': {'type': 'string'}, 'max_rate': 10.0}
    loaded = changed('warehouse_cart', documents={'notes': notes})
    write_records(tmp_path / 'records', record, loaded.text)
    exported = export_runs([tmp_path / 'records'], tmp_path / 'set', layout)
    assert exported.steps == sum(map(_is_step, record))
    assert "the documents of 'notes'" in exported.left_out


def test_commands_that_are_documents_alone_are_refused(layout: str, tmp_path: Path) -> None:
    write_records(tmp_path / 'records', [], (GOOD / 'documents.yaml').read_text())
    with pytest.raises(RecordError, match=r'got documents alone\). Export it as parquet or jsonl'):
        export_runs([tmp_path / 'records'], tmp_path / 'set', layout)


def test_place_that_is_taken_is_left_as_it_is(run: ExportRun, layout: str, tmp_path: Path) -> None:
    (tmp_path / 'set').write_text('mine')
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        export_runs([run.bag], tmp_path / 'set', layout)
    assert (tmp_path / 'set').read_text() == 'mine'


@pytest.mark.parametrize(
    ('layout', 'module', 'wanted'),
    [
        ('lerobot', 'lerobot', 'pip install "lerobot[dataset]"'),
        ('minari', 'minari', 'minari[hdf5]>=0.5.4'),
        ('minari', 'h5py', 'minari[hdf5]>=0.5.4'),
        ('parquet', 'pyarrow', 'pip install pyarrow'),
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
    with pytest.raises(MissingDependency, match=re.escape(wanted)):
        export_runs([run.bag], tmp_path / 'set', layout)
    assert list(tmp_path.iterdir()) == []


def _is_step(piece: object) -> bool:
    return isinstance(piece, Transition) and piece.kind is Kind.STEP


def silenced(step: Transition) -> Transition:
    """Return a step in which nothing was sent."""
    step = replace(step, decisions=(), decision=-1, requested_action=())
    return replace(step, admitted_action=(), commanded_action=())


# Steps, as every layout gets them ----------------------------------------------------------------


def follow(contract: Contract, record: list[Any]) -> tuple[list[list[DatasetStep]], Gaps]:
    gaps = Gaps()
    stream = EpisodeStream(contract, 'cart', (), None, gaps, {})
    episodes: list[list[DatasetStep]] = []
    entries = (Entry(p, '', i) for i, p in enumerate(record))
    begins = True
    for step in stream.follow(entries):
        if begins:
            episodes.append([])
        episodes[-1].append(step)
        begins = step.last
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


def test_what_people_made_of_an_episode_says_whether_it_succeeded(
    record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    last = next(i for i, p in enumerate(record) if isinstance(p, Transition) and p.ending)
    label = EpisodeLabel(id=record[last].id, label=Label.FAILURE, user='anna')
    pieces = [*record[: last + 1], label]
    write_records(tmp_path / 'records', pieces, loaded.text)
    export_runs([tmp_path / 'records'], tmp_path / 'set', 'minari')
    with h5py.File(tmp_path / 'set/data/main_data.hdf5') as file:
        episode = file['episode_0']
        assert (episode['infos/success'][-1], episode.attrs['label']) == (False, 'failure')


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
    assert behind.origin is DatasetOrigin.UNKNOWN
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
    assert {about(step)['imported'] for step in steps} == {'drive'}
    assert about(follow(contract, record)[0][0][0])['imported'] == ''
    assert {step.origin for step in steps} == {DatasetOrigin.COMMAND}
    assert all(step.applied == step.transition.admitted_action for step in steps)


def test_reward_that_nobody_knows_stays_unknown_in_every_layout(
    record: list[Piece], loaded: LoadedContract, layout: str, tmp_path: Path
) -> None:
    pieces = imported(record)
    write_records(tmp_path / 'records', pieces, loaded.text)
    exported = export_runs([tmp_path / 'records'], tmp_path / 'set', layout)
    assert exported.steps == len(pieces) - 1
    if layout == 'lerobot':
        table = pyarrow.parquet.read_table(tmp_path / 'set/data')
        assert 'next.reward' not in table.column_names
    else:
        with h5py.File(tmp_path / 'set/data/main_data.hdf5') as file:
            assert np.isnan(file['episode_0/rewards'][:]).all()


def test_applied_action_is_what_the_robot_was_sent(run: ExportRun, tmp_path: Path) -> None:
    episodes, _ = follow(run.contract, list(_records(run)))
    steps = [step for episode in episodes for step in episode]
    assert {step.origin for step in steps} >= {DatasetOrigin.ADMITTED, DatasetOrigin.COMMAND}
    for step in steps:
        sent = [d.command for d in step.transition.decisions if d.published]
        if step.origin is DatasetOrigin.ADMITTED:
            assert step.applied == step.transition.admitted_action
        elif step.origin is DatasetOrigin.COMMAND:
            assert step.applied == sent[-1]
        by_hand = any(
            d.trigger is Trigger.OPERATOR and d.published for d in step.transition.decisions
        )
        assert step.intervened == by_hand
        assert not (by_hand and step.origin is DatasetOrigin.ADMITTED)
    assert any(step.intervened for step in steps)


def test_command_that_the_driver_holds_goes_on_as_the_applied_action(
    contract: Contract, record: list[Piece]
) -> None:
    steps = [p for p in record if _is_step(p)]
    silent = silenced(steps[2])
    changed = [silent if p is steps[2] else p for p in record]
    first = follow(contract, changed)[0][0]
    assert first[2].origin is DatasetOrigin.HELD
    assert first[2].applied == steps[1].decisions[-1].command
    values = Layout(contract, ()).step_values(first[2])
    assert np.isnan(values['action_requested']).all()


def _records(run: ExportRun) -> Iterator[Any]:
    return open_records(run.bag).records()


# Minari ------------------------------------------------------------------------------------------


def test_minari_reads_its_data_set(
    run: ExportRun, sets: dict[str, tuple[Path, Exported]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sets['minari'][0]
    monkeypatch.setenv('MINARI_DATASETS_PATH', str(root.parent))
    dataset = minari.load_dataset(root.name)
    assert dataset.total_steps == len(list(run.steps))
    assert dataset.observation_space == observation_space(run.contract)
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
def test_actions_are_doubles_one_a_step(name: str) -> None:
    contract = loads((GOOD / f'{name}.yaml').read_text()).contract
    done = action_space(contract, dtype=np.float64, horizon=1)
    assert type(done) is type(action_space(contract))
    if contract.horizon == 1:
        done.seed(1)
        assert spaces.action_vector(contract, done.sample())


@pytest.mark.parametrize(
    ('name', 'found'),
    [('cart-v3', 'cart-v3'), ('cart', 'cart-v0'), ('my cart.2', 'my_cart_2-v0')],
)
def test_name_of_the_folder_becomes_an_id_of_minari(name: str, found: str) -> None:
    assert dataset_id(name) == found


# Parts -------------------------------------------------------------------------------------------


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
    for layout in INSTALLED:
        export_runs([run.bag], tmp_path / layout, layout)
    with h5py.File(tmp_path / 'minari/data/main_data.hdf5') as file:
        actions = file['episode_0/actions'][:]
    assert actions.dtype == 'int64'
    assert set(actions.tolist()) <= {0, 1, 2}
