"""What a hostile or slow client cannot do: sizes, times, numbers, and a socket that is not read."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server.running import Client, Server, asking, client, scripted, started
from tests.server.test_websocket import SCRIPT, _frame, say, socket, text_of, until_end

NONE = ("--model", "none", "--store", "memory:")
CALL = b'{"tool":"weather.get_current.v1","arguments":{"city":"Paris"}}'


async def raw(server: Server, data: bytes, *more: bytes, pause: float = 0.0) -> bytes:
    """Send bytes, piece by piece, and return all that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        for piece in more:
            await asyncio.sleep(pause)
            writer.write(piece)
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def request(server: Server, *lines: str, method: str = "POST", path: str = "/v1/calls") -> bytes:
    head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *lines, "", ""]
    return "\r\n".join(head).encode()


def memory_of(server: Server) -> int:
    """Return how many bytes of memory the server holds."""
    (line,) = [
        line
        for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) * 1024


def test_requests_that_come_too_slowly_are_ended() -> None:
    async def main() -> None:
        with started(
            *NONE, bounds={"head_timeout_s": 0.3, "body_timeout_s": 0.3, "idle_timeout_s": 1}
        ) as server:
            assert (await raw(server, b"")) == b"HTTP/1.1 408 Request Timeout\r\n" + CLOSED
            drip = await raw(server, b"POST /v1/calls HTTP/1.1\r\n", b"X-A: 1\r\n", pause=0.2)
            assert drip.startswith(b"HTTP/1.1 408")
            body = request(server, "Content-Type: application/json", "Content-Length: 100")
            assert (await raw(server, body, b"{", pause=0.1)).startswith(b"HTTP/1.1 408")
            kept = request(server, "Content-Length: 0", method="GET", path="/healthz")
            assert (await raw(server, kept)).startswith(b"HTTP/1.1 200")  # and closed when it is idle
            async with client(server) as http:
                status, body_ = await http.call("slow.wait.v1", {"seconds": 0.7})
                assert (status, body_["value"]) == (200, "waited 0.7")  # a slow tool is no slow client

    asyncio.run(main())


CLOSED = b"connection: close\r\ncontent-length: 0\r\n\r\n"


def test_headers_and_bodies_have_a_size(plain: Server) -> None:
    async def work(_: Client) -> None:
        for size, want in ((1_000, b"HTTP/1.1 200"), (70_000, b"HTTP/1.1 431")):
            lines = [f"X-Long: {'a' * size}", "Connection: close"]
            answer = await raw(plain, request(plain, *lines, method="GET", path="/healthz"))
            assert answer.startswith(want), answer[:60]
        many = [f"X-{number}: {'a' * 50}" for number in range(2_000)]
        assert (await raw(plain, request(plain, *many, method="GET", path="/healthz"))).startswith(
            b"HTTP/1.1 431"
        )
        chunk = b"%x\r\n" % 100_000 + b"a" * 100_000 + b"\r\n"
        head = request(plain, "Content-Type: application/json", "Transfer-Encoding: chunked")
        answer = await raw(plain, head, *[chunk] * 25, b"0\r\n\r\n")
        assert b" 413 " in answer.split(b"\r\n")[0]
        answer = await raw(plain, request(plain, "Content-Length: 99999999999999"))
        assert b" 413 " in answer.split(b"\r\n")[0]

    asking(plain, work)


UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
)


