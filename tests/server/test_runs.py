"""Agent runs in the background: start, list, show, follow by events, cancel, what a restart leaves."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from tests.server import model as models
from tests.server.model import HOLD
from tests.server.running import Client, Server, client, key, scripted, started
from tests.server.test_websocket import PARIS, SCRIPT


class Event:
    """One server-sent event."""

    def __init__(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in lines)
        self.seq = int(fields["id"]) if "id" in fields else None
        self.kind = fields["event"]
        self.data: Any = json.loads(fields["data"])


async def events(http: Client, path: str, **headers: str) -> AsyncIterator[Event]:
    """Yield the events of a stream until it ends."""
    sent = {**http.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with http.session.get(http.url + path, headers=sent) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines: list[str] = []
        async for raw in answer.content:
            line = raw.decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if line:
                lines.append(line)
            elif lines:
                yield Event(lines)
                lines = []


async def ended(http: Client, run_id: str) -> dict[str, Any]:
    """Follow a run to its end and return it."""
    async for event in events(http, f"/v1/runs/{run_id}/events"):
        if event.kind == "end":
            assert isinstance(event.data, dict)
            return event.data
    raise AssertionError("the stream ended without an end")


def test_a_run_is_started_followed_and_shown() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), client(server) as http:
            status, run = await http.post("/v1/runs", {"prompt": PARIS})
            assert (status, run["state"], run["live"]) == (202, "running", True)
            place = f"/v1/runs/{run['run_id']}"
            assert (await http.get(place))[0] == 200
            seen = [event async for event in events(http, f"{place}/events")]
            recorded = [event for event in seen if event.seq is not None]
            assert [event.seq for event in recorded] == list(range(1, len(recorded) + 1))
            assert [event.kind for event in recorded] == [
                "run.started",
                "model.answered",
                "call.dispatched",
                "call.finished",
                "model.answered",
                "run.finished",
            ]
            kinds = [event.kind for event in seen]
            assert kinds[-1] == "end"
            assert {"tool_call", "assistant_delta", "assistant_end"} <= set(kinds)
            assert seen[-1].data["answer"] == "It is 21 degrees in Paris."
            later = [event async for event in events(http, f"{place}/events", Last_Event_ID="4")]
            assert [event.seq for event in later if event.seq is not None] == [5, 6]
            status, shown = await http.get(place)
            assert (shown["state"], shown["answer"], shown["live"]) == (
                "completed",
                "It is 21 degrees in Paris.",
                False,
            )

    asyncio.run(main())


def test_runs_are_listed_page_by_page() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), client(server) as http:
            made = []
            for _ in range(5):
                _, run = await http.post("/v1/runs", {"prompt": "hello"})
                await ended(http, run["run_id"])
                made.append(run["run_id"])
            found: list[str] = []
            path = "/v1/runs?limit=2"
            while True:
                _, page = await http.get(path)
                found += [run["run_id"] for run in page["runs"]]
                if page["next"] is None:
                    break
                path = f"/v1/runs?limit=2&before={page['next']}"
            assert sorted(found) == sorted(made)
            _, page = await http.get("/v1/runs?state=cancelled")
            assert page["runs"] == []
            for query in ("limit=0", "limit=x", "state=no", "before=", "limit=1&limit=2"):
                assert (await http.get(f"/v1/runs?{query}"))[0] == 400, query
            assert (await http.get("/v1/runs?before=nobody"))[0] == 404

    asyncio.run(main())


def test_a_key_begins_one_run() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            asked = {"prompt": "hello", "purpose": "p"}
            made = await asyncio.gather(
                *(http.post("/v1/runs", asked, Idempotency_Key="k1") for _ in range(5))
            )
            assert {status for status, _ in made} == {202}
            (run_id,) = {run["run_id"] for _, run in made}
            await ended(http, run_id)
            status, again = await http.post("/v1/runs", asked, Idempotency_Key="k1")
            assert (status, again["run_id"], again["answer"]) == (202, run_id, "Hello there.")
            assert len(model.requests) == 1
            for other in ({"prompt": "again"}, {"prompt": "hello"}):
                status, problem = await http.post("/v1/runs", other, Idempotency_Key="k1")
                assert (status, problem["error"]["error_code"]) == (409, "KEY_REUSED")
            _, new = await http.post("/v1/runs", asked, Idempotency_Key="k2")
            assert new["run_id"] != run_id
            assert (await http.post("/v1/runs", asked, Idempotency_Key="a b"))[0] == 400
            status, problem = await http.post("/v1/runs", {"prompt": " \n"})
            assert (status, problem["detail"]) == (
                422,
                "The body does not fit: Expected a text that says something - at `$.prompt`.",
            )

    asyncio.run(main())


def test_a_key_that_begins_a_run_this_moment_begins_no_other() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            made = await asyncio.gather(
                *(
                    http.post("/v1/runs", {"prompt": "hello", "purpose": f"p{n}"}, Idempotency_Key="k1")
                    for n in range(5)
                )
            )
            assert sorted(status for status, _ in made) == [202, 409, 409, 409, 409]
            assert {told["error"]["error_code"] for status, told in made if status == 409} == {"KEY_REUSED"}
            (run_id,) = (told["run_id"] for status, told in made if status == 202)
            await ended(http, run_id)
            assert len(model.requests) == 1

    asyncio.run(main())


def test_a_run_is_cancelled() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "wait"})
            await asyncio.wait_for(model.holding.wait(), 20)
            status, after = await http.post(f"/v1/runs/{run['run_id']}/cancel")
            assert (status, after["state"], after["live"]) == (200, "cancelled", False)
            status, again = await http.post(f"/v1/runs/{run['run_id']}/cancel")
            assert (status, again["state"]) == (200, "cancelled")
            status, problem = await http.post(f"/v1/runs/{run['run_id']}/resume")
            assert (status, problem["error"]["error_code"]) == (409, "NOT_WAITING")

    asyncio.run(main())


def test_a_run_continues_another_by_the_servers_own_record() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "hello"})
            await ended(http, run["run_id"])
            _, second = await http.post("/v1/runs", {"prompt": "again", "continues": run["run_id"]})
            assert (await ended(http, second["run_id"]))["answer"] == "You said hello."
            told = [(item["role"], item["content"]) for item in model.requests[-1]["messages"]]
            assert told[-3:] == [("user", "hello"), ("assistant", "Hello there."), ("user", "again")]
            history = {"prompt": "again", "history": [{"role": "assistant", "content": "You may."}]}
            assert (await http.post("/v1/runs", history))[0] == 422
            assert (await http.post("/v1/runs", {"prompt": "again", "continues": "x"}))[0] == 404

    asyncio.run(main())


MAIL: dict[str, Any] = {"mail": [[("mail.send.v1", {"to": "ana@example.org", "text": "hi"})], "It is sent."]}


async def waiting_run(http: Client) -> tuple[str, str]:
    """Start a run that waits for approval; return its id and the approval's."""
    _, run = await http.post("/v1/runs", {"prompt": "mail"})
    assert (await ended(http, run["run_id"]))["state"] == "pending_approval"
    _, listed = await http.get(f"/v1/approvals?state=pending&run_id={run['run_id']}")
    return run["run_id"], listed["approvals"][0]["approval_id"]


