# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files are made of: the nodes of a boundary, brought up together and kept up.

For launch files only: it needs ``launch_ros``, which the rest of the package does without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
import os
from pathlib import Path
import time
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import Shutdown
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.ros_adapters import get_ros_node
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from std_srvs.srv import Trigger

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.storage.contract_file import load
from launch import Action, LaunchContext

_PACKAGE = 'boundary_env_ros'
_POLL = 0.05
# For one answer, s. A request that went to a process killed a moment ago is never answered.
_ANSWER = 1.0
# For one step of a node's way up, s: importing a simulator on a busy machine takes long.
_PATIENCE = 60.0
_RESPAWN_DELAY = 1.0
_MOST_RESPAWNS = 10


def boundary_arguments() -> list[DeclareLaunchArgument]:
    """Return the arguments of every launch file that starts the nodes of a boundary."""
    home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
    new_run = home / _PACKAGE / f'{time.strftime("%Y-%m-%d-%H-%M-%S")}-{os.getpid()}'
    return [
        DeclareLaunchArgument(
            'contract',
            default_value='warehouse_cart',
            description='Contract file, or the name of a shipped contract; all nodes get it.',
        ),
        DeclareLaunchArgument(
            'pacing',
            default_value='',
            choices=['', 'realtime', 'lockstep'],
            description='Pacing instead of what the contract says; lockstep needs a simulation.',
        ),
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the nodes and of all relative topics and services.',
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            choices=['true', 'false'],
            description='The contract decides (clock: sim), and the nodes follow it by '
            'themselves; true is refused if the contract says otherwise.',
        ),
        DeclareLaunchArgument(
            'record',
            default_value='true',
            choices=['true', 'false'],
            description='Start the recorder. A contract may require one.',
        ),
        DeclareLaunchArgument(
            'run',
            default_value=str(new_run),
            description='Folder of the record, made by the recorder; nothing may be there yet.',
        ),
        DeclareLaunchArgument(
            'max_bag_size',
            default_value='4000000000',
            description='Bytes at which the bag goes on in another file; 0: no limit.',
        ),
        DeclareLaunchArgument(
            'max_bag_duration',
            default_value='0.0',
            description='Seconds after which the bag goes on in another file; 0.0: no limit.',
        ),
        DeclareLaunchArgument(
            'services',
            default_value='false',
            choices=['true', 'false'],
            description='Serve the conversation to any ROS client, and publish events.',
        ),
        DeclareLaunchArgument(
            'log_level',
            default_value='info',
            choices=['debug', 'info', 'warn', 'error', 'fatal'],
            description='Least level that the nodes log.',
        ),
        DeclareLaunchArgument(
            'respawn',
            default_value='true',
            choices=['true', 'false'],
            description='Start environment and safety_gate again if they end; the gate then comes '
            'up with its emergency stop latched.',
        ),
    ]


def part_of_the_world(process: ExecuteProcess, name: str) -> list[Any]:
    """
    Return a process that is no node of the boundary, and whose end is the end of the launch.

    Parameters
    ----------
    process
        Action that starts it.
    name
        What it is called in the log.

    """

    def lost(event: Any, context: LaunchContext) -> list[Any]:
        if context.is_shutdown:
            return []
        seconds = _declaring_time(context)
        get_logger('boundary').error(f'{name} is lost; the launch ends in {seconds:g} s')
        return [TimerAction(period=seconds, actions=[OpaqueFunction(function=end)])]

    def end(context: LaunchContext) -> list[Any]:
        return [_failure(context, f'{name} ended (expected it to run).')]

    return [RegisterEventHandler(OnProcessExit(target_action=process, on_exit=lost)), process]


def _declaring_time(context: LaunchContext) -> float:
    """Return the seconds from the loss of a part of the world to the end of the launch."""
    arguments = context.launch_configurations
    pacing = Pacing.__members__.get(arguments.get('pacing', '').upper())
    return declaring_time(load(arguments['contract'], pacing).contract)


def _failure(context: LaunchContext, message: str) -> EmitEvent:
    # Makes the launch return 1, as an exception in an action of its own would.
    context.asyncio_loop.call_exception_handler({'message': message})
    return EmitEvent(event=Shutdown(reason=message))


class BoundaryNode(LifecycleNode):
    """
    A node of the boundary, as a process.

    Parameters
    ----------
    name
        Name of the executable and of the node.
    parameters
        What it takes besides those that all nodes take.
    respawn
        Whether another process takes its place if it ends, unless the argument `respawn` is false.
    latch
        Service that is called on a successor before it is activated.
    agent
        Agent in the namespace of whose name it stands; empty: it serves all.
    condition
        Whether it is started at all; default: it is.

    """

    def __init__(
        self,
        name: str,
        *,
        parameters: Sequence[Any] = (),
        respawn: bool = False,
        latch: str = '',
        agent: str = '',
        condition: IfCondition | None = None,
    ) -> None:
        respawns = LaunchConfiguration('respawn') if respawn else False
        super().__init__(
            package=_PACKAGE,
            executable=name,
            name=name,
            namespace=[LaunchConfiguration('namespace'), f'/{agent}' if agent else ''],
            parameters=[
                *parameters,
                {
                    'contract': _parameter('contract', str),
                    'pacing': _parameter('pacing', str),
                    'use_sim_time': _parameter('use_sim_time', bool),
                },
            ],
            ros_arguments=['--log-level', LaunchConfiguration('log_level')],
            output='screen',
            condition=condition,
            respawn=respawns,
            respawn_delay=_RESPAWN_DELAY,
            respawn_max_retries=_MOST_RESPAWNS,
        )
        self.respawns = IfCondition(respawns if respawn else 'false')
        self.latch = latch


