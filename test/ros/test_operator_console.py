# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal over real DDS: what he confirms, refuses, misses and marks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

import numpy as np
from std_srvs.srv import Trigger

from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, ResetFailed
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names, operator_console
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.operator_console import attend
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

PROMPT = 'Put the box on the mark.'
_SOON = 30.0

CHANGES: dict[str, Any] = {
    **PATIENT,
    'episode': {
        'reset': {
            'service': None,
            'deadline': 30.0,
            'procedure': [
                {'world': 'reset_world', 'deadline': 8.0},
                {'confirm': PROMPT, 'deadline': 8.0},
            ],
        }
    },
}


class Terminal:
    """``boundary-env operator`` at a terminal of its own."""

    def __init__(self, world: World, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, '-m', 'boundary_env_ros.cli.main', 'operator', *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **isolated_environment(world.domain_id)},
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ''
        self._seen = 0

    def until(self, words: str) -> None:
        """Wait for words that were not waited for before."""
        deadline = time.monotonic() + _SOON
        while words not in self.text[self._seen :]:
            left = deadline - time.monotonic()
            assert left > 0, f'Expect {words!r} at the terminal, actually:\n{self.text}'
            self._read(min(left, 0.2))
        self._seen = self.text.index(words, self._seen) + len(words)

    def _read(self, seconds: float) -> None:
        if select.select([self._ours], [], [], seconds)[0]:
            try:
                self.text += os.read(self._ours, 4096).decode()
            except OSError:  # the other end is closed
                time.sleep(seconds)

    def type(self, line: str) -> None:
        os.write(self._ours, f'{line}\n'.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(_SOON)
        self._read(0.2)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return a world whose resets ask for a person, with a recorder."""
    made = make_world(changes=CHANGES, recorder=True, pacing='lockstep')
    made.probe.subscribe(names.EPISODE_LABEL, msg.EpisodeLabel, names.RECORD)
    return made


@pytest.fixture
def env(world: World) -> Iterator[BoundaryEnv]:
    yield world.environment(client='asked')
    world.end_episode()
    world.close_environments()


@contextmanager
def sitting(world: World, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal(world, *arguments)
    try:
        yield terminal
    finally:
        terminal.close()


@contextmanager
def resetting(env: BoundaryEnv) -> Iterator[Future[Any]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(env.reset, seed=3)


def drive(env: BoundaryEnv, steps: int = 3) -> None:
    for _ in range(steps):
        env.step(np.array([0.1, 0.0], np.float32))


def reset_of(world: World, since: int) -> Transition:
    def found() -> list[Transition]:
        heard = [from_msg(Transition, m) for m in world.probe.messages(names.TRANSITION, since)]
        return [t for t in heard if t.reset is not None]

    world.probe.until(found, _SOON, 'the transition of the reset')
    return found()[-1]


def test_person_confirms_marks_and_refuses_and_all_of_it_is_recorded(
    world: World, env: BoundaryEnv
) -> None:
    with sitting(world, '--user', 'ada', '--label') as terminal:
        terminal.until('resets and labels are asked about here, as ada')
        since = time.monotonic_ns()
        terminal.type('n what is typed before the question is no answer')
        with resetting(env) as reset:
            terminal.until(f'asks: {PROMPT}')
            terminal.until('Done? [y, or n and why, at most 8 s left]')
            terminal.type('what?')
            terminal.until('Done?')
            terminal.type('y')
            terminal.until('Confirmed.')
            reset.result(_SOON)
        step = reset_of(world, since)
        assert step.reset is not None
        assert step.reset.confirmed_by.split(', ')[-1] == 'ada'
        drive(env)
        world.end_episode()
        terminal.until('ended: abandoned (truncated after')
        terminal.until('What do you make of it?')
        terminal.type('f it leaned')
        terminal.until('Labelled: failure.')
        world.probe.until(lambda: world.probe.last(names.EPISODE_LABEL), _SOON, 'the mark')
        mark = from_msg(EpisodeLabel, world.probe.last(names.EPISODE_LABEL))
        assert (mark.user, mark.label, mark.note) == ('ada', Label.FAILURE, 'it leaned')
        assert mark.id.episode_id == step.id.episode_id
        with EpisodeStore.open(RunFolder(world.run).episodes) as store:
            (row,) = (r for r in store.episodes() if r.episode_id == step.id.episode_id)
        assert (row.labels, row.ending, row.success) == ((mark,), 'abandoned', False)

        world.probe.until(
            lambda: mark in list(open_records(world.run).records(EpisodeLabel)),
            _SOON,
            'the mark in the bag',
        )

        with resetting(env) as reset:
            terminal.until('Done?')
            terminal.type('n the box is broken')
            with pytest.raises(ResetFailed, match='ada did not confirm: the box is broken'):
                reset.result(_SOON)
        terminal.until('Said no')
        assert terminal.interrupt() == 0
    assert 'Traceback' not in terminal.text


def test_deadline_passes_and_the_next_question_is_asked(world: World, env: BoundaryEnv) -> None:
    with sitting(world, '--user', 'ada') as terminal:
        terminal.until('as ada')
        with resetting(env) as reset:
            terminal.until('Done?')
            terminal.until('reset_failed')
            with pytest.raises(ResetFailed, match='a person to confirm'):
                reset.result(_SOON)
        with resetting(env) as reset:
            terminal.until('Done?')
            terminal.type('yes')
            reset.result(_SOON)
        assert terminal.interrupt() == 0


def test_a_latched_emergency_stop_is_told_before_a_person_confirms(world: World) -> None:
    stop = 'safety_gate/emergency_stop'
    assert world.probe.call(Trigger, stop, Trigger.Request()).success
    with sitting(world, '--user', 'ada') as terminal:
        terminal.until('as ada')
        begin = srv.BeginEpisode.Request(digest=world.loaded.digest, client='ann', seed_given=True)
        assert not world.probe.call(srv.BeginEpisode, names.BEGIN_EPISODE, begin).result.code
        terminal.until('Before you confirm: the emergency stop is latched')
        terminal.until('Done?')
        assert world.clears()
        terminal.until(f'asks: {PROMPT}')
        terminal.until('Done?')
        terminal.type('y')
        terminal.until('Confirmed.')
        assert terminal.interrupt() == 0
    assert terminal.text.count('Before you confirm') == 1
    world.end_episode()


def test_yes_confirms_whatever_is_asked_for_without_a_terminal(
    world: World, env: BoundaryEnv
) -> None:
    command = [sys.executable, '-m', 'boundary_env_ros.cli.main', 'operator', '--user', 'night']
    with subprocess.Popen(
        [*command, '--yes'],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **isolated_environment(world.domain_id)},
    ) as script:
        try:
            assert script.stdout is not None
            assert 'as night' in script.stdout.readline()
            since = time.monotonic_ns()
            env.reset(seed=4)
            reset = reset_of(world, since).reset
            assert reset is not None
            assert reset.confirmed_by.endswith('night')
        finally:
            script.send_signal(signal.SIGINT)
        assert script.wait(_SOON) == 0


def test_an_interrupt_while_a_message_is_read_ends_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as interrupt:
            raise TypeError('The extension of rclpy makes another error of it.') from interrupt

    monkeypatch.setattr(operator_console, 'from_msg', read)
    assert attend(user='ada', yes=True, label=False, domain_id=world.domain_id) == 0


def test_nobody_to_ask_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:  # noqa: PTH123 - a file, not its path
        monkeypatch.setattr(sys, 'stdin', nothing)
        with pytest.raises(BoundaryError, match='is not a terminal'):
            attend(user='ada', yes=False, label=False)
        with pytest.raises(BoundaryError, match='or with --yes for a script'):
            attend(user='ada', yes=True, label=True)


@pytest.mark.parametrize(
    ('fields', 'code', 'message'),
    [
        ({'label': 1, 'user': ''}, 'INVALID_ARGUMENT', 'who labels the episode'),
        ({'label': 9, 'user': 'ada'}, 'INVALID_ARGUMENT', 'Expected a label out of'),
        ({'label': 1, 'user': 'ada', 'episode_id': 'x'}, 'UNKNOWN_EPISODE', 'of this run'),
    ],
)
def test_mark_that_says_nothing_is_refused_by_the_recorder(
    world: World, fields: dict[str, Any], code: str, message: str
) -> None:
    answer = world.probe.call(
        srv.LabelEpisode, names.LABEL_EPISODE, srv.LabelEpisode.Request(**fields)
    )
    assert answer.result.code == getattr(msg.Result, code)
    assert message in answer.result.message
