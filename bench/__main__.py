# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Run all benchmarks, in a few minutes: the boundary against the bare thing, in one run.

    make bench                          a table
    make bench ARGS='--json FILE'       and every value, for a program
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys

from bench import cameras, embedded_steps, gate_core, gate_latency, step_path
from bench.table import as_json, Figure, show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog='make bench', description='Measure.')
    parser.add_argument('--json', type=Path, help='file for every value')
    parser.add_argument(
        '--rates', default='10,50,100,200', help='steps a second over ROS, realtime'
    )
    options = parser.parse_args(arguments)
    rates = [float(rate) for rate in filter(None, options.rates.split(','))]
    figures: list[Figure] = []
    for part in (
        gate_core.measure,
        embedded_steps.measure,
        gate_latency.measure,
        lambda: step_path.figures(rates, seconds=20.0, steps=300),
        lambda: cameras.figures(seconds=15.0),
    ):
        figures += part()
        print('.', end='', file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(show(figures))
    if options.json is not None:
        options.json.write_text(as_json(figures), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
