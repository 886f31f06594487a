# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record run again: to its own verdict, or to that under another contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.replay.comparable import in_the_way
from boundary_env_ros.evidence.replay.report import VerdictReport
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task


def recompute(
    path: Path, contract: Path | None = None, progress: Progress | None = None
) -> VerdictReport:
    """
    Run a record again.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` file.
    contract
        Another contract to judge it under; the one that it was made under may be given for a
        record that has none.
    progress
        Is told how many records were read, and of how many, if that is known.

    Raises
    ------
    RecordError
        If there is no step, the steps were imported, or their contract is unknown.
    ContractError
        If a contract is not valid, or its task is not installed.
    BoundaryError
        If the record has not what the other contract asks for.

    """
    run = Run(path, progress)
    first = run.first_recorded()
    if first is None:
        raise RecordError(f'{path} has no step.')
    recorded, other = _contracts(run, first, contract)
    judged_by = other or recorded
    rerun = Rerun(
        judged_by.contract,
        make_task(judged_by.contract),
        digest=first.id.digest if other is not None else recorded.digest,
        counterfactual=other is not None,
    )
    for entry in run.entries():
        rerun.add(entry.record, entry.topic)
    asked = ''
    if other is not None:
        asked = f'Under {other.contract.name} {other.contract.version} ({other.digest[:15]})'
    return VerdictReport(
        question=asked,
        episodes=rerun.finish(),
        unreadable=run.unreadable,
        notes=tuple(_notes(run, other is None and recorded.digest != first.id.digest)),
    )


def _contracts(
    run: Run, first: Transition, contract: Path | None
) -> tuple[LoadedContract, LoadedContract | None]:
    """Return the contract that a record was made under, and another one to judge it under."""
    path, text = run.path, run.contract_text()
    recorded = other = None
    if text:
        recorded = loads(text, source=f'the contract of {path}', pacing=first.pacing)
    if contract is not None:
        other = load(contract, pacing=first.pacing)
        if other.digest == first.id.digest:
            recorded, other = other, None
    if recorded is None:
        raise RecordError(
            f'The contract of {path} ({first.id.digest}) is not in the record, nor given. '
            'Name the run folder or the bag, or give it as --contract.'
        )
    if other is not None:
        found = in_the_way(recorded.contract, other.contract)
        if found:
            raise BoundaryError(
                f'{contract}: the record cannot be judged under it.\n  ' + '\n  '.join(found)
            )
    return recorded, other


def _notes(run: Run, is_other: bool) -> Iterator[str]:
    if run.source.tear:
        yield f'the record is torn ({run.source.tear}); what is there was run'
    yield from run.source.unlike.sentences()
    if is_other:
        yield (
            'the contract has another digest than the steps: another file, or another '
            'version of its task is installed'
        )
