# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What goes over a gate in a campaign: requests of every kind of wrongness, and the world around it.

A run is a gate of its own, some episodes and a few hundred requests. It is a function of contract,
seed and number alone. All draws of a run are made at once, so that most of its time is the gate's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, Contract, OutOfBounds
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    ClearEmergencyStop,
    Deactivate,
    EmergencyStop,
    EpisodeStatusReceived,
    Measured,
    Request,
    Tick,
    TimerStarted,
    WorldMoved,
)
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Trigger
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepResponse
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, RosTime, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected
from support.campaign_oracle import Oracle
from support.core_world import AGENT, DIGEST, HOST, step_id

#: Requests of a run.
COUNT = 500

SPECIAL = np.array([np.nan, np.inf, -np.inf, 5e-324, -5e-324, 2e-308, -1e308, 1e308, 0.0, -0.0])


class Kind(IntEnum):
    """What is wrong with a request, besides its numbers."""

    FRESH = 0
    SHAPE = 1
    HORIZON = 2
    DUPLICATE = 3
    REORDERED = 4
    REPLAYED = 5
    STALE = 6
    FUTURE = 7
    AGELESS = 8
    EPISODE = 9
    LEASE = 10
    DIGEST = 11
    AGENT = 12


#: How often: three in four have nothing wrong with them.
_KINDS = np.array([0.76] + [0.02] * (len(Kind) - 1))


class What(IntEnum):
    """What else happens before a request."""

    NOTHING = 0
    ENDS = 1
    BEGINS = 2
    PRESSED = 3
    JUMPS = 4
    RESTARTS = 5
    DEACTIVATED = 6


_EVENTS = np.array([0.979, 0.007, 0.003, 0.003, 0.006, 0.001, 0.001])


def actions(rng: np.random.Generator, contract: Contract, count: int) -> np.ndarray:
    """
    Return actions: what a policy may ask for, some of any size, and some that are no numbers.

    Returns
    -------
    np.ndarray
        Shape ``(count, action_size)``, action space of the contract.

    """
    # A policy changes its mind now and then, and trembles.
    minds = np.cumsum(rng.random(count) < 0.05)
    columns = []
    for group in contract.action:
        gentle = group.out_of_bounds is OutOfBounds.REJECT
        if group.kind is ActionKind.CONTINUOUS:
            low, high = np.array(group.low), np.array(group.high)
            goal = rng.uniform(
                -0.05 if gentle else -0.3, 1.05 if gentle else 1.3, (count, len(low))
            )
            goal = np.where(rng.random(goal.shape) < 0.1, np.round(goal), goal)[minds]
            tremble = rng.normal(scale=0.01, size=goal.shape) * (rng.random((count, 1)) < 0.5)
            columns.append(low + (high - low) * (goal + tremble))
        elif group.kind is ActionKind.DELTA:
            most = np.array(group.max_delta)
            columns.append(most * rng.uniform(-1.0, 1.0, (count, len(most))) * 0.3)
        else:
            sizes = [len(options) for options in group.options]
            chosen = np.column_stack([rng.integers(0, size, count) for size in sizes])
            columns.append(chosen[minds].astype(float))
    values = np.column_stack(columns)
    size = values.shape[1]
    rows = np.flatnonzero(rng.random(count) < 0.05)
    values[rows, rng.integers(0, size, len(rows))] *= 10.0 ** rng.integers(-320, 300, len(rows))
    rows = np.flatnonzero(rng.random(count) < 0.04)
    values[rows, rng.integers(0, size, len(rows))] = rng.choice(SPECIAL, len(rows))
    return values


