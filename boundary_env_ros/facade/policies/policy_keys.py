# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys of a policy that others trained: how they follow from the fields of a contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import pi
import re
from typing import Any, get_origin, get_type_hints, TypeVar

from gymnasium import spaces
import numpy as np

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.serialization import from_json, Unlike
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.terminal import one_line

T = TypeVar('T')
#: A field, or a part of one.
_PART = re.compile(r'([^\[]+)(?:\[(\d*):(\d*)\])?')


@frozen
class InputKey:
    """
    What one key of the policy's observation is made of; what is empty is as usual.

    Attributes
    ----------
    fields
        Fields of the contract, or parts of them, ``NAME[FIRST:END]``: put one after the other.
    resize
        Height and width of the picture, which keeps its proportions between black margins.
    layout
        Of a picture: ``hwc`` (usual) or ``chw``.
    dtype
        Usual: that of a picture, else ``float32``.
    degrees
        Places of the values that the policy has in degrees, and the contract in radians.
    scale, mean, std
        ``(value * scale - mean) / std``: one for each value, or for each channel, or one for all.
    instruction
        It is what the episode is to do, in words; these where it does not say.
    constant
        It is these numbers, always.

    """

    fields: tuple[str, ...] = ()
    resize: tuple[int, ...] = ()
    layout: str = ''
    dtype: str = ''
    degrees: tuple[int, ...] = ()
    scale: Vector = ()
    mean: Vector = ()
    std: Vector = ()
    instruction: str | None = None
    constant: Vector = ()


@frozen
class OutputKey:
    """
    What one key of the policy's answer is; its numbers become the next ones of the action.

    Attributes
    ----------
    select
        Places of the numbers that are used, in this order; usual: all.
    degrees, scale, mean, std
        As of :class:`InputKey`, undone. Places are those behind ``select``.
    delta
        Fields of the measured values that the numbers are to be added to, as of
        :attr:`InputKey.fields`.

    """

    select: tuple[int, ...] = ()
    degrees: tuple[int, ...] = ()
    scale: Vector = ()
    mean: Vector = ()
    std: Vector = ()
    delta: tuple[str, ...] = ()


@frozen
class _Affine:
    """From the values of the contract to those of the policy: times a factor, plus an offset."""

    factor: Array
    offset: Array

    @classmethod
    def of(cls, spec: InputKey | OutputKey, size: int, where: str) -> _Affine:
        scale, mean, std = (
            _whole(values, size, usual, f'{where}.{name}')
            for name, values, usual in (
                ('scale', spec.scale, 1.0),
                ('mean', spec.mean, 0.0),
                ('std', spec.std, 1.0),
            )
        )
        if not all(0 <= place < size for place in spec.degrees):
            raise BoundaryError(
                f'{where}.degrees has other places (expected 0 to {size - 1}, got '
                f'{list(spec.degrees)}).'
            )
        scale[list(spec.degrees)] *= 180.0 / pi
        if not (scale.all() and std.all()):
            raise BoundaryError(f'{where}.scale or std is zero, which cannot be undone.')
        return cls(factor=scale / std, offset=-mean / std)

    def forth(self, values: Array) -> Array:
        return np.asarray(values * self.factor + self.offset)

    def back(self, values: Array) -> Array:
        return np.asarray((values - self.offset) / self.factor)


def _whole(values: Vector, size: int, usual: float, where: str) -> Array:
    if len(values) not in (0, 1, size) or not np.all(np.isfinite(values)):
        raise BoundaryError(
            f'{where} has other numbers (expected 1 or {size}, all finite, got {list(values)}).'
        )
    return np.array(np.broadcast_to(values or (usual,), (size,)), dtype=np.float64)


