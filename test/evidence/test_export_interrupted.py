# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exports that are ended before their end leave nothing; long ones need no more memory."""

from __future__ import annotations

import gc
from importlib.util import find_spec
from pathlib import Path
import signal
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip('pyarrow', reason='needs pyarrow')
pytest.importorskip('h5py', reason='needs h5py, as the extra minari brings it')
pytest.importorskip(
    'minari',
    reason='needs Minari, for which Python 3.10 is too old'
    if sys.version_info < (3, 11)
    else 'needs boundary_env_ros[minari]',
)
import pyarrow as pa

from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.export import parquet_records
from boundary_env_ros.evidence.export.export import export_runs
from boundary_env_ros.evidence.export.formats import FORMATS, OF_RECORDS
from boundary_env_ros.storage.contract_file import LoadedContract
from support.bag_maker import write_records
from support.record_maker import Piece


@pytest.fixture(scope='module')
def run(
    record: list[Piece], loaded: LoadedContract, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a run of five episodes."""
    return write_records(tmp_path_factory.mktemp('run') / 'records', record, loaded.text)


INSTALLED = tuple(f for f in FORMATS if f != 'lerobot' or find_spec('lerobot'))


@pytest.fixture(params=INSTALLED)
def format_(request: pytest.FixtureRequest) -> str:
    """Return each format."""
    return str(request.param)


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run some code in a process of its own."""
    return subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_ctrl_c_leaves_nothing(run: Path, format_: str, tmp_path: Path) -> None:
    readings = 0

    def interrupt(done: int, total: int | None) -> None:
        nonlocal readings
        assert total is not None
        readings += done == 1
        # The steps are in the second reading.
        if readings == (1 if format_ in OF_RECORDS else 2) and done > 0.8 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_runs([run], tmp_path / 'around' / 'set', format_, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_kill_leaves_no_data_set_and_the_next_attempt_cleans_up(
    run: Path, format_: str, tmp_path: Path
) -> None:
    killed = python(
        """
        import os, signal, sys
        from pathlib import Path
        from boundary_env_ros.evidence.export.export import export_runs

        readings = 0

        def kill(done, total):
            global readings
            readings += done == 1
            if readings == int(sys.argv[4]) and done > 0.8 * total:
                os.kill(os.getpid(), signal.SIGKILL)

        export_runs([Path(sys.argv[1])], Path(sys.argv[2]), sys.argv[3], progress=kill)
        """,
        run,
        tmp_path / 'set',
        format_,
        1 if format_ in OF_RECORDS else 2,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (draft,) = tmp_path.iterdir()
    assert draft.name.startswith('.set.')
    export_runs([run], tmp_path / 'set', format_)
    assert [path.name for path in tmp_path.iterdir()] == ['set']


def test_full_disk_leaves_nothing_and_says_so(run: Path, format_: str, tmp_path: Path) -> None:
    # No file may grow beyond a limit: the same error, at the same calls, as of a full disk.
    full = python(
        """
        import resource, sys
        from pathlib import Path
        from boundary_env_ros.errors import RecordError
        from boundary_env_ros.evidence.export.export import export_runs

        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        try:
            export_runs([Path(sys.argv[1])], Path(sys.argv[2]), sys.argv[3])
        except RecordError as error:
            print(error)
        """,
        run,
        tmp_path / 'set',
        format_,
    )
    assert not (tmp_path / 'set').exists()
    if format_ == 'minari':
        # HDF5 ends the process; what it leaves is what a kill leaves.
        assert full.returncode != 0
        return
    assert (full.returncode, full.stderr) == (0, '')
    assert f'{tmp_path / "set"} cannot be written:' in full.stdout
    assert 'Free space or choose another place' in full.stdout
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(RecordError, match='cannot be'):
        export_runs([run], tmp_path / 'file' / 'set', 'minari')


@pytest.mark.nightly
def test_nothing_piles_up_as_the_run_goes_on(
    format_: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Buffers that are full after a few steps: what grows then, grows with the run.
    monkeypatch.setattr(parquet_records, '_ROWS', 16)
    monkeypatch.setattr(parquet_records, '_GROUP', 2**16)
    parts: list[list[tuple[int, int]]] = []

    def look(done: int, total: int | None) -> None:
        assert total is not None
        if done == 1:
            parts.append([])
        seen = parts[-1]
        if done * 20 // total > len(seen):
            gc.collect()
            seen.append((len(gc.get_objects()), pa.total_allocated_bytes()))

    export_runs([run], tmp_path / 'set', format_, progress=look)
    # The records are read for the labels and for the steps, or as they are.
    for part in parts:
        early, late = part[4:10], part[12:]
        objects = [max(count for count, _ in half) for half in (early, late)]
        arrow = [max(size for _, size in half) for half in (early, late)]
        assert objects[1] < objects[0] + 3000, part
        assert arrow[1] < arrow[0] + 2**20, part
