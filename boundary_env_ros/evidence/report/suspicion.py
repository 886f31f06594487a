# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which moments of a run to look at first, and why.

Every step may show :mod:`anomalies <boundary_env_ros.evidence.report.anomalies>`. Steps that show
the same one after the other are one moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.report.anomalies import anomalies_of, Anomaly

#: Steps without the anomaly that a moment may have inside.
GAP = 3

#: Moments of each kind that are remembered.
KEPT = 8

#: What each further moment of a kind that was shown before counts.
REPEATED = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """
    Some steps that show the same anomaly one after the other.

    Attributes
    ----------
    agent, episode_id, first_step, last_step
        Which.
    step
        The one to look at.
    score
        How suspicious it is: the weight, and a little for how long it lasted.
    anomaly
        Anomaly of that step.
    also
        What else was seen around that step.
    alike
        Moments of the same kind in the run, this one among them.

    """

    agent: str
    episode_id: str
    first_step: int
    last_step: int
    step: int
    score: float
    anomaly: Anomaly
    also: tuple[Anomaly, ...] = ()
    alike: int = 1


@dataclass(slots=True)
class _Growing:
    first: int
    last: int
    step: int
    anomaly: Anomaly
    also: tuple[Anomaly, ...]


@dataclass(slots=True)
class _Place:
    """Where the record of one agent stands."""

    episode_id: str
    step: int
    growing: dict[str, _Growing] = field(default_factory=dict)


class Suspects:
    """
    Finds the moments of a run, in memory that does not grow with it.

    Parameters
    ----------
    contract
        See :func:`anomalies_of`.

    """

    def __init__(self, contract: Contract | None = None) -> None:
        self._contract = contract
        self._places: dict[str, _Place] = {}
        self._kept: dict[str, list[Moment]] = {}
        self._count: dict[str, int] = {}

    def add(self, now: Transition) -> float:
        """
        Take the next step, and return how suspicious it is by itself.

        Steps of one agent come in their order.
        """
        agent, step = now.id.agent, now.id.step
        place = self._places.get(agent)
        anomalies = anomalies_of(now, self._contract)
        if place is None or place.episode_id != now.id.episode_id:
            self._close(agent)
            place = self._places[agent] = _Place(now.id.episode_id, step)
        elif step > place.step + 1:
            missing = step - place.step - 1
            anomalies = (
                *anomalies,
                Anomaly(kind='gap', why=f'{missing} steps before this one are missing'),
            )
        place.step = step
        for kind, grown in tuple(place.growing.items()):
            if step - grown.last > GAP:
                del place.growing[kind]
                self._keep(agent, place.episode_id, grown)
        for anomaly in anomalies:
            also = tuple(other for other in anomalies if other is not anomaly)
            known = place.growing.get(anomaly.kind)
            if known is None:
                place.growing[anomaly.kind] = _Growing(step, step, step, anomaly, also)
                continue
            # A record may go back.
            known.first, known.last = min(known.first, step), max(known.last, step)
            if anomaly.weight > known.anomaly.weight:
                known.step, known.anomaly, known.also = step, anomaly, also
        return max((anomaly.weight for anomaly in anomalies), default=0.0)

    def disagreement(self, agent: str, episode_id: str, step: int, why: str) -> None:
        """Take an episode of which people say otherwise than the environment."""
        anomaly = Anomaly(kind='judged_otherwise', why=why)
        self._keep(agent, episode_id, _Growing(step, step, step, anomaly, ()))

    def foremost(self, count: int) -> tuple[Moment, ...]:
        """
        Return the most suspicious moments so far, the first first.

        For the choice a kind that was chosen before counts less each time, so that a run with one
        fault in a thousand places shows its other faults too. Moments of one episode around one
        step are one.
        """
        for agent in tuple(self._places):
            self._close(agent)
        left = [moment for kept in self._kept.values() for moment in kept]
        chosen: list[Moment] = []
        shown: dict[str, int] = {}
        while left and len(chosen) < count:
            best = max(left, key=lambda m: m.score * REPEATED ** shown.get(m.anomaly.kind, 0))
            left.remove(best)
            kind = best.anomaly.kind
            near = next((i for i, m in enumerate(chosen) if _near(m, best)), None)
            if near is not None:
                chosen[near] = _joined(chosen[near], best)
                continue
            shown[kind] = shown.get(kind, 0) + 1
            chosen.append(replace(best, alike=self._count[kind]))
        return tuple(sorted(chosen, key=lambda moment: -moment.score))

    def _close(self, agent: str) -> None:
        place = self._places.pop(agent, None)
        if place is not None:
            for grown in place.growing.values():
                self._keep(agent, place.episode_id, grown)

    def _keep(self, agent: str, episode_id: str, grown: _Growing) -> None:
        kind = grown.anomaly.kind
        moment = Moment(
            agent=agent,
            episode_id=episode_id,
            first_step=grown.first,
            last_step=grown.last,
            step=grown.step,
            score=grown.anomaly.weight + 5.0 * math.log10(grown.last - grown.first + 1),
            anomaly=grown.anomaly,
            also=grown.also,
        )
        self._count[kind] = self._count.get(kind, 0) + 1
        kept = self._kept.setdefault(kind, [])
        kept.append(moment)
        # Stable: of two that are alike the earlier one stays.
        kept.sort(key=lambda m: -m.score)
        del kept[KEPT:]


def _near(one: Moment, other: Moment) -> bool:
    same = (one.agent, one.episode_id) == (other.agent, other.episode_id)
    return same and abs(one.step - other.step) <= GAP


def _joined(one: Moment, other: Moment) -> Moment:
    """Return a moment with what another one around the same step says besides."""
    known = {one.anomaly.kind, *(anomaly.kind for anomaly in one.also)}
    if other.anomaly.kind in known:
        return one
    return replace(one, also=(*one.also, other.anomaly))
