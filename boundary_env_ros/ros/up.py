# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env up``: the nodes of a boundary, started, watched and stopped from one terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import os
from pathlib import Path
import shutil
import signal
import sys
import time
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.core.gate.decision import GateState, GateStatus
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.ros.processes import (
    boundary_nodes,
    new_run,
    next_commands,
    NodeProcess,
    one_interrupt,
    recorded,
)
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.task_check import fitting_task
from boundary_env_ros.terminal import one_line, steer

#: Between two looks at nodes and logs, s.
_LOOK = 0.2
#: For all nodes to become active, s: importing a simulator on a busy machine takes long.
_PATIENCE = 60.0
#: For the environment to end an episode, s.
_ENDING = 5.0
#: What a node logs that concerns whoever sits at the terminal.
_GRAVE = ('[WARN]', '[ERROR]', '[FATAL]')


def up(
    *,
    contract: str,
    pacing: str,
    simulated: bool,
    record: bool,
    run: Path | None,
    services: bool,
    namespace: str,
    domain_id: int | None,
) -> int:
    """
    Run the nodes of a boundary until Ctrl-C, and return the exit code.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    pacing
        ``realtime`` or ``lockstep``; empty: as in the contract.
    simulated
        Whether the simulated robot of that name is started, too.
    record, run
        Whether there is a recorder, and its folder; None: ``runs/CONTRACT-DATE-TIME``.
    services
        Whether the conversation is served to any ROS client.
    namespace, domain_id
        Where the nodes are; None: the domain of ``ROS_DOMAIN_ID``, or 0.

    Returns
    -------
    int
        0: stopped by Ctrl-C, SIGTERM or SIGHUP. 1: a node ended by itself.

    """
    loaded = load(contract, Pacing[pacing.upper()] if pacing else None)
    fitting_task(loaded.contract)
    if loaded.contract.recorder_required and not record:
        raise BoundaryError(
            'No episode would begin (the contract requires a recorder, got --no-record). '
            'Leave --no-record out, or set recorder.required to false.'
        )
    place = new_run(run, loaded.contract.name) if record else None
    domain = int(os.environ.get('ROS_DOMAIN_ID') or 0) if domain_id is None else domain_id
    file = str(Path(contract).resolve()) if Path(contract).is_file() else contract
    specs = boundary_nodes(
        loaded.contract,
        {'contract': file, 'pacing': pacing},
        run=place,
        simulated=simulated,
        services=services,
    )
    print(f'Starting {", ".join(spec.place for spec in specs)} on ROS domain {domain}', flush=True)
    code = 0
    with one_interrupt():
        try:
            with recorded(
                specs,
                place,
                domain_id=domain,
                namespace=namespace,
                timeout=_PATIENCE,
                isolated=False,
            ) as processes:
                code = _watch(processes, loaded.contract, contract, namespace, domain)
        except KeyboardInterrupt:
            print('\nThe robot is stopped, and so are the nodes.', flush=True)
    if place is not None and place.exists():
        print(f'Record: {os.path.relpath(place)}')
        print(next_commands(place))
    return code


def _watch(
    processes: Mapping[str, NodeProcess],
    contract: Contract,
    source: str,
    namespace: str,
    domain: int,
) -> int:
    """Show the state of the nodes until one of them ends; return the exit code."""
    given = ', '.join(
        part
        for part in (
            repr(source),
            "world='ros'",
            f'domain_id={domain}',
            f'namespace={namespace!r}' if namespace else '',
        )
        if part
    )
    print(f'All nodes are active. Step them from another terminal: BoundaryEnv({given})')
    print('Ctrl-C stops the robot and the nodes.', flush=True)
    show = _Live() if sys.stdout.isatty() else _Lines()
    with IsolatedNode('up', domain_id=domain, namespace=namespace, listens_only=True) as own:
        states = _States(own.node, contract)
        logs = {name: _Log(process) for name, process in processes.items()}
        lost: set[str] = set()
        end, patience = float('inf'), declaring_time(contract)

        def look() -> None:
            until = time.monotonic() + _LOOK
            while (left := until - time.monotonic()) > 0.0:
                own.executor.spin_once(timeout_sec=left)
            for name, log in logs.items():
                for line in log.grave():
                    show.say(f'{name}: {line}')
            show.states(states.lines())

        try:
            while time.monotonic() < end:
                look()
                for name, process in processes.items():
                    if process.alive or name in lost:
                        continue
                    lost.add(name)
                    end = min(end, time.monotonic() + patience)
                    show.say(
                        f'The node {name} ended (exit code {process.process.returncode}); the '
                        f'others declare what they lost, and end in {patience:g} s.\n'
                        f'{process.last_words()}'
                    )
        except KeyboardInterrupt:
            # Before anything else, so that whoever steps learns at once, and why.
            under_way = states.under_way
            if under_way:
                show.say(
                    '\nInterrupted: the episode is ended (operator_stop), and its client told.'
                )
                processes['environment'].send(signal.SIGINT)
            told_by = time.monotonic() + _ENDING
            while states.under_way & under_way and time.monotonic() < told_by:
                look()
            raise
    return 1


