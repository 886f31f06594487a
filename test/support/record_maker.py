# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Honest records for the tests: the real gate and the real environment around a cart on paper.

Everything runs on one made-up clock, so that a minute of driving takes no time to wait for and the
same seed gives the same record. Every sensor sends messages, which gate and environment read for
themselves; together with all else that was sent they are kept for a bag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
import gc
import heapq
import itertools
import json
import math
import random
from types import FunctionType, ModuleType
from typing import Any
import uuid

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    DeadlinesDue,
    Decided,
    GateReported,
    MessageArrived,
    RecorderReported,
    SensorsRead,
    StepDue,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import Setup
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    CommandPublished,
    EmergencyStop,
    EpisodeStatusReceived,
    Measured,
    Request,
    Tick,
)
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import Purpose, sensor_topics
from boundary_env_ros.core.sources.listener import inputs_of
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.evidence.audit.rules import audit_rule
from support.record_sensors import CartSensors, Fields, plain, time_fields

Piece = Transition | GateDecision | EpisodeStatus | PrivilegedObservation | ActuationEvidence
Policy = Callable[[Observation], tuple[float, float]]

MS = 1_000_000
HOST = 'bench'
VERSION = '0.1.0'
EPOCH = 1_760_000_000_000_000_000

COMMAND, STOP = '/cmd_vel', '/emergency_stop'

#: Rules that only a bag with its raw messages can be held against.
FROM_TOPICS = {rule.id for rule in audit_rule.RULES if rule.topics}

#: The rules that need the privileged observations and the late evidence beside the steps.
BESIDE_STEPS = {'truth-withheld', 'execution-measured'}

#: Topic of each kind of record.
TOPICS: Mapping[str, str] = {
    'ActionRequest': '/boundary/action_request',
    'ActuationEvidence': '/boundary/actuation_evidence',
    'EpisodeStatus': '/boundary/episode_status',
    'PrivilegedObservation': '/boundary/privileged_observation',
    'GateDecision': '/boundary/gate_decision',
    'Transition': '/boundary/transition',
    'SimStepResponse': '/boundary/sim_step_response',
}


@dataclass(frozen=True)
class Sent:
    """One message that the recorder had: a record, or the fields of any other message."""

    topic: str
    log_time: int
    publish_time: int
    what: Any
    type: str = ''


def seek_goal(observation: Observation) -> tuple[float, float]:
    """Turn towards the goal and drive, now and then faster than allowed."""
    x, y, yaw = observation['pose'].values
    goal_x, goal_y = observation['goal'].values
    bearing = math.atan2(goal_y - y, goal_x - x) - yaw
    bearing = math.atan2(math.sin(bearing), math.cos(bearing))
    speed = 1.0 if observation.id.step % 12 < 4 else 0.7
    return speed * max(0.0, math.cos(bearing)), 1.8 * bearing


def do_nothing(observation: Observation) -> tuple[float, float]:
    """Ask for rest."""
    return 0.0, 0.0


