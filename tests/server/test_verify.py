"""What was done to a store is said in the same words by the command line, the server and the console."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.terminal import gerbang
from tests.server.console.browsing import TOOLS, visitor
from tests.server.running import Server, client, started

OFF = ("--model", "none", *TOOLS, "--policy", str(Path(__file__).parent / "console" / "policy.yaml"))
_EVENTS = "run = (SELECT run FROM chains WHERE run_id = '{run}')"
DONE: list[tuple[str, str, str | None, int | None, str]] = [
    ("whole", "", None, None, "whole, 2 events"),
    (
        "chain",
        f"UPDATE events SET body = CAST(replace(body, 'success', 'failure') AS BLOB) WHERE {_EVENTS}",
        "chain",
        2,
        "broken at event 2",
    ),
    (
        "detail",
        f"UPDATE events SET body = CAST(replace(body, 'page\\', 'egap\\') AS BLOB) WHERE {_EVENTS}",
        "detail",
        1,
        "the detail of event 1 was changed",
    ),
    (
        "arguments",
        "UPDATE calls SET arguments = x'7b7d' WHERE run_id = '{run}'",
        "payload",
        2,
        "arguments or result are not those of event 2",
    ),
    (
        "result",
        "UPDATE calls SET result = x'227822' WHERE run_id = '{run}'",
        "payload",
        2,
        "arguments or result are not those of event 2",
    ),
]
"""A run, what is done to it, and what is then said of it: what, at which event, in which words."""


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server on a store whose runs were damaged, and the store's address."""
    folder = tmp_path_factory.mktemp("damaged")
    store = f"sqlite:{folder / 'store.db'}"

    async def fill(server: Server) -> None:
        async with client(server) as http:
            for run, *_ in DONE:
                await http.call("print.page.v1", {"page": 1}, run_id=run)

    with started(*OFF, "--store", store, folder=folder) as server:
        asyncio.run(fill(server))
    with closing(sqlite3.connect(folder / "store.db")) as database:
        for run, statement, *_ in DONE:
            database.execute(statement.format(run=run))
        database.commit()
    with started(*OFF, "--store", store, folder=folder) as server:
        yield server, store


@pytest.mark.parametrize(("run", "statement", "what", "at", "words"), DONE, ids=[one[0] for one in DONE])
def test_the_three_say_the_same(
    damaged: tuple[Server, str],
    tmp_path: Path,
    run: str,
    statement: str,
    what: str | None,
    at: int | None,
    words: str,
) -> None:
    server, store = damaged

    async def ask() -> None:
        async with client(server) as http, visitor(server) as console:
            status, state = await http.get(f"/v1/audit/{run}/verify")
            assert (status, state["whole"], state["broken_at"]) == (200, what is None, at)
            assert state["what"] == (what or "")
            for query in (f"run={run}", f"q={run if what is None else 'nothing-has-this'}"):
                _, page, _ = await console.get(f"/console/audit?{query}")
                assert words in page, query

    asyncio.run(ask())
    ran = gerbang("audit", "verify", run, "--store", store, "--json", cwd=tmp_path)
    assert ran.code == (0 if what is None else 1)
    wanted = [] if what is None else [{"run_id": run, "broken_at": at, "what": what}]
    assert ran.json["broken"] == wanted
