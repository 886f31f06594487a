# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recorded topic is which topic of the contract, and who reads what there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from boundary_env_ros.core.contract.model import ActionSpec, Contract
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.gate.commands import said_besides
from boundary_env_ros.core.sources.inputs import (
    acknowledgement_inputs,
    feedback_inputs,
    field_inputs,
    gate_inputs,
    Input,
)
from boundary_env_ros.core.sources.readers import reader, Reading, stamp_of
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.frozen import frozen, replace

Message = Any  # anything with the attributes of the message

STOP = 'emergency stop'


@frozen
class Use:
    """
    One use of one recorded topic by one agent.

    Attributes
    ----------
    name
        ``gate <input>``, ``field <name>``, ``feedback <group>``, ``command <group>``,
        ``environment <input>`` or the emergency stop.
    topic
        Its name in the record; empty if the record has no such topic.
    wanted
        Its name in the contract.
    read
        From the message to the reading.
    infinite
        How many of its values, from the first one on, may be infinite.

    """

    name: str
    topic: str
    wanted: str
    read: Callable[[Message], Reading]
    infinite: int = 0


def wired(
    contract: Contract,
    agent: str,
    topics: Mapping[str, str],
    transforms: TransformFields | None = None,
) -> Mapping[str, Use]:
    """
    Return the uses of the topics of one agent in a record, by name.

    Parameters
    ----------
    contract, agent
        The contract, and one of its agents.
    topics
        Type of each topic of the record.
    transforms
        Takes the transforms of the record, as its messages are read; None: they are not used.

    """
    named = _Named(contract, agent, topics)
    inputs = [('gate', item) for item in gate_inputs(contract)]
    inputs += [('field', item) for item in field_inputs(contract, named)]
    inputs += [('feedback', item) for item in feedback_inputs(contract)]
    inputs += [('environment', item) for item in acknowledgement_inputs(contract)]
    if transforms is not None:
        inputs += [('environment', item) for item in transforms.inputs]
    uses = [_use(kind, item, named) for kind, item in inputs]
    for group in contract.action:
        uses.append(named.use(f'command {group.name}', group.topic, group.type, _command(group)))
    for each in contract.documents:
        uses.append(named.use(f'document {each.name}', each.topic, STRING, _document))
    stop = contract.safety.emergency_stop
    if stop:
        uses.append(named.use(STOP, stop, STOP_TYPE, _pressed))
    return {use.name: use for use in uses}


def _use(kind: str, item: Input, named: _Named) -> Use:
    read = _in_frame(item) if kind == 'field' and item.frames else item.read
    use = named.use(f'{kind} {item.name}', item.topic, item.type, read)
    return replace(use, infinite=item.infinite)


def _in_frame(item: Input) -> Callable[[Message], Reading]:
    """Return the reader of a field, which says if a message names another frame."""

    def read(message: Message) -> Reading:
        reading, frame = item.read(message), item.other_frame(message)
        return replace(reading, problem=reading.problem or repr(frame)) if frame else reading

    return read


class _Named(dict[str, str]):
    """Name in the record of each topic of the contract; the contract's own where there is none."""

    def __init__(self, contract: Contract, agent: str, topics: Mapping[str, str]) -> None:
        super().__init__()
        self._contract, self._agent, self._topics = contract, agent, topics

    def __missing__(self, topic: str) -> str:
        return self.find(topic, '') or topic

    def use(
        self, name: str, wanted: str, type_name: str, read: Callable[[Message], Reading]
    ) -> Use:
        """Return a use of a topic of the contract, which is read in some way."""
        return Use(name=name, topic=self.find(wanted, type_name), wanted=wanted, read=read)

    def find(self, topic: str, type_name: str) -> str:
        """Return the name of a topic in the record; empty if it is not there, or not one alone."""
        wanted = self._contract.topic_of(self._agent, topic).lstrip('/')
        found = [
            name
            for name, kind in self._topics.items()
            if same_topic(name, wanted) and type_name in ('', kind)
        ]
        exact = [name for name in found if name.lstrip('/') == wanted]
        if exact:
            return exact[0]
        return found[0] if len(found) == 1 else ''


def same_topic(name: str, wanted: str) -> bool:
    """Return whether a topic of a record may be one of the contract, in whatever namespace."""
    if name == wanted:
        return True
    wanted = wanted.lstrip('/')
    return name.lstrip('/') == wanted or name.endswith(f'/{wanted}')


def _command(group: ActionSpec) -> Callable[[Message], Reading]:
    values = reader(group.source)
    return lambda message: Reading(
        values=values(message), stamp=stamp_of(message), problem=said_besides(group, message)
    )


def _document(message: Message) -> Reading:
    return Reading(values=(), stamp=None, document=str(message.data))


def _pressed(message: Message) -> Reading:
    return Reading(values=(float(bool(message.data)),), stamp=None)
