# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
YAML text as plain data, with the line of every key; strict, and unable to run anything.

PyYAML only parses: of its nodes, texts, numbers, true, false, null, lists and mappings are made
here, so that there is nothing a tag could call. Scalars are read by the core schema of YAML 1.2,
as editors read them, and not by that of YAML 1.1: ``on`` is a text, ``1e-3`` is a number, and
``1:30`` is no 90.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import re

import yaml

from boundary_env_ros.core.contract.problem_text import Path as KeyPath
from boundary_env_ros.core.contract.problem_text import problem_at
from boundary_env_ros.errors import ContractError, Problem

#: More than any contract needs, and less than makes anybody wait.
MOST_BYTES = 256 * 1024
_DEEPEST = 20
#: More than any contract needs, and less than aliases of aliases can grow to.
_MOST = 10_000

_TAG = 'tag:yaml.org,2002:'
_MERGE = f'{_TAG}merge'
_SCALARS = {
    f'{_TAG}null': re.compile(r'~|null|Null|NULL|'),
    f'{_TAG}bool': re.compile(r'true|True|TRUE|false|False|FALSE'),
    f'{_TAG}int': re.compile(r'[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+'),
    f'{_TAG}float': re.compile(
        r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?'
        r'|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)'
    ),
    f'{_TAG}str': re.compile(r'.*', re.DOTALL),
}


_Item = tuple[yaml.Node, yaml.Node]


class _Parser(yaml.SafeLoader):
    """PyYAML's parser, with the scalars of YAML 1.2."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - as PyYAML declares it


for _tag, _pattern in _SCALARS.items():
    if _tag != f'{_TAG}str':
        # None: whatever the first character is.
        _Parser.add_implicit_resolver(_tag, re.compile(f'^(?:{_pattern.pattern})$'), None)
_Parser.add_implicit_resolver(_MERGE, re.compile(r'^<<$'), ['<'])


def is_text(plain: str) -> bool:
    """Return whether a scalar without quotes is a text, as PyYAML's own may not be: 1e5."""
    return not any(p.fullmatch(plain) for tag, p in _SCALARS.items() if tag != f'{_TAG}str')


