# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of the package's own topics, relative to the nodes' namespace, and their QoS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from boundary_env_ros.core.contract.model import Contract, Qos
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.frozen import frozen
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.message_guard import MOST_BYTES, most_of_decision, most_of_request
from boundary_env_ros.storage.records import ContractDescription, TOPICS

ACTION_REQUEST = 'boundary/action_request'
GATE_DECISION = TOPICS[GateDecision]
TRANSITION = TOPICS[Transition]
PRIVILEGED_OBSERVATION = TOPICS[PrivilegedObservation]
ACTUATION_EVIDENCE = TOPICS[ActuationEvidence]
EPISODE_STATUS = TOPICS[EpisodeStatus]
GATE_STATUS = 'boundary/gate_status'
RECORDER_STATUS = 'boundary/recorder_status'
EPISODE_LABEL = TOPICS[EpisodeLabel]
DIAGNOSTICS = '/diagnostics'
EVENT = 'boundary/event'
PUSHED = 'simulated_robot/pushed'
CONTRACT = TOPICS[ContractDescription]
SIM_STEP_REQUEST = 'boundary/sim_step_request'
SIM_STEP_RESPONSE = 'boundary/sim_step_response'

BEGIN_EPISODE = 'environment/begin_episode'
END_EPISODE = 'environment/end_episode'
ARM = 'safety_gate/arm'
EVALUATE_ACTIONS = 'safety_gate/evaluate_actions'
CONFIRM_RESET = 'environment/confirm_reset'
LABEL_EPISODE = 'recorder/label_episode'
ASK_WORLD = 'simulated_robot/ask_world'

#: The nodes of a boundary.
ENVIRONMENT, GATE, RECORDER = 'environment', 'safety_gate', 'recorder'
SERVER, ROBOT = 'policy_server', 'simulated_robot'
NODES = (ENVIRONMENT, GATE, RECORDER, SERVER, ROBOT)
#: Processes that are no nodes of a boundary, and have random digits behind their names.
POLICY, CLIENT = 'boundary_client', 'service_client'
OPERATOR, WATCH = 'attending', 'watch'
#: A server has a policy's client in it, for each agent.
POLICIES = (POLICY, SERVER)

RESET = 'policy_server/reset'
STEP = 'policy_server/step'
BATCH_STEP = 'policy_server/batch_step'
OBSERVE = 'policy_server/observe'
SPACES = 'policy_server/spaces'
RENDER = 'policy_server/render'
PLAN = 'policy_server/plan'
CLOSE = 'policy_server/close'

#: The whole conversation with a policy, in the order in which clients are announced: a node that
#: answers the last has found the others. The gate answers ``EVALUATE_ACTIONS``.
SERVICES = {
    RESET: srv.Reset,
    STEP: srv.Step,
    BATCH_STEP: srv.BatchStep,
    OBSERVE: srv.Observe,
    RENDER: srv.Render,
    PLAN: srv.Plan,
    EVALUATE_ACTIONS: srv.EvaluateActions,
    CLOSE: srv.Close,
    SPACES: srv.Spaces,
}


