# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page of a run: right, bounded, whole by itself, and deaf to what a record tries to say."""

from __future__ import annotations

import base64
import builtins
from dataclasses import replace
import hashlib
from html.parser import HTMLParser
import io
import json
import math
from pathlib import Path
import re
import shutil
import subprocess
from typing import Any

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.rules.agent_order import HELD
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.imported import import_marks
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.transition import Kind, PrivilegedObservation, Transition
from boundary_env_ros.evidence.compare.episode_record import EpisodeRecord as ComparedEpisode
from boundary_env_ros.evidence.episodes import Episodes
from boundary_env_ros.evidence.report.facts import PageLimits, Report
from boundary_env_ros.evidence.report.gather import gather
from boundary_env_ros.evidence.report.labels import Labels
from boundary_env_ros.evidence.report.page import render
from boundary_env_ros.evidence.report.timeline import OTHERWISE, Timeline
from boundary_env_ros.evidence.summary.summary import summarise_path, Summariser
from boundary_env_ros.storage.contract_file import LoadedContract
from support.bag_maker import make_tape, Tape, write_bag, write_records
from support.record_maker import Bench, Piece

HOSTILE = '<!--</script><img src=x onerror="alert(1)"><svg onload=alert(2)>\u2028&amp;"\''
Facts = Any


class Elements(HTMLParser):
    """Collects the elements of a page as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, str] = {}
        self.texts: list[str] = []
        self._open = ''
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in ('script', 'style'):
            self._open = dict(attrs).get('id') or tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ('script', 'style'):
            self._open = ''

    def handle_data(self, data: str) -> None:
        if self._open:
            self.data[self._open] = self.data.get(self._open, '') + data
        else:
            self.texts.append(data)


@pytest.fixture(scope='module')
def whole(
    tmp_path_factory: pytest.TempPathFactory, record: list[Piece], loaded: LoadedContract
) -> Path:
    """Return a record of five episodes with everything that was published, as a run."""
    path = tmp_path_factory.mktemp('report') / 'whole'
    return write_records(path, record, loaded.text)


@pytest.fixture(scope='module')
def report(whole: Path) -> Report:
    """Return its facts."""
    return gather(whole)


@pytest.fixture(scope='module')
def page(report: Report) -> str:
    """Return its page."""
    return ''.join(render(report))


@pytest.fixture(scope='module')
def bag(
    tmp_path_factory: pytest.TempPathFactory, loaded: LoadedContract, task: Task
) -> tuple[Path, Tape]:
    """Return a bag with the camera's messages, and what is in it."""
    path = tmp_path_factory.mktemp('report') / 'bag'
    tape = make_tape(Bench, loaded, task, seed=1)
    write_bag(path, tape)
    return path, tape


# Facts -------------------------------------------------------------------------------------------


def test_facts_are_those_of_the_summary(whole: Path, report: Report) -> None:
    assert report.summary == summarise_path(whole)
    assert [row.episode.number for row in report.rows] == [1, 2, 3, 4, 5]
    by_ending: dict[str, int] = {}
    for row in report.rows:
        by_ending[row.episode.ending] = by_ending.get(row.episode.ending, 0) + 1
    assert by_ending == {'success': 2, 'safety_stop': 1, 'time_limit': 2}
    assert all(
        row.episode.how == ('terminated' if row.episode.ending == 'success' else 'truncated')
        for row in report.rows
    )


@pytest.mark.parametrize('waiting', [False, True], ids=['as it was', 'waiting'])
def test_interventions_are_those_of_the_summary_and_waiting_for_a_turn_is_none(
    transitions: list[Transition], contract: Contract, *, waiting: bool
) -> None:
    summariser, tapes = Summariser(contract), []

    def now(step: Transition) -> Transition:
        held = tuple(replace(d, verdict=Verdict.HELD, rules=(HELD,)) for d in step.decisions)
        return replace(step, decisions=held) if waiting else step

    for step in Episodes(map(now, transitions)):
        summariser.add(step)
        if step.transition is step.episode.first:
            tapes.append(ComparedEpisode(step.episode))
        tapes[-1].add(step)
    told = sum(client.intervened.count for client in summariser.summary({}).groups)
    assert (told == 0) == waiting
    assert sum(tape.episode.counts['intervened'] for tape in tapes) == told


