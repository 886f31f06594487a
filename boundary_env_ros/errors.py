# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every error that this package raises on purpose.

A message says *problem (expected X, got Y); fix*: where it is wrong, what was expected, what came,
and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

from boundary_env_ros.frozen import frozen

#: What code that was not written for it raises at wrong input.
WRONG_INPUT = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class BoundaryError(Exception):
    """Raised when the boundary was used against its contract; the base of all the others."""


class ResultCode(IntEnum):
    """How an error travels in an answer of a service; the values are those of ``Result.msg``."""

    OK = 0
    INVALID_ACTION = 1
    NOT_RESET = 2
    EPISODE_ENDED = 3
    RESET_FAILED = 4
    SIMULATION_FAILED = 5
    ROBOT_LOST = 6
    GATE_LOST = 7
    ENVIRONMENT_LOST = 8
    TIMEOUT = 9
    DIGEST_MISMATCH = 10
    LEASE_HELD = 11
    NOT_ACTIVE = 12
    UNKNOWN_AGENT = 13
    UNKNOWN_EPISODE = 14
    EMERGENCY_STOPPED = 15
    INVALID_ARGUMENT = 16
    UNSUPPORTED = 17
    NOT_PROBED = 18
    PROBING = 19
    SENSOR_MISSING = 20
    NOT_AUTHENTIC = 21


def mismatch(expected: str, got: str, fix: str = '') -> str:
    """
    Return what is wrong at a place, as every error says it.

    Parameters
    ----------
    expected
        What belongs there; empty if `got` says by itself what is wrong.
    got
        What was found; ``nothing`` is told as missing, and empty is not told.
    fix
        One or more sentences on what to do; empty if the expectation says it already.

    """
    if not expected:
        text = got
    elif got == 'nothing':
        text = f'missing (expected {expected})'
    else:
        text = f'expected {expected}{got and ", got "}{got}'
    return f'{text}.{fix and " "}{fix}'


@frozen
class Problem:
    """
    One thing that is wrong in a contract.

    Attributes
    ----------
    path
        Keys that lead to it, for example ``('action', 'base', 'low')``.
    line
        Line in the file, counted from 1; None if there is no file.
    expected
        What the contract language asks for there; empty if `actual` says what is wrong.
    actual
        What was found.
    hint
        What to do; empty if the expectation says it already.

    """

    path: tuple[str | int, ...]
    line: int | None
    expected: str
    actual: str
    hint: str = ''

    def __str__(self) -> str:
        where = '.'.join(str(part) for part in self.path) or '(top level)'
        at = f' (line {self.line})' if self.line is not None else ''
        return f'{where}{at}: {mismatch(self.expected, self.actual, self.hint)}'


class ContractError(BoundaryError):
    """Raised when a contract is not valid; lists every problem that was found."""

    def __init__(self, problems: Sequence[Problem], source: str = 'contract') -> None:
        self.problems = tuple(problems)
        self.source = source
        count = len(self.problems)
        head = f'{source}: {count} problem{"s" if count != 1 else ""}'
        super().__init__('\n  '.join([head, *map(str, self.problems)]))


class DigestMismatch(BoundaryError):
    """Raised when two parties work with contracts of different meaning."""


class InvalidAction(BoundaryError):
    """Raised when an action cannot be a command: its shape, type, or a number not finite."""


class ResetNeeded(BoundaryError):
    """Raised when a step is asked for before the first reset."""


class EpisodeEnded(BoundaryError):
    """Raised when a step is asked for after the episode ended; call ``reset`` first."""


class InvalidState(BoundaryError):
    """Raised when a state machine is asked for a move that its state does not allow."""


class ResetFailed(BoundaryError):
    """Raised when a reset could not bring the world to the state that the task sampled."""


class TaskFailed(BoundaryError):
    """Raised when a task raised something, or returned what its protocol does not allow."""


class SimulationFailed(BoundaryError):
    """Raised when the simulation of the robot cannot go on."""


class RecordError(BoundaryError):
    """Raised when a record is not what it claims to be, or a place to write is taken."""


