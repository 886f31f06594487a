# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was recorded comes back from its raw messages; what they cannot tell is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
import math
from pathlib import Path
import re
import sys

import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
import yaml

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.imported import DERIVED, imported_from, is_unknown
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.audit import audit
from boundary_env_ros.evidence.importing.cuts import AtCommands, AtRanges, Cut
from boundary_env_ros.evidence.importing.importer import import_bag, Imported, ImportOptions
from boundary_env_ros.evidence.importing.timeline import TimeLine
from boundary_env_ros.evidence.summary.summary import summarise
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from support.bag_maker import make_tape, of, Tape, wire, write_bag
from support.record_maker import Bench, COMMAND, Sent
from support.storage_wire import typestore

ENDINGS = ('success', 'safety_stop', 'operator_stop')
HOST = 'bench'


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return the record of three episodes, each with another ending."""
    return make_tape(Bench, loaded, task, 1)


@pytest.fixture(scope='module')
def bag(tape: Tape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag with all that the recorder had, our own topics too."""
    folder = tmp_path_factory.mktemp('bags') / 'drive'
    write_bag(folder, tape)
    return folder


@dataclass(frozen=True)
class Original:
    """One recorded episode, and what its import has to be told."""

    steps: list[Transition]

    @property
    def span(self) -> tuple[int, int]:
        """Return begin and end, nanoseconds."""
        return self.steps[0].closed.ros.nanoseconds, self.steps[-1].closed.ros.nanoseconds

    @property
    def reset(self) -> tuple[NamedValues, ...]:
        """Return what the task had sampled."""
        assert self.steps[0].reset is not None
        return self.steps[0].reset.sampled

    @property
    def options(self) -> ImportOptions:
        """Return the options that make the same steps."""
        return ImportOptions(cut=lambda begin: AtRanges([self.span]), reset=self.reset, host=HOST)


@pytest.fixture(scope='module')
def originals(tape: Tape) -> list[Original]:
    """Return the recorded episodes."""
    episodes: dict[str, list[Transition]] = {}
    for step in of(tape, Transition):
        episodes.setdefault(step.id.episode_id, []).append(step)
    found = [Original(steps) for steps in episodes.values()]
    assert [original.steps[-1].ending for original in found] == list(ENDINGS)
    return found


@pytest.fixture(scope='module')
def drive(tape: Tape, originals: list[Original]) -> Tape:
    """Return the raw messages up to a little after the end of the first episode."""
    _, end = originals[0].span
    return [sent for sent in stripped(tape) if sent.log_time <= end + 50_000_000]


