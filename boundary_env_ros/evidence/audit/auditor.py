# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The audit: whether a record kept the boundary, and if not, where, which rule and which step.

It streams: however long the record is, only the last steps and a bounded number of findings are
kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
import sys
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit.findings import (
    ALONE,
    AuditReport,
    Finding,
    NO_CONTRACT,
    OF_THE_BAG,
    UNDECIDED,
    UNKNOWN,
)
from boundary_env_ros.evidence.audit.raw_messages.raw_auditor import RawAuditor
from boundary_env_ros.evidence.audit.raw_messages.ties import BEHIND, Holes, REACH, Ties
from boundary_env_ros.evidence.audit.rules import (
    decision_checks,
    observation_checks,
    record_checks,
    step_checks,
    timing,
)
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    AuditRule,
    AuditTerms,
    Check,
    DecisionCheck,
    DecisionLink,
    link,
    NotChecked,
    RECOMPUTED,
    RULE,
    RULES,
    StepCheck,
    StepContext,
    unlike,
)
from boundary_env_ros.evidence.audit.rules.record_checks import Pair
from boundary_env_ros.evidence.audit.rules.step_checks import UUID
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.record_difference import Mismatch
from boundary_env_ros.evidence.replay.decisions_again import DecisionsAgain, key_of
from boundary_env_ros.evidence.replay.steps_again import step_difference, StepsAgain
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.records import ContractDescription, Message, Record, RECORDS

#: Findings of one rule that are kept; beyond that they are only counted.
KEPT = 20

#: Why something is not known of a step that another record would show.
NO_TRUTH = 'the record has no privileged observations, or none of its first steps'
NO_EVIDENCE = 'the record has no actuation evidence, which may come after its step'

#: Why it is not known whether a message was changed.
NO_CHAIN = (
    'the record has no chain over its messages: it is unknown whether it was changed after it '
    'was recorded'
)

#: Nanoseconds behind the beginning of a record in which topics may have been found one by one.
LATE = NANOSECONDS // 10

_MODULES = (step_checks, observation_checks, timing, decision_checks)

#: All checks of steps and of decisions, in the order in which they are made.
CHECKS: tuple[Check, ...] = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Check)
)
STEP_CHECKS = tuple(check for check in CHECKS if isinstance(check, StepCheck))
DECISION_CHECKS = tuple(check for check in CHECKS if isinstance(check, DecisionCheck))

#: Type of what a recorder says of itself.
RECORDER = 'boundary_env_ros/msg/RecorderStatus'


#: Episodes, decisions, steps and observations that are remembered; beyond that memory stays flat.
EPISODES, WINDOW, RECENT = 65_536, 1024, 64

Key = tuple[int, int]

#: What comes with another record under the same id.
StepOrTruth: TypeAlias = Transition | PrivilegedObservation


@dataclass(slots=True)
class DecisionSeries:
    """The decisions of one gate, as its topic or its steps have them: the first, the last one."""

    first: GateDecision | None = None
    last: DecisionLink | None = None
    again: DecisionsAgain | None = None

    def follow(
        self, decision: GateDecision, place: str, terms: AuditTerms | None, *, direct: bool
    ) -> DecisionLink:
        """Take the next one, and return it in their chain."""
        self.first = self.first or decision
        self.last = link(self.last, decision, place, terms, direct=direct)
        return self.last

    def outside(self, steady: int) -> tuple[bool, bool]:
        """Return whether a steady instant is before the first one, and behind the last one."""
        first, last = self.first, self.last
        before = first is not None and steady < first.decided.steady
        return before, last is None or steady > last.decision.decided.steady


