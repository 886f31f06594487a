# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transforms between frames, as the topics of tf have them, and fields made of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
import math
from operator import attrgetter
from types import SimpleNamespace

from boundary_env_ros.core.contract.model import Contract, Qos
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.sources import Lookup
from boundary_env_ros.core.sources.inputs import Input, Purpose, TF, TF_STATIC, TF_TYPE
from boundary_env_ros.core.sources.readers import adapter
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen

#: Nanoseconds for which tf2 keeps transforms.
CACHE_TIME = 10 * NANOSECONDS

# Frames that are known at most, and transforms of one that are kept: no robot has more.
_MOST_FRAMES, _MOST_CACHED = 4096, 20_000

# Known frames that an error lists.
_FRAMES_LISTED = 5

# By how much the square of the length of a quaternion may be off.
_NORM_TOLERANCE = 1e-2

_STAMP = attrgetter('stamp')


@frozen(kw_only=False)
class TransformLink:
    """
    The pose of one frame in its parent.

    Attributes
    ----------
    stamp
        When, ns; that of a static one does not matter.
    parent
        The frame that the pose is in.
    translation, rotation
        x, y, z in m, and quaternion x, y, z, w.

    """

    stamp: int
    parent: str
    translation: Vector
    rotation: Vector


class TransformBuffer:
    """
    The tree of frames, with its recent past.

    Frames are looked up as tf2 does it: at the newest instant that all moving links of the chain
    have in common; between two samples translations are linear, and rotations turn evenly.

    Parameters
    ----------
    cache_time
        How long transforms are kept, ns.
    topics
        Where they come from, for errors.

    """

    def __init__(
        self, cache_time: int = CACHE_TIME, topics: tuple[str, str] = ('/tf', '/tf_static')
    ) -> None:
        self._cache_time, self._topics = cache_time, ' or '.join(topics)
        self._static: dict[str, TransformLink] = {}
        self._moving: dict[str, list[TransformLink]] = {}

    def add(self, message: Message, *, static: bool) -> None:
        """
        Take a ``tf2_msgs/msg/TFMessage``.

        Raises
        ------
        RecordError
            If one of its transforms cannot be used; the others are taken.

        """
        refused = ''
        for each in message.transforms:
            child = each.child_frame_id.lstrip('/')
            stamp = each.header.stamp.sec * NANOSECONDS + each.header.stamp.nanosec
            moved, turned = each.transform.translation, each.transform.rotation
            link = TransformLink(
                stamp,
                each.header.frame_id.lstrip('/'),
                (float(moved.x), float(moved.y), float(moved.z)),
                (float(turned.x), float(turned.y), float(turned.z), float(turned.w)),
            )
            fault = _fault(link, child)
            if not fault and not static and not stamp:
                fault = 'a stamp, got 0'
            known = child in self._static or child in self._moving
            if not fault and not known and len(self._static) + len(self._moving) >= _MOST_FRAMES:
                fault = f'at most {_MOST_FRAMES} frames'
            if fault:
                refused = f'Wrong transform of {child!r} (expected {fault}). It is not used.'
            elif static:
                self._moving.pop(child, None)
                self._static[child] = link
            else:
                self._static.pop(child, None)
                self._insert(self._moving.setdefault(child, []), link)
        if refused:
            raise RecordError(refused)

    def _insert(self, links: list[TransformLink], link: TransformLink) -> None:
        if links and link.stamp < links[-1].stamp - self._cache_time:
            links.clear()  # the clock was set back
        place = bisect_left(links, link.stamp, key=_STAMP)
        links[place : place + (place < len(links) and links[place].stamp == link.stamp)] = [link]
        # What is deleted is deleted seldom, and then all at once.
        if links[-1].stamp - links[0].stamp > 2 * self._cache_time:
            del links[: bisect_left(links, links[-1].stamp - self._cache_time, key=_STAMP)]
        elif len(links) > _MOST_CACHED:
            del links[: _MOST_CACHED // 2]

    def forget(self) -> None:
        """Forget all poses but the static ones: the clock was set back."""
        self._moving.clear()

    def look_up(self, target: str, source: str, stamp: int | None = None) -> TransformLink:
        """
        Return the pose of a frame in another.

        Parameters
        ----------
        target, source
            The frame that the pose is in, and the one whose pose it is.
        stamp
            When, ns; None: at the newest instant that is known of all links between them. Then the
            stamp of the answer is 0 if all of them are static.

        Raises
        ------
        RecordError
            If a frame is unknown, the two are not of one tree, the tree has a loop, or nothing is
            known of that instant.

        """
        target, source = target.lstrip('/'), source.lstrip('/')
        if stamp is None:
            ups, downs = self._between(target, source, None)
            moving = [link.stamp for child, link in (*ups, *downs) if child not in self._static]
            if not moving:
                return _joined(ups, downs, target, 0)
            stamp = min(moving)
        return _joined(*self._between(target, source, stamp), target, stamp)

    def _between(
        self, target: str, source: str, stamp: int | None
    ) -> tuple[list[tuple[str, TransformLink]], list[tuple[str, TransformLink]]]:
        """Return the links from both frames to the first that both are in."""
        ups, why = self._to_root(source, stamp)
        downs, why_down = self._to_root(target, stamp)
        over_source = [source, *(link.parent for _, link in ups)]
        over_target = [target, *(link.parent for _, link in downs)]
        common = next((frame for frame in over_source if frame in over_target), None)
        if common is None:
            known = {link.parent for link in self._static.values()} | set(self._static)
            known |= set(self._moving) | {each[-1].parent for each in self._moving.values()}
            unknown = [frame for frame in (target, source) if frame not in known]
            few = ', '.join(sorted(known)[:_FRAMES_LISTED])
            more = ', ...' if len(known) > _FRAMES_LISTED else ''
            raise RecordError(
                f'Unknown frame (expected one that {self._topics} names: {few or "none yet"}'
                f'{more}, got {unknown[0]!r}).'
                if unknown
                else why
                or why_down
                or f'{target!r} and {source!r} are not connected (expected frames of one tree, '
                f'got the roots {over_target[-1]!r} and {over_source[-1]!r}).'
            )
        return ups[: over_source.index(common)], downs[: over_target.index(common)]

    def _to_root(
        self, frame: str, stamp: int | None
    ) -> tuple[list[tuple[str, TransformLink]], str]:
        """Return the links from a frame upwards as far as they are known, and why no further."""
        links: list[tuple[str, TransformLink]] = []
        over = {frame}
        while True:
            try:
                link = self._link(frame, stamp)
            except RecordError as error:
                return links, str(error)
            if link is None:
                return links, ''
            if link.parent in over:
                raise RecordError(
                    f'The frames have a loop (expected a tree, got {link.parent!r} above itself).'
                )
            links.append((frame, link))
            frame = link.parent
            over.add(frame)

    def _link(self, child: str, stamp: int | None) -> TransformLink | None:
        """Return the pose of a frame in its parent at an instant; None for a root."""
        links = self._moving.get(child)
        if links is None:
            return self._static.get(child)
        if stamp is None:
            return links[-1]
        if not links[0].stamp <= stamp <= links[-1].stamp:
            raise RecordError(
                f'Nothing is known of {child!r} at that instant (expected one from '
                f'{links[0].stamp} to {links[-1].stamp} ns, got {stamp} ns). Nothing is '
                'extrapolated.'
            )
        place = bisect_left(links, stamp, key=_STAMP)
        newer = links[place]
        older = newer if newer.stamp == stamp else links[place - 1]
        if older is newer or older.parent != newer.parent:
            return older
        return _interpolated(older, newer, stamp)


class TransformFields:
    """
    The fields of a contract that are looked up, from the messages that have them.

    Parameters
    ----------
    contract
        The contract.
    cache_time
        As of the buffer.
    namespace
        Where the topics of the contract are.

    Attributes
    ----------
    buffer
        Where they are looked up.
    inputs
        What has to be read, message by message; empty if the contract looks nothing up.

    """

    def __init__(
        self, contract: Contract, cache_time: int = CACHE_TIME, namespace: str = '/'
    ) -> None:
        self.buffer = TransformBuffer(cache_time, contract.tf_topics)
        self._topics, self._namespace = contract.tf_topics, f'{namespace.rstrip("/")}/'
        self._lookups = [
            (spec.source, Input(Purpose.FIELD, spec.name, TF, TF_TYPE, adapter(spec, '')))
            for spec in contract.fields
            if isinstance(spec.source, Lookup)
        ]
        self._last: dict[str, int] = {}
        self._elsewhere: dict[str, set[str]] = {}
        self.inputs = tuple(
            Input(
                Purpose.ENVIRONMENT,
                name,
                topic,
                TF_TYPE,
                partial(self._read, static=name == TF_STATIC),
                qos=Qos(depth=100, reliable=True, transient_local=name == TF_STATIC),
                publishers=100,
            )
            for name, topic in zip((TF, TF_STATIC), contract.tf_topics, strict=True)
            if self._lookups
        )

    def _read(self, message: Message, *, static: bool) -> Reading:
        self.buffer.add(message, static=static)
        return Reading()

    @property
    def never_known(self) -> tuple[str, ...]:
        """Return the fields that could not be looked up yet."""
        return tuple(item.name for _, item in self._lookups if item.name not in self._last)

    def forget(self) -> None:
        """Look every field up anew: the clock was set back, and what came is of another time."""
        self.buffer.forget()
        self._last.clear()

    def note(self, topic: str, message: Message) -> None:
        """Take note of the frames of a ``TFMessage`` on another topic than the contract's."""
        wanted = {f.lstrip('/') for s, _ in self._lookups for f in (s.target, s.source)}
        named = {f for t in message.transforms for f in (t.header.frame_id, t.child_frame_id)}
        found = wanted & {frame.lstrip('/') for frame in named}
        if found:
            self._elsewhere.setdefault(topic.removesuffix('_static'), set()).update(found)

    def _where_else(self) -> str:
        """Say which other topics have the frames, and what to do."""
        hints = ''
        for topic, frames in self._elsewhere.items():
            name = topic.removeprefix(self._namespace)
            write = f'write `robot: {{tf: {name}}}` in the contract'
            mend = write if name != topic else f'remap {self._topics[0]} to it'
            hints += f' {topic} has the frames {", ".join(sorted(frames))}: {mend}.'
        return hints

    def new(
        self, now: int, on_problem: Callable[[Input, str], None]
    ) -> Iterator[tuple[Input, Message]]:
        """
        Yield the newest transform of each field, if its stamp is another than that before.

        Parameters
        ----------
        now
            What a chain of static links is stamped with, ns: it holds at any time.
        on_problem
            Is called with why a field cannot be looked up, or with nothing that it can; one that
            cannot stays what it was, and ages.

        """
        for source, item in self._lookups:
            try:
                link = self.buffer.look_up(source.target, source.source)
            except RecordError as error:
                never = item.name not in self._last
                on_problem(item, str(error) + (self._where_else() if never else ''))
                continue
            on_problem(item, '')
            stamp = link.stamp or now
            if stamp != self._last.get(item.name):
                self._last[item.name] = stamp
                yield item, as_message(link, stamp)


def as_message(link: TransformLink, stamp: int) -> Message:
    """Return what reads like a ``geometry_msgs/msg/TransformStamped``."""
    seconds, nanoseconds = divmod(stamp, NANOSECONDS)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=SimpleNamespace(sec=seconds, nanosec=nanoseconds)),
        transform=SimpleNamespace(
            translation=SimpleNamespace(**dict(zip('xyz', link.translation, strict=True))),
            rotation=SimpleNamespace(**dict(zip('xyzw', link.rotation, strict=True))),
        ),
    )


