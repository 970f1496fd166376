"""From a definition and checked arguments to the bytes of one request. Pure.

An argument that the URL uses is not sent again; one that only a header uses is, unless the definition says
`header_only`. The rest goes into the query, or into a JSON body, by the verb.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from msgspec import Struct

from gerbang.adapters.tools.http_definition import (
    IN_QUERY,
    MAX_URL,
    HttpDefinition,
    header_text,
)
from gerbang.adapters.tools.http_template import Pieces, Slot, json_text, slots, value_text
from gerbang.errors import ToolError

IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
"""draft-ietf-httpapi-idempotency-key-header: the target runs one key only once."""
_ACCEPT: Final = "application/json, text/*;q=0.9, */*;q=0.5"


class Prepared(Struct, frozen=True):
    """One request, ready to send. `own` are the headers that go to no other origin."""

    method: str
    url: str
    base: dict[str, str]
    own: dict[str, str]
    body: bytes | None


def prepare(
    definition: HttpDefinition,
    arguments: Mapping[str, Any],
    *,
    tool: str,
    secret: Callable[[str], str],
    key: str | None = None,
) -> Prepared:
    """Return the request for these arguments. `key` is sent as the idempotency key, `tool` is named
    in errors.

    Raises ToolError, with nothing sent: a bad verb, or a value that cannot stand where it should.
    """
    method = definition.method
    if method is None:
        said = f"invalid HTTP method '{definition.verb}' for tool '{tool}'"
        raise _error(said, "HTTP_METHOD", "upstream_error", False)
    own = _headers(definition, arguments, secret)
    if key is not None and not any(name.lower() == IDEMPOTENCY_HEADER.lower() for name in own):
        own[IDEMPOTENCY_HEADER] = key
    sent = definition.url_arguments
    if definition.header_only:
        sent = sent | definition.header_arguments
    rest = {name: value for name, value in arguments.items() if name not in sent}
    url = f"{definition.place.origin}/{_path(definition, arguments)}"
    pairs = _query(definition, arguments)
    base = {"Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate", "User-Agent": "gerbang"}
    body: bytes | None = None
    if method in IN_QUERY:
        pairs += [f"{_encode(name, name)}={_encode(value_text(value), name)}" for name, value in rest.items()]
    else:
        body = json_text(rest).encode("utf-8", "replace")
        base["Content-Type"] = "application/json"
    url += f"?{'&'.join(pairs)}" if pairs else ""
    if len(url) > MAX_URL:
        raise _bad("(arguments)", f"the URL would be longer than {MAX_URL} characters")
    for name in [name for name in base if any(name.lower() == given.lower() for given in own)]:
        del base[name]
    return Prepared(method, url, base, own, body)


def _path(definition: HttpDefinition, arguments: Mapping[str, Any]) -> str:
    return "/".join(_segment(parts, arguments) for parts in definition.segments)


def _segment(parts: Pieces, arguments: Mapping[str, Any]) -> str:
    """Return one segment. A value can neither end it, nor empty it, nor make it `.` or `..`.

    Dots are no characters to encode: servers and proxies read `%2E%2E` as `..` (RFC 3986, 6.2.2.2).
    """
    text = "".join(_fill(part, arguments) for part in parts)
    last = next((part.name for part in parts if isinstance(part, Slot)), None)
    if last is not None and unquote(text) in ("", ".", ".."):
        raise _bad(last, "it would change the path of the URL")
    return text


def _query(definition: HttpDefinition, arguments: Mapping[str, Any]) -> list[str]:
    return [
        "".join(_fill(part, arguments) for part in pair.parts)
        for pair in definition.query
        if pair.optional is None or pair.optional in arguments
    ]


def _fill(part: str | Slot, arguments: Mapping[str, Any]) -> str:
    if isinstance(part, str):
        return part
    if part.name not in arguments:
        raise _missing(part.name)
    return _encode(value_text(arguments[part.name]), part.name)


def _encode(text: str, name: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise _bad(name, "it is not whole Unicode text") from None


def _headers(
    definition: HttpDefinition, arguments: Mapping[str, Any], secret: Callable[[str], str]
) -> dict[str, str]:
    """Return the definition's headers. One whose only argument is missing is left out."""
    filled: dict[str, str] = {}
    for name, parts in definition.headers:
        absent = [wanted for wanted in slots(parts, "argument") if wanted not in arguments]
        if absent and len(parts) == 1:
            continue
        if absent:
            raise _missing(absent[0])
        texts: list[str] = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif part.kind == "secret":
                texts.append(_secret(part.name, secret(part.name)))
            else:
                texts.append(_header_value(part.name, value_text(arguments[part.name])))
        value = "".join(texts).strip(" \t")
        if not header_text(value):
            raise _error(f"the header {name} would be too long", "TOO_LONG", "validation_error", True)
        filled[name] = value
    return filled


def _header_value(name: str, text: str) -> str:
    if not header_text(text):
        raise _bad(name, "it goes into a header, where line breaks and control characters cannot stand")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _bad(name, "it is not whole Unicode text") from None
    return text


def _secret(name: str, value: str) -> str:
    if not header_text(value):
        raise _error(
            f"the secret {name} has a line break or control character and cannot stand in a header",
            "SECRET_UNUSABLE",
            "permission_denied",
            False,
        )
    return value


def _missing(name: str) -> ToolError:
    said = f"the argument {name!r} is missing; the request is made of it"
    return _error(said, "MISSING_FIELD", "validation_error", True)


def _bad(name: str, why: str) -> ToolError:
    return _error(f"the value of {name!r} cannot be used: {why}", "BAD_VALUE", "validation_error", True)


def _error(message: str, code: str, kind: str, recoverable: bool) -> ToolError:
    return ToolError(message, code=code, error_type=kind, recoverable=recoverable, effect="none")
