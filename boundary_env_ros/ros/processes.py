# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Nodes as processes of their own: starting, bringing up, watching and stopping them.

For the demo, tests and programs that want a world of their own; on a robot, ``ros2 launch`` does
this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from importlib.metadata import version
import os
from pathlib import Path
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

import rclpy

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.ros import enclaves
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.clock import HOST
from boundary_env_ros.ros.contract_node import catch_ends, PARENT
from boundary_env_ros.ros.key_file import key_file, make_key, read_key


@frozen
class NodeSpec:
    """
    A node to be started.

    Attributes
    ----------
    name
        Name of the node and of its module in ``boundary_env_ros.ros.nodes``.
    parameters
        Its parameters.
    module
        Module to run instead of the one of that name.
    agent
        Agent in the namespace of whose name the node stands; empty: it serves all.

    """

    name: str
    parameters: Mapping[str, str | float | bool]
    module: str = ''
    agent: str = ''

    @property
    def place(self) -> str:
        """Name of the node within the namespace of the boundary."""
        return f'{self.agent}/{self.name}' if self.agent else self.name

    def arguments(self, namespace: str) -> list[str]:
        """Return its arguments of ROS in the namespace of a boundary."""
        parameters = [
            part
            for key, value in self.parameters.items()
            for part in ('-p', f'{key}:={_text(value)}')
        ]
        parts = [part for part in (namespace.strip('/'), self.agent) if part]
        remaps = ['-r', f'__ns:=/{"/".join(parts)}'] if parts else []
        enclave = [enclaves.ARGUMENT, enclaves.enclave_of(self.place, namespace)]
        return ['--ros-args', *parameters, *remaps, *enclave]


def gates(
    contract: Contract, parameters: Mapping[str, str | float | bool]
) -> tuple[NodeSpec, ...]:
    """Return the ``safety_gate`` of each agent of a contract, with these parameters."""
    if len(contract.agents) == 1:
        return (NodeSpec(name='safety_gate', parameters=parameters),)
    return tuple(
        NodeSpec(name='safety_gate', parameters={**parameters, 'agent': agent}, agent=agent)
        for agent in contract.agents
    )


#: What runs on each of two machines; the robot's has the driver besides.
SIDES = {
    'robot': ('recorder', 'simulated_robot', 'gazebo_bridge', 'safety_gate'),
    'policy': ('environment', 'policy_server'),
}


def require_side(on: str, contract: Contract, domain: int, requested: Sequence[str] = ()) -> None:
    """
    Refuse to start one of two machines without what both have to share.

    Parameters
    ----------
    on
        The machine; empty: there is one.
    contract, domain
        Of the boundary.
    requested
        Names of what the other machine would have to do.

    Raises
    ------
    BoundaryError
        If the contract does not name the robot's host, or names this one on the policy's machine,
        which has no key, or if anything is asked for that is the other's.

    """
    if on and requested:
        raise BoundaryError(
            f'What is asked for is not on this machine (expected no {", ".join(requested)} with '
            f'`on` {on}). Ask for it where its node runs.'
        )
    if on and not contract.robot_host:
        raise BoundaryError(
            "The contract does not say whose clock stamps the sensors (expected the robot's host "
            "in robot.host, since the boundary is on two machines, got '')."
            f'{f" This is {HOST}." if on == "robot" else ""}'
        )
    if on == 'policy' and contract.robot_host == HOST:
        raise BoundaryError(
            f'This machine has the name of the robot (expected another, got {HOST}, as robot.host '
            'says): their clocks would be taken for one. Rename one of them, or start both sides '
            'here without `on`.'
        )
    key = key_file(domain)
    if on == 'policy' and read_key(key) is None:
        raise BoundaryError(
            f"There is no key here (expected that of the robot's machine in {key}). Start the "
            'other side first, and copy its key here, with its mode.'
        )


