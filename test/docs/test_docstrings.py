# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Docstrings name modules, functions and attributes that exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
import inspect
from pathlib import Path
import re
from types import ModuleType

import boundary_env_ros

_ROOT = Path(boundary_env_ros.__file__).parent
#: What needs neither ROS nor an extra.
_ROOMS = ('core', 'storage', 'evidence/audit', 'evidence/replay')


def modules() -> Iterator[ModuleType]:
    for room in _ROOMS:
        for file in sorted((_ROOT / room).rglob('*.py')):
            parts = file.relative_to(_ROOT.parent).with_suffix('').parts
            yield import_module('.'.join(parts).removesuffix('.__init__'))


def is_there(name: str) -> bool:
    """Return whether a module has this name, or something in one."""
    module, _, last = name.rpartition('.')
    try:
        return hasattr(import_module(module), last) or bool(import_module(name))
    except ImportError:
        return False


def entries(docstring: str | None, heading: str) -> list[str]:
    """Return the lines of a section that are not indented."""
    section = re.search(
        rf'^{heading}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)', docstring or '', re.M | re.S
    )
    return re.findall(r'^(\S.*)$', section[1], re.M) if section else []


def test_what_a_docstring_refers_to_exists() -> None:
    lost = []
    for module in modules():
        text = Path(str(module.__file__)).read_text()
        package = module.__name__ if '__init__' in str(module.__file__) else module.__package__
        for name in re.findall(r':(?:mod|func|class|data):`([.\w]+)`', text):
            if '.' not in name:
                found = hasattr(module, name)
            elif name.startswith('.'):
                found = is_there(f'{package}{name}')
            else:
                found = is_there(name) or is_there(f'boundary_env_ros.{name}')
            if not found:
                lost.append((module.__name__, name))
    assert lost == []


def test_attributes_of_a_value_are_ones_that_it_has() -> None:
    unknown = []
    for module in modules():
        for cls in vars(module).values():
            if not (
                inspect.isclass(cls) and is_dataclass(cls) and cls.__module__ == module.__name__
            ):
                continue
            has = {*dir(cls), *inspect.get_annotations(cls)}
            unknown += [
                (cls.__name__, name)
                for line in entries(inspect.getdoc(cls), 'Attributes')
                for name in line.split(', ')
                if name not in has
            ]
    assert unknown == []


def test_parameters_that_are_described_are_taken() -> None:
    unknown = []
    for file in _ROOT.rglob('*.py'):
        for place in ast.walk(ast.parse(file.read_text())):
            if not isinstance(place, (ast.FunctionDef, ast.ClassDef)):
                continue
            takes = place
            if isinstance(place, ast.ClassDef):
                own = (each for each in place.body if isinstance(each, ast.FunctionDef))
                takes = next((each for each in own if each.name == '__init__'), place)
            if isinstance(takes, ast.FunctionDef):
                if takes.args.kwarg is not None:
                    continue
                taken = {each.arg for each in ast.walk(takes.args) if isinstance(each, ast.arg)}
            else:
                fields = (each for each in takes.body if isinstance(each, ast.AnnAssign))
                taken = {ast.unparse(each.target) for each in fields}
                if not taken:
                    continue  # its bases are made so
            unknown += [
                f'{file.name}: {place.name}: {name}'
                for line in entries(ast.get_docstring(place), 'Parameters')
                # Behind the parameters of a class may be a sentence.
                if re.fullmatch(r'[\w*]+(?:, [\w*]+)*', line)
                for name in line.split(', ')
                if name.lstrip('*') not in taken
            ]
    assert unknown == []
