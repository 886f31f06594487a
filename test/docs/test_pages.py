# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every page is linked and its links lead somewhere; its lists are whole; its examples run."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess
import sys

from command_reference import page as commands_page
import pytest

from boundary_env_ros.errors import MissingDependency
from support.pages import anchors, PAGES, REPOSITORY, rows, text_of, without_code

EXAMPLES = sorted((REPOSITORY / 'examples').glob('*.py'))
#: They train for minutes, with what not everybody has installed: test_train_cart.py and
#: test_train_with_torch.py.
LONG = {'train_cart', 'train_loop', 'train_torchrl'}
#: It drives as many episodes as a comparison needs.
SLOW = {'sim_to_real'}
#: It needs the nodes: test_services.py. How drive_cart drives them: test_facade_over_ros.py.
OVER_ROS = {'call_services'}
#: What takes a few steps and reaches nothing: test/facade/test_first_step.py runs it.
FEW = {'five_steps'}

_LINK = re.compile(r'\]\(([^)\s]+)\)')
_FILE = re.compile(r'^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_LICENCE = re.compile(r'\A# Copyright .*\n# SPDX-License-Identifier: .*\n')


def _name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def test_links_of_the_pages_lead_somewhere() -> None:
    dead = []
    for page in PAGES:
        for link in _LINK.findall(without_code(page.read_text(encoding='utf-8'))):
            if re.match(r'https?:', link):
                continue
            name, _, anchor = link.partition('#')
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (
                anchor and anchor not in anchors(target.read_text(encoding='utf-8'))
            ):
                dead.append(f'{_name(page)}: {link}')
    assert dead == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    waiting, found = [REPOSITORY / 'README.md'], set()
    while waiting:
        page = waiting.pop()
        found.add(page)
        links = _LINK.findall(without_code(page.read_text(encoding='utf-8')))
        named = {(page.parent / link.partition('#')[0]).resolve() for link in links}
        waiting += [other for other in named.intersection(PAGES) if other not in found]
    assert set(PAGES) - found == set()


def test_page_has_the_help_of_the_commands() -> None:
    assert text_of('doc/commands.md') == commands_page(), 'make reference writes it again'


def test_page_names_every_extra_that_can_be_installed() -> None:
    extras = set(re.findall(r"^        '(\w+)': ", text_of('setup.py'), re.MULTILINE))
    assert {'ros', 'sim'} < extras
    install = text_of('doc/install.md')
    assert {name for name in extras if not re.search(rf'\b{name}\b', install)} == {'lint', 'test'}


def test_decisions_are_numbered_without_a_gap_and_all_listed() -> None:
    folder = REPOSITORY / 'doc/decisions'
    pages = sorted(path.name for path in folder.glob('0*.md'))
    assert [int(name[:4]) for name in pages] == list(range(1, len(pages) + 1))
    listed = [_LINK.findall(cells[0])[0] for cells in rows(text_of('doc/decisions/README.md'))]
    assert listed == pages
    for name in pages:
        assert (folder / name).read_text(encoding='utf-8').startswith(f'# {name[:4]}: ')


def test_code_that_claims_to_be_a_file_is_that_file() -> None:
    shown = [found for page in PAGES for found in _FILE.findall(page.read_text(encoding='utf-8'))]
    assert shown
    for name, block in shown:
        assert _LICENCE.sub('', text_of(name)) == block


def test_examples_are_shown_or_linked_on_a_page() -> None:
    pages = '\n'.join(page.read_text(encoding='utf-8') for page in PAGES)
    assert [_name(example) for example in EXAMPLES if _name(example) not in pages] == []


@pytest.mark.parametrize(
    'example',
    [
        pytest.param(path, marks=pytest.mark.nightly) if path.stem in SLOW else path
        for path in EXAMPLES
        if path.stem not in LONG | OVER_ROS | FEW
    ],
    ids=lambda path: path.stem,
)
def test_example_reaches_the_goal_without_ros(example: Path, tmp_path: Path) -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    # A package of that name that cannot be imported: whoever asks for ROS fails.
    (tmp_path / 'rclpy.py').write_text('raise ImportError\n')
    finished = subprocess.run(
        [sys.executable, '-c', _RUN, str(tmp_path), str(example)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lacks = re.search(
        r'^boundary_env_ros\.errors\.MissingDependency: (.*)$', finished.stderr, re.M
    )
    if finished.returncode and lacks:
        raise MissingDependency(lacks[1])  # skips the test: see test/conftest.py
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == 'success'


_RUN = """
import runpy, sys
_, first, example = sys.argv
sys.path[:0] = [first, example.rsplit('/', 2)[0]]
sys.argv = [example]
runpy.run_path(example, run_name='__main__')
"""


def test_picture_of_the_step_names_every_instant_and_stage() -> None:
    picture = text_of('doc/step.svg')
    words = set(re.findall(r'<text[^>]*>(\w+)</text>', picture))
    assert words >= {
        'captured', 'observed', 'delivered', 'requested', 'received', 'commanded', 'actuated',
        'capture', 'transport', 'inference', 'gate', 'actuation',
    }  # fmt: skip
    assert 'prefers-color-scheme: dark' in picture


def test_pages_name_no_place_of_one_machine() -> None:
    for page in PAGES:
        assert not re.search(r'/(opt|home|root|tmp)/', page.read_text(encoding='utf-8')), page
