# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records as they are read: which there are, and where they stood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import re
from typing import Any, Final, get_args, TypeAlias, TypeVar

from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.channel import Channel


@frozen
class ContractDescription:
    """The contract that one node was configured with; see ``ContractDescription.msg``."""

    node: str
    role: str
    contract: str
    contract_version: str
    digest: str
    software_version: str
    task_distribution: str
    task_version: str
    text: str


#: Topic of each kind of record, below the namespace of its agent.
TOPICS: Final[Mapping[type, str]] = {
    ActuationEvidence: 'boundary/actuation_evidence',
    ContractDescription: 'boundary/contract',
    EpisodeLabel: 'boundary/episode_label',
    EpisodeStatus: 'boundary/episode_status',
    GateDecision: 'boundary/gate_decision',
    PrivilegedObservation: 'boundary/privileged_observation',
    Transition: 'boundary/transition',
}

Record: TypeAlias = (
    Transition
    | GateDecision
    | PrivilegedObservation
    | ActuationEvidence
    | EpisodeStatus
    | EpisodeLabel
    | ContractDescription
)

R = TypeVar('R', bound=Record)

#: Version of messages and records, as ``StepId.msg`` says it: major, minor.
FORMAT = 1, 1

RECORD_CLASSES: tuple[type[Record], ...] = get_args(Record)

#: The class of each message type that is read as a record, in whatever namespace its topic is.
RECORDS: Mapping[str, type[Record]] = {
    f'boundary_env_ros/msg/{cls.__name__}': cls for cls in RECORD_CLASSES
}


def format_in(text: str | None) -> tuple[int, int] | None:
    """Return a format that is written as ``major.minor``, or as the major alone; None if none."""
    found = re.fullmatch(r'(\d{1,9})(?:\.(\d{1,9}))?', text or '')
    return None if found is None else (int(found[1]), int(found[2] or 0))


class AnotherFormat(RecordError):
    """Raised when a record is of another major format."""

    def __init__(self, place: str, found: tuple[int, int]) -> None:
        super().__init__(
            f'{place} has records of another format (expected {FORMAT[0]}, got {found[0]}). '
            f'Read it with {"a later" if found > FORMAT else "the earlier"} version of '
            'boundary_env_ros.'
        )


def match_format(found: tuple[int, int], place: str, unlike: Unlike) -> None:
    """
    Count a format in what the records of a place are unlike.

    Raises
    ------
    AnotherFormat
        If it is of another major.

    """
    if found[0] != FORMAT[0]:
        raise AnotherFormat(place, found)
    unlike.exact = found == FORMAT
    if found > FORMAT:
        unlike.add((), ['format {}.{}'.format(*found)])


@dataclass(slots=True)
class Entry:
    """
    One record and where it stands.

    Attributes
    ----------
    record
        The record.
    topic
        Topic that it was published on; empty for a transition alone.
    log_time
        When the recorder had it, nanoseconds on the clock of the run.

    """

    record: Record
    topic: str
    log_time: int


#: Class of the records that messages are read as; None for objects with their fields.
As: TypeAlias = type | None

#: What reads the messages of a topic.
DecoderFor: TypeAlias = Mapping[As, Callable[[bytes], Any]]


@dataclass(slots=True)
class Message:
    """
    One recorded message of any topic.

    Attributes
    ----------
    topic, type
        Topic and type.
    log_time, publish_time
        When it was received and published, nanoseconds; None: the bag does not say when it was
        published.
    data
        The serialized message.

    """

    topic: str
    type: str
    log_time: int
    publish_time: int | None
    data: bytes
    _decoder_for: DecoderFor

    def decode(self, cls: As = None) -> Any:
        """
        Return an object with the attributes of the message.

        Parameters
        ----------
        cls
            Class of the object, one that mirrors the message; None: any that has its fields.

        Raises
        ------
        RecordError
            If the bytes are no such message, or the definition is not in the ``.msg`` form.

        """
        try:
            return self._decoder_for[cls](self.data)
        except RecordError as error:
            raise RecordError(
                f'A message cannot be read (expected messages of type {self.type} on '
                f'{self.topic}, got {str(error).rstrip(".")}). Record them again.'
            ) from error


@frozen
class Unreadable:
    """
    A record that could not be read.

    Attributes
    ----------
    place
        File and number.
    why
        What is wrong with it.

    """

    place: str
    why: str


#: Gets channel, log time, publish time and bytes of a message.
Follow: TypeAlias = Callable[[Channel, int, int, bytes], None]

Piece: TypeAlias = Entry | Message | Unreadable
