# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Workspaces that the action cannot keep: commands that are no speeds, or not lowered in time."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract import Contract, Interface
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.safety import Moves, Workspace


def report_workspaces(contract: Contract, top: Reader) -> None:
    """Ask that a place is moved by speeds that can be brought to rest with its ``braking``."""
    if any(problem.path[:1] == ('action',) for problem in top.problems):
        return  # nobody knows what the dimensions are
    for place in contract.safety.workspaces:
        path = ('safety', 'workspace', place.name)
        if any(problem.path[: len(path)] == path for problem in top.problems):
            continue
        _units(contract, place, top)
        for braking, dimension in zip(place.braking, place.moved_by, strict=True):
            _braking(contract, place, dimension, braking, top)
            _safe(contract, place, dimension, top)


def _units(contract: Contract, place: Workspace, top: Reader) -> None:
    path = ('safety', 'workspace', place.name)
    if place.moves is Moves.BODY:
        if place.unit[0] != place.unit[1] or place.unit[2] != 'rad':
            top.problem((*path, 'unit'), 'one unit for x and y, and rad', list(place.unit))
        units = [place.unit[0]] * len(place.dimensions)
        if place.turn is not None:
            units.append('rad')
    else:
        units = list(place.unit)
        if (place.polygon or place.keep_out) and units[0] != units[1]:
            top.problem((*path, 'unit'), 'one unit for x and y, for an area', units[:2])
    interface = [one for group in contract.action for one in group.interface]
    for dimension, unit in zip(place.moved_by, units, strict=True):
        actual = contract.command_unit[dimension]
        if interface[dimension] is not Interface.VELOCITY and actual == f'{unit}/s':
            top.problem(
                (*path, 'turn' if dimension == place.turn else 'dimensions'),
                'a velocity',
                said(f'{dimension}, which is {interface[dimension].value}'),
            )
            return
        if actual != f'{unit}/s':
            top.problem(
                (*path, 'turn' if dimension == place.turn else 'dimensions'),
                f'a dimension of the command in {unit}/s, the speed of what is measured in {unit}',
                said(f'{dimension}, in {actual}'),
                '' if actual != unit else 'A command of positions is kept inside by its bounds.',
            )
            return


def _braking(
    contract: Contract, place: Workspace, dimension: int, braking: float, top: Reader
) -> None:
    """Ask for commands that are lowered as fast as the robot is said to slow down."""
    for name in ('rate', 'stop'):
        most = contract.flat(name)[dimension]
        if braking > most:
            top.problem(
                ('safety', 'workspace', place.name, 'braking'),
                f'not more than `{name}` ({most:g}) of dimension {dimension}',
                braking,
                'The command could not be lowered in time.',
            )


def _safe(contract: Contract, place: Workspace, dimension: int, top: Reader) -> None:
    safe = contract.flat('safe')[dimension]
    if safe != 0.0:
        top.problem(
            (
                'safety',
                'workspace',
                place.name,
                'turn' if dimension == place.turn else 'dimensions',
            ),
            'a dimension whose `safe` is 0, so that to stop is to stand still',
            said(f'{dimension}, where it is {"hold" if math.isnan(safe) else f"{safe:g}"}'),
        )
