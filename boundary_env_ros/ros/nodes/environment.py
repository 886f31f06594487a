# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The node ``environment``: observation, episode, reward, ending and record.

It sends no command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np

from boundary_env_ros.core.contract.model import Pacing, WaitStep, WorldStep
from boundary_env_ros.core.environment.lockstep import SimStepRequest
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.shared_world import SharedWorld
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, ResetFailed
from boundary_env_ros.ros import names
from boundary_env_ros.ros.agent_environment import AgentEnvironment, Asked
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import to_bytes
from boundary_env_ros.ros.diagnostics import of_steps
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.reset_client import ResetClient

# Looked at a few times a period, so that a deadline is missed by little.
_WATCHES_A_PERIOD = 4


class EnvironmentNode(ContractNode):
    """Hosts the environments of all agents of one world: one clock, one reset, one advance."""

    several_agents = True

    def __init__(self) -> None:
        super().__init__('environment', 'environment')
        self._agents: Mapping[str, AgentEnvironment] = {}
        self._world: SharedWorld | None = None
        self._procedure: ResetClient | None = None
        self._advances: Any = None
        self._ticks: Any = None
        self._due = 0
        self._active = False

    def configure(self) -> None:
        """Make the environments, and all that they listen to and publish."""
        contract = self.contract
        self._refuse_for_several()
        self._agents = {
            agent: AgentEnvironment(
                self,
                agent,
                ask=self._ask,
                asked=self._go_on,
                started=self._on_started,
                active=lambda: self._active,
                draw=self._draw_seed,
            )
            for agent in contract.agents
        }
        self._world = SharedWorld(
            {agent: made.environment for agent, made in self._agents.items()}, contract
        )
        self._advances = self.add_publisher(
            msg.SimStepRequest, names.SIM_STEP_REQUEST, names.RECORD
        )
        self.add_subscription(
            msg.RecorderStatus, names.RECORDER_STATUS, self._on_recorder_status, names.LATCHED
        )
        self._procedure = ResetClient(self, on_world=self._on_world, on_called=self._on_called)

    def _refuse_for_several(self) -> None:
        """Refuse what each of several agents would do, or find, as if it were alone."""
        if len(self.contract.agents) == 1:
            return
        for index, step in enumerate(self.contract.episode.reset.steps):
            if isinstance(step, WorldStep) or (
                isinstance(step, WaitStep) and self.contract.pacing is Pacing.REALTIME
            ):
                continue
            raise BoundaryError(
                f'episode.reset.procedure[{index}]: expected only `world` steps (in realtime '
                '`wait` steps as well) for several agents, got '
                f'`{type(step).__name__.removesuffix("Step").lower()}`. Each agent would do it '
                'once more. Let the service of the `world` step do it.'
            )

    def activate(self) -> None:
        """Start the timers, all on the steady clock: the period, the watch, the heartbeat."""
        period = self.contract.period
        self._active = True
        if self.contract.pacing is Pacing.REALTIME:
            self._ticks = self.every(period, self._on_tick)
        self.every(period / _WATCHES_A_PERIOD, self._on_watch)
        self.every(min(period, self.contract.safety.environment_timeout / 4.0), self._say)
        self._say()

    def deactivate(self) -> None:
        """End the episodes that run: an inactive environment declares nothing later."""
        if self._active:
            for agent in self._agents.values():
                agent.look()
                agent.carry(
                    agent.environment.end(
                        'operator_stop',
                        self.get_name(),
                        'the environment is being deactivated',
                        self.clock.now(),
                    )
                )
        self._active = False

    def cleanup(self) -> None:
        """Let go of everything that :meth:`configure` made."""
        self._agents = {}
        self._world = None
        self._procedure = None
        self._advances = None

    # The world -----------------------------------------------------------------------------------

    def _ask(self, agent: str, what: Asked) -> None:
        if isinstance(what, (ResetWorld, SimStepRequest)):
            assert self._world is not None  # made with those who ask
            self._world.ask(agent, what)
        else:
            assert self._procedure is not None  # as above
            self._procedure.carry(what)

    def _draw_seed(self) -> int:
        """Return a seed where none is named: that of an agent that waits for it, if one does."""
        seed = None if self._world is None else self._world.seed
        return int(np.random.default_rng().integers(2**63)) if seed is None else seed

    def _go_on(self) -> None:
        """Ask the world for what all have asked for by now."""
        if self._world is None or self._procedure is None:
            return
        try:
            reset = self._world.reset()
        except ResetFailed as error:
            self._on_world(WorldReset(error=str(error)))
            return
        if reset is not None:
            self._procedure.carry(reset)
        now = self.clock.now()
        advances = tuple(self._world.advance(now).values())
        for advance in advances:
            # The last of them says how far; those before it, which commands to wait for.
            last = advance is advances[-1]
            told = advance if last else replace(advance, duration=0)
            self._advances.publish(to_bytes(told, now.ros.nanoseconds))

    def _on_world(self, answer: WorldReset) -> None:
        for agent in self._agents.values():
            agent.carry(agent.environment.world_reset(answer, self.clock.now()))

    def _on_called(self, service: str, error: str) -> None:
        for agent in self._agents.values():
            agent.carry(agent.environment.called(service, error, self.clock.now()))

    def _on_recorder_status(self, message: Any) -> None:
        if message.digest == self.loaded.digest and message.recording:
            for agent in self._agents.values():
                agent.carry(agent.environment.recorder_status(self.clock.now()))

    # Time ----------------------------------------------------------------------------------------

    def _on_started(self) -> None:
        """Begin to count the period again: the first step is as long as the others."""
        if self._ticks is not None:
            self._ticks.reset()
            self._due = self.clock.now().steady + round(self.contract.period * NANOSECONDS)

    def _on_tick(self) -> None:
        for agent in self._agents.values():
            agent.look()
        now = self.clock.now()
        late = (now.steady - self._due) / NANOSECONDS
        if late < -self.contract.period / 2.0:
            return  # it was on its way already when the period began again
        # As the timer has it, lest a whole episode seem to be late: it does not make up for a tick
        # that was missed altogether.
        self._due = now.steady + self._ticks.time_until_next_call()
        for agent in self._agents.values():
            agent.carry(agent.environment.tick(now, late))

    def _on_watch(self) -> None:
        assert self._world is not None  # the timer runs while the node is active
        if self._procedure is not None:
            self._procedure.watch()
        for name, agent in self._agents.items():
            if agent.environment.looks(self.clock.now()):
                agent.look()
            agent.carry(self._world.watch(name, self.clock.now()))

    def _say(self) -> None:
        for agent in self._agents.values():
            agent.say()

    def conditions(self) -> Iterator[DiagnosticStatus]:
        """Yield what ``/diagnostics`` says of the node and of each agent's steps."""
        yield from super().conditions()
        for name, agent in self._agents.items():
            yield of_steps(self.path, name, agent.timing)


def main() -> int:
    """Run the node ``environment``."""
    return run(EnvironmentNode, fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
