# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kit finds what is wrong with a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from faults import must_find
import pytest
from small_world import Point, write

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.embedded import EmbeddedLink
from boundary_env_ros.facade.link import Asked, asked_of, Delivery
from boundary_env_ros.testing import LinkTests

BEGINS = 'test_link_begins_with_a_reset'
SAMPLES = 'test_link_samples_alike_for_equal_seeds'
WRAPPERS = 'test_link_tells_the_wrappers'
ANOTHER = 'test_link_begins_another_episode_in_the_midst_of_one'
OPTIONS = 'test_link_refuses_options_that_the_task_does_not_know'
ANSWERS = 'test_link_answers_every_action_with_its_transition'
DELIVERS = 'test_link_delivers_nothing_before_it_was_closed'
TELLS = 'test_link_tells_what_an_action_answers'
OBSERVES = 'test_link_observes_without_an_action'
NONE = 'test_link_lets_no_action_pass_that_is_none'
WITHOUT = 'test_link_refuses_a_step_without_an_episode'
LETS_GO = 'test_link_lets_go_when_it_is_closed'


class Through(EmbeddedLink):
    """A link whose beginning and steps pass through methods that a test breaks."""

    closed = False

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> Delivery:
        if self.closed:
            raise BoundaryError('Expected an open link, got it was closed.')
        return self.out(super().begin(seed=seed, options=options, wrappers=wrappers))

    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        if self.closed:
            raise BoundaryError('Expected an open link, got it was closed.')
        return tuple(map(self.out, super().step(action)))

    def out(self, delivery: Delivery) -> Delivery:
        return replace(delivery, transition=self.told(delivery.transition))

    def told(self, transition: Transition) -> Transition:
        return transition

    def close(self) -> None:
        self.closed = True
        super().close()


class OtherDigest(Through):
    def told(self, transition: Transition) -> Transition:
        return replace(transition, id=replace(transition.id, digest='sha256:0'))


class Seedless(Through):
    def begin(self, *, seed: int | None, **named: Any) -> Delivery:
        return super().begin(seed=None, **named)


class Halving(Through):
    """Delivers an observation with a field that came to be empty."""

    def told(self, transition: Transition) -> Transition:
        return replace(transition, after=(replace(transition.after[0], values=()),))


class Hiding(Through):
    def begin(self, *, wrappers: Sequence[str], **named: Any) -> Delivery:
        return super().begin(wrappers=(), **named)


class OneEpisode(Through):
    def told(self, transition: Transition) -> Transition:
        return replace(transition, id=replace(transition.id, episode_id='the only one'))


class Lenient(Through):
    def begin(self, *, options: Mapping[str, object], **named: Any) -> Delivery:
        return super().begin(options={}, **named)


class Skipping(Through):
    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        super().step(action)
        return super().step(action)


class Silent(Through):
    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        super().step(action)
        return ()


class Clipping(Through):
    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        wanted = asked_of(action).action
        return super().step(tuple(max(-0.1, min(0.1, value)) for value in wanted))


class Forgetful(Through):
    """Sends the action alone, and forgets what was said of it."""

    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        return super().step(asked_of(action).action)


class Restless(Through):
    """Steps when it is only to be looked through."""

    def observe(self) -> tuple[Delivery, ...]:
        return super().step((0.0, 0.0))


class Foreseeing(Through):
    def out(self, delivery: Delivery) -> Delivery:
        before = replace(delivery.delivered, steady=delivery.transition.closed.steady - 1)
        return replace(delivery, delivered=before)


class Repairing(Through):
    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        whole = (*asked_of(action).action, 0.0, 0.0)[:2]
        return super().step(tuple(v if abs(v) < 1e6 else 0.0 for v in whole))


class Beginning(Through):
    def step(self, action: Vector | Asked) -> tuple[Delivery, ...]:
        try:
            return super().step(action)
        except BoundaryError:
            self.begin(seed=0, options={}, wrappers=())
            return super().step(action)


class Undead(Through):
    def close(self) -> None:
        self.closed = False


class Touchy(Through):
    def close(self) -> None:
        if self.closed:
            raise RuntimeError('closed already')
        super().close()


@pytest.mark.parametrize(
    ('link', 'method', 'says'),
    [
        (OtherDigest, BEGINS, r'begin, transition\.id\.digest: expected sha256:\w{64}, got'),
        (Seedless, BEGINS, r'begin, transition\.seed: expected 1, got \d+'),
        (Halving, BEGINS, 'begin: expected a whole observation, got '),
        (Seedless, SAMPLES, 'expected equal samples from equal seeds, got .*values'),
        (Hiding, WRAPPERS, r"wrappers: expected \('AWrapper', 'Another'\), got \(\)"),
        (OneEpisode, ANOTHER, 'begin again: expected another episode, got the only one'),
        (Lenient, OPTIONS, 'expected BoundaryError for an unknown option, got none'),
        (Skipping, ANSWERS, r'expected episode .*, step 1, got episode .*, step 2'),
        (Silent, ANSWERS, 'step: expected the transition that the action closed, got none'),
        (Clipping, ANSWERS, r'step 1, requested_action: expected the action \('),
        (Forgetful, TELLS, r'step 2, on_delivery: expected \[2\], got \[\]'),
        (Restless, OBSERVES, 'observe: expected no step without an action in lockstep'),
        (Foreseeing, DELIVERS, r'step 0: expected `delivered` at \d+ ns \(closed\) or later'),
        (Repairing, NONE, 'expected a BoundaryError, or the verdict REJECTED'),
        (Beginning, WITHOUT, r'step: expected BoundaryError before begin\(\), got none'),
        (Undead, LETS_GO, r'step: expected BoundaryError after close\(\), got none'),
        (Touchy, LETS_GO, 'close: expected to be closed twice without harm, got RuntimeErr'),
    ],
)
def test_a_fault_of_a_link_is_found(
    tmp_path: Path, link: type[Through], method: str, says: str
) -> None:
    must_find(_kit(write(tmp_path), link), method, says)


@pytest.mark.parametrize('method', [name for name in dir(LinkTests) if name.startswith('test_')])
def test_an_honest_link_passes(tmp_path: Path, method: str) -> None:
    getattr(_kit(write(tmp_path), Through), method)()


def _kit(file: Path, link: type[Through]) -> LinkTests:
    class Kit(LinkTests):
        pacing = 'lockstep'

        def contract(self) -> Path:
            return file

        def link(self) -> Through:
            loaded = self.loaded()
            start = to_nanoseconds(loaded.contract.period)
            return link(loaded, robot=Point(loaded.contract, start))

    return Kit()