@pytest.mark.parametrize(
    ("method", "more", "body"),
    [
        ("POST", ["Content-Length: 3"], b"abc"),
        ("GET", ["Content-Length: 10"], b""),
        ("GET", ["Transfer-Encoding: chunked"], b""),
        ("GET", [f"X-{number}: a" for number in range(200)], b""),
        ("POST", [], b""),
        ("GET", ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="], b""),
    ],
)
def test_what_is_no_handshake_is_answered_and_closed(
    plain: Server, method: str, more: list[str], body: bytes
) -> None:
    async def work(_: Client) -> None:
        answer = await raw(plain, request(plain, *UPGRADE, *more, method=method, path="/ws") + body)
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 405")), answer[:60]

    asking(plain, work)


@pytest.mark.parametrize(
    "line",
    [
        "Host: evil.example",
        "Origin: http://evil.example",
        "Authorization: Bearer x",
        "X-API-Key: x",
        "Content-Type: text/plain",
        "Idempotency-Key: x",
    ],
)
def test_a_header_that_decides_something_stands_there_once(plain: Server, line: str) -> None:
    async def work(_: Client) -> None:
        last = f"Content-Length: {len(CALL)}"
        for lines in ([line, line], [line, f"{line.partition(':')[0].upper()}: {plain.url}"]):
            if line.startswith("Host"):
                lines = lines[:1]  # ours is the other one
            answer = await raw(plain, request(plain, *lines, "Connection: close", last) + CALL)
            assert answer.startswith(b"HTTP/1.1 400"), answer[:60]
            assert b"HEADER_TWICE" in answer
        for name in ("Host", "Origin", "Authorization"):
            given = (f"{name}: a", f"{name}: b")
            answer = await raw(plain, request(plain, *UPGRADE, *given, method="GET", path="/ws"))
            assert answer.startswith(b"HTTP/1.1 400"), answer[:60]

    asking(plain, work)


@pytest.mark.parametrize(
    "host",
    [
        "[::1]evil.example",
        "localhost:x@evil",
        "localhost:80/../",
        "localhost:",
        "localhost:123456",
        "[::1",
        "[]",
    ],
)
def test_a_host_is_a_name_and_a_port(plain: Server, host: str) -> None:
    async def work(_: Client) -> None:
        head = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = await raw(plain, head.encode())
        want = b"HTTP/1.1 200" if host == "localhost:" else b"HTTP/1.1 421"
        assert answer.startswith(want), answer[:60]

    asking(plain, work)


def test_pings_of_a_client_that_reads_nothing_are_not_kept() -> None:
    ping = b"\x89\xfd\0\0\0\0" + b"x" * 125
    empty = b"\x00\x80\0\0\0\0"

    def kept() -> int:
        return memory_of(server)

    async def work(_: Client) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request(server, *UPGRADE, method="GET", path="/ws"))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        before = kept()
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        for _turn in range(300):
            writer.write(ping * 1_000)
            await writer.drain()
        assert kept() - before < 20_000_000  # of 39 that were sent, each with an answer as large
        writer.write(b"\x01\x81\0\0\0\0a")
        for _turn in range(300):
            writer.write(empty * 10_000)
            await writer.drain()
        assert kept() - before < 20_000_000
        writer.transport.abort()

    with started(*NONE, bounds={"send_timeout_s": 300.0}) as server:  # however busy the machine is
        asking(server, work)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(plain: Server, data: bytes) -> None:
    async def work(client: Client) -> None:
        answer = await raw(plain, data)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        assert (await client.get("/healthz"))[0] == 200

    asking(plain, work)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/runs/%00", 404),
        ("GET", "/v1/runs/" + "x" * 600, 404),
        ("GET", "/v1/runs/..%2f..%2fetc", 404),
        ("GET", "/docs/..%2fcalls.py", 404),
        ("GET", "/ws", 426),
        ("PUT", "/v1/calls", 405),
        ("TRACE", "/v1/calls", 405),
        ("PROPFIND", "/v1/calls", 405),
        ("DELETE", "/api/tools", 405),
    ],
)
def test_paths_and_methods_that_do_not_exist(plain: Server, method: str, path: str, status: int) -> None:
    async def work(client: Client) -> None:
        got, problem = await client.send(method, path, None)
        assert (got, problem["status"]) == (status, status)

    asking(plain, work)


def test_connections_have_a_number() -> None:
    async def main() -> None:
        with started(*NONE, bounds={"max_connections": 5}) as server:
            open_ = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(5)]
            await asyncio.sleep(0.2)
            assert (await raw(server, b"")).startswith(b"HTTP/1.1 503")
            for _, writer in open_:
                writer.close()
            await asyncio.sleep(0.2)
            async with client(server) as http:
                assert (await http.get("/healthz"))[0] == 200

    asyncio.run(main())


def test_a_socket_that_is_not_read_is_closed_and_its_run_goes_on() -> None:
    async def main() -> None:
        bounds = {"send_timeout_s": 0.5}
        script: dict[str, Any] = {**SCRIPT, "huge": ["word " * 700_000]}
        async with scripted(script, bounds=bounds) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
            head = request(
                server,
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                method="GET",
                path="/ws",
            )
            writer.write(head)
            await reader.readuntil(b"\r\n\r\n")
            reader._transport.pause_reading()  # type: ignore[attr-defined]  # the client stops reading
            for number in range(4):
                turn = {"type": "user_text", "text": "huge", "conversation": str(number)}
                writer.write(_frame(json.dumps(turn).encode()))
            completed = 'gerbang_runs_total{status="completed"} 4.0'
            async with client(server) as http:
                for _ in range(1_200):
                    _, figures = await http.get("/metrics")
                    if "gerbang_followers 0.0" in figures and completed in figures:
                        break
                    await asyncio.sleep(0.05)
                assert "gerbang_followers 0.0" in figures
                assert completed in figures
            writer.transport.abort()
            async with socket(server) as ws:
                await say(ws, "hello")
                assert text_of(await until_end(ws)) == "Hello there."

    asyncio.run(main())


def test_a_message_over_the_limit_closes_the_socket(plain: Server) -> None:
    async def main() -> None:
        async with socket(plain) as ws:
            with contextlib.suppress(ConnectionError):  # the server need not read it to the end
                await ws.send_str("x" * 3_000_000)
            message = await ws.receive(timeout=20)
            assert message.type in (
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.ERROR,
            )
            assert ws.close_code in (1009, 1006)

    asyncio.run(main())
