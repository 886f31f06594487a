# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what runs left to a data set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.records.episode import agreed, EpisodeLabel
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.episodes import Episode, Key, without_process
from boundary_env_ros.evidence.export.complete import Repairs
from boundary_env_ros.evidence.export.dataset import write_dataset, write_manifest
from boundary_env_ros.evidence.export.dataset_steps import EpisodeStream, Gaps
from boundary_env_ros.evidence.export.formats import FORMATS, MOST_REPAIRED, OF_RECORDS, OF_STEPS
from boundary_env_ros.evidence.export.layout import Layout
from boundary_env_ros.evidence.export.writer import StepWriter
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import new_folder
from boundary_env_ros.storage.recorded_images import RecordedImages


@frozen
class Exported:
    """
    What became of an export.

    Attributes
    ----------
    counts
        How many records of each kind are in it; empty for the layout of another project.
    unreadable
        Records that are not in it, since they could not be read; the first few.
    episodes, steps
        How many are in the layout of another project; 0 for records alone.
    left_out
        What is in the record and not in that layout, one sentence each.

    """

    counts: Mapping[str, int] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    episodes: int = 0
    steps: int = 0
    left_out: tuple[str, ...] = ()


@frozen
class Wanted:
    """
    Which episodes are wanted, and how.

    Attributes
    ----------
    labels
        ``success``, ``failure`` or ``unclear``, as people said of them, or, where nobody said
        anything, as they ended; empty: anything.
    clients
        Names of the policies that acted in them; empty: any.
    episodes
        Their numbers in the run, from 1, or how their ids begin; empty: all.
    options
        Of the writer of the format.
    most_repaired
        Greatest share of the steps that may be trimmed or filled.

    """

    labels: Collection[str] = ()
    clients: Collection[str] = ()
    episodes: Collection[str] = ()
    options: Mapping[str, bool] = field(default_factory=dict)
    most_repaired: float = MOST_REPAIRED

    def has(self, episode: Episode, labels: Sequence[EpisodeLabel]) -> bool:
        """Return whether an episode, which has these labels, is wanted."""
        people = agreed(labels)
        label = episode.ending if people is None else people.name.lower()
        return (
            (not self.labels or label in self.labels)
            and (not self.clients or without_process(episode.client) in self.clients)
            and (not self.episodes or any(_is_named(episode, name) for name in self.episodes))
        )

    def refuse_absent(self, episodes: Collection[Episode]) -> None:
        """Raise RecordError for an episode that is wanted by name and is in no run."""
        for name in self.episodes:
            if not any(_is_named(episode, name) for episode in episodes):
                raise RecordError(
                    f'No such episode (expected 1 to {len(episodes)}, or at least {_PREFIX} first '
                    f'characters of an id, got {name!r}). `boundary-env episodes list RUN` has '
                    'them.'
                )

    def __str__(self) -> str:
        asked = {'label': self.labels, 'client': self.clients, 'episode': self.episodes}
        return ', '.join(f'{name} {" or ".join(some)}' for name, some in asked.items() if some)


#: Characters of an id that distinguish it from a number of an episode.
_PREFIX = 6


def _is_named(episode: Episode, name: str) -> bool:
    id_ = episode.key[1]
    return name == str(episode.number) or (len(name) >= _PREFIX and id_.startswith(name))


def export_runs(
    paths: Sequence[Path],
    out: Path,
    format: str,  # noqa: A002 - the word of the command
    *,
    wanted: Wanted | None = None,
    progress: Progress | None = None,
) -> Exported:
    """
    Write the records of runs as a data set.

    Memory does not grow with the runs; for another project, an episode is held at a time.

    Parameters
    ----------
    paths
        Run folders, bags or ``.mcap`` files; several for another project, all under one contract.
    out
        A place where nothing is.
    format
        ``parquet`` or ``jsonl``: the records as they are. ``lerobot`` or ``minari``: the steps as
        that project has them, written by it.
    wanted
        Which episodes, and how; default: all.
    progress
        Called with the number of records that were read, and of how many, if known. For another
        project they are read once for the labels, and once for each agent.

    Raises
    ------
    RecordError
        If there are no records at a path, or none that the format can hold, no episode is wanted,
        too many steps lack something, something is at ``out``, or it cannot be written.
    MissingDependency
        If what the format needs is not installed.

    """
    if format not in FORMATS:
        raise RecordError(f'Unknown format (expected {", ".join(FORMATS)}, got {format!r}).')
    runs, wanted = [Run(path, progress) for path in paths], wanted or Wanted()
    if format not in OF_RECORDS:
        return _export_steps(runs, out, format, wanted)
    if len(runs) > 1 or str(wanted):
        raise RecordError(
            f'{format} has the records of one run as they are (expected one run and no filter). '
            f'Choose among episodes and join runs as {" or ".join(OF_STEPS)}.'
        )
    (run,) = runs
    counts = write_dataset(
        out, format, run.entries(), contract=run.contract_text(), tear=lambda: run.source.tear
    )
    return Exported(counts=counts, unreadable=tuple(run.unreadable))


