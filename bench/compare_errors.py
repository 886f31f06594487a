# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How often ``compare`` errs: false alarms between equal sides, and planted differences it misses.

Run it by itself, ``python -m bench.compare_errors``: it takes minutes. Every pair is of runs with
seeds of their own; the cart is embedded.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
import sys

sys.path.append(str(Path(__file__).parents[1] / 'test'))

from boundary_env_ros.evidence.compare.compare import compare
from boundary_env_ros.evidence.compare.comparison import Comparison
from boundary_env_ros.evidence.compare.side import ComparedRun
from support.cart_runs import cart_contract, drive, real, side_of

#: What finds each difference that the variant of the cart can have.
PLANTED: Mapping[str, str] = {
    'actuator_delay': 'response.delay',
    'payload': 'response.delay',
    'scan_noise': 'observations.scan.noise',
    'wheel_friction': 'response.gain',
}


def main() -> int:
    """Print what was found in how many pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--pairs', type=int, default=40, help='of equal sides')
    parser.add_argument('--planted', type=int, default=10, help='pairs with each difference')
    parser.add_argument('--episodes', type=int, default=8, help='of each side')
    options = parser.parse_args()
    contract = cart_contract()
    seed = 1

    def side(*planted: str) -> ComparedRun:
        nonlocal seed
        first, seed = seed, seed + options.episodes
        run = drive(contract, range(first, seed), options=real(*planted))
        return side_of(run, contract.contract, '+'.join(planted) or 'thought')

    def held(a: ComparedRun, b: ComparedRun) -> Comparison:
        return compare(a, b, agent='cart')

    thought = [side() for _ in range(2 * options.pairs)]
    alarms: Counter[str] = Counter()
    alarmed = tests = 0
    for a, b in zip(thought[::2], thought[1::2], strict=True):
        comparison = held(a, b)
        tests += len(comparison.findings)
        alarmed += bool(comparison.differences)
        alarms.update(finding.name for finding in comparison.differences)
    print(
        f'equal sides: {alarmed} of {options.pairs} pairs with a false alarm '
        f'({tests} tests), {dict(alarms)}',
        flush=True,
    )
    for name, wanted in PLANTED.items():
        found = sum(
            any(f.name == wanted for f in held(thought[number], side(name)).differences)
            for number in range(options.planted)
        )
        print(f'{name}: {wanted} in {found} of {options.planted} pairs', flush=True)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
