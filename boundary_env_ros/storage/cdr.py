# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records, and messages of any type, straight from the bytes of a bag.

For each record class and message definition a function is generated, once, that reads the bytes
in one go, by the rules of :mod:`boundary_env_ros.core.serialization`. A test holds it to what an
independent decoder and conversion give, which take three times as long: reading a long bag is
little else.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
import struct
from types import SimpleNamespace
import typing
from typing import Any, TypeVar

from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS, RosTime, Stamp
from boundary_env_ros.core.type_hints import element_of, hints_of, is_enum, is_record, optional_of
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import open_class
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.definitions import Field, parse_definition, PRIMITIVES

T = TypeVar('T')

Decoder = Callable[[bytes], T]

# struct code and size of each primitive but strings, and what Python makes of it.
CODES: Mapping[str, tuple[str, int, type]] = {
    'bool': ('?', 1, bool),
    'byte': ('B', 1, int),
    'char': ('B', 1, int),
    'int8': ('b', 1, int),
    'uint8': ('B', 1, int),
    'int16': ('h', 2, int),
    'uint16': ('H', 2, int),
    'int32': ('i', 4, int),
    'uint32': ('I', 4, int),
    'int64': ('q', 8, int),
    'uint64': ('Q', 8, int),
    'float32': ('f', 4, float),
    'float64': ('d', 8, float),
}

#: Stamps messages for the tools of ROS; no record has it.
HEADER = 'std_msgs/Header'

#: Records that a message has whether they are known or not, and the field that is unknown if not.
UNKNOWN_BY: Mapping[type, str] = {Stamp: 'clock', ClockReading: 'ros'}

#: How a message begins that is plain CDR in the byte order of every processor that ROS 2 runs on.
_PLAIN = b'\x00\x01'
_HEADER = 4

# What the generated functions raise for bytes that are something else; KeyError for a number that
# is no constant.
_WRONG = (struct.error, IndexError, ValueError, TypeError, OverflowError)


def record_decoder(
    cls: type[T], type_name: str, definition: str, most: int = size_limits.ELEMENTS
) -> Decoder[T]:
    """
    Return a function that makes records from serialized messages.

    Parameters
    ----------
    cls
        The class of the records, one of those that mirror messages.
    type_name, definition
        Name and definition of the message, as the bag has them.
    most
        Elements of one array of messages or texts.

    Raises
    ------
    RecordError
        If the message lacks a field without which the record means nothing, or has one of another
        type. The function itself raises it for bytes that are no such message, or more than the
        limits allow.

    """
    return matched_decoder(typing.cast(type, cls), type_name, definition, most=most)[0]


@lru_cache(maxsize=256)  # To compile one takes as long as 20 steps.
def matched_decoder(
    cls: Any,
    type_name: str,
    definition: str,
    exact: bool = False,
    most: int = size_limits.ELEMENTS,
) -> tuple[Decoder[Any], Unlike]:
    """Return a :func:`record_decoder`, and in what the definition is unlike the class."""
    package, *_, name = type_name.split('/')
    source = _Source(parse_definition(type_name, definition), exact=exact, most=most)
    read = compiled(source.reader(f'{package}/{name}', cls), source.lines, source.names)

    def decode(data: bytes) -> Any:
        if data[:2] != _PLAIN:
            begin = f'bytes that begin with {data[:2]!r}'
            raise _no_such(cls, f'{begin}, which is no plain CDR with the low bytes first')
        try:
            record, end = read(data, _HEADER)
        except KeyError as error:
            raise _no_such(cls, f'{error} is not a valid constant') from error
        except _WRONG as error:
            raise _no_such(cls, f'{type(error).__name__}: {error}') from error
        if end > len(data):
            raise _no_such(cls, f'it ends {end - len(data)} bytes too early')
        return record

    return decode, source.unlike


class DecodedMessage(SimpleNamespace):
    """
    A message of any type, with the fields of its definition, and their names as ``__slots__``.

    ``uint8[]`` are bytes, other numbers an :class:`array.array`.
    """


class _Passed(DecodedMessage):
    """A message that no record has: it is read, and nothing is made of it."""


def _no_such(cls: type, actual: str) -> RecordError:
    expected, fix = 'its definition', 'Does the definition belong to the message?'
    if cls is not DecodedMessage:
        expected = f'the fields of {cls.__name__}'
        fix = 'Was it written by another version of this package?'
    return RecordError(f'Wrong message (expected a message with {expected}, got {actual}). {fix}')


def _too_many(most: int, number: int) -> None:
    raise size_limits.exceeded('an array', 'elements', most, str(number))


