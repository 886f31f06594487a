# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that can be known to be wrong with a contract before a robot is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
import re
import unicodedata

from boundary_env_ros.core.contract.model import ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.contract.problem_text import Path as KeyPath
from boundary_env_ros.core.contract.sources import Lookup, Picture
from boundary_env_ros.core.sources.message_parts import unit_at
from boundary_env_ros.errors import ContractError, MissingDependency, Problem
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage.contract.parser import may_follow
from boundary_env_ros.storage.contract_file import LoadedContract, loads, make_task
from boundary_env_ros.storage.contract_types import problems_of, TRANSFORM
from boundary_env_ros.storage.message_types import message_types, MessageTypes, TypeMismatch
from boundary_env_ros.storage.task_check import task_problems
from boundary_env_ros.storage.yaml_text import YamlText

_LATER = 'Field paths and the task are checked once these are fixed.'

#: What a draft marks: what was made from what was seen, and what only a person can know.
GUESS, DECIDE = 'GUESS', 'DECIDE'

_TYPE = r'\w+/(msg|srv)/\w+'

#: Units that a user may expect to be converted.
_NOT_SI = frozenset(['deg', 'deg/s', 'degree', 'degrees', 'mm', 'mm/s', 'cm', 'cm/s', 'rpm'])


@frozen
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
        problems = _with_types(error.problems, text, source, types)
        notes = (*_marks(text), _LATER)
        return ContractCheck(source=source, problems=tuple(problems), notes=notes)
    messages = problems_of(loaded.contract, types)
    of_task, note = _task_problems(loaded.contract)
    found = [loaded.placed(problem) for problem in (*messages.problems, *of_task)]
    unwise = (
        f'Note: {".".join(map(str, path))} (line {loaded.line_of(path)}): {why}'
        for path, why in _unwise(loaded)
    )
    return ContractCheck(
        source=source,
        problems=tuple(sorted(found, key=lambda problem: problem.line or 0)),
        notes=(*unwise, *_marks(text), *filter(None, (messages.note, note))),
        name=loaded.contract.name,
        version=loaded.contract.version,
        digest=loaded.digest,
    )


def _with_types(
    problems: Sequence[Problem], text: str, source: str, types: MessageTypes | None
) -> list[Problem]:
    """Return problems, with types that are not installed in place of what follows from them."""
    try:
        read = YamlText(text, source)
    except ContractError:
        return list(problems)
    known = message_types() if types is None else types
    unknown: dict[KeyPath, str] = {}
    found = list(problems)
    for path, name in _types(read.data, ()):
        try:
            known.fields(name)
        except TypeMismatch as mismatch:
            if mismatch.sure:
                unknown[path[:-1]] = name
                found.append(replace(mismatch.at(*path), line=read.lines.get(path)))
    follows = {
        problem
        for problem in problems
        for section, name in unknown.items()
        if name in problem.expected + problem.actual or may_follow(problem.path, section)
    }
    kept = [problem for problem in found if problem not in follows]
    if kept == list(problems):
        return kept
    return sorted(kept, key=lambda problem: problem.line or math.inf)


def _types(data: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yield where a contract names a message or service type, and which."""
    items = data.items() if isinstance(data, Mapping) else ()
    for key, value in items:
        if key == 'type' and isinstance(value, str) and re.fullmatch(_TYPE, value):
            yield (*path, key), value
        elif path[:1] != ('task',):
            yield from _types(value, (*path, key))


def _marks(text: str) -> Iterator[str]:
    """Yield a note for all open decisions of a draft, and one for its guesses."""
    for mark, which, what in (
        (DECIDE, 'decisions', 'Decide them, then delete the marks.'),
        (GUESS, 'guesses', 'Confirm them.'),
    ):
        lines = [
            str(number)
            for number, line in enumerate(text.split('\n'), start=1)
            if f'# {mark}: ' in line
        ]
        if lines:
            yield f'Note: {which} of a draft ({mark}) in lines {", ".join(lines)}. {what}'


def _unwise(loaded: LoadedContract) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is allowed and may not be meant, each with its place."""
    contract = loaded.contract
    for where in ('observation', 'state', 'privileged', 'action'):
        for one in getattr(contract, where):
            if getattr(one, 'derived', None) is None:
                yield from _unwise_units((where, one.name), one)
    for group in contract.action:
        yield from _unwise_group(('action', group.name), group, contract)


def _unwise_units(path: KeyPath, one: FieldSpec | ActionSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield the units of a field or a group that are not those of its message."""
    kind = TRANSFORM if isinstance(one.source, Lookup) else one.type
    places = getattr(one.source, 'paths', ()) or ('',) * len(one.unit)
    other, odd = [], []
    for place, unit in zip(places, one.unit, strict=True):
        declared = unit_at(kind, place)
        if unit and declared and _letters(unit) != _letters(declared):
            other.append(f'{place} is in {declared}, not in {unit}')
        elif unit in _NOT_SI and not declared and not isinstance(one.source, Picture):
            odd.append(unit)
    for units, more in (other, ''), (sorted({*odd}), ' Messages of ROS have rad and m.'):
        if units:
            text = 'no unit is converted, the numbers are those of the message.'
            yield (*path, 'unit'), f'{", ".join(units)}: {text}{more}'


def _letters(unit: str) -> str:
    """Return what is the same of ``m/s^2`` and ``m/s²``."""
    return ''.join(filter(str.isalnum, unicodedata.normalize('NFKC', unit)))


def _unwise_group(
    path: KeyPath, group: ActionSpec, contract: Contract
) -> Iterator[tuple[KeyPath, str]]:
    # How long a driver holds a place by itself cannot be seen; in lockstep the world stands
    # still between two commands, and no driver's time runs out.
    stays = any(map(math.isnan, group.safe)) or contract.is_lockstep
    if group.driver_timeout is not None and not group.driver_timeout_probe and not stays:
        why = (
            f'{group.driver_timeout:g} s is taken on trust, and is all that stops the robot when '
            'the gate dies. Declare `driver_timeout_probe`, a small command, and start the nodes '
            'with `up --probe`: the gate measures it before it can be armed.'
        )
        yield (*path, 'driver_timeout'), why
    changes = [contract.period * rate for rate in group.rate]
    if all(a < 2.0 * b for a, b in zip(changes, group.feedback.threshold, strict=True)):
        why = (
            'in every step it will be unknown when a command was executed: to be seen it has to '
            f'change by twice the threshold (expected at most {max(changes) / 2.0:g}, half of '
            f'what {contract.period:g} s can change, got {min(group.feedback.threshold):g}). '
            'Lower it, or leave it out.'
        )
        yield (*path, 'feedback', 'threshold'), why


def _task_problems(contract: Contract) -> tuple[tuple[Problem, ...], str]:
    """Return where contract and task do not fit, and why that could not be found out."""
    try:
        task = make_task(contract)
    except MissingDependency as error:
        return (), f'The task was not checked. {error}'
    except ContractError as error:
        return error.problems, ''
    return task_problems(contract, task), ''
