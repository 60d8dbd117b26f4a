"""What the demo model says, in English and Chinese. Model output, so not for translation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language."""

    openings: tuple[str, ...]
    """How an answer may begin; `{question}` is what the person asked. Six of them, and seven closings."""
    closings: tuple[str, ...]
    earlier: str
    keywords: dict[str, str]
    topics: dict[str, tuple[str, ...]]
    paragraphs: tuple[str, ...]
    help: str
    failing: str = "Let me think about this for a moment. The first thing to say is"


ENGLISH = Phrases(
    openings=(
        "You asked:\n\n> {question}\n\nHere is one way to look at it.",
        "Let me take “{question}” step by step.",
        "Good question. For “{question}” I would start here.",
        "> {question}\n\nA short answer first, then the details.",
        "There is more than one good answer to “{question}”. This is mine.",
        "Thinking about “{question}”, three things matter.",
    ),
    closings=(
        "*This is the demo model. Press **Regenerate** for another wording.*",
        "Would you rather have it shorter? Edit your message and say so.",
        "If this misses the point, **edit** your message: the old version stays, one arrow away.",
        "*I am a scripted demo model: pleasant company, but no oracle.*",
        "Shall I go deeper into one of these points?",
        "Type `/help` to see what this demo model can do.",
        "*Connect a real model with `CHAT_MODEL` when you want real answers.*",
    ),
    earlier="*(Your message number {number} on this branch. Before it you wrote “{question}”.)*",
    keywords={
        "branching": r"branch|regenerat|version|fork|undo|arrow|switchback|this app",
        "travel": r"travel|trip|journey|holiday|vacation|flight|hotel|visit|weekend in",
        "code": r"code|python|function|script|program|javascript|sql|bug",
        "table": r"table|compar|versus|\bvs\b|differ",
        "list": r"\blist\b|ideas|steps|todo|checklist|plan",
        "greeting": r"^\W*(hi|hello|hey|good (morning|evening|day)|thanks|thank you)\b",
    },
    topics={
        "greeting": (
            "Hello! I can show you:\n\n- **lists** and tables,\n- code with colours,\n- and how this app *branches*.",
            "Hi there. Try asking me for:\n\n1. a trip to Lisbon,\n2. a Python function,\n3. a comparison as a table.",
        ),
        "branching": (
            "## How branches work\n\n"
            "| You press | What happens |\n|---|---|\n"
            "| **Regenerate** | another reply beside this one |\n"
            "| **Edit** | another wording of your message, with its own replies |\n"
            "| **‹ 1 / 2 ›** | the other version, and all that followed it |\n"
            "| **Undo** | back to what you saw before |\n\nNothing is ever overwritten.",
            "Think of a path that forks:\n\n```text\nyou ── reply 1 ── and so on\n   └── reply 2   (shown)\n```\n\n"
            "- The arrows walk between the forks.\n- Each branch remembers where you left it.",
        ),
        "travel": (
            "### Three days\n\n1. **Arrive** and walk the old town; early dinner.\n"
            "2. **Museums** in the morning, the river in the afternoon.\n"
            "3. **A day trip** by train, back for sunset.\n\n> Book the train first, it fills up soonest.",
            "| Day | Morning | Evening |\n|---|---|---|\n| 1 | Market | Harbour |\n| 2 | Hills | Music |\n"
            "| 3 | Coast | Home |\n\nPack light; *one* good pair of shoes is enough.",
        ),
        "code": (
            '```python\ndef squares(limit: int) -> list[int]:\n    """The squares below `limit`."""\n'
            "    return [n * n for n in range(limit) if n * n < limit]\n```\n\nIt stops at the limit and needs no loop of yours.",
            "```python\nfrom collections import Counter\n\n\ndef most_common(words: list[str]) -> str:\n"
            "    return Counter(words).most_common(1)[0][0]\n```\n\n`Counter` does the counting; you only ask.",
        ),
        "list": (
            "- [ ] Say what *done* means\n- [ ] Do the smallest part first\n  - and show it to somebody\n- [ ] Repeat",
            "1. Write everything down.\n2. Strike out half.\n3. Do the one that **scares** you most.",
        ),
        "table": (
            "| | A | B |\n|---|---:|---:|\n| Cost | 10 | 14 |\n| Speed | 3 | 9 |\n| Comfort | 7 | 6 |\n\nB, unless money is short.",
            "| Question | First | Second |\n|---|---|---|\n| Easy to begin? | yes | no |\n| Easy to keep up? | no | yes |\n\n"
            "It depends on how long you stay.",
        ),
        "explanation": (
            "## In short\n\nIt works because the parts are **small** and each does one thing.\n\n"
            "## In detail\n\n- First comes what you *see*.\n- Behind it is what you *store*.\n\n> Simple things stay simple.",
            "Start from an example, then change one thing at a time:\n\n1. Look at what is there.\n2. Guess.\n3. Try.\n\n"
            "More on this way of working: [trial and error](https://en.wikipedia.org/wiki/Trial_and_error).",
        ),
    },
    paragraphs=(
        "A conversation is a path. At every step one could have said something else, and most programs forget that.",
        "Keeping every version costs little: a few lines of text, and a note of where each one began.",
        "What costs more is to show it well, so that a reader always knows which of the versions is in front of them.",
        "That is why the counter sits right beside the message it counts, and nowhere else on the page.",
    ),
    help=(
        "### Commands of the demo model\n\n"
        "| Command | What it does |\n|---|---|\n"
        "| `/help` | shows this list |\n"
        "| `/fail` | fails after a few words, every time |\n"
        "| `/fail 2` | fails on the first 2 tries, then answers |\n"
        "| `/fail auth` | fails as with a wrong key; also `rate`, `network`, `timeout` |\n"
        "| `/long 800` | answers with about 800 words |\n"
        "| `/slow` | waits before the first word |\n"
    ),
)

