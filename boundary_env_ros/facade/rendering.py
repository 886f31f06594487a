# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment shows of its last step: a camera image, a drawn view, a block of text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
import math
import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.observation import ObservationField
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError, MissingDependency
from boundary_env_ros.facade.info import reasons_of

Array = npt.NDArray[Any]
#: The source that is drawn, as in ``Render.srv``.
VIEW = 'view'
#: Pixels of the drawn view. The left square is the plan, if the contract has a pose in the plane.
HEIGHT, WIDTH = 480, 960
_MARGIN = 26
_POSE, _POINT = ('m', 'm', 'rad'), ('m', 'm')
_PAPER, _INK, _LINE, _ROBOT, _GOAL = '#ffffff', '#1f2933', '#dfe3e8', '#1d6fd8', '#2e9e5b'
_VERDICTS = {
    Verdict.ADMITTED: '#2e9e5b',
    Verdict.LIMITED: '#d97a06',
    Verdict.HELD: '#7a5bc7',
    Verdict.STOPPED: '#c8323b',
    Verdict.REJECTED: '#c8323b',
}
#: Values of a field that are written out; of more, the least and the greatest.
_WRITTEN = 8


def source_of(contract: Contract, wanted: str) -> str:
    """
    Return what a picture is of: the wanted image field or ``'view'``, else the first there is.

    Raises
    ------
    BoundaryError
        If there is no such image field.
    MissingDependency
        If the view is to be drawn, and Pillow is not installed.

    """
    cameras = [spec.name for spec in contract.observation if spec.is_image]
    chosen = wanted or next(iter(cameras), VIEW)
    if chosen not in (*cameras, VIEW):
        raise BoundaryError(
            f'Unknown render_source (expected {", ".join([*cameras, VIEW])}, got {wanted!r}).'
        )
    if chosen == VIEW:
        _pillow()
    return chosen


def picture_of(
    contract: Contract, source: str, transition: Transition, images: Mapping[str, Array]
) -> Array:
    """
    Return the picture after a step, shape (height, width, 3), RGB, uint8.

    Parameters
    ----------
    contract, transition
        The contract and the step.
    source
        As :func:`source_of` returns it.
    images
        The newest image of each image field.

    Raises
    ------
    BoundaryError
        If no image of the camera has come yet.

    """
    if source == VIEW:
        return view(contract, transition)
    if source not in images:
        raise BoundaryError(f'No image of {source!r} has come that could be rendered.')
    spec = next(spec for spec in contract.observation if spec.name == source)
    return as_rgb(spec, images[source])


def view(contract: Contract, transition: Transition) -> npt.NDArray[np.uint8]:
    """
    Return a drawn picture of a step, shape (480, 960, 3), RGB, uint8.

    A contract with a field in (m, m, rad) gets a plan with that pose and the fields in (m, m) of
    its frame; beside it stands the step as text, under the colour of its verdict. It shows what
    the policy is shown, and no privileged field.

    Raises
    ------
    MissingDependency
        If Pillow is not installed.

    """
    image, draw, fonts = _pillow()
    picture = image.new('RGB', (WIDTH, HEIGHT), _PAPER)
    page = draw.Draw(picture)
    pose = next((spec for spec in contract.observation if spec.unit == _POSE), None)
    if pose is not None:
        _draw_plan(page, contract, pose, {f.name: f.values for f in transition.after if f.values})
    left = 0 if pose is None else HEIGHT
    if transition.verdict is not None:
        page.rectangle((left, 70, WIDTH, 92), fill=_VERDICTS[transition.verdict])
    head, *lines = as_text(contract, transition).splitlines()
    font = fonts.load_default(12)
    page.text((left + 12, 30), head, fill=_INK, font=fonts.load_default(15))
    text = '\n'.join(textwrap.fill(line, 80, subsequent_indent=' ' * 12) for line in lines)
    page.multiline_text((left + 12, 105), text, fill=_INK, font=font)
    return np.array(picture, dtype=np.uint8)


