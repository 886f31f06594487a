# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The records of a run as its judges need them, with its contract and which topic is which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import ActionSpec, Contract, TaskSpec
from boundary_env_ros.core.contract.paths import Message as Decoded
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.commands import extra_content
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.imported import imported_from, is_import
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import ActuationEvidence, Transition
from boundary_env_ros.core.sources.inputs import Input, Purpose
from boundary_env_ros.core.sources.listener import inputs_of
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.errors import (
    BoundaryError,
    ContractError,
    DigestMismatch,
    MissingDependency,
    RecordError,
)
from boundary_env_ros.evidence.episodes import Episodes
from boundary_env_ros.frozen import frozen, replace
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.contract_file import (
    installed_tasks,
    LoadedContract,
    loads,
    make_task,
    with_task_from,
)
from boundary_env_ros.storage.disk_errors import disk_error
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.records import (
    ContractDescription,
    Entry,
    Follow,
    Message,
    Piece,
    RECORDS,
    Unreadable,
)
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.yaml_text import MOST_BYTES

#: The distribution of this package, as :func:`.installed_tasks` spells it.
_OURS = 'boundary-env-ros'

#: Records that cannot be read, of which is kept why.
NAMED = 5

#: Called with the number of records that were read, and of how many, if that is known.
Progress: TypeAlias = Callable[[int, int | None], None]


@frozen
class RunTerms:
    """
    The contract that a record was made under.

    Attributes
    ----------
    contract, task
        The contract, and its task; None if they are not known.
    problem
        Why not, where that is the fault of the record.
    missing
        Why not, where that is for what is installed here.

    """

    contract: Contract | None = None
    task: Task | None = None
    problem: str = ''
    missing: str = ''


