# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The environment of one agent: it owns observation, episode, reward, ending and record.

Events go in (a sample, a decision of the gate, a tick), effects come out: records to publish, a
reset or an advance to ask for. It sends no command, and it waits for nothing: what it waits for is
a state, with a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any, TypeAlias

import numpy as np

from boundary_env_ros.core.contract.model import (
    CallStep,
    Contract,
    Pacing,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.lockstep import Advanced, Arrivals, SimStepRequest
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.environment.reset import (
    by_name,
    out_of_tolerance,
    ResetEffect,
    Resetting,
    tolerances,
    WorldReset,
)
from boundary_env_ros.core.environment.silence import (
    Heard,
    policy_limit,
    recorder_silent,
    robot_died,
    silent,
)
from boundary_env_ros.core.environment.step_builder import (
    close,
    is_on_new_action,
    opened,
)
from boundary_env_ros.core.environment.task import sample, supply, Task
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    GateState,
    GateStatus,
    Reason,
    StepId,
    Verdict,
)
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.service_requests import options_of, refuse_another_digest, seed_of
from boundary_env_ros.core.sources.inputs import Input, Purpose, TF, TF_STATIC
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import (
    Clock,
    ClockReading,
    elapsed,
    NANOSECONDS,
    RosTime,
    Stamp,
    to_nanoseconds,
)
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    Kind,
    NamedValues,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode
from boundary_env_ros.frozen import frozen, replace

Effect: TypeAlias = (
    Transition
    | PrivilegedObservation
    | EpisodeStatus
    | ActuationEvidence
    | ResetEffect
    | SimStepRequest
)
Effects = tuple[Effect, ...]

# What the gate of a robot says that it still moves.
_MOVING = (GateState.RUNNING, GateState.STOPPING, GateState.PROBING)

# A reset that takes longer says what it waits for, s.
_QUICK = 2.0


@frozen
class Begin:
    """What a client says when it begins an episode; see ``BeginEpisode.srv``."""

    digest: str
    client: str
    client_version: str = ''
    wrappers: tuple[str, ...] = ()
    seed: int | None = None
    options: str = ''


