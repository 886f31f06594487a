# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading plain data strictly: keys are asked for by name, and every problem is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
import math
from typing import Any, TypeVar

from boundary_env_ros.core.contract.grammar import NAME
from boundary_env_ros.core.contract.key import DIMENSION, DIMENSIONS, Part, parts_of, REQUIRED
from boundary_env_ros.core.contract.problem_text import (
    Fault,
    nearest,
    Path,
    problem_at,
    Text,
)
from boundary_env_ros.core.contract.safety import OF_PLACE, Polygon
from boundary_env_ros.core.type_hints import element_of, is_record
from boundary_env_ros.errors import Problem
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract.forms import (
    Form,
    form_of,
    integer_form,
    is_number,
    list_form,
)

Vector = tuple[float, ...]
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
    ``problems`` when all is read. One mistake is not to be reported twice: of one key the first
    problem is kept, and of a list one for each place; a bad number is returned as NaN, which no
    comparison is true of, and nothing more is said of what is below a mapping that is missing.
    :meth:`finish` reports the keys that were not read.
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
        self._known: list[str] = []
        self._silent = False
        self._below: dict[Path, Reader] = {}
        if isinstance(data, Mapping):
            self._data: Mapping[str, object] = {str(key): item for key, item in data.items()}
        else:
            self._data = {}
            if data is not _MISSING:
                kinds = {type(None): Text('nothing'), list: Text('a list')}
                self.problem((), _SECTION, kinds.get(type(data), data))
            self._silent = True

    def problem(self, path: Path, expected: str, actual: object, hint: str = '') -> None:
        """Report something wrong at a path below this mapping, unless it is no mapping at all."""
        if self._silent:
            return
        whole = self.path + path
        line = line_of(whole, self._lines)
        shown = str(actual) if isinstance(actual, Text) else _shown(actual)
        key = next((whole[:n] for n in range(len(whole), 0, -1) if type(whole[n - 1]) is str), ())
        if self._lines and key not in self._lines and isinstance(actual, float):
            # A value of a key that the file does not have is its default, and stands on no line.
            line, shown = None, f'{actual:g}, its default'
        found = problem_at(whole, line, expected, shown, hint)
        if not any(_of_one_place(found.path, other.path) for other in self.problems):
            self.problems.append(found)

    def report(self, faults: Iterable[Fault]) -> None:
        """Report what is wrong at paths below this mapping."""
        for fault in faults:
            self.problem(*fault)

    def has(self, key: str) -> bool:
        """Return whether a key is there and not null; it is known here, whether read or not."""
        self._known.append(key)
        return self._data.get(key) is not None

    def names(self) -> tuple[str, ...]:
        """Return all keys, for mappings whose keys the user chooses."""
        self._known.extend(self._data)
        return tuple(self._data)

    def named(self) -> tuple[str, ...]:
        """Return all keys, each of which is to be a name."""
        for name in self._data:
            if not NAME.fits(name):
                self.problem((name,), NAME.expected, name)
        return self.names()

    def _get(self, key: str, expected: str, *, required: bool = True) -> object:
        if not self.has(key) and required:
            self.problem((key,), expected, Text('nothing'))
        return self._data.get(key)

    def section(self, key: str, *, required: bool = True, expected: str = '') -> Reader:
        """Return the reader of a mapping; of an empty one if it is optional and absent."""
        value = self._get(key, expected or _SECTION, required=required)
        if value is None:
            value = _MISSING if required else {}
        return self._reader(value, key)

    def _reader(self, data: object, *path: str | int) -> Reader:
        if path not in self._below:
            self._below[path] = Reader(
                data,
                path=(*self.path, *path),
                lines=self._lines,
                problems=[] if self._silent else self.problems,
            )
        return self._below[path]

    # What the values of a contract say about their keys --------------------------------------

    def make(
        self,
        model: type[T],
        *,
        count: int | None = None,
        columns: int | None = None,
        dimension: Form | None = None,
        only: Collection[str] = (),
        **given: Any,
    ) -> T:
        """
        Return a value of a contract, whose class says how its attributes are read.

        Parameters
        ----------
        model
            The class.
        count, columns
            How many numbers a vector has, see :meth:`many`; None: as many as there are.
        dimension
            Form of a dimension of the command.
        only
            Attributes that may be said; empty: all. The others have their defaults.
        given
            Attributes that are known already.

        """
        shape = {'count': count, 'columns': columns, 'dimension': dimension}
        for name, part in parts_of(model).items():
            applies = self._applies(part) and (name in only or not only)
            if not part.is_stored or name in given or not applies:
                continue
            if part.key is None:
                given[name] = part.default
            else:
                same = given.get(part.key.same_as)
                given[name] = self.value(model, name, default=same, **shape)
        return model(**given)

    def _applies(self, part: Part) -> bool:
        when = part.key.when if part.key is not None else ()
        return not when or (self._data.get(when[0]) or '') in when[1:]

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
            As of :meth:`make`.

        """
        part = parts_of(model)[attribute]
        *outer, name = part.path.split('.')
        reader = self.section(outer[0], required=False) if outer else self
        usual = part.default if default is None else default
        return reader._value(part, name, usual, **shape)  # noqa: SLF001

    def _value(
        self, part: Part, name: str, default: Any, *, dimension: Form | None = None, **shape: Any
    ) -> Any:
        key, kind = part.key, part.type
        assert key is not None
        if not self.has(name) and default is not REQUIRED:
            return default
        if kind in (float, str) and 'none' in key.words and self._data.get(name) == 'none':
            return '' if kind is str else None
        if key.shown in (DIMENSION, DIMENSIONS):
            assert dimension is not None
            return self._dimension(name, dimension, several=kind is not int)
        if is_record(kind):
            return self.section(name).make(kind)
        read: Callable[..., Any] = _BY_TYPE.get(kind, _of_form)
        return read(self, part, name, **shape)

    def _dimension(self, name: str, dimension: Form, *, several: bool) -> Any:
        if not several:
            return self.one(name, dimension)
        if not self.has(name) or not dimension.words:  # what there is, is unknown
            self.many(name, dimension)
            return ()
        return self.different(name, dimension, 'different dimensions')

    def corners(self, key: str) -> Polygon:
        """Return the corners of an area; none if they could not be read."""
        found: Polygon = self.many(key, _CORNER, expected=_CORNERS)
        if len(found) < _FEWEST:
            self.problem((key,), 'at least three corners', Text(f'{len(found)}'))
        return found if len(found) >= _FEWEST and all(found) else ()

    def one(self, key: str, form: Form) -> Any:
        """Return a value of a form, which must be there."""
        value = self._get(key, form.expected)
        found = None if value is None else self._fit((key,), form, value)
        return form.unfit if found is None else found

    def _fit(self, path: Path, form: Form, value: object) -> Any:
        """Return what a value is read as; None, after a problem, if it is not of the form."""
        found = form.read(value)
        if found is None:
            hint = nearest(str(value), form.words)
            # An absolute name of ROS: nodes in a namespace would not find it. A type as in ROS 1.
            for meant in _meant(value):
                if form.read(meant) is not None:
                    hint = f'Write {meant!r}.'
            self.problem(path, form.expected, value, hint)
        elif form.is_time and found and not _SHORTEST <= found <= _LONGEST:
            self.problem(path, f'a time (s) from {_SHORTEST:g} to {_LONGEST:g}', value)
            return None
        return found

    def many(
        self,
        key: str,
        form: Form,
        *,
        count: int | None = None,
        columns: int | None = None,
        expected: str = '',
    ) -> tuple[Any, ...]:
        """
        Return a list of values of a form, which must be there; one value stands for all.

        Parameters
        ----------
        key
            The key.
        form
            Of each.
        count
            How many there are to be; None: as many as there are, one stands for a list of one.
        columns
            As many as this stand for every row.
        expected
            What an error asks for where only a list will do.

        """
        lists = form.expected
        if count is not None:
            lists = f'{form.expected}, or a list of {"one" if count == 1 else count}'
        value = self._get(key, expected or lists)
        unfit = (form.unfit,) * (count or 0)
        if value is None:
            return unfit
        is_list = isinstance(value, (list, tuple))
        items = list(value) if isinstance(value, (list, tuple)) else [value] * (count or 1)
        if expected and (not is_list or len(items) != (count or len(items))):
            self.problem((key,), expected, value)
            return unfit
        if columns is not None and len(items) == columns and is_list:
            items *= (count or columns) // columns
        if count is not None and len(items) != count:
            self.problem((key,), lists, Text(f'a list of {len(items)}'))
            return unfit
        result = []
        for index, item in enumerate(items):
            # Of rows, what is wrong stands in the list that stands for them all.
            at: Path = (key, index % len(value)) if isinstance(value, (list, tuple)) else (key,)
            found = self._fit(at, form, item)
            result.append(form.unfit if found is None else found)
        return tuple(result)

    def different(self, key: str, form: Form, expected: str) -> tuple[int, ...]:
        """
        Return a list of different values; none if the key is absent, or a value is wrong.

        Parameters
        ----------
        key, form
            The key, and the form of each value.
        expected
            What an error asks for.

        """
        if not self.has(key):
            return ()
        found = self.many(key, replace(form, unfit=None))
        if None in found:
            return ()
        if len(set(found)) != len(found):
            self.problem((key,), expected, self._data[key])
            return ()
        return found

    def places(self, key: str, count: int) -> tuple[int, ...]:
        """Return different places in a vector of so many values; none if the key is absent."""
        return self.different(key, integer_form(0, count - 1), 'different whole numbers')

    def sections(self, key: str) -> tuple[Reader, ...]:
        """Return the readers of a list of mappings."""
        expected = 'a list of mappings of keys'
        value = self._get(key, expected)
        if not isinstance(value, (list, tuple)):
            if value is not None:
                self.problem((key,), expected, value)
            return ()
        return tuple(self._reader(item, key, index) for index, item in enumerate(value))

    def length(self, *keys: str) -> int:
        """Return the length of the first list under some keys; 1 if there is none."""
        values = [self._data.get(key) for key in keys]
        return next((len(v) for v in values if isinstance(v, (list, tuple))), 1)

    def plain(self, key: str) -> Mapping[str, object]:
        """
        Return a mapping of plain data whose meaning is checked elsewhere.

        Its keys come in alphabetical order at every depth: their order in the file has no meaning,
        nor a place in the digest, so nothing may come to depend on it.
        """
        value = self._get(key, _SECTION, required=False)
        if isinstance(value, Mapping):
            found: Mapping[str, object] = self._plain(value, (key,))
            return found
        if value is not None:
            self.problem((key,), _SECTION, value)
        return {}

    def _plain(self, value: Any, path: Path) -> Any:
        """Return plain data in order; what is none would have no digest, and is reported."""
        if len(path) > _DEEPEST:
            self.problem(path[:3], f'plain data of at most {_DEEPEST} levels', Text('more'))
        elif isinstance(value, Mapping):
            named = sorted({str(name): item for name, item in value.items()}.items())
            return {name: self._plain(item, (*path, name)) for name, item in named}
        elif isinstance(value, (list, tuple)):
            return [self._plain(item, (*path, index)) for index, item in enumerate(value)]
        elif not (value is None or isinstance(value, (str, bool)) or is_number(value)):
            self.problem(path, 'plain data (texts, finite numbers, true, false, lists)', value)
        return value

    def finish(self) -> None:
        """Report every key that was not read, here and below."""
        for reader in self._below.values():
            reader.finish()
        known = sorted(set(self._known))
        for key in self._data:
            if key not in self._known:
                hint = nearest(key, [k for k in known if k not in self._data])
                hint = hint or (f'Known here: {", ".join(known)}.' if known else '')
                self.problem((key,), '', Text('unknown key'), hint)


# By the type of a value --------------------------------------------------------------------------


def _of_form(reader: Reader, part: Part, name: str, **shape: Any) -> Any:
    key, form = part.key, form_of(part)
    assert key is not None
    if element_of(part.type) is None:
        return reader.one(name, form)
    found = reader.many(name, form, **shape)
    if key.listed and not found and reader.has(name):
        reader.problem((name,), f'at least one {key.listed}', Text('none'))
    if key.unique and len(set(found)) != len(found):
        reader.problem((name,), f'every {key.listed} once', list(found))
    return found


def _numbers(
    reader: Reader, part: Part, name: str, *, count: int | None = None, columns: int | None = None
) -> Vector:
    count = reader.length(name) if count is None else count
    return reader.many(name, form_of(part), count=count, columns=columns)


def _limits(reader: Reader, part: Part, name: str, *, count: int, **_: Any) -> Any:
    if not reader.has(name):
        return (None,) * count
    limits = _numbers(reader, part, name, count=count)
    return tuple(None if math.isnan(limit) else limit for limit in limits)


def _rows(reader: Reader, part: Part, name: str, **shape: Any) -> tuple[Vector, ...]:
    unit = part.key.unit if part.key else ''
    expected = f'{shape["count"]} lists of finite numbers ({unit})'
    return reader.many(name, list_form(unit), expected=expected, **shape)


def _choices(
    reader: Reader, part: Part, name: str, **shape: Any
) -> tuple[tuple[str, Vector], ...]:
    section = reader.section(name)
    return tuple((one, _numbers(section, part, one, **shape)) for one in section.named())


def _areas(reader: Reader, _: Part, name: str, **__: Any) -> Any:
    section = reader.section(name)
    if not section.named():
        reader.problem((name,), 'at least one area by name', Text('none'))
    return tuple((one, section.corners(one)) for one in sorted(section.named()))


def _tolerance(reader: Reader, part: Part, name: str, **__: Any) -> Mapping[str, Vector]:
    section = reader.section(name)
    return {one: _numbers(section, part, one) for one in section.names()}


#: How a value of some type is read; of any other, as its form says.
_BY_TYPE: Mapping[Any, Callable[..., Any]] = {
    Vector: _numbers,
    Polygon: lambda reader, _, name, **__: reader.corners(name),
    tuple[int, ...]: lambda reader, _, name, **shape: reader.places(name, shape['count']),
    tuple[float | None, ...]: _limits,
    tuple[Vector, ...]: _rows,
    tuple[tuple[str, Vector], ...]: _choices,
    tuple[tuple[str, Polygon], ...]: _areas,
    Mapping[str, Vector]: _tolerance,
    Mapping[str, object]: lambda reader, _, name, **__: reader.plain(name),
}


def line_of(path: Path, lines: Mapping[Path, int]) -> int | None:
    """Return the line of a key, or of the nearest key above that has one."""
    above = (path[:count] for count in range(len(path), -1, -1))
    return next((lines[key] for key in above if key in lines), None)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        # As the file has it.
        return str(value).lower()
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f'a {type(value).__name__} that is too large to be shown'
    return text if len(text) <= _WIDEST else f'{text[: _WIDEST - 3]}...'


def _meant(value: object) -> tuple[str, ...]:
    """Return what a text of another spelling may mean: no absolute name, a type of ROS 2."""
    if not isinstance(value, str):
        return ()
    return value.lstrip('/'), *(value.replace('/', f'/{kind}/', 1) for kind in ('msg', 'srv'))


def _of_one_place(one: Path, other: Path) -> bool:
    """Return whether two places are one, or one is in the list that is the other."""
    few = min(len(one), len(other))
    rest = one[few:] or other[few:]
    return one[:few] == other[:few] and all(isinstance(key, int) for key in rest)


_CORNER, _CORNERS = list_form(OF_PLACE, 2), f'a list of points [x, y] ({OF_PLACE})'
_FEWEST = 3
_MISSING = object()
_SECTION = 'a mapping of keys'
_WIDEST = 120
_SHORTEST, _LONGEST = 1e-9, 1e9
_DEEPEST = 20
