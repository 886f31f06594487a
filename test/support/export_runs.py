# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs to export, and what of them a data set in whatever layout must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.storage.contract_file import LoadedContract, make_task
from support.bag_maker import record_of, Tape, write_bag
from support.hand_maker import by_hand, hand_contract, HandBench
from support.record_maker import Bench, Sent


@dataclass(frozen=True)
class ExportRun:
    """
    A run, in memory and in a bag.

    Attributes
    ----------
    bag
        The bag.
    episodes
        The steps of each episode, in their order.
    pixels
        Pixels of each image of the field `front`, by their hash.

    """

    bag: Path
    contract: Contract
    episodes: tuple[tuple[Transition, ...], ...]
    pixels: dict[bytes, np.ndarray]

    @property
    def steps(self) -> Iterator[Transition]:
        return (step for episode in self.episodes for step in episode)


def driven_by_hand(folder: Path) -> ExportRun:
    """Return three episodes, in one of which a person takes over, with camera images."""
    loaded = hand_contract()
    bench = HandBench(loaded.contract, loaded.digest, make_task(loaded.contract), seed=1)
    by_hand(bench)
    return bagged(folder, bench, loaded)


def bagged(folder: Path, bench: Bench, loaded: LoadedContract) -> ExportRun:
    """Return what a bench left, as a run."""
    tape = record_of(bench, loaded)
    write_bag(folder, tape)
    return ExportRun(folder, loaded.contract, tuple(episodes_in(tape)), pixels_in(tape))


def episodes_in(tape: Tape, agent: str = 'cart') -> Iterator[tuple[Transition, ...]]:
    """Yield the steps of each episode of an agent."""
    steps: dict[str, list[Transition]] = {}
    for sent in tape:
        what: Any = sent.what
        if isinstance(what, Transition) and what.kind is Kind.STEP and what.id.agent == agent:
            steps.setdefault(what.id.episode_id, []).append(what)
    return (tuple(found) for found in steps.values())


def pixels_in(tape: Tape) -> dict[bytes, np.ndarray]:
    """Return the pixels of all camera images."""
    return {
        hashlib.sha256(sent.what['data']).digest(): _pixels(sent)
        for sent in tape
        if sent.type == 'sensor_msgs/msg/Image'
    }


def _pixels(sent: Sent) -> np.ndarray:
    fields = sent.what
    pixels = np.frombuffer(fields['data'], np.uint8)
    return pixels.reshape(fields['height'], fields['width'], 3)


def values_of(step: Transition, name: str, *, after: bool = False) -> tuple[float, ...]:
    """Return the values of a field of the observation."""
    fields = step.after if after else step.before
    return next(field.values for field in fields if field.name == name)


def front_of(run: ExportRun, step: Transition, *, after: bool = False) -> np.ndarray:
    """Return the camera image of an observation."""
    fields = step.after if after else step.before
    image = next(field.image for field in fields if field.name == 'front')
    assert image is not None
    return run.pixels[image.sha256]
