# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
PettingZoo environments over a contract with several agents.

:func:`parallel_env` steps all agents at once, :func:`env` one after the other: where the contract
declares ``agent_order`` in those, a period each; else in the order of ``agents``, in no time.
Both need the extra ``pettingzoo``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.core.service_requests import seed_of
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import LinkError, needed
from boundary_env_ros.facade.contract_env import Array, ContractEnv
from boundary_env_ros.facade.gymnasium_errors import InvalidAction, ResetNeeded
from boundary_env_ros.facade.info import outcome_of, step_info
from boundary_env_ros.facade.rendering import camera_of
from boundary_env_ros.facade.spaces import action_vector
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.facade.world import due, load_for
from boundary_env_ros.storage.contract_spaces import action_space, observation_space

with needed('Several agents need PettingZoo', 'pip install pettingzoo'):
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec

Observations = dict[str, dict[str, Array]]
Infos = dict[str, dict[str, Any]]


class SharedEnv(ContractEnv):
    """
    Several robots in one world: what the environments of both kinds of turns have in common.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    Attributes
    ----------
    agents
        The agents of the episode that goes on; empty before the first.
    possible_agents
        All agents, in the contract's order.

    """

    metadata = {'render_modes': ['rgb_array']}  # noqa: RUF012 - as PettingZoo declares it
    wrapped_by = (AECEnv, ParallelEnv)
    agents: list[str]
    possible_agents: list[str]
    #: Whether the agents act one after the other.
    in_turn = False

    def __init__(self, contract: str | Path = 'two_carts', **arguments: Any) -> None:
        super().__init__(contract, **arguments)
        turns = self.contract.agent_order
        if bool(turns) is not self.in_turn:
            raise LinkError(
                'The contract does not fit (expected '
                f'{"" if self.in_turn else "no "}`agent_order`, got '
                f'{", ".join(turns) or "none: its agents act at once"}). '
                'Use env(), which takes both.'
            )
        agents = self.contract.agents
        self._observation_spaces = {agent: observation_space(self.contract) for agent in agents}
        self._action_spaces = {agent: action_space(self.contract) for agent in agents}
        self._generator = np.random.default_rng()
        self.metadata['name'] = self.contract.name
        self.metadata['is_parallelizable'] = not turns
        self.possible_agents = list(agents)
        self.agents = []

    @property
    def last_results(self) -> Mapping[str, StepResult]:
        """The last transition of each agent, whole, as it was delivered."""
        return dict(self._results)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observation, the same object every time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's action, the same object every time."""
        return self._action_spaces[agent]

    def render(self) -> Array | None:
        """
        Return the last image of the first image field of every agent, side by side.

        Shape (height, agents * width, 3), RGB, uint8; in the order of ``possible_agents``, those
        whose episode has ended with their last one.
        """
        if self.render_mode is None:
            return None
        spec = camera_of(self.contract)
        shown = [self._images.get(a, {}).get(spec.name) for a in self.possible_agents]
        if any(image is None for image in shown):
            raise ResetNeeded('There is no observation to render. Call reset() first.')
        return np.hstack([as_rgb(spec, image) for image in shown if image is not None])

    def close(self) -> None:
        """
        End the episodes that run as ``abandoned``, and release the world.

        Other environments are not touched.
        """
        self.agents = []
        super().close()

    def _begin_all(
        self, seed: int | None, options: dict[str, Any] | None
    ) -> dict[str, StepResult]:
        """Begin an episode of every agent, and return their resets."""
        if seed is not None:
            self._generator = np.random.default_rng(seed_of(seed))
        self.agents = []
        begun = self._begin(seed, options, lambda: int(self._generator.integers(2**63)))
        self.agents = list(self.possible_agents)
        return begun

    def _infos(self, begun: Mapping[str, StepResult]) -> Infos:
        full = self._full_info
        return {agent: step_info(self.contract, each, full=full) for agent, each in begun.items()}

    def _vector(self, agent: str, action: Any) -> Vector:
        try:
            return action_vector(self.contract, action)
        except InvalidAction as error:
            raise InvalidAction(f'{agent}: {error}') from error


