# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Steps without a hole, for those that learn from them: one NaN makes every statistic NaN.

An episode begins with the first step that lacks nothing. Behind it, what a step lacks is what the
step before it had. Both are counted: an export with too much of either is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.contract.model import ActionKind
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.export.dataset_steps import DatasetObservation, DatasetStep
from boundary_env_ros.evidence.export.layout import Layout
from boundary_env_ros.frozen import replace

_ACTION = 'action'


@dataclass(slots=True)
class Repairs:
    """
    What was left out or filled, so that no step lacks anything.

    Attributes
    ----------
    steps
        How many steps came.
    trimmed
        Steps at the beginning of episodes, before all fields, images and a command were known.
    without_steps
        Episodes of which every step was trimmed.
    touched
        Steps in which something was filled.
    filled
        How often each field, image or the action stands for the step before.

    """

    steps: int = 0
    trimmed: int = 0
    without_steps: int = 0
    touched: int = 0
    filled: Counter[str] = field(default_factory=Counter)

    def refuse_beyond(self, most: float) -> None:
        """
        Refuse a data set of which too much was made up or left out.

        Raises
        ------
        RecordError
            If more than this share of the steps was trimmed or filled.

        """
        repaired = self.trimmed + self.touched
        if repaired > most * self.steps:
            raise RecordError(
                f'Too many steps lack something (expected at most {most:.0%}, got {repaired} of '
                f'{self.steps}: {"; ".join(self.sentences())}). Record on a machine that keeps '
                'up, leave the worst episodes out with --episode, or say --most-repaired.'
            )

    def sentences(self) -> Iterator[str]:
        """Yield what was done, one sentence each."""
        if self.trimmed:
            yield (
                f'{self.trimmed} steps at the beginning of episodes, before every field and a '
                'command were known'
            )
        if self.without_steps:
            yield f'{self.without_steps} episodes that lack something in every step'
        for name, count in self.filled.items():
            yield f'{name!r} of {count} steps is filled with that of the step before'

    def complete(self, steps: Iterable[DatasetStep], layout: Layout) -> Iterator[DatasetStep]:
        """
        Yield steps that lack nothing.

        Parameters
        ----------
        steps
            The steps of episodes, one episode after the other.
        layout
            What the data set has of them.

        """
        last: DatasetStep | None = None  # the step before, if its episode has begun
        for step in steps:
            self.steps += 1
            lacking = [*_lacking(step.before, layout)]
            if not all(map(math.isfinite, step.applied)):
                lacking.append(_ACTION)
            if last is None and lacking:
                self.trimmed += 1
                self.without_steps += step.last
                continue
            if last is not None and lacking:
                self.touched += 1
                self.filled.update(lacking)
                applied = _same_command(layout, last) if _ACTION in lacking else step.applied
                step = replace(step, before=_filled(step.before, last.before), applied=applied)
            whole = replace(step, after=_filled(step.after, step.before))
            yield whole
            last = None if step.last else whole


def _same_command(layout: Layout, last: DatasetStep) -> Vector:
    """Return the action that keeps the command of a step: the same again, of a difference none."""
    groups = layout.contract.action
    kinds = (group.kind for group in groups for _ in range(group.action_size))
    pairs = zip(last.applied, kinds, strict=True)
    return tuple(0.0 if kind is ActionKind.DELTA else value for value, kind in pairs)


def _has(found: ObservationField | None) -> bool:
    return found is not None and bool(found.values) and all(map(math.isfinite, found.values))


def _lacking(seen: DatasetObservation, layout: Layout) -> Iterator[str]:
    fields = {found.name: found for found in seen.fields}
    yield from (spec.name for spec in layout.numbers if not _has(fields.get(spec.name)))
    yield from (spec.name for spec in layout.images if spec.name not in seen.images)


def _filled(seen: DatasetObservation, last: DatasetObservation) -> DatasetObservation:
    """Return what is seen, with what stands in the one before where it lacks something."""
    known = {found.name: found for found in last.fields}
    fields = {
        found.name: replace(found, values=known[found.name].values)
        if found.name in known and not (_has(found) or found.image)
        else found
        for found in seen.fields
    }
    fields.update((name, found) for name, found in known.items() if name not in fields)
    return DatasetObservation(fields=tuple(fields.values()), images={**last.images, **seen.images})
