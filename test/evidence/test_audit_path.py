# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit of what lies on disk."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
import gc
import json
from pathlib import Path
import shutil
import sqlite3
from types import SimpleNamespace

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.evidence.audit.index import IndexCheck
from boundary_env_ros.evidence.summary.summary import summarise_path
from boundary_env_ros.storage import contract_file
from boundary_env_ros.storage.contract_file import load, LoadedContract
from boundary_env_ros.storage.episode_index import status_of
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.records import ContractDescription
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from support.record_maker import BESIDE_STEPS, FROM_TOPICS, Piece, Sent, transitions_of

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from support.bag_maker import wire, write_records
from support.storage_wire import cdr, definition, message_cdr, type_of


def write_bag(folder: Path, pieces: Iterable[object]) -> None:
    """Write a bag with one topic for each kind of record, and one that is no record."""
    with McapLog(folder, compress=False) as log:
        log.add_topic('/chatter', 'std_msgs/msg/String', *definition('std_msgs/msg/String'))
        topics = set()
        for time, piece in enumerate(pieces):
            topic = f'/{type(piece).__name__}'
            if topic not in topics:
                topics.add(topic)
                log.add_topic(topic, type_of(type(piece)), *definition(type_of(type(piece))))
            log.write(topic, wire(Sent(topic, time, time, piece)), time, time)
            if time % 50 == 0:
                text = message_cdr('std_msgs/msg/String', data='hello')
                log.write('/chatter', text, time, time)


@pytest.fixture(scope='module')
def honest(
    tmp_path_factory: pytest.TempPathFactory, record: list[Piece], loaded: LoadedContract
) -> Path:
    """Return a whole run folder."""
    run = RunFolder.create(tmp_path_factory.mktemp('runs') / 'honest')
    run.contract.write_text(loaded.text, encoding='utf-8')
    any(run.write_first_transition(one) for one in transitions_of(record))
    write_bag(run.bag, [described(loaded), *record])
    write_index(run.episodes, record)
    return run.path


def write_index(path: Path, record: Iterable[Piece]) -> None:
    with EpisodeStore.create(path) as index:
        for now, piece in enumerate(record):
            if isinstance(piece, EpisodeStatus):
                index.index.update(piece, environment='warehouse_cart', now=now)
            elif isinstance(piece, Transition):
                index.index.add_step(piece, now=now)


def described(loaded: LoadedContract) -> ContractDescription:
    contract = loaded.contract
    return ContractDescription(
        node='/environment',
        role='environment',
        contract=contract.name,
        contract_version=contract.version,
        digest=loaded.digest,
        software_version='0.1.0',
        task_distribution=contract.task.distribution,
        task_version=contract.task.version,
        text=loaded.text,
    )


@pytest.fixture
def run(honest: Path, tmp_path: Path) -> RunFolder:
    """Return a copy of the run folder, to be damaged."""
    return RunFolder(shutil.copytree(honest, tmp_path / 'run'))


def rules_of(report: AuditReport) -> set[str]:
    return set(report.counts)


@pytest.mark.parametrize(
    'place',
    ['.', 'bag', 'bag/bag_0.mcap'],
)
def test_honest_run_is_clean_wherever_it_is_read_from(honest: Path, place: str) -> None:
    report = audit_path(honest / place)
    assert report.counts == {}, f'\n{report}'
    # This bag was written without a chain.
    assert set(report.not_applied) == {*FROM_TOPICS, 'record-unchanged'}
    assert report.episodes == 5
    assert report.contract == 'warehouse_cart 1.0.0'


def test_what_a_user_has_frozen_stays_so(honest: Path) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    audit_path(honest)
    assert gc.get_freeze_count() > frozen // 2


def test_audit_tells_how_far_it_is(honest: Path) -> None:
    told: list[tuple[int, int | None]] = []
    audit_path(honest, progress=lambda done, total: told.append((done, total)))
    (total,) = {of for _, of in told}
    assert total is not None
    assert [done for done, _ in told] == list(range(1, total + 1))


