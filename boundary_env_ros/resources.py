# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where the shipped contracts, parameter files and launch files are.

They stand once, at the top of the repository, and are installed under
``<prefix>/share/boundary_env_ros``, where ROS expects them. The first of these places that exists
is the share, and the only one: files of two versions do not mix.

1. the source tree that this module runs from (a checkout, an editable install);
2. the prefix that this module is installed under (pip, colcon, Debian package);
3. the prefix of the interpreter, and the one of ``pip install --user``;
4. the prefixes of ``AMENT_PREFIX_PATH``, in their order.

Entry points are found here too. No ROS is needed.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
import os
from pathlib import Path
import site
import sys

from boundary_env_ros.errors import BoundaryError

_NAME = 'boundary_env_ros'
# From the package up to its prefix: site-packages, python3.x, lib, prefix. Debian's Python and
# `pip install --target` have fewer steps or other names, but never more.
_STEPS_TO_PREFIX = 4


def share_file(name: str) -> Path:
    """
    Find a file that ships with the package.

    Parameters
    ----------
    name
        Path relative to the top of the repository, with ``/``: ``config/warehouse_cart.yaml``.

    Returns
    -------
    Path
        An existing file. It may be a link into a workspace: do not write to it.

    Raises
    ------
    BoundaryError
        If it is not there.

    """
    path = share_directory() / name
    if not path.is_file():
        raise BoundaryError(f'{path} is missing. Reinstall the package.')
    return path


def share_directory() -> Path:
    """
    Find the directory that holds the shipped files.

    Returns
    -------
    Path
        The top of a source tree, or ``<prefix>/share/boundary_env_ros``.

    Raises
    ------
    BoundaryError
        If there is none; the message names the places.

    """
    # Not resolved: the links of a symlink install lead out of the prefix that they stand in.
    package = Path(__file__).parent
    environment = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    prefixes = [
        *list(package.parents)[:_STEPS_TO_PREFIX],
        Path(sys.prefix),
        Path(site.getuserbase()),
        *(Path(entry) for entry in environment if entry),
    ]
    places = [package.parent, *(prefix / 'share' / _NAME for prefix in prefixes)]
    for place in places:
        if (place / 'package.xml').is_file():
            return place
    looked = ''.join(f'\n  {place}' for place in dict.fromkeys(places))
    raise BoundaryError(
        f'The shared files of {_NAME} are missing: none of these directories has its package.xml.'
        f'{looked}\nReinstall the package.'
    )


def entry_points(group: str, name: str | None = None) -> metadata.EntryPoints:
    """
    Return the installed entry points of a group, and of a name if one is given.

    To look for them is a third of loading a contract. So it is done once, and again when
    a folder that Python imports from has changed, as it does when something is installed.
    """
    folders = tuple((folder, _changed(folder)) for folder in sys.path)
    found = _entry_points(group, folders)
    return found if name is None else found.select(name=name)


@lru_cache(maxsize=8)
def _entry_points(
    group: str, _folders: tuple[tuple[str, int | None], ...]
) -> metadata.EntryPoints:
    return metadata.entry_points(group=group)


def _changed(folder: str) -> int | None:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return None