class OfAnother(RecordError):
    """Raised when a message is of another publisher of its topic, and has nothing of a source."""


class PolicyFailed(BoundaryError):
    """Raised when a policy raised something, gave no action, or did not answer in time."""


class PolicyLost(PolicyFailed):
    """Raised when a policy cannot answer in this episode, but may in the next."""


class LinkError(BoundaryError):
    """Raised when the link between the policy and its world does not work."""


class LinkTimeout(LinkError):
    """Raised when a wait came to its deadline; the message names what is missing."""


class PeerLost(LinkError):
    """
    Raised when a process that an episode depends on went silent; the message names it.

    Parameters
    ----------
    message
        Which, and since when.
    code
        What it travels as: ``ENVIRONMENT_LOST``, ``GATE_LOST`` or ``ROBOT_LOST``.

    """

    def __init__(self, message: str, code: ResultCode = ResultCode.ENVIRONMENT_LOST) -> None:
        super().__init__(message)
        self.code = code


class RequestRejected(LinkError):
    """
    Raised when another party answers with a refusal; the message says which and why.

    Parameters
    ----------
    message
        What was expected, what came, and the way out.
    code
        What the refusal travels as.

    """

    def __init__(self, message: str, code: ResultCode = ResultCode.INVALID_ARGUMENT) -> None:
        super().__init__(message)
        self.code = code


class StaleBuild(BoundaryError, AttributeError):
    """Raised when the built messages are older than the sources of the package."""


class MissingDependency(BoundaryError, ImportError):
    """Raised when something needs an optional package; the message says how to install it."""


@contextmanager
def needed(what: str, command: str) -> Iterator[None]:
    """Say of an import that fails what needs it, and with which command it is installed."""
    try:
        yield
    except ImportError as error:
        raise MissingDependency(f'{what}: {error}. Install it with `{command}`.') from error


#: How ROS comes in. A second installation alone changes nothing where the first one left out the
#: package's own messages.
INSTALL_ROS = (
    'Source the ROS 2 workspace that the package was built in, or install it with its messages, '
    'in its source folder: '
    "`BOUNDARY_ENV_ROS_INTERFACES=on pip install --force-reinstall '.[ros,sim]'`"
)


#: Errors that come out of an answer as they went in, and what they travel as.
_TYPED: dict[type[BoundaryError], ResultCode] = {
    InvalidAction: ResultCode.INVALID_ACTION,
    ResetNeeded: ResultCode.NOT_RESET,
    EpisodeEnded: ResultCode.EPISODE_ENDED,
    ResetFailed: ResultCode.RESET_FAILED,
    SimulationFailed: ResultCode.SIMULATION_FAILED,
    LinkTimeout: ResultCode.TIMEOUT,
    DigestMismatch: ResultCode.DIGEST_MISMATCH,
}

#: What the others travel as, the narrower first; they come out as a refusal.
_OTHERS: dict[type[BoundaryError], ResultCode] = {
    MissingDependency: ResultCode.UNSUPPORTED,
    # The link itself is closed.
    LinkError: ResultCode.NOT_ACTIVE,
    BoundaryError: ResultCode.INVALID_ARGUMENT,
}

_LOST = (ResultCode.ROBOT_LOST, ResultCode.GATE_LOST, ResultCode.ENVIRONMENT_LOST)


def code_of(error: BoundaryError) -> ResultCode:
    """Return what an error travels as in an answer of a service."""
    if isinstance(error, (PeerLost, RequestRejected)):
        return error.code
    return next(code for kind, code in (_TYPED | _OTHERS).items() if isinstance(error, kind))


def error_of(code: int, message: str) -> BoundaryError:
    """Return the error that an answer other than ``OK`` stands for, one that is new here too."""
    try:
        known = ResultCode(code)
    except ValueError:
        return RequestRejected(f'{message} (code {code}, which this version does not know)')
    if known in _LOST:
        return PeerLost(message, known)
    typed = next((kind for kind, travels_as in _TYPED.items() if travels_as is known), None)
    return RequestRejected(message, known) if typed is None else typed(message)
