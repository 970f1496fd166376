"""What goes over one connection: requests one behind the other, in pieces, announced, with trailers."""

import asyncio

import pytest

from tests.server.running import Client, Server, asking, started
from tests.server.test_limits import memory_of, raw

CALL = b'{"tool":"weather.get_current.v1","arguments":{"city":"Paris"}}'
LENGTH = b"Content-Length: %d\r\n" % len(CALL)
CHUNKS = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n" % (20, CALL[:20], len(CALL) - 20, CALL[20:])
CLOSE = b"Connection: close\r\n"


def head(server: Server, line: bytes, *fields: bytes) -> bytes:
    return b"%b\r\nHost: 127.0.0.1:%d\r\n%b\r\n" % (line, server.port, b"".join(fields))


def answers(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the status line and body of each answer in what came back."""
    found = []
    while data:
        top, _, data = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in top.split(b"\r\n")[1:])
        size = int(fields.get(b"content-length", b"0"))
        found.append((top.split(b"\r\n")[0], data[:size]))
        data = data[size:]
    return found


def test_requests_behind_one_another_are_answered_in_their_order(plain: Server) -> None:
    async def work(_: Client) -> None:
        health = head(plain, b"GET /healthz HTTP/1.1")
        call = head(plain, b"POST /v1/calls HTTP/1.1", LENGTH) + CALL
        missing = head(plain, b"GET /nowhere HTTP/1.1", CLOSE)
        got = answers(await raw(plain, health + call + health + missing))
        assert [line[9:12] for line, _ in got] == [b"200", b"200", b"200", b"404"]
        assert [b'"tool"' in body for _, body in got] == [False, True, False, False]

    asking(plain, work)


@pytest.mark.parametrize(
    ("line", "fields", "pieces", "status"),
    [
        (b"POST /v1/calls HTTP/1.1", LENGTH, (CALL,), b"200"),
        (b"POST /v1/calls HTTP/1.1", LENGTH, (CALL[:9], CALL[9:30], CALL[30:]), b"200"),
        (b"POST /v1/calls HTTP/1.0", LENGTH, (CALL,), b"200"),
        (b"POST /v1/calls HTTP/1.1", b"Transfer-Encoding: chunked\r\n", (CHUNKS, b"\r\n"), b"200"),
        (b"POST /v1/calls?x=%zz HTTP/1.1", LENGTH, (CALL,), b"200"),
        (b"POST /v1%2Fcalls HTTP/1.1", LENGTH, (CALL,), b"200"),
        (b"POST /v1/calls HTTP/1.1", b"Content-Length: 0\r\n", (), b"400"),
        (b"HEAD /healthz HTTP/1.1", b"", (), b"200"),
    ],
)
def test_a_request_may_come_in_pieces(
    plain: Server, line: bytes, fields: bytes, pieces: tuple[bytes, ...], status: bytes
) -> None:
    async def work(_: Client) -> None:
        answer = await raw(plain, head(plain, line, fields, CLOSE), *pieces, pause=0.02)
        top, _end, body = answer.partition(b"\r\n\r\n")
        assert top.split(b" ")[1] == status
        assert b"\r\nconnection: close" in top
        assert (b'"tool"' in body) == (status == b"200" and not line.startswith(b"HEAD"))
        assert body or line.startswith(b"HEAD")
        assert b"\r\ncontent-length: " in top

    asking(plain, work)


def test_what_stands_behind_a_body_is_no_header(plain: Server) -> None:
    async def work(_: Client) -> None:
        before = head(plain, b"POST /v1/calls HTTP/1.1", b"Transfer-Encoding: chunked\r\n", CLOSE)
        behind = b"Host: example.com\r\nOrigin: http://example.com\r\nExpect: 100-continue\r\n\r\n"
        assert (await raw(plain, before + CHUNKS + behind)).startswith(b"HTTP/1.1 200 ")

    asking(plain, work)


def test_a_client_that_asks_is_told_to_go_on(plain: Server) -> None:
    async def work(_: Client) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", plain.port)
        writer.write(head(plain, b"POST /v1/calls HTTP/1.1", LENGTH, b"Expect: 100-continue\r\n", CLOSE))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(CALL)
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()

    asking(plain, work)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET http://127.0.0.1:%d/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"200"),
        (b"GET http://127.0.0.1:%d/healthz HTTP/1.1\r\nHost: evil.example\r\n", b"200"),
        (b"GET http://127.0.0.1:%d/healthz HTTP/1.1\r\n", b"200"),
        (b"GET HTTP://[::1]:%d/healthz HTTP/1.1\r\nHost: evil.example\r\n", b"200"),
        (b"GET http://127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"303"),
        (b"GET http://evil.example:%d/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"421"),
        (b"GET http://ana@127.0.0.1:%d/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"400"),
        (b"GET //evil.example:%d/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"404"),
        (b"GET evil.example:%d/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"400"),
        (b"CONNECT evil.example:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"400"),
    ],
)
def test_the_host_in_the_target_is_the_one_that_holds(plain: Server, data: bytes, status: bytes) -> None:
    async def work(_: Client) -> None:
        answer = await raw(plain, data % plain.port + CLOSE + b"\r\n")
        assert answer.split(b" ")[1] == status

    asking(plain, work)


UPGRADE = (b"Connection: Upgrade\r\n", b"Sec-WebSocket-Version: 13\r\n")
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@pytest.mark.parametrize(
    ("line", "fields", "status"),
    [
        (b"GET /healthz HTTP/1.1", (*UPGRADE, b"Upgrade: h2c\r\n"), b"200"),
        (b"GET /ws HTTP/1.0", (*UPGRADE, KEY, b"Upgrade: websocket\r\n"), b"426"),
        (b"POST /v1/calls HTTP/1.0", (b"Transfer-Encoding: chunked\r\n",), b"400"),
    ],
)
def test_what_is_asked_of_the_connection_and_not_done_is_its_last_request(
    plain: Server, line: bytes, fields: tuple[bytes, ...], status: bytes
) -> None:
    async def work(_: Client) -> None:
        behind = CHUNKS + b"\r\n" if line.startswith(b"POST") else head(plain, b"GET /healthz HTTP/1.1")
        (told,) = answers(await raw(plain, head(plain, line, *fields) + behind))
        assert told[0].split(b" ")[1] == status

    asking(plain, work)


def test_who_waits_behind_a_slow_answer_is_not_too_slow() -> None:
    slow = b'{"tool":"slow.wait.v1","arguments":{"seconds":0.6}}'

    async def work(_: Client) -> None:
        health = head(server, b"GET /healthz HTTP/1.1")
        first = head(server, b"POST /v1/calls HTTP/1.1", b"Content-Length: %d\r\n" % len(slow)) + slow
        last = head(server, b"GET /readyz HTTP/1.1", CLOSE)
        got = await raw(server, first + health * 300 + last[:20], last[20:], pause=0.05)
        assert [line[9:12] for line, _ in answers(got)] == [b"200"] * 302

    bounds = {"head_timeout_s": 0.2, "body_timeout_s": 0.2}
    with started("--model", "none", "--store", "memory:", bounds=bounds) as server:
        asking(server, work)


@pytest.mark.parametrize(
    ("line", "body"), [(b"GET /healthz HTTP/1.1", b""), (b"POST /v1/decisions HTTP/1.1", b"{}")]
)
def test_requests_that_wait_for_their_turn_are_few(plain: Server, line: bytes, body: bytes) -> None:
    fields = (b"Content-Type: application/json\r\n", b"Content-Length: %d\r\n" % len(body)) if body else ()

    async def work(_: Client) -> None:
        one = head(plain, line, *fields) + body
        reader, writer = await asyncio.open_connection("127.0.0.1", plain.port)

        async def send() -> None:
            for _turn in range(60):
                writer.write(one * 500)
                await writer.drain()
            writer.write(head(plain, b"GET /readyz HTTP/1.1", CLOSE))

        sending = asyncio.create_task(send())
        before, most, got = memory_of(plain), 0, 0
        while data := await reader.read(1 << 16):
            got += data.count(b"HTTP/1.1 ")
            most = max(most, memory_of(plain))
        await sending
        writer.close()
        assert got > 29_000  # a few stand on the border of two pieces
        assert most - before < 15_000_000

    asking(plain, work)