def _parameter(argument: str, kind: type) -> ParameterValue:
    return ParameterValue(LaunchConfiguration(argument), value_type=kind)


def environment() -> BoundaryNode:
    """Return the node ``environment``. Its successor has no episode, and waits for the next."""
    return BoundaryNode('environment', respawn=True)


def safety_gates(context: LaunchContext) -> tuple[BoundaryNode, ...]:
    """
    Return the node ``safety_gate`` of each agent of the contract.

    Its successor cannot know whether an emergency stop was latched, so one is.
    """
    try:
        agents = load(LaunchConfiguration('contract').perform(context)).contract.agents
    except BoundaryError:
        agents = ('',)  # the nodes say what is wrong with it
    if len(agents) == 1:
        agents = ('',)
    return tuple(
        BoundaryNode(
            'safety_gate',
            parameters=[{'agent': agent}] if agent else [],
            respawn=True,
            latch='emergency_stop',
            agent=agent,
        )
        for agent in agents
    )


def recorder() -> BoundaryNode:
    """Return the node ``recorder``, if wanted. A run is recorded once: it has no successor."""
    return BoundaryNode(
        'recorder',
        parameters=[
            {
                'run': _parameter('run', str),
                'max_bag_size': _parameter('max_bag_size', int),
                'max_bag_duration': _parameter('max_bag_duration', float),
            }
        ],
        condition=IfCondition(LaunchConfiguration('record')),
    )


def policy_server() -> BoundaryNode:
    """Return the node ``policy_server``, if wanted. Its successor knows no session."""
    return BoundaryNode(
        'policy_server',
        respawn=True,
        condition=IfCondition(LaunchConfiguration('services')),
    )


def simulated_robot() -> BoundaryNode:
    """Return the node ``simulated_robot``. It is the world and its clock: it has no successor."""
    return BoundaryNode(
        'simulated_robot',
        parameters=[ParameterFile(LaunchConfiguration('simulated_robot_params'))],
    )


def gazebo_bridge() -> BoundaryNode:
    """Return the node ``gazebo_bridge``, the driver of a robot in Gazebo. It has no successor."""
    return BoundaryNode('gazebo_bridge')


class _Phase(Enum):
    """How far the launch has brought a node; what the operator does to it later does not count."""

    STARTED = 1
    CONFIGURED = 2
    ACTIVE = 3


