# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The environment is a function of its events: nothing that it was given is ever changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import math
from random import Random

import pytest

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.environment.environment import step
from boundary_env_ros.core.environment.environment_events import (
    AdvanceDelayed,
    Begin,
    BeginEpisode,
    ConfirmReset,
    DeadlinesDue,
    Decided,
    EndEpisode,
    FieldRead,
    GateReported,
    GroupMeasured,
    InputEvent,
    InputUnusable,
    MessageArrived,
    RecorderReported,
    SensorsRead,
    ServiceAnswered,
    StartDelayed,
    StepDue,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import EnvironmentState, Setup
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.records.decision import (
    GateDecision,
    GateState,
    GateStatus,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from support.core_world import AGENT, DIGEST, shipped, Timepiece

CONTRACT = shipped()
GROUP = CONTRACT.action[0]


class Script:
    """Draws what happens next to an environment, mostly what an episode needs to go on."""

    def __init__(self, random: Random, time: Timepiece) -> None:
        self.random, self.time = random, time
        self.sequence = 0

    def events(self, state: EnvironmentState, asked: tuple[object, ...]) -> Iterator[InputEvent]:
        """Yield what happens next, given what was asked for last."""
        time = self.time
        time.wait(self.random.choice([0.1, 0.2]))
        now, episode = time.now, state.episode
        for each in asked:
            if isinstance(each, ResetWorld):
                yield WorldAnswered(
                    answer=WorldReset(achieved=each.target, completed=time.ros), now=now
                )
            elif isinstance(each, SimStepRequest):
                time.jump_ros(each.duration / 1e9)
                yield from self.sensors()
                report = SimStepResponse(
                    id=each.id, success=True, message='', topics=(), published=(),
                    last_stamp=(), dropped=(), info='{"a": 1}',
                )  # fmt: skip
                yield WorldAdvanced(report=Advanced(report=report, now=time.ros), now=time.now)
        if not state.active:
            begin = Begin(digest=DIGEST, client='c', seed=self.random.randint(0, 3))
            name = f'e{now.steady}'
            yield BeginEpisode(begin=begin, episode_id=name, drawn_seed=1, now=now)
            return
        yield RecorderReported(now=now)
        yield GateReported(status=self.gate(episode.id), now=now)
        yield from self.sensors()
        yield self.random.choice([self.decision(episode.id), DeadlinesDue(now=now)])
        yield StepDue(late=0.001, now=now)
        if not self.random.randrange(12):
            yield self.random.choice(RARE)(now)

    def sensors(self) -> Iterator[InputEvent]:
        """Let every sensor speak; now and then one measures nothing."""
        for spec in CONTRACT.fields:
            stamp, steady = self.time.stamp(), self.time.steady
            part = self.random.choice([0.5] * 60 + [0.6] * 60 + [math.nan])
            values = tuple(part * low for low in spec.low)
            if spec.topic:
                yield MessageArrived(topic=spec.topic, captured=stamp.nanoseconds, steady=steady)
                yield FieldRead(name=spec.name, reading=Reading(values=values, captured=stamp))
        speed = self.random.choice([0.0, 0.2, 0.4])
        yield GroupMeasured(name=GROUP.name, values=(speed, 0.0), captured=self.time.stamp())
        yield SensorsRead(now=self.time.now)

    def gate(self, id_: StepId) -> GateStatus:
        return GateStatus(
            digest=DIGEST, agent=AGENT, state=GateState.ARMED, lease_id='l',
            episode_id=id_.episode_id, holder='c', teleoperated=False, sequence=self.sequence,
            command=(), stamp=self.time.now,
        )  # fmt: skip

    def decision(self, id_: StepId) -> InputEvent:
        self.sequence += self.random.randint(1, 2)
        now = self.time.now
        inputs = RuleInput(trigger=Trigger.REQUEST, time_step=0.1, previous_command=(0.0, 0.0))
        decision = GateDecision(
            id=dataclasses.replace(id_, step=id_.step + 1), sequence=self.sequence,
            verdict=Verdict.ADMITTED, inputs=inputs, decided=now, commanded=now,
            command=(self.random.choice([0.2, 0.4]), 0.0),
        )  # fmt: skip
        return Decided(decision=decision, now=now)


RARE: list[Callable[..., InputEvent]] = [
    lambda now: EndEpisode(ending='operator_stop', declared_by='x', now=now),
    lambda now: EndEpisode(ending='boredom', declared_by='x', now=now),
    lambda now: ConfirmReset(user='Ada', confirmed=True, now=now),
    lambda now: ServiceAnswered(service='brakes', now=now),
    lambda now: InputUnusable(name='pose', why='no such joint'),
    lambda now: StartDelayed(why='another'),
    lambda now: AdvanceDelayed(now=now),
    lambda now: BeginEpisode(
        begin=Begin(digest=DIGEST, client='c'), episode_id='again', drawn_seed=1, now=now
    ),
]


def plain(value: object) -> object:
    """Return all that a value is made of, to be compared with what it is made of later."""
    if isinstance(value, (Setup, Contract, FieldSpec)):
        return None  # of no episode
    if dataclasses.is_dataclass(value):
        return [(f.name, plain(getattr(value, f.name))) for f in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return repr(value)


@pytest.mark.parametrize('pacing', list(Pacing))
def test_the_same_events_give_the_same_and_change_no_state(pacing: Pacing) -> None:
    contract = CONTRACT.paced(pacing)
    setup = Setup(
        contract=contract, digest=DIGEST, task=GoToGoal(**contract.task.parameters),
        agent=AGENT, software_version='test',
        topics={topic: f'/{topic}' for topic in sensor_topics(contract)},
    )  # fmt: skip
    time = Timepiece(clock=Clock.ROS if pacing is Pacing.LOCKSTEP else Clock.SYSTEM)
    time.ros_paused = pacing is Pacing.LOCKSTEP
    script = Script(Random(0), time)
    run: list[tuple[InputEvent, EnvironmentState, object, object]] = []
    state, asked = EnvironmentState.of(setup), ()
    for _ in range(20):
        before, asked = asked, ()
        for event in script.events(state, before):
            was = plain(state)
            after, outputs = outcome(state, event)
            run.append((event, state, was, plain((after, outputs))))
            state, asked = after, (*asked, *outputs)
    for event, given_state, was, became in run:
        assert plain(given_state) == was, f'{type(event).__name__} changed a state'
        assert plain(outcome(given_state, event)) == became


def outcome(
    state: EnvironmentState, event: InputEvent
) -> tuple[EnvironmentState, tuple[object, ...]]:
    """Return what an event leads to; a refusal leaves the state as it is."""
    try:
        return step(state, event)
    except RequestRejected as refusal:
        return state, (str(refusal),)
