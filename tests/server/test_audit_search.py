"""`GET /v1/audit`: events of all runs, by run, tool and kind, a page at a time; each tenant its own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import Client, Server, client, key, scripted, started

RIGHTS = ("calls", "runs", "audit")
WEATHER, PAGE = "weather.get_current.v1", "print.page.v1"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    """A server with three runs of one tenant and one of another, and a key of each."""
    folder: Path = tmp_path_factory.mktemp("found")
    ours = key(folder, *RIGHTS, tenant="acme")
    theirs = key(folder, *RIGHTS, user="bob", tenant="other")

    async def fill(server: Server) -> None:
        async with client(server, ours) as http, client(server, theirs) as other:
            for run in ("first", "second", "third"):
                for step in (1, 2):
                    await http.call(WEATHER, {"city": "Paris"}, run_id=run, step_id=step)
            await http.call("no.such.tool", {}, run_id="third", step_id=3)
            await other.call(WEATHER, {"city": "Rome"}, run_id="first", step_id=1)

    with started("--model", "none", "--store", "memory:", folder=folder) as server:
        asyncio.run(fill(server))
        yield server, ours, theirs


def asking(server: Server, token: str, *paths: str) -> list[tuple[int, Any]]:
    async def main() -> list[tuple[int, Any]]:
        async with client(server, token) as http:
            return [await http.get(path) for path in paths]

    return asyncio.run(main())


def places(answer: tuple[int, Any]) -> list[tuple[str, int]]:
    status, body = answer
    assert status == 200
    return [(event["run_id"], event["seq"]) for event in body["events"]]


def test_the_newest_run_comes_first_and_filters_hold(filled: tuple[Server, str, str]) -> None:
    server, ours, _ = filled
    paths = ("", "?run_id=second", "?kind=call.finished", f"?tool={WEATHER}", "?tool=no.such.tool", "?kind=x")
    everything, second, ended, weather, unknown, nothing = asking(
        server, ours, *(f"/v1/audit{p}" for p in paths)
    )
    runs = [run for run, _ in places(everything)]
    assert list(dict.fromkeys(runs)) == ["third", "second", "first"]
    for run in set(runs):
        assert [seq for name, seq in places(everything) if name == run] == list(range(1, runs.count(run) + 1))
    assert everything[1]["next"] is None
    assert places(second) == [place for place in places(everything) if place[0] == "second"]
    assert {event["kind"] for event in ended[1]["events"]} == {"call.finished"}
    assert len(places(ended)) == 6
    assert {event["body"]["tool_name"] for event in weather[1]["events"]} == {WEATHER}
    assert [event["body"]["status"] for event in unknown[1]["events"]] == ["error"]
    assert places(nothing) == []
    (one,) = asking(server, ours, "/v1/audit/second")  # the same events as of the run alone
    assert [event["digest"] for event in one[1]["events"]] == [
        event["digest"] for event in second[1]["events"]
    ]


@pytest.mark.parametrize("query", ["", "run_id=third&", "kind=call.finished&", f"tool={WEATHER}&"])
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_pages_put_together_are_the_whole(filled: tuple[Server, str, str], query: str, limit: int) -> None:
    server, ours, _ = filled

    async def pages(http: Client) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        path: str | None = f"/v1/audit?{query}limit={limit}"
        while path is not None:
            answer = await http.get(path)
            found += places(answer)
            assert len(places(answer)) <= limit
            following = answer[1]["next"]
            path = following and f"/v1/audit?{query}limit={limit}&after={following}"
        return found

    async def main() -> list[tuple[str, int]]:
        async with client(server, ours) as http:
            return await pages(http)

    (whole,) = asking(server, ours, f"/v1/audit?{query}")
    assert asyncio.run(main()) == places(whole)


def test_another_tenant_sees_its_own_only(filled: tuple[Server, str, str]) -> None:
    server, _, theirs = filled
    everything, second, place = asking(
        server, theirs, "/v1/audit", "/v1/audit?run_id=second", "/v1/audit?after=second/1"
    )
    assert {run for run, _ in places(everything)} == {"first"}
    assert "Paris" not in str(everything)
    assert (second[0], place[0]) == (404, 404)


@pytest.mark.parametrize(
    "query", ["after=first", "after=/1", "after=first/x", "limit=0", "limit=1001", "runid=x"]
)
def test_what_cannot_be_asked_is_told(filled: tuple[Server, str, str], query: str) -> None:
    server, ours, _ = filled
    ((status, body),) = asking(server, ours, f"/v1/audit?{query}")
    assert (status, body["error"]["error_type"]) == (400, "parse_error")
    assert body["error"]["suggested_fix"]


def test_a_tool_is_found_in_what_a_model_proposed() -> None:
    """Of an agent's run some events name tools, some only count calls."""

    async def main() -> None:
        script: dict[str, Any] = {"go": [[(WEATHER, {"city": "Paris"})], "It is warm."]}
        async with scripted(script) as (server, _), client(server) as http:
            _, run = await http.post("/v1/runs", {"prompt": "go"})
            await http.get(f"/v1/runs/{run['run_id']}/events")  # to its end
            _, found = await http.get(f"/v1/audit?tool={WEATHER}")
            kinds = [event["kind"] for event in found["events"]]
            assert {"model.answered", "call.finished"} <= set(kinds)
            assert "run.finished" not in kinds
            assert (await http.get("/v1/audit?tool=nothing"))[1] == {"events": [], "next": None}

    asyncio.run(main())


def test_the_right_is_needed(filled: tuple[Server, str, str]) -> None:
    server, _, _ = filled
    ((status, _),) = asking(server, key(server.folder, "calls"), "/v1/audit")
    assert status == 403
