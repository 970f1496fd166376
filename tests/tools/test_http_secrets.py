"""Secrets of HTTP tools: in the header and nowhere else, whatever the server does with them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang as g
from tests.runtime.street import ALLOW_ALL, bodies, code, run
from tests.tools.origin import call, definition, serving, write

CANARY = "canary-3141592-xyz"
HEADERS = {"Authorization": "Bearer ${secret:KEY}", "X-Plain": "1"}


def answering(status: int, body: Any, kind: str = "text/plain", **headers: str) -> Any:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        data = body(request.headers["Authorization"]) if callable(body) else body
        data = data.encode() if isinstance(data, str) else data
        return web.Response(status=status, body=data, headers={"Content-Type": kind, **headers})

    return handle


ECHOES: list[tuple[str, int, Any, str]] = [
    ("text", 200, lambda auth: f"you sent {auth}", "text/plain"),
    ("json", 200, lambda auth: json.dumps({auth: [auth, {"a": auth}]}), "application/json"),
    ("base64", 200, lambda auth: base64.b64encode(auth.encode()).decode(), "text/plain"),
    ("binary", 200, lambda auth: b"\0" + auth.encode(), "image/png"),
    ("error", 403, lambda auth: f"bad token {auth}", "text/plain"),
    ("server error", 500, lambda auth: json.dumps({"headers": auth}), "application/json"),
    ("at the cut", 500, lambda auth: "x" * 1_885 + auth + "y" * 100, "text/plain"),
    ("long, at the cut", 200, lambda auth: "x" * (1_048_576 - 12) + auth, "text/plain"),
    ("as a type", 200, lambda auth: b"\0", f"a/{CANARY}"),
]


@pytest.mark.parametrize(("status", "body", "kind"), [pytest.param(*row[1:], id=row[0]) for row in ECHOES])
def test_a_server_that_sends_the_secret_back(tmp_path: Path, status: int, body: Any, kind: str) -> None:
    async def work() -> list[bytes]:
        async with serving(answering(status, body, kind)) as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url, headers=HEADERS)))
            store = f"sqlite:{tmp_path / 'g.db'}"
            async with g.Gateway(tools, policy=ALLOW_ALL, store=store, secrets={"KEY": CANARY}) as gate:
                result = await gate.call("the_tool", {}, run_id="r")
                assert origin.last.headers["authorization"] == f"Bearer {CANARY}"
                found = [json.dumps(result.as_dict()).encode(), repr(await bodies(gate.store, "r")).encode()]
        return [*found, *(path.read_bytes() for path in tmp_path.glob("g.db*"))]

    for text in run(work()):
        for needle in (
            CANARY.encode(),
            CANARY[:12].encode(),
            base64.b64encode(f"Bearer {CANARY}".encode())[10:30],
        ):
            assert needle not in text


def test_without_a_value_nothing_is_sent(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as origin:
            result = await call(tmp_path, definition(origin.url, headers=HEADERS), secrets={})
            assert code(result) == "SECRET_MISSING"
            result = await call(
                tmp_path, definition(origin.url, headers=HEADERS), secrets={"KEY": "two\nlines"}
            )
            assert code(result) == "SECRET_UNUSABLE"
            assert result.error is not None
            assert "lines" not in json.dumps(result.error.as_dict()).replace("line break", "")
            assert origin.seen == []

    run(work())


def test_an_argument_cannot_name_a_secret(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as origin:
            tool = definition(origin.url + "/{id}", "POST", headers={**HEADERS, "X-Arg": "{k}"})
            text = "${secret:KEY}"
            result = await call(tmp_path, tool, {"id": text, "k": text, "q": text}, secrets={"KEY": CANARY})
            assert result.status == "ok"
            seen = origin.last
            assert seen.headers["x-arg"] == text
            assert seen.json == {"k": text, "q": text}
            assert CANARY not in seen.path

    run(work())


def test_a_header_argument_is_masked_in_records(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url, headers={"X-Arg": "{k}"})))
            async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
                await gate.call("the_tool", {"k": "hush-hush-1", "q": "loud"}, run_id="r")
                events = repr(await bodies(gate.store, "r"))
            assert origin.last.headers["x-arg"] == "hush-hush-1"
            assert "hush-hush-1" not in events
            assert "loud" in events

    run(work())


@pytest.mark.parametrize("honours", [True, False])
def test_the_idempotency_key_goes_where_it_is_honoured(tmp_path: Path, honours: bool) -> None:
    async def work() -> None:
        async with serving() as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url, "POST", honours_key=honours)))
            async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
                for step in (1, 2):
                    assert (await gate.call("the_tool", {}, run_id="r", step_id=step)).status == "ok"
            keys = [seen.headers.get("idempotency-key") for seen in origin.seen]
            if honours:
                assert len(set(keys)) == 2
                assert all(keys)
            else:
                assert keys == [None, None]

    run(work())


def test_a_dry_run_shows_the_request_and_no_secret(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as origin:
            tool = definition(origin.url + "/items/{id}", "PUT", headers=HEADERS)
            tools = g.load_tools(write(tmp_path, tool))
            async with g.Gateway(tools, policy=g.Policy.default(), secrets={"KEY": CANARY}) as gate:
                dry = await gate.dry_run("the_tool", {"id": "a b", "q": "new"})
            assert f"PUT {origin.url}/items/a%20b" in dry.preview
            assert '{"q":"new"}' in dry.preview
            assert CANARY not in dry.preview
            assert origin.seen == []

    run(work())
