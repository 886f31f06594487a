# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env watch``: how a boundary does while it runs, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
import math
import shutil
import sys
import time
from typing import Any

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.step_timing import StepTiming
from boundary_env_ros.core.records.decision import GateState, GateStatus
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.facade.info import reasons_of
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.conversions import from_bytes, message_of
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.ros.processes import interrupts
from boundary_env_ros.ros.served_contract import served_contract
from boundary_env_ros.terminal import one_line, steer, table

#: Between two pictures, s: on a terminal, and in a file or pipe.
_POLL, _LOG = 0.2, 2.0
#: For a node of the boundary to be found, s.
_WAIT = 10.0
#: What was received longer ago than this is named, s.
_SILENT = 2.0


def watch(*, namespace: str = '', domain_id: int | None = None) -> int:
    """
    Show state, rates, stages and ages of a boundary until Ctrl-C; it takes no part in it.

    Parameters
    ----------
    namespace, domain_id
        Where the nodes are; None: the domain of ``ROS_DOMAIN_ID``, or 0.

    Raises
    ------
    LinkError
        If no node of a boundary is found.

    """
    refresh = _POLL if sys.stdout.isatty() else _LOG
    own = IsolatedNode(names.WATCH, domain_id=domain_id, namespace=namespace, listens_only=True)
    with interrupts() as raise_if_interrupted, own:

        def spin() -> None:
            own.spin(_POLL)
            raise_if_interrupted()

        contract = served_contract(own.node, spin, _WAIT).contract
        state = LiveState(own.node, contract)
        with suppress(KeyboardInterrupt):
            while True:
                until = time.monotonic() + refresh
                while time.monotonic() < until:
                    spin()
                draw(state.lines())
    return 0


def draw(lines: Iterable[str]) -> None:
    """Print lines; on a terminal in place of those before, as many as it shows."""
    shown = [one_line(line) for line in lines]
    if sys.stdout.isatty():
        steer(sys.stdout, '\x1b[H\x1b[2J')
        size = shutil.get_terminal_size()
        shown = [line[: size.columns - 1] for line in shown[: size.lines - 1]]
    print(*shown, sep='\n', flush=True)


class LiveState:
    """
    What the nodes of a boundary say of themselves, and their steps, as lines.

    Parameters
    ----------
    node
        Node that listens.
    contract
        The contract that they run under.

    """

    def __init__(self, node: Any, contract: Contract) -> None:
        self._contract = contract
        self._received: dict[str, float] = {}
        #: The newest message of each topic.
        self._last: dict[str, Any] = {}
        self._steps = {agent: AgentSteps(contract, agent) for agent in contract.agents}
        incoming = Incoming(node)
        authenticity = Authenticity(node.context.get_domain_id(), Role.OPERATOR)

        def subscribe(kind: Any, topic: str, qos: Any, read: Callable[[bytes], Any]) -> None:
            def on_message(data: bytes) -> None:
                self._received[topic] = time.monotonic()
                self._last[topic] = read(data)

            incoming.subscribe(kind, topic, on_message, qos, raw=True, authenticity=authenticity)

        for agent, steps in self._steps.items():
            gate, episode, transition = self._topics(agent)
            subscribe(msg.GateStatus, gate, names.LATCHED, partial(from_bytes, GateStatus))
            subscribe(
                msg.EpisodeStatus, episode, names.LATCHED_MANY, partial(from_bytes, EpisodeStatus)
            )
            incoming.subscribe(msg.Transition, transition, steps.add, names.RECORD, raw=True)
        recorder = partial(message_of, msg.RecorderStatus)
        subscribe(msg.RecorderStatus, names.RECORDER_STATUS, names.LATCHED, recorder)

    def _topics(self, agent: str) -> tuple[str, ...]:
        own = (names.GATE_STATUS, names.EPISODE_STATUS, names.TRANSITION)
        return tuple(self._contract.topic_of(agent, topic) for topic in own)

    def lines(self) -> Iterator[str]:
        """Yield a line of each part, and then what there is to tell of the steps."""
        contract, last, now = self._contract, self._last, time.monotonic()
        yield f'{contract.name} {contract.version}, {contract.pacing.name.lower()}'
        for agent in contract.agents:
            of = f' of {agent}' if len(contract.agents) > 1 else ''
            gate, episode = (last.get(topic) for topic in self._topics(agent)[:2])
            yield f'{f"gate{of}":<10} {"(not heard yet)" if gate is None else _of_gate(gate)}'
            if episode is not None and episode.state is not EpisodeState.IDLE:
                step = episode.id.step
                yield f'{f"episode{of}":<10} {_of_episode(episode)}; step {step}'
        recorder = last.get(names.RECORDER_STATUS)
        if recorder is not None:
            lost = f', {recorder.lost} messages LOST' if recorder.lost else ''
            state = 'recording' if recorder.recording else 'NOT RECORDING'
            yield f'recorder   {state}{lost}; {recorder.transitions} transitions'
        for topic, received in self._received.items():
            if now - received > _SILENT:
                yield f'SILENT     {topic} for {now - received:.0f} s'
        for steps in self._steps.values():
            yield from steps.lines()


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
        holding = f', held by the {last.held_by}' if last.held_by else ''
        verdict = last.verdict.name if last.verdict else f'no action{holding}'
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