class PolicyKeys:
    """
    Makes of an observation what a policy is sent, and of its answer actions of the contract.

    Parameters
    ----------
    contract
        The contract; its actions have to be numbers.
    data
        The mapping, as plain data: ``observation`` and ``action``, by key an :class:`InputKey` and
        an :class:`OutputKey`; ``chunk``, how many actions an answer has; ``delay`` and ``prefix``,
        the keys under which a policy that conditions on them gets both.

    Raises
    ------
    BoundaryError
        Naming the key, if something is not of the contract or cannot be.

    """

    def __init__(self, contract: Contract, data: Mapping[str, Any]) -> None:
        space = action_space(contract, horizon=1, dtype=np.float64)
        if not isinstance(space, spaces.Box):
            raise BoundaryError(
                'A policy elsewhere answers with numbers (expected a contract with groups of '
                f'numbers alone, got {space}).'
            )
        self._contract, self._space = contract, space
        self._names = [name for group in contract.action for name in group.dimensions]
        self._specs = {spec.name: spec for spec in contract.observation if not spec.is_document}
        parts = {'observation', 'action', 'chunk', 'delay', 'prefix'}
        if (
            set(data) - parts
            or not data.get('action')
            or not isinstance(data.get('chunk'), (int, type(None)))
            or not all(isinstance(data.get(key, ''), str) for key in ('delay', 'prefix'))
        ):
            raise BoundaryError(
                f'The mapping has other parts (expected {", ".join(sorted(parts))}: of these at '
                f'least `action`, `chunk` a number, the last two keys, got '
                f'{one_line(str(dict(data)))}).'
            )
        inputs = _each(InputKey, data.get('observation', {}), 'observation')
        self._outputs = _each(OutputKey, data['action'], 'action')
        self._inputs = {key: self._input(spec, key) for key, spec in inputs.items()}
        self._bases = {
            key: self._flat(o.delta, f'action {key!r}') for key, o in self._outputs.items()
        }
        self._widths: dict[str, int] = {}
        self._affine: dict[str, _Affine] = {}
        self.chunk = data.get('chunk')
        self.delay, self.prefix = data.get('delay'), data.get('prefix')

    # To the policy -------------------------------------------------------------------------------

    def values(self, observation: Mapping[str, Array], instruction: str) -> dict[str, Any]:
        """Return what the policy is sent for an observation of the contract, by key."""
        return {key: make(observation, instruction) for key, make in self._inputs.items()}

    def prefix_of(self, rows: Array, observation: Mapping[str, Array]) -> Array:
        """Return actions of the contract, shape (k, n), as the policy would have answered them."""
        parts, first = [], 0
        for key, spec in self._outputs.items():
            affine = self._affine[key]
            size = len(affine.factor)
            part = rows[:, first : first + size] - self._base(key, observation)
            whole = np.zeros((len(rows), self._widths[key]), dtype=np.float32)
            whole[:, list(spec.select) or slice(None)] = affine.forth(part)
            parts.append(whole)
            first += size
        return np.concatenate(parts, axis=1)

    def _spec(self, text: str, where: str) -> tuple[FieldSpec, slice]:
        found = _PART.fullmatch(text)
        name, first, end = found.groups() if found else (text, '', '')
        spec = self._specs.get(name)
        if spec is not None:
            part = slice(int(first or 0), int(end or spec.size))
            if part.start < part.stop <= spec.size and not (spec.is_image and name != text):
                return spec, part
        raise BoundaryError(
            f'Unknown field (expected a field of the observation ({", ".join(self._specs)}) for '
            f'{where}, or NAME[FIRST:END] of its numbers, got {text!r}). Say which in the '
            'mapping: `fields: NAME`.'
        )

    def _flat(self, fields: Sequence[str], where: str) -> Callable[[Mapping[str, Array]], Array]:
        found = [self._spec(text, where) for text in fields]

        def flat(observation: Mapping[str, Array]) -> Array:
            return np.concatenate([observation[s.name].ravel()[part] for s, part in found])

        return flat

    def _input(self, spec: InputKey, key: str) -> Callable[[Mapping[str, Array], str], Any]:
        where = f'observation {key!r}'
        given = [bool(spec.fields), spec.instruction is not None, bool(spec.constant)]
        if sum(given) != 1:
            raise BoundaryError(
                f'{where} says something else (expected one of fields, instruction and constant, '
                f'got {sum(given)} of them).'
            )
        if spec.instruction is not None:
            usual = spec.instruction
            return lambda _, instruction: instruction or usual
        found = [self._spec(text, where)[0] for text in spec.fields]
        picture = len(found) == 1 and found[0].is_image
        dtype = _dtype(spec.dtype or (found[0].dtype if picture else 'float32'), where)
        if spec.constant:
            constant = np.asarray(spec.constant).astype(dtype)
            return lambda _, __: constant
        if not picture:
            if spec.resize or spec.layout or any(each.is_image for each in found):
                raise BoundaryError(
                    f'{where} is no picture (expected one image field for resize and layout, and '
                    f'no other field beside it, got {", ".join(spec.fields)}).'
                )
            flat = self._flat(spec.fields, where)
            zero = {each.name: np.zeros(each.shape) for each in found}
            affine = _Affine.of(spec, len(flat(zero)), where)
            return lambda observation, _: _cast(affine.forth(flat(observation)), dtype)
        return _picture(spec, found[0], dtype, where)

    def example(self) -> dict[str, Any]:
        """Return an observation that is drawn from its space, always the same."""
        space = observation_space(self._contract)
        space.seed(0)
        return {name: space[name].sample() for name in self._specs}

    @property
    def keys(self) -> tuple[frozenset[str], frozenset[str]]:
        """The keys of what the policy is sent, and of what it answers."""
        return frozenset(self._inputs), frozenset(self._outputs)

    # From the policy -----------------------------------------------------------------------------

    def actions(self, answer: Mapping[str, Any], observation: Mapping[str, Array]) -> Array:
        """
        Return the actions that the policy answered to an observation.

        Returns
        -------
        numpy.ndarray
            Shape (k, n), action space of the contract.

        Raises
        ------
        BoundaryError
            Naming the key, if one is missing, or has another type, width or length, or what is no
            number. What the first answer had holds for all that follow.

        """
        rows = {key: self._rows(key, answer) for key in self._outputs}
        got = {key: array.shape for key, array in rows.items()}
        size = sum(width for _, width in got.values())
        lengths = {length for length, _ in got.values()}
        if size != len(self._names):
            raise BoundaryError(
                f'The answer has other actions (expected {len(self._names)} numbers: '
                f'{", ".join(self._names)}, got {_shapes(got)}). Choose with `select`.'
            )
        if len(lengths) != 1 or (self.chunk or next(iter(lengths))) not in lengths:
            raise BoundaryError(
                f'The answer has other chunks (expected {self.chunk or "one number of"} actions, '
                f'got {_shapes(got)}).'
            )
        (self.chunk,) = lengths
        for key, (_, width) in got.items():
            if key not in self._affine:
                self._affine[key] = _Affine.of(self._outputs[key], width, f'action {key!r}')
        return np.concatenate(
            [self._affine[k].back(r) + self._base(k, observation) for k, r in rows.items()], axis=1
        )

    def check_range(self, actions: Array) -> None:
        """
        Refuse actions that are further out of the bounds than these are wide: of another unit.

        Raises
        ------
        BoundaryError
            Naming the dimension.

        """
        low, high = self._space.low, self._space.high
        width = np.where(np.isfinite(high - low) & (high > low), high - low, np.inf)
        beyond = np.maximum(low - actions, actions - high).max(axis=0) / width
        worst = int(beyond.argmax())
        if beyond[worst] > 1.0:
            raise BoundaryError(
                f'The answer has another range (expected {self._names[worst]} about from '
                f'{low[worst]:g} to {high[worst]:g}, got '
                f'{actions[np.abs(actions[:, worst]).argmax(), worst]:g}). Say `degrees`, '
                '`scale`, `mean`, `std` or `delta` of the action, or any_range=true.'
            )

    def _rows(self, key: str, answer: Mapping[str, Any]) -> Array:
        if key not in answer:
            raise BoundaryError(
                f'The answer has other keys (expected {", ".join(self._outputs)}, got '
                f'{one_line(", ".join(map(str, answer))) or "none"}).'
            )
        spec, array = self._outputs[key], np.asarray(answer[key])
        if min(spec.select, default=0) < 0:
            raise BoundaryError(
                f'action {key!r}.select has other places (expected 0 or more, got '
                f'{list(spec.select)}).'
            )
        if array.ndim == 3 and len(array) == 1:  # a batch of one
            array = array[0]
        if array.dtype.kind not in 'fiu' or array.ndim not in (1, 2) or not array.size:
            raise BoundaryError(
                f'The key {key!r} of the answer has another form (expected numbers of shape (n,) '
                f'or (k, n), got {array.dtype} of shape {array.shape}).'
            )
        array = np.atleast_2d(array).astype(np.float64)
        width = array.shape[1]
        if not np.all(np.isfinite(array)):
            raise BoundaryError(
                f'The key {key!r} of the answer has what is no number (expected all finite, got '
                f'{np.count_nonzero(~np.isfinite(array))} of {array.size} that are not).'
            )
        wanted = self._widths.get(key, max(width, 1 + max(spec.select, default=0)))
        if width != wanted:
            raise BoundaryError(
                f'The key {key!r} of the answer has another width (expected {wanted} numbers an '
                f'action, got {width}).'
            )
        self._widths[key] = width
        return array[:, list(spec.select)] if spec.select else array

    def _base(self, key: str, observation: Mapping[str, Array]) -> Array | float:
        if not self._outputs[key].delta:
            return 0.0
        base, width = self._bases[key](observation), len(self._affine[key].factor)
        if len(base) != width:
            raise BoundaryError(
                f'action {key!r}.delta has other fields (expected {width} measured values, got '
                f'{len(base)}).'
            )
        return base


