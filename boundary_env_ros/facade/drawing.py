# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A drawn view of a step, for contracts without a camera: where the robot is, what it was told.

It shows what the policy is shown, and no privileged field.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import ActionKind, Contract, FieldSpec
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import MissingDependency

Picture = npt.NDArray[np.uint8]
Point = tuple[float, float]

#: Pixels of the picture. The left square is the plan, or the fields; the rest is the panel.
HEIGHT, WIDTH = 480, 760

_POSE, _POINT = ('m', 'm', 'rad'), ('m', 'm')
#: Drawn larger and then made smaller, which smooths the edges.
_SCALE = 2
_MARGIN = 26

_PAPER, _CARD, _INK, _DIM, _LINE = '#eef0f3', '#ffffff', '#1f2933', '#7b8794', '#dfe3e8'
_ROBOT, _TRAIL, _GOAL, _ASKED = '#1d6fd8', '#9cc3f2', '#2e9e5b', '#b0b8c1'
_VERDICTS = {
    Verdict.ADMITTED: '#2e9e5b',
    Verdict.LIMITED: '#d97a06',
    Verdict.HELD: '#7a5bc7',
    Verdict.STOPPED: '#c8323b',
    Verdict.REJECTED: '#c8323b',
}


class Drawing:
    """
    Draws the steps of one episode after the other.

    A contract with a field in (m, m, rad) gets a plan with that pose, its way so far, and the
    fields in (m, m) of the same frame; all others get a bar for each value between its bounds.

    Parameters
    ----------
    contract
        The contract.

    Raises
    ------
    MissingDependency
        If Pillow is not installed.

    """

    def __init__(self, contract: Contract) -> None:
        try:
            import PIL.Image
            import PIL.ImageDraw
            import PIL.ImageFont
        except ImportError as error:
            raise MissingDependency(
                f'A drawn view needs Pillow: {error}. Install it with `pip install Pillow pygame`.'
            ) from error
        self._image, self._draw, self._font = PIL.Image, PIL.ImageDraw, PIL.ImageFont
        self._contract = contract
        fields = [spec for spec in contract.observation if not spec.is_image]
        self._pose = next((spec for spec in fields if spec.unit == _POSE), None)
        self._points = [
            spec
            for spec in fields
            if self._pose and spec.unit == _POINT and spec.frame == self._pose.frame
        ]
        self._others = [spec for spec in fields if spec not in (self._pose, *self._points)]
        self._trail: list[Point] = []

    def restart(self) -> None:
        """Forget the way so far."""
        self._trail.clear()

    def draw(self, transition: Transition) -> Picture:
        """Return the picture after a step, shape (480, 760, 3), RGB, uint8."""
        size = (WIDTH * _SCALE, HEIGHT * _SCALE)
        picture = self._image.new('RGB', size, _PAPER)
        page = _Page(self._draw.Draw(picture), self._font)
        values = {field.name: field.values for field in transition.after if field.values}
        page.card(10, 10, HEIGHT - 10, HEIGHT - 10)
        if self._pose is None:
            page.text(_MARGIN, 22, 'observation', 13, _DIM)
            self._fields(page, values, _MARGIN, 46, HEIGHT - _MARGIN - 10, 430 / 10)
        else:
            self._plan(page, values, self._pose)
        page.card(HEIGHT, 10, WIDTH - 10, HEIGHT - 10)
        self._panel(page, transition, values)
        smaller = picture.resize((WIDTH, HEIGHT), self._image.Resampling.LANCZOS)
        found: Picture = np.array(smaller, dtype=np.uint8)
        return found

    def step(self, transition: Transition) -> None:
        """Remember where the robot is, for the way so far."""
        if self._pose is None:
            return
        name = self._pose.name
        found = next((f.values for f in transition.after if f.name == name), ())
        if found:
            self._trail.append((found[0], found[1]))

    # The plan ------------------------------------------------------------------------------------

    def _plan(self, page: _Page, values: dict[str, Vector], pose: FieldSpec) -> None:
        left, right = pose.low[0], pose.high[0]
        bottom, top = pose.low[1], pose.high[1]
        room = HEIGHT - 2 * _MARGIN
        scale = room / max(right - left, top - bottom)
        middle = HEIGHT / 2

        def at(x: float, y: float) -> Point:
            return (
                middle + (x - (left + right) / 2.0) * scale,
                middle - (y - (bottom + top) / 2.0) * scale,
            )

        grid = _round_number(max(right - left, top - bottom) / 12.0)
        for number in range(math.ceil(left / grid), math.floor(right / grid) + 1):
            page.line([at(number * grid, bottom), at(number * grid, top)], _LINE, 1)
        for number in range(math.ceil(bottom / grid), math.floor(top / grid) + 1):
            page.line([at(left, number * grid), at(right, number * grid)], _LINE, 1)
        page.line([at(left, bottom), at(right, bottom), at(right, top), at(left, top),
                   at(left, bottom)], _DIM, 1.5)  # fmt: skip
        corner = at(left, bottom)
        page.text(corner[0] + 6, corner[1] - 20, f'{pose.frame}, grid {grid:g} m', 12, _DIM)
        if len(self._trail) > 1:
            page.line([at(*point) for point in self._trail], _TRAIL, 3)
        for spec in self._points:
            if spec.name in values:
                where = at(*values[spec.name][:2])
                page.ring(where, 9, _GOAL, 2.5)
                page.ring(where, 2, _GOAL, 2)
                page.text(where[0] + 13, where[1] - 8, spec.name, 13, _GOAL)
        if pose.name in values:
            x, y, yaw = values[pose.name]
            page.arrow(at(x, y), -yaw, 13, _ROBOT)

    # The panel -----------------------------------------------------------------------------------

    def _panel(self, page: _Page, transition: Transition, values: dict[str, Vector]) -> None:
        contract, x, right, y = self._contract, HEIGHT + 14.0, WIDTH - 24.0, 20.0
        page.text(x, y, contract.name, 17, _INK)
        step = transition.id.step
        page.text(x, y + 24, f'step {step}    {step * contract.period:.1f} s', 13, _DIM)
        y += 50
        verdict = transition.verdict
        name = verdict.name if verdict else ('RESET' if step == 0 else 'NO ACTION')
        page.badge(x, y, name, _VERDICTS[verdict] if verdict else _DIM)
        page.text(x + 104, y + 3, f'reward {transition.reward:+.3f}', 13, _INK)
        y += 34
        y = self._actions(page, transition, x, y, right)
        if self._pose is not None and self._others:
            page.text(x, y, 'observation', 12, _DIM)
            room = (HEIGHT - 50 - y - 18) / len(self._others)
            self._fields(page, values, x, y + 18, right, min(60.0, max(24.0, room)))
        if transition.ending:
            colour = _GOAL if transition.terminated else _VERDICTS[Verdict.LIMITED]
            kind = 'terminated' if transition.terminated else 'truncated'
            page.badge(x, HEIGHT - 44, f'{transition.ending} ({kind})', colour)

    def _actions(
        self, page: _Page, transition: Transition, x: float, y: float, right: float
    ) -> float:
        """Draw a track for each dimension of the command: asked, sent, measured."""
        asked = transition.requested_action if self._asks_commands() else ()
        sent, measured = transition.commanded_action, transition.measured_action
        rows = [
            (name, low, high)
            for group in self._contract.action
            for name, low, high in zip(group.dimensions, group.low, group.high, strict=True)
        ]
        high_row = min(30.0, 190.0 / max(len(rows), 1))
        for index, (name, low, high) in enumerate(rows):
            row = y + index * high_row
            page.text(x, row, name, min(12, int(high_row * 0.45)), _DIM)
            track = row + high_row * 0.7
            page.line([(x, track), (right, track)], _LINE, 3)
            zero = min(max(0.0, low), high)
            start = _between(zero, low, high, x, right)
            if index < len(sent):
                page.line([(start, track), (_between(sent[index], low, high, x, right), track)],
                          _ROBOT, 4)  # fmt: skip
            if index < len(asked):
                where = _between(asked[index], low, high, x, right)
                page.ring((where, track), 4, _INK, 1.5)
            if index < len(measured):
                where = _between(measured[index], low, high, x, right)
                page.line([(where, track - 5), (where, track + 5)], _VERDICTS[Verdict.LIMITED], 2)
        y += len(rows) * high_row + 2
        page.text(x, y, 'o asked   - sent   | measured', 11, _DIM)
        return y + 24

    def _asks_commands(self) -> bool:
        """Return whether an action is a command, so that both fit on one track."""
        groups = self._contract.action
        return all(group.kind is ActionKind.CONTINUOUS for group in groups)

    def _fields(
        self,
        page: _Page,
        values: dict[str, Vector],
        x: float,
        y: float,
        right: float,
        row: float,
    ) -> None:
        """Draw each field as bars, as far as there is room."""
        for spec in self._others:
            if y + row > HEIGHT - 50:
                return
            page.text(x, y, spec.name, 12, _INK)
            found = values.get(spec.name, ())
            page.bars(x + 92, y, right, y + row - 12, _shares(spec, found))
            y += row


