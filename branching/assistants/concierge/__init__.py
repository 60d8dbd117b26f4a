"""The concierge: finds, books and cancels hotels in Xi'an, and asks before it acts."""

from branching.assistants.concierge.cards import TITLES, card
from branching.assistants.concierge.graph import AGENT, TOOLS_NODE, build, given

__all__ = ["AGENT", "TITLES", "TOOLS_NODE", "build", "card", "given"]
