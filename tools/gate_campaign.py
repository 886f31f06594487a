# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A campaign: very many requests over very many gates, every decision checked.

    make campaign                                        a million actions
    make campaign ARGS='--commands 100000000 --seed 7'   a night of them

Each run has a gate of its own and a number; with contract and seed it is the same again. What is
found ends the campaign and is printed with the arguments that bring it back.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
import itertools
import multiprocessing
import os
import sys
import time

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.parts import Pacing
from support.campaign_sequence import Violation
from support.campaign_traffic import Kind, Run
from support.core_world import rich, shipped

#: Actions that are sent between two words to whoever waits.
SHARE = 10_000

#: The gate's own timer runs now and then, ROS time jumps: neither is to stop every robot here.
_PATIENT: dict[tuple[str | int, ...], object] = {
    ('safety', 'gate_lateness'): 1e6,
    ('safety', 'clock_jump'): 1e6,
}

#: The contracts of a campaign.
CONTRACTS: Mapping[str, Callable[[], Contract]] = {
    'cart': lambda: shipped(_PATIENT),
    'watchful': shipped,
    'curved': lambda: shipped(
        {
            **_PATIENT,
            ('action', 'base', 'scale_together'): ['linear.x', 'angular.z'],
            ('action', 'base', 'max_tracking_error'): [0.4, 1.5],
            ('safety', 'obstacles', 'scan', 'time_to_collision'): 1.5,
        }
    ),
    'smooth': lambda: shipped(
        {
            **_PATIENT,
            ('safety', 'republish_period'): 0.06,
            ('action', 'base', 'max_jerk'): [2.0, 8.0],
            ('safety', 'obstacles', 'scan', 'slow_distance'): 2.0,
        }
    ),
    'strict': lambda: shipped(
        {
            **_PATIENT,
            ('action', 'base', 'out_of_bounds'): 'reject',
            ('action', 'base', 'low'): [0.0, -1.5],
        }
    ),
    'chunks': lambda: shipped({**_PATIENT, ('chunk',): {'horizon': 4}}),
    'lockstep': lambda: shipped(_PATIENT, pacing=Pacing.LOCKSTEP),
    'lockstep_chunks': lambda: shipped(
        {**_PATIENT, ('chunk',): {'horizon': 4}}, pacing=Pacing.LOCKSTEP
    ),
    # Between its episodes nothing moves the robot, and its commands stay in force.
    'waiting': lambda: rich(
        {
            **_PATIENT,
            ('episode', 'reset'): {
                'procedure': [{'wait': 'pose', 'target': [0, 0, 0], 'tolerance': [9, 9, 9]}]
            },
        }
    ),
    'every_kind': lambda: rich({**_PATIENT, ('action', 'arm', 'duration'): 0.04}),
}


@dataclass(slots=True)
class Tally:
    """
    What a campaign has seen.

    Attributes
    ----------
    actions
        How many were sent; a request may hold several.
    requests
        How many of each kind were sent.
    decisions
        How many of each verdict there were.
    reasons
        How often each reason was given.
    commands
        How many commands were published.

    """

    actions: int = 0
    requests: Counter[Kind] = field(default_factory=Counter)
    decisions: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[Reason] = field(default_factory=Counter)
    commands: int = 0

    def add(self, other: Tally) -> None:
        """Add what another part has seen."""
        self.actions += other.actions
        self.requests.update(other.requests)
        self.decisions.update(other.decisions)
        self.reasons.update(other.reasons)
        self.commands += other.commands


@cache
def contract_of(name: str) -> Contract:
    """Return a contract of the campaign."""
    return CONTRACTS[name]()


def campaign(name: str, seed: int, first: int, actions: int) -> Tally:
    """
    Make runs under one contract.

    Parameters
    ----------
    name
        Of the contract.
    seed, first
        Of all that is drawn, and the number of the first run.
    actions
        How many to send at least, in whole runs.

    Raises
    ------
    Violation
        If a gate broke something; it says how to see that again.

    """
    tally = Tally()
    for number in itertools.count(first):
        if tally.actions >= actions:
            break
        run = Run(contract_of(name), seed, number)
        try:
            run.go()
        except Exception as error:
            raise Violation(
                f'{type(error).__name__}: {error}. Again: make campaign '
                f"ARGS='--contract {name} --seed {seed} --run {number}'"
            ) from error
        tally.actions += run.actions
        tally.requests.update(run.sent)
        for key, count in run.oracle.tally.items():
            seen = tally.decisions if isinstance(key, Verdict) else tally.reasons
            seen[key] += count  # type: ignore[index]
        tally.commands += len(run.oracle.sent.command)
    return tally


def _share(seed: int, share: tuple[str, int, int]) -> Tally:
    name, first, actions = share
    return campaign(name, seed, first, actions)


def _shares(names: list[str], actions: int) -> Iterator[tuple[str, int, int]]:
    """Yield what is done at a time: contracts in turn, number of the first run, actions."""
    for i in range(-(-actions // SHARE)):
        # No two shares of a contract have a run in common.
        yield names[i % len(names)], i * SHARE, min(SHARE, actions - i * SHARE)


def _print(tally: Tally) -> None:
    print(f'actions: {tally.actions}')
    for title, counts in (
        ('requests', tally.requests),
        ('decisions', tally.decisions),
        ('reasons', tally.reasons),
    ):
        print(f'{title}: {sum(counts.values())}')
        for key, count in sorted(counts.items()):
            print(f'  {key.name.lower():24} {count:>12}')
    print(f'commands published: {tally.commands}')
    print('outside the contract: 0, limits broken: 0, changes unexplained: 0')


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; return 1 if something was broken."""
    parser = argparse.ArgumentParser(prog='make campaign', description='Flood very many gates.')
    parser.add_argument('--commands', type=int, default=1_000_000, help='actions to send')
    parser.add_argument('--seed', type=int, default=1, help='of all that is drawn')
    parser.add_argument('--contract', choices=CONTRACTS, help='only under this one')
    parser.add_argument('--run', type=int, help='only the run of this number')
    parser.add_argument('--workers', type=int, default=os.cpu_count(), help='processes')
    options = parser.parse_args(arguments)
    names = [options.contract] if options.contract else list(CONTRACTS)
    shares = list(_shares(names, options.commands))
    if options.run is not None:
        shares = [(name, options.run, 1) for name in names]
    total, began, told = Tally(), time.monotonic(), 0.0
    with multiprocessing.get_context('spawn').Pool(options.workers) as pool:
        try:
            for part in pool.imap_unordered(partial(_share, options.seed), shares):
                total.add(part)
                passed = time.monotonic() - began
                if passed - told > 5.0:
                    told = passed
                    print(
                        f'{total.actions:>12} actions in {passed:.0f} s',
                        file=sys.stderr,
                        flush=True,
                    )
        except Violation as violation:
            print(violation, file=sys.stderr)
            return 1
    _print(total)
    return 0


if __name__ == '__main__':
    sys.exit(main())
