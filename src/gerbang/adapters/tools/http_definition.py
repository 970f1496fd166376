"""The request that a declarative HTTP tool makes, read from its definition and checked. Pure.

A definition names `url`, `method` (default POST) and `headers`. `{argument}` may stand in the path and query
of the URL and in header values, `${secret:NAME}` in header values; never in the scheme, host or port.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from gerbang.adapters.tools.egress import EgressRefused, Place, read_place
from gerbang.adapters.tools.http_template import BadTemplate, Pieces, Slot, pieces, slots

REQUEST_FIELDS: Final = ("url", "method", "headers", "header_only")
"""Fields of a definition that say what to send."""
READS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Verbs that change nothing (RFC 9110, 9.2.1): without a class of their own such tools are read_external."""
IN_QUERY: Final = READS | {"DELETE"}
"""Verbs whose arguments go into the query; all others send a JSON body."""
MAX_URL: Final = 16_384
"""Longest URL, in characters."""
MAX_HEADER: Final = 8_192
"""Longest value of one header, in characters."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_URL: Final = re.compile(
    r"([a-z][a-z0-9+.-]*://[^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE | re.DOTALL
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PLAIN_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_RESERVED: Final = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te"),
        *("proxy-authorization", "proxy-connection", "trailer", "transfer-encoding", "upgrade"),
    }
)
_PATH_SAFE: Final = "%:@!$&'()*+,;=~"
_QUERY_SAFE: Final = _PATH_SAFE + "/?"
_CREDENTIALS: Final = re.compile(r"authorization|cookie|api-?key|token|secret|password", re.IGNORECASE)


class BadField(ValueError):
    """A field of a definition that cannot be used. `field` names it; `str()` says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Pair(Struct, frozen=True):
    """One `name=value` of a query as written. `optional` names the argument that it is left out without."""

    parts: Pieces
    optional: str | None


class HttpDefinition(Struct, frozen=True):
    """What to send where. Literal parts of `segments` and `query` are percent-encoded already.

    `verb` is the method as it was written, `method` the one to send; None when it is none. `place` is the
    literal scheme, host and port. `header_only`: arguments that only headers use are not sent again.
    """

    verb: str
    method: str | None
    place: Place
    segments: tuple[Pieces, ...]
    query: tuple[Pair, ...]
    headers: tuple[tuple[str, Pieces], ...]
    url_arguments: frozenset[str]
    header_arguments: frozenset[str]
    secrets: tuple[str, ...]
    header_only: bool
    digest: str

    @property
    def reads(self) -> bool:
        """True for the verbs that change nothing."""
        return self.method in READS

    @property
    def note(self) -> dict[str, Any]:
        """What a contract's `annotations` say of the request, under `http`."""
        said: dict[str, Any] = {"method": self.verb, "origin": self.place.origin}
        if self.header_arguments:
            said["header_arguments"] = sorted(self.header_arguments)
        return said


def read_definition(
    fields: Mapping[str, Any], parameters: Collection[str], *, may_name_secrets: bool = True
) -> HttpDefinition:
    """Return the checked request of a definition. `parameters` are the names of its arguments.

    Raises BadField. A bad verb is no error here: calls of such a tool answer with the error text.
    """
    url, headers = fields.get("url"), fields.get("headers", {})
    verb, header_only = fields.get("method", "POST"), fields.get("header_only", False)
    if not isinstance(url, str) or not url.strip():
        raise BadField(
            "url", "the field url is missing; write the address, such as https://api.example.com/x"
        )
    if not isinstance(verb, str):
        raise BadField("method", f"the method must be text such as GET, not {_kind(verb)}")
    if not isinstance(headers, dict):
        raise BadField("headers", f"headers must be an object of names and values, not {_kind(headers)}")
    if not isinstance(header_only, bool):
        raise BadField("header_only", f"header_only must be true or false, not {_kind(header_only)}")
    place, segments, query = _read_url(url.strip(), parameters)
    named = tuple(_header(name, value, parameters) for name, value in headers.items())
    _no_doubles(named)
    secrets = sorted({name for _, parts in named for name in slots(parts, "secret")})
    if secrets and not may_name_secrets:
        raise BadField("headers", "definitions that come by request may not name secrets")
    in_url = {name for parts in segments for name in slots(parts, "argument")}
    in_url.update(name for pair in query for name in slots(pair.parts, "argument"))
    in_headers = {name for _, parts in named for name in slots(parts, "argument")}
    facts = [url.strip(), verb, sorted(headers.items()), header_only]
    return HttpDefinition(
        verb=verb,
        method=read_method(verb),
        place=place,
        segments=segments,
        query=query,
        headers=named,
        url_arguments=frozenset(in_url),
        header_arguments=frozenset(in_headers),
        secrets=tuple(secrets),
        header_only=header_only,
        digest=hashlib.sha256(msgspec.json.encode(facts)).hexdigest(),
    )