def test_time_line_holds_each_step_as_it_was(
    report: Report, transitions: list[Transition]
) -> None:
    episode = transitions[0].id.episode_id
    steps = [t for t in transitions if t.id.episode_id == episode]
    facts: Facts = report.details[1]
    assert facts['steps_per_column'] == 1
    assert facts['last_step'] == [t.id.step for t in steps]
    charts = {(c['group'], c['name']): c for c in facts['charts']}
    forward = {line['name']: line['low'] for line in charts['action', 'base/linear.x']['lines']}
    for name in ('requested', 'admitted', 'commanded', 'measured'):
        for told, step in zip(forward[name], steps, strict=True):
            values = getattr(step, f'{name}_action')
            if values:
                assert told == pytest.approx(values[0], rel=1e-4, abs=1e-9)
            else:
                assert told is None
    gate = charts['latency', 'gate']
    assert gate['limit'] == 10
    assert gate['unit'] == 'ms'
    assert set(facts['verdicts'][1:]) <= set('ALHSR.')
    assert facts['rules'], 'rules of the gate stepped in'


def test_what_was_sent_without_an_action_stands_apart(
    report: Report, transitions: list[Transition]
) -> None:
    step = next(
        t
        for t in transitions
        if t.kind is Kind.STEP and not t.commanded_action and any(d.published for d in t.decisions)
    )
    number = next(r.episode.number for r in report.rows if r.episode.key[1] == step.id.episode_id)
    facts: Facts = report.details[number]
    chart = next(c for c in facts['charts'] if c['name'] == 'base/linear.x')
    told = {line['name']: line['low'] for line in chart['lines']}
    column = facts['last_step'].index(step.id.step)
    sent = [d.command[0] for d in step.decisions if d.published][-1]
    assert told['commanded'][column] is None
    assert told[OTHERWISE][column] == pytest.approx(sent, rel=1e-4, abs=1e-9)


def test_what_a_rule_did_late_is_drawn_however_often_it_stepped_in_before(
    transitions: list[Transition], contract: Contract
) -> None:
    step = next(t for t in transitions if t.answer is not None and t.answer.rules)
    result = replace(step.answer.rules[0], reason=Reason.RATE_LIMIT, outcome=Verdict.LIMITED)

    def at(number: int) -> Transition:
        # Twelve joints, now and then at their limits; one far rule at the end.
        joints = [d for d in range(12) if number % (d + 2) == 0]
        results = [replace(result, dimension=dimension) for dimension in joints]
        if number > 9_990:
            results.append(replace(result, reason=Reason.OBSTACLE_STOP, dimension=-1))
        answer = replace(step.answer, rules=tuple(results))
        return replace(step, id=replace(step.id, step=number), decisions=(answer,), decision=0)

    timeline = Timeline(10_000, 600, Labels(contract))
    for one in Episodes(map(at, range(10_000))):
        timeline.add(one)
    rules = timeline.to_json()['rules']
    assert len(rules) < 450
    assert {rule['reason'] for rule in rules if rule['last'] > 9_990} == {
        'RATE_LIMIT',
        'OBSTACLE_STOP',
    }


def test_step_in_which_the_gate_stopped_in_the_end_is_told_as_stopped(
    transitions: list[Transition], contract: Contract
) -> None:
    step = next(t for t in transitions if t.verdict is Verdict.LIMITED)
    stop = replace(step.decisions[-1], verdict=Verdict.STOPPED, request=None)
    timeline = Timeline(3, 600, Labels(contract))
    steps = [
        replace(step, id=replace(step.id, step=number), decisions=decisions, verdict=verdict)
        for number, (decisions, verdict) in enumerate(
            [
                ((*step.decisions, stop), Verdict.LIMITED),
                ((stop,), None),
                ((stop, *step.decisions), Verdict.LIMITED),
            ]
        )
    ]
    for one in Episodes(steps):
        timeline.add(one)
    assert timeline.to_json()['verdicts'] == 'SSL'