class Run:
    """
    What a run left: its folder, its bag, a file of the bag, or its first transition.

    Parameters
    ----------
    path
        One of them.
    progress
        Called with each record, whenever they are read; it begins again with each reading.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.path, self._progress = path, progress
        #: Where the records stand as they were recorded.
        self.source = open_records(path)
        #: How many records could not be read at the last reading, and the first few of them.
        self.not_read = 0
        self.unreadable: list[str] = []

    @property
    def is_alone(self) -> bool:
        """Return whether it is a file of one transition."""
        return self.path.is_file() and self.path.suffix == '.json'

    @cached_property
    def _counts(self) -> Mapping[tuple[str, str], int]:
        """What the source counts, asked for once: a torn file is read through for it."""
        return self.source.topics()

    @property
    def topics(self) -> Mapping[str, str]:
        """
        Return the type of each topic that has messages; empty if there are no raw messages.

        A topic of switches that did not move, or of evidence, is there too: silence says something
        on it.
        """
        there = {
            name: kind
            for (name, kind), messages in self._counts.items()
            if messages or kind == STOP_TYPE or RECORDS.get(kind) is ActuationEvidence
        }
        return there if set(there.values()) - {CHAIN_TYPE, *RECORDS} else {}

    # Records -------------------------------------------------------------------------------------

    def pieces(
        self, topics: Collection[str] = (), follow: Follow | None = None
    ) -> Iterator[Piece]:
        """Yield what :meth:`.Bag.pieces` does, and report the progress."""
        progress, done, total = self._progress, 0, None
        if progress is not None:
            counts = self._counts.items()
            total = sum(n for (_, kind), n in counts if kind in RECORDS) or None
        for piece in self.source.pieces(topics, follow):
            yield piece
            if progress is not None and not isinstance(piece, Message):
                done += 1
                progress(done, total)

    def entries(self) -> Iterator[Entry]:
        """Yield every record that can be read in its order, with its place."""
        self.not_read, self.unreadable = 0, []
        for piece in self.pieces():
            if isinstance(piece, Entry):
                yield piece
            elif isinstance(piece, Unreadable):
                self.not_read += 1
                if len(self.unreadable) < NAMED:
                    self.unreadable.append(f'{piece.place}: {piece.why}')

    def episodes(self, contract: Contract | None = None) -> Episodes:
        """
        Return the steps in the records, with what people said of the episodes later too.

        Parameters
        ----------
        contract
            For the events of each step; None: they are not wanted.

        """
        return Episodes(chain(self.entries(), labels_in_index(self.path)), contract)

    # Contract ------------------------------------------------------------------------------------

    def terms(self) -> RunTerms:
        """
        Return the contract: the copy in the folder, or the one in the bag.

        Raises
        ------
        RecordError
            If a copy that is there cannot be read.

        """
        text = self.contract_text()
        if not text:
            return RunTerms()
        where, task_from = f'the contract of {self.path}', self._task_from()
        try:
            contract = loads(
                text, source=where, pacing=self._pacing(), task_from=task_from or ('', '')
            ).contract
        except ContractError as error:
            problem = ' '.join(str(error).split())
            return RunTerms(problem=problem, missing='the contract is not valid')
        if task_from is None and contract.task.name:
            # Nothing says it: it is taken to be the version that is installed.
            installed = installed_tasks().get(contract.task.name)
            contract = contract if installed is None else with_task_from(contract, installed)
            first = self._first
            is_other = first is not None and digest_of(contract) != first.id.digest
            # A task of this package is of the version of the software that made the step.
            known = isinstance(first, Transition) and installed == (_OURS, first.software_version)
            if installed is None or (self.is_alone and is_other and not known):
                return RunTerms(missing=_undecided(contract.task))
        return with_task(contract)

    def contract(self) -> Contract:
        """
        Return the contract.

        Raises
        ------
        RecordError
            If there is none that is valid.

        """
        terms = self.terms()
        if terms.contract is None:
            why = f' that is valid ({terms.problem})' if terms.problem else ''
            raise RecordError(
                f'{self.path} has no contract{why}. Without it the meaning of its numbers is '
                'unknown. Name the run folder instead.'
            )
        return terms.contract

    def _task_from(self) -> tuple[str, str] | None:
        """Return the distribution and version that the task had, by the nodes of the record."""
        first = self._first
        if first is None:
            return None
        for node in self._nodes():
            if node.digest == first.id.digest:
                return node.task_distribution, node.task_version
        return None

    def _nodes(self) -> Iterator[ContractDescription]:
        """Yield what the nodes of the record say of their contract, as far as it can be read."""
        with suppress(RecordError):
            yield from self.source.records(ContractDescription)

    def contract_text(self) -> str:
        """
        Return the text of the contract; empty if it is not known.

        Raises
        ------
        RecordError
            If a copy that is there cannot be read.

        """
        run = folder_of(self.path)
        if run is not None:
            with disk_error(f'{run.contract} cannot be read'):
                return size_limits.read_file(run.contract, MOST_BYTES).decode(errors='replace')
        described = next(self._nodes(), None)
        return '' if described is None else described.text

    def _pacing(self) -> Pacing | None:
        """Return the pacing, which may have been chosen apart from the contract's file."""
        if self._first is not None:
            return self._first.pacing
        with suppress(BoundaryError):  # Without a step the digest of a node shows it.
            for node in self._nodes():
                return contract_of(node).contract.pacing
        return None

    def recorded(self, contract: Contract) -> Contract:
        """Return a contract under the pacing, and with the version of the task, of this run."""
        pacing = self._pacing()
        contract = contract if pacing is None else contract.paced(pacing)
        first, origin = self._first, self._task_from()
        then = contract if origin is None else with_task_from(contract, origin)
        return then if first is not None and digest_of(then) == first.id.digest else contract

    @cached_property
    def _first(self) -> Transition | EpisodeStatus | None:
        """Return the first transition; without one, the first announced state of an episode."""
        first: Transition | EpisodeStatus | None = None
        for piece in self.source.pieces():
            record = piece.record if isinstance(piece, Entry) else None
            if isinstance(record, Transition):
                return record
            if first is None and isinstance(record, EpisodeStatus):
                first = record
        return first

    def first_recorded(self) -> Transition | None:
        """
        Return the first transition that can be read; None if there is none.

        Raises
        ------
        RecordError
            If it was not recorded, but made from a bag afterwards: nothing can contradict it.

        """
        first = self._first
        if not isinstance(first, Transition):
            return None
        if is_import(first):
            raise RecordError(
                f'The steps of {self.path} were made of the bag {imported_from(first)} '
                'afterwards (expected recorded ones). No gate decided and no environment judged '
                'there: there is nothing to audit or to recompute.'
            )
        return first


def labels_in_index(path: Path) -> tuple[EpisodeLabel, ...]:
    """
    Return what people said of the episodes of a run, also when its bag was closed.

    Empty without an index that can be read.
    """
    around = (RunFolder(place) for place in (path, path.parent, path.parent.parent))
    run = next((run for run in around if run.bag.is_dir() and run.episodes.is_file()), None)
    if run is None:
        return ()
    try:
        with EpisodeStore.open(run.episodes) as store:
            return tuple(label for row in store.episodes() for label in row.labels)
    except RecordError:
        return ()


