# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of every BoundaryEnv, whatever its contract and world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.endings import ABANDONED
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import InvalidAction, ResetNeeded
from boundary_env_ros.facade.spaces import action_vector
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from boundary_env_ros.testing import EnvironmentTests
from boundary_env_ros.testing.environment_tests import run
from boundary_env_ros.testing.episode_checks import (
    contract_of,
    Env,
    reset,
    step,
    StepOutcome,
)
from boundary_env_ros.testing.verdicts import attempt, described, difference, fail, must_refuse

_ROUNDING = 1e-9


class WholeEnvironmentTests(EnvironmentTests):
    """Tests of an environment, and of the facade itself; override :meth:`env`."""

    def test_environment_has_the_spaces_of_its_contract(self) -> None:
        """They are those that follow from the contract, and are there before any reset."""
        with closing(self.env()) as env:
            contract = contract_of(env)
            for name, mine, wanted in (
                ('observation_space', env.observation_space, observation_space(contract)),
                ('action_space', env.action_space, action_space(contract)),
            ):
                if mine != wanted:
                    fail(f'{wanted}', mine, where=name)

    def test_environment_shares_no_memory_between_observations(self) -> None:
        """What a policy keeps of a step is not changed by the next."""
        with closing(self.env()) as env:
            observation, _ = reset(env, self.seed, self.reset_options())
            for _ in range(min(self.steps, 5)):
                kept = {name: value.copy() for name, value in observation.items()}
                seen = step(env, env.action_space.sample())
                for name, value in seen.observation.items():
                    if np.shares_memory(value, observation[name]):
                        fail('memory of its own', 'that of the step before', where=name)
                found = difference(kept, dict(observation))
                if found:
                    fail('an observation that is not changed by the next step', found)
                observation = seen.observation
                if seen.ended:
                    break

    def test_environment_refuses_a_step_before_the_first_reset(self) -> None:
        """Such a step raises ResetNeeded."""
        with closing(self.env()) as env:
            must_refuse(
                lambda: env.step(env.action_space.sample()),
                'for a step before the first reset',
                kind=ResetNeeded,
                where='step',
            )

    def test_environment_refuses_everything_after_it_was_closed(self) -> None:
        """It may be closed again, before any reset too; reset and step raise a BoundaryError."""
        with closing(self.env()) as env:
            env.close()
        with closing(self.env()) as env:
            reset(env, self.seed, self.reset_options())
            env.close()
            again = attempt(env.close)
            if isinstance(again, Exception):
                fail('to be closed twice without harm', described(again), where='close')
            must_refuse(env.reset, 'after it was closed', where='reset')
            must_refuse(
                lambda: env.step(env.action_space.sample()), 'after it was closed', where='step'
            )

    def test_environment_abandons_an_episode_that_is_left(self) -> None:
        """A reset in mid-episode, and closing it, end the episode as truncated, `abandoned`."""
        with closing(self.env()) as env:
            reset(env, self.seed, self.reset_options())
            first = _episode(env)
            step(env, env.action_space.sample())
            reset(env, self.seed, self.reset_options())
            second = _episode(env)
            if first == second:
                fail('another episode after a reset', first, where='episode_id')
            step(env, env.action_space.sample())
        transitions = _transitions(self.record())
        if transitions is None:
            return
        for name in (first, second):
            endings = [
                (t.ending, t.terminated, t.truncated)
                for t in transitions
                if t.id.episode_id == name and t.ending
            ]
            if endings != [(ABANDONED, False, True)]:
                left = 'by a reset' if name == first else 'by close()'
                fail(
                    'one ending, truncated as abandoned',
                    endings or 'none',
                    where=f'the record of an episode that was left {left}',
                )

    def test_environment_refuses_an_action_that_is_none(self) -> None:
        """Another shape or a number that is not finite raises InvalidAction; nothing is sent."""
        with closing(self.env()) as env:
            reset(env, self.seed, self.reset_options())
            before = len(_requests(self.record()))
            for what, action in strange_actions(env.action_space).items():
                must_refuse(
                    partial(env.step, action),
                    f'for {what}',
                    kind=InvalidAction,
                    where=f'step({action!r})'.replace('\n', ''),
                )
            if len(_requests(self.record())) != before:
                fail('nothing to be sent', 'a request to the gate', where='an action that is none')
            if contract_of(env).pacing is Pacing.LOCKSTEP:
                info = step(env, env.action_space.sample()).info
                if info['step'] != 1 and contract_of(env).horizon == 1:
                    fail('step 1 to be the first', info['step'], where="info['step']")

    def test_environment_says_what_became_of_an_action(self) -> None:
        """
        What was asked for, admitted and commanded are told apart, with reasons for every change.

        The command is within the contract, far out of whose bounds the actions are.
        """
        with closing(self.env()) as env:
            contract = contract_of(env)
            reset(env, self.seed, self.reset_options())
            far = beyond(env.action_space)
            for number in range(self.steps):
                seen = step(env, far if number % 2 else env.action_space.sample())
                if seen.info.get('overrun'):
                    continue
                check_action(seen, contract)
                if seen.action is far and seen.info['verdict'] == 'ADMITTED':
                    fail(
                        'an action out of bounds not to be ADMITTED as it is',
                        'it was',
                        where=f'step({far})',
                    )
                if seen.ended:
                    break

    def test_environment_keeps_the_evaluator_out_of_sight(self) -> None:
        """No field of the evaluator is in an observation or an info, however deep."""
        with closing(self.env()) as env:
            contract = contract_of(env)
            hidden = {spec.name for spec in contract.privileged}
            observation, info = reset(env, self.seed, self.reset_options())
            seen = step(env, env.action_space.sample())
            for where, value in (
                ('the observation of reset', observation),
                ('the info of reset', info),
                ('the observation of step', seen.observation),
                ('the info of step', seen.info),
            ):
                leaked = hidden & set(keys_of(value))
                if leaked:
                    fail('no field of the evaluator', ', '.join(sorted(leaked)), where=where)

    def test_environment_keeps_one_identity(self) -> None:
        """Every info names the contract and its digest, and always the same."""
        with closing(self.env()) as env:
            _, info = reset(env, self.seed, self.reset_options())
            digest = getattr(env.unwrapped, 'digest', None)
            contract = contract_of(env)
            named = (f'{contract.name} {contract.version}', digest)
            for one in (info, *(seen.info for seen in run(self, env, steps=3))):
                if (one.get('contract'), one.get('digest')) != named:
                    fail(
                        f'contract and digest {named}',
                        (one.get('contract'), one.get('digest')),
                        where=f'the info of step {one.get("step")}',
                    )

    def test_environment_refuses_options_that_its_task_does_not_know(self) -> None:
        """An unknown option raises a BoundaryError; a reset without it works afterwards."""
        with closing(self.env()) as env:
            must_refuse(
                lambda: env.reset(options={'no_such_option': 1}),
                'for an unknown option',
                where="reset(options={'no_such_option': 1})",
            )
            reset(env, self.seed, self.reset_options())