def test_time_limit_is_told_as_a_truncation_with_its_reason(report: Report, page: str) -> None:
    row = next(row for row in report.rows if row.episode.ending == 'time_limit')
    assert row.message == '6 s are over'
    events = [e for e in report.details[row.episode.number]['events'] if 'time_limit' in e['text']]
    assert [(e['kind'], e['text']) for e in events] == [
        ('truncation', 'time_limit, declared by environment: 6 s are over')
    ]
    assert '<span class="why">declared by environment: 6 s are over</span>' in page


def test_late_evidence_completes_the_step_that_it_is_about(
    report: Report, transitions: list[Transition], tmp_path: Path, loaded: LoadedContract
) -> None:
    alone = gather(write_records(tmp_path / 'run', transitions, loaded.text))

    def known(found: Report) -> int:
        told = [
            line['low']
            for detail in found.details.values()
            for chart in detail['charts']  # type: ignore[attr-defined]
            if chart['name'] == 'actuation'
            for line in chart['lines']
        ]
        return sum(value is not None for values in told for value in values)

    stages = sum(group.stages['actuation'].known for group in report.summary.groups)
    assert known(report) == stages > known(alone) > 0


def test_what_the_evaluator_saw_stands_at_its_own_step(
    report: Report, record: list[Piece]
) -> None:
    row = report.rows[0]
    saw = {
        piece.id.step: piece.fields[0].values[0]
        for piece in record
        if isinstance(piece, PrivilegedObservation) and piece.id.episode_id == row.episode.key[1]
    }
    facts: Facts = report.details[1]
    chart = next(c for c in facts['charts'] if c['name'] == 'true_pose (m)')
    told = dict(zip(facts['last_step'], chart['lines'][0]['low'], strict=True))
    assert {step: told[step] for step in saw} == {
        step: pytest.approx(value, rel=1e-4, abs=1e-9) for step, value in saw.items()
    }


def test_moments_come_from_the_episodes_and_the_stop_is_the_first(report: Report) -> None:
    assert 1 <= len(report.moments) <= 5
    first = report.moments[0]
    row = report.rows[report.number_of(first) - 1]
    assert first.anomaly.kind in ('silence', 'stopped')
    assert row.episode.key[1] == first.episode_id
    assert row.drawn


def test_marks_and_statements_of_people_are_told(
    tmp_path: Path, record: list[Piece], loaded: LoadedContract
) -> None:
    won = next(p for p in record if isinstance(p, Transition) and p.ending == 'success')
    label = EpisodeLabel(
        id=won.id, user='ada', label=Label.FAILURE, note='it scratched', stamp=won.closed
    )
    write_records(tmp_path / 'set', [*record, label], loaded.text)
    found = gather(tmp_path / 'set')
    row = next(row for row in found.rows if row.labels)
    assert (row.episode.key[1], row.labels) == (
        won.id.episode_id,
        ['failure by ada: it scratched'],
    )
    assert 'judged_otherwise' in [moment.anomaly.kind for moment in found.moments]
    facts: Facts = found.details[row.episode.number]
    assert 'label' in [event['kind'] for event in facts['events']]
    assert 'People say: failure by ada: it scratched' in Elements(''.join(render(found))).texts


def test_record_without_its_contract_and_torn_is_told_as_far_as_it_goes(
    tmp_path: Path, transitions: list[Transition]
) -> None:
    path = write_records(tmp_path / 'run', transitions[:20])
    (file,) = (path / 'bag').glob('*.mcap')
    file.write_bytes(file.read_bytes()[:-20])
    found = gather(path)
    assert found.rows[0].episode.records == 20
    assert any('torn' in note for note in found.notes)
    facts: Facts = found.details[1]
    assert 'action [0]' in [chart['name'] for chart in facts['charts']]
    assert ''.join(render(found))