def _export_steps(runs: Sequence[Run], out: Path, format_: str, wanted: Wanted) -> Exported:
    contract = _one_contract(runs, format_)
    images, left_out = _images_of(runs, contract)
    documents = [group.name for group in contract.documents]
    documents += [spec.name for spec in contract.observation if spec.is_document]
    left_out += [f'the documents of {name!r}' for name in documents]
    episodes = steps = 0
    with new_folder(out, 'a new data set') as draft, ExitStack() as files:
        layout, gaps, repairs = Layout(contract, images), Gaps(), Repairs()
        # First of all: what is not installed is said before anything is read.
        make = FORMATS[format_].writer()
        writer: StepWriter = make(draft, out.name, layout, **wanted.options)
        files.callback(writer.release)
        chosen = [_chosen(run, wanted) for run in runs]
        wanted.refuse_absent([episode for some in chosen for episode in some.all])
        writer.begin(
            [episode for some in chosen for episode in some.episodes.values()],
            labelled=any(some.labels for some in chosen),
        )
        for run, some in zip(runs, chosen, strict=True):
            for agent in contract.agents:
                pictures = RecordedImages(run.source, images) if images else None
                stream = EpisodeStream(contract, agent, images, pictures, gaps, some.labels)
                found = stream.follow(run.entries(), some.episodes)
                for step in repairs.complete(found, layout):
                    writer.write(step)
                    steps += 1
                    episodes += step.last
        if not steps:
            asked = f' of those that are wanted ({wanted})' if str(wanted) else ''
            raise RecordError(
                f'{", ".join(str(run.path) for run in runs)} has no step{asked}. There is nothing '
                f'that {format_} could hold{_lacking(repairs)}.'
            )
        repairs.refuse_beyond(wanted.most_repaired)
        writer.finish()
        left_out += [*_gap_sentences(gaps), *repairs.sentences()]
        figures = {'episodes': episodes, 'steps': steps, 'left_out': left_out}
        figures['runs'] = [str(run.path) for run in runs]
        write_manifest(draft, runs[0].contract_text(), {'format': format_, **figures})
    return Exported(
        unreadable=tuple(place for run in runs for place in run.unreadable),
        episodes=episodes,
        steps=steps,
        left_out=tuple(left_out),
    )


def _one_contract(runs: Sequence[Run], format_: str) -> Contract:
    """Return the contract that all runs were made under."""
    first, *others = (run.contract() for run in runs)
    for run, other in zip(runs[1:], others, strict=True):
        if digest_of(other) != digest_of(first):
            raise RecordError(
                f'{run.path} was made under another contract (expected {first.name} '
                f'{digest_of(first)[:19]} as {runs[0].path}, got {other.name} '
                f'{digest_of(other)[:19]}). Export them apart.'
            )
    if not first.action:
        raise RecordError(
            f'{runs[0].path} has no commands of numbers (expected those for {format_}, got '
            f'documents alone). Export it as {" or ".join(OF_RECORDS)}.'
        )
    return first


@frozen
class _Chosen:
    """The episodes of a run, those that are wanted, and the labels of all."""

    all: Collection[Episode]
    episodes: Mapping[Key, Episode]
    labels: Mapping[Key, Sequence[EpisodeLabel]]


def _chosen(run: Run, wanted: Wanted) -> _Chosen:
    # A label may stand far behind the episode that it is about, or in the index; a client too.
    read = run.episodes()
    found = {step.episode.key: step.episode for step in read}
    labels = read.labels
    return _Chosen(
        all=found.values(),
        episodes={k: e for k, e in found.items() if wanted.has(e, labels.get(k, ()))},
        labels=labels,
    )


def _images_of(runs: Sequence[Run], contract: Contract) -> tuple[tuple[FieldSpec, ...], list[str]]:
    """Return the image fields whose pixels the runs have, and what is to be said of the others."""
    types = set.intersection(*(set(run.topics.values()) for run in runs))
    wanted = [spec for spec in contract.observation if spec.is_image]
    absent = [spec for spec in wanted if spec.type not in types]
    sentences = [
        f'the image field {spec.name!r}: the record has no messages of {spec.topic}'
        for spec in absent
    ]
    return tuple(spec for spec in wanted if spec not in absent), sentences


def _lacking(repairs: Repairs) -> str:
    found = '; '.join(repairs.sentences())
    return f' ({found})' if found else ''


def _gap_sentences(gaps: Gaps) -> list[str]:
    sentences = []
    if gaps.without_steps:
        sentences.append(f'{gaps.without_steps} episodes that ended before their first step')
    if gaps.lost_steps:
        sentences.append(f'{gaps.lost_steps} steps that are missing in the record between others')
    for name, count in gaps.lost_images.items():
        why = gaps.why_lost.get(name, 'the record refers to them and does not have them')
        sentences.append(f'{count} images of {name!r}: {why}')
    return sentences
