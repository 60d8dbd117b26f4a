"""The planner: plans days in Xi'an from the weather and the hotels, which it looks up side by side."""

from branching.assistants.planner.graph import LOOK, READ, REVISE, WRITE, build, given

__all__ = ["LOOK", "READ", "REVISE", "WRITE", "build", "given"]
