"""Scenarios are read strictly, and played in the server without a browser. The starting set holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from branching.engine import Engine
from branching.exceptions import BadScenario
from branching.llm import open_models
from branching.models import Thread
from branching.saver import DjangoSaver
from branching.scenarios import plays, reading
from branching.scenarios.judging import Outcome
from branching.scenarios.playing import Player
from branching.scenarios.stage import BareStage

pytestmark = pytest.mark.django_db(transaction=True)

FILES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml"))


@pytest.fixture
def stage(db: None) -> BareStage:
    return BareStage(Engine(DjangoSaver(), open_models(chat_model="", base_url="", token_delay=0), plays=True))


async def played(stage: BareStage, owner: User, source: str) -> tuple[Thread, list[Outcome]]:
    """The thread that this scenario was played on, and what came of its steps."""
    thread = await plays.begin(owner, source)
    return thread, await Player(stage, thread, reading.read(source), by=owner).play()


def said(outcomes: list[Outcome]) -> list[str]:
    """What went wrong, for a person."""
    told = [f"step {each.at + 1}: {each.stuck}" for each in outcomes if each.stuck]
    return told + [f"step {each.at + 1}: {verdict}" for each in outcomes for verdict in each.failed]


@pytest.mark.parametrize("file", [f for f in FILES if 'only = "browser"' not in f.read_text()], ids=lambda f: f.stem)
async def test_a_scenario_of_the_starting_set_holds_in_the_server(file: Path, stage: BareStage, alice: User) -> None:
    _thread, outcomes = await played(stage, alice, file.read_text())
    assert not said(outcomes)


SEND = 'do = "send"\ntext = "q"\n'
FILE = 'title = "x"\n[[model.reply]]\n{reply}\n[[step]]\n' + SEND + "[step.expect]\n{expect}\n"


def file(*, reply: str = 'text = "One two three."', expect: str = "", more: str = "") -> str:
    return FILE.format(reply=reply, expect=expect) + more


@pytest.mark.parametrize(
    ("expect", "said_of"),
    [
        ('shown = ["q", "Another."]', "shown"),
        ('shown = ["q"]', "shown"),
        ('versions = ["", "1/2"]', "versions"),
        ('states = ["done", "stopped"]', "states"),
        ('open = "failed"', "open"),
        ('run_state = "running"', "run_state"),
        ("checkpoints = 4", "checkpoints"),
        ("added = 2", "added"),
        ('head = "stays"', "head"),
        ('notice = "Something"', "notice"),
        ("calls = 2", "calls"),
        ('asked = ["Q"]', "asked"),
        ("bookings = 1", "bookings"),
        ("within = 0", "within"),
    ],
)
async def test_what_does_not_hold_is_said(stage: BareStage, alice: User, expect: str, said_of: str) -> None:
    _thread, outcomes = await played(stage, alice, file(expect=expect))
    assert [verdict.what for verdict in outcomes[0].failed] == [said_of]


@pytest.mark.parametrize("text", ["*", "One two three.", "One two…", "{reply 1}"])
async def test_a_text_may_be_given_in_full_or_in_part(stage: BareStage, alice: User, text: str) -> None:
    _thread, outcomes = await played(stage, alice, file(expect=f'shown = ["q", "{text}"]'))
    assert not said(outcomes)


async def test_a_refusal_that_nobody_expects_does_not_hold(stage: BareStage, alice: User) -> None:
    _thread, outcomes = await played(stage, alice, file(more='[[step]]\ndo = "retry"\n'))
    assert [verdict.got for verdict in outcomes[1].failed] == [
        "There is nothing to answer here: this version already has its reply."
    ]


async def test_what_can_not_be_done_ends_it(stage: BareStage, alice: User) -> None:
    more = '[[step]]\ndo = "previous"\nmessage = 1\n[[step]]\ndo = "undo"\n'
    _thread, outcomes = await played(stage, alice, file(more=more))
    assert said(outcomes) == ["step 2: Message 1 has no previous version."]


async def test_a_reply_is_held_until_it_is_released(stage: BareStage, alice: User) -> None:
    """Meanwhile one looks at another version, and the reply goes on where it was."""
    more = """
    [[step]]
    do = "regenerate"
    expect = { shown = ["q", "Four"], run_state = "running" }
    [[step]]
    do = "previous"
    message = 2
    expect = { shown = ["q", "One two three."], run_state = "running" }
    [[step]]
    do = "release"
    expect = { shown = ["q", "One two three."], versions = ["", "1/2"], run_state = "idle", head = "stays" }
    [[step]]
    do = "next"
    message = 2
    expect = { shown = ["q", "Four five."] }
    """
    source = file(reply='text = "One two three."\n[[model.reply]]\ntext = "Four five."\nhold_at_token = 1', more=more)
    _thread, outcomes = await played(stage, alice, source)
    assert not said(outcomes)


async def test_replies_come_by_what_was_said_or_in_their_order(stage: BareStage, alice: User) -> None:
    reply = 'text = "A"\nto = "a"\n[[model.reply]]\ntext = "first"\n[[model.reply]]\ntext = "second"'
    more = '[[step]]\ndo = "send"\ntext = "a"\n[[step]]\ndo = "send"\ntext = "a"\n'
    more += 'expect = { shown = ["q", "first", "a", "A", "a", "second"], calls = 3 }\n'
    _thread, outcomes = await played(stage, alice, file(reply=reply, more=more))
    assert not said(outcomes)


async def test_a_script_that_has_ended_is_a_failure_one_can_see(stage: BareStage, alice: User) -> None:
    more = '[[step]]\ndo = "send"\ntext = "more"\nexpect = { open = "failed", run_state = "failed" }\n'
    thread, outcomes = await played(stage, alice, file(more=more))
    assert not said(outcomes)
    assert (await thread.runs.alatest("created_at")).error == "script"


async def test_where_no_scenarios_are_played_nobody_else_answers(stage: BareStage, alice: User) -> None:
    stage.engine.plays = False
    thread, outcomes = await played(stage, alice, file(expect='open = "failed"\ncheckpoints = 2\ncalls = 0'))
    assert not said(outcomes)
    assert (await thread.runs.alatest("created_at")).error == "script"


async def test_pressed_twice_it_is_done_once(stage: BareStage, alice: User) -> None:
    source = file(expect='shown = ["q", "*"]\nadded = 3\ncalls = 1').replace(SEND, SEND + "double = true\n")
    _thread, outcomes = await played(stage, alice, source)
    assert not said(outcomes)


async def test_a_tab_that_hears_nothing_is_refused(stage: BareStage, alice: User) -> None:
    more = '[[step]]\ndo = "deafen"\ntab = 2\n[[step]]\ndo = "send"\ntext = "mine"\n[[step]]\ndo = "send"\ntab = 2\n'
    more += 'text = "theirs"\nexpect = { notice = "moved on elsewhere", added = 0 }\n'
    reply = 'text = "A"\ntimes = 0'
    _thread, outcomes = await played(stage, alice, file(reply=reply, more=more))
    assert not said(outcomes)


async def test_a_thread_that_plays_nothing_can_release_nothing(stage: BareStage, alice: User) -> None:
    from branching import threads

    thread = await threads.create(alice, assistant="echo")
    with pytest.raises(BadScenario):
        await plays.release(thread.pk)


def test_every_case_that_is_marked_is_in_the_starting_set() -> None:
    """Or in the table of tests/scenarios/README.md with the reason why it can't be."""
    told = {case for path in FILES for case in reading.read(path.read_text(), path.name).cases}
    assert {1, 2, 14, 15, 16, 30, 33, 44, 47, 48, 59, 76, 77, 87} <= told
    table = (FILES[0].parent / "README.md").read_text()
    assert not [path.stem for path in FILES if f"`{path.stem}`" not in table]


async def test_a_script_is_not_chosen_away(stage: BareStage, alice: User) -> None:
    thread = await plays.begin(alice, file())
    await Thread.objects.filter(pk=thread.pk).aupdate(model="openai:gpt-5")
    outcomes = await Player(stage, thread, reading.read(file(expect='shown = ["q", "*"]')), by=alice).play()
    assert not said(outcomes)
