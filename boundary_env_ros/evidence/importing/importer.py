# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From any bag of ROS 2 and a contract to a run: its sensors and commands replayed by the core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
import math
from pathlib import Path
from typing import Any

from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources.inputs import Input, Purpose
from boundary_env_ros.core.sources.listener import Listener
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.importing.agent import ImportedAgent
from boundary_env_ros.evidence.importing.cuts import AtCommands, Cut
from boundary_env_ros.evidence.importing.listening import (
    CLOCK,
    CLOCK_TYPE,
    listened,
    OWN,
    types_of,
)
from boundary_env_ros.evidence.importing.timeline import APART, TimeLine
from boundary_env_ros.evidence.importing.writing import ImportWriter
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import new_folder
from boundary_env_ros.storage.contract_file import LoadedContract, make_task
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.record_reader import Bag, open_bag
from boundary_env_ros.storage.records import Message as Recorded

MakeCut = Callable[[int], Cut]
Progress = Callable[[int, int | None], None]


@frozen
class ImportOptions:
    """
    What a bag does not say by itself.

    Attributes
    ----------
    cut
        Where episodes begin and end; given the beginning of the time line, nanoseconds.
    reset
        What is known of how the episodes began, by the names of the task: its goal, for example.
    host
        Host of recorder and sensors; empty: unknown.

    """

    cut: MakeCut = lambda begin: AtCommands()
    reset: tuple[NamedValues, ...] = ()
    host: str = ''


@frozen
class Imported:
    """
    What became of an import.

    Attributes
    ----------
    messages
        Messages that were copied from the bag.
    commands, used
        Commands that the bag has, and how many of them are in an episode.
    transitions
        Transitions that were made, resets among them.
    endings
        Number of episodes by ending.
    notes
        What is unknown, left out or odd, one sentence each.

    """

    messages: int
    commands: int
    used: int
    transitions: int
    endings: Mapping[str, int]
    notes: tuple[str, ...]


def import_bag(
    path: Path,
    out: Path,
    loaded: LoadedContract,
    options: ImportOptions,
    *,
    progress: Progress = lambda done, total: None,
) -> Imported:
    """
    Make a run of a bag: its raw messages, and the transitions that a contract makes of them.

    The run is there whole or not at all. Memory does not grow with the bag.

    Parameters
    ----------
    path
        A bag of any storage; see :func:`boundary_env_ros.storage.record_reader.open_bag`.
    out
        Folder of the run; nothing must be there.
    loaded
        The contract.
    options
        What the bag does not say.
    progress
        Called with the number of messages that were read, and of how many, if that is known.

    Raises
    ------
    RecordError
        If the bag cannot be read, lacks what the contract needs, or no step comes of it; the
        contract has several agents; or something is at ``out``.

    """
    bag = open_bag(path)
    task = make_task(loaded.contract)
    with new_folder(out, 'a run') as draft:
        return _Importer(bag, draft, loaded, task, options).run(progress)


