# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The world behind a contract, as one client steps it, for one agent or several.

The facade knows nothing else of the world. Over ROS it is
:class:`boundary_env_ros.ros.world.RosWorld`; in one process
:class:`boundary_env_ros.facade.embedded_world.EmbeddedWorld`; over a record
:class:`boundary_env_ros.facade.replay_world.ReplayWorld`. Others are installed as entry points of
the group ``boundary_env_ros.worlds``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
import inspect
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.gate.commands import translate
from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.records.environment_event import EnvironmentEvent
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    EpisodeEnded,
    InvalidAction,
    LinkError,
    RequestRejected,
    ResultCode,
)
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.resources import entry_points
from boundary_env_ros.storage.contract_file import load, LoadedContract

GROUP = 'boundary_env_ros.worlds'


@runtime_checkable
class World(Protocol):
    """
    One client's conversation with one world, on behalf of the agents that it steps.

    Every call has a deadline and raises a named error when it passes; none returns half an answer.
    This is all that environments, runner and policies call. A subclass has what not every world
    can do, :meth:`send`, :meth:`ask` and :meth:`listen`, as refusals.

    Attributes
    ----------
    recorded
        Whether its episodes are recorded ones, so that none needs a seed to be drawn.

    """

    recorded: bool = False

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that this client steps: all of the contract, or the one it was made for."""
        ...

    @property
    def running(self) -> tuple[str, ...]:
        """Those of ``agents`` whose episode runs."""
        ...

    def reset(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, StepResult]:
        """
        Begin an episode of every agent, over one reset of the world, and return their resets.

        Episodes that still run are ended first, as ``abandoned``. If the reset of one agent fails,
        no episode runs afterwards.

        Raises
        ------
        RequestRejected
            If environment or gate refuses.
        ResetFailed
            If the world could not be reset; the message says what is missing.
        LinkTimeout
            If a node does not answer; the message names it.

        """
        ...

    def step(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """
        Send the actions, and return for each agent that runs what was closed since.

        The last result is the step that the action closed. Those before it were closed without an
        action, because none came in time, or by the first actions of a chunk.

        Parameters
        ----------
        actions
            By agent. In lockstep of all that run, since the world waits for each. In realtime the
            gate of an agent without one holds, then stops, and what comes back of it is the next
            transition that is closed without an action. With declared turns, of the one whose turn
            it is, or in realtime of none, which misses it; what comes back goes up to the next
            turn of an agent that runs. A client of one agent among several waits for its turn.

        Raises
        ------
        EpisodeEnded
            If no episode runs.
        InvalidAction
            If actions are missing that the world would wait for, or come from agents that do not
            run, or whose turn it is not; or if the world does not allow one now, as a plugin can
            tell. Nothing was sent, and the episode goes on.
        PeerLost
            If the environment died before it could close the step.

        """
        ...

    def send(self, actions: Mapping[str, Vector | StepRequest]) -> dict[str, ActionRequest]:
        """
        Send the actions as :meth:`step` does, wait for nothing, and return what was sent.

        What they close comes with :meth:`observe` or the next :meth:`step`. The gate's answer, a
        decision that has this request, comes to the sink that the world was made with. Only
        :meth:`step` waits for a turn and calls ``on_result``.

        Raises
        ------
        RequestRejected
            If the world goes on only by steps.
        EpisodeEnded, InvalidAction
            See :meth:`step`.

        """
        raise RequestRejected(
            f'{type(self).__name__} waits for each step (expected a world in realtime). '
            "Call step(), or use the world 'ros' in realtime.",
            ResultCode.UNSUPPORTED,
        )

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """
        Return for each agent that runs what was closed since the last call, without any action.

        At once: nothing is sent, and nothing waited for. In lockstep there are none.
        """
        ...

    def ask(self, method: str, arguments: Mapping[str, object]) -> Any:
        """
        Ask the plugin of a simulated robot; see :meth:`.plugin_robot.PluginRobot.ask`.

        Raises
        ------
        RequestRejected
            If there is none, or it has no such method.

        """
        raise RequestRejected(
            f'{type(self).__name__} cannot be asked (expected a world with a plugin). '
            "Use the world 'embedded' or 'ros'.",
            ResultCode.UNSUPPORTED,
        )

    def listen(self, listener: Callable[[EnvironmentEvent], None]) -> None:
        """
        Call back with every event of every agent, in the thread of the caller, within its call.

        Raises
        ------
        RequestRejected
            If it tells none.

        """
        raise RequestRejected(
            f'{type(self).__name__} tells no events to an environment. '
            'Over ROS use boundary_env_ros.ros.service_client.BoundaryClient.on.',
            ResultCode.UNSUPPORTED,
        )

    def close(self) -> None:
        """End what this client began, and release all that it holds. May be called again."""
        ...


def agent_of(agents: Sequence[str], wanted: str = '') -> str:
    """
    Return the agent that is wanted; empty: the only one.

    Raises
    ------
    LinkError
        If there is no such agent, or not one alone.

    """
    if wanted in agents:
        return wanted
    if wanted or len(agents) != 1:
        raise LinkError(
            f'Which agent? (expected one of {", ".join(agents)}, '
            f'got {wanted or "none"}). Over ROS and from a record pass agent=... '
            '(`boundary-env run`: --world-option agent=NAME); all are stepped by '
            'boundary_env_ros.facade.multi_agent.'
        )
    return agents[0]


def due(contract: Contract, last: Mapping[str, StepResult]) -> tuple[str, ...]:
    """
    Return who acts next: all whose episode runs, or of these the one whose turn it is.

    Parameters
    ----------
    contract
        The contract.
    last
        The last result of each agent.

    """
    running = {agent: d.transition for agent, d in last.items() if not d.transition.ending}
    if not contract.agent_order:
        return tuple(running)
    # All that run are in the same step; over ROS one of them may have sent more than another.
    step = max((transition.id.step for transition in running.values()), default=0)
    return tuple(agent for agent in running if contract.has_turn(agent, step + 1))


def check_open(closed: bool) -> None:
    """
    Refuse to use a world that was closed.

    Raises
    ------
    LinkError
        If it was.

    """
    if closed:
        raise LinkError('The world is closed. Create a new one.')


def check_running(running: Collection[str]) -> None:
    """
    Refuse to go on where no episode runs.

    Raises
    ------
    EpisodeEnded
        If there is none.

    """
    if not running:
        raise EpisodeEnded(
            'No episode is running: it has ended, or none was begun. Call reset() first.'
        )


def check_actions(
    contract: Contract, last: Mapping[str, StepResult], actions: Collection[str]
) -> None:
    """
    Refuse a step that a world cannot take.

    Parameters
    ----------
    contract
        The contract.
    last
        The last result of each agent whose episode runs.
    actions
        The agents that act.

    Raises
    ------
    EpisodeEnded, InvalidAction
        As :meth:`World.step`.

    """
    check_running(last)
    to_act = due(contract, last)
    who = 'whose turn it is' if contract.agent_order else 'each agent that runs'
    if set(actions) - set(to_act):
        raise InvalidAction(
            f'Actions do not fit the agents (expected one of {who}: {", ".join(to_act)}, '
            f'got {", ".join(actions)}).'
        )
    lacking = [agent for agent in to_act if agent not in actions]
    if lacking and contract.is_lockstep:
        raise InvalidAction(
            f'No action of {", ".join(lacking)}. In lockstep the world waits for {who}: '
            f'{", ".join(to_act)}.'
        )


def check_legal(
    contract: Contract, actions: Mapping[str, StepRequest], ask: Callable[..., Any]
) -> None:
    """
    Refuse what the world does not allow now, where it can tell.

    Parameters
    ----------
    contract
        The contract.
    actions
        Who asks for what; of a chunk the first action is checked.
    ask
        Asks the world.

    Raises
    ------
    InvalidAction
        With the world's reason.

    """
    for agent, wanted in actions.items():
        command, _ = translate(contract.action, wanted.action[: contract.action_size], None)
        if command is None:
            continue  # The gate rejects it, or it is a difference to what only the gate knows.
        setpoints = {
            contract.topic_of(agent, group.topic): command[part]
            for group, part in slices_of(contract.action)
        }
        reason = ask('check', {'agent': agent, 'setpoints': setpoints})
        if reason:
            raise InvalidAction(f'{agent} cannot do this now: {reason}')


def load_for(contract: str | Path, *, pacing: str | None, world: str) -> LoadedContract:
    """
    Return a contract as it is run in a world.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    pacing
        ``'realtime'`` or ``'lockstep'``; None: as in the contract, but in one process in lockstep,
        as there is no other.
    world
        Name of the world.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If there is no such pacing.

    """
    alone = Pacing.LOCKSTEP if world == 'embedded' else None
    return load(contract, alone if pacing is None else pacing)


def make_world(name: str, loaded: LoadedContract, **arguments: Any) -> World:
    """
    Return an installed world.

    Parameters
    ----------
    name
        Entry-point name: ``ros``, ``embedded``, ``replay`` or that of another package.
    loaded
        The contract.
    arguments
        What that world takes.

    Raises
    ------
    LinkError
        If no world of that name is installed, which lists those that are, or it takes no such
        arguments, which lists these; if what it makes lacks a part of :class:`World`.

    """
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in entries:
        raise LinkError(
            f'{name!r} is not installed '
            f'(expected an installed world: {", ".join(sorted(entries)) or "there is none"}).'
        )
    make = entries[name].load()
    signature = inspect.signature(make)
    try:
        signature.bind(loaded, **arguments)
    except TypeError as error:
        taken = ', '.join(list(signature.parameters)[1:])
        raise LinkError(f'The world {name!r} takes ({taken}): {error}.') from error
    world = make(loaded, **arguments)
    if not isinstance(world, World):
        raise LinkError(
            f'The world {name!r} is none (expected all of {World.__module__}.World, got '
            f'{type(world).__name__}). Let it be a subclass.'
        )
    return world