@dataclass(slots=True)
class Agent:
    """
    What is remembered of one agent.

    Attributes
    ----------
    last, start
        The last step, and the first one of its episode.
    status
        The last state that its environment announced.
    waiting
        By episode, the step that the environment was at before the first one came.
    unpaired
        Steps without their record of privileged fields, and the other way round, each with the log
        time of the last record then and its number in the order of both.
    paired_range
        Numbers of the first and the last of each kind that have both.
    leaks
        What privileged values and observation had in common, for the rule ``truth-withheld``.
    steps
        The last step of each episode.
    first_named, named_steps
        The first step that the gate names in a decision, and the last one of each episode, with
        the log time at which it was named first.
    lost_environments
        The episodes whose ending others declared, for their environment was dead.
    in_steps, published
        The decisions, as its steps and as the topic of its gate have them.
    only_in_steps, only_published
        Those that the other one of these two has not had yet.
    steps_again
        Its environment and task, run again.
    after_gap
        Whether the next decision need not follow the last one directly.
    recent
        The last steps.
    executed, early_evidence
        The decisions of steps, and evidence of execution whose step has not come yet, with its log
        time.

    """

    last: Transition | None = None
    start: Transition | None = None
    status: EpisodeStatus | None = None
    waiting: Bounded[str, int] = field(default_factory=Bounded)
    unpaired: Bounded[StepId, tuple[StepOrTruth, int, int]] = field(default_factory=Bounded)
    paired_range: dict[type, tuple[int, int]] = field(default_factory=dict)
    leaks: dict[Pair, tuple[float, int]] = field(default_factory=dict)
    steps: Bounded[str, int] = field(default_factory=Bounded)
    first_named: StepId | None = None
    named_steps: Bounded[str, tuple[StepId, int]] = field(default_factory=Bounded)
    lost_environments: Bounded[str, None] = field(default_factory=Bounded)
    in_steps: DecisionSeries = field(default_factory=DecisionSeries)
    published: DecisionSeries = field(default_factory=DecisionSeries)
    steps_again: StepsAgain | None = None
    after_gap: bool = True
    recent: deque[Transition] = field(default_factory=lambda: deque(maxlen=RECENT))
    executed: Bounded[Key, tuple[GateDecision, Transition]] = field(default_factory=Bounded)
    early_evidence: Bounded[Key, tuple[ActuationEvidence, int]] = field(default_factory=Bounded)
    only_in_steps: Bounded[Key, tuple[StepId, GateDecision, int]] = field(default_factory=Bounded)
    only_published: Bounded[Key, GateDecision] = field(default_factory=Bounded)

    def name(self, of: StepId, log_time: int) -> None:
        """Take note of the step that the gate names in a decision."""
        self.first_named = self.first_named or of
        known = self.named_steps.get(of.episode_id)
        if known is None or of.step > known[0].step:
            self.named_steps.put(of.episode_id, (of, log_time), EPISODES)

    def last_step(self, episode: str) -> int:
        """Return the last step that the record has, or the one at which it begins."""
        first = self.first_named
        begins = first.step if first is not None and first.episode_id == episode else 0
        return max(self.steps.get(episode, 0), begins)

    def may_lack(self, of: StepId) -> bool:
        """Return whether a step may have been on its way when environment or recorder ended."""
        last, status, name = self.last, self.status, of.episode_id
        if of.step != self.steps.get(name, -1) + 1:
            return False
        if last is not None and last.id.episode_id == name:
            return not (last.terminated or last.truncated)
        return name in self.lost_environments or (
            status is not None and status.id.episode_id == name
        )


def answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    wanted = now.request and (now.id.episode_id, now.request.observed_step)
    steps = reversed(agent.recent)
    return next((s for s in steps if (s.id.episode_id, s.id.step) == wanted), None)


