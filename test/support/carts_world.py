# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two carts in one world of real processes over real DDS, each behind a gate of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import signal
import time
from typing import Any

import numpy as np

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.facade.multi_agent import BoundaryAECEnv, BoundaryParallelEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.processes import (
    gates,
    isolated_environment,
    NodeProcess,
    NodeSpec,
    running,
)
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import SimulatedRobot
from boundary_env_ros.storage.contract_file import load
from support.ros_world import drain, Probe, reserved_domain, SOON, write_contract

AGENTS = ('cart_a', 'cart_b')
APART = {'scenario': 'apart'}
_READY = 90.0

PATIENT: Mapping[str, Any] = {
    'observation': {name: {'max_age': 8.0} for name in ('pose', 'velocity', 'scan', 'front')},
    'safety': {
        'max_action_age': 3.0,
        'robot_timeout': 8.0,
        'recorder_timeout': 8.0,
        'gate_timeout': 2.5,
        'environment_timeout': 2.0,
        'policy_timeout': 5.0,
        'sensor_timeout': 1.0,
        'command_timeout': 1.0,
        'gate_lateness': 3.0,
        'clock_jump': 3.0,
    },
    'lockstep': {'deadline': 4.0},
    'episode': {'time_limit': 60.0, 'reset': {'deadline': 8.0}},
}
"""Two carts on a machine that is busy otherwise; who falls silent is found out in seconds."""


IN_TURN: Mapping[str, Any] = {
    **PATIENT,
    'agent_order': ['cart_b', 'cart_a'],
    'safety': {**PATIENT['safety'], 'hold_timeout': 0.5},
    'action': {'base': {'driver_timeout': 0.6}},
}
"""The same, and they act one after the other."""


#: Few pictures: to draw them is most of the work of two carts.
_ROBOT: dict[str, str | float | bool] = {'robot': 'two_carts', 'camera_rate': 2.0}


def begin_together(worlds: Collection[RosWorld]) -> None:
    """Begin an episode of the agent of each world: none of them begins without the others."""
    with ThreadPoolExecutor(len(worlds)) as policies:
        begun = [
            policies.submit(world.reset, seed=1, options=APART, wrappers=()) for world in worlds
        ]
        for each in begun:
            each.result()


