# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The environment of one agent: it owns observation, episode, reward, ending and record.

Events go in (a sample, a decision of the gate, a tick), effects come out: records to publish, a
reset or an advance to ask for. It sends no command, and it waits for nothing: what it waits for is
a state, with a deadline.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
import json
import math
from typing import TypeAlias

import numpy as np

from boundary_env_ros.core import causes
from boundary_env_ros.core.actuation import Actuation, Feedback
from boundary_env_ros.core.closing import close, is_on_new_action, late_evidence, Step
from boundary_env_ros.core.contract import Contract, Pacing, Vector
from boundary_env_ros.core.decision import (
    GateDecision,
    GateState,
    GateStatus,
    StepId,
    Verdict,
)
from boundary_env_ros.core.episode import Episode, EpisodeState, EpisodeStatus
from boundary_env_ros.core.lockstep import Advanced, awaited, WorldAdvance
from boundary_env_ros.core.observation import freeze, lost, missing, Observation, Sample
from boundary_env_ros.core.reset import (
    by_name,
    out_of_tolerance,
    ResetWorld,
    tolerances,
    WorldReset,
)
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.timebase import (
    Clock,
    Instant,
    NANOSECONDS,
    RosTime,
    Stamp,
    to_nanoseconds,
)
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    EvaluatorRecord,
    Kind,
    NamedValues,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import BoundaryError, Refused, ResultCode

