"""`/api/tools`: replacing declarative HTTP tools in memory, from the next turn on."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang.policy
from tests.server.model import HOLD
from tests.server.running import Client, Server, asking, client, key, scripted, started
from tests.server.test_websocket import say, socket, text_of, until_end

VOICE = str(Path(gerbang.policy.__file__).with_name("shipped") / "voice.yaml")


def tool(name: str, url: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Current weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "url": url,
        "method": "GET",
        **more,
    }


BAD: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("white space", b"  \n"),
    ("not UTF-8", b'[{"name": "\xff"}]'),
    ("not JSON", b"[{]"),
    ("no array", b'{"name": "x"}'),
    ("a text", b'"tools"'),
    ("no tool", b"[]"),
    ("no object", b"[1]"),
    ("no url", b'[{"name": "x", "description": "y"}]'),
    ("twice", json.dumps([tool("x", "https://a.example/{city}")] * 2).encode()),
    ("unknown field", json.dumps([tool("x", "https://a.example/{city}", colour=1)]).encode()),
    ("a secret", json.dumps([tool("x", "https://a.example/", headers={"A": "${secret:KEY}"})]).encode()),
    ("a taken name", json.dumps([tool("weather.get_current.v1", "https://a.example/{city}")]).encode()),
]


@asynccontextmanager
async def weather(celsius: int) -> AsyncIterator[str]:
    """A service with weather, on loopback."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"city": request.match_info["city"], "celsius": celsius})

    app = web.Application()
    app.router.add_get("/weather/{city}", answer)
    app.router.add_post("/weather/{city}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/weather/{{city}}"
    finally:
        await runner.cleanup()


def test_bad_definitions_are_refused_and_change_nothing() -> None:
    async def main() -> None:
        async with scripted({}) as (server, _), client(server) as http:
            assert await http.get("/api/tools") == (
                200,
                {"ok": True, "count": 0, "source": "none", "tools": []},
            )
            for name, data in BAD:
                status, problem = await http.post("/api/tools", data)
                assert (status, problem["status"]) == (400, 400), (name, problem)
                assert problem["error"]["suggested_fix"], name
            assert (await http.get("/api/tools"))[1]["count"] == 0
            given = json.dumps([tool("get_weather", "https://api.example.com/{city}")]).encode()
            for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
                status, body = await http.post("/api/tools", given, Content_Type=kind)
                assert (status, body) == (
                    200,
                    {"ok": True, "count": 1, "source": "request", "tools": ["get_weather"]},
                )
            assert (await http.get("/api/tools"))[1] == body

    asyncio.run(main())


def test_without_a_model_they_cannot_be_replaced(plain: Server) -> None:
    async def work(client: Client) -> None:
        status, problem = await client.post("/api/tools", [tool("x", "https://a.example/{city}")])
        assert (status, problem["error"]["error_code"]) == (503, "LLM_OFF")
        assert (await client.get("/api/tools"))[0] == 200

    asking(plain, work)


def test_the_start_up_file_is_the_source_until_a_request(tmp_path: Any) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([tool("get_weather", "https://api.example.com/{city}")]))

    async def main() -> None:
        async with scripted({}, "--tools", str(file)) as (server, _), client(server) as http:
            assert (await http.get("/api/tools"))[1] == {
                "ok": True,
                "count": 1,
                "source": "file",
                "tools": ["get_weather"],
            }
            await http.post("/api/tools", [tool("other", "https://api.example.com/{city}")])
            assert (await http.get("/api/tools"))[1]["source"] == "request"
            assert (await http.get("/v1/tools/get_weather"))[0] == 404
            assert (await http.get("/v1/tools/weather.get_current.v1"))[0] == 200

    asyncio.run(main())