def boundary_nodes(
    contract: Contract,
    parameters: Mapping[str, str | float | bool],
    *,
    run: Path | None,
    robot: str = '',
    services: bool = False,
    websocket: str = '',
    origins: str = '',
    probe: bool = False,
    command_domain: int | None = None,
    on: str = '',
) -> tuple[NodeSpec, ...]:
    """
    Return the nodes of a boundary, in the order in which they are brought up.

    Parameters
    ----------
    contract
        The contract.
    parameters
        What all nodes take: contract and pacing.
    run
        Folder of the record; None: there is no recorder.
    robot
        The node that is the robot, ``simulated_robot``; empty: its drivers are started elsewhere.
    services
        Whether the conversation is served to any ROS client.
    websocket, origins
        Parameters of the node that serves it; with the first it is served in any case.
    probe
        Whether the gate measures the timeouts of the drivers first: the robot moves.
    command_domain
        ROS domain of the command topics, for gate and robot; None: that of all nodes.
    on
        One of :data:`SIDES`, for what is of that machine alone; empty: everything.

    """
    server = NodeSpec(
        name='policy_server',
        parameters={**parameters, 'websocket': websocket, 'origins': origins},
    )
    commands = {} if command_domain is None else {'command_domain': command_domain}
    of_robot = {**parameters, **commands}
    of_gate = {**of_robot, 'probe_on_activation': True} if probe else of_robot
    recorder = NodeSpec(name='recorder', parameters={**parameters, 'run': str(run)})
    nodes = (
        *((recorder,) if run is not None else ()),
        *((NodeSpec(name=robot, parameters=of_robot),) if robot else ()),
        *gates(contract, of_gate),
        NodeSpec(name='environment', parameters=parameters),
        *((server,) if services or websocket else ()),
    )
    return tuple(node for node in nodes if not on or node.name in SIDES[on])


#: Where Fast DDS looks for its profile. Version 3 (Kilted, rclpy 9) warns of the name before it.
PROFILES_FILE = (
    'FASTDDS_DEFAULT_PROFILES_FILE'
    if int(version('rclpy').partition('.')[0]) >= 9
    else 'FASTRTPS_DEFAULT_PROFILES_FILE'
)

_CYCLONE_LOOPBACK = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo"/></Interfaces></General>'
    '</Domain></CycloneDDS>'
)


def isolated_environment(domain_id: int) -> dict[str, str]:
    """
    Return the variables under which nodes of one machine find each other alone.

    With Fast DDS messages go over UDP on the loopback: shared memory would leave files behind when
    a process is killed. Its profile must not be mixed with a discovery range, which would bring
    its own transports. A discovery range alone binds Cyclone DDS to no interface.
    """
    fast_dds = 'fastrtps' in rclpy.get_rmw_implementation_identifier()
    profile = str(Path(__file__).with_name('loopback.xml'))
    return {
        'ROS_DOMAIN_ID': str(domain_id),
        'ROS_LOCALHOST_ONLY': '',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT' if fast_dds else 'LOCALHOST',
        PROFILES_FILE: profile,
        'CYCLONEDDS_URI': _CYCLONE_LOOPBACK,
    }


