# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Honest records in lockstep: the cart on paper moves only when the environment asks it to."""

from __future__ import annotations

from dataclasses import replace
import uuid

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    DeadlinesDue,
    Decided,
    GateReported,
    RecorderReported,
    WorldAdvanced,
)
from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EpisodeStatusReceived,
    Request,
    Tick,
    WorldMoved,
)
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, RosTime, Stamp
from support.record_maker import Bench, EPOCH, HOST, MS, Policy, VERSION

#: Period of each sensor in ms, by the topics that it publishes.
SENSORS = {('/odom', '/ground_truth', '/contact'): 20, ('/scan',): 50, ('/pose_detections',): 100}


UNSTAMPED = ('/contact',)


class LockstepBench(Bench):
    """A cart on paper whose simulated time stands still until an advance is asked for."""

    def __init__(self, contract: Contract, digest: str, task: Task, seed: int) -> None:
        super().__init__(contract, digest, task, seed)
        self._queue.clear()
        self._steady = 1_000_000 * MS
        self._pending: list[object] = []

    def stamp(self, at: int | None = None) -> Stamp:
        return Stamp(clock=Clock.ROS, nanoseconds=self.now if at is None else at, host=HOST)

    def wall(self, ago: int) -> Stamp:
        return Stamp(clock=Clock.SYSTEM, nanoseconds=EPOCH + self._steady + ago, host=HOST)

    def instant(self, at: int | None = None) -> ClockReading:
        self._steady += MS // 10
        return ClockReading(ros=self.stamp(at), steady=self._steady)

    def after(self, milliseconds: float, what: object) -> None:
        """Do at once what takes no simulated time."""
        what()  # type: ignore[operator]

    def episode(self, client: str, policy: Policy, seed: int, options: str = '') -> None:
        self._client, self._busy = (client, policy), False
        begin = Begin(
            digest=self.digest,
            client=client,
            client_version=VERSION,
            wrappers=('Policy()',),
            seed=seed,
            options=options,
        )
        name = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self._lease, self._sequence = f'lease-{name[:8]}', 0
        effects = self.environment.apply(
            BeginEpisode(begin=begin, episode_id=name, drawn_seed=0, now=self.instant())
        )
        self._pending += effects
        while self._pending or not self.environment.state.episode.state.over:
            if not self._pending:
                self._peers(name, client)
                self._pending += self.environment.apply(DeadlinesDue(now=self.instant()))
            pending, self._pending = self._pending, []
            for effect in pending:
                self._handle(effect)
        for _ in range(20):
            self._steady += 100 * MS
            self._publish(self.gate.apply(Tick(now=self.instant())))

    def _peers(self, name: str, client: str) -> None:
        if self.environment.state.episode.state is EpisodeState.RESETTING:
            self.gate.apply(
                Arm(
                    digest=self.digest,
                    agent='cart',
                    episode_id=name,
                    client=client,
                    lease_id=self._lease,
                    now=self.instant(),
                )
            )
        self._pending += self.environment.apply(RecorderReported(now=self.instant()))
        status = self.gate.state.status(self.instant())
        self._pending += self.environment.apply(GateReported(status=status, now=self.instant()))

    def _take(self, effects: tuple[object, ...]) -> None:
        self._pending += effects

    def _handle(self, effect: object) -> None:
        if isinstance(effect, ResetWorld):
            self._reset(effect)
        elif isinstance(effect, SimStepRequest):
            self._advance(effect)
        else:
            if isinstance(effect, EpisodeStatus):
                self.gate.apply(EpisodeStatusReceived(status=effect, now=self.instant()))
            self.note(effect)
            if isinstance(effect, Transition):
                self._answer_in_turn(effect.observation)

    def _publish(self, decisions: tuple[GateDecision, ...]) -> None:
        for decision in decisions:
            stamped = decision
            if decision.command:
                stamped = replace(decision, commanded=self.instant())
                self.command(stamped)
                self._obey(decision.command)
            self.note(stamped)
            self._pending += self.environment.apply(Decided(decision=stamped, now=self.instant()))

    def _answer_in_turn(self, observation: Observation) -> None:
        status = self.environment.status(self.instant())
        self.gate.apply(EpisodeStatusReceived(status=status, now=self.instant()))
        if self.environment.state.episode.state is not EpisodeState.RUNNING:
            return
        name, policy = self._client
        delivered = self.instant()
        self._steady += round(self.random.uniform(5, 40) * MS)
        self._sequence += 1
        request = ActionRequest(
            id=replace(observation.id, step=observation.id.step + 1),
            lease_id=self._lease,
            sequence=self._sequence,
            action=policy(observation),
            observed=observation.observed,
            observed_step=observation.id.step,
            delivered=delivered,
            requested=self.instant(),
            client=name,
            client_version=VERSION,
        )
        self.keep(request)
        self._publish(self.gate.apply(Request(request=request, now=self.instant())))

    def _advance(self, asked: SimStepRequest) -> None:
        last: dict[str, tuple[int, int]] = {}
        for _ in range(0, asked.duration, 5 * MS):
            self.now += 5 * MS
            self._move()
            for topics, period in SENSORS.items():
                if self.now % (period * MS):
                    continue
                if '/odom' in topics:
                    self._odometry()
                elif '/scan' in topics:
                    self._scan()
                else:
                    topics = (*topics, '/camera/image_raw')
                    self._pose_and_camera()
                for topic in topics:
                    last[topic] = (last.get(topic, (0, 0))[0] + 1, self.now)
        report = SimStepResponse(
            id=asked.id,
            success=True,
            message='',
            topics=tuple(last),
            published=tuple(count for count, _ in last.values()),
            last_stamp=tuple(
                RosTime(0 if topic in UNSTAMPED else stamp) for topic, (_, stamp) in last.items()
            ),
            dropped=tuple(0 for _ in last),
        )
        self.keep(report)
        advanced = Advanced(report=report, now=self.now)
        self._publish(self.gate.apply(WorldMoved(report=advanced, now=self.instant())))
        self._pending += self.environment.apply(WorldAdvanced(report=advanced, now=self.instant()))
