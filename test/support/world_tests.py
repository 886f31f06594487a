# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of a world that a policy steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
import math
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.parts import KeyValue, Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.spaces import action_vector, observation_values
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.facade.world import agent_of, World
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.testing.episode_checks import check_member
from boundary_env_ros.testing.subject import UnderContract
from boundary_env_ros.testing.verdicts import attempt, described, difference, fail, must_refuse


class WorldTests(UnderContract):
    """
    Tests of a :class:`~boundary_env_ros.facade.world.World`.

    Override :meth:`contract`, ``pacing`` if the world needs another, and :meth:`world`.

    Attributes
    ----------
    steps
        How many steps most tests take.

    """

    steps = 10

    def world(self) -> World:
        """Return a new world under :meth:`loaded`, which steps one agent; to be overridden."""
        raise NotImplementedError(
            f'{type(self).__name__} does not say what it tests: world() is not overridden. '
            'Let it return your world.'
        )

    def reset_options(self) -> dict[str, Any] | None:
        """Return the options of the task that the tests begin with."""
        return None

    # Beginning -----------------------------------------------------------------------------------

    def test_world_begins_with_a_reset(self) -> None:
        """The first result is a reset under the contract, step 0, and whole."""
        loaded = self.loaded()
        with closing(self.world()) as world:
            first = _begin(self, world)
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
                    fail(f'{wanted}', actual, where=f'reset, transition.{what}')
            if transition.reset is None or not transition.reset.seed_given:
                fail('a record of the reset with its seed', transition.reset, where='reset')
            _check_result(first, loaded.contract, 'reset')

    def test_world_samples_alike_for_equal_seeds(self) -> None:
        """The same seed samples the same start."""
        with closing(self.world()) as world:
            one, other = (_begin(self, world).transition.reset for _ in range(2))
            if one is None or other is None or difference(one.sampled, other.sampled):
                fail(
                    'equal samples from equal seeds',
                    difference(one and one.sampled, other and other.sampled),
                    where='reset',
                )

    def test_world_tells_the_wrappers(self) -> None:
        """The record names the wrappers that the client says it has."""
        with closing(self.world()) as world:
            first = _begin(self, world, ('AWrapper', 'Another'))
            if first.transition.wrappers != ('AWrapper', 'Another'):
                fail("('AWrapper', 'Another')", first.transition.wrappers, where='wrappers')

    def test_world_begins_another_episode_within_one(self) -> None:
        """A second beginning is a new episode; the steps after it belong to that."""
        with closing(self.world()) as world:
            first = _begin(self, world)
            _step(world, _action(self))
            second = _begin(self, world)
            if first.transition.id.episode_id == second.transition.id.episode_id:
                fail('another episode', first.transition.id.episode_id, where='reset again')
            _follows(second.transition, _step(world, _action(self))[0].transition)

    def test_world_refuses_options_that_the_task_does_not_know(self) -> None:
        """They raise a BoundaryError; a beginning without them works afterwards."""
        with closing(self.world()) as world:
            must_refuse(
                lambda: world.reset(seed=1, options={'no_such_option': 1}, wrappers=()),
                'for an unknown option',
                where="reset(options={'no_such_option': 1})",
            )
            _begin(self, world)

    # Stepping ------------------------------------------------------------------------------------

    def test_world_answers_every_action_with_its_transition(self) -> None:
        """
        The last result is the step that the action closed; before it come those without one.

        Steps are of one episode and follow one another, each whole.
        """
        contract = self.loaded().contract
        with closing(self.world()) as world:
            last = _begin(self, world)
            for action in _actions(self):
                results = _step(world, action)
                if not results:
                    fail('the transition that the action closed', 'none', where='step')
                for result in results:
                    _follows(last.transition, result.transition)
                    _check_result(result, contract, f'step {result.transition.id.step}')
                    last = result
                if _over(last.transition):
                    break
                _answers(last.transition, action, contract)

    def test_world_delivers_nothing_before_it_was_closed(self) -> None:
        """A transition is delivered after its step was closed, on the steady clock of one host."""
        with closing(self.world()) as world:
            first = _begin(self, world)
            for result in (first, *_step(world, _action(self))):
                closed, delivered = result.transition.closed, result.delivered
                same_host = closed.ros.host == delivered.ros.host
                if same_host and delivered.steady < closed.steady:
                    fail(
                        f'`delivered` at {closed.steady} ns (closed) or later',
                        f'{delivered.steady} ns',
                        where=f'step {result.transition.id.step}',
                    )

    def test_world_refuses_an_invalid_action(self) -> None:
        """A wrong size or NaN raises a BoundaryError or is REJECTED, and the episode goes on."""
        size = self.loaded().contract.action_size
        with closing(self.world()) as world:
            _begin(self, world)
            for action in ((0.0,) * (size + 1), (math.nan,) * size, (math.inf,) * size):
                outcome = attempt(partial(_step, world, action))
                if isinstance(outcome, BoundaryError):
                    continue
                verdict = outcome[-1].transition.verdict if isinstance(outcome, tuple) else None
                if verdict is not Verdict.REJECTED:
                    fail(
                        'a BoundaryError, or the verdict REJECTED',
                        verdict or described(outcome),
                        where=f'step({action})',
                    )
            _step(world, _action(self))

    def test_world_tells_what_an_action_answers(self) -> None:
        """The record has the answered observation, what was skipped and blended, the metadata."""
        with closing(self.world()) as world:
            first = _begin(self, world)
            last = _step(world, _action(self))[-1].transition
            if _over(last):
                fail('an episode of two steps or more', last.ending, where='step')
            heard: list[int] = []
            asked = StepRequest(
                action=_action(self),
                answers=first,
                skipped=last.id.step,
                blended=2,
                metadata={'kit': 'asked'},
                on_result=lambda result: heard.append(result.transition.id.step),
            )
            closed = [result.transition for result in _step(world, asked)]
            request = closed[-1].decisions[closed[-1].decision].request
            for what, wanted, actual in (
                ('on_result', [step.id.step for step in closed], heard),
                ('request.observed_step', 0, request and request.observed_step),
                ('request.observed', first.transition.closed, request and request.observed),
                ('request.delivered', first.delivered, request and request.delivered),
                ('request.skipped', last.id.step, request and request.skipped),
                ('request.blended', 2, request and request.blended),
                ('request.id.step', last.id.step + 1, request and request.id.step),
                (
                    'request.metadata',
                    (KeyValue(key='kit', value='asked'),),
                    request and request.metadata,
                ),
            ):
                if wanted != actual:
                    fail(f'{wanted}', actual, where=f'step {closed[-1].id.step}, {what}')
            again = _begin(self, world)
            must_refuse(
                lambda: _step(world, StepRequest(action=_action(self), answers=first)),
                'for an answer to an observation of another episode',
                where='step',
                way_out=f'The episode is {again.transition.id.episode_id}.',
            )

    def test_world_observes_without_an_action(self) -> None:
        """What is observed follows what was delivered before, and is closed without an action."""
        contract = self.loaded().contract
        with closing(self.world()) as world:
            last = _begin(self, world).transition
            for result in _observe(world):
                _follows(last, result.transition)
                last = result.transition
                if contract.pacing is Pacing.LOCKSTEP:
                    fail('no step without an action in lockstep', last.id, where='observe')
            _follows(last, _step(world, _action(self))[0].transition)

    # In the right order --------------------------------------------------------------------------

    def test_world_refuses_a_step_without_an_episode(self) -> None:
        """Before the beginning and after the end, a step raises a BoundaryError."""
        contract, action = self.loaded().contract, _action(self)
        with closing(self.world()) as world:
            must_refuse(lambda: _step(world, action), 'before reset()', where='step')
            last = _begin(self, world).transition
            for _ in range(contract.max_steps):
                if _over(last):
                    break
                last = _step(world, action)[-1].transition
            if not _over(last):
                fail(f'an ending after {contract.max_steps} steps', 'none', where='step')
            must_refuse(lambda: _step(world, action), 'after the end', where='step')
            _begin(self, world)

    def test_world_closes_more_than_once(self) -> None:
        """It may be closed twice, before any beginning too; then a step raises a BoundaryError."""
        for begun in (False, True):
            world = self.world()
            if begun:
                _begin(self, world)
            world.close()
            again = attempt(world.close)
            if isinstance(again, Exception):
                fail('to be closed twice without harm', described(again), where='close')
            if begun:
                must_refuse(
                    partial(_step, world, _action(self)),
                    'after close()',
                    where='step',
                    way_out='close() ends what this client began.',
                )


