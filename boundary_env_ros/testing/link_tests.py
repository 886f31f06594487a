# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of a link between a policy and its world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
import math
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.link import Asked, Delivery, Link
from boundary_env_ros.facade.spaces import (
    action_space,
    action_vector,
    observation_space,
    observation_values,
)
from boundary_env_ros.testing.episode_checks import check_member
from boundary_env_ros.testing.subject import UnderContract
from boundary_env_ros.testing.verdicts import attempt, difference, fail, must_refuse, told


class LinkTests(UnderContract):
    """
    Tests of a :class:`~boundary_env_ros.facade.link.Link`.

    Override :meth:`contract`, ``pacing`` if the link needs another, and :meth:`link`.

    Attributes
    ----------
    steps
        How many steps most tests take.

    """

    steps = 10

    def link(self) -> Link:
        """Return a new link under :meth:`loaded`; to be overridden."""
        raise NotImplementedError(
            f'{type(self).__name__} does not say what it tests: link() is not overridden. '
            'Let it return your link.'
        )

    def reset_options(self) -> dict[str, Any] | None:
        """Return the options of the task that the tests begin with."""
        return None

    # Beginning -----------------------------------------------------------------------------------

    def test_link_begins_with_a_reset(self) -> None:
        """The first delivery is a reset under the contract, step 0, and whole."""
        loaded = self.loaded()
        with _closing(self.link()) as link:
            first = _begin(self, link)
            transition = first.transition
            for what, wanted, actual in (
                ('kind', Kind.RESET, transition.kind),
                ('id.step', 0, transition.id.step),
                ('id.digest', loaded.digest, transition.id.digest),
                ('id.agent', True, transition.id.agent in loaded.contract.agents),
                ('seed', self.seed, transition.seed),
                ('terminated', False, transition.terminated),
                ('truncated', False, transition.truncated),
            ):
                if wanted != actual:
                    fail(f'{wanted}', actual, where=f'begin, transition.{what}')
            if transition.reset is None or not transition.reset.seed_given:
                fail('a record of the reset with its seed', transition.reset, where='begin')
            _check_delivery(first, loaded.contract, 'begin')

    def test_link_samples_alike_for_equal_seeds(self) -> None:
        """The same seed samples the same start."""
        with _closing(self.link()) as link:
            one, other = (_begin(self, link).transition.reset for _ in range(2))
            if one is None or other is None or difference(one.sampled, other.sampled):
                fail(
                    'equal samples from equal seeds',
                    difference(one and one.sampled, other and other.sampled),
                    where='begin',
                )

    def test_link_tells_the_wrappers(self) -> None:
        """The record names the wrappers that the client says it has."""
        with _closing(self.link()) as link:
            first = link.begin(
                seed=self.seed,
                options=self.reset_options() or {},
                wrappers=('AWrapper', 'Another'),
            )
            if first.transition.wrappers != ('AWrapper', 'Another'):
                fail("('AWrapper', 'Another')", first.transition.wrappers, where='wrappers')

    def test_link_begins_another_episode_in_the_midst_of_one(self) -> None:
        """A second beginning is a new episode; the steps after it belong to that."""
        with _closing(self.link()) as link:
            first = _begin(self, link)
            link.step(_action(self))
            second = _begin(self, link)
            if first.transition.id.episode_id == second.transition.id.episode_id:
                fail('another episode', first.transition.id.episode_id, where='begin again')
            _follows(second.transition, link.step(_action(self))[0].transition)

    def test_link_refuses_options_that_the_task_does_not_know(self) -> None:
        """They raise a BoundaryError; a beginning without them works afterwards."""
        with _closing(self.link()) as link:
            must_refuse(
                lambda: link.begin(seed=1, options={'no_such_option': 1}, wrappers=()),
                'for an unknown option',
                where="begin(options={'no_such_option': 1})",
            )
            _begin(self, link)

    # Stepping ------------------------------------------------------------------------------------

    def test_link_answers_every_action_with_its_transition(self) -> None:
        """
        The last delivery is the step that the action closed; before it come those without one.

        Steps are of one episode and follow one another, each whole.
        """
        contract = self.loaded().contract
        with _closing(self.link()) as link:
            last = _begin(self, link)
            for action in _actions(self):
                deliveries = link.step(action)
                if not deliveries:
                    fail('the transition that the action closed', 'none', where='step')
                for delivery in deliveries:
                    _follows(last.transition, delivery.transition)
                    _check_delivery(delivery, contract, f'step {delivery.transition.id.step}')
                    last = delivery
                if _over(last.transition):
                    break
                _answers(last.transition, action, contract)

    def test_link_delivers_nothing_before_it_was_closed(self) -> None:
        """A transition is delivered after its step was closed, on the steady clock of one host."""
        with _closing(self.link()) as link:
            first = _begin(self, link)
            for delivery in (first, *link.step(_action(self))):
                closed, delivered = delivery.transition.closed, delivery.delivered
                same_host = closed.ros.host == delivered.ros.host
                if same_host and delivered.steady < closed.steady:
                    fail(
                        f'`delivered` at {closed.steady} ns (closed) or later',
                        f'{delivered.steady} ns',
                        where=f'step {delivery.transition.id.step}',
                    )

    def test_link_lets_no_action_pass_that_is_none(self) -> None:
        """A wrong size or NaN raises a BoundaryError or is REJECTED, and the episode goes on."""
        size = self.loaded().contract.action_size
        with _closing(self.link()) as link:
            _begin(self, link)
            for action in ((0.0,) * (size + 1), (math.nan,) * size, (math.inf,) * size):
                outcome = attempt(partial(link.step, action))
                if isinstance(outcome, BoundaryError):
                    continue
                verdict = outcome[-1].transition.verdict if isinstance(outcome, tuple) else None
                if verdict is not Verdict.REJECTED:
                    fail(
                        'a BoundaryError, or the verdict REJECTED',
                        verdict or told(outcome),
                        where=f'step({action})',
                    )
            link.step(_action(self))

    def test_link_tells_what_an_action_answers(self) -> None:
        """The record has the answered observation, what was skipped and blended, the metadata."""
        with _closing(self.link()) as link:
            first = _begin(self, link)
            last = link.step(_action(self))[-1].transition
            if _over(last):
                fail('an episode of two steps or more', last.cause, where='step')
            heard: list[int] = []
            asked = Asked(
                action=_action(self),
                answers=first,
                skipped=last.id.step,
                blended=2,
                metadata={'kit': 'asked'},
                on_delivery=lambda delivery: heard.append(delivery.transition.id.step),
            )
            closed = [delivery.transition for delivery in link.step(asked)]
            request = closed[-1].decisions[closed[-1].decision].request
            for what, wanted, actual in (
                ('on_delivery', [step.id.step for step in closed], heard),
                ('request.observed_step', 0, request and request.observed_step),
                ('request.observed', first.transition.closed, request and request.observed),
                ('request.delivered', first.delivered, request and request.delivered),
                ('request.skipped', last.id.step, request and request.skipped),
                ('request.blended', 2, request and request.blended),
                ('request.id.step', last.id.step + 1, request and request.id.step),
                (
                    "diagnostics['kit']",
                    'asked',
                    {d.key: d.value for d in closed[-1].diagnostics}.get('kit'),
                ),
            ):
                if wanted != actual:
                    fail(f'{wanted}', actual, where=f'step {closed[-1].id.step}, {what}')
            again = _begin(self, link)
            must_refuse(
                lambda: link.step(Asked(action=_action(self), answers=first)),
                'for an answer to an observation of another episode',
                where='step',
                way_out=f'The episode is {again.transition.id.episode_id}.',
            )

    def test_link_observes_without_an_action(self) -> None:
        """What is observed follows what was delivered before, and is closed without an action."""
        contract = self.loaded().contract
        with _closing(self.link()) as link:
            last = _begin(self, link).transition
            for delivery in link.observe():
                _follows(last, delivery.transition)
                last = delivery.transition
                if contract.pacing is Pacing.LOCKSTEP:
                    fail('no step without an action in lockstep', last.id, where='observe')
            _follows(last, link.step(_action(self))[0].transition)

    # In the right order --------------------------------------------------------------------------

    def test_link_refuses_a_step_without_an_episode(self) -> None:
        """Before the beginning and after the end, a step raises a BoundaryError."""
        contract, action = self.loaded().contract, _action(self)
        with _closing(self.link()) as link:
            must_refuse(lambda: link.step(action), 'before begin()', where='step')
            last = _begin(self, link).transition
            for _ in range(contract.max_steps):
                if _over(last):
                    break
                last = link.step(action)[-1].transition
            if not _over(last):
                fail(f'an ending after {contract.max_steps} steps', 'none', where='step')
            must_refuse(lambda: link.step(action), 'after the end', where='step')
            _begin(self, link)

    def test_link_lets_go_when_it_is_closed(self) -> None:
        """It may be closed twice, before any beginning too; then a step raises a BoundaryError."""
        for begun in (False, True):
            link = self.link()
            if begun:
                _begin(self, link)
            link.close()
            again = attempt(link.close)
            if isinstance(again, Exception):
                fail('to be closed twice without harm', told(again), where='close')
            if begun:
                must_refuse(
                    partial(link.step, _action(self)),
                    'after close()',
                    where='step',
                    way_out='close() ends what this client began.',
                )


