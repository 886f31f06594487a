# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a data set of steps carries beside observation, action and reward, column by column.

The formats differ in where they put a column; what it means, its type and its unit stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.records.imported import imported_from
from boundary_env_ros.core.sources.images import Image
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.export.dataset_steps import DatasetObservation, DatasetStep
from boundary_env_ros.evidence.export.joint_names import names_of_action, names_of_fields
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.contract_spaces import NUMBERS

Array = npt.NDArray[Any]

#: Dtype of a column of text.
TEXT = 'string'

#: Nanoseconds of an instant that is not known; no clock shows them.
UNKNOWN_TIME = -1


@frozen
class Column:
    """
    One column.

    Attributes
    ----------
    name, text
        Name, and what it means.
    dtype, shape
        NumPy type, or ``string``; shape of one value, empty: a scalar.
    names, unit
        Name and unit of each element; empty if that says nothing.

    """

    name: str
    dtype: str
    text: str
    shape: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()

    @property
    def fill(self) -> Any:
        """Return what stands where there is no value."""
        if self.dtype == TEXT:
            return ''
        if self.name.startswith('time_'):
            return UNKNOWN_TIME
        if np.dtype(self.dtype).kind == 'f':
            return np.full(self.shape, np.nan, self.dtype)[()]
        return np.zeros(self.shape, self.dtype)[()]


def _time(instant: ClockReading | Stamp | None) -> int:
    if instant is None:
        return UNKNOWN_TIME
    return instant.ros.nanoseconds if isinstance(instant, ClockReading) else instant.nanoseconds


#: Instants of a step, and what happened then.
_TIMES: Mapping[str, str] = {
    'captured': 'the sensor captured what the action answers (the field of the reaction time)',
    'commanded': 'the gate sent the command',
    'actuated': 'first evidence that the robot executed it',
    'closed': 'the step was closed',
}
#: Stages of the action, and what each is.
_ACTIONS: Mapping[str, str] = {
    'requested': 'asked for by the policy, action space; NaN: nothing was',
    'admitted': 'left of it by the gate, action space; NaN: nothing was',
    'commanded': 'sent to the robot in answer to it, command space; NaN: nothing was',
    'measured': 'what the robot did, command space; NaN: not measured',
}
_FLAGS: Mapping[str, tuple[str, str, Callable[[DatasetStep], Any]]] = {
    'action_origin': (
        'int64',
        'of the applied action: 0 unknown, 1 admitted, 2 last command, 3 held, 4 requested',
        lambda step: int(step.origin),
    ),
    'verdict': (
        'int64',
        'of the gate: 0 none, 1 admitted, 2 limited, 3 held, 4 stopped, 5 rejected',
        lambda step: int(step.transition.verdict or 0),
    ),
    'intervention': (
        'bool',
        'a command of an operator went through the gate',
        lambda step: step.intervened,
    ),
    'overrun': (
        'bool',
        'the tick came before an action did',
        lambda step: step.transition.overrun,
    ),
    'terminated': ('bool', 'the task ended the episode', lambda step: step.terminated),
    'truncated': (
        'bool',
        'something outside the task ended the episode',
        lambda step: step.truncated,
    ),
    'success': (
        'bool',
        'the episode succeeded, say those who labelled it; without a label, its ending says so',
        lambda step: step.is_success,
    ),
    'ending': (TEXT, 'why the episode ended; empty while it runs', lambda step: step.ending),
    'declared_by': (TEXT, 'who says so', lambda step: step.declared_by),
    'step': ('int64', 'number of the step in the record', lambda step: step.transition.id.step),
    'reward': ('float64', 'reward of the step', lambda step: step.transition.reward),
}


