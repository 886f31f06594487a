# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What people say of episodes stands beside what the environment says, and never in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.findings import AuditReport
from boundary_env_ros.evidence.summary.summary import summarise, summarise_path
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.run_folder import RunFolder
from support.bag_maker import write_records
from support.record_maker import Piece


def label(step: Transition, user: str, verdict: Label, note: str = '') -> EpisodeLabel:
    return EpisodeLabel(id=step.id, user=user, label=verdict, note=note, stamp=step.closed)


def audit_all(pieces: list[Piece | EpisodeLabel], contract: Contract, task: Task) -> AuditReport:
    auditor = Auditor(contract, task)
    for piece in pieces:
        auditor.add(piece)
    return auditor.report()


@pytest.fixture(scope='module')
def endings(record: list[Piece]) -> dict[str, Transition]:
    """Return the last step of one episode for each ending."""
    steps = [p for p in record if isinstance(p, Transition)]
    return {step.ending: step for step in steps if step.terminated or step.truncated}


def test_marks_change_no_figure_of_the_environment(
    record: list[Piece], contract: Contract, endings: dict[str, Transition]
) -> None:
    labels = [label(step, 'ada', Label.FAILURE) for step in endings.values()]
    plain, labelled = summarise(record, contract), summarise([*record, *labels], contract)
    for before, after in zip(plain.groups, labelled.groups, strict=True):
        assert (after.success, after.endings) == (before.success, before.endings)
    assert sum(c.labelled for c in labelled.groups) == len(endings)
    assert {d.ending for c in labelled.groups for d in c.disagreements} == {'success'}


def test_episode_of_which_people_say_otherwise_is_told_with_who_and_why(
    record: list[Piece], contract: Contract, endings: dict[str, Transition]
) -> None:
    won, late = endings['success'], endings['time_limit']
    labels = [
        label(won, 'ada', Label.SUCCESS),
        label(won, 'bob', Label.FAILURE, 'it scratched the door'),
        label(late, 'ada', Label.SUCCESS),
        label(late, 'bob', Label.UNCLEAR),
    ]
    summary = summarise([*record, *labels], contract)
    by_labels = [c.success_by_labels for c in summary.groups]
    assert (sum(p.count for p in by_labels), sum(p.of for p in by_labels)) == (1, 1)
    text = str(summary)
    assert (
        f'  episode {won.id.episode_id[:8]}, success: success by ada; '
        'failure by bob (it scratched the door)'
    ) in text
    assert f'{late.id.episode_id[:8]}, time_limit: success by ada; unclear by bob' in text


def test_who_thinks_again_is_counted_once(
    record: list[Piece], contract: Contract, endings: dict[str, Transition]
) -> None:
    won = endings['success']
    labels = [label(won, 'ada', Label.FAILURE), label(won, 'ada', Label.SUCCESS)]
    clients = summarise([*record, *labels], contract).groups
    assert [d for c in clients for d in c.disagreements] == []
    assert sum(c.success_by_labels.count for c in clients) == 1


def test_mark_that_was_made_when_the_bag_was_closed_counts(
    record: list[Piece], endings: dict[str, Transition], tmp_path: Path
) -> None:
    text = (Path(__file__).parents[2] / 'config/warehouse_cart.yaml').read_text()
    steps = [p for p in record if isinstance(p, Transition)]
    run = RunFolder(write_records(tmp_path / 'run', steps, text))
    with EpisodeStore.create(run.episodes) as store:
        for step in steps:
            store.index.add_step(step, now=1)
    with EpisodeStore.open(run.episodes, to_label=True) as store:
        store.label(label(endings['success'], 'ada', Label.FAILURE), now=2)
    assert 'success: failure by ada' in str(summarise_path(run.path))


def test_audit_knows_the_episodes_that_were_marked(
    record: list[Piece], contract: Contract, task: Task, endings: dict[str, Transition]
) -> None:
    known = [label(step, 'ada', Label.UNCLEAR) for step in endings.values()]
    # An episode may be labelled before its first step is recorded.
    assert audit_all([*known, *record], contract, task).ok