class Bench(CartSensors):
    """A cart on paper between a gate and an environment, on a clock of its own."""

    def __init__(self, contract: Contract, digest: str, task: Task, seed: int) -> None:
        self.contract, self.digest = contract, digest
        self.random = random.Random(seed)
        topics = {topic: f'/{topic}' for topic in sensor_topics(contract)}
        self._types = {f'/{topic}': kind for topic, kind in sensor_topics(contract).items()}
        self._inputs = inputs_of(contract, topics)
        self.environment = Environment(
            Setup(
                contract=contract,
                digest=digest,
                task=task,
                agent='cart',
                topics=topics,
                software_version=VERSION,
            )
        )
        self.gate = Gate(
            contract,
            digest=digest,
            agent='cart',
            topics={i.name: f'/{i.topic}' for i in self._inputs if i.purpose is Purpose.GATE},
            software_version=VERSION,
        )
        self.record: list[Piece] = []
        self.sent: list[Sent] = []
        self.now = 0
        self._count = itertools.count()
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._pose = [0.0, 0.0, 0.0]
        self._velocity = [0.0, 0.0]
        self._command = (0.0, 0.0)
        self._client: tuple[str, Policy] = ('', do_nothing)
        self._lease, self._sequence, self._busy = '', 0, False
        self.stall_at: int | None = None
        self.stop_at: int | None = None
        for every, what in (
            (5, self._move),
            (20, self._odometry),
            (50, self._scan),
            (100, self._pose_and_camera),
            (20, self._gate_tick),
            (20, lambda: self._take(self.environment.apply(DeadlinesDue(now=self.instant())))),
            (50, self._gate_status),
            (
                500,
                lambda: self._take(self.environment.apply(RecorderReported(now=self.instant()))),
            ),
        ):
            self._repeat(every * MS, what)

    # Time ----------------------------------------------------------------------------------------

    def stamp(self, at: int | None = None) -> Stamp:
        return Stamp(
            clock=Clock.SYSTEM,
            nanoseconds=EPOCH + (self.now if at is None else at),
            host=HOST,
        )

    def wall(self, ago: int) -> Stamp:
        """Return a stamp of the middleware."""
        return self.stamp(self.now + ago)

    def instant(self, at: int | None = None) -> ClockReading:
        moment = self.now if at is None else at
        return ClockReading(ros=self.stamp(moment), steady=1_000 * MS + moment)

    def after(self, milliseconds: float, what: Callable[[], None]) -> None:
        due = self.now + round(milliseconds * MS)
        heapq.heappush(self._queue, (due, next(self._count), what))

    def _repeat(self, period: int, what: Callable[[], None]) -> None:
        def again() -> None:
            what()
            heapq.heappush(self._queue, (self.now + period, next(self._count), again))

        heapq.heappush(self._queue, (period, next(self._count), again))

    def run_until(self, done: Callable[[], bool], deadline: float = 60.0) -> None:
        end = self.now + round(deadline * 1e9)
        while not done():
            self.now, _, what = heapq.heappop(self._queue)
            if self.now > end:
                raise AssertionError(f'not done after {deadline} s')
            what()

    # What is sent --------------------------------------------------------------------------------

    def note(self, record: Piece) -> None:
        """Keep a record."""
        self.record.append(record)
        self.keep(record)

    def keep(self, record: object) -> None:
        """Keep what a node of the boundary sent."""
        at = self.stamp().nanoseconds
        self.sent.append(Sent(TOPICS[type(record).__name__], at + MS // 10, at, record))

    def _hear(self, topic: str, fields: Fields, delay: float) -> None:
        """Let a sensor's message arrive after a delay, ms."""

        def arrive() -> None:
            published, arrived = self.wall(-MS // 2), self.wall(-MS // 10)
            log_time = (arrived if self.contract.sim_time is False else self.stamp()).nanoseconds
            sent = log_time if self.contract.sim_time else published.nanoseconds
            self.sent.append(Sent(topic, log_time, sent, fields, self._types[topic]))
            self._read(topic, plain(fields), published, arrived)

        self.after(delay, arrive)

    def _read(self, topic: str, message: object, published: Stamp, arrived: Stamp) -> None:
        """Let gate and environment read a message, each for itself."""
        stamp = stamp_of(message)
        captured = None if stamp is None else replace(self.stamp(), nanoseconds=stamp)
        for item in self._inputs:
            if f'/{item.topic}' != topic:
                continue
            reading = item.reading(message, captured, published, arrived)
            if item.purpose is Purpose.GATE:
                values, now = reading.values, self.instant()
                measured = Measured(name=item.name, values=values, captured=captured, now=now)
                self._publish(self.gate.apply(measured))
            else:
                came = self.instant().steady
                self.environment.apply(
                    MessageArrived(topic=item.topic, captured=stamp, steady=came)
                )
                self._take(self.environment.on_reading(item, reading))
        self._take(self.environment.apply(SensorsRead(now=self.instant())))

    def press(self, *, pressed: bool) -> None:
        """Press or release the emergency stop."""
        at = self.stamp().nanoseconds
        self.sent.append(Sent(STOP, at, at, {'data': pressed}, 'std_msgs/msg/Bool'))
        self._publish(self.gate.apply(EmergencyStop(pressed=pressed, now=self.instant())))

    # An episode ----------------------------------------------------------------------------------

    def episode(self, client: str, policy: Policy, seed: int, options: str = '') -> None:
        """Run one episode to its end, and on until the gate is at rest."""
        self._client, self._busy = (client, policy), True
        begin = Begin(
            digest=self.digest,
            client=client,
            client_version=VERSION,
            wrappers=('Policy()',),
            seed=seed,
            options=options,
        )
        name = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        effects = self.environment.apply(
            BeginEpisode(begin=begin, episode_id=name, drawn_seed=0, now=self.instant())
        )
        self._lease, self._sequence = f'lease-{name[:8]}', 0
        self._take(effects)
        self.run_until(lambda: self._arms(name, client))
        self._busy = False
        self.run_until(lambda: self.environment.state.episode.state.over)
        rest = self.now + 1_500 * MS
        self.run_until(lambda: self.now >= rest)

    def _arms(self, episode: str, client: str) -> bool:
        """Arm the gate; return whether it heard its sensors yet."""
        try:
            self.gate.apply(
                Arm(
                    digest=self.digest,
                    agent='cart',
                    episode_id=episode,
                    client=client,
                    lease_id=self._lease,
                    now=self.instant(),
                )
            )
        except RequestRejected as refusal:
            if refusal.code is not ResultCode.SENSOR_MISSING:
                raise
            return False
        return True

    def _take(self, effects: tuple[object, ...]) -> None:
        for effect in effects:
            if isinstance(effect, ResetWorld):
                self.after(40, lambda effect=effect: self._reset(effect))
                continue
            if isinstance(effect, EpisodeStatus):
                self.gate.apply(EpisodeStatusReceived(status=effect, now=self.instant()))
            self.note(effect)
            if isinstance(effect, Transition):
                if effect.id.step == 0:
                    self._start_ticking(effect.id.episode_id)
                if effect.id.step == self.stop_at:
                    self.press(pressed=True)
                self._observe(effect.observation)

    def _reset(self, asked: ResetWorld) -> None:
        start = next(item for item in asked.target if item.name == 'start')
        reached = tuple(value + self.random.uniform(-0.01, 0.01) for value in start.values)
        self._pose, self._velocity, self._command = list(reached), [0.0, 0.0], (0.0, 0.0)
        answer = WorldReset(
            achieved=(NamedValues(name='start', values=reached, unit=start.unit),),
            completed=self.stamp().nanoseconds,
            confirmed_by='cart_on_paper',
        )
        self._take(self.environment.apply(WorldAnswered(answer=answer, now=self.instant())))

    def _observe(self, observation: Observation) -> None:
        if self._busy or self.environment.state.episode.state is not EpisodeState.RUNNING:
            return
        name, policy = self._client
        think = self.random.lognormvariate(math.log(15), 0.4)
        if self.stall_at is not None and observation.id.step == self.stall_at:
            think = 480.0
        delivered = self.now + round(self.random.uniform(0.3, 1.5) * MS)
        requested = delivered + round(think * MS)
        self._sequence += 1
        request = ActionRequest(
            id=replace(observation.id, step=observation.id.step + 1),
            lease_id=self._lease,
            sequence=self._sequence,
            action=policy(observation),
            observed=observation.observed,
            observed_step=observation.id.step,
            delivered=self.instant(delivered),
            requested=self.instant(requested),
            client=name,
            client_version=VERSION,
        )
        self._busy = True

        def arrive() -> None:
            self._busy = False
            self.keep(request)
            self._ask(request)

        self.after((requested - self.now) / MS + self.random.uniform(0.2, 1.0), arrive)

    # The gate ------------------------------------------------------------------------------------

    def _ask(self, request: ActionRequest) -> None:
        self._publish(self.gate.apply(Request(request=request, now=self.instant())))

    def _answer(self, decision: GateDecision) -> None:
        self._take(self.environment.apply(Decided(decision=decision, now=self.instant())))

    def _publish(self, decisions: tuple[GateDecision, ...]) -> None:
        for decision in decisions:
            at = self.now + round(self.random.uniform(0.1, 0.4) * MS)
            stamped = (
                replace(decision, commanded=self.instant(at)) if decision.command else decision
            )
            if decision.command:
                self.gate.apply(CommandPublished(now=self.instant(at)))
                self.command(stamped)
                self.after(35, lambda command=decision.command: self._obey(command))
            self.note(stamped)
            self.after(1, lambda decision=stamped: self._answer(decision))

    def command(self, decision: GateDecision) -> None:
        """Publish the command of a decision."""
        assert decision.commanded is not None
        at = decision.commanded.ros.nanoseconds
        group = self.contract.action[0]
        fields = {
            'header': {'stamp': time_fields(at), 'frame_id': group.frame},
            'twist': {
                'linear': {'x': decision.command[0]},
                'angular': {'z': decision.command[1]},
            },
        }
        self.sent.append(Sent(COMMAND, at, at, fields, group.type))

    def _obey(self, command: tuple[float, ...]) -> None:
        self._command = (command[0], command[1])

    def _gate_tick(self) -> None:
        self._publish(self.gate.apply(Tick(now=self.instant())))

    def _gate_status(self) -> None:
        self._take(
            self.environment.apply(
                GateReported(status=self.gate.state.status(self.instant()), now=self.instant())
            )
        )

    # The cart ------------------------------------------------------------------------------------

    def _move(self) -> None:
        for i in range(2):
            self._velocity[i] += (self._command[i] - self._velocity[i]) * 0.005 / 0.06
        yaw = self._pose[2]
        self._pose[0] += self._velocity[0] * math.cos(yaw) * 0.005
        self._pose[1] += self._velocity[0] * math.sin(yaw) * 0.005
        turned = yaw + self._velocity[1] * 0.005
        self._pose[2] = math.atan2(math.sin(turned), math.cos(turned))

    def _start_ticking(self, episode_id: str) -> None:
        def tick() -> None:
            status = self.environment.status(self.instant())
            if status.state is EpisodeState.RUNNING and status.id.episode_id == episode_id:
                self.after(100, tick)
                self._take(self.environment.apply(StepDue(now=self.instant(), late=0.0002)))

        self.after(100, tick)


#: Start (x, y, yaw) and goal (x, y) of each scenario, m and rad.
SCENARIOS: Mapping[str, tuple[tuple[float, float, float], tuple[float, float]]] = {
    'clear': ((-3.7, -3.0, 0.3), (-0.8, -2.7)),
    'blocked': ((-2.9, 0.1, 0.1), (2.7, 0.0)),
    'far': ((-1.9, -1.3, 0.1), (3.8, -1.3)),
}


def chosen_start(scenario: str, source: random.Random | None = None) -> str:
    """Return reset options for a scenario, with a start somewhere near its own."""
    (x, y, yaw), goal = SCENARIOS[scenario]
    if source is not None:
        x, y = x + source.uniform(-0.2, 0.2), y + source.uniform(-0.2, 0.2)
    return json.dumps({'start': [x, y, yaw], 'goal': goal})


def make_record(
    contract: Contract, digest: str, task: Task, *, seed: int = 1, rounds: int = 1
) -> list[Piece]:
    """Return a record with successes, a time limit, safety stops, overruns, and a baseline."""
    bench = Bench(contract, digest, task, seed)
    numbers = itertools.count(100 * seed)

    for _ in range(rounds):
        for scenario in ('clear', 'blocked', 'far', 'clear'):
            bench.stall_at = 8 if scenario == 'far' else None
            bench.episode(
                'goal_seeking', seek_goal, next(numbers), chosen_start(scenario, bench.random)
            )
        bench.stall_at = None
        bench.episode('no_op', do_nothing, next(numbers))
    return bench.record


def transitions_of(record: list[Piece]) -> Iterator[Transition]:
    """Yield the transitions of a record."""
    return (piece for piece in record if isinstance(piece, Transition))


def objects_in(one: object) -> int:
    """Return how many objects something holds on to, however deep, but for types and functions."""
    found: dict[int, object] = {}
    pending = [one]
    while pending:
        held = pending.pop()
        if id(held) not in found and not isinstance(held, (type, ModuleType, FunctionType)):
            found[id(held)] = held
            pending += gc.get_referents(held)
    return len(found)
