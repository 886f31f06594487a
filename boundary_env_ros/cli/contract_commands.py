# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The commands ``boundary-env contract``: draft, check, show and compare contracts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import textwrap
from typing import TYPE_CHECKING

import click

from boundary_env_ros.cli.command import (
    argument,
    CommandGroup,
    complain,
    contract_argument,
    counting,
    domain_option,
    DONE,
    FOUND,
    Number,
    option,
    PATH,
    print_json,
    Progress,
    ros_command,
    UNUSABLE,
)
from boundary_env_ros.errors import BoundaryError

if TYPE_CHECKING:
    from boundary_env_ros.evidence.contract_difference import ContractDifference
    from boundary_env_ros.storage.contract_check import ContractCheck

#: Exit code for contracts that differ in behaviour, but fit one another.
BEHAVIOUR = 3


@click.group(cls=CommandGroup)
def contract() -> None:
    """
    Draft, check, show and compare contracts.

    A contract is one YAML file: what a policy observes, what it may command and within which
    limits, when an episode ends. doc/contract.md explains every key.
    """


# init --------------------------------------------------------------------------------------------


@contract.command()
@argument('output', 'FILE', 'contract to write; must not exist', type=PATH)
@option(
    '--bag',
    type=PATH,
    metavar='PATH',
    help='bag to draft from: rosbag2 folder, .mcap, .db3 or run folder (default: the live robot)',
)
@option(
    '--seconds',
    type=Number(0, 3600, min_open=True),
    default=10.0,
    metavar='S',
    help='how long to watch the live robot',
)
@domain_option()
def init(output: Path, bag: Path | None, seconds: float, domain_id: int | None) -> int:
    """
    Draft a contract from a bag or a live robot.

    Topics, types, shapes and rates come from the recording. Every guess is marked GUESS with its
    reason; what only you can know, such as bounds and limits, is marked DECIDE and blank.

      boundary-env contract init my_robot.yaml --bag recording/
      boundary-env contract init my_robot.yaml --seconds 30

    Exit codes:
      0  done
      2  wrong arguments, the file exists, or nothing can be drafted
    """
    from boundary_env_ros.storage.atomic import check_new, write_new

    check_new(output)  # before the work, and again when it is written
    text = _of_robot(seconds, domain_id) if bag is None else _of_bag(bag)
    write_new(output, text.encode())
    decisions = text.count('DECIDE:')
    print(
        f'Draft: {output}, with {text.count("GUESS:")} guesses (GUESS) and {decisions} decisions '
        '(DECIDE).'
    )
    print('Go through it from top to bottom, fill in what is blank, then let it be checked:')
    print(f'  boundary-env contract check {output}')
    return DONE


def _of_bag(bag: Path) -> str:
    from boundary_env_ros.evidence.infer_contract.bag_survey import init_from_bag

    with counting('messages') as progress:
        return init_from_bag(bag, progress=progress)


def _of_robot(seconds: float, domain_id: int | None) -> str:
    with Progress() as show:

        def progress(elapsed: float, topics: int, messages: int) -> None:
            show(f'{elapsed:.1f} of {seconds:g} s: {messages} messages on {topics} topics')

        try:
            found = ros_command('init')(seconds=seconds, domain_id=domain_id, progress=progress)
        except BoundaryError as error:
            raise type(error)(f'{error} Or draft from a bag with --bag.') from error
    return str(found)


# check -------------------------------------------------------------------------------------------


@contract.command()
@contract_argument('contracts', nargs=-1, required=True)
def check(contracts: tuple[str, ...]) -> int:
    """
    Report every problem of a contract, with line and fix.

    Checks the keys and their values, then that message types and field paths exist, then that
    the task is installed and fits. What cannot be checked without ROS is said in a note; notes,
    like a driver timeout that nothing measures, are no problems. The contract itself executes no
    code; the installed task that it names is imported and tried.

      boundary-env contract check my_robot.yaml
      boundary-env contract check warehouse_cart door_arm

    Exit codes:
      0  no problem
      1  at least one problem
      2  wrong arguments, or a file that cannot be read
    """
    from boundary_env_ros.storage.contract_check import check_text
    from boundary_env_ros.storage.contract_file import read_text

    codes = [DONE]
    for file in contracts:
        try:
            source, text = read_text(file)
        except BoundaryError as error:
            complain(error)
            codes.append(UNUSABLE)
            continue
        checked = check_text(text, source)
        print(_problems_text(checked))
        codes.append(FOUND if checked.problems else DONE)
    return max(codes)


