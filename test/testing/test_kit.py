# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the kit behaves: without pytest, without ROS, and where nothing was overridden."""

from __future__ import annotations

import inspect
from pathlib import Path
import re
import subprocess
import sys
import unittest

import numpy as np
import pytest

from boundary_env_ros import testing
from boundary_env_ros.testing import ContractTests, EnvironmentTests, Failure
from boundary_env_ros.testing.verdicts import difference
from support.small_world import Point, write

MIXINS = [kind for kind in vars(testing).values() if inspect.isclass(kind) and kind is not Failure]
TESTS = [
    (kind, name) for kind in MIXINS for name in sorted(vars(kind)) if name.startswith('test_')
]


def test_importing_it_loads_no_test_runner_no_ros_and_no_simulator() -> None:
    code = (
        'import sys, boundary_env_ros.testing; '
        'print(*({"pytest", "rclpy", "mujoco", "hypothesis"} & set(sys.modules)))'
    )
    ran = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == []


def test_unittest_runs_the_same_tests(tmp_path: Path) -> None:
    class Cased(ContractTests, unittest.TestCase):
        def contract(self) -> Path:
            return write(tmp_path)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Cased).run(result)
    assert result.testsRun == sum(1 for kind, _ in TESTS if kind is ContractTests)
    assert (result.failures, result.errors) == ([], [])


def test_unittest_counts_what_is_found_as_a_failure_and_not_as_an_error(tmp_path: Path) -> None:
    class Cased(ContractTests, unittest.TestCase):
        def contract(self) -> Path:
            return write(tmp_path, ('radius: 0.3', 'radius: -1.0'))

    result = unittest.TestResult()
    Cased('test_contract_loads_without_problems').run(result)
    assert len(result.failures) == 1
    assert result.errors == []


def test_every_test_is_named_after_its_kind_and_says_what_must_hold() -> None:
    # So that one class may have several of the mixins.
    odd = [
        name
        for kind, name in TESTS
        if name.split('_')[1] != kind.__name__.removesuffix('Tests').lower()
        or not inspect.getdoc(getattr(kind, name))
    ]
    assert odd == []


@pytest.mark.parametrize('kind', [ContractTests, EnvironmentTests])
def test_what_was_not_overridden_is_named(kind: type) -> None:
    name = next(name for owner, name in TESTS if owner is kind)
    with pytest.raises(NotImplementedError, match='does not say what it tests'):
        getattr(kind(), name)()


def test_without_a_record_only_the_audit_is_left_out(tmp_path: Path) -> None:
    from boundary_env_ros.facade.env import BoundaryEnv
    from boundary_env_ros.storage.contract_file import load

    class Kit(EnvironmentTests):
        def env(self) -> BoundaryEnv:
            file = write(tmp_path)
            robot = Point(load(file).contract, 0)
            return BoundaryEnv(file, world='embedded', pacing='lockstep', robot=robot)

    with pytest.raises(unittest.SkipTest, match='pass sink=self.keep'):
        Kit().test_environment_leaves_a_record_that_passes_the_audit()
    Kit().test_environment_observes_within_its_space()


@pytest.mark.parametrize(
    ('one', 'other', 'found'),
    [
        ((1.0, float('nan')), (1.0, float('nan')), ''),
        ({'a': [1, 2]}, {'a': [1, 3]}, 'a[1]: 2 and 3'),
        ({'a': 1}, {'b': 1}, "keys: ['a'] and ['b']"),
        ([1], [1, 2], 'length: 1 and 2 values'),
        (np.zeros(2), np.zeros(2, dtype=np.float32), ': float64(2,) and float32(2,)'),
        ({'a': np.zeros(2)}, {'a': np.ones(2)}, 'a: arrays of different values'),
        ('ab', 'ac', "value: 'ab' and 'ac'"),
    ],
)
def test_a_difference_is_named_with_its_place(one: object, other: object, found: str) -> None:
    assert difference(one, other) == found


def test_a_failure_says_where_what_and_the_way_out() -> None:
    with pytest.raises(Failure) as caught:
        testing.verdicts.fail('a name', 'none', where='judge', way_out='Give it one.')
    assert str(caught.value) == 'judge: expected a name, got none. Give it one.'


@pytest.mark.parametrize('kind', MIXINS)
def test_the_page_lists_every_test_and_what_is_overridden(kind: type) -> None:
    page = (Path(__file__).parents[2] / 'doc/testing.md').read_text(encoding='utf-8')
    section = page.partition(f'## {kind.__name__}\n')[2].partition('\n## ')[0]
    tests = [name for owner, name in TESTS if owner is kind]
    assert sorted(re.findall(r'`(test_\w+)`', section)) == tests
    hooks = [n for n in vars(kind) if not n.startswith(('_', 'test_'))]
    assert [
        name for name in hooks if f'`{name}' not in section and f'.{name}`' not in section
    ] == []
