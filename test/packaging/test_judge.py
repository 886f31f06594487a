# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What `make test` says at its end: a run is good only if nothing is wrong with any part of it."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

from support.installs import REPOSITORY

PLACE = 'test.packaging.test_judge'
FINE = f'<testcase classname="{PLACE}" name="test_fine" time="1.5"/>'


def skipped(why: str) -> str:
    return f'<testcase classname="{PLACE}" name="test_it"><skipped message="{why}"/></testcase>'


def judged(folder: Path, *cases: str, part: str = 'plain') -> tuple[int, str]:
    """Return exit code and words on a run whose part had these cases."""
    (folder / 'plain.xml').write_text(f'<testsuites>{FINE}{"".join(cases)}</testsuites>')
    finished = subprocess.run(
        [sys.executable, REPOSITORY / '.ci/judge.py', folder, part],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not finished.stderr
    return finished.returncode, finished.stdout


def test_what_passed_or_was_skipped_for_an_allowed_reason_is_good(tmp_path: Path) -> None:
    module = (
        '<testcase classname="" name="test.facade.test_stable_baselines3">'
        '<skipped message="collection skipped">'
        "('test/facade/test_stable_baselines3.py', 15, 'Skipped: needs LeRobot')"
        '</skipped></testcase>'
    )
    code, told = judged(tmp_path, module, skipped('needs boundary_env_ros[sb3]'))
    assert code == 0
    assert '== Skipped: 2' in told
    assert '1.5 s  test/packaging/test_judge.py::test_fine' in told


def test_a_skip_for_another_reason_fails_the_run(tmp_path: Path) -> None:
    code, told = judged(tmp_path, skipped('no time today'))
    assert code == 1
    assert 'test/packaging/test_judge.py::test_it: skipped for a reason' in told
    assert told.endswith('does not list: no time today\n')


def test_a_failure_is_told_with_the_command_that_runs_it_alone(tmp_path: Path) -> None:
    failed = (
        f'<testcase classname="{PLACE}" name="test_it[a b]">'
        '<failure message="AssertionError: no&#10;more"/></testcase>'
    )
    code, told = judged(tmp_path, failed)
    assert code == 1
    assert told.endswith(
        'test/packaging/test_judge.py::test_it[a b]: AssertionError: no\n'
        "    .venv/bin/python -m pytest 'test/packaging/test_judge.py::test_it[a b]'\n"
    )


def test_a_part_that_left_no_results_fails_the_run(tmp_path: Path) -> None:
    code, told = judged(tmp_path, part='ros')
    assert code == 1
    assert 'The part ros did not come to its end' in told


def test_few_inconclusive_tests_are_told_and_more_fail_the_run(tmp_path: Path) -> None:
    late = skipped('inconclusive: a process waited 0.31 s for a core; too late')
    code, told = judged(tmp_path, *[late] * 2)
    assert code == 0
    assert '== Inconclusive: 2' in told
    code, told = judged(tmp_path, *[late] * 3)
    assert code == 1
    assert 'Too many inconclusive tests (expected at most 2, got 3)' in told


def test_what_was_inconclusive_is_as_it_ends_alone(tmp_path: Path) -> None:
    late = skipped('inconclusive: a process waited 0.31 s for a core; too late')
    assert judged(tmp_path, late)[0] == 0
    assert again(tmp_path, '') == 'test/packaging/test_judge.py::test_it\n'
    for alone, code, line in (
        (f'<testcase classname="{PLACE}" name="test_it"/>', 0, '== Inconclusive: 0'),
        (late, 0, '== Inconclusive: 1'),
        (beside('test_it'), 1, '== Failed: 1'),
    ):
        (tmp_path / 'again.xml').write_text(f'<testsuites>{alone}</testsuites>')
        found, told = judged(tmp_path, late)
        assert (found, line in told) == (code, True), told


def beside(*names: str) -> str:
    case = '<testcase classname="{}" name="{}"><failure message="too late"/></testcase>'
    return ''.join(case.format(PLACE, name) for name in names)


def again(folder: Path, ros: str) -> str:
    """Return what is to be decided alone after this in the part of ROS."""
    (folder / 'ros.xml').write_text(f'<testsuites>{FINE}{ros}</testsuites>')
    command = [sys.executable, REPOSITORY / '.ci/judge.py', folder, '--again']
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_what_failed_beside_another_over_ros_is_decided_alone_and_told(tmp_path: Path) -> None:
    assert again(tmp_path, '') == '\n'
    asked = again(tmp_path, beside('test_it[a b]'))
    assert asked == "'test/packaging/test_judge.py::test_it[a b]'\n"

    alone = f'<testcase classname="{PLACE}" name="test_it[a b]"/>'
    (tmp_path / 'again.xml').write_text(f'<testsuites>{alone}</testsuites>')
    code, told = judged(tmp_path, part='ros')
    assert code == 0
    assert 'beside no other test: 1\ntest/packaging/test_judge.py::test_it[a b]: passed\n' in told
    for ending in ('<failure message="no"/>', '<skipped message="inconclusive: late"/>'):
        other = alone.replace('/>', f'>{ending}</testcase>')
        (tmp_path / 'again.xml').write_text(f'<testsuites>{other}</testsuites>')
        assert judged(tmp_path, part='ros')[0] == 1


def test_more_than_two_failures_beside_others_are_failures(tmp_path: Path) -> None:
    assert again(tmp_path, beside('a', 'b', 'c')) == '\n'
    code, told = judged(tmp_path, part='ros')
    assert code == 1
    assert '== Failed: 3' in told
