# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several carts drive to goals of their own, past each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.frozen import replace
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from boundary_env_ros.tasks.options import check_names, check_scenarios, scenario_of

COLLISION = 'collision'


class SwapPlaces:
    """
    Drive several planar robots to goals of their own.

    Each agent is judged for itself, as by :class:`~boundary_env_ros.tasks.go_to_goal.GoToGoal`,
    and besides by its bumper: the field ``contact``, which the contract declares as state. A touch
    ends its episode as ``collision``, whatever it touched, and even at the goal; when two robots
    meet, both have touched something.

    Parameters
    ----------
    radius
        Of the goals, m.
    scenarios
        By name, and in it by agent, boxes ``[x_min, y_min, x_max, y_max]`` (m, frame of the pose)
        that ``start`` and ``goal`` are drawn from, and an interval ``yaw`` (rad).
    time_cost, turn_cost
        Reward per second, and per rad/s and second.
    collision_cost
        Reward lost by a collision.

    Reset options: ``scenario`` (a name; default: drawn from all), and for each agent, by its name,
    a mapping with ``start`` ([x, y, yaw]), ``goal`` ([x, y]) or both.

    """

    def __init__(
        self,
        *,
        radius: float,
        scenarios: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]],
        time_cost: float = 0.1,
        turn_cost: float = 0.02,
        collision_cost: float = 1.0,
    ) -> None:
        check_scenarios(scenarios)
        if not 0.0 <= collision_cost < float('inf'):
            raise BoundaryError(
                'Wrong collision_cost (expected a collision_cost of 0 or more, '
                f'got {collision_cost!r}).'
            )
        self._scenarios = tuple(scenarios)
        self._collision_cost = collision_cost
        self.reward_space = {**GoToGoal.reward_space, COLLISION: (-collision_cost, 0.0)}
        agents = {name: sorted(places) for name, places in scenarios.items()}
        first = agents[self._scenarios[0]]
        for name, found in agents.items():
            if found != first or not found:
                raise BoundaryError(
                    f'scenarios.{name}: expected the agents '
                    f'{", ".join(first) or "(at least one)"}, got {", ".join(found) or "none"}.'
                )
        self._tasks = {
            agent: GoToGoal(
                radius=radius,
                scenarios={name: places[agent] for name, places in scenarios.items()},
                time_cost=time_cost,
                turn_cost=turn_cost,
            )
            for agent in first
        }

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """Return ``<agent>.start`` (x, y, yaw) and ``<agent>.goal`` (x, y) of every agent."""
        check_names(options, ('scenario', *self._tasks))
        scenario = scenario_of(options, self._scenarios, rng)
        sampled = []
        for agent, task in self._tasks.items():
            given = options.get(agent, {})
            if not isinstance(given, Mapping) or not set(given) <= {'start', 'goal'}:
                raise BoundaryError(f'{agent}: expected start, goal or both, got {given!r}.')
            for item in task.sample_reset(rng, {'scenario': scenario, **given}):
                sampled.append(replace(item, name=f'{agent}.{item.name}'))
        return tuple(sampled)

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return the field ``goal`` of an agent."""
        self._check_agent(agent)
        return {'goal': reset[f'{agent}.goal']}

    def judge(self, step: StepView) -> Outcome:
        """Return what driving to the goal earns, and the cost of a ``collision``."""
        agent = step.agent
        self._check_agent(agent)
        own = {'goal': step.reset[f'{agent}.goal']}
        outcome = self._tasks[agent].judge(replace(step, reset=own))
        touched = _touched(step)
        cost = self._collision_cost if touched else 0.0
        return Outcome(
            terms=(*outcome.terms, RewardTerm(name=COLLISION, value=-cost)),
            ending=COLLISION if touched else outcome.ending,
        )

    def _check_agent(self, agent: str) -> None:
        if agent not in self._tasks:
            raise BoundaryError(
                f'Unknown agent (expected an agent of the scenarios ({", ".join(self._tasks)}), '
                f'got {agent!r}).'
            )


def _touched(step: StepView) -> bool:
    values = step.after.get('contact', ())
    if len(values) != 1:
        raise BoundaryError(
            'Wrong bumper (expected the bumper as a field `contact` of one value in the state of '
            f'the contract, got {list(values)} among {", ".join(step.after)}).'
        )
    return values[0] > 0.0
