# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies as ONNX models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.errors import BoundaryError, MissingDependency
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.contract_spaces import observation_space

#: What ONNX calls the numbers that NumPy knows.
_TYPES = {
    'tensor(float)': np.float32,
    'tensor(float16)': np.float16,
    'tensor(double)': np.float64,
    'tensor(uint8)': np.uint8,
    'tensor(int32)': np.int32,
    'tensor(int64)': np.int64,
}


class OnnxPolicy:
    """
    An ONNX model, run by ONNX Runtime.

    Each input of the model is given the field that ``inputs`` names for it, or the field of its
    own name. A model with one input of another name is given the whole flattened observation, in
    the order of the contract. What has one dimension less than the input gets a batch of one.

    Parameters
    ----------
    loaded
        The contract.
    path
        The model.
    inputs
        Field by input, for example ``{obs: pose}``.
    output
        The output that is the action, shape ``(n,)``, ``(1, n)``, or ``(1, k, n)`` for a chunk;
        default: the first.
    channels_first
        Whether images go in as ``(channels, height, width)``; else as the contract has them.
    image_scale
        What the numbers of images are multiplied by, for example 0.00392157 for 0 to 1.
    providers
        Execution providers of ONNX Runtime, the preferred one first.

    Raises
    ------
    MissingDependency
        If ONNX Runtime is not installed.
    BoundaryError
        If the model has inputs that no field fits, or cannot be read.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        path: Path,
        *,
        inputs: Mapping[str, str] | None = None,
        output: str = '',
        channels_first: bool = False,
        image_scale: float = 1.0,
        providers: tuple[str, ...] | list[str] = ('CPUExecutionProvider',),
    ) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingDependency(
                f'ONNX Runtime is needed to run {path}: {error}. '
                'Install it with `pip install onnxruntime`.'
            ) from error
        if not path.is_file():
            raise BoundaryError(f'{path} is not an ONNX model.')
        try:
            self._session: Any = onnxruntime.InferenceSession(path, providers=list(providers))
        except Exception as error:  # its own errors have no common base of theirs
            raise BoundaryError(f'ONNX Runtime cannot run {path}: {error}') from error
        contract = loaded.contract
        self._space = observation_space(contract)
        self._images = {spec.name for spec in contract.observation if spec.is_image}
        self._channels_first, self._scale = channels_first, image_scale
        names = [node.name for node in self._session.get_outputs()]
        if output and output not in names:
            raise BoundaryError(
                f'Unknown output (expected an output of the model ({", ".join(names)}), got '
                f'{output!r}).'
            )
        self._output = output or names[0]
        self._inputs = self._matched(inputs or {}, path)

    def _matched(self, declared: Mapping[str, str], path: Path) -> dict[str, tuple[str, Any, int]]:
        """Return field (empty: the whole observation), type and rank of each input."""
        nodes = self._session.get_inputs()
        unknown = set(declared) - {node.name for node in nodes}
        if unknown:
            raise BoundaryError(
                'Unknown inputs (expected inputs of the model '
                f'({", ".join(node.name for node in nodes)}), got {", ".join(sorted(unknown))} in '
                'inputs).'
            )
        found: dict[str, tuple[str, Any, int]] = {}
        for node in nodes:
            field = declared.get(node.name, node.name)
            if field not in self._space.spaces:
                if node.name in declared or len(nodes) > 1:
                    raise BoundaryError(
                        'Unknown field (expected a field of the observation '
                        f'({", ".join(self._space.spaces)}) for the input {node.name!r} of '
                        f'{path}, got {field!r}). Say which with inputs={{INPUT: FIELD}}.'
                    )
                field = ''
            if node.type not in _TYPES:
                raise BoundaryError(
                    f'The input {node.name!r} of {path} has another type '
                    f'(expected {", ".join(_TYPES)}, got {node.type}).'
                )
            found[node.name] = field, _TYPES[node.type], len(node.shape)
        return found

    def _tensor(
        self, field: str, dtype: Any, rank: int, observation: Mapping[str, Array]
    ) -> Array:
        if not field:
            value = np.asarray(spaces.flatten(self._space, dict(observation)))
        else:
            value = observation[field]
            if field in self._images:
                if self._channels_first and value.ndim == 3:
                    value = value.transpose(2, 0, 1)
                if self._scale != 1.0:
                    value = value * self._scale
        if value.ndim == rank - 1:
            value = value[np.newaxis]
        return np.ascontiguousarray(value, dtype=dtype)

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return the action, or the chunk, that the model computes."""
        fed = {name: self._tensor(*how, observation) for name, how in self._inputs.items()}
        (answer,) = self._session.run([self._output], fed)
        array = np.asarray(answer)
        return array[0] if array.ndim > 1 and array.shape[0] == 1 else array