def usual_keys(
    contract: Contract, image: str, state: str, text: str, action: str, **of_images: Any
) -> Mapping[str, Any]:
    """Return a mapping with a key for each picture, and one for all other fields."""
    specs = [spec for spec in contract.observation if not spec.is_document]
    plain = [spec.name for spec in specs if not spec.is_image]
    keys: dict[str, Any] = {
        image.format(spec.name): {'fields': spec.name, **of_images}
        for spec in specs
        if spec.is_image
    }
    if plain:
        keys[state] = {'fields': plain}
    return {'observation': {**keys, text: {'instruction': ''}}, 'action': {action: {}}}


def _each(cls: type[T], data: Any, part: str) -> dict[str, T]:
    return {str(key): _one(cls, given, f'{part} {key!r}') for key, given in _mapping(data, part)}


def _one(cls: type[T], given: Any, where: str) -> T:
    hints: Mapping[str, Any] = get_type_hints(cls)
    # One value stands for a list of it.
    listed = {
        name: [value]
        if get_origin(hints.get(name)) is tuple and not isinstance(value, list)
        else value
        for name, value in _mapping(given, where)
    }
    if unknown := listed.keys() - hints.keys():
        raise BoundaryError(
            f'{where} says something unknown (expected {", ".join(hints)}, got '
            f'{one_line(", ".join(map(str, unknown)))}).'
        )
    return from_json(cls, listed, where, Unlike())


