"""The demo model's English."""

from __future__ import annotations

from branching.demo_texts.phrases import Phrases

OPENINGS = (
    "> {question}\n\nA short answer first, then the details.",
    "Let me take “{question}” step by step.",
    "There is more than one good answer to “{question}”. This is mine.",
    "You wrote “{question}”, and I hear: **{subject}**.",
    "Good question. Here is how I would go about “{question}”.",
)

CLOSINGS = (
    "*I am a scripted demo model. Press **Regenerate** for another wording.*",
    "Would you rather have it shorter? **Edit** your message and say so.",
    "If this misses the point, edit your message: the old version stays, one arrow away.",
    "*A scripted demo model wrote this: pleasant company, but no oracle.*",
    "Shall I go deeper into one of these points?",
    "Type `/help` to see what else this demo model can do.",
    "*Set `CHAT_MODEL` to connect a real model when you want real answers.*",
)

KEYWORDS = {
    "branching": r"branch|regenerat|version|fork|undo|arrow|switchback|checkpoint|this app",
    "travel": r"travel|\btrips?\b|journey|holiday|vacation|flight|hotel|visit|weekend",
    "code": r"\bcod(e|ing)\b|python|function|script|program|javascript|\bsql\b|\bbug\b|algorithm",
    "table": r"\btable\b|compar|versus|\bvs\b|differen",
    "list": r"\blists?\b|ideas|\bsteps\b|to-?do|checklist|\bplan\b|recipe",
    "greeting": r"^\W*(hi|hello|hey|good (morning|evening|day)|thanks|thank you)\b",
}

GREETING = (
    """\
Hello! Some things to try:

- ask for a **list**, a *table* or some `code`,
- press **Regenerate** under this reply, then walk back with the arrows,
- edit your own message and see both versions side by side.
""",
    """\
Hi there, nice to meet you. You could ask me for

1. a weekend in Lisbon,
2. a Python function,
3. a comparison of tea and coffee.
""",
    """\
### Welcome

| If you want | say |
|---|---|
| a plan | *plan a trip to Porto* |
| code | *write a Python function* |
| to know this app | *how do branches work?* |
""",
)

BRANCHING = (
    """\
## How branches work here

| You press | What happens |
|---|---|
| **Regenerate** | another reply beside this one |
| **Edit** | another wording of your message, with replies of its own |
| **‹ 1 / 2 ›** | the other version, and all that followed it |
| **Undo** | back to what you saw before |

Nothing is ever overwritten.
""",
    """\
Think of a path that forks:

```text
you ─┬─ reply 1 ── you ── reply
     └─ reply 2            (shown)
```

- The arrows walk between the versions at a fork.
- Each branch remembers where you left it, also after a reload.
- What you write next goes on the branch **that you see**.
""",
    """\
Three habits that pay off:

1. **Edit instead of arguing.** A better question beats a third follow-up.
2. **Regenerate twice** before you trust an answer; compare the versions.
3. **Go back freely.** The later messages wait on their branch.

> A conversation is a tree. You only ever look at one path through it.
""",
)

TRAVEL = (
    """\
### Three days: {subject}

1. **Arrive** early, walk the old town, eat where there is no menu outside.
2. **Museum** in the morning, the river in the afternoon.
3. **A day trip** by train, back before sunset.

> Book the train first: it fills up soonest.
""",
    """\
| Day | Morning | Afternoon | Evening |
|---|---|---|---|
| 1 | Market | Old town | Harbour |
| 2 | Museum | Park | Live music |
| 3 | Coast | Bookshop | Train home |

Pack light: *one* good pair of shoes, a charger, a rain jacket.
""",
    """\
## Before you go

- [ ] passport or identity card
- [ ] the first night booked
- [ ] an offline map

## Once there

Keep one half-day free. The best hour of **{subject}** is rarely the planned one.
More on slow travel: [Slow travel](https://en.wikipedia.org/wiki/Slow_travel).
""",
)