def test_reward_that_an_import_could_not_judge_is_unknown_and_no_trouble(
    transitions: list[Transition], loaded: LoadedContract, tmp_path: Path
) -> None:
    marks = import_marks('drive', derived=(), unknown=('reward',))
    first = transitions[0].id.episode_id
    steps = [
        replace(t, reward=math.nan, reward_terms=(), decisions=(), decision=-1, diagnostics=marks)
        if t.kind is Kind.STEP
        else t
        for t in transitions
        if t.id.episode_id == first
    ]
    report = gather(write_records(tmp_path / 'run', steps, loaded.text))
    assert 'not_finite' not in {moment.anomaly.kind for moment in report.moments}
    page = ''.join(render(report))
    assert '<span class="total r" title="return">\N{EN DASH}</span>' in page
    # The same without the word of the import is trouble.
    said = [replace(step, diagnostics=()) for step in steps]
    report = gather(write_records(tmp_path / 'other', said, loaded.text))
    assert 'not_finite' in {moment.anomaly.kind for moment in report.moments}


def test_reset_that_failed_before_any_sensor_spoke_is_a_page_too(
    tmp_path: Path, transitions: list[Transition], loaded: LoadedContract
) -> None:
    first = transitions[0]
    empty = {'values': (), 'clipped': False, 'status': FieldStatus.MISSING, 'captured': None}
    missing = [
        replace(
            first,
            after=tuple(replace(field, image=None, **empty) for field in first.after),
            state=tuple(replace(field, image=None, **empty) for field in first.state),
            truncated=True,
            ending='reset_failed',
            declared_by='environment',
        )
    ]
    for contract in (loaded.text, ''):
        path = write_records(tmp_path / f'run{len(contract)}', missing, contract)
        assert 'reset_failed' in ''.join(render(gather(path)))


def test_record_of_nothing_is_a_page_too(tmp_path: Path, loaded: LoadedContract) -> None:
    found = gather(write_records(tmp_path / 'run', [], loaded.text))
    assert found.rows == ()
    assert 'No step shows an anomaly.' in ''.join(render(found))


# Bounds ------------------------------------------------------------------------------------------