class Auditor:
    """
    Takes a record piece by piece, in the order in which it was recorded, and keeps what it finds.

    Parameters
    ----------
    contract
        Contract to judge the record by; without it the rules that need one are not applied,
        and the report says so.
    task
        Its task, to judge the steps again; without it their rewards are only summed up again.
    topics
        Type of each topic whose raw messages will come; without them the rules that need them are
        not applied.
    holes
        The log times between which messages were damaged, nanoseconds.
    alone
        Whether the record is one transition, without its neighbours.
    of_another
        Whether another recorder wrote it, which may drop messages without saying so.
    missing
        Why there is no contract or task; empty if none was given.
    unlike
        Tells in what the records so far are unlike those of this version.

    Attributes
    ----------
    has_chain
        Whether a chain over the messages of the record was looked at.

    """

    def __init__(
        self,
        contract: Contract | None = None,
        task: Task | None = None,
        topics: Mapping[str, str] | None = None,
        *,
        holes: Sequence[tuple[int, int]] = (),
        alone: bool = False,
        of_another: bool = False,
        missing: str = '',
        unlike: Callable[[], Unlike] = Unlike,
    ) -> None:
        self.has_chain = False
        self._unlike = unlike
        self._task = task
        self._alone = alone
        self._missing = missing
        self._has_topics = bool(topics)
        self._began: dict[type, int] = {}  # when the first record of each kind came
        # The raw auditor looks at the same: a hole that is filled is none for it either.
        self._holes = Holes(holes)
        self._recorders = frozenset(t for t, kind in (topics or {}).items() if kind == RECORDER)
        # A topic on which nothing came stands in a record, too.
        types = (topics or {}).values()
        self._has_evidence = ActuationEvidence in {RECORDS.get(kind) for kind in types}
        self._raw: RawAuditor | None = None
        if contract is not None and topics:
            self._raw = RawAuditor(Ties(contract, topics, self.find, self._holes), topics)
            if self._recorders:
                self._raw.ties.reported_until = 0
        self._of_another = of_another
        self._terms: AuditTerms | None = None
        if contract is not None:
            digest = digest_of(contract)
            judge = Judge(contract, digest=digest)
            self._terms = AuditTerms(contract=contract, digest=digest, judge=judge)
        self._step_checks = [check for check in STEP_CHECKS if not self._missing_for_check(check)]
        self._checks = [check for check in DECISION_CHECKS if not self._missing_for_check(check)]
        self._of_sequence = [c for c in self._checks if c.rule == 'decision-sequence']
        self._agents: defaultdict[str, Agent] = defaultdict(Agent)
        self._first: Transition | None = None
        self._begin, self._end = sys.maxsize, 0  # the least log time, and the greatest
        self._now = 0  # log time of the last record
        self._last_message = ''  # of an environment that may not have got to its first step
        self._unevidenced = False  # whether a step lacks evidence that may have come later
        self._described: dict[str, str] = {}  # by digest, the node that said it first
        self._found: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._transitions = self._episodes = self._decisions = 0
        # The steps just behind a hole or a gap, and their episodes, each with the log time of a
        # gap that our recorder has to explain; 0: something is known to be missing.
        self._missing_since: Bounded[StepId | str, int] = Bounded()
        self._gap_until = 0  # log time until which records are behind the last gap
        # What does not fit behind such a gap, with its log time.
        self._undecided: deque[tuple[int, str, Mismatch, StepId | None]] = deque()
        # What the recorder said, at last and before, and how much it has lost.
        self._reported = self._reported_before = self._lost = 0
        # How many messages it refused that bore no right authentication.
        self._refused = 0
        self._pair_number = 0  # steps and records of privileged fields that came
        self._broken_by_damage: Counter[str] = Counter()
        self._not_run: dict[str, None] = {}  # why steps were not run again, or without something
        self._not_applied: dict[tuple[str, str], None] = {}

    def _missing_for_check(self, check: Check) -> str:
        """Return what is missing to make a check; empty if nothing is."""
        return (self._missing or NO_CONTRACT) if check.contract and self._terms is None else ''

    def _missing_for_rule(self, rule: AuditRule) -> str:
        """Return what is missing to run again, or to look at the raw messages, for a rule."""
        needed = rule.id in RECOMPUTED or (rule.topics and self._has_topics)
        if needed and self._terms is None:
            return self._missing or NO_CONTRACT
        if self._alone:
            if rule.id == 'decision-recomputed' and not self._decisions:
                return UNDECIDED
            return ALONE if rule.run else ''
        if rule.id == 'record-unchanged' and not self.has_chain:
            return NO_CHAIN
        if rule.id == 'step-recomputed' and self._task is None:
            return self._missing or 'the task of the contract is not known'
        if rule.topics and self._raw is None:
            return 'the record has no raw messages'
        return ''

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics whose raw messages are wanted."""
        return self._recorders | (frozenset() if self._raw is None else self._raw.topics)

    def message(self, recorded: Message) -> None:
        """Look at the next raw message, of one of :attr:`topics`."""
        self._on_log_time(recorded.log_time)
        try:
            if recorded.topic in self._recorders:
                status = recorded.decode()
                self._refused = max(self._refused, getattr(status, 'refused', 0))
                self._recorder(status, recorded.log_time)
            if self._raw is not None:
                self._raw.message(recorded)
        except RecordError as error:
            self.unreadable(recorded.topic, str(error))

    def add(self, record: Record, log_time: int = 0) -> None:
        """
        Look at the next piece of the record.

        Parameters
        ----------
        record
            The piece.
        log_time
            When the recorder had it, nanoseconds; only compared with that of raw messages.

        """
        self._on_log_time(log_time)
        if isinstance(record, (Transition, EpisodeStatus)):
            self._detect_late_beginning(record, log_time)
        if isinstance(record, (Transition, GateDecision)):
            if self._of_another or self._recorders:
                self._detect_gap(record, log_time)
            is_damaged = self._holes.reach(log_time)
            if is_damaged or log_time < self._gap_until:
                before = self._agents[record.id.agent].last
                # What came between the two may have ended the one before.
                for step in (record, before or record):
                    self._mark_missing(step.id, 0 if is_damaged or self._of_another else log_time)
        self._now = max(self._now, log_time)
        self._began.setdefault(type(record), log_time)
        if self._raw is not None:
            self._raw.add(record, log_time)
        beside = (EpisodeStatus, PrivilegedObservation, ActuationEvidence)
        if self._terms is not None and isinstance(record, beside):
            other = record_checks.other_contract(
                f'{type(record).__name__}.id', record.id, self._terms
            )
            self.find('one-contract', other, record.id)
        if isinstance(record, Transition):
            self._first = self._first or record
            self._close_again(record, self._first)
            self._transition(record, self._first)
        elif isinstance(record, GateDecision):
            self._published(record)
        elif isinstance(record, EpisodeStatus):
            self._status(record)
        elif isinstance(record, PrivilegedObservation):
            self._privileged(record)
        elif isinstance(record, ActuationEvidence):
            self._evidence(record)
        elif isinstance(record, ContractDescription) and len(self._described) < KEPT:
            self._described.setdefault(record.digest, record.node)

    def _mark_missing(self, of: StepId, gap: int) -> None:
        """Note that what is compared with a step, or its episode, is missing since a gap, or 0."""
        for place in (of, of.episode_id):
            known = self._missing_since.get(place, gap)
            self._missing_since.put(place, max(known, gap) if known and gap else 0, EPISODES)

    def _recorder(self, status: object, log_time: int) -> None:
        """Judge what was in doubt when the recorder spoke before, by what it has lost now."""
        self._reported_before, self._reported = self._reported, log_time
        self._lost = max(self._lost, getattr(status, 'lost', 0))
        if self._raw is not None:
            self._raw.ties.lost = self._lost or len(getattr(status, 'uncounted', ()))
            self._raw.ties.reported_until = self._reported_before
        for _ in range(len(self._undecided)):
            self._judge(*self._undecided.popleft())

    def _judge(self, gap: int | None, rule: str, mismatch: Mismatch, of: StepId | None) -> None:
        """Take what does not fit for broken, unless something is missing that it goes by."""
        if gap is None or (gap and not self._lost and gap < self._reported_before):
            self._add_finding(rule, mismatch, of)
        elif gap and not self._lost and len(self._undecided) < WINDOW:
            self._undecided.append((gap, rule, mismatch, of))
        else:
            self._broken_by_damage[rule] += 1

    def _detect_late_beginning(self, record: Transition | EpisodeStatus, log_time: int) -> None:
        """
        Take what came before the record for missing, if it begins in the middle of an episode.

        So does a slice of a run, or a recorder that came late. Nothing in it can name a step
        before its first one; where something does, steps were taken out, or another recorder
        dropped them, which does not say so.
        """
        agent, begin = self._agents[record.id.agent], self._begin
        if agent.last is not None or self._alone:
            return
        if isinstance(record, EpisodeStatus):
            if log_time > begin + LATE:
                agent.waiting.known(record.id.episode_id, lambda: record.id.step, EPISODES)
            return
        known = agent.waiting.get(record.id.episode_id, record.id.step)
        if record.id.step == 0:
            return
        begins_late = self._of_another or record.id.step <= known + 1
        for step in range(max(0, record.id.step - WINDOW), record.id.step + 1):
            # What our recorder was there for, and has not, it says that it lost.
            self._mark_missing(replace(record.id, step=step), 0 if begins_late else log_time)
        if begins_late:
            self.begins_late()
            cut = f'a slice of a run: it begins at step {record.id.step}'
            self.find('record-closed', Mismatch('record', 'the beginning', cut), record.id)

    def _detect_gap(self, record: Transition | GateDecision, log_time: int) -> None:
        """Take what a recorder dropped for missing, if the numbers have a gap there."""
        agent, of = self._agents[record.id.agent], record.id
        before: Transition | GateDecision | None = agent.last
        if isinstance(record, GateDecision):
            before = None if agent.published.last is None else agent.published.last.decision
            dropped = before is not None and record.sequence > before.sequence + 1
        elif before is not None and before.id.episode_id == of.episode_id:
            dropped = of.step > before.id.step + 1
        else:
            dropped = of.step > 0 or not self._ended(agent)
        if before is None or not dropped:
            return
        self._gap_until = log_time + BEHIND
        first = before.id.step
        missing = [(of, first, min(of.step, first + WINDOW))]
        if before.id.episode_id != of.episode_id:
            missing = [
                (before.id, first, first + RECENT),
                (of, 0, min(of.step, WINDOW)),
            ]
        for id_, begin, end in missing:
            for step in range(begin, end + 1):
                self._mark_missing(replace(id_, step=step), 0 if self._of_another else log_time)
        if self._of_another:  # Ours says what it lost.
            gap = f'a gap of another recorder behind step {first} of {before.id.episode_id}'
            self.find('record-closed', Mismatch('record', 'all its messages', gap), of)

    def begins_late(self) -> None:
        """Take what came before the record for missing: it is a slice of a run."""
        self._holes.begin_at(self._begin)

    def _on_log_time(self, log_time: int) -> None:
        """Fill the holes that a message is in the middle of: nothing is missing there."""
        self._begin, self._end = min(self._begin, log_time), max(self._end, log_time)
        self._holes.fill(log_time)

    def cannot_check(self, rule: str, why: str) -> None:
        """Note that a rule could not be applied."""
        self._not_applied[rule, why] = None

    def break_by_damage(self, rule: str) -> None:
        """Note that a rule is broken only where the record is damaged."""
        self._broken_by_damage[rule] += 1

    def unreadable(self, place: str, why: str) -> None:
        """Note a line or message that could not be read."""
        self.find('record-complete', Mismatch(place, 'a whole record', why))

    def find(
        self,
        rule: str,
        found: Mismatch | Iterable[Mismatch],
        of: StepId | None = None,
        *,
        near: bool = False,
    ) -> None:
        """
        Note findings; of each rule only the first few are kept, the others counted.

        Parameters
        ----------
        rule, found
            The rule, and where it is not kept.
        of
            The step; None if it is about the record as a whole.
        near
            Whether this part of the rule compares with another record. What a decision says of
            itself, its bounds, limits and emergency stop, is excused behind no hole.

        """
        for mismatch in (found,) if isinstance(found, Mismatch) else found:
            gap = None
            if of is not None and (near or RULE[rule].near):
                # What is compared may be missing in a gap; else it must be there.
                gap = self._missing_since.get(of.episode_id if rule == 'index-agrees' else of)
            self._judge(gap, rule, mismatch, of)

    def _add_finding(self, rule: str, mismatch: Mismatch, of: StepId | None) -> None:
        if rule not in OF_THE_BAG and self._unlike().unknown:
            self.cannot_check(rule, UNKNOWN)
            return
        self._counts[rule] += 1
        if self._counts[rule] > KEPT:
            return
        step: dict[str, Any] = {}
        if of is not None:
            step = {'agent': of.agent, 'episode': of.episode_id, 'step': of.step}
        self._found.append(Finding(rule=rule, **step, **asdict(mismatch)))

    def report(self, *, torn: bool = False) -> AuditReport:
        """
        Return what was found, once the record is at its end.

        Parameters
        ----------
        torn
            Whether the end of the record is known to be missing.

        """
        if self._raw is not None:
            # It ended before its recorder could say whether something was lost.
            self._raw.ties.lost = self._raw.ties.lost or len(self._undecided)
            self._raw.finish()
        if self._refused:
            none = Mismatch('recorder_status.refused', '0', str(self._refused))
            self.find('authentic', none)
        if self._first is None and not (torn or 'record-complete' in self._counts):
            nothing = Mismatch('record', 'at least one transition', f'none{self._last_message}')
            self.find('record-closed', nothing)
        if self._first is not None:
            for digest, node in self._described.items():
                found = unlike(node, self._first.id.digest, digest, 'as in the first step')
                self.find('one-contract', found)
        self._not_applied |= {('step-recomputed', why): None for why in self._not_run}
        for agent in self._agents.values():
            if agent.last is not None and not (self._alone or self._ended(agent)):
                none = Mismatch('terminated, truncated', 'an ending', 'neither')
                self.find('record-ended', none, agent.last.id)
            if not torn:
                self._check_named_steps(agent)
            while agent.only_in_steps:
                self._check_unpublished(agent, *agent.only_in_steps.popitem(last=False)[1])
            while agent.early_evidence and not torn:
                self._check_unexplained(agent, *agent.early_evidence.popitem(last=False)[1])
            while agent.unpaired:
                self._check_unpaired(*agent.unpaired.popitem(last=False)[1])
        while self._undecided:
            self._broken_by_damage[self._undecided.popleft()[1]] += 1
        if self._unevidenced and not self._has_evidence:
            self.cannot_check('execution-measured', NO_EVIDENCE)
        terms, ties = self._terms, None if self._raw is None else self._raw.ties
        return AuditReport(
            findings=tuple(self._found),
            counts=dict(self._counts),
            transitions=self._transitions,
            episodes=self._episodes,
            decisions=self._decisions,
            contract=f'{terms.contract.name} {terms.contract.version}' if terms else '',
            digest=terms.digest if terms else '',
            not_checked=self._not_checked(),
            from_topics={} if ties is None else dict(ties.checked),
            excused={} if ties is None else {why: dict(n) for why, n in ties.excused.items()},
            asked={} if ties is None else dict(ties.asked),
            lacking=dict(self._broken_by_damage),
        )

    def _check_named_steps(self, agent: Agent) -> None:
        """Ask for the steps that the gate had named, as far as they must have come."""
        has_later = False
        for name, (named, since) in reversed(agent.named_steps.items()):
            last = agent.last_step(name)
            if named.step > last + 1 and not has_later and since > self._end - REACH:
                self._broken_by_damage['steps-in-order'] += 1
            elif named.step > last + 1:
                expected = f'every step up to {named.step}, which the gate had heard of'
                fewer = Mismatch('id.step', expected, f'none behind step {last}')
                # No later step would have made a recorder count what it lost.
                is_fatal = has_later and not self._lost
                self.find(
                    'steps-in-order' if is_fatal else 'record-closed', fewer, named, near=True
                )
            has_later = has_later or name in agent.steps

    def _not_checked(self) -> tuple[NotChecked, ...]:
        found = dict(self._not_applied)
        for check in CHECKS:
            found[check.rule, self._missing_for_check(check)] = None
        for rule in RULES:
            found[rule.id, self._missing_for_rule(rule)] = None
        lacking = tuple(NotChecked(rule=rule, why=why) for rule, why in found if why)
        return lacking if self._raw is None else (*lacking, *self._raw.not_checked)

    # Steps ---------------------------------------------------------------------------------------

    def _transition(self, now: Transition, first: Transition) -> None:
        self._transitions += 1
        agent = self._agents[now.id.agent]
        last = agent.last
        begins = last is None or last.id.episode_id != now.id.episode_id
        reopened = begins and now.id.episode_id in agent.steps
        if begins:
            self._episodes += not reopened
            if last is not None and not self._ended(agent):
                end = 'an ending before the next episode begins'
                none = Mismatch('terminated, truncated', end, 'neither')
                self.find('episode-ended', none, last.id)
            agent.start = now
            agent.after_gap = True
        links = []
        for i, decision in enumerate(now.decisions):
            # What the gate decided between two episodes is in no step.
            place, direct = f'decisions[{i}]', not agent.after_gap
            links.append(agent.in_steps.follow(decision, place, self._terms, direct=direct))
            agent.after_gap = False
        context = StepContext(
            now=now,
            first=first,
            last=last,
            start=agent.start or now,
            answered=answered(now, agent),
            reopened=reopened,
            alone=self._alone,
            links=tuple(links),
            terms=self._terms,
        )
        of = now.id
        for check in self._step_checks:
            self.find(check.rule, check.function(context), of, near=check.near)
        for each in links:
            self._decisions += 1
            # What the gate published is looked at in the chain of all that it published.
            published = self._match_published(agent, now.id, each.decision)
            self._check_link(each, now.id, self._of_sequence if published else self._checks)
            if not published:
                self._decide_again(agent.in_steps, each.decision)
            key = key_of(each.decision)
            agent.executed.put(key, (each.decision, now), WINDOW)
            early = agent.early_evidence.pop(key, None)
            if early is not None:
                self._compare_evidence(early[0], each.decision, now)
        agent.last = now
        agent.steps.put(of.episode_id, max(of.step, agent.steps.get(of.episode_id, 0)), EPISODES)
        self._find_leaks(agent, now)
        if not (self._has_evidence or self._terms is None or self._alone):
            answer = None if now.actuated is not None else now.answer
            if answer is not None and record_checks.shows(answer, self._terms.contract):
                self._unevidenced = True
        agent.recent.append(now)
        if agent.status is not None:
            self._compare_ending(agent.status, agent)
            self.find('instants-in-order', record_checks.announced_early(agent.status, now), of)

    @staticmethod
    def _ended(agent: Agent) -> bool:
        """Return whether the present episode has an ending, recorded or at least announced."""
        last, status = agent.last, agent.status
        if last is None or last.terminated or last.truncated:
            return True
        if last.id.episode_id in agent.lost_environments:
            return True  # the next one may be announced before it has a step
        return (
            status is not None and status.state.over and status.id.episode_id == last.id.episode_id
        )

    def _close_again(self, now: Transition, first: Transition) -> None:
        """Note where the environment, run again, comes to something else than is recorded."""
        rule, terms, agent = 'step-recomputed', self._terms, self._agents[now.id.agent]
        if terms is None:
            return
        if agent.steps_again is None:
            agent.steps_again = StepsAgain(terms.contract, self._task, now.id.agent)
        try:
            again = agent.steps_again.again(now, now.decisions)
        except (BoundaryError, *WRONG_INPUT) as error:
            why = f'{type(error).__name__}: {error}'
            self.find(rule, Mismatch('', 'what can be run again', why), now.id)
        else:
            why = agent.steps_again.lacking
            found = step_difference(now, again, first.id.digest)
            if found is not None:
                self.find(rule, found, now.id)
        if why and not self._alone and len(self._not_run) < KEPT:
            self._not_run[f'not run again: a step: {why}'] = None

    # Decisions -----------------------------------------------------------------------------------

    def _check_link(self, one: DecisionLink, of: StepId, checks: Sequence[Check]) -> None:
        for check in checks:
            self.find(check.rule, _placed(one.place, check.function(one)), of, near=check.near)

    def _decide_again(self, decisions: DecisionSeries, decision: GateDecision) -> None:
        """Note where a decision is not what follows from its inputs, or from the ones before."""
        place, rule, terms = f'decision {decision.sequence}', 'decision-recomputed', self._terms
        if terms is None:
            return
        decisions.again = decisions.again or DecisionsAgain(terms.contract, terms.judge)
        try:
            found = decisions.again.again(decision)
        except (BoundaryError, *WRONG_INPUT) as error:
            why = f'{type(error).__name__}: {error}'
            self.find(rule, Mismatch(place, 'what can be decided again', why), decision.id)
            return
        for first, near in ((found.from_before, True), (found.differs, False)):
            self.find(rule, _placed(place, [first]), decision.id, near=near)

    def _published(self, decision: GateDecision) -> None:
        """Look at a decision as the gate itself published it."""
        agent = self._agents[decision.id.agent]
        # A gate that was started anew counts from 1 again.
        place = f'gate decision {decision.sequence}'
        one = agent.published.follow(decision, place, self._terms, direct=decision.sequence != 1)
        # A request that is refused may name any step of any episode.
        if decision.verdict is not Verdict.REJECTED:
            agent.name(decision.id, self._now)
        self._check_link(one, decision.id, self._checks)
        self._decide_again(agent.published, decision)
        in_step = agent.only_in_steps.pop(key_of(decision), None)
        if in_step is not None:
            self._compare_decision(in_step[0], in_step[1], decision)
            return
        agent.only_published.put(key_of(decision), decision, WINDOW)

    def _match_published(self, agent: Agent, of: StepId, decision: GateDecision) -> bool:
        """Return whether the gate has published a decision of a step."""
        key = key_of(decision)
        published = agent.only_published.pop(key, None)
        if published is not None:
            return self._compare_decision(of, decision, published)
        forgotten = agent.only_in_steps.put(key, (of, decision, self._now), WINDOW)
        if forgotten is not None:
            self._check_unpublished(agent, *forgotten)
        return False

    def _compare_decision(
        self, of: StepId, in_step: GateDecision, published: GateDecision
    ) -> bool:
        found = list(decision_checks.wrong_decision(in_step, published))
        self.find('as-published', found, of)
        return not found

    def _check_unpublished(
        self, agent: Agent, of: StepId, decision: GateDecision, log_time: int
    ) -> None:
        """Look at a decision of a step that the gate did not publish."""
        if agent.published.first is None:
            return  # reported as a topic that is missing
        before, behind = agent.published.outside(decision.decided.steady)
        if self._on_its_way(GateDecision, log_time, before=before, behind=behind):
            self._broken_by_damage['as-published'] += 1
            return
        place, expected = f'decision {decision.sequence}', 'a decision that the gate published'
        none = Mismatch(place, expected, 'none of that number on its topic')
        self.find('as-published', none, of)

    # What others say about the steps -------------------------------------------------------------

    def _status(self, status: EpisodeStatus) -> None:
        agent = self._agents[status.id.agent]
        if agent.last is not None and status.id.episode_id:
            found = record_checks.changed_status(status, agent.status, agent.last)
            self.find('episode-constant', found, status.id)
        if status.id.episode_id and not UUID.fullmatch(status.id.episode_id):
            unnamed = Mismatch('status.id.episode_id', 'a UUID', repr(status.id.episode_id))
            self.find('one-contract', unnamed, status.id)
        agent.status = status
        if status.message:
            self._last_message = f': {status.message}'
        if status.state.over and status.ending == endings.ENVIRONMENT_LOST:
            agent.lost_environments.put(status.id.episode_id, None, EPISODES)
        self._compare_ending(status, agent)

    def _compare_ending(self, status: EpisodeStatus, agent: Agent) -> None:
        if agent.last is not None:
            found = record_checks.wrong_ending(status, agent.last)
            self.find('ending-declared', found, agent.last.id)

    def _find_leaks(self, agent: Agent, record: Transition | PrivilegedObservation) -> None:
        """Compare a step and its record of privileged fields, whichever came first."""
        if self._alone or (self._terms is not None and not self._terms.contract.privileged):
            return
        self._pair_number += 1
        other, _, number = agent.unpaired.pop(record.id, (None, 0, 0))
        if isinstance(record, Transition) and isinstance(other, PrivilegedObservation):
            step, truth = record, other
        elif isinstance(record, PrivilegedObservation) and isinstance(other, Transition):
            step, truth = other, record
        else:
            most = WINDOW if PrivilegedObservation in self._began else RECENT
            forgotten = agent.unpaired.put(record.id, (record, self._now, self._pair_number), most)
            if forgotten is not None:
                self._check_unpaired(*forgotten)
            return
        for cls, at in ((type(record), self._pair_number), (type(other), number)):
            agent.paired_range[cls] = agent.paired_range.get(cls, (at, at))[0], at
        if self._raw is not None:
            self._raw.privileged(truth, step)
        self.find('truth-withheld', record_checks.leaking(truth, step, agent.leaks), step.id)
        if self._terms is not None:
            specs = self._terms.contract.privileged
            found = record_checks.frozen_otherwise(truth.fields, specs, step.closed)
            self.find('step-recomputed', found, step.id)

    def _why_missing(self, log_time: int) -> str:
        """Return why records about then may be missing in the middle; empty if none may be."""
        if self._raw is not None:
            return self._raw.ties.why_missing(log_time)
        return 'gap' if self._of_another else 'damaged' if self._holes else ''

    def _on_its_way(self, other: type, log_time: int, *, before: bool, behind: bool) -> bool:
        """
        Return whether what belongs to a record need not be there.

        Parameters
        ----------
        other
            What belongs to it.
        log_time
            When the recorder had the record, nanoseconds.
        before, behind
            Whether it is before the first or behind the last of those, in their own order: topics
            are found, and end, one after another.

        """
        # A recorder counts what it lost by the number of the next one: behind the last is none.
        return behind or (before and log_time < self._began.get(other, 0) + REACH)

    def _check_unpaired(self, one: StepOrTruth, log_time: int, number: int) -> None:
        """Look at a step without its record of privileged fields, or at what no step is for."""
        agent = self._agents[one.id.agent]
        other: type[StepOrTruth] = Transition
        if isinstance(one, Transition):
            other = PrivilegedObservation
            if one.reset is not None and one.truncated:
                return  # A reset that failed has shown nothing.
            if other not in self._began and self._terms is not None:
                self.cannot_check('truth-withheld', NO_TRUTH)
        elif agent.may_lack(one.id):
            return
        if self._terms is None or log_time - self._began.get(other, sys.maxsize) < LATE:
            return  # The recorder knew the other topic only later.
        none = (sys.maxsize, 0) if self._end - self._begin < REACH else (0, sys.maxsize)
        first, last = agent.paired_range.get(type(one), none)
        on_its_way = self._on_its_way(other, log_time, before=number < first, behind=number > last)
        why = self._why_missing(log_time)
        if why and self._raw is not None:
            self._raw.ties.excuse(why, 'privileged')
        elif why or on_its_way:
            self._broken_by_damage['truth-withheld'] += 1
        else:
            expected = 'a step, and what is for it, under one id'
            none_of_it = Mismatch('privileged', expected, 'one of them')
            self.find('truth-withheld', none_of_it, one.id, near=True)

    def _privileged(self, record: PrivilegedObservation) -> None:
        self._find_leaks(self._agents[record.id.agent], record)
        if self._terms is not None:
            found = record_checks.wrong_privileged(record, self._terms)
            self.find('fields-as-contract', found, record.id)

    def _evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence, which may come before its step: topics overtake each other."""
        self._has_evidence = True
        agent = self._agents[evidence.id.agent]
        key = (evidence.decision_sequence, evidence.commanded.steady)
        found = agent.executed.get(key)
        if found is not None:
            self._compare_evidence(evidence, *found)
            return
        forgotten = agent.early_evidence.put(key, (evidence, self._now), WINDOW)
        if forgotten is not None:
            self._check_unexplained(agent, *forgotten)

    def _compare_evidence(
        self, evidence: ActuationEvidence, decision: GateDecision, step: Transition
    ) -> None:
        found = record_checks.wrong_evidence(evidence, decision, step)
        self.find('execution-measured', found, step.id, near=True)

    def _check_unexplained(self, agent: Agent, evidence: ActuationEvidence, log_time: int) -> None:
        """Look at evidence that no decision of a step is for."""
        before, behind = agent.in_steps.outside(evidence.commanded.steady)
        is_unknown = evidence.id.episode_id not in agent.steps
        if is_unknown and (before or self._holes or self._gap_until):
            return  # The record has nothing of that episode.
        if self._why_missing(log_time) or self._on_its_way(
            Transition, log_time, before=before, behind=behind
        ):
            self._broken_by_damage['execution-measured'] += 1
            return
        place = f'evidence for decision {evidence.decision_sequence}'
        none = Mismatch(place, 'a decision of a step, commanded at that instant', 'none')
        self.find('execution-measured', none, evidence.id, near=True)


def _placed(place: str, found: Iterable[Mismatch | None]) -> Iterator[Mismatch]:
    """Yield what was found in a decision, with the place of the decision."""
    return (replace(one, field=f'{place}.{one.field}') for one in found if one is not None)
