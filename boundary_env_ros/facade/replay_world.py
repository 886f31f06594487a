# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of a recorded run: the record in place of the robot, and its episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
import math
from pathlib import Path

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.service_requests import options_of
from boundary_env_ros.core.sources.inputs import image_fields
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    DigestMismatch,
    LinkError,
    PeerLost,
    RecordError,
    RequestRejected,
    ResetFailed,
    ResultCode,
)
from boundary_env_ros.facade.steps import (
    as_request,
    closed_by,
    Image,
    Replayed,
    StepRequest,
    StepResult,
)
from boundary_env_ros.facade.world import agent_of, check_open, check_running, World
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.record_reader import Bag, open_records
from boundary_env_ros.storage.recorded_images import RecordedImages

#: The option of a reset that names an episode of the record.
EPISODE = 'episode'


#: A transition, and when the recorder had it, ns.
Recorded = tuple[Transition, int]


@frozen
class RecordedEpisode:
    """
    One episode of a record.

    Attributes
    ----------
    index
        Its place among the episodes of the agent, counted from 0.
    steps
        Its transitions, that of the reset first.

    """

    index: int
    steps: Sequence[Recorded]

    @property
    def reset(self) -> Transition:
        """The transition that it begins with."""
        return self.steps[0][0]


def recorded_episodes(source: Bag, agent: str = '') -> Iterator[RecordedEpisode]:
    """
    Yield the episodes of a record whose beginning was recorded.

    Parameters
    ----------
    source
        The record.
    agent
        Whose; empty: of all, for records of one agent.

    Raises
    ------
    RecordError
        If the record has no transitions, or a bad one.

    """
    index, episode = 0, list[Recorded]()
    steps = (
        (entry.record, entry.log_time)
        for entry in source.entries(Transition)
        if isinstance(entry.record, Transition) and agent in ('', entry.record.id.agent)
    )
    for _, group in groupby(steps, key=lambda step: step[0].id.episode_id):
        episode = list(group)
        if episode[0][0].kind is Kind.RESET:
            yield RecordedEpisode(index=index, steps=episode)
            index += 1
    if not episode:
        # Says what there is instead; of another agent there may be something.
        next(source.transitions())