def with_task(contract: Contract | None) -> RunTerms:
    """Return a contract with its task, if that is installed in the version of the contract."""
    if contract is None:
        return RunTerms()
    task = contract.task
    installed = installed_tasks().get(task.name)
    if task.name and installed != (task.distribution, task.version):
        return RunTerms(contract=contract, missing=_missing(task, installed))
    try:
        return RunTerms(contract=contract, task=make_task(contract))
    except (ContractError, MissingDependency) as error:
        return RunTerms(contract=contract, missing=str(error))


def _missing(task: TaskSpec, installed: tuple[str, str] | None) -> str:
    got = f'got {" ".join(installed)} here' if installed else 'which is not installed here'
    origin = f'{task.distribution} {task.version}'
    return f'the task {task.name!r} of {origin} made this record, {got}: install {origin}'


def _undecided(task: TaskSpec) -> str:
    got = f'{task.distribution} {task.version} is' if task.version else 'none is'
    return (
        f'the steps have another digest than the contract: it is another file, or its task '
        f'{task.name!r} had another version ({got} installed here); audit the bag, which tells it'
    )


def contract_of(description: ContractDescription) -> LoadedContract:
    """
    Return the contract that a node has latched, under the pacing that gives it its digest.

    Raises
    ------
    ContractError
        If the text is no contract.
    DigestMismatch
        If none of its pacings has the digest.

    """
    where = f'the contract of {description.node}'
    loaded = loads(description.text, source=where)
    for pacing in (None, *Pacing):
        other = loads(description.text, source=where, pacing=pacing)
        if other.digest == description.digest:
            return other
    raise DigestMismatch(
        f'The contract of {description.node} has another meaning here (expected the digest '
        f'{description.digest}, got {loaded.digest}). Install the version of the task that it '
        'runs with.'
    )


def folder_of(path: Path) -> RunFolder | None:
    """Return the run folder that a path is, or lies in; None if there is none around it."""
    for place in (path, path.parent, path.parent.parent):
        run = RunFolder(place)
        alone = path.suffix == '.json' and place == path.parent
        if run.contract.is_file() and (run.bag.is_dir() or alone):
            return run
    return None


# Topics -----------------------------------------------------------------------------------------


#: What an agent reads where an emergency stop is pressed.
STOP = f'{Purpose.EMERGENCY.value} stop'


def wired(
    contract: Contract,
    agent: str,
    topics: Mapping[str, str],
    transforms: TransformFields | None = None,
) -> Mapping[str, Input]:
    """
    Return what one agent reads of a record, and what its gate published there, by label.

    Parameters
    ----------
    contract, agent
        The contract, and one of its agents.
    topics
        Type of each topic of the record.
    transforms
        Takes the transforms of the record, as its messages are read; None: they are not used.

    """
    named = _Named(contract, agent, topics)
    inputs = [*inputs_of(contract, named, transforms)]
    for group in contract.action:
        inputs.append(Input(Purpose.COMMAND, group.name, group.topic, group.type, _command(group)))
    for each in contract.documents:
        inputs.append(Input(Purpose.DOCUMENT, each.name, each.topic, STRING, _document))
    if stop := contract.safety.emergency_stop:
        inputs.append(Input(Purpose.EMERGENCY, 'stop', stop, STOP_TYPE, _pressed))
    return {i.label: replace(i, at=named.find(i.topic, i.type)) for i in inputs}


class _Named(dict[str, str]):
    """Name in the record of each topic of the contract; the contract's own where there is none."""

    def __init__(self, contract: Contract, agent: str, topics: Mapping[str, str]) -> None:
        super().__init__()
        self._contract, self._agent, self._topics = contract, agent, topics

    def __missing__(self, topic: str) -> str:
        return self.find(topic, '') or topic

    def find(self, topic: str, type_name: str) -> str:
        """Return the name of a topic in the record; empty if it is not there, or not one alone."""
        wanted = self._contract.topic_of(self._agent, topic).lstrip('/')
        found = [
            name
            for name, kind in self._topics.items()
            if same_topic(name, wanted) and type_name in ('', kind)
        ]
        exact = [name for name in found if name.lstrip('/') == wanted]
        if exact:
            return exact[0]
        return found[0] if len(found) == 1 else ''


def same_topic(name: str, wanted: str) -> bool:
    """Return whether a topic of a record may be one of the contract, in whatever namespace."""
    if name == wanted:
        return True
    wanted = wanted.lstrip('/')
    return name.lstrip('/') == wanted or name.endswith(f'/{wanted}')


def _command(group: ActionSpec) -> Callable[[Decoded], Reading]:
    values, besides = reader(group.source), extra_content(group)
    return lambda message: Reading(values=values(message), problem=besides(message))


def _document(message: Decoded) -> Reading:
    return Reading(document=str(message.data))


def _pressed(message: Decoded) -> Reading:
    return Reading(values=(float(bool(message.data)),))
