# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first step of every run is kept as soon as it exists, and can be audited alone."""

from __future__ import annotations

import json
from pathlib import Path
import re
import runpy

import gymnasium
import jsonschema
import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import ALONE, AuditOutcome
from boundary_env_ros.facade import BoundaryEnv, first_step
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.transition_json import transition_schema

CART = 'boundary_env_ros/WarehouseCart-v0'
EXAMPLES = Path(__file__).parents[2] / 'examples'
NOTHING = np.zeros(2, dtype=np.float32)


def test_the_first_step_not_the_reset_is_there_while_the_run_goes_on(tmp_path: Path) -> None:
    place = tmp_path / 'run' / 'first_transition.json'
    env = gymnasium.make(CART, first_step=place.parent)
    env.reset(seed=1)
    assert not place.exists()
    env.step(NOTHING)
    kept = json.loads(place.read_text())
    env.step(NOTHING)
    env.close()
    assert (kept['kind'], kept['id']['step']) == ('STEP', 1)
    assert kept == json.loads(place.read_text())
    report = audit_path(place)
    assert (report.outcome, report.findings) == (AuditOutcome.PASSED, ())
    assert report.contract == 'warehouse_cart 1.0.0'
    assert {each.why for each in report.not_checked} == {ALONE}


def test_without_a_folder_there_is_one_for_a_contract_in_a_process_and_the_terminal_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('BOUNDARY_ENV_RUNS', str(tmp_path))
    monkeypatch.setattr(first_step, '_written', set())
    for _ in range(2):
        env = BoundaryEnv(world='embedded')
        env.reset(seed=1)
        env.step(NOTHING)
        env.close()
    (place,) = tmp_path.glob('warehouse_cart-*/first_transition.json')
    assert capsys.readouterr().err == f'First step: {place}\n'


def test_a_record_of_one_process_has_it_and_no_other_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('BOUNDARY_ENV_RUNS', str(tmp_path / 'runs'))
    monkeypatch.setattr(first_step, '_written', set())
    env = BoundaryEnv(world='embedded', record=tmp_path / 'run')
    env.reset(seed=1)
    env.step(NOTHING)
    env.close()
    assert (tmp_path / 'run' / 'first_transition.json').exists()
    assert not (tmp_path / 'runs').exists()


def test_over_ros_the_recorder_keeps_it_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('BOUNDARY_ENV_RUNS', str(tmp_path / 'runs'))
    loaded = load('warehouse_cart')
    env = BoundaryEnv(world='embedded', first_step=tmp_path / 'mine')
    env.reset(seed=1)
    env.step(NOTHING)
    assert env.last is not None
    first_step.FirstStep(loaded, None, recorded=True)(env.last.transition)
    assert not (tmp_path / 'runs').exists()
    first_step.FirstStep(loaded, tmp_path / 'given', recorded=True)(env.last.transition)
    assert (tmp_path / 'given' / 'first_transition.json').exists()
    env.close()


def test_where_nothing_can_be_kept_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'runs').write_text('no folder')
    monkeypatch.setenv('BOUNDARY_ENV_RUNS', str(tmp_path / 'runs'))
    monkeypatch.setattr(first_step, '_written', set())
    env = BoundaryEnv(world='embedded')
    env.reset(seed=1)
    env.step(NOTHING)
    env.close()
    assert 'The first step is not kept: ' in capsys.readouterr().err


def test_a_kept_step_fits_the_schema_of_a_transition(tmp_path: Path) -> None:
    env = BoundaryEnv(world='embedded', first_step=tmp_path / 'run')
    env.reset(seed=1)
    env.step(NOTHING)
    env.close()
    kept = json.loads((tmp_path / 'run' / 'first_transition.json').read_text())
    schema = transition_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(kept, schema)
    for key in ('terminated', 'requested_action', 'latency', 'wrappers'):
        with pytest.raises(jsonschema.ValidationError, match=key):
            jsonschema.validate({k: v for k, v in kept.items() if k != key}, schema)


def test_the_exercise_of_five_steps_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / 'five_steps.py'), run_name='__main__')
    out = capsys.readouterr().out
    assert re.search(r'^success, a truncation as failure +0 % \(0 of 1; ', out, re.M)
    assert re.search(r'^  truncated, apart +1$', out, re.M)
    assert 'Audit: PASSED' in out
    lines = (tmp_path / 'five_steps' / 'steps.jsonl').read_text().splitlines()
    assert [json.loads(line)['id']['step'] for line in lines] == [1, 2, 3, 4, 5]
