# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that can be known to be wrong with a contract before a robot is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.contract_fault import Path as KeyPath
from boundary_env_ros.errors import ContractError, MissingDependency, Problem
from boundary_env_ros.storage.contract_file import LoadedContract, loads, make_task
from boundary_env_ros.storage.contract_types import problems_of
from boundary_env_ros.storage.message_types import MessageTypes
from boundary_env_ros.storage.task_check import task_problems

_LATER = 'Message types, field paths and the task are looked at when these are mended.'


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCheck:
    """
    What came of checking one contract.

    Attributes
    ----------
    source
        Where it was read from.
    problems
        What is wrong with it, in the order of the file.
    notes
        Sentences about what could not be checked, and about what is allowed but unwise.
    name, version, digest
        Of the contract; empty if it is none.

    """

    source: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    name: str = ''
    version: str = ''
    digest: str = ''


def check_text(text: str, source: str, types: MessageTypes | None = None) -> ContractCheck:
    """
    Check a contract: the language, then the installed message types, then the task.

    Parameters
    ----------
    text
        Of the file.
    source
        Where it is from, for messages.
    types
        What is known about message types; None: what is known in this process.

    """
    try:
        loaded = loads(text, source=source)
    except ContractError as error:
        return ContractCheck(source=source, problems=error.problems, notes=(_LATER,))
    messages = problems_of(loaded.contract, types)
    of_task, note = _task_problems(loaded.contract)
    problems = [loaded.placed(problem) for problem in (*messages.problems, *of_task)]
    return ContractCheck(
        source=source,
        problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
        notes=(*_on_trust(loaded), *filter(None, (messages.note, note))),
        name=loaded.contract.name,
        version=loaded.contract.version,
        digest=loaded.digest,
    )


def _on_trust(loaded: LoadedContract) -> Iterator[str]:
    """Yield which timeouts of drivers nobody measures, though the gate could."""
    if loaded.contract.pacing is Pacing.LOCKSTEP:
        return  # The world stands still between two commands: no driver's time runs out.
    for group in loaded.contract.action:
        # How long a driver holds a place by itself cannot be seen.
        stays = any(map(math.isnan, group.safe))
        if group.driver_timeout is None or group.probe or stays:
            continue
        path: KeyPath = ('action', group.name, 'driver_timeout')
        yield (
            f'Note: {".".join(map(str, path))} (line {loaded.line_of(path)}): '
            f'{group.driver_timeout:g} s is taken on trust, and is all that stops the robot when '
            'the gate dies. Declare `probe`, a small command, and the gate measures it before it '
            'can be armed.'
        )


def _task_problems(contract: Contract) -> tuple[tuple[Problem, ...], str]:
    """Return where contract and task do not fit, and why that could not be found out."""
    try:
        task = make_task(contract)
    except MissingDependency as error:
        return (), f'The task was not checked. {error}'
    except ContractError as error:
        return error.problems, ''
    return task_problems(contract, task), ''
