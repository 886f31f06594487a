# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env run``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack, suppress
import dataclasses
import os
from pathlib import Path
import signal
import sys
import threading
from types import FrameType, SimpleNamespace
from typing import Any, TYPE_CHECKING

import click

from boundary_env_ros.cli.command import (
    Command,
    complain,
    contract_option,
    COUNT,
    DONE,
    FOUND,
    import_from_here,
    json_option,
    option,
    pacing_option,
    print_json,
    Progress,
    run_option,
    settings_option,
)
from boundary_env_ros.core.records.endings import LOST
from boundary_env_ros.core.records.transition import INSTRUCTION
from boundary_env_ros.errors import BoundaryError, MissingDependency, PeerLost, PolicyLost

if TYPE_CHECKING:
    from boundary_env_ros.facade.runner import EpisodeResult, Runner
    from boundary_env_ros.facade.world import World
    from boundary_env_ros.storage.contract_file import LoadedContract

#: What a shell says of a process that a signal ended: 128 and its number.
_SIGNALLED = 128


@click.command(cls=Command)
@option(
    '--policy',
    required=True,
    metavar='POLICY',
    help='no-op, random, scripted, replay:RUN, sb3:ZIP, lerobot:FOLDER, openpi:HOST:PORT, '
    'lerobot-async:HOST:PORT, gr00t:HOST:PORT, module:factory or file.py:factory',
)
@settings_option('--policy-option', 'passed to the factory of the policy')
@contract_option('the contract', default='warehouse_cart')
@option(
    '--world',
    default='ros',
    metavar='WORLD',
    help='where to run it: ros (the nodes of `boundary-env up`), embedded (a simulated robot in '
    'this process), replay (a record: --world-option run=RUN), or another installed world',
)
@settings_option(
    '--world-option', 'passed to the world, for example namespace=cart or domain_id=7'
)
@pacing_option
@option('--client', metavar='NAME', help='name in the record (default: the policy)')
@run_option
@json_option
@option('--episodes', type=COUNT, default=1, metavar='N', help='number of episodes')
@option(
    '--give-up-after',
    type=COUNT,
    default=3,
    metavar='N',
    help='begin no other where N episodes in a row were lost (0: go on)',
)
@option(
    '--seed',
    type=COUNT,
    default=1,
    metavar='N',
    help='seed of the first episode; the next have the next numbers',
)
@settings_option('--option', 'option of the task, for example scenario=clear')
@option(
    '--instruction',
    metavar='TEXT',
    help='what the policy is to do, in words: it stands in the record and in data sets',
)
@option(
    '--warm-up',
    type=COUNT,
    default=1,
    metavar='N',
    help='inferences on made-up observations before the first episode',
)
@option(
    '--n-action-steps',
    type=COUNT,
    metavar='M',
    help='execute so many actions of a chunk before the next inference (default: as many as the '
    'contract lets one request cover)',
)
@option(
    '--async',
    'asynchronous',
    is_flag=True,
    help='infer the next chunk in a thread while this one is executed',
)
@option('--rerun', is_flag=True, help="show every step in Rerun's viewer (extra `rerun`)")
def run(**values: Any) -> int:
    """
    Run a policy, episode by episode, and report the results.

    A policy is called with an observation and returns an action, or a chunk of actions. no-op,
    random and scripted are baselines; replay sends the requests of a recorded run; sb3 and
    lerobot load trained policies; openpi, lerobot-async and gr00t ask a server; module:factory
    calls your function or class with the contract and the options.

    Ctrl-C (or SIGTERM) ends the episode after its step and prints the table; a second one ends it
    at once.

      boundary-env run --policy scripted --world embedded --episodes 10 --option scenario=clear
      boundary-env run --policy my_policy:make --policy-option file=best.pt --contract arm.yaml
      boundary-env run --policy lerobot:outputs/act --contract arm.yaml --async --n-action-steps 8

    Exit codes:
      0    all episodes were run; the table says how they ended
      1    the run was broken off: the policy failed, the world did not answer, or too many
           episodes in a row were lost
      2    wrong arguments, or something is missing; nothing was run
      130  interrupted (Ctrl-C)
      143  terminated (SIGTERM)
    """
    return _run(SimpleNamespace(**values))


