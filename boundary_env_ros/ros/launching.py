# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files are made of: the nodes of a boundary, brought up together and kept up.

For launch files only: it needs ``launch_ros``, which the rest of the package does without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import closing
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
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import Shutdown
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.ros_adapters import get_ros_node

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros.bring_up import WayUp
from boundary_env_ros.ros.processes import boundary_nodes
from boundary_env_ros.storage.contract_file import load
from launch import Action, LaunchContext

_PACKAGE = 'boundary_env_ros'
_POLL = 0.05
# For one step of a node's way up, s: importing a simulator on a busy machine takes long.
_PATIENCE = 60.0
_RESPAWN_DELAY = 1.0
_MOST_RESPAWNS = 10
#: Whose successor can go on: a new environment has no episode, new services no session. A run is
#: recorded once, and a simulation is the world and its clock.
_RESPAWNED = ('environment', 'safety_gate', 'policy_server')


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
        seconds = declaring_time(_contract(context))
        get_logger('boundary').error(f'{name} is lost; the launch ends in {seconds:g} s')
        return [TimerAction(period=seconds, actions=[OpaqueFunction(function=end)])]

    def end(context: LaunchContext) -> list[Any]:
        return [_failure(context, f'{name} ended (expected it to run).')]

    return [RegisterEventHandler(OnProcessExit(target_action=process, on_exit=lost)), process]


def _contract(context: LaunchContext) -> Contract:
    arguments = context.launch_configurations
    pacing = Pacing.__members__.get(arguments.get('pacing', '').upper())
    return load(arguments['contract'], pacing).contract


def _failure(context: LaunchContext, message: str) -> EmitEvent:
    # Makes the launch return 1, as an exception in an action of its own would.
    context.asyncio_loop.call_exception_handler({'message': message})
    return EmitEvent(event=Shutdown(reason=message))


class Boundary(Action):
    """
    Starts the nodes of a boundary, brings them up, and ends with the first that is lost.

    Once a node is active, its lifecycle is the operator's. A process that takes the place of
    another is brought up again. A node that refuses, or ends without a successor, ends the launch
    with exit code 1.

    Parameters
    ----------
    robot
        The node that is the robot, ``simulated_robot`` or ``gazebo_bridge``; empty: the drivers of
        the robot are started elsewhere.

    """

    def __init__(self, robot: str = '') -> None:
        super().__init__()
        self._robot = robot
        self._places: dict[LifecycleNode, str] = {}
        self._lives: dict[str, int] = {}
        self._respawns: dict[str, int] = {}
        self._way: WayUp | None = None
        self._declaring_time = 0.0
        self._ended = False
        self._log = get_logger('boundary')

    def execute(self, context: LaunchContext) -> list[Any]:
        """Start the nodes that the arguments ask for."""

        def given(name: str) -> str:
            return str(LaunchConfiguration(name).perform(context))

        # Now, since a launch file that includes several may give each other arguments.
        contract = _contract(context)
        self._declaring_time = declaring_time(contract)
        respawn = given('respawn') == 'true'
        for spec in boundary_nodes(
            contract,
            {'contract': given('contract'), 'pacing': given('pacing')},
            run=Path(given('run')) if given('record') == 'true' else None,
            robot=self._robot,
            services=given('services') == 'true',
        ):
            parameters: list[Any] = []
            if spec.name == 'simulated_robot':
                parameters.append(ParameterFile(given('simulated_robot_params')))
            elif spec.name == 'gazebo_bridge':
                parameters.append({'transport': given('transport')})
            elif spec.name == 'recorder':
                parameters.append({'max_bag_size': int(given('max_bag_size'))})
            # A text stays one, whatever YAML would read in it.
            own = {k: ParameterValue(v, value_type=type(v)) for k, v in spec.parameters.items()}
            node = LifecycleNode(
                package=_PACKAGE,
                executable=spec.name,
                name=spec.name,
                namespace=[given('namespace'), f'/{spec.agent}' if spec.agent else ''],
                parameters=[*parameters, own],
                ros_arguments=['--log-level', given('log_level')],
                output='screen',
                respawn=respawn and spec.name in _RESPAWNED,
                respawn_delay=_RESPAWN_DELAY,
                respawn_max_retries=_MOST_RESPAWNS,
            )
            self._places[node] = spec.place
            self._respawns[spec.place] = _MOST_RESPAWNS * (respawn and spec.name in _RESPAWNED)
        self._lives = dict.fromkeys(self._respawns, 0)
        watch = [
            RegisterEventHandler(handler)
            for node in self._places
            for handler in (
                OnProcessStart(target_action=node, on_start=self._on_start),
                OnProcessExit(target_action=node, on_exit=self._on_exit),
            )
        ]
        return [*watch, *self._places]

    def _on_start(self, event: Any, context: LaunchContext) -> None:
        self._lives[self._places[event.action]] += 1
        self._run(context, self._bring_up(context, event.action))

    def _on_exit(self, event: Any, context: LaunchContext) -> None:
        place = self._places[event.action]
        if self._way is not None:
            self._way.lost(place)
        if self._lives[place] > self._respawns[place] and not context.is_shutdown:
            self._run(context, self._end_without(context, event.action.node_name))

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

    async def _end_without(self, context: LaunchContext, name: str) -> None:
        seconds = self._declaring_time
        self._log.error(f'{name} is lost; the launch ends in {seconds:g} s')
        end = time.monotonic() + seconds
        while not context.is_shutdown and time.monotonic() < end:
            await asyncio.sleep(_POLL)
        if not context.is_shutdown:
            raise BoundaryError(f'{name} ended (expected it to run).')

    async def _bring_up(self, context: LaunchContext, node: LifecycleNode) -> None:
        place, name = self._places[node], node.node_name
        if self._way is None:
            self._way = WayUp(get_ros_node(context), self._lives, _PATIENCE)
        life = self._lives[place]
        # A gate cannot know whether its predecessor was stopped by an emergency stop.
        latch = 'emergency_stop' if life > 1 and place.endswith('safety_gate') else ''
        way = self._way.of(place, name=name, latch=latch)
        with closing(way):
            for _ in way:
                await asyncio.sleep(_POLL)
                if context.is_shutdown or self._lives[place] != life:
                    return
        if latch:
            self._log.warning(
                f'{name} was started again: it keeps the robot stopped until '
                f'`ros2 service call {name}/clear_{latch} std_srvs/srv/Trigger`'
            )
        if self._way.done:
            self._log.info(f'active: {", ".join(each.node_name for each in self._places)}')
