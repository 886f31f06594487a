# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contracts as YAML files: data only, with the line of every key for error messages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
import re

import yaml

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.contract_parser import parse
from boundary_env_ros.core.contract_reader import Path as KeyPath
from boundary_env_ros.core.digest import digest_of
from boundary_env_ros.core.task import Task
from boundary_env_ros.errors import BoundaryError, ContractError, Problem
from boundary_env_ros.resources import share_file

TASKS = 'boundary_env_ros.tasks'

_DEEPEST = 20
#: More than any contract needs, and less than aliases of aliases can grow to.
_MOST = 10_000

#: Besides its own, PyYAML lets through what its constructors stumble over: `!!int x`,
#: `2001-99-99`, `!!bool x`.
_UNREADABLE = (
    yaml.YAMLError,
    RecursionError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedContract:
    """
    A contract with its identity and the text it came from.

    Attributes
    ----------
    contract
        The contract, under the pacing that was asked for.
    digest
        See :func:`boundary_env_ros.core.digest.digest_of`.
    text
        The file as it was read; with ``contract.pacing`` it is enough to rebuild the contract.

    """

    contract: Contract
    digest: str
    text: str


def load(place: str | Path, pacing: Pacing | None = None) -> LoadedContract:
    """
    Load a contract.

    Parameters
    ----------
    place
        A file, or the name of a shipped contract, for example ``warehouse_cart``.
    pacing
        Pacing instead of the one in the file; lockstep brings simulated time with it.

    Raises
    ------
    ContractError
        Listing every problem, each with its key path and line.

    """
    path = find(place)
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(
            [Problem(path=(), line=None, expected='a readable text file', actual=str(error))],
            str(path),
        ) from error
    return loads(text, source=str(path), pacing=pacing)


def find(place: str | Path) -> Path:
    """Return the path of a contract, given its file or the name of a shipped one."""
    path = Path(place)
    if path.suffix or path.exists() or len(path.parts) > 1:
        return path
    return share_file(f'config/{place}.yaml')


def loads(text: str, *, source: str = 'contract', pacing: Pacing | None = None) -> LoadedContract:
    """Load a contract from the text of a file; see :func:`load`."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except _UNREADABLE as error:
        mark = getattr(error, 'problem_mark', None)
        problem = Problem(
            path=(),
            line=None if mark is None else mark.line + 1,
            expected='a YAML file',
            actual=str(getattr(error, 'problem', None) or repr(error)),
        )
        raise ContractError([problem], source) from error
    lines, problems = ({}, ()) if node is None else _survey(node)
    if problems:
        raise ContractError(problems, source)
    contract = parse(data, lines=lines, source=source, tasks=installed_tasks())
    if pacing is not None:
        contract = contract.paced(pacing)
    return LoadedContract(contract=contract, digest=digest_of(contract), text=text)


def _survey(root: yaml.Node) -> tuple[dict[KeyPath, int], tuple[Problem, ...]]:
    """Return the line of every key, and what YAML would silently overwrite or blow up."""
    lines: dict[KeyPath, int] = {(): root.start_mark.line + 1}
    problems: list[Problem] = []
    ahead: list[tuple[KeyPath, yaml.Node]] = [((), root)]
    while ahead:
        path, node = ahead.pop()
        if len(path) > _DEEPEST or len(lines) > _MOST:
            expected = f'at most {_DEEPEST} levels and {_MOST} values, aliases written out'
            problem = Problem(
                path=path[:3], line=node.start_mark.line + 1, expected=expected, actual='more'
            )
            return lines, (problem,)
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                place: KeyPath = (*path, name)
                lines[place] = line = key.start_mark.line + 1
                if name in seen:
                    problems.append(
                        Problem(
                            path=place,
                            line=line,
                            expected='every key once',
                            actual='it is there twice',
                        )
                    )
                seen.add(name)
                ahead.append((place, value))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                item: KeyPath = (*path, index)
                lines[item] = value.start_mark.line + 1
                ahead.append((item, value))
    return lines, tuple(problems)


def installed_tasks() -> dict[str, tuple[str, str]]:
    """
    Return distribution and version of every installed task, by entry-point name.

    The names are normalised (PEP 503), since installers spell them differently.
    """
    return {
        entry.name: (_normalised(entry.dist.name), entry.dist.version) if entry.dist else ('', '')
        for entry in entry_points(group=TASKS)
    }


def _normalised(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def make_task(contract: Contract) -> Task:
    """
    Return the task that a contract names, made with its parameters.

    Raises
    ------
    ContractError
        If the task refuses its parameters.

    """
    for entry in entry_points(group=TASKS, name=contract.task.name):
        factory = entry.load()
        try:
            task: Task = factory(**contract.task.parameters)
        except (TypeError, ValueError, BoundaryError) as error:
            problem = Problem(
                path=('task', 'parameters'),
                line=None,
                expected=f'parameters that the task {entry.name!r} takes',
                actual=str(error),
            )
            raise ContractError([problem], contract.name) from error
        return task
    raise ContractError(
        [
            Problem(
                path=('task', 'name'),
                line=None,
                expected='an installed task',
                actual=contract.task.name,
            )
        ],
        contract.name,
    )
