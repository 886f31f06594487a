# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records with a field more or less in every message are used like all others."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
import json
from pathlib import Path
import re
import shutil
from typing import Any

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.core.type_hints import element_of, hints_of, optional_of
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.cdr import record_decoder
from boundary_env_ros.storage.contract_file import installed_tasks
from boundary_env_ros.storage.definitions import known_definition
from boundary_env_ros.storage.record_chain import ChainLink
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import FORMAT, RECORD_CLASSES
from support import other_versions
from support.other_versions import (
    Change,
    changed_definition,
    LATER,
    NEW,
    of_another_type,
    OWN,
    rewrite,
    with_new_field,
    without,
)

REPOSITORY = Path(__file__).parents[2]
GOLDEN = sorted(path.parent for path in (REPOSITORY / 'test/records').glob('*/*/facts.json'))

Output = pytest.CaptureFixture[str]


def name_of(cls: type) -> str:
    """Return the name of the message that a class mirrors."""
    return 'RecordChain' if cls is ChainLink else cls.__name__


def mirrors() -> dict[str, type]:
    """Return the class of each message of this package that stands in a record."""
    found: dict[str, type] = {}
    waiting: list[Any] = [*RECORD_CLASSES, ChainLink, Observation]
    while waiting:
        cls = waiting.pop()
        if name_of(cls) in found or not is_dataclass(cls):
            continue
        found[name_of(cls)] = cls
        for hint in hints_of(cls).values():
            waiting.append(optional_of(hint) or element_of(hint) or hint)
    return {name: cls for name, cls in found.items() if name != 'KeyValue'}


MIRRORS = mirrors()


def may_lack(cls: type) -> list[str]:
    """Return the fields that records of a class may lack, found by trying."""
    names = [field.name for field in fields(cls)]
    lacking = []
    for name in names:
        try:
            Unlike().match(cls, [other for other in names if other != name], '')
        except RecordError:
            continue
        lacking.append(name)
    return lacking


def taken_away(number: int) -> set[str]:
    """
    Return what a round takes away: of each message another part of what it may lack.

    Not the authentication: who wrote none had no key, which is nothing unknown.
    """
    return {
        f'{name}.{field}'
        for name, cls in MIRRORS.items()
        for field in [each for each in may_lack(cls) if each != 'authentication'][number::ROUNDS]
    }


#: Rounds until each field that may be lacking was.
ROUNDS = 6

needs_tasks = pytest.mark.skipif(
    not {'go_to_goal', 'open_door'} <= set(installed_tasks()), reason='needs the package installed'
)


def required(cls: type) -> list[str]:
    """Return the fields that records of a class must have."""
    return [field.name for field in fields(cls) if field.name not in may_lack(cls)]


def changed_json(data: Any, hint: Any, gone: set[str]) -> Any:
    """Return JSON without some fields, or with one more in every object if none is to go."""
    inner = optional_of(hint) or element_of(hint) or hint
    if isinstance(data, list):
        return [changed_json(item, inner, gone) for item in data]
    if not isinstance(data, dict):
        return data
    name, hints = name_of(inner), dict(hints_of(inner))
    found = {
        key: changed_json(value, hints[key], gone)
        for key, value in data.items()
        if f'{name}.{key}' not in gone
    }
    return found if gone else found | {NEW: {'of': ['any', 1]}}


def change_first(run: Path, gone: set[str]) -> Path:
    """Change the first transition of a run likewise; return its file."""
    file = run / 'first_transition.json'
    data = json.loads(file.read_text(encoding='utf-8'))
    data.pop('format', None)
    changed = {'format': LATER, **changed_json(data, Transition, gone)}
    file.write_text(json.dumps(changed), encoding='utf-8')
    return file


def copied(golden: Path, into: Path) -> Path:
    """Return a copy of a record."""
    return Path(shutil.copytree(golden, into / golden.name))


def audited(run: Path, capsys: Output) -> Any:
    """Return what the audit says of a run."""
    capsys.readouterr()
    main(['audit', str(run), '--json'])
    return json.loads(capsys.readouterr().out)


def used(run: Path, to: Path) -> list[int]:
    """Use a record in every way; return the exit codes."""
    return [
        main(['replay', '--check', str(run)]),
        main(['report', str(run), '-o', str(to / 'page.html')]),
        main(['export', '--format', 'jsonl', str(run), '-o', str(to / 'lines-v0')]),
        main(['episodes', 'list', str(run)]),
    ]


