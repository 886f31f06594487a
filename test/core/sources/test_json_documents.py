# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Documents: what the gate admits by schema and rules, and what it publishes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import json
import math
from pathlib import Path

import pytest

from support.core_world import request_for, Timepiece

pytest.importorskip('jsonschema', reason='needs boundary_env_ros[documents]')

from boundary_env_ros.core.gate.decision_chain import DecisionChain
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.admission import DOCUMENT_RATE
from boundary_env_ros.core.gate.rules.document_rules import (
    DocumentRules,
    published_documents,
    Sent,
)
from boundary_env_ros.core.gate.rules.judge import Judge
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.core.sources.json_documents import checker, MOST_BYTES, schema_fault
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.storage.contract_file import load

DESK = load(Path(__file__).parents[3] / 'examples/invoice_desk.yaml').contract
RULES = DocumentRules(DESK)
ASK = {'type': 'ask', 'number': 1, 'question': 'Why?'}


def asking(payload: object, step: int = 1, horizon: int = 1) -> ActionRequest:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    now = Timepiece().now
    request = request_for((), step, now, now, step=step, horizon=horizon)
    return replace(request, payload=text)


def test_a_document_that_the_schema_admits_is_no_fault() -> None:
    assert RULES.refusals(asking({'desk': ASK})) == ()
    assert RULES.refusals(asking({})) == ()


@pytest.mark.parametrize(
    ('payload', 'reason', 'told'),
    [
        ('{', Reason.WRONG_SHAPE, 'The document is no JSON'),
        ('[' * 100_000, Reason.WRONG_SHAPE, 'The document is too long'),
        ('[' * 60_000, Reason.WRONG_SHAPE, 'The document is no JSON'),
        ('{"desk": NaN}', Reason.WRONG_SHAPE, 'NaN is no JSON'),
        # What could be read here, but not be published.
        ('{"desk": 1e400}', Reason.WRONG_SHAPE, 'The document is no JSON'),
        ('{"desk": "\\ud800"}', Reason.WRONG_SHAPE, 'The document is no JSON'),
        ([], Reason.WRONG_SHAPE, 'Expected an object'),
        ({'door': ASK}, Reason.WRONG_SHAPE, "Unknown group (expected desk, got 'door')"),
        ({'desk': 'ask'}, Reason.OUT_OF_BOUNDS, 'desk.type: expected approve, refuse, ask'),
        ({'desk': {**ASK, 'type': 'pay'}}, Reason.OUT_OF_BOUNDS, "got 'pay'"),
        ({'desk': {**ASK, 'number': 'one'}}, Reason.WRONG_SHAPE, 'desk: $.number:'),
        ({'desk': {**ASK, 'question': ''}}, Reason.WRONG_SHAPE, 'desk: $.question:'),
        (
            {'desk': {'type': 'approve', 'number': 1, 'amount': 1001}},
            Reason.WRONG_SHAPE,
            'desk: $.amount: 1001 is greater than the maximum of 1000',
        ),
    ],
)
def test_what_is_not_admitted_is_refused_and_the_sentence_names_the_place(
    payload: object, reason: Reason, told: str
) -> None:
    request = asking(payload)
    (refusal,) = RULES.refusals(request)
    assert (refusal.outcome, refusal.reason) == (Verdict.REJECTED, reason)
    assert told in RULES.fault(request)


def known(
    rules: DocumentRules, request: ActionRequest, sent: Mapping[str, Sent], now: ClockReading
) -> RuleInput:
    """Return the inputs of a decision on a request with documents."""
    since = rules.since(sent, request, now)
    return RuleInput(trigger=Trigger.REQUEST, time_step=0.1, since_documents=since)


def too_often(
    rules: DocumentRules, request: ActionRequest, sent: Mapping[str, Sent], now: ClockReading
) -> tuple[RuleResult, ...]:
    return rules.too_often(known(rules, request, sent, now), request)