class BoundaryParallelEnv(SharedEnv, ParallelEnv):
    """
    Several robots, each behind a gate of its own, in one world that they share.

    All agents act at once. Each has its own episode: one that ended leaves ``agents``, its robot
    is stopped, and the others go on until the next ``reset``, with which all begin again together.

    Parameters
    ----------
    contract, world, pacing, full_info, first_step, world_arguments
        See :class:`boundary_env_ros.facade.env.BoundaryEnv`.
    render_mode
        ``'rgb_array'`` shows the first image field of every agent, side by side.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If it declares turns: its agents do not act at once.

    """

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """
        Begin an episode of every agent: the world is reset once, every gate armed for this client.

        Episodes that run are ended first, as ``abandoned``.

        Parameters
        ----------
        seed
            Seed of the episodes, one for all; without one it is drawn from the generator that the
            last seed started.
        options
            Options of the task, for example ``{'scenario': 'aisle'}``.

        Raises
        ------
        LinkError
            If a node is missing (the message names it), refuses, or does not answer within its
            deadline.
        ResetFailed
            If the world could not be brought into the sampled state.

        """
        begun = self._begin_all(seed, options)
        observations = {agent: self._observed(agent, result) for agent, result in begun.items()}
        return observations, self._infos(begun)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """
        Ask for one action of every agent in ``agents``, and return what came of each.

        Each gate admits, limits, holds, stops or rejects its agent's action; that agent's ``info``
        says which, and why.

        Parameters
        ----------
        actions
            A member of ``action_space(agent)`` by agent. In realtime one may be missing, or None:
            the agent misses its turn, its gate holds and then stops the robot, and after
            ``policy_timeout`` its episode ends as ``policy_lost``. In lockstep the world would
            wait, so that is refused.

        Returns
        -------
        tuple
            Observations, rewards, terminations, truncations and infos of every agent that was in
            ``agents``, those whose episode has ended just now among them.

        Raises
        ------
        InvalidAction
            If an action has another shape or is not finite. Nothing was sent.
        ResetNeeded, EpisodeEnded
            If no episode runs.
        LinkError
            If a process that the step needs is lost; the message names it.

        """
        given = {agent: action for agent, action in actions.items() if action is not None}
        closed = self._send({agent: self._vector(agent, each) for agent, each in given.items()})
        last = {agent: closed[agent][-1] for agent in self.agents}
        outcomes = {
            agent: outcome_of(self.contract, closed[agent], full=self._full_info) for agent in last
        }
        self.agents = [agent for agent, each in last.items() if not each.transition.ending]
        return (
            {agent: self._observed(agent, each) for agent, each in last.items()},
            {agent: reward for agent, (reward, _) in outcomes.items()},
            {agent: each.transition.terminated for agent, each in last.items()},
            {agent: each.transition.truncated for agent, each in last.items()},
            {agent: info for agent, (_, info) in outcomes.items()},
        )


#: What an info says of an action; in turn, of the last one of its agent.
_OF_THE_ACTION = (
    'verdict',
    'reasons',
    'requested_action',
    'admitted_action',
    'commanded_action',
    'clipped',
    'latency',
    'overrun',
)


