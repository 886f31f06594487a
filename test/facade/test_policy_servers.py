# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Policies behind a wire: servers in processes of their own, that are well, ill, or gone.

They play the protocols of openpi and GR00T; LeRobot's own server runs where LeRobot is.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, MissingDependency, PolicyLost
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.policies import lerobot_async, make_policy
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.contract_spaces import observation_space
from boundary_env_ros.storage.record_reader import open_records
from support.policy_server import sent, serving
from support.shipped import changed

CHUNKS = changed('warehouse_cart', chunk={'horizon': 4})
SPACE = observation_space(CHUNKS.contract)
SPACE.seed(2)
SEEN: Any = SPACE.sample()
WIRES = pytest.mark.parametrize('kind', ['openpi', 'gr00t'])
SHORT = {'timeout': 20.0, 'connect': 20.0}
Output = pytest.CaptureFixture[str]


def options(kind: str) -> dict[str, Any]:
    """Return the options for a server of the cart; GR00T's says most itself."""
    fields = {'fields': ['pose', 'goal']}
    mapping = {'observation': {'observation/state': fields, 'prompt': {'instruction': 'go'}}}
    return {**SHORT, **({'mapping': mapping} if kind == 'openpi' else {})}


def words_of(kind: str, address: str) -> list[str]:
    words = ['run', '--policy', f'{kind}:{address}', '--world', 'embedded']
    for name, value in options(kind).items():
        words += ['--policy-option', f'{name}={value}']
    return [*words, '--option', 'scenario=clear', '--client', 'served']


@WIRES
def test_a_server_drives_an_episode_and_the_record_says_which_it_was(
    kind: str, tmp_path: Path
) -> None:
    with serving(kind, ['well'], tmp_path / 'log') as address:
        words = [*words_of(kind, address), '--instruction', 'to the goal']
        assert main([*words, '--run', str(tmp_path / 'run')]) == 0
    steps = [
        entry.record
        for entry in open_records(tmp_path / 'run').entries(Transition)
        if isinstance(entry.record, Transition)
    ]
    first, *others = [
        {item.key: item.value for item in step.request.metadata} for step in steps if step.request
    ]
    assert first['policy_server'] == address
    model = 'steady' if kind == 'openpi' else 'task.text'
    assert model in first['policy_server_metadata']
    assert {item['policy_server_infer_ms'] for item in (first, *others)} == {'1.5'}
    assert not any('policy_server' in item for item in others), 'once an episode'
    assert audit_path(tmp_path / 'run').ok
    (*_, last) = sent(tmp_path / 'log')
    if kind == 'openpi':
        assert last == {'observation/state': '(5,) float32', 'prompt': 'to the goal'}
    else:
        assert last['state'] == {'pose': '(1, 1, 3) float32'}
        assert last['language'] == {'task.text': [['to the goal']]}
        shape = ', '.join(map(str, (1, 1, *(SPACE['front'].shape or ()))))
        assert last['video'] == {'front': f'({shape}) uint8'}


ILL = {
    'nan': r"key '\w+' of the answer has what is no number \(expected all finite, got 8 of 8",
    'wide': r'expected 2 numbers: base/linear.x, base/angular.z, got \w+ \(4, 3\)',
    'words': r'expected numbers of shape .n,. or .k, n., got',
    'key': r'The answer has other keys \(expected \w+, got positions',
    'degrees': r'expected base/linear.x about from -0.3 to 0.8, got 30',
    'error': r'It sent .*KeyError.*state',
    'garbage': r'is lost \(expected an answer, got .*',
    'die': r'is lost \(expected an answer, got ',
}


@WIRES
@pytest.mark.parametrize('word', [*ILL])
def test_a_server_that_does_not_fit_is_refused_before_anything_moves(
    kind: str, word: str, tmp_path: Path
) -> None:
    limits = {**options(kind), 'connect': 6.0}
    with (
        serving(kind, [word], tmp_path / 'log') as address,
        pytest.raises(BoundaryError, match=ILL[word]) as caught,
    ):
        make_policy(f'{kind}:{address}', CHUNKS, limits)
    assert address in str(caught.value) or word == 'degrees'


@WIRES
@pytest.mark.parametrize('word', ['slow', 'die', 'error', 'garbage', 'nan', 'longer'])
def test_a_server_that_falls_ill_is_lost_for_the_episode_and_found_again_in_the_next(
    kind: str, word: str, tmp_path: Path
) -> None:
    says = {**ILL, 'slow': 'got nothing within 2 s', 'longer': 'expected 4 actions, got'}
    with serving(kind, ['well', word, 'well'], tmp_path / 'log') as address:
        limits = {**options(kind), **({'timeout': 2.0} if word in ('slow', 'die') else {})}
        policy: Any = make_policy(f'{kind}:{address}', CHUNKS, limits)
        policy.reset(1)
        with pytest.raises(PolicyLost, match=says[word]):
            policy(SEEN)
        with pytest.raises(PolicyLost, match='The next episode reaches for it again'):
            policy(SEEN)
        if word != 'slow' or kind == 'openpi':  # GR00T's serves one after the other
            policy.reset(2)
            np.testing.assert_allclose(policy(SEEN), np.tile([0.1, 0.0], (4, 1)), rtol=1e-6)
        policy.close()


