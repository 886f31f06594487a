# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of an environment over a contract, whatever its world."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
import warnings

from gymnasium.utils.env_checker import check_env

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import EpisodeEnded
from boundary_env_ros.evidence.audit.audit import audit, audit_path
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.testing.episode_checks import (
    contract_of,
    Env,
    reset,
    step,
    StepOutcome,
)
from boundary_env_ros.testing.verdicts import (
    attempt,
    described,
    fail,
    must_equal,
    must_refuse,
    skip,
)


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

    def test_environment_passes_the_check_of_gymnasium(self) -> None:
        """In lockstep ``gymnasium.utils.env_checker`` is content, determinism included."""
        with closing(self.env()) as env:
            _need_lockstep(contract_of(env))
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                outcome = attempt(partial(check_env, env.unwrapped, skip_render_check=True))
            if isinstance(outcome, Exception):
                fail('gymnasium to be content', described(outcome), where='check_env')

    def test_environment_observes_within_its_space(self) -> None:
        """Whatever it returns is in the space: names in order, type, shape and bounds."""
        with closing(self.env()) as env:
            run(self, env)

    # In the right order --------------------------------------------------------------------------

    def test_environment_ends_once_by_one_name(self) -> None:
        """
        An ending is terminated or truncated, never both, with one name and one declarer.

        It comes at the time limit of the contract at the latest. A step after it raises
        EpisodeEnded, and the next reset begins again.
        """
        with closing(self.env()) as env:
            contract = contract_of(env)
            last = run(self, env, steps=contract.max_steps + 1)[-1]
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

    # The same again, and the record --------------------------------------------------------------

    def test_environment_repeats_itself_for_equal_seeds(self) -> None:
        """In lockstep, equal seeds and actions give equal episodes."""
        runs = []
        for _ in range(2):
            with closing(self.env()) as env:
                _need_lockstep(contract_of(env))
                runs.append(_comparable(run(self, env)))
        expected = 'equal episodes from equal seeds and actions'
        where = f'two runs with seed {self.seed}'
        must_equal(runs[0], runs[1], expected, where=where, place='steps')

    def test_environment_leaves_a_record_that_passes_the_audit(self) -> None:
        """The audit finds no error in the record of a whole episode."""
        with closing(self.env()) as env:
            contract = contract_of(env)
            run(self, env, steps=contract.max_steps + 1)
        record = self.record()
        if record is None:
            skip('there is no record: pass sink=self.keep, or override record()')
        if isinstance(record, Path):
            report = audit_path(record)
        else:
            records = [r for r in record if isinstance(r, (Transition, GateDecision))]
            report = audit(records, contract=contract, task=make_task(contract))
        if not report.ok or not report.transitions:
            fail('a record without errors', f'\n{report}\n', where='audit')


def run(subject: EnvironmentTests, env: Env, steps: int | None = None) -> list[StepOutcome]:
    """Reset, and step with random actions until an ending, or so many steps."""
    reset(env, subject.seed, subject.reset_options())
    seen = []
    for _ in range(subject.steps if steps is None else steps):
        seen.append(step(env, env.action_space.sample()))
        if seen[-1].ended:
            break
    return seen


def _comparable(steps: Sequence[StepOutcome]) -> list[object]:
    """Return what must be equal in equal episodes."""
    names = (
        'step',
        'verdict',
        'reasons',
        'requested_action',
        'admitted_action',
        'ending',
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
    if not contract.is_lockstep:
        skip('in realtime the world does not wait, and no two episodes are equal')