CHINESE = Phrases(
    openings=(
        "你问的是：\n\n> {question}\n\n可以这样看。",
        "我们一步一步来看“{question}”。",
        "好问题。关于“{question}”，我会从这里说起。",
        "> {question}\n\n先说结论，再说细节。",
        "“{question}”不止一个好答案，这是我的。",
        "想到“{question}”，有三点最重要。",
    ),
    closings=(
        "*这是演示模型。点击**重新生成**可以换一种说法。*",
        "想要更短的回答？编辑你的消息告诉我。",
        "如果答非所问，请**编辑**你的消息：旧版本还在，按箭头就能回去。",
        "*我是按脚本回答的演示模型，请别太当真。*",
        "要不要就其中一点再展开？",
        "输入 `/help` 看看这个演示模型会做什么。",
        "*需要真正的回答时，请用 `CHAT_MODEL` 接入真正的模型。*",
    ),
    earlier="*（这是这条分支上你的第 {number} 条消息，上一条是“{question}”。）*",
    keywords={
        "branching": r"分支|重新生成|版本|撤销|箭头|分叉",
        "travel": r"旅行|旅游|行程|机票|酒店|游玩",
        "code": r"代码|函数|程序|脚本|python|编程",
        "table": r"表格|对比|比较|区别",
        "list": r"列表|清单|步骤|计划|建议",
        "greeting": r"^\W*(你好|您好|嗨|早上好|晚上好|谢谢)",
    },
    topics={
        "greeting": (
            "你好！我可以给你看：\n\n- **列表**和表格，\n- 代码，\n- 以及这个应用怎样*分支*。",
            "你好。可以试着问我：\n\n1. 一次去杭州的旅行，\n2. 一个 Python 函数，\n3. 用表格做个对比。",
        ),
        "branching": (
            "## 分支怎么用\n\n| 按钮 | 作用 |\n|---|---|\n| **重新生成** | 旁边多一个回复 |\n"
            "| **编辑** | 换一种问法，各有各的回复 |\n| **‹ 1 / 2 ›** | 看另一个版本和它后面的内容 |\n"
            "| **撤销** | 回到刚才看到的地方 |\n\n什么都不会被覆盖。",
            "把它想成一条会分叉的路：\n\n```text\n你 ── 回复 1 ── 后续\n  └── 回复 2（当前）\n```\n\n- 箭头在岔路之间走。\n- 每条分支都记得你上次停在哪里。",
        ),
        "travel": (
            "### 三天行程\n\n1. **第一天**：到达，逛老城。\n2. **第二天**：上午博物馆，下午沿河散步。\n"
            "3. **第三天**：坐火车去近郊，日落前回来。\n\n> 先订火车票，它最先卖完。",
            "| 天 | 上午 | 晚上 |\n|---|---|---|\n| 1 | 集市 | 港口 |\n| 2 | 爬山 | 听音乐 |\n| 3 | 海边 | 回家 |\n\n行李越少越好。",
        ),
        "code": (
            '```python\ndef squares(limit: int) -> list[int]:\n    """小于 limit 的平方数。"""\n'
            "    return [n * n for n in range(limit) if n * n < limit]\n```\n\n到上限就停。",
            "```python\nfrom collections import Counter\n\n\ndef most_common(words: list[str]) -> str:\n"
            "    return Counter(words).most_common(1)[0][0]\n```\n\n计数交给 `Counter`。",
        ),
        "list": (
            "- [ ] 说清楚什么叫*完成*\n- [ ] 先做最小的一步\n  - 并给别人看\n- [ ] 再来一遍",
            "1. 全部写下来。\n2. 划掉一半。\n3. 先做**最怕**的那件。",
        ),
        "table": (
            "| | 甲 | 乙 |\n|---|---:|---:|\n| 价格 | 10 | 14 |\n| 速度 | 3 | 9 |\n\n不缺钱就选乙。",
            "| 问题 | 第一种 | 第二种 |\n|---|---|---|\n| 容易上手？ | 是 | 否 |\n| 容易坚持？ | 否 | 是 |\n\n看你打算用多久。",
        ),
        "explanation": (
            "## 简单说\n\n因为每个部分都**很小**，而且只做一件事。\n\n## 细一点\n\n- 前面是你*看到*的。\n- 后面是你*保存*的。\n\n> 简单的事就让它简单。",
            "先看一个例子，然后每次只改一处：\n\n1. 看现状。\n2. 猜。\n3. 试。\n\n"
            "延伸阅读：[试错法](https://zh.wikipedia.org/wiki/试错)。",
        ),
    },
    paragraphs=(
        "对话是一条路。每一步都可以换一种说法，而大多数程序都忘了这一点。",
        "保留每个版本花费很少：几行文字，再记下它从哪里开始。",
        "更难的是把它展示清楚，让读者随时知道眼前是哪个版本。",
    ),
    help=(
        "### 演示模型的命令\n\n| 命令 | 作用 |\n|---|---|\n| `/help` | 显示这个列表 |\n"
        "| `/fail` | 说几个词后出错，每次都是 |\n| `/fail 2` | 前 2 次出错，然后回答 |\n"
        "| `/fail auth` | 像密钥错误那样失败；还有 `rate`、`network`、`timeout` |\n"
        "| `/long 800` | 大约 800 个词的回答 |\n| `/slow` | 开口前先等一会儿 |\n"
    ),
)
