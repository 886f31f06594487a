# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The audit: whether a record kept the boundary, and if not, where, which rule and which step.

It streams: however long the record is, only the last steps and a bounded number of findings are
kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
import math
import sys
from typing import TypeAlias

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.decision import GateDecision, StepId, Verdict
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import ActuationEvidence, PrivilegedObservation, Transition
from boundary_env_ros.errors import BoundaryError, RecordError, WRONG_INPUT
from boundary_env_ros.evidence.audit import memory
from boundary_env_ros.evidence.audit.findings import (
    ALONE,
    AuditReport,
    Finding,
    NO_CONTRACT,
    OF_THE_BAG,
    UNDECIDED,
    UNKNOWN,
)
from boundary_env_ros.evidence.audit.memory import (
    Agent,
    answered,
    key_of,
    link,
)
from boundary_env_ros.evidence.audit.raw_messages.auditor import RawAuditor
from boundary_env_ros.evidence.audit.raw_messages.ties import LATE, Ties
from boundary_env_ros.evidence.audit.rules import whole
from boundary_env_ros.evidence.audit.rules.base import (
    Check,
    Link,
    Mismatch,
    NotChecked,
    Scene,
    Terms,
    unlike,
)
from boundary_env_ros.evidence.audit.rules.catalogue import RECOMPUTED, RULE, Rule, RULES
from boundary_env_ros.evidence.audit.rules.checks import CHECKS, DECISION_CHECKS, STEP_CHECKS
from boundary_env_ros.evidence.audit.rules.identity import UUID
from boundary_env_ros.evidence.replay.decisions import DecisionsAgain
from boundary_env_ros.evidence.replay.differences import FieldDifference
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.records import ContractDescription, Message, Record

#: Findings of one rule that are kept; beyond that they are only counted.
KEPT = 20

#: Why something is not known of a step that another record would tell of.
NO_TRUTH = 'the record has no privileged observations, or none of its first steps'
NO_EVIDENCE = 'the record has no actuation evidence, which may come after its step'

#: Why it is not known whether a message was changed.
NO_CHAIN = (
    'the record has no chain over its messages: it is unknown whether it was changed after it '
    'was recorded'
)

#: Nanoseconds before the end of a torn record in which a record may lack its other half.
TORN = 12 * NANOSECONDS

#: Nanoseconds behind a hole in which a record may speak of what was in it.
REACH = 2 * NANOSECONDS

# Nanoseconds by which messages of several topics may be in another order than they came in.
_EDGE = NANOSECONDS // 20

#: What comes with another record under the same id.
Half: TypeAlias = Transition | PrivilegedObservation


