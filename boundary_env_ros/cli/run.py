# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``boundary-env run``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack, suppress
import dataclasses
import os
from pathlib import Path
import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING

from boundary_env_ros.cli.command import (
    Command,
    complain,
    count,
    DONE,
    FOUND,
    look_here,
    name_value,
    print_json,
)
from boundary_env_ros.cli.progress import Progress
from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.errors import BoundaryError, MissingDependency

if TYPE_CHECKING:
    from boundary_env_ros.facade.link import Link
    from boundary_env_ros.facade.run_plan import Plan
    from boundary_env_ros.facade.run_result import EpisodeResult
    from boundary_env_ros.facade.runner import Runner
    from boundary_env_ros.storage.contract_file import LoadedContract
    from boundary_env_ros.storage.run_text import RunText

#: What a shell says of a process that a signal ended: 128 and its number.
_SIGNALLED = 128


def _arguments(parser: argparse.ArgumentParser) -> None:
    policy = parser.add_argument_group('the policy')
    policy.add_argument(
        '--policy',
        required=True,
        metavar='POLICY',
        help='no-op, random, scripted, replay:RUN, sb3:ZIP, onnx:FILE, lerobot:FOLDER, '
        'module:factory or file.py:factory',
    )
    policy.add_argument(
        '--policy-option',
        action='append',
        default=[],
        type=name_value,
        metavar='NAME=VALUE',
        help='passed to the factory; the value is read as YAML; may be given several times',
    )
    policy.add_argument(
        '--warm-up',
        type=count,
        default=1,
        metavar='N',
        help='inferences on made-up observations before the first episode (default: %(default)s)',
    )
    world = parser.add_argument_group('the world')
    world.add_argument(
        '--contract',
        default='warehouse_cart',
        metavar='CONTRACT',
        help='file of a contract, or name of a shipped one (default: %(default)s)',
    )
    world.add_argument(
        '--link',
        default='ros',
        metavar='LINK',
        help='how to reach the world: ros, embedded (a simulated robot in this process, in '
        'lockstep), replay (a recorded run, named with --link-option run=RUN) or another '
        'installed link (default: %(default)s)',
    )
    world.add_argument(
        '--link-option',
        action='append',
        default=[],
        type=name_value,
        metavar='NAME=VALUE',
        help='passed to the link, for example namespace=cart or domain_id=7',
    )
    world.add_argument(
        '--pacing',
        choices=[pacing.name.lower() for pacing in Pacing],
        help='instead of what the contract says; the nodes must be started with the same',
    )
    world.add_argument(
        '--client',
        metavar='NAME',
        help='name in the record (default: the policy, and over ROS this process)',
    )
    episodes = parser.add_argument_group('the episodes')
    episodes.add_argument(
        '--episodes', type=count, default=1, metavar='N', help='how many (default: %(default)s)'
    )
    episodes.add_argument(
        '--seed',
        type=count,
        default=1,
        metavar='N',
        help='of the first, for world and policy; the others follow (default: %(default)s)',
    )
    episodes.add_argument(
        '--option',
        action='append',
        default=[],
        type=name_value,
        metavar='NAME=VALUE',
        help='option of the task, for example scenario=clear; may be given several times',
    )
    chunks = parser.add_argument_group('chunks of actions')
    chunks.add_argument(
        '--execute',
        type=count,
        metavar='M',
        help='most actions of a chunk to execute before the policy is asked again (default: as '
        'many as the contract lets one request cover)',
    )
    chunks.add_argument(
        '--ensemble',
        type=float,
        metavar='DECAY',
        help='ask at every step, and execute the mean of all predictions for it, the oldest with '
        'weight 1, the next exp(-DECAY), and so on (temporal ensembling of ACT; its authors used '
        '0.01)',
    )
    chunks.add_argument(
        '--async',
        action='store_true',
        dest='asynchronous',
        help='infer the next chunk in a thread while this one is executed',
    )
    chunks.add_argument(
        '--lead',
        type=count,
        default=0,
        metavar='STEPS',
        help='how long before the end of a chunk the next one is asked for (default: as long as '
        'the last inferences took; in lockstep 1)',
    )
    chunks.add_argument(
        '--late',
        choices=('splice', 'drop'),
        default='splice',
        help='what becomes of a chunk that is not ready in time: splice leaves out its actions '
        'for the steps that passed, drop throws it away and asks anew (default: %(default)s)',
    )
    time = parser.add_argument_group('time')
    time.add_argument(
        '--inference-deadline',
        type=_seconds,
        metavar='SECONDS',
        help='an inference that takes longer is counted as late; the gate holds or stops the '
        'robot by its own times',
    )
    time.add_argument(
        '--over-deadline',
        choices=('continue', 'end'),
        default='continue',
        help='whether the episode goes on after a late inference (default: %(default)s)',
    )
    time.add_argument(
        '--patience',
        type=_seconds,
        default=60.0,
        metavar='SECONDS',
        help='give up on a policy that does not answer for so long (default: %(default)s)',
    )
    output = parser.add_argument_group('what is left')
    output.add_argument(
        '--record',
        type=Path,
        metavar='FOLDER',
        help='leave the record of an embedded world there, for audit and summary; must not exist '
        '(over ROS the recorder node does)',
    )
    output.add_argument('--json', action='store_true', help='print the result as JSON')


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float('inf'):
        raise argparse.ArgumentTypeError(f'expected seconds, more than 0, got {text!r}')
    return seconds