class ReplayWorld(World):
    """
    A recorded run, stepped through as it was delivered to one agent then.

    A step returns what was recorded, whatever action it is given. The action is compared with the
    recorded one, and the difference stands in the result.

    Parameters
    ----------
    loaded
        The contract; the run must have been recorded under the same.
    run
        Run folder, bag, or ``.mcap`` file.
    agent
        The agent; needed where the contract has several.
    any_seed
        Begin the recorded episodes in their order, whatever seeds are asked for.
    loop
        Begin with the first episode again after the last.
    blank_images
        Deliver black images where the record has none, instead of refusing it.
    client
        Not used: a record has no client.

    Raises
    ------
    DigestMismatch
        If the run was recorded under another contract.
    LinkError
        If there is no such agent, or none is named and there are several.
    RecordError
        If there is no record of it.

    """

    recorded = True

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        run: str | Path = '',
        agent: str = '',
        any_seed: bool = False,
        loop: bool = False,
        blank_images: bool = False,
        client: str = '',
    ) -> None:
        if not str(run):
            raise LinkError(
                'run= is missing (expected a recorded run). Name its folder, a bag or an '
                '.mcap file.'
            )
        self._loaded, self._path = loaded, Path(run)
        self._agent = agent_of(loaded.contract.agents, agent)
        self._any_seed, self._loop, self._blank = any_seed, loop, blank_images
        self._specs = image_fields(loaded.contract)
        self._source = open_records(self._path)
        self._episodes: Iterator[RecordedEpisode] = iter(())
        self._steps: deque[Recorded] = deque()
        self._last: Transition | None = None
        self._index = -1
        self._first_difference: int | None = None
        self._closed = False
        self._rewind()
        # A record that does not fit is refused before anybody steps it.
        first = next(self._episodes, None)
        if first is None:
            raise RecordError(
                f'{self._path} has no episode that begins with its reset. '
                'Was the recorder started in the middle of one?'
            )
        self._episodes = chain([first], self._episodes)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agent that is stepped."""
        return (self._agent,)

    @property
    def running(self) -> tuple[str, ...]:
        """The agent, if its episode runs as far as it was delivered."""
        return () if self._last is None or self._last.over else (self._agent,)

    # Beginning -----------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, StepResult]:
        """
        Go to a recorded episode and return its reset; see :meth:`.world.World.reset`.

        Parameters
        ----------
        seed
            The first recorded episode with this seed; None: the one after the last that was begun.
        options
            ``{'episode': ...}`` names an episode by its place, counted from 0, or by the first
            characters of its id. Other options must be those of the record.
        wrappers
            Not used; those of the record stand in its transitions.

        Raises
        ------
        RequestRejected
            If there is no such episode, it has another seed or other options, or all were gone
            through.
        ResetFailed
            If the recorded reset failed.
        RecordError
            If an image of the record is missing, and black ones were not asked for.

        """
        check_open(self._closed)
        wanted = dict(options)
        which = wanted.pop(EPISODE, None)
        episode = self._found(which, seed)
        reset = episode.reset
        if seed is not None and not self._any_seed and reset.seed != seed:
            raise RequestRejected(
                f'The episode {which!r} has another seed (expected {seed}, '
                f'got {reset.seed}). Leave out one of the two.'
            )
        known = options_of(reset.reset.options) if reset.reset is not None else {}
        if wanted and wanted != known:
            raise RequestRejected(
                f'The episode {episode.index} was recorded with other options '
                f'(expected {known}, got {wanted}). Leave them out, or name another episode.'
            )
        self._index, self._first_difference = episode.index, None
        self._last, self._steps = None, deque(episode.steps[1:])
        if reset.truncated:
            raise ResetFailed(
                f'The recorded reset of the episode {episode.index} in '
                f'{self._path} failed ({reset.ending}). Continue with the next one.'
            )
        return {self._agent: self._deliver(*episode.steps[0])}

    def _rewind(self) -> None:
        """Begin with the record again, with its transitions and its images."""
        self._episodes = map(self._checked, recorded_episodes(self._source, self._agent))
        self._pictures = RecordedImages(self._source, self._specs)
        self._last = None

    def _checked(self, episode: RecordedEpisode) -> RecordedEpisode:
        """Return an episode of this contract."""
        reset = episode.reset
        if reset.id.digest == self._loaded.digest:
            return episode
        pacing = reset.pacing.name.lower()
        hint = (
            f" It was recorded in {pacing}: pass pacing='{pacing}' (run: --pacing {pacing})."
            if reset.pacing is not self._loaded.contract.pacing
            else ' Name the contract that it was recorded under; a run folder has a copy.'
        )
        raise DigestMismatch(
            f'The run was recorded under another contract (expected the digest '
            f'{self._loaded.digest}, got {reset.id.digest}: {reset.contract} '
            f'{reset.contract_version}, in {self._path}).{hint}'
        )

    def _found(self, which: object, seed: int | None) -> RecordedEpisode:
        """Return the episode that is named, or the first with a seed; without either the next."""
        by_seed = which is None and seed is not None and not self._any_seed
        if which is None and not by_seed:
            episode = next(self._episodes, None)
            if episode is None and self._loop:
                self._rewind()
                episode = next(self._episodes)
            if episode is None:
                raise RequestRejected(
                    f'All episodes of {self._path} were replayed. '
                    'loop=True begins with the first again.',
                    ResultCode.UNKNOWN_EPISODE,
                )
            return episode
        self._rewind()
        seeds: list[int] = []
        for episode in self._episodes:
            if episode.reset.seed == seed if by_seed else _is(which, episode):
                return episode
            seeds.append(episode.reset.seed)
        few = ', '.join(map(str, seeds[:10])) + (' ...' if len(seeds) > 10 else '')
        what = f'the seed {seed}' if by_seed else f'the episode {which!r}'
        raise RequestRejected(
            f'Not recorded: {what}. {self._path} has {len(seeds)} episodes, with '
            f'the seeds {few}. Name one of them, or leave it out for the next; any_seed=True '
            'takes every seed.',
            ResultCode.UNKNOWN_EPISODE,
        )

    # Stepping ------------------------------------------------------------------------------------

    def step(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """
        Return what the recorded policy got for its action at this place.

        Parameters
        ----------
        actions
            The action of the agent. It is compared with the recorded one, and changes nothing.

        Raises
        ------
        EpisodeEnded
            If no episode runs.
        LinkError
            If an action comes from another agent.
        PeerLost
            If the record ends while the episode runs.

        """
        check_open(self._closed)
        check_running(self.running)
        for other in actions:
            agent_of(self.agents, other)
        request = as_request(actions.get(self._agent, ()))
        steps = self._closed_next()
        # Of a chunk the first; before it may stand steps that no action closed.
        recorded, step = next(
            ((t.request.action, t.id.step) for t, _ in steps if t.request), ((), 0)
        )
        difference = _difference(recorded, request.action)
        if difference and self._first_difference is None:
            self._first_difference = step
        results = []
        for each in steps:
            results.append(self._deliver(*each, request.action, difference, recorded))
            request.on_result(results[-1])
        return {self._agent: tuple(results)}

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """Return nothing: the record waits for an action."""
        check_open(self._closed)
        check_running(self.running)
        return {self._agent: ()}

    def _closed_next(self) -> list[Recorded]:
        """Return what was delivered together then: up to what the next recorded action closed."""
        steps: list[Recorded] = []
        while self._steps:
            steps.append(self._steps.popleft())
            transition, request = steps[-1][0], steps[-1][0].request
            following = self._steps[0][0].request if self._steps else None
            if request is None:
                if transition.overrun and not transition.over:
                    continue
                return steps
            # Another chunk may have taken the place of the rest of this one.
            replaced = following is not None and following.sequence != request.sequence
            if closed_by(transition, request) or replaced or not self._steps:
                return steps
        last, self._last = self._last, None
        assert last is not None  # an episode runs
        tear = f' ({self._source.tear})' if self._source.tear else ''
        raise PeerLost(
            f'The record of the episode {self._index} in {self._path} breaks off '
            f'after step {last.id.step}, while it runs{tear}. The environment '
            'or the recorder died there. Call reset() for the next episode.'
        )

    def _deliver(
        self,
        transition: Transition,
        log_time: int,
        asked: Vector = (),
        difference: float | None = None,
        recorded: Vector = (),
    ) -> StepResult:
        """Return what a transition was delivered as, and how the two actions compare."""
        images, unresolved = self._images(transition, log_time)
        self._last = transition
        return StepResult(
            transition=transition,
            delivered=transition.closed,
            images=images,
            unresolved=unresolved,
            replayed=Replayed(
                run=str(self._path),
                episode=self._index,
                recorded=recorded,
                asked=asked,
                differs=None if difference is None else difference > 0.0,
                difference=difference,
                first_difference=self._first_difference,
            ),
        )

    # Images --------------------------------------------------------------------------------------

    def _images(
        self, transition: Transition, log_time: int
    ) -> tuple[dict[str, Image], tuple[str, ...]]:
        """Return the images of an observation, and the fields that show another one."""
        images: dict[str, Image] = {}
        unresolved: list[str] = []
        for spec in self._specs:
            reference = next(f.image for f in transition.after if f.name == spec.name)
            pixels = self._pictures.pixels(spec, reference, log_time)
            if pixels is not None:
                images[spec.name] = pixels
                continue
            unresolved.append(spec.name)
            if self._last is not None:
                continue  # the facade goes on with the one before
            if not self._blank:
                raise RecordError(
                    f'{self._path} has no image of the field {spec.name!r}'
                    f'{" (the policy saw none either)" if reference is None else ""}. Name the '
                    'bag of the run, which has the topics of its cameras (an embedded run has '
                    'none), or pass blank_images=True (run: --world-option blank_images=true).'
                )
            images[spec.name] = _black(spec)
        return images, tuple(unresolved)

    def close(self) -> None:
        """Let go of the record."""
        self._closed = True
        self._steps.clear()


def _is(which: object, episode: RecordedEpisode) -> bool:
    if isinstance(which, int) and not isinstance(which, bool):
        return which == episode.index
    if isinstance(which, str) and which:
        return episode.reset.id.episode_id.startswith(which.lower())
    raise RequestRejected(
        f'The option {EPISODE!r} names no episode (expected its place, counted from 0, or the '
        f'first characters of its id, got {which!r}).'
    )


def _difference(recorded: Vector, asked: Vector) -> float | None:
    if not recorded or not asked:
        return None
    if len(recorded) != len(asked):
        return math.inf
    # From a recorded number that is none, any other differs infinitely.
    same = np.array_equal(recorded, asked, equal_nan=True)
    with np.errstate(invalid='ignore'):
        apart = np.abs(np.subtract(recorded, asked))
    return 0.0 if same else float(np.nan_to_num(apart, nan=math.inf).max())


def _black(spec: FieldSpec) -> Image:
    """Return the least that the pixels of a field can be."""
    return np.full(spec.shape, spec.low[0] if spec.low else 0, dtype=spec.dtype)
