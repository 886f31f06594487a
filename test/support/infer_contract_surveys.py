# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Surveys of robots that drafts are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.evidence.infer_contract.draft import draft
from boundary_env_ros.evidence.infer_contract.observer import TopicObserver
from boundary_env_ros.evidence.infer_contract.survey import (
    Span,
    Survey,
    TopicSurvey,
)
from boundary_env_ros.storage.contract_file import loads
from support.infer_contract_messages import SECOND, START, TYPES

ARRAY = 'std_msgs/msg/Float64MultiArray'
ODOMETRY = 'nav_msgs/msg/Odometry'


def number(name: str = '/level', **keys: Any) -> TopicSurvey:
    """Return a topic that an observation can always be made of."""
    seen = TopicSurvey(
        name=name, type='std_msgs/msg/Float64', messages=9, spans={'data': Span(low=1, high=2)}
    )
    return replace(seen, **keys)


def odometry(**keys: Any) -> TopicSurvey:
    spans = {
        'pose.pose.position.x': Span(low=-2.0, high=2.0),
        'twist.twist.linear.x': Span(low=0.0, high=0.5),
        'twist.twist.angular.z': Span(low=-1.0, high=1.0),
    }
    seen = TopicSurvey(
        name='/odom',
        type=ODOMETRY,
        messages=90,
        rate=50.0,
        stamped=90,
        spans=spans,
    )
    return replace(seen, **keys)


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
    'unit': 'rad',
    'low': -1.0,
    'high': 1.0,
    'max_velocity': 1.0,
    'length': 1,
}


def surveyed(*topics: TopicSurvey) -> str:
    """Return the draft of what was seen of some topics."""
    return draft(Survey(source='a test', seconds=3.0, topics=topics))


def filled(text: str) -> Contract:
    """Return the contract that a draft is when a person has filled in its blanks."""
    data = yaml.safe_load(text)
    if data['action'] is None:
        data['action'] = {'base': GROUP}
    for group in data['action'].values():
        for keys in (group, group['feedback']):
            keys.update({key: BLANKS[key] for key, value in keys.items() if value is None})
    return loads(yaml.safe_dump(data, sort_keys=False, allow_unicode=True)).contract


def drafted(*topics: TopicSurvey) -> tuple[str, Contract]:
    """Return a draft, and the contract that it is when its blanks are filled in."""
    text = surveyed(*topics)
    return text, filled(text)


def observed(name: str, kind: str, content: list[Any], period: int = SECOND // 10) -> TopicSurvey:
    observer = TopicObserver(name, kind, TYPES)
    for index, message in enumerate(content):
        observer.see(message, START + index * period)
    return observer.result()
