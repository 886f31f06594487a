# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A world of real processes over real DDS, and a probe that hears what they say to each other."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import dataclass
import math
import os
from pathlib import Path
import signal
import socket
import threading
import time
from typing import Any
import uuid

from lifecycle_msgs.srv import GetState
import numpy as np
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_srvs.srv import Trigger
import yaml

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.decision import GateDecision, GateState
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE
from boundary_env_ros.ros.conversions import from_msg, message_class
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.key_file import key_file
from boundary_env_ros.ros.processes import (
    isolated_environment,
    NodeProcess,
    NodeSpec,
    running,
)
from boundary_env_ros.storage.contract_file import load, LoadedContract
from boundary_env_ros.storage.record_reader import open_records

DOMAINS = range(91, 100)
"""Domains of these tests, one for each world of each test worker."""

MARK = 'BOUNDARY_ENV_TEST_RUN'
"""Variable that every process which a test starts inherits, so that none is overlooked."""

PATIENT: Mapping[str, Any] = {
    'observation': {name: {'max_age': 3.0} for name in ('pose', 'velocity', 'scan', 'front')},
    'safety': {
        'max_action_age': 3.0,
        'robot_timeout': 3.0,
        'gate_timeout': 3.0,
        'recorder_timeout': 8.0,
        'environment_timeout': 3.0,
        'policy_timeout': 8.0,
        'gate_lateness': 3.0,
        'clock_jump': 3.0,
    },
}
"""A contract for what is not about time: a machine that is busy otherwise changes nothing."""

_FEW_PICTURES: Mapping[str, float] = {'camera_rate': 2.0}
"""For a robot in realtime whose pictures may be old: to draw them is most of its work."""

NOISE = 0.1
"""
Seconds that a process which has to act may wait for a core: this is no real-time machine.

They are added to a bound once for every process that must act on the way.
"""

SENT_AGAIN = 8.0
"""Seconds after which a recorder that goes on has what got lost on its way to it, if its sender
lives: Fast DDS says every 3 s what there was."""

CYCLONE_DDS = 'cyclonedds' in rclpy.get_rmw_implementation_identifier()
"""Whether it is the middleware; it differs from Fast DDS in what doc/install.md says."""

_POLL = 0.01

_REPEATABLE = (
    GetParameters,
    GetState,
    srv.EndEpisode,
    srv.Observe,
    srv.EvaluateActions,
    srv.OperatorCall,
    srv.Spaces,
    SetParameters,
    SetParametersAtomically,
    Trigger,
)

SOON = 30.0
"""Seconds in which what is bound to happen has happened, however busy the machine is."""

_READY = 60.0
"""Seconds for processes to come up; on a machine with a free core it takes three."""


# Waiting ---------------------------------------------------------------------------------------


class NeverHappened(AssertionError):
    """
    What was waited for did not come.

    Attributes
    ----------
    seconds
        How long the test waited.

    """

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f'Expect within {seconds:g} s: {what}; it did not happen.')
        self.seconds = seconds


