# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags as other versions would have written them, made by rosbags and mcap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re
from typing import Any

from mcap.reader import make_reader
from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from boundary_env_ros.storage.records import FORMAT

OWN = 'boundary_env_ros/'
CHAIN = f'{OWN}msg/RecordChain'

#: The format of a later version, and a field of it.
LATER = f'{FORMAT[0]}.{FORMAT[1] + 1}'
NEW = 'note_of_a_later_version'

#: Gets the name of a message of this package and the lines of its definition.
Change = Callable[[str, list[str]], list[str]]


def with_new_field(name: str, lines: list[str]) -> list[str]:
    """Put a field before all others."""
    return [f'string {NEW}', *lines]


def without(fields: set[str]) -> Change:
    """Return what takes fields away, each as ``Message.field``."""

    def change(name: str, lines: list[str]) -> list[str]:
        return [line for line in lines if f'{name}.{field_in(line)}' not in fields]

    return change


def of_another_type(field: str, type_name: str) -> Change:
    """Return what gives a ``Message.field`` another type."""

    def change(name: str, lines: list[str]) -> list[str]:
        return [
            f'{type_name} {field_in(line)}' if f'{name}.{field_in(line)}' == field else line
            for line in lines
        ]

    return change


def field_in(line: str) -> str:
    """Return the field that a line of a definition declares; empty for none."""
    found = re.match(r'[\w/]+(?:\[\S*\])?\s+(\w+)\s*(?:#|$)', line)
    return '' if found is None else found[1]


def changed_definition(text: str, type_name: str, change: Change) -> str:
    """Return a definition with each message of this package in it changed."""
    found = []
    for part in re.split(r'^={80}\n', text, flags=re.M):
        head, _, rest = part.partition('\n')
        name, body = (head[5:], rest) if head.startswith('MSG:') else (type_name, part)
        if name.startswith(OWN):
            body = '\n'.join(change(name.rpartition('/')[2], body.splitlines())) + '\n'
            body = re.sub(r'\w+ FORMAT=.*', f'string FORMAT="{LATER}"', body)
        found.append(body if name is type_name else f'{head}\n{body}')
    return ('=' * 80 + '\n').join(found)


def rewrite(bag: Path, change: Change) -> None:
    """Write a bag anew, in changed messages and without its chain, which has other bytes."""
    old, new = get_typestore(Stores.EMPTY), get_typestore(Stores.EMPTY)
    changed = bag.with_suffix('.new')
    with bag.open('rb') as source, changed.open('wb') as out:
        writer = Writer(out)
        writer.start('ros2')
        channels: dict[int, tuple[int, str]] = {}
        for schema, channel, message in make_reader(source).iter_messages():
            assert schema is not None
            if schema.name == CHAIN:
                continue
            if channel.id not in channels:
                text = schema.data.decode()
                other = changed_definition(text, schema.name, change)
                old.register(get_types_from_msg(text, schema.name))
                new.register(get_types_from_msg(other, schema.name))
                made = writer.register_schema(schema.name, schema.encoding, other.encode())
                known = writer.register_channel(channel.topic, 'cdr', made, channel.metadata)
                channels[channel.id] = known, schema.name
            known, name = channels[channel.id]
            data = message.data
            if name.startswith(OWN):
                there = old.deserialize_cdr(data, name)
                data = bytes(new.serialize_cdr(converted(there, new, name), name))
            writer.add_message(known, message.log_time, data, message.publish_time)
        writer.finish()
    changed.replace(bag)


def converted(there: Any, store: Any, name: str) -> Any:
    """Return a message of one store as one of another, with what they share."""
    values = {}
    for field, _ in store.fielddefs[name][1]:
        value = getattr(there, field, '')
        several = isinstance(value, list)
        values[field] = [inner(v, store) for v in value] if several else inner(value, store)
    return store.types[name](**values)


def inner(value: Any, store: Any) -> Any:
    """Return a message inside a message likewise; what is none as it is."""
    name = getattr(value, '__msgtype__', '')
    return converted(value, store, name) if name else value
