# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contracts as YAML files: data only, with the line of every key for error messages."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path
import re

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.grammar import NAME
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.problem_text import nearest, problem_at
from boundary_env_ros.core.contract.problem_text import Path as KeyPath
from boundary_env_ros.core.environment.task import NoTask, Task
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import ContractError, LinkError, MissingDependency, Problem
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.resources import entry_points, share_directory
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract.section_reader import line_of
from boundary_env_ros.storage.records import ContractDescription
from boundary_env_ros.storage.yaml_text import MOST_BYTES, YamlText

TASKS = 'boundary_env_ros.tasks'

#: Longer names no file has; asking for one is an error by itself.
_LONGEST = 255


@frozen
class LoadedContract:
    """
    A contract with its identity and the text it came from.

    Attributes
    ----------
    contract
        The contract, under the pacing that was asked for.
    digest
        See :func:`boundary_env_ros.core.contract.digest.digest_of`.
    text
        The file as it was read; with ``contract.pacing`` it is enough to rebuild the contract.
    lines
        Line of each key path in it, counted from 1.

    """

    contract: Contract
    digest: str
    text: str
    lines: Mapping[KeyPath, int]

    def described(self, node: str, role: str) -> ContractDescription:
        """Return what a node, by its full name, and its role say of their contract."""
        contract = self.contract
        return ContractDescription(
            node=node,
            role=role,
            contract=contract.name,
            contract_version=contract.version,
            digest=self.digest,
            software_version=__version__,
            task_distribution=contract.task.distribution,
            task_version=contract.task.version,
            text=self.text,
        )

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of the nearest key above that has one."""
        return line_of(path, self.lines)

    def placed(self, problem: Problem) -> Problem:
        """Return a problem with the line of its key, or of the nearest key above that has one."""
        return replace(problem, line=self.line_of(problem.path))


def load(place: str | Path, pacing: Pacing | str | None = None) -> LoadedContract:
    """
    Load a contract.

    Parameters
    ----------
    place
        A file, or the name of a shipped contract, for example ``warehouse_cart``.
    pacing
        Pacing or its name, instead of the one in the file; lockstep brings simulated time with it.

    Raises
    ------
    ContractError
        Listing every problem, each with its key path and line.
    LinkError
        If there is no pacing of that name.

    """
    if isinstance(pacing, str):
        names = {each.name.lower(): each for each in Pacing}
        if pacing not in names:
            raise LinkError(f'Unknown pacing (expected {", ".join(names)}, got {pacing!r}).')
        pacing = names[pacing]
    source, text = read_text(place)
    return loads(text, source=source, pacing=pacing)


def read_text(place: str | Path) -> tuple[str, str]:
    """
    Return the path and the text of a contract, given its file or the name of a shipped one.

    Raises
    ------
    ContractError
        If there is no such file, or what it holds is no text.

    """
    path = find(place)
    try:
        with path.open('rb') as file:
            # A device may have no end.
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        # A ValueError: the path itself is impossible.
        raise _unreadable(path, getattr(error, 'strerror', None) or str(error)) from error
    if len(data) > MOST_BYTES:
        raise _unreadable(path, f'more than {MOST_BYTES} bytes')
    try:
        # The text may begin with a mark, and its lines may end as on other systems.
        text = data.decode('utf-8-sig').replace('\r\n', '\n').replace('\r', '\n')
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        actual = f'byte 0x{data[error.start]:02x}, which is not UTF-8'
        raise _unreadable(path, actual, line) from error
    return str(path), text


def _unreadable(path: Path, actual: str, line: int | None = None) -> ContractError:
    actual = f'not a readable text file: {actual}'
    return ContractError([problem_at((), line, '', actual)], str(path))


def find(place: str | Path) -> Path:
    """
    Return the path of a contract, given its file or the name of a shipped one.

    Raises
    ------
    ContractError
        If it is a name, and neither a file nor a shipped contract has it.

    """
    path, name = Path(place), str(place)
    if not NAME.fits(name):
        return path
    folder = share_directory() / 'config'
    shipped = {file.stem: file for file in folder.glob('*.yaml') if NAME.fits(file.stem)}
    if len(name) < _LONGEST and path.exists():
        return path
    if name in shipped:
        return shipped[name]
    actual = f'no file and no shipped contract is called {name!r:.80}'
    hint = nearest(name, shipped) or f'Shipped are {", ".join(sorted(shipped))}.'
    raise ContractError([problem_at((), None, '', actual, hint)], f'{name:.80}')


def loads(
    text: str,
    *,
    source: str = 'contract',
    pacing: Pacing | None = None,
    task_from: tuple[str, str] | None = None,
) -> LoadedContract:
    """
    Load a contract from the text of a file; see :func:`load`.

    ``task_from`` is the distribution and version that its task had when a record was made: both
    are in the digest. None: the installed ones.
    """
    read = YamlText(text, source)
    contract: Contract | None = None
    problems: list[Problem] = []
    try:
        tasks = installed_tasks() if task_from is None else None
        contract = parse(read.data, lines=read.lines, source=source, tasks=tasks)
    except ContractError as error:
        # What stands where YAML was misread is said already.
        misread = [problem.path for problem in read.problems]
        problems = [
            problem
            for problem in error.problems
            if not any(problem.path[: len(path)] == path for path in misread)
        ]
    if contract is None or read.problems:
        found = sorted([*read.problems, *problems], key=lambda problem: problem.line or math.inf)
        raise ContractError(found, source)
    if task_from is not None and contract.task.name:
        contract = with_task_from(contract, task_from)
    if pacing is not None:
        contract = contract.paced(pacing)
    return LoadedContract(
        contract=contract, digest=digest_of(contract), text=text, lines=read.lines
    )


def with_task_from(contract: Contract, origin: tuple[str, str]) -> Contract:
    """Return a contract whose task comes from a distribution and version."""
    distribution, version = origin
    task = replace(contract.task, distribution=distribution, version=version)
    return replace(contract, task=task)


def installed_tasks() -> dict[str, tuple[str, str]]:
    """
    Return distribution and version of every installed task, by entry-point name.

    The names are normalised (PEP 503), since installers spell them differently. Of several tasks
    of one name it is the first, the one that :func:`make_task` makes.
    """
    found: dict[str, tuple[str, str]] = {}
    for entry in entry_points(group=TASKS):
        origin = (_normalised(entry.dist.name), entry.dist.version) if entry.dist else ('', '')
        found.setdefault(entry.name, origin)
    return found


def _reason(error: Exception) -> str:
    """Return what an error says, as part of a sentence; of one that says little, its name too."""
    text = str(error).rstrip('.')
    return f'{type(error).__name__} {text}' if isinstance(error, LookupError) else text


def _normalised(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def make_task(contract: Contract) -> Task:
    """
    Return the task that a contract names, made with its parameters; without one, ``NoTask``.

    Raises
    ------
    ContractError
        If the task refuses its parameters.

    """
    if not contract.task.name:
        return NoTask()
    for entry in entry_points(group=TASKS, name=contract.task.name):
        try:
            factory = entry.load()
        except ImportError as error:
            raise MissingDependency(
                f'The task {entry.name!r} cannot be imported: {error}. Install what it needs.'
            ) from error
        except Exception as error:  # a user's code may raise anything
            actual = f'the task cannot be imported: {_reason(error)}'
            raise _refused(contract, 'name', '', actual) from error
        try:
            task: Task = factory(**contract.task.parameters)
        except Exception as error:  # a user's code may raise anything
            actual = f'the task {entry.name!r} refuses them: {_reason(error)}'
            raise _refused(contract, 'parameters', '', actual) from error
        return task
    raise _refused(contract, 'name', 'an installed task', contract.task.name)


def _refused(contract: Contract, key: str, expected: str, actual: str) -> ContractError:
    return ContractError([problem_at(('task', key), None, expected, actual)], contract.name)