def read_method(verb: str) -> str | None:
    """Return the method in capitals, or None when the text is no method of HTTP (RFC 9110, 5.6.2).

    CONNECT is none here: it asks for a tunnel, which no tool gets.
    """
    method = verb.strip().upper()
    return method if _TOKEN.fullmatch(method) and method != "CONNECT" else None


def advice(definition: HttpDefinition) -> list[str]:
    """Return what should be better about a definition that can be used."""
    notes: list[str] = []
    if definition.method is None:
        notes.append(f"{definition.verb[:80]!r} is not an HTTP method; every call will answer with an error")
    notes += [
        f"the argument {name!r} goes into a header; if it is a credential, use ${{secret:NAME}}"
        for name in sorted(definition.header_arguments)
    ]
    notes += [
        f"the header {name} holds a literal value; keep credentials as ${{secret:NAME}}"
        for name, parts in definition.headers
        if is_literal_credential(name, parts)
    ]
    if definition.secrets and definition.place.scheme == "http" and not _local(definition.place.host):
        notes.append("secrets travel unencrypted to an http: address; use https:")
    return notes


def is_literal_credential(name: str, parts: Pieces) -> bool:
    """Tell whether a header that holds credentials by its name has one written out."""
    written = any(isinstance(part, str) for part in parts)
    return bool(_CREDENTIALS.search(name)) and written and not any(isinstance(part, Slot) for part in parts)


def _read_url(url: str, parameters: Collection[str]) -> tuple[Place, tuple[Pieces, ...], tuple[Pair, ...]]:
    found = _URL.fullmatch(url)
    if found is None:
        raise BadField("url", "the URL must begin with http:// or https:// and a host, written out")
    authority, path, query = found.group(1), found.group(2), found.group(3)
    if "{" in authority or "}" in authority:
        raise BadField("url", "no placeholder may stand in the scheme, host or port of the URL")
    if len(url) > MAX_URL:
        raise BadField("url", f"the URL is longer than {MAX_URL} characters")
    try:
        place = read_place(authority)
        segments = tuple(
            _encoded(pieces(segment, parameters, secrets=False), _PATH_SAFE)
            for segment in (path or "/")[1:].split("/")
        )
        pairs = tuple(_pair(text, parameters) for text in query.split("&")) if query else ()
    except (EgressRefused, BadTemplate) as error:
        raise BadField("url", str(error)) from None
    return place, segments, pairs


def _pair(text: str, parameters: Collection[str]) -> Pair:
    parts = _encoded(pieces(text, parameters, secrets=False), _QUERY_SAFE)
    last = parts[-1] if parts else ""
    alone = len(parts) == 1 or (len(parts) == 2 and isinstance(parts[0], str) and parts[0].endswith("="))
    return Pair(parts, last.name if isinstance(last, Slot) and alone else None)


def _encoded(parts: Pieces, safe: str) -> Pieces:
    return tuple(
        quote(_PLAIN_PERCENT.sub("%25", part), safe=safe) if isinstance(part, str) else part for part in parts
    )


def _header(name: Any, value: Any, parameters: Collection[str]) -> tuple[str, Pieces]:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise BadField("headers", f"{str(name)[:80]!r} is no name of a header")
    if name.lower() in _RESERVED:
        raise BadField("headers", f"the header {name} belongs to the connection and cannot be set")
    if not isinstance(value, str):
        raise BadField("headers", f"the value of the header {name} must be text, not {_kind(value)}")
    if not header_text(value):
        raise BadField("headers", f"the value of the header {name} has a line break or is too long")
    try:
        return name, pieces(value, parameters, secrets=True)
    except BadTemplate as error:
        raise BadField("headers", f"in the header {name}: {error}") from None


def header_text(text: str) -> bool:
    """Tell whether a text may be the value of a header: no control characters, not too long."""
    return len(text) <= MAX_HEADER and not _CONTROL.search(text)


def _no_doubles(headers: tuple[tuple[str, Pieces], ...]) -> None:
    seen: set[str] = set()
    for name, _ in headers:
        if name.lower() in seen:
            raise BadField("headers", f"the header {name} stands there twice, in different letters")
        seen.add(name.lower())


def _local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "text"}
    return names.get(type(value), "a number")
