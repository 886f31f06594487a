# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics of a bag are which of the contract, and what is lacking for an import."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.sources.inputs import sensor_topics, TF, TF_TYPE
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, Use, wired
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import CDR, not_cdr

ENVIRONMENT = 'environment'

CLOCK, CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'

#: Types that are ours: what a run said of itself is not imported from it.
OWN = 'boundary_env_ros/'

#: What follows where the bag has no topic for a use.
_FOLLOWS = {
    'field': 'it is MISSING in every step',
    'feedback': 'the measured action is unknown',
}

Read = Callable[[Any], Reading | None]


@frozen
class Ears:
    """
    What is listened to for one agent.

    Attributes
    ----------
    names
        Name in the bag of every topic of the contract; the contract's own where it has none.
    heard
        What is read of each topic: ``field``, ``feedback`` or ``command``, the name of the field
        or the group of the action, and how; ``environment``: it is read into ``transforms``.
    transforms
        Looks up the fields that are.
    present
        Fields whose topic the bag has; derived ones whose inputs it has.
    lacking
        What the bag has not, and what follows from it, one sentence each.

    """

    names: Mapping[str, str]
    transforms: TransformFields
    heard: Mapping[str, Sequence[tuple[str, str, Read]]]
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


def listened(contract: Contract, agent: str, topics: Mapping[str, str]) -> Ears:
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
    heard: dict[str, list[tuple[str, str, Read]]] = {}
    missing: dict[str, list[Use]] = {'field': [], 'feedback': [], 'command': []}
    names = {t: f'/{contract.topic_of(agent, t)}' for t in sensor_topics(contract)}
    present = {spec.name for spec in contract.fields if spec.derived is not None}
    transforms = TransformFields(contract)
    uses = wired(contract, agent, topics, transforms)
    of_tf = {item.name: uses[f'environment {item.name}'] for item in transforms.inputs}
    for use in uses.values():
        if use.topic:
            names[use.wanted] = use.topic
        kind, _, name = use.name.partition(' ')
        if kind not in missing and name not in of_tf:
            continue
        if use.topic:
            heard.setdefault(use.topic, []).append((kind, name, use.read))
            present.update([name] if kind == 'field' else ())
        elif kind in missing:
            missing[kind].append(use)
    looked_up = [spec.name for spec in contract.fields if isinstance(spec.source, Lookup)]
    if any(use.topic for use in of_tf.values()):
        present.update(looked_up)
        for topic, kind in topics.items():
            if kind == TF_TYPE and topic not in heard:
                heard[topic] = [(ENVIRONMENT, topic, partial(transforms.note, topic))]
    else:
        missing['field'] += [replace(of_tf[TF], name=f'field {name}') for name in looked_up]
    _refuse(contract, missing, topics)
    return Ears(
        names=names,
        transforms=transforms,
        heard=heard,
        present=frozenset(present),
        lacking=tuple(
            f'{use.name}: no topic {use.wanted!r} in the bag, so {what}'
            for kind, what in _FOLLOWS.items()
            for use in missing[kind]
        ),
    )


def _refuse(
    contract: Contract, missing: Mapping[str, Sequence[Use]], topics: Mapping[str, str]
) -> None:
    """Raise if what nothing can be imported without is missing."""
    seen = {f'field {spec.name}' for spec in contract.observation}
    needed = [use for use in missing['field'] if use.name in seen] + [*missing['command']]
    if needed:
        wanted = ', '.join(dict.fromkeys(f'{use.wanted} ({use.name})' for use in needed))
        there = ', '.join(f'{name} ({kind or "no type"})' for name, kind in sorted(topics.items()))
        raise RecordError(
            f'The bag lacks topics of the contract (expected {wanted}, got '
            f'{there or "none"}). Name them in the contract as the bag '
            'does, or take a contract without them.'
        )