def test_an_approval_resumes_the_run_that_waits_after_a_restart_too(tmp_path: Any) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
        async with scripted(MAIL, *store, folder=tmp_path) as (server, _), client(server) as http:
            run_id, approval_id = await waiting_run(http)
        after: dict[str, Any] = {"mail": ["It is sent."]}
        async with scripted(after, *store, folder=tmp_path) as (server, model), client(server) as http:
            status, decided = await http.post(f"/v1/approvals/{approval_id}/approve")
            assert (status, decided["resumed"]) == (200, True)
            run = await ended(http, run_id)
            assert (run["state"], run["answer"]) == ("completed", "It is sent.")
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert "sent to ana@example.org: hi" in told[-1]
            _, state = await http.get(f"/v1/audit/{run_id}/verify")
            assert state["whole"]

    asyncio.run(main())


def test_a_refusal_resumes_the_run_and_the_model_is_told() -> None:
    async def main() -> None:
        async with scripted(MAIL) as (server, model), client(server) as http:
            run_id, approval_id = await waiting_run(http)
            await http.post(f"/v1/approvals/{approval_id}/deny", {"reason": "not today"})
            run = await ended(http, run_id)
            assert (run["state"], run["answer"]) == ("completed", "It is sent.")
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert "not today" in told[-1]

    asyncio.run(main())


def test_clients_that_leave_a_stream_are_forgotten() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "wait"})
            await asyncio.wait_for(model.holding.wait(), 20)
            for _ in range(3):
                async with aiohttp.ClientSession() as leaving:
                    answer = await leaving.get(f"{server.url}/v1/runs/{run['run_id']}/events")
                    await answer.content.readline()
                    answer.close()
            for _ in range(200):
                _, figures = await http.get("/metrics")
                if "gerbang_followers 0.0" in figures:
                    break
                await asyncio.sleep(0.02)
            assert "gerbang_followers 0.0" in figures

    asyncio.run(main())


def test_sigterm_drains_and_nothing_is_lost(tmp_path: Any) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, model), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "wait"})
            await asyncio.wait_for(model.holding.wait(), 20)
            call = asyncio.create_task(http.call("slow.wait.v1", {"seconds": 0.6}, run_id="kept"))
            stream = asyncio.create_task(ended(http, run["run_id"]))
            await asyncio.sleep(0.3)
            stopping = asyncio.create_task(asyncio.to_thread(server.stop))
            while (await http.get("/readyz"))[0] == 200:
                await asyncio.sleep(0.01)
            status, problem = await http.call("weather.get_current.v1", {"city": "Oslo"})
            assert (status, problem["error"]["error_code"]) == (503, "SHUTTING_DOWN")
            model.released.set()
            assert (await call)[1]["value"] == "waited 0.6"
            assert (await stream)["state"] == "completed"
            assert await stopping == 0
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, _), client(server) as http:
            _, shown = await http.get(f"/v1/runs/{run['run_id']}")
            assert (shown["state"], shown["answer"]) == ("completed", "One two.")
            _, state = await http.get("/v1/audit/kept/verify")
            assert (state["whole"], state["events"]) == (True, 2)

    asyncio.run(main())


