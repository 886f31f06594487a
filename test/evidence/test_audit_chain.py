# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The chain over a bag names what was done to it afterwards, however well all of it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
import re
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.cli.main import main
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS, Stamp
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.storage import mcap_log
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.contract_file import LoadedContract, loads
from boundary_env_ros.storage.episode_index import EpisodeIndex
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC, ChainCheck, RecordChain
from boundary_env_ros.storage.records import ContractDescription
from boundary_env_ros.storage.recovery import recover
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.signing import public_key, signer
from support.bag_forging import Forge
from support.bag_maker import drive, make_tape, record_of, Sent, Tape, wire, write_to
from support.chained_bags import raw, record, write
from support.record_maker import Bench

YEAR = 365 * 86_400 * NANOSECONDS


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=5)


@pytest.fixture
def forge(tape: Tape, contract: Contract, task: Task) -> Forge:
    """Return it to be forged."""
    return Forge(list(tape), contract, task)


@pytest.fixture(scope='module')
def bag(tape: Tape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an honest bag."""
    return record(tmp_path_factory.mktemp('honest') / 'bag', tape)


def forged(bag: Path, folder: Path, tape: Tape, *, later: int = 0) -> AuditReport:
    """Put other messages between the links of an honest bag, and audit that."""
    with McapLog(folder / 'new') as log:
        for _ in write_to(log, tape):
            pass
    links = [(c, t + later, p, d) for c, t, p, d in raw(bag) if c.topic == CHAIN_TOPIC]
    messages = [*raw(folder / 'new'), *links]
    messages.sort(key=lambda m: (m[1], m[0].topic == CHAIN_TOPIC))
    return audit_path(write(folder / 'bag', messages))


# Honest bags -------------------------------------------------------------------------------------


def test_chain_confirms_every_message_of_an_honest_bag(bag: Path, tape: Tape) -> None:
    report = audit_path(bag)
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'
    assert report.chain['messages'] == report.chain['confirmed'] == len(tape)
    assert f'Chain: {len(tape)} of {len(tape)} messages confirmed, head ' in str(report)


@pytest.mark.parametrize(
    'options',
    [{'compress': False}, {'split_size': 100_000}, {'chunk_size': 5000}],
    ids=['uncompressed', 'split', 'small chunks'],
)
def test_bag_that_is_stored_anew_keeps_its_chain(
    bag: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    report = audit_path(write(tmp_path / 'bag', raw(bag), **options))
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


def test_bag_that_is_sorted_by_time_keeps_its_chain(bag: Path, tmp_path: Path) -> None:
    messages = sorted(raw(bag), key=lambda m: (m[1], m[0].topic == CHAIN_TOPIC, m[0].topic))
    report = audit_path(write(tmp_path / 'bag', messages))
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


def test_bag_that_was_split_while_it_was_recorded_is_supported_whole_and_incomplete_in_part(
    tape: Tape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcap_log, 'INTERVAL', 0.0)
    with McapLog(tmp_path / 'bag', split_size=100_000, chain=RecordChain()) as log:
        for number, sent in enumerate(write_to(log, tape)):
            if sent.topic == '/boundary/contract':
                log.keep(sent.topic, '/environment', wire(sent), sent.publish_time)
            if number % 100 == 99:
                log.flush()
    assert log.files > 2
    whole, last = audit_path(tmp_path / 'bag'), audit_path(log.path)
    assert whole.outcome is AuditOutcome.SUPPORTED, f'\n{whole}'
    assert 'record-unchanged' not in last.counts, f'\n{last}'
    assert 'the beginning of the bag' in str(last)


def test_bag_without_a_chain_is_not_supported(bag: Path, tmp_path: Path) -> None:
    report = audit_path(
        write(tmp_path / 'bag', [m for m in raw(bag) if m[0].topic != CHAIN_TOPIC])
    )
    assert report.outcome is AuditOutcome.CONSISTENT
    assert report.not_applied == ('record-unchanged',)
    assert report.chain == {}


# What was cut ------------------------------------------------------------------------------------


def test_topic_that_was_taken_out_leaves_the_record_incomplete(bag: Path, tmp_path: Path) -> None:
    messages = [m for m in raw(bag) if m[0].topic != '/camera/image_raw']
    report = audit_path(write(tmp_path / 'bag', messages))
    assert report.outcome is not AuditOutcome.SUPPORTED
    assert any('/camera/image_raw' in f.text for f in report.findings if f.rule == 'record-closed')


def test_link_that_was_taken_out_is_named(bag: Path, tmp_path: Path) -> None:
    messages = raw(bag)
    links = [m for m in messages if m[0].topic == CHAIN_TOPIC]
    report = audit_path(write(tmp_path / 'bag', [m for m in messages if m is not links[1]]))
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert [f.rule for f in report.findings] == ['record-unchanged']


def test_record_that_was_cut_after_an_episode_is_incomplete(
    bag: Path, forge: Forge, tmp_path: Path
) -> None:
    end = max(s.closed.ros.nanoseconds for s in forge.steps if s.terminated or s.truncated)
    second = sorted(s.closed.ros.nanoseconds for s in forge.steps if s.ending)[1]
    assert second < end
    messages = [m for m in raw(bag) if m[1] <= second + NANOSECONDS // 10]
    report = audit_path(write(tmp_path / 'bag', messages))
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert 'the last link' in str(report)


def test_record_cut_after_episode_4_of_6_with_the_index_of_6_beside_it_is_contradicted(
    loaded: LoadedContract, task: Task, tmp_path: Path
) -> None:
    bench = Bench(loaded.contract, loaded.digest, task, 7)
    for _ in range(2):
        drive(bench)
    messages = raw(record(tmp_path / 'bag', record_of(bench, loaded)))
    index = EpisodeIndex()
    for sent in bench.sent:
        if isinstance(sent.what, Transition):
            index.add_step(sent.what, now=sent.log_time)
    endings = [
        sent.log_time
        for sent in bench.sent
        if isinstance(sent.what, Transition) and sent.what.ending
    ]
    assert len(endings) == len(index.rows) == 6
    kept = [m for m in messages if m[1] <= sorted(endings)[3] + NANOSECONDS // 10]
    # Cut, and cut but for the last link of the chain.
    for rule, forged_messages in (
        ('record-closed', kept),
        ('record-unchanged', [*kept, messages[-1]]),
    ):
        run = RunFolder(tmp_path / rule)
        run.path.mkdir()
        run.contract.write_text(loaded.text)
        with EpisodeStore.create(run.episodes, index.rows.values()):
            pass
        write(run.bag, forged_messages)
        report = audit_path(run.path)
        assert report.outcome is AuditOutcome.CONTRADICTED
        assert report.counts['index-agrees'] == 2
        assert rule in report.counts, f'\n{report}'


def test_record_that_was_cut_is_contradicted_by_its_last_link(bag: Path, tmp_path: Path) -> None:
    messages = raw(bag)
    report = audit_path(write(tmp_path / 'bag', [*messages[: len(messages) // 2], messages[-1]]))
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert 'record-unchanged' in report.counts


def test_recovered_bag_lacks_what_was_damaged_and_its_chain_says_how_much(
    bag: Path, tmp_path: Path
) -> None:
    write(tmp_path / 'bag', raw(bag), chunk_size=20_000)
    file = tmp_path / 'bag' / 'bag_0.mcap'
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 2 // 3])
    recovery = recover(tmp_path / 'bag')
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert 0 < report.chain['confirmed'] <= report.chain['messages']
    assert any('chain' in done for done in (*recovery.done, *recovery.lost)), recovery


# Forgeries that fit ------------------------------------------------------------------------------


def dropped_episode(forge: Forge) -> None:
    # The second episode never was; decisions are numbered anew.
    episode = forge.steps[len(forge.steps) // 2].id.episode_id
    gone = [d.sequence for d in forge.decisions if d.id.episode_id == episode]
    times = [s.log_time for s in forge.tape if _episode_of(s.what) == episode]

    def number(value: Any) -> Any:
        if isinstance(value, GateDecision):
            behind = sum(value.sequence > sequence for sequence in gone)
            return replace(value, sequence=value.sequence - behind) if behind else value
        return value

    forge.tape = [s for s in forge.tape if not min(times) <= s.log_time <= max(times)]
    forge.everywhere(number)


def _episode_of(what: object) -> str:
    step = getattr(what, 'id', None)
    return step.episode_id if isinstance(step, StepId) else ''


def stamps_of_last_year(forge: Forge) -> None:
    # Everything happened a year later.
    forge.everywhere(
        lambda v: replace(v, nanoseconds=v.nanoseconds + YEAR) if isinstance(v, Stamp) else v
    )

    def moved(sent: Sent) -> Sent:
        what = sent.what
        if isinstance(what, dict) and 'header' in what:
            stamp = what['header']['stamp']
            stamp = {**stamp, 'sec': stamp['sec'] + YEAR // NANOSECONDS}
            what = {**what, 'header': {**what['header'], 'stamp': stamp}}
        return Sent(sent.topic, sent.log_time + YEAR, sent.publish_time + YEAR, what, sent.type)

    forge.tape = [moved(sent) for sent in forge.tape]


def other_policy(forge: Forge) -> None:
    # Another version of the policy drove.
    _renamed(forge, 'client_version')


def other_software(forge: Forge) -> None:
    # Another version of the software ran.
    _renamed(forge, 'software_version')


def _renamed(forge: Forge, name: str) -> None:
    def change(value: Any) -> Any:
        if isinstance(getattr(value, name, None), str):
            return replace(value, **{name: 'another'})
        return value

    forge.everywhere(change)


def other_contract(forge: Forge) -> None:
    # Another contract was in force: one that allows more, in every record.
    described = next(s.what for s in forge.tape if isinstance(s.what, ContractDescription))
    text = described.text.replace('max_action_age: ', 'max_action_age: 1', 1)
    digest = loads(text, source='forged').digest
    assert digest != described.digest

    def change(value: Any) -> Any:
        if isinstance(value, ContractDescription):
            return replace(value, digest=digest, text=text)
        return replace(value, digest=digest) if isinstance(value, StepId) else value

    forge.everywhere(change)


def other_host(forge: Forge) -> None:
    # All of it was recorded on another machine.
    forge.everywhere(
        lambda v: replace(v, host='another') if isinstance(v, Stamp) and v.host else v
    )


FORGERIES = (
    dropped_episode,
    stamps_of_last_year,
    other_policy,
    other_software,
    other_contract,
    other_host,
)


@pytest.mark.parametrize('forgery', FORGERIES, ids=lambda forgery: forgery.__name__)
def test_forgery_that_fits_breaks_the_chain(
    forgery: Callable[[Forge], None], forge: Forge, bag: Path, tmp_path: Path
) -> None:
    before = forge.tape[0].log_time
    forgery(forge)
    report = forged(bag, tmp_path, forge.tape, later=forge.tape[0].log_time - before)
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert 'record-unchanged' in report.counts, f'\n{report}'


def test_definition_with_fields_in_another_order_breaks_the_chain(
    bag: Path, tmp_path: Path
) -> None:
    def swapped(channel: Channel) -> Channel:
        text = channel.definition.decode()
        if channel.type.endswith('/GateDecision'):
            text = re.sub(r'(float64\[\] )(admitted_action|command)\b', _swap, text)
        return replace(channel, definition=text.encode())

    messages = [(swapped(channel), *rest) for channel, *rest in raw(bag)]
    report = audit_path(write(tmp_path / 'bag', messages))  # type: ignore[arg-type]
    assert 'record-unchanged' in report.counts, f'\n{report}'


def of_another_type(channel: Channel) -> Channel:
    """Hide messages: their bytes and times stay, but nobody reads them."""
    return replace(channel, type='boundary_env_ros/msg/Nothing')


def of_another_definition(channel: Channel) -> Channel:
    """Read another thing out of the same bytes."""
    return replace(channel, definition=channel.definition + b'\nbool[0] last\n')


@pytest.mark.parametrize('other', [of_another_type, of_another_definition])
@pytest.mark.parametrize('topic', ['/emergency_stop', '/boundary/transition'])
def test_second_channel_of_a_topic_with_another_definition_breaks_the_chain(
    topic: str, other: Callable[[Channel], Channel], bag: Path
) -> None:
    honest, forged, seen = ChainCheck(), ChainCheck(), False
    for number, (channel, *message) in enumerate(raw(bag)):
        honest.add(replace(channel, metadata={'number': str(number)}), *message)
        forged.add(other(channel) if seen and channel.topic == topic else channel, *message)
        seen = seen or channel.topic == topic
    assert not honest.breaks
    assert {found.topic for found in forged.breaks} == {topic}


def test_episodes_that_only_the_last_link_has_are_named(tape: Tape, tmp_path: Path) -> None:
    chain = RecordChain()
    chain.episodes = 3
    assert audit_path(record(tmp_path / 'three', tape, chain)).outcome is AuditOutcome.SUPPORTED
    chain = RecordChain()
    chain.episodes = 4
    report = audit_path(record(tmp_path / 'four', tape, chain))
    assert set(report.counts) == {'record-unchanged'}, f'\n{report}'
    assert '4 episodes' in str(report)


def _swap(match: re.Match[str]) -> str:
    return match[1] + {'admitted_action': 'command', 'command': 'admitted_action'}[match[2]]


# Whoever makes the whole chain anew --------------------------------------------------------------


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """Return files with a private key and its public one."""
    pytest.importorskip('cryptography')
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / 'key.pem', tmp_path / 'key.pub.pem'
    private.write_bytes(
        key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def test_head_that_was_kept_elsewhere_tells_a_chain_that_was_made_anew(
    bag: Path, forge: Forge, tmp_path: Path
) -> None:
    head = str(audit_path(bag).chain['head'])
    other_software(forge)
    new = record(tmp_path / 'bag', forge.tape)
    assert audit_path(new).outcome is AuditOutcome.SUPPORTED  # Nothing in the bag can tell.
    assert set(audit_path(new, head=head).counts) == {'record-unchanged'}
    assert audit_path(bag, head=head.upper()).outcome is AuditOutcome.SUPPORTED


def test_signature_tells_whose_record_it_is(
    keys: tuple[Path, Path], tape: Tape, bag: Path, tmp_path: Path
) -> None:
    private, public = keys
    signed = record(tmp_path / 'bag', tape, RecordChain(signer(private)))
    report = audit_path(signed, key=public_key(public))
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'
    assert f'signed with the key {public_key(public).hex()}' in str(report)
    for path in bag, signed:
        other = audit_path(path, key=bytes(32))
        assert set(other.counts) == {'record-unchanged'}, f'\n{other}'
    assert main(['audit', str(signed), '--key', str(public)]) == 0
    assert main(['audit', str(bag), '--key', str(public)]) == 1


def test_signature_of_another_head_is_named(
    keys: tuple[Path, Path], tape: Tape, tmp_path: Path
) -> None:
    sign = signer(keys[0])
    signed = record(tmp_path / 'bag', tape, RecordChain(lambda head: sign(bytes(32))))
    assert set(audit_path(signed).counts) == {'record-unchanged'}


@pytest.mark.parametrize('text', [b'', b'no key', b'-----BEGIN PRIVATE KEY-----\n'])
def test_file_without_a_key_is_refused(text: bytes, tmp_path: Path) -> None:
    pytest.importorskip('cryptography')
    (tmp_path / 'key.pem').write_bytes(text)
    for load in signer, public_key:
        with pytest.raises(RecordError, match=r'key.pem holds no key \(expected a p'):
            load(tmp_path / 'key.pem')