def _pillow() -> tuple[Any, Any, Any]:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise MissingDependency(
            f'A drawn view needs Pillow: {error}. Install it with `pip install Pillow pygame`.'
        ) from error
    return PIL.Image, PIL.ImageDraw, PIL.ImageFont


def _draw_plan(page: Any, contract: Contract, pose: FieldSpec, values: dict[str, Vector]) -> None:
    (left, bottom), (right, top) = pose.low[:2], pose.high[:2]
    scale = (HEIGHT - 2 * _MARGIN) / max(right - left, top - bottom)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            HEIGHT / 2 + (x - (left + right) / 2.0) * scale,
            HEIGHT / 2 - (y - (bottom + top) / 2.0) * scale,
        )

    page.rectangle((*at(left, top), *at(right, bottom)), outline=_LINE, width=2)
    for spec in contract.observation:
        if spec.unit == _POINT and spec.frame == pose.frame and spec.name in values:
            page.ellipse(_around(at(*values[spec.name]), 9), outline=_GOAL, width=3)
            page.ellipse(_around(at(*values[spec.name]), 2), fill=_GOAL)
    if pose.name in values:
        x, y, yaw = values[pose.name]
        middle = at(x, y)
        tip = (middle[0] + 20 * math.cos(yaw), middle[1] - 20 * math.sin(yaw))
        page.ellipse(_around(middle, 9), fill=_ROBOT)
        page.line([middle, tip], fill=_ROBOT, width=4)


def _around(middle: tuple[float, float], radius: float) -> tuple[float, ...]:
    return (middle[0] - radius, middle[1] - radius, middle[0] + radius, middle[1] + radius)


def as_text(contract: Contract, transition: Transition) -> str:
    """
    Return a step as a block of text.

    What the policy was shown, what it asked for, what the gate made of it and why, what the robot
    did, and what that was worth.
    """
    step = transition.id.step
    clock = f'{step * contract.period:.2f} s of {contract.episode.time_limit:g} s'
    lines = [f'{contract.name} {contract.version}   step {step}   {clock}']
    fields = {field.name: field for field in transition.after}
    width = max(len(name) for name in (*fields, 'requested', 'commanded'))
    for spec in contract.observation:
        lines.append(f'  {spec.name:{width}}  {_field(spec, fields[spec.name])}')
    if step:
        units = _units(contract.command_unit)
        for name in ('requested', 'admitted', 'commanded', 'measured'):
            values: Vector = getattr(transition, f'{name}_action')
            unit = units if values and name in ('commanded', 'measured') else ''
            lines.append(f'  {name:{width}}  {_numbers(values)} {unit}'.rstrip())
        verdict = transition.verdict.name if transition.verdict else 'none: no action in time'
        lines.append(f'  {"verdict":{width}}  {verdict}')
        lines += [f'  {"":{width}}  {reason}' for reason in reasons_of(contract, transition)]
        terms = ' '.join(f'{term.name} {term.value:+.4g}' for term in transition.reward_terms)
        lines.append(f'  {"reward":{width}}  {transition.reward:+.4g}   {terms}'.rstrip())
    if transition.ending:
        flag = 'terminated' if transition.terminated else 'truncated'
        lines.append(
            f'  {"ending":{width}}  {transition.ending} ({flag}), declared by '
            f'{transition.declared_by}'
        )
    return '\n'.join(lines)


def _field(spec: FieldSpec, field: ObservationField) -> str:
    state = field.status.name
    if field.age is not None:
        state += f', {field.age:.3f} s old'
    if spec.is_image:
        return f'image {"x".join(map(str, spec.shape))}   {state}'
    return f'{_numbers(field.values)} {_units(spec.unit)}'.rstrip() + f'   {state}'


def _units(units: tuple[str, ...]) -> str:
    """Return units in order, each once for all values in a row that have it."""
    return ', '.join(unit for unit, _ in groupby(units))


def _numbers(values: Vector) -> str:
    if not values:
        return '-'
    if len(values) <= _WRITTEN:
        return ' '.join(f'{value:.3f}' for value in values)
    return f'{len(values)} values, {min(values):.3f} to {max(values):.3f}'