def compiled(name: str, lines: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of that name in a text that knows some names, and that we have made."""
    exec(compile('\n'.join(lines), '<messages>', 'exec'), names)  # noqa: S102
    return typing.cast(Callable[..., Any], names[name])


class _Source:
    """
    Source text of functions ``r0, r1, ...``, from bytes and offset to value and next offset.

    Names in the text are our own; those in a bag only ever select among them.
    """

    def __init__(
        self, definitions: Mapping[str, tuple[Field, ...]], *, exact: bool, most: int
    ) -> None:
        self._definitions = definitions
        self.lines: list[str] = []
        self.unlike = Unlike(exact=exact)
        self.names: dict[str, object] = {'too_many': _too_many, 'most': most, 'array': array}
        self._readers: dict[tuple[str, object, bool], str] = {}
        for code, *_ in CODES.values():
            self.names[f'get_{code}'] = struct.Struct(f'<{code}').unpack_from

    def reader(self, type_name: str, cls: Any, optional: bool = False) -> str:
        """
        Return the name of the function for a message type.

        Parameters
        ----------
        type_name
            ``package/Name``.
        cls
            Record class to make, or :class:`DecodedMessage`.
        optional
            Of one that is :data:`UNKNOWN_BY` a field: give None if it is.

        """
        key = (type_name, cls, optional)
        if key in self._readers:
            return self._readers[key]
        name = self._readers[key] = f'r{len(self._readers)}'
        if type_name not in self._definitions:
            raise RecordError(
                f'The bag has no definition of {type_name}. Record it again with its definitions.'
            )
        definition = self._definitions[type_name]
        hints: Mapping[str, Any] = {'sec': int, 'nanosec': int}
        if cls in (DecodedMessage, _Passed):
            hints = {field.name: any_hint(field, cls) for field in definition}
        elif cls is not RosTime:
            hints = hints_of(cls)
        unknown: dict[str, Any] = {}
        if is_record(cls):
            # A header is for the tools of ROS: no record has one.
            present = [field.name for field in definition if field.type != HEADER]
            unknown = self.unlike.match(cls, present, type_name)
        wanted = tuple(hints)

        # Without its clock all of it is unknown.
        key_field = UNKNOWN_BY[cls] if optional else ''
        lines = [f'def {name}(b, o):']
        variables = {field: f'v{i}' for i, field in enumerate(wanted)}
        variables |= {field: self._constant(value) for field, value in unknown.items()}
        for field in definition:
            target = variables.get(field.name)
            if target is None:
                lines.extend(self._field(field, any_hint(field, _Passed), '_'))
                continue
            hint = hints[field.name]
            hint = hint | None if field.name == key_field else hint
            lines.extend(self._field(field, hint, target))
        if not definition:
            lines.extend(('    b[o]', '    o += 1'))  # An empty message has one byte on the wire.
        if key_field:
            lines.extend((f'    if {variables[key_field]} is None:', '        return None, o'))
        if cls is RosTime:
            lines.append(f'    return v0 * {NANOSECONDS} + v1, o')
        elif cls is _Passed:
            lines.append('    return None, o')
        elif cls is DecodedMessage:
            # In a message of any type a field may be called like a word of Python.
            pairs = ', '.join(f'{field!r}: {value}' for field, value in variables.items())
            made = self._constant(_class_of(type_name, wanted))
            lines.append(f'    return {made}(**{{{pairs}}}), o')
        else:
            lines.append(f'    r = {self._constant(open_class(cls))}()')
            lines.extend(f'    r.{field} = {value}' for field, value in variables.items())
            lines.append(f'    r.__class__ = {self._constant(cls)}')
            lines.append('    return r, o')
        self.lines.extend(lines)
        return name

    def _constant(self, value: object) -> str:
        name = f'c{id(value)}'
        self.names[name] = value
        return name

    def _field(self, field: Field, hint: Any, target: str) -> list[str]:
        """Return the lines that read one field into a variable as its hint says."""
        inner = optional_of(hint)
        element = element_of(hint)
        nested = field.type not in PRIMITIVES
        if hint is bytes and field.type in ('uint8', 'byte') and field.array:
            # Of a fixed size it might be read behind the end without end.
            return [*_count(field), f'    {target} = b[o:o + n]', '    o += n', '    b[o - 1]']
        if nested and field.array and (element is not None or inner is not None):
            read = self.reader(field.type, element if element is not None else inner)
            result = 'tuple(items)' if element is not None else 'items[0] if items else None'
            return [*self._items(field, f'item, o = {read}(b, o)'), f'    {target} = {result}']
        if nested and not field.array:
            optional = inner in UNKNOWN_BY
            made = inner if optional else hint
            if is_record(made) or made in (RosTime, DecodedMessage, _Passed):
                return [f'    {target}, o = {self.reader(field.type, made, optional)}(b, o)']
        if hint is array:
            return self._numbers(field, target, _count(field))
        wanted = element or inner or hint
        if not nested and field.array and element is not None and _holds(wanted, field.type):
            return self._values(field, element, target)
        if not nested and not field.array and element is None and _holds(wanted, field.type):
            return [
                *_scalar(field.type, target),
                *self._converted(field.type, hint, inner, target),
            ]
        expected = f'{field.name!r} as {getattr(hint, "__name__", hint)}'
        raise RecordError(
            f'Wrong type of a field (expected {expected}, got {field}). Read it with the version '
            'of this package that made it.'
        )

    def _values(self, field: Field, element: Any, target: str) -> list[str]:
        """Return the lines that read an array of primitives."""
        if field.type == 'string':
            read = [line[4:] for line in _scalar('string', 'item')]
            lines, items = self._items(field, *read), 'items'
        else:
            lines, items = self._numbers(field, target, _few(field)), target
        # Of an array of true and false the bytes are read.
        if element is not natural_type(field.type) or element is bool:
            items = f'map({self._made(element)}, {items})'
        return [*lines, f'    {target} = tuple({items})']

    def _numbers(self, field: Field, target: str, count: Sequence[str]) -> list[str]:
        """Return the lines that read numbers as they are."""
        code, size, _ = _code(field.type)
        return [
            *count,
            f"    {target} = array('{'B' if code == '?' else code}')",
            '    if n:',
            *(f'    {line}' for line in _align(size)),
            f'        {target}.frombytes(b[o:o + {size} * n])',
            f'        o += {size} * n',
            '        b[o - 1]',
        ]

    def _made(self, cls: Any) -> str:
        """Return the name of a function that makes a value of a plain class or an enum."""
        if not is_enum(cls):
            return self._constant(cls)
        name = f'e{id(cls)}'
        # A look-up costs a tenth of calling the class.
        self.names[name] = {member.value: member for member in cls}.__getitem__
        return name

    def _converted(self, primitive: str, hint: Any, inner: Any, target: str) -> list[str]:
        """Return the lines that turn what a primitive gives into what the record wants."""
        wanted = hint if inner is None else inner
        natural = natural_type(primitive)
        if wanted is float and inner is not None:
            return [f'    {target} = None if {target} != {target} else {target}']
        made = target if wanted is natural else f'{self._made(wanted)}({target})'
        if inner is not None:
            return [f'    {target} = {made} if {target} else None']
        return [] if made == target else [f'    {target} = {made}']

    def _items(self, field: Field, *read: str) -> list[str]:
        """Return the lines that read elements one by one into ``items``."""
        return [
            *_few(field),
            '    items = []',
            '    for _ in range(n):',
            *(f'        {line.strip()}' for line in read),
            '        items.append(item)',
        ]


def _align(size: int) -> list[str]:
    if size <= _HEADER:
        return [f'    o = o + {size - 1} & -{size}'] if size > 1 else []
    # Alignment counts from behind the header.
    return [f'    o = (o + {size - 1 - _HEADER} & -{size}) + {_HEADER}']


def _count(field: Field) -> list[str]:
    """Return the lines that put the number of elements into ``n``."""
    if field.size is not None:
        return [f'    n = {field.size}']
    return [*_align(4), '    n = get_I(b, o)[0]', '    o += 4']


def _few(field: Field) -> list[str]:
    """Return the same lines for elements that each become an object."""
    return [*_count(field), '    if n > most:', '        too_many(most, n)']


def _scalar(primitive: str, target: str) -> list[str]:
    if primitive == 'string':
        return [
            *_align(4),
            '    n = get_I(b, o)[0]',
            '    o += 4',
            # The length counts a final zero; some writers leave both out for an empty string.
            f"    {target} = b[o:o + n - 1].decode() if n > 1 else ''",
            '    o += n',
        ]
    code, size, _ = _code(primitive)
    if primitive in ('uint8', 'byte', 'char'):
        return [f'    {target} = b[o]', '    o += 1']
    if primitive == 'bool':
        return [f'    {target} = b[o] != 0', '    o += 1']
    return [*_align(size), f'    {target} = get_{code}(b, o)[0]', f'    o += {size}']


def _code(primitive: str) -> tuple[str, int, type]:
    if primitive not in CODES:
        raise RecordError(
            f'Unknown type in a message (expected numbers and strings, got {primitive}, which is '
            'not read here). Publish a string in its place.'
        )
    return CODES[primitive]


def _holds(wanted: Any, primitive: str) -> bool:
    """Return whether a type in a record can hold what a primitive says, if wider."""
    natural = natural_type(primitive)
    if str in (wanted, natural):
        return wanted is natural
    whole = isinstance(wanted, type) and issubclass(wanted, int)
    return wanted is float or (whole and natural is not float)


def _class_of(type_name: str, fields: Sequence[str]) -> type[DecodedMessage]:
    """Return a class for the messages of one type, which lists its fields as those of ROS do."""
    made: Any = type(type_name, (DecodedMessage,), {})
    made.__slots__ = tuple(fields)
    return typing.cast(type[DecodedMessage], made)


def any_hint(field: Field, message: Any) -> Any:
    """Return what a field is in a message of any type, where a message is one of a class."""
    if field.type in PRIMITIVES and field.type != 'string':
        if not field.array:
            return natural_type(field.type)
        return bytes if field.type in ('uint8', 'byte') else array
    made: Any = str if field.type == 'string' else message
    return tuple[made, ...] if field.array else made


def natural_type(primitive: str) -> type:
    """Return what a primitive is in Python, of 'float32' a float."""
    return str if primitive == 'string' else _code(primitive)[2]
