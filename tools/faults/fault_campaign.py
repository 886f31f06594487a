# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Driving, failing, measuring, healing, and asking the record what it says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
import os
from pathlib import Path
from random import Random
import sys
import time
from typing import Any

from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.rules.audit_rule import Severity
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.storage.record_reader import open_records
from tools.faults.fault_kinds import Kind, KINDS, noticed_by_then, Safe, Trial, WINDOW
from tools.faults.fault_world import FaultWorld, Layout, world_of
from tools.faults.two_hosts import why_not

REST = 0.01
"""Below this speed, m/s, the cart is at rest, as ``CartConfig.stop_bound`` declares it."""

MOMENTS = 0.4, 1.1
"""Between these, s after its start, an episode meets its fault: speeding up, or at full speed."""

_DRIVES = 5

_SETTLE = 0.5
"""Seconds for a recorder that has just come to catch up with what it found waiting."""

_REPEATED = 4.0
"""Seconds in which what got lost is sent again: Fast DDS makes a heartbeat in 3 s."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """
    What became of one trial.

    Attributes
    ----------
    kind, number, seed
        Which one; the seed repeats what chance had in it.
    moment
        Seconds from the start of the episode to the fault.
    episode
        The episode that met it.
    speed
        Last forward command before it, m/s.
    bound, time
        Seconds from the fault to what is safe: what is allowed, and what it was; None: never.
    late
        How late the scheduler of the machine was meanwhile, s.
    recovered
        Whether a fresh episode drove afterwards.
    findings
        Errors of the audit.
    ending, reasons
        How the episode ended, and why the gate stopped at first, by the record.
    problems
        What is wrong, in words.
    discarded
        Drives that ended before the fault came, for the machine was too busy.

    """

    kind: str
    number: int
    seed: str
    moment: float = 0.0
    episode: str = ''
    since: int = 0
    speed: float = 0.0
    bound: float = 0.0
    time: float | None = None
    late: float = 0.0
    recovered: bool = False
    findings: list[str] = field(default_factory=list)
    ending: str = ''
    reasons: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    discarded: int = 0

    @property
    def over(self) -> bool:
        """Return whether it took longer than the bound."""
        return self.time is None or self.time > self.bound

    @property
    def excused(self) -> bool:
        """Return whether it did so by no more than the scheduler was late."""
        return self.over and self.time is not None and self.time <= self.bound + self.late

    @property
    def ok(self) -> bool:
        """Return whether nothing at all is wrong."""
        return not self.over and self.recovered and not self.findings and not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), 'over': self.over, 'excused': self.excused}


Told = Callable[[str], None]


class Campaign:
    """
    Trials of some kinds, kind after kind.

    Parameters
    ----------
    folder
        For worlds and records.
    domain_id
        Reserved domain.
    trials
        How many of each kind.
    seed
        Seed of all chance.
    told
        Takes progress, a line at a time.
    judged
        Takes each kind with its outcomes when they are known, and why it was skipped, if it was.

    """

    def __init__(
        self,
        folder: Path,
        domain_id: int,
        *,
        trials: int,
        seed: int,
        told: Told,
        judged: Callable[[Kind, list[Outcome], str], None],
    ) -> None:
        self._folder, self._domain_id = folder, domain_id
        self._trials, self._seed = trials, seed
        self._told, self._judged = told, judged
        self._going: tuple[str, int] | None = None

    def run(self, kinds: Iterable[Kind]) -> None:
        """Run all trials of some kinds; kinds of one world should follow each other."""
        for layout, group in _by_layout(kinds):
            reason = why_not() if layout.far else ''
            if reason:
                for kind in group:
                    self._judged(kind, [], reason)
                continue
            if layout.far:
                self._run_apart(group)
            else:
                self._run_in(layout, group)

    def _run_apart(self, kinds: Sequence[Kind]) -> None:
        """Run kinds in a fresh process: Fast DDS asks once a process which addresses it has."""
        with ProcessPoolExecutor(1, mp_context=get_context('spawn')) as process:
            judged = process.submit(
                _apart,
                self._folder,
                self._domain_id,
                self._trials,
                self._seed,
                [kind.name for kind in kinds],
            ).result()
        for name, outcomes in judged:
            self._judged(KINDS[name], outcomes, '')

    def run_layout(self, kinds: Sequence[Kind]) -> None:
        """Run all trials of kinds of one layout, in this process."""
        self._run_in(kinds[0].layout, kinds)

    def _run_in(self, layout: Layout, kinds: Sequence[Kind]) -> None:
        left = list(kinds)
        while left:
            self._told(f'starting the world: {layout.name}')
            with world_of(layout, self._folder, self._domain_id) as world:
                while left:
                    kind = left.pop(0)
                    outcomes, sound = self._run_kind(world, kind)
                    self._judged(kind, outcomes, '')
                    if not sound:
                        break  # nothing that comes after it is to suffer from it

    def _run_kind(self, world: FaultWorld, kind: Kind) -> tuple[list[Outcome], bool]:
        outcomes: list[Outcome] = []
        runs: list[tuple[Path, list[Outcome]]] = []
        recorded: list[Outcome] = []
        sound = True
        self._going = None
        world.probe.forget()
        world.revive()
        time.sleep(_SETTLE)
        if not world.before:
            self._recovered(world)  # an episode before, of which requests can be replayed
        for number in range(1, self._trials + 1):
            outcome = Outcome(
                kind=kind.name, number=number, seed=f'{self._seed}/{kind.name}/{number}'
            )
            outcomes.append(outcome)
            run = world.run
            try:
                self._try(world, kind, outcome)
            except (AssertionError, BoundaryError, OSError) as error:
                outcome.problems.append(f'{type(error).__name__}: {error}')
                sound = False
            recorded.append(outcome)
            if kind.own_run:
                runs.append((run, recorded))
                recorded = []
            self._told(_line(outcome, self._trials))
            if not sound:
                break
        if not kind.own_run:
            world.end_episode()
            # What got lost on its way to the recorder comes with the next heartbeat.
            time.sleep(_REPEATED)
            runs.append((world.close_run(), recorded))
        for run, of_run in runs:
            self._told(f'{kind.name}: auditing {run.name}')
            judge_record(run, kind, of_run, world)
        return outcomes, sound

    def _try(self, world: FaultWorld, kind: Kind, outcome: Outcome) -> None:
        chance = Random(outcome.seed)
        outcome.moment = chance.uniform(*MOMENTS)
        outcome.episode = self._drive(world, outcome)
        trial = Trial(episode=outcome.episode, chance=chance)
        contract = world.loaded.contract
        outcome.bound = kind.bound(contract)
        outcome.speed = world.commands()[-1][1][0]
        start = time.monotonic_ns()
        outcome.since = since = kind.inject(world, trial)
        end = noticed_by_then(since, outcome.bound)
        self._wait(world, kind, end)
        world.probe.catch_up()
        outcome.time = time_to_safe(world, kind.safe, since, end)
        outcome.late = world.late(start, end)
        if not {'', 'abandoned'} & kind.endings:
            # Whoever is alive ends it; what was frozen must not come back before.
            world.probe.until(lambda: world.ended(outcome.episode), 10.0, 'the end of the episode')
        for undo in trial.undo:
            undo()
        if 'simulated_robot' in kind.layout.far:
            # Cut again too early, the cable would keep it from the recorder for good.
            time.sleep(_REPEATED)
        world.revive()
        # A fresh episode has to drive: what was broken works again, and the gate takes an arming.
        self._going = self._recovered(world)
        outcome.recovered = True

    def _recovered(self, world: FaultWorld) -> tuple[str, int]:
        """Return a fresh episode that drives; one that ends at once was met by a busy machine."""
        for _ in range(_DRIVES):
            going = world.begin()
            try:
                world.probe.until(
                    lambda since=going[1]: any(c[0] > 0.1 for _, c in world.commands(since)),
                    2.0,
                    'a robot that drives',
                )
            except AssertionError:
                if world.ended(going[0]):
                    continue
                raise AssertionError(f'Expect a robot that drives: {world.told()}.') from None
            return going
        raise AssertionError(f'Expect a robot that drives: {world.told()}.')

    def _drive(self, world: FaultWorld, outcome: Outcome) -> str:
        """Let an episode, which may run already, come to its fault; return its id."""
        for _ in range(_DRIVES):
            episode, begun = self._going or world.begin()
            self._going = None
            pause = outcome.moment - (time.monotonic_ns() - begun) / NANOSECONDS
            time.sleep(max(0.0, pause))
            # A fault may need a request that the probe has heard.
            if world.driving() and world.requests(episode) and not world.ended(episode):
                return episode
            outcome.discarded += 1
        raise AssertionError('Expect a drive until the fault, actually: it ends each time.')

    def _wait(self, world: FaultWorld, kind: Kind, end: int) -> None:
        time.sleep(max(0.0, (end - time.monotonic_ns()) / NANOSECONDS))
        if kind.safe is Safe.REST:
            world.probe.until(
                lambda: world.motion_of(end, end + NANOSECONDS),
                10.0,
                'ground truth after the bound',
            )


def _apart(
    folder: Path, domain_id: int, trials: int, seed: int, kinds: Sequence[str]
) -> list[tuple[str, list[Outcome]]]:
    judged: list[tuple[str, list[Outcome]]] = []
    Campaign(
        folder,
        domain_id,
        trials=trials,
        seed=seed,
        told=tell,
        judged=lambda kind, outcomes, _: judged.append((kind.name, outcomes)),
    ).run_layout([KINDS[name] for name in kinds])
    return judged


def tell(line: str) -> None:
    """Tell progress, with how busy the machine is."""
    print(f'[load {os.getloadavg()[0]:.1f}] {line}', file=sys.stderr, flush=True)


# Measuring ---------------------------------------------------------------------------------------


def time_to_safe(world: FaultWorld, safe: Safe, since: int, end: int) -> float | None:
    """
    Return the seconds from a fault to what is safe and stays so; None if that never came.

    For the command, the first safe one after the last that is not; for rest, the last ground truth
    that shows the cart moving.
    """
    if safe is Safe.REST:
        moving = [at for at, speed in world.motion_of(since, end) if speed >= REST]
        return (moving[-1] - since) / NANOSECONDS if moving else 0.0
    contract = world.loaded.contract
    safe_command = contract.flat('safe')
    told = world.probe.heard(world.command_topic, since - NANOSECONDS)
    at_rest = [
        (h.steady, [h.message.twist.linear.x, h.message.twist.angular.z] == list(safe_command))
        for h in told
        if h.steady <= end
    ]
    return lasting(at_rest, since)


def lasting(told: Sequence[tuple[int, bool]], since: int) -> float | None:
    """Return the seconds to the first safe command that none but safe ones follow."""
    first: int | None = None
    for steady, safe in told:
        if not safe:
            first = None
        elif first is None:
            first = steady
    return None if first is None else max(0, first - since) / NANOSECONDS


# The record --------------------------------------------------------------------------------------


def judge_record(run: Path, kind: Kind, outcomes: Sequence[Outcome], world: FaultWorld) -> None:
    """Audit a run, and see what it names as the cause of each trial; tell the outcomes."""
    by_episode = {outcome.episode: outcome for outcome in outcomes}
    report = audit_path(run)
    for finding in report.findings:
        if finding.severity is not Severity.FATAL or finding.rule in kind.marks:
            continue
        of = by_episode.get(finding.episode)
        for outcome in [of] if of else outcomes:
            outcome.findings.append(str(finding))
    source = open_records(run)
    endings: dict[str, str] = {}
    stops: dict[str, list[GateDecision]] = {episode: [] for episode in by_episode}
    refused: dict[str, list[GateDecision]] = {episode: [] for episode in by_episode}
    for record in source.records(Transition, EpisodeStatus, GateDecision):
        episode = record.id.episode_id
        if isinstance(record, GateDecision):
            _sort(record, outcomes, stops, refused)
        elif record.ending:
            endings.setdefault(episode, record.ending)
    if kind.deaf:
        # The recorder was gone when it was said; others heard it.
        for status in world.probe.messages(names.EPISODE_STATUS):
            if status.ending:
                endings.setdefault(status.id.episode_id, status.ending)
        for message in world.probe.messages(names.GATE_DECISION):
            _sort(from_msg(GateDecision, message), outcomes, stops, refused)
    for outcome in outcomes:
        _judge_ending(kind, outcome, endings, stops, refused)


def _sort(
    decision: GateDecision,
    outcomes: Sequence[Outcome],
    stops: dict[str, list[GateDecision]],
    refused: dict[str, list[GateDecision]],
) -> None:
    """Put a decision to the trial in whose time it was made."""
    taken = decision.commanded or decision.received
    if taken is None:
        return
    for outcome in outcomes:
        end = noticed_by_then(outcome.since, outcome.bound)
        # A request of a flood may have come just before the instant that counts.
        if outcome.since - NANOSECONDS <= taken.steady <= end and outcome.episode:
            if decision.verdict is Verdict.REJECTED:
                refused[outcome.episode].append(decision)
            elif decision.verdict is Verdict.STOPPED and taken.steady >= outcome.since:
                stops[outcome.episode].append(decision)


def _judge_ending(
    kind: Kind,
    outcome: Outcome,
    endings: dict[str, str],
    stops: dict[str, list[GateDecision]],
    refused: dict[str, list[GateDecision]],
) -> None:
    outcome.ending = endings.get(outcome.episode, '')
    stopped = stops.get(outcome.episode, [])
    first = {
        result.reason
        for decision in stopped[:1]
        for result in decision.rules
        if result.outcome is Verdict.STOPPED
    }
    outcome.reasons = sorted(reason.name for reason in first)
    if outcome.ending not in kind.endings:
        outcome.problems.append(f'ending {outcome.ending or "none"}')
    if kind.reasons and not first & kind.reasons:
        outcome.problems.append(f'reason {", ".join(outcome.reasons) or "none"}')
    if kind.rejected is not None:
        _judge_refusals(kind.rejected, outcome, refused.get(outcome.episode, []))


def _judge_refusals(expected: Reason, outcome: Outcome, refused: list[GateDecision]) -> None:
    least = 0.5 * WINDOW / 0.01
    found = sum(
        any(result.reason is expected for result in decision.rules) for decision in refused
    )
    if found < least:
        outcome.problems.append(f'only {found} rejected as {expected.name}')


def _by_layout(kinds: Iterable[Kind]) -> Iterator[tuple[Layout, list[Kind]]]:
    groups: dict[str, tuple[Layout, list[Kind]]] = {}
    for kind in kinds:
        groups.setdefault(kind.layout.name, (kind.layout, []))[1].append(kind)
    yield from groups.values()


def _line(outcome: Outcome, trials: int) -> str:
    took = 'never' if outcome.time is None else f'{1000 * outcome.time:.0f} ms'
    wrong = '; '.join(outcome.problems) or ('over' if outcome.over else 'safe')
    return (
        f'{outcome.kind} {outcome.number}/{trials}: fault {outcome.moment:.2f} s into the episode '
        f'at {outcome.speed:.2f} m/s, {took} of {1000 * outcome.bound:.0f} ms, {wrong} '
        f'(seed {outcome.seed})'
    )
