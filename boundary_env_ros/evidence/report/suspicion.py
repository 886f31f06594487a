# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which moments of a run to look at first, and why.

Every step may show :mod:`anomalies <boundary_env_ros.evidence.report.anomalies>`. Steps that show
the same one after the other are one moment.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.report.anomalies import anomalies_of, Anomaly

#: Steps without the anomaly that a moment may have inside.
GAP = 3

#: Moments of each finding that are remembered.
KEPT = 8

#: What each further moment of a finding that was shown before counts.
REPEATED = 0.6


@dataclass(slots=True)
class Moment:
    """
    Some steps that show the same anomaly one after the other.

    Attributes
    ----------
    agent, episode_id
        Of which episode.
    step
        The one to look at.
    anomaly
        Anomaly of that step.
    also
        What else was seen around that step.
    first_step, last_step
        The first and the last of the steps.
    alike
        Moments like it in the run, this one among them: of the same kind, and ending if it is one.

    """

    agent: str
    episode_id: str
    step: int
    anomaly: Anomaly
    also: tuple[Anomaly, ...] = ()
    first_step: int = field(init=False)
    last_step: int = field(init=False)
    alike: int = 1

    def __post_init__(self) -> None:
        self.first_step = self.last_step = self.step

    @property
    def score(self) -> float:
        """Return how suspicious it is: the weight, and a little for how long it lasted."""
        return self.anomaly.weight + 5.0 * math.log10(self.last_step - self.first_step + 1)

    def is_near(self, other: Moment) -> bool:
        """Return whether both are of one episode, around one step."""
        same = (self.agent, self.episode_id) == (other.agent, other.episode_id)
        return same and abs(self.step - other.step) <= GAP


@dataclass(slots=True)
class _Place:
    """Where the record of one agent stands."""

    episode_id: str
    step: int
    growing: dict[str, Moment] = field(default_factory=dict)


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
        self._kept: dict[tuple[str, str], list[Moment]] = {}
        self._count: Counter[tuple[str, str]] = Counter()

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
                Anomaly('gap', f'{missing} steps before this one are missing'),
            )
        place.step = step
        for kind, grown in tuple(place.growing.items()):
            if step - grown.last_step > GAP:
                self._keep(place.growing.pop(kind))
        for anomaly in anomalies:
            also = tuple(other for other in anomalies if other is not anomaly)
            known = place.growing.get(anomaly.kind)
            if known is None:
                place.growing[anomaly.kind] = Moment(agent, place.episode_id, step, anomaly, also)
                continue
            # A record may go back.
            known.first_step = min(known.first_step, step)
            known.last_step = max(known.last_step, step)
            if anomaly.weight > known.anomaly.weight:
                known.step, known.anomaly, known.also = step, anomaly, also
        return max((anomaly.weight for anomaly in anomalies), default=0.0)

    def disagreement(self, agent: str, episode_id: str, step: int, why: str) -> None:
        """Take an episode of which people say otherwise than the environment."""
        self._keep(Moment(agent, episode_id, step, Anomaly('judged_otherwise', why)))

    def foremost(self, count: int) -> tuple[Moment, ...]:
        """
        Return the most suspicious moments so far, the first first.

        For the choice what is like one that was chosen before counts less each time, so that a run
        with one fault in a thousand places shows its other faults too. Moments of one episode
        around one step are one.
        """
        for agent in tuple(self._places):
            self._close(agent)
        left = [moment for kept in self._kept.values() for moment in kept]
        chosen: list[Moment] = []
        shown: Counter[tuple[str, str]] = Counter()
        while left and len(chosen) < count:
            best = max(left, key=lambda m: m.score * REPEATED ** shown[m.anomaly.finding])
            left.remove(best)
            kind, finding = best.anomaly.kind, best.anomaly.finding
            near = next((moment for moment in chosen if moment.is_near(best)), None)
            if near is None:
                shown[finding] += 1
                best.alike = self._count[finding]
                chosen.append(best)
            elif kind not in {near.anomaly.kind, *(anomaly.kind for anomaly in near.also)}:
                near.also = (*near.also, best.anomaly)
        return tuple(sorted(chosen, key=lambda moment: -moment.score))

    def _close(self, agent: str) -> None:
        place = self._places.pop(agent, None)
        for grown in place.growing.values() if place is not None else ():
            self._keep(grown)

    def _keep(self, moment: Moment) -> None:
        finding = moment.anomaly.finding
        self._count[finding] += 1
        kept = self._kept.setdefault(finding, [])
        kept.append(moment)
        # Stable: of two that are alike the earlier one stays.
        kept.sort(key=lambda m: -m.score)
        del kept[KEPT:]
