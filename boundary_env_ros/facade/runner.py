# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A policy on a robot, episode by episode: when it is asked, and what of its answers is sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
import math
import threading

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import with_instruction
from boundary_env_ros.core.records.decision import Source
from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.transition import INSTRUCTION, Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, PolicyLost
from boundary_env_ros.facade.chunking import Prediction, spliced
from boundary_env_ros.facade.inference import Inference
from boundary_env_ros.facade.policies.policy import Array, Policy
from boundary_env_ros.facade.spaces import observation_values
from boundary_env_ros.facade.steps import ignore, Image, StepRequest, StepResult
from boundary_env_ros.facade.world import agent_of, World
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.contract_spaces import observation_space

#: Inferences whose times tell how far ahead the next one has to begin.
_RECENT = 10
#: Why an episode was left that was broken off.
INTERRUPTED, BROKEN_OFF = 'interrupted', 'broken off'


@frozen
class Plan:
    """
    How a policy is run.

    Attributes
    ----------
    execute
        Most actions of a chunk that are executed before the next; None: all that there are, as far
        as the contract allows.
    asynchronous
        Whether the next chunk is inferred while the last one is executed.
    lead
        How many steps before the end of a chunk the next is asked for; 0: as many as the last
        inferences took, or 1 in lockstep.
    warm_up
        Inferences before the first episode.
    patience
        Seconds after which an inference is not waited for any longer.

    """

    execute: int | None = None
    asynchronous: bool = False
    lead: int = 0
    warm_up: int = 1
    patience: float = 60.0

    def check(self, contract: Contract) -> None:
        """
        Refuse a plan that the contract does not allow.

        Raises
        ------
        BoundaryError
            If it sends more than one request may cover, or answers what is too old.

        """
        horizon, period = contract.horizon, contract.period
        if self.execute is not None and not 1 <= self.execute <= horizon:
            raise BoundaryError(
                f'A chunk has other actions to execute (expected 1 to {horizon}, got '
                f'{self.execute}). '
                f'The contract says `chunk: {{horizon: {horizon}}}`.'
            )
        if self.asynchronous and horizon == 1:
            raise BoundaryError(
                'Asynchronous inference needs chunks, and the contract has none. '
                'Declare `chunk: {horizon: k}`.'
            )
        if self.lead > self.most_ahead(contract):
            raise BoundaryError(
                f'The lead is too long (expected at most {self.most_ahead(contract)} steps, got '
                f'{self.lead}). The gate rejects an action that answers an observation older than '
                f'{contract.safety.max_action_age:g} s (safety.max_action_age), and a step takes '
                f'{period:g} s.'
            )

    def most_ahead(self, contract: Contract) -> int:
        """Return the longest lead whose answers the gate does not find too old."""
        # Half of a step for the way to the gate.
        most = contract.safety.max_action_age / contract.period - 0.5
        return max(1, min(contract.horizon, math.floor(most)))


@dataclass(slots=True, kw_only=True)
class EpisodeResult:
    """
    What became of one episode.

    Attributes
    ----------
    seed, episode_id
        Which it is; the id is empty if it was not begun.
    steps
        How many were closed.
    total
        The sum of all rewards.
    ending, declared_by, terminated, truncated
        How it ended; empty if it was left before its end.
    left
        Why it was left, in words; empty if it ended.
    transitions
        Its record, that of the reset first.
    inferences
        Seconds that each took.
    requests
        How many were sent.
    chunks_late, chunks_dropped
        Chunks that were not ready in time, and chunks that were not sent.
    skipped
        Actions that were left out since their step was over.
    compared, other_actions
        Out of a record: requests that were compared with the recorded ones, and how many of them
        asked for something else. Steps, rewards and ending are then those of the record.

    """

    seed: int
    episode_id: str = ''
    steps: int = 0
    total: float = 0.0
    ending: str = ''
    declared_by: str = ''
    terminated: bool = False
    truncated: bool = False
    left: str = ''
    transitions: list[Transition] = field(default_factory=list)
    inferences: list[float] = field(default_factory=list)
    requests: int = 0
    chunks_late: int = 0
    chunks_dropped: int = 0
    skipped: int = 0
    compared: int = 0
    other_actions: int = 0

    @property
    def success(self) -> bool:
        """Whether the task was done."""
        return self.ending == SUCCESS


class _CancelledError(Exception):
    """The episode is left before its end, since the run is to stop."""


