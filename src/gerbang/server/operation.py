"""Operations: one method of one path, with what the document of the API says about it.

The same table makes the routes and the OpenAPI document, so that neither can say what the other does not.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Scope

from gerbang.server.identity import Caller
from gerbang.server.problems import Problem, bad_request, problem
from gerbang.server.repeated_keys import has_repeated_keys
from gerbang.server.replies import problem_reply

if TYPE_CHECKING:
    from gerbang.server.service import Service

Handler = Callable[["Exchange"], Awaitable[ASGIApp]]
_NAME: Final = re.compile(r"\{([a-z_]+)\}")


class Answer(Struct, frozen=True):
    """One answer of an operation, for the document. `type` is what its JSON is made of."""

    status: int
    about: str
    type: Any = None
    example: Any = None
    content_type: str = "application/json"


class Parameter(Struct, frozen=True):
    """A parameter of the query or a header, for the document. `schema` is its JSON Schema."""

    name: str
    place: str
    about: str
    schema: dict[str, Any]


class Operation(Struct, frozen=True):
    """A method of a path. `right` is what the caller needs; None: anybody may, without saying who they are.

    `body` is the type of the JSON body, with `examples` of it; `problems` the statuses of its errors, which
    `failed` makes into answers.
    """

    method: str
    path: str
    handler: Handler
    tag: str
    summary: str
    right: str | None = None
    about: str = ""
    body: Any = None
    body_about: str = ""
    examples: dict[str, Any] = {}
    parameters: tuple[Parameter, ...] = ()
    answers: tuple[Answer, ...] = ()
    problems: tuple[int, ...] = ()
    hidden: bool = False
    failed: Callable[[Problem], ASGIApp] = problem_reply


class RouteGroup(Struct, frozen=True):
    """Routes that belong together. `routes` are Starlette's, for what is not an operation.

    Such routes are behind the same checks of host, origin and size; `scope["gerbang.caller"]` tells who
    calls, None when nobody said it, and they decide themselves what that means.
    """

    name: str
    about: str = ""
    operations: tuple[Operation, ...] = ()
    routes: tuple[BaseRoute, ...] = ()


class Exchange:
    """One request on its way through a handler."""

    __slots__ = ("body", "caller", "headers", "path", "scope", "service")

    def __init__(
        self,
        service: "Service",
        scope: Scope,
        headers: dict[bytes, bytes],
        caller: Caller,
        body: bytes,
        path: tuple[str, ...],
    ) -> None:
        self.service = service
        self.scope = scope
        self.headers = headers
        self.caller = caller
        self.body = body
        self.path = path

    def header(self, name: bytes) -> str | None:
        """Return a header's text, None when it was not sent."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def read(self, decoder: "msgspec.json.Decoder[Any]") -> Any:
        """Return the JSON body. Raises Problem with what is wrong with it."""
        kind = self.headers.get(b"content-type")
        if kind is not None and kind != b"application/json" and not _is_json(kind.decode("latin-1")):
            raise problem(
                415,
                "validation_error",
                "NOT_JSON",
                f"The body is {kind[:60].decode('latin-1')!r}, not JSON.",
                "Send it with Content-Type: application/json.",
                recoverable=True,
            )
        try:
            value = decoder.decode(self.body)
            repeated = has_repeated_keys(self.body)
        except msgspec.ValidationError as error:
            said = _PATTERN.sub("Expected a text that says something", str(error))
            raise problem(
                422,
                "validation_error",
                "BODY_SHAPE",
                f"The body does not fit: {said}.",
                "What fits is described in /openapi.json, and for people in /docs.",
                recoverable=True,
            ) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise bad_request(
                f"The body is not JSON: {error}.", "Send one JSON object.", "NOT_JSON"
            ) from None
        if repeated:
            raise bad_request(
                "The body can be read in two ways: a key stands twice in one object.",
                "Give every key once.",
                "NOT_JSON",
            )
        return value

    def query(self, **known: Callable[[str], Any]) -> dict[str, Any]:
        """Return the query's values by their readers. Raises Problem for what is unknown, twice or wrong."""
        return read_query(self.scope["query_string"], known)


class Routes:
    """Finds the operation of a path: plain paths in one look-up, paths with names by their pattern."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._plain: dict[str, dict[str, Operation]] = {}
        patterns: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            table = patterns if "{" in operation.path else self._plain
            methods = table.setdefault(operation.path, {})
            methods[operation.method] = operation
            if operation.method == "GET":
                methods["HEAD"] = operation
        self._patterns = [
            (
                re.compile(_NAME.sub("([^/]+)", re.escape(path).replace(r"\{", "{").replace(r"\}", "}"))),
                methods,
            )
            for path, methods in patterns.items()
        ]

    def find(self, path: str) -> tuple[dict[str, Operation], tuple[str, ...]] | None:
        """Return the path's operations by method, and the values of its names."""
        plain = self._plain.get(path)
        if plain is not None:
            return plain, ()
        for pattern, methods in self._patterns:
            match = pattern.fullmatch(path)
            if match is not None:
                return methods, match.groups()
        return None


def read_query(raw: bytes, known: dict[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Return the values of a query string. Raises Problem for what is unknown, given twice or wrong."""
    if not raw:
        return {}
    from urllib.parse import parse_qsl

    found: dict[str, Any] = {}
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=50, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise bad_request("The query cannot be read.", "Percent-encode it as UTF-8.") from None
    for name, value in pairs:
        if name not in known:
            names = ", ".join(known) or "none"
            raise bad_request(f"The query has {name[:40]!r}, which is not known.", f"Known here: {names}.")
        if name in found:
            raise bad_request(f"The query has {name} twice.", "Give it once.")
        try:
            found[name] = known[name](value)
        except ValueError as error:
            raise bad_request(f"The query's {name} is wrong: {error}.", "Give another value.") from None
    return found


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of whole numbers between two bounds."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or not low <= int(text) <= high:
            raise ValueError(f"it is a whole number from {low} to {high}")
        return int(text)

    return read


_PATTERN: Final = re.compile(r"Expected `str` matching regex '.*'")
"""What a text that is blank is told of: VISIBLE is the only pattern of bodies."""
VISIBLE: Final = r"[^\s\x00-\x1f\x7f-\x9f]"
"""The pattern of a text that says something; every language's idea of white space is in it."""
SHORT: Final = {"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[^\\x00]*$"}
"""The schema of what `short` reads."""


def number(low: int, high: int) -> dict[str, Any]:
    """Return the schema of what `whole` reads."""
    return {"type": "integer", "minimum": low, "maximum": high}


def short(text: str) -> str:
    """Return a text of 1 to 512 characters that can be recorded."""
    if not 0 < len(text) <= 512 or "\x00" in text:
        raise ValueError("it is a text of 1 to 512 characters")
    return text


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
