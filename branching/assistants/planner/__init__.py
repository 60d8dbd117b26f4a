"""The planner: plans days in Xi'an from the weather and the hotels, which it looks up side by side."""

from branching.assistants.planner.graph import REVISE, WRITE, build

__all__ = ["REVISE", "WRITE", "build"]
