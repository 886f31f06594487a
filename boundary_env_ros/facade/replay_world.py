# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of a recorded run: the record in place of the robot, and its episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby
import math
from pathlib import Path

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.service_requests import options_of
from boundary_env_ros.core.sources.inputs import image_fields
from boundary_env_ros.core.transition import Kind, Transition
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
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.reader import open_records
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.records import Entry, RecordSource

#: The option of a reset that names an episode of the record.
EPISODE = 'episode'


@frozen
class RecordedEpisode:
    """
    One episode of a record.

    Attributes
    ----------
    index
        Its place among the episodes of the agent, counted from 0.
    entries
        Its transitions, that of the reset first.

    """

    index: int
    entries: Sequence[Entry]

    @property
    def reset(self) -> Transition:
        """The transition that it begins with."""
        return transition_of(self.entries[0])


def recorded_episodes(source: RecordSource, agent: str = '') -> Iterator[RecordedEpisode]:
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
    index, empty = 0, True
    entries = (
        entry
        for entry in source.entries(Transition)
        if not agent or transition_of(entry).id.agent == agent
    )
    for _, group in groupby(entries, key=lambda entry: transition_of(entry).id.episode_id):
        empty, episode = False, list(group)
        if transition_of(episode[0]).kind is Kind.RESET:
            yield RecordedEpisode(index=index, entries=episode)
            index += 1
    if empty:
        # Says what there is instead; of another agent there may be something.
        next(source.transitions())


def transition_of(entry: Entry) -> Transition:
    """Return the transition of an entry that is one."""
    transition = entry.record
    assert isinstance(transition, Transition)  # nothing else was asked for
    return transition


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

    Attributes
    ----------
    recorded
        Tells the facade that an episode needs no seed to be drawn.

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
        self._steps: deque[Entry] = deque()
        self._pictures: RecordedImages | None = None
        self._last: Transition | None = None
        self._index = -1
        self._first_difference: int | None = None
        self._closed = False
        self._begin_anew()
        # A record that does not fit is refused before anybody steps it.
        first = self._following()
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
        last = self._last
        over = last is None or last.terminated or last.truncated
        return () if over else (self._agent,)

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
        self._last, self._steps = None, deque(episode.entries[1:])
        if reset.truncated:
            raise ResetFailed(
                f'The recorded reset of the episode {episode.index} in '
                f'{self._path} failed ({reset.ending}). Continue with the next one.'
            )
        return {self._agent: self._deliver(episode.entries[0])}

    def _begin_anew(self) -> None:
        """Open the record at its beginning, for transitions and images."""
        self._episodes = recorded_episodes(self._source, self._agent)
        self._pictures, self._last = None, None

    def _found(self, which: object, seed: int | None) -> RecordedEpisode:
        if which is not None:
            return self._searched(lambda one: _is(which, one), f'the episode {which!r}')
        if seed is not None and not self._any_seed:
            return self._searched(lambda one: one.reset.seed == seed, f'the seed {seed}')
        episode = self._following()
        if episode is None and self._loop:
            self._begin_anew()
            episode = self._following()
        if episode is None:
            raise RequestRejected(
                f'All episodes of {self._path} were replayed. '
                'loop=True begins with the first again.',
                ResultCode.UNKNOWN_EPISODE,
            )
        return episode

    def _searched(self, is_it: Callable[[RecordedEpisode], bool], what: str) -> RecordedEpisode:
        self._begin_anew()
        seeds: list[int] = []
        while (episode := self._following()) is not None:
            if is_it(episode):
                return episode
            seeds.append(episode.reset.seed)
        few = ', '.join(map(str, seeds[:10])) + (' ...' if len(seeds) > 10 else '')
        raise RequestRejected(
            f'Not recorded: {what}. {self._path} has {len(seeds)} episodes, with '
            f'the seeds {few}. Name one of them, or leave it out for the next; any_seed=True '
            'takes every seed.',
            ResultCode.UNKNOWN_EPISODE,
        )

    def _following(self) -> RecordedEpisode | None:
        episode = next(self._episodes, None)
        if episode is not None:
            self._check_digest(episode.reset)
        return episode

    def _check_digest(self, reset: Transition) -> None:
        if reset.id.digest == self._loaded.digest:
            return
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
        unknown = set(actions) - {self._agent}
        if unknown:
            raise LinkError(
                f'Unknown agents (expected {self._agent}, '
                f'got {", ".join(sorted(unknown))} as well).'
            )
        request = as_request(actions.get(self._agent, ()))
        entries = self._closed_next()
        # Of a chunk the first; before it may stand steps that no action closed.
        recorded, step = next(
            ((r.action, t.id.step) for t in map(transition_of, entries) if (r := t.request)),
            ((), 0),
        )
        difference = _difference(recorded, request.action)
        if difference and self._first_difference is None:
            self._first_difference = step
        results = []
        for entry in entries:
            result = self._deliver(entry, request.action, difference, recorded)
            results.append(result)
            request.on_result(result)
        return {self._agent: tuple(results)}

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """Return nothing: the record waits for an action."""
        check_open(self._closed)
        check_running(self.running)
        return {self._agent: ()}

    def _closed_next(self) -> list[Entry]:
        """Return what was delivered together then: up to what the next recorded action closed."""
        entries: list[Entry] = []
        while self._steps:
            entries.append(self._steps.popleft())
            transition = transition_of(entries[-1])
            request = transition.request
            if transition.terminated or transition.truncated:
                return entries
            if request is None:
                if transition.overrun:
                    continue
                return entries
            following = transition_of(self._steps[0]).request if self._steps else None
            # Another chunk may have taken the place of the rest of this one.
            replaced = following is not None and following.sequence != request.sequence
            if closed_by(transition, request) or replaced or not self._steps:
                return entries
        raise self._torn()

    def _torn(self) -> PeerLost:
        last = self._last
        assert last is not None  # an episode runs
        self._last = None
        tear = f' ({self._source.tear})' if self._source.tear else ''
        return PeerLost(
            f'The record of the episode {self._index} in {self._path} breaks off '
            f'after step {last.id.step}, while it runs{tear}. The environment '
            'or the recorder died there. Call reset() for the next episode.'
        )

    def _deliver(
        self,
        entry: Entry,
        asked: Vector = (),
        difference: float | None = None,
        recorded: Vector = (),
    ) -> StepResult:
        """Return what a transition was delivered as, and how the two actions compare."""
        images, unresolved = self._images(entry)
        self._last = transition = transition_of(entry)
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

    def _images(self, entry: Entry) -> tuple[dict[str, Image], tuple[str, ...]]:
        """Return the images of an observation, and the fields that show another one."""
        transition = transition_of(entry)
        images: dict[str, Image] = {}
        unresolved: list[str] = []
        for spec in self._specs:
            reference = next(f.image for f in transition.after if f.name == spec.name)
            if self._pictures is None:
                self._pictures = RecordedImages(self._source, self._specs)
            message = (
                None if reference is None else self._pictures.message(reference, entry.log_time)
            )
            if message is not None:
                images[spec.name] = pixels_of(spec, message)
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
        self._pictures = None


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