class Auditor:
    """
    Takes a record piece by piece, in the order in which it was recorded, and keeps what it finds.

    Parameters
    ----------
    contract
        Contract to hold the record against; without it the rules that need one are not applied,
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
        # The raw auditor looks at the same list: a hole that is filled is none for it either.
        self._holes = list(holes)
        self._raw: RawAuditor | None = None
        if contract is not None and topics:
            ties = Ties(contract, topics, self.find, self._holes)
            self._raw = RawAuditor(ties, topics)
        self._of_another = of_another
        self._had: dict[tuple[str, type], int] = {}  # log time of the last of each kind
        self._terms: Terms | None = None
        self._again: Rerun | None = None
        if contract is not None:
            digest = digest_of(contract)
            judge = Judge(contract, digest=digest)
            self._terms = Terms(contract=contract, digest=digest, judge=judge)
            self._again = Rerun(contract, task, find=self._differs)
        self._step_checks = [check for check in STEP_CHECKS if not self._lacking(check)]
        self._checks = [check for check in DECISION_CHECKS if not self._lacking(check)]
        self._of_sequence = [c for c in self._checks if c.rule == 'decision-sequence']
        self._agents: defaultdict[str, Agent] = defaultdict(Agent)
        self._first: Transition | None = None
        self._begin = sys.maxsize  # the least log time
        self._now = 0  # log time of the last record
        self._last_word = ''  # of an environment that may not have got to its first step
        self._unevidenced = False  # whether a step lacks evidence that may have come later
        self._described: set[tuple[str, str]] = set()  # nodes, each with a digest
        self._found: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._transitions = self._episodes = self._decisions = 0
        # The steps just behind a hole, and what does not fit there for what is missing.
        self._behind: set[StepId] = set()
        # By agent and episode, the first step of a slice that begins in its middle.
        self._cuts: dict[tuple[str, str], int] = {}
        self._lacking_of: Counter[str] = Counter()
        self._spared: dict[tuple[str, str], None] = {}

    def _lacking(self, check: Check) -> str:
        """Return what is missing to make a check; empty if nothing is."""
        return (self._missing or NO_CONTRACT) if check.contract and self._terms is None else ''

    def _lacking_for(self, rule: Rule) -> str:
        """Return what is missing to run again, or to look at the raw messages, for a rule."""
        needed = rule.id in RECOMPUTED or (rule.raw and self._has_topics)
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
        if rule.raw and self._raw is None:
            return 'the record has no raw messages'
        return ''

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics whose raw messages are wanted."""
        return frozenset() if self._raw is None else self._raw.topics

    def message(self, recorded: Message) -> None:
        """Look at the next raw message, of one of :attr:`topics`."""
        if self._raw is None:
            return
        self._came(recorded.log_time)
        try:
            self._raw.message(recorded)
        except RecordError as error:
            self.unreadable(recorded.topic, str(error))

    def add(self, record: Record, log_time: int = 0, topic: str = '') -> None:
        """
        Look at the next piece of the record.

        Parameters
        ----------
        record
            The piece.
        log_time
            When the recorder had it, nanoseconds; only compared with that of raw messages.
        topic
            From where.

        """
        self._came(log_time)
        if isinstance(record, (Transition, EpisodeStatus)):
            self._look_for_the_beginning(record, log_time)
        if self._of_another and isinstance(record, (Transition, GateDecision)):
            self._look_for_a_gap(record, log_time)
        self._now = max(self._now, log_time)
        self._began.setdefault(type(record), log_time)
        if self._raw is not None:
            self._raw.add(record, log_time)
        if (
            self._holes
            and isinstance(record, (Transition, GateDecision))
            and any(begin <= log_time <= end + REACH for begin, end in self._holes)
        ):
            self._behind.add(record.id)
            before = self._agents[record.id.agent].last
            if before is not None:
                self._behind.add(before.id)  # what came between the two may have ended it
        if self._again is not None:
            self._again.add(record, topic)
        if isinstance(record, Transition):
            self._transition(record)
        elif isinstance(record, GateDecision):
            self._sent(record)
        elif isinstance(record, EpisodeStatus):
            self._status(record)
        elif isinstance(record, PrivilegedObservation):
            self._privileged(record)
        elif isinstance(record, ActuationEvidence):
            self._evidence(record)
        elif isinstance(record, ContractDescription):
            self._described.add((record.node, record.digest))

    def _is_behind_hole(self, rule: str, of: StepId | None) -> bool:
        """Return whether what is compared with a step, or its episode, may be missing."""
        if rule == 'index-agrees' and of is not None:
            return any(of.episode_id == step.episode_id for step in self._behind)
        return of in self._behind or (
            of is not None and of.step < self._cuts.get((of.agent, of.episode_id), of.step)
        )

    def _look_for_the_beginning(self, record: Transition | EpisodeStatus, log_time: int) -> None:
        """
        Take what came before the record for missing, if it begins in the middle of an episode.

        So does a slice of a run, or a recorder that came late. Nothing in it can tell of a step
        before its first one; where something does, steps were taken out.
        """
        agent, begin = self._agents[record.id.agent], self._begin
        if agent.last is not None or self._alone:
            return
        if isinstance(record, EpisodeStatus):
            if log_time > begin + LATE:
                agent.waiting.setdefault(record.id.episode_id, record.id.step)
        elif 0 < record.id.step <= agent.waiting.get(record.id.episode_id, record.id.step) + 1:
            self.begins_late()
            self._behind.add(record.id)
            self._cuts[record.id.agent, record.id.episode_id] = record.id.step
            cut = f'a slice of a run: it begins at step {record.id.step}'
            self.find('record-closed', Mismatch('record', 'the beginning', cut), record.id)

    def _look_for_a_gap(self, record: Transition | GateDecision, log_time: int) -> None:
        """Take what another recorder dropped for missing, if the numbers have a gap there."""
        agent, of, key = self._agents[record.id.agent], record.id, (record.id.agent, type(record))
        since, self._had[key] = self._had.get(key, 0), log_time
        before: Transition | GateDecision | None = agent.last
        if isinstance(record, GateDecision):
            before = None if agent.sent is None else agent.sent.decision
            dropped = before is not None and record.sequence > before.sequence + 1
        elif before is not None and before.id.episode_id == of.episode_id:
            dropped = of.step > before.id.step + 1
        else:
            dropped = of.step > 0 or not self._ended(agent)
        if before is None or not dropped:
            return
        self._holes.append((since, log_time))
        first = before.id.step
        missing = [(of, first, min(of.step, first + memory.WINDOW))]
        if before.id.episode_id != of.episode_id:
            missing = [
                (before.id, first, first + memory.RECENT),
                (of, 0, min(of.step, memory.WINDOW)),
            ]
        self._behind.update(
            replace(id_, step=step)
            for id_, begin, end in missing
            for step in range(begin, end + 1)
        )
        gap = f'a gap of another recorder behind step {first} of {before.id.episode_id}'
        self.find('record-closed', Mismatch('record', 'all its messages', gap), of)

    def begins_late(self) -> None:
        """Take what came before the record for missing: it is a slice of a run."""
        if (0, self._begin) not in self._holes:
            self._holes.append((0, self._begin))

    def _came(self, log_time: int) -> None:
        """Fill the holes that a message is in the middle of: nothing is missing there."""
        self._begin = min(self._begin, log_time)
        for hole in [h for h in self._holes if h[0] + _EDGE < log_time < h[1] - _EDGE]:
            self._holes.remove(hole)

    def cannot_check(self, rule: str, why: str) -> None:
        """Note that a rule could not be applied."""
        self._spared[rule, why] = None

    def lacks(self, rule: str) -> None:
        """Note that a rule is broken only where the record is damaged."""
        self._lacking_of[rule] += 1

    def unreadable(self, place: str, why: str) -> None:
        """Note a line or message that could not be read."""
        self.find('record-complete', Mismatch(place, 'a whole record', why))

    def find(
        self, rule: str, mismatch: Mismatch, of: StepId | None = None, *, near: bool = False
    ) -> None:
        """
        Note a finding; of each rule only the first few are kept, the others counted.

        Parameters
        ----------
        rule, mismatch
            The rule, and where it is not kept.
        of
            The step; None if it is about the record as a whole.
        near
            Whether this part of the rule compares with another record. What a decision says of
            itself, its bounds, limits and emergency stop, is excused behind no hole.

        """
        if (near or RULE[rule].near) and self._is_behind_hole(rule, of):
            self._lacking_of[rule] += 1
            return
        if rule not in OF_THE_BAG and self._unlike().unknown:
            self.cannot_check(rule, UNKNOWN)
            return
        self._counts[rule] += 1
        if self._counts[rule] > KEPT:
            return
        self._found.append(
            Finding(
                rule=rule,
                agent=of.agent if of else '',
                episode=of.episode_id if of else '',
                step=of.step if of else None,
                field=mismatch.field,
                expected=mismatch.expected,
                actual=mismatch.actual,
            )
        )

    def _find_all(
        self,
        rule: str,
        found: Iterable[Mismatch],
        of: StepId | None = None,
        *,
        near: bool = False,
    ) -> None:
        for mismatch in found:
            self.find(rule, mismatch, of, near=near)

    def report(self, *, torn: bool = False) -> AuditReport:
        """
        Return what was found, once the record is at its end.

        Parameters
        ----------
        torn
            Whether the end of the record is known to be missing.

        """
        if self._raw is not None:
            self._raw.finish(torn=torn)
        unread = 'record-complete' in self._counts
        if self._first is None and not (torn or unread):
            nothing = Mismatch('record', 'at least one transition', f'none{self._last_word}')
            self.find('record-closed', nothing)
        if self._first is not None:
            for node, digest in sorted(self._described):
                found = unlike(node, self._first.id.digest, digest, 'as in the first step')
                self._find_all('one-contract', found)
        if self._again is not None:
            self._again.finish()
            for why in () if self._alone else self._again.unable:
                self._spared['step-recomputed', f'not run again: {why}'] = None
        for agent in self._agents.values():
            if agent.last is not None and not (self._alone or self._ended(agent)):
                none = Mismatch('terminated, truncated', 'an ending', 'neither')
                self.find('record-ended', none, agent.last.id)
            agent.look_at_named(math.inf if self._raw is None else self._raw.ties.newest - LATE)
            for named in () if torn else agent.decided.values():
                last = agent.steps.get(named.episode_id, 0)
                if named.step > last + 1:
                    expected = f'every step up to {named.step}, which the gate had heard of'
                    fewer = Mismatch('id.step', expected, f'none behind step {last}')
                    self.find('steps-in-order', fewer, named, near=True)
            if agent.sent is not None:
                for step, decision, log_time in agent.only_carried.values():
                    recent = self._may_follow(
                        decision.decided.ros.nanoseconds, log_time, torn=torn
                    )
                    later = decision.decided.steady > agent.sent.decision.decided.steady
                    if recent and later:
                        self._lacking_of['as-published'] += 1
                    else:
                        self._not_sent(step, decision)
            for evidence in () if torn else agent.ahead.values():
                if self._may_follow(evidence.actuated.nanoseconds, 0, torn=False):
                    self._lacking_of['execution-measured'] += 1
                else:
                    self._unexplained(agent, evidence)
            for half, log_time in agent.halves.values():
                self._half(half, log_time, torn=torn)
            agent.only_carried.clear()
            agent.ahead.clear()
            agent.halves.clear()
        if self._unevidenced and ActuationEvidence not in self._began:
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
            lacking=dict(self._lacking_of),
        )

    def _not_checked(self) -> tuple[NotChecked, ...]:
        found = dict(self._spared)
        for check in CHECKS:
            found[check.rule, self._lacking(check)] = None
        for rule in RULES:
            found[rule.id, self._lacking_for(rule)] = None
        lacking = tuple(NotChecked(rule=rule, why=why) for rule, why in found if why)
        return lacking if self._raw is None else (*lacking, *self._raw.not_checked)

    # Steps ---------------------------------------------------------------------------------------

    def _transition(self, now: Transition) -> None:
        self._transitions += 1
        self._first = self._first or now
        agent = self._agents[now.id.agent]
        last = agent.last
        begins = last is None or last.id.episode_id != now.id.episode_id
        reopened = begins and now.id.episode_id in agent.steps
        if begins:
            self._episodes += not reopened
            if last is not None:
                self._leave(agent, last)
            agent.start = now
            agent.fresh = True
        links = []
        for i, decision in enumerate(now.decisions):
            # What the gate decided between two episodes is in no step.
            place, direct = f'decisions[{i}]', not agent.fresh
            agent.carried = link(agent.carried, decision, place, self._terms, direct=direct)
            links.append(agent.carried)
            agent.fresh = False
        scene = Scene(
            now=now,
            first=self._first,
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
            for mismatch in check.look(scene):
                self.find(check.rule, mismatch, of, near=check.near)
        for each in links:
            self._decisions += 1
            # What the gate published is looked at in the chain of all that it published.
            published = self._match_carried(agent, now.id, each.decision)
            self._check_link(each, now.id, self._of_sequence if published else self._checks)
            if not published:
                agent.carried_again = agent.carried_again or self._decisions_again()
                self._decide_again(agent.carried_again, each.decision)
            key = key_of(each.decision)
            agent.executed.put(key, (each.decision, now), memory.WINDOW)
            evidence = agent.ahead.pop(key, None)
            if evidence is not None:
                self._compare_evidence(evidence, each.decision, now)
        agent.last = now
        agent.steps.put(
            of.episode_id, max(of.step, agent.steps.get(of.episode_id, 0)), memory.EPISODES
        )
        self._look_for_leaks(agent, now)
        if ActuationEvidence not in self._began and self._terms is not None and not self._alone:
            answer = None if now.actuated is not None else now.answer
            if answer is not None and whole.shows(answer, self._terms.contract):
                self._unevidenced = True
        agent.recent.append(now)
        if agent.status is not None:
            self._compare_ending(agent.status, agent)
            self._find_all('instants-in-order', whole.told_early(agent.status, now), of)

    def _leave(self, agent: Agent, last: Transition) -> None:
        """Go on to another episode."""
        if not self._ended(agent):
            expected = 'an ending before the next episode begins'
            none = Mismatch('terminated, truncated', expected, 'neither')
            self.find('episode-ended', none, last.id)

    @staticmethod
    def _ended(agent: Agent) -> bool:
        """Return whether the present episode has an ending, recorded or at least announced."""
        last, status = agent.last, agent.status
        if last is None or last.terminated or last.truncated:
            return True
        if last.id.episode_id in agent.bereft:
            return True  # the next one may be announced before it has a step
        return (
            status is not None and status.state.over and status.id.episode_id == last.id.episode_id
        )

    def _differs(self, of: StepId, first: FieldDifference) -> None:
        """Note where the environment came to something else than is recorded."""
        self.find('step-recomputed', Mismatch(first.field, first.recomputed, first.recorded), of)

    # Decisions -----------------------------------------------------------------------------------

    def _check_link(self, one: Link, of: StepId, checks: Sequence[Check]) -> None:
        for check in checks:
            for found in check.look(one):
                placed = replace(found, field=f'{one.place}.{found.field}')
                self.find(check.rule, placed, of, near=check.near)

    def _decide_again(self, again: DecisionsAgain | None, decision: GateDecision) -> None:
        """Note where a decision is not what follows from its inputs, or from the ones before."""
        place, rule = f'decision {decision.sequence}', 'decision-recomputed'
        if again is None:
            return
        try:
            found = again.again(decision)
        except (BoundaryError, *WRONG_INPUT) as error:
            why = f'{type(error).__name__}: {error}'
            self.find(rule, Mismatch(place, 'what can be decided again', why), decision.id)
            return
        for first, near in ((found.from_before, True), (found.differs, False)):
            if first is not None:
                field = f'{place}.{first.field}'
                mismatch = Mismatch(field, first.recomputed, first.recorded)
                self.find(rule, mismatch, decision.id, near=near)

    def _decisions_again(self) -> DecisionsAgain | None:
        terms = self._terms
        return None if terms is None else DecisionsAgain(terms.contract, terms.judge)

    def _sent(self, decision: GateDecision) -> None:
        """Look at a decision as the gate itself published it."""
        agent = self._agents[decision.id.agent]
        # A gate that was started anew counts from 1 again.
        place = f'gate decision {decision.sequence}'
        direct = decision.sequence != 1
        agent.sent = link(agent.sent, decision, place, self._terms, direct=direct)
        # A request that is refused may name any step of any episode.
        if decision.verdict is not Verdict.REJECTED:
            made = decision.decided.ros.nanoseconds
            agent.named.append((made, decision.id))
            agent.look_at_named(made - LATE)
        self._check_link(agent.sent, decision.id, self._checks)
        agent.sent_again = agent.sent_again or self._decisions_again()
        self._decide_again(agent.sent_again, decision)
        carried = agent.only_carried.pop(key_of(decision), None)
        if carried is not None:
            self._compare_decision(carried[0], carried[1], decision)
            return
        agent.only_sent.put(key_of(decision), decision, memory.WINDOW)

    def _match_carried(self, agent: Agent, of: StepId, decision: GateDecision) -> bool:
        """Return whether the gate has published a decision of a step."""
        key = key_of(decision)
        sent = agent.only_sent.pop(key, None)
        if sent is not None:
            return self._compare_decision(of, decision, sent)
        forgotten = agent.only_carried.put(key, (of, decision, self._now), memory.WINDOW)
        if forgotten is not None and agent.sent is not None:
            self._not_sent(*forgotten[:2])
        return False

    def _compare_decision(self, of: StepId, carried: GateDecision, sent: GateDecision) -> bool:
        found = list(whole.wrong_decision(carried, sent))
        self._find_all('as-published', found, of)
        return not found

    def _not_sent(self, of: StepId, decision: GateDecision) -> None:
        place, expected = f'decision {decision.sequence}', 'a decision that the gate published'
        none = Mismatch(place, expected, 'none of that number on its topic')
        self.find('as-published', none, of)

    # What others say about the steps -------------------------------------------------------------

    def _status(self, status: EpisodeStatus) -> None:
        agent, terms = self._agents[status.id.agent], self._terms
        if agent.last is not None and status.id.episode_id:
            found = whole.changed_status(status, agent.status, agent.last)
            self._find_all('episode-constant', found, status.id)
        if status.id.episode_id and not UUID.fullmatch(status.id.episode_id):
            unnamed = Mismatch('status.id.episode_id', 'a UUID', repr(status.id.episode_id))
            self.find('one-contract', unnamed, status.id)
        if terms is not None:
            other = whole.other_contract('status.id', status.id, terms)
            self._find_all('one-contract', other, status.id)
        agent.status = status
        if status.message:
            self._last_word = f': {status.message}'
        if status.state.over and status.ending == endings.ENVIRONMENT_LOST:
            agent.bereft.put(status.id.episode_id, None, memory.EPISODES)
        self._compare_ending(status, agent)

    def _compare_ending(self, status: EpisodeStatus, agent: Agent) -> None:
        if agent.last is not None:
            found = whole.wrong_ending(status, agent.last)
            self._find_all('ending-declared', found, agent.last.id)

    def _look_for_leaks(self, agent: Agent, record: Transition | PrivilegedObservation) -> None:
        """Compare a step and its record of privileged fields, whichever came first."""
        if self._alone or (self._terms is not None and not self._terms.contract.privileged):
            return
        other, _ = agent.halves.pop(record.id, (None, 0))
        if isinstance(record, Transition) and isinstance(other, PrivilegedObservation):
            step, truth = record, other
        elif isinstance(record, PrivilegedObservation) and isinstance(other, Transition):
            step, truth = other, record
        else:
            most = memory.WINDOW if PrivilegedObservation in self._began else memory.RECENT
            forgotten = agent.halves.put(record.id, (record, self._now), most)
            if forgotten is not None:
                self._half(*forgotten)
            return
        if self._raw is not None:
            self._raw.privileged(truth, step, self._now)
        self._find_all('truth-withheld', whole.leaking(truth, step, agent.leaks), step.id)
        if self._terms is not None:
            specs = self._terms.contract.privileged
            found = whole.frozen_otherwise(truth.fields, specs, step.closed)
            self._find_all('step-recomputed', found, step.id)

    def _may_follow(self, made: int | None, log_time: int, *, torn: bool) -> bool:
        """
        Return whether what belongs to a record may have been on its way to the recorder.

        That is at the end, when the recorder was killed, or told to stop: then by the instants of
        the records, since log times are whatever who wrote them says.
        """
        if torn:
            return log_time >= self._now - TORN
        if self._raw is None or made is None:
            return False
        return self._raw.ties.ends_at(made)

    def _half(self, half: Half, log_time: int, *, torn: bool = False) -> None:
        """Look at a step without its record of privileged fields, or at what no step is for."""
        if self._terms is None:
            return
        ties = None if self._raw is None else self._raw.ties
        rule, made = 'truth-withheld', None
        if isinstance(half, Transition):
            began = self._began.get(PrivilegedObservation)
            expected = 'a record of privileged fields under the id of the step'
            if half.reset is not None and half.truncated:
                return  # A reset that failed has shown nothing.
            if began is None:
                self.cannot_check(rule, NO_TRUTH)
                return
            made = half.closed.ros.nanoseconds
        else:
            began, expected = self._began.get(Transition), 'a step under its id'
            if began is None or self._agents[half.id.agent].may_lack(half.id):
                return
            if ties is None and self._holes:
                return
        if log_time - began < LATE:
            return  # The recorder heard of the other topic only later.
        why = '' if ties is None else ties.lack()
        if why and ties is not None:
            ties.excuse(why, 'privileged')
        elif self._may_follow(made, log_time, torn=torn):
            self._lacking_of[rule] += 1
        else:
            self.find(rule, Mismatch('privileged', expected, 'none'), half.id, near=True)

    def _privileged(self, record: PrivilegedObservation) -> None:
        self._look_for_leaks(self._agents[record.id.agent], record)
        if self._terms is not None:
            found = whole.wrong_privileged(record, self._terms)
            self._find_all('fields-as-contract', found, record.id)
            other = whole.other_contract('privileged.id', record.id, self._terms)
            self._find_all('one-contract', other, record.id)

    def _evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence, which may come before its step: topics overtake each other."""
        agent = self._agents[evidence.id.agent]
        if self._terms is not None:
            other = whole.other_contract('evidence.id', evidence.id, self._terms)
            self._find_all('one-contract', other, evidence.id)
        if agent.last is None:
            agent.early.add(evidence.id.episode_id)
        key = (evidence.decision_sequence, evidence.commanded.steady)
        found = agent.executed.get(key)
        if found is not None:
            self._compare_evidence(evidence, *found)
            return
        forgotten = agent.ahead.put(key, evidence, memory.WINDOW)
        if forgotten is not None:
            self._unexplained(agent, forgotten)

    def _compare_evidence(
        self, evidence: ActuationEvidence, decision: GateDecision, step: Transition
    ) -> None:
        found = whole.wrong_evidence(evidence, decision, step)
        self._find_all('execution-measured', found, step.id, near=True)

    def _unexplained(self, agent: Agent, evidence: ActuationEvidence) -> None:
        """Look at evidence that no decision of a step is for."""
        episode_id = evidence.id.episode_id
        if episode_id not in agent.steps and (self._holes or episode_id in agent.early):
            return  # The record has nothing of that episode.
        if self._raw is not None and self._raw.ties.lack():
            self._lacking_of['execution-measured'] += 1
            return
        place, expected = (
            f'evidence for decision {evidence.decision_sequence}',
            'a decision of a step, commanded at that instant',
        )
        none = Mismatch(place, expected, 'none')
        self.find('execution-measured', none, evidence.id, near=True)