class Boundary(Action):
    """
    Starts nodes, brings them up through their lifecycle, and ends with the first that is lost.

    All are configured before the first is activated, so that each knows the digests of the others.
    After that their lifecycle is the operator's. A process that takes the place of another is
    brought up again. A node that refuses, or ends without a successor, ends the launch with exit
    code 1.

    It asks for states, where one could listen for events of ``launch_ros``: an event that came
    before its listener was found is missed, and a request to a process that was just killed is
    never answered.

    Parameters
    ----------
    nodes
        In the order in which they are activated; a function returns those that depend on the
        arguments of the launch.

    """

    def __init__(
        self, *nodes: BoundaryNode | Callable[[LaunchContext], tuple[BoundaryNode, ...]]
    ) -> None:
        super().__init__()
        self._nodes = nodes
        self._successors: dict[BoundaryNode, int] = {}
        self._phases: dict[BoundaryNode, _Phase] = {}
        self._lives: dict[BoundaryNode, int] = {}
        self._declaring_time = 0.0
        self._ended = False
        self._log = get_logger('boundary')

    def execute(self, context: LaunchContext) -> list[Any]:
        """Start the nodes whose condition holds."""
        nodes = [
            node
            for given in self._nodes
            for node in ((given,) if isinstance(given, BoundaryNode) else given(context))
        ]
        present = [n for n in nodes if n.condition is None or n.condition.evaluate(context)]
        # Now, since a launch file that includes several may give each other arguments.
        self._declaring_time = _declaring_time(context)
        self._successors = {n: _MOST_RESPAWNS * n.respawns.evaluate(context) for n in present}
        self._phases = dict.fromkeys(present, _Phase.STARTED)
        self._lives = dict.fromkeys(present, 0)
        watch = [
            RegisterEventHandler(handler)
            for node in present
            for handler in (
                OnProcessStart(target_action=node, on_start=self._on_start),
                OnProcessExit(target_action=node, on_exit=self._on_exit),
            )
        ]
        return [*watch, *present]

    def _on_start(self, event: Any, context: LaunchContext) -> None:
        node = event.action
        self._lives[node] += 1
        self._run(context, self._bring_up(context, node, self._lives[node]))

    def _on_exit(self, event: Any, context: LaunchContext) -> None:
        node = event.action
        self._phases[node] = _Phase.STARTED
        if self._lives[node] > self._successors[node] and not context.is_shutdown:
            self._run(context, self._end_without(context, node))

    def _run(self, context: LaunchContext, work: Awaitable[None]) -> None:
        """Run something beside the launch; the first error of the boundary ends the launch."""

        async def guarded() -> None:
            try:
                await work
            except BoundaryError as error:
                if self._ended or context.is_shutdown:
                    return
                self._ended = True
                self._log.error(str(error))
                await context.emit_event(_failure(context, str(error)).event)

        context.add_completion_future(context.asyncio_loop.create_task(guarded()))

    async def _end_without(self, context: LaunchContext, node: BoundaryNode) -> None:
        seconds = self._declaring_time
        self._log.error(f'{node.node_name} is lost; the launch ends in {seconds:g} s')
        await _until(lambda: context.is_shutdown, seconds)
        if not context.is_shutdown:
            raise BoundaryError(f'{node.node_name} ended (expected it to run).')

    # The way up ---------------------------------------------------------------------------------

    async def _bring_up(self, context: LaunchContext, node: BoundaryNode, life: int) -> None:
        def over() -> bool:
            return context.is_shutdown or self._lives[node] != life

        calls = _Calls(get_ros_node(context), node.node_name, over)
        try:
            await calls.change(Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)
            if life > 1 and node.latch and await calls.trigger(node.latch):
                self._log.warning(
                    f'{node.node_name} was started again: it keeps the robot stopped until '
                    f'`ros2 service call {node.node_name}/clear_{node.latch} std_srvs/srv/Trigger`'
                )
            if over():
                return
            self._phases[node] = _Phase.CONFIGURED
            # Waits for ever on purpose: whoever holds it up has a deadline of its own.
            await _until(lambda: over() or self._is_turn_of(node))
            await calls.change(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE)
            if over():
                return
            self._phases[node] = _Phase.ACTIVE
            if all(phase is _Phase.ACTIVE for phase in self._phases.values()):
                names = ', '.join(each.node_name for each in self._phases)
                self._log.info(f'active: {names}')
        finally:
            calls.close()

    def _is_turn_of(self, node: BoundaryNode) -> bool:
        nodes = list(self._phases)
        before = nodes[: nodes.index(node)]
        return _Phase.STARTED not in self._phases.values() and all(
            self._phases[each] is _Phase.ACTIVE for each in before
        )


class _Calls:
    """
    Requests to one life of a node.

    Parameters
    ----------
    client
        Node that asks.
    name
        Node that is asked.
    over
        Whether there is nobody left to be asked; then every call comes back without an answer.

    """

    def __init__(self, client: Any, name: str, over: Callable[[], bool]) -> None:
        self._client = client
        self._name = name
        self._over = over
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        """Let go of the clients."""
        for made in self._clients.values():
            self._client.destroy_client(made)

    async def change(self, transition: int, goal: int) -> None:
        """Ask for a transition until the node is where that leads."""
        request = ChangeState.Request()
        request.transition.id = transition
        deadline = time.monotonic() + _PATIENCE
        while not self._over():
            state = await self._ask(GetState, 'get_state', GetState.Request())
            if state is not None and state.current_state.id == goal:
                return
            if state is not None:
                response = await self._ask(ChangeState, 'change_state', request)
                if response is not None and not response.success:
                    raise BoundaryError(
                        f'{self._name} refused to come up, in the state '
                        f'{state.current_state.label}. Its log says why.'
                    )
            if time.monotonic() > deadline:
                raise BoundaryError(f'{self._name} did not come up within {_PATIENCE:g} s.')

    async def trigger(self, service: str) -> bool:
        """Call a service that takes nothing until it has answered; return whether it has."""
        deadline = time.monotonic() + _PATIENCE
        while not self._over():
            if await self._ask(Trigger, service, Trigger.Request()) is not None:
                return True
            if time.monotonic() > deadline:
                raise BoundaryError(
                    f'{self._name}/{service} did not answer within {_PATIENCE:g} s.'
                )
        return False

    async def _ask(self, kind: Any, service: str, request: Any) -> Any:
        """Return the answer to a request; None if none came in time."""
        if service not in self._clients:
            self._clients[service] = self._client.create_client(kind, f'{self._name}/{service}')
        client = self._clients[service]
        await _until(lambda: self._over() or client.service_is_ready(), _ANSWER)
        if self._over() or not client.service_is_ready():
            return None
        future = client.call_async(request)
        await _until(lambda: self._over() or future.done(), _ANSWER)
        if future.done():
            return future.result()
        if not self._over():
            client.remove_pending_request(future)
        return None


async def _until(condition: Callable[[], bool], seconds: float = float('inf')) -> None:
    """Wait until a condition is true, or the time is over."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        await asyncio.sleep(_POLL)
