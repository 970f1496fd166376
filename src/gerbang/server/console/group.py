"""The routes of the console, and what holds for all of them: sessions, rights, tokens, pages for errors."""

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from gerbang.errors import GerbangError
from gerbang.server import problems
from gerbang.server.console import approvals, audit, figures, login, pages, policy, runs, switches, tools
from gerbang.server.console.ended import EndedSessions
from gerbang.server.console.session import COOKIE, Sessions, caller_of, cookies, set_cookie
from gerbang.server.console.texts import LANGS
from gerbang.server.console.visit import KEYS, Page, Visit, lang_of, preferred, read_form
from gerbang.server.operation import Exchange, Handler, Operation, RouteGroup
from gerbang.server.problems import Problem, not_found, problem, wait
from gerbang.server.replies import Reply

PAGES: Final[tuple[Page, ...]] = (
    *login.PAGES,
    *approvals.PAGES,
    *runs.PAGES,
    *tools.PAGES,
    *policy.PAGES,
    *audit.PAGES,
    *figures.PAGES,
    *switches.PAGES,
)
_LANG: Final = "gerbang_lang"
_KEYS: Final = "gerbang_keys"
_YEAR_S: Final = 365 * 86_400


def group(made: Sequence[Page] = PAGES) -> RouteGroup:
    """Return the group of the console's pages."""
    console = _Console()
    operations = [
        Operation(page.method, page.path, console.handler(page), "console", page.path, hidden=True)
        for page in made
    ]
    operations.append(Operation("GET", "/console/assets/{name}", _asset, "console", "Files", hidden=True))
    operations.append(Operation("GET", "/", _front, "console", "The way in", hidden=True))
    return RouteGroup("console", "", tuple(operations))


async def _front(_: Exchange) -> Reply:
    """Send who types the server's address only to the pages that are for people."""
    return pages.moved("/console")


async def _asset(exchange: Exchange) -> Reply:
    found = pages.asset(exchange.path[0])
    if found is None:
        raise not_found("such file")
    return found


class _Console:
    """The sessions of one server, made when its store is open."""

    def __init__(self) -> None:
        self._sessions: Sessions | None = None
        self._ended: EndedSessions

    def handler(self, page: Page) -> Handler:
        """Return the handler of a page."""

        async def handle(exchange: Exchange) -> Reply:
            visit = await self._visit(exchange)
            try:
                reply = await self._answer(visit, page)
            except Problem as found:
                reply = _failed(visit, found)
            except GerbangError as error:
                reply = _failed(visit, problems.of_error(error))
            if visit.cookies:
                added = tuple((b"set-cookie", cookie.encode("ascii")) for cookie in visit.cookies)
                reply.headers = (*reply.headers, *added)
            return reply

        return handle

    async def _visit(self, exchange: Exchange) -> Visit:
        if self._sessions is None:
            self._ended = EndedSessions(exchange.service.store)
            self._sessions = Sessions(await exchange.service.store.secret_key())
        sent, now = cookies(exchange.header(b"cookie")), time.time()
        session = self._sessions.read(sent.get(COOKIE, ""), now)
        if session is not None and session.key_id and await self._ended.has(session, now):
            session = None
        caller = caller_of(session, exchange.service.authenticator)
        chosen = sent.get(_LANG, "")
        try:
            lang = lang_of(chosen)
        except ValueError:
            lang = preferred(exchange.header(b"accept-language"))
        visit = Visit(exchange, self._sessions, self._ended, session, caller, lang)
        visit.keys = "off" if sent.get(_KEYS) == "off" else "on"
        return visit

    async def _answer(self, visit: Visit, page: Page) -> Reply:
        _choose(visit)
        if page.right is not None:
            turned_away = _admit(visit, page.right)
            if turned_away is not None:
                return turned_away
        if page.method == "POST":
            visit.form = read_form(visit.exchange)
            given = visit.form.pop("csrf", "")
            if visit.session is None or not visit.sessions.is_token(visit.session, given):
                raise problem(403, "permission_denied", "CSRF", visit.said("csrf_wrong"))
        elif visit.session is None:
            visit.session = visit.sessions.begin(visit.caller.key_id if visit.known else "", visit.now)
            value = visit.sessions.text(visit.session)
            visit.cookies.append(set_cookie(COOKIE, value, secure=visit.secure))
        return await page.work(visit)


def _choose(visit: Visit) -> None:
    """Take the language of the query and whether keys are wanted, and remember them."""
    for part in visit.exchange.scope["query_string"].decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if name == "lang" and value in LANGS:
            visit.lang = value
        elif name == "keys" and value in KEYS:
            visit.keys = value
        else:
            continue
        cookie = _LANG if name == "lang" else _KEYS
        visit.cookies.append(set_cookie(cookie, value, secure=visit.secure, seconds=_YEAR_S))


def _admit(visit: Visit, right: str) -> Reply | None:
    """Return the way to the sign-in page for who has not signed in. Raises Problem for who may not."""
    exchange, service = visit.exchange, visit.service
    if visit.known is None:
        if exchange.scope["method"] not in ("GET", "HEAD"):
            raise problem(403, "permission_denied", "NOT_AUTHENTICATED", visit.said("session_over"))
        raw = exchange.scope["query_string"].decode("latin-1")
        place = exchange.scope["path"] + (f"?{raw}" if raw else "")
        if exchange.header(b"sec-fetch-site") == "cross-site":  # the cookie was held back: ask once more
            return visit.page("bounce.html", place=place)
        return pages.moved(f"/console/login?next={quote(place, safe='')}")
    if not visit.caller.may(right):
        raise problem(403, "permission_denied", "RIGHT_MISSING", visit.said("right_missing", right=right))
    if visit.caller.authenticated:
        waiting = service.limiter.take(visit.caller.key_id, visit.caller.rate_per_s)
        if waiting:
            raise wait(429, "rate_limited", "RATE_ACTOR", visit.said("too_often"), waiting)
    return None


def _failed(visit: Visit, found: Problem) -> Reply:
    reply = visit.page(
        "error.html",
        status=found.status,
        code=found.error.error_code,
        message=found.error.message,
        fix=found.error.suggested_fix,
    )
    reply.headers = (*reply.headers, *((name.encode(), value.encode()) for name, value in found.headers))
    return reply