def test_the_run_goes_on_with_the_next_episode_until_too_many_were_lost(
    tmp_path: Path, capsys: Output
) -> None:
    # One answer for the check, one to warm up, one to act; then an episode that is whole.
    plan = ['well'] * 3 + ['nan'] + ['well'] * 60 + ['nan', 'die', 'nan']
    with serving('openpi', plan, tmp_path / 'log') as address:
        words = [*words_of('openpi', address), '--run', str(tmp_path / 'run')]
        assert main([*words, '--episodes', '9', '--give-up-after', '3']) == 1
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if line.startswith('seed')]
    assert ['broken off' in line for line in lines] == [True, False, True, True, True]
    assert err.count('has what is no number') == 3
    assert '3 episodes in a row were lost' in err
    assert audit_path(tmp_path / 'run').ok


def test_a_server_that_continues_its_chunk_is_sent_what_is_left_of_it(tmp_path: Path) -> None:
    said = options('openpi')
    said['mapping'] |= {'delay': 'rtc.delay', 'prefix': 'rtc.prefix'}
    with serving('openpi', ['well'], tmp_path / 'log') as address:
        policy: Any = make_policy(f'openpi:{address}', CHUNKS, said)
        policy.condition(2, np.zeros((3, 2)))
        policy(SEEN)
        policy.reset(1)
        policy(SEEN)
        policy.close()
    first, continued, anew = (item['rtc'] for item in sent(tmp_path / 'log'))
    assert first == anew == {'delay': 0}
    assert continued == {'delay': 2, 'prefix': '(3, 2) float32'}


@pytest.mark.parametrize('key', ['delay', 'prefix'])
def test_a_server_that_takes_no_more_keys_is_sent_none(key: str, tmp_path: Path) -> None:
    with (
        serving('gr00t', ['well'], tmp_path / 'log') as address,
        pytest.raises(BoundaryError, match='takes no `delay` and no `prefix`'),
    ):
        make_policy(f'gr00t:{address}', CHUNKS, {'mapping': {key: 'key'}})


def test_another_server_at_the_same_place_is_refused(tmp_path: Path) -> None:
    with serving('openpi', ['well', 'die', 'well'], tmp_path / 'log') as address:
        policy: Any = make_policy(f'openpi:{address}', CHUNKS, options('openpi'))
        policy._server = policy._server.replace('steady', 'other')
        with pytest.raises(PolicyLost):
            policy(SEEN)
        with pytest.raises(BoundaryError, match='Another server is at .*expected .*other.*steady'):
            policy.reset(1)


@WIRES
def test_a_server_that_is_not_there_is_named_after_a_while(kind: str) -> None:
    with pytest.raises(PolicyLost, match=r'127\.0\.0\.1:9 is lost \(expected a server that'):
        make_policy(f'{kind}:127.0.0.1:9', CHUNKS, {'connect': 0.5})


def test_a_mapping_with_other_keys_than_the_server_says_is_refused(tmp_path: Path) -> None:
    mapping = {'observation': {'state.pose': {'fields': 'pose'}}}
    with (
        serving('gr00t', ['well'], tmp_path / 'log') as address,
        pytest.raises(BoundaryError, match='expected language.task.text, state.pose, video'),
    ):
        make_policy(f'gr00t:{address}', CHUNKS, {'mapping': mapping})


def test_the_mapping_of_the_example_fits_the_shipped_arm(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / 'examples' / 'openpi_door_arm.yaml'
    limits = {**SHORT, 'mapping': str(file)}
    # The server of the cart answers in the form of the cart.
    with (
        serving('openpi', ['well'], tmp_path / 'log') as address,
        pytest.raises(PolicyLost, match=r'expected 7 numbers an action, got 2'),
    ):
        make_policy(f'openpi:{address}', load('door_arm'), limits)
    assert sent(tmp_path / 'log') == [
        {
            'observation/image': '(224, 224, 3) uint8',
            'observation/wrist_image': '(224, 224, 3) uint8',
            'observation/state': '(7,) float32',
            'prompt': 'open the door',
        }
    ]


def test_an_answer_of_lerobot_runs_no_code() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ('true',)

    data = io.BytesIO(pickle.dumps([Evil()]))
    with pytest.raises(BoundaryError, match=r'names posix\.system, which no action has'):
        lerobot_async._Actions(data).load()


@pytest.mark.parametrize(
    ('kind', 'package', 'wanted'),
    [
        ('openpi', 'websockets.sync.client', 'msgpack websockets'),
        ('gr00t', 'zmq', 'msgpack pyzmq'),
        ('lerobot-async', 'grpc', "'lerobot.async.'"),
    ],
)
def test_a_wire_without_its_package_says_which(
    kind: str, package: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__('sys').modules, package, None)
    policy = {'policy_type': 'act', 'pretrained': 'act'} if kind == 'lerobot-async' else {}
    with pytest.raises(MissingDependency, match=f'pip install {wanted}'):
        make_policy(f'{kind}:127.0.0.1:9', CHUNKS, policy)
