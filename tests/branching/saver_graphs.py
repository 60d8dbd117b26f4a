"""Graphs of every kind for the saver, each doing the same again when it is given the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Overwrite, RetryPolicy, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict


@dataclass
class World:
    """What nodes know beside their state: which command they serve, and what they have tried."""

    command: int = 0
    tries: dict[str, int] = field(default_factory=dict)

    def name(self, node: str, state: Any) -> str:
        """An id that a message of this command has to itself, however the tasks are woven."""
        return f"{node}-{self.command}-{len(state['messages'])}"

    def fails(self, node: str, state: Any) -> bool:
        """Whether the last message asks for a failure; the second try goes well."""
        last = state["messages"][-1].text if state["messages"] else ""
        key = f"{node}-{self.command}"
        self.tries[key] = self.tries.get(key, 0) + 1
        return "fail" in last and self.tries[key] == 1


def last_human(state: Any) -> BaseMessage | None:
    return next((message for message in reversed(state["messages"]) if message.type == "human"), None)


def plain(world: World) -> StateGraph:
    """One node that replies."""

    async def reply(state: MessagesState) -> Any:
        if world.fails("reply", state):
            raise ValueError("as asked")
        usage = {"input_tokens": len(state["messages"]), "output_tokens": 1, "total_tokens": 1}
        return {"messages": [AIMessage("so?", id=world.name("reply", state), usage_metadata=usage)]}

    return _chain(MessagesState, reply=reply)


def agent(world: World) -> StateGraph:
    """An agent and its tools, each call a task of its own that asks first."""

    async def model(state: MessagesState) -> Any:
        name = world.name("model", state)
        if state["messages"] and state["messages"][-1].type == "human":
            count = 1 + len(state["messages"][-1].text) % 3
            calls = [{"name": "ask", "args": {"n": n}, "id": f"{name}-{n}"} for n in range(count)]
            return {"messages": AIMessage("", id=name, tool_calls=calls)}
        return {"messages": AIMessage("done", id=name)}

    async def tool(state: Any) -> Any:
        call = state["call"]
        answer = interrupt({"n": call["args"]["n"]}) if call["args"]["n"] else "free"
        message = ToolMessage(str(answer), id=f"{call['id']}-{world.command}", tool_call_id=call["id"])
        return {"messages": [message]}

    def route(state: MessagesState) -> Any:
        calls = getattr(state["messages"][-1], "tool_calls", None)
        return [Send("tool", {"messages": state["messages"], "call": call}) for call in calls] if calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tool", END])
    graph.add_edge("tool", "model")
    return graph


@dataclass
class Point:
    x: int
    tags: list[str]


class Card(BaseModel):
    title: str
    rows: list[dict[str, Any]] = []


class Wide(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[Any], operator.add]
    facts: Annotated[dict[str, Any], operator.or_]
    point: Point
    card: Card
    loose: Any
    text: str


def parallel(world: World) -> StateGraph:
    """Two nodes side by side that join, and channels of many kinds."""

    async def left(state: Wide) -> Any:
        at = len(state["messages"])
        if world.fails("left", state):
            raise KeyError("left")
        return {
            "messages": [AIMessage(["parts", {"type": "text", "text": "x"}], id=world.name("left", state))],
            "log": [{"at": at, "who": ("left", 1)}],
            "facts": {"left": {"deep": [1, 2.0, True, None, b"\0", {"at": at}]}},
            "loose": (at, {"a"} if at % 2 else frozenset()),
        }

    async def right(state: Wide) -> Any:
        at = len(state["messages"])
        message = SystemMessage("r\ud800\0", id=world.name("right", state), additional_kwargs={"t": (1, 2)})
        return {
            "messages": [message],
            "log": Overwrite([{"at": at, "message": message}]) if at % 4 == 3 else [[message, "mixed"], (message,)],
            "facts": {1: message, "right": [{"inner": [message, message]}]},
            "point": Point(at, ["p"]),
            "text": "long " * (at * 20),
        }

    async def join(state: Wide) -> Any:
        return {"card": Card(title="c", rows=[{"n": len(state["log"])}]), "loose": {"last": state["messages"][-1]}}

    graph = StateGraph(Wide)
    graph.add_node("left", left, retry_policy=RetryPolicy(max_attempts=1))
    graph.add_node("right", right)
    graph.add_node("join", join)
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "join")
    return graph


def nested(world: World) -> StateGraph:
    """A graph in a graph twice: one that begins anew each time, one that remembers. Both may ask."""

    def inner(name: str, **options: Any) -> Any:
        async def think(state: MessagesState) -> Any:
            return {"messages": [AIMessage("hm", id=world.name(f"{name}-think", state))]}

        async def ask(state: MessagesState) -> Any:
            human = last_human(state)
            answer = interrupt(name) if human and "ask" in human.text else "unasked"
            return {"messages": [AIMessage(str(answer), id=world.name(f"{name}-ask", state))]}

        return _chain(MessagesState, think=think, ask=ask).compile(**options)

    return _chain(MessagesState, fresh=inner("fresh"), stateful=inner("stateful", checkpointer=True))


def restless(world: World) -> StateGraph:
    """Nodes that change what is there: in place, by id, and by removing."""

    async def change(state: MessagesState) -> Any:
        messages = state["messages"]
        kind, at = len(messages) % 5, len(messages) // 2
        if kind == 0 and messages:
            messages[at].content = f"changed in {world.command}"
            messages[0].additional_kwargs["seen"] = [world.command]
        if kind == 1:
            twin = messages[at].model_copy(update={"content": f"edited in {world.command}"})
            return {"messages": [twin]}
        if kind == 2:
            return {"messages": [RemoveMessage(id=messages[0].id)]}
        if kind == 3 and len(messages) > 20:
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages[-3:]]}
        return {
            "messages": [ToolMessage("t", tool_call_id="c", id=world.name("change", state), artifact=Card(title="a"))]
        }

    async def reply(state: MessagesState) -> Any:
        several = [
            AIMessage("x" * n, id=f"{world.name('reply', state)}-{n}") for n in range(len(state["messages"]) % 12)
        ]
        return {"messages": several}

    return _chain(MessagesState, change=change, reply=reply)


def _merge(state: list[Any], writes: list[Any]) -> list[Any]:
    for write in writes:
        state = add_messages(state, write)
    return state


class Deltas(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_merge, snapshot_frequency=3)]


def deltas(world: World) -> StateGraph:
    """Messages that are stored as what each step adds."""

    async def reply(state: Deltas) -> Any:
        return {"messages": [AIMessage("so?", id=world.name("reply", state))]}

    async def again(state: Deltas) -> Any:
        return {"messages": [HumanMessage("and?", id=world.name("again", state))]}

    return _chain(Deltas, reply=reply, again=again)


def _chain(state: Any, **nodes: Any) -> StateGraph:
    graph = StateGraph(state)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph


GRAPHS: dict[str, Callable[[World], StateGraph]] = {
    make.__name__: make for make in (plain, agent, parallel, nested, restless, deltas)
}
