"""The assistants that a conversation can be held with: each is a graph, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _
from langgraph.graph import StateGraph

from branching import history
from branching.assistants import cards, chat, concierge, echo, guide, planner
from branching.assistants.cards import Card
from branching.context import Reading
from branching.exceptions import UnknownAssistant
from branching.llm import Models

BY_RULES = _("No language model is configured: fixed rules answer here, in English and Chinese.")

OF_THE_MODEL = ("CHAT_MODEL", "CHAT_MODEL_BASE_URL", "CHAT_CONTEXT_TOKENS", "CHAT_TIMEOUT", "CHAT_RETRIES")
OF_THE_PACE = ("CHAT_TOKEN_DELAY_MS",)


@dataclass(frozen=True)
class Prompt:
    """What a node sends the model, as it follows from the state before it."""

    of: Callable[..., Reading]
    """Of the models and the state; with the `choices` too, where the assistant takes them."""
    told_by: tuple[str, ...] = ()
    """The nodes from whose work the first message, the one of the system, is made."""
    joined_by: tuple[str, ...] = ()
    """The nodes that add messages to it."""
    note: str = ""
    """What the node asks the model beside, in words."""


@dataclass(frozen=True)
class Assistant:
    """One graph and how it is presented."""

    name: str
    title: str
    description: str
    build: Callable[[Models], StateGraph | guide.Functional]
    """The graph, not compiled: the saver belongs to whoever runs it."""
    reply_nodes: tuple[str, ...]
    """The nodes that write the reply. What they had written when a run is stopped is kept in their name."""
    uses_model: bool
    """Whether it asks the chat model, and so shares its problems."""
    speakers: tuple[str, ...] = ()
    """The nodes of graphs within its nodes that write the reply: what they write is seen as it is written."""
    takes_choices: bool = False
    """Whether a person can choose the model of a thread and tell it something beforehand: its nodes heed `Choices`."""
    is_functional: bool = False
    """Whether it is written with LangGraph's functional API: a turn is one step, in a function named `whole_turn`."""
    limits: str = ""
    """What time travel can't do with it, for the page."""
    demo_note: str = _("A demo model answers: its replies are prepared texts.")
    """What the page says of its replies where no model is configured."""
    acts: tuple[str, ...] = ()
    """The nodes that do something to the world: run again, they do it again, unless they are asked to go on."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """What the page calls its tools, by their names."""
    card: Callable[[Mapping[str, Any]], Card] = cards.plain
    """How the payload of a question is shown."""
    shows: Mapping[str, str] = field(default_factory=dict)
    """What the time machine calls the fields of its state, beside their names."""
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """What its nodes send the model, by their names."""
    asks: tuple[str, ...] = ()
    """The nodes that may ask a person before they go on."""
    settings: tuple[str, ...] = ()
    """The settings, by their names in the environment, that change what it does."""


ASSISTANTS: dict[str, Assistant] = {
    assistant.name: assistant
    for assistant in (
        Assistant(
            name="chat",
            title=_("Chat"),
            description=_("Answers with the language model. Of a very long conversation it reads the end."),
            build=chat.build,
            reply_nodes=(chat.MODEL,),
            prompts={chat.MODEL: Prompt(chat.given)},
            uses_model=True,
            takes_choices=True,
            settings=("CHAT_MODELS", *OF_THE_MODEL, *OF_THE_PACE),
        ),
        Assistant(
            name="concierge",
            title=_("Concierge"),
            description=_("Finds hotels in Xi'an, and asks you before it books or cancels one."),
            build=concierge.build,
            reply_nodes=(concierge.AGENT,),
            uses_model=True,
            settings=OF_THE_MODEL + OF_THE_PACE,
            demo_note=BY_RULES,
            acts=(concierge.TOOLS_NODE,),
            prompts={concierge.AGENT: Prompt(concierge.given, joined_by=(concierge.TOOLS_NODE,))},
            asks=(concierge.TOOLS_NODE,),
            tools=concierge.TITLES,
            card=concierge.card,
            shows={
                "seen_hotel_ids": _("hotels that a search returned"),
                "orders": _("bookings made on this branch"),
                "budget": _("budget for a stay"),
                "warnings": _("what the person was warned of"),
            },
        ),
        Assistant(
            name="planner",
            title=_("Planner"),
            description=_(
                "Plans your days in Xi'an: it looks up the weather and a hotel at once, drafts, and revises."
            ),
            build=planner.build,
            reply_nodes=(planner.WRITE,),
            prompts={
                planner.WRITE: Prompt(
                    planner.given,
                    told_by=(planner.READ, planner.LOOK),
                    note=_("The graph within this step asks a second time, with the draft that came of it."),
                )
            },
            uses_model=True,
            settings=OF_THE_MODEL + OF_THE_PACE,
            speakers=(planner.REVISE,),
            shows={"trip": _("days, nights and budget"), "findings": _("what was looked up in this turn")},
            limits=_(
                "Drafting and revising are a graph of their own within one step. LangGraph can't go back into that "
                "step: Regenerate does the whole turn again, Retry the whole step."
            ),
            demo_note=BY_RULES,
        ),
        Assistant(
            name="guide",
            title=_("Guide"),
            description=_("Explains the words of this app: checkpoint, branch, HEAD, replay and the others."),
            build=guide.build,
            reply_nodes=(history.WHOLE_TURN,),
            uses_model=True,
            settings=OF_THE_MODEL + OF_THE_PACE,
            is_functional=True,
            prompts={history.WHOLE_TURN: Prompt(guide.given)},
            limits=_(
                "It is one function, of which LangGraph keeps the end alone: a turn can be regenerated and edited as a "
                "whole, but there is no step within it to go back to, and its state can't be changed by hand."
            ),
            demo_note=BY_RULES,
        ),
        Assistant(
            name="echo",
            title=_("Echo"),
            description=_("Repeats your last message, in two steps that are easy to follow in the checkpoints."),
            build=echo.build,
            reply_nodes=(echo.REPLY,),
            prompts={echo.REPLY: Prompt(echo.given)},
            uses_model=False,
            settings=OF_THE_PACE,
        ),
    )
}


def get(name: str) -> Assistant:
    """The assistant of this name. Raises `UnknownAssistant`."""
    try:
        return ASSISTANTS[name]
    except KeyError:
        raise UnknownAssistant from None