def wait_until(
    condition: Callable[[], object], seconds: float, what: str | Callable[[], str]
) -> None:
    """Wait for a condition, looked at again and again; fail at the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NeverHappened(what if isinstance(what, str) else what(), seconds)
        time.sleep(_POLL)


# Who is alone on this machine -------------------------------------------------------------------


@contextmanager
def reserved_domain() -> Iterator[int]:
    """Reserve a domain: a name in the kernel that goes with this process, and leaves no file."""
    for domain in DOMAINS:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
            try:
                lock.bind(f'\0boundary_env_ros_test_domain_{domain}')
            except OSError:
                continue
            if ports_in_use(domain):
                continue
            # A key that an earlier boundary left would be found by nodes that have none.
            key_file(domain).unlink(missing_ok=True)
            try:
                yield domain
            finally:
                key_file(domain).unlink(missing_ok=True)
            return
    raise RuntimeError(f'Expect a free domain in {DOMAINS}, actually: none.')


def ports_in_use(domain: int) -> set[int]:
    """Return the UDP ports of a domain that somebody holds (DDSI-RTPS 9.6.1.1)."""
    first = 7400 + 250 * domain
    lines = Path('/proc/net/udp').read_text().splitlines()[1:]
    ports = {int(line.split()[1].rpartition(':')[2], 16) for line in lines}
    return {port for port in ports if first <= port < first + 250}


def ports_of(processes: Iterable[int], domain: int) -> set[int]:
    """Return the ports of a domain that processes hold; others may be on it later on."""
    sockets = set()
    for number in processes:
        for entry in Path(f'/proc/{number}/fd').iterdir():
            with suppress(OSError):  # closed meanwhile
                sockets.add(str(entry.readlink()))
    lines = [line.split() for line in Path('/proc/net/udp').read_text().splitlines()[1:]]
    held = {
        int(fields[1].rpartition(':')[2], 16)
        for fields in lines
        if f'socket:[{fields[9]}]' in sockets
    }
    return held & ports_in_use(domain)


def processes_of(run: str, mark: str = MARK) -> dict[int, str]:
    """Return command lines of all other processes that inherited such a mark, by id."""
    found = {}
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if f'{mark}={run}'.encode() in (entry / 'environ').read_bytes().split(b'\0'):
                found[int(entry.name)] = (
                    (entry / 'cmdline').read_bytes().decode().replace('\0', ' ')
                )
        except OSError:
            continue
    # A zombie has neither environment nor command line; it is waited for by whoever started it.
    return found


def shared_memory_of(processes: list[int]) -> set[str]:
    """Return what processes have mapped of ``/dev/shm``."""
    found = set()
    for number in processes:
        for line in Path(f'/proc/{number}/maps').read_text().splitlines():
            _, _, name = line.partition('/dev/shm/')
            if name:
                found.add(name)
    return found


# The probe --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heard:
    """A message, and the probe's own steady clock when it had it, ns."""

    steady: int
    message: Any