class Run:
    """
    One gate, and what goes over it.

    Parameters
    ----------
    contract
        Its contract.
    seed, number
        Which run it is.

    Attributes
    ----------
    actions
        How many actions were sent.
    sent
        How many requests of each kind were sent.
    oracle
        What holds every decision against its own account.

    """

    def __init__(self, contract: Contract, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])
        self.contract = contract
        self.lockstep = contract.pacing is Pacing.LOCKSTEP
        inputs = gate_inputs(contract)
        self.topics = {item.name: f'/{item.topic}' for item in inputs}
        self.held_by = tuple(name for name in self.topics if name.startswith('alive.'))
        self.gate = Gate(contract, digest=DIGEST, agent=AGENT, topics=self.topics)
        self.oracle = Oracle(contract)
        self.actions = 0
        self.sent: Counter[Kind] = Counter()

        self.steady, self.ros = 5_000 * NANOSECONDS, 1_700_000_000 * NANOSECONDS
        self.clock = Clock.ROS if self.lockstep else Clock.SYSTEM
        self._move(0)
        self.episodes = self.leases = self.sequence = self.step = 0
        self.state = EpisodeState.IDLE
        self.there: Vector = (0.0,) * contract.command_size
        self.past: list[ActionRequest] = []
        self.waiting: dict[int, ClockReading] = {}

    # Time ----------------------------------------------------------------------------------------

    def _move(self, nanoseconds: int, ros: int | None = None) -> None:
        self.steady += nanoseconds
        self.ros += (0 if self.lockstep else nanoseconds) if ros is None else ros
        self.now = ClockReading(ros=self._stamp(0), steady=self.steady)

    def _stamp(self, ago: int) -> Stamp:
        return Stamp(clock=self.clock, nanoseconds=self.ros - ago, host=HOST)

    # What happens --------------------------------------------------------------------------------

    def go(self) -> None:
        """
        Send all requests of the run.

        Raises
        ------
        Violation
            If the gate broke something.

        """
        rng, contract = self.rng, self.contract
        horizon = contract.horizon
        asked = actions(rng, contract, COUNT * horizon).reshape(COUNT, -1).tolist()
        horizons = rng.integers(1, horizon + 1, COUNT).tolist()
        kinds = [Kind(k) for k in rng.choice(len(Kind), COUNT, p=_KINDS / _KINDS.sum())]
        events = rng.choice(len(What), COUNT, p=_EVENTS).tolist()
        period = contract.period
        waits = rng.choice(
            np.array([0.0, 0.001, 0.01, 0.02, 0.05, period, 0.16, 0.24, 0.31, 2.0]),
            COUNT,
            p=[0.1, 0.15, 0.15, 0.2, 0.15, 0.21, 0.02, 0.008, 0.01, 0.002],
        )
        waits = np.rint(waits * NANOSECONDS).astype(int).tolist()
        speaks = (rng.random(COUNT) < 0.4).tolist()
        # Chunks need the timer, as does a gate that mistrusts one that is late.
        rarely = horizon == 1 and contract.safety.gate_lateness > 1.0
        ticks = rng.choice([0, 1, 2], COUNT, p=[0.75, 0.2, 0.05] if rarely else [0.3, 0.4, 0.3])
        ticks = ticks.tolist()
        moods = rng.choice(6, COUNT, p=[0.93, 0.03, 0.01, 0.01, 0.01, 0.01])
        # Most of what the sensors say stays so for a while.
        scans = rng.choice(len(SCANS), COUNT, p=_SCANS)[
            np.cumsum(rng.random(COUNT) < 0.2)
        ].tolist()
        begins = 0
        self.begin()
        for i in range(COUNT):
            event = events[i]
            if event:
                begins = self._happens(What(event), i)
            self._move(waits[i])
            if speaks[i]:
                self.speak(scans[i], int(moods[i]))
            if self.lockstep:
                self._advance_and_ask(asked[i], horizons[i], kinds[i], scans[i], int(moods[i]))
            else:
                self.ask(asked[i], horizons[i], kinds[i])
            for _ in range(ticks[i]):
                self._move(waits[(i + 7) % COUNT] // 4)
                self.tick()
            if begins:
                begins -= 1
                if not begins:
                    self._restore()
        self.oracle.sent.check()

    def _happens(self, what: What, i: int) -> int:
        """Let something happen; return after how many requests order is to be restored."""
        if what is What.ENDS:
            self.say(EpisodeState.TRUNCATED if i % 2 else EpisodeState.TERMINATED)
        elif what is What.BEGINS:
            self.begin()
            return 0
        elif what is What.PRESSED:
            pressed_before, self.oracle.latched = self.oracle.latched, True
            decisions = self.gate.apply(EmergencyStop(pressed=True, now=self.now))
            if not pressed_before:
                # It does not wait for the timer.
                self._ticked(decisions)
        elif what is What.RESTARTS:
            self.say(EpisodeState.IDLE)
        elif what is What.DEACTIVATED:
            self._wind_down()
        elif not self.lockstep:
            self._move(0, ros=(-1 if i % 2 else 1) * (NANOSECONDS // 3))
            return 0
        return 1 + i % 12

    def _wind_down(self) -> None:
        """Deactivate the gate, and activate it again at once."""
        self.oracle.deactivating = True
        while decisions := self.gate.apply(Deactivate(now=self.now)):
            self._see(decisions)
            self.oracle.ticked_at = self.now
            self._move(round(self.contract.safety.gate_period * NANOSECONDS))
        self.oracle.deactivated()
        self.gate.apply(TimerStarted(now=self.now))

    def _restore(self) -> None:
        """Release and clear what was pressed, and begin an episode."""
        self._see(self.gate.apply(EmergencyStop(pressed=False, now=self.now)))
        if self.state is EpisodeState.RUNNING:
            self.say(EpisodeState.TRUNCATED)
        try:
            self.gate.apply(ClearEmergencyStop(now=self.now))
        except RequestRejected:
            pass
        else:
            self.oracle.latched = False
            self.oracle.ended()
        self.begin()

    def begin(self) -> None:
        """Begin an episode, take the lease for it, and wait until nothing moves from before."""
        self.episodes += 1
        self.step = 0
        self.say(EpisodeState.RESETTING)
        self.speak(0, 0)
        lease = f'lease-{self.leases + 1}'
        try:
            self.gate.apply(
                Arm(
                    digest=DIGEST,
                    agent=AGENT,
                    episode_id=self.episode,
                    client='policy',
                    lease_id=lease,
                    now=self.now,
                )
            )
        except RequestRejected:
            # It is latched: nobody is armed, and what is sent now is for nobody.
            pass
        else:
            self.leases += 1
            self.sequence = 0
            self.waiting.clear()
            self.oracle.armed(lease, self.episode, self.steady)
        self.say(EpisodeState.RUNNING)
        for _ in range(self.episodes % 3 * 30):
            if not self.oracle.braking:
                break
            self._move(round(self.contract.safety.gate_period * NANOSECONDS))
            self.tick()
        if self.lockstep:
            self._advance(0, 0)

    @property
    def episode(self) -> str:
        """Identity of the episode."""
        return f'episode-{self.episodes}'

    def say(self, state: EpisodeState) -> None:
        """Let the environment speak."""
        self.state = state
        episode = '' if state is EpisodeState.IDLE else self.episode
        self.oracle.status(
            episode,
            runs=state is EpisodeState.RUNNING,
            over=state.over,
            now=self.steady,
        )
        said = EpisodeStatus(
            id=StepId(digest=DIGEST, agent=AGENT, episode_id=episode, step=self.step),
            state=state,
            pacing=self.contract.pacing,
            client='policy',
            stamp=self.now,
        )
        self._see(self.gate.apply(EpisodeStatusReceived(status=said, now=self.now)))

    def speak(self, scan: int, mood: int) -> None:
        """Let environment and sensors speak; a mood is a lag, a silence or a lie."""
        if self.state is not EpisodeState.IDLE:
            self.say(self.state)
        self._sense(scan, mood)

    def _sense(self, scan: int, mood: int) -> None:
        ago = _LAGS.get(mood, 0 if self.lockstep else 10_000_000)
        captured, now = self._stamp(ago), self.now
        stamp = captured.nanoseconds
        account = self.oracle.inputs_seen
        for rule in self.contract.safety.of(Obstacle):
            values = SCANS[scan]
            account[rule.input] = (values, self.steady, stamp)
            self._see(
                self.gate.apply(
                    Measured(name=rule.input, values=values, captured=captured, now=now)
                )
            )
        for name in self.held_by:
            values = () if mood == 1 else (1.0,)  # of a message that cannot be read
            account[name] = (values, self.steady, stamp)
            self._see(
                self.gate.apply(Measured(name=name, values=values, captured=captured, now=now))
            )
        there = self.oracle.last or self.there
        if mood == 1:
            # What the robot says of itself is anything at all, now and then.
            there = tuple(self.rng.choice(SPECIAL, len(there)).tolist())
        elif self.oracle.last is None:
            # Now and then a robot stands outside of its bounds when it is armed.
            low, high = np.array(self.oracle.low), np.array(self.oracle.high)
            beyond = 0.2 * (high - low)
            there = tuple(self.rng.uniform(low - beyond, high + beyond).tolist())
        self.there = there
        self.oracle.motion = (there, self.steady, stamp)
        start = 0
        for group in self.contract.action:
            part = there[start : start + group.size]
            start += group.size
            self._see(
                self.gate.apply(
                    Measured(
                        name=f'feedback.{group.name}', values=part, captured=captured, now=now
                    )
                )
            )

    # Requests ------------------------------------------------------------------------------------

    def ask(self, asked: list[float], horizon: int, kind: Kind) -> None:
        """Send one request, of that kind."""
        self.sent[kind] += 1
        self.actions += horizon
        request = self._request(asked, horizon, kind)
        self.oracle.waiting[request.sequence] = request
        received = self.now
        self.waiting[request.sequence] = received
        decisions = self.gate.apply(Request(request=request, now=received))
        self._see(decisions)
        if not self.lockstep and [d.request for d in decisions] != [request]:
            raise AssertionError(f'expect one decision on {request}, actually: {decisions}')
        self.past.append(request)
        if len(self.past) > 40:
            del self.past[:20]

    def _request(self, asked: list[float], horizon: int, kind: Kind) -> ActionRequest:
        if kind in (Kind.DUPLICATE, Kind.REPLAYED) and self.past:
            old = self.past[-1 if kind is Kind.DUPLICATE else 0]
            # A replay of an earlier lease may bring a number that this one has not reached.
            return old if kind is Kind.DUPLICATE else replace(old, sequence=old.sequence + 10_000)
        action = tuple(asked[: self.contract.action_size * horizon])
        age = 20_000_000 if not self.lockstep else 0
        changes: dict[str, object] = {}
        self.sequence += 1
        sequence = self.sequence
        if kind is Kind.SHAPE:
            action = (action + action[:1], action[:-1], (), action * 3)[sequence % 4]
        elif kind is Kind.HORIZON:
            horizon = (0, -1, self.contract.horizon + 1, horizon + 1)[sequence % 4]
        elif kind is Kind.REORDERED:
            sequence = max(0, sequence - 1 - sequence % 5)
        elif kind in (Kind.STALE, Kind.FUTURE):
            most = round(self.contract.safety.max_action_age * NANOSECONDS)
            age = (1 if kind is Kind.STALE else -1) * most * (1, 1, 2, 100)[sequence % 4]
            # Just as old as it may be, or a nanosecond more.
            age += (0, 1 if age > 0 else -1, 0, 0)[sequence % 4]
        elif kind is Kind.EPISODE:
            changes['episode'] = ('', 'unheard of', f'episode-{self.episodes - 1}')[sequence % 3]
        elif kind is Kind.DIGEST:
            changes['digest'] = ('', 'sha256:' + '0' * 64)[sequence % 2]
        elif kind is Kind.AGENT:
            changes['agent'] = ('', 'other')[sequence % 2]
        lease = f'lease-{self.leases}'
        if kind is Kind.LEASE:
            lease = ('', 'lease-0', f'lease-{self.leases + 1}')[sequence % 3]
        observed = None
        if kind is not Kind.AGELESS:
            observed = ClockReading(ros=self._stamp(age), steady=self.steady - age)
        return ActionRequest(
            id=StepId(
                digest=DIGEST,
                agent=AGENT,
                episode_id=self.episode,
                step=self.step + 1,
            )
            if not changes
            else step_id(self.step + 1, **{'episode': self.episode, **changes}),
            lease_id=lease,
            sequence=sequence,
            action=action,
            observed=observed,
            delivered=observed,
            requested=self.now,
            horizon=horizon,
        )

    # Lockstep ------------------------------------------------------------------------------------

    def _advance_and_ask(
        self, asked: list[float], horizon: int, kind: Kind, scan: int, mood: int
    ) -> None:
        """Advance the world and send the request for the next step, now and then before that."""
        early = self.sequence % 4 == 3
        if early:
            self.step += 1
            self.ask(asked, horizon, kind)
            self.step -= 1
        self.step += 1
        self._advance(scan, mood)
        if not early:
            self.ask(asked, horizon, kind)

    def _advance(self, scan: int, mood: int) -> None:
        """Let the world advance by a period, and say so; a mood may keep its sensors back."""
        self._move(0, ros=round(self.contract.period * NANOSECONDS))
        names = tuple(dict.fromkeys(self.topics.values()))
        last = RosTime(self.ros)
        report = SimStepResponse(
            id=step_id(self.step, self.episode),
            success=True,
            message='',
            topics=names,
            published=(1,) * len(names),
            last_stamp=(last,) * len(names),
            dropped=(0,) * len(names),
        )
        self._see(
            self.gate.apply(WorldMoved(report=Advanced(report=report, now=self.ros), now=self.now))
        )
        if mood != 2:
            self._sense(scan, mood if mood == 1 else 0)
        if self.state is not EpisodeState.IDLE:
            self.say(self.state)

    # What the gate does --------------------------------------------------------------------------

    def tick(self) -> None:
        """Let the gate's own timer run."""
        self._ticked(self.gate.apply(Tick(now=self.now)))

    def _ticked(self, decisions: tuple[GateDecision, ...]) -> None:
        self.oracle.ticked(decisions, self.now)
        self._see(decisions)
        self.oracle.after_tick(decisions, self.now)

    def _see(self, decisions: tuple[GateDecision, ...]) -> None:
        for decision in decisions:
            received = None
            if decision.trigger is Trigger.REQUEST and decision.request is not None:
                received = self.waiting.pop(decision.request.sequence, None)
            self.oracle.see(decision, self.now, received)


#: What obstacle sensors say: (distance ahead, behind, fraction of usable beams ahead, behind).
SCANS: tuple[Vector, ...] = (
    (8.0, 8.0, 1.0, 1.0),
    (0.7, 8.0, 1.0, 1.0),
    (8.0, 0.7, 1.0, 0.6),
    (0.3, 8.0, 1.0, 1.0),
    (8.0, 0.0, 1.0, 1.0),
    (8.0, 8.0, 0.2, 1.0),
    (float('inf'), float('inf'), 1.0, 1.0),
    (float('nan'), 8.0, 1.0, 1.0),
    (8.0, 8.0, float('inf'), 1.0),
    (),
)
_SCANS = np.array([0.8, 0.06, 0.03, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01, 0.01])

#: Nanoseconds by which a mood lags, or runs ahead.
_LAGS: Mapping[int, int] = {2: 240_000_000, 3: 260_000_000, 4: -300_000_000, 5: 5_000_000_000}