def _episode(env: Env) -> str:
    return str(getattr(env.unwrapped, 'episode_id', ''))


def _transitions(record: Path | Sequence[object] | None) -> list[Transition] | None:
    if record is None or isinstance(record, Path):
        return None
    return [item for item in record if isinstance(item, Transition)]


def _requests(record: Path | Sequence[object] | None) -> list[GateDecision]:
    if record is None or isinstance(record, Path):
        return []
    return [r for r in record if isinstance(r, GateDecision) and r.request is not None]


def check_action(seen: StepOutcome, contract: Contract) -> None:
    """Fail unless the info says what became of an action, and the command is in the contract."""
    info, where = seen.info, f'step {seen.info.get("step")}'
    if info.get('verdict') is None:
        fail('a verdict on the action', 'none', where=where)
    asked = action_vector(contract, seen.action)
    requested, admitted = (
        tuple(info.get(f'{what}_action', ())) for what in ('requested', 'admitted')
    )
    if requested not in _rows(asked, contract):
        fail(
            f'the action that was asked for {asked}', requested, where=f'{where}, requested_action'
        )
    _check_command(tuple(info.get('commanded_action', ())), contract, where)
    verdict, reasons, clipped = info['verdict'], info.get('reasons'), info.get('clipped')
    if verdict == 'ADMITTED':
        found = difference([round(v, 9) for v in requested], [round(v, 9) for v in admitted])
        if found:
            fail('what is ADMITTED to be what was requested', found, where=where)
    elif not reasons:
        fail(
            f'reasons for {verdict}', repr(reasons), where=where, way_out='Never clip in silence.'
        )
    changed = [abs(a - b) > _ROUNDING for a, b in zip(requested, admitted, strict=False)]
    for i, was in enumerate(changed):
        if was and not (isinstance(clipped, Sequence) and clipped[i]):
            fail(
                f'to be told that {requested[i]:g} became {admitted[i]:g}',
                f'clipped is {clipped}',
                where=f'{where}, dimension {i}',
                way_out='A clipped action that is logged as the requested one poisons the data.',
            )


def _rows(asked: Vector, contract: Contract) -> list[Vector]:
    size = contract.action_size
    return [asked[i : i + size] for i in range(0, len(asked), size)]


def _check_command(command: Vector, contract: Contract, where: str) -> None:
    if not command:
        return
    low, high = contract.flat('low'), contract.flat('high')
    for i, value in enumerate(command):
        if not low[i] <= value <= high[i]:
            fail(
                f'a command in [{low[i]:g}, {high[i]:g}] {contract.command_unit[i]}',
                value,
                where=f'{where}, {contract.command_dimensions[i]}',
            )


def keys_of(value: object) -> Iterator[str]:
    """Yield the keys of nested mappings, however deep."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from keys_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from keys_of(item)


def beyond(space: spaces.Space[Any]) -> Any:
    """Return an action out of bounds in every dimension; None if there is none."""
    if isinstance(space, spaces.Box):
        return space.high + (1.0 + 10.0 * np.abs(space.high))
    if isinstance(space, spaces.Discrete):
        return int(space.start + space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.nvec)
    if isinstance(space, spaces.Dict):
        return {name: beyond(part) for name, part in space.spaces.items()}
    return None


def strange_actions(space: spaces.Space[Any]) -> Mapping[str, Any]:
    """Return what is no action, by what is wrong with it."""
    strange: dict[str, Any] = {'a text': 'ahead', 'nothing': None, 'an empty list': []}
    if isinstance(space, spaces.Box):
        shape = space.shape
        strange['a value too many'] = np.zeros((*shape[:-1], shape[-1] + 1))
        strange['another rank'] = np.zeros((1, 1, *shape))
        strange['NaN'] = np.full(shape, np.nan)
        strange['an infinite value'] = np.full(shape, np.inf)
    else:
        strange['NaN'] = float('nan')
    return strange