def _run(options: argparse.Namespace) -> int:
    from boundary_env_ros.facade.link import load_for
    from boundary_env_ros.facade.policies import make_policy
    from boundary_env_ros.facade.runner import Runner

    plan = _plan(options)
    loaded = load_for(options.contract, pacing=options.pacing, link=options.link)
    plan.check(loaded.contract)
    _try_options(options, loaded)
    look_here()
    policy = make_policy(options.policy, loaded, dict(options.policy_option))
    results: list[EpisodeResult] = []
    stop = threading.Event()
    progress = Progress()

    def told(result: EpisodeResult) -> None:
        progress(
            f'episode {len(results) + 1}/{options.episodes}  seed {result.seed}  step '
            f'{result.steps}/{loaded.contract.max_steps}  return {result.total:+.2f}  '
            f'late inferences {result.late_inferences}  late chunks {result.chunks_late}'
        )

    failure = ''

    def close(what: Runner | Link | RunText) -> None:
        # What was done is reported all the same.
        nonlocal failure
        try:
            what.close()
        except BoundaryError as error:
            failure = failure or str(error)

    with ExitStack() as closing:
        link = _link(options, loaded, lambda opened: closing.callback(close, opened))
        runner = Runner(loaded.contract, link, policy, plan, told=told, stop=stop)
        closing.callback(close, runner)
        with _signals(stop, runner) as caught:
            try:
                for result in _episodes(runner, options, stop):
                    results.append(result)
                    progress.done()
                    if not options.json:
                        print(_of(result), flush=True)
            except BoundaryError as error:
                failure = str(error)
            except KeyboardInterrupt:
                caught.append(signal.SIGINT)  # behind the one that was heard, if one was
        progress.done()
    _report(options, loaded, plan, results, failure)
    if failure:
        complain(failure)
        return FOUND
    return _SIGNALLED + caught[0] if caught else DONE


def _try_options(options: argparse.Namespace, loaded: LoadedContract) -> None:
    """Let the task refuse what `--option` says before anything is run."""
    import numpy as np

    from boundary_env_ros.core.environment.task import sample
    from boundary_env_ros.storage.contract_file import make_task

    # A replay takes options of its own; a task that is not installed here is at the environment.
    if options.option and options.link != 'replay':
        with suppress(MissingDependency):
            task = make_task(loaded.contract)
            rng = np.random.default_rng(options.seed)
            sample(task, loaded.contract, rng, dict(options.option))


