# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From plain data to a :class:`~boundary_env_ros.core.contract.model.Contract`, strictly.

Every problem is found and reported at once. The key reference is ``doc/contract.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
import math

from boundary_env_ros.core.contract.checks import contradictions
from boundary_env_ros.core.contract.grammar import NAME, TYPE
from boundary_env_ros.core.contract.key import parts_of
from boundary_env_ros.core.contract.model import (
    Contract,
    DocumentGroup,
    EpisodeRules,
    TaskSpec,
)
from boundary_env_ros.core.contract.problem_text import nearest, Path, Text
from boundary_env_ros.core.contract.sources import FORMS
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.core.records.endings import EndingKind
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract.action import parse_action
from boundary_env_ros.storage.contract.fields import parse_fields, schema_problems
from boundary_env_ros.storage.contract.forms import number_form, word_form
from boundary_env_ros.storage.contract.reset import parse_reset
from boundary_env_ros.storage.contract.safety import parse_safety
from boundary_env_ros.storage.contract.section_reader import Reader

#: Keys whose meaning, or need, follows from the interface of a group, or the type of a message.
_OF_INTERFACE = (
    'safe', 'max_velocity', 'max_acceleration', 'max_jerk', 'max_deceleration', 'max_effort_rate',
)  # fmt: skip
_OF_TYPE = frozenset(
    [
        *FORMS, *_OF_INTERFACE, 'interface', 'unit', 'length', 'shape', 'encoding', 'type', 'low',
        'high', 'duration',
    ]
)  # fmt: skip


def parse(
    data: object,
    *,
    lines: Mapping[Path, int] | None = None,
    source: str = 'contract',
    tasks: Mapping[str, tuple[str, str]] | None = None,
) -> Contract:
    """
    Return the contract that plain data holds.

    Parameters
    ----------
    data
        Nested mappings, lists, texts and numbers, as a YAML file gives them.
    lines
        Line of each key path, for messages.
    source
        Name of the file, for messages.
    tasks
        Distribution and version of each installed task, by its entry-point name; None: do not
        look.

    Raises
    ------
    ContractError
        Listing every problem.

    """
    top = Reader(data, lines=lines)
    observation, state, privileged = parse_fields(top)
    documents = _documents(top.section('documents', required=False))
    section = top.section('action', required=not documents)
    period, agent_order = _period(top), top.value(Contract, 'agent_order')
    action = parse_action(section, period)
    safety = parse_safety(
        top.section('safety', required=False),
        [dimension for group in action for dimension in group.dimensions],
        period * max(1, len(agent_order)),
    )
    budget = top.section('latency_budget', required=False)
    stages = parts_of(Contract)['latency_budget'].key
    assert stages is not None
    seconds = number_form(stages)
    first_sensor = next((field.name for field in observation if field.topic), '')
    contract = top.make(
        Contract,
        period=period,
        agent_order=agent_order,
        observation=observation,
        state=state,
        privileged=privileged,
        action=action,
        documents=documents,
        safety=safety,
        latency_budget={
            stage: budget.one(stage, seconds) for stage in stages.choices if budget.has(stage)
        },
        reaction_of=top.value(Contract, 'reaction_of', default=first_sensor),
        task=_task(top.section('task'), tasks) if top.has('task') else TaskSpec(name=''),
        episode=_episode(
            top.section('episode'), {f.name: f.size for f in (*observation, *state, *privileged)}
        ),
    )
    top.finish()
    top.report(list(contradictions(contract, {problem.path for problem in top.problems})))
    if top.problems:
        raise ContractError(sorted(_without_repeats(_causes(top.problems)), key=_by_line), source)
    return contract


def _period(top: Reader) -> float:
    if not top.has('rate'):
        period: float = top.value(Contract, 'period')
        return period
    if top.has('period'):
        top.problem(('rate',), 'one of period and rate', Text('both'))
    rate: int = top.value(Contract, 'rate')
    wrong = any(problem.path == ('rate',) for problem in top.problems)
    return math.nan if wrong else 1.0 / rate  # nothing is said of what follows


