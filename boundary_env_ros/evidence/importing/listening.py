# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics of a bag are which of the contract, and what is lacking for an import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.sources.inputs import (
    Input,
    Purpose,
    sensor_topics,
    TF,
    TF_STATIC,
    TF_TYPE,
)
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.run_files import same_topic, wired
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import CDR, not_cdr

CLOCK, CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'

#: Types that are ours: what a run said of itself is not imported from it.
OWN = 'boundary_env_ros/'

#: What follows where the bag has no topic for an input.
_FOLLOWS = {
    Purpose.FIELD: 'it is MISSING in every step',
    Purpose.FEEDBACK: 'the measured action is unknown',
}


@frozen
class Listened:
    """
    What is listened to for one agent.

    Attributes
    ----------
    names
        Name in the bag of every topic of the contract; the contract's own where it has none.
    inputs
        What is read from the messages of the bag: fields, feedback, commands and transforms.
    transforms
        Looks up the fields that are.
    present
        Fields whose topic the bag has; derived ones whose inputs it has.
    lacking
        What the bag has not, and what follows from it, one sentence each.

    """

    names: Mapping[str, str]
    inputs: Sequence[Input]
    transforms: TransformFields
    present: frozenset[str]
    lacking: tuple[str, ...]


def types_of(contract: Contract, agent: str, channels: Iterable[Channel]) -> dict[str, str]:
    """
    Return the type of each topic of a bag; of several that which the contract reads.

    Raises
    ------
    RecordError
        If messages of the contract are not written as ROS 2 does.

    """
    wanted = [*sensor_topics(contract).items(), *((g.topic, g.type) for g in contract.action)]
    wanted = [(contract.topic_of(agent, topic), kind) for topic, kind in wanted]

    def readable(channel: Channel) -> tuple[bool, bool]:
        pairs = (kind == channel.type and same_topic(channel.topic, name) for name, kind in wanted)
        return channel.encoding == CDR, any(pairs)

    chosen = {channel.topic: channel for channel in sorted(channels, key=readable)}
    for name, _ in wanted:
        channel = chosen.get(f'/{name.lstrip("/")}')
        if channel is not None and channel.encoding != CDR:
            raise not_cdr(channel)
    return {topic: channel.type for topic, channel in chosen.items()}


def listened(contract: Contract, agent: str, topics: Mapping[str, str]) -> Listened:
    """
    Find what an import needs of one agent.

    Parameters
    ----------
    contract, agent
        The contract, and one of its agents.
    topics
        Type of each topic of the bag.

    Raises
    ------
    RecordError
        If the bag has no topic for a field of the observation, or for a command.

    """
    transforms = TransformFields(contract)
    inputs = [*wired(contract, agent, topics, transforms).values()]
    names = {t: f'/{contract.topic_of(agent, t)}' for t in sensor_topics(contract)}
    names |= {item.topic: item.at for item in inputs if item.at}
    of_tf = [item for item in inputs if item.name in (TF, TF_STATIC)]
    needed = [i for i in inputs if i.purpose in (Purpose.FIELD, Purpose.FEEDBACK, Purpose.COMMAND)]
    looked_up = [spec.name for spec in contract.fields if isinstance(spec.source, Lookup)]
    used = [item for item in (*needed, *of_tf) if item.at]
    present = {spec.name for spec in contract.fields if spec.derived is not None}
    present.update(item.name for item in used if item.purpose is Purpose.FIELD)
    missing = [item for item in needed if not item.at]
    if any(item.at for item in of_tf):
        present.update(looked_up)
        known = {item.at for item in used}
        used += [
            _elsewhere(transforms, topic)
            for topic, kind in topics.items()
            if kind == TF_TYPE and topic not in known
        ]
    else:
        missing += [replace(of_tf[0], purpose=Purpose.FIELD, name=name) for name in looked_up]
    _refuse(contract, missing, topics)
    return Listened(
        names=names,
        inputs=used,
        transforms=transforms,
        present=frozenset(present),
        lacking=tuple(
            f'{item.label}: no topic {item.topic!r} in the bag, so {what}'
            for purpose, what in _FOLLOWS.items()
            for item in missing
            if item.purpose is purpose
        ),
    )


def _elsewhere(transforms: TransformFields, topic: str) -> Input:
    """Return what takes note of the frames on another topic than the contract's."""

    def read(message: Message) -> Reading:
        transforms.note(topic, message)
        return Reading()

    return Input(Purpose.ENVIRONMENT, topic, topic, TF_TYPE, read, at=topic)


def _refuse(contract: Contract, missing: Sequence[Input], topics: Mapping[str, str]) -> None:
    """Raise if what nothing can be imported without is missing."""
    seen = {spec.name for spec in contract.observation}
    fields = [item for item in missing if item.purpose is Purpose.FIELD and item.name in seen]
    needed = fields + [item for item in missing if item.purpose is Purpose.COMMAND]
    if needed:
        wanted = ', '.join(dict.fromkeys(f'{item.topic} ({item.label})' for item in needed))
        there = ', '.join(f'{name} ({kind or "no type"})' for name, kind in sorted(topics.items()))
        raise RecordError(
            f'The bag lacks topics of the contract (expected {wanted}, got '
            f'{there or "none"}). Name them in the contract as the bag '
            'does, or take a contract without them.'
        )
