# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the page on many runs tells is done with a dozen of them."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

from boundary_env_ros.core.records.transition import Transition
from support.bag_maker import write_records
from support.pages import text_of

duckdb = pytest.importorskip('duckdb', reason='needs DuckDB')
pytest.importorskip('pyarrow', reason='needs pyarrow')
pytest.importorskip('mujoco', reason='the world is simulated by MuJoCo')

from support.cart_runs import cart_contract, drive  # noqa: E402

MANY = 12


def test_a_dozen_runs_are_asked_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = cart_contract()
    records = list(drive(loaded, range(1, 1 + MANY)))
    steps = [record for record in records if isinstance(record, Transition)]
    (tmp_path / 'runs').mkdir()
    for number, episode in enumerate(dict.fromkeys(step.id.episode_id for step in steps)):
        own = [step for step in steps if step.id.episode_id == episode]
        if number == 7:  # in which somebody helped a little
            own[3] = replace(own[3], reward=own[3].reward + 1.0)
        write_records(tmp_path / f'runs/run-{number:02}', own, loaded.text)
    monkeypatch.chdir(tmp_path)
    path = f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    page = text_of('doc/fleets.md')
    for commands in re.findall(r'```sh\n(.*?)```', page, re.DOTALL):
        subprocess.run(['sh', '-c', commands], env={**os.environ, 'PATH': path}, check=False)
    figures, audits = (
        duckdb.sql(query).fetchall() for query in re.findall(r'```sql\n(.*?)```', page, re.DOTALL)
    )
    (row,) = figures
    assert row[:2] == (loaded.contract.name, loaded.contract.version)
    endings = [step for step in steps if step.ending]
    successes = sum(step.ending == 'success' for step in endings)
    assert row[3:6] == (MANY, len(endings), successes)
    assert 0.0 < row[6] <= row[7]
    assert row[8] == len(steps) - MANY
    told = {outcome: (count, which) for outcome, count, _, _, which in audits}
    assert told['contradicted'] == (1, ['run-07'])
    assert told['consistent'][0] == MANY - 1