def _run(options: SimpleNamespace) -> int:
    from boundary_env_ros.cli.run_report import as_json, line_of, table
    from boundary_env_ros.facade.policies import make_policy
    from boundary_env_ros.facade.runner import Plan, Runner
    from boundary_env_ros.facade.world import load_for

    plan = Plan(
        execute=options.n_action_steps,
        asynchronous=options.asynchronous,
        warm_up=options.warm_up,
    )
    loaded = load_for(options.contract, pacing=options.pacing, world=options.world)
    plan.check(loaded.contract)
    _try_options(options, loaded)
    import_from_here()
    results: list[EpisodeResult] = []
    viewer = None
    if options.rerun:
        from boundary_env_ros.storage.rerun_log import RerunLog

        viewer = RerunLog(loaded.contract)
    policy = make_policy(options.policy, loaded, dict(options.policy_option))
    stop = threading.Event()
    progress = Progress()

    def on_step(result: EpisodeResult) -> None:
        if not results or results[-1] is not result:
            results.append(result)
        if viewer is not None:
            viewer.add(result.transitions[-1], runner.images)
        progress(
            f'episode {len(results)}/{options.episodes}  seed {result.seed}  step '
            f'{result.steps}/{loaded.contract.max_steps}  return {result.total:+.2f}'
        )

    failure, episode_options = '', dict(options.option)
    if options.instruction:
        episode_options[INSTRUCTION] = options.instruction

    def close(what: Runner | World) -> None:
        # What was done is reported all the same.
        nonlocal failure
        try:
            what.close()
        except BoundaryError as error:
            failure = failure or str(error)

    with ExitStack() as closing:
        if viewer is not None:
            closing.callback(viewer.close)
        world = _world(options, loaded)
        closing.callback(close, world)
        runner = Runner(loaded.contract, world, policy, plan, on_step=on_step, stop=stop)
        closing.callback(close, runner)
        with _signals(stop, runner) as caught:
            try:
                runner.warm_up()
                lost = 0
                for seed in range(options.seed, options.seed + options.episodes):
                    if stop.is_set():
                        break
                    begun, why = len(results), ''
                    try:
                        result = runner.episode(seed, episode_options)
                        why = result.ending if result.ending in LOST else ''
                    except (PeerLost, PolicyLost) as error:
                        complain(why := str(error))
                    finally:  # what was done of one that is broken off is reported too
                        progress.done()
                        if results[begun:] and not options.as_json:
                            print(line_of(results[-1]), flush=True)
                    lost = lost + 1 if why else 0
                    if why and lost == options.give_up_after:
                        raise BoundaryError(
                            f'{lost} episodes in a row were lost, and no other is begun '
                            f'(--give-up-after {lost}).'
                        )
            except BoundaryError as error:
                failure = str(error)
            except KeyboardInterrupt:
                caught.append(signal.SIGINT)  # behind the one that came first, if one did
        progress.done()
    if options.as_json:
        print_json(
            {
                'policy': options.policy,
                'world': options.world,
                'plan': dataclasses.asdict(plan),
                'failure': failure,
                **as_json(loaded.contract, results),
            }
        )
    elif results or not failure:
        print(f'\n{table(loaded.contract, results)}')
    if failure:
        complain(failure)
        return FOUND
    return _SIGNALLED + caught[0] if caught else DONE


def _try_options(options: SimpleNamespace, loaded: LoadedContract) -> None:
    """Let the task refuse what `--option` says before anything is run."""
    import numpy as np

    from boundary_env_ros.core.environment.task import sample
    from boundary_env_ros.storage.contract_file import make_task

    # A replay takes options of its own; a task that is not installed here is at the environment.
    if options.option and options.world != 'replay':
        with suppress(MissingDependency):
            task = make_task(loaded.contract)
            rng = np.random.default_rng(options.seed)
            sample(task, loaded.contract, rng, dict(options.option))


def _world(options: SimpleNamespace, loaded: LoadedContract) -> World:
    from boundary_env_ros.facade.world import make_world
    from boundary_env_ros.storage.run_folder import new_run

    arguments = dict(options.world_option)
    name = options.client or options.policy.partition(':')[0]
    if options.world == 'ros' and not options.client:
        name = f'{name}-pid{os.getpid()}'
    arguments.setdefault('client', name)
    if options.run is not None and options.world != 'embedded':
        raise BoundaryError(
            f'--run needs the embedded world (got {options.world}). Over ROS '
            'the recorder leaves the record: boundary-env up --run.'
        )
    if options.world == 'embedded':
        folder = options.run or new_run(None, Path(name).stem)
        arguments.setdefault('record', folder)
    world = make_world(options.world, loaded, **arguments)
    if options.world == 'embedded':
        print(f'Record: {arguments["record"]}', file=sys.stderr)
    return world


@contextmanager
def _signals(stop: threading.Event, runner: Runner) -> Iterator[list[int]]:
    """
    Let the first SIGINT or SIGTERM end the run after its step, and the next one at once.

    Yields
    ------
    list of int
        The signals that came.

    """
    caught: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        stop.set()
        if len(caught) > 1 or runner.beginning:
            raise KeyboardInterrupt

    previous = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
