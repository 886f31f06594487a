# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record run again: to its own verdict, or to that under another contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import ALIVE
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.record_difference import format_value
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.replay.verdict_report import VerdictReport
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
        Called with the number of records that were read, and of how many, if that is known.

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


_OF_FIELD = ('topic', 'type', 'source', 'task', 'shape', 'dtype', 'unit', 'frame')


_OF_GROUP = ('kind', 'topic', 'type', 'source', 'unit', 'frame', 'options')


_OF_FEEDBACK = ('topic', 'type', 'source')


_OF_OPERATOR = ('topic', 'type', 'source', 'scale', 'enable')


#: What is measured or commanded, by what it is in the contract; the keys that say how.
_Parts: TypeAlias = Mapping[str, tuple[object, tuple[str, ...]]]


def in_the_way(recorded: Contract, other: Contract) -> tuple[str, ...]:
    """
    Return what makes it impossible to judge a record under another contract; empty if nothing.

    Bounds, limits, rules, timeouts, costs, endings and parameters may differ: they are what is
    asked about. What was never measured cannot be judged by.

    Parameters
    ----------
    recorded
        The contract that the record was made under.
    other
        The other one.

    """
    found = [
        *_values('', recorded, other, ('pacing', 'period', 'agents', 'agent_order', 'sim_time'))
    ]
    ours, theirs = (', '.join(g.name for g in c.action) for c in (recorded, other))
    if ours != theirs:
        found.append(f'action: expected the groups {ours} as in the record, got {theirs}')
    known = _parts(recorded)
    hidden = {f'field {spec.name}' for spec in recorded.privileged}
    for path, (part, names) in _parts(other).items():
        if path in known:
            found += _values(f'{path}.', known[path][0], part, names)
        elif not path.startswith('action.'):
            why = 'it is privileged' if path in hidden else 'it was not recorded'
            found.append(f'{path}: {why} (expected what the record has)')
    needs = Limits(recorded).needs
    found += (
        f'{name.removeprefix(f"{ALIVE}.")}.on_stale: `stop` here only (expected as in the '
        'record, since the gate did not listen to that topic)'
        for name in Limits(other).needs
        if name.startswith(ALIVE) and name not in needs
    )
    return tuple(found)


def _parts(contract: Contract) -> _Parts:
    safety = contract.safety
    found: dict[str, tuple[object, tuple[str, ...]]] = {
        **{f'action.{g.name}': (g, _OF_GROUP) for g in contract.action},
        **{f'action.{g.name}.feedback': (g.feedback, _OF_FEEDBACK) for g in contract.action},
        # In which of the two sections it stands does not matter.
        **{
            f'field {spec.name}': (spec, _OF_FIELD)
            for spec in (*contract.observation, *contract.state)
            if spec.derived is None
        },
        **{'.'.join(rule.path): (rule, rule.measures) for rule in safety.rules},
    }
    if safety.operator is not None:
        found['safety.operator'] = (safety.operator, _OF_OPERATOR)
    return found


def _values(path: str, recorded: object, other: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ours, theirs = getattr(recorded, name), getattr(other, name)
        if ours != theirs:
            yield (
                f'{path}{name}: expected {format_value(ours)} as in the record, '
                f'got {format_value(theirs)}'
            )
