"""Pages of origins that were named may read answers, after asking first; no others may."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import Server, client, started

PAGE = "https://app.example"
CALL = {"tool": "weather.get_current.v1", "arguments": {"city": "Paris"}}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("cors")
    with started("--model", "none", "--store", "memory:", "--allowed-origin", PAGE, folder=folder) as server:
        yield server


async def headers_of(server: Server, method: str, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        client(server) as http,
        http.session.request(method, server.url + path, headers=sent, json=CALL) as answer,
    ):
        return answer.status, {
            name.lower(): value for name, value in answer.headers.items() if "control-" in name.lower()
        }


def test_a_preflight_tells_what_a_page_may_send(named: Server) -> None:
    async def main() -> None:
        asking = {"Access_Control_Request_Method": "POST", "Origin": PAGE}
        status, said = await headers_of(
            named, "OPTIONS", "/v1/calls", **asking, Access_Control_Request_Headers="authorization"
        )
        assert status == 200
        assert said["access-control-allow-origin"] == PAGE
        assert said["access-control-allow-methods"] == "POST"
        allowed = said["access-control-allow-headers"].split(", ")
        assert {"authorization", "content-type", "idempotency-key", "x-api-key"} <= set(allowed)
        assert "access-control-allow-credentials" not in said
        status, said = await headers_of(named, "OPTIONS", "/v1/runs/x/events", **asking)
        assert said["access-control-allow-methods"] == "GET, HEAD"

    asyncio.run(main())


CASES = [
    ("an answer", "POST", "/v1/calls", PAGE, 200, PAGE),
    ("a problem", "GET", "/v1/tools/none", PAGE, 404, PAGE),
    ("a wrong method", "DELETE", "/v1/calls", PAGE, 405, PAGE),
    ("another page", "POST", "/v1/calls", "https://evil.example", 403, None),
    ("another page asks", "OPTIONS", "/v1/calls", "https://evil.example", 403, None),
    ("another scheme", "POST", "/v1/calls", "http://app.example", 403, None),
    ("no page", "POST", "/v1/calls", None, 200, None),
    ("the console", "GET", "/console", PAGE, 200, None),
]


@pytest.mark.parametrize(
    ("method", "path", "origin", "status", "allowed"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_who_may_read_an_answer(
    named: Server, method: str, path: str, origin: str | None, status: int, allowed: str | None
) -> None:
    async def main() -> None:
        given = {} if origin is None else {"Origin": origin}
        if method == "OPTIONS":
            given["Access_Control_Request_Method"] = "POST"
        got, said = await headers_of(named, method, path, **given)
        assert (got, said.get("access-control-allow-origin")) == (status, allowed)

    asyncio.run(main())
