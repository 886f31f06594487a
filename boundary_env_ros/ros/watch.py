# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env watch``: how a boundary does while it runs, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import math
import shutil
import sys
import time
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate.decision import GateState, GateStatus
from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.core.step_timing import StepTiming
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.facade.info import reasons_of
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_bytes, from_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.ros.served_contract import served_contract
from boundary_env_ros.terminal import one_line, steer, table

#: Between two pictures, s: on a terminal, and in a file or pipe.
_LOOK, _LOG = 0.2, 2.0
#: For a node of the boundary to be found, s.
_WAIT = 10.0
#: What was heard longer ago than this is named, s.
_SILENT = 2.0


def watch(
    *, namespace: str = '', domain_id: int | None = None, pictures: int | None = None
) -> int:
    """
    Show state, rates, stages and ages of a boundary until Ctrl-C; it takes no part in it.

    Parameters
    ----------
    namespace, domain_id
        Where the nodes are; None: the domain of ``ROS_DOMAIN_ID``, or 0.
    pictures
        How many pictures are shown; None: until Ctrl-C.

    Raises
    ------
    LinkError
        If no node of a boundary is found.

    """
    view = View(live=sys.stdout.isatty())
    own = IsolatedNode('watch', domain_id=domain_id, namespace=namespace, listens_only=True)
    with own:
        contract = served_contract(own.node, lambda: own.spin(_LOOK), _WAIT).contract
        state = LiveState(own.node, contract)
        steps = {agent: AgentSteps(contract, agent) for agent in contract.agents}
        incoming = Incoming(own.node)
        for agent, told in steps.items():
            topic = contract.topic_of(agent, names.TRANSITION)
            own.node.create_subscription(
                msg.Transition, topic, incoming.guarded(topic, told.add), names.RECORD, raw=True
            )
        try:
            while pictures is None or pictures > 0:
                until = time.monotonic() + (_LOOK if view.live else _LOG)
                while (left := until - time.monotonic()) > 0.0:
                    own.spin(left)
                pictures = None if pictures is None else pictures - 1
                of_steps = (line for each in steps.values() for line in each.lines())
                view.draw((*_head(contract, state), *of_steps))
        except KeyboardInterrupt:
            pass
    return 0


def _head(contract: Contract, state: LiveState) -> Iterator[str]:
    yield f'{contract.name} {contract.version}, {contract.pacing.name.lower()}'
    yield from state.lines()
    for topic, seconds in state.silence():
        if seconds > _SILENT:
            yield f'SILENT     {topic} for {seconds:.0f} s'


class LiveState:
    """
    What the nodes of a boundary say of themselves, as lines.

    Parameters
    ----------
    node
        Node that listens.
    contract
        The contract that they run under.

    """

    def __init__(self, node: Any, contract: Contract) -> None:
        self._gates: dict[str, GateStatus] = {}
        self._episodes: dict[str, EpisodeStatus] = {}
        self._recorder: Any = None
        self._heard: dict[str, float] = {}
        self._contract = contract
        incoming = Incoming(node)

        def listen(kind: Any, topic: str, qos: Any, take: Any) -> None:
            def taken(message: Any) -> None:
                self._heard[topic] = time.monotonic()
                take(message)

            node.create_subscription(kind, topic, incoming.guarded(topic, taken), qos)

        for agent in contract.agents:
            listen(
                msg.GateStatus,
                contract.topic_of(agent, names.GATE_STATUS),
                names.LATCHED,
                self._taker(self._gates, agent, GateStatus),
            )
            listen(
                msg.EpisodeStatus,
                contract.topic_of(agent, names.EPISODE_STATUS),
                names.LATCHED_MANY,
                self._taker(self._episodes, agent, EpisodeStatus),
            )
        listen(msg.RecorderStatus, names.RECORDER_STATUS, names.LATCHED, self._on_recorder)

    @staticmethod
    def _taker(kept: dict[str, Any], agent: str, kind: type) -> Any:
        def take(message: Any) -> None:
            kept[agent] = from_msg(kind, message)

        return take

    def _on_recorder(self, message: Any) -> None:
        self._recorder = message

    def silence(self) -> tuple[tuple[str, float], ...]:
        """Return each topic that was heard, with the seconds since."""
        now = time.monotonic()
        return tuple((topic, now - at) for topic, at in self._heard.items())

    def lines(self) -> Iterator[str]:
        """Yield a line of each part."""
        several = len(self._contract.agents) > 1
        for agent in self._contract.agents:
            of = f' of {agent}' if several else ''
            gate, episode = self._gates.get(agent), self._episodes.get(agent)
            yield f'{f"gate{of}":<10} {"(not heard yet)" if gate is None else _of_gate(gate)}'
            if episode is not None and episode.state is not EpisodeState.IDLE:
                step = episode.id.step
                yield f'{f"episode{of}":<10} {_of_episode(episode)}; step {step}'
        if self._recorder is not None:
            recorder = self._recorder
            lost = f', {recorder.lost} messages LOST' if recorder.lost else ''
            state = 'recording' if recorder.recording else 'NOT RECORDING'
            yield f'recorder   {state}{lost}; {recorder.transitions} transitions'