def test_a_running_turn_keeps_its_tools_and_the_next_has_the_new_ones() -> None:
    ask = [("get_weather", {"city": "Paris"})]
    script: dict[str, Any] = {"weather": [[HOLD, *ask], "First.", ask, "Second."]}

    async def main() -> None:
        async with (
            weather(10) as old,
            weather(20) as new,
            scripted(script) as (server, model),
            client(server) as http,
            socket(server, "?events=all") as ws,
        ):
            assert (await http.post("/api/tools", [tool("get_weather", old)]))[0] == 200
            await say(ws, "weather")
            await asyncio.wait_for(model.holding.wait(), 20)
            assert (await http.post("/api/tools", [tool("get_weather", new)]))[0] == 200
            model.released.set()
            assert text_of(await until_end(ws)) == "First."
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert '"celsius":10' in told[-1].replace(" ", "")
            await say(ws, "weather")
            assert text_of(await until_end(ws)) == "Second."
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert '"celsius":20' in told[-1].replace(" ", "")
            names = [item["function"]["name"] for item in model.requests[-1]["tools"]]
            assert names.count("get_weather") == 1
            assert "read_file" not in names  # the profile has the definitions and the operator's own tools

    asyncio.run(main())


CONTRACT = """
name: city.mayor.v1
risk: read_external
description: The mayor of a city. Returns a name.
http: {url: "https://api.example.com/mayor", method: GET}
"""


def test_contract_files_are_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mayor.yaml").write_text(CONTRACT)
    monkeypatch.setenv("GERBANG_CONTRACTS", str(tmp_path / "mayor.yaml"))

    async def main() -> None:
        async with scripted({}) as (server, _), client(server) as http:
            assert (await http.get("/v1/tools/city.mayor.v1"))[0] == 200
            assert (await http.get("/api/tools"))[1]["count"] == 0

    asyncio.run(main())


def test_a_restart_brings_the_start_back(tmp_path: Any) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
        async with scripted({}, *store, folder=tmp_path) as (server, _), client(server) as http:
            await http.post("/api/tools", [tool("get_weather", "https://api.example.com/{city}")])
        async with scripted({}, *store, folder=tmp_path) as (server, _), client(server) as http:
            assert (await http.get("/api/tools"))[1]["source"] == "none"

    asyncio.run(main())


RIGHTS: list[tuple[tuple[str, ...], dict[str, Any], int]] = [
    (("runs",), {}, 403),
    (("runs", "tools"), {}, 200),
    (("runs", "tools"), {"headers": {"A": "${secret:KEY}"}}, 400),
    (("runs", "tools", "admin"), {"headers": {"A": "${secret:KEY}"}}, 200),
]


def test_rights_decide_who_may_replace_and_name_secrets(tmp_path: Any) -> None:
    tokens = [key(tmp_path, *rights, tenant=f"t{number}") for number, (rights, _, _) in enumerate(RIGHTS)]

    async def main() -> None:
        async with scripted({}, folder=tmp_path) as (server, _):
            for token, (rights, more, status) in zip(tokens, RIGHTS, strict=True):
                async with client(server, token) as http:
                    body = [tool("x", "https://api.example.com/{city}", **more)]
                    got, said = await http.post("/api/tools", body)
                    assert got == status, (rights, said)

    asyncio.run(main())


def test_who_sends_definitions_approves_them_for_a_profile_where_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that may define tools, and is no administrator's: reads and changes run, money is not moved."""
    token = key(tmp_path, "runs", "tools")
    script: dict[str, Any] = {
        name: [[(name, {"city": "Paris"})], "Done."] for name in ("read", "change", "pay")
    }

    async def main() -> None:
        async with weather(10) as origin:
            monkeypatch.setenv("GERBANG_EGRESS", origin.split("/")[2])
            async with (
                scripted(script, "--policy", VOICE, folder=tmp_path) as (server, model),
                client(server, token) as http,
            ):
                tools = [
                    tool("read", origin),
                    tool("change", origin, method="POST"),
                    tool("pay", origin, method="POST", risk="transactional"),
                ]
                status, said = await http.post("/api/tools", tools)
                assert (status, said["source"]) == (200, "request")
                told: dict[str, str] = {}
                for name in script:
                    _, run = await http.post("/v1/runs", {"prompt": name})
                    await http.get(f"/v1/runs/{run['run_id']}/events")
                    told[name] = model.requests[-1]["messages"][-1]["content"]
                assert '"celsius":10' in told["read"]
                assert '"celsius":10' in told["change"]
                assert "NOBODY_TO_ASK" in told["pay"]

    asyncio.run(main())


__all__ = ["started"]