def _causes(problems: Sequence[Problem]) -> list[Problem]:
    """Return problems without those that may follow from a type or an interface that is none."""
    deciding: list[tuple[Problem, Collection[object]]] = []
    for problem in problems:
        if problem.expected == TYPE.expected and problem.actual != 'nothing':
            deciding.append((problem, _OF_TYPE))
        elif problem.path[-1:] == ('interface',):
            deciding.append((problem, _OF_INTERFACE))
    follows = {
        problem
        for problem in problems
        for cause, keys in deciding
        if may_follow(problem.path, cause.path[:-1], keys)
        and problem is not cause
        and problem.expected != NAME.expected
    }
    return [problem for problem in problems if problem not in follows]


def may_follow(path: Path, section: Path, keys: Collection[object] = _OF_TYPE) -> bool:
    """Return whether a problem at a place may follow from what decides some keys of a section."""
    below = path[len(section) :]
    return path[: len(section)] == section and (not below or below[0] in keys)


def _without_repeats(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems; the same of several values of one key is one problem of the key."""
    several: dict[Problem, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        of_item = problem.path and isinstance(problem.path[-1], int)
        key = replace(problem, path=problem.path[:-1]) if of_item else problem
        several.setdefault(key, []).append(problem)
    for key, same in several.items():
        yield (
            same[0]
            if len(same) == 1
            else replace(key, actual=f'{key.actual}, for {len(same)} values')
        )


def _by_line(problem: Problem) -> tuple[float, str]:
    return (math.inf if problem.line is None else problem.line, str(problem.path))


# Documents ---------------------------------------------------------------------------------------


def _documents(section: Reader) -> tuple[DocumentGroup, ...]:
    return tuple(_document_group(section.section(name), name) for name in section.named())


def _document_group(key: Reader, name: str) -> DocumentGroup:
    group = key.make(DocumentGroup, name=name)
    key.report(schema_problems(group.schema))
    return group


# Episode and task --------------------------------------------------------------------------------


def _episode(key: Reader, sizes: Mapping[str, int]) -> EpisodeRules:
    declared = key.section('endings', required=False)
    kinds = word_form({one.name.lower(): one for one in EndingKind}, EndingKind.TERMINATED)
    own = {name: declared.one(name, kinds) for name in declared.names()}
    for name in own:
        built_in = endings.BUILT_IN.get(name)
        if built_in is not None and own[name] is not built_in:
            declared.problem(
                (name,),
                f'{built_in.name.lower()}, which is what {name} means',
                own[name].name.lower(),
                'Give the ending another name.',
            )
    # A declared ending is a verdict of the task: it goes before success, after all failures of the
    # machinery.
    every: dict[str, EndingKind] = {}
    for name, kind in endings.BUILT_IN.items():
        if name == endings.FAILURE:
            every.update({n: e for n, e in own.items() if n not in endings.BUILT_IN})
        every[name] = kind
    stops = key.section('on_stop', required=False)
    reasons = {reason.name.lower() for reason in Reason}
    on_stop = {}
    for reason in stops.names():
        if reason not in reasons:
            stops.problem(
                (reason,), 'a reason of the gate', Text('another'), nearest(reason, reasons)
            )
        on_stop[reason.upper()] = stops.one(
            reason, word_form({ending: ending for ending in every})
        )
    reset = parse_reset(
        key.section('reset', expected='a mapping with a `service`, or a `procedure`'), sizes
    )
    return key.make(EpisodeRules, endings=every, on_stop=on_stop, reset=reset)


def _task(key: Reader, tasks: Mapping[str, tuple[str, str]] | None) -> TaskSpec:
    task = key.make(TaskSpec)
    name = task.name
    if tasks is None or not name:
        return task
    if name not in tasks:
        key.problem(
            ('name',),
            f'an installed task: {", ".join(sorted(tasks)) or "none is installed"}',
            name,
            nearest(name, tasks),
        )
        return task
    distribution, version = tasks[name]
    return replace(task, distribution=distribution, version=version)
