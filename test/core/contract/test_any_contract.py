# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whole episodes under contracts that nobody wrote: environment and gate, and anything between them.

Sensors say what they like, policies ask for what they like; what is recorded is in the spaces of
the contract, and what is published within its bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import CallStep, ConfirmStep, Contract, FieldSpec
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    ConfirmReset,
    DeadlinesDue,
    Decided,
    FieldRead,
    GateReported,
    GroupMeasured,
    InputEvent,
    MessageArrived,
    SensorsRead,
    ServiceAnswered,
    StepDue,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import Setup
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EpisodeStatusReceived,
    Measured,
    Request,
    Tick,
    WorldMoved,
)
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.observation import (
    FieldStatus,
    ImageReference,
    Observation,
    ObservationField,
)
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import Kind, PrivilegedObservation, Transition
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.sources.inputs import gate_inputs, sensor_topics
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock, NANOSECONDS, RosTime
from boundary_env_ros.core.vectors import Vector
from support.contract_strategies import actions, chunks, contracts
from support.core_world import AGENT, DIGEST, request_for, Timepiece


class AnyTask:
    """A task that supplies whatever the contract asks of it."""

    def __init__(self, contract: Contract) -> None:
        fields = (*contract.observation, *contract.state)
        self.given = {spec.task: spec.low for spec in fields if spec.task}

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        return ()

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        return self.given

    def judge(self, step: StepView) -> Outcome:
        return Outcome()


