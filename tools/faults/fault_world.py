# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of a fault campaign: every party a process of its own, and a probe that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
from typing import Any
import uuid

from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.executors import STAMPS_AT_TAKE
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.processes import (
    isolated_environment,
    NodeProcess,
    NodeSpec,
    PROFILES_FILE,
)
from support.ros_world import Heard, Probe, World
from tools.faults.faulty_robot import APPLIED, FAULT
from tools.faults.two_hosts import HERE, REPOSITORY, TwoHosts

READY = 60.0
"""Seconds for processes to come up on a machine that is busy."""

TIME_LIMIT = 4.0
"""Of an episode, s: shorter than the shipped one, because some faults last to its end."""

_REMEMBERED = 200

_MARK = 'probe_mark'

_ON_THE_WIRE = 'source_timestamp' if STAMPS_AT_TAKE else 'received_timestamp'

_LOOKS = 20

MOVING = 0.05
"""A command above this, m/s, drives."""


class WireProbe(Probe):
    """
    A probe that knows when a message was on the wire.

    What it tells as the instant of a message is when the middleware's own thread had it, before
    any Python of this process had its turn; with a middleware that does not say so, when it was
    published.
    """

    def __init__(self, domain_id: int) -> None:
        self._marks: list[Any] = []
        super().__init__(domain_id)

    def subscribe(self, topic: str, kind: Any, qos: Any) -> None:
        """Keep every message of a topic from now on."""
        heard = self._heard.setdefault(topic, [])

        def on_message(message: Any, info: Mapping[str, int]) -> None:
            steady = time.monotonic_ns()
            waited = time.time_ns() - info[_ON_THE_WIRE]
            heard.append(Heard(steady - max(0, waited), message))

        self.node.create_subscription(kind, topic, on_message, qos)

    def catch_up(self) -> None:
        """
        Wait until all that was on the wire by now has been heard.

        The executor takes one message of every topic before it looks again. What this says to
        itself comes back after a look: so many times, and no topic has so many left.
        """
        if not self._marks:
            self.subscribe(_MARK, String, names.RECORD)
            self._marks.append(self.node.create_publisher(String, _MARK, names.RECORD))
            self.until(self._marks[0].get_subscription_count, 10.0, 'its own mark')
        for _ in range(_LOOKS):
            said = uuid.uuid4().hex
            self._marks[0].publish(String(data=said))
            self.until(
                lambda said=said: (last := self.last(_MARK)) is not None and last.data == said,
                10.0,
                'what the probe said to itself',
            )

    def forget(self) -> None:
        """Forget all but the last messages of every topic: a campaign hears millions."""
        for heard in self._heard.values():
            del heard[:-_REMEMBERED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """
    Which world a fault needs.

    Attributes
    ----------
    name
        Its name.
    changes
        What is different in the contract.
    far
        Parties on the host ``b``; empty: there is one host.

    """

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    far: frozenset[str] = frozenset()


ONE_HOST = Layout(name='one host')
SIM_CLOCK = Layout(name='simulated time', changes={'clock': 'sim'})
FAR_POLICY = Layout(name='policy on another host', far=frozenset({'policy'}))
FAR_ROBOT = Layout(name='robot on another host', far=frozenset({'simulated_robot'}))


class Policy:
    """
    The policy's process, and what it said.

    Parameters
    ----------
    file, domain_id
        Contract and domain.

    """

    def __init__(self, file: Path, domain_id: int) -> None:
        self.events: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / 'fault_policy.py'), str(file), str(domain_id)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._read, name='policy')
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def drive(self, seed: int) -> int:
        """Tell it to drive; return how many events there were before."""
        before = len(self.events)
        assert self.process.stdin is not None
        self.process.stdin.write(f'drive {seed}\n')
        self.process.stdin.flush()
        return before

    def send(self, number: signal.Signals) -> int:
        """Send a signal; return the steady clock just before, ns."""
        before = time.monotonic_ns()
        self.process.send_signal(number)
        return before

    @property
    def alive(self) -> bool:
        """Return whether it runs."""
        return self.process.poll() is None

    def close(self) -> None:
        """End it, whatever state it is in."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # it is dead
            self.process.stdin.close()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._thread.join()
        self.process.stdout.close()


_FOUND = 4.0
"""Seconds in which a recorder has found a gate: Fast DDS makes a heartbeat in 3 s."""


class Told:
    """
    A process that tells an instant (ns) and a number a line, until its input ends.

    Parameters
    ----------
    command
        Arguments of Python.

    """

    def __init__(self, *command: str) -> None:
        self.told: list[tuple[int, float]] = []
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._read, name='told')
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            instant, number = line.split()
            self.told.append((int(instant), float(number)))

    def between(self, since: int, until: int) -> list[tuple[int, float]]:
        """Return what was told of a time."""
        return [(at, number) for at, number in list(self.told) if since <= at <= until]

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()


class FaultWorld(World):
    """
    Robot, gate, environment, recorder and policy as processes, on one host or on two.

    Parameters
    ----------
    folder, domain_id
        As of :class:`World`.
    layout
        Which world it is.

    """

    probe: WireProbe

    def __init__(self, folder: Path, domain_id: int, layout: Layout) -> None:
        changes = {'episode': {'time_limit': TIME_LIMIT}, **layout.changes}
        super().__init__(folder, domain_id, recorder=True, changes=changes)
        self.layout = layout
        self.hosts: TwoHosts | None = None
        self.before: list[Any] = []
        self._seed = 0

    def __enter__(self) -> FaultWorld:
        with self._stack:
            self._stack.enter_context(_variables(self._variables()))
            (self.folder / 'logs').mkdir(parents=True, exist_ok=True)
            if self.layout.far:
                self.hosts = self._stack.enter_context(TwoHosts())
            self._stack.callback(self._stop_nodes)
            for name in self._specs:
                self.processes[name] = self._start(name)
            self._bring_up(list(self._specs))
            with self._on('probe'):
                self.probe = WireProbe(self.domain_id)
                self._stack.callback(self.probe.close)
            with self._on('simulated_robot'):
                self._witness = Told(str(HERE / 'fault_witness.py'), str(self.domain_id))
                self._stack.callback(self._witness.close)
            self._listen()
            self.probe.until(lambda: self._witness.told, READY, 'a witness of the ground truth')
            self.policy = self._start_policy()
            self._stack.callback(lambda: self.policy.close())
            self._lateness = Told('-S', str(HERE / 'fault_lateness.py'))
            self._stack.callback(self._lateness.close)
            self._stack = self._stack.pop_all()
        return self

    def _variables(self) -> dict[str, str]:
        variables = isolated_environment(self.domain_id)
        if self.layout.far:
            variables['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
            variables[PROFILES_FILE] = str(HERE / 'two_hosts.xml')
            variables['CYCLONEDDS_URI'] = ''
        path = os.environ.get('PYTHONPATH', '')
        here = [str(REPOSITORY), str(REPOSITORY / 'test')]
        variables['PYTHONPATH'] = os.pathsep.join([*here, path] if path else here)
        return variables

    def _on(self, party: str) -> Any:
        if self.hosts is None:
            return nullcontext()
        return self.hosts.inside('b' if party in self.layout.far else 'a')

    def _start(self, name: str) -> NodeProcess:
        module = 'tools.faults.faulty_robot' if name == 'simulated_robot' else ''
        with self._on(name):
            return NodeProcess(
                NodeSpec(name=name, parameters=self._parameters(name), module=module),
                environment={},
                log=self.folder / 'logs' / f'{name}.log',
            )

    def _start_policy(self) -> Policy:
        with self._on('policy'):
            return Policy(self.file, self.domain_id)

    def _bring_up(self, which: list[str]) -> None:
        with self._on('probe'):
            bring_up = BringUp(domain_id=self.domain_id)
            try:
                bring_up.run([self.processes[name] for name in which], READY)
            finally:
                bring_up.close()

    def _stop_nodes(self) -> None:
        for process in reversed(list(self.processes.values())):
            process.send(signal.SIGCONT)
            process.stop()

    def _listen(self) -> None:
        self.probe.subscribe(names.ACTION_REQUEST, msg.ActionRequest, names.RECORD)
        super()._listen()
        self.probe.subscribe(APPLIED, String, names.RECORD)
        node = self.probe.node
        # They stay: one that comes and goes would have to be found again each time.
        self._requests = self.probe.authenticity.publisher(
            node.create_publisher(msg.ActionRequest, names.ACTION_REQUEST, names.RECORD)
        )
        self._button = node.create_publisher(
            Bool, self.loaded.contract.safety.emergency_stop, names.RECORD
        )
        self._fault = node.create_publisher(String, FAULT, names.RECORD)
        clear = node.create_client(srv.OperatorCall, 'safety_gate/clear_emergency_stop')
        self._services = {
            'emergency_stop': (node.create_client(Trigger, 'safety_gate/emergency_stop'), Trigger),
            'clear_emergency_stop': (self.probe.authenticity.client(clear), srv.OperatorCall),
        }
        self.probe.until(self._connected, READY, 'listeners of the probe')

    def _connected(self) -> bool:
        return (
            self._requests.get_subscription_count() >= 3  # gate, recorder, and the probe itself
            and self._button.get_subscription_count() >= 3  # three of the gate
            and self._fault.get_subscription_count() >= 1
            and all(client.service_is_ready() for client, _ in self._services.values())
        )

    # Driving -------------------------------------------------------------------------------------

    def begin(self) -> tuple[str, int]:
        """
        Let the policy begin an episode; return its id, and the steady clock of its start, ns.

        Raises
        ------
        AssertionError
            If it does not run, after some attempts.

        """
        self._keep_requests()
        told: list[Any] = []
        for _ in range(5):
            self._seed += 1
            before = self.policy.drive(self._seed)

            def answer(before: int = before, seed: int = self._seed) -> dict[str, Any] | None:
                # What it says now may still be of the drive before.
                said = self.policy.events[before:]
                return next((e for e in said if e.get('seed') == seed), None)

            self.probe.until(answer, READY, 'a word of the policy')
            event = answer()
            assert event is not None
            if event['event'] == 'running':
                return event['episode'], event['steady']
            told.append(event)
        raise AssertionError(f'Expect a fresh episode that drives, actually: {told}.')

    def _keep_requests(self) -> None:
        requests = self.probe.messages(names.ACTION_REQUEST)
        if requests:
            last = requests[-1].id.episode_id
            self.before = [r for r in requests if r.id.episode_id == last]

    def ended(self, episode: str) -> bool:
        """Return whether somebody said that an episode is over."""
        return any(
            status.id.episode_id == episode and EpisodeState(status.state).over
            for status in self.probe.messages(names.EPISODE_STATUS)[-50:]
        )

    def driving(self) -> bool:
        """Return whether the last command on the wire drives the robot."""
        command = self.probe.last(self.command_topic)
        return command is not None and command.twist.linear.x > MOVING

    def told(self) -> str:
        """Return what gate, environment and policy said last, for messages."""
        gate, episode = (
            self.probe.last(names.GATE_STATUS),
            self.probe.last(names.EPISODE_STATUS),
        )
        return (
            f'gate {self.gate_state()} reasons {list(gate.reasons)}; '
            f'episode state {episode.state} ending {episode.ending!r} {episode.message!r}; '
            f'policy {self.policy.events[-1:]}'
        )

    # Faults --------------------------------------------------------------------------------------

    def set_faults(self, faults: Mapping[str, str]) -> int:
        """
        Let the topics of the robot fail that are named, and no others.

        Returns
        -------
        int
            Steady clock when the robot did so, ns.

        """
        before = len(self.probe.messages(APPLIED))
        self._fault.publish(String(data=json.dumps(dict(faults))))
        self.probe.until(
            lambda: len(self.probe.messages(APPLIED)) > before, 10.0, 'a robot that fails'
        )
        return int(self.probe.messages(APPLIED)[-1].data)

    def press(self, pressed: bool) -> int:
        """Press or release the emergency stop; return the steady clock just before, ns."""
        before = time.monotonic_ns()
        self._button.publish(Bool(data=pressed))
        return before

    def trigger(self, service: str) -> tuple[int, Any]:
        """Call a service of the gate; return the steady clock just before, and its answer."""
        before = time.monotonic_ns()
        client, kind = self._services[service]
        future = client.call_async(kind.Request())
        self.probe.until(future.done, 10.0, f'an answer of {service}')
        return before, future.result()

    def flood(self, make: Callable[[int], Any], seconds: float, times: float = 10.0) -> int:
        """
        Publish requests at a multiple of the contract's rate.

        Parameters
        ----------
        make
            Makes the request of a number, from 0 on.
        seconds
            How long.
        times
            How many for each that a policy would send.

        Returns
        -------
        int
            Steady clock just before the last, ns.

        """
        pause = self.loaded.contract.period / times
        start = time.monotonic()
        number = 0
        while True:
            sent = time.monotonic_ns()
            self._requests.publish(make(number))
            number += 1
            due = start + number * pause
            if due - start > seconds:
                return sent
            time.sleep(max(0.0, due - time.monotonic()))

    def requests(self, episode: str) -> list[Any]:
        """Return the requests of an episode that were on the wire."""
        return [
            r
            for r in self.probe.messages(names.ACTION_REQUEST)[-200:]
            if r.id.episode_id == episode
        ]

    def interrupt(self, name: str, sign_of_life: str) -> int:
        """
        Let a node end in order; return the steady clock of its last heartbeat, ns.

        Parameters
        ----------
        name
            The node.
        sign_of_life
            Topic that it gives its heartbeats on.

        """
        self.processes[name].stop()
        return self.probe.heard(sign_of_life)[-1].steady

    # Healing -------------------------------------------------------------------------------------

    def revive(self, **robot: float) -> None:
        """Start again whatever died, the policy too."""
        dead = [name for name, process in self.processes.items() if not process.alive]
        for name in dead:
            self.processes[name].process.wait()
            self.processes[name] = self._start(name)
        if not self.policy.alive:
            self.policy.close()
            self.policy = self._start_policy()
        if dead:
            self._bring_up(dead)
            self.probe.until(self._connected, READY, 'listeners of the probe')
        if 'safety_gate' in dead:
            # Nobody sees from here when the recorder has found it, and hears its first decision.
            time.sleep(_FOUND)

    def close_run(self) -> Path:
        """Let the recorder complete its run; return the folder. :meth:`revive` begins another."""
        self.processes['recorder'].send(signal.SIGCONT)
        self.processes['recorder'].stop(grace=20.0)
        return self.run

    # Measuring -----------------------------------------------------------------------------------

    def late(self, since: int, until: int) -> float:
        """Return by how much a sleeper overslept at most between two instants, s."""
        found = self._lateness.between(since, until)
        return max((late for _, late in found), default=0.0) / NANOSECONDS

    def motion_of(self, since: int, until: int) -> list[tuple[int, float]]:
        """Return the true speed of the cart between two instants: steady clock in ns, and m/s."""
        to_steady = time.monotonic_ns() - time.time_ns()
        found = self._witness.between(since - to_steady, until - to_steady)
        return [(at + to_steady, speed) for at, speed in found]


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    previous = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(previous)


@contextmanager
def world_of(layout: Layout, folder: Path, domain_id: int) -> Iterator[FaultWorld]:
    """Run a world in a new folder of its own."""
    place = folder / uuid.uuid4().hex[:8]
    place.mkdir(parents=True)
    with ExitStack() as stack:
        yield stack.enter_context(FaultWorld(place, domain_id, layout))
