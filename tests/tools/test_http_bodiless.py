"""Answers that HTTP gives no body, from servers that write one all the same, over real sockets."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import ALLOW_ALL, run
from tests.tools.origin import call, definition, playing, reply, write

JSON = "Content-Type: application/json"
EARLY = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
OLD = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b'{"a":1}'

SENT: list[tuple[str, str, list[bytes | str], int]] = [
    ("a body after HEAD", "HEAD", [reply(BODY, JSON)], 200),
    ("a body after HEAD, HTTP/1.0", "HEAD", [OLD + BODY], 200),
    ("a body after HEAD, then the end", "HEAD", [reply(BODY, JSON, "Connection: close")], 200),
    ("chunks after HEAD", "HEAD", [CHUNKED + b"7\r\n" + BODY + b"\r\n0\r\n\r\n"], 200),
    ("a body behind the head", "HEAD", [OLD, BODY, "hang"], 200),
    ("an interim answer first", "HEAD", [EARLY + reply(BODY, JSON)], 200),
    ("byte for byte", "HEAD", [bytes([byte]) for byte in EARLY + OLD + BODY], 200),
    ("lines without carriage returns", "HEAD", [OLD.replace(b"\r", b"") + BODY], 200),
    ("a body with 204", "GET", [reply(BODY, JSON, status=204)], 204),
    ("a body with 204, then the end", "DELETE", [reply(BODY, JSON, "Connection: close", status=204)], 204),
    ("a body with 304", "GET", [reply(BODY, JSON, status=304)], 304),
    ("an error after HEAD", "HEAD", [reply(BODY, JSON, status=404)], 404),
]


@pytest.mark.parametrize(("method", "steps", "status"), [pytest.param(*row[1:], id=row[0]) for row in SENT])
def test_what_is_written_behind_an_answer_without_a_body(
    tmp_path: Path, method: str, steps: list[bytes | str], status: int
) -> None:
    async def work() -> g.Result:
        async with playing(*steps) as origin:
            return await call(tmp_path, definition(origin.url, method))

    result = run(work())
    if status >= 400:
        assert result.error is not None
        assert result.error.message == f"HTTP {status} — "
    else:
        assert result.error is None
        assert result.value["status"] == status


def test_it_is_never_read_as_the_answer_to_the_next_request(tmp_path: Path) -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(reply(b"", JSON, length=len(forged)))
                if head.startswith(b"HEAD"):
                    await asyncio.sleep(0)
                writer.write(forged if head.startswith(b"HEAD") else b"1".ljust(len(forged)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def work() -> list[Any]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        tools = [definition(url, method) | {"name": method.lower()} for method in ("HEAD", "GET")]
        async with g.Gateway(tools=g.load_tools(write(tmp_path, *tools)), policy=ALLOW_ALL) as gate:
            results = [await gate.call(name, {}) for name in ("head", "get") * 5]
        server.close()
        return results

    forged = reply(b'"forged"', JSON)
    results = run(work())
    assert [result.error for result in results] == [None] * 10
    assert [result.value for result in results[1::2]] == [1] * 5
    assert connections == 6  # one for each HEAD; that of the reads is kept