class AnyWorld:
    """Environment and gate under any contract, and everything around them that has no manners."""

    def __init__(self, contract: Contract, pacing: Pacing, seed: int) -> None:
        self.contract = contract.paced(pacing)
        self.lockstep = pacing is Pacing.LOCKSTEP
        self.rng = np.random.default_rng(seed)
        self.time = Timepiece(clock=Clock.ROS if self.lockstep else Clock.SYSTEM)
        self.time.ros = 1_000 * NANOSECONDS
        self.time.ros_paused = self.lockstep
        topics = {topic: f'/{topic}' for topic in sensor_topics(self.contract)}
        self.inputs = gate_inputs(self.contract)
        self.environment = Environment(
            Setup(
                contract=self.contract,
                digest=DIGEST,
                task=AnyTask(self.contract),
                agent=AGENT,
                topics=topics,
                software_version='test',
            )
        )
        self.gate = Gate(
            self.contract, digest=DIGEST, agent=AGENT,
            topics={item.name: topics[item.topic] for item in self.inputs},
        )  # fmt: skip
        self.transitions: list[Transition] = []
        self.observations: list[Observation] = []
        self.evaluator: list[PrivilegedObservation] = []
        self.decisions: list[GateDecision] = []
        self.sequence = 0
        self.quiet: set[str] = set()

    def apply(self, event: InputEvent) -> None:
        self.carry(self.environment.apply(event))

    def carry(self, effects: Iterable[object]) -> None:
        now = self.time.now
        for effect in effects:
            if isinstance(effect, ResetWorld):
                answer = WorldReset(completed=self.time.ros)
                self.apply(WorldAnswered(answer=answer, now=now))
            elif isinstance(effect, CallStep):
                self.apply(ServiceAnswered(service=effect.service, error='', now=now))
            elif isinstance(effect, ConfirmStep):
                self.apply(ConfirmReset(user='Ada', confirmed=True, message='', now=now))
            elif isinstance(effect, EpisodeStatus):
                self.decided(self.gate.apply(EpisodeStatusReceived(status=effect, now=now)))
                if effect.state is EpisodeState.RESETTING:
                    self.arm(effect)
            elif isinstance(effect, SimStepRequest):
                self.advance(effect)
            elif isinstance(effect, Transition):
                self.transitions.append(effect)
                self.observations.append(effect.observation)
            elif isinstance(effect, PrivilegedObservation):
                self.evaluator.append(effect)

    def arm(self, status: EpisodeStatus) -> None:
        now = self.time.now
        self.gate.apply(
            Arm(
                digest=DIGEST,
                agent=AGENT,
                episode_id=status.id.episode_id,
                client='policy',
                lease_id='lease-1',
                now=now,
            )
        )
        self.apply(GateReported(status=self.gate.state.status(now), now=now))

    def begin(self) -> None:
        if not self.lockstep:
            for item in self.inputs:
                self.measure(item.name, calm=True)
        self.apply(
            BeginEpisode(
                begin=Begin(digest=DIGEST, client='policy'),
                episode_id='episode-1',
                drawn_seed=1,
                now=self.time.now,
            )
        )
        for _ in range(30):
            if self.environment.state.episode.state is not EpisodeState.RESETTING:
                return
            self.time.wait(0.05)
            if not self.lockstep:
                self.sense(calm=True)
            self.apply(DeadlinesDue(now=self.time.now))

    # Sensors -------------------------------------------------------------------------------------

    def values(self, spec: FieldSpec, calm: bool) -> Vector:
        if spec.is_image:
            return ()
        low, high = np.array(spec.low), np.array(spec.high)
        drawn = low + (high - low) * self.rng.random(spec.size)
        if not calm:
            edge = self.rng.integers(0, 12, size=spec.size)
            for number, value in enumerate((low, high, low - 1.0, high + 1.0)):
                drawn = np.where(edge == number, value, drawn)
            special = self.rng.choice([np.inf, -np.inf, np.nan, 1e300, 5e-324], size=spec.size)
            drawn = np.where(edge == 5, special, drawn)
        found: Vector = tuple(drawn.tolist())
        return found

    def sense(self, *, calm: bool = False) -> None:
        """Let all sensors speak that are not quiet."""
        for spec in self.contract.fields:
            if (spec.topic or spec.source is not None) and spec.name not in self.quiet:
                self.speak(spec, calm)
        for item in self.inputs:
            self.measure(item.name, calm)
        self.apply(SensorsRead(now=self.time.now))

    def speak(self, spec: FieldSpec, calm: bool) -> None:
        captured = self.time.stamp(
            ago=0.0 if calm or self.lockstep else self.rng.choice([0, 0.03])
        )
        image = None
        if spec.is_image:
            image = ImageReference(
                topic=f'/{spec.topic}', stamp=RosTime(captured.nanoseconds),
                height=spec.shape[0], width=spec.shape[1], encoding='', sha256=bytes(32),
            )  # fmt: skip
        sample = Reading(values=self.values(spec, calm), captured=captured, image=image)
        if spec.topic:
            self.environment.apply(
                MessageArrived(
                    topic=spec.topic, captured=captured.nanoseconds, steady=self.time.steady
                )
            )
        self.environment.apply(FieldRead(name=spec.name, reading=sample))

    def measure(self, name: str, calm: bool) -> None:
        now, captured = self.time.now, self.time.stamp()
        if not name.startswith('feedback'):
            # No values: a message that cannot be read.
            values = (1.0,) if calm else ()
            self.decided(
                self.gate.apply(Measured(name=name, values=values, captured=captured, now=now))
            )
            return
        group = next(g for g in self.contract.action if name == f'feedback.{g.name}')
        values = tuple(
            float(low + (high - low) * self.rng.random())
            for low, high in zip(group.low, group.high, strict=True)
        )
        self.decided(
            self.gate.apply(Measured(name=name, values=values, captured=captured, now=now))
        )
        self.environment.apply(
            MessageArrived(
                topic=group.feedback.topic, captured=captured.nanoseconds, steady=now.steady
            )
        )
        self.apply(GroupMeasured(name=group.name, values=values, captured=captured))

    def advance(self, asked: SimStepRequest) -> None:
        self.time.jump_ros(asked.duration / NANOSECONDS)
        calm = self.environment.state.episode.state is EpisodeState.RESETTING
        self.sense(calm=calm)
        spoke = sorted(sensor_topics(self.contract))
        report = SimStepResponse(
            id=asked.id, success=True, message='', topics=tuple(f'/{topic}' for topic in spoke),
            published=(1,) * len(spoke), last_stamp=(RosTime(self.time.ros),) * len(spoke),
            dropped=(0,) * len(spoke),
        )  # fmt: skip
        answer = Advanced(report=report, now=self.time.ros)
        self.decided(self.gate.apply(WorldMoved(report=answer, now=self.time.now)))
        self.apply(WorldAdvanced(report=answer, now=self.time.now))

    # The policy ----------------------------------------------------------------------------------

    def decided(self, decisions: Iterable[GateDecision]) -> None:
        for decision in decisions:
            whole = replace(decision, commanded=self.time.now) if decision.published else decision
            self.decisions.append(whole)
            self.apply(Decided(decision=whole, now=self.time.now))

    def ask(self, action: Vector, horizon: int = 1) -> None:
        self.sequence += 1
        seen = self.observations[-1]
        request = request_for(
            action, self.sequence, seen.observed, self.time.now, step=seen.id.step + 1,
            episode='episode-1', horizon=horizon,
        )  # fmt: skip
        self.decided(self.gate.apply(Request(request=request, now=self.time.now)))

    def step(self, action: Vector, horizon: int = 1) -> None:
        """Let one period pass, in which the policy asks for something."""
        self.say()
        self.time.wait(0.02)
        self.ask(action, horizon)
        if self.lockstep:
            return
        for _ in range(4):
            self.time.wait(0.02)
            self.sense()
            self.say()
            self.decided(self.gate.apply(Tick(now=self.time.now)))
        self.apply(StepDue(now=self.time.now, late=0.0))

    def say(self) -> None:
        now = self.time.now
        self.decided(
            self.gate.apply(EpisodeStatusReceived(status=self.environment.status(now), now=now))
        )
        self.apply(GateReported(status=self.gate.state.status(now), now=now))