def _mapping(data: Any, where: str) -> Iterable[tuple[Any, Any]]:
    if not isinstance(data, dict):
        raise BoundaryError(f'{where} is no mapping (expected keys, got {one_line(str(data))}).')
    return data.items()


def _shapes(got: Mapping[str, tuple[int, ...]]) -> str:
    return ', '.join(f'{key} {shape}' for key, shape in got.items())


def _dtype(name: str, where: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in 'fiub':
        raise BoundaryError(f'{where}.dtype is none of numbers (got {name!r}).')
    return dtype


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers of a type; nearest, and within its bounds, if it has no others."""
    if dtype.kind in 'iu':
        values = np.clip(np.rint(values), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype)


def _picture(
    spec: InputKey, field: FieldSpec, dtype: np.dtype[Any], where: str
) -> Callable[[Mapping[str, Array], str], Array]:
    """Return what makes the pictures of a field what the policy is sent."""
    channels = field.shape[2] if len(field.shape) == 3 else 1
    exact = _Affine.of(spec, channels, where)
    # Half as wide, and twice as fast; exact for what a byte says.
    affine = _Affine(
        factor=exact.factor.astype(np.float32), offset=exact.offset.astype(np.float32)
    )
    plain = not (spec.degrees or spec.scale or spec.mean or spec.std)
    size, layout = spec.resize, spec.layout
    if layout not in ('', 'hwc', 'chw') or len(size) not in (0, 2) or min(size, default=1) < 1:
        raise BoundaryError(
            f'{where} has another form (expected `resize: [H, W]` and `layout: hwc` or `chw`, got '
            f'{list(size)} and {layout!r}).'
        )
    if size and field.dtype != 'uint8':
        raise BoundaryError(f'{where} cannot be resized (expected uint8, got {field.dtype}).')
    if size:
        with needed(f'Pillow is needed to resize {where}', 'pip install Pillow'):
            from PIL import Image

    def make(observation: Mapping[str, Array], _: str) -> Array:
        picture = observation[field.name]
        if size and picture.shape[:2] != size:
            shrink = max(picture.shape[0] / size[0], picture.shape[1] / size[1])
            height, width = (max(1, int(n / shrink)) for n in picture.shape[:2])
            flat = picture[:, :, 0] if channels == 1 and picture.ndim == 3 else picture
            small = np.asarray(
                Image.fromarray(flat).resize((width, height), Image.Resampling.BILINEAR)
            ).reshape(height, width, *picture.shape[2:])
            whole = np.zeros((*size, *picture.shape[2:]), dtype=picture.dtype)
            top, left = (size[0] - height) // 2, (size[1] - width) // 2
            whole[top : top + height, left : left + width] = small
            picture = whole
        picture = picture.reshape(*picture.shape[:2], channels) if layout else picture
        picture = picture.astype(dtype) if plain else _cast(affine.forth(picture), dtype)
        return np.ascontiguousarray(picture.transpose(2, 0, 1) if layout == 'chw' else picture)

    return make
