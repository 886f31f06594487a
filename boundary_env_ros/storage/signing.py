# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ed25519 signatures of the chain of a bag; with ``cryptography``, the extra ``signed``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits


def signer(path: Path) -> Callable[[bytes], tuple[bytes, bytes]]:
    """
    Return a function from bytes to their signature and the public key that verifies it.

    Parameters
    ----------
    path
        Private key as PEM, as ``openssl genpkey -algorithm ed25519 -out FILE`` writes it.

    Raises
    ------
    RecordError
        If ``cryptography`` is not installed, or the file holds no such key.

    """
    key = _loaded(path, private=True)
    public = key.public_key().public_bytes_raw()
    return lambda data: (key.sign(data), public)


def public_key(path: Path) -> bytes:
    """
    Return a public key from its PEM file, as ``openssl pkey -pubout`` writes it.

    Raises
    ------
    RecordError
        If ``cryptography`` is not installed, or the file holds no such key.

    """
    found: bytes = _loaded(path, private=False).public_bytes_raw()
    return found


def is_signed(data: bytes, signature: bytes, key: bytes) -> bool:
    """
    Return whether a signature is that of the owner of a public key.

    Raises
    ------
    RecordError
        If ``cryptography`` is not installed.

    """
    exceptions, ed25519, _ = _cryptography()
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (exceptions.InvalidSignature, ValueError):
        return False
    return True


def _loaded(path: Path, *, private: bool) -> Any:
    _, ed25519, serialization = _cryptography()
    kind = ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey
    try:
        text = size_limits.read_file(path, size_limits.TEXT)
        if private:
            found = serialization.load_pem_private_key(text, password=None)
        else:
            found = serialization.load_pem_public_key(text)
    except (OSError, TypeError, ValueError) as error:
        got = str(error)
    else:
        if isinstance(found, kind):
            return found
        got = f'a key of type {type(found).__name__}'
    which = 'private' if private else 'public'
    raise RecordError(
        f'{path} holds no key (expected a {which} Ed25519 key as PEM, without a password, '
        f'got {got.rstrip(".")}); make one with `openssl genpkey -algorithm ed25519`.'
    )


def _cryptography() -> tuple[Any, Any, Any]:
    try:
        from cryptography import exceptions
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise RecordError(
            'Signatures need a library that is not installed (expected cryptography); '
            "install it with `pip install 'boundary_env_ros[signed]'`."
        ) from None
    return exceptions, ed25519, serialization
