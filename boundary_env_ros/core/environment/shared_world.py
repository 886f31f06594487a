# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One world and the environments of all its agents: it moves when all are ready.

It is reset once all have asked for the same reset; in realtime the episodes start together when
the last is ready; in lockstep the world advances once all whose episode lasts have asked for that.
An agent alone in its world never waits.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.model import Contract, WaitStep, WorldStep
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import (
    AdvanceDelayed,
    DeadlinesDue,
    EndEpisode,
    StartDelayed,
)
from boundary_env_ros.core.environment.environment_state import Outputs
from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.lockstep import SimStepRequest
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import BoundaryError, ResetFailed


class SharedWorld:
    """
    What the environments of one world have asked of it, and whether it is its time.

    Parameters
    ----------
    environments
        The environment of each agent, in the contract's order.
    contract
        The contract.

    Raises
    ------
    BoundaryError
        If there are several agents, and its reset has a step that each would do once more.

    """

    def __init__(self, environments: Mapping[str, Environment], contract: Contract) -> None:
        if len(environments) > 1:
            _refuse_steps_of_each(contract)
        self._environments = environments
        self._task = contract.task.name
        # In lockstep nothing happens between the first start and the last.
        self._start_together = not contract.is_lockstep
        self._resets: dict[str, ResetWorld] = {}
        self._advances: dict[str, SimStepRequest] = {}
        self._starting = False

    def ask(self, agent: str, what: ResetWorld | SimStepRequest) -> None:
        """Take note of what an environment asks of the world."""
        if isinstance(what, ResetWorld):
            # An advance that it had asked for before belongs to an episode that is over.
            self._advances.pop(agent, None)
            self._resets[agent] = what
        else:
            self._advances[agent] = what

    @property
    def seed(self) -> int | None:
        """Seed of the reset that an agent waits for the others to ask for; None if none waits."""
        self._forget_ended()
        return next((reset.seed for reset in self._resets.values()), None)

    def reset(self) -> ResetWorld | None:
        """
        Return the reset that is due now, once; None until all agents have asked for it.

        Raises
        ------
        ResetFailed
            If the agents do not ask for the same.

        """
        self._forget_ended()
        if len(self._resets) < len(self._environments):
            return None
        first, *others = self._resets.values()
        self._resets.clear()
        if any(other != first for other in others):
            raise ResetFailed(
                'The agents sampled different worlds from one seed, or have different reset '
                f'options. sample_reset of the task {self._task!r} must depend on its generator '
                'and options alone, and all agents be reset with the same options.'
            )
        if others:
            self._starting = True
            for environment in self._environments.values() if self._start_together else ():
                # Until it is checked: it could be ready before.
                environment.apply(StartDelayed(why='the other agents to be ready'))
        return first

    def advance(self, now: ClockReading) -> Mapping[str, SimStepRequest]:
        """Return what is due now, once, by agent; empty until all agents have decided."""
        self._forget_ended()
        needed = [
            agent
            for agent, environment in self._environments.items()
            if environment.state.active
            # Whose reset waits for the others does not keep them waiting.
            and agent not in self._resets
        ]
        if not needed or any(agent not in self._advances for agent in needed):
            return {}
        for agent in needed:
            self._environments[agent].apply(AdvanceDelayed(now=now))
        return {agent: self._advances.pop(agent) for agent in needed}

    def watch(self, agent: str, now: ClockReading) -> Outputs:
        """
        Look at the deadlines of one agent.

        To be called for each, a few times a period, and its outputs dispatched before the next: an
        agent that has not decided in time is to be found before those that wait for it.
        """
        environment = self._environments[agent]
        if agent in self._advances:
            # The others are waited for, and each of them has a deadline.
            environment.apply(AdvanceDelayed(now=now))
        if len(self._environments) > 1 and environment.state.reset is not None:
            ended = self._ended_while_starting(agent)
            if ended:
                failed = endings.RESET_FAILED
                return environment.apply(
                    EndEpisode(ending=failed, declared_by='', message=ended, now=now)
                )
            environment.apply(StartDelayed(why=self._lacking(agent, now)))
        outputs = environment.apply(DeadlinesDue(now=now))
        if self._starting and not self._resetting:
            self._starting = False
        return outputs

    @property
    def _resetting(self) -> list[str]:
        return [a for a, e in self._environments.items() if e.state.reset is not None]

    def _forget_ended(self) -> None:
        for agent, environment in self._environments.items():
            if environment.state.episode.state.over:
                self._resets.pop(agent, None)
                self._advances.pop(agent, None)

    def _ended_while_starting(self, agent: str) -> str:
        """Return which other episode ended before all had started, and why; else empty."""
        if not self._starting:
            return ''
        return '; '.join(
            f'{other}: {environment.state.episode.message}'
            for other, environment in self._environments.items()
            if other != agent and environment.state.episode.state.over
        )

    def _lacking(self, agent: str, now: ClockReading) -> str:
        """Return in words which agents an agent must wait for before it starts; empty if none."""
        if not self._starting:
            missing = [a for a in self._environments if a not in self._resets]
            return f'{", ".join(missing)} to begin as well' if missing else ''
        if not self._start_together:
            return ''
        unready = [other for other in self._resetting if not self._environments[other].ready(now)]
        if not unready:
            return ''
        return f'{", ".join(a for a in unready if a != agent) or agent} to be ready'


def _refuse_steps_of_each(contract: Contract) -> None:
    realtime = not contract.is_lockstep
    for index, step in enumerate(contract.episode.reset.steps):
        if isinstance(step, WorldStep) or (isinstance(step, WaitStep) and realtime):
            continue
        raise BoundaryError(
            f'episode.reset.procedure[{index}]: expected only `world` steps (in realtime `wait` '
            'steps as well) for several agents, got '
            f'`{type(step).__name__.removesuffix("Step").lower()}`. Each agent would do it once '
            'more. Let the service of the `world` step do it.'
        )