class _Page:
    """Draws in pixels of the finished picture."""

    def __init__(self, draw: Any, font: Any) -> None:
        self._draw, self._load = draw, font.load_default

    def text(self, x: float, y: float, text: str, size: int, colour: str) -> None:
        font = self._load(size * _SCALE)
        self._draw.text((x * _SCALE, y * _SCALE), text, fill=colour, font=font)

    def line(self, points: Sequence[Point], colour: str, width: float) -> None:
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill=colour, width=round(width * _SCALE), joint='curve')

    def ring(self, at: Point, radius: float, colour: str, width: float) -> None:
        x, y, r = at[0] * _SCALE, at[1] * _SCALE, radius * _SCALE
        box = (x - r, y - r, x + r, y + r)
        self._draw.ellipse(box, outline=colour, width=round(width * _SCALE))

    def card(self, left: float, top: float, right: float, bottom: float) -> None:
        box = tuple(edge * _SCALE for edge in (left, top, right, bottom))
        self._draw.rounded_rectangle(box, radius=8 * _SCALE, fill=_CARD, outline=_LINE)

    def badge(self, x: float, y: float, text: str, colour: str) -> None:
        font = self._load(13 * _SCALE)
        left, top = x * _SCALE, y * _SCALE
        width = self._draw.textlength(text, font=font)
        box = (left, top, left + width + 16 * _SCALE, top + 22 * _SCALE)
        self._draw.rounded_rectangle(box, radius=11 * _SCALE, fill=colour)
        self._draw.text((left + 8 * _SCALE, top + 3 * _SCALE), text, fill=_CARD, font=font)

    def arrow(self, at: Point, angle: float, size: float, colour: str) -> None:
        corners = [(1.2, 0.0), (-0.8, 0.75), (-0.45, 0.0), (-0.8, -0.75)]
        cosine, sine = math.cos(angle), math.sin(angle)
        self._draw.polygon(
            [
                (
                    (at[0] + size * (cosine * u - sine * v)) * _SCALE,
                    (at[1] + size * (sine * u + cosine * v)) * _SCALE,
                )
                for u, v in corners
            ],
            fill=colour,
        )

    def bars(
        self, left: float, top: float, right: float, bottom: float, shares: Sequence[float]
    ) -> None:
        """Draw values between 0 and 1 side by side."""
        box = tuple(edge * _SCALE for edge in (left, top, right, bottom))
        self._draw.rectangle(box, fill=_PAPER)
        width = (right - left) / max(len(shares), 1)
        gap = min(1.0, width / 4.0)
        for index, share in enumerate(shares):
            begin = left + index * width
            box = (begin + gap, bottom - share * (bottom - top), begin + width - gap, bottom)
            self._draw.rectangle(tuple(edge * _SCALE for edge in box), fill=_ROBOT)


def _between(value: float, low: float, high: float, left: float, right: float) -> float:
    """Return where a value stands on a track; one beyond the bounds at its end."""
    share = (value - low) / ((high - low) or 1.0)
    return left + min(1.0, max(0.0, share)) * (right - left)


def _shares(spec: FieldSpec, values: Vector) -> list[float]:
    """Return each value of a field as a share of the way between its bounds."""
    low = spec.low if len(spec.low) == len(values) else spec.low * len(values)
    high = spec.high if len(spec.high) == len(values) else spec.high * len(values)
    return [_between(*of, 0.0, 1.0) for of in zip(values, low, high, strict=False)]


def _round_number(least: float) -> float:
    """Return the first of 1, 2, 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1.0, 2.0, 5.0, 10.0) if power * digit >= least)
