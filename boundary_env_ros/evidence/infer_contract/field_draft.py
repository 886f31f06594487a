# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A draft of one field of a contract, and writing it with the reasons for its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundary_env_ros.evidence.infer_contract.survey import Span, TopicSurvey
from boundary_env_ros.evidence.infer_contract.writing import (
    decide,
    guess,
    nice,
    outward,
    Page,
    Value,
)

WIDER = 0.25
"""By how much of its length an observed range is widened, at each end."""

AGES, GAPS = 2.5, 5.0
"""
How many periods of its topic a field may be old, besides the age that it came with.

As many as the first; as long as the longest gap that was seen, but not more than the second.
"""

#: Greater numbers cannot be widened any more; and those that take more than a float32.
_MOST, _MOST_FLOAT32 = 8e307, 3.4e38

#: Rotations have these bounds whatever was seen.
_TURNS = {'roll': (-3.1416, 3.1416), 'pitch': (-1.5708, 1.5708), 'yaw': (-3.1416, 3.1416)}

WIDENED = guess(f'what was seen, wider by {WIDER:g} of its length at each end')

Line = tuple[str, Value, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDraft:
    """
    A field to be written.

    Attributes
    ----------
    name
        Of the field.
    topic
        What was seen of its topic.
    lines
        Keys with values and comments that say where the values are and what they are.
    low, high
        Bounds; empty if it has none.
    bounds_comment
        Where they come from.
    notes
        Sentences to stand above it.
    frame
        Its frame; None: that of the header.
    may_end
        Whether the episode may end when it is stale.

    """

    name: str
    topic: TopicSurvey
    lines: tuple[Line, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    bounds_comment: str = WIDENED
    notes: tuple[str, ...] = ()
    frame: str | None = None
    may_end: bool = True


def relative(name: str) -> str:
    """Return a topic as it stands in a contract."""
    return name.lstrip('/')


def bounds_of(path: str, span: Span | None) -> tuple[float, float]:
    """Return the bounds that a number is given: those of a rotation, or what was seen, widened."""
    function = path.partition('(')[0]
    if function in _TURNS:
        return _TURNS[function]
    return (-1.0, 1.0) if span is None else widened(span)


def widened(span: Span) -> tuple[float, float]:
    """Return an observed range, wider by a quarter at each end and rounded outward."""
    length = span.high - span.low
    # What stood still all the time says nothing about how far it can go.
    margin = WIDER * length if length > 0.0 else max(WIDER * abs(span.high), 1.0)
    low, high = max(-_MOST, span.low - margin), min(_MOST, span.high + margin)
    return outward(low, high)


def write_field(page: Page, draft: FieldDraft, *, evaluator: bool = False) -> None:
    """Write a field below its section."""
    topic = draft.topic
    for sentence in draft.notes:
        page.note(sentence, 1)
    page.section(draft.name, 1)
    page.key('topic', relative(topic.name), 2, _came(topic))
    page.key('type', topic.type, 2)
    for key, value, comment in draft.lines:
        page.key(key, value, 2, comment)
    frame = draft.frame if draft.frame is not None else next(iter(topic.frames), '')
    if frame:
        page.key('frame', frame, 2, _frame(topic, frame))
    if max(map(abs, (*draft.low, *draft.high)), default=0.0) > _MOST_FLOAT32:
        page.key('dtype', 'float64', 2, guess('what was seen is more than float32 can hold'))
    if draft.low:
        page.key('low', _short(draft.low), 2, draft.bounds_comment)
        page.key('high', _short(draft.high), 2)
    _write_age(page, topic, may_end=draft.may_end and not evaluator)
    if topic.durability == 'transient_local':
        page.raw('qos: {reliability: reliable, durability: transient_local}', 2)


def _short(values: Sequence[float]) -> Value:
    """Return one number if it stands for all."""
    return values[0] if len(set(values)) == 1 else values


def _came(topic: TopicSurvey) -> str:
    rate = '' if topic.rate is None else f', {topic.rate:.3g} Hz'
    offers = f', {topic.reliability}' if topic.reliability else ''
    return f'seen {topic.messages} times{rate}{offers}'


def _frame(topic: TopicSurvey, frame: str) -> str:
    others = [name for name in topic.frames if name != frame]
    if others:
        return decide(f'its headers say {", ".join(others)} as well')
    return guess('as its header says')


def _write_age(page: Page, topic: TopicSurvey, *, may_end: bool) -> None:
    if not topic.stamped:
        page.note(
            decide(
                'its messages do not say when they were captured, so their age is unknown and '
                'max_age would make it stale for ever'
            ),
            2,
        )
        return
    if topic.rate is None:
        page.note(decide('it came once only: a max_age, if it is to come again'), 2)
        return
    age, reason = max_age(topic)
    page.key('max_age', age, 2, reason)
    if may_end:
        page.key('on_stale', 'truncate', 2, decide('mark, stop or truncate'))


def max_age(topic: TopicSurvey) -> tuple[float, str]:
    """Return the age up to which a field is fresh (s), and where the number comes from."""
    rate = topic.rate or 1.0
    gap = topic.longest_gap or 0.0
    wait = max(AGES / rate, min(gap, GAPS / rate))
    if wait > AGES / rate:
        text = f's, {"the longest gap" if gap == wait else f"{GAPS:g} periods"} at {rate:.3g} Hz'
    else:
        text = f's, {AGES:g} periods at {rate:.3g} Hz'
    if wait < gap:
        text += f' (the longest gap was {gap:.2g} s)'
    old = max(0.0, topic.age or 0.0)
    if topic.age is None:
        text += '; its stamps are of another clock than its arrivals'
    else:
        text += f', and {old:.2g} s that it came late on average'
    if topic.stamped < topic.messages:
        text += f'; {topic.messages - topic.stamped} messages had no stamp'
    return nice(wait + old), guess(text)
