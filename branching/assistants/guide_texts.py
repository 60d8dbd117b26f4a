"""What the guide knows: the words of this app, each explained in a few sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """One word, explained."""

    title: str
    words: frozenset[str]
    """Words by which a question means it."""
    text: str


def _passage(title: str, words: str, text: str) -> Passage:
    return Passage(title, frozenset(words.split()), text)


ENGLISH = (
    _passage(
        "checkpoint",
        "checkpoint save saved state step stored",
        "A checkpoint is what LangGraph stores after each step: all messages, and whatever else the assistant "
        "remembers. It never changes; what comes later is another one.",
    ),
    _passage(
        "branch",
        "branch branches fork tree version sibling alternative",
        "A branch is a version of a message and all that follows it. Branches that share their beginning share its "
        "checkpoints; none of them overwrites another.",
    ),
    _passage(
        "HEAD",
        "head pointer shown current arrow switch",
        "HEAD is the checkpoint that a conversation shows and goes on from. The arrows move it, and that is all they "
        "do: nothing runs, and nothing is lost.",
    ),
    _passage(
        "replay",
        "replay regenerate regeneration again retry",
        "To replay is to run again from the checkpoint before a reply: Regenerate does that. The new reply becomes a "
        "sibling of the old one.",
    ),
    _passage(
        "edit",
        "edit change reword update wording",
        "An edit says a message differently. The new wording stands beside the old one, and is answered anew; what "
        "followed the old wording stays with it.",
    ),
    _passage(
        "thread",
        "thread conversation chat",
        "A thread is one conversation, with all of its branches. LangGraph knows it by its thread id.",
    ),
    _passage(
        "run",
        "run execution running stop stopped",
        "A run is one execution of the assistant's graph. It belongs to the server, so it goes on when the page is "
        "closed; Stop keeps what was written so far.",
    ),
    _passage(
        "undo",
        "undo back revert mistake",
        "Undo takes the last move of HEAD back. What the move led to is kept, one arrow away.",
    ),
    _passage(
        "action",
        "action booking book tool approve approval reject question effect",
        "An action is something that an assistant does to the world. It is asked for first, on the branch that wants "
        "it, and going back does not undo it.",
    ),
)

CHINESE = (
    _passage(
        "检查点",
        "检查点 状态 保存 步骤",
        "检查点是 LangGraph 在每一步之后保存的内容：所有消息，以及助手记住的其他东西。"
        "它从不改变；之后发生的事是另一个检查点。",
    ),
    _passage(
        "分支",
        "分支 版本 树 另一个",
        "分支是一条消息的一个版本，以及它之后的一切。开头相同的分支共用那些检查点，谁也不会覆盖谁。",
    ),
    _passage(
        "HEAD",
        "HEAD head 指针 当前 显示 箭头 切换",
        "HEAD 是对话当前显示并从那里继续的检查点。箭头只移动它：不运行任何东西，也不会丢失任何东西。",
    ),
    _passage(
        "重放",
        "重放 重新生成 再来 重试",
        "重放是从回复之前的检查点再运行一次，“重新生成”就是这样做的。新的回复与旧的并列。",
    ),
    _passage(
        "编辑",
        "编辑 修改 改写",
        "编辑是换一种说法。新的说法与旧的并列，并得到新的回复；旧说法之后的内容仍跟着它。",
    ),
    _passage("对话", "对话 会话 线程", "一个对话包含它所有的分支，LangGraph 用 thread id 来识别它。"),
    _passage(
        "运行",
        "运行 停止 执行",
        "运行是助手的图执行一次。它属于服务器，所以页面关掉后仍会继续；“停止”会保留已写的部分。",
    ),
    _passage("撤销", "撤销 返回 回退", "撤销收回 HEAD 的上一次移动。那次移动得到的内容仍在，用箭头就能找到。"),
    _passage(
        "操作",
        "操作 预订 工具 批准 拒绝 询问",
        "操作是助手对外部世界做的事。它会先在需要它的分支上征求同意，返回之前的版本不会撤销它。",
    ),
)