@contextmanager
def _closing(link: Link) -> Iterator[Link]:
    try:
        yield link
    finally:
        link.close()


def _begin(subject: LinkTests, link: Link) -> Delivery:
    return link.begin(seed=subject.seed, options=subject.reset_options() or {}, wrappers=())


def _actions(subject: LinkTests) -> Iterator[Vector]:
    contract = subject.loaded().contract
    space = action_space(contract)
    space.seed(subject.seed)
    for _ in range(subject.steps):
        yield action_vector(contract, space.sample())


def _action(subject: LinkTests) -> Vector:
    return next(_actions(subject))


def _over(transition: Transition) -> bool:
    return transition.terminated or transition.truncated


def _follows(before: Transition, now: Transition) -> None:
    """Fail unless a step is the next one of the same episode."""
    if now.kind is not Kind.STEP:
        fail(f'{Kind.STEP.name}', now.kind.name, where='the kind of a step')
    wanted = (before.id.episode_id, before.id.step + 1)
    if (now.id.episode_id, now.id.step) != wanted:
        fail(
            f'episode {wanted[0]}, step {wanted[1]}',
            f'episode {now.id.episode_id}, step {now.id.step}',
            where='step',
            way_out='Deliver every step once, in order.',
        )


def _answers(now: Transition, action: Vector, contract: Contract) -> None:
    size, where = contract.action_size, f'step {now.id.step}'
    if now.decision < 0:
        fail('the decision on the action', 'an overrun', where=where)
    rows = [action[i : i + size] for i in range(0, len(action), size)]
    if now.requested_action not in rows:
        fail(
            f'the action {rows[0]}',
            now.requested_action,
            where=f'{where}, requested_action',
            way_out='Pass on what the policy asked for, unchanged.',
        )


def _check_delivery(delivery: Delivery, contract: Contract, where: str) -> None:
    """Fail unless the observation is in the space, and images are told apart from late ones."""
    images: dict[str, Any] = dict(delivery.images)
    missing = [s.name for s in contract.observation if s.is_image and s.name not in images]
    late = [name for name in missing if name not in delivery.unresolved]
    if late:
        fail(
            'every image, or its name in `unresolved`',
            f'nothing of {", ".join(late)}',
            where=where,
        )
    space = observation_space(contract)
    for name in missing:
        images[name] = space[name].sample()
    values = attempt(lambda: observation_values(contract, delivery.transition.after, images))
    if isinstance(values, Exception):
        fail('a whole observation', told(values), where=where)
    check_member(values, space, where)
