"""Texts for tests that want much of it."""

from __future__ import annotations

SECTION = """## Section {n}

Nothing is ever overwritten; each version of each message stays, and one arrow leads from one to the other, **together**
with all that `followed` it.

| step | what happens | cost |
|---|---|---:|
| {n}.1 | a checkpoint is saved | 12 ms |
| {n}.2 | the index takes it in | 3 ms |
| {n}.3 | HEAD goes along | 1 ms |

```python
def step_{n}(state: State) -> dict[str, int]:
    total = sum(each.cost for each in state["steps"] if each.number < {n})
    return {{"total": total, "number": {n}}}
```

- one thing to do
- another, with a [link](https://example.com/{n})

"""


def sections(size: int) -> str:
    """At least so many characters of Markdown with tables and code, and less than one section more."""
    written: list[str] = []
    while sum(map(len, written)) < size:
        written.append(SECTION.format(n=len(written) + 1))
    return "".join(written)