class Environment:
    """
    The environment of one agent.

    Parameters
    ----------
    contract, digest, task
        The contract, its digest and its task.
    agent
        The agent.
    topics
        Resolved topic of every topic that the contract names.
    software_version
        Goes into every transition.
    name
        Name of the node, the declarer of most endings.

    """

    def __init__(
        self,
        contract: Contract,
        *,
        digest: str,
        task: Task,
        agent: str,
        topics: Mapping[str, str],
        software_version: str,
        name: str = 'environment',
    ) -> None:
        self._contract = contract
        self._digest = digest
        self._task = task
        self._agent = agent
        self._version = software_version
        self._name = name
        self._actuation = Actuation.of(contract, topics)
        self._episode = EpisodeStatus(
            id=StepId(digest=digest, agent=agent, episode_id=''),
            state=EpisodeState.IDLE,
            pacing=contract.pacing,
        )
        self._reset: Resetting | None = None
        self._begin = Begin(digest=digest, client='')
        self._buffer = ObservationBuffer(contract, topics)
        self._arrivals = Arrivals(contract, topics)
        self._heard = Heard()
        self._sequence: int | None = None
        self._gaps = 0
        self._gate: GateStatus | None = None
        self._started: ClockReading | None = None
        self._forget()

    def _forget(self) -> None:
        """Forget all that is of one episode alone."""
        self._record: ResetRecord | None = None
        self._before: View | None = None
        self._decisions: list[GateDecision] = []
        self._advance: SimStepRequest | None = None
        self._advanced: Advanced | None = None
        self._supplied = False
        self._held_back = ''
        self._info = ''
        self._buffer.forget()
        self._arrivals.forget()
        self._actuation.clear()

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self._episode.state

    @property
    def message(self) -> str:
        """What is to be said of the ending of the episode."""
        return self._episode.message

    # Beginning -----------------------------------------------------------------------------------

    def begin(
        self, begin: Begin, *, episode_id: str, drawn_seed: int, now: ClockReading
    ) -> tuple[int, Effects]:
        """
        Begin an episode: sample a start and ask the world for it.

        Parameters
        ----------
        begin
            What the client says.
        episode_id
            UUID of the new episode.
        drawn_seed
            Seed to use if the client gives none.

        Returns
        -------
        tuple
            The seed, and the effects.

        Raises
        ------
        RequestRejected
            If the digest is another, an option is wrong, or another client's episode is running;
            nothing changes then.

        """
        refuse_another_digest(begin.digest, self._digest)
        effects: list[Effect] = []
        active = self.state in (EpisodeState.RESETTING, EpisodeState.RUNNING)
        if active and self._episode.client != begin.client:
            limit = policy_limit(self._contract)
            raise RequestRejected(
                f'An episode is running: {self._episode.client!r} runs '
                f'{self._episode.id.episode_id}. Wait for its end, or end it; if that client was '
                f'killed, it ends as {endings.POLICY_LOST} {limit:g} s after the last step.',
                ResultCode.LEASE_HELD,
            )
        seed = drawn_seed if begin.seed is None else begin.seed
        sampled = self._sample(seed, begin.options)
        if active:
            effects += self.end(endings.ABANDONED, self._name, 'the client began another', now)
        self._episode = self._episode.begin(episode_id=episode_id, seed=seed, client=begin.client)
        self._begin = begin
        self._reset = Resetting(
            procedure=self._contract.episode.reset,
            seed=seed,
            sampled=sampled,
            asked=now,
            angles={field.name: field.angles for field in self._contract.fields},
            options=begin.options,
            missing=self._buffer.missing,
        )
        self._forget()
        effects += [self.status(now), *self.go_on(now)]
        return seed, tuple(effects)

    def reset_in_progress(self, begin: Begin, now: ClockReading) -> EpisodeStatus | None:
        """Return the episode that a client asks for again whose reset goes on: no answer came."""
        same = self.state is EpisodeState.RESETTING and begin == self._begin
        return self.status(now) if same else None

    def _sample(self, seed: int, options: str) -> tuple[NamedValues, ...]:
        try:
            rng = np.random.default_rng(seed_of(seed))
            return sample(self._task, self._contract, rng, options_of(options))
        except BoundaryError as error:
            raise RequestRejected(str(error)) from error

    def world_reset(self, answer: WorldReset, now: ClockReading) -> Effects:
        """Take the robot's answer to the reset."""
        reset = self._resetting
        if reset is None or not isinstance(reset.step, WorldStep):
            return ()  # the answer to a reset that was given up
        if answer.error:
            return self._reset_failed(answer.error, now)
        self._info = _object(answer.info) if len(self._contract.agents) == 1 else ''
        reset.answer = answer
        effects = reset.next(now)
        procedure = self._contract.episode.reset
        wrong = out_of_tolerance(
            reset.sampled, answer.achieved, tolerances(procedure), procedure.wrap
        )
        if wrong:
            return self._reset_failed('; '.join(wrong), now)
        return (*effects, *self.go_on(now))

    def called(self, service: str, error: str, now: ClockReading) -> Effects:
        """Take the answer of a service that the reset procedure called; empty error: it worked."""
        reset = self._resetting
        if reset is None or not isinstance(reset.step, CallStep) or reset.step.service != service:
            return ()  # the answer to a reset that was given up
        if error:
            return self._reset_failed(f'{service}: {error}', now)
        return (*reset.next(now, service), *self.go_on(now))

    def confirm(self, user: str, confirmed: bool, message: str, now: ClockReading) -> Effects:
        """
        Take a person's answer to what the reset procedure asked.

        Raises
        ------
        RequestRejected
            If nothing is asked now, or the name of the user is missing.

        """
        reset = self._resetting
        if reset is None or not reset.prompt:
            raise RequestRejected('No reset asks for a confirmation.')
        if not user:
            raise RequestRejected('The name of the person or program that confirms is missing.')
        if not confirmed:
            return self._reset_failed(f'{user} did not confirm: {message or reset.prompt}', now)
        effects = reset.next(now, user)
        return (*effects, self.status(now), *self.go_on(now))

    @property
    def _resetting(self) -> Resetting | None:
        return self._reset if self.state is EpisodeState.RESETTING else None

    def _ask(self, seconds: float, command_stamp: RosTime, now: ClockReading) -> SimStepRequest:
        self._heard.own = now.steady
        self._arrivals.begin_to_count()
        self._advanced = None
        running = self.state is EpisodeState.RUNNING
        self._advance = SimStepRequest(
            id=self._episode.at(self._episode.id.step + running),
            duration=to_nanoseconds(seconds),
            command_stamp=command_stamp,
        )
        return self._advance

    # Samples and peers ---------------------------------------------------------------------------

    def heard(self, topic: str, captured: int | None, steady: int) -> bool:
        """
        Take note of a message that is not decoded yet, and return whether it is time to.

        What it holds follows by :meth:`take` and :meth:`measured`, then :meth:`go_on`.

        Parameters
        ----------
        topic
            Topic, as the contract names it.
        captured
            Its stamp, ns; needed in lockstep only.
        steady
            When it arrived, ns.

        """
        if topic not in self._contract.tf_topics:
            self._heard.robot = steady  # transforms come from others than its drivers, too
        self._arrivals.note(topic, captured)
        return self.state is EpisodeState.RESETTING or (
            self._advanced is not None and not self._arrivals.awaited(self._advanced)
        )

    def take(self, name: str, reading: Reading) -> bool:
        """Take a reading of a field; return whether it measured anything."""
        return self._buffer.take(name, reading)

    def measured(self, group: str, values: Vector, captured: Stamp | None) -> Effects:
        """
        Take what the robot did, whose arrival is known, in its order.

        That is the measured state of a group, or what its driver acknowledged, by the name of its
        input.
        """
        self._actuation.heard(group, values, captured)
        # While a step is open, its evidence may still be that of its own transition.
        return () if self._decisions else self._actuation.executions()

    def on_reading(self, item: Input, reading: Reading) -> Effects:
        """Take what an input has read, whose arrival is known, in its order."""
        if item.purpose is Purpose.FIELD:
            self.take(item.name, reading)
        elif item.name not in (TF, TF_STATIC):  # those are read into the transforms
            return self.measured(item.name, reading.values, reading.captured)
        return ()

    def on_problem(self, item: Input, why: str) -> None:
        """Take note why what came last of an input cannot be used; empty: it can."""
        name = item.name if item.purpose is Purpose.FIELD else f'feedback.{item.name}'
        self._buffer.unusable[name] = why

    def gate_status(self, status: GateStatus, now: ClockReading) -> Effects:
        """Take the gate's heartbeat."""
        if status.digest != self._digest or status.agent != self._agent:
            return ()
        self._gate, self._heard.gate = status, now.steady
        self._heard.gate_falls_silent = (
            status.state is GateState.INACTIVE or Reason.DEACTIVATED in status.reasons
        )
        return self.go_on(now) if self.state is EpisodeState.RESETTING else ()

    def recorder_status(self, now: ClockReading) -> Effects:
        """Take the recorder's heartbeat."""
        self._heard.recorder = now.steady
        return self.go_on(now) if self.state is EpisodeState.RESETTING else ()

    def decision(self, decision: GateDecision, now: ClockReading) -> Effects:
        """
        Take a decision of the gate.

        In lockstep, once it is on the step's action, the world advances, whatever the verdict; or
        once it is to hold for another agent whose turn the step is.
        """
        if self._sequence is not None and decision.sequence > self._sequence + 1:
            self._gaps += decision.sequence - self._sequence - 1
        self._sequence = decision.sequence
        if self.state is not EpisodeState.RUNNING:
            return ()
        foreign = decision.id.episode_id != self._episode.id.episode_id
        if foreign and (decision.verdict is not Verdict.REJECTED or self._was_before(decision)):
            return ()  # still braking out of the episode before, or refused while it lasted
        # What was rejected goes by the name that its request gave itself, and belongs here too.
        self._decisions.append(decision)
        self._actuation.commanded(decision)
        asked = is_on_new_action(decision)
        if foreign or not (asked or holds_for_another(decision)):
            return ()
        if asked:
            self._heard.policy = now.steady
        if self._contract.pacing is Pacing.LOCKSTEP and self._advance is None:
            # What moves the world is the last command, which need not be an answer to the request:
            # an operator may have taken over.
            sent = [d.commanded for d in self._decisions if d.commanded is not None]
            stamp = RosTime(sent[-1].ros.nanoseconds if sent else 0)
            return (self._ask(self._contract.period, stamp, now),)
        return ()

    def _was_before(self, decision: GateDecision) -> bool:
        """Return whether a decision is known to have been made before the episode ran."""
        since = elapsed(self._started, decision.received)
        return since is not None and since < 0.0

    def advanced(self, report: Advanced, now: ClockReading) -> Effects:
        """Take the world's answer to an advance (lockstep)."""
        if self._advance is None or report.report.id != self._advance.id:
            return ()
        if not report.report.success:
            message = report.report.message
            if self.state is EpisodeState.RESETTING:
                return self._reset_failed(message, now)
            return self.end(endings.SIMULATION_FAILED, self._name, message, now)
        self._advanced = report
        self._info = _object(report.report.info)
        return self.go_on(now)

    # Going on ------------------------------------------------------------------------------------

    def go_on(self, now: ClockReading) -> Effects:
        """Start the episode, or close a step of lockstep, if all that it waits for has come."""
        if self.state is EpisodeState.RESETTING:
            return self._go_on_resetting(now)
        if self.state is EpisodeState.RUNNING and self._advanced is not None:
            if self._arrivals.awaited(self._advanced):
                return ()
            at = self._world_time(now)
            self._advance = self._advanced = None
            return self._close(at, None, {})
        return ()

    def _go_on_resetting(self, now: ClockReading) -> Effects:
        reset, lockstep = self._reset, self._contract.pacing is Pacing.LOCKSTEP
        assert reset is not None  # the state says that one goes on
        effects: list[Effect] = []
        if not reset.started:
            if self._gate is not None and self._gate.state in _MOVING:
                return ()  # what it sends until then would reach the world after its reset
            effects += reset.start(now)
            if reset.prompt:
                effects.append(self.status(now))
        if lockstep and isinstance(reset.step, WaitStep):
            # The world stands still, and what is waited for comes only if it moves.
            if self._advance is None:
                return (*effects, self._ask(self._contract.period, RosTime(0), now))
            if self._advanced is None or self._arrivals.awaited(self._advanced):
                return ()
            self._advance = self._advanced = None
        effects += reset.seen(self._buffer.latest, now)
        if reset.finished is None:
            if not effects and lockstep and isinstance(reset.step, WaitStep):
                effects.append(self._ask(self._contract.period, RosTime(0), now))
            return tuple(effects)
        if not self._supplied:
            self._supplied = True
            try:
                supplied = supply(self._task, self._contract, by_name(reset.sampled), self._agent)
                wrong = self._buffer.supply(supplied, now)
            except BoundaryError as error:
                wrong = str(error)
            if wrong:
                return (*effects, *self._reset_failed(wrong, now))
            if lockstep:
                settle = max(self._contract.episode.reset.settle, self._contract.period)
                return (*effects, self._ask(settle, RosTime(0), now))
        return (*effects, *(() if self._lacking(now) else self._start(now)))

    def _world_time(self, now: ClockReading) -> ClockReading:
        """
        Return now, by the world's account, which may have overtaken its ``/clock``.

        Its answer to an advance tells how far it is. Before that its sensors do, within the
        advance that was asked for.
        """
        if now.ros.clock is not Clock.ROS:
            return now
        if self._advanced is not None:
            world = self._advanced.now
        elif self._advance is not None:
            world = min(self._buffer.newest, now.ros.nanoseconds + self._advance.duration)
        else:
            return now
        return replace(now, ros=replace(now.ros, nanoseconds=max(now.ros.nanoseconds, world)))

    def hold_back(self, lacking: str) -> None:
        """
        Take what the start of the episode has to wait for besides; empty: nothing.

        For several agents in one world, who start together.
        """
        self._held_back = lacking

    def ready(self, now: ClockReading) -> bool:
        """Return whether a reset lacks nothing any more but what holds it back."""
        return self._resetting is not None and self._supplied and not self._own_lacking(now)

    def keep_waiting(self, now: ClockReading) -> None:
        """
        Take note that the world has not been asked to advance before now.

        For several agents in one world: it was another agent that was waited for until now.
        """
        self._heard.own = now.steady

    def _lacking(self, now: ClockReading) -> tuple[str, ...]:
        """Return what the reset still waits for, in words."""
        return (*self._own_lacking(now), *filter(None, (self._held_back,)))

    def _own_lacking(self, now: ClockReading) -> tuple[str, ...]:
        """Return what the reset waits for apart from others."""
        reset, procedure = self._reset, self._contract.episode.reset
        assert reset is not None  # the state says that one goes on
        if reset.answer is None or reset.finished is None:
            return (reset.waiting_for(),)
        lacking: list[str] = []
        if self._contract.pacing is Pacing.LOCKSTEP:
            if self._advanced is None:
                return ('the world to settle (SimStepResponse)',)
            lacking += self._arrivals.awaited(self._advanced)
        elif (now.steady - reset.finished.steady) / NANOSECONDS < procedure.settle:
            return (f'{procedure.settle:g} s for the world to settle',)
        lacking += self._buffer.lacking(reset.answer.completed)
        if self._contract.action and self._actuation.latest is None:
            why = ' '.join(
                dict.fromkeys(
                    self._buffer.unusable.get(f'feedback.{group.name}', '')
                    for group in self._contract.action
                )
            ).strip()
            lacking.append(f'feedback ({self._actuation.source}{why and f": {why}"})')
        gate = self._gate
        if (
            gate is None
            or gate.episode_id != self._episode.id.episode_id
            or gate.state not in (GateState.ARMED, GateState.RUNNING)
        ):
            lacking.append('the arming of the safety gate for this episode')
        if recorder_silent(self._contract, self._heard, now):
            lacking.append('the recorder')
        # What came after the reset may have grown old while the rest was waited for.
        return tuple(lacking) or self._buffer.unfit(self._world_time(now))

    def _start(self, now: ClockReading) -> Effects:
        reset = self._reset
        assert reset is not None  # _lacking would have said so
        at = self._world_time(now)
        self._record = self._reset_record(reset, at)
        self._episode = self._episode.run()
        self._reset = self._advance = self._advanced = None
        self._heard.policy = self._heard.own = now.steady
        self._started = now
        self._gaps = 0
        view = self._buffer.view(self._episode.at(0), at)
        self._keep(view)
        transition, self._info = self._opened(view, Kind.RESET, reset=self._record), ''
        return (
            self.status(at),
            transition,
            self._buffer.privileged(self._episode.at(0), at),
        )

    def _keep(self, view: View) -> None:
        self._before = view
        self._buffer.keep(view)

    def _reset_record(self, reset: Resetting, now: ClockReading) -> ResetRecord:
        answer = reset.answer
        achieved = () if answer is None else answer.achieved
        procedure = self._contract.episode.reset
        tolerance = tolerances(procedure)
        return ResetRecord(
            seed_given=self._begin.seed is not None,
            options=self._begin.options or '{}',
            sampled=reset.sampled,
            achieved=achieved,
            tolerance=tolerance,
            within_tolerance=not out_of_tolerance(
                reset.sampled, achieved, tolerance, procedure.wrap
            ),
            confirmed_by=reset.confirmed_by,
            duration=(now.steady - reset.asked.steady) / NANOSECONDS,
        )

    def _opened(self, view: View, kind: Kind, **known: Any) -> Transition:
        return opened(
            self._contract,
            view,
            kind,
            software_version=self._version,
            client_version=self._begin.client_version,
            wrappers=self._begin.wrappers,
            seed=self._episode.seed,
            info=self._info,
            **known,
        )

    def _reset_failed(self, message: str, now: ClockReading) -> Effects:
        reset = self._reset
        assert reset is not None  # only a reset that goes on can fail
        self._record = self._reset_record(reset, now)
        self._episode = self._episode.end(
            ending=endings.RESET_FAILED,
            kind=endings.EndingKind.TRUNCATED,
            declared_by=self._name,
            message=message,
        )
        self._reset = self._advance = self._advanced = None
        transition = self._opened(
            self._buffer.view(self._episode.at(0), now),
            Kind.RESET,
            reset=self._record,
            truncated=True,
            ending=endings.RESET_FAILED,
            declared_by=self._name,
        )
        return (transition, self.status(now))

    # Stepping ------------------------------------------------------------------------------------

    def tick(self, now: ClockReading, late: float) -> Effects:
        """
        Close a step: to be called every period in realtime pacing.

        Parameters
        ----------
        late
            Seconds by which the tick came after its due time.

        """
        if self.state is not EpisodeState.RUNNING or self._contract.pacing is not Pacing.REALTIME:
            return ()
        return self._close(now, late, {})

    def looks(self, now: ClockReading) -> bool:
        """Return whether :meth:`watch` would look at what the sensors sent."""
        if self.state is EpisodeState.RUNNING:
            return self._contract.pacing is Pacing.LOCKSTEP and bool(self._silent(now))
        return self.state is EpisodeState.RESETTING or self._actuation.open

    def watch(self, now: ClockReading) -> Effects:
        """
        Look at the deadlines that no tick sees.

        To be called a few times a period, on the steady clock.
        """
        if self.state is EpisodeState.RESETTING:
            reset = self._reset
            assert reset is not None  # the state says that one goes on
            overdue = reset.overdue(now)
            if overdue:
                held_back = f'; waiting for {self._held_back}' if self._held_back else ''
                return self._reset_failed(overdue + held_back, now)
            deadline = self._contract.episode.reset.deadline
            if (now.steady - reset.asked.steady) / NANOSECONDS > deadline:
                lacking = ', '.join(self._lacking(now)) or 'nothing'
                return self._reset_failed(
                    f'The reset timed out after {deadline:g} s (still missing: {lacking})', now
                )
            return self.go_on(now)
        if self.state is EpisodeState.RUNNING and self._contract.pacing is Pacing.LOCKSTEP:
            found = self._silent(now)
            if found:
                at = self._world_time(now)
                self._advance = self._advanced = None
                return self._close(at, None, found)
        return ()

    def end(self, ending: str, declared_by: str, message: str, now: ClockReading) -> Effects:
        """
        End the episode now, by an ending from outside.

        Raises
        ------
        RequestRejected
            If the contract does not declare the ending.

        """
        declared = self._contract.episode.endings
        if ending not in declared:
            raise RequestRejected(
                f'No such ending (expected {", ".join(declared)}, got {ending!r}).'
            )
        if self.state is EpisodeState.RESETTING:
            return self._reset_failed(message or ending, now)
        if self.state is not EpisodeState.RUNNING:
            return ()
        at = self._world_time(now)
        self._advance = self._advanced = None
        return self._close(at, None, {ending: (declared_by, message)})

    def _close(
        self, now: ClockReading, late: float | None, found: Mapping[str, tuple[str, str]]
    ) -> Effects:
        contract, before = self._contract, self._before
        assert before is not None  # a running episode has observed
        step = self._episode.id.step + 1
        view = self._buffer.view(self._episode.at(step), now)
        transition, evidence, message = close(
            self._opened(
                view,
                Kind.STEP,
                before=before.observation.fields,
                decisions=tuple(self._decisions),
                tick_error=late,
            ),
            before,
            contract=contract,
            reset=self._record,
            captured=self._buffer.captured,
            gaps=self._gaps,
            task=self._task,
            actuation=self._actuation,
            endings={
                **self._sensor_endings(view, now),
                **(self._silent(now) if contract.pacing is Pacing.REALTIME else {}),
                **found,
            },
        )
        self._decisions.clear()
        self._gaps = 0
        self._info = ''
        self._episode = self._episode.stepped()
        self._keep(view)
        self._heard.own = now.steady
        # What the policy waits for goes first.
        effects: list[Effect] = [
            transition,
            self._buffer.privileged(self._episode.at(step), now),
        ]
        if transition.ending:
            self._episode = self._episode.end(
                ending=transition.ending,
                kind=contract.episode.endings[transition.ending],
                declared_by=transition.declared_by,
                message=message,
            )
        effects += [*evidence, self.status(now)]
        return tuple(effects)

    def _sensor_endings(self, view: View, now: ClockReading) -> Mapping[str, tuple[str, str]]:
        why = '; '.join(self._buffer.lost(view).values())
        if not why:
            return {}
        max_age = self._buffer.quickest(view)
        if robot_died(self._contract, self._heard, now, max_age):
            why += '; no sensor was heard meanwhile'
            if max_age is not None:
                why += ': if the driver runs, max_age is too short for the period of its sensor'
            return {endings.ROBOT_LOST: (self._name, why)}
        return {endings.SENSOR_LOST: (self._name, why)}

    def _silent(self, now: ClockReading) -> Mapping[str, tuple[str, str]]:
        """Return which parties have been silent for too long, as endings."""
        advancing = self._advance is not None
        found = silent(self._contract, self._heard, now, advancing=advancing)
        return {ending: (self._name, sentence) for ending, sentence in found.items()}

    # Saying --------------------------------------------------------------------------------------

    def status(self, now: ClockReading) -> EpisodeStatus:
        """Return the state of the episode, to be latched for the others."""
        told = replace(self._episode, stamp=now)
        reset = self._reset
        if told.message or reset is None:
            return told
        if reset.prompt or (now.steady - reset.asked.steady) / NANOSECONDS < _QUICK:
            return replace(told, message=reset.prompt)
        lacking = ', '.join(self._lacking(now))
        return replace(told, message=f'The reset waits for {lacking}.' if lacking else '')


def _object(info: str) -> str:
    """Return what a world says of itself; nothing, if it is no JSON object."""
    try:
        return info if info and isinstance(json.loads(info), dict) else ''
    except (ValueError, RecursionError):
        return ''