class YamlText:
    """
    The data of a YAML text.

    Attributes
    ----------
    data
        Nested dictionaries, lists, texts, numbers, true, false and None.
    lines
        Line of each key path, counted from 1.
    problems
        What stands against taking it as it is; what is in their places means nothing.

    Raises
    ------
    ContractError
        If it is not YAML, or grows beyond all bounds.

    """

    def __init__(self, text: str, source: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._count = 0
        self.data: object = None
        root = self._composed(text)
        if root is not None:
            self.lines[()] = root.start_mark.line + 1
            self.data = self._value((), root)

    def _composed(self, text: str) -> yaml.Node | None:
        try:
            node: yaml.Node | None = yaml.compose(text, Loader=_Parser)
        except yaml.reader.ReaderError as error:
            line = text.count('\n', 0, error.position) + 1
            character = f'the character {chr(error.character)!r}'
            raise self._error(
                problem_at((), line, 'text without control characters', character)
            ) from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = None if mark is None else mark.line + 1
            problem, context = error.problem or '', error.context or ''
            reason = ', '.join(filter(None, (problem, context))) or 'nothing more is known'
            hint = _hint(problem)
            raise self._error(
                problem_at((), at, '', f'this is not YAML: {reason}', hint)
            ) from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            # A directive of version 1.999..., a \U escape that is no character, lists of lists.
            reason = 'too many levels' if isinstance(error, RecursionError) else str(error)
            raise self._error(problem_at((), None, '', f'this is not YAML: {reason}')) from error
        return node

    def _error(self, problem: Problem) -> ContractError:
        return ContractError([problem], self._source)

    def _value(self, path: KeyPath, node: yaml.Node) -> object:
        line = node.start_mark.line + 1
        self._count += 1
        if len(path) > _DEEPEST or self._count > _MOST:
            expected = f'at most {_DEEPEST} levels and {_MOST} values, aliases written out'
            raise self._error(problem_at(path[:3], line, expected, 'more'))
        if isinstance(node, yaml.MappingNode) and node.tag == f'{_TAG}map':
            return dict(self._items(path, node))
        if isinstance(node, yaml.SequenceNode) and node.tag == f'{_TAG}seq':
            found = []
            for index, item in enumerate(node.value):
                place: KeyPath = (*path, index)
                self.lines[place] = item.start_mark.line + 1
                found.append(self._value(place, item))
            return found
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            if _SCALARS[node.tag].fullmatch(node.value):
                return self._scalar(path, node)
            self._complain(path, line, f'a value of the tag {_short(node.tag)}', repr(node.value))
            return None
        self._complain(
            path, line, 'data and nothing else', f'the tag {_short(node.tag)}', 'Remove it.'
        )
        return None

    def _items(self, path: KeyPath, node: yaml.MappingNode) -> Iterator[tuple[str, object]]:
        seen: dict[str, int] = {}
        for key, value in (*self._merged(path, node), *_own(node)):
            line = key.start_mark.line + 1
            if key.tag != f'{_TAG}str' or not isinstance(key.value, str):
                is_list = not isinstance(key.value, str)
                written = 'a list or a mapping' if is_list else key.value
                hint = '' if is_list else 'Put it in quotes.'
                place = path if is_list else (*path, written)
                self._complain(place, line, 'a key that is a text', written, hint)
                if not is_list:
                    yield written, self._value(place, value)
                continue
            place = (*path, key.value)
            if key.value in seen:
                reason = f'the key stands in line {seen[key.value]} already'
                self._complain(place, line, '', reason)
            seen.setdefault(key.value, line)
            self.lines[place] = line
            yield key.value, self._value(place, value)

    def _merged(self, path: KeyPath, node: yaml.MappingNode) -> Iterable[_Item]:
        """Return what merge keys bring in: what is not there, and of several, the first."""
        own = {key.value for key, _ in _own(node) if isinstance(key.value, str)}
        merged: dict[str, _Item] = {}
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                self._count += 1
                if not isinstance(source, yaml.MappingNode) or len(_own(source)) < len(
                    source.value
                ):
                    line = key.start_mark.line + 1
                    expected = 'mappings to merge, without merges of their own'
                    self._complain((*path, '<<'), line, expected, 'something else')
                    continue
                for item in source.value:
                    if isinstance(item[0].value, str) and item[0].value not in own:
                        merged.setdefault(item[0].value, item)
        return merged.values()

    def _scalar(self, path: KeyPath, node: yaml.ScalarNode) -> object:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind == 'null':
            return None
        if kind == 'bool':
            return text.lower() == 'true'
        if kind == 'float':
            return float(text.lower().replace('.inf', 'inf').replace('.nan', 'nan'))
        if kind == 'int':
            try:
                number = int(text, 0) if text[:2] in ('0o', '0x') else int(text)
                _ = str(number)
                return number
            except ValueError:
                # Python refuses to read or to write so many digits.
                line = node.start_mark.line + 1
                self._complain(path, line, 'a number', f'one of {len(text)} digits')
                return None
        return text

    def _complain(
        self, path: KeyPath, line: int, expected: str, actual: str, hint: str = ''
    ) -> None:
        self.problems.append(problem_at(path, line, expected, actual, hint))


#: What PyYAML says of common mistakes, and the fix of each.
_FIXES = {
    "but got '['": "Put what has brackets of its own in quotes: ['pose.covariance[0]'].",
    "'\\t'": 'Indent with spaces.',
    'expected <block end>': 'Indent all keys of a section by the same number of spaces.',
    'mapping values are not allowed': 'Write one `key: value` on a line, indented as those of its '
    'section; put a text with a colon in quotes.',
    "could not find expected ':'": 'Write `key: value`, with a colon and a space.',
}


def _hint(problem: str) -> str:
    """Return the fix of common mistakes; empty for anything else."""
    return next((fix for mistake, fix in _FIXES.items() if mistake in problem), '')


def _own(node: yaml.MappingNode) -> list[_Item]:
    """Return the keys of a mapping, with their values, that are no merge keys."""
    return [(key, value) for key, value in node.value if key.tag != _MERGE]


def _short(tag: str) -> str:
    return tag.replace(_TAG, '!!')