# What must hold ----------------------------------------------------------------------------------


def check_fields(specs: Iterable[FieldSpec], fields: Iterable[ObservationField]) -> None:
    for spec, field in zip(specs, fields, strict=True):
        assert field.name == spec.name
        assert (field.status is FieldStatus.MISSING) is (not field.values and field.image is None)
        if spec.is_image or not field.values:
            continue
        assert len(field.values) == spec.size
        for value, low, high in zip(field.values, spec.low, spec.high, strict=True):
            assert low <= value <= high, f'{spec.name} is not in its space'
        if spec.derived is not None:
            assert not field.clipped


def check(world: AnyWorld) -> None:
    contract = world.contract
    low, high = contract.flat('low'), contract.flat('high')
    for transition in world.transitions:
        check_fields(contract.observation, transition.after)
        check_fields(contract.state, transition.state)
        if transition.kind is Kind.STEP:
            check_fields(contract.observation, transition.before)
        ended = bool(transition.ending)
        assert transition.terminated + transition.truncated == ended
        assert len(transition.requested_action) in (0, contract.action_size)
        assert len(transition.admitted_action) in (0, contract.action_size)
        assert len(transition.commanded_action) in (0, contract.command_size)
        for value, least, most in zip(transition.commanded_action, low, high, strict=False):
            assert least <= value <= most
        text = to_json(transition)
        assert to_json(from_json(Transition, text)) == text
    for record in world.evaluator:
        check_fields(contract.privileged, record.fields)
    for decision in world.decisions:
        for value, least, most in zip(decision.command, low, high, strict=False):
            assert math.isfinite(value)
            assert least <= value <= most
        text = to_json(decision)
        assert to_json(from_json(GateDecision, text)) == text
    steps = [t.id.step for t in world.transitions if t.kind is Kind.STEP]
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.parametrize('pacing', list(Pacing))
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_an_episode_under_any_contract_stays_within_it(
    pacing: Pacing, data: st.DataObject, seed: int
) -> None:
    contract = data.draw(contracts(tf=pacing is Pacing.REALTIME))
    world = AnyWorld(contract, pacing, seed)
    world.begin()
    assert world.environment.state.episode.state is EpisodeState.RUNNING, world.environment.status(
        world.time.now
    ).message
    first = world.transitions[0]
    assert all(field.status is FieldStatus.FRESH for field in first.after if field.age is not None)
    for _ in range(data.draw(st.integers(1, 5))):
        if world.environment.state.episode.state is not EpisodeState.RUNNING:
            break
        world.step(*data.draw(chunks(world.contract)))
    assert len(world.transitions) > 1
    check(world)


@given(data=st.data(), seed=st.integers(0, 2**32))
def test_sensors_that_fall_silent_are_marked_or_end_the_episode(
    data: st.DataObject, seed: int
) -> None:
    contract = data.draw(contracts(images=False))
    world = AnyWorld(contract, Pacing.REALTIME, seed)
    world.begin()
    named = [spec.name for spec in contract.fields if spec.source is not None]
    world.quiet = set(data.draw(st.lists(st.sampled_from(named), unique=True)))
    action = data.draw(actions(world.contract))
    for _ in range(13):
        if world.environment.state.episode.state is not EpisodeState.RUNNING:
            break
        world.step(action)
    check(world)
    last = world.transitions[-1]
    by_name = {field.name: field for field in (*last.after, *last.state)}
    for spec in (*contract.observation, *contract.state):
        if spec.name in world.quiet and spec.max_age is not None:
            old = (world.time.ros - by_name[spec.name].captured.nanoseconds) / NANOSECONDS
            if old > spec.max_age:
                assert by_name[spec.name].status is FieldStatus.STALE


@given(data=st.data(), seed=st.integers(0, 2**32))
def test_every_request_of_the_holder_is_decided_once(data: st.DataObject, seed: int) -> None:
    world = AnyWorld(data.draw(contracts(images=False, tf=False)), Pacing.LOCKSTEP, seed)
    world.begin()
    for number in range(1, 5):
        if world.environment.state.episode.state is not EpisodeState.RUNNING:
            break
        world.step(data.draw(actions(world.contract)))
        answered = [d for d in world.decisions if d.request is not None]
        assert len(answered) == number
        assert answered[-1].verdict is not Verdict.HELD
        assert len(world.transitions) == number + 1
