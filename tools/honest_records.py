# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Very many honest records, none of which the audit may call CONTRADICTED.

    make honest                                    a thousand of them
    make honest ARGS='--records 50 --seed 7'       others
    make honest ARGS='--seed 7 --only 31'          one of those again, with its report

Each is of a robot on paper or simulated, or recorded over ROS by an earlier version. Processes
are killed in it; topics are delayed against each other; it begins and ends anywhere, was recorded
by our recorder, which may lose something and says so, or by others, which do not say so, and was
converted. With seed and number it is the same again.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
import os
from pathlib import Path
import random
import shutil
import sys
import tempfile
from typing import Any

from rosbags.convert.converter import convert
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.enums import StoragePlugin

from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.contract_file import load, LoadedContract, make_task
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC, RecordChain
from support.bag_maker import drive, record_of, Tape, wire
from support.chained_bags import Raw, raw, write
from support.hand_maker import by_hand, hand_contract, HandBench
from support.lockstep_maker import LockstepBench
from support.record_maker import Bench, chosen_start, MS, seek_goal, Sent
from support.storage_wire import definition, type_of, typestore
from support.world_maker import make_world_tape

GOLDEN = Path(__file__).parents[1] / 'test' / 'records'

#: What a recorder gets whenever it begins.
LATCHED = '/boundary/contract'
RECORDER = '/boundary/recorder_status'


class _Dead:
    """A process that was killed: nothing comes from it any more."""

    def __init__(self, real: object) -> None:
        self.state: Any = getattr(real, 'state', None)
        self.observation = getattr(real, 'observation', None)

    def status(self, now: object) -> Any:
        """Return where the episode stood when it died."""
        return self.state.episode

    def __getattr__(self, name: str) -> Callable[..., tuple[()]]:
        return lambda *arguments, **options: ()


class KilledBench(Bench):
    """The cart on paper, one of whose processes is killed; the record goes on for a while."""

    victim, at = '', 0

    def run_until(self, done: Callable[[], bool], deadline: float = 60.0) -> None:
        """Go on until something is so, or a process has been dead for a while."""

        def over() -> bool:
            if self.now > self.at and self.victim in ('environment', 'gate'):
                setattr(self, self.victim, _Dead(getattr(self, self.victim)))
                self.victim += ', killed'
            return done() or self.now > self.at + 4000 * MS

        super().run_until(over, deadline)

    def _observe(self, observation: Observation) -> None:
        if self.victim != 'policy' or self.now < self.at:
            super()._observe(observation)

    def _gate_status(self) -> None:
        if not isinstance(self.gate, _Dead):
            super()._gate_status()


class TwistBench(Bench):
    """The cart on paper with commands that have no stamp."""

    def command(self, decision: GateDecision) -> None:
        """Publish the command of a decision."""
        assert decision.commanded is not None  # it was published
        at, (linear, angular) = decision.commanded.ros.nanoseconds, decision.command
        twist = {'linear': {'x': linear}, 'angular': {'z': angular}}
        self.sent.append(Sent('/cmd_vel', at, at, twist, 'geometry_msgs/msg/Twist'))


def _twist() -> LoadedContract:
    text = load('warehouse_cart').text.replace('msg/TwistStamped', 'msg/Twist')
    text = text.replace('[twist.linear.x, twist.angular.z]', '[linear.x, angular.z]')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'twist.yaml')
        path.write_text(text, encoding='utf-8')
        return load(str(path))


def _driven(bench_of: type[Bench], loaded: LoadedContract, seed: int) -> Tape:
    bench = bench_of(loaded.contract, loaded.digest, make_task(loaded.contract), seed)
    (by_hand if isinstance(bench, HandBench) else drive)(bench)
    return record_of(bench, loaded)


def _killed(seed: int) -> Tape:
    loaded, draw = load('warehouse_cart'), random.Random(seed)
    bench = KilledBench(loaded.contract, loaded.digest, make_task(loaded.contract), seed)
    bench.victim = draw.choice(('environment', 'gate', 'policy'))
    bench.at = round(draw.uniform(500, 3000)) * MS
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    return record_of(bench, loaded)


