# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pages on the facade and on the wire list what there is, and say who sends it."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from boundary_env_ros import errors
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.registration import IDS
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC
from boundary_env_ros.storage.records import TOPICS
from support.pages import code, first_code, REPOSITORY, rows, section, text_of

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

FACADE = text_of('doc/facade.md')
MESSAGES = text_of('doc/messages.md')


def test_page_has_the_keys_of_info_and_no_other() -> None:
    env = BoundaryEnv(world='embedded', pacing='lockstep', full_info=True)
    _, reset = env.reset(seed=1, options={'scenario': 'clear'})
    *_, step = env.step(np.zeros(2, dtype=np.float32))
    env.close()
    assert set(first_code(section(FACADE, 'info'))) == set(reset) | set(step)
    assert set(reset) - set(step) == {'reset'}


def test_the_program_without_gymnasium_runs() -> None:
    program = re.search(r'^```python\n(.*?)^```$', section(FACADE, 'Below Gymnasium'), re.M | re.S)
    assert program is not None
    names: dict[str, object] = {}
    exec(program[1], names)
    last = names['seen']
    assert isinstance(last, StepResult)
    assert last.transition.id.step == 10
    request = last.transition.request
    assert request is not None
    assert [(each.key, each.value) for each in request.metadata] == [('attempt', '9')]


def test_page_has_the_arguments_of_the_environment() -> None:
    first = re.search(r'^\| Argument.*?\n\n', FACADE, re.MULTILINE | re.DOTALL)
    assert first is not None
    parameters = list(inspect.signature(BoundaryEnv).parameters)
    assert [*first_code(first[0]), 'world_arguments'] == parameters


def test_page_has_the_arguments_of_both_links() -> None:
    pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
    from boundary_env_ros.ros.world import RosWorld

    table = re.search(r'^\| World `ros`.*?\n\n', FACADE, re.MULTILINE | re.DOTALL)
    assert table is not None
    assert ['loaded', *first_code(table[0])] == list(inspect.signature(RosWorld).parameters)
    embedded = re.search(r'^The world `embedded`.*?\n\n', FACADE, re.MULTILINE | re.DOTALL)
    assert embedded is not None
    for name in inspect.signature(EmbeddedWorld).parameters:
        assert name == 'loaded' or f'`{name}`' in embedded[0]


def test_page_has_the_ids_that_are_registered_and_their_contracts() -> None:
    table = re.search(r'^\| Id .*?\n\n', FACADE, re.MULTILINE | re.DOTALL)
    assert table is not None
    listed = {code(cells[0])[0]: code(cells[1])[0] for cells in rows(table[0])}
    assert listed == IDS


def test_page_has_the_render_modes() -> None:
    assert list(first_code(section(FACADE, 'Rendering'))) == BoundaryEnv.metadata['render_modes']


def test_errors_on_the_page_exist() -> None:
    for name in first_code(section(FACADE, 'Errors')):
        assert issubclass(getattr(errors, name), errors.BoundaryError)


@pytest.mark.parametrize('kind', ['msg', 'srv'])
def test_page_lists_every_interface_once_and_no_other(kind: str) -> None:
    files = sorted(path.stem for path in (REPOSITORY / kind).glob(f'*.{kind}'))
    headings = ('Services',) if kind == 'srv' else ('Messages on topics', 'Messages in messages')
    listed = [name for heading in headings for name in first_code(section(MESSAGES, heading))]
    assert sorted(listed) == files


def test_messages_in_messages_are_where_the_page_says() -> None:
    for cells in rows(section(MESSAGES, 'Messages in messages')):
        (name,) = code(cells[0])
        for place in code(cells[1]):
            folder = 'msg' if (REPOSITORY / f'msg/{place}.msg').is_file() else 'srv'
            assert re.search(rf'^{name}\b', text_of(f'{folder}/{place}.{folder}'), re.MULTILINE)


def test_services_that_the_page_calls_served_are_served_and_no_others() -> None:
    ros = REPOSITORY / 'boundary_env_ros/ros'
    sources = (*ros.glob('agent_*.py'), *(ros / 'nodes').glob('*.py'))
    nodes = ''.join(path.read_text(encoding='utf-8') for path in sources)
    served = {name for name in re.findall(r'\bsrv\.(\w+)', nodes) if not name.startswith('_')}
    claimed = {
        code(cells[0])[0] for cells in rows(section(MESSAGES, 'Services')) if cells[1] != '—'
    }
    assert claimed == served


def test_topics_on_the_page_are_those_of_the_package() -> None:
    names = text_of('boundary_env_ros/ros/names.py')
    topics = {cells[1] for cells in rows(section(MESSAGES, 'Messages on topics'))} - {'—'}
    topics_of_the_nodes = {*re.findall(r"'(boundary/\w+)'", names), *TOPICS.values()}
    assert {code(topic)[0] for topic in topics} == topics_of_the_nodes | {CHAIN_TOPIC[1:]}
