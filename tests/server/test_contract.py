"""Every answer of every route is one that the OpenAPI document declares: its status, its type, its shape.

The routes come from the document itself. Each is asked rightly and wrongly in all ways that are its own, and
in those that concern all routes: hosts, origins, keys, rights, sizes, names.
"""

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

from gerbang.server.groups import default_groups
from gerbang.server.identity import RIGHTS
from gerbang.server.openapi import document
from tests.server.running import Client, Server, client, key, started

WHOLE = document(default_groups())
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in WHOLE["paths"].items()
    for method, operation in methods.items()
]
JSON = "application/json"
NAMES = ["none", "run_0", "%00", quote("äé☃"), "x" * 600, quote("a b?#&=")]
QUERIES = [
    "limit=0", "limit=501", "limit=x", "limit=5", "after=-1", "after=3", "before=none", "before=", "state=x",
    "state=pending", "state=completed", "run_id=none", "run_id=%00", "intent=x", "colour=red",
    "limit=1&limit=2", "%ff=1", "limit",
]  # fmt: skip
BODIES: list[tuple[bytes, str]] = [
    (b"", JSON), (b"{}", JSON), (b"[]", JSON), (b"null", JSON), (b"7", JSON), (b'"x"', JSON), (b"{", JSON),
    (b"\xff\xfe", JSON), (b'{"a":' + b"[" * 3_000 + b"]" * 3_000 + b"}", JSON), (b"{}", "text/plain"),
    (b"{}", ""), (b'{"tool":1,"prompt":2,"arguments":3,"model":4,"messages":5}', JSON),
    (b'{"tool":"","prompt":"","arguments":{},"model":"","messages":[]}', JSON),
    (b'{"tool":"x","run_id":"\\u0000"}', JSON), (b'{"tool":"\\ud800"}', JSON), (b'{"reason":7}', JSON),
    (b'[{"name":"x"}]', JSON), (b'[{"name":"a.b.v1","description":"d","url":"http://h/{x}"}]', JSON),
    (b'{"model":"gerbang","messages":[{"role":"user","content":"x"}],"stream":true}', JSON),
    (b'{"prompt":"x","continues":"none"}', JSON),
]  # fmt: skip
CALLS: list[tuple[Any, int]] = [
    ({"tool": "weather.get_current.v1", "arguments": {"city": "Paris"}, "run_id": "r", "step_id": 1}, 200),
    ({"tool": "weather.get_current.v1", "arguments": '{"city": "Paris"}'}, 200),
    ({"tool": "mail.send.v1", "arguments": {"to": "a@example.org", "text": "x"}, "step_id": 2}, 202),
    ({"tool": "mail.send.v1", "arguments": {"to": "spam@example.org", "text": "x"}}, 403),
    ({"tool": "weather.get_current.v1", "arguments": {"city": {}}}, 422),
    ({"tool": "weather.get_current.v1", "arguments": [1]}, 400),
    ({"tool": "no.such.v1"}, 404),
    ({"tool": "broken.raise.v1"}, 500),
    ({"tool": "broken.shape.v1"}, 502),
    ({"tool": "late.wait.v1"}, 504),
    ({"tool": "weather.get_current.v1", "step_id": 1.5}, 422),
    ({"tool": "weather.get_current.v1", "step_id": 10**30}, 422),
]


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    """A server, a key that may do everything, and one that may do nothing."""
    folder: Path = tmp_path_factory.mktemp("contract")
    everything = key(folder, *RIGHTS, user="ana", rate_per_s=100_000)
    nothing = key(folder, "metrics", user="bob", rate_per_s=100_000)
    options = ("--model", "none", "--store", "memory:", "--python", "tools_of_figures:TOOLS")
    with started(*options, "--burst", "100000", folder=folder, bounds={"failed_per_s": 10_000.0}) as server:
        yield server, everything, nothing


