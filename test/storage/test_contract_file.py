# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contract files: what is read, the line of every fault, and no text that hangs the reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
import re
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import BoundaryError, ContractError, MissingDependency, Problem
from boundary_env_ros.storage import contract_file
from boundary_env_ros.storage.contract_check import check_text
from boundary_env_ros.storage.contract_file import (
    find,
    installed_tasks,
    load,
    loads,
    make_task,
)
from boundary_env_ros.storage.yaml_text import YamlText
from boundary_env_ros.tasks.go_to_goal import GoToGoal

SHIPPED = Path(__file__).parents[2] / 'config' / 'warehouse_cart.yaml'
TEXT = SHIPPED.read_text(encoding='utf-8')

needs_installed_task = pytest.mark.skipif(
    'go_to_goal' not in installed_tasks(), reason='needs the package installed'
)
pytestmark = needs_installed_task


def edited(old: str, new: str) -> str:
    """Return the shipped file with one place changed."""
    assert TEXT.count(old) == 1, f'{old!r} is there {TEXT.count(old)} times'
    return TEXT.replace(old, new)


def line_of(text: str, part: str) -> int:
    """Return the line, counted from 1, of the first place of a text."""
    return text[: text.index(part)].count('\n') + 1


# What is read ------------------------------------------------------------------------------------


def test_the_shipped_contract_loads_by_its_name_and_by_its_path() -> None:
    by_name, by_path = load('warehouse_cart'), load(SHIPPED)
    assert by_name.contract == by_path.contract
    assert by_name.digest == by_path.digest == digest_of(by_path.contract)
    assert by_path.text == TEXT


def test_the_text_and_the_pacing_rebuild_the_contract() -> None:
    loaded = load(SHIPPED, Pacing.LOCKSTEP)
    assert loaded.contract.pacing is Pacing.LOCKSTEP
    assert loaded.contract.sim_time
    again = loads(loaded.text, pacing=loaded.contract.pacing)
    assert again == loaded
    assert loaded.digest != load(SHIPPED).digest


def test_a_contract_of_the_users_own_is_read_from_its_path(tmp_path: Path) -> None:
    own = tmp_path / 'mine.yaml'
    own.write_text(edited('version: 1.0.0', 'version: 2.0.0'), encoding='utf-8')
    assert load(own).contract.version == '2.0.0'
    assert load(str(own)).contract.version == '2.0.0'


def test_a_name_of_no_shipped_contract_says_where_it_was_looked_for() -> None:
    with pytest.raises(BoundaryError, match='no_such_contract'):
        find('no_such_contract')


def test_anchors_aliases_and_merges_are_read_as_if_written_out() -> None:
    text = edited('agents: [cart]', 'agents: &all [cart]').replace(
        'driver_timeout: 0.25 ', 'driver_timeout: &quick 0.25 '
    ).replace('sensor_timeout: 0.25', 'sensor_timeout: *quick')  # fmt: skip
    assert loads(text).digest == loads(TEXT).digest


def test_the_task_is_made_with_its_parameters() -> None:
    task = make_task(load(SHIPPED).contract)
    assert isinstance(task, GoToGoal)


def test_a_task_that_refuses_its_parameters_is_told_by_its_path() -> None:
    contract = load(SHIPPED).contract
    spec = replace(contract.task, parameters={'radius': -1.0, 'scenarios': {}})
    with pytest.raises(ContractError, match=r'task\.parameters: the task .go_to_goal. refuses'):
        make_task(replace(contract, task=spec))
    spec = replace(contract.task, parameters={'speed': 1})
    with pytest.raises(ContractError, match="unexpected keyword argument 'speed'"):
        make_task(replace(contract, task=spec))


def test_a_task_that_is_not_installed_is_told_by_its_name() -> None:
    contract = load(SHIPPED).contract
    with pytest.raises(ContractError, match=r'task\.name: expected an installed task, got juggle'):
        make_task(replace(contract, task=replace(contract.task, name='juggle')))