def test_bag_alone_carries_its_contract(honest: Path, tmp_path: Path) -> None:
    alone = shutil.copy(honest / 'bag' / 'bag_0.mcap', tmp_path / 'alone.mcap')
    report = audit_path(Path(alone))
    assert report.counts == {}, f'\n{report}'
    assert report.contract == 'warehouse_cart 1.0.0'


def test_world_that_did_not_start_is_held_against_the_pacing_that_was_asked_for(
    run: RunFolder, record: list[Piece]
) -> None:
    lockstep = load('warehouse_cart', Pacing.LOCKSTEP)
    status = next(piece for piece in record if isinstance(piece, EpisodeStatus))
    of = replace(status.id, digest=lockstep.digest)
    shutil.rmtree(run.bag)
    write_bag(run.bag, [described(lockstep), replace(status, id=of, pacing=Pacing.LOCKSTEP)])
    run.episodes.unlink()
    report = audit_path(run.path)
    assert set(report.counts) == {'record-closed'}, f'\n{report}'
    assert report.outcome is AuditOutcome.INCOMPLETE
    assert report.digest == lockstep.digest


def test_steps_alone_are_audited_without_contract(
    record: list[Piece], contract: Contract, tmp_path: Path
) -> None:
    write_records(tmp_path / 'steps', transitions_of(record))
    report = audit_path(tmp_path / 'steps')
    assert report.ok
    assert report.contract == ''
    assert 'step-recomputed' in report.not_applied
    given = audit_path(tmp_path / 'steps', contract)
    assert given.counts == {}, f'\n{given}'
    assert set(given.not_applied) == FROM_TOPICS | BESIDE_STEPS | {'index-agrees'}


def test_a_first_transition_alone_is_audited_and_says_what_needs_its_neighbours(
    honest: Path, tmp_path: Path
) -> None:
    report = audit_path(honest / 'first_transition.json')
    assert report.counts == {}, f'\n{report}'
    assert (report.transitions, report.contract) == (1, 'warehouse_cart 1.0.0')
    assert {'steps-in-order', 'record-ended'} <= set(report.not_applied)
    data = json.loads((honest / 'first_transition.json').read_text())
    data['admitted_action'][0] += 0.1
    (tmp_path / 'forged.json').write_text(json.dumps(data, indent=4))
    (tmp_path / 'contract.yaml').write_text((honest / 'contract.yaml').read_text())
    assert not audit_path(tmp_path / 'forged.json').ok


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        (b'{"contract": 1}\n', 'contract_version'),
        (b'not json\n', 'strict JSON'),
        (b'\n', 'strict JSON'),
        (b'[]\n', 'object'),
        (b'{}\n{}\n', 'expected one transition'),
        (b'[{}, {}]\n', 'expected an object'),
        (b'\xff\xfe\n', 'strict JSON'),
    ],
)
def test_a_transition_that_is_none_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    (tmp_path / 'first_transition.json').write_bytes(text)
    report = audit_path(tmp_path / 'first_transition.json')
    assert 'record-complete' in rules_of(report)
    assert why in report.findings[0].actual


def test_message_that_does_not_decode_is_named_and_the_others_are_read(
    run: RunFolder, record: list[Piece], loaded: LoadedContract
) -> None:
    shutil.rmtree(run.bag)
    damaged = 0

    def spoil(data: bytes, piece: object) -> bytes:
        nonlocal damaged
        if isinstance(piece, Transition):
            damaged += 1
            return data[:40] if damaged == 9 else data
        return data

    with McapLog(run.bag, compress=False) as log:
        pieces = [described(loaded), *record]
        for cls in {type(piece) for piece in pieces}:
            log.add_topic(f'/{cls.__name__}', type_of(cls), *definition(type_of(cls)))
        for time, piece in enumerate(pieces):
            log.write(f'/{type(piece).__name__}', spoil(cdr(piece), piece), time, time)
    report = audit_path(run.path)
    assert report.counts['record-complete'] == 1, f'\n{report}'
    assert report.counts['steps-in-order'] == 1
    assert report.transitions == damaged - 1