def profile(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    """Return a QoS that keeps the last messages, latched ones also for late subscribers."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


#: Nothing is lost: requests, decisions, transitions and all that is recorded.
RECORD = profile(1000, reliable=True)

#: The last one matters, also to late subscribers.
LATCHED = profile(1, reliable=True, latched=True)

#: For subscribers of latched messages of several nodes on one topic.
LATCHED_MANY = profile(50, reliable=True, latched=True)

#: Only the newest command may ever reach a robot.
COMMAND = profile(1, reliable=True)

#: A sensor that is late is worse than one that is lost; compatible with every publisher.
SENSOR = profile(10, reliable=False)

#: In lockstep everything that was announced is waited for, so nothing may be lost.
SENSOR_LOCKSTEP = profile(1000, reliable=True)


@frozen(kw_only=False)
class OwnTopic:
    """
    What a topic of this package carries, and how.

    Attributes
    ----------
    type
        Name of its message among those of this package.
    publishers, subscribers
        Who publishes it, and who subscribes it besides the recorder.
    latched
        Whether a late subscriber gets the last message, too.
    of_world
        Whether it is there once for a world, however many agents that has; the contract is besides
        there for each of them.
    recorded
        Whether a recorder listens to it.
    numbered
        Whether its messages have numbers of their own, by which a gap is found.
    most
        Bytes of a message beyond which it is refused unread, under a contract; 0: any is read.

    """

    type: str
    publishers: tuple[str, ...]
    subscribers: tuple[str, ...] = ()
    latched: bool = False
    of_world: bool = False
    recorded: bool = True
    numbered: bool = False
    most: Callable[[Contract], int] = lambda _: MOST_BYTES

    @property
    def kind(self) -> Any:
        """The class of its messages."""
        return getattr(msg, self.type)

    @property
    def qos(self) -> QoSProfile:
        """How it is published, and listened to by those who need what was said last."""
        return LATCHED if self.latched else RECORD


#: Every topic of this package, by its name.
OWN_TOPICS: Mapping[str, OwnTopic] = {
    ACTUATION_EVIDENCE: OwnTopic('ActuationEvidence', (ENVIRONMENT,)),
    # Operator and watch find out by it which contract is served.
    CONTRACT: OwnTopic(
        'ContractDescription', NODES, (*NODES, OPERATOR, WATCH), latched=True, of_world=True
    ),
    EPISODE_LABEL: OwnTopic('EpisodeLabel', (RECORDER,), of_world=True),
    EPISODE_STATUS: OwnTopic(
        'EpisodeStatus', (ENVIRONMENT, RECORDER), (GATE, OPERATOR, WATCH, *POLICIES), latched=True
    ),
    GATE_DECISION: OwnTopic(
        'GateDecision',
        (GATE,),
        (ENVIRONMENT, ROBOT, *POLICIES),
        numbered=True,
        most=most_of_decision,
    ),
    PRIVILEGED_OBSERVATION: OwnTopic('PrivilegedObservation', (ENVIRONMENT,)),
    TRANSITION: OwnTopic('Transition', (ENVIRONMENT,), (WATCH, *POLICIES), numbered=True),
    ACTION_REQUEST: OwnTopic('ActionRequest', POLICIES, (GATE,), most=most_of_request),
    GATE_STATUS: OwnTopic(
        'GateStatus', (GATE,), (ENVIRONMENT, GATE, OPERATOR, WATCH, *POLICIES), latched=True
    ),
    RECORDER_STATUS: OwnTopic(
        'RecorderStatus', (RECORDER,), (ENVIRONMENT, WATCH), latched=True, of_world=True
    ),
    EVENT: OwnTopic('EnvironmentEvent', (SERVER,), (CLIENT,)),
    PUSHED: OwnTopic('EnvironmentEvent', (ROBOT,), POLICIES, recorded=False),
    SIM_STEP_REQUEST: OwnTopic('SimStepRequest', (ENVIRONMENT,), (ROBOT,), of_world=True),
    # A world may say of itself what it likes, and stands still meanwhile.
    SIM_STEP_RESPONSE: OwnTopic(
        'SimStepResponse', (ROBOT,), (ENVIRONMENT, GATE), most=lambda _: 0
    ),
}


def sensor(qos: Qos, pacing: Pacing, least: int = 1, *, latched: bool = False) -> QoSProfile:
    """Return how a sensor topic is listened to, with a queue of at least so many messages."""
    if pacing is Pacing.LOCKSTEP and not latched:
        return SENSOR_LOCKSTEP
    depth = SENSOR.depth if qos == Qos() else qos.depth
    return profile(max(depth, least), reliable=qos.reliable, latched=qos.transient_local)