def _plan(options: argparse.Namespace) -> Plan:
    from boundary_env_ros.facade.run_plan import Late, Plan

    return Plan(
        execute=options.execute,
        ensemble=options.ensemble,
        asynchronous=options.asynchronous,
        lead=options.lead,
        late=Late(options.late),
        deadline=options.inference_deadline,
        give_up=options.over_deadline == 'end',
        warm_up=options.warm_up,
        patience=options.patience,
    )


def _link(
    options: argparse.Namespace,
    loaded: LoadedContract,
    opened: Callable[[Link | RunText], object],
) -> Link:
    from boundary_env_ros.facade.link import make_link
    from boundary_env_ros.storage.run_folder import RunFolder
    from boundary_env_ros.storage.run_text import RunText

    arguments = dict(options.link_option)
    name = options.client or options.policy.partition(':')[0]
    if options.link == 'ros' and not options.client:
        name = f'{name}-{os.getpid()}'
    arguments.setdefault('client', name)
    if options.record is not None:
        if options.link != 'embedded':
            raise BoundaryError(
                f'--record needs the embedded link (got {options.link}). Over ROS '
                'the recorder node leaves the record, with the bag.'
            )
        writer = RunText(RunFolder.create(options.record), loaded)
        opened(writer)
        arguments['sink'] = writer
    link = make_link(options.link, loaded, **arguments)
    opened(link)
    return link


def _episodes(
    runner: Runner, options: argparse.Namespace, stop: threading.Event
) -> Iterator[EpisodeResult]:
    runner.warm_up()
    for number in range(options.episodes):
        if stop.is_set():
            return
        yield runner.episode(options.seed + number, dict(options.option))


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


def _of(result: EpisodeResult) -> str:
    from boundary_env_ros.cli.run_report import line_of

    return line_of(result)


def _report(
    options: argparse.Namespace,
    loaded: LoadedContract,
    plan: Plan,
    results: Sequence[EpisodeResult],
    failure: str,
) -> None:
    from boundary_env_ros.cli.run_report import as_json, figures, table

    if not options.json:
        print(f'\n{table(results)}')
        if options.record is not None:
            print(f'\nRecord: {options.record}')
        return
    contract = loaded.contract
    print_json(
        {
            'policy': options.policy,
            'contract': f'{contract.name} {contract.version}',
            'digest': loaded.digest,
            'pacing': contract.pacing.name.lower(),
            'link': options.link,
            'plan': dataclasses.asdict(plan) | {'late': plan.late.value},
            'failure': failure,
            'summary': figures(results),
            'episodes': as_json(results),
        }
    )


COMMAND = Command(
    name='run',
    summary='run a policy through the boundary, episode by episode',
    text="""\
Run a policy through the boundary, episode by episode, and say what became of it.

A policy is anything that can be called with an observation and returns an action, or a chunk of
them. no-op, random and scripted are there for comparison; replay asks for the actions of a
recorded run once more; sb3, onnx and lerobot read what others trained; module:factory calls a
function or class of yours with the contract and the options, and takes what it returns.

Before the first episode the policy is warmed up on made-up observations. Ctrl-C (or SIGTERM) ends
the episode after its step, in order, and prints the table of what was done; once more ends it at
once.

  boundary-env run --policy scripted --link embedded --episodes 10 --option scenario=clear
  boundary-env run --policy my_policy:make --policy-option file=best.pt --inference-deadline 0.05
  boundary-env run --policy lerobot:outputs/act --contract arm.yaml --async --execute 8""",
    exit_codes="""\
  0  all episodes were run; how they ended stands in the table
  1  the run was broken off: the policy failed, or the world did not answer
  2  wrong arguments, or something missing; nothing was run
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM)""",
    arguments=_arguments,
    run=_run,
)
