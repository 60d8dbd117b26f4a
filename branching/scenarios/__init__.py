"""Scenarios: what one does in a chat and what must hold after each step, as files. See docs/scenarios.md.

`form` says what a scenario is, `reading` and `writing` turn it from and into TOML, `script` is the model that plays its
part, `playing` carries a scenario out and `judging` tells what holds; `recording` makes one of a thread.
"""