def _fault(link: TransformLink, child: str) -> str:
    """Return what was expected of a transform that cannot be used; empty: it can."""
    if not child or not link.parent or child == link.parent:
        return f'two frames, got {link.parent!r} and {child!r}'
    if not all(map(math.isfinite, (*link.translation, *link.rotation))):
        return f'finite numbers, got {[*link.translation, *link.rotation]}'
    if abs(sum(value * value for value in link.rotation) - 1.0) >= _NORM_TOLERANCE:
        return f'a quaternion of length 1, got {list(link.rotation)}'
    return ''


def _joined(
    ups: list[tuple[str, TransformLink]],
    downs: list[tuple[str, TransformLink]],
    target: str,
    stamp: int,
) -> TransformLink:
    """Return the pose at the end of a chain: up from the source, and down to the target."""
    above = _product([link for _, link in reversed(ups)])
    below = _product([link for _, link in reversed(downs)])
    back = _conjugate(below.rotation)
    offset = tuple(a - b for a, b in zip(above.translation, below.translation, strict=True))
    return TransformLink(stamp, target, _turned(back, offset), _times(back, above.rotation))


def _product(links: list[TransformLink]) -> TransformLink:
    result = TransformLink(0, '', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    for link in links:
        moved = _turned(result.rotation, link.translation)
        where = tuple(a + b for a, b in zip(result.translation, moved, strict=True))
        result = TransformLink(0, '', where, _times(result.rotation, link.rotation))
    return result


def _interpolated(older: TransformLink, newer: TransformLink, stamp: int) -> TransformLink:
    """Return a pose between two: linear in the translation, an even turn the shorter way round."""
    share = (stamp - older.stamp) / (newer.stamp - older.stamp)
    where = tuple(
        a + share * (b - a) for a, b in zip(older.translation, newer.translation, strict=True)
    )
    cosine = sum(a * b for a, b in zip(older.rotation, newer.rotation, strict=True))
    angle = math.acos(min(abs(cosine), 1.0))
    if angle < 1e-9:
        first, second = 1.0 - share, share
    else:
        first = math.sin((1.0 - share) * angle) / math.sin(angle)
        second = math.sin(share * angle) / math.sin(angle)
    second = math.copysign(second, cosine)
    turned = tuple(
        first * a + second * b for a, b in zip(older.rotation, newer.rotation, strict=True)
    )
    return TransformLink(stamp, older.parent, where, turned)


def _times(first: Vector, second: Vector) -> Vector:
    ax, ay, az, aw = first
    bx, by, bz, bw = second
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def _conjugate(rotation: Vector) -> Vector:
    x, y, z, w = rotation
    return (-x, -y, -z, w)


def _turned(rotation: Vector, point: Vector) -> Vector:
    return _times(_times(rotation, (*point, 0.0)), _conjugate(rotation))[:3]
