"""Signing in with an API key, signing out, and the way to the first page."""

import re
from typing import Final

from gerbang.server.console import pages
from gerbang.server.console.session import COOKIE, set_cookie
from gerbang.server.console.visit import MENU, Page, Visit
from gerbang.server.operation import short
from gerbang.server.problems import not_found, wait
from gerbang.server.replies import Reply

_PLACE: Final = re.compile(r"/console(/[a-z/]*)?(\?[A-Za-z0-9._~%=&+-]*)?")
_HOME: Final = "/console/approvals"


async def home(visit: Visit) -> Reply:
    """Send the browser to the first page that the person may see."""
    if visit.known is None:
        return pages.moved("/console/login")
    place = next((address for _, address, right in MENU if visit.caller.may(right)), None)
    if place is None:
        return visit.page("nothing.html")
    return pages.moved(place)


async def form(visit: Visit) -> Reply:
    """Show the form, unless nobody has to sign in."""
    place = _own_place(visit.query(next=short).get("next", _HOME))
    if visit.known is not None:
        return pages.moved(place)
    return visit.page("login.html", place=place, wrong=False)


async def sign_in(visit: Visit) -> Reply:
    """Begin a session for a key. A wrong key is counted by the address that it comes from."""
    service, exchange = visit.service, visit.exchange
    place = _own_place(visit.form.get("next", _HOME))
    client = exchange.scope.get("client")
    address = client[0] if client else ""
    waiting = service.failed.spent(address)
    if waiting:
        raise wait(429, "rate_limited", "RATE_ACTOR", visit.said("too_often"), waiting)
    key = visit.form.get("key", "").strip().encode("utf-8", "replace")
    caller = await service.authenticator.authenticate({b"authorization": b"Bearer " + key})
    if caller is None:
        service.failed.take(address)
        return visit.page("login.html", status=401, place=place, wrong=True)
    await visit.end_session()
    session = visit.sessions.begin(caller.key_id, visit.now)
    visit.cookies.append(set_cookie(COOKIE, visit.sessions.text(session), secure=visit.secure))
    return pages.moved(place)


async def sign_out(visit: Visit) -> Reply:
    """End the session, in every process that shares the store."""
    visit.cookies.append(set_cookie(COOKIE, "", secure=visit.secure, seconds=0))
    await visit.end_session()
    return pages.moved("/console/login")


async def nowhere(_: Visit) -> Reply:
    """Say that there is no such page."""
    raise not_found("such page")


def _own_place(place: str) -> str:
    """Return a page of the console: where a link would lead elsewhere, the first one."""
    return place if _PLACE.fullmatch(place) else _HOME


PAGES: Final = (
    Page("GET", "/console", None, home),
    Page("GET", "/console/login", None, form),
    Page("POST", "/console/login", None, sign_in),
    Page("POST", "/console/logout", None, sign_out),
    Page("GET", "/console/{name}", None, nowhere),
)
