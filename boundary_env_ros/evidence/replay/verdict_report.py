# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What came out when a record was run again, by episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.evidence.plain import fields_of
from boundary_env_ros.evidence.record_difference import decided, Mismatch
from boundary_env_ros.frozen import frozen
from boundary_env_ros.terminal import many, table

#: Differences of one episode that are kept, and that are printed; the others are only counted.
KEPT, PRINTED = 200, 10

#: Reasons of one episode why something is not run again that are counted apart.
_REASONS = 20


@frozen
class ReplayDifference:
    """
    One place where something else came out.

    Attributes
    ----------
    step
        Step of the episode; of a decision outside of every step, the one that it names.
    sequence
        Number of the decision of the gate; None for what is said of the step itself.
    first
        The first field that differs.
    recorded, recomputed
        The decisions in words: verdict and reasons; empty for a step.
    dimension, by
        Where the command changed most, and by how much, in its unit; empty and None if it did not,
        or if only one of them published one.

    """

    step: int
    sequence: int | None
    first: Mismatch
    recorded: str = ''
    recomputed: str = ''
    dimension: str = ''
    by: float | None = None

    def __str__(self) -> str:
        place = f'step {self.step}'
        if self.sequence is not None:
            place += f', decision {self.sequence}'
        recorded, recomputed = self.first.actual, self.first.expected
        if self.first.field == 'verdict' and self.sequence is not None:
            recorded, recomputed = self.recorded, self.recomputed
        return f'{place}, {self.first.field}: recorded {recorded}, recomputed {recomputed}'

    @property
    def row(self) -> tuple[str, ...]:
        """Return it as a row of a table: where, what was, what would have been, by how much."""
        if self.sequence is None:
            columns = (f'{self.first.field} {self.first.actual}', self.first.expected, '')
        else:
            change = '' if self.by is None else f'{self.dimension} {self.by:+.4g}'
            columns = (self.recorded, self.recomputed, change)
        return (str(self.step), '' if self.sequence is None else str(self.sequence), *columns)


@dataclass(slots=True, kw_only=True)
class EpisodeVerdict:
    """
    One episode run again.

    Attributes
    ----------
    number
        Its place in the record, from 1.
    agent, episode_id, client, seed
        Whose it is.
    steps, decisions
        How many were run again, the reset among the steps.
    steps_unlike, decisions_unlike
        How many of them came out as something else.
    not_run, unproven
        What was not run again, by why; and how much of that ought to have been.
    ending, ending_again
        Ending, recorded and recomputed, and after which step; empty for none.
    reward, reward_again
        Sums over the steps that were closed again.
    after_ending
        Recorded steps after the recomputed ending, which would not have been.
    differences
        The first of them, in order.
    places
        Steps with one, as first and last of each run of them.
    by_reason
        Decisions that came out as others, by what changed in their reasons.

    """

    number: int
    agent: str
    episode_id: str
    seed: int = 0
    client: str = ''
    steps: int = 0
    decisions: int = 0
    steps_unlike: int = 0
    decisions_unlike: int = 0
    not_run: Counter[str] = field(default_factory=Counter)
    unproven: int = 0
    ending: str = ''
    ended_at: int | None = None
    ending_again: str = ''
    ended_again_at: int | None = None
    reward: float = 0.0
    reward_again: float = 0.0
    after_ending: int = 0
    differences: list[ReplayDifference] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    by_reason: Counter[str] = field(default_factory=Counter)

    @property
    def same(self) -> bool:
        """Return whether the same came out."""
        return not (self.steps_unlike or self.decisions_unlike or self.unproven)

    @property
    def first(self) -> ReplayDifference | None:
        """Return the first difference."""
        return self.differences[0] if self.differences else None

    def differs(self, difference: ReplayDifference) -> None:
        """Take note of a difference, and keep it if it is one of the first."""
        step = difference.step
        last = self.places[-1] if self.places else (step, step - 1)
        if step > last[1] + 1 or not self.places:
            self.places.append((step, step))
        elif step == last[1] + 1:
            self.places[-1] = (last[0], step)
        if len(self.differences) < KEPT:
            self.differences.append(difference)

    def skipped(self, why: str, count: int = 1, *, owed: bool = True) -> None:
        """Take note of what is not run again, and why; owed: it ought to have been."""
        if why not in self.not_run and len(self.not_run) >= _REASONS:
            why = 'something else, for other reasons'
        self.not_run[why] += count
        self.unproven += count * owed

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {'same': self.same, **fields_of(self)}