def test_bag_that_a_crash_tore_is_a_warning(run: RunFolder) -> None:
    bag = run.bag / 'bag_0.mcap'
    data = bag.read_bytes()
    bag.write_bytes(data[: int(len(data) * 0.7)])
    report = audit_path(run.path)
    assert report.ok, f'\n{report}'
    assert 'record-closed' in report.counts


def test_contract_that_was_changed_afterwards_is_named(run: RunFolder) -> None:
    text = run.contract.read_text()
    assert 'high: [0.8, 1.5]' in text
    run.contract.write_text(text.replace('high: [0.8, 1.5]', 'high: [0.7, 1.5]'))
    report = audit_path(run.path)
    assert {'one-contract', 'command-in-bounds', 'decision-recomputed'} <= rules_of(report)
    assert not report.ok


def install_task(monkeypatch: pytest.MonkeyPatch, version: str = '') -> None:
    """Pretend that the tasks are installed in another version; without one, not at all."""
    origin = SimpleNamespace(name='boundary_env_ros', version=version)
    there = SimpleNamespace(name='go_to_goal', dist=origin, load=lambda: GoToGoal)
    monkeypatch.setattr(contract_file, 'entry_points', lambda **_: [there] if version else [])


@pytest.mark.parametrize(
    ('version', 'got'),
    [('', 'which is not installed here'), ('0.0.9', 'got boundary-env-ros 0.0.9 here')],
)
@pytest.mark.parametrize('place', ['', 'bag'])
def test_record_whose_task_is_not_installed_in_its_version_is_held_against_the_rest(
    honest: Path,
    loaded: LoadedContract,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    got: str,
    place: str,
) -> None:
    install_task(monkeypatch, version)
    report = audit_path(honest / place)
    assert report.outcome is AuditOutcome.CONSISTENT, f'\n{report}'
    assert report.digest == loaded.digest
    origin = f'{loaded.contract.task.distribution} {loaded.contract.task.version}'
    why = f"the task 'go_to_goal' of {origin} made this record, {got}: install {origin}"
    assert {item.rule for item in report.not_checked if item.why == why} >= {'step-recomputed'}
    assert 'command-in-bounds' not in report.not_applied