class _Importer:
    """One import, from the first message to the last."""

    def __init__(
        self, bag: Bag, out: Path, loaded: LoadedContract, task: Task, options: ImportOptions
    ) -> None:
        contract = loaded.contract
        self._bag, self._contract, self._options = bag, contract, options
        self._period, name = to_nanoseconds(contract.period), bag.path.resolve().name
        every = bag.channels()
        channels = [c for c in every if not c.type.startswith(OWN)]
        if len(contract.agents) > 1:
            raise RecordError(
                'A bag cannot be imported (expected a contract of one agent, got '
                f'{", ".join(contract.agents)}). Take a contract for each of them.'
            )
        self._types = topics = types_of(contract, contract.agents[0], channels)
        self._listened = found = listened(contract, contract.agents[0], topics)
        self._agent = ImportedAgent(
            loaded, task=task, listened=found, bag=name, reset=options.reset
        )
        self._time = TimeLine(
            sim_time=contract.sim_time,
            has_clock=topics.get(CLOCK) == CLOCK_TYPE,
            host=options.host,
            robot_host=contract.robot_host,
        )
        self._own = sum(c.type.startswith(OWN) and c.type != CHAIN_TYPE for c in every)
        self._copied = {name for name in found.names.values() if name in topics}
        self._sensors = Listener(
            [item for item in found.inputs if item.purpose is not Purpose.COMMAND],
            captured=self._time.captured,
            middleware=self._time.middleware,
            robot_host=contract.robot_host,
            transforms=found.transforms,
            refuse=self._refuse,
        )
        self._commands = Listener(
            [item for item in found.inputs if item.purpose is Purpose.COMMAND],
            captured=lambda stamp: None,
            refuse=self._refuse,
        )
        self._writer = ImportWriter(
            out,
            loaded,
            source=name,
            line=self._time,
            channels=[
                c for c in channels if c.topic in self._copied and c.type == topics[c.topic]
            ],
        )
        self._cut: Cut  # made with the first message
        self._begun: int | None = None
        self._complete_since: int | None = None
        self._never_begun = 0
        # By topic and who reads it, of all its messages or of one use.
        self._unreadable: dict[tuple[str, str], tuple[int, str]] = {}
        self._others: Counter[tuple[str, str]] = Counter()
        self._other_frames: dict[str, str] = {}

    # Reading -------------------------------------------------------------------------------------

    def run(self, progress: Progress) -> Imported:
        """Read the bag through, and return what came of it."""
        total = self._bag.count
        try:
            moments = groupby(self._placed(progress, total), lambda placed: placed[0])
            before: int | None = None
            for now, group in moments:
                if before is None:
                    self._start(now)
                elif now < before:
                    self._start_again(now)
                before = now
                self._at(now, (placed[1:] for placed in group))
            self._finish('the bag ends')
            if not self._writer.recording.transitions:
                raise RecordError(self._nothing())
        finally:
            self._writer.close()
        return Imported(
            messages=self._writer.messages,
            commands=self._agent.commands,
            used=self._agent.used,
            transitions=self._writer.recording.transitions,
            endings=dict(self._writer.endings),
            notes=tuple(self._notes()),
        )

    def _placed(
        self, progress: Progress, total: int | None
    ) -> Iterator[tuple[int, Recorded, Any]]:
        """Yield the messages of the contract's topics, each with its place on the time line."""
        listened = self._sensors.topics | self._commands.topics
        read = {CLOCK, *self._copied, *listened}
        for number, recorded in enumerate(self._bag.messages(read), 1):
            topic, logged = recorded.topic, recorded.log_time
            if recorded.type != self._types.get(topic):
                self._others[topic, recorded.type] += 1
                continue
            if topic == CLOCK:
                clock = self._decoded(recorded)
                if clock is not None:
                    stamp = clock.clock.sec * NANOSECONDS + clock.clock.nanosec
                    self._time.ticked(stamp, logged)
            message = self._decoded(recorded) if topic in listened else None
            now = self._time.logged(logged, None if message is None else stamp_of(message))
            progress(number, total)
            if now is not None:
                yield now, recorded, message

    def _decoded(self, recorded: Recorded) -> Any:
        try:
            return recorded.decode()
        except BoundaryError as error:
            self._stumble(recorded.topic, '', str(error))
            return None

    def _stumble(self, topic: str, use: str, why: str) -> None:
        count, first = self._unreadable.get((topic, use), (0, why))
        self._unreadable[topic, use] = (count + 1, first)

    # One moment ----------------------------------------------------------------------------------

    def _start(self, now: int) -> None:
        start = None if self._time.by_clock else self._bag.start
        self._cut = self._options.cut(now if start is None else start)
        self._writer.describe(self._time.instant(now))

    def _start_again(self, now: int) -> None:
        """Go on where the clock was set back: nothing from before is of this time line."""
        self._finish('the clock was set back')
        self._agent.forget()
        self._listened.transforms.forget()
        self._complete_since = None
        self._cut = self._options.cut(now)

    def _at(self, now: int, messages: Iterable[tuple[Recorded, Any]]) -> None:
        """
        Take all messages of one moment.

        An observation holds what is there at its instant; a command of that instant can only
        answer it, and so belongs to the step after it.
        """
        self._advance(now - 1)
        commands = []
        for recorded, message in messages:
            topic = recorded.topic
            if topic in self._copied:  # What `/clock` says is what the log times of the run are.
                self._writer.copy(recorded, now)
            if message is None:
                continue
            if topic in self._sensors.topics:
                # Old bags know one time only, and repeat it.
                sent, logged = recorded.publish_time, recorded.log_time
                self._sensors.on_message(topic, message, None if sent == logged else sent, logged)
                self._poll()
            if topic in self._commands.topics:
                commands.append((topic, message))
        if self._complete_since is None:
            self._look_up(now)
            if not self._agent.lacking:
                self._complete_since = now
        self._advance(now)
        for topic, message in commands:
            self._command(topic, message, now)

    def _refuse(self, item: Input, error: Exception) -> None:
        self._stumble(item.at, _name(item), str(error))

    def _poll(self) -> None:
        """Read what has come."""
        for item, reading in chain(self._sensors.poll_each(), self._sensors.poll_newest()):
            if item.purpose is Purpose.FEEDBACK:
                self._agent.feedback(item.name, reading.values, reading.captured)
            elif item.purpose is Purpose.FIELD:
                measured = self._agent.field(item.name, reading)
                if measured and reading.frame:
                    self._other_frames[item.name] = repr(reading.frame)
            if reading.problem:
                self._stumble(item.at, _name(item), reading.problem)

    def _look_up(self, now: int) -> None:
        """Look at the newest transforms, as the environment does at every step."""
        for item, reading in self._sensors.look_up(now):
            self._agent.field(item.name, reading)

    def _command(self, topic: str, message: Any, now: int) -> None:
        self._cut.command(now)
        self._advance(now)
        self._commands.on_message(topic, message)
        for item, reading in self._commands.poll_each():
            if all(map(math.isfinite, reading.values)):
                self._agent.command(item.name, reading.values, self._time.instant(now))
            else:
                self._stumble(topic, _name(item), 'a command that is no number')

    # Episodes ------------------------------------------------------------------------------------

    def _advance(self, until: int) -> None:
        """Do all that is due up to a moment: begin, close steps, end."""
        cut = self._cut
        while True:
            if self._begun is None:
                if cut.start_at is None or not self._begin(cut.start_at, until):
                    return
                continue
            tick = self._begun + (self._agent.step + 1) * self._period
            end = cut.end_at
            if end is not None and end < tick and end <= until:
                self._finish(cut.reason)
            elif tick <= until:
                self._tick(tick)
                if end == tick:
                    self._finish(cut.reason)  # Nothing is left to end if the task has ended it.
            else:
                return

    def _begin(self, wanted: int, until: int) -> bool:
        """Begin what is asked for, once every field has come; return whether there is more."""
        cut, since = self._cut, self._complete_since
        at = None if since is None else max(wanted, since)
        if cut.end_at is not None and cut.end_at <= (until if at is None else min(at, until)):
            self._never_begun += 1
            cut.ended()
            return True
        if at is None or at > until:
            return False
        self._begun = at
        self._look_up(at)
        self._agent.begin(self._time.instant(at))
        return True

    def _tick(self, at: int) -> None:
        self._look_up(at)
        self._writer.keep(self._agent.tick(self._time.instant(at)))
        if not self._agent.running:
            self._over()

    def _finish(self, why: str) -> None:
        """End what runs, with the last steps that were closed."""
        if self._agent.running:
            self._writer.keep(self._agent.end(why))
            self._over()

    def _over(self) -> None:
        self._begun = None
        self._cut.ended()

    # Saying --------------------------------------------------------------------------------------

    def _nothing(self) -> str:
        fix = ' Say where episodes are with --range or --gap.'
        if not self._writer.messages:
            why = 'none of the messages of the contract is in it'
        elif self._complete_since is None:
            missing = (self._missing(name).rstrip('.') for name in sorted(self._agent.lacking))
            why, fix = f'of these fields nothing usable came: {"; ".join(missing)}', ''
        elif self._never_begun:
            why = f'{self._never_begun} were to be, and ended before every field had come'
        else:
            why = 'nothing in it begins one that lasts a period'
        return f'There is no episode in the bag {self._bag.path}: {why}.{fix}'

    def _missing(self, name: str) -> str:
        """Return why nothing of a field could be used."""
        problems, unread = self._sensors.problems, self._unreadable
        for item in (*self._sensors.inputs, *problems):
            if (item.purpose, item.name) == (Purpose.FIELD, name):
                found = unread.get((item.at, ''), unread.get((item.at, name)))
                if found is not None:
                    count, why = found
                    return f'{name}: {count} came and none could be read, the first: {why}'
                if problems.get(item):
                    return f'{name}: {problems[item]}'
        return self._agent.missing(name)

    def _notes(self) -> Iterator[str]:
        yield from self._listened.lacking
        if self._agent.outside:
            yield (
                f'{self._agent.outside} of {self._agent.commands} commands lie outside the '
                'bounds of the contract; they are kept as they were published'
            )
        if self._writer.unjudged:
            yield (
                f'{self._writer.unjudged} steps could not be judged by the task: their reward is '
                'unknown (NaN), and no ending of the task is seen; --reset tells it what it '
                'sampled'
            )
        if self._never_begun:
            yield f'{self._never_begun} episodes were over before every field had come'
        if self._own:
            yield f'{self._own} topics of boundary_env_ros in the bag are left out'
        if (apart := self._time.apart or 0) > APART:
            yield (
                f'stamps and log times are at least {apart / NANOSECONDS:.0f} s apart: do sensors '
                'and recorder have one clock, and is `clock:` of the contract right?'
            )
        if jumps := self._time.jumps:
            last, time = (instant / NANOSECONDS for instant in jumps[0])
            often = 'once' if len(jumps) == 1 else f'{len(jumps)} times'
            yield (
                f'the clock jumped {often}, first from {last:.3f} s to '
                f'{time:.3f} s; where it went back an episode ends, and all counts from there'
            )
        for (topic, kind), count in self._others.items():
            yield (
                f'{topic}: {count} messages of {kind} are left out; the contract reads '
                f'{self._types[topic]} there'
            )
        uses: dict[tuple[str, int, str], list[str]] = {}
        for (topic, use), (count, why) in self._unreadable.items():
            uses.setdefault((topic, count, why), []).append(use)
        for (topic, count, why), names in uses.items():
            where = f'{topic} ({", ".join(names)})' if all(names) else topic
            yield f'{where}: {count} messages could not be read, the first: {why}'
        for name, frame in self._other_frames.items():
            yield f'field {name}: its header names the frame {frame}, not that of the contract'
        if self._bag.tear:
            yield f'the bag is not whole: {self._bag.tear}'


def _name(item: Input) -> str:
    return f'feedback of {item.name}' if item.purpose is Purpose.FEEDBACK else item.name
