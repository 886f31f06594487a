# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of a recorded run: the record in place of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.errors import BoundaryError, LinkError, RecordError, RequestRejected
from boundary_env_ros.facade.replay import AgentReplay, EPISODE
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.facade.world import check_running, stepped_agents
from boundary_env_ros.storage.contract_file import LoadedContract


class ReplayWorld:
    """
    A recorded run, stepped through as it was delivered then.

    A step returns what was recorded, whatever action it is given. The action is compared with the
    recorded one, and the difference stands in the result.

    Parameters
    ----------
    loaded
        The contract; the run must have been recorded under the same.
    run
        Run folder, bag, ``.mcap`` file, or ``.jsonl`` file of transitions.
    agent
        The agent, if it is to be stepped alone; default: all of the contract.
    strict
        Raise at the first action that differs from the recorded one.
    tolerance
        By how much each number of an action may be off, in its unit, before the action differs.
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
        If there is no such agent, or the contract declares turns and no agent is named.
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
        strict: bool = False,
        tolerance: float = 0.0,
        any_seed: bool = False,
        loop: bool = False,
        blank_images: bool = False,
        client: str = '',
    ) -> None:
        if not str(run):
            raise LinkError(
                'run= is missing (expected a recorded run). Name its folder, a bag, an .mcap or '
                'a .jsonl file.'
            )
        if not tolerance >= 0.0:
            raise BoundaryError(
                f'Wrong tolerance (expected a tolerance of 0 or more, got {tolerance!r}).'
            )
        agents = stepped_agents(loaded.contract, agent)
        if loaded.contract.agent_order and len(agents) > 1:
            raise LinkError(
                'Agents that act in turn cannot be replayed together (`agent_order`: '
                f'{", ".join(loaded.contract.agent_order)}). Replay one of them with agent=...'
            )
        self._path = run
        self._replays = {
            each: AgentReplay(
                loaded,
                run=run,
                agent=each,
                strict=strict,
                tolerance=tolerance,
                any_seed=any_seed,
                loop=loop,
                blank_images=blank_images,
            )
            for each in agents
        }
        self._closed = False

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that are stepped."""
        return tuple(self._replays)

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs."""
        return tuple(agent for agent, replay in self._replays.items() if replay.running)

    def reset(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, StepResult]:
        """
        Go to a recorded episode of every agent, and return their resets.

        They began together; so an id, which is that of one agent, stands for those of the others
        at its place.

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
        self._check_open()
        which = options.get(EPISODE)
        first = next(iter(self._replays))
        if isinstance(which, str) and len(self._replays) > 1:
            first = self._owner(which)
        begun = {first: self._replays[first].reset(seed=seed, options=options)}
        replayed = begun[first].replayed
        assert replayed is not None  # every result of a replay is
        others = {**options, EPISODE: replayed.episode}
        for agent, replay in self._replays.items():
            if agent != first:
                begun[agent] = replay.reset(seed=None, options=others)
        seeds = {agent: result.transition.seed for agent, result in begun.items()}
        if len(set(seeds.values())) > 1:
            raise RecordError(
                f'The agents have different seeds in the episode {replayed.episode} of '
                f'{self._path} (got {seeds}). A reset of one of them is missing there.'
            )
        return {agent: begun[agent] for agent in self._replays}

    def _owner(self, episode: str) -> str:
        for agent, replay in self._replays.items():
            if replay.has(episode):
                return agent
        raise RequestRejected(
            f'Unknown episode: none of {", ".join(self._replays)} in {self._path} has '
            f'an id that begins with {episode!r}.'
        )

    def step(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """
        Return for each agent that runs what was delivered to it at this place of the record.

        An action that is missing is compared with nothing.

        Raises
        ------
        EpisodeEnded
            If no episode runs.
        LinkError
            If an action comes from an agent that does not run.
        ReplayDiffers
            If an action differs from the recorded one, and the world is ``strict``.
        PeerLost
            If the record ends while the episode runs.

        """
        self._check_open()
        running = self.running
        check_running(running)
        unknown = set(actions) - set(running)
        if unknown:
            raise LinkError(
                f'Unknown agents (expected {", ".join(running)}, '
                f'got {", ".join(sorted(unknown))} as well).'
            )
        return {agent: self._replays[agent].step(actions.get(agent)) for agent in running}

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """Return nothing of each agent that runs: the record waits for them."""
        self._check_open()
        check_running(self.running)
        return dict.fromkeys(self.running, ())

    def close(self) -> None:
        """Let go of the record."""
        self._closed = True
        for replay in self._replays.values():
            replay.close()

    def _check_open(self) -> None:
        if self._closed:
            raise LinkError('The world is closed. Create a new one.')
