"""How a channel's value is stored: messages apart, each once by its content, and long lists as trees of references.

A message is a *piece*, named by a digest of its bytes. A list of messages is a tree whose leaves hold the names of up
to `FAN` messages and whose nodes hold the names of up to `FAN` nodes below; each of them is a piece too, and the top
stands in the checkpoint itself. Two lists that begin alike share all pieces but those on the way to where they part.
So one more message costs one piece for it and one on each level, however long the list is. Any other value that is
not small is one piece, so that checkpoints in which it is the same share it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from operator import attrgetter
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Send

from branching.recent import Recent

FAN = 8
"""How many names a node holds. Few make a deep tree, many make each new node large."""

NAME = 16
"""Bytes in a name."""

SMALL = 128
"""Bytes up to which a value stands in the checkpoint itself: a piece costs about as much on its own."""

OVERHEAD = 2000
"""Bytes that a message in memory takes beside its text, or thereabouts."""

SMALL_VALUE, LARGE_VALUE, MESSAGE, MESSAGES, LIST, DICT, SEND = range(7)

PLAIN = {str, int, float, bool, bytes, type(None)}

LOOKS = (type, attrgetter("__dict__"), attrgetter("__pydantic_extra__"))
"""What makes a message what it is."""

Name = bytes
Shape = list[Any]
"""A value with names where messages were: `[kind, ...]`, of plain lists, numbers, strings and bytes."""

Top = tuple[int, bytes]
"""The levels below the top of a tree, and the names in it: what a list of messages is known by."""

Fetch = Callable[[set[Name]], Mapping[Name, bytes]]
"""Reads pieces from the database. A name that is not there is left out."""


class PieceMissing(LookupError):
    """A stored value refers to a piece that is gone."""


class Encoder:
    """Turns values into shapes and pieces, and back. Holds what it has seen lately, so that little is done twice.

    A value comes back as the serde would bring it back, and what comes back is the caller's own: whatever is done to
    it, what is held stays as stored. Nothing held is ever out of date, since a name says what its piece is. Safe to
    share between threads.
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        self._pieces: Recent[Name, bytes] = Recent(16_000_000, len)
        self._kept: Recent[Name, _Kept] = Recent(64_000_000, lambda kept: kept.size)
        self._lists: Recent[Top, _Known] = Recent(64_000_000, lambda known: known.size)

    def encode(
        self, value: Any, pieces: dict[Name, bytes], before: Shape | None = None, fetch: Fetch | None = None
    ) -> Shape:
        """The shape of `value`. Adds to `pieces` what it refers to, except what the stored value `before` has."""
        kind = type(value)
        if isinstance(value, BaseMessage):
            return [MESSAGE, self._keep(value, pieces).name]
        if kind in (list, tuple) and value and all(issubclass(each, BaseMessage) for each in set(map(type, value))):
            return self._encode_messages(value, pieces, self._recall(before, fetch))
        if kind in (list, tuple) and _hold_messages(value):
            return [LIST, [self.encode(item, pieces) for item in value]]
        if kind is dict and _hold_messages(value.values()) and all(type(key) is str for key in value):
            return [DICT, [[key, self.encode(item, pieces)] for key, item in value.items()]]
        if kind is Send and value.timeout is None and _hold_messages([value.arg]):
            return [SEND, value.node, self.encode(value.arg, pieces)]
        written, data = self.serde.dumps_typed(value)
        if len(data) <= SMALL:
            return [SMALL_VALUE, written, bytes(data)]
        return [LARGE_VALUE, written, _add(pieces, bytes(data), b"value")]

    def decode(self, shapes: Sequence[Shape], fetch: Fetch) -> list[Any]:
        """The values of `shapes`, with few fetches for all of them together. Raises `PieceMissing`."""
        leaves = [leaf for shape in shapes for leaf in leaves_of(shape)]
        lists = {top: known.kept for top, known in self._lists.get_many(_tops(leaves)).items()}
        levels = self._read_lists([leaf for leaf in leaves if tuple(leaf[1:]) not in lists], fetch)
        names = {name for names, *_ in levels.values() for name in names}
        kept = self._read_messages(names | {leaf[1] for leaf in leaves if leaf[0] == MESSAGE}, fetch)
        lists |= {top: [kept[name] for name in names] for top, (names, *_) in levels.items()}
        large = self._read_pieces({leaf[2] for leaf in leaves if leaf[0] == LARGE_VALUE}, fetch)
        return [self._build(shape, lists, kept, large) for shape in shapes]

    def _encode_messages(self, messages: Sequence[BaseMessage], pieces: dict[Name, bytes], known: _Known) -> Shape:
        kept, same = self._match(messages, pieces, known)
        levels, whole = [[*known.levels[0][:same], *(each.name for each in kept[same:])]], same
        while len(levels[-1]) > FAN:
            whole //= FAN
            old = known.levels[len(levels)][:whole] if len(levels) < len(known.levels) else []
            nodes = [b"".join(group) for group in _groups(levels[-1], start=len(old) * FAN)]
            levels.append([*old, *(_add(pieces, node, b"node") for node in nodes)])
        self._pieces.put_many({name: pieces[name] for level in levels[1:] for name in level if name in pieces})
        top = len(levels) - 1, b"".join(levels[-1])
        self._lists.put_many({top: _Known.of(kept, levels, known, same)})
        return [MESSAGES, *top]

    def _match(
        self, messages: Sequence[BaseMessage], pieces: dict[Name, bytes], known: _Known
    ) -> tuple[list[_Kept], int]:
        """The messages as they are kept, and how many at the beginning are known.

        A message that is as it was stays what it was; any may have been changed where it stands.
        """
        old = known.kept[: len(messages)]
        mine, theirs = _looks(messages[: len(old)]), [column[: len(old)] for column in known.looks]
        if _equal(mine, theirs):
            return [*old, *(self._keep(message, pieces) for message in messages[len(old) :])], len(old)
        are_same = [*map(_equal, zip(*mine, strict=True), zip(*theirs, strict=True))]
        kept = [
            each if is_same else self._keep(message, pieces)
            for message, each, is_same in zip_longest(messages, old, are_same)
        ]
        return kept, [*are_same, False].index(False)

    def _keep(self, message: BaseMessage, pieces: dict[Name, bytes]) -> _Kept:
        """Write the message out, and hold it as it will come back, which need not be how it was given."""
        kind, piece = self.serde.dumps_typed(message)
        if kind != "msgpack":
            raise TypeError(f"A message was written as {kind}, not as msgpack.")
        name = _add(pieces, piece, b"message")
        return self._read_messages({name}, lambda names: {name: piece})[name]

    def _recall(self, before: Shape | None, fetch: Fetch | None) -> _Known:
        """What the list that `before` stands for consists of."""
        if before is None or before[0] != MESSAGES or fetch is None:
            return NOTHING_KNOWN
        top = (before[1], before[2])
        if known := self._lists.get_many([top]).get(top):
            return known
        levels = self._read_lists([before], fetch)[top]
        kept = self._read_messages(set(levels[0]), fetch)
        return _Known.of([kept[name] for name in levels[0]], levels)

    def _read_lists(self, leaves: Iterable[Shape], fetch: Fetch) -> dict[Top, list[list[Name]]]:
        """For each list among `leaves`, by its top: the names on each level, those of its messages first."""
        found = {top: [split(top[1])] for top in _tops(leaves)}
        for level in range(max((level for level, _ in found), default=0), 0, -1):
            # A list joins in at its own height, so that the nodes of all are read together.
            joined = [levels for top, levels in found.items() if top[0] >= level]
            nodes = self._read_pieces({name for levels in joined for name in levels[0]}, fetch)
            for levels in joined:
                levels.insert(0, [name for node in levels[0] for name in split(nodes[node])])
        return found

    def _read_pieces(self, names: set[Name], fetch: Fetch) -> dict[Name, bytes]:
        found = self._pieces.get_many(names)
        missing = _fetched(names - found.keys(), fetch)
        self._pieces.put_many(missing)
        return found | missing

    def _read_messages(self, names: set[Name], fetch: Fetch) -> dict[Name, _Kept]:
        found = self._kept.get_many(names)
        missing = _fetched(names - found.keys(), fetch)
        if not missing:
            return found
        # Read as one list: one call is faster than many.
        listed = b"\xdd" + len(missing).to_bytes(4, "big") + b"".join(missing.values())
        messages = self.serde.loads_typed(("msgpack", listed))
        new = {
            name: _Kept.of(name, piece, message)
            for (name, piece), message in zip(missing.items(), messages, strict=True)
        }
        self._kept.put_many(new)
        return found | new

    def _build(
        self,
        shape: Shape,
        lists: Mapping[Top, list[_Kept]],
        kept: Mapping[Name, _Kept],
        large: Mapping[Name, bytes],
    ) -> Any:
        kind = shape[0]
        if kind == SMALL_VALUE:
            return self.serde.loads_typed((shape[1], shape[2]))
        if kind == LARGE_VALUE:
            return self.serde.loads_typed((shape[1], large[shape[2]]))
        if kind == MESSAGE:
            return kept[shape[1]].copy()
        if kind == MESSAGES:
            return [each.copy() for each in lists[shape[1], shape[2]]]
        if kind == SEND:
            return Send(shape[1], self._build(shape[2], lists, kept, large))
        if kind == DICT:
            return {key: self._build(item, lists, kept, large) for key, item in shape[1]}
        return [self._build(item, lists, kept, large) for item in shape[1]]