@needs_tasks
@pytest.mark.parametrize('golden', GOLDEN, ids=lambda golden: golden.name)
def test_a_new_field_in_every_message_is_passed_over_and_counted(
    golden: Path, tmp_path: Path, capsys: Output
) -> None:
    run = copied(golden, tmp_path)
    before = list(open_records(run).records())
    rewrite(run / 'bag/bag_0.mcap', with_new_field)
    source = open_records(run)
    assert list(source.records()) == before
    report = audited(run, capsys)
    assert report['outcome'] == 'consistent'  # its chain is gone
    assert report['findings'] == []
    transitions = sum(type(record).__name__ == 'Transition' for record in before)
    assert report['unlike']['passed_over'][f'Transition.{NEW}'] == transitions
    assert report['unlike']['unknown'] == {}
    assert used(run, tmp_path) == [0, 0, 0, 0]
    alone = audited(change_first(run, set()), capsys)
    assert (alone['outcome'], alone['findings']) == ('passed', [])
    assert alone['unlike']['passed_over'][f'Transition.{NEW}'] == 1
    assert f'ActionRequest.{NEW} (' in (tmp_path / 'page.html').read_text(encoding='utf-8')


@needs_tasks
@pytest.mark.parametrize('change', [with_new_field, without({'Transition.reward'})])
def test_a_record_of_this_format_has_its_fields_and_no_others(
    change: Change, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copied(GOLDEN[0], tmp_path)
    monkeypatch.setattr(other_versions, 'LATER', '{}.{}'.format(*FORMAT))
    rewrite(run / 'bag/bag_0.mcap', change)
    assert {found['rule'] for found in audited(run, capsys)['findings']} >= {'record-complete'}


@needs_tasks
@pytest.mark.parametrize('number', range(ROUNDS))
def test_of_a_field_less_in_every_message_it_is_said_that_it_is_unknown(
    number: int, tmp_path: Path, capsys: Output
) -> None:
    run, gone = copied(GOLDEN[number % len(GOLDEN)], tmp_path), taken_away(number)
    rewrite(run / 'bag/bag_0.mcap', without(gone))
    report = audited(run, capsys)
    assert report['findings'] == []
    assert report['outcome'] == 'incomplete'
    assert report['unlike']['unknown'].keys() <= gone
    assert report['unlike']['unknown'].keys() >= {
        name for name in gone if name.startswith(('Transition.', 'GateDecision.'))
    }
    alone = audited(change_first(run, gone), capsys)
    assert (alone['outcome'], alone['findings']) == ('incomplete', [])
    assert alone['unlike']['unknown'].keys() <= gone
    checked, *others = used(run, tmp_path)
    assert checked in (0, 1)
    assert others == [0, 0, 0]


def page_of_messages() -> dict[str, list[str]]:
    """Return what the page of messages says that records must have."""
    page = (REPOSITORY / 'doc/messages.md').read_text(encoding='utf-8')
    _, _, table = page.partition('| A record of | must have |\n')
    rows = re.findall(r'^\| `(\w+)` \| (.*) \|$', table.partition('\n\n')[0], re.M)
    return {name: re.findall(r'`(\w+)`', cell) for name, cell in rows}


def test_the_page_of_messages_lists_what_a_record_must_have() -> None:
    must = {name: required(cls) for name, cls in MIRRORS.items()}
    assert page_of_messages() == {name: names for name, names in must.items() if names}


@pytest.mark.parametrize('name', MIRRORS)
def test_a_field_that_is_lacking_or_of_another_type_is_named(name: str) -> None:
    kind = f'{OWN}msg/{name}'
    text, _ = known_definition(kind)
    for field in required(MIRRORS[name]):
        gone = changed_definition(text, kind, without({f'{name}.{field}'}))
        with pytest.raises(RecordError, match=f"{name} cannot be read .*the field '{field}', "):
            record_decoder(MIRRORS[name], kind, gone)
    for field, hint in hints_of(MIRRORS[name]).items():
        other = 'uint8' if (optional_of(hint) or hint) is str else 'string'
        wrong = changed_definition(text, kind, of_another_type(f'{name}.{field}', other))
        with pytest.raises(RecordError, match=f"Wrong type of a field .expected '{field}' as"):
            record_decoder(MIRRORS[name], kind, wrong)
