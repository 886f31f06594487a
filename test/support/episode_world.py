# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whole episodes in one process: the real environment and the real gate around a point robot.

Nothing here waits: a test runs the world for as long as it likes, and may silence any part of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
import json
import math

from boundary_env_ros.core.contract.model import CallStep, ConfirmStep, Contract, PublishStep
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    DeadlinesDue,
    Decided,
    FieldRead,
    GateReported,
    GroupMeasured,
    InputEvent,
    MessageArrived,
    RecorderReported,
    SensorsRead,
    StepDue,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import Output, Setup
from boundary_env_ros.core.environment.reset import ResetOutput, ResetWorld, WorldReset
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    Deactivate,
    EmergencyStop,
    EpisodeStatusReceived,
    Measured,
    Request,
    Tick,
    WorldMoved,
)
from boundary_env_ros.core.records.decision import GateDecision, GateState
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest, SimStepResponse
from boundary_env_ros.core.records.observation import ImageReference, Observation
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import gate_inputs, sensor_topics
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import (
    Clock,
    ClockReading,
    NANOSECONDS,
    RosTime,
    Stamp,
    to_nanoseconds,
)
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from support.core_world import (
    AGENT,
    DIGEST,
    request_for,
    shipped,
    Timepiece,
)
from support.gate_bench import Witness

START = (-4.0, -3.0, 0.0)
NEAR_GOAL = (-3.2, -3.0)
FAR_GOAL = (4.0, -3.0)
LEASE = 'lease-{}'

Policy = Callable[[Observation], Vector | None]


def forward(speed: float = 0.4) -> Policy:
    """Return a policy that drives straight on."""
    return lambda observation: (speed, 0.0)


class PointRobot:
    """A point that does what it is told, after a delay, and stops when nobody tells it."""

    def __init__(self, contract: Contract, *, delay: float = 0.0) -> None:
        self.pose = list(START)
        self.speed: Vector = (0.0, 0.0)
        self.delay = delay
        self.timeout = contract.action[0].driver_timeout or math.inf
        self.queue: deque[tuple[int, Vector]] = deque()
        self.told: int | None = None
        self.wall = math.inf

    def command(self, values: Vector, at: int) -> None:
        """Take a command at some nanosecond."""
        self.queue.append((at + to_nanoseconds(self.delay), values))

    def move(self, now: int, seconds: float) -> None:
        """Move until now."""
        while self.queue and self.queue[0][0] <= now:
            self.told, self.speed = self.queue.popleft()
        if self.told is not None and now - self.told > self.timeout * NANOSECONDS:
            self.speed = (0.0, 0.0)
        self.pose[2] += self.speed[1] * seconds
        self.pose[0] += self.speed[0] * math.cos(self.pose[2]) * seconds
        self.pose[1] += self.speed[0] * math.sin(self.pose[2]) * seconds

    def reset(self, target: Vector) -> None:
        """Stand still somewhere else."""
        self.pose = list(target)
        self.speed = (0.0, 0.0)
        self.queue.clear()

    @property
    def ahead(self) -> float:
        """Distance to the wall, which stands across the way."""
        return max(0.0, self.wall - self.pose[0])


