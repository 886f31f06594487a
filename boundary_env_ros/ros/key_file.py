# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The key that the processes of a boundary share: where it lies, and who may read it."""

from __future__ import annotations

from contextlib import suppress
import os
from pathlib import Path
import secrets
import tempfile

from boundary_env_ros.core.authentication import KEY_SIZE
from boundary_env_ros.errors import LinkError

#: Variable that names the file; without it, it lies in a place of the user, by ROS domain.
KEY_FILE = 'BOUNDARY_ENV_KEY_FILE'


def key_file(domain: int) -> Path:
    """Return where the key of the boundaries in a domain lies."""
    if given := os.environ.get(KEY_FILE):
        return Path(given).expanduser()
    home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
    return home / 'boundary_env_ros' / 'keys' / f'domain_{domain}'


def make_key(path: Path) -> None:
    """Make a key that its user alone can read, unless there is one."""
    name = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whole or not at all: another process may read it at once, or make one itself.
        number, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(number, 'w', encoding='ascii') as file:
            file.write(f'{secrets.token_hex(KEY_SIZE)}\n')
        os.link(name, path)
    except FileExistsError:
        if read_key(path) is None:  # a link that leads nowhere
            raise LinkError(f'The key file {path} leads nowhere. Remove it.') from None
    except OSError as error:
        raise LinkError(
            f'The key file {path} cannot be made: {error.strerror}. Name another place by the '
            f'variable {KEY_FILE}.'
        ) from error
    finally:
        if name is not None:
            Path(name).unlink()


def read_key(path: Path) -> bytes | None:
    """
    Return the key of a file; None if there is no file, and none is named.

    Raises
    ------
    LinkError
        If the file cannot be read, can be read by others, or holds no key.

    """
    try:
        # A pipe that nobody writes to would be waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 'rb') as file:
            status = os.fstat(file.fileno())
            others = status.st_mode & 0o077
            text = file.read(4 * KEY_SIZE) or b''
    except FileNotFoundError:
        if os.environ.get(KEY_FILE):
            raise LinkError(
                f'The key file is missing (expected {path}, as {KEY_FILE} says). '
                'Copy it from the machine on which the nodes were started.'
            ) from None
        return None
    except OSError as error:
        raise LinkError(f'The key file {path} cannot be read: {error.strerror}.') from error
    if status.st_uid not in (os.geteuid(), 0):
        raise LinkError(
            f'The key file {path} is of another user (expected the owner {os.geteuid()}, got '
            f'{status.st_uid}), who knows the key. Remove it, and start the nodes again.'
        )
    if others:
        raise LinkError(
            f'The key file {path} is no secret (expected mode 600, got {others | 0o600:o}). '
            f'Whoever could read it can move the robot: remove it, start the nodes again, and '
            'copy the new one with its mode.'
        )
    with suppress(ValueError):
        key = bytes.fromhex(text.decode('ascii', 'replace'))
        if len(key) == KEY_SIZE:
            return key
    raise LinkError(
        f'{path} holds no key (expected {2 * KEY_SIZE} hexadecimal digits, got {len(text)} bytes '
        'of something else). Copy it again, or remove it and start the nodes again.'
    )