def _of_gate(gate: GateStatus) -> str:
    text = gate.state.name.lower().replace('_', ' ')
    if gate.state is GateState.EMERGENCY_STOPPED:
        text = 'EMERGENCY STOPPED'
    if gate.holder:
        text += f', for {gate.holder}'
    if gate.teleoperated:
        text += ', taken over by a person'
    if gate.foreign_publishers:
        text += f', {gate.foreign_publishers} FOREIGN PUBLISHERS of commands'
    return text


def _of_episode(episode: EpisodeStatus) -> str:
    text = f'{episode.id.episode_id[:8]} {episode.state.name.lower()}, for {episode.client}'
    if episode.ending:
        text += f': {episode.ending}, declared by {episode.declared_by}'
    return f'{text} ({episode.message})' if episode.message else text


class AgentSteps:
    """
    The steps of one agent as they come, told in lines.

    Parameters
    ----------
    contract, agent
        The contract, and which of its agents.

    """

    def __init__(self, contract: Contract, agent: str) -> None:
        self._contract, self._agent = contract, agent
        self._timing = StepTiming(contract)
        self._last: Transition | None = None

    def add(self, data: bytes) -> None:
        """Take a transition, as it was published."""
        self._last = from_bytes(Transition, data)
        self._timing.add(self._last)

    def lines(self) -> Iterator[str]:
        """Return what there is to tell, nothing before the first step."""
        last, timing, contract = self._last, self._timing, self._contract
        if last is None:
            return
        yield ''
        if len(contract.agents) > 1:
            yield self._agent
        rate = _number(timing.rate, '{:.1f}')
        yield f'steps      {timing.steps}; {rate}/s of {1.0 / contract.period:g}/s'
        yield f'policy     {timing.overruns} overruns (steps without an action in time)'
        yield (
            f'ticks      {timing.late} late, {timing.missed} missed; '
            f'the latest by {1e3 * timing.worst:.1f} ms'
        )
        held = f', held by the {last.held_by}' if last.held_by else ''
        verdict = last.verdict.name if last.verdict else f'no action{held}'
        yield f'last       {verdict}  {"; ".join(reasons_of(contract, last))}'.rstrip()
        yield ''
        yield from table(
            [('stage', 'last', 'median', 'longest', 'budget', 'over'), *self._stages()],
            right=(1, 2, 3, 4, 5),
        )
        limits = {spec.name: spec.max_age for spec in contract.observation}
        yield ''
        yield from table(
            [
                ('field', 'age', 'max_age', ''),
                *(
                    (f.name, _ms(f.age), _ms(limits.get(f.name)), f.status.name)
                    for f in last.after
                ),
            ],
            right=(1, 2),
        )

    def _stages(self) -> Iterator[tuple[str, ...]]:
        for name in STAGES:
            budget = self._contract.latency_budget.get(name)
            over = str(self._timing.over_budget[name]) if budget is not None else ''
            yield (name, *map(_ms, self._timing.stage(name)), _ms(budget), over)


def _ms(seconds: float | None) -> str:
    return '-' if seconds is None else _number(1e3 * seconds, '{:.1f} ms')


def _number(value: float, text: str) -> str:
    return '-' if math.isnan(value) else text.format(value)


class View:
    """
    Lines kept up to date on a terminal; in a file or pipe, one picture after the other.

    Parameters
    ----------
    live
        Whether it is a terminal.

    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._shown = 0

    def draw(self, lines: Iterable[str]) -> None:
        """Draw lines in place of those before, as many as the terminal shows."""
        shown = [one_line(line) for line in lines]
        if self.live:
            if self._shown:
                steer(sys.stdout, f'\x1b[{self._shown}F\x1b[J')
            size = shutil.get_terminal_size()
            shown = [line[: size.columns - 1] for line in shown[: size.lines - 1]]
        print(*shown, sep='\n', flush=True)
        self._shown = len(shown)
