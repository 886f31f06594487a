# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records as they are read: which there are, where they stood, what a source of them can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
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


class RecordSource(ABC):
    """
    The records of one run, to be read as often as one likes.

    Attributes
    ----------
    path
        What was opened.

    """

    path: Path

    @property
    @abstractmethod
    def tear(self) -> str:
        """
        Return where and why the records end before their end; empty if they are whole.

        Exact once the records were read through.
        """

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Return the log times between which a recovery found nothing, nanoseconds."""
        return ()

    @property
    def unlike(self) -> Unlike:
        """Return in what the records that were read last are unlike what they are here."""
        return Unlike()

    @property
    def as_recorded(self) -> bool:
        """Return whether our recorder wrote them, which says what it loses."""
        return True

    @property
    def complete(self) -> bool:
        """Return whether the records are whole: closed by their writer, not torn by a crash."""
        return not self.tear

    @abstractmethod
    def read(
        self,
        classes: Collection[type[Record]],
        topics: Collection[str] | None,
        follow: Follow | None = None,
    ) -> Iterator[Piece]:
        """Yield the records of some classes and the messages of some topics (None: of all)."""

    def entries(self, *classes: type[Record]) -> Iterator[Entry]:
        """
        Yield the records of some classes (of all, if none is named), each with its place.

        Raises
        ------
        RecordError
            If something is not what it claims to be; it names the place. What merely ends too
            early is no error, see :attr:`tear`.

        """
        for piece in self.read(classes or RECORD_CLASSES, ()):
            if isinstance(piece, Unreadable):
                raise RecordError(f'{piece.place}: {piece.why}')
            if isinstance(piece, Entry):
                yield piece

    def messages(self, topics: Collection[str] | None = None) -> Iterator[Message]:
        """
        Yield the messages of some topics (of all, for None), to be decoded one by one.

        Raises
        ------
        RecordError
            If the source holds no messages (one transition), or is damaged.

        """
        return (piece for piece in self.read((), topics) if isinstance(piece, Message))

    def pieces(
        self, topics: Collection[str] = (), follow: Follow | None = None
    ) -> Iterator[Piece]:
        """
        Yield every record, and the messages of some topics, as they follow each other.

        What cannot be read is yielded as what it is, and what follows it too. ``follow`` gets
        every message of a bag.
        """
        records = 0
        try:
            for piece in self.read(RECORD_CLASSES, topics, follow):
                records += not isinstance(piece, Message)
                yield piece
        except AnotherFormat:
            raise  # nothing is wrong with the record
        except RecordError as error:
            yield Unreadable(place=f'behind record {records}', why=str(error))

    @abstractmethod
    def topics(self) -> Mapping[tuple[str, str], int]:
        """
        Return the number of messages by topic and type.

        Immediate for a bag that was closed; else the source is read through.

        Raises
        ------
        RecordError
            If it is damaged.

        """

    def records(self, *classes: type[R]) -> Iterator[R]:
        """Yield the records of some classes (of all, if none is named); see :meth:`entries`."""
        wanted: Any = classes
        found: Iterator[Any] = self.entries(*wanted)
        return (entry.record for entry in found)

    def transitions(self) -> Iterator[Transition]:
        """
        Yield the transitions.

        Raises
        ------
        RecordError
            If there is none: it is the wrong bag.

        """
        none = True
        for transition in self.records(Transition):
            none = False
            yield transition
        if none:
            raise RecordError(self._without_transitions())

    def _without_transitions(self) -> str:
        counts = self.topics()
        topics = ', '.join(f'{name} ({kind})' for name, kind in list(counts)[:5])
        found = f'{sum(counts.values())} messages on {len(counts)} topics'
        torn = f'; {self.tear}' if self.tear else ''
        return (
            f'Expected transitions (boundary_env_ros/msg/Transition) in {self.path}, got '
            f'{found}{": " + topics if topics else ""}{torn}. '
            'Record the transition topic of the environment too.'
        )
