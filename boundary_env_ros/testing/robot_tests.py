# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of a simulated robot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
import math

import numpy as np

from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources.inputs import robot_topics
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.simulation.robot import Emission, SimulatedRobot
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.testing.robot_bench import (
    ActionChannel,
    Bench,
    directions,
    timeless,
    uses_of,
)
from boundary_env_ros.testing.subject import UnderContract
from boundary_env_ros.testing.verdicts import fail, must_equal, must_refuse, must_return, skip

Target = tuple[NamedValues, ...]


class RobotTests(UnderContract):
    """
    Tests of a simulated robot; override :meth:`contract`, and unless installed :meth:`robot`.

    Attributes
    ----------
    start
        Time at which :meth:`robot` begins, ns.
    seconds
        How long a test lets it run.
    coasting
        Seconds that it may take to come to rest, after its driver's timeout.

    """

    start = 1_000_000_000
    seconds = 2.0
    coasting = 1.0

    def robot(self) -> SimulatedRobot:
        """Return a new robot; by default the installed one with the contract's name."""
        return make_robot(self.loaded().contract, self.start)

    def targets(self) -> Sequence[Target]:
        """Return reset targets that it has to reach; by default, what the task samples."""
        task = make_task(self.loaded().contract)
        return [task.sample_reset(np.random.default_rng(seed), {}) for seed in range(4)]

    # What it sends -------------------------------------------------------------------------------

    def test_robot_sends_on_every_topic_of_the_contract(self) -> None:
        """Each sensor topic is there with its type, and a message comes on it after a reset."""
        bench = _bench(self)
        wanted = robot_topics(bench.contract)
        for topic, kind in wanted.items():
            if bench.robot.topics.get(topic) != kind:
                fail(
                    kind,
                    bench.robot.topics.get(topic, 'no such topic'),
                    where=f'topics[{topic!r}]',
                )
        sent = {e.topic for e in bench.advance(self.seconds) if e.fields is not None}
        silent = sorted(set(wanted) - sent)
        if silent:
            fail(
                f'a message on every sensor topic in {self.seconds:g} s after a reset',
                f'none on {", ".join(silent)}',
                where='advance',
                way_out='No episode begins before each has come.',
            )

    def test_robot_sends_messages_that_the_contract_can_read(self) -> None:
        """Every message is on a declared topic, and has the values that the fields need."""
        bench = _bench(self)
        uses = uses_of(bench.contract)
        for emission in (*bench.drive(self.seconds), *bench.advance(self.seconds)):
            where = emission.topic
            if where not in bench.robot.topics:
                fail('a topic that is among `topics`', 'another', where=where)
            if emission.fields is None:
                continue
            message = PlainMessage(emission.fields)
            for use, size in uses.get(where, ()):
                expected = f'a message that {use.label!r} can read'
                reading = must_return(partial(use.reading, message), expected, where=where)
                if reading.problem:
                    fail(expected, reading.problem, where=where)
                if size is not None and len(reading.values) != size:
                    fail(f'{size} values for {use.label!r}', len(reading.values), where=where)

    def test_robot_stamps_in_order_and_never_from_the_future(self) -> None:
        """A stamp is not before the last of its topic, and not after now."""
        bench = _bench(self)
        last: dict[str, int] = {}
        for emission, now in _with_times(bench, self.seconds):
            stamp, where = emission.stamp, f'{emission.topic} at {now} ns'
            if emission.fields is None:
                continue
            if stamp > now:
                fail(
                    'no stamp from the future',
                    f'{stamp} ns',
                    where=where,
                    way_out='The gate takes it for a broken clock and stops.',
                )
            if stamp < last.get(emission.topic, stamp):
                fail(
                    f'no stamp before the last one ({last[emission.topic]} ns)',
                    f'{stamp} ns',
                    where=where,
                    way_out='Send what was measured first first.',
                )
            last[emission.topic] = stamp

    # The same again ------------------------------------------------------------------------------

    def test_robot_repeats_itself_for_equal_seeds_and_commands(self) -> None:
        """Two robots with equal seeds and commands send equal messages at equal times."""
        one, other = _bench(self), _bench(self)
        _equal(
            one.drive(self.seconds),
            other.drive(self.seconds),
            'equal messages from equal seeds and commands',
        )

    def test_robot_forgets_everything_at_a_reset(self) -> None:
        """After a reset with the same seed and target it does the same again."""
        bench = _bench(self)
        first = _relative(bench.drive(self.seconds), bench.now)
        bench.advance(3 * bench.contract.period)
        bench.reset(self.seed, self.targets()[0])
        bench.settle()
        again = _relative(bench.drive(self.seconds), bench.now)
        must_equal(
            first,
            again,
            'the same messages after a reset with the same seed and target',
            where='reset',
            way_out='Something of the episode before is still there.',
        )

    def test_robot_advances_in_pieces_as_in_one_go(self) -> None:
        """However time is cut into calls, the same messages come."""
        one, other = _bench(self), _bench(self)
        one.drive(4 * one.contract.period)
        other.drive(4 * one.contract.period)
        begin, end = one.now, one.now + to_nanoseconds(self.seconds)
        whole = one.advance_to(end)
        cuts = np.random.default_rng(self.seed).integers(begin, end, size=17)
        pieces: list[Emission] = []
        for until in (*sorted(map(int, cuts)), end):
            pieces += other.advance_to(until)
        _equal(whole, tuple(pieces), 'the same messages in pieces as in one go')

    def test_robot_lets_no_time_run_backwards(self) -> None:
        """To advance to the past raises a BoundaryError."""
        bench = _bench(self)
        bench.advance(bench.contract.period)
        must_refuse(lambda: bench.robot.advance(bench.now - 1), 'for the past', where='advance')

    # What it does --------------------------------------------------------------------------------

    def test_robot_moves_as_it_is_commanded(self) -> None:
        """The feedback of every dimension follows the command by more than its threshold."""
        bench = _bench(self)
        before = {channel.topic: bench.measured(channel) for channel in bench.channels}
        bench.drive(min(self.seconds, 10 * bench.contract.period))
        for channel in bench.channels:
            start, now = before[channel.topic], bench.measured(channel)
            for i, direction in enumerate(directions(channel.group, start)):
                moved = math.copysign(1.0, direction) * (now[i] - start[i])
                least = channel.group.feedback.threshold[i]
                if abs(direction) > least >= moved:
                    fail(
                        f'to follow the command by more than {least:g} {channel.group.unit[i]}',
                        f'{moved:g}',
                        where=_place(channel, i),
                        way_out='Is the order of the values that of the contract?',
                    )

    def test_robot_comes_to_rest_without_commands(self) -> None:
        """
        Silence longer than ``driver_timeout`` brings it to the safe command by itself.

        A dimension that is to hold stays where it is.
        """
        bench = _bench(self)
        watched = [c for c in bench.channels if c.group.driver_timeout is not None]
        if not watched:
            skip('no driver of the contract has a timeout')
        bench.drive(self.seconds)
        timeout = max(c.group.driver_timeout or 0.0 for c in watched)
        bench.advance(timeout + self.coasting)
        for values in bench.shown.values():
            values.clear()
        bench.advance(self.seconds)
        for channel in watched:
            _at_rest(channel, bench.shown[channel.topic], timeout + self.coasting)

    # Resets --------------------------------------------------------------------------------------

    def test_robot_reaches_what_the_task_samples(self) -> None:
        """Every reset that the task samples is achieved within the contract's tolerance."""
        bench = Bench(self.robot(), self.loaded().contract, self.start)
        for seed, target in enumerate(self.targets()):
            bench.reset(seed, target)
            bench.advance(bench.contract.period)