def test_the_text_of_a_request_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document may be large, and the gate looks at it at four places."""
    read: list[str] = []
    loads = json.loads

    def counting(text: str, **options: object) -> object:
        read.append(text)
        return loads(text, **options)  # type: ignore[arg-type]

    request, now = asking({'desk': {**ASK, 'question': 'Who?'}}), Timepiece().now
    monkeypatch.setattr(json_documents.json, 'loads', counting)
    assert (
        RULES.refusals(request) == () == RULES.too_often(known(RULES, request, {}, now), request)
    )
    assert set(RULES.after({}, request, now)) == {'desk'}
    decision = GateDecision(
        id=request.id,
        sequence=1,
        verdict=Verdict.ADMITTED,
        inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1),
        decided=Timepiece().now,
        request=request,
    )
    assert set(published_documents(decision)) == {'desk'}
    assert read == [request.payload]


def test_a_contract_without_documents_admits_none() -> None:
    rules = DocumentRules(replace(DESK, documents=()))
    for payload in ({}, {'desk': ASK}):
        (refusal,) = rules.refusals(asking(payload))
        assert refusal.reason is Reason.WRONG_SHAPE


def test_a_text_that_is_longer_in_bytes_than_in_letters_is_too_long() -> None:
    assert 'too long' in RULES.fault(asking('"' + 'é' * (MOST_BYTES // 2) + '"'))


@pytest.mark.parametrize('levels', [65, 964, 5000])
def test_a_document_that_could_be_read_but_not_published_is_refused(levels: int) -> None:
    # With a schema that allows anything, nothing else would refuse it before it is published.
    contract = replace(DESK, documents=(replace(DESK.documents[0], schema={}, types=()),))
    nested = '[' * (levels - 1) + ']' * (levels - 1)
    request = replace(asking({}), payload=f'{{"desk": {nested}}}')
    (refusal,) = DocumentRules(contract).refusals(request)
    assert refusal.reason is Reason.WRONG_SHAPE


def test_documents_do_not_go_with_a_chunk() -> None:
    assert RULES.refusals(asking({'desk': ASK}, horizon=2))


def test_in_lockstep_the_rate_counts_steps() -> None:
    contract = replace(DESK, documents=(replace(DESK.documents[0], max_rate=5.0),))
    rules, now = DocumentRules(contract), Timepiece().now
    sent = rules.after({}, asking({'desk': ASK}, step=3), now)
    (refusal,) = too_often(rules, asking({'desk': ASK}, step=4), sent, now)
    assert (refusal.rule, refusal.reason) == (DOCUMENT_RATE, Reason.RATE_LIMIT)
    assert (refusal.value, refusal.limit) == (pytest.approx(0.1), pytest.approx(0.2))
    assert not too_often(rules, asking({'desk': ASK}, step=5), sent, now)
    other = asking({'desk': ASK}, step=1)
    other = replace(other, id=replace(other.id, episode_id='another'))
    assert not too_often(rules, other, sent, now)
    assert not too_often(rules, asking({}, step=4), sent, now)


def test_in_realtime_the_rate_counts_seconds() -> None:
    rules, clock = DocumentRules(replace(DESK, pacing=Pacing.REALTIME)), Timepiece()
    sent = rules.after({}, asking({'desk': ASK}), clock.now)
    clock.wait(0.09)
    assert too_often(rules, asking({'desk': ASK}, step=2), sent, clock.now)
    clock.wait(0.02)
    assert not too_often(rules, asking({'desk': ASK}, step=2), sent, clock.now)


def test_a_decision_that_says_that_no_document_was_sent_before_is_found() -> None:
    clock, judge = Timepiece(), Judge(DESK, digest='d')
    chain, found = DecisionChain(DESK, judge), []
    for sequence, step in ((1, 3), (2, 4), (3, 6)):
        decision = GateDecision(
            id=StepId(digest='d', agent='clerk', episode_id=''),
            sequence=sequence,
            verdict=Verdict.ADMITTED,
            inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1, since_documents=(math.inf,)),
            decided=clock.now,
            request=asking({'desk': ASK}, step=step),
            received=clock.now,
        )
        followed = chain.add(decision, RuleOutput(verdict=Verdict.ADMITTED))
        found.append(followed.inputs.since_documents)
    assert found == [(math.inf,), pytest.approx((0.1,)), pytest.approx((0.2,))]


@pytest.mark.parametrize('verdict', list(Verdict))
@pytest.mark.parametrize('trigger', list(Trigger))
def test_what_is_published_is_what_was_asked_for_and_admitted(
    verdict: Verdict, trigger: Trigger
) -> None:
    decision = GateDecision(
        id=StepId(digest='d', agent='clerk', episode_id=''),
        sequence=1,
        verdict=verdict,
        inputs=RuleInput(trigger=trigger, time_step=0.1),
        decided=Timepiece().now,
        request=asking('{ "desk": {"type":  "ask"} }'),
    )
    admitted = verdict in (Verdict.ADMITTED, Verdict.LIMITED) and trigger is Trigger.REQUEST
    assert published_documents(decision) == ({'desk': '{"type":"ask"}'} if admitted else {})


def test_a_schema_is_a_schema_and_refers_to_nothing_outside() -> None:
    assert schema_fault({'type': 'objekt'}).startswith('$.type: ')
    assert 'https://example.org' in schema_fault({'items': [{'$ref': 'https://example.org/a'}]})
    inner = {'$defs': {'a': {'type': 'integer'}}, '$ref': '#/$defs/a'}
    assert not schema_fault(inner)
    assert checker(inner)('x') == "$: 'x' is not of type 'integer'"
