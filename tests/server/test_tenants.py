"""What one tenant does tells another nothing: the same requests get the same answers, used names or not."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import Client, Server, client, key, started

RIGHTS = ("calls", "runs", "approvals", "audit")
CALL = {"tool": "weather.get_current.v1", "arguments": {"city": "Paris"}, "step_id": 1}
MAIL = {"tool": "mail.send.v1", "arguments": {"to": "ana@example.org", "text": "hello"}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    """A server with a key of two tenants each."""
    folder: Path = tmp_path_factory.mktemp("tenants")
    first = key(folder, *RIGHTS, tenant="acme")
    second = key(folder, *RIGHTS, user="bob", tenant="other")
    with started("--model", "none", "--store", "memory:", folder=folder) as server:
        yield server, first, second


def without(body: Any, *names: str) -> Any:
    """Return a document without what differs from call to call."""
    if isinstance(body, dict):
        return {name: without(value, *names) for name, value in body.items() if name not in names}
    return [without(item, *names) for item in body] if isinstance(body, list | tuple) else body


CHANGING = ("for_model", "call_id", "approval_id", "started_at", "updated_at")


def test_a_name_that_another_tenant_uses_looks_like_one_that_nobody_uses(
    shared: tuple[Server, str, str],
) -> None:
    server, first, second = shared

    async def ask(http: Client, run: str) -> list[Any]:
        answers: list[Any] = [
            await http.get(f"/v1/runs/{run}"),
            await http.get(f"/v1/runs/{run}/events"),
            await http.post(f"/v1/runs/{run}/cancel"),
            await http.post(f"/v1/runs/{run}/resume"),
            await http.get(f"/v1/audit/{run}"),
            await http.get(f"/v1/audit/{run}/verify"),
            await http.get(f"/v1/audit?run_id={run}"),
            await http.get(f"/v1/audit?after={run}/1"),
            await http.get(f"/v1/runs?before={run}"),
            await http.get(f"/v1/approvals?run_id={run}"),
            await http.post("/v1/decisions", {**CALL, "run_id": run}),
            await http.post("/v1/calls", {**CALL, "run_id": run}),
            await http.post("/v1/calls", {**CALL, "arguments": {"city": {}}, "run_id": run, "step_id": 2}),
            await http.post("/v1/calls", {**MAIL, "run_id": run, "step_id": 3}),
            await http.get(f"/v1/runs/{run}"),
        ]
        return [str(without(item, *CHANGING)).replace(run, "RUN") for item in answers]

    async def main() -> None:
        async with client(server, first) as acme, client(server, second) as other:
            for step in range(3):
                assert (await acme.post("/v1/calls", {**CALL, "run_id": "used", "step_id": step}))[0] == 200
            status, pending = await acme.post("/v1/calls", {**MAIL, "run_id": "used", "step_id": 9})
            assert (status, pending["run_id"]) == (202, "used")
            assert await ask(other, "used") == await ask(other, "nobodys")
            # what is inside has a name too: it helps no one else
            assert await ask(other, "used~acme") == await ask(other, "nobodys~acme")

    asyncio.run(main())


def test_each_tenant_finds_its_own_run_by_the_name_that_it_gave(shared: tuple[Server, str, str]) -> None:
    server, first, second = shared

    async def main() -> None:
        async with client(server, first) as acme, client(server, second) as other:
            for http, city in ((acme, "Oslo"), (other, "Rome")):
                body = {**CALL, "arguments": {"city": city}, "run_id": "same"}
                status, said = await http.post("/v1/calls", body)
                assert (status, said["value"]["city"], said["run_id"]) == (200, city, "same")
                assert said["event_id"].startswith("same/")
                assert (await http.post("/v1/calls", body))[1]["replayed"] is True
                status, _ = await http.post("/v1/calls", {**MAIL, "run_id": "same", "step_id": 2})
                assert status == 202
            for http, tenant in ((acme, "acme"), (other, "other")):
                status, run = await http.get("/v1/runs/same")
                assert (status, run["run_id"], run["tenant"]) == (200, "same", tenant)
                status, listed = await http.get("/v1/runs?limit=1")
                assert (listed["runs"][0]["run_id"], listed["next"]) == ("same", "same")
                assert (await http.get("/v1/runs?before=same"))[0] == 200
                status, events = await http.get("/v1/audit/same")
                assert (status, events["run_id"], len(events["events"]) > 2) == (200, "same", True)
                status, state = await http.get("/v1/audit/same/verify")
                assert (state["run_id"], state["whole"]) == ("same", True)
                status, waiting = await http.get("/v1/approvals?run_id=same")
                (found,) = waiting["approvals"]
                assert found["run_id"] == "same"
                status, _ = await http.post(f"/v1/approvals/{found['approval_id']}/approve")
                assert status == 200
                status, done = await http.post("/v1/calls", {**MAIL, "run_id": "same", "step_id": 2})
                assert (status, done["status"]) == (200, "ok")
                status, problem = await http.post("/v1/calls", {**CALL, "arguments": {}, "run_id": "same"})
                assert problem["result"]["run_id"] == "same"
                assert "~" not in str(without(problem, "for_model"))

    asyncio.run(main())


def test_a_key_of_another_tenant_is_free_to_use(shared: tuple[Server, str, str]) -> None:
    server, first, second = shared

    async def main() -> None:
        async with client(server, first) as acme, client(server, second) as other:
            note = {"tool": "notes.add.v1", "key": "order-1"}
            status, one = await acme.post("/v1/calls", {**note, "arguments": {"text": "a"}})
            assert status == 200
            status, two = await other.post("/v1/calls", {**note, "arguments": {"text": "b"}})
            assert (status, two["replayed"], one["value"] == two["value"]) == (200, False, False)

    asyncio.run(main())
