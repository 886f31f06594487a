# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Surveys of robots that drafts are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drafting_messages import SECOND, START, TYPES

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.evidence.drafting.draft import draft
from boundary_env_ros.evidence.drafting.observer import TopicObserver
from boundary_env_ros.evidence.drafting.survey import (
    Ages,
    Span,
    Survey,
    TopicSurvey,
)
from boundary_env_ros.storage.contract_file import loads

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
        longest_gap=0.03,
        has_header=True,
        stamped=90,
        ages=Ages(least=0.0, mean=0.01, most=0.02),
        spans=spans,
    )
    return replace(seen, **keys)


def drafted(*topics: TopicSurvey) -> tuple[str, Contract]:
    text = draft(Survey(source='a test', seconds=3.0, topics=topics))
    return text, loads(text).contract


def observed(name: str, kind: str, content: list[Any], period: int = SECOND // 10) -> TopicSurvey:
    observer = TopicObserver(name, kind, TYPES)
    for index, message in enumerate(content):
        observer.see(message, START + index * period)
    return observer.result()