def _world(name: str) -> Callable[[int], Tape]:
    def tape(seed: int) -> Tape:
        return make_world_tape(load(name, Pacing.LOCKSTEP), episodes=2, steps=20, seed=seed)

    return tape


#: Where records come from, by a seed.
TAPES: Mapping[str, Callable[[int], Tape]] = {
    'realtime': lambda seed: _driven(Bench, load('warehouse_cart'), seed),
    'realtime, Twist': lambda seed: _driven(TwistBench, _twist(), seed),
    'realtime, killed': _killed,
    'by hand': lambda seed: _driven(HandBench, hand_contract(), seed),
    'lockstep': lambda seed: _driven(LockstepBench, load('warehouse_cart', Pacing.LOCKSTEP), seed),
    **{
        f'embedded {name}': _world(name)
        for name in ('warehouse_cart', 'guarded_cart', 'two_carts', 'door_arm')
    },
}

#: Tapes of each kind that are made; the records are cut, delayed and stored each in its own way.
VARIANTS = 3


@cache
def _tape(kind: str, seed: int) -> Tape:
    return sorted(TAPES[kind](seed), key=lambda sent: sent.log_time)


def _with_losses(tape: Tape, draw: random.Random) -> Tape:
    """
    Return what our recorder has, which lost some messages in one place.

    It says so once the next one has come, by its number; what no other one follows nobody counts.
    """
    gone = draw.randrange(len(tape))
    kinds = [sent.topic for sent in tape[gone : gone + draw.randint(1, 40)]]
    topic, lost, kept = draw.choice(kinds), draw.randint(1, 4), []
    if draw.random() < 0.3:
        rest = {topic, *draw.sample(kinds, min(len(kinds), draw.randrange(3)))}
        rest -= {LATCHED, RECORDER}
        return [sent for i, sent in enumerate(tape) if i < gone or sent.topic not in rest]
    left, since = lost, tape[gone].log_time
    for place, sent in enumerate(tape):
        if place >= gone and sent.topic == topic and left and topic not in (LATCHED, RECORDER):
            left -= 1
            since = sent.log_time
        elif sent.topic == RECORDER and sent.log_time > since and left < lost:
            kept.append(replace(sent, what={**sent.what, 'lost': lost - left}))
        else:
            kept.append(sent)
    return kept


def _raw(tape: Tape) -> list[Raw]:
    channels: dict[str, Channel] = {}
    found = []
    for sent in tape:
        kind = sent.type or type_of(type(sent.what))
        if sent.topic not in channels:
            text = definition(kind)[0].encode()
            channels[sent.topic] = Channel(
                topic=sent.topic,
                type=kind,
                encoding='cdr',
                definition_encoding='ros2msg',
                definition=text,
            )
        found.append((channels[sent.topic], sent.log_time, sent.publish_time, wire(sent)))
    return found


