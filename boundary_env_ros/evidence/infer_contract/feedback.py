# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What, among the sensors, tells what the robot made of its commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundary_env_ros.evidence.infer_contract.field_draft import Line
from boundary_env_ros.evidence.infer_contract.observer import JOINTS
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import decide, guess

#: By type, where the twist is; the better ones first.
_TWISTS = {
    'nav_msgs/msg/Odometry': 'twist.twist.',
    'geometry_msgs/msg/TwistWithCovarianceStamped': 'twist.twist.',
    'geometry_msgs/msg/TwistStamped': 'twist.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackDraft:
    """
    The feedback of a group to be written.

    Attributes
    ----------
    topic, type
        Of the sensor; of a topic that nobody has heard of, if none fits.
    lines
        Keys that say where in the message the values are.
    comment
        Where it comes from.

    """

    topic: str
    type: str
    lines: tuple[Line, ...]
    comment: str


def feedback_of(
    sensors: Sequence[TopicSurvey],
    *,
    twist: tuple[str, ...] = (),
    joints: tuple[str, ...] = (),
    quantity: str = 'position',
    count: int = 0,
) -> FeedbackDraft:
    """
    Return the feedback of a command.

    Parameters
    ----------
    sensors
        Topics that it may come from.
    twist
        For the command of a twist, the paths of its dimensions in the twist.
    joints
        For the command of joints, their names.
    quantity
        What of the joints is commanded.
    count
        Number of dimensions of any other command.

    """
    if twist:
        for type_name, prefix in _TWISTS.items():
            for sensor in sensors:
                if sensor.type == type_name and sensor.messages:
                    paths = tuple(prefix + path for path in twist)
                    return _found(sensor, [('fields', paths, '')])
    if joints:
        for sensor in sensors:
            known = sensor.joint_spans.get(quantity, {})
            if sensor.type == JOINTS and all(joint in known for joint in joints):
                lines: list[Line] = [('joints', joints, ''), ('quantity', quantity, '')]
                return _found(sensor, lines)
    length = len(twist) or len(joints) or count
    return FeedbackDraft(
        topic='feedback',
        type='std_msgs/msg/Float64MultiArray',
        lines=(('array', 'data', ''), ('length', length or '', 'a value for each dimension')),
        comment=decide(
            'nothing that was heard tells what the robot did; this stands for the topic that does'
        ),
    )


def _found(sensor: TopicSurvey, lines: Sequence[Line]) -> FeedbackDraft:
    return FeedbackDraft(
        topic=sensor.name,
        type=sensor.type,
        lines=tuple(lines),
        comment=guess('what the robot did'),
    )