class Broken:
    """An entry point of a task that cannot be loaded, or that stumbles."""

    name = 'go_to_goal'
    dist = None

    def __init__(self, error: Exception, *, when: str) -> None:
        self.error, self.when = error, when

    def load(self) -> Callable[..., object]:
        """Return the task, or fail as one does that is half installed."""
        if self.when == 'load':
            raise self.error

        def make(**_: object) -> object:
            raise self.error

        return make


def test_a_task_that_cannot_be_imported_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Broken(ImportError('No module named torch'), when='load')
    monkeypatch.setattr(contract_file, 'entry_points', lambda **_: [entry])
    with pytest.raises(MissingDependency, match="task 'go_to_goal'.*No module named torch"):
        make_task(load(SHIPPED).contract)
    check = check_text(TEXT, 'mine.yaml')
    assert not check.problems
    assert check.notes[-1].startswith('The task was not checked. The task ')


def test_of_two_tasks_of_one_name_the_one_that_is_made_is_the_one_that_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Entry:
        name = 'go_to_goal'

        def __init__(self, distribution: str) -> None:
            self.dist = SimpleNamespace(name=distribution, version='1.0')

        def load(self) -> Callable[..., object]:
            return lambda **_: self.dist.name

    entries = [Entry('First_Tasks'), Entry('second-tasks')]
    monkeypatch.setattr(contract_file, 'entry_points', lambda **_: entries)
    contract = loads(TEXT).contract
    assert contract.task.distribution == 'first-tasks'
    made: object = make_task(contract)
    assert made == 'First_Tasks'


