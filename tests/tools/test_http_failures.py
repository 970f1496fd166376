"""Requests that fail: the exact words, and what is said of the effect, by what had been sent."""

import asyncio
import socket
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

import gerbang as g
from tests.runtime.street import ALLOW_ALL, bodies, code, run
from tests.tools.origin import Script, call, definition, playing, reply, serving, write

OK = reply(b"fine", "Content-Type: text/plain")
HALF = reply(b"half", "Content-Type: text/plain", length=400)


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PURGE"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 409, 410, 415, 422, 423, 429, 451, 499])
def test_a_refusal_changed_nothing(tmp_path: Path, method: str, status: int) -> None:
    async def work() -> g.Result:
        async with playing(reply(b"no such thing", "Content-Type: text/plain", status=status)) as origin:
            return await call(tmp_path, definition(origin.url, method))

    error = run(work()).error
    assert error is not None
    assert error.message == f"HTTP {status} — no such thing"
    assert (error.error_code, error.effect) == ("HTTP_4XX", "none")
    assert error.error_type == ("rate_limited" if status == 429 else "upstream_error")
    assert error.recoverable == (status in (408, 429))


@pytest.mark.parametrize(("method", "effect"), [("GET", "none"), ("PUT", "unknown"), ("POST", "unknown")])
@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
def test_a_server_that_failed_may_have_changed_something(
    tmp_path: Path, method: str, effect: str, status: int
) -> None:
    async def work() -> tuple[g.Result, list[dict[str, Any]]]:
        async with playing(reply(b"", status=status)) as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url, method)))
            async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
                return await gate.call("the_tool", {}, run_id="r"), await bodies(gate.store, "r")

    result, events = run(work())
    assert result.error is not None
    assert result.error.message == f"HTTP {status} — "
    assert (code(result), result.error.effect) == ("HTTP_5XX", effect)
    assert events[-1]["state"] == ("FAILED" if effect == "none" else "UNCERTAIN")


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("Retry-After: 7", 7_000, 7_000),
        ("Retry-After: 99999999999999", 86_400_000, 86_400_000),
        (f"Retry-After: {formatdate(4_000_000_000, usegmt=True)}", 86_400_000, 86_400_000),
        (f"Retry-After: {formatdate(0, usegmt=True)}", 0, 0),
        ("Retry-After: soon", None, None),
        ("Retry-After: -5", None, None),
        ("X: y", None, None),
    ],
)
def test_how_long_to_wait(tmp_path: Path, header: str, least: int | None, most: int | None) -> None:
    async def work() -> g.Result:
        async with playing(reply(b"", header, status=429)) as origin:
            return await call(tmp_path, definition(origin.url))

    error = run(work()).error
    assert error is not None
    told = error.as_dict().get("retry_after_ms")
    if least is None or most is None:
        assert told is None
    else:
        assert isinstance(told, int)
        assert least <= told <= most


def test_a_long_error_is_cut(tmp_path: Path) -> None:
    async def work(limit: int) -> g.Result:
        async with playing(reply(b"x" * 100_000, "Content-Type: text/plain", status=500)) as origin:
            return await call(tmp_path, definition(origin.url, result_max_chars=limit))

    for limit, shown in ((16_000, 2_000), (50, 50)):
        error = run(work(limit)).error
        assert error is not None
        assert error.message == f"HTTP 500 — {'x' * shown}… [truncated]"


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{"error": "no"}', "application/json", '{"error": "no"}'),
        ("grün".encode("latin-1"), "text/plain; charset=latin-1", "grün"),
        (b"\x89PNG\0", "image/png", ""),
        (b"token=sk-abcdefgh12345678", "text/plain", "token=[redacted]"),
    ],
)
def test_the_body_of_an_error(tmp_path: Path, body: bytes, kind: str, shown: str) -> None:
    async def work() -> g.Result:
        async with playing(reply(body, f"Content-Type: {kind}", status=404)) as origin:
            return await call(tmp_path, definition(origin.url))

    error = run(work()).error
    assert error is not None
    assert error.message == f"HTTP 404 — {shown}"


def test_a_flood_of_error_text_is_not_read(tmp_path: Path) -> None:
    async def work() -> tuple[g.Result, int]:
        async with playing(b"HTTP/1.1 500 X\r\nContent-Type: text/plain\r\n\r\n", "flood") as origin:
            result = await call(tmp_path, definition(origin.url))
            await origin.gone.wait()
            return result, origin.sent

    result, sent = run(work())
    assert code(result) == "HTTP_5XX"
    assert sent < 64_000_000