def _delayed(messages: list[Raw], draw: random.Random) -> list[Raw]:
    """Delay topics against each other by up to 50 ms, each in its order."""
    most: dict[str, int] = {}
    last: dict[str, int] = {}
    found = []
    for channel, at, sent, data in messages:
        delay = most.setdefault(channel.topic, draw.choice((0, 0, 10, 25, 49)) * MS)
        at = max(at + draw.randint(delay // 2, delay), last.get(channel.topic, 0))
        last[channel.topic] = at
        found.append((channel, at, sent, data))
    return sorted(found, key=lambda message: message[1])


def _cut(messages: list[Raw], draw: random.Random) -> list[Raw]:
    """Return what a recorder has that began and ended somewhere in between."""
    first, last = messages[0][1], messages[-1][1]
    begin = draw.choice((first, draw.randint(first, last)))
    end = draw.choice((last, draw.randint(begin, last)))
    # Long records say no more than short ones, and take longer.
    end = min(end, begin + draw.randint(500, 4000) * MS)
    latched = [(m[0], begin, *m[2:]) for m in messages if m[0].topic == LATCHED and m[1] < begin]
    return [*latched, *(m for m in messages if begin <= m[1] <= end)]


def _by_others(folder: Path, messages: list[Raw], draw: random.Random) -> Path:
    """Write a bag as rosbags does, without a chain, and without some messages."""
    share, storage = draw.choice((0.0, 0.01, 0.05)), draw.choice(list(StoragePlugin))
    connections: dict[str, Any] = {}
    with Writer(folder, version=9, storage_plugin=storage) as bag:
        for channel, at, _, data in messages:
            if channel.topic not in connections:
                connections[channel.topic] = bag.add_connection(
                    channel.topic, channel.type, typestore=typestore()
                )
            if channel.topic == LATCHED or draw.random() >= share:
                bag.write(connections[channel.topic], at, data)
    return folder


def _killed_recorder(folder: Path, messages: list[Raw], draw: random.Random) -> Path:
    """Return what is left of a bag whose recorder was killed."""
    with McapLog(folder, compress=False, chain=RecordChain(), chunk_size=20_000) as log:
        topics: set[str] = set()
        for channel, at, sent, data in messages:
            if channel.topic not in topics:
                topics.add(channel.topic)
                log.add_topic(channel.topic, channel.type, channel.definition.decode(), '')
            log.write(channel.topic, data, at, sent)
        log.flush()
        left = shutil.copytree(folder, folder.with_name('left'))
    file = next(left.glob('*.mcap'))
    os.truncate(file, round(file.stat().st_size * draw.uniform(0.5, 1.0)))
    return left


def _converted(folder: Path, messages: list[Raw], draw: random.Random) -> Path:
    """Return a bag of our recorder as rosbags converts it."""
    bag, other = write(folder, messages, chain=RecordChain()), folder.with_name('converted')
    storage, compression = draw.choice(('mcap', 'sqlite3')), draw.choice((None, 'zstd'))
    convert([bag], other, storage, 9, compression, 'file', None, None, (), (), (), ())
    return other


def _by_us(folder: Path, messages: list[Raw], draw: random.Random) -> Path:
    del draw
    return write(folder, messages, chain=RecordChain())


STORES: Mapping[str, Callable[[Path, list[Raw], random.Random], Path]] = {
    'ours': _by_us,
    'killed': _killed_recorder,
    'others': _by_others,
    'converted': _converted,
}


def honest_record(folder: Path, seed: int, number: int) -> tuple[str, Path]:
    """Make a record; return what it is in words, and its bag."""
    draw = random.Random(f'{seed} {number}')
    golden = sorted(GOLDEN.glob('*/*/bag'))
    source, store = draw.choice((*TAPES, 'golden')), draw.choice(tuple(STORES))
    what = [source]
    if source == 'golden':
        messages = [m for m in raw(draw.choice(golden)) if m[0].topic != CHAIN_TOPIC]
    else:
        tape = _tape(source, 100 * seed + number % VARIANTS)
        says = any(sent.topic == RECORDER for sent in tape)
        if says and store != 'others' and draw.random() < 0.3:
            what.append('losses')
            tape = _with_losses(tape, draw)
        messages = _raw(tape)
    for change, name, share in ((_delayed, 'delays', 0.7), (_cut, 'cut', 0.9)):
        if draw.random() < share:
            what.append(name)
            messages = change(messages, draw)
    return ', '.join((*what, store)), STORES[store](folder / 'bag', messages, draw)


def audits(seed: int, numbers: range) -> Iterator[tuple[int, str, AuditReport]]:
    """Make and audit records; yield number, words and report of each."""
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            what, bag = honest_record(Path(folder), seed, number)
            yield number, what, audit_path(bag)


def main(arguments: list[str] | None = None) -> int:
    """Audit records; return 1 if one of them is contradicted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--records', type=int, default=1000, help='how many')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int, help='the number of one record, to be told')
    options = parser.parse_args(arguments)
    one: int | None = options.only
    numbers = range(options.records) if one is None else range(one, one + 1)
    outcomes: Counter[AuditOutcome] = Counter()
    for number, what, report in audits(options.seed, numbers):
        outcomes[report.outcome] += 1
        if not report.ok or one is not None:
            print(f'== --seed {options.seed} --only {number}: {what}\n{report}', flush=True)
    told = ', '.join(f'{count} {outcome.name}' for outcome, count in outcomes.items())
    print(f'{outcomes.total()} honest records: {told}.')
    return int(bool(outcomes[AuditOutcome.CONTRADICTED]))


if __name__ == '__main__':
    sys.exit(main())
