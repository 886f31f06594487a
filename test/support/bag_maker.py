# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Bags as a recorder leaves them, with every sensor, command and record on its own topic.

What was sent comes from a bench; the bytes are written by an independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate_events import ClearEmergencyStop
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.timebase import NANOSECONDS, RosTime
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_chain import RecordChain
from boundary_env_ros.storage.records import ContractDescription
from support.record_maker import Bench, chosen_start, seek_goal, Sent
from support.record_messages import to_message
from support.storage_wire import _empty as empty
from support.storage_wire import _typed_arrays as typed_arrays
from support.storage_wire import definition, type_of, typestore

Tape = list[Sent]
Forgery = Callable[[Tape], Tape]

TIME = 'builtin_interfaces/msg/Time'
ROS_TIME: Any = RosTime

_BYTES: dict[int, tuple[object, bytes]] = {}


def filled(message: Any, values: Mapping[str, Any]) -> Any:
    """Return a message with the values of nested mappings."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            filled(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            ((_, inner), _) = dict(typestore().get_msgdef(message.__msgtype__).fields)[name][1]
            setattr(message, name, [filled(empty(inner), item) for item in value])
        elif isinstance(value, bytes):
            setattr(message, name, list(value))
        else:
            setattr(message, name, value)
    return message


def wire(sent: Sent) -> bytes:
    """Return the bytes of a message; they are made once for each that is the same object."""
    kept = _BYTES.get(id(sent.what))
    if kept is not None and kept[0] is sent.what:
        return kept[1]
    if is_dataclass(sent.what):
        message = to_message(
            sent.what, lambda cls: empty(TIME if cls is ROS_TIME else type_of(cls))
        )
    else:
        message = filled(empty(sent.type), sent.what)
    typed_arrays(message)
    data = bytes(typestore().serialize_cdr(message, message.__msgtype__))
    _BYTES[id(sent.what)] = (sent.what, data)
    return data


def write_bag(folder: Path, tape: Iterable[Sent]) -> None:
    """Write a bag in the order of the log times."""
    with McapLog(folder, compress=False, chain=RecordChain()) as log:
        for _ in write_to(log, tape):
            pass


def write_records(path: Path, pieces: Iterable[object], contract: str = '') -> Path:
    """Write records to the bag of a run folder, a nanosecond apart; return the folder."""
    path.mkdir()
    if contract:
        (path / 'contract.yaml').write_text(contract, encoding='utf-8')
    sent = (Sent(f'/{type(p).__name__}', i, i, p) for i, p in enumerate(pieces))
    write_bag(path / 'bag', sent)
    return path


def write_to(log: McapLog, tape: Iterable[Sent]) -> Iterator[Sent]:
    """Write what was sent in the order of the log times; yield each that is written."""
    topics: set[str] = set()
    for sent in sorted(tape, key=lambda item: item.log_time):
        kind = sent.type or type_of(type(sent.what))
        if sent.topic not in topics:
            topics.add(sent.topic)
            log.add_topic(sent.topic, kind, *definition(kind))
        log.write(sent.topic, wire(sent), sent.log_time, sent.publish_time)
        yield sent


def record_of(bench: Bench, loaded: LoadedContract) -> Tape:
    """Return all that a bench sent, with the contract before it and the state of the recorder."""
    contract = loaded.contract
    described = ContractDescription(
        node='/environment',
        role='environment',
        contract=contract.name,
        contract_version=contract.version,
        digest=loaded.digest,
        software_version='0.1.0',
        task_distribution=contract.task.distribution,
        task_version=contract.task.version,
        text=loaded.text,
    )
    begin, end = (most(sent.log_time for sent in bench.sent) for most in (min, max))
    return [
        Sent('/boundary/contract', begin, begin, described),
        # What it says when it is told to stop is the last message.
        *(recorder_says(loaded, at) for at in (*range(begin, end, NANOSECONDS), end + 1)),
        *bench.sent,
    ]


def recorder_says(loaded: LoadedContract, at: int) -> Sent:
    """Return what a recorder says of itself, which it does every second."""
    said = {
        'digest': loaded.digest,
        'recording': True,
        'stamp': {'ros': {'clock': 2, 'nanoseconds': at, 'host': 'bench'}, 'steady': 1},
    }
    return Sent('/boundary/recorder_status', at, at, said, 'boundary_env_ros/msg/RecorderStatus')


def drive(bench: Bench) -> None:
    """Drive to a goal, against a rack, and into the emergency stop."""
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('clear'))
    bench.episode('goal_seeking', seek_goal, 102, chosen_start('blocked'))
    bench.stop_at = 12
    bench.episode('goal_seeking', seek_goal, 103, chosen_start('far'))
    bench.stop_at = None
    bench.press(pressed=False)
    bench.gate.apply(ClearEmergencyStop(now=bench.instant()))


def make_tape(bench_of: type[Bench], loaded: LoadedContract, task: Task, seed: int) -> Tape:
    """Return an honest record of three episodes."""
    bench = bench_of(loaded.contract, loaded.digest, task, seed)
    drive(bench)
    return record_of(bench, loaded)


# Forging -----------------------------------------------------------------------------------------


def of(tape: Tape, cls: type) -> list[Any]:
    """Return the records of a class."""
    return [sent.what for sent in tape if type(sent.what) is cls]


def each(tape: Tape, change: Callable[[Any], Any]) -> Tape:
    """Return a tape with every record changed, wherever it is carried; None takes it out."""
    found = []
    for sent in tape:
        if not is_dataclass(sent.what):
            found.append(sent)
            continue
        new = rebuilt(sent.what, change)
        if new is not None:
            found.append(sent if new is sent.what else replace(sent, what=new))
    return found


def rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a record with a change made to it and to every record in it, from the inside out."""
    if isinstance(value, tuple):
        items = [rebuilt(item, change) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return tuple(item for item in items if item is not None)
    names = names_of(type(value))
    if not names:
        return value
    changes = {}
    for name in names:
        old = getattr(value, name)
        new = rebuilt(old, change)
        if new is not old:
            changes[name] = new
    return change(replace(value, **changes) if changes else value)


@cache
def names_of(cls: type) -> tuple[str, ...]:
    """Return the names of the fields of a record; of anything else, none."""
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else ()


def raw(tape: Tape, topic: str, change: Callable[[Sent], Sent | None]) -> Tape:
    """Return a tape with every message of a topic changed; None takes it out."""
    found: Tape = []
    for sent in tape:
        new = change(sent) if sent.topic == topic else sent
        if new is not None:
            found.append(new)
    return found


def near(decision: GateDecision) -> int:
    """Return the instant of a decision, nanoseconds."""
    instant = decision.received or decision.commanded
    assert instant is not None
    return instant.ros.nanoseconds