def test_long_episode_shares_columns_and_keeps_its_one_peak(
    tmp_path: Path, transitions: list[Transition], loaded: LoadedContract
) -> None:
    first, step = transitions[0], next(t for t in transitions if t.kind is Kind.STEP)
    long = [first]
    for number in range(1, 120):
        closed = replace(step.closed, steady=first.closed.steady + number * 100_000_000)
        now = replace(
            step, id=replace(step.id, step=number), closed=closed, terminated=False, ending=''
        )
        long.append(replace(now, reward=99.5) if number == 70 else replace(now, reward=0.25))
    path = write_records(tmp_path / 'run', long, loaded.text)
    found = gather(path, PageLimits(columns=15))
    facts: Facts = found.details[1]
    assert (facts['steps_per_column'], len(facts['time'])) == (8, 15)
    (line,) = next(c for c in facts['charts'] if c['name'] == 'reward')['lines']
    assert (max(line['high']), line['high'].index(99.5)) == (99.5, 70 // 8)
    assert set(line['low']) == {0.25}
    assert any('more than 15 steps' in note for note in found.notes)


def test_of_many_episodes_the_most_suspicious_are_drawn_and_all_are_listed(
    whole: Path, report: Report
) -> None:
    found = gather(whole, PageLimits(episodes=2))
    assert len(found.rows) == 5
    drawn = {row.episode.number for row in found.rows if row.drawn}
    assert drawn == found.details.keys()
    assert len(drawn) == 2
    assert found.number_of(found.moments[0]) in drawn
    assert '2 of 5 episodes are drawn' in found.notes[0]
    page = ''.join(render(found))
    assert page.count('<details class="episode"') == 2
    assert page.count('class="episode"') == 5
    assert len(page) < len(''.join(render(report)))


# The page ----------------------------------------------------------------------------------------


def test_page_needs_nothing_else_and_allows_nothing_else(page: str) -> None:
    elements = Elements(page)
    for tag, attributes in elements.found:
        assert tag not in ('link', 'iframe', 'object', 'base', 'form')
        assert not any(name.startswith('on') or name == 'style' for name in attributes), tag
        for name in ('src', 'href', 'action'):
            value = attributes.get(name)
            assert value is None or value.startswith('#'), (tag, value)
    addresses = set(re.findall(r'https?://[^\s"\'`)]+', page))
    assert addresses == {'http://www.w3.org/2000/svg'}, 'a name, which nobody follows'
    meta = next(a for t, a in elements.found if t == 'meta' and 'http-equiv' in a)
    policy = str(meta['content'])
    for name in ('script', 'style'):
        digest = base64.b64encode(hashlib.sha256(elements.data[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert 'unsafe' not in policy
    assert 'prefers-color-scheme: dark' in elements.data['style']
    assert any(a.get('name') == 'viewport' for _, a in elements.found)


def test_page_tells_success_both_ways_and_leads_to_the_moments(page: str, report: Report) -> None:
    elements = Elements(page)
    text = ' '.join(elements.texts)
    assert str(report.summary) in text
    ids = {a.get('id') for _, a in elements.found}
    links = [str(a['href']) for t, a in elements.found if t == 'a']
    assert len(links) == len(report.moments)
    assert all(re.sub(r's\d+$', '', link[1:]) in ids for link in links)


def test_episodes_wait_in_blocks_of_data_until_they_are_opened(page: str, report: Report) -> None:
    elements = Elements(page)
    for number in report.details:
        assert json.loads(elements.data[f'd{number}']) == json.loads(
            json.dumps(report.details[number])
        )


def test_hostile_texts_stay_texts(
    tmp_path: Path, record: list[Piece], loaded: LoadedContract
) -> None:
    hostile: list[Piece] = []
    for piece in record:
        if isinstance(piece, Transition):
            decisions = tuple(
                replace(
                    d,
                    request=d.request and replace(d.request, client=HOSTILE),
                    rules=tuple(replace(r, rule=HOSTILE, unit=HOSTILE) for r in d.rules),
                )
                for d in piece.decisions
            )
            after = (replace(piece.after[0], name=HOSTILE), *piece.after[1:])
            piece = replace(
                piece,
                contract=HOSTILE,
                software_version=HOSTILE,
                decisions=decisions,
                after=after,
                ending=piece.ending and HOSTILE,
                declared_by=HOSTILE,
            )
        hostile.append(piece)
    end = next(p for p in hostile if isinstance(p, Transition) and p.ending)
    label = EpisodeLabel(id=end.id, user=HOSTILE, label=Label.UNCLEAR, note=HOSTILE)
    path = write_records(tmp_path / '<b onclick=alert(3)>', [*hostile, label], loaded.text)
    found = gather(path)
    elements = Elements(''.join(render(found)))
    allowed = {
        'script': {'type', 'id'}, 'style': set(), 'svg': {'class', 'role', 'aria-label',
        'preserveaspectratio', 'x', 'overflow'},
    }  # fmt: skip
    for tag, attributes in elements.found:
        assert tag not in ('img', 'b onclick')
        if tag in allowed:
            assert attributes.keys() <= allowed[tag], (tag, attributes)
        assert not any(name.startswith('on') for name in attributes), (tag, attributes)
    scripts = [a for t, a in elements.found if t == 'script']
    assert [a.get('type') for a in scripts].count(None) == 1, 'only its own script runs'
    text = ''.join(elements.texts)
    assert text.count(HOSTILE) > 5, 'it is told as it is'
    for name, block in elements.data.items():
        if re.fullmatch(r'd\d+', name):
            assert HOSTILE in json.dumps(json.loads(block), ensure_ascii=False).replace('\\"', '"')


@pytest.mark.skipif(shutil.which('chromium') is None, reason='needs a browser: chromium')
def test_page_draws_the_episode_that_its_address_names(page: str, tmp_path: Path) -> None:
    place = tmp_path / 'page.html'
    place.write_text(page, encoding='utf-8')
    finished = subprocess.run(
        [
            'chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
            '--no-first-run', '--disable-background-networking', '--disable-component-update',
            '--disable-sync', f'--user-data-dir={tmp_path / "profile"}',
            '--virtual-time-budget=3000', '--dump-dom', f'{place.as_uri()}#e1s5',
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    drawn = Elements(finished.stdout)
    assert 'step 5' in drawn.texts
    assert any(a.get('class') == 'line requested' and a.get('d') for _, a in drawn.found)


# Camera images -----------------------------------------------------------------------------------


def test_frames_are_the_images_that_the_steps_saw(bag: tuple[Path, Tape]) -> None:
    image = pytest.importorskip('PIL.Image')
    path, tape = bag
    found = gather(path)
    assert not found.notes
    steps = {
        (t.id.episode_id, t.id.step): t.after[3].image
        for t in (sent.what for sent in tape)
        if isinstance(t, Transition)
    }
    raw = {
        hashlib.sha256(bytes(sent.what['data'])).digest(): bytes(sent.what['data'])
        for sent in tape
        if sent.topic == '/camera/image_raw'
    }
    shown = [(row, frame) for row in found.rows for frame in found.frames[row.episode.number]]
    assert len(shown) > 20
    for row, frame in shown:
        reference = steps[row.episode.key[1], frame.step]
        assert reference is not None
        kind, data = frame.data.split(';base64,')
        assert kind == 'data:image/png', 'a small image is kept without a loss'
        opened = image.open(io.BytesIO(base64.b64decode(data)))
        assert opened.tobytes() == raw[reference.sha256]


def test_frames_keep_to_their_number_and_those_of_the_moments_come_first(
    bag: tuple[Path, Tape],
) -> None:
    pytest.importorskip('PIL')
    path, _ = bag
    found = gather(path, PageLimits(frames=6))
    frames = [frame for shown in found.frames.values() for frame in shown]
    assert len(frames) == 6
    for moment in found.moments:
        steps = [frame.step for frame in found.frames[found.number_of(moment)]]
        assert moment.step in steps
    assert any('6 of' in note for note in found.notes)


def test_without_pillow_the_page_says_what_is_missing(
    bag: tuple[Path, Tape], monkeypatch: pytest.MonkeyPatch
) -> None:
    present = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith('PIL'):
            raise ImportError(name)
        return present(name, *rest)

    monkeypatch.setattr(builtins, '__import__', without)
    found = gather(bag[0], PageLimits(episodes=1))
    assert found.frames == {}
    assert any('pip install Pillow' in note for note in found.notes)


# The command -------------------------------------------------------------------------------------


def test_command_writes_a_page_or_prints_its_figures(
    whole: Path, report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / 'page.html'
    assert main(['report', str(whole), '-o', str(place)]) == 0
    assert place.read_text(encoding='utf-8').startswith('<!doctype html>')
    capsys.readouterr()
    assert main(['report', str(whole), '--json']) == 0
    assert json.loads(capsys.readouterr().out) == report.summary.to_json()
    assert main(['report', str(whole), '-o', str(tmp_path / 'other.html'), '--json']) == 2


def test_command_overwrites_nothing_and_says_so_before_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / 'page.html'
    place.write_text('precious')
    assert main(['report', str(tmp_path / 'no run'), '-o', str(place)]) == 2
    assert 'exists already, not overwritten' in capsys.readouterr().err
    assert place.read_text() == 'precious'
    assert main(['report', str(tmp_path / 'no run')]) == 2
    assert 'give one of -o PAGE.html, --rrd FILE, --text and --json' in capsys.readouterr().err


def test_labels_are_short_and_apart(contract: Contract) -> None:
    labels = Labels(contract)
    assert [label.chart for label in labels.command] == ['base/linear.x', 'base/angular.z']
    assert [(x.chart, x.name) for x in labels.of_values('pose', 3)] == [
        ('pose (m)', 'x'), ('pose (m)', 'y'), ('pose (rad)', 'yaw'),
    ]  # fmt: skip