@pytest.mark.parametrize('version', ['', '0.0.9'])
def test_lines_that_may_be_of_another_version_of_the_task_are_no_contradiction(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    install_task(monkeypatch, version)
    report = audit_path(run.first_transition)
    assert report.outcome is AuditOutcome.CONSISTENT, f'\n{report}'
    assert "its task 'go_to_goal' had another version" in str(report)


def test_contract_given_under_another_version_of_the_task_is_that_of_the_record(
    honest: Path, loaded: LoadedContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_task(monkeypatch, '0.0.9')
    given = contract_file.loads(loaded.text).contract
    assert given.task.version == '0.0.9'
    assert audit_path(honest, given).outcome is AuditOutcome.CONSISTENT


def test_contract_that_cannot_be_read_is_named(run: RunFolder) -> None:
    run.contract.write_text('contract: [')
    report = audit_path(run.path)
    assert rules_of(report) == {'record-complete'}
    assert not report.ok


def test_a_contract_that_is_broken_is_not_called_unknown(run: RunFolder) -> None:
    run.contract.write_text('contract: [', encoding='utf-8')
    report = audit_path(run.path)
    assert 'record-complete' in report.counts
    assert 'the contract is not valid' in str(report)
    assert 'the contract is not known' not in str(report)
    assert '\\n' not in str(report)


def test_the_contract_beside_a_transition_of_any_name_is_found(run: RunFolder) -> None:
    other = run.first_transition.rename(run.path / 'step_1.json')
    assert audit_path(other).contract == 'warehouse_cart 1.0.0'


def test_damaged_bag_is_named_from_the_folder(
    run: RunFolder, record: list[Piece], loaded: LoadedContract
) -> None:
    ending = next(t for t in transitions_of(record) if t.ending == 'time_limit')
    forged = [replace(p, terminated=True, truncated=False) if p is ending else p for p in record]
    shutil.rmtree(run.bag)
    write_bag(run.bag, [described(loaded), *forged])
    report = audit_path(run.path)
    assert {'ending-declared'} <= rules_of(report)


@pytest.mark.parametrize('name', ['nothing', 'empty'])
def test_place_without_records_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / 'empty').mkdir()
    with pytest.raises(RecordError, match=name):
        audit_path(tmp_path / name)


def test_summary_is_the_same_from_the_steps_alone_but_for_late_evidence(
    honest: Path, record: list[Piece], loaded: LoadedContract, tmp_path: Path
) -> None:
    steps = write_records(tmp_path / 'steps', transitions_of(record), loaded.text)
    bag, text = summarise_path(honest), summarise_path(steps)
    for one, other in zip(bag.groups, text.groups, strict=True):
        assert one.endings == other.endings
        assert one.clipped_in == other.clipped_in
        assert one.stages['inference'] == other.stages['inference']
    assert bag.groups[0].stages['actuation'].known > text.groups[0].stages['actuation'].known


# The index --------------------------------------------------------------------------------------

SET = 'UPDATE episodes SET record = json_set(record, '


@pytest.mark.parametrize(
    'forgery',
    [
        f"{SET}'$.state.ending', 'success', '$.episode_return', 99.0)",
        f"{SET}'$.episode_return', json_extract(record, '$.episode_return') + 1)",
        f"{SET}'$.state.ending', 'success') WHERE record LIKE '%time_limit%'",
        f"{SET}'$.state.state', 'TERMINATED') WHERE record LIKE '%TRUNCATED%'",
        f"{SET}'$.step_count', 1)",
        f"{SET}'$.step_count', 600)",
        f"{SET}'$.rewarded', 600)",
        f"{SET}'$.state.id.step', 99)",
        f"{SET}'$.state.pacing', 'LOCKSTEP')",
        f"{SET}'$.state.stamp.ros.nanoseconds', 5)",
        f"{SET}'$.state.message', 'another')",
        f"{SET}'$.version', '9')",
        f"{SET}'$.software_version', '9')",
        f"{SET}'$.state.state', 'RUNNING')",
        f"{SET}'$.state.seed', 999)",
        f"{SET}'$.state.id.digest', 'sha256:another')",
        f"{SET}'$.environment', 'another')",
        f"{SET}'$.interventions', 3)",
        f"{SET}'$.state.client', 'another')",
        'DELETE FROM episodes WHERE rowid = 2',
        "UPDATE episodes SET episode_id = 'another' WHERE rowid = 1",
        'DROP TABLE episodes',
    ],
)
def test_index_that_was_changed_is_named(run: RunFolder, forgery: str) -> None:
    assert_named(run, forgery)


def assert_named(run: RunFolder, forgery: str) -> None:
    """Change the index of a run, and check that its audit names that and nothing else."""
    with sqlite3.connect(run.episodes) as index:
        index.execute(forgery)
    index.close()
    report = audit_path(run.path)
    assert rules_of(report) == {'index-agrees'}, f'\n{report}'


@pytest.fixture
def labelled(run: RunFolder, record: list[Piece], loaded: LoadedContract) -> RunFolder:
    """Return it with a label that is in its bag, and one that was given afterwards."""
    step = next(piece for piece in record if isinstance(piece, Transition) and piece.ending)
    given, late, early = (
        EpisodeLabel(id=step.id, label=Label.FAILURE, user=user, note='', stamp=step.closed)
        for user in ('ada', 'bob', 'eve')
    )
    shutil.rmtree(run.bag)
    # On an episode that is not known yet the recorder keeps no label.
    write_bag(run.bag, [described(loaded), early, *record, given])
    with EpisodeStore.open(run.episodes, to_label=True) as store:
        for now, label in enumerate((given, late)):
            store.label(label, now=now)
    return run


def test_labels_that_were_given_when_the_bag_was_closed_are_no_finding(
    labelled: RunFolder,
) -> None:
    report = audit_path(labelled.path)
    assert rules_of(report) == set(), f'\n{report}'


@pytest.mark.parametrize(
    'forgery',
    [
        "DELETE FROM labels WHERE user = 'ada'",
        "UPDATE labels SET label = 'SUCCESS' WHERE user = 'bob'",
        "UPDATE labels SET user = 'eve' WHERE user = 'bob'",
        "UPDATE labels SET note = 'all well'",
        "UPDATE labels SET episode_id = 'another'",
        "UPDATE labels SET label = 'SUCCESS', record = json_set(record, '$.label', 'SUCCESS')",
        "UPDATE labels SET note = 'well', record = json_set(record, '$.note', 'well')",
    ],
)
def test_label_that_was_changed_in_the_index_is_named(labelled: RunFolder, forgery: str) -> None:
    assert_named(labelled, forgery)


def test_ending_that_somebody_else_announced_does_not_stand_in_the_index(
    run: RunFolder, record: list[Piece], loaded: LoadedContract
) -> None:
    place = next(
        i for i, p in enumerate(record) if isinstance(p, Transition) and p.ending == 'time_limit'
    )
    step = record[place]
    assert isinstance(step, Transition)
    forged = EpisodeStatus(
        id=step.id,
        state=EpisodeState.TERMINATED,
        pacing=step.pacing,
        seed=step.seed,
        ending='success',
        declared_by='task:go_to_goal',
        stamp=step.closed,
    )
    run.episodes.unlink()
    with EpisodeStore.create(run.episodes) as index:
        for now, piece in enumerate([*record[:place], forged, *record[place:]]):
            # As the recorder: the first ending stands.
            with suppress(RecordError):
                if isinstance(piece, EpisodeStatus):
                    index.index.update(piece, environment='warehouse_cart', now=now)
                elif isinstance(piece, Transition):
                    index.index.add_step(piece, now=now)
    report = audit_path(run.path)
    assert rules_of(report) == {'index-agrees'}, f'\n{report}'
    assert "expected truncated by 'environment' for 'time_limit'" in str(report)


def test_environment_that_was_declared_lost_twice_is_so_once_in_the_index(
    run: RunFolder, record: list[Piece], loaded: LoadedContract
) -> None:
    place = max(i for i, piece in enumerate(record) if isinstance(piece, Transition))
    step = record[place]
    assert isinstance(step, Transition)
    step = replace(
        step,
        terminated=False,
        truncated=True,
        ending='environment_lost',
        declared_by='environment',
    )
    declared = replace(
        status_of(step), declared_by='recorder', message='The environment has been silent.'
    )
    woken = [
        piece
        for piece in record[:place]
        if not isinstance(piece, EpisodeStatus) or piece.id.episode_id != step.id.episode_id
    ]
    run.episodes.unlink()
    # As the recorder: the first word stands, and the step counts.
    write_index(run.episodes, [*woken, declared, replace(step, declared_by='recorder')])
    check = IndexCheck(run.episodes)
    for piece in (*woken, declared, step):
        check.add(piece)
    assert list(check.mismatches(torn=False)) == []


def test_index_may_be_ahead_of_records_that_a_crash_tore(run: RunFolder) -> None:
    bag = run.bag / 'bag_0.mcap'
    bag.write_bytes(bag.read_bytes()[: bag.stat().st_size // 2])
    report = audit_path(run.path)
    assert 'index-agrees' not in report.counts, f'\n{report}'
