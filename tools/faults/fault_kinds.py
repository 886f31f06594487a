# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The kinds of faults: how each is made and undone, its bound, and what may be named as its cause.

What is expected of a kind is one row of :data:`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
import math
from random import Random
import signal
import time
from typing import Any

from geometry_msgs.msg import TwistStamped
import rclpy

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import ActionRequest, Reason
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.interfaces import msg
from tools.faults import fault_bounds as bounds
from tools.faults.fault_world import FAR_POLICY, FAR_ROBOT, FaultWorld, Layout, ONE_HOST, SIM_CLOCK

WINDOW = 0.3
"""Seconds for which the robot must stay safe beyond the bound."""


class Safe(Enum):
    """What is waited for: the safe command on the wire, or the cart at rest."""

    COMMAND = 'command'
    REST = 'rest'


@dataclass(slots=True)
class Trial:
    """What a fault may look at: the episode that it meets, chance, and what it must undo."""

    episode: str
    chance: Random
    undo: list[Callable[[], object]] = field(default_factory=list)


Inject = Callable[[FaultWorld, Trial], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """
    A kind of fault.

    Attributes
    ----------
    name, text
        Its name, and a sentence of what is done.
    inject
        Makes the fault; returns the steady clock of it, ns.
    bound
        Seconds from there to what is safe.
    safe
        What is safe.
    reasons
        Why the gate may say that it stopped, at first; empty if it cannot say anything.
    endings
        Endings that the episode may have ended by; empty string: it had not ended.
    rejected
        Reason that the gate must have rejected every one of many requests for.
    layout
        The world that it needs.
    own_run
        Whether the recorder itself ends, so that each trial has a run of its own.
    deaf
        Whether the recorder hears nothing of what follows, so that the cause is what others heard.
    marks
        Rules of the audit by which it names the fault itself; it must find nothing else.

    """

    name: str
    text: str
    inject: Inject
    bound: Callable[[Contract], float]
    safe: Safe = Safe.COMMAND
    reasons: frozenset[Reason] = frozenset()
    endings: frozenset[str] = frozenset()
    rejected: Reason | None = None
    layout: Layout = ONE_HOST
    own_run: bool = False
    deaf: bool = False
    marks: frozenset[str] = frozenset()


# Processes ---------------------------------------------------------------------------------------


def _policy(number: signal.Signals, world: FaultWorld, trial: Trial) -> int:
    trial.undo.append(lambda: world.policy.alive and world.policy.send(signal.SIGCONT))
    return world.policy.send(number)


def _node(name: str, number: signal.Signals, world: FaultWorld, trial: Trial) -> int:
    trial.undo.append(lambda: world.kill(name, signal.SIGCONT))
    return world.kill(name, number)


def _node_anew(name: str, life: str, world: FaultWorld, trial: Trial) -> int:
    since = world.interrupt(name, life)
    world.revive()
    return since


def _recorder_ends(world: FaultWorld, trial: Trial) -> int:
    # It comes back after the stop: within the recorder's timeout nothing would have been lost.
    return world.interrupt('recorder', names.RECORDER_STATUS)


def _policy_anew(world: FaultWorld, trial: Trial) -> int:
    world.policy.close()
    world.revive()
    return world.probe.heard(names.ACTION_REQUEST)[-1].steady


def _gate_starved(world: FaultWorld, trial: Trial) -> int:
    world.kill('safety_gate', signal.SIGSTOP)
    # Beyond the patience of everybody: a policy that was heard again would drive on at once.
    time.sleep(trial.chance.uniform(0.6, 0.9))
    return world.kill('safety_gate', signal.SIGCONT)


# Sensors and clock -------------------------------------------------------------------------------


def _topic(topic: str, fault: str, world: FaultWorld, trial: Trial) -> int:
    trial.undo.append(lambda: world.set_faults({}))
    return world.set_faults({topic: fault})


# Operators ---------------------------------------------------------------------------------------


def _cleared(world: FaultWorld) -> None:
    def cleared() -> bool:
        _, answer = world.trigger('clear_emergency_stop')
        return not answer.result.code

    world.probe.until(cleared, 10.0, 'a gate whose emergency stop can be cleared')


def _button(world: FaultWorld, trial: Trial) -> int:
    trial.undo += [lambda: world.press(False), lambda: _cleared(world)]
    return world.press(True)


def _stop_service(world: FaultWorld, trial: Trial) -> int:
    trial.undo.append(lambda: _cleared(world))
    since, answer = world.trigger('emergency_stop')
    assert answer.success
    return since


# Requests ----------------------------------------------------------------------------------------

Make = Callable[[ActionRequest, int], ActionRequest]


def _flood_for(world: FaultWorld) -> float:
    return bounds.of_a_silent_policy(world.loaded.contract) + WINDOW


def _last(world: FaultWorld, episode: str) -> ActionRequest:
    world.probe.until(lambda: world.requests(episode), 2.0, 'a request of the policy')
    made: ActionRequest = from_msg(ActionRequest, world.requests(episode)[-1])
    return made


def _bad_flood(make: Make, world: FaultWorld, trial: Trial) -> int:
    """Take the policy's place with a flood of what must not be heard: it is no heartbeat."""
    since = _policy(signal.SIGSTOP, world, trial)
    last = _last(world, trial.episode)
    world.flood(lambda number: to_msg(make(last, number)), _flood_for(world))
    return since


def _replayed(world: FaultWorld, trial: Trial) -> int:
    since = _policy(signal.SIGSTOP, world, trial)
    old = world.before
    world.flood(lambda number: old[number % len(old)], _flood_for(world))
    return since


def _reordered(world: FaultWorld, trial: Trial) -> int:
    _policy(signal.SIGSTOP, world, trial)
    last = _last(world, trial.episode)
    ahead = replace(last, sequence=last.sequence + 1000)
    # The newest comes first, and is heard; all that it overtook comes after it.
    since = world.flood(lambda number: to_msg(ahead), 0.0)
    world.flood(
        lambda number: to_msg(
            replace(last, sequence=last.sequence + trial.chance.randrange(1, 1000))
        ),
        _flood_for(world),
    )
    return since


def _malformed(last: ActionRequest, number: int) -> Any:
    """Return a request that no reader can read: what it says is no value of its enums."""
    message = to_msg(replace(last, sequence=last.sequence + 1 + number))
    if number % 3 == 0:
        message.source = 0  # what a plain `ros2 topic pub` sends
    elif number % 3 == 1:
        message.requested.ros.clock = 99
    else:
        message = msg.ActionRequest()
    return message


def _malformed_flood(world: FaultWorld, trial: Trial) -> int:
    since = _policy(signal.SIGSTOP, world, trial)
    last = _last(world, trial.episode)
    world.flood(lambda number: _malformed(last, number), _flood_for(world))
    return since


def _wild(last: ActionRequest, sequence: int, chance: Random) -> Any:
    """Return a request that may be heard, for anything at all."""
    return to_msg(
        replace(
            last,
            sequence=sequence,
            action=(chance.uniform(-20.0, 20.0), chance.uniform(-20.0, 20.0)),
        )
    )


def _wild_flood(world: FaultWorld, trial: Trial) -> int:
    """Flood the gate with what it has to hear, then fall silent: that is when the fault begins."""
    _policy(signal.SIGSTOP, world, trial)
    last = _last(world, trial.episode)
    return world.flood(
        lambda number: _wild(_fresh(world, last), last.sequence + 1 + number, trial.chance), 0.4
    )


def _button_in_a_flood(world: FaultWorld, trial: Trial) -> int:
    _policy(signal.SIGSTOP, world, trial)
    last = _last(world, trial.episode)

    def wild(start: int) -> Callable[[int], Any]:
        return lambda number: _wild(
            _fresh(world, last), last.sequence + start + number, trial.chance
        )

    world.flood(wild(1), 0.3)
    since = _button(world, trial)
    world.flood(wild(10_000), bounds.of_a_message(world.loaded.contract) + WINDOW)
    return since


def _fresh(world: FaultWorld, request: ActionRequest) -> ActionRequest:
    """Return a request that answers the last step, as the policy would."""
    closed = from_msg(Transition, world.probe.messages(names.TRANSITION)[-1])
    if closed.id.episode_id != request.id.episode_id:
        return request
    return replace(
        request,
        id=replace(request.id, step=closed.id.step + 1),
        observed=closed.closed,
        observed_step=closed.id.step,
        delivered=closed.closed,
        requested=closed.closed,
    )


# Others who publish ------------------------------------------------------------------------------


def _second_publisher(world: FaultWorld, trial: Trial) -> int:
    node = world.probe.node
    since = time.monotonic_ns()
    made = node.create_publisher(TwistStamped, world.command_topic, names.COMMAND)
    trial.undo.append(lambda: node.destroy_publisher(made))
    return since


def _second_gate(world: FaultWorld, trial: Trial) -> int:
    """Be, for the others, a second gate of the same name: on the graph, and by what it says."""
    since = time.monotonic_ns()
    node = rclpy.create_node('safety_gate', context=world.probe.node.context)
    trial.undo.append(node.destroy_node)
    node.create_publisher(TwistStamped, world.command_topic, names.COMMAND)
    states = world.probe.authenticity.publisher(
        node.create_publisher(msg.GateStatus, names.GATE_STATUS, names.LATCHED)
    )
    status = copy.deepcopy(world.probe.last(names.GATE_STATUS))
    end = time.monotonic() + bounds.of_the_graph(world.loaded.contract) + WINDOW
    while time.monotonic() < end:
        status.stamp.steady = time.monotonic_ns()
        states.publish(status)
        time.sleep(world.loaded.contract.period)
    return since


# The network -------------------------------------------------------------------------------------


def _cable(what: str, world: FaultWorld, trial: Trial) -> int:
    assert world.hosts is not None
    trial.undo.append(world.hosts.heal)
    return world.hosts.cable(what)


def _lossy(world: FaultWorld, trial: Trial) -> int:
    """Count from the last request that came through: a cable that loses nine of ten lets some."""
    since = _cable('loss 0.95', world, trial)
    time.sleep(_flood_for(world))
    through = [
        decision.received.steady
        for decision in world.decisions(since)
        if decision.request is not None
        and decision.received is not None
        and decision.verdict.name in ('ADMITTED', 'LIMITED')
    ]
    return max([since, *through])


def _down(host: str, world: FaultWorld, trial: Trial) -> int:
    assert world.hosts is not None
    trial.undo.append(world.hosts.heal)
    return world.hosts.down(host)


# The table ---------------------------------------------------------------------------------------

_R = Reason
_NO_POLICY = frozenset({_R.COMMAND_TIMEOUT})
_NO_SENSOR = frozenset({_R.OBSERVATION_TIMEOUT})
_OVER = frozenset({_R.EPISODE_OVER})
#: One field may be too old a tick before all have been silent for the robot's timeout.
_NO_ROBOT = frozenset({'robot_lost', 'sensor_lost'})
#: What a recorder that was not scheduled has lost, it says; what refers to that hangs in the air.
_GAPS = frozenset(
    {
        'as-published',
        'command-on-topic',
        'decision-sequence',
        'execution-measured',
        'steps-in-order',
        'values-from-sensors',
    }
)
#: Nothing can be compared with a clock that jumped, but that it did; what came before it lies as
#: far back for the audit as the clock says.
_JUMPED = frozenset(
    {
        'execution-measured',
        'steps-in-order',
        'values-from-sensors',
    }
)
#: A message may have reached gate and environment when the driver dies, and not the recorder: and
#: nobody is there to send it again.
_LAST_WORDS = frozenset({'values-from-sensors'})
#: A frame with a request may reach the gate, and none with the same for the recorder come through.
_UNHEARD = frozenset({'as-published'})
_RUNS_ON = frozenset({'', 'abandoned', 'time_limit'})
_KILL, _STOP = signal.SIGKILL, signal.SIGSTOP


def _flood_kind(name: str, text: str, make: Make, reason: Reason) -> Kind:
    return Kind(
        name=name,
        text=text,
        inject=partial(_bad_flood, make),
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        rejected=reason,
    )


_ALL = (
    # Killed and frozen.
    Kind(
        name='kill_policy',
        text='the policy is killed (SIGKILL)',
        inject=partial(_policy, _KILL),
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
    ),
    Kind(
        name='freeze_policy',
        text='the policy hangs (SIGSTOP)',
        inject=partial(_policy, _STOP),
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
    ),
    Kind(
        name='kill_environment',
        text='the environment is killed',
        inject=partial(_node, 'environment', _KILL),
        bound=bounds.of_a_silent_environment,
        # A policy that gets no observation is silent too, and its time is shorter.
        reasons=frozenset({_R.COMMAND_TIMEOUT, _R.ENVIRONMENT_TIMEOUT}),
        endings=frozenset({'environment_lost'}),
    ),
    Kind(
        name='freeze_environment',
        text='the environment hangs',
        inject=partial(_node, 'environment', _STOP),
        bound=bounds.of_a_silent_environment,
        reasons=frozenset({_R.COMMAND_TIMEOUT, _R.ENVIRONMENT_TIMEOUT}),
        endings=frozenset({'environment_lost'}),
    ),
    Kind(
        name='kill_gate',
        text='the gate is killed',
        inject=partial(_node, 'safety_gate', _KILL),
        bound=bounds.of_the_driver,
        safe=Safe.REST,
        endings=frozenset({'gate_lost'}),
        # It may die after a command, and before the decision that explains it.
        marks=frozenset({'command-on-topic'}),
    ),
    Kind(
        name='freeze_gate',
        text='the gate hangs',
        inject=partial(_node, 'safety_gate', _STOP),
        bound=bounds.of_the_driver,
        safe=Safe.REST,
        endings=frozenset({'gate_lost'}),
    ),
    Kind(
        name='starve_gate',
        text='the gate gets no processor for 0.6 to 0.9 s, then runs again',
        inject=_gate_starved,
        bound=bounds.of_the_gate_itself,
        reasons=frozenset({_R.GATE_LATE}),
        endings=frozenset({'gate_lost'}),
    ),
    Kind(
        name='kill_recorder',
        text='the recorder is killed',
        inject=partial(_node, 'recorder', _KILL),
        bound=bounds.of_a_silent_recorder,
        reasons=_OVER,
        endings=frozenset({'recorder_lost'}),
        own_run=True,
        deaf=True,
        marks=frozenset({'record-closed'}),
    ),
    Kind(
        name='freeze_recorder',
        text='the recorder hangs',
        inject=partial(_node, 'recorder', _STOP),
        bound=bounds.of_a_silent_recorder,
        reasons=_OVER,
        endings=frozenset({'recorder_lost'}),
        deaf=True,
        marks=_GAPS,
    ),
    Kind(
        name='kill_robot',
        text='the driver is killed',
        inject=partial(_node, 'simulated_robot', _KILL),
        bound=bounds.of_a_silent_sensor,
        reasons=_NO_SENSOR | _OVER,
        endings=_NO_ROBOT,
        marks=_LAST_WORDS,
    ),
    Kind(
        name='freeze_robot',
        text='the driver hangs',
        inject=partial(_node, 'simulated_robot', _STOP),
        bound=bounds.of_a_silent_sensor,
        reasons=_NO_SENSOR | _OVER,
        endings=_NO_ROBOT,
    ),
    # Started again in mid-episode: ended in order (SIGINT), and started at once. The time counts
    # from the last heartbeat.
    Kind(
        name='restart_policy',
        text='the policy ends in order and is started again',
        inject=_policy_anew,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY | _OVER,
        endings=frozenset({'abandoned', 'policy_lost'}),
    ),
    Kind(
        name='restart_environment',
        text='the environment is restarted',
        inject=partial(_node_anew, 'environment', names.EPISODE_STATUS),
        bound=bounds.of_a_silent_environment,
        reasons=_OVER | {_R.COMMAND_TIMEOUT, _R.ENVIRONMENT_TIMEOUT},
        endings=frozenset({'operator_stop', 'environment_lost'}),
    ),
    Kind(
        name='restart_gate',
        text='the gate is restarted',
        inject=partial(_node_anew, 'safety_gate', 'cmd_vel'),
        bound=bounds.of_the_driver,
        safe=Safe.REST,
        endings=frozenset({'gate_lost'}),
    ),
    Kind(
        name='restart_recorder',
        text='the recorder ends, and comes back after its timeout',
        inject=_recorder_ends,
        bound=bounds.of_a_silent_recorder,
        reasons=_OVER,
        endings=frozenset({'recorder_lost'}),
        own_run=True,
        deaf=True,
    ),
    Kind(
        name='restart_robot',
        text='the driver is restarted',
        inject=partial(_node_anew, 'simulated_robot', 'ground_truth'),
        bound=bounds.of_a_silent_sensor,
        reasons=_NO_SENSOR | _OVER,
        endings=_NO_ROBOT,
        marks=_LAST_WORDS,
    ),
    # Sensors.
    Kind(
        name='scan_silent',
        text='the laser scanner falls silent',
        inject=partial(_topic, 'scan', 'silent'),
        bound=bounds.of_a_silent_sensor,
        reasons=_NO_SENSOR,
        endings=_RUNS_ON,
    ),
    Kind(
        name='scan_frozen',
        text='the same scan over and over, with its old header',
        inject=partial(_topic, 'scan', 'frozen'),
        bound=bounds.of_a_silent_sensor,
        reasons=_NO_SENSOR,
        endings=_RUNS_ON,
    ),
    Kind(
        name='scan_frozen_fresh',
        text='the same scan over and over, with fresh headers',
        inject=partial(_topic, 'scan', 'frozen_fresh'),
        # No rule sees it: a scan that does not change may be of a world that does not.
        bound=bounds.of_the_time_limit,
        reasons=_OVER,
        endings=frozenset({'time_limit'}),
    ),
    Kind(
        name='scan_zeros',
        text='a scan of zeros, nearer than the scanner can measure',
        inject=partial(_topic, 'scan', 'zeros'),
        bound=bounds.of_a_silent_sensor,
        reasons=frozenset({_R.OBSTACLE_STOP}),
        endings=frozenset({'safety_stop'}),
    ),
    Kind(
        name='scan_nan',
        text='a scan of NaN: every measurement failed',
        inject=partial(_topic, 'scan', 'nan'),
        bound=bounds.of_a_silent_sensor,
        reasons=frozenset({_R.SENSOR_INVALID}),
        endings=_RUNS_ON,
    ),
    Kind(
        name='scan_minus_inf',
        text='a scan of -inf: all around too near to measure (REP-117)',
        inject=partial(_topic, 'scan', 'minus_infinities'),
        bound=bounds.of_a_silent_sensor,
        reasons=frozenset({_R.OBSTACLE_STOP}),
        endings=frozenset({'safety_stop'}),
    ),
    Kind(
        name='scan_inf',
        text='a scan of +inf: nothing in reach anywhere (REP-117)',
        inject=partial(_topic, 'scan', 'infinities'),
        # No rule sees it: by the message's definition it is an empty hall.
        bound=bounds.of_the_time_limit,
        reasons=_OVER,
        endings=frozenset({'time_limit'}),
    ),
    Kind(
        name='odometry_silent',
        text='the odometry falls silent',
        inject=partial(_topic, 'odom', 'silent'),
        bound=bounds.of_stale_velocity,
        reasons=_OVER,
        endings=frozenset({'sensor_lost'}),
    ),
    Kind(
        name='odometry_nan',
        text='the odometry says NaN',
        inject=partial(_topic, 'odom', 'twist_nan'),
        bound=bounds.of_stale_velocity,
        reasons=_OVER,
        endings=frozenset({'sensor_lost'}),
    ),
    Kind(
        name='pose_silent',
        text='the detector of the pose falls silent',
        inject=partial(_topic, 'pose_detections', 'silent'),
        bound=bounds.of_a_stale_pose,
        reasons=_OVER,
        endings=frozenset({'sensor_lost'}),
    ),
    # The operator.
    Kind(
        name='stop_button',
        text='emergency stop on its topic',
        inject=_button,
        bound=bounds.of_a_message,
        reasons=frozenset({_R.EMERGENCY_STOP}),
        endings=frozenset({'operator_stop'}),
    ),
    Kind(
        name='stop_service',
        text='emergency stop by its service',
        inject=_stop_service,
        bound=bounds.of_a_message,
        reasons=frozenset({_R.EMERGENCY_STOP}),
        endings=frozenset({'operator_stop'}),
    ),
    # Requests, at ten times the rate of the contract, in place of a policy that hangs.
    _flood_kind(
        'flood_duplicates',
        'the last request again and again, at 10x the rate',
        lambda last, number: last,
        _R.OUT_OF_ORDER,
    ),
    Kind(
        name='flood_replayed',
        text='the requests of the episode before, at 10x the rate',
        inject=_replayed,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        rejected=_R.WRONG_EPISODE,
    ),
    Kind(
        name='flood_reordered',
        text='requests that a newer one has overtaken, at 10x the rate',
        inject=_reordered,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        rejected=_R.OUT_OF_ORDER,
    ),
    _flood_kind(
        'flood_foreign_lease',
        'requests under a lease that nobody granted, at 10x the rate',
        lambda last, number: replace(
            last,
            lease_id='00000000-0000-4000-8000-000000000000',
            sequence=last.sequence + 1 + number,
        ),
        _R.WRONG_LEASE,
    ),
    _flood_kind(
        'flood_foreign_episode',
        'requests for another episode, at 10x the rate',
        lambda last, number: replace(
            last,
            id=replace(last.id, episode_id='another'),
            sequence=last.sequence + 1 + number,
        ),
        _R.WRONG_EPISODE,
    ),
    _flood_kind(
        'flood_nan',
        'requests of NaN, at 10x the rate',
        lambda last, number: replace(
            last, action=(math.nan, math.nan), sequence=last.sequence + 1 + number
        ),
        _R.NOT_FINITE,
    ),
    _flood_kind(
        'flood_wrong_shape',
        'requests of three numbers for two, at 10x the rate',
        lambda last, number: replace(
            last, action=(0.8, 0.0, 0.8), sequence=last.sequence + 1 + number
        ),
        _R.WRONG_SHAPE,
    ),
    Kind(
        name='malformed_request',
        text='requests that are no values of the message, at 10x the rate',
        inject=_malformed_flood,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        # They are in the record as they came, and the audit says that nobody can read them.
        marks=frozenset({'record-complete'}),
    ),
    Kind(
        name='flood_wild',
        text='wild requests of the lease holder at 10x the rate, then silence',
        inject=_wild_flood,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
    ),
    Kind(
        name='stop_in_flood',
        text='emergency stop amid wild requests of the lease holder at 10x the rate',
        inject=_button_in_a_flood,
        bound=bounds.of_a_message,
        reasons=frozenset({_R.EMERGENCY_STOP}),
        endings=frozenset({'operator_stop'}),
    ),
    # Others who publish on the command topic.
    Kind(
        name='second_publisher',
        text='another client offers the command topic',
        inject=_second_publisher,
        bound=bounds.of_the_graph,
        reasons=frozenset({_R.FOREIGN_PUBLISHER}),
        endings=frozenset({'safety_stop', *_RUNS_ON}),
    ),
    Kind(
        name='second_gate',
        text='a second node named safety_gate offers the command topic',
        inject=_second_gate,
        bound=bounds.of_the_graph,
        reasons=frozenset({_R.FOREIGN_PUBLISHER}),
        endings=frozenset({'safety_stop', *_RUNS_ON}),
    ),
    # Simulated time.
    Kind(
        name='clock_forward',
        text='/clock jumps 10 s ahead of the sensors',
        inject=partial(_topic, '/clock', 'forward'),
        bound=bounds.of_a_message,
        reasons=frozenset({_R.CLOCK, _R.OBSERVATION_TIMEOUT, _R.EPISODE_OVER}),
        endings=frozenset({'sensor_lost', 'time_limit', *_RUNS_ON}),
        layout=SIM_CLOCK,
        marks=_JUMPED,
    ),
    Kind(
        name='clock_backward',
        text='/clock jumps 1 s back',
        inject=partial(_topic, '/clock', 'backward'),
        bound=bounds.of_a_message,
        reasons=frozenset({_R.CLOCK, _R.OBSERVATION_TIMEOUT, _R.EPISODE_OVER}),
        endings=frozenset({'sensor_lost', *_RUNS_ON}),
        layout=SIM_CLOCK,
        marks=_JUMPED,
    ),
    Kind(
        name='clock_paused',
        text='/clock stands still, the sensors go on',
        inject=partial(_topic, '/clock', 'frozen'),
        bound=bounds.of_a_paused_clock,
        reasons=frozenset({_R.CLOCK, _R.OBSERVATION_TIMEOUT, _R.EPISODE_OVER}),
        endings=frozenset({'sensor_lost', *_RUNS_ON}),
        layout=SIM_CLOCK,
        marks=_JUMPED,
    ),
    Kind(
        name='simulation_paused',
        text='the simulation hangs, and /clock with it',
        inject=partial(_node, 'simulated_robot', _STOP),
        bound=bounds.of_a_silent_sensor,
        reasons=frozenset({_R.CLOCK, _R.OBSERVATION_TIMEOUT, _R.EPISODE_OVER}),
        endings=_NO_ROBOT,
        layout=SIM_CLOCK,
        marks=_JUMPED,
    ),
    # The network.
    Kind(
        name='link_down_policy',
        text="the link of the policy's host goes down",
        inject=partial(_down, 'b'),
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        layout=FAR_POLICY,
    ),
    Kind(
        name='loss_policy',
        text='19 of 20 frames to and from the policy are lost',
        inject=_lossy,
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost', *_RUNS_ON}),
        layout=FAR_POLICY,
        marks=_UNHEARD,
    ),
    Kind(
        name='delay_policy',
        text='frames to and from the policy take 1 s from now on',
        inject=partial(_cable, 'delay 1.0'),
        bound=bounds.of_a_silent_policy,
        reasons=_NO_POLICY,
        endings=frozenset({'policy_lost'}),
        layout=FAR_POLICY,
    ),
    Kind(
        name='link_down_robot',
        text="the link of the robot's host goes down",
        inject=partial(_down, 'b'),
        bound=bounds.of_the_driver,
        safe=Safe.REST,
        endings=_NO_ROBOT,
        layout=FAR_ROBOT,
    ),
    Kind(
        name='loss_robot',
        text='every frame to and from the robot is lost',
        inject=partial(_cable, 'loss 1.0'),
        bound=bounds.of_the_driver,
        safe=Safe.REST,
        endings=_NO_ROBOT,
        layout=FAR_ROBOT,
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}
"""Every kind by its name, in the order of a campaign: a world is started again for few of them."""


def noticed_by_then(since: int, bound: float) -> int:
    """Return the steady clock until which a trial is looked at, ns."""
    return since + round((bound + WINDOW) * NANOSECONDS)
