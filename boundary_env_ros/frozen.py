# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Frozen values: dataclasses that nothing changes, cheap to make and to replace.

A frozen dataclass of the standard library fills each slot through ``object.__setattr__``, and its
``replace`` goes through a dictionary of all fields. Here an object is of an *open* class while it
is filled: one with the same slots that lets itself be written. Then it becomes one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from dataclasses import field, MISSING
from functools import update_wrapper
from operator import attrgetter
from typing import Any, overload, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dataclasses import replace as replace

    from typing_extensions import dataclass_transform
else:

    def replace(value, /, **changes):
        """Return a frozen value with other values in some fields; checked as if it were new."""
        return _COPIES[value.__class__](value, changes)

    def dataclass_transform(**_):
        """Return what does nothing: only a type checker reads it, and Python 3.10 has none."""
        return lambda function: function


T = TypeVar('T')

#: What a parameter is that was not given.
_OMITTED: Any = object()
#: By class, that of its objects while they are filled; if to make one is to fill its slots.
_OPEN: dict[type, type] = {}


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(
    *, kw_only: bool = True, eq: bool = True, order: bool = False
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, **parameters: bool) -> Any:
    """
    Make a frozen dataclass with slots of a class; its fields are given by name.

    Fields, equality, hash, ``repr``, copies and pickles are those of the standard library. So is
    how it is made, if there is more to do than to fill its slots.

    Parameters
    ----------
    cls
        The class.
    **parameters
        ``kw_only``, ``eq`` and ``order``, as of :func:`dataclasses.dataclass`.

    """
    if cls is None:
        return lambda cls: frozen(cls, **parameters)
    made = dataclasses.dataclass(cls, frozen=True, slots=True, **{'kw_only': True, **parameters})
    filled = [each.init for each in dataclasses.fields(made)]
    if filled and all(filled) and not hasattr(made, '__post_init__'):
        _OPEN[made] = open_class(made)
        made.__init__ = _initializer(made)
    return made


def open_class(cls: type) -> type:
    """
    Return a class with the bases and the slots of a frozen one whose objects can be written.

    Filled, they become of the frozen class by ``__class__``.
    """
    body = {
        '__slots__': cls.__dict__['__slots__'],
        '__orig_bases__': cls.__dict__.get('__orig_bases__', ()),  # of a generic class
        '__setattr__': object.__setattr__,
    }
    return type(cls)(cls.__name__, cls.__bases__, body)


def _initializer(cls: Any) -> Any:
    """Return an ``__init__`` that does what that of a dataclass does."""
    names = {'_usual': cls.__init__, '_become': object.__dict__['__class__'].__set__}
    parameters, values = ['self'], {}
    for each in sorted(dataclasses.fields(cls), key=attrgetter('kw_only')):
        name = each.name
        parameter = values[name] = name
        if each.kw_only and '*' not in parameters:
            parameters.append('*')
        if each.default is not MISSING:
            names[f'_default_{name}'] = each.default
            parameter = f'{name}=_default_{name}'
        elif each.default_factory is not MISSING:
            names[f'_make_{name}'] = each.default_factory
            values[name] = f'_make_{name}() if {name} is _OMITTED else {name}'
            parameter = f'{name}=_OMITTED'
        parameters.append(parameter)
    given = ', '.join(f'{name}={value}' for name, value in values.items())
    lines = [
        # What is derived from it without being one has slots of its own.
        'if self.__class__ is not _own:',
        f'    return _usual(self, {given})',
        '_become(self, _open)',
        *(f'self.{name} = {value}' for name, value in values.items()),
        'self.__class__ = _own',
    ]
    return update_wrapper(_function(cls, '__init__', parameters, lines, names), cls.__init__)


class _Copies(dict[type, Any]):
    """By class, what returns a value of it with other values in some fields."""

    def __missing__(self, cls: Any) -> Any:
        self[cls] = copy = _copy(cls) if cls in _OPEN else _checked
        return copy


_COPIES = _Copies()


def _checked(value: Any, changes: dict[str, Any]) -> Any:
    return dataclasses.replace(value, **changes)


def _copy(cls: Any) -> Any:
    lines = [
        'new = make(_open)',
        *(f'new.{each.name} = old.{each.name}' for each in dataclasses.fields(cls)),
        'try:',
        '    for name, value in changes.items():',
        '        put(new, name, value)',
        'except AttributeError:',  # what is no field has no slot
        '    what = f"replace() got an unexpected keyword argument {name!r}"',
        '    raise TypeError(what) from None',
        'new.__class__ = _own',
        'return new',
    ]
    names = {'make': object.__new__, 'put': setattr}
    return _function(cls, 'replace', ['old', 'changes'], lines, names)


def _function(
    cls: type, name: str, parameters: list[str], lines: list[str], names: dict[str, Any]
) -> Any:
    """Return a function of a class, made of its text and of what that names."""
    names |= {'_own': cls, '_open': _OPEN[cls], '_OMITTED': _OMITTED}
    text = '\n    '.join([f'def {name}({", ".join(parameters)}):', *lines])
    exec(text, names)  # noqa: S102 - names of our own fields
    return names[name]
