# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state of a boundary that runs, as ``up`` and ``watch`` show it on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import shutil
import sys
import time
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.gate.decision import GateState, GateStatus
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.terminal import one_line, steer


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


class View:
    """
    Lines kept up to date on a terminal; in a file or pipe, those that are new.

    Parameters
    ----------
    live
        Whether it is a terminal.

    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._shown: list[str] = []

    def draw(self, lines: Iterable[str]) -> None:
        """Draw lines in place of those before, as many as the terminal shows."""
        before = self._shown
        self._clear()
        shown = [one_line(line) for line in lines]
        if self.live:
            size = shutil.get_terminal_size()
            shown = [line[: size.columns - 1] for line in shown[: size.lines - 1]]
        for line in shown:
            if self.live or line not in before:
                print(line, flush=True)
        self._shown = shown

    def _clear(self) -> None:
        if self.live and self._shown:
            steer(sys.stdout, f'\x1b[{len(self._shown)}F\x1b[J')
            self._shown = []