class BoundaryAECEnv(SharedEnv, AECEnv):
    """
    Several robots in one world, who act one after the other, as the contract declares.

    Every turn takes one period of the world. The agent whose turn it is acts, the gates of the
    others go on with what these asked for last, and each agent has an observation, a reward and a
    record of each of these steps. An agent whose episode has ended keeps its place in the order:
    in its turn the world goes on without an action. It takes one more ``step``, with None.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    Attributes
    ----------
    rewards
        Of each agent, what the last ``step`` brought it; ``last()`` returns what has come up since
        its own turn before.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If it declares no turns.

    """

    in_turn = True

    def __init__(self, contract: str | Path, **arguments: Any) -> None:
        super().__init__(contract, **arguments)
        self._seen: Observations = {}
        self._start({})

    def _start(self, begun: Mapping[str, StepResult]) -> None:
        self.rewards: dict[str, float] = dict.fromkeys(begun, 0.0)
        self._cumulative_rewards: dict[str, float] = dict.fromkeys(begun, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(begun, False)
        self.truncations: dict[str, bool] = dict.fromkeys(begun, False)
        self.infos = self._infos(begun)
        self.agent_selection = self.contract.turn_of(1)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """
        Begin an episode of every agent; see :meth:`BoundaryParallelEnv.reset`.

        ``agent_selection`` is then the first of the contract's ``agent_order``.
        """
        begun = self._begin_all(seed, options)
        self._start(begun)
        self._seen = {agent: self._observed(agent, each) for agent, each in begun.items()}

    def observe(self, agent: str) -> dict[str, Array]:
        """Return the last observation of an agent, in any turn."""
        return self._seen[agent]

    def step(self, action: Any) -> None:
        """
        Take the turn of ``agent_selection``, one period, up to the next turn of another.

        Parameters
        ----------
        action
            A member of its action space; None if its episode has ended. In realtime None of one
            that runs means that it misses its turn: its gate holds, and in time stops the robot.

        Raises
        ------
        InvalidAction
            If the action has another shape or is not finite, or there is none in lockstep, where
            the world would wait for it. Nothing was sent.
        ResetNeeded, EpisodeEnded
            If no episode runs.
        LinkError
            If a process that the turn needs is lost; the message names it.

        """
        agent = self.agent_selection
        if self.agents and (self.terminations[agent] or self.truncations[agent]):
            self._was_dead_step(action)
            return
        closed = self._send({} if action is None else {agent: self._vector(agent, action)})
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        for each, results in closed.items():
            last = results[-1]
            self._seen[each] = self._observed(each, last)
            self.rewards[each], info = outcome_of(self.contract, results, full=self._full_info)
            self.infos[each] = self._of_own_turn(each, results, info)
            self.terminations[each] = last.transition.terminated
            self.truncations[each] = last.transition.truncated
        self._accumulate_rewards()
        self.agent_selection = self._next(agent)
        self._deads_step_first()

    def _of_own_turn(
        self, agent: str, results: Sequence[StepResult], info: dict[str, Any]
    ) -> dict[str, Any]:
        """Return an info with what became of the agent's action in its own last turn."""
        own = [d for d in results if self.contract.has_turn(agent, d.transition.id.step)]
        if own and own[-1] is results[-1]:
            return info
        own_info = (
            step_info(self.contract, own[-1], full=self._full_info) if own else self.infos[agent]
        )
        return {**info, **{key: own_info[key] for key in _OF_THE_ACTION if key in own_info}}

    def _next(self, agent: str) -> str:
        """Return whose turn it is now; the one that acted last if no episode runs."""
        running = due(self.contract, self.last_results)
        return running[0] if running else agent


def parallel_env(contract: str | Path = 'two_carts', **arguments: Any) -> BoundaryParallelEnv:
    """
    Return an environment in which all agents act at once.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    """
    return BoundaryParallelEnv(contract, **arguments)


def env(contract: str | Path = 'two_carts', **arguments: Any) -> AECEnv[Any, Any, Any]:
    """
    Return an environment in which the agents act in turn.

    Where the contract declares ``agent_order`` it is a :class:`BoundaryAECEnv`: every turn takes
    a period. Else the turns go in the order of its ``agents`` and take no time: the actions are
    collected, and the world advances when the last agent of the round has acted. Until then every
    agent sees the world as it was when the round began.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    """
    loaded = load_for(
        contract, pacing=arguments.get('pacing'), world=arguments.get('world', 'ros')
    )
    if loaded.contract.agent_order:
        return BoundaryAECEnv(contract, **arguments)
    return parallel_to_aec(BoundaryParallelEnv(contract, **arguments))
