# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment sees: the latest reading of every field, and views frozen from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
import math

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.contract.sources import Lookup, value_names, Vector
from boundary_env_ros.core.environment.observation import (
    FieldStatus,
    freeze,
    lost,
    Observation,
    ObservationField,
    why_lost,
)
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.derived import frames_needed
from boundary_env_ros.core.sources.inputs import infinite_values
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.usable import is_measured, not_measured
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.transition import PrivilegedObservation
from boundary_env_ros.frozen import frozen

#: Observations that are remembered for actions that answer them.
ANSWERABLE = 1024


@frozen
class View:
    """One observation, with the rest of the environment's state at the same instant."""

    observation: Observation
    state: tuple[ObservationField, ...]

    @property
    def fields(self) -> tuple[ObservationField, ...]:
        """All that the environment judges by."""
        return (*self.observation.fields, *self.state)


class ObservationBuffer:
    """
    The fields of a contract, as they come and as they are frozen.

    Parameters
    ----------
    contract
        The contract.
    topics
        Resolved topic of every topic that the contract names.

    Attributes
    ----------
    latest
        Latest reading of each field that has one.
    unusable
        Why what came last of a field could not be used, by its name; of feedback, by
        ``feedback.`` and the name of its group.
    captured
        When the field of the reaction time was captured, by step of the observation: of the last
        ones that were kept.

    """

    def __init__(self, contract: Contract, topics: Mapping[str, str]) -> None:
        self.latest: dict[str, Reading] = {}
        self.unusable: dict[str, str] = {}
        self.captured: dict[int, Stamp | None] = {}
        self._unmeasured: dict[str, str] = {}
        self._contract = contract
        self._specs = {spec.name: spec for spec in contract.fields}
        self._judged_by = (*contract.observation, *contract.state)
        self._sources = {
            spec.name: _source(spec, topics) for spec in contract.fields if spec.derived is None
        }
        self._infinite = {spec.name: infinite_values(spec) for spec in contract.fields}
        needed = (frames_needed(s.derived) - 1 for s in self._judged_by if s.derived is not None)
        self._frames: deque[Mapping[str, Vector]] = deque(maxlen=max(needed, default=0))

    def forget(self) -> None:
        """Forget all that was seen: another episode begins."""
        self.latest.clear()
        self._unmeasured.clear()
        self.captured.clear()
        self._frames.clear()

    def take(self, name: str, reading: Reading) -> bool:
        """
        Take a reading of a field, and return whether it measured anything.

        One that measured nothing is passed over, and the field ages.
        """
        values, infinite = reading.values, self._infinite[name]
        if not is_measured(values, infinite=infinite):
            names = value_names(self._specs[name].source) if len(values) > 1 else ('its value',)
            why = reading.problem or not_measured(values, names, infinite=infinite)
            self._unmeasured[name] = why
            return False
        self._unmeasured.pop(name, None)
        self.latest[name] = reading
        return True

    def supply(self, values: Mapping[str, Vector], now: ClockReading) -> str:
        """Take the fields of the task; return one sentence if one is not as it should be."""
        for spec in self._judged_by:
            if not spec.task:
                continue
            supplied = tuple(values.get(spec.task, ()))
            if len(supplied) != spec.size or not all(map(math.isfinite, supplied)):
                return (
                    f'Wrong values of {spec.task!r} from the task {self._contract.task.name!r} '
                    f'(expected {spec.size} finite ones, got {list(supplied)})'
                )
            self.latest[spec.name] = Reading(values=supplied, captured=now.ros)
        return ''

    @property
    def newest(self) -> int:
        """When the last reading was captured, ns; 0 if none has a stamp."""
        stamps = (reading.captured for reading in self.latest.values())
        return max((stamp.nanoseconds for stamp in stamps if stamp is not None), default=0)

    def lacking(self, since: int) -> tuple[str, ...]:
        """Return the fields, in words, that have no reading captured since then (ns, ROS time)."""
        return tuple(
            self.missing(spec.name)
            for spec in self._judged_by
            if spec.derived is None and not self._is_new(spec, since)
        )

    def missing(self, name: str) -> str:
        """Return a field that has no value in words: its name, its source, and why."""
        why = self.unusable.get(name)
        if name in self._unmeasured:
            why = f'heard, but {self._unmeasured[name]}'
        elif not why:
            seen = name in self.latest
            why = 'nothing stamped since the reset has come' if seen else 'never heard'
        return f'{name} ({self._sources.get(name, "derived")}: {why})'

    def unfit(self, now: ClockReading) -> tuple[str, ...]:
        """Return the fields, in words, that would end an episode which began now."""
        ending = lost(self._judged_by, self._frozen(now))
        return tuple(
            f'a fresh value of {spec.name} within its bounds ({self._sources[spec.name]})'
            for spec in self._judged_by
            if spec.derived is None and spec.name in ending
        )

    def _is_new(self, spec: FieldSpec, since: int) -> bool:
        reading = self.latest.get(spec.name)
        return reading is not None and (
            reading.captured is None or bool(spec.task) or reading.captured.nanoseconds >= since
        )

    def view(self, id_: StepId, now: ClockReading) -> View:
        """Freeze observation and state."""
        fields = self._frozen(now)
        count = len(self._contract.observation)
        return View(
            observation=Observation(id=id_, observed=now, fields=fields[:count]),
            state=fields[count:],
        )

    def _frozen(self, now: ClockReading) -> tuple[ObservationField, ...]:
        return freeze(
            self._judged_by, self.latest, self._sources, observed=now, past=tuple(self._frames)
        )

    def keep(self, view: View) -> None:
        """Keep a view of the episode, for actions that answer it and fields derived from it."""
        observation = view.observation
        step = observation.id.step
        self.captured[step] = observation[self._contract.reaction_of].captured
        self.captured.pop(step - ANSWERABLE, None)
        self._frames.append({f.name: f.values for f in view.fields if f.values})

    def lost(self, view: View) -> Mapping[str, str]:
        """Return the fields whose staleness or range ends the episode, each with why."""
        ending = lost(self._judged_by, view.fields)
        pairs = zip(self._judged_by, view.fields, strict=True)
        return {
            spec.name: why_lost(spec, field, self._unmeasured.get(spec.name, ''))
            for spec, field in pairs
            if spec.name in ending
        }

    def quickest(self, view: View) -> float | None:
        """Return the shortest age at which a field that is too old ends an episode; None: none."""
        ending = self.lost(view)
        stale = {f.name for f in view.fields if f.status is FieldStatus.STALE}
        found = (spec.max_age for spec in self._judged_by if spec.name in stale & ending.keys())
        return min((age for age in found if age is not None), default=None)

    def privileged(self, id_: StepId, now: ClockReading) -> PrivilegedObservation:
        """Freeze the privileged fields."""
        fields = freeze(self._contract.privileged, self.latest, self._sources, observed=now)
        return PrivilegedObservation(id=id_, fields=fields)


def _source(spec: FieldSpec, topics: Mapping[str, str]) -> str:
    """Return what the record names as the source of a field."""
    if spec.task:
        return f'task:{spec.task}'
    if isinstance(spec.source, Lookup):
        return f'tf:{spec.source.source} in {spec.source.target}'
    return topics[spec.topic]