class _States:
    """What the nodes say of themselves, as lines."""

    def __init__(self, node: Any, contract: Contract) -> None:
        self._gates: dict[str, GateStatus] = {}
        self._episodes: dict[str, EpisodeStatus] = {}
        self._recorder: Any = None
        self._contract = contract
        incoming = Incoming(node)

        def subscribe(kind: Any, topic: str, qos: Any, take: Any) -> None:
            node.create_subscription(kind, topic, incoming.guarded(topic, take), qos)

        for agent in contract.agents:
            subscribe(
                msg.GateStatus,
                contract.topic_of(agent, names.GATE_STATUS),
                names.LATCHED,
                self._taker(self._gates, agent, GateStatus),
            )
            subscribe(
                msg.EpisodeStatus,
                contract.topic_of(agent, names.EPISODE_STATUS),
                names.LATCHED_MANY,
                self._taker(self._episodes, agent, EpisodeStatus),
            )
        subscribe(msg.RecorderStatus, names.RECORDER_STATUS, names.LATCHED, self._on_recorder)

    @staticmethod
    def _taker(kept: dict[str, Any], agent: str, kind: type) -> Any:
        def take(message: Any) -> None:
            kept[agent] = from_msg(kind, message)

        return take

    @property
    def under_way(self) -> frozenset[str]:
        """Return the episodes that are being reset, or run."""
        return frozenset(
            episode.id.episode_id
            for episode in self._episodes.values()
            if episode.state in (EpisodeState.RESETTING, EpisodeState.RUNNING)
        )

    def _on_recorder(self, message: Any) -> None:
        self._recorder = message

    def lines(self) -> tuple[tuple[str, str, str], ...]:
        """Return label, state, and what changes all the time, of each line."""
        found = []
        for agent in self._contract.agents:
            of = f' of {agent}' if len(self._contract.agents) > 1 else ''
            gate, episode = self._gates.get(agent), self._episodes.get(agent)
            found.append((f'gate{of}', '(not heard yet)' if gate is None else _of_gate(gate), ''))
            if episode is not None and episode.state is not EpisodeState.IDLE:
                step = f'step {episode.id.step}'
                found.append((f'episode{of}', _of_episode(episode), step))
        if self._recorder is not None:
            recorder = self._recorder
            lost = f', {recorder.lost} messages LOST' if recorder.lost else ''
            state = f'{"recording" if recorder.recording else "NOT RECORDING"}{lost}'
            found.append(('recorder', state, f'{recorder.transitions} transitions'))
        return tuple(found)


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


class _Log:
    """What a node logs that is grave, as it comes."""

    def __init__(self, process: NodeProcess) -> None:
        self._path, self._read = process.log, 0

    def grave(self) -> Sequence[str]:
        """Return the whole lines of that kind that are new."""
        if self._path is None or not self._path.exists():
            return ()
        with self._path.open('rb') as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b'\n') + 1]
        self._read += len(whole)
        lines = whole.decode(errors='replace').splitlines()
        return [one_line(line) for line in lines if line.startswith(_GRAVE)]


class _Lines:
    """Prints a line whenever a state has changed: for a file or a pipe."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Print a text."""
        print(text, flush=True)

    def states(self, lines: Sequence[tuple[str, str, str]]) -> None:
        """Print the states that are new."""
        for label, state, counted in lines:
            if self._shown.get(label) != state:
                self._shown[label] = state
                after = f'; {counted}' if counted else ''
                print(f'{label}: {one_line(state)}{after}', flush=True)


class _Live:
    """Keeps the last lines of a terminal up to date."""

    def __init__(self) -> None:
        self._drawn = 0

    def say(self, text: str) -> None:
        """Print a text above the states."""
        self._clear()
        print(text, flush=True)

    def states(self, lines: Sequence[tuple[str, str, str]]) -> None:
        """Draw the states in place of those before."""
        self._clear()
        width = shutil.get_terminal_size().columns - 1
        for label, state, counted in lines:
            text = f'{label:<10} {one_line(state)}{"; " if counted else ""}{counted}'
            print(text[:width])
        sys.stdout.flush()
        self._drawn = len(lines)

    def _clear(self) -> None:
        if self._drawn:
            steer(sys.stdout, f'\x1b[{self._drawn}F\x1b[J')
        self._drawn = 0
