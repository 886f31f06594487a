# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Honest records of machines that were late: what came late is no error, what never came is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.environment.environment_events import (
    DeadlinesDue,
    Decided,
    GateReported,
    InputEvent,
    StepDue,
)
from boundary_env_ros.core.environment.environment_state import Outputs
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.evidence.audit.audit import AuditReport
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.storage.contract_file import LoadedContract
from support.bag_maker import make_tape, of, raw, record_of, Sent, Tape
from support.record_maker import Bench, chosen_start, MS, seek_goal
from support.record_sensors import Fields


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=4)


def from_third_second(tape: Tape) -> int:
    return min(sent.log_time for sent in tape) + 3000 * MS


@pytest.mark.parametrize(
    'topic',
    [
        '/contact',
        '/odom',
        '/scan',
        '/cmd_vel',
        '/boundary/action_request',
        '/boundary/gate_decision',
        '/boundary/transition',
        '/boundary/privileged_observation',
        '/boundary/actuation_evidence',
        '/boundary/episode_status',
    ],
)
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

    report = audited(raw(tape, topic, lost))
    assert report.outcome is not AuditOutcome.SUPPORTED, f'\n{report}'
    assert report.ok is (topic == '/boundary/action_request'), f'\n{report}'


@pytest.mark.parametrize(
    ('missing', 'outcome'), [(3, AuditOutcome.SUPPORTED), (40, AuditOutcome.CONSISTENT)]
)
def test_requests_before_the_recorder_found_who_sent_them_are_excused_and_told(
    tape: Tape, audited: Callable[[Tape], AuditReport], missing: int, outcome: AuditOutcome
) -> None:
    topic = '/boundary/action_request'
    leases = [sent.what.lease_id for sent in tape if sent.topic == topic]
    late = max(leases, key=leases.count)

    def unheard(sent: Sent) -> Sent | None:
        first = sent.what.lease_id == late and sent.what.sequence <= missing
        return None if first else sent

    report = audited(raw(tape, topic, unheard))
    assert report.counts == {}, f'\n{report}'
    assert report.excused['early']['requests'] >= missing
    assert report.outcome is outcome, f'\n{report}'


class Hanging:
    """An environment that hangs for a while, and hears then what it had not been able to."""

    def __init__(self, bench: Bench, begin: int, end: int) -> None:
        self._bench, self._real = bench, bench.environment
        self._begin, self._end = begin, end
        self._missed: list[InputEvent] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def apply(self, event: InputEvent) -> Outputs:
        message, timer = isinstance(event, HEARD), isinstance(event, (StepDue, DeadlinesDue))
        if not (message or timer):
            return self._real.apply(event)
        if self._begin <= self._bench.now < self._end:
            self._missed += [event] * message
            return ()
        if isinstance(event, StepDue) and self._missed:
            # Its timer runs first; what waits in its queues comes after it.
            late = (self._bench.now - self._begin) / 1e9
            missed, self._missed = self._missed, []
            outputs = [self._real.apply(replace(event, late=late))]
            outputs += [self._real.apply(each) for each in missed]
            return tuple(chain.from_iterable(outputs))
        return () if self._missed else self._real.apply(event)


#: What waits in the queues of an environment that hangs.
HEARD = (Decided, GateReported)


def test_an_environment_that_wakes_up_freezes_what_it_had_heard_before(
    loaded: LoadedContract, task: Task, audited: Callable[[Tape], AuditReport]
) -> None:
    bench = Bench(loaded.contract, loaded.digest, task, 4)
    bench.environment = Hanging(bench, 2000 * MS, 2900 * MS)  # type: ignore[assignment]
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    tape = record_of(bench, loaded)
    *_, last = of(tape, Transition)
    assert last.ending == 'environment_lost'
    assert last.tick_error > 0.8
    report = audited(tape)
    assert report.counts == {}, f'\n{report}'


class HeldUpBench(Bench):
    """A bench whose timer calls in time, and is held up then for more than a period."""

    LATE: ClassVar = {20: 117, 21: 25}

    def _start_ticking(self, episode_id: str) -> None:
        def tick(number: int) -> None:
            late = self.LATE.get(number, 0)

            def act() -> None:
                status = self.environment.status(self.instant())
                if status.state is EpisodeState.RUNNING and status.id.episode_id == episode_id:
                    self._take(
                        self.environment.apply(StepDue(now=self.instant(), late=late / 1e3))
                    )

            self.after(late, act)
            if self.environment.state.episode.state is EpisodeState.RUNNING:
                self.after(100, lambda: tick(number + 1))

        self.after(100, lambda: tick(1))


def test_a_tick_that_was_held_up_after_its_timer_had_called_is_no_missed_one(
    loaded: LoadedContract, task: Task, audited: Callable[[Tape], AuditReport]
) -> None:
    bench = HeldUpBench(loaded.contract, loaded.digest, task, 4)
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    tape = record_of(bench, loaded)
    assert max(step.tick_error or 0.0 for step in of(tape, Transition)) == 0.117
    report = audited(tape)
    assert 'steps-in-order' not in report.counts, f'\n{report}'


# What never came to the environment --------------------------------------------------------------

CAMERA = '/camera/image_raw'


class LossyBench(Bench):
    """A bench whose environment misses some of the images that the recorder had."""

    ONE_OF = 25
    seen = 0

    def _read(self, topic: str, message: object, published: Stamp, arrived: Stamp) -> None:
        if topic == CAMERA and self.now > 2000 * MS:
            self.seen += 1
            if self.seen % self.ONE_OF == 0:
                return
        super()._read(topic, message, published, arrived)


class VeryLossyBench(LossyBench):
    """One that misses every third of them."""

    ONE_OF = 3


@pytest.mark.parametrize('bench', [LossyBench, VeryLossyBench])
def test_an_image_that_only_the_recorder_had_is_no_fault(
    loaded: LoadedContract, task: Task, audited: Callable[[Tape], AuditReport], bench: type[Bench]
) -> None:
    report = audited(make_tape(bench, loaded, task, seed=4))
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


class DyingBench(Bench):
    """A bench whose camera dies; its last image comes to the recorder alone."""

    DIES = 3000 * MS

    def _hear(self, topic: str, fields: Fields, delay: float) -> None:
        if topic != CAMERA or self.now <= self.DIES:
            super()._hear(topic, fields, delay)

    def _read(self, topic: str, message: object, published: Stamp, arrived: Stamp) -> None:
        if topic != CAMERA or self.now <= self.DIES - 50 * MS:
            super()._read(topic, message, published, arrived)


def test_last_message_of_a_driver_that_died_need_not_have_come(
    loaded: LoadedContract, task: Task, audited: Callable[[Tape], AuditReport]
) -> None:
    bench = DyingBench(loaded.contract, loaded.digest, task, 4)
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    tape = record_of(bench, loaded)
    report = audited(tape)
    assert report.counts == {}, f'\n{report}'
    older = [sent for sent in tape if sent.topic == CAMERA][-4:-1]
    gone = audited([sent for sent in tape if all(sent is not one for one in older)])
    assert 'values-from-sensors' in gone.counts
