"""The oracle itself. Histories are drawn one checkpoint a line: id, parent, source, next, messages (`id=text`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from branching import history
from branching.tree import Node, Tree, derive
from branching.types import Checkpoint, Content

KINDS = {"h": "human", "a": "ai", "t": "tool"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

TWO_TURNS = """
    c0  -   input  __start__
    c1  c0  loop   booking    h1
    c2  c1  loop   reply      h1
    c3  c2  loop   -          h1 a1
    c4  c3  input  __start__  h1 a1
    c5  c4  loop   booking    h1 a1 h2
    c6  c5  loop   reply      h1 a1 h2
    c7  c6  loop   -          h1 a1 h2 a2
"""
ONE_TURN = TWO_TURNS[: TWO_TURNS.index("    c4")]


def drawn(picture: str) -> list[Checkpoint]:
    """The checkpoints of the picture, a second apart."""
    found: dict[str, Checkpoint] = {}
    for line in filter(str.strip, picture.splitlines()):
        id, parent, source, next, *messages = line.split()
        found[id] = Checkpoint(
            id=id,
            parent_id=None if parent == "-" else parent,
            source=source,
            step=found[parent].step + 1 if parent in found else -1,
            next=() if next == "-" else (next,),
            messages=tuple(content(message) for message in messages),
            created_at=NOON + timedelta(seconds=len(found)),
        )
    return list(found.values())


def content(drawing: str, **data: object) -> Content:
    id, _, text = drawing.partition("=")
    return Content(id=id, kind=KINDS[id[0]], text=text or id, data=data)


def grown(picture: str) -> Tree:
    return derive(drawn(picture))


def texts(nodes: list[Node]) -> str:
    return " ".join(node.content.text for node in nodes)


def node(tree: Tree, text: str) -> Node:
    [found] = [each for each in tree.nodes if each.content.text == text]
    return found


def facts(tree: Tree) -> list[object]:
    """All that a tree says, as plain values."""
    checkpoints = [
        (each, tree.origin(each), tree.children_of(each), texts(tree.path(each))) for each in tree.checkpoints
    ]
    nodes = [
        (each.content, each.introduced_by, tree.base(each), tree.tip(each), texts(tree.siblings(each)))
        for each in tree.nodes
    ]
    return [checkpoints, nodes, texts(tree.roots), tree.tips, tree.orphans]


def replayed(checkpoints: list[Checkpoint], message: str, *, text: str) -> list[Checkpoint]:
    """What LangGraph adds when a one-node graph is replayed from the base of that reply."""
    tree = derive(checkpoints)
    base = tree.checkpoints[tree.base(node(tree, message))]
    now = checkpoints[-1].created_at + timedelta(seconds=1)
    copy = replace(base, id=f"copy-{text}", parent_id=base.id, source="fork", step=base.step + 1, created_at=now)
    reply = replace(
        copy,
        id=f"reply-{text}",
        parent_id=copy.id,
        source="loop",
        step=copy.step + 1,
        next=(),
        messages=(*base.messages, content(text)),
    )
    return [*checkpoints, copy, reply]


def edited(checkpoints: list[Checkpoint], message: str, *, text: str) -> list[Checkpoint]:
    """What `update_state` adds when that message is edited at its base."""
    tree = derive(checkpoints)
    base = tree.checkpoints[tree.base(node(tree, message))]
    return [
        *checkpoints,
        replace(
            base,
            id=f"update-{text}",
            parent_id=base.id,
            source="update",
            step=base.step + 1,
            next=("booking",),
            messages=(*base.messages, content(text)),
            created_at=checkpoints[-1].created_at + timedelta(seconds=1),
        ),
    ]


def test_two_echo_turns_are_one_chain_of_four_messages() -> None:
    """h1 -- a1 -- h2 -- a2"""
    tree = grown(TWO_TURNS)
    assert [each.step for each in tree.checkpoints.values()] == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert texts(tree.nodes) == texts(tree.path("c7")) == "h1 a1 h2 a2"
    assert [each.introduced_by for each in tree.nodes] == ["c1", "c3", "c5", "c7"]
    assert [tree.base(each) for each in tree.nodes] == ["c0", "c2", "c4", "c6"]
    assert [tree.tip(each) for each in tree.nodes] == ["c2", "c3", "c6", "c7"]
    assert all(tree.siblings(each) == [each] for each in tree.nodes)
    assert tree.tips == ["c7"]
    assert tree.orphans == []


def test_a_checkpoint_without_messages_has_no_node_and_an_empty_transcript() -> None:
    tree = grown(TWO_TURNS)
    assert tree.node_of("c0") is None
    assert tree.path("c0") == []


@pytest.mark.parametrize("question", ["node_of", "path", "origin", "children_of"])
def test_an_unknown_checkpoint_is_a_key_error(question: str) -> None:
    with pytest.raises(KeyError):
        getattr(grown(TWO_TURNS), question)("nowhere")


def test_a_replay_grows_a_sibling_of_the_reply() -> None:
    """h1 -- a1 -- h2 -- a2
    `- a1'"""
    tree = grown(
        TWO_TURNS
        + """
    c8  c2  fork   reply      h1
    c9  c8  loop   -          h1 a1'
    """
    )
    assert texts(tree.siblings(node(tree, "a1'"))) == "a1 a1'"
    assert texts(tree.path("c9")) == "h1 a1'"
    assert texts(tree.path("c7")) == "h1 a1 h2 a2"
    assert tree.base(node(tree, "a1'")) == tree.base(node(tree, "a1")) == "c2"
    assert tree.children_of("c2") == ["c3", "c8"]
    assert tree.tips == ["c7", "c9"]


def test_a_fork_copy_adds_no_message_and_has_its_original_as_origin() -> None:
    tree = grown(ONE_TURN + "\n c4 c2 fork reply h1")
    assert texts(tree.nodes) == "h1 a1"
    assert tree.origin("c4") == tree.origin("c2") == "c2"
    assert tree.tip(node(tree, "h1")) == "c4"


def test_a_fork_copy_of_the_empty_beginning_folds_too() -> None:
    tree = grown(ONE_TURN + "\n c4 c0 fork __start__ \n c5 c4 loop booking h1'")
    assert tree.origin("c4") == "c0"
    assert tree.base(node(tree, "h1'")) == "c0"


def test_a_fork_copy_of_a_finished_checkpoint_folds_too() -> None:
    tree = grown(ONE_TURN + "\n c4 c3 fork - h1 a1")
    assert tree.origin("c4") == "c3"
    assert tree.tip(node(tree, "a1")) == "c4"


def test_fork_copies_of_fork_copies_fold_into_the_first_original() -> None:
    """h1 -- a1            checkpoints: c2 -- c3
    `- a1'                          `- c4 -- c5
    `- a1''                             `- c6 -- c7"""
    tree = grown(
        ONE_TURN
        + """
    c4  c2  fork   reply      h1
    c5  c4  loop   -          h1 a1'
    c6  c4  fork   reply      h1
    c7  c6  loop   -          h1 a1''
    """
    )
    assert [tree.origin(each) for each in ("c4", "c6")] == ["c2", "c2"]
    assert [tree.base(each) for each in tree.siblings(node(tree, "a1"))] == ["c2", "c2", "c2"]


def test_a_fork_copy_under_an_update_folds_into_the_update() -> None:
    tree = grown(
        ONE_TURN
        + """
    c4  c0  update reply      h1'
    c5  c4  fork   reply      h1'
    c6  c5  loop   -          h1' a1'
    """
    )
    assert tree.base(node(tree, "a1'")) == "c4"


def test_an_edit_grows_a_sibling_of_the_message_and_keeps_what_followed() -> None:
    """h1 -- a1 -- h2 -- a2
    `-- h2' - a2'"""
    tree = grown(
        TWO_TURNS
        + """
    c8  c4  update booking    h1 a1 h2'
    c9  c8  loop   reply      h1 a1 h2'
    c10 c9  loop   -          h1 a1 h2' a2'
    """
    )
    assert texts(tree.siblings(node(tree, "h2'"))) == "h2 h2'"
    assert texts(tree.siblings(node(tree, "a2'"))) == "a2'"
    assert tree.base(node(tree, "h2'")) == "c4"
    assert texts(tree.path("c7")) == "h1 a1 h2 a2"


def test_an_edited_first_message_is_a_second_root() -> None:
    """h1 -- a1
    h1'"""
    tree = grown(ONE_TURN + "\n c4 c0 update booking h1'")
    assert texts(tree.roots) == texts(tree.siblings(node(tree, "h1"))) == "h1 h1'"
    assert tree.base(node(tree, "h1'")) == "c0"
    assert tree.tip(node(tree, "h1'")) == "c4"


@pytest.mark.parametrize("message", ["h1", "h2"])
def test_five_edits_lie_flat_whichever_version_is_edited(message: str) -> None:
    checkpoints, first = drawn(TWO_TURNS), derive(drawn(TWO_TURNS))
    pressed = [message, "h-1", "h-2", message, "h-3"]
    for number, version in enumerate(pressed, 1):
        checkpoints = edited(checkpoints, version, text=f"h-{number}")
    tree = derive(checkpoints)
    versions = tree.siblings(node(tree, message))
    assert texts(versions) == f"{message} h-1 h-2 h-3 h-4 h-5"
    assert {tree.base(each) for each in versions} == {first.base(node(first, message))}


def test_regenerating_the_first_the_third_and_the_newest_version_lies_flat() -> None:
    """h1 -- a1, a-1 ... a-7    all from c2"""
    checkpoints = drawn(ONE_TURN)
    pressed = ["a1", "a-1", "a-2", "a-3", "a1", "a-2", "a-6"]
    for number, version in enumerate(pressed, 1):
        checkpoints = replayed(checkpoints, version, text=f"a-{number}")
    tree = derive(checkpoints)
    versions = tree.siblings(node(tree, "a1"))
    assert texts(versions) == "a1 a-1 a-2 a-3 a-4 a-5 a-6 a-7"
    assert {tree.base(each) for each in versions} == {"c2"}


def test_one_message_rewritten_in_place_becomes_a_sibling_and_takes_what_follows_along() -> None:
    """h1 ---- a1 -- h2 -- a2
    h1=s -- a1 -- h2 -- a2"""
    tree = grown(TWO_TURNS + "\n c8 c7 update - h1=s a1 h2 a2")
    assert texts(tree.roots) == "h1 s"
    assert texts(tree.path("c8")) == "s a1 h2 a2"
    assert set(tree.path("c8")).isdisjoint(tree.path("c7"))
    assert {each.introduced_by for each in tree.path("c8")} == {"c8"}
    assert [tree.tip(each) for each in tree.path("c8")] == [None, None, None, "c8"]


def test_a_message_taken_out_of_the_middle_leaves_the_rest_under_its_parent() -> None:
    """h1 -- a1 -- h2 -- a2
    `- h2 -- a2"""
    tree = grown(TWO_TURNS + "\n c8 c7 update - h1 h2 a2")
    assert texts(node(tree, "h1").children) == "a1 h2"
    assert texts(tree.path("c8")) == "h1 h2 a2"


def test_a_message_taken_off_the_end_lands_on_the_node_before() -> None:
    tree = grown(TWO_TURNS + "\n c8 c7 update - h1 a1")
    assert texts(tree.nodes) == "h1 a1 h2 a2"
    assert tree.tip(node(tree, "a1")) == "c8"


def test_messages_that_arrive_together_share_their_base_and_only_the_last_has_a_tip() -> None:
    """h1 -- a1 -- t1 -- a2    all three by c3"""
    tree = grown(
        """
    c1  -   loop   agent      h1
    c2  c1  loop   -          h1 a1 t1 a2
    """
    )
    assert [tree.base(each) for each in tree.path("c2")] == [None, "c1", "c1", "c1"]
    assert [tree.tip(each) for each in tree.path("c2")] == ["c1", None, None, "c2"]


def test_the_same_id_and_text_with_other_tool_calls_is_another_version() -> None:
    plain, *_ = drawn("c1 - loop agent h1 a1")
    calls = replace(plain, id="c2", messages=(content("h1"), content("a1", tool_calls=[{"name": "add"}])))
    tree = derive([plain, calls])
    assert [each.content.data for each in node(tree, "h1").children] == [{}, {"tool_calls": [{"name": "add"}]}]


def test_the_same_text_with_another_id_or_kind_is_another_version() -> None:
    tree = grown("c1 - loop - h1 a1=x \n c2 c1 update - h1 a2=x \n c3 c1 update - h1 t1=x")
    assert [each.content.id for each in node(tree, "h1").children] == ["a1", "a2", "t1"]


def test_a_copy_update_is_no_copy_of_its_parent() -> None:
    """update_state(c3, None, as_node="__copy__"): c2 -- c3
    `- c4"""
    tree = grown(ONE_TURN + "\n c4 c2 fork - h1 a1 \n c5 c1 fork reply h1")
    assert tree.origin("c4") == "c4"
    assert tree.origin("c5") == "c5"
    assert texts(tree.nodes) == "h1 a1"
    assert tree.node_of("c4") is tree.node_of("c3")


def test_a_copy_update_in_a_loop_of_one_node_is_no_copy_of_its_parent_either() -> None:
    """agent -> agent: what is due next is the same before and after, but the messages are not."""
    tree = grown("c1 - loop agent h1 \n c2 c1 loop agent h1 a1 \n c3 c1 fork agent h1 a1")
    assert tree.origin("c3") == "c3"


def test_an_update_that_changes_no_message_is_no_fork_copy() -> None:
    tree = grown(ONE_TURN + "\n c4 c3 update - h1 a1")
    assert tree.origin("c4") == "c4"


def test_an_orphan_is_a_root_of_its_own_and_a_finding() -> None:
    """h1 -- a1
    h9 -- a9    from a parent that is gone"""
    tree = grown(
        ONE_TURN
        + """
    c8  c7  fork   reply      h9
    c9  c8  loop   -          h9 a9
    """
    )
    assert tree.orphans == ["c8"]
    assert texts(tree.roots) == "h1 h9"
    assert tree.origin("c8") == "c8"
    assert tree.base(node(tree, "h9")) is None
    assert tree.base(node(tree, "a9")) == "c8"


def test_an_orphan_that_holds_known_messages_shares_their_nodes() -> None:
    tree = grown(ONE_TURN + "\n c9 gone loop - h1 a1")
    assert tree.node_of("c9") is tree.node_of("c3")
    assert tree.base(node(tree, "a1")) == "c2"


def test_no_history_makes_an_empty_tree() -> None:
    assert facts(derive([])) == [[], [], "", [], []]


MANY_BRANCHES = drawn(
    TWO_TURNS
    + """
    c8  c2   fork   reply      h1
    c9  c8   loop   -          h1 a1'
    c10 c8   fork   reply      h1
    c11 c10  loop   -          h1 a1''
    c12 c4   update booking    h1 a1 h2'
    c13 c12  loop   reply      h1 a1 h2'
    c14 c0   update booking    h1'
    c15 c7   update -          h1=s a1 h2
    c16 gone loop   -          h1 a3
    """
)


@given(st.permutations(MANY_BRANCHES))
def test_the_order_in_which_a_history_comes_does_not_matter(shuffled: list[Checkpoint]) -> None:
    assert facts(derive(shuffled)) == facts(derive(MANY_BRANCHES))


@given(st.permutations([replace(each, created_at=None) for each in MANY_BRANCHES]))
def test_without_times_ids_decide_and_parents_still_come_first(shuffled: list[Checkpoint]) -> None:
    order = " ".join(derive(shuffled).checkpoints)
    assert order == "c0 c1 c14 c16 c2 c3 c4 c12 c13 c5 c6 c7 c15 c8 c10 c11 c9"


def test_a_parent_comes_before_its_child_whatever_their_clocks_say() -> None:
    late = [replace(each, created_at=NOON - timedelta(seconds=number)) for number, each in enumerate(drawn(TWO_TURNS))]
    assert list(derive(late).checkpoints) == ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]


def test_siblings_stand_by_time_and_then_by_id() -> None:
    root, first, second, third = drawn(
        """
    c0  -   input  __start__
    c3  c0  update -          h3
    c2  c0  update -          h2
    c1  c0  update -          h1
    """
    )
    tree = derive([root, first, replace(second, created_at=first.created_at), third])
    assert texts(tree.roots) == "h2 h3 h1"


def test_an_id_that_comes_twice_is_refused() -> None:
    first, *rest = drawn(TWO_TURNS)
    with pytest.raises(ValueError, match="twice"):
        derive([first, *rest, first])


def test_checkpoints_that_are_each_others_ancestors_are_refused() -> None:
    with pytest.raises(ValueError, match="ancestors"):
        grown("c1 c2 loop - h1 \n c2 c1 loop - h1")


# The same on LangGraph's own checkpoints.


def echo() -> CompiledStateGraph:
    graph = StateGraph(MessagesState)
    graph.add_node("booking", lambda state: {})
    graph.add_node("reply", lambda state: {"messages": [AIMessage(f"re: {state['messages'][-1].text}")]})
    graph.add_edge(START, "booking")
    graph.add_edge("booking", "reply")
    return graph.compile(checkpointer=InMemorySaver())


async def two_turns(graph: CompiledStateGraph) -> Tree:
    for text in ("one", "two"):
        await graph.ainvoke({"messages": [HumanMessage(text)]}, history.config_for("t", None))
    return derive(await history.read_all(graph, "t"))


async def test_langgraph_two_turns_are_eight_checkpoints_and_one_chain() -> None:
    tree = await two_turns(echo())
    found = [(each.source, each.step, each.next, texts(tree.path(each.id))) for each in tree.checkpoints.values()]
    assert found == [
        ("input", -1, ("__start__",), ""),
        ("loop", 0, ("booking",), "one"),
        ("loop", 1, ("reply",), "one"),
        ("loop", 2, (), "one re: one"),
        ("input", 3, ("__start__",), "one re: one"),
        ("loop", 4, ("booking",), "one re: one two"),
        ("loop", 5, ("reply",), "one re: one two"),
        ("loop", 6, (), "one re: one two re: two"),
    ]
    assert len(tree.tips) == 1


async def test_langgraph_replays_from_the_base_lie_flat() -> None:
    graph = echo()
    tree = await two_turns(graph)
    ids = [each.id for each in tree.checkpoints.values()]
    for pressed in (0, 1, 0, 2, 4):
        replies = node(tree, "one").children
        assert tree.base(replies[pressed]) == ids[2]
        await graph.ainvoke(None, history.config_for("t", tree.base(replies[pressed])))
        tree = derive(await history.read_all(graph, "t"))
    assert texts(node(tree, "one").children) == " ".join(["re: one"] * 6)
    assert len(tree.checkpoints) == 8 + 5 * 2
    assert [each for each in tree.checkpoints if tree.origin(each) != each] == [
        each.id for each in tree.checkpoints.values() if each.source == "fork"
    ]


async def test_langgraph_edits_from_the_base_lie_flat_and_leave_the_old_branch() -> None:
    graph = echo()
    tree = await two_turns(graph)
    old, before = list(tree.checkpoints)[-1], tree.base(node(tree, "one"))
    for text in ("uno", "ein", "un"):
        assert tree.base(tree.roots[-1]) == before
        new = await graph.aupdate_state(
            history.config_for("t", before), {"messages": [HumanMessage(text, id=text)]}, as_node="__start__"
        )
        await graph.ainvoke(None, new)
        tree = derive(await history.read_all(graph, "t"))
    assert texts(tree.roots) == "one uno ein un"
    assert texts(tree.path(old)) == "one re: one two re: two"
    assert len(tree.checkpoints) == 8 + 3 * 3


async def test_langgraph_a_copy_update_is_a_fork_with_the_parent_of_what_it_copies() -> None:
    graph = echo()
    tree = await two_turns(graph)
    copied = list(tree.checkpoints)[-1]
    new = await graph.aupdate_state(history.config_for("t", copied), None, as_node="__copy__")
    tree = derive(await history.read_all(graph, "t"))
    copy = tree.checkpoints[new["configurable"]["checkpoint_id"]]
    assert (copy.source, copy.parent_id) == ("fork", tree.checkpoints[copied].parent_id)
    assert tree.origin(copy.id) == copy.id
    assert tree.node_of(copy.id) is tree.node_of(copied)
