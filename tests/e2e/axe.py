"""axe-core over a page: what of it somebody could not use.

It runs in a world of its own within the page, as a browser's extensions do: the page's content security policy holds
for the page as ever, and the two do not see each other's variables.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession, Page

SCRIPT = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
RUN = """axe.run(document, %s).then(({violations}) => violations.flatMap(({id, help, nodes}) => nodes.map((node) =>
    [id, help, node.target.join(" "), node.html.slice(0, 160), ...node.any.map((one) => one.message)].join(": ")
)))"""
# A colour that fades in, or out, is no colour to judge.
STILL = "for (const each of document.getAnimations()) try { each.finish(); } catch { each.cancel(); }"


class Axe:
    """axe-core beside one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session: CDPSession | None = None

    async def all_violations(self) -> list[str]:
        """What is wrong with the page as it is, wide and narrow, light and dark. It is left wide and light."""
        found: list[str] = []
        await self.page.emulate_media(reduced_motion="reduce")
        for width, scheme, only in (
            (WIDE, "light", None),
            (WIDE, "dark", "color-contrast"),
            (NARROW, "light", "color-contrast"),
            (NARROW, "dark", None),
        ):
            await self.page.set_viewport_size(width)
            await self.page.emulate_media(color_scheme=scheme)
            found += [f"{width['width']} {scheme}: {each}" for each in await self.violations(only)]
        await self.page.set_viewport_size(WIDE)
        await self.page.emulate_media(color_scheme="light")
        return found

    async def violations(self, only: str | None = None) -> list[str]:
        """What is wrong with the page as it is now; with `only`, by this rule alone."""
        run = {"type": "rule", "values": [only]} if only else {"type": "tag", "values": TAGS}
        options = {"runOnly": run, "resultTypes": ["violations"], "preload": False}
        world = await self._world()
        await self._evaluate(STILL, world)
        if await self._evaluate("typeof axe", world) == "undefined":
            await self._evaluate(f"{SCRIPT}; undefined", world)
        found = await self._evaluate(RUN % json.dumps(options), world)
        # On a page that scrolls something is always just passing below the bars that stay.
        return [each for each in found if "because it is partially obscured" not in each]

    async def _world(self) -> int:
        """The world of ours in the document that is now on the page."""
        if self.session is None:
            self.session = await self.page.context.new_cdp_session(self.page)
        tree = await self.session.send("Page.getFrameTree")
        where = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "axe"}
        return (await self.session.send("Page.createIsolatedWorld", where))["executionContextId"]

    async def _evaluate(self, expression: str, world: int) -> Any:
        assert self.session is not None
        what = {"expression": expression, "contextId": world, "awaitPromise": True, "returnByValue": True}
        answer = await self.session.send("Runtime.evaluate", what)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")
