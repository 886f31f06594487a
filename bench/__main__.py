# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run all benchmarks: ratios of the boundary against the bare thing, in one run on one machine."""

from __future__ import annotations

import sys

from bench import embedded_steps, gate_latency, step_path


def main() -> int:
    """Run every benchmark and print its figures."""
    gate_latency.main()
    embedded_steps.main()
    step_path.main()
    return 0


if __name__ == '__main__':
    sys.exit(main())
