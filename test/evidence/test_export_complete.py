# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets to learn from: which episodes go in, and that no step of them lacks anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('h5py', reason='needs h5py, as the extra minari brings it')
import h5py

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.export.export import export_runs, Exported, Wanted
from boundary_env_ros.evidence.export.joint_names import names_of_action, names_of_fields
from boundary_env_ros.storage.contract_file import load, LoadedContract
from support.bag_maker import write_records
from support.record_maker import Piece

GENEROUS = Wanted(most_repaired=1.0)


def steps_of(record: Sequence[Piece]) -> list[Transition]:
    """Return the steps of the first episode."""
    steps = [p for p in record if isinstance(p, Transition) and p.kind is Kind.STEP]
    return [step for step in steps if step.id.episode_id == steps[0].id.episode_id]


def without_value(step: Transition, name: str) -> Transition:
    """Return a step at whose end a field has no value: the next one begins without it."""
    after = tuple(
        replace(f, values=(), status=FieldStatus.MISSING) if f.name == name else f
        for f in step.after
    )
    return replace(step, after=after)


def silent(step: Transition) -> Transition:
    """Return a step in which nothing was asked for and nothing sent."""
    step = replace(step, decisions=(), decision=-1, requested_action=())
    return replace(step, admitted_action=(), commanded_action=())


class Maker:
    """Exports records to Minari and reads what is in the file."""

    def __init__(self, folder: Path, text: str) -> None:
        self._folder, self._text = folder, text

    def export(
        self, *records: Sequence[Any], wanted: Wanted | None = None
    ) -> tuple[Exported, list[dict[str, Any]]]:
        folder = self._folder / str(len(list(self._folder.iterdir())))
        folder.mkdir()
        places = [folder / f'records{i}' for i in range(len(records))]
        for place, record in zip(places, records, strict=True):
            write_records(place, record, self._text)
        exported = export_runs(places, folder / 'set', 'minari', wanted=wanted)
        with h5py.File(folder / 'set/data/main_data.hdf5') as file:
            found = [file[f'episode_{i}'] for i in range(exported.episodes)]
            return exported, [
                {
                    'actions': episode['actions'][:],
                    'pose': episode['observations/pose'][:],
                    'steps': episode['infos/step'][1:].tolist(),
                    'id': episode.attrs['episode_id'],
                }
                for episode in found
            ]


@pytest.fixture
def maker(tmp_path: Path, loaded: LoadedContract) -> Maker:
    """Return what exports."""
    return Maker(tmp_path, loaded.text)


def changed(record: Sequence[Piece], *pairs: tuple[Transition, Transition]) -> list[Piece]:
    """Return a record with other steps in place of some."""
    others = {id(old): new for old, new in pairs}
    return [others.get(id(piece), piece) for piece in record]


def test_an_episode_begins_once_a_command_and_every_field_are_known(
    record: list[Piece], maker: Maker
) -> None:
    first, second, *_ = steps_of(record)
    blind = without_value(silent(second), 'pose')
    torn = changed(record, (first, silent(first)), (second, blind))
    exported, (episode, *_) = maker.export(torn, wanted=GENEROUS)
    assert episode['steps'][0] == 4
    assert any('3 steps at the beginning' in sentence for sentence in exported.left_out)


def test_what_a_later_step_lacks_is_that_of_the_step_before(
    record: list[Piece], maker: Maker
) -> None:
    steps = steps_of(record)
    whole, (before, *_) = maker.export(record)
    torn = changed(record, (steps[6], without_value(steps[6], 'pose')))
    exported, (episode, *_) = maker.export(torn, wanted=GENEROUS)
    assert exported.left_out == (
        *whole.left_out,
        "'pose' of 1 steps is filled with that of the step before",
    )
    at = episode['steps'].index(steps[7].id.step)
    np.testing.assert_array_equal(episode['pose'][at], before['pose'][at - 1])
    assert np.isfinite(episode['pose']).all()
    assert np.isfinite(episode['actions']).all()