def _bench(subject: RobotTests) -> Bench:
    """Return the robot after a reset, settled."""
    bench = Bench(subject.robot(), subject.loaded().contract, subject.start)
    bench.reset(subject.seed, subject.targets()[0])
    bench.settle()
    return bench


def _with_times(bench: Bench, seconds: float) -> Iterator[tuple[Emission, int]]:
    """Yield what is sent, driving and not, with the time that it was sent by."""
    for _ in range(round(seconds / bench.contract.period)):
        for emission in bench.drive(bench.contract.period):
            yield emission, bench.now
    for emission in bench.advance(seconds):
        yield emission, bench.now


def _equal(one: tuple[Emission, ...], other: tuple[Emission, ...], expected: str) -> None:
    must_equal(one, other, expected, where='advance', place='emissions')


def _relative(emissions: tuple[Emission, ...], now: int) -> list[object]:
    """Return what was sent as it is without a clock."""
    return [(e.topic, e.stamp - now if e.stamp else 0, timeless(e.fields)) for e in emissions]


def _place(channel: ActionChannel, index: int) -> str:
    return f'{channel.topic} ({channel.group.dimensions[index]})'


def _at_rest(channel: ActionChannel, shown: list[Vector], silence: float) -> None:
    group = channel.group
    if not shown:
        fail('feedback in silence too', 'none', where=channel.feedback.at)
    for i, safe in enumerate(group.safe):
        values, most = [item[i] for item in shown], group.feedback.threshold[i]
        goal = values[0] if math.isnan(safe) else safe
        farthest = max(abs(value - goal) for value in values)
        if farthest > most:
            fail(
                f'to {"stay" if math.isnan(safe) else "rest"} at {goal:g} within {most:g} '
                f'{group.unit[i]} {silence:g} s after the last command',
                f'{farthest:g} off',
                where=_place(channel, i),
                way_out=f'Its driver must stop by itself after {group.driver_timeout:g} s.',
            )
