# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reference of the contract language says what the parser does: same keys, same defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import re

from pages import code, first_code, rows, section, text_of
import pytest
import yaml

from boundary_env_ros.core import causes, contract_reader, derived, images
from boundary_env_ros.core.contract_parser import parse
from boundary_env_ros.core.contract_reader import Reader
from boundary_env_ros.core.message_parts import ARRAYS, PARTS
from boundary_env_ros.core.paths import FUNCTIONS
from boundary_env_ros.errors import ContractError
from boundary_env_ros.storage.contract_file import loads

PAGE = text_of('doc/contract.md')
SHIPPED = text_of('config/warehouse_cart.yaml')

Key = tuple[str, ...]
REQUIRED = contract_reader._REQUIRED

#: Keys that say where in a message values are, the same for a field, a command and its feedback.
PLACES = frozenset(
    (
        *('fields', 'parts', 'joints', 'quantity', 'beams', 'points', 'channels', 'pad'),
        *('array', 'length', 'shape'),
    )
)
#: Keys whose default depends on other keys; the page says so in words.
DEPENDING = frozenset(
    {
        ('latency_budget', 'of'),
        ('observation', '*', 'array'),
        ('safety', 'gate_lateness'),
        ('safety', 'clock_jump'),
    }
)


class Asked:
    """What a parser asks for: keys, their defaults, and which it looked for before it asked."""

    def __init__(self) -> None:
        self.defaults: dict[Key, object] = {}
        self.looked_for: set[Key] = set()
        self._chosen_by_user: set[Key] = set()

    def _general(self, path: tuple[str | int, ...]) -> Key:
        key: Key = ()
        for part in map(str, path):
            key += ('*' if key in self._chosen_by_user or part.isdecimal() else part,)
        # Fields have the same keys wherever they are, and places in a message, too.
        if key[:2] in (('evaluator', '*'), ('state', '*')) and len(key) > 2:
            key = ('observation', *key[1:])
        if key[:1] in (('action',), ('safety',)) and len(key) > 2 and key[-1] in PLACES:
            key = ('observation', '*', key[-1])
        if key[:3] == ('safety', 'obstacles', '*') and len(key) > 3:
            key = ('safety', 'obstacle', *key[3:])
        return key

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what is asked for while this lasts."""
        take, has, is_word, names = Reader._take, Reader.has, Reader.is_word, Reader.names

        def noting_take(reader: Reader, key: str, expected: str, default: object) -> object:
            self.defaults[self._general((*reader.path, key))] = default
            return take(reader, key, expected, default)

        def noting_has(reader: Reader, key: str) -> bool:
            self.looked_for.add(self._general((*reader.path, key)))
            return has(reader, key)

        def noting_word(reader: Reader, key: str, word: str) -> bool:
            self.defaults.setdefault(self._general((*reader.path, key)), REQUIRED)
            return is_word(reader, key, word)

        def noting_names(reader: Reader) -> tuple[str, ...]:
            self._chosen_by_user.add(self._general(reader.path))
            return names(reader)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Reader, '_take', noting_take)
            patch.setattr(Reader, 'has', noting_has)
            patch.setattr(Reader, 'is_word', noting_word)
            patch.setattr(Reader, 'names', noting_names)
            yield


def _contracts() -> Iterator[object]:
    """Return contracts that lead the parser down every branch; they need not be valid."""
    yield {}
    for name in ('warehouse_cart', 'door_arm', 'two_carts'):
        yield yaml.safe_load(text_of(f'config/{name}.yaml'))
    yield yaml.safe_load(text_of('test/storage/good_contracts/every_limit.yaml'))
    data = yaml.safe_load(SHIPPED)
    data['observation'].update(yaml.safe_load(RARE_FIELDS))
    data['action'].update(yaml.safe_load(RARE_ACTIONS))
    data['episode']['reset']['procedure'] = yaml.safe_load(PROCEDURE)
    data['observation']['pose']['confidence'] = {'field': 'confidence'}
    data['observation']['pose']['qos'] = {'reliability': 'reliable'}
    data['action']['base']['driver_timeout'] = 'none'
    data['latency_budget']['reaction'] = 1.0
    data['chunk'] = {'horizon': 2}
    data['episode']['causes'] = {'lost_load': 'terminated'}
    del data['observation']['scan']['beams']
    yield data


RARE_FIELDS = """
joints: {topic: j, type: sensor_msgs/msg/JointState, joints: [a], quantity: velocity}
cloud: {topic: c, type: sensor_msgs/msg/PointCloud2, points: 4, channels: [x], pad: 0.0}
array: {topic: a, type: std_msgs/msg/Float64MultiArray, array: data, length: 2}
matrix: {topic: a, type: std_msgs/msg/Float64MultiArray, shape: [2, 2]}
imu: {topic: i, type: sensor_msgs/msg/Imu, parts: [orientation], skew: 0.1}
depth: {topic: d, type: sensor_msgs/msg/Image, encoding: 32FC1, unit: m, invalid: 0.0}
jpeg: {topic: d, type: sensor_msgs/msg/CompressedImage, compressed: jpeg, encoding: rgb8}
looked_up: {transform: {in: map, of: gripper}}
past: {derive: {function: history, of: imu, count: 3}}
turn: {derive: {function: sine_cosine, of: imu, index: 3}}
"""
RARE_ACTIONS = """
delta: {topic: x, type: t/msg/T, fields: a, kind: delta}
choice: {topic: y, type: t/msg/T, fields: a, kind: discrete, choices: {stay: 0.0}}
levels: {topic: z, type: t/msg/T, fields: a, kind: multi_discrete}
arm: {topic: w, type: trajectory_msgs/msg/JointTrajectory, joints: [a]}
"""
PROCEDURE = """
- {world: w, deadline: 1.0}
- {call: c, type: std_srvs/srv/Trigger, request: {}, deadline: 1.0}
- {publish: p, type: std_msgs/msg/Bool, message: {data: true}}
- {wait: pose, target: 0.0, tolerance: 0.0, deadline: 1.0}
- {wait: pose, sampled: start, tolerance: 0.0, deadline: 1.0}
- {confirm: Do it., deadline: 1.0}
"""


@pytest.fixture(scope='module')
def asked() -> Asked:
    notes = Asked()
    with notes.watching():
        for data in _contracts():
            try:
                parse(data)
            except ContractError:
                continue
    return notes


def _documented() -> Mapping[Key, str]:
    """Return the default that the page gives for each key."""
    found: dict[Key, str] = {}
    for cells in rows(section(PAGE, 'Keys')):
        (name,) = code(cells[0])
        key = tuple('*' if part.startswith('<') else part for part in name.split('.'))
        assert key not in found, f'{name} stands there twice'
        found[key] = cells[2]
    return found


def test_page_has_every_key_that_the_parser_asks_for_and_no_other(asked: Asked) -> None:
    assert set(_documented()) == set(asked.defaults) | asked.looked_for


def test_page_calls_required_what_the_parser_requires(asked: Asked) -> None:
    # A key that is looked for first is required only where it is the one that was chosen.
    required = {
        key for key, default in asked.defaults.items() if default is REQUIRED
    } - asked.looked_for
    documented = {key for key, default in _documented().items() if default == 'required'}
    assert documented - asked.looked_for == required


def test_page_has_the_defaults_of_the_parser(asked: Asked) -> None:
    literal = {
        key: yaml.safe_load(code(cell)[0])
        for key, cell in _documented().items()
        if code(cell) and key not in DEPENDING
    }
    defaults = {
        key: default
        for key, default in asked.defaults.items()
        if default is not REQUIRED and default is not None and key not in DEPENDING
    }
    assert literal == defaults


def test_page_has_the_built_in_causes_in_order_of_precedence() -> None:
    listed = {
        code(cells[0])[0]: cells[1] for cells in rows(section(PAGE, 'Causes')) if code(cells[0])
    }
    assert list(listed) == list(causes.BUILT_IN)
    assert listed == {name: ending.name.lower() for name, ending in causes.BUILT_IN.items()}


def test_page_has_the_functions_of_field_paths() -> None:
    assert set(first_code(section(PAGE, 'Field paths'))) == set(FUNCTIONS)


def test_page_has_the_functions_of_derived_fields() -> None:
    assert set(first_code(section(PAGE, 'Derived fields'))) == set(derived.FUNCTIONS)


def test_page_has_the_ready_adapters() -> None:
    named = set(code(section(PAGE, 'Ready adapters')))
    parts = {part for known in PARTS.values() for part in known}
    plain = {'vector3', 'point', 'quaternion'}  # the one thing that such a message is
    assert parts - plain <= named
    bases = {name.rsplit('/', 1)[1] for name in (*PARTS, *ARRAYS)}
    for name in bases:
        base = re.sub('(WithCovariance)?(Stamped)?$', '', name)
        base = re.sub(r'^(Float|U?Int)\d+(MultiArray)?$', r'Float64\2', base)
        base = base if base != 'Float64' else 'Float32'
        assert any(text.rsplit('/', 1)[-1] == base for text in named), name


def test_page_has_the_encodings_of_images() -> None:
    named = set(code(section(PAGE, 'Images')))
    assert {name for name in images.ENCODINGS if not name.startswith('bayer')} <= named
    assert set(images.DECOMPRESSED) <= named


def test_error_on_the_page_is_the_one_that_is_raised() -> None:
    head, front = SHIPPED.split('encoding: rgb8', 1)
    broken = f'{head}encoding: rgb8{front.replace("frame:", "frames:", 1)}'
    broken = broken.replace('hold_after: 0.15 ', 'hold_after: 0.05 ')
    shown = re.search(r'^```\n(broken.yaml.*?)\n```', PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    with pytest.raises(ContractError) as raised:
        loads(broken, source='broken.yaml')
    assert str(raised.value) == shown[1]