class EpisodeWorld:
    """
    Environment, gate, robot, recorder and policy, and the wires between them.

    Attributes
    ----------
    alive
        What gives heartbeats: policy, gate, environment, recorder, robot, and each sensor.
    think
        Seconds that the policy takes.

    """

    def __init__(
        self,
        *,
        pacing: Pacing = Pacing.REALTIME,
        delay: float = 0.0,
        contract: Contract | None = None,
        task: Task | None = None,
    ) -> None:
        self.contract = (contract or shipped()).paced(pacing)
        self.lockstep = pacing is Pacing.LOCKSTEP
        self.time = Timepiece(clock=Clock.ROS if self.lockstep else Clock.SYSTEM)
        self.time.ros_paused = self.lockstep
        topics = {topic: f'/{topic}' for topic in sensor_topics(self.contract)}
        self.environment = Environment(
            Setup(
                contract=self.contract,
                digest=DIGEST,
                agent=AGENT,
                topics=topics,
                task=task or GoToGoal(**self.contract.task.parameters),
                software_version='test',
            )
        )
        self.gate = Gate(
            self.contract, digest=DIGEST, agent=AGENT, software_version='test',
            topics={i.name: topics[i.topic] for i in gate_inputs(self.contract)},
        )  # fmt: skip
        self.witness = Witness(self.contract)
        self.robot = PointRobot(self.contract, delay=delay)
        self.sensors = {'pose', 'velocity', 'scan', 'front', 'true_pose', 'contact'}
        self.alive = {'policy', 'gate', 'environment', 'recorder', 'robot', *self.sensors}
        self.policy: Policy = forward()
        self.think = 0.02
        self.lag = dict.fromkeys(self.sensors, 0.005) | {'pose': 0.08}
        self.reset_error = ''
        self.reset_answer: Callable[[Vector], Vector] = lambda start: start
        self.arms = True
        self.to_arm: EpisodeStatus | None = None
        self.loses = 0
        self.drops: set[str] = set()
        self.holds: set[str] = set()
        self.held: list[Callable[[], None]] = []
        self.advances: list[SimStepRequest] = []
        self.asked: list[ResetOutput] = []
        self.advance_error = ''

        self.transitions: list[Transition] = []
        self.observations: list[Observation] = []
        self.evaluator: list[PrivilegedObservation] = []
        self.statuses: list[EpisodeStatus] = []
        self.evidence: list[ActuationEvidence] = []
        self.episodes = 0
        self.sequence = 0
        self.thinking: list[tuple[int, Observation]] = []
        self.next_tick = 0

    # What a test does ----------------------------------------------------------------------------

    def begin(
        self,
        *,
        goal: Vector = FAR_GOAL,
        seed: int | None = 7,
        client: str = 'policy',
        **begin: object,
    ) -> EpisodeWorld:
        """Begin an episode; in lockstep that runs the whole reset."""
        self.episodes += 1
        options = json.dumps({'start': START, 'goal': goal})
        asked = {'digest': DIGEST, 'client': client, 'seed': seed, 'options': options, **begin}
        if self.lockstep:
            self.signs_of_life()
        effects = self.environment.apply(
            BeginEpisode(
                begin=Begin(**asked),
                episode_id=f'episode-{self.episodes}',
                drawn_seed=99,
                now=self.now,
            )
        )
        self.sequence = 0
        self.thinking.clear()
        self.carry(effects)
        return self

    def start(self, *, goal: Vector = FAR_GOAL, seed: int | None = 7) -> EpisodeWorld:
        """Begin an episode and bring it to run."""
        self.begin(goal=goal, seed=seed)
        if not self.lockstep:
            self.run_until(lambda: self.state is EpisodeState.RUNNING)
        assert self.state is EpisodeState.RUNNING, self.environment.status(self.now).message
        return self

    def run(self, seconds: float) -> EpisodeWorld:
        """Let time pass (realtime)."""
        for _ in range(round(seconds / self.slice)):
            self.pass_slice()
        return self

    def run_until(self, done: Callable[[], bool], within: float = 30.0) -> EpisodeWorld:
        """Let time pass until something is so."""
        for _ in range(round(within / self.slice)):
            if done():
                return self
            self.pass_slice()
        raise AssertionError(f'it did not happen within {within} s')

    def finish(self, within: float = 30.0) -> Transition:
        """Let the episode come to its end, and return its last transition."""
        self.run_until(lambda: self.state.over, within)
        return self.transitions[-1]

    def step(self, *action: float, **changes: object) -> Transition | None:
        """Send one action (lockstep), and return the transition that it closed."""
        before = len(self.transitions)
        self.signs_of_life()
        self.time.wait(self.think)
        self.request(self.observations[-1], action, **changes)
        return self.transitions[-1] if len(self.transitions) > before else None

    # Time ----------------------------------------------------------------------------------------

    @property
    def now(self) -> ClockReading:
        """Both clocks."""
        return self.time.now

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self.environment.state.episode.state

    @property
    def slice(self) -> float:
        """Seconds between two runs of the gate's timer."""
        return self.contract.safety.gate_period

    def pass_slice(self) -> None:
        """Let the smallest piece of time pass, in which everything that is alive does its part."""
        self.time.wait(self.slice)
        self.robot.move(self.time.steady, self.slice)
        for name in sorted(self.sensors & self.alive):
            if 'robot' in self.alive:
                self.sense(name)
        if self.to_arm is not None and self.state is EpisodeState.RESETTING:
            self.arm(self.to_arm)
        self.signs_of_life()
        for due, observation in list(self.thinking):
            if self.time.steady >= due:
                self.thinking.remove((due, observation))
                self.act(observation)
        if 'gate' in self.alive:
            self.decided(self.gate.apply(Tick(now=self.now)))
        if 'environment' in self.alive:
            self.apply(DeadlinesDue(now=self.now))
            if self.state is EpisodeState.RUNNING and self.time.steady >= self.next_tick:
                late = (self.time.steady - self.next_tick) / NANOSECONDS
                self.next_tick += to_nanoseconds(self.contract.period)
                self.apply(StepDue(now=self.now, late=late))

    def signs_of_life(self) -> None:
        """Let gate, environment and recorder say that they live."""
        if 'recorder' in self.alive:
            self.apply(RecorderReported(now=self.now))
        if 'gate' in self.alive:
            self.apply(GateReported(status=self.gate.state.status(self.now), now=self.now))
        if 'environment' in self.alive:
            self.heard(self.environment.status(self.now))

    # Wires ---------------------------------------------------------------------------------------

    def sense(self, name: str) -> None:
        """Let one sensor speak, as it saw the world a moment ago."""
        self.speak(name, self.time.stamp(ago=self.lag[name]))

    def speak(self, name: str, captured: Stamp) -> None:
        """Let environment and gate have one sensor's value."""
        x, y, yaw = self.robot.pose
        ahead = self.robot.ahead
        values: dict[str, Vector] = {
            'pose': (x, y, math.remainder(yaw, math.tau)),
            'velocity': self.robot.speed,
            'scan': (min(ahead, 8.0),) * 36,
            'front': (),
            'true_pose': (x, y, math.remainder(yaw, math.tau)),
            'contact': (0.0,),
        }
        image = None
        if name == 'front':
            image = ImageReference(
                topic='/camera/image_raw', stamp=RosTime(captured.nanoseconds), height=48,
                width=64, encoding='rgb8', sha256=bytes(32),
            )  # fmt: skip
        sample = Reading(
            values=values[name], captured=captured, arrived=self.time.stamp(), image=image
        )
        now = self.now
        (spec,) = (spec for spec in self.contract.fields if spec.name == name)
        self.environment.apply(
            MessageArrived(topic=spec.topic, captured=captured.nanoseconds, steady=now.steady)
        )
        self.environment.apply(FieldRead(name=name, reading=sample))
        if name == 'velocity':
            speed = self.robot.speed
            self.witness.feedback(speed, now, captured.nanoseconds)
            self.decided(
                self.gate.apply(
                    Measured(name='feedback.base', values=speed, captured=captured, now=now)
                )
            )
            self.apply(GroupMeasured(name='base', values=speed, captured=captured))
        if name == 'scan':
            measured = (ahead, math.inf, 1.0, 1.0)
            self.decided(
                self.gate.apply(
                    Measured(name='obstacle.scan', values=measured, captured=captured, now=now)
                )
            )
        self.apply(SensorsRead(now=now))

    def apply(self, event: InputEvent) -> None:
        """Let something happen to the environment, and do what comes of it."""
        self.carry(self.environment.apply(event))

    def judge_by(self, task: Task) -> None:
        """Let another task judge from now on."""
        state = self.environment.state
        self.environment.state = replace(state, setup=replace(state.setup, task=task))

    def carry(self, effects: Iterable[Output]) -> None:
        """Bring effects of the environment to whom they are for."""
        for effect in effects:
            if isinstance(effect, Transition):
                self.transitions.append(effect)
                if effect.reset is not None and effect.truncated:
                    continue  # a reset that failed shows nothing
                self.observations.append(effect.observation)
                if 'policy' in self.alive and not self.lockstep:
                    due = self.time.steady + to_nanoseconds(self.think)
                    self.thinking.append((due, effect.observation))
            elif isinstance(effect, PrivilegedObservation):
                self.evaluator.append(effect)
            elif isinstance(effect, ActuationEvidence):
                self.evidence.append(effect)
            elif isinstance(effect, EpisodeStatus):
                self.statuses.append(effect)
                self.heard(effect)
                if effect.state is EpisodeState.RUNNING and effect.id.step == 0:
                    self.next_tick = self.time.steady + to_nanoseconds(self.contract.period)
                if effect.state is EpisodeState.RESETTING and self.arms:
                    self.arm(effect)
            elif isinstance(effect, (CallStep, PublishStep, ConfirmStep)):
                self.asked.append(effect)
            elif isinstance(effect, ResetWorld):
                self.asked.append(effect)
                self.reset_world(effect)
            else:
                self.advance(effect)

    def heard(self, status: EpisodeStatus) -> None:
        """Let the gate hear the environment."""
        self.gate.apply(EpisodeStatusReceived(status=status, now=self.now))
        self.witness.running = status.state is EpisodeState.RUNNING

    def arm(self, status: EpisodeStatus) -> None:
        """Let the client arm the gate, as soon as it hears of the episode."""
        try:
            self.gate.apply(
                Arm(
                    digest=DIGEST,
                    agent=AGENT,
                    episode_id=status.id.episode_id,
                    client=status.client,
                    lease_id=LEASE.format(self.episodes),
                    now=self.now,
                )
            )
        except RequestRejected as refusal:
            # A gate that has not heard its sensors yet is asked again, as a client does.
            self.to_arm = status if refusal.code is ResultCode.SENSOR_MISSING else None
            return
        self.to_arm = None
        self.witness.armed()
        self.apply(GateReported(status=self.gate.state.status(self.now), now=self.now))

    def reset_world(self, asked: ResetWorld) -> None:
        """Let the robot answer a reset."""
        if 'robot' not in self.alive:
            return
        starts = [item.values for item in asked.target if item.name == 'start']
        self.robot.reset(starts[0] if starts else START)
        answer = WorldReset(
            error=self.reset_error,
            achieved=tuple(
                NamedValues(name='start', values=self.reset_answer(start)) for start in starts
            ),
            completed=self.time.ros,
            confirmed_by='point robot',
        )
        self.apply(WorldAnswered(answer=answer, now=self.now))

    def act(self, observation: Observation) -> None:
        """Let the policy act on an observation, if it lives and has something to say."""
        action = self.policy(observation)
        if action is not None and 'policy' in self.alive:
            self.request(observation, action)

    def request(self, observation: Observation, action: Vector, **changes: object) -> None:
        """Send a request that answers an observation."""
        self.sequence += 1
        asked = {
            'sequence': self.sequence, 'lease': LEASE.format(self.episodes),
            'step': observation.id.step + 1, 'episode': observation.id.episode_id, **changes,
        }  # fmt: skip
        request = request_for(action, observed=observation.observed, now=self.now, **asked)
        if 'gate' in self.alive:
            self.decided(self.gate.apply(Request(request=request, now=self.now)))

    def decided(self, decisions: Iterable[GateDecision]) -> None:
        """Publish the command of each decision, then the decision."""
        if 'gate' not in self.alive:
            return
        for decision in self.witness.see(decisions, self.now):
            whole = replace(decision, commanded=self.now) if decision.published else decision
            if whole.published:
                self.robot.command(whole.command, self.time.steady)
            if self.loses > 0:
                self.loses -= 1
                continue
            self.apply(Decided(decision=whole, now=self.now))

    def deactivate_gate(self) -> None:
        """Deactivate the gate, which takes no time here; then it is silent."""
        while decisions := self.gate.apply(Deactivate(now=self.now)):
            self.decided(decisions)
            self.apply(GateReported(status=self.gate.state.status(self.now), now=self.now))
            self.time.wait(self.contract.safety.gate_period)
        self.witness.forget()
        told = replace(self.gate.state.status(self.now), state=GateState.INACTIVE)
        self.apply(GateReported(status=told, now=self.now))
        self.alive.discard('gate')

    def press(self) -> None:
        """Press the emergency stop."""
        self.witness.latched = True
        self.decided(self.gate.apply(EmergencyStop(pressed=True, now=self.now)))

    # Lockstep ------------------------------------------------------------------------------------

    def advance(self, asked: SimStepRequest) -> None:
        """Advance the world, and say what was published on the way."""
        self.advances.append(asked)
        if 'robot' not in self.alive:
            return
        seconds = asked.duration / NANOSECONDS
        self.time.jump_ros(seconds)
        self.robot.queue = deque((self.time.steady, values) for _, values in self.robot.queue)
        self.robot.told = None
        self.robot.move(self.time.steady, seconds)
        self.robot.told = None
        stamp = self.time.stamp()
        names = sorted((self.sensors & self.alive) - self.drops)
        by_name = {spec.name: spec.topic for spec in self.contract.fields}
        topics = [f'/{by_name[name]}' for name in names]
        dropped = [f'/{by_name[name]}' for name in sorted(self.drops)]
        stamped = [0 if name == 'contact' else stamp.nanoseconds for name in names]
        report = SimStepResponse(
            id=asked.id, success=not self.advance_error, message=self.advance_error,
            topics=(*topics, *dropped), published=(1,) * len(topics) + (0,) * len(dropped),
            last_stamp=(*map(RosTime, stamped), *(RosTime(0),) * len(dropped)),
            dropped=(0,) * len(topics) + (1,) * len(dropped),
        )  # fmt: skip
        answer = Advanced(report=report, now=self.time.ros)
        if self.advance_error:
            self.apply(WorldAdvanced(report=answer, now=self.now))
            return
        for name in names:
            if name in self.holds:
                self.held.append(partial(self.speak, name, stamp))
            else:
                self.speak(name, stamp)
        self.decided(self.gate.apply(WorldMoved(report=answer, now=self.now)))
        self.apply(WorldAdvanced(report=answer, now=self.now))
