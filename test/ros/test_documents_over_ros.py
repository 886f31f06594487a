# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Documents behind the nodes: the desk of the examples over DDS, recorded and audited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import json
import os
from pathlib import Path
import re
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('jsonschema', reason='needs boundary_env_ros[documents]')

from mcap.reader import make_reader
from mcap.writer import Writer
from rclpy.duration import Duration
from std_msgs.msg import String

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.gate.rules.document_rules import published_documents
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import boundary_nodes, isolated_environment, running
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_reader import open_records
from support.ros_world import reserved_domain, wait_until

pytestmark = pytest.mark.ros

EXAMPLES = Path(__file__).parents[2] / 'examples'
CONTRACT = EXAMPLES / 'invoice_desk.yaml'


@pytest.fixture
def place(
    _run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[tuple[int, Path, Callable[[], None]]]:
    """Run the nodes with the desk; return domain, run folder, and what stops them."""
    installed = tmp_path / 'desk-1.0.dist-info'
    installed.mkdir()
    (installed / 'METADATA').write_text('Metadata-Version: 2.1\nName: desk\nVersion: 1.0\n')
    (installed / 'entry_points.txt').write_text(
        '[boundary_env_ros.plugins]\ninvoice_desk = invoice_desk:InvoiceDesk\n'
    )
    with ExitStack() as stack:
        domain = stack.enter_context(reserved_domain())
        for name, value in isolated_environment(domain).items():
            monkeypatch.setenv(name, value)
        before = os.environ.get('PYTHONPATH', '')
        path = [str(tmp_path), str(EXAMPLES), *filter(None, [before])]
        monkeypatch.setenv('PYTHONPATH', os.pathsep.join(path))
        monkeypatch.syspath_prepend(str(EXAMPLES))
        nodes = boundary_nodes(
            load(CONTRACT).contract,
            {'contract': str(CONTRACT), 'pacing': request.param},
            run=tmp_path / 'run',
            robot='simulated_robot',
        )
        stack.enter_context(running(nodes, domain_id=domain, logs=tmp_path / 'logs', timeout=60.0))
        yield domain, tmp_path / 'run', stack.close


@pytest.mark.parametrize(
    'place', [pytest.param('lockstep', marks=pytest.mark.nightly), 'realtime'], indirect=True
)
def test_a_desk_is_worked_through_over_ros_and_its_record_is_audited(
    place: tuple[int, Path, Callable[[], None]],
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    from invoice_desk import policy

    domain, run, stop = place
    pacing = request.node.callspec.params['place']
    env = BoundaryEnv(CONTRACT, world='ros', pacing=pacing, domain_id=domain)
    seen, _ = env.reset(seed=3)
    assert env.observation_space.contains(seen)
    *_, info = env.step({'desk': {'type': 'approve', 'number': 1, 'amount': 5000.0}})
    assert info['verdict'] == 'REJECTED'
    assert '$.amount: 5000.0 is greater than the maximum of 1000' in info['reasons'][0]
    over, total = False, 0.0
    while not over:
        seen, reward, terminated, truncated, info = env.step({'desk': policy(seen['invoice'])})
        over, total = terminated or truncated, total + float(reward)
    env.close()
    assert (info['ending'], total) == ('success', 3.0)

    stop()
    records = open_records(run)
    steps = [t for t in records.records(Transition) if t.request and t.request.payload]
    admitted = [step.answer for step in steps if step.answer and published_documents(step.answer)]
    texts = [message.decode().data for message in records.messages({'/desk'})]
    assert texts == [published_documents(answer)['desk'] for answer in admitted]
    assert json.loads(steps[0].request.payload)['desk']['amount'] == 5000.0
    # The first request may be from before the recorder heard its topic.
    assert main(['audit', str(run)]) in (0, 3), capsys.readouterr().out

    forged = run.parent / 'forged.mcap'
    change(next((run / 'bag').glob('*.mcap')), forged)
    capsys.readouterr()
    assert main(['audit', str(forged), '--contract', str(run / 'contract.yaml')]) == 1
    told = capsys.readouterr().out
    assert 'command-on-topic' in told
    # Where the middleware numbers no messages, the right one may have been lost.
    pair = 'expected {"type":"APPROVE".* as on /desk, got {"type":"approve"'
    assert re.search(f'{pair}|got none for {{"type":"APPROVE"', told), told


@pytest.mark.parametrize('place', ['realtime'], indirect=True)
def test_one_document_of_a_publisher_that_is_gone_at_once_stops_the_desk(
    place: tuple[int, Path, Callable[[], None]],
) -> None:
    domain, _, _ = place
    env = BoundaryEnv(CONTRACT, world='ros', pacing='realtime', domain_id=domain)
    env.reset(seed=3)
    with IsolatedNode('stranger', domain_id=domain) as stranger:
        decisions: list[Any] = []
        stranger.node.create_subscription(
            msg.GateDecision, names.GATE_DECISION, decisions.append, names.RECORD
        )
        made = stranger.node.create_publisher(String, '/desk', names.RECORD)

        def found() -> bool:
            """Return whether gate and stranger know each other, whoever else listens."""
            stranger.spin(0.05)
            readers = stranger.node.get_subscriptions_info_by_topic('/desk')
            gate = any(reader.node_name == 'safety_gate' for reader in readers)
            return gate and made.get_subscription_count() >= len(readers) and bool(decisions)

        wait_until(found, 30.0, 'listeners of the stranger')
        made.publish(String(data='{"type": "approve"}'))
        assert made.wait_for_all_acked(Duration(seconds=10.0))
        stranger.node.destroy_publisher(made)
        deadline = time.monotonic() + 30.0
        while not any(decision.inputs.foreign_commands for decision in decisions):
            assert time.monotonic() < deadline, decisions[-1:]
            stranger.spin(0.05)
    env.close()


def change(bag: Path, copy: Path) -> None:
    """Copy a bag, with one document changed that was published."""
    changed = False
    with bag.open('rb') as source, copy.open('wb') as target:
        writer = Writer(target)
        writer.start(profile='ros2')
        channels: dict[int, int] = {}
        for schema, channel, message in make_reader(source).iter_messages():
            if channel.id not in channels:
                assert schema is not None
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, kind, dict(channel.metadata)
                )
            data = message.data
            if channel.topic == '/desk' and not changed and b'approve' in data:
                data, changed = data.replace(b'approve', b'APPROVE'), True
            times = {'log_time': message.log_time, 'publish_time': message.publish_time}
            writer.add_message(channels[channel.id], data=data, **times)
        writer.finish()
    assert changed
