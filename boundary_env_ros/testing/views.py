# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps that a task may have to judge, drawn at random from what the contract allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.environment.task import StepView, Task
from boundary_env_ros.core.vectors import Vector


def draw_views(
    contract: Contract,
    task: Task,
    reset: Mapping[str, Vector],
    rng: np.random.Generator,
    count: int,
) -> Iterator[StepView]:
    """
    Yield steps of every agent in turn: states and commands within their bounds.

    Endings are rare among random states. So in half of the steps some fields show the same, as a
    robot at its goal does; in one of eight nothing has changed, in one of eight is no action.

    Parameters
    ----------
    contract, task
        The contract and its task.
    reset
        What the reset sampled.
    rng
        Generator of all that is drawn.
    count
        How many.

    """
    for index in range(count):
        agent = contract.agents[index % len(contract.agents)]
        supplied = task.observe(dict(reset), agent)
        before, after = (_state(contract, supplied, rng) for _ in range(2))
        yield StepView(
            agent=agent,
            before=before,
            after=before if rng.random() < 0.125 else after,
            commanded=() if rng.random() < 0.125 else _commanded(contract, rng),
            reset=dict(reset),
            step=int(rng.integers(1, contract.max_steps + 1)),
            period=contract.period,
        )


def _commanded(contract: Contract, rng: np.random.Generator) -> Vector:
    """Return a command as the gate may publish it."""
    return tuple(rng.uniform(contract.flat('low'), contract.flat('high')).tolist())


def _state(
    contract: Contract, supplied: Mapping[str, Vector], rng: np.random.Generator
) -> Mapping[str, Vector]:
    specs = [s for s in (*contract.observation, *contract.state) if not s.is_image]
    state: dict[str, Vector] = {
        spec.name: supplied.get(spec.task, ()) if spec.task else _within(spec, rng)
        for spec in specs
    }
    if rng.random() < 0.5:
        _coincide(specs, state, rng)
    return state


def _coincide(specs: list[FieldSpec], state: dict[str, Vector], rng: np.random.Generator) -> None:
    """Let measured fields show what another of the same unit shows, as far as it goes."""
    for spec in specs:
        others = [o for o in specs if o is not spec and o.unit[:1] == spec.unit[:1]]
        if spec.task or not others:
            continue
        other = others[int(rng.integers(len(others)))]
        size = min(spec.size, other.size)
        same = np.clip(state[other.name][:size], spec.low[:size], spec.high[:size])
        state[spec.name] = (*same.tolist(), *state[spec.name][size:])


def _within(spec: FieldSpec, rng: np.random.Generator) -> Vector:
    """Return values of a field within its bounds, in one of a few trials at one of them."""
    low, high = np.asarray(spec.low), np.asarray(spec.high)
    values = rng.uniform(low, high)
    edge = rng.integers(8, size=spec.size)
    return tuple(np.where(edge == 0, low, np.where(edge == 1, high, values)).tolist())
