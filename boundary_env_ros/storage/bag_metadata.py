# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``metadata.yaml`` of a rosbag2 folder, version 9, as ROS 2 Jazzy writes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

import yaml

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.channel import Channel, Contents
from boundary_env_ros.storage.disk_errors import disk_error

#: Name of the file in the folder of a bag.
METADATA: Final = 'metadata.yaml'

VERSION: Final = 9

_TOP: Final = 'rosbag2_bagfile_information'

#: What may stand under a key of a bag that is read here.
_READ: Final = {'storage_identifier': ('mcap', 'sqlite3'), 'compression_format': ('zstd',)}

#: ``starting_time`` of a bag without messages, as rosbag2 writes it.
NEVER: Final = 2**63 - 1

#: What an MCAP channel is said of besides: offers of its publishers, and the hash of its type.
QOS: Final = 'offered_qos_profiles'
TYPE_HASH: Final = 'topic_type_hash'

#: What a recorded publisher offered, key by key as rosbag2 writes it.
Qos: TypeAlias = Mapping[str, object]

# The C implementation is much faster; without libyaml there is only the other one.
_Dumper: type[yaml.SafeDumper] = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


def qos_text(profiles: Sequence[Qos]) -> str:
    """Return QoS profiles as they stand in the ``offered_qos_profiles`` of an MCAP channel."""
    return _dump(list(profiles)) if profiles else ''


def qos_of_text(text: str) -> list[Qos]:
    """Return the QoS profiles of an MCAP channel; none if they are not those of this version."""
    try:
        loaded = size_limits.load_yaml(text, QOS)
    except RecordError:
        return []
    if not isinstance(loaded, list):
        return []
    # Up to Iron rosbag2 wrote numbers.
    return [p for p in loaded if isinstance(p, dict) and isinstance(p.get('history'), str)]


def metadata_text(
    files: Mapping[str, Contents], custom_data: Mapping[str, str], ros_distro: str
) -> str:
    """
    Return the content of ``rosbag2_bagfile_information``.

    An MCAP file repeats it in its own metadata, for itself alone.

    Parameters
    ----------
    files
        What is in the storage files, by their names, in their order.
    custom_data
        Anything else to keep with the bag.
    ros_distro
        ROS distribution that the messages are from.

    """
    counts: Counter[str] = Counter()
    channels: dict[str, Channel] = {}
    for contents in files.values():
        for channel, count in contents.counts.items():
            counts[channel.topic] += count
            channels[channel.topic] = channel
    return _dump(
        {
            'version': VERSION,
            'storage_identifier': 'mcap',
            **_period(files.values()),
            'topics_with_message_count': [
                {
                    'topic_metadata': {
                        'name': topic,
                        'type': channel.type,
                        'serialization_format': 'cdr',
                        'offered_qos_profiles': qos_of_text(channel.metadata.get(QOS, '')),
                        'type_description_hash': channel.metadata.get(TYPE_HASH, ''),
                    },
                    'message_count': counts[topic],
                }
                for topic, channel in channels.items()
            ],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': list(files),
            'files': [{'path': name, **_period([found])} for name, found in files.items()],
            'custom_data': dict(custom_data) or None,
            'ros_distro': ros_distro,
        }
    )


def folder_text(metadata: str) -> str:
    """Return the text of ``metadata.yaml`` for what :func:`metadata_text` returned."""
    lines = ''.join(f'  {line}\n' for line in metadata.splitlines())
    return f'{_TOP}:\n{lines}'


def named_files(folder: Path) -> list[Path]:
    """
    Return the files of a bag in the order of its metadata; none if it has no metadata.

    Raises
    ------
    RecordError
        If the metadata is not readable, or a file of it is missing.

    """
    information = information_of(folder)
    names = information.get('relative_file_paths', [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _no_metadata(folder / METADATA, f'relative_file_paths: {str(names)[:60]}')
    for key, known in _READ.items():
        got = information.get(key) or known[0]
        if got not in known:
            raise RecordError(
                f'{folder} cannot be read (expected the {key} {" or ".join(known)}, got '
                f'{str(got)[:60]!r}). Convert it with `ros2 bag convert`.'
            )
    # Old bags have the name of their folder in front.
    files = [folder / PurePosixPath(name).name for name in names]
    for file in files:
        if not file.is_file():
            raise RecordError(
                f'{file.name}, which the metadata of {folder} names, is missing. '
                'Copy the bag with all its files.'
            )
    return files


def in_order(file: Path) -> tuple[str, int]:
    """Return the key by which files of a bag are sorted: the tenth comes after the ninth."""
    name, _, number = file.stem.rpartition('_')
    return (name, int(number)) if number.isdecimal() else (file.stem, -1)


def information_of(folder: Path) -> dict[str, Any]:
    """
    Return ``rosbag2_bagfile_information`` of a bag; empty if it has no metadata.

    Raises
    ------
    RecordError
        If it cannot be read.

    """
    metadata = folder / METADATA
    with disk_error(f'{metadata} cannot be read'):
        try:
            loaded = size_limits.load_yaml(
                size_limits.read_file(metadata, size_limits.TEXT), metadata
            )
        except FileNotFoundError:
            return {}
    information = loaded.get(_TOP) if isinstance(loaded, dict) else None
    if not isinstance(information, dict):
        raise _no_metadata(metadata, f'{str(loaded)[:60]}')
    return information


def _no_metadata(metadata: Path, got: str) -> RecordError:
    return RecordError(
        f'{metadata} is not the metadata of a bag ({got}). Name the .mcap file itself.'
    )


def _period(files: Collection[Contents]) -> dict[str, object]:
    start = min((file.start for file in files if file.start is not None), default=NEVER)
    end = max((file.end for file in files if file.end is not None), default=NEVER)
    return {
        'duration': {'nanoseconds': end - start},
        'starting_time': {'nanoseconds_since_epoch': start},
        'message_count': sum(file.messages for file in files),
    }


def _dump(data: object) -> str:
    # A wide line keeps scalars on one line, so that indenting the text cannot change its meaning.
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=2**20)
