# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A contract drawn for a reader: who owns what, then everything that crosses the boundary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
import math
import textwrap

from boundary_env_ros.core.causes import ENVIRONMENT_LOST
from boundary_env_ros.core.contract import (
    CallStep,
    ConfirmStep,
    Contract,
    Pacing,
    PublishStep,
    ResetStep,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.contract_reader import printable
from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.evidence.describe_fields import describe_field, describe_group, number
from boundary_env_ros.evidence.describe_rules import rules_of_gate, sent_while_late

WIDTH = 92
_NO_TASK = 'There is no task: no success, no failure, and a reward of 0.'
_LONGEST_BAR = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading of a description, and the lines below it."""

    title: str
    lines: tuple[str, ...]


def owners(contract: Contract) -> Mapping[str, str]:
    """Return the answers to the four questions of ownership, one sentence each."""
    commands = ', '.join(group.topic for group in contract.action)
    hidden = ', '.join(field.name for field in contract.evaluator)
    never = f' It never gets {hidden}, which only the evaluator sees.' if hidden else ''
    silent = number(2 * contract.safety.environment_timeout)
    reaction = next(field for field in contract.observation if field.name == contract.reaction_of)
    seen_by = (
        f'the header stamp of {reaction.topic}'
        if reaction.topic
        else 'which comes from no topic, so it stays unknown'
    )
    feedback = ', '.join(dict.fromkeys(group.feedback.topic for group in contract.action))
    task = contract.task.name
    judge = f'Whether the task is over is for the task {task!r} to judge.' if task else _NO_TASK
    return {
        'the observation': (
            'The process `environment`. It freezes every field once a step and serves the policy '
            f'what it froze.{never}'
        ),
        'the choice of action': (
            'The process of the policy. What becomes of it the process `safety_gate` decides, '
            f'which alone publishes {commands}.'
        ),
        'the ending': (
            f'The process `environment` declares it, with one cause. {judge} When the '
            f'environment is silent for {silent} s, the recorder declares {ENVIRONMENT_LOST}.'
        ),
        'the record of timing': (
            f'`captured` of the field {contract.reaction_of!r}: {seen_by}. Every instant from '
            'there to `actuated` (the first evidence of execution in '
            f'{feedback}) stands in the `Transition` of its step.'
        ),
    }


def describe(
    contract: Contract, digest: str, *, width: int = WIDTH, bar: str = '#'
) -> tuple[Section, ...]:
    """
    Return a contract, drawn.

    Parameters
    ----------
    contract
        What to draw.
    digest
        Its digest.
    width
        Columns that no line is wider than, if its words allow.
    bar
        Character that bars are made of.

    """
    page = _Page(width)
    sections = [
        Section(title=f'{contract.name} {contract.version}', lines=(digest,)),
        Section(title='Who owns', lines=tuple(page.terms(owners(contract).items()))),
        Section(title='Time', lines=tuple(page.terms(_times(contract)))),
    ]
    for title, some in (
        ('Observation: what the policy sees, in this order', contract.observation),
        ('State: what environment and task know besides', contract.state),
        ('Evaluator: recorded and judged on, never shown to a policy', contract.evaluator),
    ):
        lines = [line for field in some for line in describe_field(field, width)]
        if lines:
            sections.append(Section(title=title, lines=tuple(lines)))
    lines = [line for group in contract.action for line in describe_group(group, width)]
    sections += [
        Section(title='Action: what the policy may ask for, in this order', lines=tuple(lines)),
        Section(
            title='Rules of the gate, in their order; the strictest outcome is the verdict',
            lines=tuple(page.terms(rules_of_gate(contract))),
        ),
        Section(title='When somebody is silent', lines=tuple(_silences(contract, page))),
    ]
    if contract.latency_budget:
        lines = list(_budget(contract, bar))
        sections.append(Section(title='Latency budget of a step', lines=tuple(lines)))
    sections += [
        Section(title='Endings', lines=tuple(_endings(contract))),
        Section(title='Reset', lines=tuple(page.terms(_reset(contract)))),
        Section(title='Task', lines=tuple(page.terms(_task(contract)))),
    ]
    # What a contract says must not steer the terminal.
    return tuple(
        replace(section, lines=tuple(map(printable, section.lines))) for section in sections
    )


def as_data(contract: Contract, digest: str) -> dict[str, object]:
    """Return the same as plain data: the owners, and all attributes of the contract."""
    data = {f.name: _plain(getattr(contract, f.name)) for f in fields(contract)}
    for section, specs in (
        ('observation', contract.observation),
        ('state', contract.state),
        ('evaluator', contract.evaluator),
    ):
        data[section] = [
            {
                **{f.name: _plain(getattr(spec, f.name)) for f in fields(spec)},
                'rank': len(spec.shape),
            }
            for spec in specs
        ]
    return {
        'digest': digest,
        'owners': dict(owners(contract)),
        'max_steps': contract.max_steps,
        **data,
    }


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return 'hold'
    return value


class _Page:
    def __init__(self, width: int) -> None:
        self._width = width

    def terms(self, items: Iterable[tuple[str, str]]) -> list[str]:
        """Return words, each with a text beside it."""
        pairs = list(items)
        column = max((len(term) for term, _ in pairs), default=0) + 2
        lines = []
        for term, text in pairs:
            lines += self.hanging(f'  {term:<{column}}', text)
        return lines

    def hanging(self, head: str, text: str) -> list[str]:
        """Return a text beside its head, and what does not fit below itself."""
        room = max(20, self._width - len(head))
        wrapped = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or ['']
        blank = ' ' * len(head)
        return [f'{head}{wrapped[0]}'.rstrip(), *(blank + line for line in wrapped[1:])]


def _times(contract: Contract) -> Iterator[tuple[str, str]]:
    lockstep = contract.pacing is Pacing.LOCKSTEP
    yield (
        'step',
        f'{number(contract.period)} s ({number(1.0 / contract.period)} Hz), '
        + (
            'lockstep: the world stands still until the gate has decided, '
            f'at most {number(contract.lockstep_deadline)} s'
            if lockstep
            else 'realtime: nobody waits for the policy'
        ),
    )
    again = contract.safety.republish
    yield (
        'gate',
        f'its own timer every {number(contract.safety.gate_period)} s'
        + (f'; the command in force is sent again every {number(again)} s' if again else ''),
    )
    yield 'clock', '/clock (simulated time)' if contract.sim_time else 'of the system'
    if contract.horizon > 1:
        yield 'chunk', f'one request covers up to {contract.horizon} steps'
    if contract.robot_host:
        yield 'sensors', f'stamped by the clock of the host {contract.robot_host}'
    agents = ', '.join(contract.agents)
    several = len(contract.agents) > 1
    yield (
        'agents' if several else 'agent',
        agents
        + (f'; every topic below once for each, as {contract.agents[0]}/...' if several else ''),
    )
    if contract.turns:
        yield 'turns', f'{", ".join(contract.turns)}; one acts in each step, the others hold'


# Silence -----------------------------------------------------------------------------------------


def _silences(contract: Contract, page: _Page) -> Iterator[str]:
    safety = contract.safety
    held: list[tuple[float | None, str]] = [
        (safety.hold_after, f'the gate sends {sent_while_late(safety.hold)} (HELD)'),
        (safety.command_timeout, 'the gate stops the robot (STOPPED)'),
    ]
    waited = [(contract.lockstep_deadline, 'the gate stops the robot (STOPPED)')]
    policy = waited if contract.pacing is Pacing.LOCKSTEP else held
    drivers = [
        (group.driver_timeout, f'the driver of {group.topic} stops by itself')
        for group in contract.action
    ]
    silent = safety.environment_timeout
    hand: list[tuple[str, list[tuple[float | None, str]]]] = []
    if safety.operator is not None:
        hand.append(('the operator', [(safety.operator.timeout, 'the policy is heard again')]))
    table: list[tuple[str, list[tuple[float | None, str]]]] = [
        ('the policy', [*policy, (safety.policy_timeout, 'the episode ends: policy_lost')]),
        ('the gate', [*drivers, (safety.gate_timeout, 'the episode ends: gate_lost')]),
        (
            'the environment',
            [
                (silent, 'the gate stops the robot (STOPPED)'),
                (2 * silent, 'the recorder declares environment_lost'),
            ],
        ),
        ('a sensor of a rule', [(safety.sensor_timeout, 'the gate stops the robot (STOPPED)')]),
        *hand,
        ('every sensor', [(safety.robot_timeout, 'the episode ends: robot_lost')]),
    ]
    if contract.recorder_required:
        lost = (safety.recorder_timeout, 'the episode ends: recorder_lost')
        table.append(('the recorder', [lost]))
    for who, what in table:
        for index, (seconds, text) in enumerate(what):
            when = 'never  ' if seconds is None else f'{number(seconds)} s'
            head = f'  {"" if index else who:<19}{when:>9}  '
            yield from page.hanging(head, text)


# Latency, episode, task --------------------------------------------------------------------------


def _budget(contract: Contract, bar: str) -> Iterator[str]:
    budget = contract.latency_budget
    longest = max(budget.values())
    for stage in STAGES:
        if stage in budget:
            length = max(1, round(_LONGEST_BAR * budget[stage] / longest))
            yield f'  {stage:<10}{number(budget[stage]):>7} s  {bar * length}'
    whole = sum(seconds for stage, seconds in budget.items() if stage != 'reaction')
    if set(STAGES) - {'reaction'} <= set(budget):
        yield f'  {"together":<10}{number(whole):>7} s, from captured to actuated'


def _endings(contract: Contract) -> Iterator[str]:
    rules = contract.episode
    yield f'  after {number(rules.time_limit)} s ({contract.max_steps} steps) at the latest'
    yield '  of several causes at one instant, the first of these:'
    stops: dict[str, list[str]] = {}
    for reason, cause in rules.on_stop.items():
        stops.setdefault(cause, []).append(reason)
    column = max(map(len, rules.causes)) + 2
    for place, (cause, ending) in enumerate(rules.causes.items(), start=1):
        of_gate = f'  when the gate stops for {", ".join(stops[cause])}' if cause in stops else ''
        yield f'  {place:>2}  {cause:<{column}}{ending.name.lower():<10}{of_gate}'.rstrip()


def _reset(contract: Contract) -> Iterator[tuple[str, str]]:
    reset = contract.episode.reset
    for index, step in enumerate(reset.steps, start=1):
        yield str(index), _reset_step(step)
    if reset.settle:
        yield 'settle', f'{number(reset.settle)} s'
    yield 'deadline', f'{number(reset.deadline)} s for all of it, else reset_failed'
    for name, tolerance in reset.tolerance.items():
        shown = ', '.join(map(number, tolerance))
        yield 'tolerance', f'{name} within {shown} of what was sampled, else reset_failed'
        if reset.wrap.get(name):
            places = ', '.join(map(str, reset.wrap[name]))
            yield 'wrap', f'{name}[{places}]: an angle differs by half a turn at most'


def _reset_step(step: ResetStep) -> str:
    if isinstance(step, PublishStep):
        return f'publish {step.type} on {step.topic}'
    within = f'within {number(step.deadline)} s'
    match step:
        case WorldStep():
            return f'ask {step.service} for the sampled state of the world, {within}'
        case CallStep():
            return f'call {step.service} ({step.type}), {within}'
        case ConfirmStep():
            return f'a person confirms, {within}: {step.prompt}'
        case WaitStep():
            goal = step.sampled or f'[{", ".join(map(number, step.target))}]'
            shown = ', '.join(map(number, step.tolerance))
            return f'wait until {step.field} is {goal} up to {shown}, {within}'


def _task(contract: Contract) -> Iterator[tuple[str, str]]:
    task = contract.task
    if not task.name:
        yield 'none', 'a reward of 0; episodes end by the time limit, a stop, or a loss'
        return
    origin = f'{task.distribution} {task.version}'.strip() or 'an unknown package'
    yield task.name, f'of {origin}'
    for name, value in _leaves(task.parameters, ''):
        yield f'  {name}', value


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f'{name}.{key}' if name else str(key))
    elif name:
        yield name, number(value) if isinstance(value, float) else str(value)
