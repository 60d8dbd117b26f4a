"""How values are stored: what comes back is what the serde would bring back, and what is stored twice is there once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Overwrite, Send

from branching.encoding import FAN, Encoder, Name, PieceMissing, Shape, pack, unpack
from branching.pieces import Marks

SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


class OddMessage(HumanMessage):
    """Of a class that the serde does not know."""


class Unsure:
    """Does not say whether it is like another, as arrays do not."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("which of them?")

    __hash__ = None

    def _asdict(self) -> dict[str, Any]:
        return {"like": "a named tuple"}


@dataclass
class Store:
    """Pieces as the database holds them, and an encoder over them."""

    encoder: Encoder = field(default_factory=lambda: Encoder(SERDE))
    pieces: dict[Name, bytes] = field(default_factory=dict)
    added: int = 0
    fetches: int = 0

    def put(self, value: Any, before: Shape | None = None) -> Shape:
        new: dict[Name, bytes] = {}
        shape = unpack(pack(self.encoder.encode(value, new, before, self.fetch)))
        self.added = len(new.keys() - self.pieces.keys())
        self.pieces |= new
        return shape

    def get(self, shape: Shape, *, cold: bool = False) -> Any:
        encoder = Encoder(SERDE) if cold else self.encoder
        return encoder.decode([shape], self.fetch)[0]

    def fetch(self, names: set[Name]) -> Mapping[Name, bytes]:
        self.fetches += 1
        return {name: self.pieces[name] for name in names if name in self.pieces}


def said(count: int, start: int = 0) -> list[AnyMessage]:
    return [HumanMessage(f"text {n}", id=f"{n}") for n in range(start, start + count)]


M = HumanMessage("hi", id="m")


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        bytearray(b"more"),
        "x" * 1000,
        {"a": ["b", {"c": 1.5}], 2: "int key"},
        M,
        [M],
        [],
        (M, AIMessage("a", id="a")),
        ["mixed", M, ("deep", [M, {"m": M}])],
        {"messages": said(20), "more": {"one": M, "none": None}},
        {1: M},
        Send("node", {"messages": said(9), "call": 1}),
        Send("node", [M], timeout=2),
        Overwrite(said(3)),
        [Send("node", M), Send("node", "text")],
        HumanMessage("\0 and \ud800", id="m", additional_kwargs={"t": (1, (2,)), "s": {1}}),
        [ToolMessage("t", tool_call_id="c", artifact={"point": (1, 2), "own": OddMessage("x", id="x")})],
        [OddMessage("x", id="x"), M],
        OddMessage("x", id="x"),
    ],
    ids=repr,
)
def test_values_come_back_as_the_serde_brings_them_back(value: Any) -> None:
    store = Store()
    shape = store.put(value)
    wanted = SERDE.loads_typed(SERDE.dumps_typed(value))
    for got in (store.get(shape), store.get(shape, cold=True)):
        assert got == wanted or isinstance(value, bytearray)
        assert SERDE.dumps_typed(got) == SERDE.dumps_typed(wanted)
        assert type(got) is type(wanted)


edits = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 70)),
        st.tuples(st.just("cut"), st.integers(0, 99)),
        st.tuples(st.just("drop"), st.integers(0, 99)),
        st.tuples(st.just("change"), st.integers(0, 99)),
        st.tuples(st.just("odd"), st.integers(0, 99)),
        st.tuples(st.just("back"), st.integers(0, 99)),
    ),
    max_size=12,
)


