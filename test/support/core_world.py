# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the core share: the shipped contract as data, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path

import yaml

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract.parser import parse

REPOSITORY = Path(__file__).parents[2]
SHIPPED = REPOSITORY / 'config' / 'warehouse_cart.yaml'
MESSAGES = REPOSITORY / 'msg'

#: A contract that uses every word of the language.
RICH = Path(__file__).with_name('rich_contract.yaml')

DIGEST = 'sha256:' + '5a' * 32
AGENT = 'cart'
EPISODE = '7b1d6b0e-8a51-4a57-a6f4-0a3a0c2b4f01'
HOST = 'robot'
TASKS = {'go_to_goal': ('boundary_env_ros', '0.1.0')}

Path_ = tuple[str | int, ...]


@cache
def _read(file: Path) -> dict[str, object]:
    data: dict[str, object] = yaml.safe_load(file.read_text(encoding='utf-8'))
    return data


def shipped_data() -> dict[str, object]:
    """Return the shipped contract as plain data, to be changed at will."""
    return deepcopy(_read(SHIPPED))


def rich_data() -> dict[str, object]:
    """Return a contract that uses every word of the language, as plain data."""
    return deepcopy(_read(RICH))


def put(data: object, path: Path_, value: object) -> None:
    """Put a value at a key path of plain data."""
    for key in path[:-1]:
        data = data[key]  # type: ignore[index]
    data[path[-1]] = value  # type: ignore[index]


def drop(data: object, path: Path_) -> None:
    """Take a key out of plain data."""
    for key in path[:-1]:
        data = data[key]  # type: ignore[index]
    del data[path[-1]]  # type: ignore[attr-defined]


def shipped(
    changes: Mapping[Path_, object] | None = None, pacing: Pacing | None = None
) -> Contract:
    """Return the shipped contract, with some values changed."""
    contract = _changed(shipped_data(), changes)
    return contract if pacing is None else contract.paced(pacing)


def rich(changes: Mapping[Path_, object] | None = None) -> Contract:
    """Return the contract that uses every word of the language, with some values changed."""
    return _changed(rich_data(), changes)


def _changed(data: dict[str, object], changes: Mapping[Path_, object] | None) -> Contract:
    for path, value in (changes or {}).items():
        put(data, path, value)
    return parse(data, tasks=TASKS)


class Timepiece:
    """The clocks of one host, which only a test moves; the ROS clock may be made to lie."""

    def __init__(self, *, clock: Clock = Clock.SYSTEM, host: str = HOST) -> None:
        self.steady = 5_000 * NANOSECONDS
        self.ros = 1_700_000_000 * NANOSECONDS if clock is Clock.SYSTEM else 0
        self.clock = clock
        self.host = host
        self.ros_paused = False

    @property
    def now(self) -> ClockReading:
        """Return what both clocks show."""
        return ClockReading(ros=self.stamp(), steady=self.steady)

    def stamp(self, ago: float = 0.0) -> Stamp:
        """Return the ROS time of some seconds ago."""
        return Stamp(clock=self.clock, nanoseconds=self.ros - to_nanoseconds(ago), host=self.host)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.steady += to_nanoseconds(seconds)
        if not self.ros_paused:
            self.ros += to_nanoseconds(seconds)

    def jump_ros(self, seconds: float) -> None:
        """Set the ROS clock forward, or back."""
        self.ros += to_nanoseconds(seconds)


def step_id(
    step: int = 0, episode: str = EPISODE, digest: str = DIGEST, agent: str = AGENT
) -> StepId:
    """Return the identity of a step."""
    return StepId(digest=digest, agent=agent, episode_id=episode, step=step)


def status(
    state: EpisodeState,
    now: ClockReading,
    *,
    episode: str = EPISODE,
    step: int = 0,
    digest: str = DIGEST,
    pacing: Pacing = Pacing.REALTIME,
) -> EpisodeStatus:
    """Return what an environment says about its episode."""
    return EpisodeStatus(
        id=step_id(step, episode, digest), state=state, pacing=pacing, client='policy', stamp=now
    )


def request_for(
    action: Vector,
    sequence: int,
    observed: ClockReading | None,
    now: ClockReading,
    *,
    lease: str = 'lease-1',
    step: int = 1,
    episode: str = EPISODE,
    digest: str = DIGEST,
    agent: str = AGENT,
    client: str = 'policy',
    horizon: int = 1,
) -> ActionRequest:
    """Return a request that answers an observation."""
    return ActionRequest(
        id=step_id(step, episode, digest, agent),
        lease_id=lease,
        sequence=sequence,
        action=action,
        observed=observed,
        observed_step=max(0, step - 1),
        delivered=observed,
        requested=now,
        client=client,
        client_version='test',
        horizon=horizon,
    )


def only(decisions: tuple[GateDecision, ...]) -> GateDecision:
    """Return the one decision that there must be."""
    assert len(decisions) == 1, f'expect one decision, actually: {decisions}'
    return decisions[0]


class Message:
    """Anything with attributes: that is all that the core asks of a message."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def stamped(seconds: float, frame: str = '', **fields: object) -> Message:
    """Return a message with a header."""
    sec, nanosec = divmod(to_nanoseconds(seconds), NANOSECONDS)
    return Message(
        header=Message(stamp=Message(sec=sec, nanosec=nanosec), frame_id=frame), **fields
    )