def _begin(subject: WorldTests, world: World, wrappers: tuple[str, ...] = ()) -> StepResult:
    options = subject.reset_options() or {}
    begun = world.reset(seed=subject.seed, options=options, wrappers=wrappers)
    return begun[agent_of(world.agents)]


def _step(world: World, action: Vector | StepRequest) -> tuple[StepResult, ...]:
    agent = agent_of(world.agents)
    return world.step({agent: action})[agent]


def _observe(world: World) -> tuple[StepResult, ...]:
    return world.observe()[agent_of(world.agents)]


def _actions(subject: WorldTests) -> Iterator[Vector]:
    contract = subject.loaded().contract
    space = action_space(contract)
    space.seed(subject.seed)
    for _ in range(subject.steps):
        yield action_vector(contract, space.sample())


def _action(subject: WorldTests) -> Vector:
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


def _check_result(result: StepResult, contract: Contract, where: str) -> None:
    """Fail unless the observation is in the space, and images are told apart from late ones."""
    images: dict[str, Any] = dict(result.images)
    missing = [s.name for s in contract.observation if s.is_image and s.name not in images]
    late = [name for name in missing if name not in result.unresolved]
    if late:
        fail(
            'every image, or its name in `unresolved`',
            f'nothing of {", ".join(late)}',
            where=where,
        )
    space = observation_space(contract)
    for name in missing:
        images[name] = space[name].sample()
    values = attempt(lambda: observation_values(contract, result.transition.after, images))
    if isinstance(values, Exception):
        fail('a whole observation', described(values), where=where)
    check_member(values, space, where)