Effect: TypeAlias = (
    Observation
    | Transition
    | EvaluatorRecord
    | EpisodeStatus
    | ActuationEvidence
    | ResetWorld
    | WorldAdvance
)
Effects = tuple[Effect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """What a client says when it begins an episode; see ``BeginEpisode.srv``."""

    digest: str
    client: str
    client_version: str = ''
    wrappers: tuple[str, ...] = ()
    seed: int | None = None
    options: str = ''


@dataclass(slots=True, kw_only=True)
class _Reset:
    """A reset that goes on."""

    begin: Begin
    seed: int
    sampled: tuple[NamedValues, ...]
    asked: Instant
    answer: WorldReset | None = None
    answered: Instant | None = None
    settled: bool = False


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
        self._sources = {
            spec.name: topics[spec.topic] if spec.topic else f'task:{spec.task}'
            for spec in (*contract.observation, *contract.evaluator)
        }
        self._feedback_topics = tuple(topics[group.feedback.topic] for group in contract.action)
        self._actuation = Actuation(
            tuple(value for group in contract.action for value in group.feedback.threshold),
            patience=contract.safety.command_timeout,
        )
        self._episode = Episode()
        self._reset: _Reset | None = None
        self._record: ResetRecord | None = None
        self._begin = Begin(digest=digest, client='')
        self._latest: dict[str, Sample] = {}
        # Field and feedback of one topic are listened to apart: what one of them has, the other
        # may still wait for.
        self._uses = {
            **{
                f'field {spec.name}': topics[spec.topic]
                for spec in (*contract.observation, *contract.evaluator)
                if spec.topic
            },
            **{
                f'feedback {group.name}': topics[group.feedback.topic] for group in contract.action
            },
        }
        self._seen: dict[str, int] = {}
        self._arrivals: Counter[str] = Counter()
        self._feedback: dict[str, Vector] = {}
        self._arrived: int | None = None
        self._before: Observation | None = None
        self._history: deque[Observation] = deque(maxlen=16)
        self._decisions: list[GateDecision] = []
        self._sequence: int | None = None
        self._gaps = 0
        self._gate: GateStatus | None = None
        self._gate_heard: int | None = None
        self._recorder_heard: int | None = None
        self._last_request = 0
        self._advance: WorldAdvance | None = None
        self._advanced: Advanced | None = None
        self._waiting_since = 0

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self._episode.state

    @property
    def observation(self) -> Observation | None:
        """The last observation of the episode."""
        return self._before

    # Beginning -----------------------------------------------------------------------------------

    def begin(
        self, begin: Begin, *, episode_id: str, drawn_seed: int, now: Instant
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
        Refused
            If the digest is another, an option is wrong, or another client's episode is running;
            nothing changes then.

        """
        if begin.digest != self._digest:
            raise Refused(
                f'Expect the digest {self._digest}, actually: {begin.digest or "none"}. '
                'Start client and environment with the same contract, pacing and task version.',
                ResultCode.DIGEST_MISMATCH,
            )
        effects: list[Effect] = []
        active = self.state in (EpisodeState.RESETTING, EpisodeState.RUNNING)
        if active and self._episode.client != begin.client:
            raise Refused(
                f'Expect no running episode, actually: {self._episode.client!r} runs '
                f'{self._episode.episode_id}. Wait for its end, or end it.',
                ResultCode.LEASE_HELD,
            )
        seed = drawn_seed if begin.seed is None else begin.seed
        sampled = self._sample(seed, begin.options)
        if active:
            effects += self.end(causes.ABANDONED, self._name, 'the client began another', now)
        self._episode = self._episode.begin(episode_id=episode_id, seed=seed, client=begin.client)
        self._begin = begin
        self._reset = _Reset(begin=begin, seed=seed, sampled=sampled, asked=now)
        self._record = None
        self._before = None
        self._latest.clear()
        self._seen.clear()
        self._feedback.clear()
        self._history.clear()
        self._actuation.clear()
        self._decisions.clear()
        self._advance = None
        self._advanced = None
        effects += [self.status(now), ResetWorld(seed=seed, target=sampled)]
        return seed, tuple(effects)

    def _sample(self, seed: int, options: str) -> tuple[NamedValues, ...]:
        try:
            parsed = json.loads(options) if options else {}
        except (ValueError, RecursionError) as error:
            raise Refused(f'Expect reset options as a JSON object, actually: {error}.') from error
        if not isinstance(parsed, dict):
            raise Refused(f'Expect reset options as a JSON object, actually: {options}.')
        if seed < 0:
            raise Refused(f'Expect a seed of 0 or more, actually: {seed}.')
        try:
            return self._task.sample_reset(np.random.default_rng(seed), parsed)
        except BoundaryError as error:
            raise Refused(str(error)) from error

    def world_reset(self, answer: WorldReset, now: Instant) -> Effects:
        """Take the robot's answer to the reset."""
        reset = self._reset
        if reset is None or self.state is not EpisodeState.RESETTING:
            return ()
        if answer.error:
            return self._reset_failed(answer.error, now)
        reset.answer, reset.answered = answer, now
        wrong = out_of_tolerance(
            reset.sampled, answer.achieved, tolerances(self._contract.episode.reset)
        )
        if wrong:
            return self._reset_failed('; '.join(wrong), now)
        for spec in self._contract.observation:
            if spec.task:
                self._latest[spec.name] = Sample(
                    values=tuple(self._task.observe(by_name(reset.sampled))[spec.task]),
                    captured=now.ros,
                )
        if self._contract.pacing is Pacing.LOCKSTEP:
            settle = max(self._contract.episode.reset.settle, self._contract.period)
            return (self._ask(settle, RosTime(0), now),)
        return ()

    def _ask(self, seconds: float, command_stamp: RosTime, now: Instant) -> WorldAdvance:
        self._waiting_since = now.steady
        self._arrivals.clear()
        self._advanced = None
        self._advance = WorldAdvance(
            id=self._id(self._episode.step + (1 if self.state is EpisodeState.RUNNING else 0)),
            duration=to_nanoseconds(seconds),
            command_stamp=command_stamp,
        )
        return self._advance

    # Samples and peers ---------------------------------------------------------------------------

    def sample(self, name: str, sample: Sample, now: Instant) -> Effects:
        """
        Take a sample of a field of the observation, or of the evaluator's.

        One with a NaN measured nothing: it is passed over, and the field ages.
        """
        if not any(map(math.isnan, sample.values)):
            self._latest[name] = sample
        return self._arrival(f'field {name}', sample.captured, now)

    def feedback(
        self, group: str, values: Vector, captured: Stamp | None, now: Instant
    ) -> Effects:
        """Take the measured state of one group of the command's dimensions."""
        self._feedback[group] = values
        if captured is not None and len(self._feedback) == len(self._contract.action):
            whole = tuple(value for g in self._contract.action for value in self._feedback[g.name])
            self._actuation.measured(Feedback(captured=captured, values=whole))
        late = late_evidence(self._actuation, self._feedback_source) if self._closed_all else ()
        return (*late, *self._arrival(f'feedback {group}', captured, now))

    @property
    def _closed_all(self) -> bool:
        """Whether all that is still without evidence belongs to steps that were closed."""
        return not self._decisions

    @property
    def _feedback_source(self) -> str:
        return ' '.join(dict.fromkeys(self._feedback_topics))

    def _arrival(self, use: str, captured: Stamp | None, now: Instant) -> Effects:
        self._arrived = now.steady
        self._arrivals[use] += 1
        if captured is not None:
            self._seen[use] = max(self._seen.get(use, -1), captured.nanoseconds)
        if self._advanced is not None or self.state is EpisodeState.RESETTING:
            return self._go_on(now)
        return ()

    def gate_status(self, status: GateStatus, now: Instant) -> Effects:
        """Take the gate's sign of life."""
        if status.digest != self._digest or status.agent != self._agent:
            return ()
        self._gate, self._gate_heard = status, now.steady
        return self._go_on(now) if self.state is EpisodeState.RESETTING else ()

    def recorder_status(self, now: Instant) -> Effects:
        """Take the recorder's sign of life."""
        self._recorder_heard = now.steady
        return self._go_on(now) if self.state is EpisodeState.RESETTING else ()

    def decision(self, decision: GateDecision, now: Instant) -> Effects:
        """
        Take a decision of the gate.

        In lockstep, once it is on the step's action, the world advances, whatever the verdict.
        """
        if self._sequence is not None and decision.sequence > self._sequence + 1:
            self._gaps += decision.sequence - self._sequence - 1
        self._sequence = decision.sequence
        if self.state is not EpisodeState.RUNNING:
            return ()
        foreign = decision.id.episode_id != self._episode.episode_id
        if foreign and decision.verdict is not Verdict.REJECTED:
            return ()  # still braking out of the episode before
        # What was rejected goes by the name that its request gave itself, and belongs here too.
        self._decisions.append(decision)
        self._actuation.commanded(decision)
        if foreign or not is_on_new_action(decision):
            return ()
        self._last_request = now.steady
        if self._contract.pacing is Pacing.LOCKSTEP and self._advance is None:
            commanded = decision.commanded
            stamp = RosTime(commanded.ros.nanoseconds if commanded else 0)
            return (self._ask(self._contract.period, stamp, now),)
        return ()

    def advanced(self, report: Advanced, now: Instant) -> Effects:
        """Take the world's answer to an advance (lockstep)."""
        if self._advance is None or report.report.id != self._advance.id:
            return ()
        if not report.report.success:
            message = report.report.message
            if self.state is EpisodeState.RESETTING:
                return self._reset_failed(message, now)
            return self.end(causes.SIMULATION_FAILED, self._name, message, now)
        self._advanced = report
        return self._go_on(now)

    # Going on ------------------------------------------------------------------------------------

    def _go_on(self, now: Instant) -> Effects:
        """Start the episode, or close a step of lockstep, if all that it waits for has come."""
        if self.state is EpisodeState.RESETTING:
            return self._start(now) if not self._lacking(now) else ()
        if self.state is EpisodeState.RUNNING and self._advanced is not None:
            if self._awaited(self._advanced):
                return ()
            at = self._world_time(now)
            self._advance = self._advanced = None
            return self._close(at, None, {})
        return ()

    def _awaited(self, advanced: Advanced) -> tuple[str, ...]:
        """Return the topics whose last message of an advance has not come yet for every use."""
        seen: dict[str, int] = {}
        counted: dict[str, int] = {}
        for use, topic in self._uses.items():
            last, count = self._seen.get(use, -1), self._arrivals[use]
            seen[topic] = min(seen.get(topic, last), last)
            counted[topic] = min(counted.get(topic, count), count)
        report = advanced.report
        # Messages that carry no stamp are told apart by how many there were.
        uncounted = tuple(
            topic
            for topic, count, last in zip(
                report.topics, report.published, report.last_stamp, strict=True
            )
            if not last and counted.get(topic, count) < count
        )
        return (*awaited(report, seen.keys(), seen), *uncounted)

    def _world_time(self, now: Instant) -> Instant:
        """Return now, by the world's account: its answer may overtake its ``/clock``."""
        if self._advanced is None or now.ros.clock is not Clock.ROS:
            return now
        latest = max(now.ros.nanoseconds, self._advanced.now)
        return replace(now, ros=replace(now.ros, nanoseconds=latest))

    def _lacking(self, now: Instant) -> tuple[str, ...]:
        """Return what the reset still waits for, in words."""
        reset, procedure = self._reset, self._contract.episode.reset
        if reset is None or reset.answer is None or reset.answered is None:
            return (f'the answer of the service {procedure.service}',)
        lacking: list[str] = []
        if self._contract.pacing is Pacing.LOCKSTEP:
            if self._advanced is None:
                return ('the world to settle (WorldAdvanced)',)
            lacking += self._awaited(self._advanced)
        elif now.steady - reset.answered.steady < procedure.settle * NANOSECONDS:
            return (f'{procedure.settle:g} s for the world to settle',)
        for spec in self._contract.observation:
            sample = self._latest.get(spec.name)
            fresh = sample is not None and (
                sample.captured is None
                or bool(spec.task)
                or sample.captured.nanoseconds >= reset.answer.completed
            )
            if not fresh:
                lacking.append(f'{spec.name} ({self._sources[spec.name]})')
        if self._actuation.latest is None:
            lacking.append(f'feedback ({self._feedback_source})')
        gate = self._gate
        if (
            gate is None
            or gate.episode_id != self._episode.episode_id
            or gate.state not in (GateState.ARMED, GateState.RUNNING)
        ):
            lacking.append('the arming of the safety gate for this episode')
        if self._contract.recorder_required and self._recorder_heard is None:
            lacking.append('the recorder')
        return tuple(lacking)

    def _start(self, now: Instant) -> Effects:
        reset = self._reset
        assert reset is not None  # _lacking would have said so
        assert reset.answer is not None  # likewise
        at = self._world_time(now)
        self._record = self._reset_record(reset, at)
        self._episode = self._episode.run()
        self._reset = self._advance = self._advanced = None
        self._last_request = self._waiting_since = now.steady
        self._gaps = 0
        observation = self._freeze(0, at)
        self._before = observation
        self._history.append(observation)
        return (
            self.status(at),
            observation,
            self._evaluator(0, at),
            self._reset_transition(observation),
        )

    def _reset_record(self, reset: _Reset, now: Instant) -> ResetRecord:
        answer = reset.answer
        achieved = () if answer is None else answer.achieved
        tolerance = tolerances(self._contract.episode.reset)
        return ResetRecord(
            seed=reset.seed,
            seed_given=reset.begin.seed is not None,
            options=reset.begin.options or '{}',
            sampled=reset.sampled,
            achieved=achieved,
            tolerance=tolerance,
            within_tolerance=answer is not None
            and not out_of_tolerance(reset.sampled, achieved, tolerance),
            confirmed_by='' if answer is None else answer.confirmed_by,
            duration=(now.steady - reset.asked.steady) / NANOSECONDS,
        )

    def _reset_transition(self, observation: Observation) -> Transition:
        return Transition(
            contract=self._contract.name,
            contract_version=self._contract.version,
            software_version=self._version,
            client_version=self._begin.client_version,
            wrappers=self._begin.wrappers,
            id=observation.id,
            kind=Kind.RESET,
            pacing=self._contract.pacing,
            seed=self._episode.seed,
            reset=self._record,
            after=observation.fields,
            closed=observation.observed,
        )

    def _reset_failed(self, message: str, now: Instant) -> Effects:
        reset = self._reset
        assert reset is not None  # only a reset that goes on can fail
        self._record = self._reset_record(reset, now)
        self._episode = self._episode.end(
            cause=causes.RESET_FAILED,
            ending=causes.Ending.TRUNCATED,
            declared_by=self._name,
            message=message,
        )
        self._reset = self._advance = self._advanced = None
        transition = replace(
            self._reset_transition(self._freeze(0, now)),
            truncated=True,
            cause=causes.RESET_FAILED,
            declared_by=self._name,
        )
        return (transition, self.status(now))

    # Stepping ------------------------------------------------------------------------------------

    def tick(self, now: Instant, late: float) -> Effects:
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

    def watch(self, now: Instant) -> Effects:
        """
        Look at the deadlines that no tick sees.

        To be called a few times a period, on the steady clock.
        """
        if self.state is EpisodeState.RESETTING:
            reset = self._reset
            assert reset is not None  # the state says that one goes on
            deadline = self._contract.episode.reset.deadline
            if now.steady - reset.asked.steady > deadline * NANOSECONDS:
                lacking = ', '.join(self._lacking(now)) or 'nothing'
                return self._reset_failed(
                    f'Expect a reset within {deadline:g} s, actually still missing: {lacking}', now
                )
            return self._go_on(now)
        if self.state is EpisodeState.RUNNING and self._contract.pacing is Pacing.LOCKSTEP:
            found = self._silent(now)
            if found:
                self._advance = self._advanced = None
                return self._close(now, None, found)
        return ()

    def end(self, cause: str, declared_by: str, message: str, now: Instant) -> Effects:
        """
        End the episode now, for a cause from outside.

        Raises
        ------
        Refused
            If the contract does not declare the cause.

        """
        declared = self._contract.episode.causes
        if cause not in declared:
            raise Refused(
                f'Expect a cause of the contract: {", ".join(declared)}, actually: {cause!r}.'
            )
        if self.state is EpisodeState.RESETTING:
            return self._reset_failed(message or cause, now)
        if self.state is not EpisodeState.RUNNING:
            return ()
        self._advance = self._advanced = None
        return self._close(now, None, {cause: (declared_by, message)})

    def _close(
        self, now: Instant, late: float | None, found: Mapping[str, tuple[str, str]]
    ) -> Effects:
        contract, before = self._contract, self._before
        assert before is not None  # a running episode has observed
        step = self._episode.step + 1
        observation = self._freeze(step, now)
        record = close(
            Step(
                contract=contract,
                before=before,
                after=observation,
                history=tuple(self._history),
                decisions=tuple(self._decisions),
                reset=self._record,
                late=late,
                gaps=self._gaps,
                source=self._feedback_source,
                version=self._version,
                client_version=self._begin.client_version,
                wrappers=self._begin.wrappers,
                seed=self._episode.seed,
            ),
            task=self._task,
            actuation=self._actuation,
            causes={
                **dict.fromkeys(self._sensor_causes(observation, now), (self._name, '')),
                **(self._silent(now) if contract.pacing is Pacing.REALTIME else {}),
                **found,
            },
        )
        self._decisions.clear()
        self._gaps = 0
        self._episode = self._episode.stepped()
        self._before = observation
        self._history.append(observation)
        self._waiting_since = now.steady
        effects: list[Effect] = [observation, self._evaluator(step, now), record.transition]
        if record.transition.cause:
            self._episode = self._episode.end(
                cause=record.transition.cause,
                ending=contract.episode.causes[record.transition.cause],
                declared_by=record.transition.declared_by,
                message=record.message,
            )
        effects += [*record.evidence, self.status(now)]
        return tuple(effects)

    def _sensor_causes(self, observation: Observation, now: Instant) -> tuple[str, ...]:
        if not lost(self._contract.observation, observation):
            return ()
        if self._robot_silent(now):
            return (causes.ROBOT_LOST,)
        return (causes.SENSOR_LOST,)

    def _robot_silent(self, now: Instant) -> bool:
        timeout = self._contract.safety.robot_timeout * NANOSECONDS
        return self._arrived is None or now.steady - self._arrived > timeout

    def _silent(self, now: Instant) -> Mapping[str, tuple[str, str]]:
        """Return which parties have been silent for too long, as causes."""
        contract, safety = self._contract, self._contract.safety

        def too_long(since: int | None, limit: float) -> bool:
            return since is None or now.steady - since > limit * NANOSECONDS

        found: dict[str, tuple[str, str]] = {}
        if too_long(self._gate_heard, safety.gate_timeout):
            found[causes.GATE_LOST] = (self._name, 'the safety gate is silent')
        if contract.recorder_required and too_long(self._recorder_heard, safety.recorder_timeout):
            found[causes.RECORDER_LOST] = (self._name, 'the recorder is silent')
        if contract.pacing is Pacing.REALTIME:
            # Whoever was stopped itself has heard nobody: the others have given it up, and are not
            # to blame.
            if too_long(self._waiting_since, safety.environment_timeout + contract.period):
                found[causes.ENVIRONMENT_LOST] = (self._name, 'the environment stood still')
            if self._robot_silent(now):
                found[causes.ROBOT_LOST] = (self._name, 'every sensor is silent')
            if too_long(self._last_request, safety.policy_timeout):
                found[causes.POLICY_LOST] = (self._name, 'the policy is silent')
        elif too_long(self._waiting_since, contract.lockstep_deadline):
            if self._advance is not None:
                found[causes.ROBOT_LOST] = (self._name, 'the world did not advance in time')
            else:
                found[causes.POLICY_LOST] = (self._name, 'the policy is silent')
        return found

    # Saying --------------------------------------------------------------------------------------

    def _id(self, step: int) -> StepId:
        return StepId(
            digest=self._digest,
            agent=self._agent,
            episode_id=self._episode.episode_id,
            step=step,
        )

    def _freeze(self, step: int, now: Instant) -> Observation:
        return freeze(
            self._contract.observation,
            self._latest,
            self._sources,
            id=self._id(step),
            observed=now,
        )

    def _evaluator(self, step: int, now: Instant) -> EvaluatorRecord:
        frozen = freeze(
            self._contract.evaluator,
            self._latest,
            self._sources,
            id=self._id(step),
            observed=now,
        )
        return EvaluatorRecord(id=frozen.id, fields=frozen.fields)

    def status(self, now: Instant) -> EpisodeStatus:
        """Return the state of the episode, to be latched for the others."""
        episode = self._episode
        return EpisodeStatus(
            id=self._id(episode.step),
            state=episode.state,
            pacing=self._contract.pacing,
            client=episode.client,
            seed=episode.seed,
            cause=episode.cause,
            declared_by=episode.declared_by,
            message=episode.message,
            taken=now,
        )

    def missing(self) -> tuple[str, ...]:
        """Return the fields that have not come in this episode, for diagnostics."""
        return () if self._before is None else missing(self._before)
