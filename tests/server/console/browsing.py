"""A real Chromium for the tests of the console, and what a page is asked."""

import gzip
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import aiohttp
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.server.running import Server

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TOOLS = ("--python", "console.tools_of_console:TOOLS")
PHONE: Any = {"width": 360, "height": 740}
DESK: Any = {"width": 1280, "height": 900}


def chromium() -> str:
    """Return Chromium's path: of the system, or as CHROMIUM says."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert found is not None, "These tests need Chromium: apt-get install chromium, or set CHROMIUM."
    return found


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Start Chromium with a profile of its own."""
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield started
        finally:
            await started.close()


_NO_COMPLAINT: Final = (
    "Failed to load resource: the server responded with a status of 4",  # the answer that was asked for
    "Autofocus processing was blocked because a document already has a focused element",  # by a quick person
)


class Seat:
    """A person at a browser. What pages complain of, and what they run that they should not, is kept."""

    def __init__(self, context: BrowserContext, page: Page, server: Server) -> None:
        self.context = context
        self.page = page
        self.server = server
        self.complaints: list[str] = []
        page.on("console", lambda message: self._complain(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def _complain(self, text: str) -> None:
        """Keep what a page complains of, but for what is no fault of its own (`_NO_COMPLAINT`)."""
        if not text.startswith(_NO_COMPLAINT):
            self.complaints.append(text)

    async def open(self, path: str) -> int:
        answer = await self.page.goto(self.server.url + path)
        assert answer is not None
        return answer.status

    async def text(self) -> str:
        return await self.page.inner_text("main")

    async def focused(self) -> str:
        """Return what has the focus: its tag and its text, or its name."""
        script = (
            "(() => {const e = document.activeElement; return e.tagName + ' ' + (e.name || e.innerText)})()"
        )
        found: str = await self.page.evaluate(script)
        return found


@asynccontextmanager
async def seat(started: Browser, server: Server, **options: Any) -> AsyncIterator[Seat]:
    """Sit down before a fresh browser: no cookies, nothing kept."""
    context = await started.new_context(**{"viewport": DESK, **options})
    context.set_default_timeout(45_000)
    try:
        yield Seat(context, await context.new_page(), server)
    finally:
        await context.close()


@lru_cache(maxsize=1)
def _axe() -> str:
    return gzip.decompress((Path(__file__).parent / "axe" / "axe.min.js.gz").read_bytes()).decode()


async def axe(page: Page) -> list[str]:
    """Return what axe finds on the page, of every gravity, with the elements."""
    await page.evaluate(_axe())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{item['impact']} {item['id']}: {[node['html'][:160] for node in item['nodes'][:4]]}"
        for item in found["violations"]
    ]


class Visitor:
    """A program that behaves like a browser: it keeps cookies, and sends forms with their token."""

    def __init__(self, session: aiohttp.ClientSession, server: Server) -> None:
        self.session = session
        self.server = server

    async def get(self, path: str, **headers: str) -> tuple[int, str, Any]:
        async with self.session.get(
            self.server.url + path, headers=_named(headers), allow_redirects=False
        ) as answer:
            return answer.status, await answer.text(), answer.headers

    async def token(self, path: str = "/console/switches") -> str:
        """Return the token of this visitor's forms."""
        _, page, _ = await self.get(path)
        return page.split('name="csrf" value="', 1)[1].split('"', 1)[0]

    async def post(self, path: str, form: dict[str, str], **headers: str) -> tuple[int, str, Any]:
        async with self.session.post(
            self.server.url + path, data=form, headers=_named(headers), allow_redirects=False
        ) as answer:
            return answer.status, await answer.text(), answer.headers

    async def sign_in(self, key: str) -> int:
        """Sign in, and return the status of the answer."""
        token = await self.token("/console/login")
        status, _, _ = await self.post("/console/login", {"csrf": token, "key": key})
        return status


@asynccontextmanager
async def visitor(server: Server, key: str | None = None) -> AsyncIterator[Visitor]:
    """Visit a server, signed in with a key if there is one."""
    jar = aiohttp.CookieJar(unsafe=True)  # 127.0.0.1 has no name
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        made = Visitor(session, server)
        if key is not None:
            assert await made.sign_in(key) == 303
        yield made


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
