"""One request of a browser: who it is, in which language, what its form says."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct

from gerbang.compose.gateway import Gateway
from gerbang.ports import Store
from gerbang.server.console.ended import EndedSessions
from gerbang.server.console.pages import page
from gerbang.server.console.session import Session, Sessions
from gerbang.server.console.texts import LANGS, text
from gerbang.server.identity import LOCAL_CALLER, Caller
from gerbang.server.operation import Exchange
from gerbang.server.problems import bad_request, problem
from gerbang.server.replies import Reply
from gerbang.values import Principal

_FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 40
KEYS: Final = ("on", "off")
"""Whether single letters are keys: who dictates, or types by accident, can turn them off."""
MENU: Final = (
    ("approvals", "/console/approvals", "approvals"),
    ("runs", "/console/runs", "runs"),
    ("tools", "/console/tools", "calls"),
    ("policy", "/console/policy", "audit"),
    ("audit", "/console/audit", "audit"),
    ("figures", "/console/figures", "runs"),
    ("switches", "/console/switches", "approvals"),
)
"""Name, address and the right that each page needs."""


class Visit:
    """A request on its way through a page. `caller` is the local person until somebody has to sign in."""

    def __init__(
        self,
        exchange: Exchange,
        sessions: Sessions,
        ended: EndedSessions,
        session: Session | None,
        caller: Caller | None,
        lang: str,
    ) -> None:
        self.exchange = exchange
        self.service = exchange.service
        self.sessions = sessions
        self.session = session
        self.ended = ended
        self.known = caller
        self.caller = LOCAL_CALLER if caller is None else caller
        self.lang = lang
        self.keys = "on"
        self.form: dict[str, str] = {}
        self.cookies: list[str] = []
        self.now = time.time()

    async def end_session(self) -> None:
        """Have the session open nothing any more, in any process. Raises StoreError."""
        if self.session is not None and self.session.key_id:  # without a key it opens nothing anyway
            await self.ended.add(self.session, self.now)

    @property
    def who(self) -> Principal:
        """Who acts."""
        return self.caller.principal

    @property
    def tenant(self) -> str:
        """Whose things are shown."""
        return self.caller.principal.tenant

    @property
    def store(self) -> Store:
        """The records."""
        return self.service.store

    @property
    def gateway(self) -> Gateway:
        """The gateway of the tenant's tools."""
        return self.service.toolsets.of(self.tenant).gateway

    @property
    def rules_all(self) -> bool:
        """Tell whether this person looks after the whole server, not one tenant only."""
        return self.caller.may("admin") or not self.caller.authenticated

    @property
    def secure(self) -> bool:
        """Tell whether the browser came by TLS."""
        return bool(self.exchange.scope["scheme"] == "https")

    def said(self, key: str, **fields: Any) -> str:
        """Return a text of the table."""
        return text(self.lang, key, **fields)

    def query(self, **known: Callable[[str], Any]) -> dict[str, Any]:
        """Return the query's values. Raises Problem as `Exchange.query` does."""
        return self.exchange.query(**known, lang=lang_of, keys=_keys)

    def page(self, name: str, *, status: int = 200, **values: Any) -> Reply:
        """Return a page of a template, with what each page has."""
        scope = self.exchange.scope
        return page(
            name,
            self.lang,
            {
                "menu": [item for item in MENU if self.known is not None and self.caller.may(item[2])],
                "who": self.who,
                "signed_in": self.known is not None and self.caller.authenticated,
                "known": self.known is not None,
                "csrf": "" if self.session is None else self.sessions.token(self.session),
                "here": scope["path"],
                "rules_all": self.rules_all,
                "keys": self.keys,
                "lang_links": self._lang_links(),
                **values,
            },
            status,
        )

    def _lang_links(self) -> list[tuple[str, str]]:
        """Return the address of this page in each language; of a page that a form made, the first page."""
        scope = self.exchange.scope
        if scope["method"] == "POST":
            return [(one, f"/console?lang={one}") for one in LANGS]
        raw: bytes = scope["query_string"]
        kept = [part for part in raw.decode("latin-1").split("&") if part and not part.startswith("lang=")]
        return [(one, "?" + "&".join([*kept, f"lang={one}"])) for one in LANGS]


Work = Callable[[Visit], Awaitable[Reply]]


class Page(Struct, frozen=True):
    """A page: how it is asked for, what right it needs (None: none), and what makes it."""

    method: str
    path: str
    right: str | None
    work: Work


def lang_of(value: str) -> str:
    """Return a language of the console. Raises ValueError."""
    if value not in LANGS:
        raise ValueError(f"it is one of {', '.join(LANGS)}")
    return value


def _keys(value: str) -> str:
    if value not in KEYS:
        raise ValueError(f"it is one of {', '.join(KEYS)}")
    return value


def preferred(accept: str | None) -> str:
    """Return the language that a browser asks for, English when it asks for none of ours."""
    best, weight = "en", 0.0
    for part in (accept or "")[:500].split(","):
        tag, _, quality = part.strip().partition(";")
        name = tag.split("-")[0].lower()
        try:
            given = float(quality.strip().removeprefix("q=")) if quality else 1.0
        except ValueError:
            continue
        if name in LANGS and given > weight:
            best, weight = name, given
    return best


def read_form(exchange: Exchange) -> dict[str, str]:
    """Return the fields of a form. Raises Problem for what is none, and for a field that is there twice."""
    kind = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise problem(415, "validation_error", "NOT_A_FORM", "This takes the console's own forms only.")
    try:
        pairs = parse_qsl(
            exchange.body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except (ValueError, UnicodeDecodeError):
        raise bad_request("The form cannot be read.", "Send it again.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise bad_request("The form has a field twice.", "Send it again.")
    return found
