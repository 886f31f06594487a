# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One run on its way to the disk: bag, the first transition as text, index of episodes.

Messages come as the bytes that were on the wire and go to the bag untouched. Only transitions,
states of the episode, labels, the numbers of the gate's decisions and simulated time are looked
at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
import json
import time
from typing import Any, TypeGuard

from boundary_env_ros.core.authentication import sender_of
from boundary_env_ros.core.environment.reset import SavedState
from boundary_env_ros.core.environment.silence import PATIENCE
from boundary_env_ros.core.records.endings import ENVIRONMENT_LOST
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import RecordError, RequestRejected, ResultCode
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.bag_metadata import Qos
from boundary_env_ros.storage.cdr import DecodedMessage, Decoder, record_decoder
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.disk_errors import check_free_space
from boundary_env_ros.storage.episode_index import EndingStands, EpisodeRow, labels_of
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.mcap_log import McapLog, sync
from boundary_env_ros.storage.record_chain import RecordChain
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_watch import EnvironmentWatch, LossCount

# Notices that wait for the log: a flood of unreadable messages is counted, and no more.
_MOST_NOTICES = 100

_OWN = 'boundary_env_ros/msg'


class RunRecording:
    """
    Writes the files of one run.

    For one thread at a time, but its figures and :meth:`notices` may be looked at from another. A
    write that fails leaves what was written before readable; the caller then calls
    :meth:`close` and records no more.

    Parameters
    ----------
    run
        Folder of the run, made just before.
    contract
        The contract of the run, which is copied to it.
    definitions
        Definition and hash of each message type that may come, as
        :func:`boundary_env_ros.storage.definitions.definition_of` returns them.
    recorder
        Name of the recording node, which declares the ending of an episode whose environment died.
    custom_data
        Anything else to keep in the metadata of the bag.
    ros_distro
        ROS distribution of the messages.
    split_size
        Bytes after which the bag goes on in another file; 0: never. See :class:`McapLog`.
    min_free_space
        Bytes to leave free on the disk: when there are fewer, :meth:`flush` fails, and
        :meth:`close` completes all files. 0: until it is full.
    sign
        Returns signature and public key for the head of the chain over the bag; None: it is not
        signed. See :mod:`boundary_env_ros.storage.signing`.
    system_time
        Nanoseconds of system time, which the index is stamped with.

    Attributes
    ----------
    run
        As given.
    transitions
        Number of transitions written.

    Raises
    ------
    RecordError
        If a file is there already, or cannot be made, or the disk is too full.

    """

    def __init__(
        self,
        run: RunFolder,
        *,
        contract: LoadedContract,
        definitions: Mapping[str, tuple[str, str]],
        recorder: str,
        custom_data: Mapping[str, str] | None = None,
        ros_distro: str = '',
        split_size: int = 0,
        min_free_space: int = 0,
        sign: Callable[[bytes], tuple[bytes, bytes]] | None = None,
        system_time: Callable[[], int] = time.time_ns,
    ) -> None:
        self.run = run
        self._min_free_space = min_free_space
        check_free_space(run.path, min_free_space, 'Free space, or choose another place.')
        self._contract = contract.contract
        self._definitions = definitions
        self._system_time = system_time
        self._sim_time = 0
        self._losses = LossCount()
        self._lost_on: dict[str, int] = {}
        self._recorder = recorder
        patience = PATIENCE * self._contract.safety.environment_timeout
        self._watches = {
            agent: EnvironmentWatch(declarer=recorder, patience=patience)
            for agent in self._contract.agents
        }
        self._handlers: dict[str, tuple[Decoder[Any], Callable[[Any, ClockReading], None]]] = {}
        self._contracts: dict[str, Decoder[DecodedMessage]] = {}
        self._latest = ''
        self._contradicted: set[str] = set()
        self._notices: deque[str] = deque()
        write_atomically(run.contract, contract.text.encode())
        self._chain = RecordChain(sign)
        self._bag = McapLog(
            run.bag,
            custom_data=custom_data,
            ros_distro=ros_distro,
            split_size=split_size,
            chain=self._chain,
        )
        self.transitions = 0
        self._first_kept = False
        self._episodes = EpisodeStore.create(run.episodes)

    @property
    def messages(self) -> int:
        """Return the number of messages in the bag, without those that a failure has taken."""
        return self._bag.messages - self._bag.lost

    @property
    def size(self) -> int:
        """Return the size of the bag as it is now, bytes."""
        return self._bag.size

    @property
    def lost(self) -> int:
        """Return the number of messages that are known to be missing."""
        return self._losses.lost + self._bag.lost

    @property
    def head(self) -> str:
        """Return the head of the chain over the bag, hexadecimal: once closed, for all of it."""
        return self._chain.head.hex()

    @property
    def episode_runs(self) -> bool:
        """Return whether there is an episode of which no ending is known."""
        return any(watch.episode_runs for watch in self._watches.values())

    def notices(self) -> Sequence[str]:
        """Return what an operator should know though the recording goes on; each once."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def add_topic(self, name: str, type_name: str, qos: Sequence[Qos] = ()) -> None:
        """
        Declare a topic; to be done once, before its first message.

        Parameters
        ----------
        name, type_name
            Fully qualified name, and type.
        qos
            What its publishers offer.

        Raises
        ------
        RecordError
            If the topic is there already, or the bag is closed or broken.

        """
        definition, type_hash = self._definitions[type_name]
        self._bag.add_topic(name, type_name, definition, type_hash, qos)
        handlers: Mapping[str, tuple[type, Callable[[Any, ClockReading], None]]] = {
            f'{_OWN}/Transition': (Transition, self._on_transition),
            f'{_OWN}/EpisodeStatus': (EpisodeStatus, self._on_status),
            f'{_OWN}/EpisodeLabel': (EpisodeLabel, self._on_label),
            # Each gate counts its own.
            f'{_OWN}/GateDecision': (
                DecodedMessage,
                lambda decision, now: self._losses.decision(
                    decision.sequence, name, sender_of(decision.authentication)
                ),
            ),
            'rosgraph_msgs/msg/Clock': (DecodedMessage, self._on_clock),
        }
        if type_name in handlers:
            cls, handler = handlers[type_name]
            self._handlers[name] = record_decoder(cls, type_name, definition), handler
        elif type_name == f'{_OWN}/ContractDescription':
            self._contracts[name] = record_decoder(DecodedMessage, type_name, definition)

    def write(
        self,
        topic: str,
        data: bytes,
        received: int,
        published: int,
        now: ClockReading,
        record: object = None,
    ) -> None:
        """
        Write one message, and what follows from it.

        Under simulated time the bag has the time of the last ``/clock`` before the message, since
        the middleware knows system time only.

        Parameters
        ----------
        topic
            A topic that was added.
        data
            The message as it was on the wire.
        received, published
            When that happened, nanoseconds of system time; 0 if it is not known.
        now
            The present.
        record
            What the message says, if that is known; else it is decoded.

        Raises
        ------
        RecordError
            If it cannot be written: the recording is over.

        """
        if topic in self._handlers:
            lost = self._losses.lost
            self._handle(topic, data, now, record)
            self._note_lost(topic, self._losses.lost - lost)
        if self._contract.sim_time:
            received = published = self._sim_time or now.ros.nanoseconds
        else:
            received = received or self._system_time()
        self._bag.write(topic, data, received, published or received)
        if topic in self._contracts:
            self._keep_contract(topic, data, published or received)

    def _keep_contract(self, topic: str, data: bytes, published: int) -> None:
        """Have what a node latched in every file of the bag."""
        try:
            node = self._contracts[topic](data).node
        except Exception as error:  # noqa: BLE001 - whatever a library makes of the bytes
            self._refuse(f'The contract cannot be read: {error}')
        else:
            self._bag.keep(topic, node, data, published)

    def add_lost(self, topic: str, number: int) -> None:
        """Add messages of a topic that got lost on their way here, as others have counted them."""
        self._losses.lost += number
        self._note_lost(topic, number)

    def _note_lost(self, topic: str, number: int) -> None:
        """Keep in the metadata of the bag what is missing, topic by topic."""
        if number:
            self._lost_on[topic] = self._lost_on.get(topic, 0) + number
            self._bag.note('lost', json.dumps(self._lost_on))

    def watch(self, now: ClockReading) -> EpisodeStatus | None:
        """
        Return an ending that a dead environment cannot declare, once for each episode; else None.

        That of another agent is returned by the next call. It is in the index already, and is to
        be published for all others. To be called several times within an ``environment_timeout``
        of the contract.

        Raises
        ------
        RecordError
            If it cannot be written: the recording is over.

        """
        for watch in self._watches.values():
            status = watch.poll(now)
            if status is not None:
                self._keep(status)
                self._flush_index()
                return status
        return None

    def label(
        self, episode_id: str, verdict: int, user: str, note: str, now: ClockReading
    ) -> tuple[EpisodeLabel, ...]:
        """
        Put into the index what a person says of an episode.

        Parameters
        ----------
        episode_id
            The episode; empty: the one that runs, or ended last.
        verdict
            Number of a :class:`Label`.
        user, note
            Who says so, and why.
        now
            The present.

        Returns
        -------
        tuple[EpisodeLabel, ...]
            A label for each agent that shares the episode, to be published for the bag.

        Raises
        ------
        RequestRejected
            If there is no such label or episode, or no user is named.
        RecordError
            If it cannot be written.

        """
        if verdict not in tuple(Label):
            known = ', '.join(f'{v.value} ({v.name})' for v in Label)
            raise RequestRejected(f'Expected a label out of {known}, got {verdict}.')
        if not user.strip():
            raise RequestRejected(
                '`user` is empty (expected the name of the person who labels the episode).'
            )
        wanted = episode_id or self._latest
        rows = [r for r in self._episodes.index.rows.values() if r.episode_id == wanted]
        if not rows:
            raise RequestRejected(
                f'Expected an episode of this run to label, got {wanted or "none was begun"}. '
                f'The run is {self.run.path}.',
                ResultCode.UNKNOWN_EPISODE,
            )
        labels = labels_of(rows, Label(verdict), user.strip(), note, now)
        for label in labels:
            self._episodes.label(label, now=self._system_time())
        return labels

    def keep_state(self, saved: SavedState) -> None:
        """Put into the index what a world gave of itself, to go on from later."""
        self._episodes.keep_state(saved, now=self._system_time())

    def flush(self, *, index: bool = True) -> None:
        """
        Hand what was written to the kernel, after which ``kill -9`` cannot take it any more.

        Parameters
        ----------
        index
            Whether the index too, which is made again from the bag if it lacks something.

        Raises
        ------
        RecordError
            If it cannot be written, or the disk is about to be full: the recording is over.

        """
        self._bag.flush()
        if index:
            self._flush_index()
        try:
            check_free_space(
                self.run.path,
                self._min_free_space,
                'All files are complete until here. Free space and record again.',
            )
        except RecordError as error:
            self._bag.note('over', str(error))
            raise

    def begin_sync(self) -> Callable[[], None]:
        """
        Return a function that waits until all that was flushed is on the disk.

        It is to be called once, from any thread, also while this one goes on to write, and raises
        ``OSError`` if the disk cannot keep it.

        Raises
        ------
        RecordError
            If the bag is broken: the recording is over.

        """
        descriptors = self._bag.unsynced()
        with suppress(FileNotFoundError):  # A database without a log waits by itself.
            descriptors.append(self._episodes.descriptor())
        return partial(sync, descriptors)

    def close(self) -> None:
        """
        Complete and close all files, each whatever becomes of the others.

        Raises
        ------
        RecordError
            If one could not be completed, the first of them.

        """
        failures = []
        self._chain.episodes = len(self._episodes.index.rows)
        for file in (self._bag, self._episodes):
            try:
                file.close()
            except RecordError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    # Records -------------------------------------------------------------------------------------

    def _on_clock(self, message: DecodedMessage, now: ClockReading) -> None:
        self._sim_time = message.clock.sec * NANOSECONDS + message.clock.nanosec

    def _on_transition(self, transition: Transition, now: ClockReading) -> None:
        self._losses.transition(transition.id)
        self.transitions += 1
        if not self._first_kept:
            self._first_kept = self.run.write_first_transition(transition)
        known = self._episodes.index.row(transition.id)
        if self._is_mine(known) and transition.truncated and transition.ending == known.ending:
            # An environment that hung and woke up says the same; the first word stands.
            transition = replace(transition, declared_by=known.declared_by)
        with self._index_errors(transition.id):
            self._episodes.index.add_step(transition, now=self._system_time())

    def _on_label(self, label: EpisodeLabel, now: ClockReading) -> None:
        try:
            # Ours comes back from the topic, and is passed over.
            self._episodes.label(label, now=self._system_time())
        except RecordError as error:
            self._notices.append(str(error))

    def _on_status(self, status: EpisodeStatus, now: ClockReading) -> None:
        if self._is_mine(status):
            return  # It comes back from the topic, and is in the index already.
        self._losses.status(status)
        watch = self._watches.get(status.id.agent)
        if watch is not None:
            watch.on_status(status, now)
        self._latest = status.id.episode_id or self._latest
        known = self._episodes.index.row(status.id)
        is_late = known is not None and known.done and not status.state.over
        if not is_late or self._is_mine(known):
            # Else it is merely older than the transition that has the ending.
            self._keep(status)

    def _is_mine(
        self, known: EpisodeStatus | EpisodeRow | None
    ) -> TypeGuard[EpisodeStatus | EpisodeRow]:
        """Return whether it is an ending that was declared here, for a dead environment."""
        ending = ENVIRONMENT_LOST, self._recorder
        return known is not None and (known.ending, known.declared_by) == ending

    def _keep(self, status: EpisodeStatus) -> None:
        """Bring the index up to date."""
        with self._index_errors(status.id):
            self._episodes.index.update(
                status, environment=self._contract.name, now=self._system_time()
            )

    def _flush_index(self) -> None:
        """Write the index; a process that locks it does not end the recording of the bag."""
        try:
            self._episodes.flush()
        except RecordError as error:  # The next flush writes all of it.
            self._notices.append(str(error))

    @contextmanager
    def _index_errors(self, step: StepId) -> Iterator[None]:
        """Report once that an episode is declared to have ended otherwise than at first."""
        try:
            yield
        except EndingStands as error:
            if step.episode_id not in self._contradicted:
                self._contradicted.add(step.episode_id)
                self._notices.append(str(error))

    def _refuse(self, why: str) -> None:
        """Take note of a message of which the bag will have the bytes, but text and index lack."""
        self._losses.lost += 1
        if len(self._notices) < _MOST_NOTICES:
            self._notices.append(why)

    def _handle(self, topic: str, data: bytes, now: ClockReading, record: object) -> None:
        decode, handler = self._handlers[topic]
        what = 'read'
        try:
            record = decode(data) if record is None else record
            what = 'kept'
            handler(record, now)
        except Exception as error:
            if isinstance(error.__cause__, OSError):
                raise  # the disk does not take it
            self._refuse(f'A message on {topic} cannot be {what}: {error}')