@given(edits)
@settings(derandomize=True, max_examples=80, deadline=None)
def test_a_list_comes_back_whatever_is_done_to_it(given: list[tuple[str, int]]) -> None:
    store, messages, shape, history = Store(), said(3), None, []
    for turn, (what, at) in enumerate(given):
        place = at % len(messages) if messages else 0
        if what == "add":
            messages = [*messages, *said(at, start=100 * turn)]
        elif what == "cut":
            messages = messages[:place]
        elif what == "drop":
            messages = messages[:place] + messages[place + 1 :]
        elif what == "change" and messages:
            messages[place].content = f"changed in {turn}"
            messages[place].additional_kwargs["in"] = [turn]
        elif what == "odd":
            messages = [*messages[:place], OddMessage("odd", id=str(turn)), *messages[place:]]
        elif history:
            shape, messages = history[at % len(history)]
            messages = store.get(shape)
        shape = store.put(messages, shape)
        history.append((shape, SERDE.loads_typed(SERDE.dumps_typed(messages))))
        messages = [message for message in messages if not isinstance(message, dict)]
    for shape, wanted in history:
        assert store.get(shape) == store.get(shape, cold=True) == wanted
    marks = Marks()
    marks.add([shape for shape, _ in history], 1)
    assert set(marks.all(store.fetch)) == set(store.pieces), "nothing is stored that nothing refers to"


@pytest.mark.parametrize("length", [0, 1, 7, 8, 63, 64, 500, 4096])
def test_one_more_message_costs_itself_and_a_node_on_each_level(length: int) -> None:
    store, messages = Store(), said(length)
    before = store.put(messages)
    store.put([*messages, M], before)
    levels = 0
    while length >= FAN ** (levels + 1):
        levels += 1
    assert store.added <= 1 + levels + 1
    store.put(messages, before)
    assert store.added == 0, "a copy costs nothing"


def test_a_long_list_is_read_in_one_go_for_each_level() -> None:
    store = Store()
    shape = store.put(said(1000))
    store.fetches = 0
    assert len(store.get(shape, cold=True)) == 1000
    assert store.fetches == 4
    store.get(shape)
    assert store.fetches == 4, "what was written is known"


def test_a_change_in_place_is_seen_and_costs_no_more_than_it_changes() -> None:
    store, messages = Store(), said(600)
    before = store.put(messages)
    messages[300].content = "changed"
    after = store.put(messages, before)
    assert store.added == 1 + 3
    assert store.get(before)[300].text == "text 300"
    assert store.get(after)[300].text == "changed"


def test_what_is_read_is_ones_own() -> None:
    store = Store()
    message = AIMessage("a", id="a", additional_kwargs={"deep": [{"er": 1}]}, response_metadata={"x": {}})
    shape = store.put([message, M])
    for _ in range(2):
        first, second = store.get(shape)
        assert first == message
        first.additional_kwargs["deep"][0]["er"] = 2
        first.response_metadata["x"]["y"] = 1
        first.tool_calls.append({"name": "n", "args": {}, "id": "i"})
        second.content = "spoiled"
        second.extra = "spoiled"
    message.additional_kwargs["deep"].append("later")
    assert store.get(shape)[0].additional_kwargs == {"deep": [{"er": 1}]}


def test_a_large_value_is_stored_once_however_often_it_is_put() -> None:
    store = Store()
    first, second = store.put({"text": "x" * 1000}), store.put({"text": "x" * 1000})
    assert first == second
    assert len(store.pieces) == 1
    assert len(pack(first)) < 100


def test_a_message_that_cannot_be_compared_is_written_again() -> None:
    store = Store()
    before = store.put(said(20))
    messages = said(20)
    messages[3].additional_kwargs["x"] = Unsure()
    after = store.put(messages, before)
    assert store.get(after)[3].additional_kwargs == {"x": {"like": "a named tuple"}}
    assert store.get(after)[4:] == said(16, start=4)


def test_what_is_lost_is_said() -> None:
    store = Store()
    shape = store.put(said(20))
    store.pieces.popitem()
    with pytest.raises(PieceMissing, match="1 of .* are gone"):
        store.get(shape, cold=True)


def test_what_is_held_is_bounded_by_what_it_weighs() -> None:
    store = Store()
    store.encoder._kept._limit = 50_000
    shapes = [store.put(said(10, start=n)) for n in range(0, 200, 10)]
    assert len(store.encoder._kept._entries) < 30
    assert [store.get(shape)[0].id for shape in shapes] == [str(n) for n in range(0, 200, 10)]
