# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate did, in words for a log: which rule, which dimension, by how much."""

from __future__ import annotations

from collections.abc import Sequence

from boundary_env_ros.core.decision import REASON_TEXT, RuleResult


def sentence(result: RuleResult, dimensions: Sequence[str]) -> str:
    """
    Return one sentence on what a rule did.

    Parameters
    ----------
    result
        What it did.
    dimensions
        Name of each dimension of the command.

    """
    words = f'{result.outcome.name} by {result.rule}: {REASON_TEXT[result.reason]}'
    if 0 <= result.dimension < len(dimensions):
        words += f'; {dimensions[result.dimension]}'
        if result.before is not None and result.after is not None:
            words += f' from {result.before:.6g} to {result.after:.6g}'
    numbers = ''
    if result.value is not None:
        numbers = f'{result.value:.6g}'
        if result.limit is not None:
            numbers += f', limit {result.limit:.6g}'
        numbers += f' {result.unit}'.rstrip()
    return f'{words} ({numbers})' if numbers else words
