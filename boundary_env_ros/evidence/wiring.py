# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recorded topic is which topic of the contract, and who reads what there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from boundary_env_ros.core.contract.model import ActionSpec, Contract
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.gate.commands import extra_content
from boundary_env_ros.core.sources.inputs import Input, Purpose
from boundary_env_ros.core.sources.listener import inputs_of
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.frozen import replace

STOP = f'{Purpose.EMERGENCY.value} stop'


def wired(
    contract: Contract,
    agent: str,
    topics: Mapping[str, str],
    transforms: TransformFields | None = None,
) -> Mapping[str, Input]:
    """
    Return what one agent reads of a record, and what its gate published there, by label.

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
    inputs = [*inputs_of(contract, named, transforms)]
    for group in contract.action:
        inputs.append(Input(Purpose.COMMAND, group.name, group.topic, group.type, _command(group)))
    for each in contract.documents:
        inputs.append(Input(Purpose.DOCUMENT, each.name, each.topic, STRING, _document))
    if stop := contract.safety.emergency_stop:
        inputs.append(Input(Purpose.EMERGENCY, 'stop', stop, STOP_TYPE, _pressed))
    return {i.label: replace(i, at=named.find(i.topic, i.type)) for i in inputs}


class _Named(dict[str, str]):
    """Name in the record of each topic of the contract; the contract's own where there is none."""

    def __init__(self, contract: Contract, agent: str, topics: Mapping[str, str]) -> None:
        super().__init__()
        self._contract, self._agent, self._topics = contract, agent, topics

    def __missing__(self, topic: str) -> str:
        return self.find(topic, '') or topic

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
    return lambda message: Reading(values=values(message), problem=extra_content(group, message))


def _document(message: Message) -> Reading:
    return Reading(document=str(message.data))


def _pressed(message: Message) -> Reading:
    return Reading(values=(float(bool(message.data)),))
