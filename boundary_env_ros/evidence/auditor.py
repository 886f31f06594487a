# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The audit: whether a record kept the boundary, and if not, where, which rule and which step.

It streams: however long the record is, only the last steps and a bounded number of findings are
kept.
"""

from __future__ import annotations

from collections import Counter, deque

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import GateDecision, StepId
from boundary_env_ros.core.digest import digest_of
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import ActuationEvidence, EvaluatorRecord, Transition
from boundary_env_ros.evidence import audit_rules
from boundary_env_ros.evidence.findings import AuditReport, Finding
from boundary_env_ros.evidence.memory import Agent, EPISODES, key_of
from boundary_env_ros.evidence.rules.base import (
    Link,
    Mismatch,
    Rule,
    same,
    Scene,
    terms_of,
    vector,
)
from boundary_env_ros.storage.records import ContractDescription, Record

#: Findings of one rule that are kept; beyond that they are only counted.
KEPT = 20

#: Descriptions of contracts that wait for the first step.
DESCRIBED = 64


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

    """

    def __init__(self, contract: Contract | None = None, task: Task | None = None) -> None:
        self._task = task
        self._terms = None if contract is None else terms_of(contract, digest_of(contract))
        rules = [rule for rule in audit_rules.RULES if self._applies(rule)]
        self._rules = [(r, r.check) for r in rules if r.check is not None]
        self._link_rules = [(r, r.check_link) for r in rules if r.check_link is not None]
        self._agents: dict[str, Agent] = {}
        self._first: Transition | None = None
        self._described: deque[ContractDescription] = deque(maxlen=2 * DESCRIBED)
        self._found: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._transitions = self._episodes = self._decisions = 0

    def _applies(self, rule: Rule) -> bool:
        return (self._terms is not None or not rule.needs_contract) and (
            self._task is not None or not rule.needs_task
        )

    def add(self, record: Record) -> None:
        """Look at the next piece of the record."""
        if isinstance(record, Transition):
            self._transition(record)
        elif isinstance(record, GateDecision):
            self._sent(record)
        elif isinstance(record, EpisodeStatus):
            self._status(record)
        elif isinstance(record, EvaluatorRecord):
            self._evaluator(record)
        elif isinstance(record, ActuationEvidence):
            self._evidence(record)
        else:
            self._described.append(record)
            if len(self._described) > DESCRIBED:
                self._compare_contracts()

    def unreadable(self, place: str, why: str) -> None:
        """Note a line or message that could not be read."""
        self.find(
            audit_rules.record_complete,
            Mismatch(field=place, expected='a whole record', actual=why),
        )

    def find(self, rule: Rule, mismatch: Mismatch, of: StepId | None = None) -> None:
        """Note a finding; of each rule only the first few are kept, the others counted."""
        self._counts[rule.id] += 1
        if self._counts[rule.id] > KEPT:
            return
        self._found.append(
            Finding(
                rule=rule.id,
                agent=of.agent if of else '',
                episode=of.episode_id if of else '',
                step=of.step if of else None,
                field=mismatch.field,
                expected=mismatch.expected,
                actual=mismatch.actual,
            )
        )

    def report(self) -> AuditReport:
        """Return what was found, once the record is at its end."""
        if self._first is None:
            self.find(
                audit_rules.record_not_empty,
                Mismatch(field='record', expected='at least one transition', actual='none'),
            )
        self._compare_contracts()
        for agent in self._agents.values():
            if agent.last is not None and not self._ended(agent):
                self.find(
                    audit_rules.record_ended,
                    Mismatch(
                        field='terminated, truncated', expected='an ending', actual='neither'
                    ),
                    agent.last.id,
                )
            if agent.sent.before is not None:
                for step, decision in agent.only_carried.values():
                    self._not_sent(step, decision)
            agent.only_carried.clear()
        terms = self._terms
        return AuditReport(
            findings=tuple(self._found),
            counts=dict(self._counts),
            transitions=self._transitions,
            episodes=self._episodes,
            decisions=self._decisions,
            contract=f'{terms.contract.name} {terms.contract.version}' if terms else '',
            digest=terms.digest if terms else '',
            not_applied=tuple(rule.id for rule in audit_rules.RULES if not self._applies(rule)),
        )

    # Steps ---------------------------------------------------------------------------------------

    def _transition(self, now: Transition) -> None:
        self._transitions += 1
        self._first = self._first or now
        agent = self._agents.setdefault(now.id.agent, Agent())
        last = agent.last
        begins = last is None or last.id.episode_id != now.id.episode_id
        reopened = begins and now.id.episode_id in agent.left
        if begins:
            self._episodes += not reopened
            if last is not None:
                self._leave(agent, last)
            agent.start = now
            agent.fresh = True
        links = []
        for i, decision in enumerate(now.decisions):
            # What the gate decided between two episodes is in no step.
            links.append(agent.carried.link(decision, f'decisions[{i}]', direct=not agent.fresh))
            agent.fresh = False
        scene = Scene(
            now=now,
            first=self._first,
            last=last,
            start=agent.start or now,
            answered=_answered(now, agent),
            reopened=reopened,
            links=tuple(links),
            terms=self._terms,
            task=self._task,
        )
        for rule, check in self._rules:
            for mismatch in check(scene):
                self.find(rule, mismatch, now.id)
        for link in links:
            self._decisions += 1
            self._check_link(link, now.id)
            self._match_carried(agent, now.id, link.decision)
            agent.executed.put(link.decision, (link.decision, now))
        agent.last = now
        agent.recent.append(now)
        if agent.status is not None:
            self._compare_ending(agent.status, agent)

    def _leave(self, agent: Agent, last: Transition) -> None:
        """Go on to another episode."""
        if not self._ended(agent):
            self.find(
                audit_rules.episode_ended,
                Mismatch(
                    field='terminated, truncated',
                    expected='an ending before the next episode begins',
                    actual='neither',
                ),
                last.id,
            )
        agent.left[last.id.episode_id] = None
        if len(agent.left) > EPISODES:
            agent.left.popitem(last=False)

    @staticmethod
    def _ended(agent: Agent) -> bool:
        """Return whether the present episode has an ending, recorded or at least announced."""
        last, status = agent.last, agent.status
        if last is None or last.terminated or last.truncated:
            return True
        return (
            status is not None and status.state.over and status.id.episode_id == last.id.episode_id
        )

    # Decisions -----------------------------------------------------------------------------------

    def _check_link(self, link: Link, of: StepId) -> None:
        for rule, check in self._link_rules:
            for mismatch in check(link, self._terms):
                self.find(
                    rule,
                    Mismatch(
                        field=f'{link.place}.{mismatch.field}',
                        expected=mismatch.expected,
                        actual=mismatch.actual,
                    ),
                    of,
                )

    def _sent(self, decision: GateDecision) -> None:
        """Look at a decision as the gate itself published it."""
        agent = self._agents.setdefault(decision.id.agent, Agent())
        # A gate that was started anew counts from 1 again.
        place = f'gate decision {decision.sequence}'
        link = agent.sent.link(decision, place, direct=decision.sequence != 1)
        self._check_link(link, decision.id)
        carried = agent.only_carried.pop(key_of(decision), None)
        if carried is not None:
            self._compare_decision(carried[0], carried[1], decision)
            return
        agent.only_sent.put(decision, decision)

    def _match_carried(self, agent: Agent, of: StepId, decision: GateDecision) -> None:
        sent = agent.only_sent.pop(key_of(decision), None)
        if sent is not None:
            self._compare_decision(of, decision, sent)
            return
        forgotten = agent.only_carried.put(decision, (of, decision))
        if forgotten is not None and agent.sent.before is not None:
            self._not_sent(*forgotten)

    def _compare_decision(self, of: StepId, carried: GateDecision, sent: GateDecision) -> None:
        if not same(carried, sent):
            self.find(
                audit_rules.decisions_agree,
                Mismatch(
                    field=f'decision {carried.sequence}',
                    expected=f'{sent.verdict.name} {vector(sent.command)}, as published',
                    actual=f'{carried.verdict.name} {vector(carried.command)}'
                    + (' with other inputs' if carried.command == sent.command else ''),
                ),
                of,
            )

    def _not_sent(self, of: StepId, decision: GateDecision) -> None:
        self.find(
            audit_rules.decisions_agree,
            Mismatch(
                field=f'decision {decision.sequence}',
                expected='a decision that the gate published',
                actual='none of that number on its topic',
            ),
            of,
        )

    # What others say about the steps -------------------------------------------------------------

    def _status(self, status: EpisodeStatus) -> None:
        agent = self._agents.setdefault(status.id.agent, Agent())
        agent.status = status
        self._compare_ending(status, agent)

    def _compare_ending(self, status: EpisodeStatus, agent: Agent) -> None:
        last = agent.last
        if last is None or last.id.episode_id != status.id.episode_id or not status.state.over:
            return
        if not (last.terminated or last.truncated):
            return
        announced = (status.state is EpisodeState.TERMINATED, status.cause, status.declared_by)
        recorded = (last.terminated, last.cause, last.declared_by)
        if announced != recorded:
            self.find(
                audit_rules.status_agrees,
                Mismatch(
                    field='cause',
                    expected=f'{status.state.name.lower()} by {status.declared_by!r} for '
                    f'{status.cause!r}, as it was announced',
                    actual=f'{"terminated" if last.terminated else "truncated"} by '
                    f'{last.declared_by!r} for {last.cause!r}',
                ),
                last.id,
            )

    def _compare_contracts(self) -> None:
        """Hold the contracts of the nodes against that of the steps, as soon as there is one."""
        if self._first is None:
            return
        for described in self._described:
            if described.digest != self._first.id.digest:
                self.find(
                    audit_rules.contract_described,
                    Mismatch(
                        field=described.node,
                        expected=f'{self._first.id.digest} as in the first step',
                        actual=described.digest,
                    ),
                )
        self._described.clear()

    def _evaluator(self, record: EvaluatorRecord) -> None:
        if self._terms is None:
            return
        expected = tuple(spec.name for spec in self._terms.contract.evaluator)
        actual = tuple(found.name for found in record.fields)
        rule = audit_rules.evaluator_as_contract
        if actual != expected:
            self.find(
                rule,
                Mismatch(
                    field='evaluator.fields',
                    expected=', '.join(expected) or 'none',
                    actual=', '.join(actual) or 'none',
                ),
                record.id,
            )
        if record.id.digest != self._terms.digest:
            self.find(
                rule,
                Mismatch(
                    field='evaluator.id.digest',
                    expected=self._terms.digest,
                    actual=record.id.digest,
                ),
                record.id,
            )

    def _evidence(self, evidence: ActuationEvidence) -> None:
        agent = self._agents.setdefault(evidence.id.agent, Agent())
        found = agent.executed.get((evidence.decision_sequence, evidence.commanded.steady))
        rule = audit_rules.late_evidence
        if found is None:
            if agent.last is not None and agent.last.id.episode_id == evidence.id.episode_id:
                self.find(
                    rule,
                    Mismatch(
                        field=f'evidence for decision {evidence.decision_sequence}',
                        expected='a decision of a step, commanded at that instant',
                        actual='none',
                    ),
                    evidence.id,
                )
            return
        decision, step = found
        if step.actuated is not None and step.decisions[step.decision] is decision:
            self.find(
                rule,
                Mismatch(
                    field='actuated',
                    expected='unknown when the step was closed',
                    actual='known in the step, and late evidence besides',
                ),
                step.id,
            )
        stamp, start = evidence.actuated, evidence.commanded.ros
        same_clock = (stamp.clock, stamp.host) == (start.clock, start.host)
        if evidence.commanded != decision.commanded or (
            same_clock and stamp.nanoseconds < start.nanoseconds
        ):
            self.find(
                rule,
                Mismatch(
                    field='actuated',
                    expected='an instant after `commanded` of the decision',
                    actual=f'{(stamp.nanoseconds - start.nanoseconds) / 1e9:.6g} s after it',
                ),
                step.id,
            )


def _answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    if not 0 <= now.decision < len(now.decisions):
        return None
    asked = now.decisions[now.decision].id
    for step in reversed(agent.recent):
        if (step.id.episode_id, step.id.step) == (asked.episode_id, asked.step - 1):
            return step
    return None
