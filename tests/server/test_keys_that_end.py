"""What is open goes by the key that opened it: its end, its rate, and how much one connection may ask for."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gerbang.server.keys import KeyFile
from tests.server.model import HOLD
from tests.server.running import Client, client, key, scripted
from tests.server.test_websocket import say, socket, until_end

SCRIPT: dict[str, Any] = {
    "hello": ["Hello there."],
    "wait": [["One ", HOLD, "two."]],
    "long": ["word " * 40_000],
}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def revoke(folder: Path, user: str) -> None:
    keys = KeyFile(folder / "keys.json")
    for stored in keys.all():
        if stored.user == user:
            keys.revoke(stored.id)


def test_a_revoked_key_ends_its_websocket(tmp_path: Path) -> None:
    async def main() -> None:
        first, other = key(tmp_path, "runs"), key(tmp_path, "runs", user="bob")
        async with scripted(SCRIPT, folder=tmp_path) as (server, model):
            async with socket(server, headers=bearer(first)) as ws:
                await say(ws, "hello")
                assert (await until_end(ws))[-1]["status"] == "completed"
                revoke(tmp_path, "ana")
                await asyncio.sleep(0.1)
                asked = len(model.requests)
                await say(ws, "hello")
                closed = await ws.receive(timeout=20)
                assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1008)
                assert len(model.requests) == asked
            async with socket(server, headers=bearer(other)) as ws:
                await say(ws, "hello")
                assert (await until_end(ws))[-1]["status"] == "completed"

    asyncio.run(main())


def test_a_revoked_key_hears_no_more_of_a_run(tmp_path: Path) -> None:
    async def main() -> None:
        token = key(tmp_path, "runs")
        async with (
            scripted(SCRIPT, folder=tmp_path) as (server, model),
            socket(server, headers=bearer(token)) as ws,
            client(server, token) as http,
        ):
            await say(ws, "wait")
            first = await ws.receive_json(timeout=20)
            assert first["text"].strip() == "One"
            events = f"{server.url}/v1/runs/{first['run_id']}/events"
            async with http.session.get(events, headers=bearer(token)) as stream:
                assert (await stream.content.readline()).startswith((b"id:", b"event:"))
                revoke(tmp_path, "ana")
                await asyncio.sleep(0.1)  # a process sees it within a millisecond
                model.released.set()
                heard = [message.json() async for message in ws]  # what was said before may still come
                assert ws.close_code == 1008
                assert {message["type"] for message in heard} <= {"assistant_delta"}
                assert "two" not in "".join(message["text"] for message in heard)
                rest = await asyncio.wait_for(stream.read(), 20)
                assert b"event: end" not in rest

    asyncio.run(main())


ACTING: dict[str, Any] = {
    "act": [[("slow.wait.v1", {"seconds": 20})], [("notes.add.v1", {"text": "x"})], "Done."],
    "think": [[("weather.get_current.v1", {"city": "Paris"})], ["One ", HOLD, "two."]],
}


@pytest.mark.parametrize("prompt", list(ACTING))
@pytest.mark.parametrize("way", ["runs", "socket", "openai"])
@pytest.mark.parametrize("store", ["memory:", "sqlite:s.db"])
def test_a_run_ends_with_its_key(tmp_path: Path, prompt: str, way: str, store: str) -> None:
    async def main() -> None:
        token, watcher = key(tmp_path, "runs"), key(tmp_path, "runs", "audit", user="bob")
        async with (
            scripted(ACTING, "--store", store, folder=tmp_path) as (server, model),
            client(server, token) as http,
            client(server, watcher) as bob,
            socket(server, headers=bearer(token)) as ws,
        ):
            asking: Any = None
            if way == "runs":
                await http.post("/v1/runs", {"prompt": prompt})
            elif way == "socket":
                await say(ws, prompt)
            else:
                body = {"model": "gerbang", "messages": [{"role": "user", "content": prompt}]}
                asking = asyncio.create_task(http.post("/v1/chat/completions", body))
            (run,) = await until(bob, lambda runs: bool(runs) and runs[0]["events"] >= 3)
            revoke(tmp_path, "ana")
            (run,) = await until(bob, lambda runs: runs[0]["state"] != "running")
            assert run["state"] == "cancelled"
            _, audit = await bob.get(f"/v1/audit/{run['run_id']}")
            kinds = [event["kind"] for event in audit["events"]]
            assert (kinds.count("run.finished"), kinds[-1]) == (1, "run.finished")
            assert "run.cancel_asked" in kinds
            assert (await bob.get("/readyz"))[0] == 200
            assert len(model.requests) == (1 if prompt == "act" else 2)
            if asking is not None:
                assert (await asking)[0] == 503

    asyncio.run(main())


async def until(http: Client, fits: Callable[[list[Any]], bool]) -> list[Any]:
    """Look at the runs until they are as they should be."""
    while not fits(runs := (await http.get("/v1/runs"))[1]["runs"]):
        await asyncio.sleep(0.02)
    return list(runs)


def test_the_rate_of_the_key_holds_for_messages(tmp_path: Path) -> None:
    async def main() -> None:
        token = key(tmp_path, "runs", rate_per_s=0.001)
        async with (
            scripted(SCRIPT, "--burst", "4", folder=tmp_path) as (server, _),
            socket(server, headers=bearer(token)) as ws,  # one
        ):
            await say(ws, "hello")  # two
            run = (await until_end(ws))[-1]["run_id"]
            await ws.send_json({"type": "resume", "run_id": run})  # three
            assert (await until_end(ws))[-1]["run_id"] == run
            await ws.send_json({"type": "cancel", "run_id": "none"})  # four
            assert (await ws.receive_json(timeout=20))["code"] == "NOT_FOUND"
            for message in (
                {"type": "user_text", "text": "hello"},
                {"type": "resume", "run_id": run},
                {"type": "cancel", "run_id": run},
            ):
                await ws.send_json(message)
                said = await ws.receive_json(timeout=20)
                assert said.get("code") == "RATE_ACTOR", said
            await ws.send_json({"type": "ping", "id": 1})
            assert (await ws.receive_json(timeout=20))["type"] == "pong"

    asyncio.run(main())


def test_a_connection_has_only_so_many_questions_in_work(tmp_path: Path) -> None:
    async def main() -> None:
        async with scripted(SCRIPT, folder=tmp_path) as (server, model), socket(server) as ws:
            await say(ws, "wait")
            run = (await ws.receive_json(timeout=20))["run_id"]
            for _ in range(40):  # each follows the run, which goes on
                await ws.send_json({"type": "resume", "run_id": run})
            refused = 0
            while refused < 8:
                refused += (await ws.receive_json(timeout=20)).get("code") == "TOO_MANY_TURNS"
            model.released.set()
            ends = await until_end(ws, 33)
            assert {message["run_id"] for message in ends} == {run}
            await ws.send_json({"type": "resume", "run_id": run})
            assert (await until_end(ws))[-1]["status"] == "completed"

    asyncio.run(main())


def test_messages_that_cannot_be_taken() -> None:
    cases = [
        '{"type": "user_text", "text": "hello", "text": "long"}',
        '{"type": "ping", "type": "user_text", "text": "hello"}',
        json.dumps({"type": "user_text", "text": "x" * 100_001}),
        json.dumps({"type": "user_text", "text": "hello", "purpose": "x" * 513}),
        json.dumps({"type": "user_text", "text": "hello", "conversation": "x" * 513}),
    ]

    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws:
            for case in cases:
                await ws.send_str(case)
                assert (await ws.receive_json(timeout=20))["code"] == "BAD_MESSAGE", case[:60]
            assert not model.requests

    asyncio.run(main())
