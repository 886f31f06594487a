# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Say what a run of the tests came to, from the JUnit files of its parts.

It fails for a part that left no file, for a test that failed, for a skip whose reason
`.ci/allowed_skips.txt` does not list, and for more inconclusive tests than a busy machine may
excuse. Each failure is told with the command that runs it alone.

Tests over ROS share two cores with another one. What fails there, and what was inconclusive, is
decided alone: --again prints such tests, unless they are too many, and the part `again` runs them
by themselves. What passes then is told as decided alone.

Usage: judge.py FOLDER PART...
       judge.py FOLDER --again
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import re
from shlex import quote
import sys
import xml.etree.ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_name('allowed_skips.txt')

#: Of about a dozen tests that are judged against the wall clock, when they are run once more.
MOST_INCONCLUSIVE = 2
INCONCLUSIVE = 'inconclusive: '
#: Of some hundred tests that run beside another over ROS.
MOST_AGAIN = 2
BESIDE, AGAIN = 'ros', 'again'
SLOWEST = 15


def allowed() -> list[str]:
    """Return how the reasons begin for which a test may be skipped."""
    lines = ALLOWED.read_text(encoding='utf-8').splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def place_of(case: ET.Element) -> str:
    """Return what pytest calls a test: its file, and its name in it."""
    name = case.get('name', '')
    parts = [part for part in case.get('classname', '').split('.') if part]
    for count in range(len(parts), 0, -1):
        file = Path(*parts[:count]).with_suffix('.py')
        if (ROOT / file).is_file():
            return '::'.join([str(file), *parts[count:], name])
    return name.replace('.', '/') + '.py'  # a module that could not be collected, or was skipped


def why_of(skip: ET.Element) -> str:
    """Return why a test was skipped, or all tests of a module."""
    of_module = re.search(r"'Skipped: (.*)'\)", skip.text or '')
    return of_module[1] if of_module else skip.get('message', '')


def cases_of(folder: Path, part: str) -> list[ET.Element]:
    """Return what ran in a part; nothing if the part did not come to its end."""
    file = folder / f'{part}.xml'
    return list(ET.parse(file).iter('testcase')) if file.is_file() else []


def failed(case: ET.Element) -> bool:
    """Return whether a test failed, or what it needs."""
    return any(case.find(way) is not None for way in ('failure', 'error'))


def inconclusive(case: ET.Element) -> bool:
    """Return whether the machine was too busy to tell."""
    late = (why_of(skip).startswith(INCONCLUSIVE) for skip in case.iter('skipped'))
    return any(late) and not failed(case)


def good(case: ET.Element) -> bool:
    """Return whether a test ran and passed."""
    return not failed(case) and case.find('skipped') is None


def settled(case: ET.Element, part: str, alone: ET.Element | None) -> ET.Element:
    """Return how a test ended, given how it ended alone if it ran again."""
    if alone is None or good(case):
        return case
    if inconclusive(case) or (part == BESIDE and failed(case) and good(alone)):
        return alone
    return case


def again(folder: Path) -> list[str]:
    """Return the tests that are decided alone."""
    places = {place_of(case) for case in cases_of(folder, BESIDE) if failed(case)}
    places = places if len(places) <= MOST_AGAIN else set()
    late = (case for part in folder.glob('*.xml') for case in cases_of(folder, part.stem))
    return sorted(places | {place_of(case) for case in late if inconclusive(case)})


def main(folder: Path, parts: list[str]) -> int:
    """Tell, and return the exit code."""
    cases: list[ET.Element] = []
    problems: list[str] = []
    alone = {place_of(case): case for case in cases_of(folder, AGAIN)}
    for part in parts:
        found = cases_of(folder, part)
        if not found:
            problems.append(f'The part {part} did not come to its end: see its output above.')
        cases += [settled(case, part, alone.get(place_of(case))) for case in found]

    slowest = sorted(cases, key=lambda case: -float(case.get('time', 0)))[:SLOWEST]
    print(f'== {len(cases)} tests; the slowest:')
    for case in slowest:
        print(f'{float(case.get("time", 0)):7.1f} s  {place_of(case)}')

    skips = [(case, why_of(skip)) for case in cases for skip in case.iter('skipped')]
    reasons = allowed()
    late = [(case, why) for case, why in skips if why.startswith(INCONCLUSIVE)]
    fine = Counter(why for _, why in skips if why.startswith(tuple(reasons)))
    print(f'== Skipped: {sum(fine.values())}')
    for why, count in sorted(fine.items()):
        print(f'{count:7}    {why}')
    for case, why in skips:
        if not why.startswith((INCONCLUSIVE, *reasons)):
            problems.append(
                f'{place_of(case)}: skipped for a reason that {ALLOWED.name} does not list: {why}'
            )
    passed = sorted(place for place, case in alone.items() if case in cases and good(case))
    print(f'== Decided alone, beside no other test: {len(passed)}')
    for place in passed:
        print(f'{place}: passed')
    print(f'== Inconclusive: {len(late)}')
    for case, why in late:
        print(f'{place_of(case)}: {why}')
    if len(late) > MOST_INCONCLUSIVE:
        problems.append(
            f'Too many inconclusive tests (expected at most {MOST_INCONCLUSIVE}, '
            f'got {len(late)}); run them on a machine that is less busy.'
        )
    for case in cases:
        for kind in ('failure', 'error'):
            for found in case.iter(kind):
                words = (found.get('message') or found.text or '').strip().splitlines()
                place = place_of(case)
                again = f'.venv/bin/python -m pytest {quote(place)}'
                problems.append(f'{place}: {words[0] if words else kind}\n    {again}')
    print(f'== Failed: {len(problems)}')
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == '__main__':
    if sys.argv[2:] == ['--again']:
        print(*map(quote, again(Path(sys.argv[1]))))
        sys.exit()
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
