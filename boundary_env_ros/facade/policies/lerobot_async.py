# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The wire of LeRobot's asynchronous policy server: pickles, over gRPC."""

from __future__ import annotations

from collections.abc import Mapping
import io
import pickle
import time
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.facade.policies.lerobot import IMAGE, STATE
from boundary_env_ros.facade.policies.policy_keys import usual_keys
from boundary_env_ros.terminal import one_line

#: What a chunk of LeRobot is made of; a pickle may name nothing else.
_ALLOWED = {
    ('lerobot.async_inference.helpers', 'TimedAction'),
    ('torch._utils', '_rebuild_tensor_v2'),
    ('collections', 'OrderedDict'),
}


class LeRobotWire:
    """
    A connection to LeRobot's policy server, which loads the policy that it is sent the name of.

    Its keys are ``observation.state``, ``observation.images.NAME``, ``task`` and ``action``. It
    does not say which the policy knows, nor why it has no answer: that stands in its log.

    Parameters
    ----------
    address
        ``HOST:PORT``.
    policy_type
        For example ``act``.
    pretrained
        The policy: a folder there, or a name on the Hub.
    actions_per_chunk
        How many actions of a chunk the server sends.
    device
        Where it runs.

    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ('action',)
    conditions = False

    def __init__(
        self,
        address: str,
        *,
        policy_type: str,
        pretrained: str,
        actions_per_chunk: int = 50,
        device: str = 'cpu',
    ) -> None:
        with needed('The server of LeRobot needs LeRobot', "pip install 'lerobot[async]'"):
            import grpc
            from lerobot.async_inference import helpers
            from lerobot.transport import services_pb2, services_pb2_grpc
            from lerobot.transport.utils import send_bytes_in_chunks
        self.address = address
        self._policy = {
            'policy_type': policy_type,
            'pretrained_name_or_path': pretrained,
            'actions_per_chunk': actions_per_chunk,
            'device': device,
        }
        self._grpc: Any = grpc
        self._helpers: Any = helpers
        self._messages: Any = services_pb2
        self._services: Any = services_pb2_grpc
        self._parts: Any = send_bytes_in_chunks
        self._channel: Any = None
        self._stub: Any = None
        self._loaded = False
        self._requests = 0

    def open(self, timeout: float) -> Mapping[str, Any]:
        """Connect; all that is known of the server is what it is going to be sent."""
        self._channel = self._grpc.insecure_channel(self.address)
        self._stub = self._services.AsyncInferenceStub(self._channel)
        self._loaded = False
        self._ready(timeout)
        return self._policy

    def usual(self, contract: Contract) -> Mapping[str, Any]:
        """Return LeRobot's own names."""
        return usual_keys(contract, f'{IMAGE}{{}}', STATE, 'task', 'action')

    def begin(self, example: Mapping[str, Any], timeout: float) -> None:
        """Let the server forget what it was sent; once, load the policy."""
        self._ready(timeout)
        if not self._loaded:
            features = {k: _feature(k, v) for k, v in example.items() if not isinstance(v, str)}
            config = self._helpers.RemotePolicyConfig(lerobot_features=features, **self._policy)
            setup = self._messages.PolicySetup(data=pickle.dumps(config))
            self._call(self._stub.SendPolicyInstructions, setup, timeout)
            self._loaded = True

    def infer(
        self, values: Mapping[str, Any], timeout: float
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the chunk for an observation."""
        deadline = time.monotonic() + timeout
        raw: dict[str, Any] = {}
        for key, value in values.items():
            if key.startswith(IMAGE) or isinstance(value, str):
                raw[key.removeprefix(IMAGE)] = value
            else:
                raw.update(zip(_feature(key, value)['names'], value.tolist(), strict=True))
        self._requests += 1
        observation = self._helpers.TimedObservation(
            timestamp=time.time(), timestep=self._requests, observation=raw, must_go=True
        )
        parts = self._parts(pickle.dumps(observation), self._messages.Observation)
        self._call(self._stub.SendObservations, parts, timeout)
        left = deadline - time.monotonic()
        answer = self._call(self._stub.GetActions, self._messages.Empty(), left).data
        if not answer:
            raise BoundaryError('The answer has no action; the log of the server says why.')
        rows = _Actions(io.BytesIO(answer)).load()
        if {row.get_timestep() - i for i, row in enumerate(rows)} != {self._requests}:
            raise BoundaryError('It answered another observation.')
        return {'action': np.stack([row.get_action().numpy() for row in rows])}, {}

    def _ready(self, timeout: float) -> None:
        self._call(self._stub.Ready, self._messages.Empty(), timeout, wait_for_ready=True)

    def _call(self, method: Any, request: Any, timeout: float, **more: Any) -> Any:
        try:
            return method(request, timeout=max(timeout, 0.001), **more)
        except self._grpc.RpcError as error:
            if error.code() is self._grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TimeoutError from error
            details = one_line(error.details() or '')[:500]
            raise BoundaryError(f'{error.code().name}: {details!r}.') from error

    def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            self._channel.close()
        self._channel = None


def _feature(key: str, value: Any) -> dict[str, Any]:
    """Return a value as LeRobot describes one."""
    if key.startswith(IMAGE):
        names = ['height', 'width', 'channels']
        return {'dtype': 'image', 'shape': value.shape, 'names': names}
    names = [f'{key}.{index}' for index in range(len(value))]
    return {'dtype': 'float32', 'shape': value.shape, 'names': names}


class _Actions(pickle.Unpickler):
    """Reads a chunk of actions, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the few classes that a chunk has."""
        if (module, name) == ('torch.storage', '_load_from_bytes'):
            return _storage
        if (module, name) not in _ALLOWED:
            raise BoundaryError(f'The answer names {module}.{name}, which no action has.')
        return super().find_class(module, name)


def _storage(data: bytes) -> Any:
    import torch

    return torch.load(io.BytesIO(data), weights_only=True)
