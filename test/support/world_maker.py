# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of the shipped contracts, from the embedded world: real robots, every agent, no ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.gate.commands import message_fields
from boundary_env_ros.core.records.lockstep import SimStepResponse
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.records import ContractDescription
from support.bag_maker import Tape
from support.record_maker import Sent, TOPICS

MS = 1_000_000

#: From what a robot sends to what it is to send.
Change = Callable[[Emission], Emission]


class TapedRobot:
    """A robot whose messages, as they are changed, and the commands that it gets, are kept."""

    def __init__(
        self, contract: Contract, start: int, change: Change = lambda emission: emission
    ) -> None:
        self._robot, self._change = make_robot(contract, start, name=''), change
        self._groups = {
            contract.topic_of(agent, group.topic): group
            for agent in contract.agents
            for group in contract.action
        }
        self.topics = self._robot.topics
        self.tape: Tape = []
        self.now = start

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        return self._robot.reset(request, at)

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        group = self._groups[topic]
        fields = dict(message_fields(group, values))
        if not group.type.endswith('MultiArray'):
            fields['header'] = {'stamp': _time(arrived), 'frame_id': group.frame}
        self.tape.append(Sent(f'/{topic}', arrived, arrived, fields, group.type))
        self._robot.command(topic, values, arrived)

    def advance(self, until: int) -> tuple[Emission, ...]:
        emissions = tuple(map(self._change, self._robot.advance(until)))
        self.now = until
        for emission in emissions:
            if emission.fields is not None:
                topic = f'/{emission.topic}'
                self.tape.append(
                    Sent(topic, until, until, emission.fields, self.topics[emission.topic])
                )
        return emissions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    def note(self, record: object) -> None:
        """Keep a record of the boundary, on a topic of its agent."""
        if type(record).__name__ in TOPICS and not isinstance(record, SimStepResponse):
            agent = record.id.agent  # type: ignore[attr-defined]
            topic = f'/{agent}{TOPICS[type(record).__name__]}'
            self.tape.append(Sent(topic, self.now, self.now, record))


def make_world_tape(
    loaded: LoadedContract,
    *,
    episodes: int,
    steps: int,
    seed: int,
    change: Change = lambda emission: emission,
) -> Tape:
    """Return the record of some episodes, in which every agent acts at random but gently."""
    contract = loaded.contract
    robot = TapedRobot(contract, round(contract.period * 1e9), change)
    world = EmbeddedWorld(loaded, robot=robot, sink=robot.note)
    random = np.random.default_rng(seed)
    for number in range(episodes):
        world.reset(seed=seed + number, options={}, wrappers=('Policy()',))
        for _ in range(steps):
            if not world.running:
                break
            world.step({agent: _action(contract, random) for agent in world.running})
    described = ContractDescription(
        node='/environment',
        role='environment',
        contract=contract.name,
        contract_version=contract.version,
        digest=loaded.digest,
        software_version='0.1.0',
        task_distribution=contract.task.distribution,
        task_version=contract.task.version,
        text=loaded.text,
    )
    begin = robot.tape[0].log_time
    return [Sent('/boundary/contract', begin, begin, described), *robot.tape]


def now_and_then_blind() -> Change:
    """Return what makes every other detection of a pose say that it has no estimate."""
    seen = 0

    def change(emission: Emission) -> Emission:
        nonlocal seen
        if emission.topic != 'pose_detections' or emission.fields is None:
            return emission
        seen += 1
        if seen % 2:
            return emission
        pose = emission.fields['pose']
        turned = {**pose['pose'], 'orientation': dict.fromkeys('xyzw', 0.0)}
        return replace(emission, fields={**emission.fields, 'pose': {**pose, 'pose': turned}})

    return change


def _action(contract: Contract, random: np.random.Generator) -> Vector:
    low, high = np.array(contract.flat('low')), np.array(contract.flat('high'))
    low, high = np.maximum(low, -1.0), np.minimum(high, 1.0)
    return tuple(random.uniform(low, high).tolist())


def _time(nanoseconds: int) -> Mapping[str, int]:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return {'sec': seconds, 'nanosec': rest}
