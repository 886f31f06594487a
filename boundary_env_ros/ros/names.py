# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of the package's own topics, relative to the nodes' namespace, and their QoS."""

from __future__ import annotations

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

from boundary_env_ros.core.contract import Pacing, Qos

OBSERVATION = 'boundary/observation'
ACTION_REQUEST = 'boundary/action_request'
GATE_DECISION = 'boundary/gate_decision'
TRANSITION = 'boundary/transition'
EVALUATOR = 'boundary/evaluator'
ACTUATION_EVIDENCE = 'boundary/actuation_evidence'
EPISODE_STATUS = 'boundary/episode_status'
GATE_STATUS = 'boundary/gate_status'
RECORDER_STATUS = 'boundary/recorder_status'
EPISODE_MARK = 'boundary/episode_mark'
EVENT = 'boundary/event'
CONTRACT = 'boundary/contract'
WORLD_ADVANCE = 'boundary/world_advance'
WORLD_ADVANCED = 'boundary/world_advanced'

BEGIN_EPISODE = 'environment/begin_episode'
END_EPISODE = 'environment/end_episode'
ARM = 'safety_gate/arm'
PLAN = 'safety_gate/plan'
CONFIRM_RESET = 'environment/confirm_reset'
MARK_EPISODE = 'recorder/mark_episode'

RESET = 'boundary_services/reset'
STEP = 'boundary_services/step'
BATCH_STEP = 'boundary_services/batch_step'
OBSERVE = 'boundary_services/observe'
SPACES = 'boundary_services/spaces'
RENDER = 'boundary_services/render'
CLOSE = 'boundary_services/close'

#: Nothing is lost: requests, decisions, transitions and all that is recorded.
RECORD = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1000,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

#: The last one matters, also to whoever comes later.
LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

#: For whoever listens to latched messages of several nodes on one topic.
LATCHED_MANY = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=50,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

#: Only the newest command may ever reach a robot.
COMMAND = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

#: A sensor that is late is worse than one that is lost; compatible with every publisher.
SENSOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)


#: In lockstep everything that was announced is waited for, so nothing may be lost.
SENSOR_LOCKSTEP = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1000,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)


def sensor(qos: Qos, pacing: Pacing) -> QoSProfile:
    """Return how a sensor topic is listened to."""
    if pacing is Pacing.LOCKSTEP:
        return SENSOR_LOCKSTEP
    if qos == Qos():
        return SENSOR
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=qos.depth,
        reliability=ReliabilityPolicy.RELIABLE if qos.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if qos.transient_local
        else DurabilityPolicy.VOLATILE,
    )
