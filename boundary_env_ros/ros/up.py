# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env up``: the nodes of a boundary, started, watched and stopped from one terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import os
from pathlib import Path
import signal
import sys
import time

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.live_state import LiveState, View
from boundary_env_ros.ros.processes import (
    boundary_nodes,
    next_commands,
    NodeProcess,
    one_interrupt,
    recorded,
)
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import new_run
from boundary_env_ros.storage.task_check import fitting_task
from boundary_env_ros.terminal import one_line

#: Between two looks at nodes and logs, s.
_LOOK = 0.2
#: For all nodes to become active, s: importing a simulator on a busy machine takes long.
_PATIENCE = 60.0
#: For the environment to end an episode, s.
_ENDING = 5.0
#: What a node logs that concerns the person at the terminal.
_GRAVE = ('[WARN]', '[ERROR]', '[FATAL]')


def up(
    *,
    contract: str,
    pacing: str | None,
    simulated: bool,
    no_record: bool,
    run: Path | None,
    services: bool,
    probe: bool,
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
        ``realtime`` or ``lockstep``; None: as in the contract.
    simulated
        Whether the simulated robot of that name is started, too.
    no_record, run
        Whether there is no recorder, and its folder; None: ``runs/CONTRACT-DATE-TIME``.
    services
        Whether the conversation is served to any ROS client.
    probe
        Whether the gate measures the timeouts of the drivers first: the robot moves.
    namespace, domain_id
        Where the nodes are; None: the domain of ``ROS_DOMAIN_ID``, or 0.

    Returns
    -------
    int
        0: stopped by Ctrl-C, SIGTERM or SIGHUP. 1: a node ended by itself.

    """
    loaded = load(contract, Pacing[pacing.upper()] if pacing else None)
    fitting_task(loaded.contract)
    if loaded.contract.recorder_required and no_record:
        raise BoundaryError(
            'No episode would begin (the contract requires a recorder, got --no-record). '
            'Leave --no-record out, or set recorder.required to false.'
        )
    place = None if no_record else new_run(run, loaded.contract.name)
    domain = int(os.environ.get('ROS_DOMAIN_ID') or 0) if domain_id is None else domain_id
    file = str(Path(contract).resolve()) if Path(contract).is_file() else contract
    specs = boundary_nodes(
        loaded.contract,
        {'contract': file, 'pacing': pacing or ''},
        run=place,
        robot='simulated_robot' if simulated else '',
        services=services,
        probe=probe,
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
    place = f", namespace='{namespace}'" if namespace else ''
    print(
        'All nodes are active. Step them from another terminal: '
        f"BoundaryEnv({source!r}, world='ros', domain_id={domain}{place})"
    )
    print('Ctrl-C stops the robot and the nodes.', flush=True)
    show = View(live=sys.stdout.isatty())
    with IsolatedNode('up', domain_id=domain, namespace=namespace, listens_only=True) as own:
        states = LiveState(own.node, contract)
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
            show.draw(states.lines(counts=show.live))

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
            # Before anything else, so that the caller of step learns at once, and why.
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
