# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files are made of: the nodes of a boundary, brought up together and ended together.

For launch files only: it needs ``launch_ros``, which the rest of the package does without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
import os
from pathlib import Path
import time
from types import MappingProxyType
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import Shutdown
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.ros_adapters import get_ros_adapter

from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros import enclaves
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.domain import own_domain
from boundary_env_ros.ros.key_file import key_file, make_key
from boundary_env_ros.ros.processes import boundary_nodes, require_side
from boundary_env_ros.storage.contract_file import load
from launch import Action, LaunchContext

_PACKAGE = 'boundary_env_ros'
_POLL = 0.05
# For all nodes to become active, s: importing a simulator on a busy machine takes long.
_PATIENCE = 120.0


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
            'websocket',
            default_value='',
            description='Address at which it is served over WebSocket, too: 127.0.0.1:8480.',
        ),
        DeclareLaunchArgument(
            'origins',
            default_value='',
            description='Origins of web pages that may call it there, with spaces between.',
        ),
        DeclareLaunchArgument(
            'command_domain',
            default_value='',
            description='ROS domain of the command topics, for gate and robot alone.',
        ),
        DeclareLaunchArgument(
            'on',
            default_value='',
            choices=['', 'robot', 'policy'],
            description='Of two machines the one whose nodes are started; empty: there is one.',
        ),
        DeclareLaunchArgument(
            'secure',
            default_value='false',
            choices=['true', 'false'],
            description='Start nothing unless the security of ROS 2 is enforced.',
        ),
        DeclareLaunchArgument(
            'log_level',
            default_value='info',
            choices=['debug', 'info', 'warn', 'error', 'fatal'],
            description='Least level that the nodes log.',
        ),
    ]


def _make_node_of_launch(context: LaunchContext, enclave: str) -> None:
    """Make the node that launch_ros has in this process: it would ask for no enclave itself."""
    override = os.environ.get(enclaves.OVERRIDE)
    os.environ[enclaves.OVERRIDE] = override or enclave
    try:
        get_ros_adapter(context)
    finally:
        os.environ[enclaves.OVERRIDE] = override or ''


class _Node:
    """A node that was launched, as it is brought up."""

    def __init__(self, action: LifecycleNode) -> None:
        self._action = action
        self.exit_code: int | None = None

    @property
    def place(self) -> str:
        """Its full name, which it has once it was started."""
        return str(self._action.node_name)

    def last_output(self) -> str:
        """Return nothing: its output is on the screen."""
        return ''


