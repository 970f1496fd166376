"""The application: checks that every request passes, finding its operation, and answering."""

import logging
import secrets
import time
from collections.abc import Sequence
from typing import Any, Final

from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gerbang.errors import GerbangError
from gerbang.server import cors, problems
from gerbang.server.app_scope import CALLER, SERVICE
from gerbang.server.guard import Guard, read_body, read_headers
from gerbang.server.operation import Exchange, Operation, RouteGroup, Routes
from gerbang.server.problems import Problem, problem
from gerbang.server.replies import Reply, problem_reply
from gerbang.server.service import Service

_LOG: Final = logging.getLogger("gerbang.server")
_ACCESS: Final = logging.getLogger("gerbang.access")
_OTHER: Final = "(other)"
_SECURE: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CLOSED: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_NO_STORE: Final = (b"cache-control", b"no-store")
_DATA: Final = frozenset({b"application/json", b"application/problem+json"})
_SECURE_DATA: Final = (_SECURE[0], _SECURE[3], _CLOSED, _NO_STORE)
"""What data needs: it is no page that could be framed, or that refers to others."""
_DATA_HEADERS: Final = {kind: ((b"content-type", kind), *_SECURE_DATA) for kind in _DATA}


class Application:
    """The ASGI application over a service and a list of route groups."""

    def __init__(self, service: Service, groups: Sequence[RouteGroup]) -> None:
        self.service = service
        self.groups = tuple(groups)
        self.failed: GerbangError | None = None  # what kept the service from opening
        self._guard = Guard(service)
        self._routes = Routes(operation for group in groups for operation in group.operations)
        self._further = Router([route for group in groups for route in group.routes])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection of the server: a request, a WebSocket, or its own lifespan."""
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "websocket":
            await self._websocket(scope, receive, send)
        elif kind == "lifespan":
            await self._lifespan(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        answer = _Answering(send)
        route = [_OTHER]
        try:
            await self._answer(scope, receive, answer, route)
        except Problem as found:
            await self._fail(found, scope, receive, answer)
        except GerbangError as error:
            await self._fail(problems.of_error(error), scope, receive, answer)
        except Exception as error:  # a bug: the client gets a reference, the log the rest
            reference = secrets.token_hex(6)
            _LOG.error("request broke", exc_info=error, extra={"reference": reference, "route": route[0]})
            await self._fail(problems.internal(reference), scope, receive, answer)
        seconds = time.perf_counter() - began
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        self.service.metrics.answered(route[0], method, answer.status, seconds)
        if self.service.settings.access_log:
            caller = scope.get(CALLER)
            _ACCESS.info(
                "request",
                extra={
                    "method": method,
                    "route": route[0],
                    "status": answer.status,
                    "ms": round(seconds * 1000, 3),
                    "key": None if caller is None else caller.key_id,
                    "tenant": None if caller is None else caller.principal.tenant,
                },
            )

    async def _answer(self, scope: Scope, receive: Receive, send: "_Answering", route: list[str]) -> None:
        headers = read_headers(scope)
        origin = self._guard.check(scope, headers)
        found = self._routes.find(scope["path"])
        if found is None:
            await (self._unslashed(scope) or self._other)(scope, receive, send)
            return
        methods, names = found
        if origin is not None and not next(iter(methods.values())).hidden:  # pages of ours are no API
            send.extra = cors.answer_headers(origin)
            if cors.is_preflight(scope["method"], headers):
                await cors.preflight_reply(methods)(scope, receive, send)
                return
        operation = methods.get(scope["method"])
        if operation is None:
            raise _wrong_method(scope["method"], methods)
        route[0] = operation.path
        if self.service.stopping.is_set() and operation.method != "GET":
            raise problems.wait(503, "cancelled", "SHUTTING_DOWN", "The server is shutting down.", 5)
        caller = await self._guard.caller(scope, headers, operation.right)
        scope[CALLER] = caller
        body = await read_body(receive, headers, self.service.settings.max_body)
        reply = await operation.handler(Exchange(self.service, scope, headers, caller, body, names))
        if type(reply) is Reply:
            await send.whole(reply, scope, receive)
        else:
            await reply(scope, receive, send)

    def _unslashed(self, scope: Scope) -> ASGIApp | None:
        """Return the way to a page that is asked for with a slash too many at its end, if there is one."""
        path = scope["path"].rstrip("/")
        if scope["method"] not in ("GET", "HEAD") or path == scope["path"] or self._routes.find(path) is None:
            return None
        raw: bytes = scope["raw_path"].rstrip(b"/")
        query: bytes = scope["query_string"]
        where = raw + b"?" + query if query else raw
        return Reply(b"", 308, b"text/plain; charset=utf-8", ((b"location", where),))

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the routes of the groups; what they do not know does not exist."""
        scope[SERVICE] = self.service
        scope[CALLER] = await self._guard.known(dict(scope["headers"]))
        handles = any(route.matches(scope)[0].value for route in self._further.routes)
        if not handles:
            if any(route.matches({**scope, "type": "websocket"})[0].value for route in self._further.routes):
                raise _upgrade()
            raise problems.not_found("such page")
        await self._further(scope, self._guard.bounded(receive), send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[SERVICE] = self.service
        try:
            headers = read_headers(scope)
            self._guard.check(scope, headers)
            if not any(route.matches(scope)[0].value for route in self._further.routes):
                raise problems.not_found("such WebSocket")
            scope[CALLER] = await self._guard.caller(scope, headers, "runs")
        except Problem as found:
            await _refuse_websocket(found, scope, receive, send)
            return
        except GerbangError as error:
            await _refuse_websocket(problems.of_error(error), scope, receive, send)
            return
        await self._further(scope, receive, send)

    async def _fail(self, found: Problem, scope: Scope, receive: Receive, answer: "_Answering") -> None:
        if answer.status:  # the head has gone out: all that can be done is to end
            return
        known = self._routes.find(scope["path"])
        reply = problem_reply if known is None else next(iter(known[0].values())).failed
        await reply(found)(scope, receive, answer)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.service.open()
        except GerbangError as error:
            self.failed = error
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.service.close()
        await send({"type": "lifespan.shutdown.complete"})


class _Answering:
    """The way out: adds the headers that every answer has, and remembers the status."""

    __slots__ = ("_send", "extra", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.extra: cors.Headers = ()
        self.status = 0

    async def whole(self, reply: Reply, scope: Scope, receive: Receive) -> None:
        """Send an answer with one body: data without headers of its own in one go, if the server can."""
        at_once = getattr(self._send, "answer", None)
        if at_once is None or reply.headers or self.extra or reply.content_type not in _DATA:
            await reply(scope, receive, self)
            return
        self.status = reply.status
        await at_once(reply.status, _DATA_HEADERS[reply.content_type], reply.body)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = message.get("headers", ())
            if len(given) == 2 and given[0][1] in _DATA:
                message["headers"] = [*given, *_SECURE_DATA, *self.extra]
                await self._send(message)
                return
            headers: list[Any] = [*given, *_SECURE, *self.extra]
            closed = stored = True
            for name, _ in headers:
                if name == b"content-security-policy":
                    closed = False
                elif name == b"cache-control":
                    stored = False
            if closed:
                headers.append(_CLOSED)
            if stored:
                headers.append(_NO_STORE)
            message["headers"] = headers
        await self._send(message)


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _upgrade() -> Problem:
    found = problem(
        426, "validation_error", "WEBSOCKET", "This address is a WebSocket.", "Connect with such a client."
    )
    found.headers = (("upgrade", "websocket"), ("connection", "upgrade"))
    return found


def _wrong_method(method: str, methods: dict[str, Operation]) -> Problem:
    allowed = ", ".join(sorted(methods))
    found = problem(
        405, "validation_error", "METHOD", f"{method[:20]} is not possible here.", f"Use {allowed}."
    )
    found.headers = (("allow", allowed),)
    return found


async def _refuse_websocket(found: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the handshake with a problem document where the server can, else just refuse it."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": found.error.error_code})
        return
    reply = problem_reply(found)
    headers = [(b"content-type", reply.content_type), (b"content-length", str(len(reply.body)).encode())]
    await send(
        {
            "type": "websocket.http.response.start",
            "status": found.status,
            "headers": [*headers, *reply.headers, *_SECURE, _CLOSED, _NO_STORE],
        }
    )
    await send({"type": "websocket.http.response.body", "body": reply.body})
