# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of an environment over a contract, whatever its world."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
import warnings

from gymnasium.utils.env_checker import check_env
import numpy as np

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.causes import ABANDONED
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import EpisodeEnded, InvalidAction, ResetNeeded
from boundary_env_ros.evidence.audit import audit, audit_path
from boundary_env_ros.facade.spaces import action_space, observation_space
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.testing.episode_checks import (
    beyond,
    check_action,
    closing,
    contract_of,
    Env,
    keys_of,
    reset,
    Seen,
    step,
    strange_actions,
)
from boundary_env_ros.testing.verdicts import attempt, difference, fail, must_refuse, skip, told


class EnvironmentTests:
    """
    Tests of an environment; override :meth:`env`.

    Attributes
    ----------
    seed
        Of the episodes, and of the actions that are drawn.
    steps
        How many steps most tests take.

    """

    seed = 1
    steps = 20

    def env(self) -> Env:
        """
        Return a new environment; to be overridden.

        An embedded one is best given ``sink=self.keep``: then its record is tested as well.
        """
        raise NotImplementedError(
            f'{type(self).__name__} does not say what it tests: env() is not overridden. '
            'Let it return a BoundaryEnv.'
        )

    def reset_options(self) -> dict[str, Any] | None:
        """Return the options that the tests reset with."""
        return None

    def keep(self, record: object) -> None:
        """Keep a record of the environment, for :meth:`record`."""
        # Made here: pytest takes no test class that has an __init__.
        self.__dict__.setdefault('_kept', []).append(record)

    def record(self) -> Path | Sequence[object] | None:
        """
        Return the record of all that the environment did in this test, once it was closed.

        A run folder, bag or file; or the records themselves, by default those that were given to
        :meth:`keep`; or None if there is none.
        """
        kept: Sequence[object] | None = self.__dict__.get('_kept')
        return kept

    # As Gymnasium asks ---------------------------------------------------------------------------

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

    def test_environment_passes_the_check_of_gymnasium(self) -> None:
        """In lockstep ``gymnasium.utils.env_checker`` is content, determinism included."""
        with closing(self.env()) as env:
            _need_lockstep(contract_of(env))
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                outcome = attempt(partial(check_env, env.unwrapped, skip_render_check=True))
            if isinstance(outcome, Exception):
                fail('gymnasium to be content', told(outcome), where='check_env')

    def test_environment_observes_within_its_space(self) -> None:
        """Whatever it returns is in the space: names in order, type, shape and bounds."""
        with closing(self.env()) as env:
            _run(self, env)

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

    # In the right order --------------------------------------------------------------------------

    def test_environment_refuses_a_step_before_the_first_reset(self) -> None:
        """Such a step raises ResetNeeded."""
        with closing(self.env()) as env:
            must_refuse(
                lambda: env.step(env.action_space.sample()),
                'for a step before the first reset',
                kind=ResetNeeded,
                where='step',
            )

    def test_environment_ends_once_for_one_cause(self) -> None:
        """
        An ending is terminated or truncated, never both, with one cause and one declarer.

        It comes at the time limit of the contract at the latest. A step after it raises
        EpisodeEnded, and the next reset begins anew.
        """
        with closing(self.env()) as env:
            contract = contract_of(env)
            last = _run(self, env, steps=contract.max_steps + 1)[-1]
            if not last.ended:
                fail(f'an ending after {contract.max_steps} steps', 'none', where='step')
            must_refuse(
                lambda: env.step(env.action_space.sample()),
                'for a step after the end',
                kind=EpisodeEnded,
                where='step',
            )
            reset(env, self.seed, self.reset_options())
            step(env, env.action_space.sample())

    def test_environment_refuses_everything_after_it_was_closed(self) -> None:
        """It may be closed again, before any reset too; reset and step raise a BoundaryError."""
        with closing(self.env()) as env:
            env.close()
        with closing(self.env()) as env:
            reset(env, self.seed, self.reset_options())
            env.close()
            again = attempt(env.close)
            if isinstance(again, Exception):
                fail('to be closed twice without harm', told(again), where='close')
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
                (t.cause, t.terminated, t.truncated)
                for t in transitions
                if t.id.episode_id == name and t.cause
            ]
            if endings != [(ABANDONED, False, True)]:
                left = 'by a reset' if name == first else 'by close()'
                fail(
                    'one ending, truncated as abandoned',
                    endings or 'none',
                    where=f'the record of an episode that was left {left}',
                )

    # Actions -------------------------------------------------------------------------------------

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

    # Secrets and identity ------------------------------------------------------------------------

    def test_environment_keeps_the_evaluator_out_of_sight(self) -> None:
        """No field of the evaluator is in an observation or an info, however deep."""
        with closing(self.env()) as env:
            contract = contract_of(env)
            hidden = {spec.name for spec in contract.evaluator}
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
            for one in (info, *(seen.info for seen in _run(self, env, steps=3))):
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

    # The same again, and the record --------------------------------------------------------------

    def test_environment_repeats_itself_for_equal_seeds(self) -> None:
        """In lockstep, equal seeds and actions give equal episodes."""
        runs = []
        for _ in range(2):
            with closing(self.env()) as env:
                _need_lockstep(contract_of(env))
                runs.append(_told(_run(self, env)))
        found = difference(runs[0], runs[1], 'steps')
        if found:
            fail(
                'equal episodes from equal seeds and actions',
                found,
                where=f'two runs with seed {self.seed}',
            )

    def test_environment_leaves_a_record_that_the_audit_believes(self) -> None:
        """The audit finds no error in the record of a whole episode."""
        with closing(self.env()) as env:
            contract = contract_of(env)
            _run(self, env, steps=contract.max_steps + 1)
        record = self.record()
        if record is None:
            skip('there is no record: pass sink=self.keep, or override record()')
        if isinstance(record, Path):
            report = audit_path(record)
        else:
            report = audit(
                [r for r in record if isinstance(r, Transition)],
                contract=contract,
                task=make_task(contract),
                decisions=[r for r in record if isinstance(r, GateDecision)],
            )
        if not report.ok or not report.transitions:
            fail('a record without errors', f'\n{report}\n', where='audit')


def _run(subject: EnvironmentTests, env: Env, steps: int | None = None) -> list[Seen]:
    """Reset, and step with random actions until an ending, or so many steps."""
    reset(env, subject.seed, subject.reset_options())
    seen = []
    for _ in range(subject.steps if steps is None else steps):
        seen.append(step(env, env.action_space.sample()))
        if seen[-1].ended:
            break
    return seen


def _told(steps: Sequence[Seen]) -> list[object]:
    """Return what must be equal in equal episodes."""
    names = (
        'step',
        'verdict',
        'reasons',
        'requested_action',
        'admitted_action',
        'cause',
        'status',
    )
    return [
        (
            dict(s.observation),
            s.reward,
            s.terminated,
            s.truncated,
            {name: s.info.get(name) for name in names},
        )
        for s in steps
    ]


def _need_lockstep(contract: Contract) -> None:
    if contract.pacing is not Pacing.LOCKSTEP:
        skip('in realtime the world does not wait, and no two episodes are equal')


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
