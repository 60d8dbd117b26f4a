"""The format of scenarios: what is wrong with a file is said with its place, and what is written is read as it was."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from branching.assistants.concierge import clock
from branching.exceptions import BadScenario
from branching.scenarios import reading
from branching.scenarios.form import ACTIONS, ALWAYS, ERRORS

GOOD = """
title = "A scenario"
[[model.reply]]
text = "An answer."
[[step]]
do = "send"
text = "a"
[step.expect]
shown = ["a", "{reply 1}"]
"""


def complaint(source: str) -> str:
    with pytest.raises(BadScenario) as refused:
        reading.read(source, "mine.toml")
    return str(refused.value)


def test_a_scenario_is_read_with_the_text_of_its_replies_filled_in() -> None:
    scenario = reading.read(GOOD)
    assert (scenario.title, scenario.assistant, scenario.steps[0].do) == ("A scenario", "chat", "send")
    assert scenario.steps[0].expect.said() == {"shown": ("a", "An answer.")}


def test_a_day_from_today_is_said_as_a_date() -> None:
    source = GOOD.replace('text = "a"', 'text = "from {today+3} to {today}"')
    today = clock.today()
    assert reading.read(source).steps[0].text == f"from {today + timedelta(days=3)} to {today}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('title = "A scenario"', ""), "mine.toml: title is missing."),
        (('title = "A scenario"', 'title = " "'), "mine.toml: title has to be a line"),
        (("[[step]]", "[[steps]]"), "mine.toml: There is no key 'steps' here."),
        (('text = "a"', "text = 1"), "mine.toml: step 1 (line 5): text has to be a text"),
        (('text = "a"', ""), "mine.toml: step 1 (line 5): send needs text."),
        (('text = "a"', 'text = "a"\nmessage = 1'), "mine.toml: step 1 (line 5): send takes no message."),
        (('text = "a"', 'text = "a"\nwhat = 1'), "step 1 (line 5): There is no key 'what' here. Known are answer,"),
        (('do = "send"', 'do = "jump"'), "step 1 (line 5): do has to be one of send, edit"),
        (("shown =", "showing ="), "mine.toml: step 1 (line 5), expect: There is no key 'showing' here."),
        (("shown =", 'versions = ["2 of 3"]\nshown ='), 'versions has to be a list of texts like "2/3"'),
        (('text = "An answer."', "hold_at_token = -1"), "reply 1 (line 3): hold_at_token has to be a whole number"),
        (('text = "An answer."', 'text = "x"\nrepeat = 100001'), "repeat has to be a whole number from 1 to 100000"),
        (('text = "An answer."', "text = "), "mine.toml: This is no TOML: Invalid value (at line 4"),
        ((GOOD, 'title = "x"'), "mine.toml: There is no [[step]] in it."),
        ((GOOD, "x" * 200_001), "The file is longer than 200000 characters."),
        ((GOOD, "a = " + "[" * 5000), "mine.toml: This is no TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: tuple[str, str], said: str) -> None:
    assert said in complaint(GOOD.replace(*change))


def test_where_a_text_looks_like_a_header_no_line_is_named_rather_than_a_wrong_one() -> None:
    source = GOOD.replace('text = "a"', 'text = """\n[[step]]\n"""\nwhat = 1')
    assert "mine.toml: step 1: There is no key 'what'" in complaint(source)


def test_every_action_takes_what_every_step_may_have() -> None:
    assert not {do for do, (needed, allowed) in ACTIONS.items() if ALWAYS & (needed | allowed)}


DOC = (Path(__file__).resolve().parents[2] / "docs" / "scenarios.md").read_text()


def test_the_document_names_every_key_and_action() -> None:
    keys = {*reading.TOP, *reading.MODEL, *reading.REPLY, *reading.CALL, *reading.STEP, *reading.EXPECT}
    prose = re.sub(r"```.*?```", "", DOC, flags=re.DOTALL)
    named = set(re.findall(r"[a-z_-]+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert not {*keys, *ACTIONS, *ERRORS, *reading.STATES, *reading.RUN_STATES} - named


def test_the_example_of_the_document_is_a_scenario() -> None:
    [example] = re.findall(r"```toml\n(.*?)```", DOC, re.DOTALL)
    assert [step.do for step in reading.read(example).steps] == ["send", "stop", "regenerate"]
