# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Take each invariant out, one at a time, and see its tests fail.

    make mutations                                    all of them
    make mutations ARGS='lease facade/'               whose sentence or file has one of the words
    make mutations ARGS='--workers 4'
    make mutations ARGS='--check'                     only whether all of them can be made

The package and its tests are copied first: nothing happens to the working tree. A mutant that a
test does not notice is a survivor, and so is a fragment of source that is not found any more:
either the tests or this list have to be brought up to date, and the exit code is 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import importlib.util
import os
from pathlib import Path
import queue
import re
import shutil
import subprocess
import sys
import tempfile

from tools.mutations.around_the_gate import AROUND_THE_GATE
from tools.mutations.invariants import INVARIANTS, Mutation

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = Path('test')
#: What the tests need.
PARTS = ('boundary_env_ros', 'config', 'examples', 'launch', 'msg', 'srv', 'test', 'tools')

#: Seconds after which a mutant that hangs counts as noticed.
TIMEOUT = 300
#: Seconds for all tests together, before the first mutation.
TIMEOUT_OF_ALL = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What became of a mutant.

    problem: empty if every test of it failed.  hung: its tests came to no end, which counts as
    noticed, and is told: on a machine that is too slow every mutant would hang.
    """

    mutation: Mutation
    problem: str = ''
    hung: bool = False


def impossible(mutation: Mutation) -> str:
    """Return why a mutation cannot be made, or what of its tests is missing; '' if nothing."""
    path = REPOSITORY / 'boundary_env_ros' / mutation.file
    source = path.read_text(encoding='utf-8') if path.is_file() else ''
    found = source.count(mutation.fragment)
    if found != 1:
        return f'its fragment in {mutation.file} (expected once, got {found} times)'
    for test in mutation.tests:
        file, _, name = test.partition('::')
        place = REPOSITORY / TESTS / file
        if not place.is_file() or f'def {name.split("::")[-1]}(' not in place.read_text('utf-8'):
            return f'its test {TESTS / test} (expected a test, got none of this name)'
    return ''


class Copy:
    """A copy of the package, and of what its tests need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rubbish = shutil.ignore_patterns('__pycache__', '.hypothesis', '*.so')
        for name in PARTS:
            shutil.copytree(REPOSITORY / name, folder / name, ignore=rubbish)
        shutil.copy2(REPOSITORY / 'pyproject.toml', folder)
        self._environment = {
            **os.environ,
            'PYTHONPATH': os.fspath(folder),
            'HYPOTHESIS_STORAGE_DIRECTORY': os.fspath(folder / '.hypothesis'),
        }

    def source(self, mutation: Mutation) -> Path:
        """Return the file that a mutation is made in."""
        return self.folder / 'boundary_env_ros' / mutation.file

    def try_out(self, mutation: Mutation) -> Outcome:
        """Make a mutation, run its tests, and undo it."""
        problem = impossible(mutation)
        if problem:
            return Outcome(mutation=mutation, problem=problem)
        path = self.source(mutation)
        source = path.read_text(encoding='utf-8')
        try:
            self._write(path, source.replace(mutation.fragment, mutation.instead))
            failed, ended = self.failures(mutation.tests)
        finally:
            self._write(path, source)
        quiet = [test for test in mutation.tests if test not in failed] if ended else []
        return Outcome(
            mutation=mutation, problem=', '.join(f'{t} passes' for t in quiet), hung=not ended
        )

    def failures(self, tests: Iterable[str], timeout: float = TIMEOUT) -> tuple[set[str], bool]:
        """
        Run tests.

        Returns
        -------
        tuple
            Those that failed, one that has parameters if one of them did; and whether the run came
            to an end with a word on each: if not, not even the import survived.

        """
        try:
            run = subprocess.run(
                [sys.executable, '-m', 'pytest', '-q', '-rfE', '--tb=no', '-p', 'no:cacheprovider',
                 '-p', 'no:xdist', *(str(TESTS / test) for test in tests)],
                cwd=self.folder, env=self._environment, check=False, capture_output=True,
                text=True, timeout=timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return set(), False
        if run.returncode == 4:
            raise SystemExit(f'Expect tests, actually: {run.stdout}{run.stderr}')
        said = re.findall(rf'^(?:FAILED|ERROR) {TESTS}/([\w./]+(?:::\w+)*)', run.stdout, re.M)
        return set(said), run.returncode in (0, 1)

    @staticmethod
    def _write(path: Path, source: str) -> None:
        path.write_text(source, encoding='utf-8')
        # Its date and size may be those of the last mutant.
        Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def _try_all(mutations: list[Mutation], workers: int, folder: Path) -> int:
    """Try mutations out on copies; print a table, and return how many are no good."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    first = Copy(folder / '0')
    failed, ended = first.failures(sorted({t for m in mutations for t in m.tests}), TIMEOUT_OF_ALL)
    if failed or not ended:
        raise SystemExit(
            'Expect tests that pass without a mutation, '
            f'actually: {sorted(failed) or "they came to no end"}'
        )
    for copy in (first, *(Copy(folder / str(i)) for i in range(1, workers))):
        copies.put(copy)

    def try_out(mutation: Mutation) -> Outcome:
        copy = copies.get()
        try:
            return copy.try_out(mutation)
        finally:
            copies.put(copy)

    bad = 0
    with ThreadPoolExecutor(workers) as pool:
        for outcome in pool.map(try_out, mutations):
            bad += bool(outcome.problem)
            word = 'SURVIVES' if outcome.problem else 'hangs' if outcome.hung else 'noticed'
            print(f'{word:9} {outcome.mutation.invariant}', flush=True)
            if outcome.problem:
                print(f'          {outcome.problem}', flush=True)
    return bad


def main(arguments: list[str] | None = None) -> int:
    """Try out all mutations, or those that were asked for."""
    parser = argparse.ArgumentParser(
        prog='make mutations', description='Take each invariant out, and see its tests fail.'
    )
    parser.add_argument(
        'words', nargs='*', help='only of sentences or files that have one of these'
    )
    parser.add_argument('--check', action='store_true', help='only whether they can be made')
    parser.add_argument('--workers', type=int, default=os.cpu_count() or 1, help='processes')
    options = parser.parse_args(arguments)
    chosen = [
        mutation
        for mutation in (*INVARIANTS, *AROUND_THE_GATE)
        if not options.words
        or any(word in mutation.invariant or word in mutation.file for word in options.words)
    ]
    if options.check:
        problems = [f'{m.invariant}: {p}' for m in chosen if (p := impossible(m))]
        print(*problems, sep='\n', end='\n' if problems else '')
        return 1 if problems else 0
    with tempfile.TemporaryDirectory(prefix='mutations-') as folder:
        bad = _try_all(chosen, options.workers, Path(folder))
    print(f'{len(chosen)} invariants, {len(chosen) - bad} noticed, {bad} not')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