class NodeProcess:
    """
    One node, or several, in a process and a process group of their own.

    It ends when this process dies, however that happens.

    Parameters
    ----------
    spec
        What to start.
    beside
        What else is started in the same process; see :meth:`of`.
    environment
        Variables to set on top of those of this process.
    log
        File that its output goes to.
    namespace
        Namespace of the node.
    outlives
        Whether it goes on when this process dies.

    """

    def __init__(
        self,
        spec: NodeSpec,
        *beside: NodeSpec,
        environment: Mapping[str, str],
        log: Path,
        namespace: str = '',
        outlives: bool = False,
    ) -> None:
        self.spec = spec
        self.log = log
        self._nodes = 1 + len(beside)
        module = spec.module or f'boundary_env_ros.ros.nodes.{spec.name}'
        command = [module, *spec.arguments(namespace)]
        if beside:
            command = ['boundary_env_ros.ros.one_process']
            for each in (spec, *beside):
                command += [each.name, *each.arguments(namespace), '--']
        with log.open('ab') as output:
            self.process = subprocess.Popen(
                [sys.executable, '-m', *command],
                env={
                    **os.environ,
                    **environment,
                    PARENT: '' if outlives else str(os.getpid()),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is for the parent, who ends its nodes in order.
                start_new_session=True,
            )

    def of(self, spec: NodeSpec) -> NodeProcess:
        """Return the same process as that of another node in it."""
        other = copy(self)
        other.spec = spec
        return other

    @property
    def place(self) -> str:
        """Name of the node within the namespace of the boundary."""
        return self.spec.place

    @property
    def exit_code(self) -> int | None:
        """Exit code of the process; None while it runs."""
        return self.process.poll()

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self.exit_code is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        if self.alive:
            self.process.send_signal(number)

    def stop(self, grace: float = 5.0) -> int:
        """
        End the process and return its exit code.

        SIGTERM first, which a node takes as it does SIGINT, and of which Python says nothing while
        it still imports; SIGKILL after the grace time of each node.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.send(number)
            try:
                return self.process.wait(grace * self._nodes)
            except subprocess.TimeoutExpired:
                continue
        return self.process.wait()

    def last_output(self, lines: int = 15) -> str:
        """Return the end of its output, for error messages."""
        if not self.log.exists():
            return ''
        return '\n'.join(self.log.read_text(errors='replace').splitlines()[-lines:])


def _text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # YAML reads a bare word of digits as a number, and an empty one as nothing.
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _groups(specs: Sequence[NodeSpec], one_process: bool) -> list[list[NodeSpec]]:
    """Return which nodes share a process: none with one whose callbacks wait for the others."""
    alone = [[spec] for spec in specs if not one_process or spec.name == 'policy_server']
    together = [spec for spec in specs if [spec] not in alone]
    return [together, *alone] if together else alone


@contextmanager
def running(
    specs: Sequence[NodeSpec],
    *,
    domain_id: int,
    logs: Path,
    namespace: str = '',
    timeout: float = 30.0,
    isolated: bool = True,
    one_process: bool = False,
    raise_if_interrupted: Callable[[], None] = lambda: None,
) -> Iterator[dict[str, NodeProcess]]:
    """
    Run nodes as processes, active, and stop them at the end whatever happens.

    Parameters
    ----------
    specs
        The nodes, in the order in which they are configured and activated; they are stopped in the
        opposite order.
    domain_id
        ROS domain, which should have no other nodes.
    logs
        Folder for their output, one file each.
    timeout
        Seconds for all of them to become active.
    isolated
        Whether they find none on other machines, and end when this process dies. Neither is for
        the nodes of a robot.
    one_process
        Whether all run in one process but those that wait for the others in their callbacks.
    raise_if_interrupted
        Called while they come up, to raise what ends that; see :func:`interrupts`.

    Yields
    ------
    dict
        The processes, by :attr:`NodeSpec.place`.

    """
    environment = (
        isolated_environment(domain_id) if isolated else {'ROS_DOMAIN_ID': str(domain_id)}
    )
    # Each participant has an enclave of its own, whatever that of this process is.
    environment[enclaves.OVERRIDE] = ''
    logs.mkdir(parents=True, exist_ok=True)
    processes: dict[str, NodeProcess] = {}
    # It stays: whoever found it meanwhile goes by it.
    make_key(key_file(domain_id))
    previous = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        for group in _groups(specs, one_process):
            name = group[0].place.replace('/', '.') if len(group) == 1 else 'nodes'
            process = NodeProcess(
                *group,
                environment=environment,
                log=logs / f'{name}.log',
                namespace=namespace,
                outlives=not isolated,
            )
            processes |= {spec.place: process.of(spec) for spec in group}
        with BringUp(
            domain_id=domain_id, namespace=namespace, raise_if_interrupted=raise_if_interrupted
        ) as bring_up:
            bring_up.run(list(processes.values()), timeout)
        yield processes
    finally:
        for process in reversed(list(processes.values())):
            process.stop()
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def recorded(
    specs: Sequence[NodeSpec], run: Path | None, **arguments: Any
) -> Iterator[dict[str, NodeProcess]]:
    """
    Run nodes, and leave their logs in the folder of the record, if there is one.

    Parameters
    ----------
    specs, arguments
        As :func:`running` takes them.
    run
        The folder, which the recorder makes.

    """
    with tempfile.TemporaryDirectory(prefix='boundary_env_') as scratch:
        logs = Path(scratch) / 'logs'
        try:
            with running(specs, logs=logs, **arguments) as processes:
                yield processes
        finally:
            if run is not None and run.exists() and logs.exists():
                shutil.copytree(logs, run / 'logs', dirs_exist_ok=True)


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """
    Catch SIGINT, SIGTERM and SIGHUP, and yield what raises a ``KeyboardInterrupt`` if one came.

    Python raises one wherever the program is: in a destructor, which drops it, or after a lock was
    taken and before what releases it, on which cleaning up would then wait. Under ``nohup`` SIGHUP
    stays ignored. Beside the main thread, which alone signals reach, nothing changes.

    Yields
    ------
    callable
        To be called in every wait; raises if one of these signals came since.

    """
    caught: list[int] = []

    def raise_if_interrupted() -> None:
        if caught:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield raise_if_interrupted
        return
    previous = catch_ends(lambda received, _: caught.append(received))
    try:
        yield raise_if_interrupted
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def next_commands(run: Path) -> str:
    """Return what to do with a record, as it can be typed here: `make` has a PATH of its own."""
    called = Path(sys.argv[0])
    found = None if 'MAKELEVEL' in os.environ else shutil.which('boundary-env')
    on_path = found is not None and Path(found).resolve() == called.resolve()
    by_path = called.name == 'boundary-env' and not on_path
    command = shlex.quote(os.path.relpath(called)) if by_path else 'boundary-env'
    shown = shlex.quote(os.path.relpath(run))
    check = f'Check it: {command} audit {shown}'
    if (run / 'report.html').exists():
        return f'{check}\nPage: {shown}/report.html'
    return f'{check}\nExplain it: {command} report {shown} -o {shown}/report.html'
