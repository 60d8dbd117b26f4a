"""People who do at random whatever their pages offer, and the tabs that they leave open."""

from __future__ import annotations

import asyncio
import secrets
from random import Random

import httpx
from websockets.exceptions import InvalidHandshake, WebSocketException

from tests.chaos.ledger import Ledger, Said
from tests.page import Form, parse
from tests.person import Person, Tab

PASSWORD = secrets.token_hex(12)
WEIGHTS = {"send": 6, "edit": 3, "regenerate": 3, "switch": 3, "undo": 1, "stop": 1, "retry": 4, "show": 1}
TRIES = 40


class World:
    """What all people share: the server's address, chance, the ledger, and whether they are to go on."""

    def __init__(self, url: str, seed: int, ledger: Ledger) -> None:
        self.url, self.seed, self.ledger = url, seed, ledger
        self.devices: list[Device] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.is_over = False
        self.busy = 0
        self.count = 0

    async def quiet(self) -> None:
        """Let nobody begin anything, and wait until everybody has had their answer."""
        self.go_on.clear()
        while self.busy:  # noqa: ASYNC110 - one place to wait, many to count
            await asyncio.sleep(0.05)


class Device(Person):
    """One browser of one account. Other devices of that account do things to the same threads."""

    def __init__(self, world: World, name: str, number: int) -> None:
        super().__init__(world.url)
        self.world, self.name = world, name
        self.chance = Random(f"{world.seed} {name} {number}")
        self.threads: list[str] = []

    async def sign_up(self) -> None:
        await self._fill_in("/signup/", username=self.name, password1=PASSWORD, password2=PASSWORD)
        for number in range(3):
            self.threads.append((await self.begin("echo" if number == 0 else "chat")).path)

    async def log_in(self, threads: list[str]) -> None:
        await self._fill_in("/login/", username=self.name, password=PASSWORD)
        self.threads = threads

    async def _fill_in(self, path: str, **fields: str) -> None:
        page = parse((await self.http.get(path)).text)
        form = next(each for each in page.with_("method", tag="form") if each["action"] == path)
        answer = await self.http.post(path, data={**Form.of(form).fields, **fields})
        assert answer.status_code == 302, answer.text

    async def live(self) -> None:
        """Do one thing after another until the world is over."""
        while not self.world.is_over:
            await self.world.go_on.wait()
            self.world.busy += 1
            try:
                await self._do_something()
            finally:
                self.world.busy -= 1
            await asyncio.sleep(self.chance.expovariate(6))

    async def _do_something(self) -> None:
        tab = await self.look(self.chance.choice(self.threads))
        offers = {name: found for name in WEIGHTS if (found := offered(tab, name))}
        action = self.chance.choices([*offers], [WEIGHTS[name] for name in offers])[0]
        form = self.chance.choice(offers[action])
        self.world.ledger.commands[action] += 1
        match action:
            case "send" | "edit":
                text = self._words()
                said = self.world.ledger.say(tab.path, text)
                answer = await self._press(tab, form, said, content=text)
                if action == "edit":
                    await self._follow_up(tab, answer)
            case _:
                await self._press(tab, form)

    async def look(self, path: str) -> Tab:
        """The thread's page, once the server is there to give it."""
        for _ in range(TRIES * 5):
            try:
                return await Tab(self, path).load()
            except httpx.TransportError:
                await asyncio.sleep(0.1)
            except httpx.HTTPStatusError as error:
                self.world.ledger.findings.append(f"{error.response.status_code} from {path}")
        raise TimeoutError("The server does not come back.")

    async def _follow_up(self, tab: Tab, answer: httpx.Response | None) -> None:
        """The second half of an edit, which the page sends by itself, unless it is closed in between."""
        forms = parse(answer.text).with_("data-after-edit", tag="form") if answer else []
        if forms and self.chance.random() < 0.8:
            await self._press(tab, Form.of(forms[0]))

    async def _press(self, tab: Tab, form: Form, said: Said | None = None, **fields: str) -> httpx.Response | None:
        """Send the form; where no answer comes, now and then the very same once more. Now and then twice at once."""
        twice = self.chance.random() < 0.1
        for _ in range(TRIES):
            results = await asyncio.gather(
                *(tab.press(form, **fields) for _ in range(1 + twice)), return_exceptions=True
            )
            for result in sorted(results, key=lambda result: not isinstance(result, httpx.Response)):
                self._note(result, said)
            if isinstance(results[0], httpx.Response):
                return results[0]
            if self.chance.random() < 0.3:
                return None
            await asyncio.sleep(0.2)
        return None

    def _note(self, result: httpx.Response | BaseException, said: Said | None) -> None:
        ledger = self.world.ledger
        if not isinstance(result, httpx.Response):
            ledger.answers["no answer"] += 1
            if not isinstance(result, httpx.TransportError):
                raise result
            if said:
                said.went_unanswered()
            return
        ledger.answers[str(result.status_code)] += 1
        if result.status_code >= 500:
            ledger.findings.append(f"{result.status_code} from {result.request.url.path}")
        if said:
            said.answered(result.status_code)

    def _words(self) -> str:
        self.world.count += 1
        name = f"m{self.world.count}"
        shape = self.chance.choices(["{} says something.", "/long {}", "/fail {}", "{} asks for a table"], [6, 5, 1, 2])
        return shape[0].format(name)


def offered(tab: Tab, action: str) -> list[Form]:
    """The forms that do this, as the page has them at the moment."""
    screen = tab.screen
    match action:
        case "send":
            return [] if screen.stop_url else [Form(f"{tab.path}messages/", screen.fields)]
        case "edit":
            return [Form(opener.url, screen.fields) for opener in screen.forms("edit")]
        case "switch":
            return [*screen.forms("previous-version"), *screen.forms("next-version")]
        case "stop":
            return [Form(screen.stop_url, screen.fields)] if screen.stop_url else []
        case "show":
            return [*screen.forms("show-run"), *screen.forms("show-later")]
        case _:
            return screen.forms(action)


class Watcher:
    """A tab that is left open: it hears all that happens on its thread, is cut off at random, and comes back."""

    def __init__(self, device: Device, path: str) -> None:
        self.device, self.tab = device, Tab(device, path)
        self.chance = Random(f"{device.chance.random()} {path}")
        self.is_connected = False

    async def watch(self) -> None:
        """Until cancelled."""
        sockets = self.device.world.ledger.sockets
        while True:
            try:
                async with self.tab.socket(open_timeout=5) as socket:
                    sockets["opened"] += 1
                    try:
                        async with asyncio.timeout(self.chance.expovariate(1 / 6)):
                            await self.tab.see(socket, until=lambda screen: False, within=1e6)
                    except TimeoutError:
                        if not self.device.world.is_over:
                            sockets["cut"] += 1
                            socket.transport.abort()
                        else:
                            await self.tab.see(socket, until=lambda screen: False, within=1e6)
            except (OSError, WebSocketException, InvalidHandshake, TimeoutError):
                sockets["lost"] += 1
                await asyncio.sleep(self.chance.random())
            except AssertionError as error:
                self.device.world.ledger.findings.append(f"{self.tab.path}: {error}")
