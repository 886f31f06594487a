# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Honest records of machines that were late: what came late is no error, what never came is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from bag_maker import make_tape, MS, of, raw, record_of, Sent, Tape, write_bag
from record_maker import Bench, chosen_start, seek_goal

from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.audit import audit_path, AuditReport
from boundary_env_ros.storage.contract_file import LoadedContract


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=4)


@pytest.fixture
def audited(tmp_path: Path) -> Callable[[Tape], AuditReport]:
    """Return a function that writes a bag and audits it."""

    def audited(tape: Tape) -> AuditReport:
        write_bag(tmp_path / 'bag', tape)
        return audit_path(tmp_path / 'bag')

    return audited


def from_third_second(tape: Tape) -> int:
    return min(sent.log_time for sent in tape) + 3000 * MS


@pytest.mark.parametrize('topic', ['/contact', '/odom', '/scan', '/boundary/action_request'])
def test_what_came_to_the_recorder_late_is_found(
    tape: Tape, audited: Callable[[Tape], AuditReport], topic: str
) -> None:
    first = from_third_second(tape)

    def held_back(sent: Sent) -> Sent:
        """Return a message as it comes after one that got lost: with a heartbeat."""
        lost = first < sent.log_time < first + 8000 * MS
        return replace(sent, log_time=first + 8000 * MS) if lost else sent

    report = audited(raw(tape, topic, held_back))
    assert report.counts == {}, f'\n{report}'


@pytest.mark.parametrize('topic', ['/contact', '/odom', '/scan', '/boundary/action_request'])
def test_what_never_came_to_the_recorder_is_named(
    tape: Tape, audited: Callable[[Tape], AuditReport], topic: str
) -> None:
    first = from_third_second(tape)

    def lost(sent: Sent) -> Sent | None:
        return None if first < sent.log_time < first + 3000 * MS else sent

    assert not audited(raw(tape, topic, lost)).ok


class Hanging:
    """An environment that hangs for a while, and hears then what it had not been able to."""

    def __init__(self, bench: Bench, begin: int, end: int) -> None:
        self._bench, self._real = bench, bench.environment
        self._begin, self._end = begin, end
        self._missed: list[Callable[[], tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if name not in ('sample', 'feedback', 'decision', 'gate_status', 'tick', 'watch'):
            return attribute

        def call(*arguments: Any) -> Any:
            if self._begin <= self._bench.now < self._end:
                if name not in ('tick', 'watch'):
                    self._missed.append(partial(attribute, *arguments))
                return ()
            if name == 'tick' and self._missed:
                # Its timer runs first; what waits in its queues comes after it.
                late = (self._bench.now - self._begin) / 1e9
                effects = attribute(self._bench.instant(), late)
                missed, self._missed = self._missed, []
                return (*effects, *(effect for act in missed for effect in act()))
            return () if self._missed else attribute(*arguments)

        return call


def test_an_environment_that_wakes_up_freezes_what_it_had_heard_before(
    loaded: LoadedContract, task: Task, audited: Callable[[Tape], AuditReport]
) -> None:
    bench = Bench(loaded.contract, loaded.digest, task, 4)
    bench.environment = Hanging(bench, 2000 * MS, 2900 * MS)  # type: ignore[assignment]
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    tape = record_of(bench, loaded)
    *_, last = of(tape, Transition)
    assert last.cause == 'environment_lost'
    assert last.tick_error > 0.8
    report = audited(tape)
    assert report.counts == {}, f'\n{report}'