class Probe:
    """
    A node of the test's own that listens, asks and, where a test wants it, interferes.

    Parameters
    ----------
    domain_id, namespace
        Where it stands.

    """

    def __init__(self, domain_id: int, namespace: str = '') -> None:
        self._context = Context()
        rclpy.init(
            context=self._context,
            domain_id=domain_id,
            signal_handler_options=rclpy.signals.SignalHandlerOptions.NO,
        )
        self.node = rclpy.create_node(
            f'probe_{uuid.uuid4().hex[:8]}', namespace=namespace or None, context=self._context
        )
        #: As a policy or a person has it who belongs to the boundary.
        self.authenticity = Authenticity(domain_id, Role.CLIENT)
        self._heard: dict[str, list[Heard]] = {}
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._open = True
        self._thread = threading.Thread(target=self._spin, name='probe')
        self._thread.start()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            while self._open:
                # A test destroyed what the executor was about to look at (rclpy#1644).
                with suppress(InvalidHandle):
                    self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        """Let go of context and thread."""
        self._open = False
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def subscribe(self, topic: str, kind: Any, qos: Any) -> None:
        """Keep every message of a topic from now on."""
        heard = self._heard.setdefault(topic, [])

        def on_message(message: Any) -> None:
            steady = time.monotonic_ns()
            heard.append(Heard(steady, message))

        self.node.create_subscription(kind, topic, on_message, qos)

    def be_found(self, nodes: Iterable[str]) -> None:
        """
        Wait until nodes send this one what it has subscribed to: what came before is lost.

        Each is asked by a younger client, and has found what is older once it answers that.
        """
        for node in nodes:
            self.call(GetParameters, f'{node}/get_parameters', GetParameters.Request())

    def heard(self, topic: str, since: int = 0) -> list[Heard]:
        """Return what came on a topic after an instant of the steady clock, ns."""
        heard = self._heard[topic]
        # In order of time, and appended to by the other thread only.
        return heard[bisect_right(heard, since, key=lambda h: h.steady) :]

    def messages(self, topic: str, since: int = 0) -> list[Any]:
        """Return the messages of :meth:`heard`."""
        return [h.message for h in self.heard(topic, since)]

    def last(self, topic: str) -> Any | None:
        """Return the last message of a topic; None if there was none."""
        heard = self._heard[topic]
        return heard[-1].message if heard else None

    def until(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        """Wait for a condition, looked at again and again; fail at the deadline."""
        wait_until(condition, seconds, what)

    def call(
        self, kind: Any, service: str, request: Any, seconds: float = SOON, *, once: bool = False
    ) -> Any:
        """
        Call a service and return its answer.

        Of what may be asked twice no answer is lost: see
        :mod:`boundary_env_ros.ros.call_with_retry`. Of all else neither: a node that has told a
        younger client its parameters has found this one, too.
        """
        made = self.node.create_client(kind, service)
        own = kind in (srv.Arm, srv.OperatorCall)
        client = self.authenticity.client(made) if own else made
        again = SIGN_OF_LIFE if kind in _REPEATABLE and not once else math.inf
        try:
            if math.isinf(again):
                self.be_found([service.rpartition('/')[0]])
            self.until(client.service_is_ready, seconds, f'the service {service}')
            answer = ask(client, request, until=time.monotonic() + seconds, patience=again)
            assert answer is not None, f'Expect an answer of {service} within {seconds:g} s.'
            return answer
        finally:
            self.node.destroy_client(made)

    @contextmanager
    def publisher(self, kind: Any, topic: str, qos: Any, readers: int = 1) -> Iterator[Any]:
        """Publish on a topic, once somebody has been found there who listens."""
        # Without events: the executor may be about to look at one when it is destroyed.
        events = PublisherEventCallbacks(use_default_callbacks=False)
        made = self.node.create_publisher(kind, topic, qos, event_callbacks=events)
        try:
            self.until(
                lambda: made.get_subscription_count() >= readers,
                SOON,
                f'{readers} listeners on {topic}',
            )
            yield self.authenticity.publisher(made)
        finally:
            self.node.destroy_publisher(made)


def drain(probe: Probe, run: Path, topics: Iterable[str]) -> None:
    """
    Let a recorder catch up: wait until it has written what the probe has heard on these topics.

    What a sender that was killed had not sent again never comes, and is not waited for for long
    once nothing else comes either.
    """
    heard = {probe.node.resolve_topic_name(topic): len(probe.heard(topic)) for topic in topics}
    before: Counter[str] = Counter()
    deadline = time.monotonic() + SENT_AGAIN
    while time.monotonic() < deadline:
        written = Counter(message.topic for message in open_records(run).messages(set(heard)))
        if all(written[topic] >= count for topic, count in heard.items()):
            return
        if written != before:
            before, deadline = written, time.monotonic() + SENT_AGAIN
        time.sleep(0.2)


# The world --------------------------------------------------------------------------------------


class World:
    """
    Nodes as processes of their own under one contract, with a probe.

    Parameters
    ----------
    folder
        For contract, logs and records.
    domain_id
        Reserved domain.
    pacing
        ``realtime`` or ``lockstep``.
    namespace
        Namespace of the nodes.
    recorder
        Whether a recorder runs, and is required.
    services
        Whether the services of the conversation are served, or parameters of the node that does.
    robot, gate
        Parameters of the simulated robot, and of the gate.
    changes
        Sections of the shipped contract that are different here.
    contract
        Name of that contract.
    one_process
        Whether the nodes share a process.

    """

    def __init__(
        self,
        folder: Path,
        domain_id: int,
        *,
        pacing: str = 'realtime',
        namespace: str = '',
        recorder: bool = False,
        services: bool | Mapping[str, str] = False,
        robot: Mapping[str, float] | None = None,
        gate: Mapping[str, str | float | bool] | None = None,
        changes: Mapping[str, Any] | None = None,
        contract: str = 'warehouse_cart',
        one_process: bool = False,
    ) -> None:
        self._one_process = one_process
        self.folder, self.domain_id, self.pacing, self.namespace = (
            folder,
            domain_id,
            pacing,
            namespace,
        )
        self.run = folder / 'run'
        self.file = write_contract(
            folder / 'contract.yaml',
            {'recorder': {'required': recorder}, **(changes or {})},
            contract,
        )
        self.loaded: LoadedContract = BoundaryEnv(self.file, pacing=pacing)._loaded
        common: dict[str, str | float | bool] = {'contract': str(self.file), 'pacing': pacing}
        old = [f.max_age or 0.0 for f in self.loaded.contract.observation if f.name == 'front']
        few = _FEW_PICTURES if pacing == 'realtime' and old and old[0] >= 3.0 else {}
        self._specs = {
            'simulated_robot': {**common, **few, **(robot or {})},
            'safety_gate': {**common, **(gate or {})},
            'environment': common,
        }
        if recorder:
            self._specs['recorder'] = {**common, 'run': str(self.run)}
        if services:
            own = services if isinstance(services, Mapping) else {}
            self._specs['policy_server'] = {**common, **own}
        self._stack = ExitStack()
        self.processes: dict[str, NodeProcess] = {}
        self._envs: list[BoundaryEnv] = []

    def __enter__(self) -> World:
        with self._stack:
            self.processes = self._stack.enter_context(
                running(
                    [NodeSpec(name=name, parameters=p) for name, p in self._specs.items()],
                    domain_id=self.domain_id,
                    logs=self.folder / 'logs',
                    namespace=self.namespace,
                    timeout=_READY,
                    one_process=self._one_process,
                )
            )
            self.probe = Probe(self.domain_id, self.namespace)
            self._stack.callback(self.probe.close)
            self._stack.callback(self.close_environments)
            self._listen()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            # What a test stopped could not obey.
            process.send(signal.SIGCONT)
        self._stack.close()

    def _listen(self) -> None:
        contract, probe = self.loaded.contract, self.probe
        group = contract.action[0]
        truth = next(f for f in contract.privileged if f.name == 'true_pose')
        for topic, kind, qos in (
            (truth.topic, message_class(truth.type), names.SENSOR_LOCKSTEP),
            (group.topic, message_class(group.type), names.RECORD),
            (group.feedback.topic, message_class(group.feedback.type), names.SENSOR_LOCKSTEP),
            (names.GATE_DECISION, msg.GateDecision, names.RECORD),
            (names.TRANSITION, msg.Transition, names.RECORD),
            (names.PRIVILEGED_OBSERVATION, msg.PrivilegedObservation, names.RECORD),
            (names.ACTUATION_EVIDENCE, msg.ActuationEvidence, names.RECORD),
            (names.GATE_STATUS, msg.GateStatus, names.LATCHED),
            (names.EPISODE_STATUS, msg.EpisodeStatus, names.LATCHED_MANY),
            (names.RECORDER_STATUS, msg.RecorderStatus, names.LATCHED),
        ):
            probe.subscribe(topic, kind, qos)
        probe.be_found(self.processes)
        probe.until(lambda: self.gate_state() is not None, SOON, 'the state of the gate')

    # Facades ------------------------------------------------------------------------------------

    def environment(self, **arguments: Any) -> BoundaryEnv:
        """Return a facade on this world, closed with it."""
        made = BoundaryEnv(
            self.file,
            world='ros',
            pacing=self.pacing,
            **{
                'domain_id': self.domain_id,
                'namespace': self.namespace,
                'startup_timeout': SOON,
                **arguments,
            },
        )
        self._envs.append(made)
        return made

    def close_environments(self) -> None:
        """Close every facade that was handed out."""
        while self._envs:
            self._envs.pop().close()

    def end_episode(self) -> None:
        """End the episode that a test may have left running, whoever its client is."""
        status = self.probe.last(names.EPISODE_STATUS)
        if status is None or EpisodeState(status.state) not in (
            EpisodeState.RESETTING,
            EpisodeState.RUNNING,
        ):
            return
        request = srv.EndEpisode.Request(
            digest=self.loaded.digest,
            episode_id=status.id.episode_id,
            client='test',
            ending='abandoned',
        )
        self.probe.call(srv.EndEpisode, names.END_EPISODE, request)
        self.gate_rests()

    def drain(self) -> None:
        """End the episode, and let the recorder catch up."""
        self.end_episode()
        topics = (
            names.GATE_DECISION,
            names.TRANSITION,
            names.PRIVILEGED_OBSERVATION,
        )
        drain(self.probe, self.run, (*topics, names.ACTUATION_EVIDENCE, self.command_topic))

    # Processes ----------------------------------------------------------------------------------

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to a node; return the steady clock just before, ns."""
        before = time.monotonic_ns()
        self.processes[name].send(number)
        return before

    def revive(self, **robot: float) -> None:
        """Start again whatever died; with arguments, the robot too, with these parameters."""
        if robot:
            self.processes['simulated_robot'].stop()
            self._specs['simulated_robot'] = {**self._specs['simulated_robot'], **robot}
        dead = [name for name, process in self.processes.items() if not process.alive]
        for name in dead:
            old = self.processes[name]
            old.process.wait()
            self.processes[name] = NodeProcess(
                NodeSpec(name=name, parameters=self._parameters(name)),
                environment=isolated_environment(self.domain_id),
                log=old.log,
                namespace=self.namespace,
            )
        bring_up = BringUp(domain_id=self.domain_id, namespace=self.namespace)
        try:
            bring_up.run([self.processes[name] for name in dead], _READY)
        finally:
            bring_up.close()

    def _parameters(self, name: str) -> Mapping[str, Any]:
        if name == 'recorder':
            # It refuses to write over the run before.
            self.run = self.folder / f'run-{uuid.uuid4().hex[:8]}'
            return {**self._specs[name], 'run': str(self.run)}
        return self._specs[name]

    # What the probe heard -----------------------------------------------------------------------

    @property
    def command_topic(self) -> str:
        """Relative name of the command topic."""
        return self.loaded.contract.action[0].topic

    def gate_state(self) -> GateState | None:
        """Return the state that the gate said last."""
        status = self.probe.last(names.GATE_STATUS)
        return None if status is None else GateState(status.state)

    def gate_rests(self) -> None:
        """Wait until the gate has braked and forgotten its last lease."""
        self.probe.until(
            lambda: self.gate_state() is GateState.DISARMED, SOON, 'a gate that nobody holds'
        )

    def decisions(self, since: int = 0) -> list[GateDecision]:
        """Return the decisions that the probe had after an instant."""
        return [from_msg(GateDecision, m) for m in self.probe.messages(names.GATE_DECISION, since)]

    def clears(self) -> bool:
        """Have the emergency stop released; return whether it was."""
        return not self.operator_call('clear_emergency_stop').code

    def operator_call(self, service: str) -> Any:
        """Ask the gate for what needs the key; return the result."""
        request = srv.OperatorCall.Request(caller='ada')
        return self.probe.call(srv.OperatorCall, f'safety_gate/{service}', request).result

    def commands(self, since: int = 0) -> list[tuple[int, tuple[float, float]]]:
        """Return every command on the wire after an instant: its stamp in ns, and its values."""
        return [
            (stamp_of(m.header), (m.twist.linear.x, m.twist.angular.z))
            for m in self.probe.messages(self.command_topic, since)
        ]

    def motion(self, since: int = 0) -> list[tuple[int, float, float]]:
        """
        Return (captured, true speed in m/s, true yaw rate in rad/s) from an instant on.

        The robot stamps the capture on the system clock of this host; here it is told on the
        steady clock, ns, so that the way from the robot to the test does not count.
        """
        to_steady = time.monotonic_ns() - time.time_ns()
        return [
            (captured, abs(m.twist.twist.linear.x), abs(m.twist.twist.angular.z))
            for m in self.probe.messages('ground_truth', since)  # what came earlier is older
            if (captured := stamp_of(m.header) + to_steady) > since
        ]

    def speed(self) -> float:
        """Return the true speed of the cart, m/s."""
        return abs(float(self.probe.last('ground_truth').twist.twist.linear.x))


def stamp_of(header: Any) -> int:
    """Return the stamp of a header, ns."""
    nanoseconds: int = header.stamp.sec * NANOSECONDS + header.stamp.nanosec
    return nanoseconds


def write_contract(path: Path, changes: Mapping[str, Any], base: str = 'warehouse_cart') -> Path:
    """Write a shipped contract, with sections or parts of them changed (None: left out)."""
    data = yaml.safe_load(share_file(f'config/{base}.yaml').read_text(encoding='utf-8'))
    _update(data, changes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    load(path)
    return path


def _update(data: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(data.get(key), dict):
            _update(data[key], value)
        elif value is None:
            data.pop(key, None)
        else:
            data[key] = value


def seek_goal(observation: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return an action towards the goal, faster than the contract allows."""
    x, y, yaw = observation['pose']
    goal_x, goal_y = observation['goal']
    error = np.arctan2(goal_y - y, goal_x - x) - yaw
    error = np.arctan2(np.sin(error), np.cos(error))
    return np.array([1.2 * max(0.0, np.cos(error)), 3.0 * error], dtype=np.float32)