class Boundary(Action):
    """
    Starts the nodes of a boundary, brings them up, and ends with the first that is lost.

    Once a node is active, its lifecycle is the operator's. A node that refuses, or ends, ends the
    launch with exit code 1.

    Parameters
    ----------
    robot
        The node that is the robot, ``simulated_robot`` or ``gazebo_bridge``; empty: the drivers of
        the robot are started elsewhere.
    beside
        Processes that are no nodes of the boundary, but whose end is the end of the launch as
        well, by what they are called in the log.

    """

    def __init__(
        self, robot: str = '', beside: Mapping[str, ExecuteProcess] = MappingProxyType({})
    ) -> None:
        super().__init__()
        self._robot, self._beside = robot, beside
        self._nodes: dict[LifecycleNode, _Node] = {}
        self._started = 0
        self._namespace = ''
        self._declaring_time = 0.0
        self._ended = False
        self._log = get_logger('boundary')

    def execute(self, context: LaunchContext) -> list[Any]:
        """Start the nodes that the arguments ask for."""

        def argument(name: str) -> str:
            return str(LaunchConfiguration(name).perform(context))

        secure = argument('secure') == 'true'
        self._namespace = namespace = argument('namespace')
        if secure:
            enclaves.require_security()
        if enclaves.enabled():
            _make_node_of_launch(context, enclaves.enclave_of('bring_up', namespace))
        # Now, since a launch file that includes several may give each other arguments.
        contract = load(argument('contract'), argument('pacing') or None).contract
        self._declaring_time = declaring_time(contract)
        on = argument('on')
        of_other = {
            'robot': {'websocket': argument('websocket'), 'origins': argument('origins')},
            'policy': {'command_domain': argument('command_domain')},
        }
        requested = [f'{name}:={value}' for name, value in of_other.get(on, {}).items() if value]
        require_side(on, contract, own_domain(), requested)
        make_key(key_file(own_domain()))
        if on == 'policy':
            self._beside = {}
        for spec in boundary_nodes(
            contract,
            {'contract': argument('contract'), 'pacing': argument('pacing'), 'secure': secure},
            run=Path(argument('run')) if argument('record') == 'true' else None,
            robot=self._robot,
            services=argument('services') == 'true',
            websocket=argument('websocket'),
            origins=argument('origins'),
            command_domain=int(argument('command_domain')) if argument('command_domain') else None,
            on=on,
        ):
            parameters: list[Any] = []
            if spec.name == 'simulated_robot':
                parameters.append(ParameterFile(argument('simulated_robot_params')))
            elif spec.name == 'recorder':
                parameters.append({'max_bag_size': int(argument('max_bag_size'))})
            # A text stays one, whatever YAML would read in it.
            own = {k: ParameterValue(v, value_type=type(v)) for k, v in spec.parameters.items()}
            node = LifecycleNode(
                package=_PACKAGE,
                executable=spec.name,
                name=spec.name,
                namespace=[namespace, f'/{spec.agent}' if spec.agent else ''],
                parameters=[*parameters, own],
                ros_arguments=[
                    *('--log-level', argument('log_level')),
                    *(enclaves.ARGUMENT, enclaves.enclave_of(spec.place, namespace)),
                ],
                additional_env={enclaves.OVERRIDE: ''},
                output='screen',
            )
            self._nodes[node] = _Node(node)
        starts = [OnProcessStart(target_action=n, on_start=self._on_start) for n in self._nodes]
        ends = [
            OnProcessExit(target_action=process, on_exit=self._on_exit)
            for process in (*self._nodes, *self._beside.values())
        ]
        handlers = map(RegisterEventHandler, (*starts, *ends))
        return [*handlers, *self._beside.values(), *self._nodes]

    def _on_start(self, event: Any, context: LaunchContext) -> None:
        self._started += 1
        if self._started == len(self._nodes):
            self._run(context, self._bring_up())

    def _on_exit(self, event: Any, context: LaunchContext) -> None:
        node = self._nodes.get(event.action)
        if node is not None:
            node.exit_code = event.returncode
            self._run(context, self._end_without(context, node.place))
        else:
            (name,) = (n for n, process in self._beside.items() if process is event.action)
            self._run(context, self._end_without(context, name))

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
                # Makes the launch return 1, as an exception in an action of its own would.
                context.asyncio_loop.call_exception_handler({'message': str(error)})
                await context.emit_event(Shutdown(reason=str(error)))

        context.add_completion_future(context.asyncio_loop.create_task(guarded()))

    async def _end_without(self, context: LaunchContext, name: str) -> None:
        if context.is_shutdown:
            return
        seconds = self._declaring_time
        self._log.error(f'{name} is lost; the launch ends in {seconds:g} s')
        end = time.monotonic() + seconds
        while not context.is_shutdown and time.monotonic() < end:
            await asyncio.sleep(_POLL)
        if not context.is_shutdown:
            raise BoundaryError(f'{name} ended (expected it to run).')

    async def _bring_up(self) -> None:
        nodes = tuple(self._nodes.values())
        with BringUp(namespace=self._namespace) as bring_up:
            await asyncio.to_thread(bring_up.run, nodes, _PATIENCE)
        self._log.info(f'active: {", ".join(node.place for node in nodes)}')