def _problems_text(check: ContractCheck) -> str:
    count = len(check.problems)
    if count:
        head = f'{check.source}: {count} problem{"s" if count > 1 else ""}'
    else:
        head = f'{check.source}: no problem. {check.name} {check.version}, {check.digest}'
    return '\n  '.join([head, *map(str, check.problems), *check.notes])


# show --------------------------------------------------------------------------------------------


@contract.command()
@contract_argument()
def show(contract: str) -> int:
    """
    Print a contract with its defaults.

    First which process owns the observation, the choice of action, the ending and the timing.
    Then, as YAML, every key with its value and unit, and whether it is a default.

      boundary-env contract show warehouse_cart

    Exit codes:
      0  done
      2  wrong arguments, or an invalid contract; `boundary-env contract check` says why
    """
    from boundary_env_ros.evidence.describe import describe, owners
    from boundary_env_ros.storage.contract_file import load

    loaded = load(contract)
    print(f'{loaded.contract.name} {loaded.contract.version}\n{loaded.digest}\n')
    for what, who in owners(loaded.contract).items():
        line = f'{what[:1].upper()}{what[1:]}: {who}'
        print(textwrap.fill(line, 99, subsequent_indent='  ', break_on_hyphens=False))
    print(describe(loaded.contract, written=loaded.lines), end='')
    return DONE


# diff --------------------------------------------------------------------------------------------


@contract.command()
@contract_argument('before')
@contract_argument('after')
def diff(before: str, after: str) -> int:
    """
    Compare two contracts, and say what the change means for results.

    Every change has its key, its old and new value, and its class:

      breaking      policies and records of one contract do not fit the other: spaces, units,
                    frames, order, agents, the meaning of actions, endings
      behavioural   robot, world or task may behave differently, so results are not of the same
                    experiment: limits, timeouts, rates, pacing, task, reset
      cosmetic      nothing but the version's text; comments and layout do not count at all

      boundary-env contract diff released.yaml my_robot.yaml || echo 'not comparable'

    Exit codes:
      0  cosmetic changes at most
      1  at least one breaking change
      2  wrong arguments, or an invalid contract; `boundary-env contract check` says why
      3  behavioural changes at most
    """
    from boundary_env_ros.core.contract.key import Meaning
    from boundary_env_ros.evidence.contract_difference import difference
    from boundary_env_ros.storage.contract_file import load

    old, new = load(before), load(after)
    found = difference(old.contract, new.contract)
    print(_changes_text(found, same_text=old.text == new.text))
    return {
        Meaning.COSMETIC: DONE,
        Meaning.BEHAVIOURAL: BEHAVIOUR,
        Meaning.BREAKING: FOUND,
    }[found.meaning]


#: What follows from changes, by the gravest of them.
_FOLLOWS = {
    'COSMETIC': 'Results are comparable. Start all nodes with one of the two contracts.',
    'BEHAVIOURAL': 'Robot, world or task may behave otherwise: results are of two experiments.',
    'BREAKING': 'Policies and records of one contract do not fit the other.',
}


def _changes_text(found: ContractDifference, *, same_text: bool) -> str:
    if found.before == found.after:
        text = 'the same text' if same_text else 'the texts differ, and mean the same'
        return f'No change: {text} ({found.after}).'
    counts = Counter(change.meaning.name.lower() for change in found.changes)
    kinds = ', '.join(f'{count} {name}' for name, count in counts.items())
    lines = [
        f'{kinds} change{"s" if len(found.changes) > 1 else ""}',
        f'from {found.before}',
        f'to   {found.after}',
    ]
    for change in found.changes:
        lines += [
            '',
            f'{change.meaning.name.lower():<12} {change.path}',
            f'    before   {change.before}',
            f'    after    {change.after}',
        ]
    return '\n'.join((*lines, '', _FOLLOWS[found.meaning.name]))


# schema ------------------------------------------------------------------------------------------


@contract.command()
@option('--transition', is_flag=True, help='print that of a recorded step instead')
def schema(transition: bool) -> int:
    """
    Print the JSON Schema of contracts, or of a recorded step.

    With the schema (draft 2020-12) an editor completes keys, shows their meaning, and underlines
    mistakes; `boundary-env contract check` finds more. Save it beside the contract and name it in
    the first line:

      boundary-env contract schema > contract.schema.json

      # yaml-language-server: $schema=contract.schema.json
      contract: my_robot

    With --transition it is that of `first_transition.json`, and of each line of the
    `transitions.jsonl` of an export.

    Exit codes:
      0  done
      2  wrong arguments, or the file is not installed
    """
    from boundary_env_ros.resources import share_file
    from boundary_env_ros.storage.transition_json import transition_schema

    if transition:
        print_json(transition_schema())
    else:
        print(share_file('config/contract.schema.json').read_text(encoding='utf-8').rstrip('\n'))
    return DONE