async def check(
    http: Client, operation: dict[str, Any], method: str, path: str, body: bytes = b"", **headers: str
) -> int:
    """Send a request, and hold its answer to what the document says."""
    sent = {**http.headers, **{name.replace("_", "-"): value for name, value in headers.items() if value}}
    data = io.BytesIO(body) if method == "POST" or body else None
    skip = [] if headers.get("Content_Type") else ["Content-Type"]
    async with http.session.request(
        method, http.url + path, headers=sent, data=data, skip_auto_headers=skip, allow_redirects=False
    ) as answer:
        where = f"{method} {path[:80]} {body[:80]!r} {headers}: {answer.status}"
        declared = operation["responses"].get(str(answer.status))
        assert declared is not None, f"{where} is not declared"
        content = declared.get("content")
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        if content is None or method == "HEAD":
            return answer.status
        media = {name.partition(";")[0]: item for name, item in content.items()}
        assert kind in media, f"{where} is {kind}"
        if "json" in kind:
            schema = {**media[kind]["schema"], "components": WHOLE["components"]}
            try:
                jsonschema_rs.validate(schema, json.loads(await answer.read()))
            except jsonschema_rs.ValidationError as error:
                raise AssertionError(f"{where}: {error}") from None
        return answer.status


def place(path: str, name: str = "none") -> str:
    while "{" in path:
        path = path[: path.index("{")] + name + path[path.index("}") + 1 :]
    return path


@pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=[f"{method} {path}" for method, path, _ in OPERATIONS]
)
def test_every_answer_is_declared(
    open_server: tuple[Server, str, str], method: str, path: str, operation: dict[str, Any]
) -> None:
    server, everything, nothing = open_server

    async def main() -> None:
        async with client(server, everything) as http:
            plain = [place(path, name) for name in (NAMES if "{" in path else NAMES[:1])]
            if method == "GET":
                plain += [f"{plain[0]}?{query}" for query in QUERIES]
            seen = [await check(http, operation, method, where) for where in plain]
            if method == "GET":
                seen.append(await check(http, operation, "HEAD", place(path)))
                seen.append(await check(http, operation, method, place(path), Last_Event_ID="x"))
            media = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
            examples = [
                (json.dumps(item["value"]).encode(), JSON) for item in media.get("examples", {}).values()
            ]
            for body, kind in [*BODIES, *examples] if method == "POST" else []:
                seen.append(await check(http, operation, method, place(path), body, Content_Type=kind))
            large = b'"' + b"x" * 2_100_000 + b'"'
            seen.append(await check(http, operation, method, place(path), large, Content_Type=JSON))
            for headers in (
                {"Host": "evil.example"},
                {"Origin": "https://evil.example"},
                {"Origin": server.url},
                {"Idempotency_Key": "ä".encode().decode("latin-1")},
                {"Authorization": "Bearer x"},
                {"Authorization": f"Bearer {nothing}"},
                {"Accept": "text/none"},
            ):
                body = b"{}" if method == "POST" else b""
                kind = JSON if body else ""
                seen.append(
                    await check(http, operation, method, place(path), body, Content_Type=kind, **headers)
                )
            assert {403, 413, 421} <= set(seen)
            assert (401 in seen) == (operation["security"] != [])

    asyncio.run(main())


def test_every_way_that_a_call_ends_is_declared(open_server: tuple[Server, str, str]) -> None:
    server, everything, _ = open_server

    async def main() -> None:
        async with client(server, everything) as http:
            for route in ("/v1/calls", "/v1/decisions"):
                operation = WHOLE["paths"][route]["post"]
                for body, status in CALLS:
                    data = json.dumps(body).encode()
                    got = await check(http, operation, "POST", route, data, Content_Type=JSON)
                    assert got == status or route == "/v1/decisions", body
            for path in ("/v1/runs/{run_id}", "/v1/audit/{run_id}", "/v1/audit/{run_id}/verify"):
                assert await check(http, WHOLE["paths"][path]["get"], "GET", place(path, "r")) == 200
            _, waiting = await http.get("/v1/approvals")
            name = waiting["approvals"][0]["approval_id"]
            for action, status in (("edit", 422), ("approve", 200), ("deny", 409)):
                operation = WHOLE["paths"][f"/v1/approvals/{{approval_id}}/{action}"]["post"]
                body = b'{"arguments": {"to": 7}}' if action == "edit" else b"{}"
                path = f"/v1/approvals/{name}/{action}"
                assert await check(http, operation, "POST", path, body, Content_Type=JSON) == status

    asyncio.run(main())