@frozen
class VerdictReport:
    """
    A record run again.

    Attributes
    ----------
    question
        What was asked, in words; empty for the record's own verdict.
    episodes
        The episodes, in the order in which they were begun.
    unreadable
        Records that cannot be read, place and why; the first few.
    notes
        What is to be known before the numbers are believed.

    """

    question: str
    episodes: Sequence[EpisodeVerdict]
    unreadable: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def counterfactual(self) -> bool:
        """Return whether something else was asked than what was recorded."""
        return bool(self.question)

    @property
    def same(self) -> bool:
        """Return whether the same came out everywhere."""
        return not self.unreadable and all(episode.same for episode in self.episodes)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        found = {'same': self.same, **fields_of(self)}
        return found | {'question': self.question or 'the same again'}

    def __str__(self) -> str:
        lines = [*_table(self.episodes), '']
        for episode in self.episodes:
            lines += _episode_lines(episode, counterfactual=self.counterfactual)
        lines += [f'Note: {note}' for note in self.notes]
        lines += [f'Unreadable: {place}' for place in self.unreadable]
        lines.append(self._conclusion())
        return '\n'.join(lines)

    def _conclusion(self) -> str:
        steps = sum(e.steps for e in self.episodes)
        decisions = sum(e.decisions for e in self.episodes)
        episodes = many(len(self.episodes), 'episode')
        what = f'{episodes}, {steps} steps, {decisions} decisions'
        first = sum(e.steps_unlike + e.decisions_unlike for e in self.episodes)
        if self.counterfactual:
            changed = sum(e.decisions_unlike for e in self.episodes)
            ended = sum(
                (e.ending, e.ended_at) != (e.ending_again, e.ended_again_at) for e in self.episodes
            )
            return (
                f'{self.question}: {changed} of {decisions} decisions and {ended} of '
                f'{len(self.episodes)} endings would have been others, on the recorded states.'
            )
        if self.same:
            return f'Same: {what} came out as they were recorded.'
        if first:
            return f'Different: of {what}, {first} came out as something else.'
        unproven = sum(e.unproven for e in self.episodes) + len(self.unreadable)
        return f'Not proven: {what} came out as recorded, {unproven} could not be run again.'


def differing(
    then: GateDecision,
    again: GateDecision,
    first: Mismatch,
    contract: Contract,
) -> ReplayDifference:
    """Return what is to be said of a decision that came out as another."""
    dimension, by = '', None
    if len(then.command) == len(again.command) > 0:
        changes = [b - a for a, b in zip(then.command, again.command, strict=True)]
        index = max(range(len(changes)), key=lambda i: abs(changes[i]))
        if changes[index]:
            name, unit = contract.command_dimensions[index], contract.command_unit[index]
            dimension = f'{name} ({unit})' if unit else name
            by = changes[index]
    return ReplayDifference(
        step=then.id.step,
        sequence=then.sequence,
        first=first,
        recorded=decided(then),
        recomputed=decided(again),
        dimension=dimension,
        by=by,
    )


def _table(episodes: Sequence[EpisodeVerdict]) -> list[str]:
    head = 'episode agent steps same decisions same ending recomputed reward recomputed'
    rows = [tuple(head.split())]
    rows += [
        (
            f'{e.number} {e.episode_id[:8]}',
            e.agent,
            str(e.steps),
            str(e.steps - e.steps_unlike),
            str(e.decisions),
            str(e.decisions - e.decisions_unlike),
            _ending(e.ending, e.ended_at),
            _ending(e.ending_again, e.ended_again_at),
            f'{e.reward:.4g}',
            f'{e.reward_again:.4g}',
        )
        for e in episodes
    ]
    return table(rows, right=(2, 3, 4, 5, 8, 9))


def _ending(ending: str, step: int | None) -> str:
    return f'{ending} at {step}' if ending else '-'


def _episode_lines(episode: EpisodeVerdict, *, counterfactual: bool) -> list[str]:
    name = f'Episode {episode.number} ({episode.agent})'
    lines = [f'{name}, not run again: {count} x {why}' for why, count in episode.not_run.items()]
    if not counterfactual:
        return lines + [f'{name}, first difference: {first}' for first in episode.differences[:1]]
    if episode.after_ending:
        lines.append(
            f'{name}: {episode.after_ending} recorded steps come after the recomputed ending'
        )
    if not episode.differences:
        return lines
    steps = ', '.join(f'{a}' if a == b else f'{a}-{b}' for a, b in episode.places)
    lines.append(f'{name}: otherwise at the steps {steps}.')
    if episode.by_reason:
        why = ', '.join(f'{reason} {n}' for reason, n in episode.by_reason.most_common())
        lines.append(f'Decisions by what is new or gone in their reasons: {why}.')
    shown = episode.differences[:PRINTED]
    rows = [('step', 'decision', 'recorded', 'would have been', 'by')]
    lines += table([*rows, *(d.row for d in shown)], right=(0, 1), indent=2)
    more = episode.decisions_unlike + episode.steps_unlike - len(shown)
    if more:
        lines.append(f'  and {more} more: --json has the first {KEPT}')
    return [*lines, '']
