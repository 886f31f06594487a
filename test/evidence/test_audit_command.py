# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands ``audit`` and ``export``: text, JSON and exit codes."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.evidence.audit.auditor import NO_EVIDENCE, NO_TRUTH
from boundary_env_ros.evidence.audit.rules.audit_rule import RULES
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from support.bag_maker import Sent, write_records, write_to
from support.record_maker import BESIDE_STEPS, FROM_TOPICS, Piece, transitions_of


@pytest.fixture
def honest(tmp_path: Path, record: list[Piece], loaded: LoadedContract) -> Path:
    """Return a run folder without raw messages."""
    return write_records(tmp_path / 'honest', transitions_of(record), loaded.text)


@pytest.fixture
def forged(tmp_path: Path, record: list[Piece], loaded: LoadedContract) -> Path:
    """Return one with a better reward."""
    steps = [replace(t, reward=t.reward + 1.0) for t in transitions_of(record)]
    return write_records(tmp_path / 'forged', steps, loaded.text)


def test_record_of_which_not_all_can_be_checked_exits_with_3(
    honest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['audit', str(honest)]) == 3
    out = capsys.readouterr().out
    assert out.startswith('Audit: CONSISTENT. Not all could be checked; 0 fatal, ')
    lacking = FROM_TOPICS | BESIDE_STEPS | {'index-agrees'}
    assert f'Not checked: {len(lacking)} of {len(RULES)} rules' in out


def test_forged_record_exits_with_1_and_names_rule_and_page(
    forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['audit', str(forged)]) == 1
    out = capsys.readouterr().out
    assert 'fatal step-recomputed (' in out
    assert 'Page: doc/audit.md#step-recomputed' in out


def test_json_has_findings_counts_and_what_was_not_checked(
    forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['audit', str(forged), '--json']) == 1
    data = json.loads(capsys.readouterr().out)
    assert data['outcome'] == 'contradicted'
    assert data['counts']['step-recomputed'] > 0
    whys = {item['why'] for item in data['not_checked']}
    no_index = 'the folder of the run has no index'
    assert whys == {'the record has no raw messages', no_index, NO_TRUTH, NO_EVIDENCE}


@pytest.mark.parametrize(
    'arguments',
    [['nowhere'], [], ['--episodes', '-1']],
)
def test_input_that_cannot_be_used_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['audit', *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert 'Traceback' not in captured.err
    assert captured.err


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['audit', '--help']) == 0
    out = capsys.readouterr().out
    words = 'SUPPORTED', 'CONTRADICTED', 'wrong arguments', 'CONSISTENT', 'INCOMPLETE'
    for code in (f'  {number}  {word}' for number, word in enumerate(words)):
        assert code in out


def test_an_export_is_told_and_not_written_over(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'dataset'
    assert main(['export', '--format', 'jsonl', str(honest), '-o', str(out)]) == 0
    assert f'Data set: {out}' in capsys.readouterr().out
    assert main(['export', '--format', 'jsonl', str(honest), '-o', str(out)]) == 2
    assert 'not overwritten' in capsys.readouterr().err


def test_export_tells_what_cannot_be_read(
    tmp_path: Path,
    record: list[Piece],
    loaded: LoadedContract,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent = [Sent('/steps', i, i, step) for i, step in enumerate(transitions_of(record))]
    with McapLog(tmp_path / 'bag') as log:
        for each in write_to(log, sent):
            if each is sent[4]:
                log.write('/steps', b'\0\1\0\0', 4, 4)
    out = str(tmp_path / 'out')
    assert main(['export', '--format', 'jsonl', str(tmp_path / 'bag'), '-o', out]) == 1
    assert 'bag_0.mcap:/steps#6' in capsys.readouterr().err
