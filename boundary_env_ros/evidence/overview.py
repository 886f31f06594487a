# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One picture of a run: where it went, what was changed, how long it took, how it ended.

Colours are those of M. Okabe and K. Ito (2008), Color universal design, which colour-blind readers
can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import io
import math
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.latency import STAGES
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.evidence.run_story import (
    BINS,
    Course,
    Places,
    places_of,
    SHORTEST,
    StageCounts,
    Story,
    tell,
    UNKNOWN_PLACES,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLACK, _GREY, _PALE = '#222222', '#777777', '#d9d9d9'
_ORANGE, _SKY, _GREEN, _YELLOW = '#E69F00', '#56B4E9', '#009E73', '#F0E442'
_BLUE, _RED, _PURPLE = '#0072B2', '#D55E00', '#CC79A7'

#: Colour and marker of an ending; causes that are not here share those of the last.
_ENDINGS = {
    'success': (_GREEN, 'o'),
    'time_limit': (_BLUE, 's'),
    'safety_stop': (_RED, 'X'),
    'failure': (_BLACK, 'v'),
    'operator_stop': (_ORANGE, 'D'),
    'sensor_lost': (_PURPLE, 'P'),
    'policy_lost': (_SKY, '^'),
    'no ending': (_PALE, '.'),
}
_OTHER = (_GREY, '*')


def draw_overview(
    records: Iterable[object],
    path: FilePath,
    *,
    contract: Contract | None = None,
    places: Places | None = None,
) -> None:
    """
    Draw one picture of a run and write it as PNG.

    Parameters
    ----------
    records
        The record in its order: transitions, and, if there are any, ``EvaluatorRecord`` (for the
        true path) and ``ActuationEvidence``; anything else is passed over.
    path
        The file, which must not exist yet.
    contract
        For the names and units of the action, and for the places.
    places
        Fields to draw in the plane; found in the contract if they are not given, and without one
        ``pose``, ``goal`` and ``true_pose``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    RecordError
        If the file exists, or cannot be written.

    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency(
            'Expect matplotlib for the picture, actually: it is not installed. '
            'Install it with `pip install matplotlib`.'
        ) from error
    if places is None:
        places = UNKNOWN_PLACES if contract is None else places_of(contract)
    figure = Figure(figsize=(15.0, 10.0), layout='constrained', facecolor='white')
    FigureCanvasAgg(figure)
    _draw(figure, tell(records, places), places, contract)
    picture = io.BytesIO()
    figure.savefig(picture, format='png', dpi=110)
    try:
        with path.open('xb') as file:
            file.write(picture.getvalue())
    except FileExistsError:
        raise RecordError(
            f'Expect a place for a new picture, actually: {path} exists already, not overwritten. '
            'Choose another place, or move the old one away.'
        ) from None
    except OSError as error:
        raise RecordError(
            f'Expect to write {path}, actually: {error.strerror or error}.'
        ) from error


def _draw(figure: Figure, story: Story, places: Places, contract: Contract | None) -> None:
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.0, 1.05))[0]
    plan, endings = left.subplots(2, 1, height_ratios=(3.4, 1.0))
    course, latency = right.subfigures(2, 1, squeeze=False, height_ratios=(1.45, 1.0))[:, 0]
    figure.suptitle(
        f'{story.title}: {story.episodes} episode{"" if story.episodes == 1 else "s"}',
        fontsize=14,
        fontweight='bold',
    )
    _plan(plan, story, places)
    _endings(endings, story)
    dimensions = _dimensions(story.course, contract)
    axes = course.subplots(
        len(dimensions) + 1,
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[*[2.0] * len(dimensions), 1.2],
    )[:, 0]
    _course(axes, story.course, dimensions)
    _latency(latency.subplots(), story.stages)


def _look(cause: str) -> tuple[str, str]:
    return _ENDINGS.get(cause or 'no ending', _OTHER)


def _quiet(axes: Axes, *, grid: str = 'both') -> None:
    axes.spines[['top', 'right']].set_visible(False)
    axes.grid(visible=True, axis=grid, color='#eeeeee', linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


# The plan view ----------------------------------------------------------------------------------


def _plan(axes: Axes, story: Story, places: Places) -> None:
    from matplotlib.lines import Line2D

    more = story.episodes - len(story.paths)
    axes.set_title('Paths as observed' + (f' (first {len(story.paths)})' if more else ''))
    drawn = [path for path in story.paths if path.observed]
    if not drawn:
        axes.set_axis_off()
        axes.text(0.5, 0.5, 'No field of the observation is a position in the plane.', ha='center')
        return
    _quiet(axes)
    for path in drawn:
        colour, marker = _look(path.cause)
        axes.plot(*zip(*path.observed, strict=True), color=colour, linewidth=1.6, alpha=0.75)
        if path.truth:
            axes.plot(*zip(*path.truth, strict=True), color=_BLACK, linewidth=0.9, linestyle=':')
        axes.plot(*path.observed[0], 'o', color=_BLACK, markerfacecolor='white', markersize=6)
        if path.goal is not None:
            axes.plot(*path.goal, '*', color=_BLACK, markerfacecolor='none', markersize=13)
        axes.plot(
            *path.observed[-1],
            marker,
            color=colour,
            markeredgecolor='white',
            markersize=9,
            zorder=5,
        )
    axes.set_aspect('equal', adjustable='datalim')
    axes.margins(0.08)
    frame = f', frame {places.frame}' if places.frame else ''
    axes.set_xlabel(f'x ({places.unit}{frame})')
    axes.set_ylabel(f'y ({places.unit}{frame})')
    handles = [
        Line2D(
            [], [], linestyle='', marker='o', color=_BLACK, markerfacecolor='white', label='start'
        )
    ]
    if any(path.goal for path in drawn):
        handles.append(
            Line2D(
                [],
                [],
                linestyle='',
                marker='*',
                color=_BLACK,
                markerfacecolor='none',
                markersize=11,
                label='goal',
            )
        )
    handles += [
        Line2D([], [], color=_look(cause)[0], marker=_look(cause)[1], label=f'ended: {cause}')
        for cause in _causes(story)
    ]
    if any(path.truth for path in drawn):
        handles.append(Line2D([], [], color=_BLACK, linestyle=':', label='true path (evaluator)'))
    axes.legend(
        handles=handles,
        loc='upper center',
        bbox_to_anchor=(0.5, -0.11),
        ncols=min(4, len(handles)),
        frameon=False,
        fontsize=9,
    )


def _causes(story: Story) -> list[str]:
    found = [cause for counts in story.endings.values() for cause in counts]
    known = [cause for cause in _ENDINGS if cause in found]
    return [*known, *(cause for cause in dict.fromkeys(found) if cause not in _ENDINGS)]


# Endings ----------------------------------------------------------------------------------------


def _endings(axes: Axes, story: Story) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title('Endings by cause')
    _quiet(axes, grid='x')
    names = list(story.endings)
    widest = max((counts.total() for counts in story.endings.values()), default=1)
    for row, name in enumerate(names):
        start = 0
        for cause in _causes(story):
            count = story.endings[name][cause]
            if not count:
                continue
            colour = _look(cause)[0]
            axes.barh(row, count, left=start, color=colour, edgecolor='white', height=0.62)
            # A number that is wider than its bar would run into the next one.
            if count / widest > 0.02:
                axes.text(
                    start + count / 2,
                    row,
                    str(count),
                    ha='center',
                    va='center',
                    color=_BLACK if colour in (_YELLOW, _PALE, _SKY, _ORANGE) else 'white',
                    fontweight='bold',
                )
            start += count
    axes.set_yticks(range(len(names)), [name or '(no request)' for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel('episodes')
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


# Actions over time ------------------------------------------------------------------------------


def _dimensions(course: Course | None, contract: Contract | None) -> list[tuple[str, str]]:
    """Return name and unit of each dimension of the action."""
    if contract is not None:
        return [*zip(contract.command_dimensions, contract.command_unit, strict=True)]
    size = max(map(len, course.published), default=0) if course is not None else 0
    return [(f'action {i}', '') for i in range(size)]


def _course(
    axes: Sequence[Axes], course: Course | None, dimensions: list[tuple[str, str]]
) -> None:
    *plots, strip = axes
    if course is None:
        for one in axes:
            one.set_axis_off()
        strip.text(0.5, 0.5, 'No episode had a step.', ha='center')
        return
    for i, (plot, (name, unit)) in enumerate(zip(plots, dimensions, strict=True)):
        _quiet(plot)
        for values, colour, width, label, style in (
            (course.requested, _ORANGE, 2.6, 'requested', 'steps-pre'),
            (course.published, _BLUE, 1.5, 'published', 'steps-pre'),
            (course.measured, _BLACK, 1.0, 'measured', 'default'),
        ):
            plot.plot(
                course.seconds,
                _series(values, i),
                color=colour,
                linewidth=width,
                label=label,
                drawstyle=style,
            )
        plot.set_ylabel(f'{_last(name)}\n({unit or "1"})')
    if plots:
        told = f'ended: {course.cause}' if course.cause else 'no ending'
        plots[0].set_title(
            f'Actions of episode {course.episode_id[:8]} ({course.client or "no client"}, {told})'
        )
        plots[0].legend(loc='lower right', ncols=3, frameon=False, fontsize=9)
        plots[0].margins(y=0.25)
    _strip(strip, course)


def _strip(axes: Axes, course: Course) -> None:
    """Mark when which rule of the gate stepped in."""
    _quiet(axes)
    reasons = list(dict.fromkeys(reason for _, reason in course.reasons))
    for row, reason in enumerate(reasons):
        moments = [moment for moment, name in course.reasons if name == reason]
        axes.plot(moments, [row] * len(moments), '|', color=_RED, markersize=9, markeredgewidth=2)
    names = [reason.lower().replace('_', ' ') for reason in reasons]
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    told = 'When a rule of the gate stepped in' if reasons else 'No rule of the gate stepped in'
    axes.set_title(told, fontsize=10, loc='left')
    axes.set_xlabel('time since the reset (s)')


def _last(name: str) -> str:
    """Return the last two parts of a field path, which are short enough for an axis."""
    return '.'.join(name.split('.')[-2:])


def _series(values: Sequence[Vector], dimension: int) -> list[float]:
    return [v[dimension] if dimension < len(v) else math.nan for v in values]


# Latency ----------------------------------------------------------------------------------------


def _latency(axes: Axes, stages: dict[str, StageCounts]) -> None:
    axes.set_title('Latency by stage; at the right p50 / p99 in ms')
    _quiet(axes, grid='x')
    for row, name in enumerate(STAGES):
        counts = stages[name]
        if counts.bins:
            most = max(counts.bins.values())
            first, last = min(counts.bins), max(counts.bins)
            heights = [0.78 * counts.bins[i] / most for i in range(first, last + 1)]
            edges = [SHORTEST * 10 ** (i / BINS) for i in range(first, last + 2)]
            axes.stairs(
                [row + 0.4 - height for height in heights],
                edges,
                baseline=row + 0.4,
                fill=True,
                color=_SKY,
            )
            told = []
            for fraction, colour in ((0.5, _BLUE), (0.99, _BLACK)):
                value = counts.quantiles.at(fraction) or 0.0
                told.append(_milliseconds(value))
                if value > 0:
                    axes.plot([value] * 2, [row - 0.2, row + 0.4], color=colour, linewidth=2)
            axes.text(
                1.01,
                row + 0.2,
                ' / '.join(told),
                transform=axes.get_yaxis_transform(),
                va='center',
                fontsize=9,
            )
        else:
            place = axes.get_yaxis_transform()
            axes.text(1.01, row + 0.2, 'unknown', transform=place, va='center', fontsize=9)
        if counts.budget is not None:
            axes.plot(counts.budget, row + 0.4, '^', color=_RED, markersize=9, clip_on=False)
    axes.set_xscale('log')
    axes.set_yticks([row + 0.2 for row in range(len(STAGES))], STAGES)
    axes.tick_params(axis='y', length=0)
    axes.set_ylim(len(STAGES) - 0.4, -0.6)
    axes.set_xlabel('duration (s)')
    _latency_legend(axes)


def _milliseconds(seconds: float) -> str:
    return f'{1000 * seconds:.0f}' if abs(seconds) >= 0.1 else f'{1000 * seconds:.3g}'


def _latency_legend(axes: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axes.legend(
        handles=[
            Patch(color=_SKY, label='steps'),
            Line2D([], [], color=_BLUE, linewidth=2, label='p50'),
            Line2D([], [], color=_BLACK, linewidth=2, label='p99'),
            Line2D([], [], color=_RED, marker='^', linestyle='', label='budget'),
        ],
        loc='upper center',
        bbox_to_anchor=(0.5, -0.2),
        ncols=4,
        frameon=False,
        fontsize=9,
    )