@pytest.fixture(scope='module')
def short(drive: Tape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of them."""
    folder = tmp_path_factory.mktemp('short') / 'drive'
    write_bag(folder, drive)
    return folder


@pytest.fixture(scope='module')
def run(
    short: Path,
    loaded: LoadedContract,
    originals: list[Original],
    tmp_path_factory: pytest.TempPathFactory,
) -> RunFolder:
    """Return the run that the first episode makes."""
    out = tmp_path_factory.mktemp('runs') / 'run'
    import_bag(short, out, loaded, originals[0].options)
    return RunFolder(out)


def derived_fields(step: Transition) -> list[str]:
    """Return the fields of an imported step that were worked out afterwards."""
    return [name for i in step.diagnostics if i.key == DERIVED for name in i.value.split(',')]


def steps_of(run: RunFolder | Path) -> list[Transition]:
    path = run.path if isinstance(run, RunFolder) else run
    return list(open_records(path).transitions())


def seen(step: Transition) -> list[ObservationField]:
    """Return the fields of a step, but for when the task supplied one."""
    return [
        replace(field, captured=None, age=None) if field.source.startswith('task:') else field
        for field in (*step.after, *step.state)
    ]


# The round trip ----------------------------------------------------------------------------------


@pytest.mark.parametrize('number', range(len(ENDINGS)), ids=ENDINGS)
def test_episode_comes_back_from_its_raw_messages(
    tmp_path: Path, bag: Path, loaded: LoadedContract, originals: list[Original], number: int
) -> None:
    original = originals[number]
    imported = import_bag(bag, tmp_path / 'run', loaded, original.options)
    made = steps_of(tmp_path / 'run')
    assert len(made) == len(original.steps) == imported.transitions
    for old, new in zip(original.steps, made, strict=True):
        assert seen(new) == seen(old)
        assert (new.kind, new.id.step, new.id.digest) == (old.kind, old.id.step, old.id.digest)
        assert new.closed.ros == old.closed.ros
        assert (new.measured_action, new.measured_at) == (old.measured_action, old.measured_at)
        assert new.captured == old.captured
        if ENDINGS[number] != 'success' and new is made[-1]:
            # That the gate braked of itself is not in the bag.
            assert (new.ending, new.declared_by, new.truncated) == ('abandoned', 'import', True)
            continue
        assert new.commanded_action == old.commanded_action
        assert new.admitted_action == old.admitted_action
        assert (new.reward, new.reward_terms) == (old.reward, old.reward_terms)
        assert (new.terminated, new.truncated) == (old.terminated, old.truncated)
        assert (new.ending, new.declared_by) == (old.ending, old.declared_by)
        if new.id.step > 1:  # What the gate began from is not in the bag either.
            assert (new.actuated, new.actuated_quantum) == (old.actuated, old.actuated_quantum)


@pytest.mark.parametrize(
    ('name', 'ending', 'blind'),
    [
        ('warehouse_cart', 'abandoned', False),
        ('warehouse_cart', 'abandoned', True),
        ('door_arm', 'excessive_force', False),
    ],
)
def test_record_of_a_lockstep_comes_back(
    tmp_path: Path, name: str, ending: str, *, blind: bool
) -> None:
    from support.world_maker import make_world_tape, now_and_then_blind

    loaded = load(name, Pacing.LOCKSTEP)
    change = now_and_then_blind() if blind else lambda emission: emission
    tape = make_world_tape(loaded, episodes=1, steps=12, seed=3, change=change)
    write_bag(tmp_path / 'bag', tape)
    recorded = of(tape, Transition)
    options = ImportOptions(reset=Original(recorded).reset, host=recorded[0].closed.ros.host)
    notes = import_bag(tmp_path / 'bag', tmp_path / 'run', loaded, options).notes
    assert (
        any('the first: pose.pose.orientation is a quaternion of zeros' in note for note in notes)
        is blind
    )
    imported = steps_of(tmp_path / 'run')

    def unnamed(step: Transition) -> list[ObservationField]:
        # The world in one process gives its topics no leading slash.
        return [
            replace(f, source='', image=f.image and replace(f.image, topic='')) for f in seen(step)
        ]

    assert len(recorded) == len(imported) > 10
    for old, new in zip(recorded, imported, strict=True):
        assert unnamed(new) == unnamed(old)
        assert new.commanded_action == old.commanded_action
        assert new.measured_action == old.measured_action
        assert (new.reward, new.closed.ros) == (old.reward, old.closed.ros)
        assert all(field.arrived is None for field in new.after)
    assert imported[-1].ending == ending


@pytest.mark.parametrize(
    ('plugin', 'mode'),
    [
        (StoragePlugin.SQLITE3, CompressionMode.NONE),
        (StoragePlugin.SQLITE3, CompressionMode.FILE),
        (StoragePlugin.MCAP, CompressionMode.FILE),
    ],
    ids=['sqlite3', 'sqlite3, file compressed', 'mcap, file compressed'],
)
def test_every_storage_makes_the_same_steps(
    tmp_path: Path,
    drive: Tape,
    run: RunFolder,
    loaded: LoadedContract,
    originals: list[Original],
    plugin: StoragePlugin,
    mode: CompressionMode,
) -> None:
    writer = Writer(tmp_path / 'theirs', version=9, storage_plugin=plugin)
    if mode is not CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for sent in sorted(drive, key=lambda item: item.log_time):
            if sent.topic not in connections:
                connections[sent.topic] = writer.add_connection(
                    sent.topic, sent.type, typestore=typestore()
                )
            writer.write(connections[sent.topic], sent.log_time, wire(sent))
    import_bag(tmp_path / 'theirs', tmp_path / 'run', loaded, originals[0].options)

    def known(step: Transition) -> list[ObservationField]:
        # Such bags have log times only.
        return [replace(field, published=None) for field in seen(step)]

    for one, other in zip(steps_of(tmp_path / 'run'), steps_of(run), strict=True):
        assert known(one) == known(other)
        assert all(field.published is None for field in one.after)
        assert one.commanded_action == other.commanded_action
        assert (one.reward, one.ending) == (other.reward, other.ending)


def test_a_publish_time_of_0_is_unknown_in_the_steps_and_in_the_run(
    tmp_path: Path, drive: Tape, loaded: LoadedContract, originals: list[Original]
) -> None:
    write_bag(tmp_path / 'bag', [replace(sent, publish_time=0) for sent in drive])
    topics = {sent.topic for sent in drive}
    assert {m.publish_time for m in open_records(tmp_path / 'bag').messages(topics)} == {None}
    import_bag(tmp_path / 'bag', tmp_path / 'run', loaded, originals[0].options)
    for step in steps_of(tmp_path / 'run'):
        assert all(field.published is None for field in (*step.after, *step.state))
    for message in open_records(tmp_path / 'run').messages(topics):
        # A tool that does not know of 0 shows no message in 1970.
        assert message.publish_time == message.log_time


def stripped(tape: Tape) -> Iterator[Sent]:
    """Yield what is not ours."""
    for sent in tape:
        if not is_dataclass(sent.what) and not sent.type.startswith('boundary_env_ros/'):
            yield sent


# What is said of what is made of it --------------------------------------------------------------


def test_every_step_says_that_it_was_imported_and_what_was_derived(run: RunFolder) -> None:
    made = steps_of(run)
    assert {imported_from(step) for step in made} == {'drive'}
    names = {field.name for field in fields(Transition)}
    for step in made:
        derived = derived_fields(step)
        assert {name.partition('.')[0] for name in derived} <= names
        assert {'closed', 'after.age', 'after.arrived'} <= set(derived)
        acted = bool(step.commanded_action)
        assert acted is ('requested_action' in derived) is ('commanded' in derived)
        assert ('reward' in derived) is (step.kind is Kind.STEP)
        assert ('overrun' in derived) is step.overrun
        assert ('actuated' in derived) is (step.actuated is not None)
    assert any(step.actuated is not None for step in made)


def test_what_nobody_recorded_is_unknown(run: RunFolder) -> None:
    first, *steps = steps_of(run)
    for step in steps:
        assert (step.delivered, step.requested, step.received) == (None, None, None)
        assert (step.verdict, step.decisions, step.tick_error) == (None, (), None)
        for stage in (step.latency.transport, step.latency.inference, step.latency.gate):
            assert stage.duration is None
        assert step.latency.capture.duration is not None
        assert step.client_version == ''
        assert is_unknown(step, 'seed')
        assert not is_unknown(step, 'terminated')
    for name in ('seed_given', 'options', 'within_tolerance'):
        assert is_unknown(first, f'reset.{name}')
    assert first.reset is not None
    assert (first.reset.achieved, first.reset.duration) == ((), None)
    assert (first.reset.confirmed_by, first.reset.within_tolerance) == ('', False)


def test_reset_without_a_tolerance_is_not_within_one(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    data = yaml.safe_load(loaded.text)
    del data['episode']['reset']['tolerance']
    import_bag(short, tmp_path / 'run', loads(yaml.safe_dump(data)), originals[0].options)
    first = steps_of(tmp_path / 'run')[0]
    assert first.reset is not None
    assert (first.reset.tolerance, first.reset.within_tolerance) == ((), False)


def test_clocks_of_hosts_that_nobody_names_make_ages_uncertain(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    options = replace(originals[0].options, host='')
    import_bag(short, tmp_path / 'run', loaded, options)
    step = steps_of(tmp_path / 'run')[5]
    assert step.latency.capture.duration is not None
    assert step.latency.capture.uncertainty is None


def test_reward_is_unknown_where_the_task_lacks_what_it_needs(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    options = replace(originals[0].options, reset=())
    imported = import_bag(short, tmp_path / 'run', loaded, options)
    first, *steps = steps_of(tmp_path / 'run')
    goal = next(field for field in first.after if field.name == 'goal')
    assert (goal.status, goal.values) == (FieldStatus.MISSING, ())
    assert all(math.isnan(step.reward) and is_unknown(step, 'reward') for step in steps)
    assert all(is_unknown(step, 'terminated') for step in steps)
    assert not any('terminated' in derived_fields(step) for step in steps)
    assert steps[-1].ending == 'abandoned'
    assert any('could not be judged by the task' in note for note in imported.notes)
    (client,) = summarise(steps_of(tmp_path / 'run')).groups
    assert (client.mean_return, client.unjudged) == (None, len(steps))
    # Nobody knows whether it succeeded: that is no failure.
    assert (client.episodes, client.success.of, client.success_of_terminated.of) == (1, 0, 0)
    label = EpisodeLabel(id=steps[-1].id, label=Label.SUCCESS, user='anna')
    (client,) = summarise([first, *steps, label]).groups
    assert (client.success_by_labels.count, client.disagreements) == (1, [])


def test_commands_outside_the_contract_are_kept_and_counted(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    narrow = loads(loaded.text.replace('high: [0.8, 1.5]', 'high: [0.3, 1.5]', 1))
    assert narrow.digest != loaded.digest
    imported = import_bag(short, tmp_path / 'run', narrow, originals[0].options)
    assert any(step.commanded_action[:1] > (0.3,) for step in steps_of(tmp_path / 'run'))
    assert any('lie outside the bounds' in note for note in imported.notes)


def test_action_is_the_one_that_means_the_command(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    differences = loads(
        loaded.text.replace(
            'out_of_bounds: clip ',
            'kind: delta\n    max_delta: [0.5, 2.0]\n    out_of_bounds: clip ',
        )
    )
    import_bag(short, tmp_path / 'run', differences, originals[0].options)
    _, first, *steps = steps_of(tmp_path / 'run')
    # Nothing says what the first command differs from.
    assert all(map(math.isnan, first.requested_action))
    assert all(map(math.isfinite, first.commanded_action))
    last = first.commanded_action
    for step in steps:
        assert step.requested_action == step.admitted_action
        assert step.requested_action == tuple(
            now - was for now, was in zip(step.commanded_action, last, strict=True)
        )
        last = step.commanded_action


# What the run is good for ------------------------------------------------------------------------


def test_run_is_read_like_a_recorded_one(
    tmp_path: Path, run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(run.path)
    assert main(['episodes', 'list', path]) == 0
    assert 'terminated  success' in capsys.readouterr().out
    assert main(['report', '--text', path]) == 0
    told = capsys.readouterr().out
    assert re.search(r'steps imported from a bag, no gate +43 of 43\n', told)
    assert re.search(r'steps with an intervention +none\n', told)
    assert re.search(r'inference, budget 50 +unknown\n', told)
    assert main(['export', path, '--format', 'jsonl', '-o', str(tmp_path / 'data')]) == 0
    for command in (['audit'], ['replay', '--check']):
        assert main([*command, path]) == 2
        assert 'there is nothing to audit or to recompute' in capsys.readouterr().err
    with EpisodeStore.open(run.episodes) as store:
        (row,) = store.episodes()
        assert (row.step_count, row.ending) == (len(steps_of(run)) - 1, 'success')


def test_nothing_is_told_of_a_reset_that_nobody_recorded(
    tmp_path: Path, run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['inspect', str(run.path), '--step', '0']) == 0
    told = capsys.readouterr().out
    assert 'seed, options and tolerance are not known: the bag has no reset' in told
    assert 'seed 0' not in told
    assert 'NOT within' not in told
    assert main(['report', str(run.path), '-o', str(tmp_path / 'page.html')]) == 0
    page = (tmp_path / 'page.html').read_text(encoding='utf-8')
    assert 'begun by the import; the bag has no reset' in page
    assert 'reset with seed' not in page


def test_mark_of_an_import_spares_no_recorded_step(
    loaded: LoadedContract, run: RunFolder, originals: list[Original]
) -> None:
    mark = steps_of(run)[0].diagnostics
    forged = [
        replace(step, diagnostics=mark, commanded_action=(9.0, 9.0)) if step.decisions else step
        for step in originals[0].steps
    ]
    found = audit(forged, contract=loaded.contract)
    assert 'step-recomputed' in found.counts


# Where episodes are ------------------------------------------------------------------------------


def spans(run: Path) -> list[tuple[int, int]]:
    """Return begin and end of the episodes of a run, nanoseconds."""
    found: dict[str, list[int]] = {}
    for step in steps_of(run):
        found.setdefault(step.id.episode_id, []).append(step.closed.ros.nanoseconds)
    return [(times[0], times[-1]) for times in found.values()]


@pytest.mark.parametrize(
    ('cut', 'count'), [(AtCommands, 1), (lambda: AtCommands(600_000_000), 3)], ids=['all', 'gap']
)
def test_episodes_begin_with_a_command(
    tmp_path: Path,
    tape: Tape,
    bag: Path,
    loaded: LoadedContract,
    cut: Callable[[], Cut],
    count: int,
) -> None:
    imported = import_bag(
        bag, tmp_path / 'run', loaded, ImportOptions(cut=lambda begin: cut(), host=HOST)
    )
    found = spans(tmp_path / 'run')
    assert len(found) == count == sum(imported.endings.values())
    commands = sorted(sent.log_time for sent in tape if sent.topic == COMMAND)
    for begin, end in found:
        assert begin in commands
        assert (end - begin) % 100_000_000 == 0
    if count > 1:
        assert all(end < begin for (_, end), (begin, _) in pairwise(found))


def told(cut: Cut, *happenings: tuple[int, str]) -> list[tuple[int | None, int | None]]:
    """Return where a cut wants to begin and end after each thing that happens."""
    found = []
    for now, what in happenings:
        if what == 'command':
            cut.command(now)
        else:
            cut.ended()
        found.append((cut.start_at, cut.end_at))
    return found


@pytest.mark.parametrize(
    ('cut', 'happenings', 'expected'),
    [
        (AtCommands(), [(5, 'command'), (6, 'ended'), (7, 'command')], [(5, None), None, None]),
        (
            AtCommands(10),
            [(5, 'command'), (8, 'command'), (9, 'ended'), (12, 'command'), (23, 'command')],
            [(5, 15), (5, 18), None, None, (23, 33)],
        ),
        (AtRanges([(1, 3), (5, None)]), [(2, 'ended'), (9, 'ended')], [(5, None), None]),
    ],
    ids=['once', 'gap', 'ranges'],
)
def test_cuts(
    cut: Cut,
    happenings: Sequence[tuple[int, str]],
    expected: Sequence[tuple[int | None, int | None] | None],
) -> None:
    assert told(cut, *happenings) == [item or (None, None) for item in expected]


# What time it is ---------------------------------------------------------------------------------


def test_time_line_of_system_time_is_that_of_the_log_times() -> None:
    line = TimeLine(sim_time=False, has_clock=True, host='robot')
    assert [line.logged(time) for time in (5, 9, 7, 12)] == [5, 9, 9, 12]
    line.ticked(1, 13)
    assert (line.now, line.jumps) == (12, [])
    assert line.instant(12).ros.clock is Clock.SYSTEM
    arrived, captured = line.middleware(9), line.captured(4)
    assert arrived is not None
    assert captured is not None
    assert arrived.host == captured.host == 'robot'
    assert line.captured(None) is None


@pytest.mark.parametrize(
    ('clock', 'expected', 'knows'),
    [(3, 9, False), (3 * 86_400 * 10**9, 3 * 86_400 * 10**9, True)],
    ids=['recorded on simulated time', 'recorded on system time'],
)
def test_time_line_of_simulated_time(clock: int, expected: int, *, knows: bool) -> None:
    line = TimeLine(sim_time=True, has_clock=True)
    assert line.logged(5) is None
    line.ticked(clock, 5)
    assert line.logged(9) == expected
    # Simulated log times say nothing of when the middleware had a message.
    assert (line.middleware(9) is not None) is knows


def test_nothing_is_there_before_its_simulated_stamp() -> None:
    line = TimeLine(sim_time=True, has_clock=True)
    line.ticked(5, 5)
    assert [line.logged(9), line.logged(9, 12), line.logged(10), line.logged(13)] == [
        9,
        12,
        12,
        13,
    ]
    assert line.logged(14, stamp=14 + 2 * 10**9) == 14  # a wrong stamp


def test_stamps_of_another_clock_are_noticed() -> None:
    line = TimeLine(sim_time=False, has_clock=False)
    line.logged(10**18)
    line.captured(5)
    assert line.apart == 10**18 - 5
    line.captured(10**18 - 10**9)  # The other was that of a map, say, which is made once.
    assert line.apart == 10**9


S, WALL = 10**9, 1_700_000_000 * 10**9


@pytest.mark.parametrize(
    ('clocks', 'jumps'),
    [
        ((3 * S, 4 * S, S // 5, S), []),
        ((3 * S, 9 * S, 5 * S, 6 * S), [(9 * S, 5 * S)]),
        ((3 * S, 4 * S, 300 * S, 301 * S), [(4 * S, 300 * S)]),
        ((3 * S, 4 * S, 4 * S - 1, 5 * S), []),
    ],
    ids=['reset of a simulation', 'set back', 'set forward', 'two publishers'],
)
def test_clock_that_is_set_begins_another_time_line_and_is_told_unless_it_is_a_reset(
    clocks: Sequence[int], jumps: list[tuple[int, int]]
) -> None:
    line = TimeLine(sim_time=True, has_clock=True)
    now = []
    for number, clock in enumerate(clocks):
        line.ticked(clock, WALL + number * S)
        now.append(line.now)
    assert now == [max(c, 4 * S) if c == 4 * S - 1 else c for c in clocks]
    assert line.jumps == jumps


# What is refused, and what is said ---------------------------------------------------------------


def command(bag: Path, out: Path, *more: str) -> int:
    return main(['bag', 'import', str(bag), '--contract', 'warehouse_cart', '-o', str(out), *more])


def test_command_says_what_became_of_it(
    tmp_path: Path, bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = '--reset={"goal": [-0.8, -2.7], "start": [0, 0, 0]}'
    assert command(bag, tmp_path / 'run', '--gap', '0.6', goal) == 1
    said = capsys.readouterr()
    assert '3 episodes: 2 abandoned, 1 success' in said.out
    used, commands = map(int, re.findall(r'(\d+) of (\d+) commands are in an ep', said.out)[0])
    # What was sent after the success, until the robot stood, is in none.
    assert 0 < used < commands
    assert 'topics of boundary_env_ros in the bag are left out' in said.err
    with EpisodeStore.open(RunFolder(tmp_path / 'run').episodes) as store:
        assert {row.state.client for row in store.episodes()} == {'import'}
    information = yaml.safe_load((tmp_path / 'run/bag/metadata.yaml').read_text())
    about = information['rosbag2_bagfile_information']
    assert about['custom_data']['imported_from'] == 'drive'
    for topic in about['topics_with_message_count']:
        assert topic['topic_metadata']['type_description_hash'].startswith('RIHS01_')


@pytest.mark.parametrize(
    ('more', 'expected'),
    [
        (('--range', '3:1'), 'expected seconds as A:B or A:, with A before B'),
        (('--range', '0:2', '--range', '1:3'), 'the ranges overlap'),
        (('--range', '900:901'), 'There is no episode in the bag'),
        (('--reset', '{"goal": ["a"]}'), 'expected an object of numbers as JSON'),
        (('--gap', '0'), '0.0 is not in the range x>0'),
        (('--pacing', 'lockstep', '--range', '900:'), 'There is no episode in the bag'),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(
    tmp_path: Path,
    short: Path,
    capsys: pytest.CaptureFixture[str],
    more: Sequence[str],
    expected: str,
) -> None:
    assert command(short, tmp_path / 'run', *more) == 2
    assert expected in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(
    tmp_path: Path, short: Path, loaded: LoadedContract, originals: list[Original]
) -> None:
    (tmp_path / 'run').mkdir()
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        import_bag(short, tmp_path / 'run', loaded, originals[0].options)
    assert list((tmp_path / 'run').iterdir()) == []


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('topic: odom\n', 'The bag lacks topics of the contract .expected elsewhere .field'),
        ('agents: [cart]', 'expected a contract of one agent, got cart, other'),
    ],
)
def test_contract_that_does_not_fit_the_bag_is_refused(
    tmp_path: Path, short: Path, loaded: LoadedContract, text: str, expected: str
) -> None:
    assert text in loaded.text
    other = {'topic: odom\n': 'topic: elsewhere\n', 'agents: [cart]': 'agents: [cart, other]'}
    with pytest.raises(RecordError, match=expected):
        changed = loads(loaded.text.replace(text, other[text]))
        import_bag(short, tmp_path / 'run', changed, ImportOptions())


def test_bag_that_is_torn_is_imported_up_to_there(
    tmp_path: Path, short: Path, loaded: LoadedContract
) -> None:
    data = next(short.glob('*.mcap')).read_bytes()
    (tmp_path / 'torn.mcap').write_bytes(data[: len(data) // 2])
    imported: Imported = import_bag(
        tmp_path / 'torn.mcap', tmp_path / 'run', loaded, ImportOptions()
    )
    assert imported.transitions > 2
    assert any('the bag is not whole' in note for note in imported.notes)


def test_field_whose_messages_name_another_frame_is_told(
    tmp_path: Path, short: Path, loaded: LoadedContract
) -> None:
    elsewhere = loads(loaded.text.replace('frame: laser', 'frame: other_laser'))
    assert elsewhere.text != loaded.text
    imported = import_bag(short, tmp_path / 'run', elsewhere, ImportOptions())
    assert "field scan: its header names the frame 'laser', not that of the contract" in (
        imported.notes
    )


def test_simulated_time_is_that_of_the_clock_topic(
    tmp_path: Path, drive: Tape, loaded: LoadedContract, originals: list[Original]
) -> None:
    # A recorder on system time, an hour of sensors on a clock of their own.
    day = 2 * 86_400 * 1_000_000_000
    begin, end = originals[0].span
    moved = [
        replace(sent, log_time=sent.log_time + day, publish_time=sent.publish_time + day)
        for sent in drive
    ]
    ticks = [
        Sent(
            '/clock',
            at + day,
            at + day,
            {'clock': {'sec': at // 10**9, 'nanosec': at % 10**9}},
            'rosgraph_msgs/msg/Clock',
        )
        for at in range(begin - 10**9, end, 10_000_000)
    ]
    write_bag(tmp_path / 'bag', [*moved, *ticks])
    simulated = loads(loaded.text.replace('clock: ros', 'clock: sim'))
    assert simulated.contract.sim_time
    options = ImportOptions(host=HOST)
    import_bag(tmp_path / 'bag', tmp_path / 'run', simulated, options)
    made = steps_of(tmp_path / 'run')
    assert len(made) > 20
    for step in made:
        assert step.closed.ros.clock is Clock.ROS
        # The last sensors are ahead of the last `/clock`.
        assert begin - 10**9 <= step.closed.ros.nanoseconds <= end + 50_000_000
        arrived = [field.arrived for field in step.after if field.source == '/odom']
        assert all(stamp is not None and stamp.clock is Clock.SYSTEM for stamp in arrived)
        assert all(f.age is not None and f.age < 1.0 for f in step.after if f.values[2:])


def test_memory_stays_flat_as_the_bag_is_read(
    tmp_path: Path, bag: Path, loaded: LoadedContract
) -> None:
    held: list[int] = []
    import_bag(
        bag,
        tmp_path / 'run',
        loaded,
        ImportOptions(cut=lambda begin: AtCommands(600_000_000)),
        progress=lambda done, total: held.append(sys.getallocatedblocks()),
    )
    assert len(held) > 4
    # 1500 messages came meanwhile, of some 40 objects each.
    assert held[-1] - held[1] < 10_000