def test_a_run_that_does_not_end_in_time_is_cancelled_and_recorded(tmp_path: Any) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}", "--drain", "0.3")
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, model), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "wait"})
            await asyncio.wait_for(model.holding.wait(), 20)
            assert await asyncio.to_thread(server.stop) == 0
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, _), client(server) as http:
            _, shown = await http.get(f"/v1/runs/{run['run_id']}")
            assert shown["state"] == "cancelled"

    asyncio.run(main())


def test_tenants_see_nothing_of_each_other(tmp_path: Any) -> None:
    rights = ("calls", "runs", "approvals", "audit", "tools")
    ana = key(tmp_path, *rights, user="ana", tenant="acme")
    bob = key(tmp_path, *rights, user="bob", tenant="umbrella")

    async def main() -> None:
        async with (
            scripted(SCRIPT, folder=tmp_path) as (server, _),
            client(server, ana) as hers,
            client(server, bob) as his,
        ):
            _, run = await hers.post("/v1/runs", {"prompt": PARIS})
            await ended(hers, run["run_id"])
            _, pending = await hers.call("mail.send.v1", {"to": "a@example.org", "text": "x"}, run_id="hers")
            mine = run["run_id"]
            paths = [
                ("GET", f"/v1/runs/{mine}"),
                ("GET", f"/v1/runs/{mine}/events"),
                ("POST", f"/v1/runs/{mine}/cancel"),
                ("POST", f"/v1/runs/{mine}/resume"),
                ("GET", f"/v1/audit/{mine}"),
                ("GET", f"/v1/audit/{mine}/verify"),
                ("GET", f"/v1/approvals/{pending['approval_id']}"),
                ("POST", f"/v1/approvals/{pending['approval_id']}/approve"),
                ("POST", f"/v1/approvals/{pending['approval_id']}/deny"),
            ]
            for method, path in paths:
                status, problem = await his.send(method, path, None)
                assert (status, problem["error"]["error_code"]) == (404, "NOT_FOUND"), path
            status, _ = await his.post("/v1/runs", {"prompt": "hello", "continues": mine})
            assert status == 404
            assert (await his.get("/v1/runs"))[1]["runs"] == []
            assert (await his.get("/v1/approvals"))[1]["approvals"] == []
            # a name that she uses is free for him: it becomes a run of his own
            status, result = await his.call("weather.get_current.v1", {"city": "Rome"}, run_id="hers")
            assert (status, result["run_id"]) == (200, "hers")
            assert [run["tenant"] for run in (await his.get("/v1/runs"))[1]["runs"]] == ["umbrella"]
            assert (await hers.get(f"/v1/runs/{mine}"))[1]["state"] == "completed"
            assert (await hers.get(f"/v1/approvals/{pending['approval_id']}"))[1]["state"] == "pending"
            tool = {"name": "get_thing", "description": "A thing.", "url": "https://api.example.com/x"}
            assert (await his.post("/api/tools", [tool]))[0] == 200
            assert (await hers.get("/api/tools"))[1]["count"] == 0
            assert (await his.get("/v1/tools/get_thing"))[0] == 200
            assert (await hers.get("/v1/tools/get_thing"))[0] == 404

    asyncio.run(main())


def test_a_run_of_a_killed_server_is_taken_up_by_the_next(tmp_path: Any) -> None:
    answers: list[Any] = [*SCRIPT[PARIS][:1], ["Half an ans", HOLD], "It is 21 degrees in Paris."]

    async def main() -> None:
        model, runner = await models.serving({PARIS: answers})
        options = ["--model", model.address, "--profile", "voice", "--store", f"sqlite:{tmp_path / 's.db'}"]
        bounds = {"lease_s": 1.0, "recover_every_s": 0.2}
        first = started(*options, folder=tmp_path, bounds=bounds)
        server = await asyncio.to_thread(first.__enter__)
        async with client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": PARIS})
            await model.holding.wait()
            server.process.kill()
        await asyncio.to_thread(first.__exit__, None, None, None)
        second = started(*options, folder=tmp_path, bounds=bounds)
        server = await asyncio.to_thread(second.__enter__)
        try:
            async with client(server) as http:
                shown: dict[str, Any] = {}
                for _ in range(600):
                    _, shown = await http.get(f"/v1/runs/{run['run_id']}")
                    if shown["state"] != "running":
                        break
                    await asyncio.sleep(0.05)
                assert (shown["state"], shown["answer"]) == ("completed", "It is 21 degrees in Paris.")
                assert len(model.requests) == 3  # the first answer was on record: it is not asked for again
                _, found = await http.get(f"/v1/audit/{run['run_id']}/verify")
                assert found["whole"] is True
        finally:
            model.released.set()
            await asyncio.to_thread(second.__exit__, None, None, None)
            await runner.cleanup()

    asyncio.run(main())


__all__ = ["Server"]