class _Refused:
    """What comes back for a message whose class the serde does not allow. It is like no message."""

    __pydantic_extra__ = None

    def __init__(self, value: Any) -> None:
        self.value = value


class _Kept(NamedTuple):
    """A message as it comes back."""

    name: Name
    message: BaseMessage | _Refused
    flat: list[str]
    """The fields that are dicts or lists of what cannot be changed."""
    deep: list[str]
    """Others that can be changed in place."""
    size: int
    """Bytes in memory, roughly."""

    @classmethod
    def of(cls, name: Name, piece: bytes, value: Any) -> _Kept:
        message = value if isinstance(value, BaseMessage) else _Refused(value)
        fields = [(field, item) for field, item in message.__dict__.items() if type(item) not in PLAIN]
        flat = [field for field, item in fields if _is_flat(item)]
        return cls(name, message, flat, [field for field, _ in fields if field not in flat], len(piece) + OVERHEAD)

    def copy(self) -> Any:
        """The message for one to do with as one likes. Pydantic's own way takes several times as long."""
        message = self.message
        if isinstance(message, _Refused):
            return copy.deepcopy(message.value)
        twin = message.__class__.__new__(message.__class__)
        fields = message.__dict__.copy()
        for field in self.flat:
            fields[field] = fields[field].copy()
        for field in self.deep:
            fields[field] = _own(fields[field])
        _set(twin, "__dict__", fields)
        _set(twin, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
        _set(twin, "__pydantic_extra__", _own(message.__pydantic_extra__))
        _set(twin, "__pydantic_private__", _own(message.__pydantic_private__))
        return twin


class _Known(NamedTuple):
    """A stored list: its messages, how they look, and the names on each level of its tree, the messages' own first."""

    kept: list[_Kept]
    looks: list[list[Any]]
    levels: list[list[Name]]
    size: int

    @classmethod
    def of(cls, kept: list[_Kept], levels: list[list[Name]], before: _Known | None = None, same: int = 0) -> _Known:
        """What is known of a list, some of it from the one before, with which it has the first messages in common."""
        new = _looks([each.message for each in kept[same:]])
        looks = [old[:same] + more for old, more in zip(before.looks, new, strict=True)] if before else new
        is_longer = before is not None and same == len(before.kept)
        size = before.size + sum(each.size for each in kept[same:]) if is_longer else sum(each.size for each in kept)
        return cls(kept, looks, levels, size)


NOTHING_KNOWN = _Known([], [[] for _ in LOOKS], [[]], 0)


def pack(shape: Any) -> bytes:
    """A shape, or anything made of the same, as bytes."""
    return ormsgpack.packb(shape, option=ormsgpack.OPT_REPLACE_SURROGATES)


def unpack(data: bytes) -> Any:
    """What `pack` was given."""
    return ormsgpack.unpackb(bytes(data))


_set = object.__setattr__


def _looks(messages: Iterable[Any]) -> list[list[Any]]:
    """What tells whether messages are the same, in columns, which are compared in one go."""
    return [list(map(look, messages)) for look in LOOKS]


def _is_flat(value: Any) -> bool:
    if type(value) not in (dict, list):
        return False
    return all(type(item) in PLAIN for item in (value.values() if type(value) is dict else value))


def _own(value: Any) -> Any:
    """A copy, deep where it can be changed in place."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is dict:
        return {key: _own(item) for key, item in value.items()} if value else {}
    if kind is list:
        return [_own(item) for item in value] if value else []
    return copy.deepcopy(value)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # an array, for one, does not say
        return False


def _hold_messages(values: Iterable[Any]) -> bool:
    return any(
        isinstance(value, BaseMessage)
        or (type(value) in (list, tuple) and _hold_messages(value))
        or (type(value) is dict and _hold_messages(value.values()))
        or (type(value) is Send and _hold_messages([value.arg]))
        for value in values
    )


def _add(pieces: dict[Name, bytes], piece: bytes, kind: bytes) -> Name:
    name = blake2b(piece, digest_size=NAME, person=kind).digest()
    pieces[name] = piece
    return name


def _groups(names: Sequence[Name], *, start: int) -> Iterator[Sequence[Name]]:
    return (names[at : at + FAN] for at in range(start, len(names), FAN))


def split(piece: bytes) -> list[Name]:
    """The names in a node, or in the top of a tree."""
    return [piece[start : start + NAME] for start in range(0, len(piece), NAME)]


def _fetched(names: set[Name], fetch: Fetch) -> dict[Name, bytes]:
    if not names:
        return {}
    found = {name: bytes(piece) for name, piece in fetch(names).items()}  # PostgreSQL hands out memory views
    if len(found) < len(names):
        raise PieceMissing(f"{len(names) - len(found)} of {len(names)} stored pieces are gone.")
    return found


def _tops(leaves: Iterable[Shape]) -> set[Top]:
    """The lists among the leaves."""
    return {(leaf[1], leaf[2]) for leaf in leaves if leaf[0] == MESSAGES}


def leaves_of(shape: Shape) -> Iterator[Shape]:
    """The parts of a shape that are no containers."""
    kind = shape[0]
    if kind == LIST:
        for item in shape[1]:
            yield from leaves_of(item)
    elif kind == DICT:
        for _, item in shape[1]:
            yield from leaves_of(item)
    elif kind == SEND:
        yield from leaves_of(shape[2])
    else:
        yield shape
