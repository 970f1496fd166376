"""What every page of the console has: the environment of the templates, headers, and the shipped files."""

import json
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from gerbang.runtime.preview import visible
from gerbang.server.console.instants import when
from gerbang.server.console.texts import LANGS, text
from gerbang.server.replies import Reply
from gerbang.server.run_names import given_name

HTML: Final = b"text/html; charset=utf-8"
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=()"),
)
ASSETS: Final = {
    "console.css": b"text/css; charset=utf-8",
    "console.js": b"text/javascript; charset=utf-8",
    "htmx.min.js": b"text/javascript; charset=utf-8",
    "icon.svg": b"image/svg+xml",
}
_FOLDERS: Final = {"htmx.min.js": ("static", "htmx", "htmx.min.js")}
_KEPT: Final = (b"cache-control", b"public, max-age=3600")
_HIDDEN_KINDS: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


class Exact(str):
    """A text that goes into a page unchanged but escaped: the value of a field that is sent back."""

    __slots__ = ()


def shown(value: Any) -> Any:
    """Return a value as pages show it: invisible and bidirectional characters are written as escapes."""
    return visible(value) if type(value) is str else value


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment: everything is escaped, and every text passes `shown`."""
    made = Environment(
        loader=PackageLoader("gerbang.server.console"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["quoted"] = lambda value: quote(str(value), safe="", errors="replace")
    made.filters["exact"] = Exact
    made.filters["given"] = given_name
    made.globals["langs"] = LANGS
    made.globals["when"] = when
    return made


def page(name: str, lang: str, values: dict[str, Any], status: int = 200) -> Reply:
    """Return a page made of a template."""

    def said(key: str, **fields: Any) -> str:
        return text(lang, key, **fields)

    body = environment().get_template(name).render(values, t=said, lang=lang)
    return Reply(body.encode("utf-8", "backslashreplace"), status, HTML, _HEADERS)


def asset(name: str) -> Reply | None:
    """Return a shipped file; None when there is none of that name."""
    kind = ASSETS.get(name)
    return None if kind is None else Reply(_read(name), 200, kind, (_KEPT, *_HEADERS))


def moved(place: str) -> Reply:
    """Return the answer that sends a browser on with GET."""
    return Reply(b"", 303, HTML, ((b"location", place.encode("ascii")), *_HEADERS))


def editable(arguments: Any) -> str:
    """Return JSON for an editor: every character that nobody would see is written as its escape."""
    written = json.dumps(arguments, ensure_ascii=False, indent=2)
    if written.isascii():
        return written
    return "".join(_escaped(char) if _hidden(char) else char for char in written)


def _hidden(char: str) -> bool:
    return char != "\n" and (unicodedata.category(char) in _HIDDEN_KINDS or visible(char) != char)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


@lru_cache(maxsize=8)
def _read(name: str) -> bytes:
    found = files("gerbang.server.console")
    for part in _FOLDERS.get(name, ("static", name)):
        found = found.joinpath(part)
    return found.read_bytes()