CODE = (
    '''\
```python
def squares_below(limit: int) -> list[int]:
    """The square numbers smaller than `limit`."""
    return [n * n for n in range(limit) if n * n < limit]


print(squares_below(30))  # [0, 1, 4, 9, 16, 25]
```

Short, and it says what it returns. For a *large* limit, stop at the square root instead.
''',
    """\
Count first, sort later:

```python
from collections import Counter


def most_common(words: list[str], many: int = 3) -> list[str]:
    return [word for word, _ in Counter(words).most_common(many)]
```

- `Counter` does the counting,
- `most_common` does the sorting,
- you only choose **how many**.
""",
    """\
The same in two languages:

```sql
SELECT city, COUNT(*) AS visits
FROM trips
GROUP BY city
ORDER BY visits DESC;
```

```javascript
const visits = Object.groupBy(trips, (trip) => trip.city);
```

The database is the better place when there are many rows.
""",
)

TABLE = (
    """\
| {subject} | First | Second |
|---|---:|---:|
| Price | 10 | 14 |
| Speed | 3 | 9 |
| Comfort | 7 | 6 |

**The second**, unless money is short. (The numbers are made up: I am a demo.)
""",
    """\
| Question | First | Second |
|---|---|---|
| Easy to begin with? | yes | not quite |
| Easy to keep up? | no | yes |
| Would I do it again? | perhaps | yes |

It depends on how long you mean to stay with it.
""",
    """\
What matters most decides:

| If you care about | take |
|---|---|
| time | the one you know |
| money | the one you can return |
| joy | the other one |

> Compare three things at most, then choose.
""",
)

LIST = (
    """\
- [ ] Say what *done* means for **{subject}**
- [ ] Do the smallest part first
  - and show it to somebody
- [ ] Write down what surprised you
- [ ] Repeat
""",
    """\
1. Write down everything that comes to mind.
2. Strike out half of it.
3. Do the one that **scares** you most.
4. Rest, then look at the list again.
""",
    """\
Five ideas, from cheap to bold:

- borrow it before you buy it,
- ask someone who has done it,
- try it for *ten minutes* a day,
- do it together with a friend,
- do it in public.
""",
)

EXPLANATION = (
    """\
## In short

The heart of **{subject}** is a small idea that is used many times.

## In detail

- First comes what you *see*.
- Behind it is what is *kept*.
- Between the two is a rule, and that rule is worth knowing.

> Simple things should stay simple.
""",
    """\
Start from an example, then change one thing at a time:

1. Look at what is there.
2. Guess what will happen.
3. Try it, and compare.

More on this way of working: [trial and error](https://en.wikipedia.org/wiki/Trial_and_error).
""",
    """\
Three questions open up most subjects, **{subject}** among them:

| Question | Why it helps |
|---|---|
| What would it look like without it? | shows what it is *for* |
| Who decided it, and when? | shows what could be different |
| What is the smallest case? | gives you something to try |
""",
)

PARAGRAPHS = (
    "A conversation is a path. At every step one could have said something else, and most programs forget that.",
    "Keeping every version costs little: a few lines of text, and a note of where each of them began.",
    "What costs more is to show it well, so that a reader always knows which version is in front of them.",
    "That is why the counter sits right beside the message it counts, and nowhere else on the page.",
    "Whoever goes back wants to find things as they were left: the same reply, the same place, nothing lost.",
)

HELP = """\
### Commands of the demo model

| Command | What it does |
|---|---|
| `/help` | shows this list |
| `/fail` | fails after a few words, at every try |
| `/fail 2` | fails at the first 2 tries, then answers |
| `/fail auth` | fails as with a wrong key; also `rate`, `network` and `timeout` |
| `/long 800` | answers with about 800 words |
| `/slow` | waits before the first word |
"""

ENGLISH = Phrases(
    openings=OPENINGS,
    topics={
        "greeting": GREETING,
        "branching": BRANCHING,
        "travel": TRAVEL,
        "code": CODE,
        "table": TABLE,
        "list": LIST,
        "explanation": EXPLANATION,
    },
    closings=CLOSINGS,
    keywords=KEYWORDS,
    told="*You told me beforehand: “{question}”. A real model would heed it.*",
    earlier="*Message {number} on this branch; the one before was “{question}”.*",
    recovered="It worked this time. Your message is in the conversation **once**, however often it was tried.",
    paragraphs=PARAGRAPHS,
    help=HELP,
)