class Layout:
    """
    The columns that follow from a contract.

    Parameters
    ----------
    contract
        The contract.
    images
        Image fields whose pixels the data set has.

    Attributes
    ----------
    numbers, images
        Fields of the observation: those of numbers, and those of pixels.
    state_names, state_unit
        Name and unit of each number of the observation.
    action_names, action_unit
        Name and unit of each number of the action.
    of_step, columns
        Columns of each step, and those with what is said of its observation.

    """

    def __init__(self, contract: Contract, images: tuple[FieldSpec, ...]) -> None:
        self.contract = contract
        self.numbers = tuple(
            spec for spec in contract.observation if not (spec.is_image or spec.is_document)
        )
        self.images = images
        self.state_names = names_of_fields(self.numbers)
        self.state_unit = tuple(unit for spec in self.numbers for unit in _units(spec))
        self.action_names = names_of_action(contract.action)
        self.action_unit = tuple(
            unit
            for group in contract.action
            for unit in (group.unit if group.kind in NUMBERS else ('',) * group.action_size)
        )
        self.of_step = tuple(self._step_columns())
        self.columns = (*self.of_step, *self._observation_columns())

    def _step_columns(self) -> Iterator[Column]:
        contract = self.contract
        for stage, text in _ACTIONS.items():
            commanded = stage in ('commanded', 'measured')
            yield Column(
                name=f'action_{stage}',
                dtype='float64',
                text=text,
                shape=(contract.command_size if commanded else contract.action_size,),
                names=contract.command_dimensions if commanded else self.action_names,
                unit=contract.command_unit if commanded else (),
            )
        for name, (dtype, text, _) in _FLAGS.items():
            yield Column(name=name, dtype=dtype, text=text)
        for name, what in _TIMES.items():
            text = f'when {what}, ns on the ROS clock; {UNKNOWN_TIME}: unknown'
            yield Column(name=f'time_{name}', dtype='int64', text=text, unit=('ns',))

    def _observation_columns(self) -> Iterator[Column]:
        for spec in (*self.numbers, *self.images):
            yield Column(
                name=f'status_{spec.name}',
                dtype='int64',
                text=f'of {spec.name}: 1 fresh, 2 stale, 3 missing',
            )
            yield Column(
                name=f'time_captured_{spec.name}',
                dtype='int64',
                text=f'when {spec.name} was captured, ns; {UNKNOWN_TIME}: unknown',
                unit=('ns',),
            )

    @property
    def description(self) -> str:
        """Return what the data set is, as a sentence or two."""
        return (
            f'Contract {self.contract.name} {self.contract.version}, exported by boundary_env_ros '
            f'{__version__}. The action is the one that was applied.'
        )

    # Values --------------------------------------------------------------------------------------

    def step_values(self, step: DatasetStep) -> dict[str, Any]:
        """Return the columns of a step."""
        now = step.transition
        times = {name: getattr(now, name, None) for name in _TIMES}
        times['actuated'] = step.actuated
        actions = {f'action_{stage}': getattr(now, f'{stage}_action') for stage in _ACTIONS}
        fills = {column.name: column.fill for column in self.of_step}
        return {
            **{
                name: np.asarray(action, 'float64') if action else fills[name]
                for name, action in actions.items()
            },
            **{name: value(step) for name, (_, _, value) in _FLAGS.items()},
            **{f'time_{name}': _time(instant) for name, instant in times.items()},
        }

    def observation_values(self, seen: DatasetObservation) -> dict[str, Any]:
        """Return the columns of an observation."""
        fields = {found.name: found for found in seen.fields}
        values: dict[str, Any] = {}
        for spec in (*self.numbers, *self.images):
            found = fields.get(spec.name)
            values[f'status_{spec.name}'] = 3 if found is None else int(found.status)
            values[f'time_captured_{spec.name}'] = _time(None if found is None else found.captured)
        return values

    def observation(self, seen: DatasetObservation) -> dict[str, Array]:
        """Return the numbers of an observation, by field, shape and dtype of the contract."""
        fields = {found.name: found for found in seen.fields}
        return {
            spec.name: np.asarray(fields[spec.name].values, spec.dtype).reshape(spec.shape)
            for spec in self.numbers
        }

    def pixels(self, seen: DatasetObservation) -> dict[str, Image]:
        """Return the images of an observation, by field."""
        return {spec.name: seen.images[spec.name] for spec in self.images}


def _units(spec: FieldSpec) -> tuple[str, ...]:
    # One of each channel of points stands for all of them.
    return spec.unit * (spec.size // len(spec.unit)) if spec.unit else ('',) * spec.size


def choices(action: Vector) -> Array:
    """Return an action of choices as indices; -1 where none of them is known."""
    found = np.asarray(action, 'float64')
    return np.where(np.isfinite(found), found, -1).astype('int64')


_ABOUT: Mapping[str, tuple[str, str]] = {
    'episode_id': (TEXT, 'its id in the record'),
    'agent': (TEXT, 'its agent'),
    'imported': (TEXT, 'bag that it was made from afterwards; empty if it was recorded'),
    'seed': ('uint64', 'seed of its reset; not known if it was imported'),
    'contract': (TEXT, 'name of the contract'),
    'contract_digest': (TEXT, 'digest of the contract'),
    'label': (TEXT, 'what people made of it: success, failure, unclear; empty: no label'),
}

#: What is said of a whole episode; how it ended stands in its last step.
ABOUT = tuple(Column(name=name, dtype=kind, text=text) for name, (kind, text) in _ABOUT.items())


def about(step: DatasetStep) -> dict[str, str | int | bool]:
    """Return what is said of the episode of a step: a value for each of :data:`ABOUT`."""
    now = step.transition
    return {
        'episode_id': now.id.episode_id,
        'agent': now.id.agent,
        'imported': imported_from(now),
        'seed': now.seed,
        'contract': now.contract,
        'contract_digest': now.id.digest,
        'label': step.label,
    }
