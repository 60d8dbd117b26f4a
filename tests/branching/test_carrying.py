"""Threads as files: there and back to the byte, and nothing half taken in."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from branching import carrying, chatgpt, contents, history, importing, threads
from branching.carrying import Carried
from branching.exceptions import BadFile
from branching.models import HeadMove, Thread
from branching.types import Content
from tests.branching.conftest import Story
from tests.branching.desk import NO, SUITE, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def brought(story: Story, owner: User, file: str) -> Story:
    """The only thread of the file, made from it."""
    [thread] = await importing.bring(story.engine, owner, carrying.read(file))
    return Story(story.engine, thread)


async def file_of(story: Story) -> str:
    return carrying.write([await carrying.take(story.thread.pk)])


async def test_a_thread_comes_back_with_all_its_branches_and_where_one_was(story: Story, bob: User) -> None:
    """
    a ─┬─ reply ── b ── reply (left there)
       └─ reply ─┬─ c
    a2 (HEAD)    └─ ...
    """
    await story.send("a")
    await story.send("b")
    await story.replay(await story.version(1))
    await story.send("c")
    await story.edit(await story.version(0), "a2")
    file = await file_of(story)
    copy = await brought(story, bob, file)
    assert await copy.screen() == await story.screen()
    for there in (story, copy):
        view = await there.view()
        await there.switch(view.versions[0].previous)
    assert await copy.screen() == await story.screen() == ["a 1/2", "回复：a 2/2", "c", "回复：c"]
    assert not await copy.findings()
    assert not await HeadMove.objects.filter(thread=copy.thread, why="repair").aexists()


async def test_what_was_brought_goes_on_like_any_thread(story: Story, bob: User) -> None:
    await story.send("a")
    copy = await brought(story, bob, await file_of(story))
    await copy.replay(await copy.version(1))
    await copy.edit(await copy.version(0), "other")
    await copy.send("more")
    assert await copy.screen() == ["other 2/2", "回复：other", "more", "回复：more"]
    assert not await copy.findings()


@pytest.mark.parametrize("seed", range(50))
async def test_fifty_random_trees_come_back_to_the_byte(story: Story, bob: User, seed: int) -> None:
    file = carrying.write([random_tree(random.Random(seed))])
    copy = await brought(story, bob, file)
    assert await file_of(copy) == file


def random_tree(dice: random.Random) -> Carried:
    """Up to 14 messages, each after any earlier one, with any of them shown."""
    rows: list[dict[str, Any]] = []
    for number in range(dice.randint(1, 14)):
        parent = dice.choice([None, *range(number)]) if number else None
        kind = "ai" if parent is not None and rows[parent]["kind"] == "human" else "human"
        data = {"model": "m", "usage": {"input": 3, "output": 2}} if kind == "ai" and dice.random() < 0.5 else {}
        data |= {"stopped": True} if kind == "ai" and dice.random() < 0.2 else {}
        row = {"n": number, "parent": parent, "kind": kind, "id": f"m{number}", "text": f"text {number}\n\u2028 é 好"}
        rows.append({**row, "created_at": f"2026-01-{number + 1:02}T00:00:00+00:00", "data": data})
    thread = {"title": "t", "assistant": "echo", "head": dice.randrange(len(rows)), "messages": rows}
    [carried] = carrying.read(json.dumps({"format": "switchback", "version": 1, "threads": [thread]}))
    return carried


async def test_tool_calls_and_their_results_come_along(guest: Guest, bob: User) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    await guest.decide_again(asked.checkpoint_id)
    await guest.answer(NO)
    file = await file_of(guest)
    copy = await brought(guest, bob, file)
    assert await file_of(copy) == file
    assert [version.kind for version in (await copy.view()).versions] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert (await copy.view()).left_standing == 0, "what was done to the world stays where it was done"


async def test_an_empty_thread_comes_back_empty(story: Story, bob: User) -> None:
    copy = await brought(story, bob, await file_of(story))
    assert await copy.screen() == []
    await copy.send("a")
    assert await copy.screen() == ["a", "回复：a"]


@pytest.mark.parametrize(
    "content",
    [
        Content("1", "human", "hi"),
        Content("1", "human", "hi", {"name": "Ann"}),
        Content("1", "ai", "ye", {"stopped": True, "model": "m", "left_out": 3}),
        Content("1", "ai", "yes", {"reasoning": "Because.", "usage": {"input": 4, "output": 2, "cached": 1}}),
        Content("1", "ai", "", {"tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}]}),
        Content("1", "tool", "no", {"tool_call_id": "c", "status": "error", "name": "f"}),
        Content("1", "ai", "Look", {"blocks": [{"type": "text", "text": "Look"}]}),
    ],
)
def test_a_message_is_made_from_what_it_was_read_as(content: Content) -> None:
    assert {k: v for k, v in history.content_of(contents.message_of(content)).data.items() if k != "status"} == {
        k: v for k, v in content.data.items() if k != "status"
    }
    assert history.content_of(contents.message_of(content)).text == content.text


def broken(**changes: Any) -> str:
    rows = [
        {"n": 0, "parent": None, "kind": "human", "id": "a", "text": "a"},
        {"n": 1, "parent": 0, "kind": "ai", "id": "b", "text": "b", **changes},
    ]
    return json.dumps({"format": "switchback", "version": 1, "threads": [thread(rows)]})


def thread(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"title": "", "assistant": "echo", "head": None, "messages": rows, **more}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no export of Switchback"),
        ('{"format": "switchback", "version": 2}', "newer version"),
        ('{"format": "switchback", "version": 1}', "lacks its list"),
        ('{"format": "switchback", "version": 1, "threads": []}', "no conversation"),
        ('{"format": "switchback", "version": 1, "threads": [3]}', "not written as one"),
        (broken(parent=1), "comes after one that is not in the file, or that comes later"),
        (broken(parent=7), "comes after one that is not in the file, or that comes later"),
        (broken(parent=-1), "comes after one that is not in the file, or that comes later"),
        (broken(parent=True), "comes after one that is not in the file, or that comes later"),
        (broken(n=5), "where its number says"),
        (broken(kind="system"), "of no kind"),
        (broken(data=[]), "of no kind"),
        (broken(id=""), "has no id"),
        (broken(text="x" * 1_000_001), "too long"),
        (json.dumps({"format": "switchback", "version": 1, "threads": [thread([{}] * 10_000)]}), "10000 messages"),
        (json.dumps({"format": "switchback", "version": 1, "threads": [thread([], assistant="x")]}), "not here: x"),
        (json.dumps({"format": "switchback", "version": 1, "threads": [thread([], head=4)]}), "not in the file"),
    ],
)
def test_a_broken_file_is_refused_with_the_reason(file: str, words: str) -> None:
    with translation.override("en"), pytest.raises(BadFile, match=words):
        carrying.read(file)


@pytest.mark.parametrize(
    "data",
    [
        {"tool_calls": "x"},
        {"tool_calls": [{"name": 1}]},
        {"usage": "x"},
        {"blocks": 7},
        {"name": ["x"]},
    ],
)
async def test_what_no_message_could_be_is_refused_and_nothing_is_half_taken_in(
    story: Story, bob: User, data: dict[str, Any]
) -> None:
    good = json.loads(broken())["threads"][0]
    bad = json.loads(broken(data=data))["threads"][0]
    file = json.dumps({"format": "switchback", "version": 1, "threads": [good, bad]})
    with pytest.raises(BadFile):
        await importing.bring(story.engine, bob, carrying.read(file))
    assert await threads.of(bob) == [] and await Thread.objects.filter(owner=bob).acount() == 0


# ChatGPT


def node(name: str, parent: str | None, *children: str, role: str = "", text: str = "") -> dict[str, Any]:
    said = {"author": {"role": role}, "content": {"parts": [text]}, "create_time": 1.5, "metadata": {"model_slug": "g"}}
    return {name: {"id": name, "parent": parent, "children": list(children), "message": said if role else None}}


MAPPING = {
    **node("root", None, "sys"),
    **node("sys", "root", "q", role="system", text="be nice"),
    **node("q", "sys", "a1", "a2", role="user", text="Question"),
    **node("a1", "q", role="assistant", text="First"),
    **node("a2", "q", "t", role="assistant", text="Second"),
    **node("t", "a2", "a3", role="tool", text="searched"),
    **node("a3", "t", role="assistant", text="Second, too"),
}


async def test_case_72_a_conversation_of_chatgpt_comes_with_its_branches_and_its_current_node(
    story: Story, bob: User
) -> None:
    """Question ─┬─ First (current)
    └─ Second ── Second, too
    """
    file = json.dumps([{"title": "Theirs", "mapping": MAPPING, "current_node": "a1"}])
    assert chatgpt.looks_like(file) and not chatgpt.looks_like(await file_of(story))
    [made] = await importing.bring(story.engine, bob, chatgpt.read(file))
    copy = Story(story.engine, made)
    assert (made.title, await copy.screen()) == ("Theirs", ["Question", "First 1/2"])
    await copy.switch((await copy.version(1)).next)
    assert (await copy.screen())[:2] == ["Question", "Second 2/2"]
    assert not await copy.findings()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (node("q", "q", "a1", "a2", role="user", text="x"), "does not know of it"),
        (node("a3", "nowhere", role="user", text="x"), "does not know of it"),
        (node("a1", "q", "a1", role="user", text="x"), "does not know of it"),
        (node("lost", "nowhere", role="user", text="x"), "come after themselves, or after one that is not there"),
        (node("x", "y", "y") | node("y", "x", "x"), "come after themselves"),
        ({"q": 3}, "not written as one"),
        ({f"n{number}": {"parent": None} for number in range(10_000)}, "10007 messages"),
    ],
)
def test_case_72_what_is_no_tree_is_refused(changes: dict[str, Any], words: str) -> None:
    file = json.dumps([{"title": "", "mapping": {**MAPPING, **changes}, "current_node": "a1"}])
    with translation.override("en"), pytest.raises(BadFile, match=words):
        chatgpt.read(file)