@pytest.mark.parametrize('kind', [KeyError, IndexError, AttributeError, ZeroDivisionError])
def test_a_task_that_stumbles_over_its_parameters_is_told_by_its_path(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Broken(kind('radius'), when='make')
    monkeypatch.setattr(contract_file, 'entry_points', lambda **_: [entry])
    [problem] = check_text(TEXT, 'mine.yaml').problems
    assert problem.path == ('task', 'parameters')
    assert problem.line == line_of(TEXT, '  parameters:')
    assert 'radius' in problem.actual


@pytest.mark.parametrize('ends', ['\r\n', '\r'])
def test_the_lines_of_other_systems_are_lines_too(ends: str, tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_bytes(TEXT.replace('\n', ends).encode())
    assert load(path) == load(SHIPPED)


def test_the_mark_that_some_editors_begin_a_file_with_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_bytes(b'\xef\xbb\xbf' + TEXT.encode())
    assert load(path) == load(SHIPPED)


def test_a_problem_gets_the_line_of_the_nearest_key_above() -> None:
    loaded = loads(TEXT)
    problem = Problem(path=('action', 'base', 'fields', 7), line=None, expected='', actual='')
    assert loaded.placed(problem).line == line_of(TEXT, '    fields: [twist.linear.x')
    problem = Problem(path=('action', 'base', 'joints', 0), line=None, expected='', actual='')
    assert loaded.placed(problem).line == line_of(TEXT, '  base:')


# Merging -----------------------------------------------------------------------------------------


def test_what_is_merged_in_is_read_and_told_where_it_stands() -> None:
    text = edited('safety:  ', 'safety: &safety ').replace(
        '\nlatency_budget:', '\nlockstep2: {<<: *safety}\nlatency_budget:'
    )
    data = YamlText(text, 'mine.yaml')
    assert isinstance(data.data, dict)
    assert data.data['lockstep2'] == data.data['safety']
    assert data.lines['lockstep2', 'hold_timeout'] == line_of(text, 'hold_timeout: 0.15')


def test_the_own_key_goes_before_a_merged_one_and_the_first_merged_before_the_next() -> None:
    text = 'a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc:\n  <<: [*a, *b]\n  y: 3\n'
    data = YamlText(text, 'mine.yaml')
    assert not data.problems
    assert isinstance(data.data, dict)
    assert data.data['c'] == {'x': 1, 'y': 3, 'z': 2}


# What is refused, and where ----------------------------------------------------------------------

FAULTS = [
    ('period: 0.1 ', 'period: 0.0 ', 'period', 'period: 0.0'),
    ('contract: warehouse_cart', 'contract: Cart', 'contract', 'contract: Cart'),
    ('    max_age: 0.5\n', '    max_agee: 0.5\n', 'observation.pose.max_agee', 'max_agee'),
    ('    beams: 36\n', '    beams: many\n', 'observation.scan.beams', 'beams: many'),
    ('low: [-0.3, -1.5]', 'low: [-0.3, 9.0]', 'action.base.high.1', 'high: [0.8, 1.5]'),
    (
        '    max_deceleration: [2.0, 8.0]',
        '    max_deceleration: [2.0]',
        'action.base.max_deceleration',
        'n: [2.0]',
    ),
    ('  hold_timeout: 0.15', '  hold_timeout: 15 ms', 'safety.hold_timeout', 'hold_timeout: 15'),
    ('      slow_speed: 0.25\n', '', 'safety.obstacles.scan.slow_speed', '    scan:\n'),
    ('  name: go_to_goal', '  name: go_home', 'task.name', 'name: go_home'),
    ('  time_limit: 6.0', '  time_limit: 0.0', 'episode.time_limit', 'time_limit: 0.0'),
    ('    deadline: 8.0', '    deadline: soon', 'episode.reset.deadline', 'deadline: soon'),
    ('lockstep: {deadline: 10.0}', 'lockstep: {deadline: []}', 'lockstep.deadline', 'lockstep:'),
]


@pytest.mark.parametrize(('old', 'new', 'path', 'place'), FAULTS, ids=[f[2] for f in FAULTS])
def test_a_fault_is_told_by_its_key_path_and_line(
    old: str, new: str, path: str, place: str
) -> None:
    text = edited(old, new)
    with pytest.raises(ContractError) as caught:
        loads(text, source='mine.yaml')
    found = {'.'.join(map(str, p.path)): p.line for p in caught.value.problems}
    assert path in found
    assert found[path] == line_of(text, place)
    assert f'{path} (line {found[path]}): ' in str(caught.value)
    assert str(caught.value).startswith('mine.yaml: ')


def test_a_key_that_is_there_twice_is_refused_where_it_is_repeated() -> None:
    text = edited('  hold_timeout: 0.15', '  hold_timeout: 9.0\n  hold_timeout: 0.15')
    with pytest.raises(ContractError) as caught:
        loads(text)
    [problem] = caught.value.problems
    assert problem.path == ('safety', 'hold_timeout')
    assert problem.line == line_of(text, 'hold_timeout: 0.15')
    assert 'already' in problem.actual


@pytest.mark.parametrize(
    'text',
    [
        '',
        '# nothing but a comment',
        '- a\n- list',
        'just a text',
        '3',
        'null',
        'a: [1, 2',
        'a: "open',
        'a:\n\t- tab',
        '--- 1\n--- 2',
        'a: !!python/object/apply:os.system [ls]',
        'a: !unknown 3',
        'a: *nowhere',
        '? [list, as, key]\n: 1',
        '? {map: as key}\n: 1',
        'a: \x00',
    ],
)
def test_what_is_no_contract_is_refused_by_name(text: str) -> None:
    with pytest.raises(ContractError):
        loads(text)


@pytest.mark.parametrize(
    'value',
    [
        '!!int x', '!!int ""', '!!float x', '!!bool x', '!!timestamp x', '!!binary x',
        '!!binary aGk=', '!!set {a, b}', '.nan', '.inf',
        '1' * 5000, '1' + '0' * 400, '{1: {2: {3: .nan}}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize('place', ['radius: 0.3', 'period: 0.1', 'agents: [cart]'])
def test_a_value_that_yaml_reads_oddly_is_refused_by_name(place: str, value: str) -> None:
    key = place.split(':')[0]
    with pytest.raises(ContractError):
        loads(edited(f'{place} ', f'{key}: {value} ') if place != 'agents: [cart]'
              else edited(place, f'{key}: {value}'))  # fmt: skip


def test_a_syntax_error_is_told_by_its_line() -> None:
    text = edited('  hold_timeout: 0.15', '  hold_timeout: [0.15')
    with pytest.raises(ContractError, match=r'\(line \d+\): this is not YAML'):
        loads(text)


@pytest.mark.parametrize('depth', [30, 500, 20_000])
def test_a_text_that_is_too_deep_is_refused_by_name(depth: int) -> None:
    with pytest.raises(ContractError):
        loads('a: ' + '[' * depth + ']' * depth)


def bomb(levels: int, width: int) -> str:
    """Return the laughter: every level repeats the one below, many times."""
    lines = ['a0: &a0 [x]']
    lines += [f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * width)}]' for i in range(1, levels)]
    return '\n'.join(lines)


@pytest.mark.parametrize(
    'text',
    [
        bomb(9, 10),
        bomb(30, 2),
        TEXT + '\n' + bomb(9, 10),
        'a: &a [*a, *a, *a, *a, *a, *a, *a, *a]',
        'a: &a {b: *a, c: *a, d: *a}',
        edited('radius: 0.3 ', 'radius: &r [*r, *r, *r] '),
    ],
    ids=['wide', 'deep', 'beside a contract', 'own list', 'own mapping', 'in the parameters'],
)
@pytest.mark.timeout(20)
def test_aliases_that_would_grow_without_end_are_refused(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        loads(text)
    assert any('aliases written out' in problem.expected for problem in caught.value.problems)


def test_a_contract_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match='not a readable text file.*No such file'):
        load(tmp_path / 'nowhere.yaml')
    (tmp_path / 'latin.yaml').write_bytes(b'contract: w\xe4rehouse')
    with pytest.raises(ContractError, match='not a readable text file.*UTF-8'):
        load(tmp_path / 'latin.yaml')
    (tmp_path / 'folder.yaml').mkdir()
    with pytest.raises(ContractError, match='not a readable text file'):
        load(tmp_path / 'folder.yaml')


# Whatever text comes -----------------------------------------------------------------------------

LINES = TEXT.splitlines()
YAML_BITS = st.text(alphabet=' \n:-[]{}&*!|>#"\'%?,0.1ae~<\t', max_size=12)
mutation = st.one_of(
    st.tuples(st.just('insert'), st.integers(0, len(TEXT)), YAML_BITS),
    st.tuples(st.just('delete'), st.integers(0, len(TEXT)), st.integers(1, 40)),
    st.tuples(st.just('line'), st.integers(0, len(LINES) - 1), YAML_BITS),
    st.tuples(st.just('double'), st.integers(0, len(LINES) - 1), st.just('')),
    st.tuples(
        st.just('indent'), st.integers(0, len(LINES) - 1), st.sampled_from([' ', '  ', '\t'])
    ),
)


def mutated(text: str, kind: str, at: int, what: object) -> str:
    """Return a text with one thing broken."""
    if kind == 'insert':
        return text[:at] + str(what) + text[at:]
    if kind == 'delete':
        assert isinstance(what, int)
        return text[:at] + text[at + what :]
    lines = text.splitlines()
    at %= max(1, len(lines))
    new = {'line': [str(what)], 'double': [lines[at]] * 2, 'indent': [f'{what}{lines[at]}']}[kind]
    return '\n'.join([*lines[:at], *new, *lines[at + 1 :]])


@given(mutations=st.lists(mutation, min_size=1, max_size=3))
def test_a_mutated_file_is_read_or_refused_by_name(
    mutations: list[tuple[str, int, object]],
) -> None:
    text = TEXT
    for kind, at, what in mutations:
        text = mutated(text, kind, at, what)
    try:
        loaded = loads(text)
    except ContractError as error:
        assert error.problems  # noqa: PT017 - both outcomes are right
    else:
        assert re.fullmatch(r'sha256:[0-9a-f]{64}', loaded.digest)


@given(text=st.one_of(YAML_BITS, st.text(max_size=60)))
def test_any_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(ContractError):
        loads(text)
