# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Surveys of robots that drafts are made of."""

from __future__ import annotations

from typing import Any

import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.infer_contract.draft import draft
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey
from boundary_env_ros.storage.contract_file import loads
from support.infer_contract_messages import SECOND, START, TYPES

ARRAY = 'std_msgs/msg/Float64MultiArray'
ODOMETRY = 'nav_msgs/msg/Odometry'
TWIST = 'geometry_msgs/msg/Twist'


def seen(name: str, kind: str, rate: float | None = None, **keys: Any) -> TopicSurvey:
    """Return what was seen of a topic."""
    topic = TopicSurvey(name, kind, TYPES)
    if rate is not None:
        for number in range(round(rate) + 1):
            topic.count(round(number * NANOSECONDS / rate))
        keys['messages'] = topic.messages
    for key, value in {'messages': 9, **keys}.items():
        setattr(topic, key, value)
    return topic


def number(name: str = '/level', **keys: Any) -> TopicSurvey:
    """Return a topic that an observation can always be made of."""
    return seen(name, 'std_msgs/msg/Float64', **keys)


def odometry(**keys: Any) -> TopicSurvey:
    return seen('/odom', ODOMETRY, **{'rate': 50.0, 'stamped': True, **keys})


#: What a person could write where the draft knows of no command at all.
GROUP: dict[str, Any] = {
    'topic': 'cmd_vel',
    'type': 'geometry_msgs/msg/Twist',
    'fields': ['linear.x', 'angular.z'],
    'unit': ['m/s', 'rad/s'],
    'low': 0.0,
    'high': 0.0,
    'max_acceleration': 0.01,
    'driver_timeout': 0.5,
    'feedback': {
        'topic': 'feedback',
        'type': ARRAY,
        'array': 'data',
        'length': 2,
        'threshold': 0.1,
    },
}
#: What a person could write behind the keys that a draft leaves blank.
BLANKS = {
    'interface': 'position',
    'quantity': 'velocity',
    'unit': 'rad',
    'low': -1.0,
    'high': 1.0,
    'max_acceleration': 1.0,
    'length': 1,
    'joints': ['lift'],
    'driver_timeout': 0.5,
}


def surveyed(*topics: TopicSurvey) -> str:
    """Return the draft of what was seen of some topics."""
    return draft('a test', 3.0, topics)


def filled(text: str) -> Contract:
    """Return the contract that a draft is when a person has filled in its blanks."""
    data = yaml.safe_load(text)
    if data['action'] is None:
        data['action'] = {'base': GROUP}
    for field in data['observation'].values():
        _fill(field)
    for group in data['action'].values():
        _fill(group)
        if group['feedback'] == {'topic': None, 'type': None, 'fields': None}:
            size = len(group.get('fields', group.get('joints', [0] * group.get('length', 0))))
            group['feedback'] = {**GROUP['feedback'], 'length': size}
        if 'max_velocity' in group:
            # A speed is limited by its change.
            velocity = group.get('interface', group.get('quantity')) == 'velocity'
            group['max_acceleration' if velocity else 'max_velocity'] = 1.0
            if velocity:
                del group['max_velocity']
    return loads(yaml.dump(data, Dumper=_Quoted, sort_keys=False)).contract


class _Quoted(yaml.SafeDumper):
    """Puts each text in quotes, of which a contract reads more as numbers than PyYAML does."""


_Quoted.add_representer(
    str, lambda dumper, text: dumper.represent_scalar('tag:yaml.org,2002:str', text, style='"')
)


def _fill(keys: dict[str, Any]) -> None:
    keys.update(
        {key: BLANKS[key] for key, value in keys.items() if value is None and key in BLANKS}
    )


def drafted(*topics: TopicSurvey) -> tuple[str, Contract]:
    """Return a draft, and the contract that it is when its blanks are filled in."""
    text = surveyed(*topics)
    return text, filled(text)


def observed(name: str, kind: str, content: list[Any], period: int = SECOND // 10) -> TopicSurvey:
    topic = TopicSurvey(name, kind, TYPES)
    for index, message in enumerate(content):
        topic.on_decoded(message, START + index * period)
    return topic
