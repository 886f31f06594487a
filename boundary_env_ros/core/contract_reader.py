# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading plain data strictly: keys are asked for by name, and every problem is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
import difflib
from enum import Enum
import math
import sys
from typing import Any, TypeGuard, TypeVar

from boundary_env_ros.core.contract_key import Part, parts_of, REQUIRED
from boundary_env_ros.core.grammar import NAME, TEXT
from boundary_env_ros.errors import Problem

Path = tuple[str | int, ...]
E = TypeVar('E', bound=Enum)
T = TypeVar('T')


class Reader:
    """
    One mapping of a contract, read key by key.

    Parameters
    ----------
    data
        What was found where a mapping is expected.
    path
        Keys that lead to it.
    lines
        Line of each path, as far as known.
    problems
        Where problems are collected; shared by all readers of one contract.

    Every method returns a value whatever it finds, so that reading goes on; the caller looks at
    ``problems`` when all is read. One mistake is not to be reported twice: a bad number is
    returned as NaN, which no comparison is true of, and nothing more is said of what is below a
    mapping that is missing. :meth:`finish` reports the keys that nobody asked for.
    """

    def __init__(
        self,
        data: object,
        *,
        path: Path = (),
        lines: Mapping[Path, int] | None = None,
        problems: list[Problem] | None = None,
    ) -> None:
        self.path = path
        self._lines = lines or {}
        self.problems = [] if problems is None else problems
        self._asked: list[str] = []
        self._optional: list[str] = []
        self._silent = False
        self._inner: dict[str, Reader] = {}
        if isinstance(data, Mapping):
            self._data: Mapping[str, object] = {str(key): item for key, item in data.items()}
        else:
            self._data = {}
            if data is not _MISSING:
                self.problem((), _SECTION, said('a list') if isinstance(data, list) else data)
            self._silent = True

    def problem(self, path: Path, expected: str, actual: object, hint: str = '') -> None:
        """Report something wrong at a path below this mapping, unless it is no mapping at all."""
        if self._silent:
            return
        whole = self.path + path
        line = next(
            (
                self._lines[whole[:n]]
                for n in range(len(whole), -1, -1)
                if whole[:n] in self._lines
            ),
            None,
        )
        shown = str(actual) if isinstance(actual, _Said) else _shown(actual)
        key = next((whole[:n] for n in range(len(whole), 0, -1) if type(whole[n - 1]) is str), ())
        if self._lines and key not in self._lines and isinstance(actual, float):
            # A value of a key that the file does not have is its default, and stands on no line.
            line, shown = None, f'{shown}, its default'
        self.problems.append(
            Problem(
                path=tuple(printable(key) if isinstance(key, str) else key for key in whole),
                line=line,
                expected=printable(expected),
                actual=printable(shown),
                hint=printable(hint),
            )
        )

    def has(self, key: str) -> bool:
        """Return whether a key is there and not null; if it is, the caller is to ask for it."""
        self._optional.append(key)
        if key in self._data and self._data[key] is None:
            self._asked.append(key)  # a key without a value is as good as none
        return self._data.get(key) is not None

    def skip(self, key: str) -> None:
        """Count a key as asked for, whatever it holds."""
        self._asked.append(key)

    def names(self) -> tuple[str, ...]:
        """Return all keys, for mappings whose keys the user chooses."""
        self._asked.extend(self._data)
        return tuple(self._data)

    def named(self) -> tuple[str, ...]:
        """Return all keys, each of which is to be a name."""
        for name in self._data:
            if not NAME.fits(name):
                self.problem((name,), NAME.expected, name)
        return self.names()

    def _take(self, key: str, expected: str, default: object) -> object:
        self._asked.append(key)
        value = self._data.get(key)
        if value is None:
            if default is REQUIRED:
                self.problem((key,), expected, said('nothing'))
            return None
        return value

    def _read(
        self, key: str, expected: str, default: object, fits: Callable[[Any], bool]
    ) -> object:
        """Return what is there and fits; None if nothing does, which is reported."""
        value = self._take(key, expected, REQUIRED if default is None else default)
        if value is None or fits(value):
            return value
        self.problem((key,), expected, value)
        return None

    def section(self, key: str, *, required: bool = True) -> Reader:
        """Return the reader of a mapping; of an empty one if it is optional and absent."""
        value = self._take(key, _SECTION, REQUIRED if required else None)
        if value is None:
            value = _MISSING if required else {}
        return Reader(
            value,
            path=(*self.path, key),
            lines=self._lines,
            problems=[] if self._silent else self.problems,
        )

    # What the values of a contract say about their keys --------------------------------------

    def make(self, model: type[T], *, count: int | None = None, **given: Any) -> T:
        """
        Return a value of a contract, whose class says how its attributes are read.

        Parameters
        ----------
        model
            The class.
        count
            How many numbers a vector has; None: as many as there are.
        given
            Attributes that are known already.

        """
        for name, part in parts_of(model).items():
            if not part.is_stored or name in given:
                continue
            if part.key is None:
                given[name] = part.default
            else:
                same = given.get(part.key.same_as)
                given[name] = self.value(model, name, default=same, count=count)
        return model(**given)

    def value(self, model: type, attribute: str, *, default: object = None, **shape: Any) -> Any:
        """
        Return one attribute of a value of a contract.

        Parameters
        ----------
        model, attribute
            Its class and name.
        default
            In place of that of the attribute, if it is not None.
        shape
            Of a vector; see :meth:`numbers`. Without it there are as many as there are.

        """
        part = parts_of(model)[attribute]
        *outer, name = part.path.split('.')
        reader = self.inner(outer[0]) if outer else self
        usual = part.default if default is None else default
        return reader._value(part, name, usual, **shape)  # noqa: SLF001

    def inner(self, name: str) -> Reader:
        """Return the reader of a section that some keys of a value stand in."""
        if name not in self._inner:
            self._inner[name] = self.section(name, required=False)
        return self._inner[name]

    def _value(self, part: Part, name: str, default: Any, **shape: Any) -> Any:
        key, kind = part.key, part.type
        assert key is not None
        if (default in (None, ()) or is_dataclass(default)) and not self.has(name):
            return default
        default = None if default is REQUIRED else default
        grammar = key.spelt or TEXT
        expected = key.expected or grammar.expected
        if kind is bool and key.words:
            word = self.choice(
                name, key.words, default=key.words[default] if default is not None else None
            )
            return word == key.words[1]
        if kind is bool:
            found = self._read(name, 'true or false', default, lambda v: isinstance(v, bool))
            return default if found is None else found
        if kind is str and not key.choices:
            return self.text(name, default=default, expected=expected, check=grammar.fits)
        if kind is str:
            return self.choice(name, key.choices, default=default, fallback='')
        if isinstance(kind, type) and issubclass(kind, Enum):
            return self.one_of(name, kind, default=default, only=key.choices)
        if kind is float:
            return self.number(
                name,
                default=default,
                unit=key.unit,
                least=key.least,
                above=key.above,
                most=key.most,
            )
        if kind is int:
            most = None if math.isinf(key.most) else int(key.most)
            return self.integer(name, default=default, least=int(max(key.least, 0.0)), most=most)
        if kind == tuple[str, ...]:
            if key.choices:
                expected = f'one or some of {", ".join(key.choices)}'
            check = key.choices.__contains__ if key.choices else grammar.fits
            if default and not self.has(name):
                return default
            return self.texts(name, expected=expected, required=default is None, check=check)
        if kind == tuple[float, ...]:
            count = shape.pop('count', None)
            return self.numbers(
                name,
                self.length(name) if count is None else count,
                unit=key.unit,
                least=key.least,
                above=key.above,
                most=key.most,
                **shape,
            )
        if kind == tuple[int, ...]:
            return self.dimensions(name, shape['count'])
        if kind == Mapping[str, object]:
            return self.plain(name)
        section = self.section(name)
        value = section.make(kind)
        section.finish()
        return value

    def text(
        self,
        key: str,
        *,
        default: str | None = None,
        expected: str = 'a text',
        check: Callable[[str], bool] = TEXT.fits,
    ) -> str:
        """Return a text; required unless it has a default."""
        found = self._read(key, expected, default, lambda v: isinstance(v, str) and check(v))
        return (default or '') if found is None else str(found)

    def integer(
        self, key: str, *, default: int | None = None, least: int = 0, most: int | None = None
    ) -> int:
        """Return a whole number in bounds."""
        expected = f'a whole number, {least} or more'
        if most is not None:
            expected = f'a whole number from {least} to {most}'
        found = self._read(
            key,
            expected,
            default,
            lambda v: type(v) is int and v >= least and (most is None or v <= most),
        )
        return found if isinstance(found, int) else least if default is None else default

    def number(
        self,
        key: str,
        *,
        default: float | None = None,
        unit: str,
        least: float = -math.inf,
        above: float = -math.inf,
        most: float = math.inf,
    ) -> float:
        """Return a finite number in bounds; required unless it has a default."""
        found = self._read(
            key,
            _number_text(unit, least, above, most),
            default,
            lambda v: _is_number(v) and least <= float(v) <= most and float(v) > above,
        )
        value = float(found) if _is_number(found) else None
        if value and unit == 's' and not _SHORTEST <= value <= _LONGEST:
            # Times are kept in whole nanoseconds, of 64 bits.
            self.problem((key,), f'a time (s) from {_SHORTEST:g} to {_LONGEST:g}', found)
            value = None
        if value is None:
            return math.nan if default is None else default
        return value

    def numbers(
        self,
        key: str,
        count: int,
        *,
        unit: str,
        least: float = -math.inf,
        above: float = -math.inf,
        most: float = math.inf,
        columns: int | None = None,
        words: Collection[str] = (),
    ) -> tuple[float, ...]:
        """
        Return ``count`` finite numbers; one number stands for all.

        With ``columns``, as many numbers stand for every row. One of the ``words`` is no number,
        and none is missed.
        """
        each = _number_text(unit, least, above, most)
        expected = f'{each}, or a list of {count}' if count != 1 else f'{each}, or a list of one'
        value = self._take(key, expected, REQUIRED)
        if value is None:
            return (math.nan,) * count
        items = list(value) if isinstance(value, (list, tuple)) else [value] * count
        if columns is not None and len(items) == columns and isinstance(value, (list, tuple)):
            items = items * (count // columns)
        if len(items) != count:
            self.problem((key,), expected, said(f'a list of {len(items)}'))
            return (math.nan,) * count
        result = []
        for index, item in enumerate(items):
            if _is_number(item) and least <= float(item) <= most and float(item) > above:
                result.append(float(item))
                continue
            if isinstance(item, str) and item in words:
                result.append(math.nan)
                continue
            at: Path = (key, index % len(value)) if isinstance(value, (list, tuple)) else (key,)
            self.problem(at, each, item)
            result.append(math.nan)
        return tuple(result)

    def rows(self, key: str, count: int, *, unit: str) -> tuple[tuple[float, ...], ...]:
        """Return ``count`` lists of finite numbers, each as long as it is."""
        expected = f'{count} lists of finite numbers ({unit})'
        value = self._take(key, expected, REQUIRED)
        if not isinstance(value, (list, tuple)) or len(value) != count:
            if value is not None:
                self.problem((key,), expected, value)
            return ((),) * count
        result = []
        for index, row in enumerate(value):
            if isinstance(row, (list, tuple)) and all(map(_is_number, row)):
                result.append(tuple(float(item) for item in row))
            else:
                self.problem((key, index), f'a list of finite numbers ({unit})', row)
                result.append(())
        return tuple(result)

    def points(self, key: str, *, unit: str) -> tuple[tuple[float, float], ...]:
        """Return a list of pairs of finite numbers, as many as there are; none if one is bad."""
        expected = f'a list of points [x, y] ({unit})'
        value = self._take(key, expected, REQUIRED)
        if not isinstance(value, (list, tuple)):
            if value is not None:
                self.problem((key,), expected, value)
            return ()
        result = []
        for index, item in enumerate(value):
            if isinstance(item, (list, tuple)) and len(item) == 2 and all(map(_is_number, item)):
                result.append((float(item[0]), float(item[1])))
            else:
                self.problem((key, index), f'two finite numbers [x, y] ({unit})', item)
        return tuple(result) if len(result) == len(value) else ()

    def sections(self, key: str) -> tuple[Reader, ...]:
        """Return the readers of a list of mappings."""
        expected = 'a list of mappings of keys'
        value = self._take(key, expected, REQUIRED)
        if not isinstance(value, (list, tuple)):
            if value is not None:
                self.problem((key,), expected, value)
            return ()
        return tuple(
            Reader(
                item,
                path=(*self.path, key, index),
                lines=self._lines,
                problems=self.problems,
            )
            for index, item in enumerate(value)
        )

    def length(self, *keys: str) -> int:
        """Return the length of the first list under some keys; 1 if there is none."""
        values = [self._data.get(key) for key in keys]
        return next((len(v) for v in values if isinstance(v, (list, tuple))), 1)

    def dimensions(self, key: str, count: int) -> tuple[int, ...]:
        """Return places in a vector of a size, each once; none if the key is absent."""
        if not self.has(key):
            return ()
        values = self.numbers(key, self.length(key), unit='places in the vector', least=0.0)
        if len(set(values)) != len(values) or any(v % 1 or v >= count for v in values):
            self.problem((key,), f'different whole numbers below {count}', list(values))
            return ()
        return tuple(map(int, values))

    def is_word(self, key: str, word: str) -> bool:
        """Return whether a key holds exactly this word, and if so count the key as asked for."""
        if self._data.get(key) != word:
            return False
        self._asked.append(key)
        return True

    def texts(
        self,
        key: str,
        *,
        expected: str = 'a list of texts',
        required: bool = True,
        check: Callable[[str], bool] | None = None,
    ) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of one."""
        value = self._take(key, expected, REQUIRED if required else None)
        if value is None:
            return ()
        items = value if isinstance(value, (list, tuple)) else [value]
        result = []
        for index, item in enumerate(items):
            if isinstance(item, str) and (check is None or check(item)):
                result.append(item)
            else:
                self.problem((key, index), expected, item)
                result.append('')
        return tuple(result)

    def one_of(
        self, key: str, choices: type[E], *, default: E | None = None, only: Collection[str] = ()
    ) -> E:
        """Return a member of an enum, or of ``only`` some, by its value in lower case."""
        names = {spelt(one): one for one in choices if not only or spelt(one) in only}
        return names[self.choice(key, names, default=None if default is None else spelt(default))]

    def choice(
        self,
        key: str,
        choices: Collection[str],
        *,
        default: str | None = None,
        fallback: str | None = None,
    ) -> str:
        """Return one of some words; the fallback (else the first) if it is none of them."""
        expected = f'one of {", ".join(choices)}'
        value = self._take(key, expected, REQUIRED if default is None else default)
        if fallback is None:
            fallback = default if default is not None else next(iter(choices))
        if value is None:
            return fallback if default is None else default
        if not isinstance(value, str) or value not in choices:
            self.problem((key,), expected, value, nearest(str(value), choices))
            return fallback
        return value

    def plain(self, key: str) -> Mapping[str, object]:
        """
        Return a mapping of plain data whose meaning is somebody else's to check.

        Its keys come in alphabetical order at every depth: their order in the file has no meaning,
        nor a place in the digest, so nobody may come to depend on it.
        """
        value = self._take(key, 'a mapping of keys', None)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.problem((key,), 'a mapping of keys', value)
            return {}
        self._check_plain(value, (key,))
        return {name: _in_order(item) for name, item in sorted(_named(value).items())}

    def _check_plain(self, value: object, path: Path) -> None:
        """Report what is not plain data; it would have no digest."""
        if len(path) > _DEEPEST:
            self.problem(path[:3], f'plain data of at most {_DEEPEST} levels', said('more'))
        elif isinstance(value, Mapping):
            for name, item in value.items():
                self._check_plain(item, (*path, str(name)))
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._check_plain(item, (*path, index))
        elif not (value is None or isinstance(value, (str, bool)) or _is_number(value)):
            self.problem(path, 'plain data (texts, finite numbers, true, false, lists)', value)

    def finish(self) -> None:
        """Report every key that nobody asked for."""
        for reader in self._inner.values():
            reader.finish()
        known = dict.fromkeys(self._asked)
        for key in self._data:
            if key not in known:
                self.problem(
                    (key,),
                    'no such key',
                    said('it is there'),
                    nearest(key, [k for k in (*known, *self._optional) if k not in self._data])
                    or (f'Known here: {", ".join(known)}.' if known else ''),
                )


def _named(value: Mapping[object, object]) -> dict[str, object]:
    return {str(name): item for name, item in value.items()}


def _in_order(value: object, depth: int = 0) -> object:
    """Return plain data with the keys of every mapping in alphabetical order."""
    if depth > _DEEPEST:
        return value  # reported already
    if isinstance(value, Mapping):
        named = {str(name): _in_order(item, depth + 1) for name, item in value.items()}
        return dict(sorted(named.items()))
    if isinstance(value, (list, tuple)):
        return [_in_order(item, depth + 1) for item in value]
    return value


class _Said(str):
    """A text that describes what was found, rather than being it."""

    __slots__ = ()


def said(text: str) -> _Said:
    """Return a description of what was found, to be shown without quotes."""
    return _Said(text)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        # As the file has it.
        return str(value).lower()
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f'a {type(value).__name__} that is too large to be shown'
    return text if len(text) <= _WIDEST else f'{text[: _WIDEST - 3]}...'


def printable(text: str) -> str:
    """Return a text with what would steer a terminal written out."""
    return text if text.isprintable() else repr(text)[1:-1]


_MISSING = object()
_SECTION = 'a mapping of keys'
_WIDEST = 120
_SHORTEST, _LONGEST = 1e-9, 1e9
_DEEPEST = 20


def nearest(word: str, choices: Collection[str]) -> str:
    """Return a sentence that suggests the nearest of some words; empty if none is near."""
    near = difflib.get_close_matches(word, list(choices), n=1)
    return f'Did you mean {near[0]!r}?' if near else ''


def spelt(member: Enum) -> str:
    """Return how the contract language spells a member of an enum."""
    return str(member.value) if isinstance(member.value, str) else member.name.lower()


def _is_number(value: object) -> TypeGuard[float]:
    # Compared, not converted: an integer may be too large to be a float.
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and -sys.float_info.max <= value <= sys.float_info.max
    )


def _number_text(unit: str, least: float, above: float, most: float) -> str:
    parts = ['a finite number']
    if unit:
        parts.append(f'({unit})')
    if above > -math.inf:
        parts.append(f'greater than {above:g}')
    if least > -math.inf:
        parts.append(f'not less than {least:g}')
    if most < math.inf:
        parts.append(f'not more than {most:g}')
    return ' '.join(parts)