class Runner:
    """
    Runs a policy.

    Parameters
    ----------
    contract
        The contract.
    world
        The world, which steps one agent; the runner does not close it.
    policy
        The policy; the runner closes it.
    plan
        How it is run.
    on_step
        Is given the episode as it stands, after every step.
    stop
        Once it is set, the episode that runs is left after its step.

    Raises
    ------
    BoundaryError
        If the contract does not allow the plan, or the world steps several agents.

    """

    def __init__(
        self,
        contract: Contract,
        world: World,
        policy: Policy,
        plan: Plan,
        *,
        on_step: Callable[[EpisodeResult], None] = lambda result: None,
        stop: threading.Event | None = None,
    ) -> None:
        plan.check(contract)
        self._contract, self._world, self._plan = contract, world, plan
        self._agent = agent_of(world.agents)
        self._on_step = on_step
        self._stop = stop or threading.Event()
        self._source: Source = getattr(policy, 'source', Source.POLICY)
        self._inference = Inference(policy, contract, patience=plan.patience)
        self._realtime = not contract.is_lockstep
        self._times: deque[float] = deque(maxlen=_RECENT)
        #: The newest pixels of each image field that the observations of an episode referred to.
        self.images: dict[str, Image] = {}
        self._episode = EpisodeResult(seed=0)
        self._metadata: dict[str, str] = {}
        #: Whether an episode is being begun, which may take as long as a person needs.
        self.beginning = False

    def warm_up(self) -> None:
        """
        Let the policy infer on observations drawn from their space; nothing is executed.

        A replay infers nothing, and keeps its place.

        Raises
        ------
        PolicyFailed
            If it does not answer with actions of the contract.

        """
        if self._source is Source.REPLAY:
            return
        space = observation_space(self._contract)
        space.seed(0)
        for _ in range(self._plan.warm_up):
            self._times.append(self._inference.warm_up(space.sample()))

    def episode(self, seed: int, options: Mapping[str, object]) -> EpisodeResult:
        """
        Run one episode to its end, or until it is left.

        Parameters
        ----------
        seed
            Its seed, for the world and for the policy.
        options
            Options of the task.

        Raises
        ------
        LinkError
            If the world does not answer.
        ResetFailed
            If it could not be reset.
        PolicyFailed
            If the policy did not answer; as :class:`.errors.PolicyLost` once the episode is over,
            in lockstep at once.

        """
        self._episode = EpisodeResult(seed=seed)
        self.images.clear()
        self._metadata = {}
        instruction = with_instruction(self._contract, seed, options).get(INSTRUCTION, '')
        self.beginning = True
        try:
            self._inference.begin(seed, instruction if isinstance(instruction, str) else '')
            begun = self._world.reset(seed=seed, options=options, wrappers=('Runner()',))
        finally:
            self.beginning = False
        first = begun[self._agent]
        self._episode.episode_id = first.transition.id.episode_id
        self._episode.transitions.append(first.transition)
        self.images.update(first.images)
        self._on_step(self._episode)
        try:
            if self._plan.asynchronous:
                self._overlap(first)
            else:
                self._alternate(first)
        except _CancelledError:
            self._episode.left = INTERRUPTED
        except PolicyLost:
            self._episode.left = BROKEN_OFF
            self._await_end()
            raise
        except BaseException:
            self._episode.left = BROKEN_OFF
            raise
        return self._episode

    def close(self) -> None:
        """Close the policy."""
        self._inference.close()

    def _await_end(self) -> None:
        """Ask for nothing: the gate holds, then stops, and the environment ends the episode."""
        while self._realtime and self._world.running and not self._stop.is_set():
            for result in self._world.step({})[self._agent]:
                self._add(result)

    # Ways to run ---------------------------------------------------------------------------------

    def _alternate(self, last: StepResult) -> None:
        """Infer, execute, infer: the robot has nothing new to do while the policy thinks."""
        while not last.transition.over:
            prediction = self._infer(last)
            last = self._send(prediction, prediction.rows[: self._most])

    def _overlap(self, last: StepResult) -> None:
        """
        Infer the next chunk while this one is executed.

        The scheduling of K. Black, M. Y. Galliker and S. Levine (2025), Real-time execution of
        action chunking flow policies, without its inpainting: what the next chunk predicted for
        steps that the last one still executes is left out.
        """
        prediction = self._infer(last)
        step = prediction.step + 1
        while not last.transition.over:
            rows, skipped = spliced(prediction, step, self._most)
            if not rows:
                self._drop()
                prediction = self._infer(last)
                step = prediction.step + 1
                continue
            following: list[Future[Prediction]] = []
            on_result = self._asker(
                following, step + len(rows) - 1 - self._lead(), step + len(rows) - 1, prediction
            )
            on_result(last)
            last = self._send(prediction, rows, skipped=skipped, on_result=on_result)
            if following and not last.transition.over:
                prediction, step, last = self._follow(following[0], last)
            elif not last.transition.over:
                # A stop cut the chunk short, before the next was asked for.
                prediction = self._infer(last)
                step = prediction.step + 1

    def _asker(
        self, queued: list[Future[Prediction]], begin: int, end: int, running: Prediction
    ) -> Callable[[StepResult], None]:
        """Return what asks for the next chunk, once, as soon as a step is closed."""

        def on_result(result: StepResult) -> None:
            step = result.transition.id.step
            if not queued and step >= begin and not result.transition.over:
                queued.append(self._ask(result, end - step, running.rows[step - running.step :]))

        return on_result

    def _follow(
        self, pending: Future[Prediction], last: StepResult
    ) -> tuple[Prediction, int, StepResult]:
        """Return the next prediction, the step that it is sent for, and the last transition."""
        late = self._realtime and not pending.done()
        prediction = self._answer(pending, last)
        if late:
            self._episode.chunks_late += 1
            for result in self._world.observe()[self._agent]:
                last = self._add(result)
            self._metadata['chunk_late'] = 'spliced'
        return prediction, last.transition.id.step + 1, last

    @property
    def _most(self) -> int:
        return self._plan.execute or self._contract.horizon

    def _lead(self) -> int:
        """Return how many steps before the end of a chunk the next one is to be asked for."""
        if self._plan.lead:
            return self._plan.lead
        if not self._realtime:
            return 1
        slowest = max(self._times, default=0.0)
        needed = math.floor(slowest / self._contract.period) + 1
        return min(needed, self._plan.most_ahead(self._contract))

    def _drop(self) -> None:
        self._episode.chunks_dropped += 1
        # Told with the next request, so that it stands in the record.
        self._metadata['chunks_dropped'] = str(int(self._metadata.get('chunks_dropped', '0')) + 1)

    # Inferring -----------------------------------------------------------------------------------

    def _infer(self, last: StepResult) -> Prediction:
        return self._answer(self._ask(last), last)

    def _ask(
        self, result: StepResult, delay: int = 0, left: Sequence[Vector] = ()
    ) -> Future[Prediction]:
        observation: Mapping[str, Array] = observation_values(
            self._contract, result.transition.after, {**self.images, **result.images}
        )
        return self._inference.ask(observation, result, delay, left)

    def _answer(self, pending: Future[Prediction], last: StepResult) -> Prediction:
        prediction: Prediction | None = self._inference.wait(
            pending, f'the observation of step {last.transition.id.step}', self._stop.is_set
        )
        if prediction is None:
            raise _CancelledError
        self._episode.inferences.append(prediction.seconds)
        self._times.append(prediction.seconds)
        return prediction

    # Acting --------------------------------------------------------------------------------------

    def _send(
        self,
        prediction: Prediction,
        rows: Sequence[Vector],
        *,
        skipped: int = 0,
        on_result: Callable[[StepResult], None] = ignore,
    ) -> StepResult:
        """Send actions, and return the last transition that they closed."""
        if self._stop.is_set():
            raise _CancelledError
        metadata, self._metadata = self._metadata, {}
        self._episode.requests += 1
        self._episode.skipped += skipped

        def on_closed(result: StepResult) -> None:
            self._add(result)
            on_result(result)

        request = StepRequest(
            action=tuple(value for row in rows for value in row),
            answers=prediction.answers,
            skipped=skipped,
            metadata={**metadata, **prediction.metadata},
            source=self._source,
            on_result=on_closed,
        )
        last = self._world.step({self._agent: request})[self._agent][-1]
        if last.replayed is not None and last.replayed.differs is not None:
            self._episode.compared += 1
            self._episode.other_actions += last.replayed.differs
        return last

    def _add(self, result: StepResult) -> StepResult:
        episode, transition = self._episode, result.transition
        self.images.update(result.images)
        episode.steps += 1
        episode.total += transition.reward
        episode.transitions.append(transition)
        if result.transition.over:
            episode.ending, episode.declared_by = transition.ending, transition.declared_by
            episode.terminated, episode.truncated = transition.terminated, transition.truncated
        self._on_step(episode)
        return result