LOST: list[tuple[str, tuple[bytes | str, ...], str, str]] = [
    ("closed before an answer", (), "CONNECTION_RESET", "closed the connection too early"),
    ("reset before an answer", ("reset",), "CONNECTION_RESET", "closed the connection too early"),
    ("closed within the head", (b"HTTP/1.1 200 OK\r\nConte",), "CONNECTION_RESET", "too early"),
    ("closed within the body", (HALF,), "CONNECTION_RESET", "closed the connection too early"),
    ("reset within the body", (HALF, "reset"), "CONNECTION_RESET", "closed the connection too early"),
    ("no HTTP", (b"220 mail.example.com ESMTP\r\n\r\n",), "NOT_HTTP", "does not answer in HTTP"),
    (
        "a bad length",
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",),
        "NOT_HTTP",
        "does not answer in HTTP",
    ),
    ("an endless head", (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000,), "NOT_HTTP", "does not answer in HTTP"),
    ("silence before an answer", ("hang",), "TOOL_TIMEOUT", "no answer within 0.4 s"),
    ("silence within the body", (HALF, "hang"), "TOOL_TIMEOUT", "no answer within 0.4 s"),
]


@pytest.mark.parametrize(("steps", "wanted", "words"), [pytest.param(*row[1:], id=row[0]) for row in LOST])
@pytest.mark.parametrize(("method", "effect"), [("GET", "none"), ("PUT", "unknown"), ("POST", "unknown")])
def test_what_was_sent_and_not_answered(
    tmp_path: Path, steps: tuple[bytes | str, ...], wanted: str, words: str, method: str, effect: str
) -> None:
    async def work() -> tuple[g.Result, Script]:
        async with playing(*steps) as origin:
            return await call(tmp_path, definition(origin.url, method, timeout_s=0.4)), origin

    result, origin = run(work())
    assert result.error is not None
    assert (code(result), result.error.effect) == (wanted, effect)
    assert result.error.message.startswith("tool request failed: ")
    assert words in result.error.message
    assert len(origin.heads) == 1  # the library would send all but POST again by itself


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """Return a request's head; nothing when the client has gone."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@pytest.mark.parametrize(("method", "wanted"), [("GET", "ok"), ("PUT", "error")])
def test_a_kept_connection_that_was_closed_costs_a_read_a_repetition_and_a_change_is_never_on_one(
    tmp_path: Path, method: str, wanted: str
) -> None:
    """The server answers one request of each connection, and breaks the connection at the second."""
    heads: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(0)
        mine = len(heads) - 1
        while head := await read_head(reader):
            heads[mine] += 1
            if heads[mine] == 2 or head.startswith(b"PUT"):
                writer.transport.abort()
                return
            writer.write(reply(b"1", "Content-Type: application/json"))
        writer.close()

    async def work() -> list[g.Result]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        tools = g.load_tools(write(tmp_path, definition(url, method)))
        async with g.Gateway(tools=tools, policy=ALLOW_ALL) as gate:
            results = [await gate.call("the_tool", {"id": number}) for number in range(2)]
        server.close()
        return results

    assert [result.status for result in run(work())] == [wanted, wanted]
    assert heads == ([2, 1] if method == "GET" else [1, 1])


@pytest.mark.parametrize(
    ("method", "risk", "effect"),
    [
        ("GET", "destructive", "unknown"),
        ("GET", "write_external", "unknown"),
        ("POST", "read_external", "none"),
    ],
)
def test_the_class_of_the_contract_counts_for_the_effect(
    tmp_path: Path, method: str, risk: str, effect: str
) -> None:
    async def work() -> tuple[g.Result, int]:
        policy = g.Policy.from_rules(
            [{"id": "x", "match": {"tool": ["the_tool"]}, "decision": "allow", "auto": True, "reason": "T"}]
        )
        async with playing(HALF) as origin:
            result = await call(tmp_path, definition(origin.url, method, risk=risk), policy=policy)
            return result, len(origin.heads)

    result, requests = run(work())
    assert result.error is not None
    assert (code(result), result.error.effect, requests) == ("CONNECTION_RESET", effect, 1)


def test_silence_in_the_middle_of_a_long_time(tmp_path: Path) -> None:
    async def work() -> g.Result:
        async with playing(HALF, "hang") as origin:
            (tool,) = g.load_tools(write(tmp_path, definition(origin.url, "POST")))
            tool.contract = replace(tool.contract, idle_timeout_s=0.2)
            async with g.Gateway([tool], policy=ALLOW_ALL) as gate:
                return await gate.call("the_tool", {})

    error = run(work()).error
    assert error is not None
    assert (error.error_code, error.error_type, error.effect) == ("IDLE_TIMEOUT", "timeout", "unknown")
    assert error.message.startswith("tool request failed: 127.0.0.1:")


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
@pytest.mark.parametrize(
    ("url", "egress", "wanted", "words"),
    [
        ("http://127.0.0.1:{port}", None, "CONNECT_FAILED", "nothing answers at 127.0.0.1:{port}"),
        ("http://nobody.invalid", None, "CONNECT_FAILED", "the name nobody.invalid:80 was not found"),
        ("https://127.0.0.1:{plain}", None, "TLS_FAILED", "the TLS certificate or handshake of"),
        ("http://10.0.0.1", [], "EGRESS_REFUSED", "10.0.0.1:80 is not on the list of hosts"),
    ],
)
def test_what_was_never_sent(
    tmp_path: Path, method: str, url: str, egress: list[str] | None, wanted: str, words: str
) -> None:
    async def work() -> tuple[g.Result, list[dict[str, Any]], str]:
        async with serving() as origin:
            port = free_port()
            tool = definition(url.format(port=port, plain=origin.port), method)
            async with g.Gateway(
                g.load_tools(write(tmp_path, tool), egress=egress), policy=ALLOW_ALL
            ) as gate:
                result = await gate.call("the_tool", {}, run_id="r")
                assert origin.seen == []
                return result, await bodies(gate.store, "r"), words.format(port=port)

    result, events, said = run(work())
    assert result.error is not None
    assert (code(result), result.error.effect) == (wanted, "none")
    assert result.error.message.startswith(f"tool request failed: {said}")
    assert events[-1]["state"] == "FAILED"


def test_a_change_never_goes_over_a_kept_connection(tmp_path: Path) -> None:
    peers: list[Any] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        return web.Response(text="ok")

    async def work() -> None:
        async with serving(handle) as origin:
            tools = [definition(origin.url, "GET", name="get"), definition(origin.url, "PUT", name="put")]
            async with g.Gateway(g.load_tools(write(tmp_path, *tools)), policy=ALLOW_ALL) as gate:
                for name in ("get", "get", "put", "put"):
                    assert (await gate.call(name, {})).status == "ok"
        assert peers[0] == peers[1]
        assert len(set(peers)) == 3

    run(work())


def test_a_cancelled_call_ends_its_connection(tmp_path: Path) -> None:
    async def work() -> None:
        async with playing("hang") as origin:
            task = asyncio.create_task(call(tmp_path, definition(origin.url, "POST")))
            while not origin.heads:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await origin.gone.wait()

    run(work())


def test_tools_serve_one_gateway_after_the_other_and_two_at_once(tmp_path: Path) -> None:
    async def once(tools: Any) -> None:
        async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
            assert (await gate.call("the_tool", {})).status == "ok"

    async def both(tools: Any) -> None:
        await asyncio.gather(*(once(tools) for _ in range(8)))

    async def work() -> None:
        async with serving() as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url)))
            await once(tools)
            await once(tools)
            await both(tools)
            assert len(origin.seen) == 10

    run(work())


@pytest.mark.parametrize(
    ("method", "status", "more", "attempts"),
    [
        ("GET", 503, {}, 1),
        ("GET", 503, {"retry": {"max_attempts": 3, "base_ms": 1}}, 3),
        ("GET", 404, {"retry": {"max_attempts": 3, "base_ms": 1}}, 1),
        ("POST", 503, {"retry": {"max_attempts": 3, "base_ms": 1}}, 1),
        ("POST", 503, {"retry": {"max_attempts": 3, "base_ms": 1}, "honours_key": True}, 3),
    ],
)
def test_one_call_is_one_request_unless_the_file_says_otherwise(
    tmp_path: Path, method: str, status: int, more: dict[str, Any], attempts: int
) -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status)

    async def work() -> tuple[int, int]:
        async with serving(handle) as origin:
            await call(tmp_path, definition(origin.url, method, **more))
            return len(origin.seen), len({seen.headers.get("idempotency-key") for seen in origin.seen})

    assert run(work()) == (attempts, 1)


def test_tools_serve_several_event_loops_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url)))

            async def ask() -> list[str]:
                async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
                    return [(await gate.call("the_tool", {})).status for _ in range(5)]

            found = await asyncio.gather(*(asyncio.to_thread(asyncio.run, ask()) for _ in range(4)), ask())
            assert found == [["ok"] * 5] * 5

    run(work())
