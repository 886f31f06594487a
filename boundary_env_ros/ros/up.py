# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``boundary-env up``: the nodes of a boundary, started, watched and stopped from one terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import os
from pathlib import Path
import shlex
import time

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.silence import declaring_time
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.ros.domain import own_domain
from boundary_env_ros.ros.enclaves import enabled, require_security
from boundary_env_ros.ros.key_file import key_file
from boundary_env_ros.ros.processes import (
    boundary_nodes,
    interrupts,
    next_commands,
    NodeProcess,
    recorded,
    require_side,
)
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.run_folder import new_run
from boundary_env_ros.storage.task_check import fitting_task
from boundary_env_ros.terminal import one_line

#: Between two polls of nodes and logs, s.
_POLL = 0.1
#: For all nodes to become active, s: importing a simulator on a busy machine takes long.
_PATIENCE = 60.0


def up(
    *,
    contract: str,
    pacing: str | None,
    simulated: bool,
    no_record: bool,
    run: Path | None,
    services: bool,
    websocket: str,
    origins: tuple[str, ...],
    probe: bool,
    command_domain: int | None,
    one_process: bool,
    on: str | None,
    secure: bool,
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
    websocket, origins
        Address at which it is served over WebSocket, too, and whose web pages may call it there.
    probe
        Whether the gate measures the timeouts of the drivers first: the robot moves.
    command_domain
        ROS domain of the command topics, for gate and simulated robot; None: that of all nodes.
    one_process
        Whether recorder, simulated robot, gates and environment share a process.
    on
        Of two machines the one that this is, ``robot`` or ``policy``; None: there is one.
    secure
        Whether nothing starts unless the security of ROS 2 is enforced.
    namespace, domain_id
        Where the nodes are; None: the domain of ``ROS_DOMAIN_ID``, or 0.

    Returns
    -------
    int
        0: stopped by Ctrl-C, SIGTERM or SIGHUP. 1: a node ended by itself.

    """
    if secure:
        require_security()
    loaded = load(contract, pacing)
    fitting_task(loaded.contract)
    of_other: dict[str, dict[str, object]] = {
        'robot': {'--services': services, '--websocket': websocket, '--origin': origins},
        'policy': {
            '--simulated': simulated,
            '--run': run,
            '--no-record': no_record,
            '--probe': probe,
            '--command-domain': command_domain is not None,
        },
    }
    requested = [name for name, value in of_other.get(on or '', {}).items() if value]
    if loaded.contract.recorder_required and no_record and on != 'policy':
        raise BoundaryError(
            'No episode would begin (the contract requires a recorder, got --no-record). '
            'Leave --no-record out, or set recorder.required to false.'
        )
    if one_process and on:
        raise BoundaryError(
            'Nodes on two machines cannot share a process (got --one-process and --on). Leave one '
            'of them out.'
        )
    if one_process and not (simulated and loaded.contract.is_lockstep):
        got = loaded.contract.pacing.name.lower() if simulated else 'no --simulated'
        raise BoundaryError(
            f'The nodes cannot share a process (expected --simulated and lockstep, got {got}): a '
            'gate that protects in realtime, or a real robot, waits for no other node. Leave '
            '--one-process out, or add --simulated --pacing lockstep.'
        )
    if one_process and enabled():
        raise BoundaryError(
            'Secured nodes cannot share a process (expected an enclave for each, got '
            '--one-process). Leave --one-process out.'
        )
    domain = own_domain() if domain_id is None else domain_id
    require_side(on or '', loaded.contract, domain, requested)
    place = None if no_record or on == 'policy' else new_run(run, loaded.contract.name)
    file = str(Path(contract).resolve()) if Path(contract).is_file() else contract
    specs = boundary_nodes(
        loaded.contract,
        {'contract': file, 'pacing': pacing or '', 'secure': secure},
        run=place,
        robot='simulated_robot' if simulated else '',
        services=services,
        websocket=websocket,
        origins=' '.join(origins),
        probe=probe,
        command_domain=command_domain,
        on=on or '',
    )
    print(f'Starting {", ".join(spec.place for spec in specs)} on ROS domain {domain}', flush=True)
    if place is not None:
        logs = os.path.relpath(place / 'logs')
        print(f'What the nodes log is shown here, and all of it left in {logs}.', flush=True)
    code = 0
    with interrupts() as raise_if_interrupted:
        try:
            with recorded(
                specs,
                place,
                domain_id=domain,
                namespace=namespace,
                timeout=_PATIENCE,
                isolated=False,
                one_process=one_process,
                raise_if_interrupted=raise_if_interrupted,
            ) as processes:
                then = _next_step(loaded.contract, contract, namespace, domain, on)
                code = _watch(processes, loaded.contract, then, raise_if_interrupted)
        except KeyboardInterrupt:
            far = "The nodes are stopped; the gate on the robot's machine stops the robot."
            near = 'The robot is stopped, and so are the nodes.'
            print(f'\n{far if on == "policy" else near}', flush=True)
    if place is not None and place.exists():
        print(f'Record: {os.path.relpath(place)}')
        print(next_commands(place))
    return code


def _next_step(
    contract: Contract, source: str, namespace: str, domain: int, on: str | None
) -> str:
    """Return what to do once the nodes are active, in words."""
    end = 'Ctrl-C stops the robot and the nodes.'
    if on == 'robot':
        key = key_file(domain)
        return (
            'All nodes are active. Start the others on the other machine, by `up --on policy`, '
            f'once it has a copy of the key {key}.\n{end}'
        )
    pacing = contract.pacing.name.lower()
    options = {'domain_id': domain, **({'namespace': namespace} if namespace else {})}
    where = ' '.join(f'--world-option {key}={value}' for key, value in options.items())
    same = ', '.join(f'{key}={value!r}' for key, value in {'pacing': pacing, **options}.items())
    return (
        'All nodes are active. Step them from another terminal:\n'
        f'  boundary-env run --policy no-op --contract {shlex.quote(source)} --pacing {pacing} '
        f"{where}\nor in Python: BoundaryEnv({source!r}, world='ros', {same})\n{end}"
    )


def _watch(
    processes: Mapping[str, NodeProcess],
    contract: Contract,
    then: str,
    raise_if_interrupted: Callable[[], None],
) -> int:
    """Print what to do next and what the nodes log until one ends; return the exit code."""
    logs = [_Log(log) for log in dict.fromkeys(each.log for each in processes.values())]
    for log in logs:
        log.print_new()
    print(then, flush=True)
    lost: set[str] = set()
    end, patience = float('inf'), declaring_time(contract)
    try:
        while time.monotonic() < end:
            time.sleep(_POLL)
            raise_if_interrupted()
            exited = {n: each for n, each in processes.items() if not (each.alive or n in lost)}
            for log in logs:
                log.print_new()
            lost.update(exited)
            for name, process in exited.items():
                print(f'The node {name} ended (exit code {process.exit_code}).', flush=True)
            if len(lost) == len(processes):
                break
            if exited:
                end = min(end, time.monotonic() + patience)
                print(f'The others declare what they lost, and end in {patience:g} s.', flush=True)
    except KeyboardInterrupt:
        # Before anything else: it ends an episode that runs, so that the caller of step learns at
        # once, and why.
        if 'environment' in processes:
            processes['environment'].stop()
        for log in logs:
            log.print_new()
        if not lost:
            raise
    return 1


class _Log:
    """What a node logs, a bit at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def print_new(self) -> None:
        """Print the whole lines that are new."""
        with self._path.open('rb') as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b'\n') + 1]
        self._read += len(whole)
        for line in whole.decode(errors='replace').splitlines():
            print(one_line(line), flush=True)