def test_a_data_set_of_which_too_much_is_made_up_is_refused_and_not_written(
    record: list[Piece], maker: Maker, tmp_path: Path
) -> None:
    steps = steps_of(record)
    torn = changed(record, *((s, without_value(s, 'pose')) for s in steps[2:]))
    with pytest.raises(RecordError, match=r'expected at most 10%, got .*--most-repaired'):
        maker.export(torn)
    assert not list(tmp_path.glob('*/set'))


def test_an_episode_that_lacks_something_in_every_step_is_left_out(
    record: list[Piece], maker: Maker
) -> None:
    steps = steps_of(record)
    torn = changed(record, *((s, without_value(silent(s), 'pose')) for s in steps))
    exported, episodes = maker.export(torn, wanted=GENEROUS)
    assert steps[0].id.episode_id not in {episode['id'] for episode in episodes}
    assert '1 episodes that lack something in every step' in exported.left_out


def test_only_the_episodes_that_are_wanted_are_in_it(record: list[Piece], maker: Maker) -> None:
    ids = list(dict.fromkeys(p.id.episode_id for p in record if isinstance(p, Transition)))
    ended = [
        p.id.episode_id for p in record if isinstance(p, Transition) and p.ending == 'success'
    ]
    label = EpisodeLabel(id=steps_of(record)[-1].id, label=Label.FAILURE, user='anna')
    assert ids[0] in ended
    for wanted, found in (
        (Wanted(labels=('failure',)), ids[:1]),  # the task called it a success
        (Wanted(labels=('success',)), [id_ for id_ in ended if id_ != ids[0]]),
        (Wanted(episodes=('2',)), ids[1:2]),
        (Wanted(episodes=(ids[1][:8], '1')), ids[:2]),
        (Wanted(clients=('no_op',)), ids[-1:]),
    ):
        _, episodes = maker.export([*record, label], wanted=wanted)
        assert [episode['id'] for episode in episodes] == found
    with pytest.raises(RecordError, match=r"No such episode \(expected 1 to \d, .* got '99'\)"):
        maker.export(record, wanted=Wanted(episodes=('1', '99')))
    with pytest.raises(RecordError, match=r'no step of those that are wanted \(client nobody\)'):
        maker.export(record, wanted=Wanted(clients=('nobody',)))


def test_runs_of_one_contract_are_one_data_set_and_those_of_another_are_not(
    record: list[Piece], maker: Maker, loaded: LoadedContract, tmp_path: Path
) -> None:
    _, episodes = maker.export(record, record)
    assert [e['id'] for e in episodes[: len(episodes) // 2]] * 2 == [e['id'] for e in episodes]
    write_records(tmp_path / 'ours', record, loaded.text)
    write_records(tmp_path / 'theirs', record, loaded.text.replace('max_age: 0.5', 'max_age: 0.4'))
    with pytest.raises(RecordError, match='was made under another contract'):
        export_runs([tmp_path / 'ours', tmp_path / 'theirs'], tmp_path / 'set', 'minari')
    with pytest.raises(RecordError, match='expected one run and no filter'):
        export_runs([tmp_path / 'ours'] * 2, tmp_path / 'set', 'jsonl')


@pytest.mark.parametrize(
    ('name', 'of_observation', 'of_action'),
    [
        ('warehouse_cart', 'pose.x', 'base.linear.x'),
        ('door_arm', 'shoulder_pan_joint.pos', 'shoulder_pan_joint.pos'),
    ],
)
def test_numbers_have_the_names_that_robots_of_lerobot_give_them(
    name: str, of_observation: str, of_action: str
) -> None:
    contract: Contract = load(name).contract
    numbers = [spec for spec in contract.observation if not spec.is_image]
    state, action = names_of_fields(numbers), names_of_action(contract.action)
    assert (state[0], action[0]) == (of_observation, of_action)
    assert len(set(state)) == len(state) == sum(spec.size for spec in numbers)
    assert len(set(action)) == len(action) == contract.action_size


def test_a_joint_that_two_fields_have_is_told_apart_by_the_field() -> None:
    spec = next(s for s in load('door_arm').contract.observation if s.name == 'joints')
    twice = names_of_fields([spec, replace(spec, name='slow')])
    assert len(set(twice)) == len(twice)
    assert twice[0] == 'joints.shoulder_pan_joint.pos'
    assert not any(map(math.isnan, spec.low))
