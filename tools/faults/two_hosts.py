# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces as two hosts, with a cable between them that can be made to fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack, suppress
import ctypes
import fcntl
import os
from pathlib import Path
import shutil
import socket
import struct
import subprocess
import sys
import time

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914  # linux/sockios.h
_IFF_MULTICAST = 0x1000  # linux/if.h; Cyclone DDS uses no multicast where it is not set
_SUBNET = '10.213.7'
_GROUP = '239.255.0.1', 7000


def why_not() -> str:
    """Return why this machine cannot have two hosts; empty if it can."""
    if shutil.which('ip') is None:
        return 'there is no `ip` (Debian: apt-get install iproute2)'
    if not Path('/dev/net/tun').exists():
        return 'there is no /dev/net/tun'
    name = f'boundary-try-{os.getpid()}'
    tried = subprocess.run(
        ['ip', 'netns', 'add', name], check=False, capture_output=True, text=True
    )
    if tried.returncode:
        return f'`ip netns add` is not allowed ({tried.stderr.strip().splitlines()[-1]})'
    subprocess.run(['ip', 'netns', 'delete', name], check=True)
    return ''


class TwoHosts:
    """
    The hosts ``a`` and ``b``; to be entered before anything is started on one of them.

    Attributes
    ----------
    spaces
        The network namespace of each, by host.

    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.spaces = {host: f'boundary-{os.getpid()}-{host}' for host in 'ab'}
        # An interface's name has at most 15 characters.
        self._ends = {host: f'bnd{os.getpid() % 10**9}{host}' for host in 'ab'}

    def __enter__(self) -> TwoHosts:
        with self._stack:
            for space in self.spaces.values():
                _ip('netns', 'add', space)
                self._stack.callback(_ip, 'netns', 'delete', space)
            self._cable = subprocess.Popen(
                [sys.executable, str(HERE / 'fault_cable.py'), *self._ends.values()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            self._stack.callback(self._take_away)
            self._answer()
            for number, (host, space) in enumerate(self.spaces.items(), start=1):
                end = self._ends[host]
                _ip('link', 'set', end, 'netns', space)
                _ip('-n', space, 'link', 'set', 'lo', 'up')
                _ip('-n', space, 'address', 'add', f'{_SUBNET}.{number}/24', 'dev', end)
                self._up(host)
            # Who starts before the cable carries multicast is never found.
            self._wait_until_it_carries()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _take_away(self) -> None:
        assert self._cable.stdin is not None
        assert self._cable.stdout is not None
        self._cable.stdin.close()
        self._cable.wait()
        self._cable.stdout.close()

    def _answer(self) -> int:
        assert self._cable.stdout is not None
        return int(self._cable.stdout.readline())

    @contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """Let this thread, and what it starts, live on a host."""
        with Path('/proc/thread-self/ns/net').open('rb') as home:
            with Path(f'/run/netns/{self.spaces[host]}').open('rb') as space:
                _enter(space.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())

    def _wait_until_it_carries(self) -> None:
        deadline = time.monotonic() + 10.0
        for sender, receiver in ('ab', 'ba'):
            with self.inside(receiver):
                ear = _udp()
                ear.bind(('', _GROUP[1]))
                ear.setsockopt(
                    socket.IPPROTO_IP,
                    socket.IP_ADD_MEMBERSHIP,
                    socket.inet_aton(_GROUP[0]) + socket.inet_aton('0.0.0.0'),
                )
                ear.settimeout(0.1)
            with self.inside(sender):
                mouth = _udp()
            with ear, mouth:
                heard = False
                while not heard:
                    assert time.monotonic() < deadline, 'Expect a cable that carries: it does not.'
                    with suppress(OSError):  # not yet
                        mouth.sendto(b'there?', _GROUP)
                        heard = bool(ear.recv(16))

    # Faults --------------------------------------------------------------------------------------

    def cable(self, what: str) -> int:
        """Say what the cable does from now on; return the steady clock when it did, ns."""
        assert self._cable.stdin is not None
        self._cable.stdin.write(f'{what}\n')
        self._cable.stdin.flush()
        return self._answer()

    def down(self, host: str) -> int:
        """Take the link of a host down; return the steady clock just before, ns."""
        request = struct.pack('16sH14x', self._ends[host].encode(), _IFF_MULTICAST)
        with self.inside(host), _udp() as control:
            # Not by `ip`: what that takes to start would count as time after the fault.
            before = time.monotonic_ns()
            fcntl.ioctl(control, _SIOCSIFFLAGS, request)
        return before

    def heal(self) -> None:
        """Bring up every link, and let the cable be good."""
        self.cable('good')
        for host in self.spaces:
            self._up(host)

    def _up(self, host: str) -> None:
        space, end = self.spaces[host], self._ends[host]
        _ip('-n', space, 'link', 'set', end, 'up')
        # It goes with the link; without it the nodes would not find each other.
        _ip('-n', space, 'route', 'replace', '224.0.0.0/4', 'dev', end)


def _udp() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def _ip(*arguments: str) -> None:
    subprocess.run(['ip', *arguments], check=True)


def _enter(space: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(space, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'setns')