class CartsWorld:
    """
    Robot, recorder, environment and two gates, as processes.

    Parameters
    ----------
    folder
        For contract, logs and record.
    domain_id
        Reserved domain.
    pacing
        ``realtime`` or ``lockstep``.
    changes
        Of the contract.
    services
        Whether the services of the conversation are served, or parameters of the node that does.
    one_process
        Whether the nodes share a process.

    """

    env: Any

    def __init__(
        self,
        folder: Path,
        domain_id: int,
        pacing: str,
        changes: Mapping[str, Any] = PATIENT,
        *,
        services: bool | Mapping[str, str] = False,
        one_process: bool = False,
    ) -> None:
        self._one_process = one_process
        self.domain_id, self.pacing, self.run = domain_id, pacing, folder / 'run'
        self.file = write_contract(folder / 'contract.yaml', changes, base='two_carts')
        self._make = BoundaryAECEnv if 'agent_order' in changes else BoundaryParallelEnv
        self.renew()
        common: dict[str, str | float | bool] = {'contract': str(self.file), 'pacing': pacing}
        self.loaded = load(self.file, self.env.contract.pacing)
        self._specs = (
            NodeSpec(name='recorder', parameters={**common, 'run': str(self.run)}),
            NodeSpec(name='simulated_robot', parameters={**common, **_ROBOT}),
            *gates(self.env.contract, common),
            NodeSpec(name='environment', parameters=common),
            *(
                NodeSpec(name='policy_server', parameters={**common, **each})
                for each in ([{} if services is True else services] if services else ())
            ),
        )
        self._logs = folder / 'logs'
        self._killed: list[str] = []
        self.processes: dict[str, NodeProcess] = {}

    @contextmanager
    def up(self) -> Iterator[CartsWorld]:
        """Run it."""
        with ExitStack() as stack:
            self.processes = stack.enter_context(
                running(
                    self._specs,
                    domain_id=self.domain_id,
                    logs=self._logs,
                    timeout=_READY,
                    one_process=self._one_process,
                )
            )
            self.probe = Probe(self.domain_id)
            stack.callback(self.probe.close)
            stack.callback(lambda: self.env.close())
            for agent in AGENTS:
                for topic, kind, qos in (
                    (names.GATE_DECISION, msg.GateDecision, names.RECORD),
                    (names.TRANSITION, msg.Transition, names.RECORD),
                    (names.PRIVILEGED_OBSERVATION, msg.PrivilegedObservation, names.RECORD),
                    (names.ACTUATION_EVIDENCE, msg.ActuationEvidence, names.RECORD),
                    (names.EPISODE_STATUS, msg.EpisodeStatus, names.LATCHED_MANY),
                ):
                    self.probe.subscribe(f'{agent}/{topic}', kind, qos)
            self.probe.be_found(self.processes)
            yield self

    def renew(self) -> None:
        """Take a new environment in place of one that is closed, or was never there."""
        self.env = self._make(
            self.file,
            world='ros',
            pacing=self.pacing,
            domain_id=self.domain_id,
            startup_timeout=SOON,
        )

    def drain(self) -> None:
        """Let the recorder catch up."""
        topics = (
            names.GATE_DECISION,
            names.TRANSITION,
            names.PRIVILEGED_OBSERVATION,
            names.ACTUATION_EVIDENCE,
        )
        drain(self.probe, self.run, [f'{agent}/{name}' for agent in AGENTS for name in topics])

    def robot(self) -> SimulatedRobot:
        """Return a robot like the one of this world, for a world in one process."""
        options = {key: value for key, value in _ROBOT.items() if isinstance(value, float)}
        contract = self.loaded.contract
        return make_robot(contract, to_nanoseconds(contract.period), options, 'two_carts')

    def kill(self, place: str) -> None:
        """Kill a node, without a word."""
        self.processes[place].send(signal.SIGKILL)
        self._killed.append(place)

    def revive(self) -> None:
        """Start again whatever was killed, and forget those who knew it."""
        dead, self._killed = self._killed, []
        if not dead:
            return
        self.env.close()
        self.renew()
        for place in dead:
            old = self.processes[place]
            old.process.wait()
            self.processes[place] = NodeProcess(
                old.spec, environment=isolated_environment(self.domain_id), log=old.log
            )
        bring_up = BringUp(domain_id=self.domain_id)
        try:
            bring_up.run([self.processes[place] for place in dead], _READY)
        finally:
            bring_up.close()

    def last(self, agent: str) -> Transition:
        """Return the last transition of an agent, whatever its client had."""
        return from_msg(Transition, self.probe.last(f'{agent}/{names.TRANSITION}'))

    def forward(self, *agents: str, speed: float = 0.3) -> dict[str, Any]:
        """Return an action ahead for each of these agents that runs; default: for all."""
        wanted = agents or self.env.agents
        return {
            agent: np.array([speed, 0.0], dtype=np.float32)
            for agent in self.env.agents
            if agent in wanted
        }

    def drive(self, *agents: str, until: Any, speed: float = 0.3) -> dict[str, dict[str, Any]]:
        """Step these agents ahead until something holds of the infos; return those of the step."""
        deadline = time.monotonic() + 30.0
        while self.env.agents:
            *_, infos = self.env.step(self.forward(*agents, speed=speed))
            if until(infos):
                return infos
            assert time.monotonic() < deadline, f'Expect what was waited for, actually: {infos}.'
        ended = {
            agent: delivery.transition.ending for agent, delivery in self.env.last_results.items()
        }
        raise AssertionError(f'Expect what was waited for before all ended, actually: {ended}.')


@contextmanager
def carts_world(
    folder: Path, pacing: str, changes: Mapping[str, Any] = PATIENT, **options: Any
) -> Iterator[CartsWorld]:
    """Run two carts on a domain that nobody else uses."""
    previous = dict(os.environ)
    with reserved_domain() as domain:
        os.environ.update(isolated_environment(domain))
        try:
            with CartsWorld(folder, domain, pacing, changes, **options).up() as world:
                yield world
                world.drain()  # the record may be audited
        finally:
            os.environ.clear()
            os.environ.update(previous)


def without_options(made: Any) -> Any:
    """Return an environment without options: PettingZoo's tests give one that no task knows."""
    reset = made.reset
    made.reset = lambda seed=None, options=None: reset(seed=seed)
    return made
