# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was seen of a robot's topics, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Least and greatest value that a number had, in the unit of the message."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How many elements a sequence had: least and most."""

    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageForm:
    """Pixels of the images of a topic, and their encoding as in ``image_encodings.hpp``."""

    height: int
    width: int
    encoding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSurvey:
    """
    What was seen of one topic.

    Attributes
    ----------
    name, type
        Fully qualified name, ``/odom``, and type, ``nav_msgs/msg/Odometry``.
    messages
        How many messages came.
    publishers, subscribers
        How many there were; None if it is not known, as from a bag.
    reliability, durability
        What the publishers offer, in the words of rosbag2 (``reliable``, ``transient_local``);
        empty if it is not known.
    rate
        Messages per second; None if there were not two of them.
    stamped
        How many of the messages had a stamp in it that is not zero.
    frame
        The first ``frame_id`` of the headers; empty if there was none.
    spans
        Values of each number, by field path; of sequences of constant length too, element by
        element or, if they are long, one for all. Rotations are there as ``roll(...)``,
        ``pitch(...)`` and ``yaw(...)`` besides.
    lengths
        Lengths of each sequence of numbers, by field path.
    joints
        Names of the joints of a ``JointState`` or ``JointTrajectory``, in the order of their
        appearance.
    joint_spans
        Values of each quantity (``position``, ``velocity``, ``effort``) by joint.
    image
        Form of the first image.
    trouble
        Why messages could not be read; empty if they could.

    """

    name: str
    type: str
    messages: int = 0
    publishers: int | None = None
    subscribers: int | None = None
    reliability: str = ''
    durability: str = ''
    rate: float | None = None
    stamped: int = 0
    frame: str = ''
    spans: Mapping[str, Span] = field(default_factory=dict)
    lengths: Mapping[str, Lengths] = field(default_factory=dict)
    joints: tuple[str, ...] = ()
    joint_spans: Mapping[str, Mapping[str, Span]] = field(default_factory=dict)
    image: ImageForm | None = None
    trouble: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """
    What was seen of a robot.

    Attributes
    ----------
    source
        What was looked at, for the head of the draft: ``the bag "drive"``.
    seconds
        For how long.
    topics
        The topics, in any order.
    notes
        What a reader of the draft should know about the survey, a sentence each.

    """

    source: str
    seconds: float
    topics: tuple[TopicSurvey, ...]
    notes: tuple[str, ...] = ()
